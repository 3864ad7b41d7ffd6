//! "Did you mean": the nearest of the words that would have been right.

/// The word that is nearest to what was written, if one is near enough to have been meant.
#[must_use]
pub fn nearest<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(written, word), word));
    let (distance, word) = near.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may be wrong.
    let letters = written.chars().count().max(word.chars().count());
    (distance <= letters.div_ceil(3)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_is_nearly_right_is_suggested_and_nothing_else() {
        let words = ["distance_m", "gain", "alone"];
        let cases = [
            ("distanc_m", Some("distance_m")),
            ("distance", Some("distance_m")),
            ("gian", Some("gain")),
            ("gains", Some("gain")),
            ("zebra", None),
            ("", None),
        ];
        for (written, expected) in cases {
            assert_eq!(nearest(written, words), expected, "{written:?}");
        }
        assert_eq!(nearest("gain", []), None);
    }
}

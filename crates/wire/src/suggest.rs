//! "Did you mean": the nearest of the names that would have been right.

use alloc::string::String;
use alloc::vec::Vec;
use core::{iter, mem};

/// Longer names are not looked at for misprints.
const MAX_CHARS: usize = 64;
/// No more known names than this are looked at.
const MAX_KNOWN: usize = 1_000;

/// The known name that is nearest to what was found, if one is near enough to have been meant.
///
/// Capitals do not count, and a name without its end, where units stand, is a misprint of the whole.
#[must_use]
pub fn nearest<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let found = folded(found);
    if found.len() > MAX_CHARS {
        return None;
    }
    let near = known
        .into_iter()
        .take(MAX_KNOWN)
        .filter(|name| name.len() <= 4 * MAX_CHARS)
        .map(|name| (distance(&found, &folded(name)), name))
        .filter(|(distance, _)| *distance <= 1 + found.len() / 4);
    let (_, name) = near.min_by_key(|(distance, _)| *distance)?;
    Some(name)
}

fn folded(name: &str) -> Vec<char> {
    let lower: String = name.to_lowercase();
    lower.chars().collect()
}

/// How many letters are wrong, missing, too many, or have changed places with the next.
fn distance(found: &[char], known: &[char]) -> usize {
    if matches!(known.strip_prefix(found), Some(['_', ..])) {
        return 1;
    }
    // Rows of the table of distances between the beginnings of both: this one, and the one above it.
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=known.len()).collect();
    let mut last = None;
    for letter in found {
        let mut left = row.first().map_or(0, |first| first + 1);
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        let mut before = None;
        let swaps = iter::once(None).chain(above.iter().copied().map(Some));
        let swaps = swaps.chain(iter::repeat(None));
        for ((other, pair), swap) in known.iter().zip(row.windows(2)).zip(swaps) {
            let &[diagonal, up] = pair else { continue };
            let replaced = diagonal + usize::from(letter != other);
            let mut cost = replaced.min(up + 1).min(left + 1);
            if let Some(swap) = swap
                && before == Some(letter)
                && last == Some(other)
            {
                cost = cost.min(swap + 1);
            }
            next.push(cost);
            (left, before) = (cost, Some(other));
        }
        above = mem::replace(&mut row, next);
        last = Some(letter);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misprint_suggests_the_name_that_was_meant() {
        let names = [
            "distance_m",
            "gain",
            "alone",
            "ImagePlane",
            "BottomCenter",
            "Lens",
            "fov_deg",
        ];
        for (found, meant) in [
            ("distanc_m", Some("distance_m")),
            ("distance", Some("distance_m")),
            ("gian", Some("gain")),
            ("gains", Some("gain")),
            ("zebra", None),
            ("", None),
            ("ImagePlan", Some("ImagePlane")),
            ("imageplane", Some("ImagePlane")),
            ("ImagePlaen", Some("ImagePlane")),
            ("BotomCentre", Some("BottomCenter")),
            ("Len", Some("Lens")),
            ("fov", Some("fov_deg")),
            ("Wheel", None),
        ] {
            assert_eq!(nearest(found, names), meant, "{found:?}");
        }
        assert_eq!(nearest("gain", []), None);
    }

    #[test]
    fn distance_counts_letters_that_changed_places_once() {
        let cases = [
            ("gian", "gain", 1),
            ("ca", "abc", 3),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("same", "same", 0),
            ("fov", "fov_deg", 1),
        ];
        for (found, known, expected) in cases {
            let found: Vec<char> = found.chars().collect();
            let known: Vec<char> = known.chars().collect();
            assert_eq!(distance(&found, &known), expected, "{found:?} {known:?}");
        }
    }

    #[test]
    fn name_of_enormous_length_gets_no_suggestion() {
        let long: String = iter::repeat_n('a', 65).collect();
        assert_eq!(nearest(&long, [long.as_str()]), None);
        let known: String = iter::repeat_n('a', 257).collect();
        assert_eq!(nearest("aaa", [known.as_str()]), None);
    }
}

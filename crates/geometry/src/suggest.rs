//! What was meant, perhaps.

/// The known name that is nearest to what was found, if any is near.
pub(crate) fn suggest<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let length = found.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let fold = |text: &str| text.to_lowercase();
    let wanted = fold(found);
    let near = known
        .into_iter()
        .take(MAX_KNOWN)
        .filter(|name| name.len() <= 4 * MAX_CHARS)
        .map(|name| (nearness(&wanted, &fold(name)), name))
        .filter(|(distance, _)| *distance <= 1 + length / 4);
    let nearest = near.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, name)| name.to_owned())
}

/// The distance of two names; one without its end, where units stand, is a misprint of the whole.
fn nearness(found: &str, known: &str) -> usize {
    let is_cut = known
        .strip_prefix(found)
        .is_some_and(|rest| rest.starts_with('_'));
    if is_cut { 1 } else { distance(found, known) }
}

/// Longer names have no misprints that anyone would look for.
const MAX_CHARS: usize = 64;
/// So many are looked at.
const MAX_KNOWN: usize = 1_000;

/// How many letters must be changed, added, removed, or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let changed = above[j] + usize::from(letter != other);
            let mut least = changed.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misprint_finds_the_name_that_was_meant() {
        let known = ["ImagePlane", "BottomCenter", "Lens", "fov_deg"];
        for (found, meant) in [
            ("ImagePlan", Some("ImagePlane")),
            ("imageplane", Some("ImagePlane")),
            ("ImagePlaen", Some("ImagePlane")),
            ("BotomCentre", Some("BottomCenter")),
            ("Len", Some("Lens")),
            ("fov", Some("fov_deg")),
            ("Wheel", None),
            ("", None),
        ] {
            assert_eq!(suggest(found, known).as_deref(), meant, "{found}");
        }
    }
}

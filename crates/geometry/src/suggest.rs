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
    if is_cut {
        1
    } else {
        strsim::osa_distance(found, known)
    }
}

/// Longer names are not looked at for misprints.
const MAX_CHARS: usize = 64;
/// So many are looked at.
const MAX_KNOWN: usize = 1_000;

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

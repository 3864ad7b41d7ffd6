//! Names that a language keeps for itself.

/// The name, or the name with an underscore if it is one of `keywords`, which are sorted.
pub(super) fn escape(name: &str, keywords: &[&str]) -> String {
    if keywords.binary_search(&name).is_ok() {
        format!("{name}_")
    } else {
        name.to_string()
    }
}

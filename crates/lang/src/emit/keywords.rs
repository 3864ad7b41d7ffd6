//! Names that a language keeps for itself.

use bowline_wire::schema::Struct;

/// The name, or the name with an underscore if it is one of `keywords`, which are sorted.
pub(super) fn escape(name: &str, keywords: &[&str]) -> String {
    if keywords.binary_search(&name).is_ok() {
        format!("{name}_")
    } else {
        name.to_string()
    }
}

/// The escaped form of a member's or constant's name, with underscores added while another one has it already.
pub(super) fn unique_in(body: &Struct, name: &str, mut escaped: String) -> String {
    let is_taken = |other: &str| {
        let members = body.members.iter().map(|member| &member.name);
        let mut names = members.chain(body.constants.iter().map(|constant| &constant.name));
        other != name && names.any(|taken| taken == other)
    };
    while is_taken(&escaped) {
        escaped.push('_');
    }
    escaped
}

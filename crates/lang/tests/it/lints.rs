//! What a type should document for its readers.

use bowline_lang::{Rules, Source, compile, lint};

fn findings(text: &str) -> Vec<String> {
    let sources = [Source::new("lint.lcm", text)];
    let compiled = compile(&sources, &Rules::default());
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    lint(&compiled, &sources)
        .iter()
        .map(|finding| finding.render(&sources))
        .collect()
}

#[test]
fn a_field_without_a_comment_is_found_at_its_place() {
    let found = findings("struct t {\n  int8_t ok; // whether it works\n  int8_t why;\n}");
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("t.why: expected a comment, found none"),
        "{}",
        found[0]
    );
    assert!(found[0].contains("lint.lcm:3:10"), "{}", found[0]);
}

#[test]
fn a_quantity_without_a_unit_is_found() {
    for (field, comment, is_found) in [
        ("double depth", "below the surface", true),
        ("double depth_m", "below the surface", false),
        ("double depth", "below the surface (m)", false),
        ("double depth", "metres below the surface", false),
        ("float gain", "of the loop, dimensionless", false),
        ("float speed", "over ground, m/s", false),
        ("int64_t utime", "when", true),
        ("int64_t utime", "when, microseconds since the epoch", false),
        ("int32_t n", "how many follow", false),
        ("string name", "what people call it", false),
    ] {
        let found = findings(&format!("struct t {{\n  {field}; // {comment}\n}}"));
        assert_eq!(!found.is_empty(), is_found, "{field} {comment}");
    }
}

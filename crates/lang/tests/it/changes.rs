//! What changed between two versions.

use crate::strict;
use bowline_lang::{Change, TypeChange, diff};

fn changes(old: &str, new: &str) -> Vec<TypeChange> {
    diff(&strict(old).types, &strict(new).types)
}

#[test]
fn the_same_types_in_other_words_do_not_differ() {
    assert_eq!(
        changes(
            "struct a { int8_t x; } struct b { a y; }",
            "// new\nstruct b { a y; } struct a { int8_t/**/x; }"
        ),
        []
    );
}

#[test]
fn a_changed_field_breaks_its_type_and_those_around_it() {
    let found = changes(
        "struct a { int8_t x; } struct b { a y; } struct c { b z[3]; }",
        "struct a { int16_t x; } struct b { a y; } struct c { b z[3]; }",
    );
    let names: Vec<(&str, bool)> = found
        .iter()
        .map(|change| (change.name.as_str(), change.is_breaking()))
        .collect();
    assert_eq!(names, [("a", true), ("b", true), ("c", true)]);
    assert_eq!(found[0].details, ["field changed: int8_t x -> int16_t x"]);
    assert_eq!(found[0].rebuild, ["b", "c"]);
    assert!(found[1].to_string().contains("a type within it changed"));
}

#[test]
fn a_changed_constant_breaks_nothing() {
    let found = changes(
        "struct a { const int8_t K = 1; int8_t x; }",
        "struct a { const int8_t K = 2; int8_t x; }",
    );
    assert_eq!(
        found[0].details,
        ["constant changed: int8_t K = 1 -> int8_t K = 2"]
    );
    assert!(!found[0].is_breaking());
    assert!(found[0].to_string().contains("messages stay compatible"));
}

#[test]
fn a_new_spelling_of_a_dimension_breaks_though_the_size_is_the_same() {
    let found = changes("struct a { int8_t x[16]; }", "struct a { int8_t x[0x10]; }");
    assert!(found[0].is_breaking());
}

#[test]
fn types_come_and_go_and_fields_change_places() {
    let found = changes(
        "struct a { int8_t x; int8_t y; } struct b { int8_t p; }",
        "struct a { int8_t y; int8_t x; } struct c { int8_t q; }",
    );
    let kinds: Vec<Change> = found.iter().map(|change| change.change).collect();
    assert_eq!(kinds, [Change::Changed, Change::Removed, Change::Added]);
    assert_eq!(found[0].details, ["fields are in another order: y, x"]);
}

#[test]
fn changed_enum_value_breaks_with_an_equal_fingerprint() {
    let found = changes(
        "enum mode_t { STOP = 0, GO = 1 }",
        "enum mode_t { STOP = 1, GO = 0 }",
    );
    assert_eq!(found[0].old, found[0].new);
    assert!(found[0].is_breaking());
    assert!(
        found[0].to_string().contains("misread each other"),
        "{}",
        found[0]
    );
    let more = changes(
        "enum mode_t { STOP = 0 }",
        "enum mode_t { STOP = 0, GO = 1 }",
    );
    assert!(!more[0].is_breaking());
}

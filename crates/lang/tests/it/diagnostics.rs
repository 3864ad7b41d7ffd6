//! What does not compile, and the messages about it.

use crate::{in_order, messages, strict};
use bowline_lang::{Rules, Severity, Source, compile};

/// A source, the line of the diagnostic, and parts of its message and help.
#[rustfmt::skip]
const ERRORS: &[(&str, usize, &str, &str)] = &[
    ("struct t {\n int8_t x\n}",                       2, "expected `;` after the member, found `}`", "`;`"),
    ("struct t {\n int8_t x;\n",                       3, "expected `}`, found the end of the file", "close `struct t {`"),
    ("strict t { }",                                   1, "expected `package`, `struct` or `enum`, found `strict`", ""),
    ("struct t { int8_t x[]; }",                       1, "expected the number of elements", ""),
    ("struct t { int8_t x[0]; }",                      1, "1 or more, found `0`", "int32_t n; float x[n]"),
    ("struct t { int8_t x[-1]; }",                     1, "1 or more, found `-1`", ""),
    ("struct t { int8_t x[5a]; }",                     1, "1 or more, found `5a`", ""),
    ("struct t { int8_t x[n]; int32_t n; }",           1, "expected a number, a constant or an earlier member, found `n`", "earlier"),
    ("struct t { float n; int8_t x[n]; }",             1, "expected an integer as length, found `n`, which is a float", ""),
    ("struct t { byte n; int8_t x[n]; }",              1, "which is a byte", ""),
    ("struct t { int32_t n[2]; int8_t x[n]; }",        1, "expected a single integer as length", ""),
    ("struct t { const int32_t N=-3; int8_t x[N]; }",  1, "found `N`, which is -3", ""),
    ("struct t { const double N=3; int8_t x[N]; }",    1, "expected an integer constant", ""),
    ("struct t { const int8_t A = 200; }",             1, "fits int8_t, found `200`", "signed"),
    ("struct t { const int32_t A = 0xffffffff; }",     1, "fits int32_t", ""),
    ("struct t { const int8_t A = 1.5; }",             1, "fits int8_t, found `1.5`", ""),
    ("struct t { const float A = 3.0f; }",             1, "expected a float value, found `3.0f`", "3.0"),
    ("struct t { const string A = \"x\"; }",           1, "found \"\\\"\"", "no characters or strings"),
    ("struct t { const string A = x; }",               1, "expected a constant's type, found `string`", "int8_t"),
    ("struct t { int8_t x; int8_t x; }",               1, "found `x` a second time", ""),
    ("struct t { const int8_t x = 1; int8_t x; }",     1, "found `x` a second time", "share"),
    ("struct t { } struct t { int8_t x; }",            1, "expected each type once, found `t`", ""),
    ("struct t { struct u { int8_t x; } }",            1, "expected a member, found `struct`", "on its own"),
    ("struct t { uint8_t x; }",                        1, "found `uint8_t`, which no given file defines", "no unsigned types"),
    ("struct t { int x; }",                            1, "found `int`", "int32_t"),
    ("struct t { bool x; }",                           1, "found `bool`", "boolean"),
    ("struct t { int32t x; }",                         1, "found `int32t`", "did you mean `int32_t`?"),
    ("struct t { where_t x; }",                        1, "found `where_t`", "compile the file"),
    ("package a; struct u { } package b; struct t { u x; }", 1, "found `u`", "write `a.u`"),
    ("struct t { t x; }",                              1, "found `t` within itself", "length can be 0"),
    ("struct a { b x; }\nstruct b { a y; }",           1, "within itself", ""),
    ("struct a { int8_t x; }\nstruct b { int8_t x; }", 2, "`b` has 0x0cd325b9ca9eede0, and so has `a`", "rename a field"),
    ("struct t { int8_t x[2000000000][2000000000]; }", 1, "at most 2147483647 bytes", ""),
    ("enum e { A = x }",                               1, "expected a 32-bit integer as value, found `x`", ""),
    ("enum e { A = 1, B = 1 }",                        1, "found `B` = 1 again", ""),
    ("struct t { int8_t x; /* never closed",           1, "expected `*/`", "close the comment"),
    ("struct t { int8_t a(3); }",                      1, "found \"(\"", "square brackets"),
    ("package a..b; struct t { int8_t x; }",           1, "after each dot", ""),
    ("struct t { int8_t a.b; }",                       1, "without dots", ""),
];

#[test]
fn error_has_place_cause_and_fix() {
    for (text, line, message, help) in ERRORS {
        let sources = [Source::new("bad.lcm", *text)];
        let compiled = compile(&sources, &Rules::default());
        assert!(!compiled.is_ok(), "{text}");
        let found = compiled
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.message.contains(message));
        let Some(found) = found else {
            panic!(
                "{text}\nexpected {message:?}\nfound {:?}",
                compiled.diagnostics
            )
        };
        let rendered = found.render(&sources);
        assert!(rendered.contains(&format!("bad.lcm:{line}:")), "{rendered}");
        let source_line = text.lines().nth(line - 1).unwrap_or_default();
        assert!(rendered.contains(source_line), "{rendered}");
        assert!(rendered.contains(help), "expected {help:?} in\n{rendered}");
    }
}

#[test]
fn one_typo_does_not_hide_the_others() {
    let compiled = strict(
        "struct a { int8_t 1x; int8_t y }\nstruct b { nope_t z; int8_t w[0]; }\nstrukt c { }\nenum e { ? }",
    );
    assert!(compiled.diagnostics.len() >= 5, "{:?}", messages(&compiled));
}

#[test]
fn what_follows_a_typo_is_still_understood() {
    let compiled = strict("struct a { int8_t ; int8_t y; } struct b { int8_t z; }");
    assert_eq!(compiled.diagnostics.len(), 1);
    assert!(
        compiled
            .types
            .fingerprint(compiled.types.by_name("b").unwrap())
            .is_some()
    );
}

#[test]
fn a_type_that_was_understood_in_part_has_no_fingerprint() {
    for text in [
        "struct t { int64_t utime; double y[0]; }",
        "struct t { int8_t ; int8_t y; }",
        "struct t { int8_t x; const int8_t K = 1000; }",
        "struct t { int8_t x ?; }",
    ] {
        let compiled = strict(text);
        assert!(!compiled.is_ok());
        let t = compiled.types.by_name("t").unwrap();
        assert_eq!(compiled.types.fingerprint(t), None, "{text}");
    }
}

#[test]
fn a_file_that_is_not_text_is_reported_once() {
    let compiled = strict("struct t { }\0\0??\u{fffd}");
    assert_eq!(messages(&compiled).len(), 1);
    assert!(messages(&compiled)[0].contains("found a NUL byte"));
}

/// What lcm-gen accepts though it is a mistake.
const MISTAKES: &[(&str, &[&str])] = &[
    ("unknown type", &["struct t { uint8_t x; }"]),
    (
        "type of no given file",
        &["package a; struct t { b.far_t x; }"],
    ),
    ("recursion without end", &["struct t { t x; }"]),
    (
        "package leak",
        &[
            "package a; struct t { int8_t x; }",
            "struct u { int8_t y; }",
        ],
    ),
    (
        "one fingerprint twice",
        &["struct t { int8_t x; } struct u { int8_t x; }"],
    ),
];

#[test]
fn mistakes_that_lcm_gen_accepts_are_errors_and_warnings_under_compat() {
    for (name, texts) in MISTAKES {
        let strict = in_order(texts, false);
        assert!(!strict.is_ok(), "{name}");
        let compat = in_order(texts, true);
        assert!(compat.is_ok(), "{name}: {:?}", compat.diagnostics);
        assert_eq!(compat.diagnostics.len(), strict.diagnostics.len(), "{name}");
        assert!(
            compat
                .diagnostics
                .iter()
                .all(|diagnostic| diagnostic.severity == Severity::Warning),
            "{name}"
        );
    }
}

#[test]
fn a_package_leaks_only_under_compat() {
    let texts = [
        "package a; struct t { int8_t x; }",
        "struct u { int8_t y; }",
    ];
    let name = |lcm_compat| {
        in_order(&texts, lcm_compat)
            .types
            .iter()
            .nth(1)
            .map(|(_, def)| def.full_name())
    };
    assert_eq!(name(false).as_deref(), Some("u"));
    assert_eq!(name(true).as_deref(), Some("a.u"));
}

#[test]
fn a_file_without_a_package_is_fine_before_those_with_one() {
    let compiled = in_order(
        &[
            "struct u { int8_t y; }",
            "package a; struct t { int8_t x; }",
        ],
        false,
    );
    assert_eq!(messages(&compiled), [""; 0]);
}

#[test]
fn a_type_that_is_only_named_leaves_those_that_contain_it_without_fingerprint() {
    let compiled = in_order(&["struct t { far_t x; } struct u { int8_t y; }"], true);
    let of = |name| {
        compiled
            .types
            .fingerprint(compiled.types.by_name(name).unwrap())
    };
    assert_eq!(of("t"), None);
    assert!(of("u").is_some());
}

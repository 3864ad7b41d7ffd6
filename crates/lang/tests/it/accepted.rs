//! What compiles, and what it means. Fingerprints in this file were recorded from lcm-gen 1.5.3.

use crate::{fingerprint, in_order, messages, strict};
use bowline_wire::schema::{Dim, Number, TypeKind};

/// One struct per case, and the fingerprint that the reference gives it.
#[rustfmt::skip]
const FINGERPRINTS: &[(&str, &str, u64)] = &[
    ("empty",            "struct t { }",                                                   0x0000_0000_2468_acf0),
    ("waypoint",         "struct t { string id; float position[2]; }",                     0x52af_d458_02f1_1868),
    ("image",            "struct t { int64_t utime; int32_t width; int32_t height; int32_t pixelformat; int32_t size; byte data[size]; }", 0xe1ed_f893_c314_9f31),
    ("laser",            "struct t { int64_t utime; int32_t nranges; float ranges[nranges]; float rad0; float radstep; }", 0x18f4_8ab4_4e6f_d954),
];

#[test]
fn fingerprints_are_the_references() {
    for (name, text, expected) in FINGERPRINTS {
        let compiled = strict(text);
        assert_eq!(messages(&compiled), [""; 0], "{name}");
        assert_eq!(fingerprint(&compiled, "t"), *expected, "{name}");
    }
}

#[test]
fn a_type_that_contains_itself_adds_nothing_the_second_time() {
    let node = strict("struct node_t { int32_t num_children; node_t children[num_children]; }");
    assert_eq!(fingerprint(&node, "node_t"), 0x31fe_946c_75d6_e4e7);
    // LCM's own example of recursion has no end, which only lcm-gen lets pass.
    let circle = in_order(
        &["struct A { B b; C c; } struct B { A a; } struct C { B b; }"],
        true,
    );
    let expected = [
        ("A", 0xae13_482b_8019_22d0),
        ("B", 0x5a96_10e8_b013_efa1),
        ("C", 0xb42d_4516_d014_8342),
    ];
    for (name, hash) in expected {
        assert_eq!(fingerprint(&circle, name), hash, "{name}");
    }
}

/// Spellings of one struct that lcm-gen takes, and some that it refuses for no good reason.
const SAME: &[&str] = &[
    "struct t { string id; float position[2]; }",
    "struct t{string id;float position[2];}",
    "struct t { string id; float position[2]; };",
    "struct t\n{\n\tstring id;\n\tfloat\tposition [ 2 ] ;\n}",
    "struct t {\r\n  string id;\r\n  float position[2];\r\n}\r\n",
    "struct t { string/*glued*/ id;// to the end\n float position/* */[/**/2]; }",
    "/* before */ struct /* a */ t /* b */ { /* c */ string id /* d */ ; float position[2]; } // after",
    "// a comment in UTF-8: été, 日本語, \u{1f6a2}\nstruct t { string id; float position[2]; }",
    "\u{feff}struct t { string id; float position[2]; }",
    ";;struct t { ; string id;; float position[2]; };;",
    "/**/ /***/ /* * */ //\n struct t { string id; float position[2]; } //",
    "struct t { const int32_t N = 2; string id; float position[N]; }",
    "struct t { const int8_t A = 1, N = 2, B = -3; string id; float position[N]; }",
];

#[test]
fn one_struct_has_one_fingerprint_however_it_is_spelled() {
    for text in SAME {
        let compiled = strict(text);
        assert_eq!(messages(&compiled), [""; 0], "{text}");
        assert_eq!(fingerprint(&compiled, "t"), 0x52af_d458_02f1_1868, "{text}");
    }
}

#[test]
fn several_names_share_one_type() {
    let compiled = strict("struct t { int8_t a, b[3], c; }");
    let TypeKind::Struct(body) = &compiled
        .types
        .def(compiled.types.by_name("t").unwrap())
        .kind
    else {
        panic!()
    };
    let names: Vec<(&str, usize)> = body
        .members
        .iter()
        .map(|m| (m.name.as_str(), m.dims.len()))
        .collect();
    assert_eq!(names, [("a", 0), ("b", 1), ("c", 0)]);
}

#[test]
fn the_text_of_a_dimension_counts_and_not_its_value() {
    let of = |dim: &str| fingerprint(&strict(&format!("struct t {{ int8_t a[{dim}]; }}")), "t");
    assert_ne!(of("16"), of("0x10"));
    assert_ne!(of("16"), of("020"));
    let by_constant = fingerprint(
        &strict("struct t { const int32_t N = 0x10; int8_t a[N]; }"),
        "t",
    );
    assert_eq!(by_constant, of("0x10"));
}

#[test]
fn dimensions_have_the_value_that_c_gives_their_text() {
    for (text, expected) in [("16", 16), ("0x10", 16), ("010", 8), ("1", 1)] {
        let compiled = strict(&format!("struct t {{ int8_t a[{text}]; }}"));
        let TypeKind::Struct(body) = &compiled
            .types
            .def(compiled.types.by_name("t").unwrap())
            .kind
        else {
            panic!()
        };
        assert_eq!(
            body.members[0].dims,
            [Dim::Fixed {
                size: expected,
                text: text.into()
            }]
        );
    }
}

#[test]
fn constants_are_numbers_of_their_type() {
    #[rustfmt::skip]
    let cases = [
        ("int8_t", "-128", Number::Integer(-128)),
        ("int16_t", "0x7fff", Number::Integer(32767)),
        ("int32_t", "017", Number::Integer(15)),
        ("int64_t", "-9223372036854775808", Number::Integer(i64::MIN)),
        ("float", "1e5", Number::Float(1e5)),
        ("double", "-.5", Number::Float(-0.5)),
        ("double", "1e-3", Number::Float(1e-3)),
        ("double", "inf", Number::Float(f64::INFINITY)),
        ("double", "3", Number::Float(3.0)),
    ];
    for (ty, text, expected) in cases {
        let compiled = strict(&format!("struct t {{ const {ty} A = {text}; }}"));
        assert_eq!(messages(&compiled), [""; 0], "{text}");
        let TypeKind::Struct(body) = &compiled
            .types
            .def(compiled.types.by_name("t").unwrap())
            .kind
        else {
            panic!()
        };
        assert_eq!(
            (body.constants[0].value, body.constants[0].text.as_str()),
            (expected, text)
        );
    }
}

#[test]
fn enum_values_count_from_one_and_go_on_from_the_highest() {
    let compiled = strict("enum e { A, B = 0x10, C; D = -5, E }");
    assert_eq!(messages(&compiled), [""; 0]);
    let TypeKind::Enum(body) = &compiled
        .types
        .def(compiled.types.by_name("e").unwrap())
        .kind
    else {
        panic!()
    };
    let values: Vec<(&str, i32)> = body
        .values
        .iter()
        .map(|v| (v.name.as_str(), v.value))
        .collect();
    assert_eq!(
        values,
        [("A", 1), ("B", 16), ("C", 17), ("D", -5), ("E", 18)]
    );
}

#[test]
fn types_find_each_other_across_files_packages_and_order() {
    let compiled = in_order(
        &[
            "package a; struct outer_t { inner_t x; b.c.far_t y; }",
            "package b.c; struct far_t { int8_t z; a.inner_t back; }",
            "package a; struct inner_t { int8_t w; }",
        ],
        false,
    );
    assert_eq!(messages(&compiled), [""; 0]);
    for name in ["a.outer_t", "a.inner_t", "b.c.far_t"] {
        assert!(compiled.types.by_name(name).is_some(), "{name}");
    }
}

#[test]
fn recursion_through_a_variable_array_has_an_end() {
    let compiled = strict(
        "struct node_t { int32_t n; node_t kids[n]; } struct a { int8_t n; b x[n]; } struct b { a y; }",
    );
    assert_eq!(messages(&compiled), [""; 0]);
    let node = compiled.types.by_name("node_t").unwrap();
    assert!(compiled.types.is_recursive(node));
    assert_eq!(compiled.types.min_size(node), 4);
}

#[test]
fn a_package_line_counts_for_what_follows_it_in_its_file() {
    let compiled = strict(
        "struct a { int8_t x; } package p; struct b { int8_t y; } package q.r; struct c { p.b z; }",
    );
    assert_eq!(messages(&compiled), [""; 0]);
    let names: Vec<String> = compiled
        .types
        .iter()
        .map(|(_, def)| def.full_name())
        .collect();
    assert_eq!(names, ["a", "p.b", "q.r.c"]);
}

#[test]
fn words_that_languages_keep_for_themselves_are_fine_as_names() {
    let compiled = strict(
        "struct struct { int8_t struct; int8_t package; int8_t enum; int8_t type; int8_t self; }",
    );
    assert_eq!(messages(&compiled), [""; 0]);
}

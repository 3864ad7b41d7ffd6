//! Values without generated code: hostile messages, paths, JSON and schemas that travel.

use bowline_lang::{Rules, Source, compile};
use bowline_tests::random::Random;
use bowline_tests::trees::Tree;
use bowline_tests::values;
use bowline_wire::schema::{Docs, TypeSet};
use bowline_wire::{
    DecodeFault, FieldPath, MAX_DEPTH, MAX_FREE_ELEMENTS, MAX_VALUES_A_BYTE, Value,
};

fn types(text: &str) -> TypeSet {
    let compiled = compile(
        &[Source::new("test.lcm", text)],
        &Rules {
            lcm_compat: true,
            ..Rules::default()
        },
    );
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    compiled.types
}

/// A message of the only type, or the last, with this body.
fn message(types: &TypeSet, name: &str, body: &[u8]) -> Vec<u8> {
    let id = types.by_name(name).expect("the type is there");
    let fingerprint = types.fingerprint(id).expect("the type is complete");
    [&fingerprint.0.to_be_bytes(), body].concat()
}

fn fault(types: &TypeSet, name: &str, body: &[u8]) -> (usize, String, DecodeFault) {
    let error = types
        .decode(&message(types, name, body))
        .map(|_| ())
        .expect_err("the message is malformed");
    (
        error.offset(),
        error.path().to_string(),
        error.fault().clone(),
    )
}

#[test]
fn a_fault_is_reported_with_its_byte_and_its_field() {
    let types = types(
        "struct in_t { int8_t a; string s; } struct t { int8_t n; in_t x[n]; int8_t grid[n][2]; } struct l { int64_t n; double d[n]; }",
    );
    #[rustfmt::skip]
    let cases: &[(&str, &[u8], usize, &str, DecodeFault)] = &[
        ("t", b"",                                8, "n", DecodeFault::Truncated { needed: 1, found: 0 }),
        ("t", b"\xff",                            9, "x", DecodeFault::Length { found: -1 }),
        ("t", b"\x01\x07\0\0\0",                  9, "x", DecodeFault::Elements { length: 1, min_size: 6, found: 4 }),
        ("t", b"\x01\x07\0\0\0\0\0",             10, "x[0].s", DecodeFault::TextLength { found: 0 }),
        ("t", b"\x01\x07\xff\0\0\0\0",           10, "x[0].s", DecodeFault::TextLength { found: -16_777_216 }),
        ("t", b"\x01\x07\0\0\0\x02ab",           15, "x[0].s", DecodeFault::NoNul { found: b'b' }),
        ("t", b"\x01\x07\0\0\0\x09ab",           14, "x[0].s", DecodeFault::Truncated { needed: 9, found: 2 }),
        ("t", b"\x01\x07\0\0\0\x01\0\x05",       15, "grid", DecodeFault::Elements { length: 1, min_size: 2, found: 1 }),
        ("t", b"\x00!",                           9, "", DecodeFault::Trailing { found: 1 }),
        ("l", b"\x7f\xff\xff\xff\xff\xff\xff\xff", 16, "d", DecodeFault::Elements { length: i64::MAX, min_size: 8, found: 0 }),
    ];
    for (name, body, offset, path, expected) in cases {
        assert_eq!(
            fault(&types, name, body),
            (*offset, (*path).to_string(), expected.clone()),
            "{body:?}"
        );
    }
}

#[test]
fn elements_that_take_no_bytes_are_few() {
    let types = types(
        "struct e { } struct t { int32_t n; e x[n]; } struct g { int32_t n; int32_t m; int8_t x[n][m]; }",
    );
    let n = |n: usize| u32::try_from(n).unwrap().to_be_bytes();
    assert!(
        types
            .decode(&message(&types, "t", &n(MAX_FREE_ELEMENTS)))
            .is_ok()
    );
    let (_, path, found) = fault(&types, "t", &n(MAX_FREE_ELEMENTS + 1));
    assert_eq!((path.as_str(), found), ("x", DecodeFault::FreeElements));
    let rows = [n(i32::MAX as usize), n(0)].concat();
    assert_eq!(fault(&types, "g", &rows).2, DecodeFault::FreeElements);
}

/// Types that a few hundred bytes describe, of which a message of a few bytes would have billions of values.
#[test]
fn values_beyond_the_bytes_of_a_message_are_refused() {
    let doubled: String = (0..40)
        .map(|level| format!("struct t{level} {{ t{0} a; t{0} b; }} ", level + 1))
        .collect();
    let rows: String = (0..20)
        .map(|level| format!("struct t{level} {{ t{0} rows[1000]; }} ", level + 1))
        .collect();
    let cases = [
        format!("{doubled} struct t40 {{ }}"),
        format!("{rows} struct t20 {{ }}"),
        "struct t0 { e x[2000000000]; } struct e { }".to_owned(),
        "struct t0 { e x[20000][20000]; } struct e { f y; f z; } struct f { }".to_owned(),
        "struct t0 { int32_t n; e x[n][2000000000]; } struct e { }".to_owned(),
    ];
    for text in &cases {
        let types = types(text);
        for body in [&b""[..], b"\0\0\0\x01"] {
            let message = message(&types, "t0", body);
            let Err(error) = types.decode(&message) else {
                panic!("{text:.60}: {body:?} was decoded");
            };
            assert!(error.offset() <= message.len(), "{error}");
        }
    }
    let types = types(&cases[0]);
    let limit = MAX_FREE_ELEMENTS + 8 * MAX_VALUES_A_BYTE;
    assert_eq!(fault(&types, "t0", b"").2, DecodeFault::Values { limit });
}

#[test]
fn a_tree_is_as_deep_as_it_may_be_and_no_deeper() {
    let types = types("struct node_t { int8_t n; node_t kids[n]; }");
    let chain = |depth: usize| [vec![1; depth - 1], vec![0]].concat();
    assert!(
        types
            .decode(&message(&types, "node_t", &chain(MAX_DEPTH)))
            .is_ok()
    );
    assert_eq!(
        fault(&types, "node_t", &chain(MAX_DEPTH + 1)).2,
        DecodeFault::TooDeep { limit: MAX_DEPTH }
    );
    assert_eq!(
        fault(&types, "node_t", &chain(1_000_000)).2,
        DecodeFault::TooDeep { limit: MAX_DEPTH }
    );
}

#[test]
fn path_selects_a_field_and_a_wrong_one_lists_the_fields() {
    let types = types(
        "struct w_t { string id; float p[2]; } struct t { int32_t n; w_t ws[n]; double m[2][3]; }",
    );
    let id = types.by_name("t").unwrap();
    let json = br#"{"ws": [{"id": "a", "p": [1, 2]}, {"id": "b", "p": [3, 4]}], "m": [[1, 2, 3], [4, 5, 6]]}"#;
    let value = types.from_json(id, json).unwrap();
    let pick = |path: &str| {
        types
            .select(id, &FieldPath::parse(path).unwrap())
            .unwrap()
            .pick(&value)
            .map(Value::into_owned)
    };
    assert_eq!(pick("n"), Some(Value::Int32(2)));
    assert_eq!(pick("ws[1].id").unwrap().as_str(), Some("b"));
    assert_eq!(pick("ws[1].p[0]"), Some(Value::Float(3.0)));
    assert_eq!(pick("m[1][2]"), Some(Value::Double(6.0)));
    assert!(matches!(pick("m[1]"), Some(Value::Array(row)) if row.len() == 3));
    assert_eq!(pick("ws[2].id"), None, "there are only two");
    assert!(matches!(pick(""), Some(Value::Struct(_))));
    for (path, part) in [
        ("x", r#"found "x"; it has n, ws, m"#),
        ("ws[0].x", r#"a field of ws[0], found "x"; it has id, p"#),
        ("n[0]", "expected an array at n, found int32_t"),
        ("n.x", "expected a struct at n, found int32_t"),
        ("ws.id", "expected an index such as ws[0]"),
    ] {
        let error = types
            .select(id, &FieldPath::parse(path).unwrap())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "expected {part:?}, found {error:?}");
    }
}

#[test]
fn json_represents_values_outside_of_json() {
    let types = types(
        "enum c_t { RED } struct t { int64_t i; float f; double d[4]; byte b[3]; string s; c_t c[2]; boolean ok; }",
    );
    let id = types.by_name("t").unwrap();
    let json = concat!(
        r#"{"i":"-9223372036854775808","f":0.1,"d":["NaN","Infinity","-Infinity","NaN:0xfff8000000000001"],"#,
        r#""b":"AAH/","s":{"base64":"6Q=="},"c":["RED",7],"ok":true}"#
    );
    let value = types.from_json(id, json.as_bytes()).unwrap();
    assert_eq!(types.to_json(id, &value), json);
    let message = types.encode(id, &value).unwrap();
    let (_, decoded) = types.decode(&message).unwrap();
    assert_eq!(types.to_json(id, &decoded), json);
    // The plain forms mean the same.
    let plain = concat!(
        r#"{"i":-9223372036854775808,"f":0.1,"d":["NaN","Infinity","-Infinity","NaN:0xfff8000000000001"],"#,
        r#""b":[0,1,255],"s":{"base64":"6Q=="},"c":[1,7],"ok":1}"#
    );
    assert_eq!(
        types
            .encode(id, &types.from_json(id, plain.as_bytes()).unwrap())
            .unwrap(),
        message
    );
}

#[test]
fn json_of_another_type_is_refused_with_the_field() {
    let types = types(
        "enum c_t { RED } struct t { int8_t i; float f; byte b[2]; string s; c_t c; int32_t g[2][2]; }",
    );
    let id = types.by_name("t").unwrap();
    let good = r#"{"i":1,"f":1,"b":[1,2],"s":"x","c":"RED","g":[[1,2],[3,4]]}"#;
    assert!(types.from_json(id, good.as_bytes()).is_ok());
    for (from, to, path) in [
        (r#""i":1"#, r#""i":128"#, "i"),
        (r#""i":1"#, r#""i":1.5"#, "i"),
        (r#""i":1"#, r#""i":null"#, "i"),
        (r#""i":1"#, r#""i":"one""#, "i"),
        (r#""f":1"#, r#""f":1e300"#, "f"),
        (r#""b":[1,2]"#, r#""b":[1,256]"#, "b[1]"),
        (r#""b":[1,2]"#, r#""b":"??""#, "b"),
        (r#""s":"x""#, r#""s":5"#, "s"),
        (r#""c":"RED""#, r#""c":"BLUE""#, "c"),
        (r#"[3,4]"#, r#"[3]"#, "g[1]"),
        (r#"[3,4]"#, r#"3"#, "g[1]"),
        (r#""i":1"#, r#""i":1,"i":2"#, ""),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let error = types.from_json(id, bad.as_bytes()).unwrap_err();
        assert_eq!(error.path().to_string(), path, "{error}");
    }
}

#[test]
fn random_values_survive_json_and_schemas_survive_travel() {
    let mut random = Random::new(5);
    for seed in 0..200 {
        let tree = Tree::random(seed);
        let compiled = compile(
            &tree.sources,
            &Rules {
                lcm_compat: true,
                ..Rules::default()
            },
        );
        assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
        for (id, _) in compiled.types.iter() {
            let bytes = compiled.types.closure(id).to_bytes(Docs::Keep);
            let travelled = TypeSet::from_bytes(&bytes).unwrap();
            let (root, _) = travelled.iter().next().unwrap();
            assert_eq!(travelled.fingerprint(root), compiled.types.fingerprint(id));
            for n in 0..bytes.len() {
                assert!(
                    TypeSet::from_bytes(&bytes[..n]).is_err(),
                    "cut to {n} bytes"
                );
            }
            let value = values::random(&travelled, root, &mut random);
            let message = compiled.types.encode(id, &value).unwrap();
            let json = compiled.types.to_json(id, &value);
            let read = travelled
                .from_json(root, json.as_bytes())
                .unwrap_or_else(|error| panic!("{error}\n{json}"));
            assert_eq!(travelled.encode(root, &read).unwrap(), message, "{json}");
        }
    }
}

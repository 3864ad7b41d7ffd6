//! Messages as lines that fold.

use crate::golden::{self, types_of};
use bowline_inspect::tree::{Fold, Folds, Row, Tree};
use bowline_wire::schema::{TypeId, TypeSet};
use bowline_wire::{FieldPath, Value};

fn rows(types: &TypeSet, id: TypeId, value: &Value<'_>, folds: &Folds) -> Vec<Row> {
    Tree::new(types, id, value, folds).rows(0..usize::MAX)
}

/// Opens everything, as far as `max_rows`.
fn open_all(types: &TypeSet, id: TypeId, value: &Value<'_>, max_rows: usize) -> Folds {
    let mut folds = Folds::default();
    loop {
        let rows = Tree::new(types, id, value, &folds).rows(0..max_rows);
        let Some(row) = rows.iter().find(|row| row.fold == Fold::Closed) else {
            return folds;
        };
        assert!(folds.open(row), "{row:?}");
    }
}

fn screen(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let Row {
            depth,
            name,
            ty,
            value,
            unit,
            fold,
            ..
        } = row;
        let mark = match fold {
            Fold::Leaf => ' ',
            Fold::Open => '-',
            Fold::Closed => '+',
        };
        let indent = "  ".repeat(*depth);
        format!("{indent}{mark}{name} | {ty} | {value} | {unit}")
            .trim_end()
            .to_string()
            + "\n"
    };
    rows.iter().map(line).collect()
}

fn closed(types: &TypeSet, name: &str, json: &str) -> String {
    let id = types.by_name(name).unwrap();
    let value = types.from_json(id, json.as_bytes()).unwrap();
    screen(&rows(types, id, &value, &Folds::default()))
}

#[test]
fn scalars_of_every_type_are_shown_right() {
    let types = golden::types();
    let json = r#"{"i8":-128,"i16":-32768,"i32":-2147483648,"i64":"-9223372036854775808","b":255,"f":"-Infinity","d":"NaN","s":"","yes":true,"no":false}"#;
    assert_eq!(
        closed(&types, "golden.scalars_t", json),
        r#" i8 | int8_t | -128 |
 i16 | int16_t | -32768 |
 i32 | int32_t | -2147483648 |
 i64 | int64_t | -9223372036854775808 |
 b | byte | 255 0xff |
 f | float | -inf |
 d | double |  NaN |
 s | string | "" |
 yes | boolean | true |
 no | boolean | false |
"#
    );
    let json = r#"{"i8":127,"i16":32767,"i32":2147483647,"i64":"9223372036854775807","b":0,"f":0.1,"d":-0.0,"s":"déjà 漢 🚢","yes":true,"no":false}"#;
    let shown = closed(&types, "golden.scalars_t", json);
    assert!(shown.contains(" f | float |  0.100000 |"), "{shown}");
    assert!(shown.contains(" d | double | -0.000000000 |"), "{shown}");
    assert!(shown.contains(r#" s | string | "déjà 漢 🚢" |"#), "{shown}");
}

#[test]
fn arrays_are_folded_with_a_summary_and_units_and_meanings_are_shown() {
    let types = golden::types();
    assert_eq!(
        closed(
            &types,
            "bowline.pose_t",
            r#"{"utime":1763269856250000,"state":[0,0.5,1,1.5,2,2.5,3,3.5,4,4.5,5,5.5]}"#
        ),
        " utime | int64_t | 1763269856250000 2025-11-16 05:10:56.250000Z | us\n\
         +state | double[12] | [12] 0, 0.5, 1, ... min 0 max 5.5 |\n"
    );
    assert_eq!(
        closed(
            &types,
            "bowline.image_t",
            r#"{"utime":1,"width":2,"height":2,"pixelformat":1497715271,"size":4,"data":"AECA/w=="}"#
        ),
        " utime | int64_t | 1 | us\n width | int32_t | 2 | px\n height | int32_t | 2 |\n\
         \x20pixelformat | int32_t | 1497715271 GREY |\n size | int32_t | 4 | B\n\
         +data | byte[size=4] | [4] 00 40 80 ff |\n"
    );
    assert_eq!(
        closed(
            &types,
            "golden.car_t",
            r#"{"gear":"DRIVE","n":3,"gears":["REVERSE","NEUTRAL",99]}"#
        ),
        " gear | gear_t | DRIVE 17 |\n n | int8_t | 3 |\n+gears | gear_t[n=3] | [3] REVERSE, NEUTRAL, 99 |\n"
    );
    let request = r#"{"utime":1,"player":"","action":6,"value":-2.5,"log_utime":0,"text":""}"#;
    assert!(closed(&types, "bowline.player_request_t", request).contains("| 6 SEEK_BY |"));
}

#[test]
fn structs_are_open_and_everything_opens_to_its_elements() {
    let types = golden::types();
    let id = types.by_name("golden.nested_t").unwrap();
    let json = br#"{"one":{"name":"one","xyz":[1.0,2.0,3.0]},"two":[{"name":"two","xyz":[4.0,5.0,6.0]},{"name":"","xyz":[0.0,0.0,0.0]}],"n":1,"many":[{"name":"three","xyz":[7.0,8.0,9.0]}],"none":{},"nones":[{}],"far":{"x":-1}}"#;
    let value = types.from_json(id, json).unwrap();
    assert_eq!(
        screen(&rows(&types, id, &value, &Folds::default())),
        r#"-one | point_t |  |
   name | string | "one" |
  +xyz | double[3] | [3] 1, 2, 3 |
+two | point_t[2] | [2] {name "two", xyz [3] 4, 5, 6}, {name "", xyz [3] 0, 0, 0} |
 n | int8_t | 1 |
+many | point_t[n=1] | [1] {name "three", xyz [3] 7, 8, 9} |
 none | empty_t | {} |
+nones | empty_t[n=1] | [1] {} |
-far | other.far_t |  |
   x | int16_t | -1 |
"#
    );
    let mut folds = Folds::default();
    let many = rows(&types, id, &value, &folds).remove(5);
    folds.toggle(&many);
    let opened = rows(&types, id, &value, &folds);
    assert_eq!(
        screen(opened.get(5..10).unwrap()),
        "-many | point_t[n=1] | [1] {name \"three\", xyz [3] 7, 8, 9} |\n  -[0] | point_t |  |\n\
         \x20    name | string | \"three\" |\n    +xyz | double[3] | [3] 7, 8, 9 |\n none | empty_t | {} |\n"
    );
    let tree = Tree::new(&types, id, &value, &folds);
    assert_eq!(tree.position("many[0].xyz"), Some(8));
    assert_eq!(
        (tree.parent(8), tree.parent(6), tree.parent(5)),
        (Some(6), Some(5), None)
    );
    folds.toggle(&many);
    assert_eq!(folds, Folds::default(), "twice is as at first");
}

#[test]
fn every_line_of_every_golden_message_leads_to_its_field() {
    let types = golden::types();
    for golden in golden::messages() {
        let (id, value) = types.decode(&golden.bytes).unwrap();
        let folds = open_all(&types, id, &value, 1000);
        let tree = Tree::new(&types, id, &value, &folds);
        let rows = tree.rows(0..usize::MAX);
        assert_eq!(tree.n_rows(), rows.len(), "{}", golden.name);
        for (at, row) in rows.iter().enumerate() {
            let path = FieldPath::parse(&row.path).unwrap();
            let selector = types.select(id, &path).unwrap();
            let field = selector.pick(&value).unwrap();
            assert_eq!(row.is_numeric, field.as_f64().is_some(), "{row:?}");
            assert_eq!(tree.position(&row.key), Some(at), "{row:?}");
            assert_eq!(tree.rows(at..at + 1), std::slice::from_ref(row), "{row:?}");
        }
    }
}

#[test]
fn long_arrays_open_in_pages_and_pages_of_pages() {
    let types = types_of("package p; struct long_t { int32_t n; float x[n]; int8_t last; }");
    let id = types.by_name("long_t").unwrap();
    let n = 1_000_000_u32;
    let mut bytes = types.fingerprint(id).unwrap().0.to_be_bytes().to_vec();
    bytes.extend(n.to_be_bytes());
    for at in 0..n {
        bytes.extend(f32::from_bits(at).to_bits().to_be_bytes());
    }
    bytes.push(7);
    let value = types.decode_as(id, &bytes).unwrap();
    let mut folds = Folds::default();
    for key in ["x", "x[0..10000]", "x[9900..10000]"] {
        let tree = Tree::new(&types, id, &value, &folds);
        let at = tree.position(key).unwrap();
        let row = tree.rows(at..at + 1).remove(0);
        assert!(folds.open(&row), "{key}");
    }
    let tree = Tree::new(&types, id, &value, &folds);
    assert_eq!(tree.n_rows(), 3 + 100 + 100 + 100);
    let names: Vec<String> = tree
        .rows(100..106)
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(
        names,
        [
            "[9700..9800]",
            "[9800..9900]",
            "[9900..10000]",
            "[9900]",
            "[9901]",
            "[9902]"
        ]
    );
    let deep = tree.rows(103..104).remove(0);
    assert_eq!((deep.path.as_str(), deep.depth), ("x[9900]", 3));
    assert_eq!(tree.rows(302..400).last().unwrap().name, "last");
}

#[test]
fn recursion_to_the_decoders_limit_can_be_opened() {
    let types = golden::types();
    let id = types.by_name("golden.node_t").unwrap();
    let depth = 120;
    let mut json = String::from(r#"{"label":"leaf","n":0,"children":[]}"#);
    for _ in 1..depth {
        json = format!(r#"{{"label":"x","n":1,"children":[{json}]}}"#);
    }
    let value = types.from_json(id, json.as_bytes()).unwrap();
    assert!(types.encode(id, &value).is_ok(), "a message that can be");
    let folds = open_all(&types, id, &value, 10_000);
    let rows = rows(&types, id, &value, &folds);
    assert_eq!(rows.len(), depth * 4 - 1);
    assert_eq!(rows.last().unwrap().depth, (depth - 1) * 2);
}

#[test]
fn text_that_would_move_cursors_is_escaped_wherever_it_comes_from() {
    let types = golden::types();
    let hostile = "\u{1b}[2J\u{202e}\u{7}";
    let def = bowline_wire::schema::TypeDef {
        package: hostile.into(),
        name: hostile.into(),
        doc: hostile.into(),
        kind: bowline_wire::schema::TypeKind::Struct(bowline_wire::schema::Struct {
            members: vec![bowline_wire::schema::Member {
                name: format!("a.b{hostile}"),
                doc: format!("{hostile}, metres"),
                ty: bowline_wire::schema::Type::Primitive(bowline_wire::schema::Primitive::String),
                dims: vec![],
            }],
            constants: vec![],
        }),
    };
    drop(types);
    let types = TypeSet::new(vec![def]).unwrap();
    let value = Value::Struct(Box::new([Value::from(hostile)]));
    let folds = Folds::default();
    let tree = Tree::new(&types, TypeId(0), &value, &folds);
    let (name, doc) = tree.heading();
    let row = tree.rows(0..1).remove(0);
    assert_eq!(row.value, r#""\x1b[2J\u{202e}\x07""#);
    for text in [
        name, doc, row.key, row.path, row.name, row.ty, row.value, row.unit, row.doc,
    ] {
        assert!(
            !text.chars().any(bowline_inspect::text::is_unprintable),
            "{text:?}"
        );
    }
}

//! Messages as text and as forms to fill in, times between messages, and who is who.

use bowline_bus::{Bus, SCHEMA_CHANNEL, Sender};
use bowline_inspect::{
    Intervals, Process, Publishers, Senders, TextOptions, TypeName, example, faults, to_line,
    to_lines,
};
use bowline_lang::{Rules, Source, compile};
use bowline_msgs::Schema;
use bowline_wire::Message as _;
use bowline_wire::schema::{Type, TypeId, TypeSet};
use std::collections::HashMap;

const TYPES: &str = r#"
package show;
enum mode_t { IDLE = 0, GO = 2 }
struct point_t { string name; double xyz[3]; }
struct all_t {
    int64_t utime;      // time, us
    string text;
    mode_t mode;
    mode_t other;
    float ratio;
    double limits[2];
    int32_t n;
    byte data[n];
    int16_t numbers[n];
    int32_t n_points;   // how many
    point_t points[n_points];
    int8_t grid[2][3];
    boolean is_on;
}
"#;

fn types() -> (TypeSet, TypeId) {
    let sources = [Source::from_bytes("show.lcm", TYPES.as_bytes())];
    let compiled = compile(&sources, &Rules::default());
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    let id = compiled.types.by_name("show.all_t").unwrap();
    (compiled.types, id)
}

const JSON: &str = r#"{
    "utime": 5, "text": {"base64": "YRv/Yg=="}, "mode": "GO", "other": 7, "ratio": 0.1,
    "limits": ["NaN", "-Infinity"], "data": [0, 255, 16], "numbers": [1, -2, 3],
    "points": [{"name": "a", "xyz": [1, 2, 3]}, {"name": "b", "xyz": [0, 0, 1e300]}],
    "grid": [[1, 2, 3], [4, 5, 6]], "is_on": true
}"#;

#[test]
fn a_message_is_lines_that_people_can_read() {
    let (types, id) = types();
    let value = types.from_json(id, JSON.as_bytes()).unwrap();
    let options = TextOptions::default();
    let lines = to_lines(&types, Type::Named(id), &value, options);
    #[rustfmt::skip]
    let expected = [
        "utime: 5",
        r#"text: "a\x1b\xffb"  (not UTF-8)"#,
        "mode: GO (2)",
        "other: 7 (no name)",
        "ratio: 0.1",
        "limits: [NaN, -Infinity]",
        "n: 3",
        "data: 3 bytes: 00 ff 10",
        "numbers: [1, -2, 3]",
        "n_points: 2",
        "points: 2",
        r#"  - name: "a""#,
        "    xyz: [1.0, 2.0, 3.0]",
        r#"  - name: "b""#,
        "    xyz: [0.0, 0.0, 1e300]",
        "grid: 2 x 3",
        "  - [1, 2, 3]",
        "  - [4, 5, 6]",
        "is_on: true",
    ];
    assert_eq!(lines, expected);
    assert_eq!(to_line(&types, Type::Named(id), &value, options), None);
}

#[test]
fn long_arrays_are_cut_and_comments_are_shown_where_asked_for() {
    let (types, id) = types();
    let value = types.from_json(id, JSON.as_bytes()).unwrap();
    let options = TextOptions {
        max_items: 1,
        has_comments: true,
    };
    let lines = to_lines(&types, Type::Named(id), &value, options);
    for line in [
        "utime: 5  # time, us",
        "limits: [NaN, ... 2 in all]",
        "data: 3 bytes: 00 ff ...",
        "  ... and 1 more",
    ] {
        assert!(
            lines.iter().any(|it| it == line),
            "no {line:?} in {lines:#?}"
        );
    }
}

#[test]
fn everything_that_is_wrong_with_json_is_found_and_what_is_right_is_not() {
    let (types, id) = types();
    let right = serde_json::from_str(JSON).unwrap();
    assert!(faults(&types, id, &right).is_empty());
    let wrong = serde_json::json!({
        "utime": 5.5, "text": 3, "mode": "STOP", "other": 7, "ratio": "x", "limits": [1],
        "data": "AAA=", "numbers": [40_000], "points": [{"name": "a"}, 5],
        "grid": [[1, 2, 3], [4, 5, 600]], "more": 1,
    });
    let found = faults(&types, id, &wrong);
    for start in [
        "utime: expected a whole number (int64_t), found 5.5",
        "text: expected a string, found 3",
        "mode: expected one of IDLE, GO, found \"STOP\"",
        "ratio: expected a number",
        "limits: expected 2 elements, found 1",
        "numbers[0]: expected a number from -32768",
        "points[0].xyz: missing, expected double[3]",
        "points[1]: expected an object (show.point_t), found 5",
        "grid[1][2]: expected a number from -128",
        "is_on: missing, expected boolean",
        "more: no such field",
    ] {
        assert!(
            found.iter().any(|it| it.starts_with(start)),
            "no {start:?} in {found:#?}"
        );
    }
    assert_eq!(found.len(), 11, "{found:#?}");
}

#[test]
fn an_example_is_a_message_once_its_comments_are_gone() {
    let (types, id) = types();
    let example = example(&types, id);
    assert!(
        example.contains("\"mode\": \"IDLE\",  // show.mode_t: IDLE, GO"),
        "{example}"
    );
    assert!(
        example.contains("\"utime\": 0,  // int64_t; time, us"),
        "{example}"
    );
    let plain: Vec<&str> = example
        .lines()
        .map(|line| line.split("  //").next().unwrap())
        .collect();
    types.from_json(id, plain.join("\n").as_bytes()).unwrap();
}

#[test]
fn intervals_are_summed_up_over_the_window_and_put_into_bins() {
    let mut even = Intervals::new(3);
    for i in 0..10 {
        even.add(i * 10_000_000, 100);
    }
    let summary = even.summary().unwrap();
    assert_eq!(
        (summary.n, even.n_messages(), even.n_bytes()),
        (3, 10, 1_000)
    );
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    near(summary.rate_hz, 100.0);
    near(summary.bytes_per_s, 10_000.0);
    near(summary.deviation_s, 0.0);
    assert_eq!(even.histogram(10).len(), 1);

    // From 1 ms to 10 s: bins of one ratio, none lost; and one that goes back in time.
    let mut wide = Intervals::new(1_000);
    let mut now_ns = 0_i64;
    for interval_ms in [1, 10, 100, 1_000, 10_000, -5] {
        wide.add(now_ns, 0);
        now_ns += interval_ms * 1_000_000;
    }
    wide.add(now_ns, 0);
    let bins = wide.histogram(8);
    assert_eq!(bins.len(), 8);
    assert_eq!(bins.iter().map(|bin| bin.n).sum::<usize>(), 6);
    assert!(
        bins.windows(2).all(|pair| pair[0].from_s < pair[1].from_s),
        "{bins:?}"
    );
    assert!(wide.summary().unwrap().min_s < 0.0);

    let mut one = Intervals::new(0);
    one.add(0, 1);
    assert!(one.summary().is_none() && one.histogram(5).is_empty());
}

#[test]
fn programs_are_named_by_their_descriptions_and_the_system() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.events(".*").unwrap();
    let said = Schema {
        version: Schema::VERSION,
        name: "show.all_t".to_owned(),
        host: "boat".to_owned(),
        process: "pilot".to_owned(),
        pid: 7,
        channels: vec!["all".to_owned()],
        ..Schema::default()
    }
    .with_lengths();
    bus.publish_bytes(SCHEMA_CHANNEL, &said.encode().unwrap())
        .unwrap();
    bus.publish_bytes("all", b"12345678").unwrap();
    let mut senders = Senders::default();
    while let Some((_, event)) = inbox.try_recv().unwrap() {
        senders.take(&event);
    }
    let mut publishers = Publishers::default();
    let name = |_| None;
    let nobody = HashMap::new();
    let unnamed = senders.who(&publishers, &[], &nobody, name);
    assert_eq!((unnamed.len(), &unnamed[0].process), (1, &None));
    assert_eq!(unnamed[0].messages, Some(2));
    assert!(matches!(
        unnamed[0].channels["all"][..],
        [TypeName::Unknown(_)]
    ));

    publishers.hear(&said, Sender::Process, 0);
    let named = senders.who(&publishers, &[], &nobody, name);
    assert_eq!(named[0].process.as_deref(), Some("pilot"));
    assert!(named[0].is_announced);

    // What the kernel knows of a process is not a matter of opinion.
    let process = Process {
        name: "liar".to_owned(),
        pid: 8,
    };
    let local = HashMap::from([(Sender::Process, process)]);
    let known = senders.who(&publishers, &[], &local, name);
    assert_eq!(
        (known[0].process.as_deref(), known[0].pid),
        (Some("liar"), Some(8))
    );

    // Two behind one sender, as with a hub: each by its description, beside what came.
    let other = Schema {
        pid: 9,
        ..said.clone()
    };
    publishers.hear(&other, Sender::Process, 0);
    assert!(publishers.of_sender(Sender::Hub).is_none());
    let found = senders.who(&publishers, &[], &nobody, name);
    let pids: Vec<Option<i64>> = found.iter().map(|who| who.pid).collect();
    assert_eq!(pids, [None, Some(7), Some(9)]);
    assert_eq!(found[1].messages, None);
}

//! `bowline echo`, `bowline pub` and `bowline rate` on logs, which need no network.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use crate::{bowline_in, scratch, stderr, stdout, write};
use bowline_log::{LogEvent, OwnedEvent, Reader, Writer, WriterOptions};
use bowline_msgs::{Path as PathMessage, Pose, Waypoint};
use bowline_wire::Message as _;
use serde_json::Value;
use std::path::Path;

/// Writes a log of messages, 10 ms apart.
fn log(path: &Path, messages: &[(&str, Vec<u8>)]) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    for (utime, (channel, payload)) in (1_000_000..).step_by(10_000).zip(messages) {
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel,
            payload,
        };
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
}

fn events(path: &Path) -> Vec<OwnedEvent> {
    let mut reader = Reader::open(path).unwrap();
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        events.push(event.to_owned());
    }
    events
}

fn pose(utime: i64) -> Vec<u8> {
    let pose = Pose {
        utime,
        ..Pose::default()
    };
    pose.encode().unwrap()
}

fn path() -> Vec<u8> {
    let waypoint = |name: &str| Waypoint {
        id: name.to_owned(),
        ..Waypoint::default()
    };
    let path = PathMessage {
        waypoints: vec![waypoint("a\u{1b}[31m"), waypoint("b")],
        ..PathMessage::default()
    };
    path.with_lengths().encode().unwrap()
}

/// Poses, a path, and bytes that cannot be decoded.
fn day(folder: &Path) {
    let mut messages: Vec<(&str, Vec<u8>)> = (0..20).map(|i| ("pose", pose(i))).collect();
    messages.push(("path", path()));
    messages.push(("blob", b"\x81\x82\x83\x84\x85\x86\x87\x88\x89".to_vec()));
    messages.push(("note", b"hello there".to_vec()));
    log(&folder.join("day.log"), &messages);
}

fn json_lines(text: &str) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(line).collect()
}

#[test]
fn echo_shows_messages_for_people_and_nothing_that_a_terminal_obeys() {
    let folder = scratch("echo-text");
    day(&folder);
    let output = bowline_in(&folder, &["echo", "-l", "day.log", "path", "-v"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with("path  bowline.path_t  1970-01-01T00:00:01.200000Z"),
        "{text}"
    );
    assert!(text.contains("waypoints: 2  #"), "{text}");
    assert!(text.contains("    - id: \"a\\x1b[31m\""), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn undescribed_message_is_bytes_with_a_guess_and_one_hint() {
    let folder = scratch("echo-unknown");
    day(&folder);
    let output = bowline_in(&folder, &["echo", "-l", "day.log", "blob", "note"], b"");
    let text = stdout(&output);
    assert!(
        text.contains("blob  fingerprint 0x8182838485868788"),
        "{text}"
    );
    assert!(text.contains("81 82 83 84 85 86 87 88  89"), "{text}");
    assert!(text.contains("looks like text"), "{text}");
    assert_eq!(stderr(&output).matches("--types").count(), 1);
    let output = bowline_in(
        &folder,
        &["echo", "-l", "day.log", "pose", "-n1", "--raw"],
        b"",
    );
    assert!(!stdout(&output).contains("utime"), "{}", stdout(&output));
    assert!(stdout(&output).contains("000000  "), "{}", stdout(&output));
}

#[test]
fn echo_takes_fields_counts_times_and_rates() {
    let folder = scratch("echo-limits");
    day(&folder);
    let utimes = |args: &[&str]| -> Vec<i64> {
        let args = [
            &[
                "echo", "-l", "day.log", "pose", "--json", "--field", "utime",
            ],
            args,
        ]
        .concat();
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let lines = json_lines(&stdout(&output));
        let utime = |line: &Value| line["fields"]["utime"].as_i64().unwrap();
        lines.iter().map(utime).collect()
    };
    assert_eq!(utimes(&[]), (0..20).collect::<Vec<_>>());
    assert_eq!(utimes(&["-n", "3"]), [0, 1, 2]);
    assert_eq!(utimes(&["--for", "40ms"]), [0, 1, 2, 3, 4]);
    assert_eq!(utimes(&["--rate", "20"]), [0, 5, 10, 15]);
    let output = bowline_in(
        &folder,
        &["echo", "-l", "day.log", "pose", "--rate", "20"],
        b"",
    );
    assert!(stderr(&output).contains("16 messages left out because of --rate"));
    let output = bowline_in(
        &folder,
        &["echo", "-l", "day.log", "--field", "pose_t.utime", "-n1"],
        b"",
    );
    assert_eq!(
        stdout(&output),
        "1970-01-01T00:00:01.000000Z  pose  pose_t.utime: 0\n"
    );
    let output = bowline_in(
        &folder,
        &["echo", "-l", "day.log", "--field", "nothing"],
        b"",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("\"nothing\""),
        "{}",
        stderr(&output)
    );
}

#[test]
fn types_come_from_the_nearest_folder_of_the_project_and_broken_ones_do_not_stop_it() {
    let folder = scratch("echo-project");
    let types = folder.join("lcmtypes");
    let below = folder.join("src/deep");
    for folder in [&types, &below] {
        std::fs::create_dir_all(folder).unwrap();
    }
    write(
        &types,
        "far.lcm",
        "package far; struct away_t { int32_t x; }",
    );
    write(&types, "broken.lcm", "struct oh no");
    let encoded = bowline_in(
        &folder,
        &[
            "types",
            "encode",
            "far.away_t",
            "--types",
            "lcmtypes/far.lcm",
        ],
        b"{\"x\":7}",
    );
    assert!(encoded.status.success(), "{}", stderr(&encoded));
    log(&folder.join("day.log"), &[("far", encoded.stdout)]);
    let output = bowline_in(&below, &["echo", "-l", "../../day.log"], b"");
    assert!(
        stdout(&output).contains("far.away_t"),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&output).ends_with("  x: 7\n"), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("bowline types check"),
        "{}",
        stderr(&output)
    );
    // A repository ends where it ends.
    std::fs::create_dir(folder.join("src/.git")).unwrap();
    let output = bowline_in(&below, &["echo", "-l", "../../day.log"], b"");
    assert!(
        !stdout(&output).contains("far.away_t"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn silence_and_wrong_places_are_reported() {
    let folder = scratch("echo-silence");
    day(&folder);
    let output = bowline_in(&folder, &["echo", "-l", "day.log", "missing"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the log has no such events"));
    for args in [
        &["echo", "-l", "missing.log"][..],
        &["echo", "-l", "day.log", "("],
        &["echo", "-l", "day.log", "--field", "a..b"],
        &["echo", "-l", "day.log", "--rate", "0"],
        &["rate", "-l", "day.log", "--window", "0"],
        &["pub", "-l", "memq://", "pose"],
        &["pub", "-l", "memq://", "pose", "pose_t", "@missing.json"],
        &["pub", "--example"],
    ] {
        let output = bowline_in(&folder, args, b"");
        assert_eq!(
            output.status.code(),
            Some(2),
            "{args:?}: {}",
            stderr(&output)
        );
    }
    // A log where channels are expected gets a hint how to read it.
    let output = bowline_in(
        &folder,
        &["echo", "-l", "memq://", "day.log", "--for", "10ms"],
        b"",
    );
    assert!(
        stderr(&output).contains("-l day.log"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn lines_of_echo_and_of_log_cat_are_published_again_byte_for_byte() {
    let folder = scratch("pub-lines");
    day(&folder);
    let expected = events(&folder.join("day.log"));
    let args = [
        &["echo", "-l", "day.log", "--json"][..],
        &["log", "cat", "day.log"],
    ];
    for (args, name) in args.into_iter().zip(["again.log", "again.mcap"]) {
        let lines = bowline_in(&folder, args, b"");
        let url = format!("file://{}/{name}?mode=w", folder.display());
        let output = bowline_in(&folder, &["pub", "-l", &url, "-", "--json"], &lines.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let summary = json_lines(&stdout(&output)).remove(0);
        assert_eq!(summary["published"], expected.len());
        let mut again = events(&folder.join(name));
        // Descriptions come in between, so that the log can be read without files.
        again.retain(|event| event.channel != "bowline.schema");
        let parts = |event: &OwnedEvent| (event.channel.clone(), event.payload.clone());
        let (again, expected): (Vec<_>, Vec<_>) = (
            again.iter().map(parts).collect(),
            expected.iter().map(parts).collect(),
        );
        assert_eq!(again, expected, "{args:?}");
    }
}

#[test]
fn echo_on_a_file_url_shows_every_message_of_either_format() {
    let folder = scratch("echo-file-url");
    day(&folder);
    let converted = bowline_in(&folder, &["log", "convert", "day.log", "day.mcap"], b"");
    assert_eq!(converted.status.code(), Some(0), "{}", stderr(&converted));
    let expected = bowline_in(&folder, &["echo", "-l", "day.log", "--json"], b"");
    let expected = json_lines(&stdout(&expected));
    assert_eq!(expected.len(), 23);
    for name in ["day.log", "day.mcap"] {
        let url = format!("file://{}/{name}?speed=0&time=log", folder.display());
        let output = bowline_in(&folder, &["echo", "-l", &url, "--json"], b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut found = json_lines(&stdout(&output));
        // On a bus, messages without a description wait for one, so they come last and channel by channel.
        found.sort_by_key(|line| line["number"].as_i64());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn json_errors_are_reported_with_path_and_example() {
    let folder = scratch("pub-faults");
    let json =
        br#"{"waypoints": [{"id": 5, "extra": 1}, {"id": "b", "position": "x"}], "depth": 2}"#;
    let output = bowline_in(
        &folder,
        &["pub", "-l", "memq://", "path", "path_t", "-"],
        json,
    );
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    for fault in [
        "waypoints[0].id: expected a string, found 5",
        "waypoints[0].extra: no such field",
        "depth: no such field",
        "an example of what is expected",
    ] {
        assert!(text.contains(fault), "no {fault:?} in {text}");
    }
    assert!(text.contains("missing, expected"), "{text}");
    assert!(!text.contains("num_waypoints: missing"), "{text}");
}

#[test]
fn the_example_of_every_type_of_ours_can_be_published_as_it_is() {
    let folder = scratch("pub-example");
    for name in [
        "path_t",
        "bowline.pose_t",
        "image_t",
        "laser_t",
        "schema_t",
        "gps_rmc_t",
    ] {
        let example = bowline_in(&folder, &["pub", "--example", name], b"");
        assert_eq!(example.status.code(), Some(0), "{}", stderr(&example));
        assert!(stdout(&example).contains(" // "), "{}", stdout(&example));
        let output = bowline_in(
            &folder,
            &["pub", "-l", "memq://", "x", name, "-"],
            &example.stdout,
        );
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    }
}

#[test]
fn messages_are_counted_repeated_and_taken_from_arguments_files_and_bytes() {
    let folder = scratch("pub-ways");
    write(&folder, "one.json", "// a comment\n{\"fingerprint\": 1}");
    write(
        &folder,
        "two.json",
        "{\"fingerprint\": 1}\n{\"fingerprint\": 2}",
    );
    let url = format!("file://{}/out.log?mode=w", folder.display());
    let name = "schema_request_t";
    let n_published = |args: &[&str], input: &[u8]| {
        let output = bowline_in(&folder, &[&["pub", "-l", &url], args].concat(), input);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            stderr(&output)
        );
        let events = events(&folder.join("out.log"));
        let on_x = events.iter().filter(|event| event.channel == "x");
        on_x.count()
    };
    assert_eq!(n_published(&["x", name, "{\"fingerprint\": 1}"], b""), 1);
    assert_eq!(n_published(&["x", name, "@one.json", "-n", "5"], b""), 5);
    assert_eq!(
        n_published(&["x", name, "@one.json", "-n", "3", "--rate", "1000"], b""),
        3
    );
    assert_eq!(
        n_published(
            &["x", name, "@one.json", "--rate", "100", "--for", "55ms"],
            b""
        ),
        6
    );
    assert_eq!(n_published(&["x", name, "@two.json"], b""), 2);
    assert_eq!(n_published(&["x", name, "@two.json", "-n", "1"], b""), 1);
    assert_eq!(
        n_published(&["x", name], b"{\"fingerprint\": 1}{\"fingerprint\": 2}"),
        2
    );
    assert_eq!(n_published(&["x", "--raw", "@one.json"], b""), 1);
    let raw = events(&folder.join("out.log"));
    assert_eq!(
        raw[0].payload,
        std::fs::read(folder.join("one.json")).unwrap()
    );
}

#[test]
fn rates_of_a_log_are_those_of_its_own_time() {
    let folder = scratch("rate");
    day(&folder);
    let output = bowline_in(&folder, &["rate", "-l", "day.log", "pose", "--json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = json_lines(&stdout(&output)).remove(0);
    let near = |name: &str, expected: f64| {
        let found = line[name].as_f64().unwrap();
        assert!(
            (found - expected).abs() < 1e-6 * expected.max(1.0),
            "{name}: {found}"
        );
    };
    assert_eq!(
        (&line["channel"], &line["messages"]),
        (&"pose".into(), &20.into())
    );
    assert_eq!(line["intervals"], 19);
    near("rate_hz", 100.0);
    near("mean_s", 0.01);
    near("min_s", 0.01);
    near("max_s", 0.01);
    near("deviation_s", 0.0);
    let text = stdout(&bowline_in(
        &folder,
        &["rate", "-l", "day.log", "pose", "--window", "5"],
        b"",
    ));
    assert!(text.contains("over the last 5 intervals"), "{text}");
    assert!(text.contains("10.000 ms ┤5 █"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let table = stdout(&bowline_in(&folder, &["rate", "-l", "day.log"], b""));
    for word in ["deviation", "bandwidth", "100.00 Hz", "one message", "█"] {
        assert!(table.contains(word), "no {word} in {table}");
    }
}

#[test]
fn a_log_is_listed_with_the_types_of_its_channels() {
    let folder = scratch("list-log");
    let mut messages = vec![("mixed", pose(1)), ("mixed", path())];
    messages.push(("blob", b"\x81\x82\x83\x84\x85\x86\x87\x88\x89".to_vec()));
    messages.push(("note", b"{\"json\": true}".to_vec()));
    messages.push(("short", b"\x01".to_vec()));
    log(&folder.join("day.log"), &messages);
    let output = bowline_in(&folder, &["list", "day.log", "--json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let types = |channel: &str| {
        let channels = report["channels"].as_array().unwrap();
        let row = channels
            .iter()
            .find(|row| row["channel"] == channel)
            .unwrap();
        row["types"].clone()
    };
    assert_eq!(
        types("mixed"),
        serde_json::json!(["bowline.path_t", "bowline.pose_t"])
    );
    assert_eq!(types("blob"), serde_json::json!(["0x8182838485868788"]));
    assert_eq!(types("note"), serde_json::json!(["? looks like JSON"]));
    assert!(types("short")[0].as_str().unwrap().starts_with("? "));
    let text = stdout(&bowline_in(&folder, &["list", "-l", "day.log"], b""));
    assert!(text.contains("bowline.path_t, bowline.pose_t"), "{text}");
}

//! `bowline log` as people and scripts use it: every verb on logs that were made here.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use crate::{bowline_in, scratch, stderr, stdout, types_folder, write};
use bowline_log::{LogEvent, Writer, WriterOptions};
use bowline_msgs::{GpsRmc, Pose};
use bowline_wire::Message as _;
use std::fs;
use std::path::Path;
use std::process::Output;

const FIRST_UTIME: i64 = 1_763_269_856_250_000;

/// A pose and a fix each tenth of a second, one of the fixes with another latitude, and something of unknown type.
fn make(path: &Path, lat_of_third: f64) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    for i in 0..20_u32 {
        let utime = FIRST_UTIME + i64::from(i) * 100_000;
        let pose = Pose {
            utime,
            ..Pose::default()
        };
        let gps = GpsRmc {
            utime,
            lat: if i == 3 { lat_of_third } else { 45.5 },
            ..GpsRmc::default()
        };
        for (channel, payload) in [
            ("vehicle.pose", pose.encode().unwrap()),
            ("gps", gps.encode().unwrap()),
            ("odd", vec![7; 20]),
        ] {
            let event = LogEvent {
                number: 0,
                utime,
                nanos: 0,
                channel,
                payload: &payload,
            };
            writer.write(event).unwrap();
        }
        if i == 10 {
            writer.bookmark(utime, "half way").unwrap();
        }
    }
    writer.finish().unwrap();
}

fn log(folder: &Path, args: &[&str]) -> Output {
    let args: Vec<&str> = std::iter::once("log").chain(args.iter().copied()).collect();
    bowline_in(folder, &args, b"")
}

/// Runs a verb that has to end with that code, and returns what it printed.
fn expect(folder: &Path, code: i32, args: &[&str]) -> String {
    let output = log(folder, args);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}{err}");
    out + &err
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "expected {part:?} in\n{text}");
    }
}

#[test]
fn info_lists_the_content_of_a_log() {
    let folder = scratch("log_info");
    make(&folder.join("a.log"), 45.5);
    let text = expect(&folder, 0, &["info", "a.log"]);
    assert_has(
        &text,
        &[
            "format       LCM event log, ",
            "from         2025-11-16T05:10:56.250000Z",
            "duration     1.900 s",
            "events       61, ",
            "damage       none known",
            "vehicle.pose      bowline.pose_t",
            "gps               bowline.gps_rmc_t",
            "0x0707070707070707",
            "10.00",
            "+1.000 s  2025-11-16T05:10:57.250000Z  half way",
        ],
    );
    let json = expect(&folder, 0, &["info", "--json", "a.log"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["n_events"], 61);
    assert_eq!(
        json["channels"]["gps"]["types"][0]["name"],
        "bowline.gps_rmc_t"
    );
    assert_eq!(json["bookmarks"][0]["text"], "half way");
    fs::remove_file(folder.join("a.log.index")).unwrap();
    assert_has(&expect(&folder, 0, &["info", "a.log"]), &["index made now"]);
    assert_has(&expect(&folder, 0, &["info", "a.log"]), &["index there"]);
}

#[test]
fn types_that_the_log_does_not_describe_come_from_a_folder() {
    let folder = scratch("log_types");
    write(&folder, "odd.lcm", "struct odd_t { int32_t a; int64_t b; }");
    let output = bowline_in(&folder, &["types", "fingerprint", "odd.lcm"], b"");
    let text = stdout(&output);
    let print = text.trim().rsplit("0x").next().unwrap();
    let mut payload = u64::from_str_radix(print, 16)
        .unwrap()
        .to_be_bytes()
        .to_vec();
    payload.extend_from_slice(&[0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6]);
    let mut writer = Writer::create(folder.join("a.log"), WriterOptions::default()).unwrap();
    let event = LogEvent {
        number: 0,
        utime: 5,
        nanos: 0,
        channel: "odd",
        payload: &payload,
    };
    writer.write(event).unwrap();
    writer.finish().unwrap();
    assert_has(&expect(&folder, 0, &["cat", "a.log"]), &["\"base64\":"]);
    let known = expect(&folder, 0, &["cat", "a.log", "--types", "odd.lcm"]);
    assert_eq!(
        known,
        "{\"utime\":5,\"number\":0,\"channel\":\"odd\",\"type\":\"odd_t\",\"message\":{\"a\":5,\"b\":6}}\n"
    );
    // In MCAP the description travels along.
    expect(
        &folder,
        0,
        &["convert", "a.log", "a.mcap", "--types", "odd.lcm"],
    );
    assert_eq!(expect(&folder, 0, &["cat", "a.mcap"]), known);
    assert_has(
        &expect(&folder, 1, &["export", "a.log", "t"]),
        &["unknown type"],
    );
    expect(&folder, 0, &["export", "a.mcap", "t", "--format", "csv"]);
    let table = fs::read_to_string(folder.join("t/odd.csv")).unwrap();
    assert_eq!(table, "log_utime,log_number,a,b\r\n5,0,5,6\r\n");
}

#[test]
fn cat_picks_channels_times_and_fields() {
    let folder = scratch("log_cat");
    make(&folder.join("a.log"), 46.0);
    let lines = |args: &[&str]| {
        let args: Vec<&str> = [&["cat", "a.log"], args].concat();
        expect(&folder, 0, &args).lines().count()
    };
    assert_eq!(lines(&[]), 61);
    assert_eq!(lines(&["-n", "7"]), 7);
    assert_eq!(lines(&["-c", "pose", "-c", "^gps$"]), 40);
    assert_eq!(lines(&["-c", "gps", "-s", "0.5", "-e", "1"]), 6);
    assert_eq!(lines(&["-c", "gps", "-s", "-0.25"]), 3);
    assert_eq!(lines(&["-c", "gps", "-s", "2025-11-16T05:10:58Z"]), 2);
    let field = expect(
        &folder,
        0,
        &[
            "cat",
            "a.log",
            "--field",
            "gps_rmc_t.lat",
            "-s",
            "0.3",
            "-n",
            "1",
        ],
    );
    assert_has(&field, &["\"fields\":{\"gps_rmc_t.lat\":46.0}"]);
    let missing = expect(&folder, 1, &["cat", "a.log", "--field", "altitude"]);
    assert_has(
        &missing,
        &["no message that was read has the field \"altitude\""],
    );
    assert_has(
        &expect(&folder, 0, &["cat", "a.log", "-n", "1", "--pretty"]),
        &["\n  \"utime\": "],
    );
}

#[test]
fn convert_there_and_back_is_equal_by_diff() {
    let folder = scratch("log_convert");
    make(&folder.join("a.log"), 45.5);
    for how in ["none", "lz4", "zstd"] {
        expect(
            &folder,
            0,
            &["convert", "-f", "--compression", how, "a.log", "b.mcap"],
        );
        expect(&folder, 0, &["convert", "-f", "b.mcap", "c.log"]);
        assert!(fs::read(folder.join("a.log")).unwrap() == fs::read(folder.join("c.log")).unwrap());
        let text = expect(&folder, 0, &["diff", "a.log", "b.mcap", "--times"]);
        assert_has(&text, &["the same: 61 messages on 4 channels"]);
    }
    assert_has(
        &expect(&folder, 2, &["convert", "a.log", "b.mcap"]),
        &["--force replaces it"],
    );
    for args in [
        ["convert", "-f", "a.log", "a.log"],
        ["filter", "-f", "a.log", "./a.log"],
    ] {
        assert_has(&expect(&folder, 2, &args), &["found the log itself"]);
    }
}

#[test]
fn diff_shows_the_first_field_that_differs() {
    let folder = scratch("log_diff");
    make(&folder.join("a.log"), 45.5);
    make(&folder.join("b.log"), 46.25);
    let text = expect(&folder, 1, &["diff", "a.log", "b.log"]);
    assert_has(
        &text,
        &[
            "gps: message 3 differs",
            "  a: event 10, 0.300000 s after the first",
            "  lat: 45.5 | 46.25",
            "1 of 4 channels differ",
        ],
    );
    let json = expect(&folder, 1, &["diff", "--json", "a.log", "b.log"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["channels"][0]["fields"][0]["path"], "lat");
    expect(&folder, 0, &["diff", "a.log", "b.log", "--ignore", "^gps$"]);
}

#[test]
fn housekeeping_is_compared_only_on_request() {
    let folder = scratch("log_diff_housekeeping");
    for (name, payload) in [("a.log", b"one"), ("b.log", b"two")] {
        let mut writer = Writer::create(folder.join(name), WriterOptions::default()).unwrap();
        let events: [(&str, &[u8]); 5] = [
            ("bowline.heartbeat", payload),
            ("bowline.supervisor", payload),
            ("bowline.schema", payload),
            ("bowline.call.route", b"the same"),
            ("pose", b"the same"),
        ];
        for (channel, payload) in events {
            let event = LogEvent {
                number: 0,
                utime: FIRST_UTIME,
                nanos: 0,
                channel,
                payload,
            };
            writer.write(event).unwrap();
        }
        writer.finish().unwrap();
    }
    #[rustfmt::skip]
    let cases = [
        (&[][..], 0, "the same: 2 messages on 2 channels"),
        (&["--housekeeping"], 1, "2 of 4 channels differ; 2 messages before that are the same"),
        (&["-c", "heartbeat"], 1, "1 of 1 channels differ"),
    ];
    for (options, code, expected) in cases {
        let args = [&["diff", "a.log", "b.log"], options].concat();
        let text = expect(&folder, code, &args);
        assert_has(&text, &[expected]);
        let is_said =
            text.contains("not compared: what Bowline publishes about itself (bowline.*)");
        assert_eq!(is_said, options.is_empty(), "{text}");
    }
    fs::write(folder.join("c.log"), "no log at all, but some text").unwrap();
    let text = expect(&folder, 2, &["diff", "c.log", "c.log"]);
    assert_has(
        &text,
        &["expected a log, found c.log: nothing in it is an event"],
    );
}

#[test]
fn filter_keeps_the_selection() {
    let folder = scratch("log_filter");
    make(&folder.join("a.log"), 45.5);
    let text = expect(
        &folder,
        0,
        &[
            "filter",
            "-v",
            "-c",
            "pose",
            "-s",
            "0.5",
            "-e",
            "1.5",
            "--rate",
            "5",
            "--rename",
            "vehicle.pose=POSE",
            "a.log",
            "b.log",
        ],
    );
    assert_has(&text, &["POSE              6", "bowline.bookmark  1"]);
    expect(
        &folder,
        0,
        &["filter", "-i", "-c", "odd|gps", "a.log", "c.log"],
    );
    assert_eq!(expect(&folder, 0, &["cat", "c.log"]).lines().count(), 21);
    for bad in [
        ["--rate", "fast"],
        ["--rename", "x"],
        ["-c", "("],
        ["-s", "soon"],
    ] {
        expect(&folder, 2, &["filter", bad[0], bad[1], "a.log", "d.log"]);
    }
}

#[test]
fn recover_has_an_account_and_exit_codes_for_scripts() {
    let folder = scratch("log_recover");
    make(&folder.join("a.log"), 45.5);
    assert_has(
        &expect(&folder, 0, &["recover", "a.log", "whole.log"]),
        &["61 of 61 events"],
    );
    let mut bytes = fs::read(folder.join("a.log")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(folder.join("a.log"), &bytes).unwrap();
    let checked = expect(&folder, 1, &["index", "--check", "a.log"]);
    assert_has(
        &checked,
        &[
            "60 events are what was written, damaged",
            "is not what was written",
        ],
    );
    let account = expect(&folder, 3, &["recover", "--json", "a.log", "good.log"]);
    let account: serde_json::Value = serde_json::from_str(&account).unwrap();
    assert_eq!(account["damage"]["places"][0]["kind"], "changed");
    assert_eq!(account["damage"]["n_lost"], 1);
    assert_eq!(account["recovered"]["n_written"], 60);
    expect(&folder, 0, &["index", "--check", "good.log"]);
    expect(&folder, 0, &["index", "--rebuild", "good.log"]);
    fs::write(folder.join("none.log"), [0; 100]).unwrap();
    assert_has(
        &expect(&folder, 1, &["recover", "none.log", "n.log"]),
        &["0 of 0 events", "no event"],
    );
    assert_has(
        &expect(&folder, 1, &["info", "none.log"]),
        &["byte 0, 100 bytes"],
    );
    expect(&folder, 2, &["recover", "missing.log", "m.log"]);
}

#[test]
fn every_verb_of_log_explains_itself_with_an_example() {
    let folder = types_folder();
    for verb in [
        "cat", "convert", "diff", "export", "filter", "index", "info", "recover",
    ] {
        let text = expect(&folder, 0, &[verb, "--help"]);
        assert_has(&text, &["Examples:\n", "Exit code"]);
    }
}

#[test]
fn last_map_of_a_log_is_drawn_and_other_layers_are_listed() {
    let folder = scratch("log-draw");
    let robots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots");
    let robot = robots.join("harbour.toml").display().to_string();
    let args = ["run", &robot, "--source", "sim", "--lockstep"];
    let args = [&args[..], &["--for", "25s", "--record", "run.mcap"]].concat();
    let output = bowline_in(&folder, &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let draw = |more: &[&str]| {
        let args = [&["log", "draw", "run.mcap", "map.png"], more].concat();
        bowline_in(&folder, &args, b"")
    };
    let all = [
        "--path",
        "pose",
        "--points",
        "bathymetry.finds",
        "--scale",
        "2",
    ];
    let output = draw(&all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.starts_with("map.png: depth from "), "{told}");
    let picture = fs::read(folder.join("map.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n"));
    let side = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert!(
        told.contains(&format!("{} by {} pixels", side(16), side(20))),
        "{told}"
    );
    // A picture of an earlier moment is another one.
    assert_eq!(draw(&["-e", "12", "--scale", "2"]).status.code(), Some(0));
    assert_ne!(fs::read(folder.join("map.png")).unwrap(), picture);
    for (more, expected) in [
        (["--plane", "colour"], "height, variance, count, depth"),
        (
            ["--map", "pose"],
            "expected a channel with maps, bathymetry",
        ),
        (["--path", "pse"], "nothing is on pse"),
        (["--path", "imu"], "imu is of another type"),
        (["-e", "0.001"], "expected a log with maps"),
    ] {
        let output = draw(&more);
        assert_eq!(
            output.status.code(),
            Some(if more[1] == "imu" { 1 } else { 2 }),
            "{more:?}"
        );
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

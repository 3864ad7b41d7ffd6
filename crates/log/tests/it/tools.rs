//! Copies, comparisons, tables and lines, through their public interface.

use crate::support::{KINDS, events, open, options, read, rest, write};
use bowline_log::{
    BadOutput, Catalog, ChannelFilter, Copied, CopyPlan, DamageKind, DiffOptions, DifferenceKind,
    Exporter, FieldChoice, IndexUse, Line, LogEvent, McapOptions, Moment, OwnedEvent, RateLimit,
    Reader, Recovery, Renames, SCHEMA_CHANNEL, Schemas, Selection, TableFormat, TimeRange,
    TimeRule, Writer, WriterOptions, check_output, copy, diff, explain, recover,
};
use bowline_msgs::{Path as PathMessage, Pose, Waypoint};
use bowline_wire::Message as _;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn quiet() -> impl FnMut(u64, u64) {
    |_, _| {}
}

/// Copies a log into a new one.
fn copied(from: &mut Reader, to: &Path, plan: &CopyPlan) -> Copied {
    let mut writer = Writer::create(to, WriterOptions::default()).unwrap();
    let copied = copy(from, &mut writer, plan, &mut quiet()).unwrap();
    writer.finish().unwrap();
    copied
}

fn schemas() -> Schemas {
    Schemas::generated(bowline_msgs::SCHEMA)
}

fn pose(number: i64, depth: f64) -> OwnedEvent {
    let mut pose = Pose {
        utime: number,
        ..Pose::default()
    };
    pose.state[2] = depth;
    OwnedEvent {
        number,
        utime: 1_700_000_000_000_000 + number * 10_000,
        nanos: 0,
        channel: "vehicle.pose".to_owned(),
        payload: pose.encode().unwrap(),
    }
}

fn path_message(number: i64, names: &[&str]) -> OwnedEvent {
    let waypoints = names.iter().map(|name| Waypoint {
        id: (*name).to_owned(),
        position: [1.5, -2.0],
    });
    let path = PathMessage {
        waypoints: waypoints.collect(),
        ..PathMessage::default()
    };
    OwnedEvent {
        channel: "vehicle.path".to_owned(),
        payload: path.with_lengths().encode().unwrap(),
        ..pose(number, 0.0)
    }
}

fn copy_all(from: &Path, to: &Path, options: WriterOptions) {
    let mut log = Reader::open(from).unwrap();
    log.next_event().unwrap();
    let options = WriterOptions {
        mcap: McapOptions {
            is_from_lcm: log.is_from_lcm(),
            ..options.mcap
        },
        ..options
    };
    log.rewind().unwrap();
    let mut writer = Writer::create(to, options).unwrap();
    let plan = CopyPlan::default();
    copy(&mut log, &mut writer, &plan, &mut quiet()).unwrap();
    writer.finish().unwrap();
}

#[test]
fn an_lcm_log_that_becomes_mcap_and_lcm_again_is_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    // One that describes its types itself, and one whose types only the user knows.
    for (name, described) in [("described", schemas()), ("plain", Schemas::default())] {
        let at = |extension: &str| folder.path().join(format!("{name}.{extension}"));
        let mut writer = Writer::create(
            at("log"),
            WriterOptions {
                schemas: described,
                ..WriterOptions::default()
            },
        )
        .unwrap();
        for event in events(200) {
            writer.write(event.as_event()).unwrap();
        }
        for number in 0..50 {
            writer.write(pose(number, 1.0).as_event()).unwrap();
            writer.bookmark(number, "here").unwrap();
        }
        writer.finish().unwrap();
        let with_types = WriterOptions {
            schemas: schemas(),
            ..WriterOptions::default()
        };
        copy_all(&at("log"), &at("mcap"), with_types);
        assert!(!Reader::open(at("mcap")).unwrap().schemas().is_empty());
        copy_all(&at("mcap"), &at("again.mcap"), WriterOptions::default());
        for from in ["mcap", "again.mcap"] {
            copy_all(&at(from), &at("back"), WriterOptions::default());
            assert!(
                fs::read(at("log")).unwrap() == fs::read(at("back")).unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn mcap_takes_its_descriptions_along_into_an_lcm_log() {
    let folder = tempfile::tempdir().unwrap();
    let (mcap, log) = (folder.path().join("a.mcap"), folder.path().join("a.log"));
    let options = WriterOptions {
        schemas: schemas(),
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(&mcap, options).unwrap();
    writer.write(pose(0, 1.0).as_event()).unwrap();
    writer.finish().unwrap();
    for index in [IndexUse::IfThere, IndexUse::Ignore] {
        let mut from = open(&mcap, index);
        copied(&mut from, &log, &CopyPlan::default());
        let (found, _) = read(&log, IndexUse::IfThere);
        assert_eq!(found[0].channel, SCHEMA_CHANNEL);
        assert_eq!(found[1].payload, pose(0, 1.0).payload);
    }
}

#[test]
fn filter_keeps_the_selected_channels_times_and_rates() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to.log");
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let from = folder.path().join(format!("{at}.{extension}"));
        let written = events(400);
        write(&from, options(*compression), &written, 10);
        let first = written[0].utime;
        let times = TimeRange {
            from_utime: first + 500_000,
            to_utime: first + 1_500_000,
        };
        let plan = CopyPlan {
            selection: Selection {
                channels: ChannelFilter::new(&["pose", "^X$"]).unwrap(),
                times,
            },
            renames: Renames::from_iter(["X=Y".parse().unwrap()]),
            ..CopyPlan::default()
        };
        let expected: Vec<_> = written
            .iter()
            .filter(|event| ["vehicle.pose", "X"].contains(&event.channel.as_str()))
            .filter(|event| times.contains(event.utime))
            .map(|event| {
                (
                    event.utime,
                    event.channel.replace('X', "Y"),
                    event.payload.clone(),
                )
            })
            .collect();
        for index in [IndexUse::IfThere, IndexUse::Ignore] {
            let copied = copied(&mut open(&from, index), &to, &plan);
            let (found, _) = read(&to, IndexUse::IfThere);
            let found: Vec<_> = found
                .into_iter()
                .map(|event| (event.utime, event.channel, event.payload))
                .collect();
            assert!(found == expected, "{from:?} with {index:?}");
            assert_eq!(copied.n_written, expected.len() as u64);
        }
    }
}

#[test]
fn a_lower_rate_is_met_on_average_and_a_clock_that_is_set_back_does_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut written: Vec<OwnedEvent> = (0..1_000).map(|number| pose(number, 0.0)).collect();
    for event in &mut written[500..] {
        event.utime -= 3_600_000_000;
    }
    write(&from, WriterOptions::default(), &written, 100);
    let plan = CopyPlan {
        rates: vec![RateLimit {
            channels: ChannelFilter::default(),
            hz: 30.0,
        }],
        ..CopyPlan::default()
    };
    let copied = copied(&mut Reader::open(&from).unwrap(), &to, &plan);
    // Ten seconds of 100 a second.
    assert!((298..=304).contains(&copied.n_written), "{copied:?}");
    assert_eq!(copied.n_written + copied.n_thinned, 1_000);
}

#[test]
fn what_the_other_format_has_no_room_for_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to.mcap"));
    let mut written = events(10);
    written[3].utime = -1;
    write(&from, WriterOptions::default(), &written, 1);
    let copied = copied(&mut Reader::open(&from).unwrap(), &to, &CopyPlan::default());
    assert_eq!((copied.n_written, copied.n_refused), (9, 1));
    assert!(copied.first_refusal.unwrap().contains("from 1970"));
}

#[test]
fn a_log_is_never_written_over_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("a"), WriterOptions::default(), &events(3), 1);
    fs::hard_link(at("a"), at("linked")).unwrap();
    std::os::unix::fs::symlink(at("a"), at("symlinked")).unwrap();
    for to in ["a", "linked", "symlinked", "a.index", "./a"] {
        let refused = check_output(&at("a"), &at(to), true);
        assert!(
            matches!(refused, Err(BadOutput::Input { .. })),
            "{to}: {refused:?}"
        );
    }
    fs::write(at("other"), "x").unwrap();
    assert!(matches!(
        check_output(&at("a"), &at("other"), false),
        Err(BadOutput::Exists { .. })
    ));
    check_output(&at("a"), &at("other"), true).unwrap();
    check_output(&at("a"), &at("new"), false).unwrap();
}

#[test]
fn what_is_recovered_is_all_that_is_intact_and_opens_clean() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let from = folder.path().join(format!("{at}.{extension}"));
        let to = folder.path().join(format!("{at}.new.{extension}"));
        let written = events(100);
        write(&from, options(*compression), &written, 10);
        let bytes = fs::read(&from).unwrap();
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 0x10;
        for damaged in [bytes.clone(), bytes[..bytes.len() / 2].to_vec(), flipped] {
            fs::write(&from, damaged).unwrap();
            let mut log = Reader::open(&from).unwrap();
            let mut writer = Writer::create(&to, options(*compression)).unwrap();
            let recovered = recover(&mut log, &mut writer, &mut quiet()).unwrap();
            let (intact, _) = read(&from, IndexUse::IfThere);
            let expected = if intact.len() == written.len() {
                Recovery::Whole
            } else {
                Recovery::Lossy
            };
            assert_eq!(recovered.recovery(), expected, "{:?}", recovered.damages);
            for index in [IndexUse::IfThere, IndexUse::Ignore] {
                let (found, damages) = read(&to, index);
                assert_eq!(damages, [], "{to:?}");
                let same = |event: &OwnedEvent| {
                    (event.utime, event.channel.clone(), event.payload.clone())
                };
                assert!(found.iter().map(same).eq(intact.iter().map(same)), "{to:?}");
            }
        }
    }
}

#[test]
fn events_that_a_cut_took_are_counted_by_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("a.log");
    write(&from, WriterOptions::default(), &events(20), 1);
    let bytes = fs::read(&from).unwrap();
    fs::write(&from, &bytes[..bytes.len() / 2]).unwrap();
    let (found, damages) = read(&from, IndexUse::IfThere);
    let [damage] = &damages[..] else {
        panic!("{damages:?}");
    };
    let n_events = 20 - found.len() as u64;
    assert_eq!(damage.kind, DamageKind::Missing { n_events });
}

#[test]
fn moments_mean_times_of_the_log_they_are_used_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    let written = events(101);
    write(&path, WriterOptions::default(), &written, 1);
    let first = written[0].utime;
    for index in [IndexUse::IfThere, IndexUse::Ignore] {
        let mut log = open(&path, index);
        let (from, to) = ("0.5".parse::<Moment>().unwrap(), "-0.25".parse().unwrap());
        let range = TimeRange::in_log(&mut log, Some(&from), Some(&to)).unwrap();
        assert_eq!(
            (range.from_utime, range.to_utime),
            (first + 500_000, first + 750_000)
        );
        assert_eq!(rest(&mut log).len(), 101, "it is at its beginning again");
    }
}

fn compare(a: &[OwnedEvent], b: &[OwnedEvent], options: &DiffOptions) -> bowline_log::Difference {
    let folder = tempfile::tempdir().unwrap();
    let (path_a, path_b) = (folder.path().join("a.log"), folder.path().join("b.mcap"));
    write_any(&path_a, a);
    write_any(&path_b, b);
    let (mut a, mut b) = (
        Reader::open(&path_a).unwrap(),
        Reader::open(&path_b).unwrap(),
    );
    diff(&mut a, &mut b, options, &mut quiet()).unwrap()
}

fn write_any(path: &Path, events: &[OwnedEvent]) {
    let mut writer = Writer::create(path, WriterOptions::default()).unwrap();
    for event in events {
        writer.write(event.as_event()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn logs_are_the_same_however_their_channels_interleave() {
    let written = events(1_000);
    let mut sorted = written.clone();
    sorted.sort_by(|a, b| a.channel.cmp(&b.channel));
    let found = compare(&written, &sorted, &DiffOptions::default());
    assert!(found.is_same(), "{found:?}");
    assert_eq!((found.n_same, found.n_channels), (1_000, 4));
    // With too little memory for that, it is reported.
    let options = DiffOptions {
        max_ahead: 10,
        ..DiffOptions::default()
    };
    let found = compare(&written, &sorted, &options);
    assert!(
        found
            .channels
            .iter()
            .any(|it| it.kind == DifferenceKind::TooFarApart)
    );
}

#[test]
fn the_first_difference_of_each_channel_is_found_and_no_other() {
    let written = events(400);
    let mut other = written.clone();
    // The 50th and the 60th of a channel differ, one channel ends early, one is only there, one only here.
    other[50 * 4].payload.push(1);
    other[60 * 4].payload.push(1);
    other.retain(|event| event.channel != "X" || event.number < 300);
    for event in &mut other {
        if event.channel == "camera.image" {
            event.channel = "camera.picture".to_owned();
        }
    }
    let found = compare(&written, &other, &DiffOptions::default());
    let by_name: BTreeMap<&str, _> = found
        .channels
        .iter()
        .map(|it| (it.channel.as_str(), (it.kind, it.index, it.n_messages)))
        .collect();
    let expected = BTreeMap::from([
        ("sonar.depth", (DifferenceKind::Message, 50, (100, 100))),
        ("X", (DifferenceKind::OnlyInA, 75, (100, 75))),
        ("camera.image", (DifferenceKind::OnlyInA, 0, (100, 0))),
        ("camera.picture", (DifferenceKind::OnlyInB, 0, (0, 100))),
    ]);
    assert_eq!(by_name, expected);
    assert_eq!(
        found.channels[0].channel, "sonar.depth",
        "the first is first"
    );
    let options = DiffOptions {
        ignored: Some(ChannelFilter::new(&["camera", "^X$", "sonar"]).unwrap()),
        ..DiffOptions::default()
    };
    assert!(compare(&written, &other, &options).is_same());
}

#[test]
fn times_are_compared_on_request_with_a_tolerance_and_from_either_beginning() {
    let written = events(100);
    let shifted = |us: i64| -> Vec<OwnedEvent> {
        let mut events = written.clone();
        events.iter_mut().for_each(|event| event.utime += us);
        events
    };
    for (us, is_relative, tolerance_us, is_same) in [
        (0, false, 0, true),
        (5, false, 0, false),
        (5, false, 4, false),
        (5, false, 5, true),
        (1_000_000, true, 0, true),
    ] {
        let times = Some(TimeRule {
            is_relative,
            tolerance_us,
        });
        let options = DiffOptions {
            times,
            ..DiffOptions::default()
        };
        let found = compare(&written, &shifted(us), &options);
        assert_eq!(found.is_same(), is_same, "{us} {times:?}");
        assert!(compare(&written, &shifted(us), &DiffOptions::default()).is_same());
    }
}

#[test]
fn a_difference_is_explained_field_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_any(
        &at("a"),
        &[
            pose(0, 1.0),
            pose(1, 2.0),
            path_message(2, &["dock", "buoy"]),
        ],
    );
    write_any(
        &at("b"),
        &[pose(0, 1.0), pose(1, 2.5), path_message(2, &["dock"])],
    );
    let (mut a, mut b) = (
        Reader::open(at("a")).unwrap(),
        Reader::open(at("b")).unwrap(),
    );
    let found = diff(&mut a, &mut b, &DiffOptions::default(), &mut quiet()).unwrap();
    let catalog = Catalog::new(schemas(), bowline_msgs::SCHEMA);
    let mut catalogs = [catalog.clone(), catalog];
    let explained = explain([&mut a, &mut b], &found.channels, &mut catalogs, 10).unwrap();
    let fields: Vec<_> = explained
        .iter()
        .flat_map(|it| &it.fields)
        .map(|it| (it.path.as_str(), it.a.as_str(), it.b.as_str()))
        .collect();
    assert_eq!(
        fields,
        [
            ("state[2]", "2.0", "2.5"),
            ("num_waypoints", "2", "1"),
            ("waypoints", "2 elements", "1 elements"),
        ]
    );
}

#[test]
fn an_event_is_a_line_of_json_whether_its_type_is_known_or_not() {
    let catalog = Catalog::new(schemas(), bowline_msgs::SCHEMA);
    let event = path_message(7, &["dock"]);
    let line = |event: LogEvent<'_>, fields: &[&str]| {
        let fields: Vec<String> = fields.iter().map(|path| (*path).to_owned()).collect();
        let mut fields = FieldChoice::new(&fields).unwrap();
        Line::new(event, &catalog, &mut fields).map(|line| line.to_json())
    };
    let front =
        r#"{"utime":1700000000070000,"number":7,"channel":"vehicle.path","type":"bowline.path_t""#;
    let message = r#""message":{"timestamp":0,"num_waypoints":1,"waypoints":[{"id":"dock","position":[1.5,-2.0]}]}}"#;
    assert_eq!(
        line(event.as_event(), &[]),
        Some(format!("{front},{message}"))
    );
    for path in [
        "waypoints[0].id",
        "path_t.waypoints[0].id",
        "bowline.path_t.waypoints[0].id",
    ] {
        let expected = format!(r#"{front},"fields":{{"{path}":"dock"}}}}"#);
        assert_eq!(line(event.as_event(), &[path]), Some(expected));
    }
    assert_eq!(line(event.as_event(), &["pose_t.state[0]", "state"]), None);
    let strange = LogEvent {
        payload: b"whatever it is",
        ..event.as_event()
    };
    let line_of_strange = line(strange, &[]).unwrap();
    assert!(line_of_strange.ends_with(
        r#""channel":"vehicle.path","fingerprint":"0x7768617465766572","base64":"d2hhdGV2ZXIgaXQgaXM="}"#
    ), "{line_of_strange}");
    let cut = LogEvent {
        payload: &event.payload[..20],
        ..event.as_event()
    };
    assert!(
        line(cut, &[])
            .unwrap()
            .contains(r#""type":"bowline.path_t","error":""#)
    );
}

#[test]
fn a_table_has_a_column_for_each_field_and_text_that_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::new(schemas(), bowline_msgs::SCHEMA);
    let mut exporter = Exporter::new(folder.path(), TableFormat::Csv).unwrap();
    for event in [
        pose(0, 1.0),
        path_message(1, &["dock", "a \"b\", c"]),
        pose(2, f64::INFINITY),
        path_message(3, &[]),
    ] {
        exporter.add(&event.as_event(), &catalog).unwrap();
    }
    let strange = OwnedEvent {
        channel: "../strange/..".to_owned(),
        ..pose(4, 2.0)
    };
    exporter.add(&strange.as_event(), &catalog).unwrap();
    let mut unknown = pose(5, 0.0);
    unknown.payload = b"whatever".to_vec();
    exporter.add(&unknown.as_event(), &catalog).unwrap();
    let (tables, left) = exporter.finish().unwrap();
    assert_eq!(
        left.unknown,
        BTreeMap::from([("vehicle.pose".to_owned(), 1)])
    );
    let names: Vec<_> = tables
        .iter()
        .map(|table| {
            (
                table.path.file_name().unwrap().to_str().unwrap(),
                table.n_rows,
                table.n_columns,
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("_.._strange_...csv", 1, 15),
            ("vehicle.path.csv", 2, 7),
            ("vehicle.pose.csv", 2, 15),
        ]
    );
    let path = fs::read_to_string(folder.path().join("vehicle.path.csv")).unwrap();
    assert_eq!(
        path,
        "log_utime,log_number,timestamp,num_waypoints,waypoints.id,waypoints.position[0],waypoints.position[1]\r\n\
         1700000000010000,1,0,2,\"[\"\"dock\"\",\"\"a \\\"\"b\\\"\", c\"\"]\",\"[1.5,1.5]\",\"[-2.0,-2.0]\"\r\n\
         1700000000030000,3,0,0,[],[],[]\r\n"
    );
    let pose = fs::read_to_string(folder.path().join("vehicle.pose.csv")).unwrap();
    assert!(
        pose.lines()
            .next()
            .unwrap()
            .ends_with("state[10],state[11]"),
        "{pose}"
    );
    assert!(pose.contains("1700000000020000,2,2,0.0,0.0,inf,"), "{pose}");
}

//! `bowline alarms` as people use it: a component that raises an alarm and the vehicle's list run beside, live.

use crate::hosted::{Hosted, instance};
use crate::{bowline_in, scratch, stderr, stdout};
use bowline::App;
use bowline::autonomy::Alarms;
use bowline::bus::Hub;
use bowline::component::{
    AlarmKind, Build, BuildError, Component, Kind, NoParameters, Outbox, Ports, Severity, Step,
};
use bowline::host::robot::{Program, Source};
use bowline::log::{LogEvent, Writer, WriterOptions};
use bowline::msgs::{Alarm, Alarms as List, ListedAlarm};
use bowline::wire::Message as _;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Something is always wrong with it.
struct Leaky;

impl Build for Leaky {
    type Parameters = NoParameters;

    fn build(_: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(100));
        Ok(Self)
    }
}

const WATER: AlarmKind = AlarmKind {
    id: "water",
    severity: Severity::Warning,
    consequence: "it sinks",
    action: "pump",
};

impl Component for Leaky {
    fn step(&mut self, _: &Step<'_>, out: &mut Outbox<'_>) {
        out.alarm(&WATER, Some("water in the hull"));
    }
}

const LEAKY: Kind = Kind::of::<Leaky>("leaky", "Leaks.");
const ALARMS: Kind = Kind::of::<Alarms>("alarms", "Keeps the list.");

/// The alarms that are listed, as JSON.
fn listed(folder: &Path, url: &str) -> Vec<Value> {
    let output = bowline_in(folder, &["alarms", "--json", "--for", "4s", "-l", url], b"");
    let text = stdout(&output);
    text.lines()
        .map(|it| serde_json::from_str(it).expect("a line of JSON"))
        .collect()
}

#[test]
fn alarm_is_acknowledged_from_the_command_line_under_a_name() {
    let folder = scratch("alarms-ack");
    let hub = Hub::open("tcpq://127.0.0.1:0").unwrap();
    let url = hub.url().to_string();
    let _hosted = Hosted::start(&url, vec![instance(&LEAKY, &[]), instance(&ALARMS, &[])]);
    let ack = |args: &[&str]| {
        let args = [&["alarms", "ack"], args, &["-l", &url]].concat();
        bowline_in(&folder, &args, b"")
    };
    let output = ack(&["leaky", "fire"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("no \"fire\" of \"leaky\""),
        "{}",
        stderr(&output)
    );
    assert_eq!(listed(&folder, &url)[0]["acknowledged_by"], Value::Null);
    let output = ack(&["leaky", "water", "--station", "bridge/anna"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "known to bridge/anna\n");
    let alarms = listed(&folder, &url);
    assert_eq!(alarms[0]["acknowledged_by"], "bridge/anna");
    assert_eq!(alarms[0]["state"], "holds");
    assert_eq!(ack(&["leaky"]).status.code(), Some(2));
    assert_eq!(
        ack(&["leaky", "water", "--station", ""]).status.code(),
        Some(2)
    );
}

#[test]
fn alarms_of_a_log_are_those_at_its_end_and_cannot_be_acknowledged() {
    let folder = scratch("alarms-log");
    let list = |by: &str| {
        let alarm = Alarm {
            source: "leaky".to_owned(),
            id: "water".to_owned(),
            severity: Alarm::WARNING,
            state: Alarm::RAISED,
            cause: "water in the hull".to_owned(),
            ..Alarm::default()
        };
        let listed = ListedAlarm {
            alarm,
            is_refreshed: true,
            acknowledged_by: by.to_owned(),
            ..ListedAlarm::default()
        };
        List {
            alarms: vec![listed],
            ..List::default()
        }
        .with_lengths()
    };
    let path = folder.join("day.log");
    let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
    for (utime, by) in [(1_000_000, ""), (2_000_000, "bridge/anna")] {
        let payload = list(by).encode().unwrap();
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel: "alarms.list",
            payload: &payload,
        };
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
    let alarms = listed(&folder, "day.log");
    assert_eq!(
        (alarms.len(), &alarms[0]["acknowledged_by"]),
        (1, &"bridge/anna".into())
    );
    let output = bowline_in(&folder, &["alarms", "-l", "day.log"], b"");
    assert_eq!(output.status.code(), Some(1), "there is an alarm");
    let text = stdout(&output);
    assert!(
        text.contains("water in the hull") && text.contains("bridge/anna"),
        "{text}"
    );
    let output = bowline_in(
        &folder,
        &["alarms", "ack", "leaky", "water", "-l", "day.log"],
        b"",
    );
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// A robot that people command or watch has one list of what is wrong with it.
#[test]
fn robot_files_with_a_gate_an_arbiter_or_a_driver_list_alarms() {
    let robots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../robots");
    let mut n_listed = 0;
    for entry in std::fs::read_dir(robots).unwrap() {
        let path = entry.unwrap().path();
        let robot = App::new()
            .load(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kinds = robot.robot.components(Source::Live);
        let kinds: Vec<&str> = kinds.filter_map(|it| kind_of(&it.program)).collect();
        let drives = ["gate", "gate_drive", "arbiter", "pilot", "dynamic_window"];
        if kinds.iter().any(|kind| drives.contains(kind)) {
            let n_lists = kinds.iter().filter(|kind| **kind == "alarms").count();
            assert_eq!(n_lists, 1, "{}: {kinds:?}", path.display());
            n_listed += 1;
        }
    }
    assert!(n_listed > 5, "only {n_listed} robots");
}

fn kind_of(program: &Program) -> Option<&'static str> {
    match program {
        Program::Kind { kind, .. } => Some(kind.name),
        Program::Command(_) => None,
    }
}

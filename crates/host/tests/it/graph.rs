//! Graphs of robots and of buses.

use crate::robots::load;
use bowline_component::Time;
use bowline_host::directory::Directory;
use bowline_host::graph::{Flow, Graph, Mark};
use bowline_host::robot::{MessageType, Source};
use bowline_host::supervise;
use bowline_msgs::{Presence, PresenceComponent, PresencePort, PresenceService};
use bowline_wire::Fingerprint;

const LIVE: &str = "\
laser  (laser, on pilot)
  writes  laser.scan  bowline.laser_t  -> camera, keeper

camera  (./right.toml --fps 10, on pilot)
  reads   laser.scan    bowline.laser_t                        <- laser
  writes  camera.image  bowline.image_t                        -> no reader
  calls   map.tile      bowline.waypoint_t => bowline.image_t  -> outside

keeper  (keeper, process autonomy, on pilot)
  reads   laser.scan    bowline.laser_t     <- laser
  reads   gps.pose      bowline.pose_t      <- outside
  writes  vehicle.goal  bowline.waypoint_t  -> no reader

router  (router, process autonomy, on pilot)
  serves  router.route  bowline.waypoint_t => bowline.path_t  <- asker

asker  (asker, process autonomy, on pilot)
  calls  router.route  bowline.waypoint_t => bowline.path_t  -> router

sink  (sink, on station)
  reads  bowline.presence  any  <- bowline

outside  (programs that are not in the file)
  writes  gps.pose       bowline.pose_t                         -> keeper
  writes  operator.goal  bowline.waypoint_t                     -> no reader
  serves  map.tile       bowline.waypoint_t => bowline.image_t  <- camera
";

#[test]
fn a_robot_in_words() {
    let robot = load("tests/robots/right.toml").robot;
    assert_eq!(Graph::of_robot(&robot, Source::Live).to_text(), LIVE);
}

#[test]
fn what_a_log_replaces_comes_from_the_log() {
    let robot = load("tests/robots/right.toml").robot;
    let text = Graph::of_robot(&robot, Source::Log).to_text();
    assert!(
        text.contains("  reads   laser.scan    bowline.laser_t     <- log\n"),
        "{text}"
    );
    assert!(text.contains("log  (what was recorded)\n"), "{text}");
    assert!(!text.contains("camera  ("), "{text}");
}

#[test]
fn names_cannot_break_a_terminal() {
    let mut graph = Graph::default();
    let channel = "<b>&\"\u{1b}[2J\u{0}".to_owned();
    graph.push_publisher("</svg>", "\u{7}", [(channel, None)]);
    assert!(!graph.to_text().chars().any(|c| c.is_control() && c != '\n'));
}

fn port(direction: i8, channel: &str, type_name: &str, fingerprint: i64) -> PresencePort {
    PresencePort {
        name: "port".into(),
        direction,
        channel: channel.into(),
        type_name: type_name.into(),
        fingerprint,
    }
}

fn presence(process: &str, ports: Vec<PresencePort>, services: Vec<PresenceService>) -> Presence {
    let component = PresenceComponent {
        name: format!("{process}er"),
        kind: "test".into(),
        ports,
        services,
        ..PresenceComponent::default()
    };
    Presence {
        robot: "patrol".into(),
        host: "vessel".into(),
        process: process.into(),
        pid: 1,
        instance: 1,
        components: vec![component.with_lengths()],
        ..Presence::default()
    }
    .with_lengths()
}

#[test]
fn log_lists_every_process_with_its_end() {
    let at = |seconds: i64| Time::from_ns(seconds * 1_000_000_000);
    let mut directory = Directory::default();
    for (process, instance, heard) in [
        ("sweep", 1, 1),
        ("sweep", 2, 3),
        ("keep", 1, 3),
        ("keep", 1, 20),
    ] {
        let described = Presence {
            instance,
            utime: heard,
            ..presence(process, Vec::new(), Vec::new())
        };
        directory.on_presence(at(heard), described);
    }
    let text = Graph::of_history(&directory, None, (at(1), at(20))).to_text();
    let expected = "\
keeper  (test, process keep, on vessel)

sweeper  (test, process sweep, on vessel, started 2 times, ended after 2.0 s)
";
    assert_eq!(text, expected);
    let now = Graph::of_directory(&directory, None, at(20)).to_text();
    assert_eq!(now, "keeper  (test, process keep, on vessel)\n");
}

#[test]
fn supervisor_describes_programs_of_other_processes() {
    let now = Time::from_ns(1_000_000_000);
    let component = |name: &str, kind: &str| PresenceComponent {
        name: name.to_owned(),
        kind: kind.to_owned(),
        ..PresenceComponent::default()
    };
    let supervisor = Presence {
        components: vec![
            component("supervisor.deck", supervise::SUPERVISOR),
            component("camera", "python3 camera.py"),
        ],
        ..presence("supervisor.deck", Vec::new(), Vec::new())
    };
    let mut directory = Directory::default();
    directory.on_presence(now, supervisor.with_lengths());
    let text = Graph::of_directory(&directory, None, now).to_text();
    let expected = "\
supervisor.deck  (supervisor, on vessel)

camera  (python3 camera.py, on vessel)
";
    assert_eq!(text, expected);
}

#[test]
fn processes_on_a_bus_describe_their_channels() {
    let now = Time::from_ns(1_000_000_000);
    let mut directory = Directory::default();
    let (reads, writes) = (PresencePort::READS, PresencePort::WRITES);
    let ports = vec![
        port(writes, "scan", "laser_t", 7),
        port(writes, "own", "a_t", 8),
    ];
    assert!(directory.on_presence(now, presence("sweep", ports, Vec::new())));
    let ports = vec![
        port(reads, "scan", "other_t", 9),
        port(reads, "gps", "fix_t", 10),
        port(reads, "nowhere", "", 0),
        port(reads, "", "", 0),
    ];
    let service = PresenceService {
        port: "ask".into(),
        direction: PresenceService::CALLS,
        name: "map".into(),
        ..PresenceService::default()
    };
    assert!(directory.on_presence(now, presence("keep", ports, vec![service])));
    let mut graph = Graph::of_directory(&directory, None, now);
    let fix = MessageType {
        name: "fix_t".into(),
        fingerprint: Fingerprint(10),
    };
    graph.push_publisher(
        "gpsd 7",
        "vessel",
        [("gps".into(), Some(fix)), ("own".into(), None)],
    );
    let expected = "\
keeper  (test, process keep, on vessel)
  reads  scan     other_t  <- sweeper: TYPES DIFFER
  reads  gps      fix_t    <- gpsd 7
  reads  nowhere  any      <- NO WRITER
  reads  port     any      not connected
  calls  map      any      -> NO SERVER

sweeper  (test, process sweep, on vessel)
  writes  scan  laser_t  -> keeper: TYPES DIFFER
  writes  own   a_t      -> no reader

gpsd 7  (program, on vessel)
  writes  gps  fix_t  -> keeper
";
    assert_eq!(graph.to_text(), expected);
    let links = graph.links();
    let [gps] = links.on("gps", Flow::Reads)[..] else {
        panic!("{links:?}");
    };
    assert_eq!(links.mark(gps), Mark::Connected);
    assert!(
        Graph::of_directory(&directory, Some("other"), now)
            .nodes
            .is_empty()
    );
}

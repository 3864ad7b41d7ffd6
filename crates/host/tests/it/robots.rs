//! Robot files: every kind of error with all of its diagnostics, and what valid ones become.
//!
//! The expected problems beside the files of `tests/robots` are of our own making. On 2026-11-18 each was read by hand
//! beside its file: that the mistake is named, with what was expected and what was found, at its place, and that nothing
//! is reported that is right. One that changes is to be read in the same way: `bus_hub.txt`, which has had what was found
//! since, on 2026-11-19.

use bowline_component::{
    Build, BuildError, Component, Expect, Kind, Outbox, Parameters as _, Ports, Setting, Step,
    Vehicle, kinds,
};
use bowline_host::robot::{
    self, Here, LoadError, Loaded, Loader, Preset, Problem, Program, Severity, Source,
};
use bowline_log::{Catalog, Schemas};
use bowline_msgs::{GateToken, Laser, Path as PathMessage, Pose, Velocity, Waypoint};
use bowline_wire::FieldPath;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A component that declares ports and does nothing.
macro_rules! still {
    ($name:ident, $parameters:ty, $declare:expr) => {
        struct $name;

        impl Component for $name {
            fn step(&mut self, _step: &Step<'_>, _out: &mut Outbox<'_>) {}
        }

        impl Build for $name {
            type Parameters = $parameters;

            fn build(parameters: $parameters, ports: &mut Ports) -> Result<Self, BuildError> {
                let declare: fn($parameters, &mut Ports) -> Result<(), BuildError> = $declare;
                declare(parameters, ports)?;
                Ok(Self)
            }
        }
    };
}

bowline_component::parameters! {
    /// Of a laser.
    struct LaserSettings {
        /// Sweeps a second.
        rate_hz: f64 = 10.0, within 1.0..=100.0;
        /// Where the device is.
        device: PathBuf = "/dev/ttyUSB0".into();
    }
}

bowline_component::parameters! {
    /// Of a keeper of distances.
    struct KeeperSettings {
        /// The distance to keep.
        distance_m: f64 = 5.0, within 0.5..=50.0 => live;
        /// What to do when nothing is ahead.
        alone: String = "stop".into(), within ["stop", "go"];
        /// How many sweeps are looked at.
        sweeps: i64 = 3;
        /// How long it waits.
        patience: Duration = Duration::from_secs(3);
    }
}

bowline_component::parameters! {
    /// Of a joint.
    struct JointSettings {
        /// Which field has its place.
        field: String = "state[0]".into();
    }
}

bowline_component::parameters! {
    /// Of a driver.
    struct DriverSettings {
        in vehicle: Vehicle;
        /// How fast it drives.
        speed_mps: f64 = 1.0;
    }
}

still!(StillAsker, bowline_component::NoParameters, |_, ports| {
    ports.client::<Waypoint, PathMessage>("route", "the way to a point");
    Ok(())
});
still!(StillKeeper, KeeperSettings, |settings, ports| {
    if settings.sweeps == 13 {
        return Err("13 sweeps bring bad luck".into());
    }
    ports.input::<Laser>(
        "scan",
        "what is ahead",
        Expect::within(Duration::from_millis(300)),
    );
    ports.input::<Pose>("pose", "where we are", Expect::ever().optional());
    ports.output::<Waypoint>("goal", "where to go");
    Ok(())
});
still!(StillLaser, LaserSettings, |_, ports| {
    ports.output::<Laser>("scan", "a sweep");
    Ok(())
});
still!(StillGate, LaserSettings, |_, ports| {
    ports.output::<Laser>("scan", "a sweep");
    ports.output::<GateToken>("token", "what commands bring back");
    Ok(())
});
still!(StillDriver, DriverSettings, |settings, ports| {
    let vehicle = &settings.vehicle;
    let length_m = vehicle.front_m()? + vehicle.rear_m()?;
    if vehicle.wheelbase_m()? > length_m {
        return Err("its wheels are beside it".into());
    }
    ports.output::<Velocity>("command", "how to move");
    Ok(())
});
still!(StillEar, bowline_component::NoParameters, |_, ports| {
    let anybody = Expect::ever().from_anybody();
    ports.input_on::<Velocity>("orders", "what any client wants", anybody, "orders");
    Ok(())
});
still!(StillJoint, JointSettings, |settings, ports| {
    let input = ports.raw_input_on("angle", "where it is", Expect::ever(), "arm.angle");
    ports.need_number(input, &FieldPath::parse(&settings.field)?);
    Ok(())
});
still!(StillRouter, bowline_component::NoParameters, |_, ports| {
    ports.service::<Waypoint, PathMessage>("route", "the way to a point");
    Ok(())
});
still!(StillSink, bowline_component::NoParameters, |_, ports| {
    ports.raw_input("all", "anything", Expect::ever());
    Ok(())
});

const KINDS: &[Kind] = &[
    Kind::of::<StillAsker>("asker", "asks for ways"),
    Kind::of::<StillDriver>("driver", "drives"),
    Kind::of::<StillEar>("ear", "takes external writers"),
    Kind::of::<StillGate>("gate", "decides"),
    Kind::of::<StillJoint>("joint", "moves"),
    Kind::of::<StillKeeper>("keeper", "keeps a distance"),
    Kind::of::<StillLaser>("laser", "sweeps"),
    Kind::of::<kinds::Relay>("relay", "passes on"),
    Kind::of::<StillRouter>("router", "finds ways"),
    Kind::of::<StillSink>("sink", "takes anything"),
];

fn types(paths: &[PathBuf]) -> Result<Catalog, String> {
    match paths.iter().find(|path| path.ends_with("broken.lcm")) {
        Some(path) => Err(format!("expected a struct in {}", path.display())),
        None => Ok(Catalog::new(Schemas::default(), bowline_msgs::SCHEMA)),
    }
}

pub(crate) fn loader() -> Loader<'static> {
    Loader {
        kinds: KINDS,
        types: &types,
        search_path: &[],
        here: None,
        presets: &[],
    }
}

pub(crate) fn load(file: &str) -> Loaded {
    robot::load(Path::new(file), &loader()).unwrap_or_else(|error| panic!("{error}"))
}

fn told(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// What is expected of a file without problems: a missing or an empty expectation is a failure.
const NO_PROBLEMS: &str = "no problems\n";

/// The robot files of `tests/robots`, sorted.
fn robot_files() -> Vec<PathBuf> {
    let files = fs::read_dir("tests/robots").unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_robot = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
    let mut files: Vec<PathBuf> = files.filter(is_robot).collect();
    files.sort();
    files
}

/// Beside each `x.toml` is `x.txt` with all of its diagnostics. `BLESS=1 cargo test` writes those that differ, and
/// fails: what it wrote is to be read before it counts.
#[test]
fn every_robot_file_has_exactly_the_problems_expected_of_it() {
    let files = robot_files();
    let is_blessing = std::env::var_os("BLESS").is_some();
    let mut written = Vec::new();
    for path in &files {
        let found = match robot::load(path, &loader()) {
            Ok(loaded) if loaded.warnings.is_empty() => NO_PROBLEMS.to_owned(),
            Ok(loaded) => told(&loaded.warnings),
            Err(error) => error.to_string(),
        };
        let beside = path.with_extension("txt");
        let expected = fs::read_to_string(&beside);
        if is_blessing && expected.as_ref().ok() != Some(&found) {
            fs::write(&beside, &found).unwrap();
            written.push(beside);
            continue;
        }
        let expected = expected.unwrap_or_else(|error| panic!("{}: {error}", beside.display()));
        assert_eq!(found, expected, "{}", path.display());
    }
    assert!(
        !is_blessing,
        "BLESS is set: read what was written, then run without it: {written:#?}"
    );
    assert!(files.len() > 60, "{}", files.len());
}

#[test]
fn every_expectation_belongs_to_a_robot_file() {
    let files = fs::read_dir("tests/robots").unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "txt");
    let expectations: Vec<PathBuf> = files.filter(is_text).collect();
    for path in &expectations {
        assert!(path.with_extension("toml").exists(), "{}", path.display());
    }
    assert_eq!(expectations.len(), robot_files().len());
}

#[test]
fn every_problem_has_a_place_and_problems_are_in_the_order_of_the_file() {
    let mut n_wrong = 0;
    for path in robot_files() {
        let name = path.display();
        let problems = match robot::load(&path, &loader()) {
            Ok(loaded) => {
                let is_warning = |it: &Problem| it.severity == Severity::Warning;
                assert!(loaded.warnings.iter().all(is_warning), "{name}");
                loaded.warnings
            }
            Err(LoadError::Wrong(problems)) => {
                n_wrong += 1;
                let is_error = |it: &Problem| it.severity == Severity::Error;
                assert!(problems.iter().any(is_error), "{name}");
                problems
            }
            Err(error) => panic!("{name}: {error}"),
        };
        for Problem { place, .. } in &problems {
            assert!(place.line > 0 && place.column > 0, "{name}: {place:?}");
        }
        assert!(problems.is_sorted_by_key(|it| it.place.clone()), "{name}");
    }
    assert!(n_wrong > 50, "{n_wrong}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = robot::load(Path::new("tests/robots/nowhere"), &loader()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read tests/robots/nowhere: No such file or directory (os error 2)"
    );
}

#[test]
fn source_replaces_the_listed_components() {
    let robot = load("tests/robots/right.toml").robot;
    let names = |source| -> Vec<&str> {
        robot
            .components(source)
            .map(|component| component.name.as_str())
            .collect()
    };
    assert_eq!(
        names(Source::Live),
        ["laser", "camera", "keeper", "router", "asker", "sink"]
    );
    assert_eq!(
        names(Source::Sim),
        ["keeper", "router", "asker", "sink", "world", "eye"]
    );
    assert_eq!(names(Source::Log), ["keeper", "router", "asker", "sink"]);
    let replaced: Vec<&str> = robot
        .replaced(Source::Log)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(replaced, ["laser", "camera"]);
    assert!(robot.component("laser", Source::Sim).is_none());
}

#[test]
fn facts_of_the_vehicle_reach_every_component_that_asks() {
    let facts = |robot: &robot::Robot, component: &str| -> Vec<String> {
        let component = robot.component(component, Source::Live).unwrap();
        let Program::Kind { settings, .. } = &component.program else {
            panic!("{:?}", component.program);
        };
        let facts = settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        facts.collect()
    };
    let file = Path::new("tests/robots/vehicle_right.toml");
    let robot = load("tests/robots/vehicle_right.toml").robot;
    let outline = ["front_m = 2.65", "rear_m = 0.45"];
    let with = |wheelbase: &str| [outline[0], outline[1], wheelbase].map(str::to_owned);
    assert_eq!(facts(&robot, "one"), with("wheelbase_m = 1.9"));
    assert_eq!(facts(&robot, "other"), with("wheelbase_m = 2"));
    let laser = robot.component("laser", Source::Live).unwrap();
    assert_eq!(laser.name, "laser");
    assert_eq!(facts(&robot, "laser").len(), 1, "it has no such parameter");
    assert_eq!(robot.vehicle().wheelbase_m, Some(2.0));
    assert_eq!(robot.model(), None);
    // What the command line has counts more than the file, for all of them or for one.
    for (preset, expected) in [
        ("wheelbase_m=2.5", ["2.5", "2.5"]),
        ("other.wheelbase_m=2.5", ["1.9", "2.5"]),
    ] {
        let presets: [Preset; 1] = [preset.parse().unwrap()];
        let loader = Loader {
            presets: &presets,
            ..loader()
        };
        let robot = robot::load(file, &loader).unwrap().robot;
        for (component, expected) in ["one", "other"].into_iter().zip(expected) {
            let expected = format!("wheelbase_m = {expected}");
            assert!(facts(&robot, component).contains(&expected), "{preset}");
        }
        let of_all = robot.vehicle().get("wheelbase_m").unwrap().to_string();
        assert_eq!(of_all == "2.5", !preset.starts_with("other"), "{preset}");
    }
}

#[test]
fn components_share_a_process_if_the_file_sets_it() {
    let robot = load("tests/robots/right.toml").robot;
    let processes = robot.processes(Source::Live);
    let processes: Vec<(&str, Vec<&str>)> = processes
        .iter()
        .map(|process| {
            let components = process.components.iter().map(|it| it.name.as_str());
            (process.name, components.collect())
        })
        .collect();
    let expected = [
        ("laser", vec!["laser"]),
        ("camera", vec!["camera"]),
        ("autonomy", vec!["keeper", "router", "asker"]),
        ("sink", vec!["sink"]),
    ];
    assert_eq!(processes, expected);
}

#[test]
fn paths_are_relative_to_the_file_and_channels_have_defaults() {
    let robot = load("tests/robots/right.toml").robot;
    let laser = robot.component("laser", Source::Live).unwrap();
    let Program::Kind { kind, settings, .. } = &laser.program else {
        panic!("{:?}", laser.program);
    };
    assert_eq!(kind.name, "laser");
    let device = Setting::Text("tests/robots/right.toml".into());
    assert_eq!(
        settings[..],
        [
            ("rate_hz".into(), Setting::Integer(20)),
            ("device".into(), device)
        ]
    );
    assert_eq!(laser.ports[0].channel.as_deref(), Some("laser.scan"));
    let keeper = robot.component("keeper", Source::Live).unwrap();
    let channels: Vec<_> = keeper
        .ports
        .iter()
        .map(|port| port.channel.as_deref())
        .collect();
    assert_eq!(
        channels,
        [Some("laser.scan"), Some("gps.pose"), Some("vehicle.goal")]
    );
    let camera = robot.component("camera", Source::Live).unwrap();
    let Program::Command(command) = &camera.program else {
        panic!("{:?}", camera.program);
    };
    assert_eq!(command.folder, Path::new("tests/robots/."));
    assert_eq!(
        command.heartbeat.as_ref().unwrap().within,
        Duration::from_millis(700)
    );
    assert_eq!(
        robot.record().unwrap().file,
        Path::new("tests/robots/logs/right.mcap")
    );
}

#[test]
fn messages_of_the_safe_state_are_encoded_and_stamped() {
    use bowline_wire::Message as _;
    let robot = load("tests/robots/right.toml").robot;
    let state = robot.safe_state();
    assert_eq!(state.stop, ["keeper", "router", "asker", "camera"]);
    let [goal, pose] = &state.publish[..] else {
        panic!("{state:?}");
    };
    let stopped = Waypoint::decode(&goal.publication().at(5)).unwrap();
    assert_eq!(stopped, Waypoint::default());
    assert_eq!(goal.every, Duration::from_millis(50));
    let pose = Pose::decode(&pose.publication().at(123)).unwrap();
    assert_eq!((pose.utime, pose.state[3]), (123, 1.5));
}

const SHARING: &str = "\
    [robot]\nname = \"patrol\"\nparameters = { distance_m = 7.0, sweeps = 5 }\n\
    [component.laser]\nkind = \"laser\"\n\
    [component.sink]\ncommand = [\"./right.toml\"]\n\
    [component.near]\nkind = \"keeper\"\nchannels = { scan = \"laser.scan\" }\nparameters = { distance_m = 2.0 }\n\
    [component.far]\nkind = \"keeper\"\nchannels = { scan = \"laser.scan\" }\n";

/// What a robot's keepers are set to with `--set`, or its errors.
fn preset(presets: &[&str]) -> Result<Vec<String>, String> {
    let presets: Vec<Preset> = presets.iter().map(|text| text.parse().unwrap()).collect();
    let loader = Loader {
        presets: &presets,
        ..loader()
    };
    let loaded = robot::parse(SHARING, Path::new("tests/robots/x.toml"), &loader);
    let robot = loaded.map_err(|error| error.to_string())?.robot;
    let settings = robot.components(Source::Live).filter_map(|component| {
        let Program::Kind { settings, .. } = &component.program else {
            return None;
        };
        let settings = settings.iter();
        let mut settings: Vec<String> = settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        settings.sort();
        (component.name != "laser").then(|| format!("{}: {}", component.name, settings.join(" ")))
    });
    Ok(settings.collect())
}

#[test]
fn parameters_of_the_command_line_override_component_then_robot() {
    let cases: [(&[&str], [&str; 2]); 4] = [
        (
            &[],
            [
                "near: distance_m=2.0 sweeps=5",
                "far: distance_m=7.0 sweeps=5",
            ],
        ),
        (
            &["near.distance_m=3.0"],
            [
                "near: distance_m=3.0 sweeps=5",
                "far: distance_m=7.0 sweeps=5",
            ],
        ),
        (
            &["sweeps=9"],
            [
                "near: distance_m=2.0 sweeps=9",
                "far: distance_m=7.0 sweeps=9",
            ],
        ),
        (
            &["distance_m=9.0", "far.alone=go"],
            [
                "near: distance_m=9.0 sweeps=5",
                "far: alone=\"go\" distance_m=9.0 sweeps=5",
            ],
        ),
    ];
    for (presets, expected) in cases {
        let found = preset(presets).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found, expected, "{presets:?}");
    }
}

#[test]
fn what_the_command_line_sets_is_checked_as_the_file_is() {
    let cases = [
        (
            "near.sweeps=many",
            "--set near.sweeps: parameter \"sweeps\" is a whole number, found the text \"many\"",
        ),
        (
            "near.swep=1",
            "--set near.swep: kind \"keeper\" has no parameter \"swep\"",
        ),
        (
            "nera.sweeps=1",
            "--set nera.sweeps: there is no component \"nera\"",
        ),
        (
            "sink.sweeps=1",
            "--set sink.sweeps: \"sink\" is a command, which has no parameters",
        ),
        (
            "swep=1",
            "--set swep: no component has a parameter \"swep\"",
        ),
        (
            "near.distance_m=900",
            "--set near.distance_m: parameter \"distance_m\" must be 0.5 to 50.0, found 900",
        ),
    ];
    for (text, expected) in cases {
        let error = preset(&[text]).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_program_that_is_missing_is_an_error_only_where_it_is_to_run() {
    let text = "\
        [robot]\nname = \"patrol\"\n\
        [component.camera]\ncommand = [\"no-such-program\"]\nhost = \"mast\"\n\
        [component.sonar]\ncommand = [\"./right.toml\"]\nhost = \"keel\"\n\
        [sim]\nreplaces = [\"camera\"]\n\
        [sim.component.eye]\ncommand = [\"./neither-this\"]\nhost = \"keel\"\n";
    let errors = |here: Option<Here<'_>>| -> Vec<String> {
        let loader = Loader { here, ..loader() };
        match robot::parse(text, Path::new("tests/robots/x.toml"), &loader) {
            Ok(loaded) => {
                assert_eq!(loaded.warnings.len(), 2, "{}", told(&loaded.warnings));
                Vec::new()
            }
            Err(LoadError::Wrong(problems)) => {
                let errors = problems.into_iter();
                let errors = errors.filter(|it| it.severity == Severity::Error);
                errors.map(|it| it.message).collect()
            }
            Err(error) => panic!("{error}"),
        }
    };
    let here = |source, host| Some(Here { source, host });
    let camera = "the program \"no-such-program\" of component \"camera\" is not on the PATH of this machine";
    let eye = "the program \"./neither-this\" of component \"eye\" is not at tests/robots/./neither-this on this machine";
    #[rustfmt::skip]
    let cases = [
        ("only looked at", None, vec![]),
        ("there", here(Source::Live, "mast"), vec![camera]),
        ("elsewhere", here(Source::Live, "keel"), vec![]),
        ("replaced", here(Source::Sim, "mast"), vec![]),
        ("in place of it", here(Source::Sim, "keel"), vec![eye]),
    ];
    for (name, here, expected) in cases {
        assert_eq!(errors(here), expected, "{name}");
    }
}

#[test]
fn the_example_shows_every_key() {
    let error = robot::load(Path::new("tests/robots/all_keys.toml"), &loader()).unwrap_err();
    let LoadError::Wrong(problems) = error else {
        panic!("{error}");
    };
    let helps = problems.iter().filter_map(|problem| problem.help.as_ref());
    let lists = helps
        .filter_map(|help| help.split_once(" has "))
        .map(|(_, keys)| keys);
    let keys: Vec<&str> = lists.flat_map(|keys| keys.split(", ")).collect();
    assert!(keys.len() > 40, "{keys:?}");
    let example = fs::read_to_string("../../robots/example.toml").unwrap();
    let shows = |key: &str| {
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        example.split(|c| !is_key(c)).any(|word| word == key)
    };
    let missing: Vec<&str> = keys.into_iter().filter(|key| !shows(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        drop(robot::parse(&text, Path::new("x.toml"), &loader()));
    }

    /// Lines of right and wrong files in any order: nearly right, and so deep into the checks.
    #[test]
    fn no_mixture_of_lines_makes_it_panic(picks in prop::collection::vec(0..10_000_usize, 1..40)) {
        let lines = all_lines();
        let text: Vec<&str> = picks.iter().map(|pick| lines[pick % lines.len()].as_str()).collect();
        drop(robot::parse(&text.join("\n"), Path::new("x.toml"), &loader()));
    }
}

fn all_lines() -> Vec<String> {
    let mut files: Vec<PathBuf> = fs::read_dir("tests/robots")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn robot_like_another_has_only_differences() {
    let (right, like) = (
        load("tests/robots/right.toml").robot,
        load("tests/robots/like.toml").robot,
    );
    let names = |robot: &robot::Robot| -> Vec<String> {
        let components = robot.components(Source::Live);
        components.map(|it| it.name.clone()).collect()
    };
    let mut expected = names(&right);
    expected.push("lamp".to_owned());
    assert_eq!(
        names(&like),
        expected,
        "in the order of the file that it is like"
    );
    assert_eq!((like.name(), right.name()), ("patrol_at_night", "patrol"));
    assert_eq!(
        like.model(),
        right.model(),
        "paths are found where they were"
    );
    let laser = like.component("laser", Source::Live).expect("it is there");
    let Program::Kind { settings, .. } = &laser.program else {
        panic!("{laser:?}");
    };
    let setting = |name: &str| settings.iter().find(|(it, _)| it == name).map(|(_, it)| it);
    assert_eq!(setting("rate_hz"), Some(&Setting::Integer(5)));
    assert!(setting("device").is_some(), "the rest of the table stays");
}

#[test]
fn paths_are_relative_to_the_file_that_they_are_in() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("like_from_elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let base = fs::canonicalize("tests/robots/right.toml").unwrap();
    let text = format!(
        "[robot]\nname = \"far\"\nlike = {:?}\n[component.laser]\nparameters = {{ device = \"tty\" }}\n",
        base.display().to_string()
    );
    let far = robot::parse(&text, &folder.join("far.toml"), &loader());
    let far = far.unwrap_or_else(|error| panic!("{error}")).robot;
    assert_eq!(far.model(), Some(base.as_path()));
    assert_eq!(far.folder(), folder);
    let laser = far.component("laser", Source::Live).expect("it is there");
    let Program::Kind { settings, .. } = &laser.program else {
        panic!("{laser:?}");
    };
    let device = settings.iter().find(|(name, _)| name == "device");
    let expected = Setting::Text(folder.join("tty").display().to_string());
    assert_eq!(device.map(|(_, device)| device), Some(&expected));
}

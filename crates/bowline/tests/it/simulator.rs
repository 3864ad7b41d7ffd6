//! An `App` with simulated sensors and actuation of its own, as another crate has them.

use crate::torpedo::{DEPTH_M, Torpedo, files};
use crate::{scratch, write};
use bowline::App;
use bowline::component::{
    Build, BuildError, Component, Expect, Input, Kind, Outbox, Output, Ports, Step,
};
use bowline::log::Reader;
use bowline::msgs::{Sounding, Thrust};
use bowline::wire::Message as _;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

bowline::component::parameters! {
    /// How it pushes.
    struct PusherParameters {
        /// How hard to push, of what there is.
        ratio: f64 = 1.0, within 0.0..=1.0;
    }
}

/// Pushes ahead as long as there are depths.
struct Pusher {
    parameters: PusherParameters,
    depth: Input<Sounding>,
    push: Output<Thrust>,
}

impl Build for Pusher {
    type Parameters = PusherParameters;

    fn build(parameters: PusherParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let expect = Expect::within(Duration::from_secs(1));
        Ok(Self {
            parameters,
            depth: ports.input("depth", "How deep it is.", expect),
            push: ports.output("push", "How hard to push."),
        })
    }
}

impl Component for Pusher {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.arrived(self.depth).is_some() {
            let thrust = Thrust {
                utime: step.now().utime(),
                port_ratio: self.parameters.ratio,
                starboard_ratio: 0.0,
            };
            out.send(self.push, thrust);
        }
    }
}

const PUSHER: Kind = Kind::of::<Pusher>("pusher", "Pushes ahead.");

const ROBOT: &str = r#"
[robot]
name = "torpedo"

[vehicle]
model = "a.xml"

[component.gauge]
command = ["torpedo-gauge"]
writes = { "depth" = "bowline.sounding_t" }

[component.screw]
command = ["torpedo-screw"]
reads = { "thrust" = "bowline.thrust_t" }

[component.pusher]
kind = "pusher"
channels = { depth = "depth", push = "thrust" }

[sim]
replaces = ["gauge", "screw"]

[sim.component.sim]
kind = "sim"
channels = { "Torpedo.Depth" = "depth", propeller = "thrust", "truth.pose" = "truth.pose" }
parameters = { world = "sea.toml" }

[log]
replaces = ["gauge", "screw"]
"#;

fn torpedo_app() -> App {
    App::new().kinds(&[PUSHER]).simulator::<Torpedo>()
}

/// A folder with the model, a world and the robot.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    for (name, text) in files() {
        std::fs::write(folder.join(name), text).expect("a file can be written");
    }
    write(&folder, "sea.toml", "[world]\nname = \"sea\"\n\n[sea]\n");
    write(&folder, "robot.toml", ROBOT);
    folder
}

/// The exit code of a command line; `@file` is a file of the folder.
fn run(app: &App, folder: &Path, words: &str) -> ExitCode {
    let in_folder = |word: &str| match word.split_once('@') {
        Some((before, file)) => format!("{before}{}", folder.join(file).display()).into(),
        None => OsString::from(word),
    };
    let program = [OsString::from("torpedo")];
    app.run(program.into_iter().chain(words.split(' ').map(in_folder)))
}

fn depths_m(log: &Path, channel: &str) -> Vec<f64> {
    let mut log = Reader::open(log).expect("a log");
    let mut depths_m = Vec::new();
    while let Some(event) = log.next_event().expect("it is whole") {
        if event.channel == channel {
            let sounding = Sounding::decode(event.payload).expect("a sounding");
            depths_m.push(sounding.depth_m);
        }
    }
    depths_m
}

#[test]
fn foreign_sensor_and_actuation_run_in_lockstep_and_verify() {
    let (app, folder) = (torpedo_app(), folder("simulator-verifies"));
    let record = "run @robot.toml --source sim --lockstep --for 2s --record @day.mcap";
    assert_eq!(run(&app, &folder, record), ExitCode::SUCCESS);
    let depths_m = depths_m(&folder.join("day.mcap"), "depth");
    assert!((19..=20).contains(&depths_m.len()), "{depths_m:?}");
    assert!(
        depths_m
            .iter()
            .all(|depth_m| (depth_m - DEPTH_M).abs() < 0.1),
        "{depths_m:?}"
    );
    let verify = "run @robot.toml --source log:@day.mcap --verify";
    assert_eq!(run(&app, &folder, verify), ExitCode::SUCCESS);
}

#[test]
fn foreign_sensor_is_simulated_by_the_verb_sim() {
    let (app, folder) = (torpedo_app(), folder("simulator-verb"));
    let sim = "sim @sea.toml --model @a.xml --lockstep --for 1s --record @sim.mcap";
    assert_eq!(run(&app, &folder, sim), ExitCode::SUCCESS);
    let depths_m = depths_m(&folder.join("sim.mcap"), "torpedo.depth");
    assert!(!depths_m.is_empty());
    let view = "sim view @sea.toml --model @a.xml -o @sea.svg";
    assert_eq!(run(&app, &folder, view), ExitCode::SUCCESS);
    assert_eq!(run(&App::new(), &folder, sim), ExitCode::from(1));
}

#[test]
fn foreign_elements_are_in_models_and_in_their_schema() {
    let (app, folder) = (torpedo_app(), folder("simulator-model"));
    let check = "model check --model @a.xml";
    assert_eq!(run(&app, &folder, check), ExitCode::SUCCESS);
    assert_eq!(run(&App::new(), &folder, check), ExitCode::from(1));
    for (verb, file) in [("schema", "model.xsd"), ("elements", "elements.md")] {
        let words = format!("model {verb} -o @{file}");
        assert_eq!(run(&app, &folder, &words), ExitCode::SUCCESS);
        let text = std::fs::read_to_string(folder.join(file)).expect("it was written");
        assert!(
            text.contains("pressure") && text.contains("propeller") && text.contains("multibeam"),
            "{text}"
        );
    }
}

#[test]
fn program_with_tables_of_its_own_has_one_kind_sim() {
    let app = torpedo_app();
    assert_eq!(app.check(), Ok(()));
    let elements = app.catalog().elements();
    assert!(elements.iter().any(|kind| kind.word == "pressure"));
}

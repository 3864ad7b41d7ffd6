//! An `App` with kinds and verbs of its own, as another crate has it.

use crate::{scratch, write};
use bowline::clap::{ArgMatches, Command};
use bowline::component::{
    Build, BuildError, Component, Expect, Input, Kind, Outbox, Output, Ports, Step,
};
use bowline::log::Reader;
use bowline::msgs::{Beat, Waypoint};
use bowline::wire::Message as _;
use bowline::{App, Verb};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

bowline::component::parameters! {
    /// What is put before a count.
    struct CounterParameters {
        /// Text before the number.
        prefix: String = "beat ".to_owned();
    }
}

/// Counts heartbeats.
struct Counter {
    parameters: CounterParameters,
    beat: Input<Beat>,
    count: Output<Waypoint>,
    n_beats: u32,
}

impl Build for Counter {
    type Parameters = CounterParameters;

    fn build(parameters: CounterParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            parameters,
            beat: ports.input("beat", "What is counted.", Expect::ever()),
            count: ports.output("count", "How many there were."),
            n_beats: 0,
        })
    }
}

impl Component for Counter {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.arrived(self.beat).is_none() {
            return;
        }
        self.n_beats += 1;
        let id = format!("{}{}", self.parameters.prefix, self.n_beats);
        let position = [0.0, 0.0];
        out.send(self.count, Waypoint { id, position });
    }
}

const COUNTER: Kind = Kind::of::<Counter>("beat_counter", "Counts heartbeats.");

const ROBOT: &str = r#"
[robot]
name = "counting"

[component.clock]
kind = "heartbeat"

[component.counter]
kind = "beat_counter"
channels = { beat = "clock.beat" }

[sim]

[log]
replaces = ["clock"]
"#;

/// The exit code of a command line in a folder with the robot.
fn run(app: &App, folder: &Path, words: &[&str]) -> ExitCode {
    let in_folder = |word: &&str| match word.strip_prefix('@') {
        Some(file) => folder.join(file).into_os_string(),
        None => OsString::from(word),
    };
    app.run(
        [OsString::from("counting")]
            .into_iter()
            .chain(words.iter().map(in_folder)),
    )
}

fn counts(log: &Path) -> Vec<String> {
    let mut log = Reader::open(log).expect("a log");
    let mut counts = Vec::new();
    while let Some(event) = log.next_event().expect("it is whole") {
        if event.channel == "counter.count" {
            counts.push(Waypoint::decode(event.payload).expect("a waypoint").id);
        }
    }
    counts
}

/// A recorded run of 2 s, and the folder that it is in.
fn record(app: &App, name: &str, settings: &[&str]) -> std::path::PathBuf {
    let folder = scratch(name);
    write(&folder, "robot.toml", ROBOT);
    let words = [
        "run",
        "@robot.toml",
        "--source",
        "sim",
        "--lockstep",
        "--for",
        "2s",
        "--record",
        "@day.mcap",
    ];
    assert_eq!(
        run(app, &folder, &[&words[..], settings].concat()),
        ExitCode::SUCCESS
    );
    folder
}

fn verify(app: &App, folder: &Path) -> ExitCode {
    let log = format!("log:{}", folder.join("day.mcap").display());
    run(
        app,
        folder,
        &["run", "@robot.toml", "--source", &log, "--verify"],
    )
}

#[test]
fn foreign_kind_runs_in_simulation_and_verifies() {
    let app = App::new().name("counting").kinds(&[COUNTER]);
    let folder = record(&app, "app-verifies", &[]);
    let counts = counts(&folder.join("day.mcap"));
    assert_eq!(
        counts,
        ["beat 1", "beat 2"],
        "one a second, for two seconds"
    );
    assert_eq!(verify(&app, &folder), ExitCode::SUCCESS);
}

#[test]
fn foreign_kind_with_other_outputs_than_recorded_fails_verification() {
    let app = App::new().kinds(&[COUNTER]);
    let folder = record(&app, "app-differs", &[]);
    let log = format!("log:{}", folder.join("day.mcap").display());
    let words = [
        "run",
        "@robot.toml",
        "--source",
        &log,
        "--verify",
        "--set",
        "counter.prefix=other ",
    ];
    assert_eq!(run(&app, &folder, &words), ExitCode::from(1));
}

#[test]
fn foreign_kind_takes_settings_of_the_command_line() {
    let app = App::new().kinds(&[COUNTER]);
    let folder = record(&app, "app-settings", &["--set", "counter.prefix=no. "]);
    assert_eq!(counts(&folder.join("day.mcap"))[1], "no. 2");
}

#[test]
fn check_knows_foreign_kinds_of_this_program_alone() {
    let folder = scratch("app-check");
    let file = write(&folder, "robot.toml", ROBOT);
    let check = ["run", "@robot.toml", "--check"];
    let theirs = App::new().kinds(&[COUNTER]);
    assert_eq!(run(&theirs, &folder, &check), ExitCode::SUCCESS);
    assert_eq!(
        theirs.load(&file).expect("it is right").robot.name(),
        "counting"
    );
    assert_eq!(run(&App::new(), &folder, &check), ExitCode::from(1));
    let error = App::new().load(&file).expect_err("there is no such kind");
    assert!(error.to_string().contains("beat_counter"), "{error}");
}

#[test]
fn name_of_a_builtin_kind_is_an_error_that_names_both() {
    const RELAY: Kind = Kind::of::<Counter>("relay", "Counts heartbeats.");
    let app = App::new().kinds(&[COUNTER, RELAY]);
    let error = app.check().expect_err("bowline has a relay");
    let builtin = bowline::KINDS.iter().find(|kind| kind.name == "relay");
    let builtin = builtin.expect("a relay").summary;
    assert_eq!(
        error.to_string(),
        format!(
            "expected one kind of component with the name \"relay\", found bowline's ({builtin:?}) and this program's \
             (\"Counts heartbeats.\"): give the latter another name"
        )
    );
    let folder = scratch("app-clash");
    assert_eq!(
        run(&app, &folder, &["types", "check", "@"]),
        ExitCode::from(1)
    );
}

#[test]
fn kind_that_is_added_twice_is_an_error() {
    let app = App::new().kinds(&[COUNTER]).kinds(&[COUNTER]);
    let error = app.check().expect_err("it is there twice");
    assert!(
        error.to_string().contains("found this program's"),
        "{error}"
    );
}

fn no_arguments(command: Command) -> Command {
    command
}

fn seven(_: &App, _: &ArgMatches) -> ExitCode {
    ExitCode::from(7)
}

#[test]
fn foreign_verb_runs_and_cannot_replace_a_builtin_one() {
    let folder = scratch("app-verbs");
    let verb = Verb::new("seven", "Exit with 7", no_arguments, seven);
    let app = App::new().name("counting").verbs(&[verb]);
    assert_eq!(run(&app, &folder, &["seven"]), ExitCode::from(7));
    // Its manual page is made of its row, under the program's name.
    assert_eq!(run(&app, &folder, &["man", "@pages"]), ExitCode::SUCCESS);
    let page = std::fs::read_to_string(folder.join("pages/counting-seven.1")).expect("a page");
    assert!(page.contains("Exit with 7"), "{page}");

    let app = App::new().verbs(&[Verb::new("run", "Exit with 7", no_arguments, seven)]);
    let error = app.check().expect_err("bowline has the verb run");
    assert!(
        error
            .to_string()
            .starts_with("expected one verb with the name \"run\""),
        "{error}"
    );
}

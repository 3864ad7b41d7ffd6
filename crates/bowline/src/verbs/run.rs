//! `bowline run`: robots from files.
//!
//! In: a robot file and a source of data. Out: what is wrong with it, what it is, or a robot that runs.

pub(crate) mod component;
mod deaths;
mod explain;
pub(crate) mod keeper;
mod lockstep;
mod summary;
mod supervised;
mod verify;

use crate::input::{self, Usage};
use crate::known_types::Types;
use crate::robot_file::{self, Presets, SourceArgument};
use crate::verbs::log::choice;
use crate::{App, Outcome, output, terminal};
use anyhow::Context as _;
use bowline_bus::Url;
use bowline_host::presence::ThisProcess;
use bowline_host::robot::{Here, Robot, Source};
use bowline_log::record::increments;
use clap::Args;
use component::Which;
use deaths::{Deaths, Kill};
use lockstep::Order;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline run robots/example.toml --check         whether anything is wrong with it, and what it is
  bowline run --explain                           the kinds of components that there are
  bowline run --explain heartbeat                 one of them: parameters, ports, and how to write it
  bowline run robots/example.toml                 on the robot itself
  bowline run robots/example.toml --source sim    with what the file has for simulation
  bowline run robots/example.toml --source log:day.mcap
  bowline run robots/example.toml --source sim --lockstep --for 60s --record sim.mcap
                                                  a simulated minute, as fast as it goes, always the same
  bowline run robots/raptor.toml --source sim --lockstep --for 90s --set sim.seed=7 --set arbiter.max_speed_mps=1.5
                                                  other noise, and slower
  bowline run robots/raptor.toml --source sim --lockstep --for 30s --kill arbiter@20s
                                                  what happens when a component dies
  bowline run robots/example.toml --source log:day.mcap --verify
                                                  do the components repeat their recorded outputs?

Without --lockstep, each component has a process of its own (or shares one, as in the file), which
is watched and restarted; ^C stops all of them in order. `bowline ps`, `start`, `stop`, `restart` and
`logs` talk to it over the bus. With --lockstep, all components run in this process on the time of
their events: nothing is lost, and the same source gives the same bytes.

robots/example.toml shows every option of a robot file, each with what it does.
`bowline graph ROBOT` shows who writes and reads what.";

const EXIT_CODES: &str = "\
Exit code 0 if all is well; 1 if anything is wrong with the robot file, or --verify finds a difference.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    /// The robot file
    #[arg(value_name = "ROBOT", required_unless_present = "explain")]
    robot: Option<PathBuf>,
    /// Only check the robot file
    #[arg(long)]
    check: bool,
    /// Show the kinds of components that there are, or all about one of them
    #[arg(long, value_name = "KIND", num_args = 0..=1, conflicts_with_all = ["robot", "check"])]
    explain: Option<Option<String>>,
    /// Where data comes from: live, sim or log:FILE
    #[arg(long, default_value = "live", value_parser = SourceArgument::parse)]
    source: SourceArgument,
    /// Print JSON, with --check and --explain
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    presets: Presets,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    types: Types,
}

// How a robot runs. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
struct Manner {
    /// Where the bus is; without it by the robot file, then as other verbs have it
    #[arg(short = 'l', long, value_name = "URL")]
    url: Option<String>,
    /// Which of the robot's hosts this is, where its file names several; without it the name of the machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// All components in this process, on simulated time or that of the log
    #[arg(long)]
    lockstep: bool,
    /// Seconds of simulated time in a second, and everything on the bus; without it as fast as possible, and no bus
    #[arg(long, value_name = "X", value_parser = rate, requires = "lockstep")]
    rate: Option<f64>,
    /// End after so much simulated time, as in 90s
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period, requires = "lockstep")]
    duration: Option<Duration>,
    /// Write everything that is received and sent to a log
    #[arg(long, value_name = "FILE", requires = "lockstep")]
    record: Option<PathBuf>,
    /// Kill a component, or all of a process, after so much simulated time, as in arbiter@20s; may be given several times
    #[arg(long = "kill", value_name = "NAME@TIME", value_parser = Kill::parse, requires = "lockstep")]
    kills: Vec<Kill>,
    /// Replay what each component received, and compare what it sends with what it sent
    #[arg(long, conflicts_with = "lockstep")]
    verify: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        Ok(_) | Err(_) => Err(format!(
            "expected a number above 0, such as 1 or 0.5, found {text:?}"
        )),
    }
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    if let Some(kind) = &arguments.explain {
        return explain(app, kind.as_deref(), arguments.json);
    }
    let Some(path) = &arguments.robot else {
        return Err(Usage("expected a robot file".to_owned()).into());
    };
    if arguments.check {
        return check(app, path, arguments);
    }
    let Some(mut robot) = open(app, path, arguments)? else {
        return Ok(Outcome::Diagnostics);
    };
    arguments.source.check(&robot)?;
    if let Some(url) = &arguments.manner.url {
        robot = robot.on_bus(Url::parse(url)?);
    }
    start(&robot, arguments)
}

/// The robot. Where processes are to be started, their programs must be on this machine.
fn open(app: &App, path: &Path, arguments: &Arguments) -> anyhow::Result<Option<Robot>> {
    let Manner {
        host,
        lockstep,
        verify,
        ..
    } = &arguments.manner;
    let presets = &arguments.presets.presets;
    if *lockstep || *verify {
        return robot_file::open(app, path, presets);
    }
    let here = Here {
        source: arguments.source.source(),
        host: host.as_deref().unwrap_or(&ThisProcess::get().host),
    };
    robot_file::open_to_run(app, path, presets, here)
}

/// Everything that is wrong, or what the robot is.
fn check(app: &App, path: &Path, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let checked = robot_file::check(app, path, &arguments.presets.presets)?;
    let source = &arguments.source;
    if arguments.json {
        let json = summary::json(checked.robot.as_ref(), source.source(), &checked.problems);
        output::line(&format!("{json:#}"))?;
    } else {
        output::problems(&checked.problems);
    }
    let Some(robot) = &checked.robot else {
        return Ok(Outcome::Diagnostics);
    };
    source.check(robot)?;
    if !arguments.json {
        output::bytes(summary::text(robot, source.source()).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

fn explain(app: &App, name: Option<&str>, is_json: bool) -> anyhow::Result<Outcome> {
    let kinds = app.kind_table();
    let Some(name) = name else {
        match is_json {
            true => output::line(&format!("{:#}", explain::all_as_json(kinds)))?,
            false => output::bytes(explain::all(kinds, output::width()).as_bytes())?,
        }
        return Ok(Outcome::Fine);
    };
    let Some(kind) = app.find_kind(name) else {
        let known: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        let message = format!(
            "unknown kind {name:?}: expected one of {}",
            known.join(", ")
        );
        return Err(Usage(message).into());
    };
    match is_json {
        true => output::line(&format!("{:#}", explain::as_json(kind)))?,
        false => output::bytes(explain::one(kind, output::width()).as_bytes())?,
    }
    Ok(Outcome::Fine)
}

/// Runs the robot until it is ended.
fn start(robot: &Robot, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Arguments {
        source,
        manner,
        types,
        ..
    } = arguments;
    if manner.verify {
        return verify::run(robot, &log_of(source)?, types);
    }
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    if manner.lockstep {
        let order = order(robot, source, manner)?;
        return lockstep::run(robot, &order, signals);
    }
    let log = match source {
        SourceArgument::Log(_) => Some(log_of(source)?),
        SourceArgument::Live | SourceArgument::Sim => None,
    };
    // A bus within a process has all of the robot in this one.
    if robot.is_within_one_process() {
        let stop = component::stop_at_signal(signals)?;
        return component::host(robot, source.source(), Which::All, &stop);
    }
    let from = (source.source(), log.as_deref());
    supervised::run(robot, from, manner.host.as_deref(), &signals)
}

/// For those who simulate without a robot file of their own.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) robot: Robot,
    /// As fast as it goes, in simulated time, for so long; without it on the bus, as time goes by.
    pub(crate) lockstep: Option<Option<Duration>>,
    pub(crate) record: Option<PathBuf>,
}

pub(crate) fn simulate(simulated: &Simulated) -> anyhow::Result<Outcome> {
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let Some(duration) = simulated.lockstep else {
        let stop = component::stop_at_signal(signals)?;
        return component::host(&simulated.robot, Source::Sim, Which::All, &stop);
    };
    let order = Order {
        log: None,
        rate: None,
        duration,
        record: simulated.record.clone(),
        deaths: Deaths::default(),
    };
    lockstep::run(&simulated.robot, &order, signals)
}

fn order(robot: &Robot, source: &SourceArgument, manner: &Manner) -> anyhow::Result<Order> {
    let log = match source {
        SourceArgument::Live => {
            let message =
                "expected --source sim or log:FILE with --lockstep: what is live does not wait";
            return Err(Usage(message.to_owned()).into());
        }
        SourceArgument::Sim => None,
        SourceArgument::Log(_) => Some(log_of(source)?),
    };
    Ok(Order {
        log,
        rate: manner.rate,
        duration: manner.duration,
        record: manner.record.clone(),
        deaths: Deaths::of(robot, source.source(), &manner.kills)?,
    })
}

fn log_of(source: &SourceArgument) -> anyhow::Result<PathBuf> {
    match source {
        SourceArgument::Log(Some(path)) => recording(path),
        SourceArgument::Log(None) | SourceArgument::Live | SourceArgument::Sim => {
            let message = "expected --source log:FILE, found no file";
            Err(Usage(message.to_owned()).into())
        }
    }
}

/// The log itself. Robots number what they record, so that a name without a number may mean the one with it.
fn recording(path: &Path) -> anyhow::Result<PathBuf> {
    if path.exists() {
        if !choice::check_is_log(path)? {
            let message = format!(
                "expected a log with events, found none in {}",
                path.display()
            );
            return Err(Usage(message).into());
        }
        return Ok(path.to_owned());
    }
    let there: Vec<PathBuf> = increments(path).take_while(|name| name.exists()).collect();
    match &there[..] {
        [] => Err(Usage(format!("there is no log {}", path.display())).into()),
        [only] => {
            output::note(&format!(
                "there is no {}: reading {}",
                path.display(),
                only.display()
            ));
            recording(only)
        }
        [first, .., last] => {
            let message = format!(
                "there is no log {}: expected one of {} to {}, as robots number what they record",
                path.display(),
                first.display(),
                last.display()
            );
            Err(Usage(message).into())
        }
    }
}

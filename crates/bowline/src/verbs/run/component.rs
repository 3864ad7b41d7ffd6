//! `bowline component`: some components of a robot in a process of their own, as a supervisor starts them.

use crate::robot_file::{self, Presets, SourceArgument};
use crate::{App, Outcome, output, terminal};
use anyhow::{Context as _, bail};
use bowline_bus::{Bus, Url};
use bowline_component::engine::Engine;
use bowline_host::robot::{Robot, Source};
use bowline_host::{Live, LiveOptions};
use clap::Args;
use nix::sys::signalfd::SignalFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Args, Debug)]
#[command(
    long_about = "Run the components of one process of a robot file, without a supervisor: what `bowline run` starts \
                  for each process, and a way to run one of them alone, under a debugger for example."
)]
pub(crate) struct Arguments {
    /// The robot file
    robot: PathBuf,
    /// The process: a component, or the name that several share
    #[arg(long, value_name = "NAME")]
    process: String,
    /// Where data comes from: live, sim or log
    #[arg(long, value_name = "SOURCE", default_value = "live", value_parser = SourceArgument::parse)]
    source: SourceArgument,
    /// Where the bus is; by default the robot file's
    #[arg(short = 'l', long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    presets: Presets,
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let checked = robot_file::check(app, &arguments.robot, &arguments.presets.presets)?;
    let Some(mut robot) = checked.robot else {
        output::problems(&checked.problems);
        return Ok(Outcome::Diagnostics);
    };
    if let Some(url) = &arguments.url {
        robot = robot.on_bus(Url::parse(url)?);
    }
    let stop = stop_at_signal(signals)?;
    let which = Which::Process(&arguments.process);
    host(&robot, arguments.source.source(), which, &stop)
}

/// Which components of a robot are hosted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'a> {
    /// All that are ours.
    All,
    /// Those of one process.
    Process(&'a str),
}

impl Which<'_> {
    fn has(self, process: &str) -> bool {
        match self {
            Self::All => true,
            Self::Process(name) => process == name,
        }
    }
}

/// Hosts components of a robot until it is stopped.
pub(crate) fn host(
    robot: &Robot,
    source: Source,
    which: Which<'_>,
    stop: &AtomicBool,
) -> anyhow::Result<Outcome> {
    let url = robot.url();
    let components = robot.components(source);
    let components = components.filter(|component| which.has(&component.process));
    let name = match which {
        Which::Process(name) => name,
        Which::All => robot.name(),
    };
    let instances: Result<Vec<_>, _> = components
        .filter_map(|component| component.make())
        .collect();
    let instances = instances?;
    if instances.is_empty() {
        let processes = robot.processes(source);
        let ours = processes.iter().filter(|process| {
            let mut components = process.components.iter();
            components.any(|component| component.takes_steps())
        });
        let ours: Vec<&str> = ours.map(|process| process.name).collect();
        bail!(
            "expected a process of {} with components that take steps, found {:?}: there are {}",
            robot.name(),
            name,
            ours.join(", ")
        );
    }
    let engine = Engine::new(instances)?;
    let bus = Bus::open(&url).with_context(|| format!("cannot open the bus {url}"))?;
    let options = LiveOptions {
        robot: robot.name().to_owned(),
        process: name.to_owned(),
        is_traced: robot.record().is_some(),
        // A supervisor publishes them where there is one.
        experiments: match which {
            Which::Process(_) => Vec::new(),
            Which::All => robot.told_experiments(source),
        },
        on_fault: Some(|component, fault| output::note(&format!("{component}: {fault}"))),
    };
    Live::new(engine, bus, options)?.run(stop)?;
    Ok(Outcome::Fine)
}

/// A flag that is set when a signal comes.
pub(crate) fn stop_at_signal(signals: SignalFd) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let waiting = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // Whatever is wrong with waiting for signals, not to be ended by them would be worse.
            signals.read_signal().unwrap_or_default();
            flag.store(true, Ordering::Relaxed);
        });
    waiting.context("cannot start a thread")?;
    Ok(stop)
}

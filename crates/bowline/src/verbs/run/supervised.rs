//! A robot under a supervisor: each process a child of this one.

use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::Bus;
use bowline_component::Direction;
use bowline_host::presence::ThisProcess;
use bowline_host::robot::{Process, Programs, Record, Robot, Source};
use bowline_host::supervise::{self, Care, News, Options, ProcessSpec, Restart};
use nix::sys::signalfd::SignalFd;
use std::os::fd::AsFd as _;
use std::path::Path;

/// What the process is called that plays a log.
const PLAYER: &str = "player";

pub(super) fn run(
    robot: &Robot,
    (source, log): (Source, Option<&Path>),
    host: Option<&str>,
    signals: &SignalFd,
) -> anyhow::Result<Outcome> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let program = program.display().to_string();
    let url = robot.url();
    let programs = Programs {
        host: &|process| host_command(&program, robot, source, process),
        record: &|record| record_command(&program, &url, record),
    };
    let host = host.unwrap_or(&ThisProcess::get().host);
    let mut plan = robot.plan(source, host, &programs);
    if let Some(log) = log {
        plan.processes.push(player(&program, &url, robot, log));
    }
    let bus = Bus::open(&url).with_context(|| format!("cannot open the bus {url}"))?;
    let options = Options {
        folder: None,
        until: signals.as_fd(),
        care: Care::Everything,
        keeper: vec![program.clone(), "keeper".to_owned()],
        tell: &mut tell,
    };
    supervise::run(&plan, &bus, options)?;
    Ok(Outcome::Fine)
}

fn host_command(
    program: &str,
    robot: &Robot,
    source: Source,
    process: &Process<'_>,
) -> Vec<String> {
    let source = match source {
        Source::Live => "live",
        Source::Sim => "sim",
        Source::Log => "log",
    };
    let file = robot.file().display().to_string();
    let arguments = [
        program,
        "component",
        &file,
        "--process",
        process.name,
        "--source",
        source,
        "--url",
        &robot.url(),
    ];
    let presets = robot.presets().iter();
    let presets = presets.flat_map(|preset| ["--set".to_owned(), preset.to_string()]);
    arguments
        .into_iter()
        .map(str::to_owned)
        .chain(presets)
        .collect()
}

fn record_command(program: &str, url: &str, record: &Record) -> Vec<String> {
    let channels: Vec<String> = record
        .channels
        .iter()
        .map(|pattern| pattern.as_str().to_owned())
        .collect();
    let file = record.file.display().to_string();
    // A robot that starts again does not overwrite what it did before.
    let arguments = [
        program,
        "log",
        "record",
        &file,
        "--increment",
        "--status-every",
        "500ms",
        "--url",
        url,
        "--channel",
        &channels.join("|"),
    ];
    arguments.map(str::to_owned).into()
}

/// Plays the outputs of the replaced components, and what came from outside.
fn player(program: &str, url: &str, robot: &Robot, log: &Path) -> ProcessSpec {
    let written = robot
        .replaced(Source::Log)
        .flat_map(|component| &component.ports);
    let written = written.filter(|port| port.direction == Direction::Writes);
    let channels = written
        .chain(robot.external())
        .filter_map(|port| port.channel.as_deref());
    let channels: Vec<String> = channels
        .map(|channel| channel.replace('.', "\\."))
        .collect();
    let log = log.display().to_string();
    let pattern = channels.join("|");
    let arguments = [
        program, "log", "play", &log, "--url", url, "--regexp", &pattern, "--quiet",
    ];
    let mut spec = ProcessSpec::new(PLAYER, arguments);
    // Its end is the log's.
    spec.restart = Restart::Never;
    spec.after = robot
        .processes(Source::Log)
        .iter()
        .map(|process| process.name.to_owned())
        .collect();
    spec
}

/// What people see at the terminal where a robot runs.
fn tell(news: &News<'_>) {
    output::note(&match news {
        News::Started { process, pid } => format!("{process}: started, pid {pid}"),
        News::Adopted { process, pid } => format!("{process}: was running already, pid {pid}"),
        News::Ended { process, how } => format!("{process}: {how}"),
        News::Printed { process, line } => format!("{process} | {line}"),
        News::Alarm { process, text } => format!("ALARM: {process}: {text}"),
        News::SafeState(true) => "the safe state is entered".to_owned(),
        News::SafeState(false) => "the safe state is left".to_owned(),
        News::Note(text) => (*text).to_owned(),
    });
}

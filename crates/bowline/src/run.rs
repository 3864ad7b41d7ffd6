//! `bowline run`: robots from files.
//!
//! In: a robot file and a source of data. Out: what is wrong with it, what it is, or a robot that runs.

mod explain;
mod summary;

use crate::input::Usage;
use crate::kinds::KINDS;
use crate::robot_file::{self, SourceArgument};
use crate::{Outcome, output};
use bowline_node::robot::Robot;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bowline run robots/example.toml --check         whether anything is wrong with it, and what it is
  bowline run --explain                           the kinds of components that there are
  bowline run --explain heartbeat                 one of them: parameters, ports, and how to write it
  bowline run robots/example.toml                 on the robot itself
  bowline run robots/example.toml --source sim    with what the file has for simulation
  bowline run robots/example.toml --source log:day.mcap

robots/example.toml shows every option of a robot file, each with what it does.
`bowline graph ROBOT` shows who writes and reads what.";

const EXIT_CODES: &str = "Exit code 0 if all is well; 1 if anything is wrong with the robot file.";

#[derive(Args, Debug)]
#[command(
    about = "Run a robot from its file: start, watch and restart its components",
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
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    if let Some(kind) = &arguments.explain {
        return explain(kind.as_deref(), arguments.json);
    }
    let Some(path) = &arguments.robot else {
        return Err(Usage("expected a robot file".to_owned()).into());
    };
    if arguments.check {
        return check(path, arguments);
    }
    let Some(robot) = robot_file::open(path)? else {
        return Ok(Outcome::Diagnostics);
    };
    arguments.source.check(&robot)?;
    start(&robot, &arguments.source)
}

/// Everything that is wrong, or what the robot is.
fn check(path: &std::path::Path, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let checked = robot_file::check(path)?;
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

fn explain(name: Option<&str>, is_json: bool) -> anyhow::Result<Outcome> {
    let Some(name) = name else {
        match is_json {
            true => output::line(&format!("{:#}", explain::all_as_json(KINDS)))?,
            false => output::bytes(explain::all(KINDS).as_bytes())?,
        }
        return Ok(Outcome::Fine);
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let message = format!(
            "unknown kind {name:?}: expected one of {}",
            known.join(", ")
        );
        return Err(Usage(message).into());
    };
    match is_json {
        true => output::line(&format!("{:#}", explain::as_json(kind)))?,
        false => output::bytes(explain::one(kind).as_bytes())?,
    }
    Ok(Outcome::Fine)
}

/// Runs the robot until somebody ends it.
fn start(robot: &Robot, source: &SourceArgument) -> anyhow::Result<Outcome> {
    anyhow::bail!(
        "robots cannot be run yet: {} is checked, and nothing of it was started ({source:?})",
        robot.name()
    )
}

//! The `bowline` command.
//!
//! Each verb is a module with a `run`. Exit codes: 0 fine, 1 something is wrong with the input, 2 wrong usage.

mod alarms;
mod bench;
mod completions;
mod demo;
mod doctor;
mod echo;
mod generate;
mod graph;
mod help;
mod hub;
mod input;
mod kinds;
mod known_types;
mod link;
mod list;
mod listen;
mod log;
mod logs;
mod man;
mod model;
mod operate;
mod orders;
mod output;
mod parameters;
mod progress;
mod ps;
mod publish;
mod rate;
mod robot_file;
mod run;
mod screen;
mod serial;
mod service;
mod sim;
mod spy;
mod station;
mod supervisors;
mod terminal;
mod types;
mod who;

use clap::{Arg, ArgMatches, Args as _, Command, FromArgMatches as _, Subcommand as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = command().get_matches_from(generate::join_folders(std::env::args_os().collect()));
    let outcome = run(&matches);
    match outcome {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&output::with_causes(&error));
            ExitCode::from(if error.is::<input::Usage>() {
                Outcome::Usage
            } else {
                Outcome::Diagnostics
            } as u8)
        }
    }
}

/// What a command leaves behind for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Fine = 0,
    Diagnostics = 1,
    Usage = 2,
    /// Not all of it came back.
    Lossy = 3,
}

fn command() -> Command {
    // What the binary starts itself as.
    let component = run::component::Arguments::augment_args(Command::new("component"));
    let keeper = run::keeper::Arguments::augment_args(Command::new("keeper"));
    visible()
        .subcommand(component.hide(true))
        .subcommand(keeper.hide(true))
        .mut_subcommand("bench", |bench| bench.subcommand(bench::worker()))
}

/// The verbs that people see: what completions and manual pages are made of.
fn visible() -> Command {
    help::unwrapped(verbs())
}

fn verbs() -> Command {
    let types = types::Verb::augment_subcommands(
        Command::new("types")
            .about("Look at types and messages: fingerprints, checks, differences, JSON")
            .subcommand_required(true)
            .arg_required_else_help(true),
    );
    Command::new("bowline")
        .about("Command and control for mobile robots, speaking LCM")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .infer_long_args(false)
        .subcommand(alarms::Arguments::augment_args(Command::new("alarms")))
        .subcommand(bench::command())
        .subcommand(completions::Arguments::augment_args(Command::new(
            "completions",
        )))
        .subcommand(demo::Arguments::augment_args(Command::new("demo")))
        .subcommand(doctor::Doctor::augment_args(Command::new("doctor")))
        .subcommand(echo::Arguments::augment_args(Command::new("echo")))
        .subcommand(generate::command())
        .subcommand(graph::Arguments::augment_args(Command::new("graph")))
        .subcommand(hub::Arguments::augment_args(Command::new("hub")))
        .subcommand(link::Arguments::augment_args(Command::new("link")))
        .subcommand(list::List::augment_args(Command::new("list")))
        .subcommand(log::command())
        .subcommand(logs::Arguments::augment_args(Command::new("logs")))
        .subcommand(man::Arguments::augment_args(Command::new("man")))
        .subcommand(parameters::Arguments::augment_args(Command::new(
            "parameters",
        )))
        .subcommand(ps::Arguments::augment_args(Command::new("ps")))
        .subcommand(model::command())
        .subcommand(operate::HaltArguments::augment_args(Command::new("halt")))
        .subcommand(operate::Arguments::augment_args(Command::new("operate")))
        .subcommand(publish::Arguments::augment_args(Command::new("pub")))
        .subcommand(rate::Arguments::augment_args(Command::new("rate")))
        .subcommand(serial::Arguments::augment_args(Command::new("serial")))
        .subcommand(service::command())
        .subcommand(orders::command("restart"))
        .subcommand(run::Arguments::augment_args(Command::new("run")))
        .subcommand(sim::Arguments::augment_args(Command::new("sim")))
        .subcommand(spy::Arguments::augment_args(Command::new("spy")))
        .subcommand(orders::command("start"))
        .subcommand(station::Arguments::augment_args(Command::new("station")))
        .subcommand(orders::command("stop"))
        .subcommand(types)
        .subcommand(who::Arguments::augment_args(Command::new("who")))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    match matches.subcommand() {
        Some(("alarms", matches)) => alarms::run(&alarms::Arguments::from_arg_matches(matches)?),
        Some(("bench", matches)) => bench::run(matches),
        Some(("completions", matches)) => {
            completions::run(&completions::Arguments::from_arg_matches(matches)?)
        }
        Some(("component", matches)) => {
            run::component::run(&run::component::Arguments::from_arg_matches(matches)?)
        }
        Some(("demo", matches)) => demo::run(&demo::Arguments::from_arg_matches(matches)?),
        Some(("doctor", matches)) => doctor::run(&doctor::Doctor::from_arg_matches(matches)?),
        Some(("echo", matches)) => echo::run(&echo::Arguments::from_arg_matches(matches)?),
        Some(("gen", matches)) => generate::run(matches),
        Some(("graph", matches)) => graph::run(&graph::Arguments::from_arg_matches(matches)?),
        Some(("hub", matches)) => hub::run(&hub::Arguments::from_arg_matches(matches)?),
        Some(("link", matches)) => link::run(&link::Arguments::from_arg_matches(matches)?),
        Some(("list", matches)) => list::run(&list::List::from_arg_matches(matches)?),
        Some(("keeper", matches)) => {
            run::keeper::run(&run::keeper::Arguments::from_arg_matches(matches)?)
        }
        Some(("log", matches)) => log::run(log::Verb::from_arg_matches(matches)?),
        Some(("logs", matches)) => logs::run(&logs::Arguments::from_arg_matches(matches)?),
        Some(("man", matches)) => man::run(&man::Arguments::from_arg_matches(matches)?),
        Some(("parameters", matches)) => {
            parameters::run(&parameters::Arguments::from_arg_matches(matches)?)
        }
        Some(("ps", matches)) => ps::run(&ps::Arguments::from_arg_matches(matches)?),
        Some((verb @ ("start" | "stop" | "restart"), matches)) => {
            orders::run(verb, &orders::Arguments::from_arg_matches(matches)?)
        }
        Some(("model", matches)) => model::run(&model::Verb::from_arg_matches(matches)?),
        Some(("halt", matches)) => {
            operate::halt(&operate::HaltArguments::from_arg_matches(matches)?)
        }
        Some(("operate", matches)) => operate::run(&operate::Arguments::from_arg_matches(matches)?),
        Some(("pub", matches)) => publish::run(&publish::Arguments::from_arg_matches(matches)?),
        Some(("rate", matches)) => rate::run(&rate::Arguments::from_arg_matches(matches)?),
        Some(("serial", matches)) => serial::run(&serial::Arguments::from_arg_matches(matches)?),
        Some(("service", matches)) => service::run(service::Verb::from_arg_matches(matches)?),
        Some(("run", matches)) => run::run(&run::Arguments::from_arg_matches(matches)?),
        Some(("sim", matches)) => sim::run(&sim::Arguments::from_arg_matches(matches)?),
        Some(("spy", matches)) => spy::run(&spy::Arguments::from_arg_matches(matches)?),
        Some(("station", matches)) => station::run(&station::Arguments::from_arg_matches(matches)?),
        Some(("types", matches)) => types::run(types::Verb::from_arg_matches(matches)?),
        Some(("who", matches)) => who::run(&who::Arguments::from_arg_matches(matches)?),
        _ => unreachable!("clap refuses other subcommands"),
    }
}

/// The input files of a verb.
fn files_argument() -> Arg {
    Arg::new("files")
        .value_name("FILE")
        .required(true)
        .num_args(1..)
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help(".lcm files, or folders of them")
}

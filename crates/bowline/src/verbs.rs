//! The verbs of the command line. Each is a file, with a folder where it needs one, and a row.

mod alarms;
#[cfg(feature = "bench")]
mod bench;
mod completions;
#[cfg(feature = "station")]
mod demo;
pub(crate) mod doctor;
mod echo;
pub(crate) mod generate;
mod graph;
mod hub;
#[cfg(feature = "link")]
mod link;
mod list;
pub(crate) mod log;
mod logs;
mod man;
mod model;
mod operate;
mod orders;
mod parameters;
mod ps;
mod publish;
mod rate;
mod run;
mod serial;
mod service;
mod sim;
#[cfg(feature = "spy")]
mod spy;
#[cfg(feature = "station")]
mod station;
mod types;
mod who;

use crate::verb::{Verb, finish, run_on};
use clap::Args as _;

/// Sorted by name. Add yours here; nothing else needs to change.
pub(crate) const VERBS: &[Verb] = &[
    Verb::new("alarms", "List what is wrong with vehicles: severity, cause, what to do, who knows of it", alarms::Arguments::augment_args, |_, it| run_on(it, |it| alarms::run(&it))),
    #[cfg(feature = "bench")]
    Verb::new("bench", "Measure a bus as the papers about LCM do, with stock LCM beside it", bench::build, |_, it| finish(bench::run(it))),
    #[cfg(feature = "bench")]
    Verb::new("bench-worker", "Run one worker of a measurement", bench::build_worker, |_, it| finish(bench::work(it))).hidden(),
    Verb::new("completions", "Print the completions of a shell", completions::Arguments::augment_args, |app, it| run_on(it, |it| completions::run(app, &it))),
    Verb::new("component", "Run the components of one process of a robot file, without a supervisor", run::component::Arguments::augment_args, |app, it| run_on(it, |it| run::component::run(app, &it))).hidden(),
    #[cfg(feature = "station")]
    Verb::new("demo", "Show a robot at work, in simulation, with no set-up", demo::Arguments::augment_args, |app, it| run_on(it, |it| demo::run(app, &it))),
    Verb::new("doctor", "Find out why messages do not arrive, and how to fix it", doctor::Doctor::augment_args, |_, it| run_on(it, |it| doctor::run(&it))),
    Verb::new("echo", "Show messages as they arrive", echo::Arguments::augment_args, |_, it| run_on(it, |it| echo::run(&it))),
    Verb::of_tables("gen", "Compile .lcm files to source code", generate::build, |app, it| finish(generate::run(app, it))),
    Verb::new("graph", "Show publishers and subscribers of a robot file or of a bus, in words or as a drawing", graph::Arguments::augment_args, |app, it| run_on(it, |it| graph::run(app, &it))),
    Verb::new("halt", "Stop a vehicle, at once", operate::HaltArguments::augment_args, |_, it| run_on(it, |it| operate::halt(&it))),
    Verb::new("hub", "Relay messages between programs that use tcpq://", hub::Arguments::augment_args, |_, it| run_on(it, |it| hub::run(&it))),
    Verb::new("keeper", "Bound what a robot's processes print after their supervisor has died, until the next one starts", run::keeper::Arguments::augment_args, |_, it| run_on(it, |it| run::keeper::run(&it))).hidden(),
    #[cfg(feature = "link")]
    Verb::of_tables("link", "Carry channels across a thin link: schedulers, deadlines, fail-over, keys", link::build, |app, it| run_on(it, |it| link::run(app, &it))),
    Verb::new("list", "List the channels on a bus, their types, their traffic, and everything that was lost", list::List::augment_args, |_, it| run_on(it, |it| list::run(&it))),
    Verb::new("log", "Record, play, look into and repair logs: LCM event logs and MCAP", log::build, |_, it| run_on(it, log::run)),
    Verb::new("logs", "Show what the processes of robots print", logs::Arguments::augment_args, |_, it| run_on(it, |it| logs::run(&it))),
    Verb::new("man", "Write the manual pages, one for each verb, or the command-line reference", man::Arguments::augment_args, |app, it| run_on(it, |it| man::run(app, &it))),
    Verb::new("model", "Ask where things are on a robot: bodies, frames and constraints from files", model::build, |app, it| run_on(it, |it| model::run(app, &it))),
    Verb::new("operate", "Show who commands a vehicle, and command it", operate::Arguments::augment_args, |_, it| run_on(it, |it| operate::run(&it))),
    Verb::new("parameters", "Show and set parameters of components that run", parameters::Arguments::augment_args, |_, it| run_on(it, |it| parameters::run(&it))),
    Verb::new("ps", "List the processes of robots: state, restarts, CPU, memory, health", ps::Arguments::augment_args, |_, it| run_on(it, |it| ps::run(&it))),
    Verb::new("pub", "Publish messages, from JSON", publish::Arguments::augment_args, |_, it| run_on(it, |it| publish::run(&it))),
    Verb::new("rate", "Measure how often messages arrive: mean, spread, and a histogram of the intervals", rate::Arguments::augment_args, |_, it| run_on(it, |it| rate::run(&it))),
    Verb::new("restart", "Stop processes of a robot in order, then start them again", orders::build, |_, it| run_on(it, |it| orders::run("restart", &it))),
    Verb::new("run", "Run a robot from its file: start, watch and restart its components", run::Arguments::augment_args, |app, it| run_on(it, |it| run::run(app, &it))),
    Verb::new("serial", "Connect a serial line to the bus, or make a pseudo-terminal for a simulated one", serial::Arguments::augment_args, |_, it| run_on(it, |it| serial::run(&it))),
    Verb::new("service", "List the services on a bus, and call them", service::build, |_, it| run_on(it, service::run)),
    Verb::new("sim", "Run a world with a robot in it, check it, or draw it", sim::Arguments::augment_args, |app, it| run_on(it, |it| sim::run(app, &it))),
    #[cfg(feature = "spy")]
    Verb::new("spy", "See every message on a bus or in a log: channels, fields, curves, pictures", spy::Arguments::augment_args, |_, it| run_on(it, |it| spy::run(&it))),
    Verb::new("start", "Start processes of a robot, and those that they depend on", orders::build, |_, it| run_on(it, |it| orders::run("start", &it))),
    #[cfg(feature = "station")]
    Verb::new("station", "Serve the operator's page", station::Arguments::augment_args, |app, it| run_on(it, |it| station::run(app, &it))),
    Verb::new("stop", "Stop processes of a robot, in order", orders::build, |_, it| run_on(it, |it| orders::run("stop", &it))),
    Verb::new("types", "Look at types and messages: fingerprints, checks, differences, JSON", types::build, |_, it| run_on(it, types::run)),
    Verb::new("who", "List publishers: process, host, channels, and what was lost of theirs", who::Arguments::augment_args, |_, it| run_on(it, |it| who::run(&it))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::App;
    use crate::table::Row as _;
    use clap::Command;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn verbs_are_sorted_and_unique() {
        assert!(VERBS.is_sorted_by(|one, two| one.name() < two.name()));
    }

    /// The row alone has the summary, so that there are no two of them.
    #[test]
    fn verbs_have_summaries_of_one_line_in_their_rows_alone() {
        for verb in VERBS {
            let (name, summary) = (verb.name(), verb.summary());
            assert!(
                !summary.is_empty() && !summary.ends_with('.') && !summary.contains('\n'),
                "{name}"
            );
            assert_eq!(
                verb.arguments(&App::new(), Command::new("verb"))
                    .get_about(),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn files_of_verbs_are_modules_with_a_row() {
        let source = include_str!("verbs.rs");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verbs");
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let files: BTreeSet<String> = entries
            .filter(|path| path.extension().is_some_and(|it| it == "rs"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert!(files.contains("echo"));
        for file in files {
            assert!(source.contains(&format!("mod {file};")), "{file}");
            assert!(source.contains(&format!(" {file}::")), "{file} has no row");
        }
    }
}

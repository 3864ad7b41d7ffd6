//! `bowline log`: record, play, look into and repair logs.
//!
//! Each verb is a file in `log/` and a row here.

mod control;
mod index;
mod play;
mod record;

use crate::Outcome;
use clap::{Command, Subcommand};

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Control(control::Arguments),
    Index(index::Arguments),
    Play(play::Arguments),
    Record(Box<record::Arguments>),
}

pub(crate) fn command() -> Command {
    Verb::augment_subcommands(
        Command::new("log")
            .about("Record, play, look into and repair logs: LCM event logs and MCAP")
            .subcommand_required(true)
            .arg_required_else_help(true),
    )
}

pub(crate) fn run(verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Control(arguments) => control::run(&arguments),
        Verb::Index(arguments) => index::run(&arguments),
        Verb::Play(arguments) => play::run(&arguments),
        Verb::Record(arguments) => record::run(&arguments),
    }
}

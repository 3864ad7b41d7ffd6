//! `bowline service`: who serves what, and calls from the command line.

mod call;
mod list;
mod lookout;

use crate::Outcome;
use clap::{Command, Subcommand};

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Call(Box<call::Arguments>),
    List(list::Arguments),
}

pub(crate) fn build(command: Command) -> Command {
    Verb::augment_subcommands(command)
        .subcommand_required(true)
        .arg_required_else_help(true)
}

pub(crate) fn run(verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Call(arguments) => call::run(&arguments),
        Verb::List(arguments) => list::run(&arguments),
    }
}

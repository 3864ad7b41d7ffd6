//! `bowline log`: record, play, look into and repair logs.
//!
//! Each verb is a file in `log/` and a row here; `choice` has the arguments that several of them share.

mod cat;
pub(crate) mod choice;
mod control;
mod convert;
pub(crate) mod diff;
mod draw;
#[cfg(feature = "export")]
mod export;
mod filter;
mod index;
mod info;
mod play;
mod record;
mod recover;
mod report;

pub(crate) use report::note_damage;

use crate::Outcome;
use clap::{Command, Subcommand};

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Cat(cat::Arguments),
    Control(control::Arguments),
    Convert(convert::Arguments),
    Diff(diff::Arguments),
    Draw(draw::Arguments),
    #[cfg(feature = "export")]
    Export(export::Arguments),
    Filter(filter::Arguments),
    Index(index::Arguments),
    Info(info::Arguments),
    Play(play::Arguments),
    Record(Box<record::Arguments>),
    Recover(recover::Arguments),
}

pub(crate) fn build(command: Command) -> Command {
    Verb::augment_subcommands(command)
        .subcommand_required(true)
        .arg_required_else_help(true)
}

pub(crate) fn run(verb: Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Cat(arguments) => cat::run(&arguments),
        Verb::Control(arguments) => control::run(&arguments),
        Verb::Convert(arguments) => convert::run(&arguments),
        Verb::Diff(arguments) => diff::run(&arguments),
        Verb::Draw(arguments) => draw::run(&arguments),
        #[cfg(feature = "export")]
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Filter(arguments) => filter::run(&arguments),
        Verb::Index(arguments) => index::run(&arguments),
        Verb::Info(arguments) => info::run(&arguments),
        Verb::Play(arguments) => play::run(&arguments),
        Verb::Record(arguments) => record::run(&arguments),
        Verb::Recover(arguments) => recover::run(&arguments),
    }
}

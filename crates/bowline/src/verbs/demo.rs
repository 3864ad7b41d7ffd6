//! `bowline demo`: a robot at work in simulation, and a person in the loop. Needs this program and nothing else.

mod live;
mod messages;
mod show;

use crate::{App, Outcome};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  bowline demo             a vessel surveys a harbour; see it, retask it, take over, stop it in a browser
  bowline demo raptor      DRDC's Raptor drives to three goals by two lasers; the same page
  bowline demo igvc        a robot between painted lines and barrels; the same page
  bowline demo messages    types of the LCM paper, their code, a bus: in text
  bowline demo --url udpm://239.255.76.67:7667
                           on LCM's multicast, for other programs to join

Everything is in this process, and the page is on this machine only, unless options change that. What
happens is recorded in NAME-demo; `bowline station --log NAME-demo/NAME.mcap` shows it again. ^C ends it.";

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    which: Option<Which>,
    #[command(flatten)]
    live: live::LiveArguments,
}

#[derive(Subcommand, Debug)]
enum Which {
    /// DRDC's Raptor drives itself through a blocks world
    Raptor(live::LiveArguments),
    /// A robot for the IGVC drives itself through its course
    Igvc(live::LiveArguments),
    /// Messages: types of the LCM paper, their code, a bus
    Messages,
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match &arguments.which {
        Some(Which::Raptor(arguments)) => live::run(app, &show::RAPTOR, arguments),
        Some(Which::Igvc(arguments)) => live::run(app, &show::IGVC, arguments),
        Some(Which::Messages) => messages::run(),
        None => live::run(app, &show::HARBOUR, &arguments.live),
    }
}

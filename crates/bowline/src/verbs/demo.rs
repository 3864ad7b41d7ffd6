//! `bowline demo`: a robot at work in simulation, and a person in the loop. Needs this program and nothing else.

mod film;
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
  bowline demo raptor --film
                           as fast as the machine can, into one HTML file that needs nothing else
  bowline demo messages    types of the LCM paper, their code, a bus: in text
  bowline demo --url udpm://239.255.76.67:7667
                           on LCM's multicast, for other programs to join

Everything is in this process, and the page is on this machine only, unless it is told otherwise. What
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
    Raptor(Drive),
    /// A robot for the IGVC drives itself through its course
    Igvc(Drive),
    /// Messages: types of the LCM paper, their code, a bus
    Messages,
}

// How a ground vehicle is shown. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
struct Drive {
    #[command(flatten)]
    live: live::LiveArguments,
    #[command(flatten)]
    film: film::FilmArguments,
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match &arguments.which {
        Some(Which::Raptor(arguments)) => drive(app, &show::RAPTOR, arguments),
        Some(Which::Igvc(arguments)) => drive(app, &show::IGVC, arguments),
        Some(Which::Messages) => messages::run(),
        None => live::run(app, &show::HARBOUR, &arguments.live),
    }
}

fn drive(app: &App, show: &show::Show, arguments: &Drive) -> anyhow::Result<Outcome> {
    let Drive { live, film } = arguments;
    if film.is_wanted() {
        film::run(app, show, film, &live.folder(show))
    } else {
        live::run(app, show, live)
    }
}

//! `bowline link`: carries channels between a vehicle and a station over thin links.
//!
//! The link itself is in `bowline_link`; here it gets a file, a run, and an end on ^C.

mod status;

use crate::{App, Outcome, output, terminal};
use anyhow::Context as _;
use bowline_host::clock::Live;
use bowline_link::carrier::Meet;
use bowline_link::file::{LinkFile, ReadLinkError};
use bowline_link::keys::{self, Identity};
use bowline_link::run::Link;
use clap::{Args, Command, Subcommand};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  bowline link links/harbour-vehicle.toml          carries what the file lists, until ^C
  bowline link links/harbour-vehicle.toml --check  only looks for mistakes in it
  bowline link keygen vehicle.key                  makes a key, and prints what the other end's file needs
  bowline link key vehicle.key                     prints that again
  bowline link status                              how all links on this bus are
  bowline link status --json | jq .streams

links/example.toml has every option.";

/// The arguments, with help that lists what the tables of links have.
pub(crate) fn build(app: &App, command: Command) -> Command {
    Arguments::augment_args(command).after_help(help(app))
}

fn help(app: &App) -> String {
    let tables = app.links().tables();
    let row = |name: &str, about: &str| format!("\n  {name:<12} {about}");
    let schedulers: String = tables
        .schedulers
        .iter()
        .map(|it| row(it.name, it.about))
        .collect();
    let carriers: String = tables
        .carriers
        .iter()
        .map(|it| row(it.name, it.about))
        .collect();
    format!("{EXAMPLES}\n\nSchedulers:{schedulers}\n\nCarriers:{carriers}")
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    /// What to carry, over which paths, to whom
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,
    /// Only look for mistakes in the file
    #[arg(long)]
    check: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a key for one end, and print the fingerprint that the other end's file needs
    #[command(
        after_help = "Example:\n  bowline link keygen vehicle.key\n\nOnly its owner may read the file. It is never written over."
    )]
    Keygen {
        /// A file that is not there yet
        file: PathBuf,
    },
    /// Print the fingerprint of a key, for `[peer] key` in the other end's file
    #[command(after_help = "Example:\n  bowline link key vehicle.key")]
    Key {
        /// As `bowline link keygen` wrote it
        file: PathBuf,
    },
    /// Show how the links on a bus are: paths, ages, bytes, and what was dropped and why
    Status(status::Arguments),
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match (&arguments.verb, &arguments.file) {
        (Some(Verb::Keygen { file }), _) => {
            output::line(&keys::generate(file)?.to_string())?;
            Ok(Outcome::Fine)
        }
        (Some(Verb::Key { file }), _) => {
            output::line(&Identity::load(file)?.fingerprint().to_string())?;
            Ok(Outcome::Fine)
        }
        (Some(Verb::Status(arguments)), _) => status::run(arguments),
        (None, Some(file)) => carry(app, file, arguments.check),
        (None, None) => unreachable!("clap wants a file or a subcommand"),
    }
}

fn carry(app: &App, path: &Path, is_check: bool) -> anyhow::Result<Outcome> {
    let file = match LinkFile::load(path, app.links().tables()) {
        Ok((file, warnings)) => {
            output::problems(&warnings);
            file
        }
        Err(ReadLinkError::Wrong(problems)) => {
            output::problems(&problems);
            return Ok(Outcome::Diagnostics);
        }
        Err(error @ ReadLinkError::Read { .. }) => return Err(error.into()),
    };
    if is_check {
        output::line(&describe(&file))?;
        if let Some(key) = file.key.as_deref().filter(|key| !key.exists()) {
            let key = key.display();
            output::note(&format!(
                "there is no key at {key} yet: `bowline link keygen {key}` makes one"
            ));
        }
        return Ok(Outcome::Fine);
    }
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    for path in file.paths.iter().filter(|path| !path.carrier.is_secure) {
        output::note(&format!(
            "{} has no keys: any host that reaches it may read, change and send, commands too",
            path.carrier.name
        ));
    }
    let name = file.name.clone();
    let listens: Vec<bool> = file
        .paths
        .iter()
        .map(|path| matches!(path.meet, Meet::Listen(_)))
        .collect();
    let carriers: Vec<&str> = file.paths.iter().map(|path| path.carrier.name).collect();
    let clock = Live::new();
    let mut link = Link::open(file, clock, life(&clock))?;
    for ((address, is_listening), carrier) in link.addresses().zip(listens).zip(carriers) {
        let verb = if is_listening {
            "listens on"
        } else {
            "connects to"
        };
        output::line(&format!("{name} {verb} {carrier} {address}"))?;
    }
    while !link.turn(Some(signals.as_fd()))? {
        for news in link.take_news() {
            output::line(&format!("{} {}", news.path, news.what))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Another one each time that a link is started: the low bits of the microseconds, and of the process.
fn life(clock: &Live) -> u32 {
    let utime = clock.started_at().utime().to_be_bytes();
    let [.., a, b, c, d] = utime;
    u32::from_be_bytes([a, b, c, d]) ^ std::process::id().rotate_left(20)
}

fn describe(file: &LinkFile) -> String {
    let LinkFile {
        name,
        peer,
        scheduler,
        ..
    } = file;
    let paths: Vec<String> = file
        .paths
        .iter()
        .map(|path| match path.meet {
            Meet::Listen(address) => format!("{} listening on {address}", path.carrier.name),
            Meet::Connect(address) => format!("{} to {address}", path.carrier.name),
        })
        .collect();
    format!(
        "{name} to {peer}: sends {}, takes {}, by {}, over {}",
        channels(file.sends.len()),
        channels(file.receives.len()),
        scheduler.name,
        paths.join(", then ")
    )
}

fn channels(n: usize) -> String {
    output::count(u64::try_from(n).unwrap_or(u64::MAX), "channel")
}

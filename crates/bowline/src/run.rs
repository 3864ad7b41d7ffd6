//! `bowline run`.

pub(crate) mod component;
mod lockstep;
mod robots;
mod verify;

use crate::known_types::Types;
use crate::{Outcome, input, output};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(about = "Start a robot")]
pub(crate) struct Arguments {
    robot: PathBuf,
    #[arg(long, value_name = "SOURCE", default_value = "live")]
    source: String,
    #[arg(long)]
    lockstep: bool,
    #[arg(long)]
    verify: bool,
    #[arg(long)]
    rate: Option<f64>,
    #[arg(long = "for", value_parser = input::period)]
    duration: Option<Duration>,
    #[arg(long)]
    record: Option<PathBuf>,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[arg(short = 'l', long)]
    url: Option<String>,
    #[command(flatten)]
    types: Types,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let robot = robots::load(&arguments.robot)?;
    let url = robots::url(&robot, arguments.url.as_deref());
    let log = arguments.source.strip_prefix("log:").map(PathBuf::from);
    if arguments.verify {
        let path = log.unwrap_or_default();
        return verify::run(&robot, &path, &arguments.types);
    }
    if arguments.lockstep {
        let order = lockstep::Order {
            log,
            rate: arguments.rate,
            duration: arguments.duration,
            record: arguments.record.clone(),
            threads: arguments.threads,
        };
        return lockstep::run(&robot, &url, &order);
    }
    output::note("not yet");
    Ok(Outcome::Diagnostics)
}

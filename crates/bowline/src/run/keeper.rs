//! `bowline keeper`: bounds what a robot's processes print while no supervisor runs, as supervisors start it.

use crate::Outcome;
use bowline_host::supervise;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(
    about = "Bound what a robot's processes print after their supervisor has died, until the next one comes"
)]
pub(crate) struct Arguments {
    /// Where the supervisor leaves word for the next one
    folder: PathBuf,
    /// What it is called there
    name: String,
    /// The number of its process
    pid: i32,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Arguments { folder, name, pid } = arguments;
    supervise::keep(folder, name, *pid);
    Ok(Outcome::Fine)
}

//! A program that is Bowline with components and verbs of its own.

use crate::kinds::KINDS;
use crate::table::{NameClashError, Table};
use crate::verb::{Outcome, Verb};
use crate::verbs::{VERBS, generate};
use crate::{help, output, robot_file};
use bowline_component::Kind;
use bowline_host::robot::{LoadError, Loaded};
use bowline_sim::{ACTUATIONS, ActuationKind};
use clap::Command;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// What the program is called unless [`App::name`] says otherwise.
const NAME: &str = "bowline";

/// The `bowline` command, with kinds of components and verbs of your own beside Bowline's.
///
/// A supervisor starts the components of a robot as processes of the same executable, so that they have the same tables.
#[derive(Clone, Debug)]
#[must_use = "an App does nothing until `main` or `run`"]
pub struct App {
    program: &'static str,
    kinds: Table<Kind>,
    verbs: Table<Verb>,
}

/// The `bowline` command as it is shipped.
pub fn main() -> ExitCode {
    App::new().main()
}

impl App {
    /// Bowline without additions.
    pub fn new() -> Self {
        let kinds = KINDS.iter().copied().chain(gates(ACTUATIONS));
        Self {
            program: NAME,
            kinds: Table::new(kinds),
            verbs: Table::new(VERBS.iter().copied()),
        }
    }

    /// Sets the name of the program, as help, completions and manual pages show it.
    pub fn name(mut self, program: &'static str) -> Self {
        self.program = program;
        self
    }

    /// Adds kinds of components that robot files can name.
    pub fn kinds(mut self, kinds: &[Kind]) -> Self {
        self.kinds.add(kinds.iter().copied());
        self
    }

    /// Adds the gates of kinds of actuation, as [`Tables::ACTUATIONS`](bowline_sim::Tables::ACTUATIONS) of the program has
    /// them.
    pub fn actuations(mut self, actuations: &[ActuationKind]) -> Self {
        self.kinds.add(gates(actuations));
        self
    }

    /// Adds verbs to the command line.
    pub fn verbs(mut self, verbs: &[Verb]) -> Self {
        self.verbs.add(verbs.iter().copied());
        self
    }

    /// Runs the command line of this process.
    pub fn main(self) -> ExitCode {
        self.run(std::env::args_os())
    }

    /// Runs a command line, of which the first word is the program. As with any command line, help and wrong usage end the
    /// process.
    pub fn run(&self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        if let Err(clash) = self.check() {
            output::error(&clash.to_string());
            return Outcome::Diagnostics.into();
        }
        let arguments = generate::join_folders(arguments.into_iter().collect());
        let matches = self.tree(|_| true).get_matches_from(arguments);
        let chosen = matches.subcommand();
        match chosen.and_then(|(name, matches)| Some((self.verbs.find(name)?, matches))) {
            Some((verb, matches)) => verb.run(self, matches),
            None => unreachable!("clap refuses other subcommands"),
        }
    }

    /// Checks that no two kinds and no two verbs have the same name. [`run`](Self::run) does so first.
    ///
    /// # Errors
    /// With both, when two have.
    pub fn check(&self) -> Result<(), NameClashError> {
        self.kinds.check()?;
        self.verbs.check()
    }

    /// Reads a robot file and checks everything in it, as `run --check` does.
    ///
    /// # Errors
    /// When the file cannot be read or has an error, or two kinds have the same name.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded, LoadRobotError> {
        self.check()?;
        Ok(robot_file::load(self, path.as_ref(), &[], None)?)
    }

    /// The kinds that robot files can name, Bowline's and the program's, sorted by name.
    pub(crate) fn kind_table(&self) -> &[Kind] {
        self.kinds.rows()
    }

    pub(crate) fn find_kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.find(name)
    }

    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// The command line as completions and manual pages show it: without the verbs that the program starts itself with.
    pub(crate) fn command(&self) -> Command {
        self.tree(|verb| !verb.is_hidden())
    }

    fn tree(&self, is_wanted: impl Fn(&Verb) -> bool) -> Command {
        let version = if self.program == NAME {
            env!("CARGO_PKG_VERSION")
        } else {
            concat!("on bowline ", env!("CARGO_PKG_VERSION"))
        };
        let wanted = self.verbs.rows().iter().filter(|verb| is_wanted(verb));
        let command = Command::new(self.program)
            .about("Command and control for mobile robots, speaking LCM")
            .version(version)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .infer_long_args(false)
            .subcommands(wanted.map(Verb::command));
        help::unwrapped(command)
    }
}

fn gates(actuations: &[ActuationKind]) -> impl Iterator<Item = Kind> {
    actuations.iter().filter_map(|it| it.gate)
}

impl Default for App {
    fn default() -> Self {
        Self::new()
    }
}

/// Why there is no robot.
#[derive(Debug, thiserror::Error)]
pub enum LoadRobotError {
    /// The tables of the program contradict each other.
    #[error(transparent)]
    Clash(#[from] NameClashError),
    /// The file cannot be read or has errors.
    #[error(transparent)]
    Load(#[from] LoadError),
}

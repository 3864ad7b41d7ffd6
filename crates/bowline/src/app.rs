//! A program that is Bowline with components and verbs of its own.

use crate::kinds::{KINDS, simulator};
use crate::languages;
use crate::links::Links;
use crate::table::{NameClashError, Table};
use crate::transports;
use crate::verb::{Outcome, Verb};
use crate::verbs::{VERBS, generate};
use crate::{help, output, robot_file};
use bowline_bus::{InstallSchemesError, Scheme, Schemes};
use bowline_component::Kind;
use bowline_host::robot::{LoadError, Loaded};
use bowline_lang::emit::{LANGUAGES, Language};
use bowline_sim::{ACTUATIONS, ActuationKind, Catalog, Tables};
use clap::Command;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The default name of the program, without [`App::name`].
const NAME: &str = "bowline";

/// The `bowline` command, with kinds of components, verbs, transports and more of your own beside Bowline's.
///
/// A supervisor starts the components of a robot as processes of the same executable, so that they have the same tables.
#[derive(Clone, Debug)]
#[must_use = "an App does nothing until `main` or `run`"]
pub struct App {
    program: &'static str,
    kinds: Table<Kind>,
    verbs: Table<Verb>,
    transports: Table<&'static Scheme>,
    languages: Table<Language>,
    pub(crate) links: Links,
    catalog: Catalog,
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
            transports: Table::new(Schemes::built_in().iter()),
            languages: Table::new(LANGUAGES.iter().copied()),
            links: Links::default(),
            catalog: Catalog::default(),
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

    /// Has simulated sensors and kinds of actuation of the program's own: models may have their elements, and the component
    /// kind `sim` simulates them. Robot files can name the gates of the kinds of actuation.
    ///
    /// ```
    /// use bowline::App;
    /// use bowline::sim::{SensorKind, Tables};
    ///
    /// #[derive(Debug)]
    /// struct MyTables;
    ///
    /// impl Tables for MyTables {
    ///     const SENSORS: &'static [SensorKind] = &[/* one for each kind */];
    /// }
    ///
    /// assert!(App::new().simulator::<MyTables>().check().is_ok());
    /// ```
    pub fn simulator<T: Tables>(mut self) -> Self {
        self.kinds.replace(simulator::<T>());
        self.kinds.add(gates(T::ACTUATIONS));
        self.catalog = Catalog::of::<T>();
        self
    }

    /// Adds verbs to the command line.
    pub fn verbs(mut self, verbs: &[Verb]) -> Self {
        self.verbs.add(verbs.iter().copied());
        self
    }

    /// Adds transports that URLs can name, for everything in the process that opens a bus.
    ///
    /// A process has one table of transports: it is made when the program runs first, and a program with other transports
    /// cannot run in the same process.
    pub fn transports(mut self, transports: &[&'static Scheme]) -> Self {
        self.transports.add(transports.iter().copied());
        self
    }

    /// Adds languages that `gen` prints types in. One-letter flags are lcm-gen's: those of these languages are left out.
    pub fn languages(mut self, languages: &[Language]) -> Self {
        let languages = languages.iter();
        self.languages
            .add(languages.map(|it| Language { short: None, ..*it }));
        self
    }

    /// Runs the command line of this process.
    pub fn main(self) -> ExitCode {
        self.run(std::env::args_os())
    }

    /// Runs a command line, of which the first word is the program. As with any command line, help and wrong usage end the
    /// process.
    pub fn run(&self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        if let Err(error) = self.set_up() {
            output::error(&error.to_string());
            return Outcome::Diagnostics.into();
        }
        let arguments = generate::join_folders(self, arguments.into_iter().collect());
        let matches = self.tree(|_| true).get_matches_from(arguments);
        let chosen = matches.subcommand();
        match chosen.and_then(|(name, matches)| Some((self.verbs.find(name)?, matches))) {
            Some((verb, matches)) => verb.run(self, matches),
            None => unreachable!("clap refuses other subcommands"),
        }
    }

    /// Checks that no two rows of a table have the same name, and no two languages the same flag. [`run`](Self::run) does so
    /// first.
    ///
    /// # Errors
    /// With both, when two have.
    pub fn check(&self) -> Result<(), NameClashError> {
        self.kinds.check()?;
        self.verbs.check()?;
        self.transports.check()?;
        self.languages.check()?;
        languages::check_flags(&self.languages)?;
        self.links.check()
    }

    /// Checks the tables, and makes the transports known to the process.
    fn set_up(&self) -> Result<(), SetUpError> {
        self.check()?;
        Ok(transports::install(&self.transports)?)
    }

    /// Reads a robot file and checks everything in it, as `run --check` does.
    ///
    /// # Errors
    /// When the file cannot be read or has an error, or the tables contradict each other.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Loaded, LoadRobotError> {
        self.set_up()?;
        Ok(robot_file::load(self, path.as_ref(), &[], None)?)
    }

    /// The kinds that robot files can name, Bowline's and the program's, sorted by name.
    pub(crate) fn kind_table(&self) -> &[Kind] {
        self.kinds.rows()
    }

    pub(crate) fn find_kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.find(name)
    }

    /// The languages of `gen`, sorted by name.
    pub(crate) fn language_table(&self) -> &[Language] {
        self.languages.rows()
    }

    /// What models may have for the simulator.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
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
            .subcommands(wanted.map(|verb| verb.command(self)));
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

/// Why the tables of a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetUpError {
    /// They contradict each other.
    #[error(transparent)]
    Clash(#[from] NameClashError),
    /// The process has other transports already.
    #[error(transparent)]
    Install(#[from] InstallSchemesError),
}

/// Why there is no robot.
#[derive(Debug, thiserror::Error)]
pub enum LoadRobotError {
    /// The tables of the program cannot be used.
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    /// The file cannot be read or has errors.
    #[error(transparent)]
    Load(#[from] LoadError),
}

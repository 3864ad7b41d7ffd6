//! A verb of the command line: one row, of which help, completions and manual pages are made.

use crate::input::Usage;
use crate::table::Row;
use crate::{App, output};
use clap::{ArgMatches, Command, FromArgMatches};
use std::fmt;
use std::process::ExitCode;

/// A verb of the command line.
///
/// ```
/// use bowline::clap::{Arg, ArgMatches, Command};
/// use bowline::{App, Verb};
/// use std::process::ExitCode;
///
/// fn arguments(command: Command) -> Command {
///     command.arg(Arg::new("robot").required(true).help("The robot file"))
/// }
///
/// /// Prints the name of a robot, with its file checked by the kinds of this program.
/// fn name(app: &App, matches: &ArgMatches) -> ExitCode {
///     let file: &String = matches.get_one("robot").expect("it is required");
///     match app.load(file) {
///         Ok(loaded) => println!("{}", loaded.robot.name()),
///         Err(error) => {
///             eprintln!("{error}");
///             return ExitCode::FAILURE;
///         }
///     }
///     ExitCode::SUCCESS
/// }
///
/// const VERBS: &[Verb] = &[Verb::new("name", "Print the name of a robot", arguments, name)];
///
/// assert!(App::new().verbs(VERBS).check().is_ok());
/// ```
#[derive(Clone, Copy)]
pub struct Verb {
    name: &'static str,
    summary: &'static str,
    build: BuildArguments,
    run: fn(&App, &ArgMatches) -> ExitCode,
    is_hidden: bool,
}

/// Adds a verb's arguments to a command.
#[derive(Clone, Copy)]
enum BuildArguments {
    Same(fn(Command) -> Command),
    /// Arguments or help that follow from the tables.
    OfTables(fn(&App, Command) -> Command),
}

impl Verb {
    /// A verb with a name, a summary without a full stop, the arguments that it adds to a command, and what it does with
    /// them.
    #[must_use]
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        build: fn(Command) -> Command,
        run: fn(&App, &ArgMatches) -> ExitCode,
    ) -> Self {
        Self {
            name,
            summary,
            build: BuildArguments::Same(build),
            run,
            is_hidden: false,
        }
    }

    /// A verb whose arguments or help follow from the tables of the program.
    pub(crate) const fn of_tables(
        name: &'static str,
        summary: &'static str,
        build: fn(&App, Command) -> Command,
        run: fn(&App, &ArgMatches) -> ExitCode,
    ) -> Self {
        Self {
            name,
            summary,
            build: BuildArguments::OfTables(build),
            run,
            is_hidden: false,
        }
    }

    /// The same verb, which help, completions and manual pages do not show: for what a program starts itself with.
    #[must_use]
    pub const fn hidden(self) -> Self {
        Self {
            is_hidden: true,
            ..self
        }
    }

    pub(crate) const fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// A command with the verb's arguments.
    pub(crate) fn arguments(&self, app: &App, command: Command) -> Command {
        match self.build {
            BuildArguments::Same(build) => build(command),
            BuildArguments::OfTables(build) => build(app, command),
        }
    }

    pub(crate) fn command(&self, app: &App) -> Command {
        self.arguments(app, Command::new(self.name))
            .about(self.summary)
            .hide(self.is_hidden)
    }

    pub(crate) fn run(&self, app: &App, matches: &ArgMatches) -> ExitCode {
        (self.run)(app, matches)
    }
}

impl Row for Verb {
    const NOUN: &'static str = "verb";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }
}

impl fmt::Debug for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verb({})", self.name)
    }
}

/// What a verb returns to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine = 0,
    Diagnostics = 1,
    Usage = 2,
    /// Some data was lost.
    Lossy = 3,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

/// Runs a verb of ours on its arguments.
pub(crate) fn run_on<A: FromArgMatches>(
    matches: &ArgMatches,
    verb: impl FnOnce(A) -> anyhow::Result<Outcome>,
) -> ExitCode {
    let arguments = A::from_arg_matches(matches).map_err(anyhow::Error::from);
    finish(arguments.and_then(verb))
}

/// Prints the error of a verb of ours, if there is one.
pub(crate) fn finish(outcome: anyhow::Result<Outcome>) -> ExitCode {
    let error = match outcome {
        Ok(outcome) => return outcome.into(),
        Err(error) => error,
    };
    if output::is_closed_pipe(&error) {
        return Outcome::Fine.into();
    }
    output::error(&output::with_causes(&error));
    if error.is::<Usage>() {
        Outcome::Usage.into()
    } else {
        Outcome::Diagnostics.into()
    }
}

//! Robots as files: components, built in or any program, their parameters, what connects them, and what gives them
//! their data.
//!
//! In: a TOML file. Out: a [`Robot`], which is proof that everything in it was checked: nothing is misspelt, every
//! input is connected to a writer of the same type. Or else all that is wrong with it, each with file,
//! line and column, what was expected and what to write instead.
//!
//! Deliberately absent: starting anything. A robot is plain data; hosts and the supervisor run it.

mod check;
mod draft;
mod files;
mod instance;
mod message;
mod plan;
mod presence;
mod preset;

pub use crate::program::DescribedType;
pub use crate::supervise::{Restart, Start, StopSignal};
pub use bowline_component::document::{Place, Problem, Severity};
pub use instance::MakeComponentError;
pub use message::{MessageType, SafeMessage};
pub use plan::{Programs, RECORDER};
pub use preset::{BadPreset, Preset};

use bowline_bus::{Capability, Pattern, Url, check_url, default_url};
use bowline_component::Direction;
use bowline_component::Kind;
use bowline_component::Setting;
use bowline_component::Vehicle;
use bowline_component::document::{self, Problems, Texts};
use bowline_format::Catalog;
use bowline_wire::FieldPath;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A thousand components, each with a page of parameters; what is larger is another kind of file.
const MAX_BYTES: u64 = 4 << 20;

/// What a robot file is checked against.
pub struct Loader<'a> {
    /// What components can be, sorted by name.
    pub kinds: &'a [Kind],
    /// Finds the types of .lcm files and folders of them, and Bowline's own; or returns the reason why not.
    pub types: &'a dyn Fn(&[PathBuf]) -> Result<Catalog, String>,
    /// Folders where commands are looked for, as `PATH` has them.
    pub search_path: &'a [PathBuf],
    /// What is to run on this machine now, if anything is: its programs must be here.
    pub here: Option<Here<'a>>,
    /// Parameters that override the file.
    pub presets: &'a [Preset],
}

/// The part of a robot that is to run on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here<'a> {
    /// With data from there.
    pub source: Source,
    /// As the host of that name.
    pub host: &'a str,
}

/// A robot that was checked, and its warnings.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The robot.
    pub robot: Robot,
    /// Nothing that keeps it from running.
    pub warnings: Vec<Problem>,
}

/// Reads a robot file and checks everything in it.
///
/// # Errors
/// When it cannot be read, or anything is wrong with it: then with all that is.
pub fn load(path: &Path, loader: &Loader<'_>) -> Result<Loaded, LoadError> {
    parse(&read(path)?, path, loader)
}

fn read(path: &Path) -> Result<String, LoadError> {
    let refused = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(refused)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(refused)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(LoadError::TooLarge {
            path: path.to_owned(),
        });
    }
    let not_text = |_| LoadError::NotText {
        path: path.to_owned(),
    };
    String::from_utf8(bytes).map_err(not_text)
}

/// Checks the text of a robot file; relative paths in it are relative to the folder of `path`. The file that it is like
/// is read from there, if it is like one.
///
/// # Errors
/// When anything is wrong with it: then with all that is.
pub fn parse(text: &str, path: &Path, loader: &Loader<'_>) -> Result<Loaded, LoadError> {
    let mut other = |path: &Path| read(path).map_err(|error| error.to_string());
    let texts = Texts::new(path, text, "robot", &mut other);
    let mut problems = Problems::new(&texts);
    let robot = document::parse(&texts, &mut problems, |file, problems| {
        let draft = draft::read(file, problems);
        check::check(&draft, path, loader, problems)
    });
    match robot {
        Some(robot) if !problems.has_errors() => Ok(Loaded {
            robot,
            warnings: problems.into_sorted(),
        }),
        Some(_) | None => Err(LoadError::Wrong(problems.into_sorted())),
    }
}

/// Why there is no robot.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The robot file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is another kind of file.
    #[error("expected a robot file of at most {MAX_BYTES} bytes, found more in {}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is another kind of file.
    #[error("expected a robot file, found bytes that are not UTF-8 in {}", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// All that is wrong, warnings too, in the order of the file.
    #[error("{}", all(.0))]
    Wrong(Vec<Problem>),
}

fn all(problems: &[Problem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// A robot. Holding one is proof that everything in it was checked.
#[derive(Clone, Debug)]
pub struct Robot {
    name: String,
    file: PathBuf,
    folder: PathBuf,
    bus: Option<Url>,
    vehicle: Vehicle,
    types: Vec<PathBuf>,
    external: Vec<Port>,
    record: Option<Record>,
    components: Vec<Component>,
    experiments: Vec<Experiment>,
    safe_state: SafeState,
    /// Names of components.
    sim_replaces: Option<Vec<String>>,
    log_replaces: Option<Vec<String>>,
    presets: Vec<Preset>,
}

/// Where data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the robot itself.
    Live,
    /// From the simulated components of the robot file.
    Sim,
    /// From a log.
    Log,
}

/// One module of a robot.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name, unique in the robot.
    pub name: String,
    /// Whether it is there only with [`Source::Sim`].
    pub is_simulated: bool,
    /// What runs.
    pub program: Program,
    /// What it reads and writes.
    pub ports: Vec<Port>,
    /// The process that it runs in: its own name, unless it shares one.
    pub process: String,
    /// What it is started and stopped with, if the robot file has it.
    pub group: Option<String>,
    /// Components that are started before it.
    pub after: Vec<String>,
    /// The host that it runs on, if the robot has several.
    pub host: Option<String>,
    /// Whether it starts with the robot.
    pub start: Start,
    /// What happens when it ends.
    pub restart: Restart,
    /// Where it is in the robot file.
    pub place: Place,
}

/// What a component runs.
#[derive(Clone, Debug)]
pub enum Program {
    /// A component of ours.
    Kind {
        /// What it is.
        kind: Kind,
        /// What the robot file sets, paths already relative to where we stand.
        settings: Vec<(String, Setting)>,
        /// How long it may send no heartbeat before it counts as hung.
        heartbeat_within: Duration,
    },
    /// Any program.
    Command(Command),
}

/// Any program, in any language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// What is added to its environment.
    pub env: Vec<(String, String)>,
    /// Where it is started: the folder of the robot file by default.
    pub folder: PathBuf,
    /// Where it shows that it is alive, and for how long it may be silent.
    pub heartbeat: Option<Heartbeat>,
    /// How it is asked to end.
    pub stop_signal: StopSignal,
    /// How long it may take to end before it is made to.
    pub stop_grace: Duration,
    /// How it takes steps, if it declares itself deterministic.
    pub deterministic: Option<Deterministic>,
}

/// How a program that declares itself deterministic takes part: docs/cosimulation.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deterministic {
    /// How long a step may take.
    pub step_within: Duration,
    /// The channels that it reads, in the order of its robot file, with their types where those are known.
    pub reads: Vec<(String, Option<DescribedType>)>,
    /// The channels that it writes.
    pub writes: Vec<(String, Option<DescribedType>)>,
}

/// How long a step of a program may take, where its robot file does not say.
pub const STEP_WITHIN: Duration = Duration::from_secs(5);

/// How a program shows that it is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// A channel that it writes.
    pub channel: String,
    /// For how long it may be silent.
    pub within: Duration,
}

/// How long a program may take to end, by default.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// A port of a component, with what it is connected to.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// What the component calls it; programs call it as its channel is called.
    pub name: String,
    /// What it is for; empty where it is not documented.
    pub doc: String,
    /// Which way data flows through it.
    pub direction: Direction,
    /// The channel, or the name of the service. `None`: an input that the component can do without.
    pub channel: Option<String>,
    /// What flows; requests, at a service. `None` is anything.
    pub message: Option<MessageType>,
    /// What comes back, at a service.
    pub answer: Option<MessageType>,
    /// Fields that must be numbers in what comes in, whatever its type is.
    pub numbers: Vec<FieldPath>,
    /// The input that goes out here as it came in, at an output that does nothing else.
    pub passes_on: Option<String>,
}

/// What is recorded.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where to.
    pub file: PathBuf,
    /// The host that records, if the robot has several.
    pub host: Option<String>,
    /// Which channels.
    pub channels: Vec<Pattern>,
}

/// A named group of sensors, actuators and local control, which a station can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its name, which no other experiment of the robot has.
    pub name: String,
    /// What it is for; empty where it is not documented.
    pub about: String,
    /// Its components, which are in no other experiment.
    pub components: Vec<String>,
    /// The component that decides who may command it, if there is one.
    pub gate: Option<String>,
}

/// What giving up means.
#[derive(Clone, Debug, Default)]
pub struct SafeState {
    /// Components that are stopped: groups are taken apart already.
    pub stop: Vec<String>,
    /// Components that are started: those that are there for it.
    pub start: Vec<String>,
    /// What is published from then on.
    pub publish: Vec<SafeMessage>,
}

/// Components that run in one process.
#[derive(Clone, Debug)]
pub struct Process<'r> {
    /// Its name: that of its component, where it has but one.
    pub name: &'r str,
    /// At least one. Several are all built in, and agree on host, group, start and restart.
    pub components: Vec<&'r Component>,
}

impl Component {
    /// Whether a host of ours runs its steps: it is of a kind, or a program that declares itself deterministic. Such a
    /// component takes part in lockstep, and is verified.
    #[must_use]
    pub fn takes_steps(&self) -> bool {
        match &self.program {
            Program::Kind { .. } => true,
            Program::Command(command) => command.deterministic.is_some(),
        }
    }
}

impl Robot {
    /// What counted more than its file, for others who are to read the file in the same way.
    #[must_use]
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file, as it was named.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The folder of its file.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its bus; `None` is what programs use by default.
    #[must_use]
    pub fn bus(&self) -> Option<&Url> {
        self.bus.as_ref()
    }

    /// What is so of its vehicle.
    #[must_use]
    pub fn vehicle(&self) -> &Vehicle {
        &self.vehicle
    }

    /// Its geometry.
    #[must_use]
    pub fn model(&self) -> Option<&Path> {
        self.vehicle.model().ok()
    }

    /// Where its own types are: .lcm files, or folders of them.
    #[must_use]
    pub fn types(&self) -> &[PathBuf] {
        &self.types
    }

    /// What others write and serve that are none of its components.
    #[must_use]
    pub fn external(&self) -> &[Port] {
        &self.external
    }

    /// What is recorded.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Its experiments, in the order of the file.
    #[must_use]
    pub fn experiments(&self) -> &[Experiment] {
        &self.experiments
    }

    /// The experiment that a component belongs to.
    #[must_use]
    pub fn experiment_of(&self, component: &str) -> Option<&Experiment> {
        let has = |experiment: &&Experiment| experiment.components.iter().any(|it| it == component);
        self.experiments.iter().find(has)
    }

    /// What giving up means.
    #[must_use]
    pub fn safe_state(&self) -> &SafeState {
        &self.safe_state
    }

    /// Whether the robot file lists what this source replaces.
    #[must_use]
    pub fn has_source(&self, source: Source) -> bool {
        match source {
            Source::Live => true,
            Source::Sim => self.sim_replaces.is_some(),
            Source::Log => self.log_replaces.is_some(),
        }
    }

    /// The components that run with this source, in the order of the file.
    pub fn components(&self, source: Source) -> impl Iterator<Item = &Component> {
        let runs = move |component: &&Component| match component.is_simulated {
            true => source == Source::Sim,
            false => !self.is_replaced(&component.name, source),
        };
        self.components.iter().filter(runs)
    }

    /// The same robot on another bus than its file's.
    #[must_use]
    pub fn on_bus(self, bus: Url) -> Self {
        Self {
            bus: Some(bus),
            ..self
        }
    }

    /// The URL of its bus: its file's, or the default of all programs.
    #[must_use]
    pub fn url(&self) -> String {
        self.bus
            .as_ref()
            .map_or_else(default_url, ToString::to_string)
    }

    /// Whether its bus stays within one process, so that all of the robot has to be in it.
    #[must_use]
    pub fn is_within_one_process(&self) -> bool {
        check_url(&self.url()).is_ok_and(|(_, row)| row.has(Capability::InProcess))
    }

    /// The components that this source replaces. What they would write comes from the simulated ones, or from the log.
    pub fn replaced(&self, source: Source) -> impl Iterator<Item = &Component> {
        let is_replaced = move |component: &&Component| {
            !component.is_simulated && self.is_replaced(&component.name, source)
        };
        self.components.iter().filter(is_replaced)
    }

    fn is_replaced(&self, name: &str, source: Source) -> bool {
        let replaces = match source {
            Source::Live => None,
            Source::Sim => self.sim_replaces.as_ref(),
            Source::Log => self.log_replaces.as_ref(),
        };
        replaces.is_some_and(|names| names.iter().any(|replaced| replaced == name))
    }

    /// The component of that name that runs with this source.
    #[must_use]
    pub fn component(&self, name: &str, source: Source) -> Option<&Component> {
        self.components(source)
            .find(|component| component.name == name)
    }

    /// The processes that run with this source, in the order of the file.
    #[must_use]
    pub fn processes(&self, source: Source) -> Vec<Process<'_>> {
        let mut processes: Vec<Process<'_>> = Vec::new();
        for component in self.components(source) {
            match processes
                .iter_mut()
                .find(|process| process.name == component.process)
            {
                Some(process) => process.components.push(component),
                None => processes.push(Process {
                    name: &component.process,
                    components: vec![component],
                }),
            }
        }
        processes
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader")
            .field("kinds", &self.kinds)
            .field("here", &self.here)
            .finish_non_exhaustive()
    }
}

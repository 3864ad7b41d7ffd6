//! What is to be run: a plan, whatever its origin.
//!
//! A plan knows nothing of robot files; [`Plan::check`] is the proof that it can be carried out.

use super::desk::MAX_NAMES;
use bowline_msgs::{Experiment, PresenceComponent};
use bowline_wire::random::fnv;
use bowline_wire::suggest;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a process that sends heartbeats may be silent unless its robot file sets another limit: 3 of 5 a second
/// missed, and a moment to arrive. What is promised is 0.7 s, and it takes a moment to notice and to kill, too.
pub const HEARTBEAT_LIMIT: Duration = Duration::from_millis(650);
/// The shortest limit that makes sense: a single heartbeat that is lost on the network must not kill a process.
pub const MIN_HEARTBEAT_LIMIT: Duration = Duration::from_millis(400);
/// The longest limit: a process that may be silent for longer is not supervised.
pub const MAX_HEARTBEAT_LIMIT: Duration = Duration::from_mins(1);

/// What a supervisor runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The robot that it is for.
    pub robot: String,
    /// The name by which orders are given to the supervisor; one supervisor for each of a robot's hosts.
    pub host: String,
    /// What to run, in any order.
    pub processes: Vec<ProcessSpec>,
    /// What to do when a process cannot be kept running.
    pub safe_state: SafeState,
    /// What is published to stations about the robot's experiments; time and publisher are filled in.
    pub experiments: Vec<Experiment>,
}

/// A process that is kept running.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSpec {
    /// What it is called: in orders, in what is published, and where others depend on it.
    pub name: String,
    /// The program, looked up in `PATH`, and its arguments.
    pub argv: Vec<String>,
    /// What is set in its environment, beside what the supervisor has.
    pub env: Vec<(String, String)>,
    /// Where it runs; by default the supervisor's own folder.
    pub cwd: Option<PathBuf>,
    /// By which it can be ordered about together with others; empty if it is in none.
    pub group: String,
    /// Names of those that must be ready before it starts. They are stopped after it.
    pub after: Vec<String>,
    /// Whether it starts with the robot.
    pub start: Start,
    /// When it is started again.
    pub restart: Restart,
    /// How it is known to be alive.
    pub heartbeat: Heartbeat,
    /// When it counts as ready.
    pub ready: Ready,
    /// How long it may take until it is ready. After that it counts as hung.
    pub ready_within: Duration,
    /// What asks it to stop.
    pub stop_signal: StopSignal,
    /// How long it may take to stop, before all of it is killed.
    pub grace: Duration,
    /// What it may use.
    pub limits: Limits,
    /// The components inside, by which it can be ordered about too.
    pub components: Vec<String>,
    /// What it reads, writes and serves, where it does not publish it itself: the supervisor publishes it while it runs.
    pub described: Vec<PresenceComponent>,
    /// Anything else that it depends on, such as a digest of its part of a robot file: a process that was started with
    /// another one is replaced when a supervisor comes back.
    pub revision: String,
}

impl ProcessSpec {
    /// A process as most of them are: restarted whatever happens, alive as long as it runs, ready at once.
    #[must_use]
    pub fn new(name: impl Into<String>, argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name: name.into(),
            argv: argv.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: None,
            group: String::new(),
            after: Vec::new(),
            start: Start::WithRobot,
            restart: Restart::Always,
            heartbeat: Heartbeat::None,
            ready: Ready::Immediately,
            ready_within: Duration::from_secs(10),
            stop_signal: StopSignal::Terminate,
            grace: Duration::from_secs(5),
            limits: Limits::default(),
            components: Vec::new(),
            described: Vec::new(),
            revision: String::new(),
        }
    }

    /// A hash that differs when a process would have to be restarted to match this. How
    /// it is watched and stopped may change while it runs.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let Self {
            name,
            argv,
            env,
            cwd,
            limits,
            revision,
            group: _,
            after: _,
            start: _,
            restart: _,
            heartbeat: _,
            ready: _,
            ready_within: _,
            stop_signal: _,
            grace: _,
            components: _,
            described: _,
        } = self;
        let text = format!("{:?}", (name, argv, env, cwd, limits, revision));
        fnv(text.bytes())
    }
}

/// Whether a process starts with the robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At once, when those that it depends on are ready.
    WithRobot,
    /// On a command, or when the safe state needs it.
    OnOrder,
}

/// When a process is started again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// However it ended.
    Always,
    /// Unless it ended with exit code 0.
    OnFailure,
    /// Never. If it fails, it is given up at once.
    Never,
}

/// How a process is known to be alive, beside that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// It is alive as long as it runs.
    None,
    /// These components send heartbeats.
    Presence {
        /// Their names.
        components: Vec<String>,
        /// How long each may be silent; [`HEARTBEAT_LIMIT`] unless the robot file sets another limit.
        within: Duration,
    },
    /// There are messages on a channel, from any sender.
    Traffic {
        /// The channel.
        channel: String,
        /// How long it may be silent.
        within: Duration,
    },
}

/// When a process counts as ready, so that those that depend on it may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// As soon as it runs.
    Immediately,
    /// With its first heartbeat.
    FirstHeartbeat,
    /// When it has ended with exit code 0: a task that others wait for.
    AtEnd,
}

/// What asks a process to stop, with all of its process group. SIGTERM by default: it is what
/// every service manager sends, and shells have their background jobs ignore SIGINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT, as ^C does.
    Interrupt,
    /// SIGQUIT.
    Quit,
    /// SIGHUP.
    Hangup,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl StopSignal {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Terminate,
        Self::Interrupt,
        Self::Quit,
        Self::Hangup,
        Self::User1,
        Self::User2,
    ];

    /// As people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::Quit => "SIGQUIT",
            Self::Hangup => "SIGHUP",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
        }
    }

    /// As the system knows it.
    pub(crate) const fn of_system(self) -> Signal {
        match self {
            Self::Terminate => Signal::TERM,
            Self::Interrupt => Signal::INT,
            Self::Quit => Signal::QUIT,
            Self::Hangup => Signal::HUP,
            Self::User1 => Signal::USR1,
            Self::User2 => Signal::USR2,
        }
    }

    /// From its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }
}

/// What each process of a process group may use. They hold from a moment after it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Address space, bytes.
    pub memory_bytes: Option<u64>,
    /// Descriptors.
    pub open_files: Option<u64>,
    /// Processes of the user, all of them together; the kernel does not hold root to it.
    pub processes: Option<u64>,
    /// How much it lets others go first, -20 to 19.
    pub nice: Option<i8>,
}

/// What to do when a process cannot be kept running.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SafeState {
    /// Processes that are stopped. They stay so until a command starts them.
    pub stop: Vec<String>,
    /// Processes that are started.
    pub start: Vec<String>,
    /// What is published, repeatedly, until the safe state is left.
    pub publish: Vec<Publication>,
}

/// A message that the safe state sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Where.
    pub channel: String,
    /// The encoded message.
    pub bytes: Vec<u8>,
    /// How often; not more than 100 times a second.
    pub every: Duration,
    /// Where its `utime` is among the bytes, if it is to carry the time of sending. Stale messages would be ignored.
    pub utime_at: Option<usize>,
}

impl Publication {
    /// The bytes as they are sent at this moment, in microseconds since the epoch.
    #[must_use]
    pub fn at(&self, utime: i64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let field = self
            .utime_at
            .and_then(|at| bytes.get_mut(at..)?.first_chunk_mut());
        if let Some(field) = field {
            *field = utime.to_be_bytes();
        }
        bytes
    }
}

/// The shortest time between two of a safe state's messages.
pub(crate) const MIN_EVERY: Duration = Duration::from_millis(10);

/// What orders call everything.
pub const ALL: &str = "all";

impl Plan {
    /// Looks for what is wrong, all of it.
    ///
    /// # Errors
    /// When there is anything.
    pub fn check(&self) -> Result<(), BadPlan> {
        let mut faults = Vec::new();
        for (what, name) in [("robot", &self.robot), ("host", &self.host)] {
            if !is_name(name) {
                faults.push(PlanFault::Name {
                    what,
                    name: name.clone(),
                });
            }
        }
        let n_bytes = self.robot.len() + self.host.len();
        if n_bytes > MAX_NAMES {
            faults.push(PlanFault::LongNames { n_bytes });
        }
        self.check_names(&mut faults);
        for spec in &self.processes {
            self.check_spec(spec, &mut faults);
        }
        let SafeState {
            stop,
            start,
            publish: _,
        } = &self.safe_state;
        for name in stop.iter().chain(start) {
            self.check_known("the safe state", name, &mut faults);
        }
        for name in start {
            faults.extend(self.stopped_need(name));
        }
        if let Some(names) = self.cycle() {
            faults.push(PlanFault::Cycle { names });
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(BadPlan { faults }),
        }
    }

    fn check_names(&self, faults: &mut Vec<PlanFault>) {
        let mut seen = BTreeSet::new();
        for spec in &self.processes {
            let name = spec.name.clone();
            if !is_name(&name) || name == ALL {
                faults.push(PlanFault::Name {
                    what: "process",
                    name,
                });
            } else if !seen.insert(&spec.name) {
                faults.push(PlanFault::Twice { name });
            }
        }
        for spec in &self.processes {
            if seen.contains(&spec.group) || spec.group == ALL {
                let name = spec.group.clone();
                faults.push(PlanFault::Group { name });
            }
        }
    }

    fn check_spec(&self, spec: &ProcessSpec, faults: &mut Vec<PlanFault>) {
        let name = || spec.name.clone();
        if spec.argv.first().is_none_or(String::is_empty) {
            faults.push(PlanFault::NoProgram { name: name() });
        }
        let has_nul = spec.argv.iter().any(|text| text.contains('\0'));
        let is_variable = |(key, value): &(String, String)| {
            !key.is_empty() && !key.contains(['=', '\0']) && !value.contains('\0')
        };
        if has_nul || !spec.env.iter().all(is_variable) {
            faults.push(PlanFault::Text { name: name() });
        }
        let has_heartbeat = match &spec.heartbeat {
            Heartbeat::None => false,
            Heartbeat::Presence { components, .. } => !components.is_empty(),
            Heartbeat::Traffic { .. } => true,
        };
        let why = match spec.ready {
            Ready::FirstHeartbeat if !has_heartbeat => {
                Some("with its first heartbeat, but has none")
            }
            Ready::AtEnd if spec.restart == Restart::Always => {
                Some("when it has ended, but is then always restarted")
            }
            Ready::Immediately | Ready::FirstHeartbeat | Ready::AtEnd => None,
        };
        faults.extend(why.map(|why| PlanFault::NeverReady { name: name(), why }));
        for other in &spec.after {
            self.check_known(&format!("process {:?}", spec.name), other, faults);
        }
    }

    fn check_known(&self, who: &str, name: &str, faults: &mut Vec<PlanFault>) {
        let names = || self.processes.iter().map(|spec| spec.name.as_str());
        if !names().any(|known| known == name) {
            faults.push(PlanFault::Unknown {
                who: who.to_owned(),
                name: name.to_owned(),
                suggestion: suggest::nearest(name, names()).map(str::to_owned),
            });
        }
    }

    /// Whether the safe state stops what it needs.
    fn stopped_need(&self, name: &str) -> Option<PlanFault> {
        let mut seen = BTreeSet::new();
        let mut left = vec![name];
        while let Some(needed) = left.pop() {
            if self.safe_state.stop.iter().any(|stopped| stopped == needed) {
                return Some(PlanFault::SafeState {
                    name: name.to_owned(),
                    needed: needed.to_owned(),
                });
            }
            if seen.insert(needed) {
                let specs = self.processes.iter().filter(|spec| spec.name == needed);
                left.extend(specs.flat_map(|spec| &spec.after).map(String::as_str));
            }
        }
        None
    }

    /// Those that wait for each other, if any do.
    fn cycle(&self) -> Option<Vec<String>> {
        let mut left: Vec<&ProcessSpec> = self.processes.iter().collect();
        loop {
            let names: BTreeSet<&str> = left.iter().map(|spec| spec.name.as_str()).collect();
            let n_before = left.len();
            left.retain(|spec| spec.after.iter().any(|name| names.contains(name.as_str())));
            if left.is_empty() {
                return None;
            }
            if left.len() == n_before {
                return Some(left.iter().map(|spec| spec.name.clone()).collect());
            }
        }
    }
}

/// Names are parts of channels and files: short, and without anything that would mean something there.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    (1..=40).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.')
}

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan cannot be carried out: {}", in_words(faults))]
pub struct BadPlan {
    /// All that is wrong.
    pub faults: Vec<PlanFault>,
}

fn in_words(faults: &[impl fmt::Display]) -> String {
    let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// Something that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// A name cannot be one.
    #[error(
        "{name:?} cannot be the name of a {what}: expected 1 to 40 letters, digits, '-', '_' or '.', and not \"all\""
    )]
    Name {
        /// What it would be called so.
        what: &'static str,
        /// What was found.
        name: String,
    },
    /// The names of robot and host are too long together.
    #[error(
        "the names of robot and host have {n_bytes} letters together: expected at most {MAX_NAMES}, as they are parts of channels"
    )]
    LongNames {
        /// How long they are.
        n_bytes: usize,
    },
    /// A name is there twice.
    #[error("there are two processes {name:?}")]
    Twice {
        /// Their name.
        name: String,
    },
    /// A group is called like something else.
    #[error("group {name:?} has the name of a process: commands could not distinguish them")]
    Group {
        /// Its name.
        name: String,
    },
    /// There is nothing to run.
    #[error("process {name:?} has no program")]
    NoProgram {
        /// Its name.
        name: String,
    },
    /// Something cannot be given to a process.
    #[error("process {name:?} has arguments or variables that no process can have: a NUL or a '='")]
    Text {
        /// Its name.
        name: String,
    },
    /// It would never be ready.
    #[error("process {name:?} is to be ready {why}")]
    NeverReady {
        /// Its name.
        name: String,
        /// When it is to be ready, and why that never is.
        why: &'static str,
    },
    /// A process is named that does not exist.
    #[error("{who} names process {name:?}, which there is not{}", suggestion.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default())]
    Unknown {
        /// Who does.
        who: String,
        /// What was found.
        name: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// The safe state contradicts itself.
    #[error("the safe state starts {name:?}, but stops {needed:?}, which {name:?} needs or is")]
    SafeState {
        /// What it starts.
        name: String,
        /// What it stops.
        needed: String,
    },
    /// Processes wait for each other.
    #[error("processes {} wait for each other, so that none could start", names.join(", "))]
    Cycle {
        /// Their names, and of those that wait for them.
        names: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(processes: Vec<ProcessSpec>) -> Plan {
        Plan {
            robot: "raptor".to_owned(),
            host: "deck".to_owned(),
            processes,
            ..Plan::default()
        }
    }

    fn process(name: &str, after: &[&str]) -> ProcessSpec {
        ProcessSpec {
            after: after.iter().map(ToString::to_string).collect(),
            ..ProcessSpec::new(name, ["true"])
        }
    }

    #[test]
    fn each_fault_is_named() {
        let unready = ProcessSpec {
            ready: Ready::FirstHeartbeat,
            ..process("a", &[])
        };
        let endless = ProcessSpec {
            ready: Ready::AtEnd,
            ..process("a", &[])
        };
        let grouped = ProcessSpec {
            group: "b".to_owned(),
            ..process("a", &[])
        };
        #[rustfmt::skip]
        let cases = [
            (vec![process("a b", &[])], "\"a b\" cannot be the name of a process"),
            (vec![process("all", &[])], "\"all\" cannot be the name of a process"),
            (vec![process("a", &[]), process("a", &[])], "there are two processes \"a\""),
            (vec![ProcessSpec::new("a", [""])], "process \"a\" has no program"),
            (vec![ProcessSpec::new("a", ["x\0"])], "process \"a\" has arguments or variables"),
            (vec![unready], "process \"a\" is to be ready with its first heartbeat, but has none"),
            (vec![endless], "process \"a\" is to be ready when it has ended, but is then always restarted"),
            (vec![grouped, process("b", &[])], "group \"b\" has the name of a process"),
            (vec![process("sonar", &[]), process("map", &["sonr"])],
             "process \"map\" names process \"sonr\", which there is not: did you mean \"sonar\"?"),
            (vec![process("a", &["b"]), process("b", &["a"]), process("c", &[])],
             "processes a, b wait for each other"),
        ];
        for (processes, expected) in cases {
            let error = plan(processes).check().unwrap_err();
            assert_eq!(error.faults.len(), 1, "{error}");
            assert!(error.to_string().contains(expected), "{error}");
        }
        assert_eq!(
            plan(vec![process("a", &[]), process("b", &["a"])]).check(),
            Ok(())
        );
    }

    #[test]
    fn only_what_a_process_was_started_with_makes_it_another() {
        let spec = process("a", &[]);
        let mut watched = spec.clone();
        watched.grace = Duration::from_secs(9);
        watched.heartbeat = Heartbeat::Presence {
            components: vec!["a".to_owned()],
            within: HEARTBEAT_LIMIT,
        };
        assert_eq!(spec.digest(), watched.digest());
        let mut other = spec.clone();
        other.revision = "2".to_owned();
        assert_ne!(spec.digest(), other.digest());
    }

    #[test]
    fn signals_are_known_by_their_names() {
        for signal in StopSignal::ALL {
            assert_eq!(StopSignal::from_name(signal.name()), Some(signal));
        }
        assert_eq!(StopSignal::from_name("SIGKILL"), None);
    }
}

//! How a run ended, in words that people search the net for.

use std::fmt;
use std::time::Duration;

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal {
        /// Its number.
        number: i32,
        /// Whether there is a core file.
        has_core: bool,
    },
    /// It was started by a supervisor that is gone, and the kernel notifies only parents.
    Unknown,
    /// There never was one.
    NotStarted(String),
}

impl Exit {
    /// Whether it did what it was started for.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Code(0))
    }
}

/// Why the supervisor ended a run by force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// No heartbeat came.
    Silent {
        /// For so long.
        limit: Duration,
        /// And for so long besides, which did not count: the machine or the supervisor was busy.
        extension: Duration,
    },
    /// It was not ready.
    NotReady {
        /// After so long.
        limit: Duration,
        /// And after so long besides, which did not count.
        extension: Duration,
    },
    /// It was asked to stop, and did not for so long.
    NotStopped(Duration),
}

/// The report of a run begins with this if it did not stop when it was asked to, and was killed.
pub const NOT_STOPPED: &str = "did not stop within";

/// The usual names of signals, from number 1 on.
const SIGNALS: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal { number, has_core } => {
                let index = usize::try_from(*number - 1).ok();
                match index.and_then(|index| SIGNALS.get(index)) {
                    Some(name) => write!(f, "killed by {name}")?,
                    None => write!(f, "killed by signal {number}")?,
                }
                f.write_str(if *has_core { ", core dumped" } else { "" })
            }
            Self::Unknown => f.write_str("ended, exit code unknown (adopted)"),
            Self::NotStarted(why) => write!(f, "could not be started: {why}"),
        }
    }
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, limit, extension) = match self {
            Self::Silent { limit, extension } => ("no heartbeat for", limit, *extension),
            Self::NotReady { limit, extension } => ("not ready after", limit, *extension),
            Self::NotStopped(limit) => (NOT_STOPPED, limit, Duration::ZERO),
        };
        write!(f, "{text} {} s", limit.as_secs_f32())?;
        match extension.is_zero() {
            true => Ok(()),
            false => write!(f, " and {:.2} s of a busy machine", extension.as_secs_f32()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_their_usual_names() {
        let signal = |number, has_core| Exit::Signal { number, has_core };
        #[rustfmt::skip]
        let cases = [
            (Exit::Code(3), "exit code 3"),
            (signal(9, false), "killed by SIGKILL"),
            (signal(11, true), "killed by SIGSEGV, core dumped"),
            (signal(15, false), "killed by SIGTERM"),
            (signal(31, false), "killed by SIGSYS"),
            (signal(64, false), "killed by signal 64"),
        ];
        for (exit, expected) in cases {
            assert_eq!(exit.to_string(), expected);
        }
        assert_eq!(
            Hang::NotStopped(Duration::from_secs(3)).to_string(),
            "did not stop within 3 s"
        );
        let silent = |extension_ms| Hang::Silent {
            limit: Duration::from_millis(700),
            extension: Duration::from_millis(extension_ms),
        };
        assert_eq!(silent(0).to_string(), "no heartbeat for 0.7 s");
        assert_eq!(
            silent(1_234).to_string(),
            "no heartbeat for 0.7 s and 1.23 s of a busy machine"
        );
    }
}

//! Traces as messages.

use super::{Entry, Reason, Taken, Trace};
use crate::time::Time;
use bowline_msgs::{Step, Steps};

/// The components of a process, each in its present life.
#[derive(Debug)]
pub struct Lives {
    robot: String,
    started: Time,
}

impl Lives {
    /// Of a robot, all started at one time.
    #[must_use]
    pub fn new(robot: String, started: Time) -> Self {
        Self { robot, started }
    }

    /// What happened to a component, for a bus or a log.
    #[must_use]
    pub fn message(&self, now: Time, taken: &Taken<'_>) -> Steps {
        let Taken {
            component,
            settings,
            trace,
        } = taken;
        // It comes once in an instance.
        let settings = if trace.first == 0 { settings } else { "" };
        Steps {
            utime: now.utime(),
            robot: self.robot.clone(),
            component: (*component).to_owned(),
            started_utime: self.started.utime(),
            settings: settings.to_owned(),
            first: i64::try_from(trace.first).unwrap_or(i64::MAX),
            steps: trace.entries.iter().map(step).collect(),
            ..Steps::default()
        }
        .with_lengths()
    }
}

fn step(entry: &Entry) -> Step {
    let (reason, port, received, hash) = match entry.reason {
        Reason::Start => (Step::START, 0, Time::ZERO, 0),
        Reason::Time => (Step::TIME, 0, Time::ZERO, 0),
        Reason::Message {
            port,
            received,
            hash,
        } => (Step::MESSAGE, short(port), received, hash),
    };
    Step {
        time_ns: entry.at.ns(),
        reason,
        port,
        received_ns: received.ns(),
        hash: hash.cast_signed(),
        ports: entry.sent.iter().map(|(port, _)| short(*port)).collect(),
        hashes: entry
            .sent
            .iter()
            .map(|(_, hash)| hash.cast_signed())
            .collect(),
        ..Step::default()
    }
    .with_lengths()
}

/// No component has so many ports.
fn short(port: usize) -> i16 {
    i16::try_from(port).unwrap_or(i16::MAX)
}

/// Why a message has no steps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSteps {
    /// A reason that is not known here.
    #[error("step {number} of {component:?} has reason {reason}, which is none that is known")]
    Reason {
        /// Whose it is.
        component: String,
        /// Which one.
        number: i64,
        /// The declared value.
        reason: i8,
    },
    /// A port that cannot be.
    #[error("step {number} of {component:?} is on port {port}")]
    Port {
        /// Whose it is.
        component: String,
        /// Which one.
        number: i64,
        /// The declared value.
        port: i16,
    },
}

/// The steps in a message.
///
/// # Errors
/// When it was written by something newer, or something else.
pub fn read_steps(steps: &Steps) -> Result<Trace, BadSteps> {
    let numbered = steps.steps.iter().zip(steps.first..);
    let entries = numbered.map(|(step, number)| entry(steps, step, number));
    Ok(Trace {
        first: u64::try_from(steps.first).unwrap_or(0),
        entries: entries.collect::<Result<_, _>>()?,
    })
}

fn entry(steps: &Steps, step: &Step, number: i64) -> Result<Entry, BadSteps> {
    let port = |port: i16| {
        usize::try_from(port).map_err(|_negative| BadSteps::Port {
            component: steps.component.clone(),
            number,
            port,
        })
    };
    let reason = match step.reason {
        Step::START => Reason::Start,
        Step::TIME => Reason::Time,
        Step::MESSAGE => Reason::Message {
            port: port(step.port)?,
            received: Time::from_ns(step.received_ns),
            hash: step.hash.cast_unsigned(),
        },
        reason => {
            return Err(BadSteps::Reason {
                component: steps.component.clone(),
                number,
                reason,
            });
        }
    };
    let sent = step.ports.iter().zip(&step.hashes);
    let sent = sent.map(|(at, hash)| Ok((port(*at)?, hash.cast_unsigned())));
    Ok(Entry {
        at: Time::from_ns(step.time_ns),
        reason,
        sent: sent.collect::<Result<_, _>>()?,
    })
}

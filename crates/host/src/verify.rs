//! Repeats recorded runs of components, and reports where their outputs differ.
//!
//! In: a log with messages and traces ([`trace`](bowline_component::trace)), and a way to make the components anew. Out: for each
//! component, that every message it sent is the same to the bit, or the first that is not, with both values. Each
//! component is checked against its own recorded inputs, so a difference is found where it begins and not in everything
//! that follows from it.
//!
//! The log is read once. A message waits in a window until the trace that names it comes, which is a moment later.

mod life;
mod window;

use crate::robot::MakeComponentError;
use bowline_bus::Bytes;
use bowline_component::Time;
use bowline_component::engine::Instance;
use bowline_component::trace::{BadSteps, STEPS_CHANNEL, read_steps};
use bowline_format::{ReadError, Reader};
use bowline_msgs::Steps;
use bowline_wire::{DecodeError, Message as _};
use life::Life;
use std::collections::BTreeMap;
use window::Window;

/// What came of a verification.
#[derive(Debug, Default)]
pub struct Verification {
    /// The components that the log has traces of, by name.
    pub components: BTreeMap<String, Findings>,
}

/// What was found about a component.
#[derive(Debug, Default)]
pub struct Findings {
    /// How often it was started.
    pub lives: u64,
    /// The steps that were taken again.
    pub steps: u64,
    /// The messages that it sent again, and that were the same.
    pub messages: u64,
    /// Steps that could not be taken again, because of what follows.
    pub skipped: u64,
    /// What was not the same or could not be checked, the first of each life.
    pub problems: Vec<Problem>,
}

/// Why a life was not the same.
#[derive(Debug)]
pub enum Problem {
    /// Its output differs.
    Differs(Difference),
    /// An input of it is not in the log.
    InputMissing {
        /// The step that it was for.
        step: u64,
        /// When that was.
        at: Time,
        /// Where it was published.
        channel: String,
    },
    /// Steps themselves are not in the log.
    StepsMissing {
        /// The first step that is missing.
        step: u64,
        /// How many; 0 if that is not known.
        count: u64,
    },
    /// It was made with other settings when the log was recorded.
    SettingsChanged {
        /// Lines that were so then and are not now, with `-`, and the other way round with `+`.
        changes: Vec<String>,
    },
    /// It is not part of the robot, or no longer made by this program.
    Unknown,
    /// It cannot be made any more.
    NotMade(String),
    /// It panicked.
    Panicked(String),
}

/// The first message that is not the same.
#[derive(Debug)]
pub struct Difference {
    /// The step that it was sent in.
    pub step: u64,
    /// When that was.
    pub at: Time,
    /// Where it was sent.
    pub channel: String,
    /// What was sent when the log was recorded; `None` if nothing was.
    pub recorded: Option<Recorded>,
    /// What is sent now; `None` if nothing is.
    pub replayed: Option<Bytes>,
}

/// A message that was sent when the log was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The message.
    Message(Bytes),
    /// The log has only its hash.
    NotInLog(u64),
}

/// Why nothing can be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A trace cannot be understood.
    #[error("a trace in the log cannot be read: {0}")]
    Trace(#[from] DecodeError),
    /// A trace cannot be understood.
    #[error("a trace in the log cannot be read: {0}")]
    Steps(#[from] BadSteps),
}

/// Makes components anew, by name.
pub type Remake<'a> = dyn FnMut(&str) -> Option<Result<Instance, MakeComponentError>> + 'a;

/// Verifies what a log has of a robot, from its beginning. `progress` gets how many bytes of how many are read.
///
/// # Errors
/// When the log cannot be read.
pub fn verify(
    log: &mut Reader,
    robot: &str,
    remake: &mut Remake<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verification, VerifyError> {
    let mut verifier = Verifier {
        remake,
        window: Window::default(),
        lives: BTreeMap::new(),
        verification: Verification::default(),
    };
    let mut n_events = 0_u64;
    while let Some(event) = log.next_event()? {
        let now = crate::tape::time_of(&event);
        if event.channel == STEPS_CHANNEL {
            let steps = Steps::decode(event.payload)?;
            if steps.robot == robot {
                verifier.on_steps(&steps)?;
            }
        } else {
            verifier.window.add(now, event.channel, event.payload);
        }
        verifier.go_on(now);
        n_events += 1;
        if n_events.is_multiple_of(4_096) {
            let (read, total) = log.progress()?;
            progress(read, total);
        }
    }
    verifier.go_on(Time::MAX);
    Ok(verifier.verification)
}

struct Verifier<'a, 'b> {
    remake: &'a mut Remake<'b>,
    window: Window,
    /// By component and start.
    lives: BTreeMap<(String, i64), Life>,
    verification: Verification,
}

impl Verifier<'_, '_> {
    fn on_steps(&mut self, steps: &Steps) -> Result<(), BadSteps> {
        let trace = read_steps(steps)?;
        let Self {
            lives,
            verification,
            remake,
            ..
        } = self;
        let name = &steps.component;
        let findings = verification.components.entry(name.clone()).or_default();
        let life = lives.entry((name.clone(), steps.started_utime));
        let life = life.or_insert_with(|| {
            findings.lives += 1;
            Life::begin(steps, remake(name), findings)
        });
        life.expect(trace, findings);
        Ok(())
    }

    fn go_on(&mut self, now: Time) {
        for ((name, _), life) in &mut self.lives {
            let findings = self
                .verification
                .components
                .entry(name.clone())
                .or_default();
            life.go_on(now, &mut self.window, findings);
        }
    }
}

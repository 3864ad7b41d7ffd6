//! A program in any language as a component: it declares itself deterministic, and takes its steps on request.
//!
//! In: the steps of a component. Out: what the program publishes in each, in its order, and the moments at which it wants to
//! be woken. The protocol between both is docs/cosimulation.md; `session.rs` has the process and its side of the bus.
//!
//! The engine waits for the program, so nothing depends on how fast either is. That the program's outputs are a function of
//! its inputs is what it declares, and what `--verify` checks.
//!
//! Deliberately absent: services. A program that serves or calls takes part as an ordinary process.

mod session;

pub use session::ProgramError;
pub(crate) use session::READY_STEPS;

use crate::robot::{Command, Deterministic, MessageType};
use bowline_bus::Channel;
use bowline_component::{
    Built, Component, Expect, Input, Outbox, Output, Ports, Raw, Step, Time, TypeInfo,
};
use bowline_msgs::StepRequest;
use bowline_wire::Fingerprint;
use session::Session;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The version of the protocol: [`StepReady`](bowline_msgs::StepReady) names the one that a program speaks.
pub const STEP_VERSION: i32 = bowline_msgs::StepReady::VERSION;
/// Where a program reports that it can take steps.
pub const STEP_READY_CHANNEL: &str = "bowline.step.ready";
/// Where a program is asked for a step.
pub const STEP_REQUEST_CHANNEL: &str = "bowline.step.request";
/// Where a program reports that a step is taken.
pub const STEP_DONE_CHANNEL: &str = "bowline.step.done";
/// The variable of the environment that has the URL of the bus between a program and its host. The usual variables of buses
/// have it too, so that a program that opens its default bus opens this one.
pub const STEP_URL_VARIABLE: &str = "BOWLINE_STEP_URL";

/// A component whose steps are taken by a process.
///
/// The process is started with the first step, and ended with the component.
pub struct SteppedProgram {
    command: Command,
    step_within: Duration,
    inputs: Vec<(Channel, Input<Raw>)>,
    outputs: BTreeMap<Channel, Output<Raw>>,
    session: Option<Session>,
    /// When the next step of the program's period is due.
    next_period: Option<Time>,
    /// The moments at which the program wants to be woken.
    wakes: BTreeSet<Time>,
}

impl SteppedProgram {
    /// A program with what it reads and writes, each on the channel that is the name of its port.
    #[must_use]
    pub fn build(command: &Command, how: &Deterministic) -> Built {
        let Deterministic {
            step_within,
            reads,
            writes,
        } = how;
        let mut ports = Ports::default();
        let inputs = reads.iter().map(|(channel, ty)| {
            let expect = Expect::ever().optional();
            let input = ports.bytes_input(channel, expect, ty.as_ref().map(DescribedType::info));
            (Channel::from(channel.as_str()), input)
        });
        let inputs = inputs.collect();
        let outputs = writes.iter().map(|(channel, ty)| {
            let output = ports.bytes_output(channel, ty.as_ref().map(DescribedType::info));
            (Channel::from(channel.as_str()), output)
        });
        let outputs = outputs.collect();
        let program = Self {
            command: command.clone(),
            step_within: *step_within,
            inputs,
            outputs,
            session: None,
            next_period: None,
            wakes: BTreeSet::new(),
        };
        Built::new(Box::new(program), ports)
    }

    fn take(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) -> Result<(), ProgramError> {
        let now = step.now();
        if self.session.is_none() {
            let session = Session::start(&self.command, self.step_within, &self.inputs)?;
            if let Some(period) = session.period() {
                self.wake_for_period(now + period, out);
            }
            self.session = Some(session);
        }
        if step.is_start() {
            self.request(StepRequest::START, now, out)?;
        } else if step.is_wake() {
            self.on_wake(now, out)?;
        } else {
            self.on_message(step, out)?;
        }
        Ok(())
    }

    fn on_wake(&mut self, now: Time, out: &mut Outbox<'_>) -> Result<(), ProgramError> {
        let period = self.session.as_ref().and_then(Session::period);
        if let (Some(due), Some(period)) = (self.next_period.filter(|due| *due <= now), period) {
            // Periods that passed meanwhile are skipped, as the ticks of components are.
            let n_passed = now.since(due).as_nanos() / period.as_nanos() + 1;
            let n_passed = u32::try_from(n_passed).unwrap_or(u32::MAX);
            self.wake_for_period(due + period.saturating_mul(n_passed), out);
            self.request(StepRequest::PERIOD, now, out)?;
        }
        let later = self.wakes.split_off(&(now + Duration::from_nanos(1)));
        let due = std::mem::replace(&mut self.wakes, later);
        if !due.is_empty() {
            self.request(StepRequest::WAKE, now, out)?;
        }
        Ok(())
    }

    fn wake_for_period(&mut self, due: Time, out: &mut Outbox<'_>) {
        self.next_period = Some(due);
        out.wake_at(due);
    }

    fn on_message(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) -> Result<(), ProgramError> {
        for index in 0..self.inputs.len() {
            let arrived = self.inputs.get(index).and_then(|(channel, input)| {
                let seen = step.arrived(*input)?;
                Some((channel.clone(), seen.message().bytes.clone()))
            });
            let (Some((channel, bytes)), Some(session)) = (arrived, &mut self.session) else {
                continue;
            };
            session.publish(&channel, &bytes)?;
            self.request_for(StepRequest::MESSAGE, &channel, step.now(), out)?;
        }
        Ok(())
    }

    fn request(&mut self, reason: i8, now: Time, out: &mut Outbox<'_>) -> Result<(), ProgramError> {
        self.request_for(reason, "", now, out)
    }

    /// Has the program take a step, and sends what it publishes.
    fn request_for(
        &mut self,
        reason: i8,
        channel: &str,
        now: Time,
        out: &mut Outbox<'_>,
    ) -> Result<(), ProgramError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let outputs = &self.outputs;
        let wake = session.step(reason, channel, now, &mut |channel, bytes| {
            let output = outputs.get(channel);
            if let Some(output) = output {
                out.send_raw(*output, Raw { bytes });
            }
            output.is_some()
        })?;
        if let Some(wake) = wake {
            // A moment that has passed comes at once, but not in the same instant.
            let wake = wake.max(now + Duration::from_nanos(1));
            self.wakes.insert(wake);
            out.wake_at(wake);
        }
        if self.wakes.len() > MAX_WAKES {
            return Err(ProgramError::TooManyWakes);
        }
        Ok(())
    }
}

/// How many moments a program may want to be woken at, at a time: somewhat fewer than a component, which it is too.
const MAX_WAKES: usize = 1_000;

impl Component for SteppedProgram {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Err(error) = self.take(step, out) {
            self.session = None;
            out.abort(error.to_string());
        }
    }
}

impl fmt::Debug for SteppedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SteppedProgram({:?})", self.command.command)
    }
}

/// A message type that a robot file names, with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedType {
    /// The type.
    pub message: MessageType,
    /// It and all that it contains, in the compact form.
    pub schema: Vec<u8>,
}

impl DescribedType {
    /// As components declare types: for the rest of the process, as those are that are compiled in. Each is kept once, so
    /// memory follows the types of robot files and not how often components are made of them.
    fn info(&self) -> TypeInfo {
        type Known = BTreeMap<(String, Fingerprint), TypeInfo>;
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let MessageType { name, fingerprint } = &self.message;
        let known = KNOWN.get_or_init(Mutex::default);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let info = known.entry((name.clone(), *fingerprint));
        *info.or_insert_with(|| TypeInfo {
            name: Box::leak(name.clone().into_boxed_str()),
            fingerprint: *fingerprint,
            schema: Box::leak(self.schema.clone().into_boxed_slice()),
        })
    }
}

//! Sensors: small things that are polled for data, and the component that any of them becomes.

use crate::counts::{Condition, Counts};
use crate::line::Line;
use bowline_component::{
    AlarmKind, Build, BuildError, Component, Expect, Input, Outbox, Output, Parameters, Ports,
    Severity, Step, Time,
};
use bowline_msgs::{Device, Serial};
use bowline_wire::Message;
use std::fmt::Debug;
use std::time::Duration;

/// A device that is polled for data.
///
/// It receives the time and the bytes that came, and touches nothing else: its output is a function of its input.
pub trait Sensor: Sized + Send + 'static {
    /// What the device is called, for people.
    const DEVICE: &'static str;
    /// What can be set.
    type Parameters: Parameters + Default;
    /// What it measures.
    type Reading: Reading;

    /// A device before its first byte.
    ///
    /// # Errors
    /// When there can be no such device; the text is shown to the author of the robot file.
    fn new(parameters: Self::Parameters) -> Result<Self, BuildError>;

    /// Looks at the line, may write to it, and returns what was measured. Called when bytes come, and when the sensor
    /// has asked for it.
    fn poll(&mut self, now: Time, line: &mut Line<'_>) -> Vec<Self::Reading>;

    /// How the device is.
    fn condition(&self, now: Time) -> Condition;

    /// What became of all that came from it.
    fn counts(&mut self) -> &mut Counts;

    /// What can be read and changed at run time.
    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        None
    }
}

/// What a sensor measures, and the outputs that it goes to. Every message is one, at an output called `reading`.
pub trait Reading: Sized {
    /// Where readings go.
    type Outputs: Debug + Send;

    /// Declares the outputs.
    fn declare(ports: &mut Ports) -> Self::Outputs;

    /// Sends it.
    fn send(self, outputs: &Self::Outputs, out: &mut Outbox<'_>);
}

impl<M: Message + Send + Sync + 'static> Reading for M {
    type Outputs = Output<M>;

    fn declare(ports: &mut Ports) -> Output<M> {
        ports.output("reading", "What was measured.")
    }

    fn send(self, output: &Output<M>, out: &mut Outbox<'_>) {
        out.send(*output, self);
    }
}

/// How often the state of a device is published, if it does not change.
pub(crate) const TELL_EVERY: Duration = Duration::from_secs(1);

/// The component that a sensor becomes.
#[derive(Debug)]
pub struct SensorComponent<S: Sensor> {
    sensor: S,
    line_in: Input<Serial>,
    line_out: Output<Serial>,
    outputs: <S::Reading as Reading>::Outputs,
    told: Told,
    /// The earliest moment at which a step was asked for that has not come.
    wake_at: Option<Time>,
}

/// Raised where a device sends nothing.
const SILENT: AlarmKind = AlarmKind {
    id: "silent",
    severity: Severity::Warning,
    consequence: "what it measures or moves is missing",
    action: "look at its power and its line",
};
/// Raised where a device sends nothing that can be believed.
const ERRONEOUS: AlarmKind = AlarmKind {
    id: "erroneous",
    severity: Severity::Warning,
    consequence: "its data is not used",
    action: "look at its line and its settings",
};

/// What was last published of a device.
#[derive(Debug)]
pub(crate) struct Told {
    device: Output<Device>,
    condition: Option<(Condition, Time)>,
    next: Time,
}

impl Told {
    pub(crate) fn new(ports: &mut Ports) -> Self {
        ports.tick(TELL_EVERY);
        Self {
            device: ports.output("device", "How the device is, and what became of its bytes."),
            condition: None,
            next: Time::ZERO,
        }
    }

    /// Publishes what is new, or again once a second.
    pub(crate) fn tell(
        &mut self,
        name: &str,
        condition: Condition,
        counts: &Counts,
        out: &mut Outbox<'_>,
    ) {
        let now = out.now();
        let health = counts.health(condition);
        out.alarm(
            &SILENT,
            (condition == Condition::Silent).then_some(health.why()),
        );
        out.alarm(
            &ERRONEOUS,
            (condition == Condition::Erroneous).then_some(health.why()),
        );
        out.health(health);
        let since = match self.condition {
            Some((earlier, since)) if earlier == condition => since,
            Some(_) | None => now,
        };
        let is_new = self.condition.replace((condition, since)) != Some((condition, since));
        if is_new || now >= self.next {
            self.next = now + TELL_EVERY;
            out.send(self.device, counts.message(name, now, (condition, since)));
        }
    }
}

/// Sends bytes to a device, and asks for the step that its driver asked for.
pub(crate) fn answer(
    line: Line<'_>,
    (counts, wake_at): (&mut Counts, &mut Option<Time>),
    line_out: Option<Output<Serial>>,
    out: &mut Outbox<'_>,
) {
    let now = out.now();
    let (bytes, wanted) = line.into_parts();
    if let Some(line_out) = line_out.filter(|_| !bytes.is_empty()) {
        counts.n_sent_bytes += bytes.len() as u64;
        out.send(
            line_out,
            Serial {
                utime: now.utime(),
                bytes,
                ..Serial::default()
            }
            .with_lengths(),
        );
    }
    // A step that was asked for already need not be asked for again.
    let pending = wake_at.filter(|pending| *pending > now);
    *wake_at = match (pending, wanted) {
        (Some(pending), Some(wanted)) if wanted >= pending => Some(pending),
        (pending, None) => pending,
        (Some(_) | None, Some(wanted)) => {
            out.wake_at(wanted);
            Some(wanted)
        }
    };
}

impl<S: Sensor> Build for SensorComponent<S> {
    type Parameters = S::Parameters;

    fn build(parameters: S::Parameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            sensor: S::new(parameters)?,
            line_in: ports.input("line_in", "Bytes from the device.", Expect::ever()),
            line_out: ports.output("line_out", "Bytes to the device."),
            outputs: S::Reading::declare(ports),
            told: Told::new(ports),
            wake_at: None,
        })
    }
}

impl<S: Sensor> Component for SensorComponent<S> {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        let arrived = step.arrived(self.line_in);
        let bytes = arrived.map_or(&[][..], |serial| &serial.message().bytes);
        self.sensor.counts().heard(now, bytes.len());
        let mut line = Line::new(bytes);
        for reading in self.sensor.poll(now, &mut line) {
            reading.send(&self.outputs, out);
        }
        let wake = &mut self.wake_at;
        answer(line, (self.sensor.counts(), wake), Some(self.line_out), out);
        let condition = self.sensor.condition(now);
        let counts = self.sensor.counts();
        self.told.tell(S::DEVICE, condition, counts, out);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        self.sensor.parameters()
    }
}

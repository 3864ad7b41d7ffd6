//! Actuators: small things that take a command, and the component that any of them becomes.

use crate::counts::{Condition, Counts};
use crate::line::Line;
use crate::sensor::{Told, answer};
use bowline_msgs::Serial;
use bowline_node::{
    Build, BuildError, Component, Expect, Input, Outbox, Output, Parameters, Ports, Step, Time,
};
use bowline_wire::{Decode, Message};

/// A device that takes commands.
///
/// It is told the time, and a command or none: without one it has to decide by itself what is safe.
pub trait Actuator: Sized + Send + 'static {
    /// What the device is called, for people.
    const DEVICE: &'static str;
    /// The channel that commands come on, unless the robot says otherwise.
    const COMMAND_CHANNEL: &'static str;
    /// The channel that setpoints go to, unless the robot says otherwise.
    const SETPOINT_CHANNEL: &'static str;
    /// Whether it is at the end of a serial line; otherwise its setpoint is all that it says.
    const HAS_LINE: bool;
    /// What can be set.
    type Parameters: Parameters + Default;
    /// What it is asked to do.
    type Command: Message + for<'a> Decode<'a> + Send + Sync + 'static;
    /// What it does.
    type Setpoint: Message + Send + Sync + 'static;

    /// A device at rest.
    ///
    /// # Errors
    /// When there can be no such device; the text is shown to whoever wrote the robot file.
    fn new(parameters: Self::Parameters) -> Result<Self, BuildError>;

    /// Takes a command, or lets time pass; returns what the device does from now on, where that is to be told. Called
    /// when a command or bytes come, and when the actuator has asked for it.
    fn act(
        &mut self,
        now: Time,
        command: Option<&Self::Command>,
        line: &mut Line<'_>,
    ) -> Option<Self::Setpoint>;

    /// How the device is.
    fn condition(&self, now: Time) -> Condition;

    /// What became of all that it was told.
    fn counts(&mut self) -> &mut Counts;

    /// What can be read and changed at run time.
    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        None
    }
}

/// The component that an actuator becomes.
#[derive(Debug)]
pub struct ActuatorComponent<A: Actuator> {
    actuator: A,
    command: Input<A::Command>,
    setpoint: Output<A::Setpoint>,
    line: Option<(Input<Serial>, Output<Serial>)>,
    told: Told,
    wake_at: Option<Time>,
}

impl<A: Actuator> Build for ActuatorComponent<A> {
    type Parameters = A::Parameters;

    fn build(parameters: A::Parameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let (commands, setpoints) = (A::COMMAND_CHANNEL, A::SETPOINT_CHANNEL);
        let doc = "What the device is asked to do.";
        Ok(Self {
            actuator: A::new(parameters)?,
            command: ports.input_on("command", doc, Expect::ever(), commands),
            setpoint: ports.output_on("setpoint", "What the device does.", setpoints),
            line: A::HAS_LINE.then(|| {
                let line_in = ports.input("line_in", "Bytes from the device.", Expect::ever());
                (line_in, ports.output("line_out", "Bytes to the device."))
            }),
            told: Told::new(ports),
            wake_at: None,
        })
    }
}

impl<A: Actuator> Component for ActuatorComponent<A> {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        let arrived = self.line.and_then(|(line_in, _)| step.arrived(line_in));
        let bytes = arrived.map_or(&[][..], |serial| &serial.message().bytes);
        self.actuator.counts().heard(now, bytes.len());
        let mut line = Line::new(bytes);
        let command = step.arrived(self.command);
        let command = command.map(|command| command.message());
        if let Some(setpoint) = self.actuator.act(now, command, &mut line) {
            out.send(self.setpoint, setpoint);
        }
        let wake = &mut self.wake_at;
        let line_out = self.line.map(|(_, line_out)| line_out);
        answer(line, (self.actuator.counts(), wake), line_out, out);
        let condition = self.actuator.condition(now);
        let counts = self.actuator.counts();
        self.told.tell(A::DEVICE, condition, counts, out);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        self.actuator.parameters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_msgs::Beat;
    use bowline_node::{NoParameters, Rig};
    use std::time::Duration;

    /// Says the number that it is commanded, and what it hears back; a second later it says `?`.
    struct Bell {
        counts: Counts,
        ring_at: Option<Time>,
    }

    impl Actuator for Bell {
        const DEVICE: &'static str = "bell";
        const COMMAND_CHANNEL: &'static str = "bell.command";
        const SETPOINT_CHANNEL: &'static str = "bell";
        const HAS_LINE: bool = true;
        type Parameters = NoParameters;
        type Command = Beat;
        type Setpoint = Beat;

        fn new(_: NoParameters) -> Result<Self, BuildError> {
            Ok(Self {
                counts: Counts::default(),
                ring_at: None,
            })
        }

        fn act(&mut self, now: Time, command: Option<&Beat>, line: &mut Line<'_>) -> Option<Beat> {
            line.send(line.received());
            if self.ring_at.is_some_and(|at| now >= at) {
                self.ring_at = None;
                line.send(b"?");
            }
            let command = command?;
            self.counts.good(now);
            self.ring_at = Some(now + Duration::from_millis(1_500));
            line.wake_at(now + Duration::from_millis(1_500));
            line.send(command.count.to_string().as_bytes());
            Some(command.clone())
        }

        fn condition(&self, _: Time) -> Condition {
            Condition::Working
        }

        fn counts(&mut self) -> &mut Counts {
            &mut self.counts
        }
    }

    #[test]
    fn an_actuator_at_a_line_speaks_and_is_woken_when_it_asks_for_it() {
        let mut rig = Rig::new::<ActuatorComponent<Bell>>(NoParameters);
        rig.send("command", Beat { utime: 1, count: 7 });
        let bytes = b"ack".to_vec();
        let serial = Serial {
            utime: 1,
            bytes,
            ..Serial::default()
        };
        rig.send("line_in", serial.with_lengths());
        rig.advance(Duration::from_millis(1_499));
        let said = |rig: &mut Rig| -> Vec<Vec<u8>> {
            let said = rig.take::<Serial>("line_out").into_iter();
            said.map(|serial| serial.bytes).collect()
        };
        assert_eq!(said(&mut rig), [b"7".to_vec(), b"ack".to_vec()]);
        rig.advance(Duration::from_millis(1));
        assert_eq!(said(&mut rig), [b"?".to_vec()]);
        assert_eq!(rig.take::<Beat>("setpoint").len(), 1);
    }
}

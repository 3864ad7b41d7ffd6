//! Actuators: small things that take a command, and the component that any of them becomes.

use crate::counts::{Condition, Counts};
use crate::line::Line;
use crate::sensor::{Told, answer};
use bowline_component::{
    Build, BuildError, Component, Expect, Input, Outbox, Output, Parameters, Ports, Step, Time,
};
use bowline_msgs::Serial;
use bowline_wire::{Decode, Message};

/// A device that takes commands.
///
/// It receives the time, and a command or none: without one it has to decide by itself what is safe.
pub trait Actuator: Sized + Send + 'static {
    /// What the device is called, for people.
    const DEVICE: &'static str;
    /// The channel that commands come on, by default.
    const COMMAND_CHANNEL: &'static str;
    /// The channel that setpoints go to, by default.
    const SETPOINT_CHANNEL: &'static str;
    /// Whether it is at the end of a serial line; otherwise its setpoint is its only output.
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
    /// When there can be no such device; the text is shown to the author of the robot file.
    fn new(parameters: Self::Parameters) -> Result<Self, BuildError>;

    /// Takes a command, or lets time pass; returns what the device does from now on, where that is to be published. Called
    /// when a command or bytes come, and when the actuator has asked for it.
    fn act(
        &mut self,
        now: Time,
        command: Option<Arrived<'_, Self::Command>>,
        line: &mut Line<'_>,
    ) -> Option<Self::Setpoint>;

    /// How the device is.
    fn condition(&self, now: Time) -> Condition;

    /// What became of all commands and bytes.
    fn counts(&mut self) -> &mut Counts;

    /// What can be read and changed at run time.
    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        None
    }
}

/// A command, and when it came. It may have waited since: in a queue, or because the whole process was halted. Its age
/// counts from there, so that nothing is done that was asked for long ago.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a, C> {
    /// What is asked for.
    pub message: &'a C,
    /// When it came, which is not later than now.
    pub at: Time,
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
        let command = command.map(|command| Arrived {
            message: command.message(),
            at: command.at(),
        });
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
pub(crate) mod tests {
    use super::*;
    use bowline_component::engine::{Arrival, Engine, Instance, Sent, Sink};
    use bowline_component::{Kind, NoParameters, Parcel, Rig};
    use bowline_msgs::Beat;
    use std::collections::BTreeMap;
    use std::time::Duration;

    /// An actuator on a bench where commands may have waited before they are handed over.
    #[derive(Debug)]
    pub(crate) struct Delayed {
        engine: Engine,
        now: Time,
        said: Said,
    }

    #[derive(Debug, Default)]
    struct Said(BTreeMap<String, Vec<Parcel>>);

    impl Sink for Said {
        fn publish(&mut self, sent: &Sent<'_>) {
            let said = self.0.entry(sent.channel.to_string()).or_default();
            said.push(sent.parcel.clone());
        }
    }

    impl Delayed {
        /// One that has just started, with its ports at channels of the same names.
        pub(crate) fn new<A: Actuator + std::fmt::Debug>() -> Self {
            let kind = Kind::of::<ActuatorComponent<A>>("actuator", "On the bench.");
            let ports = ["command", "setpoint", "device", "line_in", "line_out"];
            let ports = ports
                .into_iter()
                .filter(|port| A::HAS_LINE || !port.starts_with("line"));
            let channels = ports.map(|port| (port.to_owned(), port.to_owned()));
            let instance = Instance::new(&kind, "actuator", &[], channels.collect()).unwrap();
            let mut delayed = Self {
                engine: Engine::new(vec![instance]).unwrap(),
                now: Time::from_utime(10_000_000),
                said: Said::default(),
            };
            delayed
                .engine
                .start(delayed.now, &mut delayed.said)
                .unwrap();
            delayed
        }

        /// Hands over a command that came so long ago.
        pub(crate) fn deliver<M: Message + Send + Sync + 'static>(
            &mut self,
            waited: Duration,
            message: M,
        ) {
            let arrival = Arrival {
                received: self.now - waited,
                channel: "command".into(),
                parcel: Parcel::new(message).unwrap(),
            };
            let delivered = self.engine.deliver(self.now, &arrival, &mut self.said);
            delivered.unwrap();
        }

        pub(crate) fn advance(&mut self, duration: Duration) {
            let end = self.now + duration;
            while let Some(due) = self.engine.next_due().filter(|due| *due <= end) {
                self.now = self.now.max(due);
                self.engine.wake(self.now, &mut self.said).unwrap();
            }
            self.now = end;
        }

        /// What was sent on a channel since the last call.
        pub(crate) fn take<M: Message + for<'a> Decode<'a>>(&mut self, channel: &str) -> Vec<M> {
            let parcels = self.said.0.remove(channel).unwrap_or_default();
            let messages = parcels.iter().map(|it| M::decode(it.bytes()).unwrap());
            messages.collect()
        }
    }

    /// Sends the number that it is commanded, and reads what comes back; a second later it sends `?`.
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

        fn act(
            &mut self,
            now: Time,
            command: Option<Arrived<'_, Beat>>,
            line: &mut Line<'_>,
        ) -> Option<Beat> {
            line.send(line.received());
            if self.ring_at.is_some_and(|at| now >= at) {
                self.ring_at = None;
                line.send(b"?");
            }
            let command = command?.message;
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

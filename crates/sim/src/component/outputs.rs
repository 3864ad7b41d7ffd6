//! A port for each sensor, and for the truth.

use crate::sensor::ReadingOutput;
use crate::simulation::Event;
use crate::vehicle::Vehicle;
use bowline_component::{Outbox, Output, Ports};
use bowline_msgs::{Contact, PoseTransform, Sea};

/// Where everything goes.
#[derive(Debug)]
pub(super) struct Outputs {
    /// One for each sensor of the vehicle, in its order.
    sensors: Vec<ReadingOutput>,
    pose: Output<PoseTransform>,
    contact: Output<Contact>,
    /// Of vessels.
    sea: Option<Output<Sea>>,
}

impl Outputs {
    pub(super) fn new(vehicle: &Vehicle, ports: &mut Ports) -> Self {
        let sensors = vehicle.sensors.iter();
        Self {
            sensors: sensors
                .map(|it| it.instrument.output(it, &channel(&it.port), ports))
                .collect(),
            pose: ports.output_on(
                "truth.pose",
                "Where the vehicle truly is: its own frame, without errors.",
                "truth.pose",
            ),
            contact: ports.output_on(
                "truth.contact",
                "What the vehicle truly touches, but for the ground below its wheels, and which lines it is over.",
                "truth.contact",
            ),
            sea: vehicle.gear.needs_sea().then(|| {
                ports.output_on(
                    "truth.sea",
                    "What wind and water truly do where the vessel is.",
                    "truth.sea",
                )
            }),
        }
    }

    pub(super) fn send(&self, event: Event, out: &mut Outbox<'_>) {
        match event {
            Event::Truth(message) => out.send(self.pose, message),
            Event::Contact(message) => out.send(self.contact, message),
            Event::Sea(message) => {
                if let Some(port) = self.sea {
                    out.send(port, message);
                }
            }
            Event::Measured { sensor, reading } => {
                if let Some(port) = self.sensors.get(sensor) {
                    port.send(reading, out);
                }
            }
        }
    }
}

/// `LeftLaser.Scanner` is on `left_laser.scanner` by default.
fn channel(port: &str) -> String {
    let mut channel = String::new();
    let mut before = '.';
    for letter in port.chars() {
        if letter.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit()) {
            channel.push('_');
        }
        channel.extend(letter.to_lowercase());
        before = letter;
    }
    channel
}

#[cfg(test)]
mod tests {
    use super::channel;

    #[test]
    fn channels_are_in_lower_case() {
        let cases = [
            ("LeftLaser.Scanner", "left_laser.scanner"),
            ("INS.Pose", "ins.pose"),
            ("front_wheel.Encoder", "front_wheel.encoder"),
            ("Laser2Top.S", "laser2_top.s"),
        ];
        for (port, expected) in cases {
            assert_eq!(channel(port), expected, "{port}");
        }
    }
}

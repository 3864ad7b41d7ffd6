//! A port for each sensor, and for the truth.

use crate::sensor::Reading;
use crate::simulation::Event;
use crate::vehicle::{Mounted, RunningGear, Vehicle};
use bowline_component::{Outbox, Output, Ports};
use bowline_geometry::{CameraGives, SensorKind};
use bowline_msgs::{
    Bumper, Contact, GpsFix, Heading, Image, Imu, Multibeam, PoseTransform, Range3d, Sea, Sounding,
    Spectrum, Wheels,
};

/// Where everything goes.
#[derive(Debug)]
pub(super) struct Outputs {
    /// One for each sensor of the vehicle, in its order.
    sensors: Vec<SensorOutput>,
    pose: Output<PoseTransform>,
    contact: Output<Contact>,
    /// Of vessels.
    sea: Option<Output<Sea>>,
}

#[derive(Clone, Copy, Debug)]
enum SensorOutput {
    Range(Output<Range3d>),
    Pose(Output<PoseTransform>),
    Fix(Output<GpsFix>),
    Imu(Output<Imu>),
    Wheels(Output<Wheels>),
    Heading(Output<Heading>),
    Bumper(Output<Bumper>),
    Sounding(Output<Sounding>),
    Multibeam(Output<Multibeam>),
    Spectrum(Output<Spectrum>),
    Image(Output<Image>),
}

impl Outputs {
    pub(super) fn new(vehicle: &Vehicle, ports: &mut Ports) -> Self {
        let sensors = vehicle.sensors.iter();
        Self {
            sensors: sensors.map(|mounted| port(mounted, ports)).collect(),
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
            sea: matches!(vehicle.running_gear, RunningGear::Hull(_)).then(|| {
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
                    send(*port, reading, out);
                }
            }
        }
    }
}

/// The port of a sensor.
fn port(mounted: &Mounted, ports: &mut Ports) -> SensorOutput {
    let (name, channel) = (&mounted.port, channel(&mounted.port));
    let what = mounted.sensor.kind.word();
    let doc = format!("What the {what} {name} measures.");
    match &mounted.sensor.kind {
        SensorKind::Laser(_) | SensorKind::Depth(_) => {
            SensorOutput::Range(ports.output_on(name, &doc, &channel))
        }
        SensorKind::Camera(camera) => match camera.gives {
            CameraGives::Lines => {
                let doc = format!("Where the camera {name} sees painted lines.");
                SensorOutput::Range(ports.output_on(name, &doc, &channel))
            }
            CameraGives::Picture => {
                let doc = format!("What the camera {name} sees.");
                SensorOutput::Image(ports.output_on(name, &doc, &channel))
            }
        },
        SensorKind::Ins(_) => SensorOutput::Pose(ports.output_on(name, &doc, &channel)),
        SensorKind::Gps(_) => SensorOutput::Fix(ports.output_on(name, &doc, &channel)),
        SensorKind::Imu(_) => SensorOutput::Imu(ports.output_on(name, &doc, &channel)),
        SensorKind::Magnetometer(_) => SensorOutput::Heading(ports.output_on(name, &doc, &channel)),
        SensorKind::Encoder(_) => SensorOutput::Wheels(ports.output_on(name, &doc, &channel)),
        SensorKind::Bumper(_) => SensorOutput::Bumper(ports.output_on(name, &doc, &channel)),
        SensorKind::Sonar(_) => SensorOutput::Sounding(ports.output_on(name, &doc, &channel)),
        SensorKind::Multibeam(_) => SensorOutput::Multibeam(ports.output_on(name, &doc, &channel)),
        SensorKind::Spectrometer(_) => {
            SensorOutput::Spectrum(ports.output_on(name, &doc, &channel))
        }
    }
}

/// `LeftLaser.Scanner` is on `left_laser.scanner`, unless the robot says otherwise.
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

fn send(port: SensorOutput, reading: Reading, out: &mut Outbox<'_>) {
    match (port, reading) {
        (SensorOutput::Range(port), Reading::Range(message)) => out.send(port, message),
        (SensorOutput::Pose(port), Reading::Pose(message)) => out.send(port, message),
        (SensorOutput::Fix(port), Reading::Fix(message)) => out.send(port, message),
        (SensorOutput::Imu(port), Reading::Imu(message)) => out.send(port, message),
        (SensorOutput::Wheels(port), Reading::Wheels(message)) => out.send(port, message),
        (SensorOutput::Heading(port), Reading::Heading(message)) => out.send(port, message),
        (SensorOutput::Bumper(port), Reading::Bumper(message)) => out.send(port, message),
        (SensorOutput::Sounding(port), Reading::Sounding(message)) => out.send(port, message),
        (SensorOutput::Multibeam(port), Reading::Multibeam(message)) => out.send(port, message),
        (SensorOutput::Spectrum(port), Reading::Spectrum(message)) => out.send(port, message),
        (SensorOutput::Image(port), Reading::Image(message)) => out.send(port, message),
        (
            SensorOutput::Range(_)
            | SensorOutput::Pose(_)
            | SensorOutput::Fix(_)
            | SensorOutput::Imu(_)
            | SensorOutput::Wheels(_)
            | SensorOutput::Heading(_)
            | SensorOutput::Bumper(_)
            | SensorOutput::Sounding(_)
            | SensorOutput::Multibeam(_)
            | SensorOutput::Spectrum(_)
            | SensorOutput::Image(_),
            _,
        ) => unreachable!("ports are made by the kinds of their sensors"),
    }
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

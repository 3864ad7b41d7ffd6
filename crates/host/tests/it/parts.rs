//! Components to test hosts with, and robots made of them.

use bowline_component::engine::{Engine, Instance, Sent, Sink};
use bowline_component::{
    Build, BuildError, Component, Expect, Input, Kind, NoParameters, Outbox, Output, Ports,
    Setting, Step,
};
use bowline_msgs::{Laser, Pose, Velocity};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

bowline_component::parameters! {
    /// How a filter forgets.
    pub(crate) struct FilterParameters {
        /// How much of the old is kept.
        keep: f64 = 0.75, within 0.0..=1.0 => live;
    }
}

/// From scans to a smoothed speed: state that depends on everything that it ever received.
pub(crate) struct Filter {
    parameters: FilterParameters,
    scan: Input<Laser>,
    speed: Output<Velocity>,
    speed_mps: f64,
}

impl Build for Filter {
    type Parameters = FilterParameters;

    fn build(parameters: FilterParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            parameters,
            scan: ports.input("scan", "What is ahead.", Expect::within(ms(500))),
            speed: ports.output("speed", "How fast it may go."),
            speed_mps: 0.0,
        })
    }
}

impl Component for Filter {
    fn parameters(&mut self) -> Option<&mut dyn bowline_component::Parameters> {
        Some(&mut self.parameters)
    }

    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Some(scan) = step.arrived(self.scan) else {
            return;
        };
        let nearest_m = scan.ranges.iter().copied().reduce(f32::min);
        let nearest_m = f64::from(nearest_m.unwrap_or_default());
        let keep = self.parameters.keep;
        self.speed_mps = keep * self.speed_mps + (1.0 - keep) * nearest_m.sqrt();
        out.send(
            self.speed,
            Velocity {
                utime: scan.utime,
                steering_rad: 0.0,
                speed_mps: self.speed_mps,
            },
        );
    }
}

/// Adds up where that speed leads to: the second in a chain.
pub(crate) struct Reckoner {
    speed: Input<Velocity>,
    pose: Output<Pose>,
    state: [f64; 12],
    before: Option<i64>,
}

impl Build for Reckoner {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            speed: ports.input("speed", "How fast it goes.", Expect::within(ms(500))),
            pose: ports.output("pose", "Where that leads to."),
            state: [0.0; 12],
            before: None,
        })
    }
}

impl Component for Reckoner {
    #[expect(clippy::cast_precision_loss, reason = "times between scans are short")]
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Some(speed) = step.arrived(self.speed) else {
            return;
        };
        let since_us = self.before.map_or(0, |before| speed.utime - before);
        self.before = Some(speed.utime);
        self.state[0] += speed.speed_mps * since_us as f64 * 1e-6;
        self.state[6] = speed.speed_mps;
        out.send(
            self.pose,
            Pose {
                utime: speed.utime,
                state: self.state,
            },
        );
    }
}

/// Publishes at every tick what it knows, how old that is, and what the time is; and at once when it knows nothing.
pub(crate) struct Reporter {
    pose: Input<Pose>,
    report: Output<Pose>,
    ticks: f64,
}

impl Build for Reporter {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(20));
        Ok(Self {
            pose: ports.input("pose", "Where it is.", Expect::within(ms(70)).every(ms(10))),
            report: ports.output("report", "What is known."),
            ticks: 0.0,
        })
    }
}

impl Component for Reporter {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if !step.is_tick() && !step.is_stale(self.pose) {
            return;
        }
        self.ticks += f64::from(u8::from(step.is_tick()));
        let mut state = [0.0; 12];
        if let Some(pose) = step.fresh(self.pose) {
            state[0] = pose.state[0];
            state[1] = pose.age().as_secs_f64();
        }
        state[2] = self.ticks;
        let utime = step.now().utime();
        out.send(self.report, Pose { utime, state });
    }
}

pub(crate) const KINDS: &[Kind] = &[
    Kind::of::<Filter>("filter", "From scans to a smoothed speed."),
    Kind::of::<Reckoner>("reckoner", "Adds up where a speed leads to."),
    Kind::of::<Reporter>("reporter", "Publishes at every tick what it knows."),
];

/// One of the kinds above, with its inputs connected.
pub(crate) fn instance(kind: &str, name: &str, channels: &[(&str, &str)]) -> Instance {
    instance_with(kind, name, channels, &[])
}

pub(crate) fn instance_with(
    kind: &str,
    name: &str,
    channels: &[(&str, &str)],
    settings: &[(&str, Setting)],
) -> Instance {
    let row = KINDS.iter().find(|row| row.name == kind).unwrap();
    let channels = channels.iter();
    let channels = channels.map(|(port, channel)| ((*port).to_owned(), (*channel).to_owned()));
    Instance::new(row, name, settings, channels.collect()).unwrap()
}

/// Scans come in; speeds, poses and reports go out.
pub(crate) fn chain() -> Vec<Instance> {
    vec![
        instance("filter", "filter", &[("scan", "laser.scan")]),
        instance("reckoner", "reckoner", &[("speed", "filter.speed")]),
        instance("reporter", "reporter", &[("pose", "reckoner.pose")]),
    ]
}

pub(crate) fn engine(instances: Vec<Instance>) -> Engine {
    Engine::new(instances).unwrap()
}

/// A scan of a world that changes from scan to scan, for ever the same.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
pub(crate) fn scan(number: i64) -> Laser {
    let ranges = (0..32).map(|beam: i64| ((number * 37 + beam * 101) % 997) as f32 * 0.05 + 0.5);
    Laser {
        utime: 1_700_000_000_000_000 + number * 10_000,
        ranges: ranges.collect(),
        rad0: -1.0,
        radstep: 0.0625,
        ..Laser::default()
    }
    .with_lengths()
}

/// Has hosts stop when it goes, also where a test fails: scopes wait for their threads.
pub(crate) struct StopAtEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What was sent, in its order: time, channel and bytes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard(pub(crate) Vec<(i64, String, Vec<u8>)>);

impl Sink for Heard {
    fn publish(&mut self, sent: &Sent<'_>) {
        let bytes = sent.parcel.bytes().to_vec();
        self.0.push((sent.at.ns(), sent.channel.to_string(), bytes));
    }
}

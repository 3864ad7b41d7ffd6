//! A driver for an echo sounder that sends lines such as `D 12.3`, beside a twin that does so in simulation.

use bowline::component::{Build, BuildError, Component, Kind, Outbox, Output, Ports, Step, Time};
use bowline::drivers::{Condition, Counts, Line, Sensor, SensorComponent, Shape, Splitter};
use bowline::msgs::{Serial, Sounding};
use std::process::ExitCode;
use std::time::Duration;

bowline::component::parameters! {
    /// Where the sounder is.
    struct SounderParameters {
        /// The transducer, as Body:Frame of the robot's model.
        frame: String = String::new();
        /// Standard deviation of depths, metres.
        sd_m: f64 = 0.1, within 0.001..=10.0;
    }
}

/// The driver: a function of the bytes that arrive and of the time, without a port or a clock.
struct Sounder {
    parameters: SounderParameters,
    splitter: Splitter,
    counts: Counts,
    began: Option<Time>,
}

impl Sensor for Sounder {
    const DEVICE: &'static str = "echo sounder";
    type Parameters = SounderParameters;
    type Reading = Sounding;

    fn new(parameters: SounderParameters) -> Result<Self, BuildError> {
        let splitter = Splitter::new(Shape {
            begins: b"D",
            ends: b"\r",
            between: b"\n",
            is_inner: |byte| byte.is_ascii_digit() || b" .".contains(&byte),
            max_len: 12,
        });
        Ok(Self {
            parameters,
            splitter,
            counts: Counts::default(),
            began: None,
        })
    }

    fn poll(&mut self, now: Time, line: &mut Line<'_>) -> Vec<Sounding> {
        self.began.get_or_insert(now);
        let frames = self.splitter.split(line.received(), &mut self.counts);
        frames
            .iter()
            .filter_map(|frame| self.depth(now, frame))
            .collect()
    }

    fn condition(&self, now: Time) -> Condition {
        self.counts
            .condition(now, self.began.unwrap_or(now), Duration::from_secs(2))
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }
}

impl Sounder {
    fn depth(&mut self, now: Time, frame: &[u8]) -> Option<Sounding> {
        let text = std::str::from_utf8(frame).ok()?;
        let Ok(depth_m) = text.trim_start_matches("D ").parse() else {
            self.counts.n_malformed += 1;
            self.counts.error(
                now,
                format!("expected a depth as in \"D 12.3\", found {text:?}"),
            );
            return None;
        };
        self.counts.good(now);
        let SounderParameters { frame, sd_m } = self.parameters.clone();
        Some(Sounding {
            utime: now.utime(),
            frame,
            depth_m,
            sd_m,
        })
    }
}

bowline::component::parameters! {
    /// What the simulated sounder measures.
    struct TwinParameters {
        /// The depth, metres.
        depth_m: f64 = 12.3, within 0.0..=100.0;
    }
}

/// The twin: sends what the device would.
struct SounderTwin {
    parameters: TwinParameters,
    line_out: Output<Serial>,
}

impl Build for SounderTwin {
    type Parameters = TwinParameters;

    fn build(parameters: TwinParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(500));
        Ok(Self {
            parameters,
            line_out: ports.output("line_out", "Bytes of the device."),
        })
    }
}

impl Component for SounderTwin {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let bytes = format!("D {:.1}\r\n", self.parameters.depth_m).into_bytes();
        let utime = step.now().utime();
        out.send(
            self.line_out,
            Serial {
                utime,
                bytes,
                ..Serial::default()
            }
            .with_lengths(),
        );
    }
}

const KINDS: &[Kind] = &[
    Kind::of::<SensorComponent<Sounder>>("sounder", "Reads an echo sounder."),
    Kind::of::<SounderTwin>("sounder_twin", "Sends what an echo sounder would."),
];

fn main() -> ExitCode {
    bowline::App::new().name("sounder").kinds(KINDS).main()
}

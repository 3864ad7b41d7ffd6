//! The simulated twin of a controller, which can be made to misbehave: from what comes over the line to what motors give.

use super::reply::{MAX_RATIO, SHAPE};
use crate::counts::Counts;
use crate::line::Splitter;
use crate::pace::Pace;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
    Time,
};
use bowline_msgs::{Serial, Thrust};
use std::time::Duration;

bowline_component::parameters! {
    /// What a simulated controller is like, and how it behaves.
    pub struct RoboteqTwinParameters {
        /// The motor that drives the thruster on the left.
        port_motor: i64 = 1, within 1..=3;
        /// The motor that drives the thruster on the right.
        starboard_motor: i64 = 2, within 1..=3;
        /// Bits a second; a byte has ten.
        baud: i64 = 115_200, within 300..=4_000_000;
        /// How it behaves: well; unplugged: nothing passes; deaf: it sends nothing and obeys; garbage: it sends bytes
        /// without meaning; refusing: it understands nothing; stopped: its emergency stop is pushed.
        mood: String = "well".into(), within ["well", "unplugged", "deaf", "garbage", "refusing", "stopped"] => live;
    }
}

/// A controller with motors that give at once what is commanded.
#[derive(Debug)]
pub struct RoboteqTwin {
    parameters: RoboteqTwinParameters,
    splitter: Splitter,
    pace: Pace,
    /// Of each motor, -1000 to 1000.
    motors: [i32; N_MOTORS],
    is_echoing: bool,
    is_stopped: bool,
    watchdog: Duration,
    commanded: Option<Time>,
    told: Option<[f64; 2]>,
    line_in: Input<Serial>,
    line_out: Output<Serial>,
    thrust: Output<Thrust>,
}

/// The manual's limit of `^RWD`.
const MAX_WATCHDOG_MS: u16 = 65_000;
const N_MOTORS: usize = 3;
/// What a controller comes with.
const WATCHDOG: Duration = Duration::from_millis(1_000);
/// How often the motors' thrust is published, if it does not change.
const TELL_EVERY: Duration = Duration::from_millis(50);
/// Of an emergency stop, among the faults.
const STOPPED: u16 = 16;

impl RoboteqTwin {
    /// Carries out a line, and answers.
    fn obey(&mut self, now: Time, line: &[u8]) -> String {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| word.parse::<i32>().ok();
        let is_done = match words.as_slice() {
            ["?FF"] => {
                let is_stopped = self.is_stopped || self.parameters.mood == "stopped";
                return format!("FF={}\r", if is_stopped { STOPPED } else { 0 });
            }
            ["!G", motor, ratio] => {
                let motor = motor.parse::<usize>().ok();
                let motor = motor.and_then(|nth| self.motors.get_mut(nth.checked_sub(1)?));
                let given = motor.zip(number(ratio)).map(|(motor, ratio)| {
                    *motor = ratio.clamp(-MAX_RATIO, MAX_RATIO);
                });
                given.is_some()
            }
            ["!EX"] => {
                self.is_stopped = true;
                true
            }
            ["!MG"] => {
                self.is_stopped = false;
                true
            }
            ["^ECHOF", flag @ ("0" | "1")] => {
                self.is_echoing = *flag == "0";
                true
            }
            ["^RWD", time] => {
                let time = time.parse::<u16>().ok().filter(|ms| *ms <= MAX_WATCHDOG_MS);
                self.watchdog = time.map_or(self.watchdog, |ms| Duration::from_millis(ms.into()));
                time.is_some()
            }
            _ => false,
        };
        if is_done && line.starts_with(b"!") {
            self.commanded = Some(now);
        }
        if is_done { "+\r" } else { "-\r" }.to_owned()
    }

    fn hear(&mut self, now: Time, bytes: &[u8]) {
        let is_refusing = self.parameters.mood == "refusing";
        for line in self.splitter.split(bytes, &mut Counts::default()) {
            // What comes is echoed before it is obeyed.
            let is_echoing = self.is_echoing;
            let answer = match is_refusing {
                true => "-\r".to_owned(),
                false => self.obey(now, &line),
            };
            let mut said = Vec::new();
            if is_echoing {
                said.extend_from_slice(&line);
                said.push(b'\r');
            }
            said.extend_from_slice(answer.as_bytes());
            match self.parameters.mood.as_str() {
                "deaf" => {}
                // The bytes of a line at the wrong speed.
                "garbage" => {
                    let garbled = said.iter().map(|byte| byte ^ 0xa5);
                    let garbled: Vec<u8> = garbled.chain(*b"+?\r").collect();
                    self.pace.push(now, &garbled);
                }
                _ => {
                    self.pace.push(now, &said);
                }
            }
        }
    }

    /// A controller without commands stops its motors.
    fn watch(&mut self, now: Time) -> Option<Time> {
        let ends_at = self.commanded.map(|at| at + self.watchdog);
        let is_over = ends_at.is_some_and(|at| now >= at) && self.watchdog > Duration::ZERO;
        if is_over {
            self.motors = [0; N_MOTORS];
            self.commanded = None;
        }
        ends_at.filter(|at| *at > now)
    }

    fn thrust(&self) -> [f64; 2] {
        if self.is_stopped || self.parameters.mood == "stopped" {
            return [0.0; 2];
        }
        [self.parameters.port_motor, self.parameters.starboard_motor].map(|nth| {
            let nth = usize::try_from(nth - 1).unwrap_or(N_MOTORS);
            let steps = self.motors.get(nth).copied().unwrap_or(0);
            f64::from(steps) / f64::from(MAX_RATIO)
        })
    }
}

impl Build for RoboteqTwin {
    type Parameters = RoboteqTwinParameters;

    fn build(parameters: RoboteqTwinParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(TELL_EVERY);
        Ok(Self {
            splitter: Splitter::new(SHAPE),
            pace: Pace::new(parameters.baud),
            motors: [0; N_MOTORS],
            is_echoing: true,
            is_stopped: false,
            watchdog: WATCHDOG,
            commanded: None,
            told: None,
            line_in: ports.input("line_in", "Its commands.", Expect::ever()),
            line_out: ports.output("line_out", "What it answers."),
            thrust: ports.output("thrust", "What its motors give."),
            parameters,
        })
    }
}

impl Component for RoboteqTwin {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        if step.is_start() {
            out.health(Health::Good);
        }
        let is_plugged = self.parameters.mood != "unplugged";
        if let Some(serial) = step.arrived(self.line_in).filter(|_| is_plugged) {
            self.hear(now, &serial.bytes);
        }
        if !is_plugged {
            self.pace.clear();
        }
        if let Some(at) = self.watch(now) {
            out.wake_at(at);
        }
        let given = self.thrust();
        let is_new = self.told.replace(given) != Some(given);
        if is_new || step.is_tick() {
            let [port_ratio, starboard_ratio] = given;
            out.send(
                self.thrust,
                Thrust {
                    utime: now.utime(),
                    port_ratio,
                    starboard_ratio,
                },
            );
        }
        self.pace.run(self.line_out, out);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

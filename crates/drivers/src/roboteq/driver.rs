//! The driver: repeats what the motors should give, and believes only what the controller answers.

use super::reply::{MAX_RATIO, Reply, SHAPE, faults, parse};
use crate::actuator::{Actuator, Arrived};
use crate::counts::{Condition, Counts};
use crate::line::{Line, Splitter};
use bowline_component::{BuildError, Parameters, Time};
use bowline_msgs::Thrust;
use std::time::Duration;

bowline_component::parameters! {
    /// How a controller is wired, and how long it goes on without a word.
    pub struct RoboteqParameters {
        /// The motor of the thruster on the left, as the controller counts them.
        port_motor: i64 = 1, within 1..=3;
        /// The motor of the thruster on the right.
        starboard_motor: i64 = 2, within 1..=3;
        /// Whether the port motor's wires are the other way round.
        is_port_reversed: bool = false;
        /// Whether the starboard motor's wires are the other way round.
        is_starboard_reversed: bool = false;
        /// Without a new setpoint for so long, the motors are stopped.
        timeout: Duration = Duration::from_millis(250), within Duration::from_millis(10)..=Duration::from_secs(5);
        /// Without a word from this driver for so long, the controller stops the motors by itself.
        watchdog: Duration = Duration::from_millis(250), within Duration::from_millis(50)..=Duration::from_secs(5);
        /// How often the motors are commanded at least, times a second.
        rate_hz: f64 = 20.0, within 5.0..=100.0;
        /// How long an answer may take.
        answer_within: Duration = Duration::from_millis(300), within Duration::from_millis(10)..=Duration::from_secs(5);
        /// The longest rest before the controller is set up anew.
        max_rest: Duration = Duration::from_secs(2), within Duration::from_millis(100)..=Duration::from_secs(60);
    }
}

/// The driver of a controller with two motors.
///
/// Its command is the newest setpoint, within what motors can, or nothing at all: setpoints that are no numbers, and none
/// for `timeout`, are a stop; one that waited so long is none. A controller that does not answer, refuses, or answers what cannot be is set up anew, after rests
/// that grow; commands are sent all the while, because a broken answer is no reason to steer worse.
#[derive(Debug)]
pub struct Roboteq {
    parameters: RoboteqParameters,
    period: Duration,
    splitter: Splitter,
    counts: Counts,
    began: Option<Time>,
    /// The newest setpoint, and when it came.
    wanted: Option<([f64; 2], Time)>,
    is_stopped: bool,
    next_say: Time,
    next_ask: Time,
    /// Since when an answer is owed.
    owed_since: Option<Time>,
    /// When to set it up; nothing while it is.
    set_up_at: Option<Time>,
    rest: Duration,
    faults: u16,
}

/// How often the controller is asked what is wrong.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// The first rest; each is twice as long as the one before.
const MIN_REST: Duration = Duration::from_millis(100);
/// A controller that has sent nothing good for so long is silent or erroneous.
const PATIENCE: Duration = Duration::from_secs(1);

impl Roboteq {
    /// Takes a setpoint; whether it is one that counts.
    fn take(&mut self, now: Time, Arrived { message, at }: Arrived<'_, Thrust>) -> bool {
        if now.since(at) >= self.parameters.timeout {
            self.counts.n_refused += 1;
            self.counts.error(now, "a setpoint waited too long");
            return false;
        }
        let ratios = [message.port_ratio, message.starboard_ratio];
        self.is_stopped = false;
        self.wanted = match ratios.iter().all(|it| it.is_finite()) {
            true => Some((ratios, at)),
            false => {
                self.counts.n_refused += 1;
                self.counts
                    .error(now, "a setpoint is no number: the motors stop");
                None
            }
        };
        true
    }

    fn hear(&mut self, now: Time, bytes: &[u8]) {
        for line in self.splitter.split(bytes, &mut self.counts) {
            match parse(&line) {
                Ok(Reply::Taken) => self.believe(now),
                Ok(Reply::Faults(bits)) => {
                    self.faults = bits;
                    if bits != 0 {
                        let what = format!("the controller reports: {}", faults(bits));
                        self.counts.error(now, what);
                    }
                    self.believe(now);
                }
                Ok(Reply::Echo) => self.counts.n_ignored += 1,
                Ok(Reply::Refused) => {
                    self.counts.n_refused += 1;
                    // It is an answer all the same.
                    self.owed_since = None;
                    self.fail(now, "the controller refuses a command");
                }
                Err(error) => {
                    self.counts.n_malformed += 1;
                    self.fail(now, error.to_string());
                }
            }
        }
    }

    fn believe(&mut self, now: Time) {
        self.counts.good(now);
        self.owed_since = None;
        self.rest = MIN_REST;
    }

    /// Sets it up again, after a rest; not sooner because more is wrong.
    fn fail(&mut self, now: Time, why: impl Into<String>) {
        self.counts.error(now, why);
        if self.set_up_at.is_none() {
            self.set_up_at = Some(now + self.rest);
            self.rest = (self.rest * 2).min(self.parameters.max_rest);
        }
    }

    fn look(&mut self, now: Time) {
        let is_late = |since: Time| now.since(since) >= self.parameters.answer_within;
        if self.owed_since.is_some_and(is_late) {
            self.counts.n_timeouts += 1;
            self.splitter.break_off(&mut self.counts);
            self.owed_since = None;
            self.fail(now, "the controller does not answer");
        }
    }

    fn set_up(&mut self, now: Time, line: &mut Line<'_>) {
        if self.set_up_at.is_none_or(|at| now < at) {
            return;
        }
        self.counts.n_restarts += u64::from(self.counts.n_sent_bytes > 0);
        self.set_up_at = None;
        let watchdog_ms = self.parameters.watchdog.as_millis();
        // What may be left of half a line is ended first.
        self.say(now, line, &format!("\r^ECHOF 1\r^RWD {watchdog_ms}\r"));
    }

    fn say(&mut self, now: Time, line: &mut Line<'_>, text: &str) {
        line.send(text.as_bytes());
        self.owed_since.get_or_insert(now);
    }

    /// What the motors should give now; nothing without a setpoint that is new enough.
    fn ratios(&mut self, now: Time) -> [f64; 2] {
        match self.wanted {
            Some((ratios, at)) if now.since(at) < self.parameters.timeout => ratios,
            Some(_) if !self.is_stopped => {
                self.is_stopped = true;
                self.counts.n_timeouts += 1;
                self.counts.error(now, "no setpoint: the motors stop");
                [0.0; 2]
            }
            Some(_) | None => [0.0; 2],
        }
    }

    fn command(&mut self, now: Time, line: &mut Line<'_>) -> Thrust {
        let given = self.ratios(now).map(steps);
        let RoboteqParameters {
            port_motor,
            starboard_motor,
            is_port_reversed,
            is_starboard_reversed,
            ..
        } = self.parameters;
        let turned = |steps: i32, is_reversed: bool| if is_reversed { -steps } else { steps };
        let [port, starboard] = given;
        let text = format!(
            "!G {port_motor} {}\r!G {starboard_motor} {}\r",
            turned(port, is_port_reversed),
            turned(starboard, is_starboard_reversed),
        );
        self.say(now, line, &text);
        let [port_ratio, starboard_ratio] = given.map(|it| f64::from(it) / f64::from(MAX_RATIO));
        Thrust {
            utime: now.utime(),
            port_ratio,
            starboard_ratio,
        }
    }
}

/// A ratio in steps of the controller, never more than was asked for.
#[expect(clippy::cast_possible_truncation, reason = "within a thousand")]
fn steps(ratio: f64) -> i32 {
    let most = f64::from(MAX_RATIO);
    // What is a step but for rounding is that step.
    (ratio * most * (1.0 + f64::EPSILON)).clamp(-most, most) as i32
}

impl Actuator for Roboteq {
    const DEVICE: &'static str = "Roboteq motor controller";
    const COMMAND_CHANNEL: &'static str = "thrust";
    const SETPOINT_CHANNEL: &'static str = "thrust.told";
    const HAS_LINE: bool = true;
    type Parameters = RoboteqParameters;
    type Command = Thrust;
    type Setpoint = Thrust;

    fn new(parameters: RoboteqParameters) -> Result<Self, BuildError> {
        let (port, starboard) = (parameters.port_motor, parameters.starboard_motor);
        if port == starboard {
            let why = format!("expected a motor for each side, found {port} for both");
            return Err(why.into());
        }
        let period = Duration::try_from_secs_f64(1.0 / parameters.rate_hz)?;
        if parameters.watchdog < 2 * period {
            let why = format!(
                "expected a watchdog of at least two periods, {:?}, found {:?}: it would stop between two words",
                2 * period,
                parameters.watchdog
            );
            return Err(why.into());
        }
        Ok(Self {
            period,
            parameters,
            splitter: Splitter::new(SHAPE),
            counts: Counts::default(),
            began: None,
            wanted: None,
            is_stopped: false,
            next_say: Time::ZERO,
            next_ask: Time::ZERO,
            owed_since: None,
            set_up_at: Some(Time::ZERO),
            rest: MIN_REST,
            faults: 0,
        })
    }

    fn act(
        &mut self,
        now: Time,
        setpoint: Option<Arrived<'_, Thrust>>,
        line: &mut Line<'_>,
    ) -> Option<Thrust> {
        self.began.get_or_insert(now);
        self.hear(now, line.received());
        self.look(now);
        self.set_up(now, line);
        let is_new = setpoint.is_some_and(|setpoint| self.take(now, setpoint));
        let ends_at = self.wanted.map(|(_, at)| at + self.parameters.timeout);
        let is_over = !self.is_stopped && ends_at.is_some_and(|at| now >= at);
        let is_due = is_new || is_over || now >= self.next_say;
        let told = is_due.then(|| self.command(now, line));
        if is_due {
            self.next_say = now + self.period;
        }
        if now >= self.next_ask {
            self.next_ask = now + ASK_EVERY;
            self.say(now, line, "?FF\r");
        }
        line.wake_at(self.next_say.min(self.next_ask));
        let owed_until = self.owed_since.map(|at| at + self.parameters.answer_within);
        let ends_at = ends_at.filter(|at| *at > now);
        let moments = [ends_at, owed_until, self.set_up_at];
        moments
            .into_iter()
            .flatten()
            .for_each(|at| line.wake_at(at));
        told
    }

    fn condition(&self, now: Time) -> Condition {
        let began = self.began.unwrap_or(now);
        match self.counts.condition(now, began, PATIENCE) {
            Condition::Working if self.faults != 0 => Condition::Erroneous,
            condition @ (Condition::Starting
            | Condition::Working
            | Condition::Erroneous
            | Condition::Silent) => condition,
        }
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

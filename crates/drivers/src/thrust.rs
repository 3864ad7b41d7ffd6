//! Set-points of the two thrusters of a vessel: commands within limits, and none when commands stay away.

use crate::actuator::{Actuator, Arrived};
use crate::counts::{Condition, Counts};
use crate::line::Line;
use bowline_component::{BuildError, Parameters, Time};
use bowline_msgs::Thrust;
use std::time::Duration;

bowline_component::parameters! {
    /// What thrusters can do and may do.
    pub struct ThrustParameters {
        /// The most ahead, ratio of what the thrusters can.
        max_ahead_ratio: f64 = 1.0, within 0.0..=1.0 => live;
        /// The most astern, ratio of what the thrusters can; 0: never astern.
        max_astern_ratio: f64 = 1.0, within 0.0..=1.0 => live;
        /// How fast thrust may grow, ratio a second.
        max_rise_per_s: f64 = 2.0, within 0.01..=1_000_000.0;
        /// How fast it may shrink, ratio a second: a million is at once. Never slower than it may grow.
        max_fall_per_s: f64 = 1_000_000.0, within 0.01..=1_000_000.0;
        /// Commands that are smaller are none: thrusters that do not turn for so little only get hot. A ratio.
        deadband_ratio: f64 = 0.0, within 0.0..=0.2;
        /// Without a new command for so long, thrust goes to none.
        timeout: Duration = Duration::from_millis(250), within Duration::from_millis(10)..=Duration::from_secs(5);
        /// How often set-points are sent, times a second; commands and their end are sent at once.
        rate_hz: f64 = 20.0, within 1.0..=1_000.0;
    }
}

/// From commands to what thrusters do.
///
/// Whatever is commanded, and whether anything is: thrust is within its limits, grows no faster than they allow, and
/// falls to none at the very moment at which the last command is too old. Commands that are no numbers, that waited too
/// long, that were overtaken or that are repeated word for word are refused and counted: none of them keeps a vessel
/// going. Of two commands of one moment the lesser counts, in whatever order they come: a stop is never a repetition.
#[derive(Debug)]
pub struct ThrustDriver {
    parameters: ThrustParameters,
    period: Duration,
    command: Option<Command>,
    setpoint: Pair,
    last: Option<Time>,
    next_tick: Option<Time>,
    counts: Counts,
}

/// Port and starboard.
type Pair = [f64; 2];

#[derive(Clone, Copy, Debug)]
struct Command {
    at: Time,
    utime: i64,
    wanted: Pair,
    is_over: bool,
}

impl ThrustDriver {
    fn take(&mut self, now: Time, Arrived { message, at }: Arrived<'_, Thrust>) {
        let asked = [message.port_ratio, message.starboard_ratio];
        let refusal = match self.command {
            _ if !asked.iter().all(|ratio| ratio.is_finite()) => Some("a command is no number"),
            _ if now.since(at) >= self.parameters.timeout => Some("a command waited too long"),
            Some(last) if message.utime == last.utime => match asked {
                _ if asked.map(f64::to_bits) == last.wanted.map(f64::to_bits) => {
                    Some("a command was repeated")
                }
                _ if !is_lesser(asked, last.wanted) => {
                    Some("a command asks for more than another of the same moment")
                }
                _ => None,
            },
            Some(last) if message.utime < last.utime && !self.is_late(now, last) => {
                Some("a command was overtaken by a later one")
            }
            Some(_) | None => None,
        };
        if let Some(refusal) = refusal {
            self.counts.n_refused += 1;
            self.counts.error(now, refusal);
            return;
        }
        self.counts.good(now);
        self.command = Some(Command {
            at,
            utime: message.utime,
            wanted: asked,
            is_over: false,
        });
    }

    fn is_late(&self, now: Time, command: Command) -> bool {
        now.since(command.at) >= self.parameters.timeout
    }

    /// What is asked for now, within the limits.
    fn wanted(&mut self, now: Time) -> Pair {
        let Some(command) = self.command else {
            return [0.0; 2];
        };
        if self.is_late(now, command) {
            if !command.is_over {
                self.counts.n_timeouts += 1;
                self.counts.error(now, "no command: thrust is none");
            }
            self.command = Some(Command {
                is_over: true,
                ..command
            });
            return [0.0; 2];
        }
        let ThrustParameters {
            max_ahead_ratio,
            max_astern_ratio,
            deadband_ratio,
            ..
        } = self.parameters;
        command.wanted.map(|ratio| {
            if ratio.abs() < deadband_ratio {
                return 0.0;
            }
            ratio.clamp(-max_astern_ratio, max_ahead_ratio)
        })
    }

    fn advance(&mut self, now: Time) -> Pair {
        let elapsed = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.last = Some(now);
        let wanted = self.wanted(now);
        // A host that slept does not make up for it by a leap; a fall may.
        let rise_s = elapsed.min(self.period).as_secs_f64();
        let (rise, fall) = (
            self.parameters.max_rise_per_s * rise_s,
            self.parameters.max_fall_per_s * elapsed.as_secs_f64(),
        );
        for (setpoint, wanted) in self.setpoint.iter_mut().zip(wanted) {
            *setpoint = toward(*setpoint, wanted, rise, fall);
        }
        // What may fall at once is not held up by a step that comes at the same moment as the one before.
        if self.parameters.max_fall_per_s >= AT_ONCE_PER_S {
            for (setpoint, wanted) in self.setpoint.iter_mut().zip(wanted) {
                *setpoint = fallen(*setpoint, wanted);
            }
        }
        self.setpoint
    }
}

/// Whether neither side is asked for more than before, nor for the other way.
fn is_lesser(asked: Pair, before: Pair) -> bool {
    let mut sides = asked.into_iter().zip(before);
    sides.all(|(asked, before)| asked.abs() <= before.abs() && asked * before >= 0.0)
}

/// So fast that it is at once.
const AT_ONCE_PER_S: f64 = 1_000_000.0;

/// As far down as is wanted: to nothing, if the other way is.
fn fallen(from: f64, to: f64) -> f64 {
    if from * to <= 0.0 {
        return if from.abs() > 0.0 { 0.0 } else { from };
    }
    from.abs().min(to.abs()).copysign(from)
}

/// From one ratio to another: what shrinks may shrink by `fall`, what grows may grow by `rise`. On the way to the other
/// side it first shrinks to nothing, and what is left of the time is for growing.
fn toward(from: f64, to: f64, rise: f64, fall: f64) -> f64 {
    if from * to < 0.0 {
        if from.abs() > fall {
            return from - fall.copysign(from);
        }
        let left = if fall > 0.0 {
            1.0 - from.abs() / fall
        } else {
            0.0
        };
        return to.abs().min(rise * left).copysign(to);
    }
    let at_most = if to.abs() < from.abs() { fall } else { rise };
    from + (to - from).clamp(-at_most, at_most)
}

impl Actuator for ThrustDriver {
    const DEVICE: &'static str = "thrusters";
    const COMMAND_CHANNEL: &'static str = "thrust.command";
    const SETPOINT_CHANNEL: &'static str = "thrust";
    const HAS_LINE: bool = false;
    type Parameters = ThrustParameters;
    type Command = Thrust;
    type Setpoint = Thrust;

    fn new(parameters: ThrustParameters) -> Result<Self, BuildError> {
        let (rise, fall) = (parameters.max_rise_per_s, parameters.max_fall_per_s);
        if fall < rise {
            let why = format!(
                "stopping is never slower than going: expected max_fall_per_s of at least max_rise_per_s, {rise}, found {fall}"
            );
            return Err(why.into());
        }
        Ok(Self {
            period: Duration::try_from_secs_f64(1.0 / parameters.rate_hz)?,
            parameters,
            command: None,
            setpoint: [0.0; 2],
            last: None,
            next_tick: None,
            counts: Counts::default(),
        })
    }

    fn act(
        &mut self,
        now: Time,
        command: Option<Arrived<'_, Thrust>>,
        line: &mut Line<'_>,
    ) -> Option<Thrust> {
        if let Some(command) = command {
            self.take(now, command);
        }
        let [port_ratio, starboard_ratio] = self.advance(now);
        // Ticks stay where they are, whatever comes between them.
        let next_tick = match self.next_tick {
            Some(next) if next > now => next,
            Some(next) if now.since(next) < self.period => next + self.period,
            Some(_) | None => now + self.period,
        };
        self.next_tick = Some(next_tick);
        line.wake_at(next_tick);
        if let Some(command) = self.command.filter(|command| !command.is_over) {
            line.wake_at(command.at + self.parameters.timeout);
        }
        Some(Thrust {
            utime: now.utime(),
            port_ratio,
            starboard_ratio,
        })
    }

    fn condition(&self, now: Time) -> Condition {
        match self.command {
            None => Condition::Starting,
            Some(command) if self.is_late(now, command) => Condition::Silent,
            Some(_) => Condition::Working,
        }
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

#[cfg(test)]
mod tests;

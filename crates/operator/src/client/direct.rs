//! Direct control: set-points for the actuators, sent only while a control is held and the vehicle answers.

use super::{Client, Now, Outgoing, Payload};
use bowline_msgs::Refusal;

/// Between set-points: thirty a second follow a person's hands, and eight may be lost before the gate's default bound ends.
const SEND_EVERY_MS: i64 = 33;
/// How much earlier than it is due a set-point may be sent: timers are coarse, and the rate is kept on average.
const EARLY_MS: i64 = 5;
/// Neutral input is sent for so much longer than the gate demands: the gate counts from the first one that arrives.
pub(super) const NEUTRAL_MARGIN_MS: i64 = 150;
/// After a control is released neutral set-points are sent for so long: some may be lost.
const TRAIL_FOR_MS: i64 = 300;
/// A token older than so many times the greatest age of a command means that the vehicle does not answer.
pub(super) const MAX_TOKEN_AGES: i64 = 2;
/// A control that is moved by less than this part of its range is at rest.
const REST: f64 = 1e-3;

/// How far direct control is.
///
/// ```text
///   Off ── engage ──▶ Arming ── at rest for the neutral time ──▶ Ready ── held ──▶ Driving
///    ▲                  ▲                                          ▲  ▲              │ released
///    │                  └── gate refuses: neutral ─────────────────┤  │              ▼
///    └── stopped, lease lost, away, held up, refused ──────────────┘  └── time ── Trailing ── held ──▶ Driving
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drive {
    /// Nothing is sent.
    #[default]
    Off,
    /// Neutral set-points are sent; a control that is held delays the end of it.
    Arming,
    /// Nothing is sent until a control is held.
    Ready,
    /// The set-point of the control is sent.
    Driving,
    /// Neutral set-points are sent after the control was released.
    Trailing,
}

/// The state of direct control.
#[derive(Clone, Debug, Default)]
pub struct Direct {
    state: Drive,
    reason: String,
    rest_since_ms: Option<i64>,
    trail_since_ms: i64,
    due_ms: Option<i64>,
    ticked_ms: Option<i64>,
    /// Set-points since it was engaged have larger numbers.
    after_sequence: i64,
}

/// What a person does with the controls at a tick.
#[derive(Clone, Copy, Debug)]
struct Controls {
    is_held: bool,
    /// Whether they ask for no motion; so they do where nothing is held.
    is_at_rest: bool,
}

impl Direct {
    /// How far it is.
    #[must_use]
    pub fn state(&self) -> Drive {
        self.state
    }

    /// Why it is off or waits, for people; empty without a reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Begins, unless there is a reason not to.
    pub(super) fn engage(&mut self, why_not: &str, after_sequence: i64) {
        let state = match why_not {
            "" => Drive::Arming,
            _ => Drive::Off,
        };
        self.enter(state, why_not);
        self.rest_since_ms = None;
        self.after_sequence = after_sequence;
    }

    pub(super) fn disengage(&mut self, reason: &str) {
        if self.state != Drive::Off {
            self.enter(Drive::Off, reason);
        }
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal, passes: bool) {
        if passes || self.state == Drive::Off || refusal.by.sequence <= self.after_sequence {
            return;
        }
        if refusal.reason != "neutral" {
            self.enter(Drive::Off, &format!("refused: {}", refusal.text));
        } else if self.state != Drive::Arming {
            self.enter(Drive::Arming, "let go of the controls first");
            self.rest_since_ms = None;
        }
    }

    fn enter(&mut self, state: Drive, reason: &str) {
        self.state = state;
        reason.clone_into(&mut self.reason);
    }

    fn step(&mut self, controls: Controls, neutral_for_ms: i64, now_ms: i64) {
        let Controls {
            is_held,
            is_at_rest,
        } = controls;
        match self.state {
            Drive::Arming if is_at_rest => {
                let since_ms = *self.rest_since_ms.get_or_insert(now_ms);
                self.reason.clear();
                if now_ms - since_ms >= neutral_for_ms {
                    self.enter(Drive::Ready, "");
                }
            }
            Drive::Arming => {
                self.rest_since_ms = None;
                self.enter(Drive::Arming, "let go of the controls first");
            }
            Drive::Driving if !is_held => {
                self.trail_since_ms = now_ms;
                self.enter(Drive::Trailing, "");
            }
            Drive::Ready | Drive::Trailing if !is_at_rest => self.enter(Drive::Driving, ""),
            Drive::Trailing if now_ms - self.trail_since_ms >= TRAIL_FOR_MS => {
                self.enter(Drive::Ready, "");
            }
            Drive::Off | Drive::Ready | Drive::Driving | Drive::Trailing => {}
        }
    }

    /// Whether a set-point is due, and when the next one will be. What was missed is not made up for.
    fn is_due(&mut self, now_ms: i64) -> bool {
        let due_ms = self.due_ms.unwrap_or(now_ms);
        if now_ms < due_ms - EARLY_MS {
            return false;
        }
        let from_ms = match now_ms - due_ms < SEND_EVERY_MS {
            true => due_ms,
            false => now_ms,
        };
        self.due_ms = Some(from_ms + SEND_EVERY_MS);
        true
    }
}

impl Client {
    /// Why direct control cannot begin; empty if it can.
    pub(super) fn why_no_direct(&self) -> &'static str {
        match &self.rules {
            None => "the vehicle's rules were not received",
            Some(rules) if rules.axes.is_empty() => "the vehicle cannot be driven directly",
            Some(_) if !self.is_holder() => "take control first",
            Some(_) => "",
        }
    }

    pub(super) fn send_direct(
        &mut self,
        setpoint: Option<&[f64]>,
        away: &str,
        now: Now,
    ) -> Option<Outgoing> {
        let last_ms = self.direct.ticked_ms.replace(now.ms);
        let timing = self.timing()?;
        let pause_ms = last_ms.map_or(0, |last| now.ms - last);
        if pause_ms > timing.max_pause_ms {
            self.direct.disengage("commands were held up");
        }
        self.check_direct(away, timing.max_token_age_ms, now);
        if self.direct.state == Drive::Off {
            return None;
        }
        let axes = self.axes(setpoint);
        let controls = Controls {
            is_held: axes.is_some(),
            is_at_rest: axes.as_ref().is_none_or(|axes| self.is_at_rest(axes)),
        };
        let neutral_for_ms = timing.neutral_for_ms;
        self.direct.step(controls, neutral_for_ms, now.ms);
        if self.direct.state == Drive::Ready || !self.direct.is_due(now.ms) {
            return None;
        }
        let axes = axes.filter(|_| self.direct.state == Drive::Driving);
        let rules = self.rules.as_ref()?;
        let values = axes.unwrap_or_else(|| vec![0.0; rules.axes.len()]);
        let command = self.session.direct(now.utime, &rules.actuation, &values);
        Some(Outgoing::new("direct", Payload::Direct(command), true))
    }

    fn check_direct(&mut self, away: &str, max_token_age_ms: i64, now: Now) {
        let token_age_ms = self.token_ms.map(|it| now.ms - it);
        let is_stopped = self.state.as_ref().is_none_or(|it| it.is_stopped);
        let reason = if !away.is_empty() {
            away
        } else if is_stopped {
            "the vehicle is stopped"
        } else if token_age_ms.is_none_or(|age| age > max_token_age_ms) {
            "the vehicle does not answer"
        } else {
            return;
        };
        self.direct.disengage(reason);
    }

    /// The set-point within the limits of the rules; what is no number is neutral.
    fn axes(&self, setpoint: Option<&[f64]>) -> Option<Vec<f64>> {
        let rules = self.rules.as_ref()?;
        let values = setpoint?.iter().copied().chain(std::iter::repeat(0.0));
        let within = values.zip(&rules.axes).map(|(value, axis)| {
            let value = if value.is_finite() { value } else { 0.0 };
            value.max(axis.min).min(axis.max)
        });
        Some(within.collect())
    }

    fn is_at_rest(&self, values: &[f64]) -> bool {
        let axes = self.rules.iter().flat_map(|it| &it.axes);
        let mut moved = axes.zip(values);
        moved.all(|(axis, value)| value.abs() < REST * axis.max.abs().max(axis.min.abs()))
    }
}

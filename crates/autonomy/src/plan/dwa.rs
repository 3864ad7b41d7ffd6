//! A plain dynamic-window driver (Fox, Burgard and Thrun, 1997): the baseline beside the planner.
//!
//! In: where the vehicle is, how fast, what is blocked nearby, and the goal. Out: the control, among those that can be had
//! within a control period, that is best by heading to the goal, clearance and speed. It looks no farther than an arc.

use super::model::{Action, Control};
use super::sweep::Sweep;
use crate::{Place, within_half_turn};

/// How the driver judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRule {
    /// Fastest forward.
    pub max_speed_mps: f64,
    /// Fastest turn.
    pub max_turn_radps: f64,
    /// How it speeds up and brakes, metres a second squared.
    pub accelerate_mps2: f64,
    /// How it changes its turn, radians a second squared.
    pub accelerate_radps2: f64,
    /// Time between two decisions, seconds.
    pub period_s: f64,
    /// How far into the future an arc is looked at, seconds.
    pub horizon_s: f64,
    /// What counts how much: looking at the goal, room, speed.
    pub weights: [f64; 3],
}

impl Default for WindowRule {
    fn default() -> Self {
        Self {
            max_speed_mps: 2.0,
            max_turn_radps: 2.0,
            accelerate_mps2: 2.0,
            accelerate_radps2: 6.0,
            period_s: 0.05,
            horizon_s: 1.5,
            weights: [0.8, 0.6, 0.25],
        }
    }
}

/// Samples of speeds and of turns.
const N_SPEEDS: u32 = 9;
const N_TURNS: u32 = 21;

/// What to do now; standing still if nothing is free.
#[must_use]
pub fn drive_window(
    (place, now): (Place, Control),
    goal_m: [f64; 2],
    sweep: &Sweep<'_>,
    rule: &WindowRule,
) -> Control {
    let speeds = window(
        now.speed_mps,
        rule.accelerate_mps2 * rule.period_s,
        (0.0, rule.max_speed_mps),
    );
    let turns = window(
        now.turn_radps,
        rule.accelerate_radps2 * rule.period_s,
        (-rule.max_turn_radps, rule.max_turn_radps),
    );
    let mut best = (f64::NEG_INFINITY, Control::default());
    for speed_mps in samples(speeds, N_SPEEDS) {
        for turn_radps in samples(turns, N_TURNS) {
            let control = Control {
                speed_mps,
                turn_radps,
            };
            let score = judge(place, control, goal_m, sweep, rule);
            if score.is_some_and(|score| score > best.0) {
                best = (score.unwrap_or_default(), control);
            }
        }
    }
    best.1
}

fn window(now: f64, reach: f64, (low, high): (f64, f64)) -> (f64, f64) {
    (
        (now - reach).clamp(low, high),
        (now + reach).clamp(low, high),
    )
}

fn samples((low, high): (f64, f64), n: u32) -> impl Iterator<Item = f64> {
    (0..n).map(move |nth| low + (high - low) * f64::from(nth) / f64::from(n - 1))
}

/// How good a control is; none if the vehicle could not stop before it touches something.
fn judge(
    place: Place,
    control: Control,
    goal_m: [f64; 2],
    sweep: &Sweep<'_>,
    rule: &WindowRule,
) -> Option<f64> {
    let action = Action {
        control,
        duration_s: rule.horizon_s,
    };
    let free_s = sweep.free_s(&place, &action);
    let free_m = free_s * control.speed_mps;
    let stop_s = control.speed_mps / rule.accelerate_mps2 + 2.0 * rule.period_s;
    let is_safe = free_s >= rule.horizon_s || free_m / 2.0 > control.speed_mps * stop_s / 2.0;
    if !is_safe {
        return None;
    }
    let end = control.advance(&place, free_s.min(rule.horizon_s));
    let [forward_m, left_m] = end.see(goal_m);
    let off_rad = within_half_turn(left_m.atan2(forward_m)).abs();
    let room_m = sweep.room_m(&end).min(0.5);
    let clear = free_s / rule.horizon_s * (0.5 + room_m);
    let [heading, clearance, speed] = rule.weights;
    Some(
        heading * (1.0 - off_rad / std::f64::consts::PI)
            + clearance * clear
            + speed * control.speed_mps / rule.max_speed_mps,
    )
}

//! A plain dynamic-window driver (Fox, Burgard and Thrun, 1997): the baseline beside the pilot.
//!
//! In: where the vehicle is, how fast, what is blocked nearby, and how far it is to the goal around that. Out: the control,
//! among those that can be had within a control period, that is best by how near it leads, room and speed. It looks no
//! farther than an arc: what lies beyond is in the distances to the goal, as in the dynamic window of ROS's `move_base`.

use super::model::{Action, Control};
use super::sweep::Sweep;
use crate::Place;

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
    /// How far before the vehicle's origin is looked at how near the goal is, metres: so it turns to where it should go.
    pub ahead_m: f64,
    /// Room from which on more is no better, metres.
    pub comfort_m: f64,
    /// What counts how much: getting nearer to the goal, room, speed.
    pub weights: [f64; 3],
}

/// Samples of speeds and of turns.
const N_SPEEDS: u32 = 9;
const N_TURNS: u32 = 21;

/// What to do now; standing still if nothing is free. `rest_m` is how far it is from a point to the goal.
#[must_use]
pub fn drive_window(
    (place, now): (Place, Control),
    rest_m: &mut dyn FnMut([f64; 2]) -> f64,
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
            let score = judge(place, control, rest_m, sweep, rule);
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
    rest_m: &mut dyn FnMut([f64; 2]) -> f64,
    sweep: &Sweep<'_>,
    rule: &WindowRule,
) -> Option<f64> {
    let action = Action {
        control,
        duration_s: rule.horizon_s,
    };
    let free_s = sweep.free_s(&place, &action);
    // It goes on for two periods before it brakes, and then half as fast on average.
    let brake_s = control.speed_mps / rule.accelerate_mps2;
    let turn_s = control.turn_radps.abs() / rule.accelerate_radps2;
    let stop_s = 2.0 * rule.period_s + brake_s.max(turn_s) / 2.0;
    if free_s < stop_s.min(rule.horizon_s) {
        return None;
    }
    let end = control.advance(&place, free_s);
    // Where something is right before it, that leads nowhere.
    let mut rest_before_m = |at: Place| {
        let here_m = rest_m(at.position_m());
        rest_m(at.point([rule.ahead_m, 0.0])).min(here_m + rule.ahead_m)
    };
    let nearer_m = rest_before_m(place) - rest_before_m(end);
    let room_m = sweep.room_m(&end).clamp(0.0, rule.comfort_m);
    let [nearer, room, speed] = rule.weights;
    Some(
        nearer * nearer_m / (rule.max_speed_mps * rule.horizon_s)
            + room * room_m / rule.comfort_m.max(1e-3)
            + speed * control.speed_mps / rule.max_speed_mps,
    )
}

//! Along a plan, as fast as is safe: from plan, place and map to a speed and a turn rate.
//!
//! In: a track, where the vehicle is and how fast, distances to what is blocked. Out: a control whose arc is free for longer
//! than the vehicle needs to stop; or that there is none.
//!
//! The arc through a point ahead on the track (pure pursuit) is taken if it is free for long enough, or else the one beside it
//! that is. Speed is limited by the free length of the arc and by the room on both sides.

use super::model::{Action, Control, Model, Spot};
use super::sweep::Sweep;
use super::track::Track;
use crate::Place;

/// How to drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveRule {
    /// What the vehicle can do.
    pub model: Model,
    /// How it brakes, metres a second squared.
    pub brake_mps2: f64,
    /// How long a command takes to have an effect, seconds.
    pub reaction_s: f64,
    /// How far ahead it looks on the track at least, metres.
    pub ahead_m: f64,
    /// And how much farther for each metre a second, seconds.
    pub ahead_s: f64,
    /// Slower than this it does not drive on, metres a second.
    pub creep_mps: f64,
    /// How fast it may be for each metre of room beside it, 1/second, beyond `creep_mps`.
    pub speed_per_room: f64,
}

/// Where a vehicle is on a track.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The number of the place of the track that it is at.
    pub nth: usize,
    /// How far it is beside it, metres.
    pub off_m: f64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// Go on like this.
    Go(Control),
    /// Nothing along the track is free: stand, and plan again.
    Blocked,
    /// The track ends here.
    Done,
}

/// How far beside the best arc others are tried, 1/metres.
const ASIDE_PER_M: [f64; 9] = [0.0, 0.2, -0.2, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0];
/// A point ahead that is farther aside than this is turned to on the spot, radians.
const SPOT_RAD: f64 = 0.7;

/// What to do to follow a track. `progress` is kept by the caller from one call to the next.
#[must_use]
pub fn drive_plan(
    track: &Track,
    progress: &mut Progress,
    (place, speed_mps): (Place, f64),
    sweep: &Sweep<'_>,
    rule: &DriveRule,
) -> Drive {
    let Some(last) = track.places().len().checked_sub(1) else {
        return Drive::Blocked;
    };
    progress.nth = track.nearest(place, progress.nth, 1.5);
    progress.off_m = track.places()[progress.nth].apart(place).0;
    if progress.nth >= last {
        return Drive::Done;
    }
    let ahead_m = rule.ahead_m + rule.ahead_s * speed_mps.abs();
    let ahead = track.ahead(progress.nth, ahead_m);
    let backward = track.is_backward(ahead);
    let [forward_m, left_m] = place.see(track.places()[ahead].position_m());
    let bearing_rad = if backward {
        (-left_m).atan2(-forward_m)
    } else {
        left_m.atan2(forward_m)
    };
    let wants_spot = bearing_rad.abs() > SPOT_RAD || forward_m.hypot(left_m) < 1e-3;
    if rule.model.spot == Spot::Turns && wants_spot {
        let look_rad =
            crate::within_half_turn(track.places()[ahead].heading_rad - place.heading_rad);
        let turn_rad = if forward_m.hypot(left_m) < 0.05 {
            look_rad
        } else {
            bearing_rad
        };
        return spot_turn((place, speed_mps), turn_rad, sweep, rule);
    }
    let wanted = 2.0 * left_m / (forward_m * forward_m + left_m * left_m).max(1e-6);
    let limits = Limits {
        sign: if backward { -1.0 } else { 1.0 },
        left_on_track_m: track.along_m(ahead) - track.along_m(progress.nth),
        stop_m: stopping_m(speed_mps, rule),
    };
    best_arc(place, wanted, &limits, sweep, rule)
}

struct Limits {
    /// Backward negative.
    sign: f64,
    left_on_track_m: f64,
    stop_m: f64,
}

fn stopping_m(speed_mps: f64, rule: &DriveRule) -> f64 {
    speed_mps * speed_mps / (2.0 * rule.brake_mps2) + speed_mps.abs() * rule.reaction_s
}

fn best_arc(
    place: Place,
    wanted: f64,
    limits: &Limits,
    sweep: &Sweep<'_>,
    rule: &DriveRule,
) -> Drive {
    let fastest_mps = if limits.sign < 0.0 {
        rule.model.reverse_mps
    } else {
        rule.model.forward_mps
    };
    let far_m = stopping_m(fastest_mps, rule) + 0.3;
    let enough_m = limits
        .left_on_track_m
        .max(limits.stop_m)
        .max(0.2)
        .min(far_m);
    let mut best: Option<(f64, f64)> = None;
    for aside in ASIDE_PER_M {
        let most = rule.model.max_curvature_per_m;
        let curvature = (wanted + aside).clamp(-most, most);
        let free_m = free_m(place, curvature, limits.sign * far_m, sweep, rule);
        if best.is_none_or(|(_, most_m)| free_m > most_m + 0.02) {
            best = Some((curvature, free_m));
        }
        if free_m >= enough_m {
            break;
        }
    }
    let Some((curvature, free_m)) = best else {
        return Drive::Blocked;
    };
    let speed_mps = fastest_mps.min(safe_mps(free_m, rule));
    let turning_mps = rule.model.max_turn_radps / curvature.abs().max(1e-9);
    let room_mps = room_mps(place, curvature, limits.sign, sweep, rule);
    let speed_mps = speed_mps.min(turning_mps).min(room_mps);
    if speed_mps < rule.creep_mps * 0.5 {
        return Drive::Blocked;
    }
    let speed_mps = limits.sign * speed_mps;
    Drive::Go(Control {
        speed_mps,
        turn_radps: speed_mps * curvature,
    })
}

/// How far an arc is free, metres.
fn free_m(place: Place, curvature: f64, length_m: f64, sweep: &Sweep<'_>, rule: &DriveRule) -> f64 {
    let action = rule.model.arc(curvature, length_m);
    sweep.free_s(&place, &action) * action.control.speed_mps.abs()
}

/// The speed from which the vehicle stops within a distance, metres a second: v r + v²/2b = d.
fn safe_mps(free_m: f64, rule: &DriveRule) -> f64 {
    let DriveRule {
        brake_mps2: b,
        reaction_s: r,
        ..
    } = *rule;
    let d = (free_m - 0.03).max(0.0);
    b * ((r * r + 2.0 * d / b).sqrt() - r)
}

/// The speed for the room beside the vehicle, here and soon.
fn room_mps(place: Place, curvature: f64, sign: f64, sweep: &Sweep<'_>, rule: &DriveRule) -> f64 {
    let rooms = [0.0, 0.25, 0.5].map(|along_m: f64| {
        let soon = place.along_arc(curvature, sign * along_m);
        // Where it would touch, the free length limits it already.
        let room_m = sweep.room_m(&soon);
        if room_m > 0.0 { room_m } else { f64::INFINITY }
    });
    let room_m = rooms.into_iter().fold(f64::INFINITY, f64::min);
    rule.creep_mps + rule.speed_per_room * room_m
}

fn spot_turn(
    (place, speed_mps): (Place, f64),
    turn_rad: f64,
    sweep: &Sweep<'_>,
    rule: &DriveRule,
) -> Drive {
    // First stop, then turn.
    if speed_mps.abs() > 0.15 {
        return Drive::Go(Control::default());
    }
    let other_rad = turn_rad - std::f64::consts::TAU.copysign(turn_rad);
    let free = [turn_rad, other_rad].into_iter().find(|turn_rad| {
        let action: Action = rule.model.turn(*turn_rad);
        sweep.is_free_along(&place, &action)
    });
    let Some(turn_rad) = free else {
        return Drive::Blocked;
    };
    // Slower towards the end, so that it does not overshoot.
    let turn_radps = (2.5 * turn_rad).clamp(-rule.model.max_turn_radps, rule.model.max_turn_radps);
    Drive::Go(Control {
        speed_mps: 0.0,
        turn_radps,
    })
}

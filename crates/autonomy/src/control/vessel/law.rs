//! The law that a vessel is steered by.
//!
//! # Gains, and why
//!
//! Thrust comes `lag` later than it is asked for, a tick and a pose that is a tick old later still: `delay = lag + 2
//! period`. A loop around that keeps well clear of ringing with a gain of `1 / (2 delay)`; that is the gain of the rate of
//! turn. The heading around it gets a third of that, so that the inner loop is done before the outer one asks again, and so
//! does the speed. What drag takes at the wanted speed and rate is given beforehand, from the hull's own figures, so that
//! the gains only work on what is left.
//!
//! # Water that moves
//!
//! No sensor measures the vessel's speed through the water. It is worked out from what the thrusters give; the difference from
//! the speed over ground, averaged over some seconds and kept along east and north, is how water and wind set the vessel.
//! Because it does not turn with the vessel it is still right after a turn at the end of a lane, where an integral of the
//! way off the lane would have to be learned anew.
//!
//! Legs are followed by pointing at a place ahead on the leg, with what is known of the drift taken into account, and a
//! small integral for the rest. A vessel that cannot go sideways keeps its station by pointing into the drift.

use super::craft::Craft;
use crate::{Place, within_half_turn};
use bowline_msgs::Guidance;

/// How hard a vessel is steered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VesselSettings {
    /// Between two decisions, seconds.
    pub period_s: f64,
    /// How far ahead it looks at least, metres.
    pub lookahead_m: f64,
    /// The same by time, seconds.
    pub lookahead_s: f64,
    /// How much the way off a leg is added up.
    pub integral: f64,
    /// Within so much of its station it does not mind, metres.
    pub station_m: f64,
    /// How fast it goes back there, metres a second.
    pub station_mps: f64,
    /// How long it takes to learn the drift, seconds.
    pub drift_s: f64,
}

/// What a vessel does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Where it is.
    pub place: Place,
    /// How it moves over ground, along east and north, metres a second.
    pub velocity_mps: [f64; 2],
    /// How it turns, radians a second, to the left positive.
    pub rate_radps: f64,
}

/// How fast it goes back to its station for each metre, 1/s: it is there in some ten seconds.
const STATION_GAIN_PER_S: f64 = 0.2;
/// Slower water is as good as still: a bow that follows it would wander, metres a second.
const STILL_MPS: f64 = 0.12;
/// The most that a bow is turned off the course to hold against drift, radians.
const MAX_CRAB_RAD: f64 = 1.2;
/// With the bow further off than this nothing is learned of what pushes it off the leg, radians.
const LEARNING_RAD: f64 = 0.5;

/// Steers a vessel.
#[derive(Clone, Debug)]
pub struct VesselLaw {
    craft: Craft,
    settings: VesselSettings,
    rate_gain_per_s: f64,
    heading_gain_per_s: f64,
    speed_gain_per_s: f64,
    max_rate_radps: f64,
    /// How water and wind set it, along east and north, metres a second.
    drift_mps: [f64; 2],
    /// Through the water, by what the thrusters gave, metres a second.
    through_mps: f64,
    /// What was last asked for.
    asked: [f64; 2],
    leg: Option<[[f64; 2]; 2]>,
    /// The way off the leg, added up, metres.
    off_m: f64,
    /// Of the moment, newton metres: what turns it all the time.
    moment_nm: f64,
    /// Where the bow points while it keeps its station in still water, radians.
    held_rad: Option<f64>,
}

impl VesselLaw {
    /// At rest, in still water.
    #[must_use]
    pub fn new(craft: Craft, settings: VesselSettings) -> Self {
        let delay_s = craft.lag_s + 2.0 * settings.period_s;
        let rate_gain_per_s = 1.0 / (2.0 * delay_s);
        Self {
            // Nine tenths: the rest is for what comes in between.
            max_rate_radps: 0.9 * craft.max_rate_radps(),
            craft,
            settings,
            rate_gain_per_s,
            heading_gain_per_s: rate_gain_per_s / 3.0,
            speed_gain_per_s: rate_gain_per_s / 3.0,
            drift_mps: [0.0; 2],
            through_mps: 0.0,
            asked: [0.0; 2],
            leg: None,
            off_m: 0.0,
            moment_nm: 0.0,
            held_rad: None,
        }
    }

    /// How water and wind set the vessel, along east and north, metres a second.
    #[must_use]
    pub const fn drift_mps(&self) -> [f64; 2] {
        self.drift_mps
    }

    /// Learns from how the vessel moves, with what its thrusters gave: what was commanded where that is not reported.
    pub fn observe(&mut self, elapsed_s: f64, state: &State, given: Option<[f64; 2]>) {
        let push_n = self.craft.push_n(given.unwrap_or(self.asked));
        let gained_mps =
            (push_n - self.craft.drag_n(self.through_mps)) / self.craft.surge_kg * elapsed_s;
        self.through_mps += gained_mps;
        let (sin, cos) = state.place.heading_rad.sin_cos();
        let share = (elapsed_s / self.settings.drift_s).min(1.0);
        for (axis, bow) in [cos, sin].into_iter().enumerate() {
            let set_mps = state.velocity_mps[axis] - bow * self.through_mps;
            self.drift_mps[axis] += share * (set_mps - self.drift_mps[axis]);
        }
    }

    /// Forgets what it was at.
    pub fn rest(&mut self) {
        self.asked = [0.0; 2];
        self.leg = None;
        self.off_m = 0.0;
        self.moment_nm = 0.0;
        self.held_rad = None;
    }

    /// What the thrusters should give: port and starboard, from -1 to 1.
    pub fn steer(&mut self, elapsed_s: f64, state: &State, guidance: &Guidance) -> [f64; 2] {
        let wanted = match guidance.kind {
            Guidance::HEADING => Some((guidance.heading_rad, guidance.speed_mps)),
            Guidance::LEG => Some(self.follow(elapsed_s, state, guidance)),
            Guidance::STATION => self.stay(state, guidance.to_m),
            // REST, and unknown kinds.
            _ => None,
        };
        if guidance.kind != Guidance::LEG {
            self.leg = None;
            self.off_m = 0.0;
        }
        if guidance.kind != Guidance::STATION {
            self.held_rad = None;
        }
        let Some((heading_rad, speed_mps)) = wanted else {
            self.asked = [0.0; 2];
            self.moment_nm = 0.0;
            return self.asked;
        };
        self.asked = self.close(elapsed_s, state, heading_rad, speed_mps);
        self.asked
    }

    /// Where to point and how fast to go through the water to get along a leg.
    fn follow(&mut self, elapsed_s: f64, state: &State, guidance: &Guidance) -> (f64, f64) {
        let Guidance {
            from_m,
            to_m,
            speed_mps,
            ..
        } = *guidance;
        if self.leg != Some([from_m, to_m]) {
            self.leg = Some([from_m, to_m]);
            self.off_m = 0.0;
        }
        let course_rad = (to_m[1] - from_m[1]).atan2(to_m[0] - from_m[0]);
        let leg = Place::new(from_m[0], from_m[1], course_rad);
        let [_, cross_m] = leg.see([state.place.x_m, state.place.y_m]);
        let [x_mps, y_mps] = state.velocity_mps;
        let ahead_m = self
            .settings
            .lookahead_m
            .max(self.settings.lookahead_s * x_mps.hypot(y_mps));
        let total_m = cross_m + self.settings.integral * self.off_m;
        let toward_rad = course_rad - (total_m / ahead_m).atan();
        let heading_rad = self.against_drift(toward_rad, speed_mps);
        let is_on_it = within_half_turn(heading_rad - state.place.heading_rad).abs() < LEARNING_RAD;
        if is_on_it {
            // The nearer to the leg, the more counts: far off there is nothing to be learned.
            self.off_m += elapsed_s * ahead_m * cross_m / (ahead_m * ahead_m + total_m * total_m);
        }
        (heading_rad, speed_mps)
    }

    /// Where to point so that the vessel goes that way, at a speed through the water.
    fn against_drift(&self, course_rad: f64, speed_mps: f64) -> f64 {
        let (sin, cos) = course_rad.sin_cos();
        let [x_mps, y_mps] = self.drift_mps;
        let left_mps = cos * y_mps - sin * x_mps;
        let most = MAX_CRAB_RAD.sin();
        let crab = (left_mps / speed_mps.max(STILL_MPS))
            .clamp(-most, most)
            .asin();
        course_rad - crab
    }

    /// Where to point and how fast to go to stay at a place; nothing where it does not matter.
    fn stay(&mut self, state: &State, at_m: [f64; 2]) -> Option<(f64, f64)> {
        let off_m = [at_m[0] - state.place.x_m, at_m[1] - state.place.y_m];
        let far_m = off_m[0].hypot(off_m[1]);
        let beyond_m = (far_m - self.settings.station_m).max(0.0);
        let back_mps = (STATION_GAIN_PER_S * beyond_m).min(self.settings.station_mps);
        // Through the water: back to the place, and against what sets it off.
        let through = |axis: usize| back_mps * off_m[axis] / far_m.max(1e-3) - self.drift_mps[axis];
        let [x_mps, y_mps] = [through(0), through(1)];
        let speed_mps = x_mps.hypot(y_mps);
        if speed_mps >= STILL_MPS {
            let heading_rad = y_mps.atan2(x_mps);
            self.held_rad = Some(heading_rad);
            return Some((heading_rad, speed_mps));
        }
        // As good as there, in water that is as good as still.
        let held_rad = *self.held_rad.get_or_insert(state.place.heading_rad);
        let is_off = within_half_turn(held_rad - state.place.heading_rad).abs() > LEARNING_RAD;
        is_off.then_some((held_rad, 0.0))
    }

    /// Closes the loops around heading and speed.
    fn close(
        &mut self,
        elapsed_s: f64,
        state: &State,
        heading_rad: f64,
        speed_mps: f64,
    ) -> [f64; 2] {
        let off_rad = within_half_turn(heading_rad - state.place.heading_rad);
        let most = self.max_rate_radps;
        let rate_radps = (self.heading_gain_per_s * off_rad).clamp(-most, most);
        let off_radps = rate_radps - state.rate_radps;
        let moment_nm = self.craft.yaw_drag_nm(rate_radps)
            + self.craft.yaw_kgm2 * self.rate_gain_per_s * off_radps
            + self.moment_nm;
        // With the bow off the wanted heading, the way ahead is not the way to go.
        let speed_mps = speed_mps * off_rad.cos().max(0.0).powi(2);
        let (sin, cos) = state.place.heading_rad.sin_cos();
        let over: [f64; 2] = std::array::from_fn(|at| state.velocity_mps[at] - self.drift_mps[at]);
        let through_mps = cos * over[0] + sin * over[1];
        let push_n = self.craft.drag_n(speed_mps)
            + self.craft.surge_kg * self.speed_gain_per_s * (speed_mps - through_mps);
        let ratios = self.craft.ratios(push_n, moment_nm);
        self.learn_moment(elapsed_s, off_rad, moment_nm);
        ratios
    }

    /// What turns the vessel all the time is learned only while the thrusters can give what is asked for, and the bow is
    /// about right: otherwise it would be learned from what is being done already.
    fn learn_moment(&mut self, elapsed_s: f64, off_rad: f64, moment_nm: f64) {
        let most_nm = (self.craft.ahead_n + self.craft.astern_n) * self.craft.lever_m;
        if moment_nm.abs() >= most_nm || off_rad.abs() > LEARNING_RAD {
            return;
        }
        let gain = self.craft.yaw_kgm2 * self.rate_gain_per_s * self.heading_gain_per_s;
        // Slow against the heading: a tenth of it. Never more than a quarter of what the thrusters can.
        let learned_nm =
            self.moment_nm + 0.1 * self.heading_gain_per_s * gain * off_rad * elapsed_s;
        self.moment_nm = learned_nm.clamp(-most_nm / 4.0, most_nm / 4.0);
    }
}

//! A plan as a line to follow: places at even distances, and where on it a vehicle is.

use super::model::Action;
use super::search::Plan;
use crate::Place;

/// How far places of a track are apart, metres, and radians where it turns on the spot.
const APART: f64 = 0.05;
/// Places that are nearer to each other than this along a track are at one spot, metres.
const STILL_M: f64 = 1e-6;
/// More places than this are left out: followers plan again long before.
const MAX_PLACES: usize = 20_000;

/// Places along a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    places: Vec<Place>,
    /// Metres from the start to each place, either direction.
    along_m: Vec<f64>,
    /// Whether the vehicle goes backward to get to each place.
    is_backward: Vec<bool>,
}

impl Track {
    /// Along a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self::along(&plan.states, &plan.actions)
    }

    /// Along actions, each with where it begins.
    #[must_use]
    pub fn along(states: &[Place], actions: &[Action]) -> Self {
        let mut track = Self::default();
        if let Some(first) = states.first() {
            track.push(*first, 0.0, false);
        }
        for (from, action) in states.iter().zip(actions) {
            let n = super::field::whole(
                ((action.length_m() + action.turned_rad().abs() * APART) / APART).min(1e4),
            ) + 1;
            let from_m = track.length_m();
            for nth in 1..=n {
                let part = nth as f64 / n as f64;
                let place = action.control.advance(from, action.duration_s * part);
                let is_backward = action.control.speed_mps < 0.0;
                track.push(place, from_m + action.length_m() * part, is_backward);
            }
        }
        track
    }

    fn push(&mut self, place: Place, along_m: f64, is_backward: bool) {
        if self.places.len() < MAX_PLACES {
            self.places.push(place);
            self.along_m.push(along_m);
            self.is_backward.push(is_backward);
        }
    }

    /// How long it is, metres.
    #[must_use]
    pub fn length_m(&self) -> f64 {
        self.along_m.last().copied().unwrap_or_default()
    }

    /// All its places.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Metres from its start to a place of it, by number.
    #[must_use]
    pub fn along_m(&self, nth: usize) -> f64 {
        self.along_m.get(nth).copied().unwrap_or_default()
    }

    /// Whether one goes backward to a place of it, by number.
    #[must_use]
    pub fn is_backward(&self, nth: usize) -> bool {
        self.is_backward.get(nth).copied().unwrap_or_default()
    }

    /// The first turn on the spot between two places of it that is sharper than this: the numbers of the places where it
    /// begins and ends.
    #[must_use]
    pub fn turn_between(&self, from: usize, to: usize, sharper_rad: f64) -> Option<[usize; 2]> {
        let to = to.min(self.places.len().saturating_sub(1));
        let mut first = from;
        while first < to {
            let is_here = |nth: &usize| self.along_m(*nth) - self.along_m(first) < STILL_M;
            // A turn that has begun before `to` ends where it ends.
            let last = (first..self.places.len()).take_while(is_here).last()?;
            let (_, turned_rad) = self.places[first].apart(self.places[last]);
            if turned_rad > sharper_rad {
                return Some([first, last]);
            }
            first = last + 1;
        }
        None
    }

    /// The number of the place nearest to a vehicle, not before `from` and not more than `within_m` after it.
    #[must_use]
    pub fn nearest(&self, place: Place, from: usize, within_m: f64) -> usize {
        let until_m = self.along_m(from) + within_m;
        let last = self.places.len().saturating_sub(1);
        let mut best = (f64::INFINITY, from.min(last));
        for nth in from..self.places.len() {
            if self.along_m[nth] > until_m {
                break;
            }
            // A vehicle that turns on the spot is where it looks.
            let (off_m, off_rad) = self.places[nth].apart(place);
            let off = off_m + 0.1 * off_rad;
            if off < best.0 {
                best = (off, nth);
            }
        }
        best.1
    }

    /// The first place at least so far along after another; the last one if there is none. It does not go past where the
    /// direction changes: there the vehicle stops first.
    #[must_use]
    pub fn ahead(&self, from: usize, ahead_m: f64) -> usize {
        let until_m = self.along_m(from) + ahead_m;
        let last = self.places.len().saturating_sub(1);
        let direction = self.is_backward((from + 1).min(last));
        for nth in from + 1..self.places.len() {
            if self.is_backward[nth] != direction {
                return nth - 1;
            }
            if self.along_m[nth] >= until_m {
                return nth;
            }
        }
        last
    }
}

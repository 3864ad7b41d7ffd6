//! Samples of the controls: the ones that must be there, and a low-discrepancy sequence of others.
//!
//! A motion does not depend on where it begins, so each sample is integrated once, in coordinates of its start.

use crate::Place;
use crate::plan::model::{Action, Model, Spot};
use std::f64::consts::FRAC_PI_6;

/// How many samples of the sequence there are; states take turns with them.
const N_SEQUENCE: u32 = 48;

/// A control that is held for a while, integrated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) action: Action,
    /// In coordinates of its start.
    pub(crate) end: Place,
    /// Metres that it costs where there is plenty of room.
    pub(crate) cost_m: f64,
}

/// What samples are made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampleRule {
    pub(crate) model: Model,
    pub(crate) step_m: f64,
    pub(crate) reverse_cost: f64,
    pub(crate) spot_m_per_rad: f64,
    pub(crate) seed: u32,
}

/// The samples that a state is left by.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    all: Vec<Sample>,
    n_always: usize,
}

impl Samples {
    pub(crate) fn new(rule: &SampleRule) -> Self {
        let model = &rule.model;
        let tightest = model.max_curvature_per_m;
        let mut actions: Vec<Action> = [0.0, -1.0, 1.0, -0.5, 0.5]
            .map(|part: f64| model.arc(part * tightest, rule.step_m))
            .into();
        if model.reverse_mps > 0.0 {
            let back = [0.0, -1.0, 1.0].map(|part: f64| model.arc(part * tightest, -rule.step_m));
            actions.extend(back);
        }
        if model.spot == Spot::Turns {
            actions.extend([-FRAC_PI_6, FRAC_PI_6].map(|turned| model.turn(turned)));
        }
        let n_always = actions.len();
        for nth in 0..N_SEQUENCE {
            // The first numbers of the sequence are too regular.
            let nth = u64::from(nth) + 20 + u64::from(rule.seed % 1_000_003);
            let curvature = (2.0 * halton(nth, 2) - 1.0) * tightest;
            let length_m = (0.6 + 0.9 * halton(nth, 3)) * rule.step_m;
            actions.push(model.arc(curvature, length_m));
        }
        Self {
            all: actions
                .into_iter()
                .map(|action| rule.integrate(action))
                .collect(),
            n_always,
        }
    }

    /// By its number in [`of`](Self::of).
    pub(crate) fn get(&self, idx: u32) -> &Sample {
        &self.all[idx as usize]
    }

    /// The samples of the nth state: those that are always there, and so many of the sequence, in turn.
    pub(crate) fn of(&self, nth: u32, n_sampled: u32) -> impl Iterator<Item = (u32, &Sample)> {
        let n_always = self.n_always;
        let n_sampled = n_sampled.min(N_SEQUENCE);
        let sampled = (0..n_sampled).map(move |other| {
            let turn =
                (u64::from(nth) * u64::from(n_sampled) + u64::from(other)) % u64::from(N_SEQUENCE);
            n_always + usize::try_from(turn).unwrap_or_default()
        });
        (0..n_always).chain(sampled).map(|idx| {
            let number = u32::try_from(idx).unwrap_or(u32::MAX);
            (number, &self.all[idx])
        })
    }
}

impl SampleRule {
    fn integrate(&self, action: Action) -> Sample {
        Sample {
            end: action.advance(&Place::default()),
            cost_m: self.cost_m(&action),
            action,
        }
    }

    /// What an action costs where there is plenty of room: never less than its length.
    pub(crate) fn cost_m(&self, action: &Action) -> f64 {
        let speed_mps = action.control.speed_mps;
        let length_m = action.length_m();
        let factor = if speed_mps < 0.0 {
            self.reverse_cost
        } else {
            1.0
        };
        let is_spot = speed_mps.abs() <= 0.0;
        let spot_rad = if is_spot {
            action.turned_rad().abs()
        } else {
            0.0
        };
        length_m * factor + spot_rad * self.spot_m_per_rad
    }
}

/// A number between 0 and 1: the digits of `nth` in a base, mirrored at the point (J. H. Halton, 1960).
fn halton(mut nth: u64, base: u64) -> f64 {
    let mut digit = 1.0;
    let mut number = 0.0;
    while nth > 0 {
        digit /= base as f64;
        number += digit * (nth % base) as f64;
        nth /= base;
    }
    number
}

//! The plain dynamic-window driver as a component: the baseline beside the pilot.

use super::{Driver, Scan, Seat, SeatRule, Situation};
use crate::plan::dwa::{WindowRule, drive_window};
use crate::plan::field::{Area, Field};
use crate::plan::grid::{Distances, Fit};
use crate::plan::model::Control;
use crate::plan::sparse::SparseMap;
use crate::plan::sweep::{Outline, Sweep};
use bowline_component::{Build, BuildError, Component, Outbox, Ports, Step, Vehicle};
use std::time::Duration;

bowline_component::parameters! {
    /// How the dynamic-window driver judges. What is not set is for a robot the size of a Jackal.
    pub struct WindowParameters {
        in vehicle: Vehicle;
        /// What is left all around it, metres.
        margin_m: f64 = 0.03, within 0.0..=10.0;
        /// The fastest forward, metres a second.
        forward_mps: f64 = 1.2, within 0.01..=100.0;
        /// How it speeds up and brakes, metres a second squared.
        accelerate_mps2: f64 = 2.0, within 0.05..=20.0;
        /// How it changes its turn, radians a second squared.
        accelerate_radps2: f64 = 6.0, within 0.05..=100.0;
        /// How far into the future an arc is looked at, seconds.
        horizon_s: f64 = 1.0, within 0.1..=10.0;
        /// How far before the vehicle's origin is looked at how near the goal is, metres.
        ahead_m: f64 = 0.3, within 0.0..=10.0;
        /// Room from which on more is no better, metres.
        comfort_m: f64 = 0.1, within 0.0..=50.0;
        /// What counts how much: getting nearer to the goal, room, speed.
        weights: Vec<f64> = vec![1.0, 0.2, 0.05];
        /// How far around vehicle and goal a way may lead, metres.
        around_m: f64 = 2.5, within 0.5..=1000.0;
        /// The side of the map's cells, metres.
        cell_m: f64 = 0.05, within 0.01..=10.0;
        /// What is lower than this is not in the way, metres above the ground below the vehicle.
        lowest_m: f64 = 0.1, within -10.0..=10.0;
        /// What is higher than this is not in the way, metres above the ground below the vehicle.
        highest_m: f64 = 0.6, within -10.0..=50.0;
        /// How often it commands, times a second.
        rate_hz: f64 = 20.0, within 1.0..=100.0;
        /// Older poses and ranges are none: it stops.
        deadline: Duration = Duration::from_millis(200);
    }
}

/// How much may be blocked: tiles of 8 by 8 cells.
const MAX_TILES: usize = 1 << 14;
/// The most cells around the vehicle.
const MAX_CELLS: usize = 1 << 20;
/// How far from the laser what it no longer meets is forgotten, metres.
const CLEAR_M: f64 = 3.0;
/// This near to the goal is there, metres.
const TOLERANCE_M: f64 = 0.3;
/// How far it is from where there is no way, metres.
const NO_WAY_M: f64 = 1e3;

/// Drives along the arc that looks best now.
#[derive(Debug)]
pub struct WindowDriver {
    seat: Seat,
    view: View,
}

/// What is around the vehicle, as far as its laser has met it, and how that is judged.
#[derive(Debug)]
struct View {
    rule: WindowRule,
    outline: Outline,
    around_m: f64,
    map: SparseMap,
    field: Field,
    distances: Distances,
}

impl Build for WindowDriver {
    type Parameters = WindowParameters;

    fn build(parameters: WindowParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let seat = SeatRule {
            vehicle: &parameters.vehicle,
            heights_m: parameters.lowest_m..=parameters.highest_m,
            period: crate::period(parameters.rate_hz),
            deadline: parameters.deadline,
        };
        let rule = rule(&parameters)?;
        let outline = Outline::of(&parameters.vehicle, parameters.margin_m)?;
        Ok(Self {
            seat: Seat::new(seat, ports)?,
            view: View {
                // Arcs must end within the area, and what is beside them be in it.
                around_m: parameters
                    .around_m
                    .max(rule.max_speed_mps * rule.horizon_s + outline.reach_m() + 1.0),
                rule,
                outline,
                map: SparseMap::new(parameters.cell_m, MAX_TILES),
                field: Field::default(),
                distances: Distances::default(),
            },
        })
    }
}

fn rule(parameters: &WindowParameters) -> Result<WindowRule, BuildError> {
    let is_weight = |weight: &f64| (0.0..1e6).contains(weight);
    let weights: [f64; 3] = match parameters.weights[..] {
        [heading, room, speed] if parameters.weights.iter().all(is_weight) => {
            [heading, room, speed]
        }
        _ => return Err("weights must be three numbers of 0 or more".into()),
    };
    Ok(WindowRule {
        max_speed_mps: parameters.forward_mps,
        max_turn_radps: parameters.vehicle.max_turn_radps()?,
        accelerate_mps2: parameters.accelerate_mps2,
        accelerate_radps2: parameters.accelerate_radps2,
        period_s: 1.0 / parameters.rate_hz,
        horizon_s: parameters.horizon_s,
        ahead_m: parameters.ahead_m,
        comfort_m: parameters.comfort_m,
        weights,
    })
}

impl Component for WindowDriver {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.seat.step(&mut self.view, step, out);
    }
}

impl Driver for View {
    fn see(&mut self, scan: &Scan) {
        self.map.see(scan.from_m, &scan.hits_m, CLEAR_M);
    }

    fn drive(&mut self, situation: &Situation) -> Control {
        let Situation { place, now, goal_m } = *situation;
        let ends = [place.position_m(), goal_m];
        let area = Area::around(ends, self.around_m, self.map.cell_m(), MAX_CELLS);
        let Some(area) = area else {
            return Control::default();
        };
        self.field.measure(&self.map, area);
        let Self {
            field, distances, ..
        } = self;
        // Where it can turn as it likes, if there is such a way, or else where it fits at all.
        let Outline { margin_m, .. } = self.outline;
        let (wide_m, narrow_m) = (self.outline.reach_m(), self.outline.inner_m());
        let here = field.at(place.position_m());
        for disc_m in [
            wide_m,
            (wide_m + narrow_m) / 2.0,
            narrow_m,
            narrow_m - margin_m,
        ] {
            let disc = (disc_m, Fit::Middle);
            let is_way = distances.begin(field, goal_m, TOLERANCE_M, disc)
                && here.is_some_and(|here| distances.at_least_m(here).is_some());
            if is_way {
                break;
            }
        }
        let mut rest_m = |at: [f64; 2]| {
            let known = field.at(at).and_then(|cell| distances.at_least_m(cell));
            known.unwrap_or(NO_WAY_M)
        };
        // What it has where it stands must do, or it could never leave.
        let room_m = Sweep::new(field, self.outline.with_margin(0.0)).room_m(&place);
        let room_m = (room_m - 0.1 * field.cell_m()).max(0.0);
        let outline = self.outline.with_margin(margin_m.min(room_m));
        let sweep = Sweep::new(field, outline);
        drive_window((place, now), &mut rest_m, &sweep, &self.rule)
    }
}

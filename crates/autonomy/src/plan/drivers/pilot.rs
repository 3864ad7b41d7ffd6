//! The pilot as a component: it plans around what its laser has met, and drives along the plan.

use super::{Driver, Scan, Seat, SeatRule, Situation};
use crate::plan::drive::DriveRule;
use crate::plan::model::{Control, Model};
use crate::plan::pilot::{Pilot, PilotRule};
use crate::plan::search::{Goal, Settings};
use crate::plan::sparse::SparseMap;
use crate::plan::sweep::Outline;
use bowline_component::{Build, BuildError, Component, Outbox, Ports, Step, Vehicle};
use std::time::Duration;

bowline_component::parameters! {
    /// How the pilot plans and drives. What is not set is for a robot the size of a Jackal.
    pub struct PilotParameters {
        in vehicle: Vehicle;
        /// What is left all around when it plans, metres; if there is no way with one, the next is tried.
        margins_m: Vec<f64> = vec![0.08, 0.04, 0.02, 0.0];
        /// What is left all around when it drives, metres, where there is so much.
        drive_margin_m: f64 = 0.03, within 0.0..=10.0;
        /// Room from which on a way costs no more, metres.
        comfort_m: f64 = 0.3, within 0.0..=50.0;
        /// How much more a way costs where there is no room, as a part of its length.
        comfort_cost: f64 = 2.0, within 0.0..=100.0;
        /// The fastest forward, metres a second.
        forward_mps: f64 = 1.5, within 0.01..=100.0;
        /// Slower than this it does not drive on, metres a second.
        creep_mps: f64 = 0.3, within 0.01..=10.0;
        /// How fast it may be for each metre of room beside it, 1/second, beyond `creep_mps`.
        speed_per_room: f64 = 6.0, within 0.0..=1000.0;
        /// How far ahead it looks on its plan at least, metres.
        ahead_m: f64 = 0.35, within 0.01..=100.0;
        /// And how much farther for each metre a second, seconds.
        ahead_s: f64 = 0.25, within 0.0..=10.0;
        /// This near to a goal a plan ends, metres.
        tolerance_m: f64 = 0.5, within 0.01..=100.0;
        /// How long a sampled motion is, metres.
        step_m: f64 = 0.3, within 0.01..=100.0;
        /// The side of the map's cells, metres.
        cell_m: f64 = 0.03, within 0.01..=10.0;
        /// How much may be blocked: tiles of 8 by 8 cells. What is beyond is counted.
        max_tiles: i64 = 16384, within 1..=16777216;
        /// How far around vehicle and goal a way may lead, metres.
        around_m: f64 = 2.5, within 0.5..=1000.0;
        /// How many states a search may expand.
        max_expansions: i64 = 3000, within 1..=10000000;
        /// A plan as old as this is made anew if the map has changed.
        replan: Duration = Duration::from_millis(500);
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

/// The most cells that are searched.
const MAX_CELLS: usize = 1 << 20;

/// Plans and drives, by a laser alone.
#[derive(Debug)]
pub struct PilotDriver {
    seat: Seat,
    tolerance_m: f64,
    pilot: Pilot,
}

impl Build for PilotDriver {
    type Parameters = PilotParameters;

    fn build(parameters: PilotParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let is_margin = |margin: &f64| (0.0..10.0).contains(margin);
        if parameters.margins_m.is_empty() || !parameters.margins_m.iter().all(is_margin) {
            return Err("margins_m must be one or more numbers from 0 to 10".into());
        }
        let seat = SeatRule {
            vehicle: &parameters.vehicle,
            heights_m: parameters.lowest_m..=parameters.highest_m,
            period: crate::period(parameters.rate_hz),
            deadline: parameters.deadline,
        };
        let map = SparseMap::new(parameters.cell_m, usize::try_from(parameters.max_tiles)?);
        Ok(Self {
            seat: Seat::new(seat, ports)?,
            tolerance_m: parameters.tolerance_m,
            pilot: Pilot::new(rule(&parameters)?, map),
        })
    }
}

fn rule(parameters: &PilotParameters) -> Result<PilotRule, BuildError> {
    let model = Model::differential(
        parameters.forward_mps,
        0.0,
        parameters.vehicle.max_turn_radps()?,
    );
    let period_s = 1.0 / parameters.rate_hz;
    let replan_every = (parameters.replan.as_secs_f64() / period_s).clamp(1.0, 1e6);
    Ok(PilotRule {
        search: Settings {
            max_expansions: u32::try_from(parameters.max_expansions)?,
            first_weight: 1.5,
            last_weight: 1.5,
            step_m: parameters.step_m,
            key_m: parameters.step_m / 3.0,
            spot_m_per_rad: 0.4,
            comfort_m: parameters.comfort_m,
            comfort_cost: parameters.comfort_cost,
            ..Settings::default()
        },
        drive: DriveRule {
            model,
            brake_mps2: parameters.vehicle.brake_mps2()?,
            reaction_s: parameters.vehicle.reaction_s()?,
            ahead_m: parameters.ahead_m,
            ahead_s: parameters.ahead_s,
            creep_mps: parameters.creep_mps,
            speed_per_room: parameters.speed_per_room,
        },
        outline: Outline::of(&parameters.vehicle, 0.0)?,
        margins_m: parameters.margins_m.clone(),
        drive_margin_m: parameters.drive_margin_m,
        replan_every: u32::try_from(crate::plan::field::whole(replan_every))?,
        around_m: parameters.around_m,
        max_cells: MAX_CELLS,
    })
}

impl Component for PilotDriver {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let mut driver = Aimed {
            pilot: &mut self.pilot,
            tolerance_m: self.tolerance_m,
        };
        self.seat.step(&mut driver, step, out);
    }
}

/// The pilot, with what a goal is.
struct Aimed<'a> {
    pilot: &'a mut Pilot,
    tolerance_m: f64,
}

impl Driver for Aimed<'_> {
    fn see(&mut self, scan: &Scan) {
        self.pilot.see(scan.from_m, &scan.hits_m);
    }

    fn drive(&mut self, situation: &Situation) -> Control {
        self.pilot.head_for(Goal {
            at_m: situation.goal_m,
            tolerance_m: self.tolerance_m,
            heading: None,
        });
        self.pilot.drive(situation.place, situation.now.speed_mps)
    }
}

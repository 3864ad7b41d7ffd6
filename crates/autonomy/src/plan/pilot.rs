//! To a goal through unmapped ground: what a laser meets is remembered, planned around and driven along.
//!
//! In: hits of a laser, where the vehicle is and how fast, one call for each control period. Out: a control. The map grows
//! with what is seen; what is not known counts as free, until it is seen.

use super::drive::{Drive, DriveRule, Progress, drive_plan};
use super::field::{Area, Field};
use super::model::{Action, Control};
use super::search::{Goal, Outcome, Problem, Search, Settings};
use super::sparse::SparseMap;
use super::sweep::{Outline, Sweep};
use super::track::Track;
use crate::Place;

/// How a pilot works.
#[derive(Clone, Debug, PartialEq)]
pub struct PilotRule {
    /// How plans are searched for.
    pub search: Settings,
    /// How they are driven.
    pub drive: DriveRule,
    /// What the vehicle covers, without a margin.
    pub outline: Outline,
    /// Margins to plan with, metres; if there is no way with one, the next is tried.
    pub margins_m: Vec<f64>,
    /// The margin to drive with, metres.
    pub drive_margin_m: f64,
    /// A plan as old as this is made anew, calls.
    pub replan_every: u32,
    /// How far around vehicle and goal is planned, metres.
    pub around_m: f64,
    /// The most cells to plan on.
    pub max_cells: usize,
}

/// Drives to a goal.
#[derive(Clone, Debug)]
pub struct Pilot {
    rule: PilotRule,
    goal: Option<Goal>,
    map: SparseMap,
    search: Search,
    near: Field,
    track: Track,
    progress: Progress,
    /// Calls since the track was made.
    age: u32,
    /// Map changes that the track knows.
    known_changes: u64,
    n_blocked: u32,
    n_plans: u32,
}

/// How far around the vehicle a drive looks, metres.
const NEAR_M: f64 = 3.0;
/// How far from the laser what it no longer meets is forgotten, metres.
const CLEAR_M: f64 = 3.0;

impl Pilot {
    /// A pilot with a map that is empty so far, and nowhere to go.
    #[must_use]
    pub fn new(rule: PilotRule, map: SparseMap) -> Self {
        Self {
            rule,
            goal: None,
            map,
            search: Search::default(),
            near: Field::default(),
            track: Track::default(),
            progress: Progress::default(),
            age: 0,
            known_changes: 0,
            n_blocked: 0,
            n_plans: 0,
        }
    }

    /// What is known so far.
    #[must_use]
    pub fn map(&self) -> &SparseMap {
        &self.map
    }

    /// What it follows.
    #[must_use]
    pub fn track(&self) -> &Track {
        &self.track
    }

    /// How many plans were made.
    #[must_use]
    pub fn n_plans(&self) -> u32 {
        self.n_plans
    }

    /// Remembers where a laser at a point has met something, points in the map's coordinates.
    pub fn see(&mut self, from_m: [f64; 2], hits_m: &[[f64; 2]]) {
        self.map.see(from_m, hits_m, CLEAR_M);
    }

    /// Returns where to go from now on.
    pub fn head_for(&mut self, goal: Goal) {
        if self.goal != Some(goal) {
            self.goal = Some(goal);
            self.track = Track::default();
        }
    }

    /// What to do now; standing still without a goal.
    pub fn drive(&mut self, place: Place, speed_mps: f64) -> Control {
        let Some(goal) = self.goal else {
            return Control::default();
        };
        self.age += 1;
        let here = place.position_m();
        let Some(area) = Area::around([here, here], NEAR_M, self.map.cell_m(), self.rule.max_cells)
        else {
            return Control::default();
        };
        self.near.measure(&self.map, area);
        if self.must_plan() {
            self.plan(place, goal);
        }
        let outline = self.rule.outline.with_margin(self.drive_margin_m(place));
        let sweep = Sweep::new(&self.near, outline);
        let drive = drive_plan(
            &self.track,
            &mut self.progress,
            (place, speed_mps),
            &sweep,
            &self.rule.drive,
        );
        match drive {
            Drive::Go(control) => {
                self.n_blocked = 0;
                control
            }
            Drive::Blocked | Drive::Done => self.when_blocked(place, speed_mps),
        }
    }

    fn must_plan(&self) -> bool {
        let is_changed = self.known_changes != self.map.n_changes();
        let is_old = self.age >= self.rule.replan_every;
        let is_off = self.progress.off_m > 0.3;
        self.track.places().is_empty()
            || is_old && is_changed
            || is_off
            || self.n_blocked > 0
            || is_changed && !self.is_track_free()
    }

    /// Whether what is left of the track nearby is free as far as is known now.
    fn is_track_free(&self) -> bool {
        let margin_m = self.rule.margins_m.last().copied().unwrap_or_default();
        let sweep = Sweep::new(&self.near, self.rule.outline.with_margin(margin_m));
        let here_m = self.track.along_m(self.progress.nth);
        let places = self
            .track
            .places()
            .iter()
            .enumerate()
            .skip(self.progress.nth);
        places
            .take_while(|(nth, _)| self.track.along_m(*nth) - here_m < NEAR_M - 1.0)
            .step_by(2)
            .all(|(_, place)| sweep.is_free(place))
    }

    /// A margin that the vehicle has where it stands.
    fn drive_margin_m(&self, place: Place) -> f64 {
        let sweep = Sweep::new(&self.near, self.rule.outline);
        let room_m = sweep.room_m(&place) - 0.1 * self.map.cell_m();
        self.rule.drive_margin_m.min(room_m).max(0.0)
    }

    fn plan(&mut self, place: Place, goal: Goal) {
        self.known_changes = self.map.n_changes();
        let ends = [place.position_m(), goal.at_m];
        let Some(area) = Area::around(
            ends,
            self.rule.around_m,
            self.map.cell_m(),
            self.rule.max_cells,
        ) else {
            return;
        };
        for margin_m in &self.rule.margins_m {
            let problem = Problem {
                start: place,
                goal,
                model: self.rule.drive.model,
                outline: self.rule.outline.with_margin(*margin_m),
                area,
            };
            self.n_plans += 1;
            let Ok(plan) = self.search.plan(&self.map, &problem, &self.rule.search) else {
                return;
            };
            let is_way = match plan.outcome {
                Outcome::Complete => true,
                Outcome::Partial => !plan.actions.is_empty(),
                Outcome::Unreachable | Outcome::StartBlocked => false,
            };
            if is_way {
                self.track = Track::new(&plan);
                self.progress = Progress::default();
                self.age = 0;
                return;
            }
        }
    }

    /// Stands for a moment, and then backs off slowly as long as that is free, or turns.
    fn when_blocked(&mut self, place: Place, speed_mps: f64) -> Control {
        self.n_blocked += 1;
        if speed_mps.abs() > 0.1 || self.n_blocked < 3 {
            return Control::default();
        }
        let sweep = Sweep::new(&self.near, self.rule.outline);
        let model = &self.rule.drive.model;
        let try_action = |control: Control| {
            let action = Action {
                control,
                duration_s: 0.5,
            };
            sweep.is_free_along(&place, &action).then_some(control)
        };
        let slow = self.rule.drive.creep_mps;
        // Now this way, now that way, so that it does not rock to and fro in one place.
        let turn = if (self.n_blocked / 40).is_multiple_of(2) {
            0.5
        } else {
            -0.5
        };
        let controls = [
            (-slow, 0.0),
            (-slow, turn),
            (-slow, -turn),
            (0.0, turn * model.max_turn_radps.min(1.0)),
            (0.0, -turn * model.max_turn_radps.min(1.0)),
            (slow, 0.0),
        ];
        controls
            .into_iter()
            .find_map(|(speed_mps, turn_radps)| {
                try_action(Control {
                    speed_mps,
                    turn_radps,
                })
            })
            .unwrap_or_default()
    }
}

//! The planner as a component: a way to the next goal, made anew when the map, the vehicle or the time asks for it.

use super::field::{Area, Field};
use super::model::{Model, Spot};
use super::search::{Goal, Outcome, Plan, Problem, Search, Settings};
use super::sparse::{PlaneRule, PointRule, SparseMap, Unknown};
use super::sweep::{Outline, Sweep};
use super::track::Track;
use crate::{Agility, JumpWatch, Place, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, MissingFact, Outbox, Output, Ports, Seen,
    Step, Vehicle,
};
use bowline_msgs::{Action, Map, Path, Plan as PlanMessage, PoseTransform, Range3d};
use std::time::Duration;

bowline_component::parameters! {
    /// How ways are found.
    pub struct PlannerParameters {
        in vehicle: Vehicle;
        /// What is left all around it, metres.
        margin_m: f64 = 0.3, within 0.0..=10.0;
        /// Room beyond that from which on a way costs no more, metres.
        comfort_m: f64 = 1.0, within 0.0..=50.0;
        /// How much more a way costs where there is no such room, as a part of its length.
        comfort_cost: f64 = 1.0, within 0.0..=100.0;
        /// How sharp a turn of a plan may be, as a part of the sharpest that the vehicle can: the rest is for following it.
        curvature_ratio: f64 = 0.8, within 0.01..=1.0;
        /// The fastest forward, metres a second.
        forward_mps: f64 = 3.0, within 0.01..=100.0;
        /// The fastest backward, metres a second; 0: it does not go backward.
        reverse_mps: f64 = 0.0, within 0.0..=100.0;
        /// This near to a goal is there, metres.
        tolerance_m: f64 = 1.0, within 0.01..=100.0;
        /// How long a sampled motion is, metres.
        step_m: f64 = 1.5, within 0.01..=100.0;
        /// The side of the map's cells, metres.
        cell_m: f64 = 0.25, within 0.01..=10.0;
        /// How much may be blocked: tiles of 8 by 8 cells. What is beyond is counted.
        max_tiles: i64 = 65536, within 1..=16777216;
        /// The plane of the ground's map with what is blocked.
        plane: String = "traversability".into();
        /// Ground that is worse than this cannot be driven on: 0 to 1.
        blocked_below: f64 = 0.3, within 0.0..=1.0;
        /// What a cell is of which nothing is known.
        unknown: String = "free".into(), within ["free", "blocked", "kept"];
        /// Points of ranges lower than this are the ground, metres above the vehicle's origin.
        lowest_m: f64 = 0.3, within -10.0..=10.0;
        /// Points of ranges higher than this are above the vehicle, metres above its origin.
        highest_m: f64 = 2.5, within -10.0..=50.0;
        /// Points of ranges farther than this are left out, metres.
        farthest_m: f64 = 30.0, within 0.1..=1000.0;
        /// How far around vehicle and goal a way may lead, metres.
        around_m: f64 = 20.0, within 0.5..=1000.0;
        /// A goal that is farther away than this is planned towards, metres.
        reach_m: f64 = 80.0, within 1.0..=2000.0;
        /// How long a search may take, on a machine that expands `expansions_per_ms` states.
        budget: Duration = Duration::from_millis(50);
        /// How many states this machine expands in a millisecond. Nothing here looks at a clock.
        expansions_per_ms: f64 = 100.0, within 0.1..=100000.0;
        /// What the search begins its samples with; the same seed gives the same plans.
        seed: i64 = 0, within 0..=1000000;
        /// A plan as old as this is made anew.
        replan: Duration = Duration::from_secs(1);
        /// A vehicle farther beside its plan than this needs another one, metres.
        off_m: f64 = 1.0, within 0.01..=100.0;
        /// How often it looks whether its plan still holds, times a second.
        rate_hz: f64 = 5.0, within 0.1..=100.0;
        /// Faster than this the vehicle does not move, metres a second: a pose that is further off makes its map begin anew.
        jump_mps: f64 = 20.0, within 0.1..=1000.0;
        /// Nor does it turn faster than this, radians a second.
        jump_radps: f64 = 5.0, within 0.1..=1000.0;
        /// Older poses and maps are none.
        deadline: Duration = Duration::from_millis(1000);
    }
}

/// The most cells that are searched.
const MAX_CELLS: usize = 1 << 22;

/// How the vehicle of a plan moves.
fn model_of(parameters: &PlannerParameters) -> Result<Model, MissingFact> {
    let vehicle = &parameters.vehicle;
    Ok(Model {
        forward_mps: parameters.forward_mps,
        reverse_mps: parameters.reverse_mps,
        max_curvature_per_m: vehicle.max_curvature_per_m()? * parameters.curvature_ratio,
        max_turn_radps: vehicle.max_turn_radps()?,
        spot: match vehicle.turns_by_its_sides() {
            true => Spot::Turns,
            false => Spot::Never,
        },
    })
}

/// Finds a way to the next goal.
#[derive(Debug)]
pub struct Planner {
    parameters: PlannerParameters,
    model: Model,
    outline: Outline,
    whereabouts: Whereabouts,
    map: SparseMap,
    map_utime: i64,
    search: Search,
    field: Field,
    current: Option<Current>,
    watch: JumpWatch,
    pose: Input<PoseTransform>,
    goals: Input<Path>,
    ground: Input<Map>,
    ranges: Input<Range3d>,
    plan: Output<PlanMessage>,
}

/// The plan that holds.
#[derive(Debug)]
struct Current {
    goal_m: [f64; 2],
    made_utime: i64,
    outcome: Outcome,
    track: Track,
    /// Changes of the map that it knows.
    n_changes: u64,
}

impl Build for Planner {
    type Parameters = PlannerParameters;

    fn build(parameters: PlannerParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(crate::period(parameters.rate_hz));
        let fresh = Expect::within(parameters.deadline);
        let max_tiles = usize::try_from(parameters.max_tiles)?;
        Ok(Self {
            model: model_of(&parameters)?,
            outline: Outline::of(&parameters.vehicle, parameters.margin_m)?,
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            map: SparseMap::new(parameters.cell_m, max_tiles),
            map_utime: 0,
            search: Search::default(),
            field: Field::default(),
            current: None,
            watch: JumpWatch::new(Agility {
                max_speed_mps: parameters.jump_mps,
                max_turn_radps: parameters.jump_radps,
            }),
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            goals: ports.input_on(
                "goals",
                "Where to go: what is left of the mission, the next goal first.",
                Expect::within(Duration::from_secs(2)),
                "goals",
            ),
            ground: ports.input(
                "ground",
                "How well the ground can be driven on.",
                fresh.optional(),
            ),
            ranges: ports.input(
                "ranges",
                "What a ranging device has met, for robots without a map of the ground.",
                fresh.optional(),
            ),
            plan: ports.output_on("plan", "How to get to the next goal.", "plan"),
            parameters,
        })
    }
}

impl Component for Planner {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let heard = self.hear(step);
        let planned = heard.and_then(|()| {
            if step.is_tick() {
                self.plan_if_needed(step, out)
            } else {
                Ok(())
            }
        });
        match planned {
            Err(why) => {
                self.current = None;
                out.health(Health::Degraded(why));
            }
            Ok(()) if step.is_tick() => out.health(self.judged()),
            Ok(()) => {}
        }
    }
}

impl Planner {
    /// Takes in what has come.
    fn hear(&mut self, step: &Step<'_>) -> Result<(), String> {
        if let Some(pose) = step.arrived(self.pose)
            && let Ok(vehicle) = self.whereabouts.vehicle(&pose)
            && self.watch.see(pose.utime, vehicle).is_some()
        {
            // What was blocked before is somewhere else now.
            self.map.clear();
            self.current = None;
        }
        if let Some(ground) = step.arrived(self.ground) {
            let rule = self.plane_rule();
            let read = self.map.read_map(&ground, &rule);
            read.map_err(|why| why.to_string())?;
            self.map_utime = ground.utime;
        }
        if let Some(ranges) = step.arrived(self.ranges) {
            let pose = step.fresh(self.pose).ok_or("it has ranges but no pose")?;
            self.add_ranges(&ranges, &pose)
                .map_err(|why| why.to_string())?;
        }
        Ok(())
    }

    fn plane_rule(&self) -> PlaneRule {
        PlaneRule {
            plane: self.parameters.plane.clone(),
            blocked_below: super::field::as_f32(self.parameters.blocked_below),
            unknown: match self.parameters.unknown.as_str() {
                "blocked" => Unknown::Blocked,
                "kept" => Unknown::Kept,
                // The parameter's limits leave no other.
                _ => Unknown::Free,
            },
        }
    }

    fn add_ranges(&mut self, ranges: &Range3d, pose: &PoseTransform) -> Result<(), crate::BadPose> {
        let map_from_device = self.whereabouts.frame(pose, &ranges.frame)?;
        let [_, _, height_m] = self.whereabouts.vehicle(pose)?.xyz();
        let rule = PointRule {
            lowest_m: height_m + self.parameters.lowest_m,
            highest_m: height_m + self.parameters.highest_m,
            farthest_m: self.parameters.farthest_m,
        };
        self.map.add_points(ranges, &map_from_device, &rule);
        self.map_utime = self.map_utime.max(ranges.utime);
        Ok(())
    }

    fn plan_if_needed(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) -> Result<(), String> {
        let pose = step.fresh(self.pose).ok_or("it has no pose")?;
        let goals = step.fresh(self.goals).ok_or("it has no mission")?;
        if !self.has_map(step) {
            return Err("it has neither a map of the ground nor ranges".to_owned());
        }
        let place = self.whereabouts.place(&pose);
        let place = place.map_err(|why| why.to_string())?;
        let Some(goal) = goals.waypoints.first() else {
            if self.current.take().is_some() {
                let here = Plan::to_stay(place);
                out.send(self.plan, self.message(&here, &pose, place.position_m()));
            }
            return Ok(());
        };
        let goal_m = goal.position.map(f64::from);
        if !self.must_plan(place, goal_m, step.now().utime()) {
            return Ok(());
        }
        let plan = self.search_for(place, goal_m)?;
        self.current = Some(Current {
            goal_m,
            made_utime: step.now().utime(),
            outcome: plan.outcome,
            track: Track::new(&plan),
            n_changes: self.map.n_changes(),
        });
        out.send(self.plan, self.message(&plan, &pose, goal_m));
        Ok(())
    }

    /// Whether there is a map of what is blocked that is not too old.
    fn has_map(&self, step: &Step<'_>) -> bool {
        step.fresh(self.ground).is_some() || step.fresh(self.ranges).is_some()
    }

    fn must_plan(&mut self, place: Place, goal_m: [f64; 2], now_utime: i64) -> bool {
        let Some(current) = &self.current else {
            return true;
        };
        let replan_us = i64::try_from(self.parameters.replan.as_micros()).unwrap_or(i64::MAX);
        let is_old = now_utime.saturating_sub(current.made_utime) >= replan_us;
        let bits = |goal: [f64; 2]| goal.map(f64::to_bits);
        let is_elsewhere = bits(current.goal_m) != bits(goal_m);
        let nearest = current.track.nearest(place, 0, f64::INFINITY);
        let beside = current.track.places().get(nearest);
        let is_off = beside.is_none_or(|on| on.apart(place).0 > self.parameters.off_m);
        let is_changed = current.n_changes != self.map.n_changes();
        is_old || is_elsewhere || is_off || is_changed && !self.is_free_from(nearest)
    }

    /// Whether the rest of the plan is free in the present map.
    fn is_free_from(&mut self, nth: usize) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let places = current.track.places().get(nth..).unwrap_or_default();
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return false;
        };
        let ends = [first.position_m(), last.position_m()];
        let Some(area) = self.area(ends) else {
            return false;
        };
        self.field.measure(&self.map, area);
        let sweep = Sweep::new(&self.field, self.outline.with_margin(0.0));
        places.iter().all(|place| sweep.is_free(place))
    }

    fn area(&self, ends_m: [[f64; 2]; 2]) -> Option<Area> {
        let around_m = self.parameters.around_m + self.outline.reach_m();
        Area::around(ends_m, around_m, self.map.cell_m(), MAX_CELLS)
    }

    fn search_for(&mut self, place: Place, goal_m: [f64; 2]) -> Result<Plan, String> {
        let goal = self.near_goal(place, goal_m);
        let area = self.area([place.position_m(), goal.at_m]);
        let area = area.ok_or_else(|| {
            format!(
                "the area around a goal {:.0} m away has more than {MAX_CELLS} cells: make cell_m larger, or around_m or \
                 reach_m smaller",
                place.distance_m(goal_m)
            )
        })?;
        let settings = self.settings();
        let mut problem = Problem {
            start: place,
            goal,
            model: self.model,
            outline: self.outline,
            area,
        };
        let mut plan = self.search.plan(&self.map, &problem, &settings);
        // Within the margin of something, but not touching it: the way out is without a margin.
        if matches!(&plan, Ok(plan) if plan.outcome == Outcome::StartBlocked) {
            problem.outline = self.outline.with_margin(0.0);
            plan = self.search.plan(&self.map, &problem, &settings);
        }
        plan.map_err(|why| why.to_string())
    }

    /// The goal, or a place on the way to one that is too far away to plan for.
    fn near_goal(&self, place: Place, goal_m: [f64; 2]) -> Goal {
        let PlannerParameters {
            reach_m,
            tolerance_m,
            ..
        } = self.parameters;
        let away_m = place.distance_m(goal_m);
        if away_m <= reach_m {
            return Goal {
                at_m: goal_m,
                tolerance_m,
                heading: None,
            };
        }
        let part = reach_m / away_m;
        let [x_m, y_m] = place.position_m();
        Goal {
            at_m: [
                x_m + (goal_m[0] - x_m) * part,
                y_m + (goal_m[1] - y_m) * part,
            ],
            tolerance_m: (reach_m / 4.0).max(tolerance_m),
            heading: None,
        }
    }

    fn settings(&self) -> Settings {
        let PlannerParameters {
            step_m,
            comfort_m,
            comfort_cost,
            expansions_per_ms,
            ..
        } = self.parameters;
        let budget_ms = self.parameters.budget.as_secs_f64() * 1e3;
        let max_expansions = (budget_ms * expansions_per_ms).clamp(1.0, 1e6);
        Settings {
            max_expansions: u32::try_from(super::field::whole(max_expansions)).unwrap_or(u32::MAX),
            step_m,
            key_m: step_m / 3.0,
            seed: u32::try_from(self.parameters.seed).unwrap_or_default(),
            comfort_m,
            comfort_cost,
            ..Settings::default()
        }
    }

    fn message(
        &self,
        plan: &Plan,
        pose: &Seen<'_, PoseTransform>,
        goal_m: [f64; 2],
    ) -> PlanMessage {
        let actions = plan.actions.iter().map(|action| Action {
            speed_mps: action.control.speed_mps,
            duration_s: action.duration_s,
            turn_radps: action.control.turn_radps,
        });
        let states = plan.states.iter();
        PlanMessage {
            utime: pose.utime,
            map_utime: self.map_utime,
            outcome: match plan.outcome {
                Outcome::Complete => PlanMessage::COMPLETE,
                Outcome::Partial => PlanMessage::PARTIAL,
                Outcome::Unreachable => PlanMessage::UNREACHABLE,
                Outcome::StartBlocked => PlanMessage::BLOCKED,
            },
            goal_m,
            length_m: plan.length_m,
            n_expanded: i32::try_from(plan.n_expanded).unwrap_or(i32::MAX),
            actions: actions.collect(),
            states: states
                .map(|place| [place.x_m, place.y_m, place.heading_rad])
                .collect(),
            ..PlanMessage::default()
        }
        .with_lengths()
    }

    /// How it is, with a plan or without one that is needed.
    fn judged(&self) -> Health {
        let dropped = self.map.n_dropped();
        if dropped > 0 {
            return Health::Degraded(format!(
                "{dropped} blocked cells found no room in its map: make max_tiles or cell_m larger"
            ));
        }
        match self.current.as_ref().map(|current| current.outcome) {
            None | Some(Outcome::Complete) => Health::Good,
            Some(Outcome::Partial) => {
                Health::Degraded("its budget is too small for a whole plan".into())
            }
            Some(Outcome::Unreachable) => {
                Health::Degraded("there is no path to the goal in the map".into())
            }
            Some(Outcome::StartBlocked) => {
                Health::Degraded("the vehicle touches something where it stands".into())
            }
        }
    }
}

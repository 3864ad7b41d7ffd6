//! The search: sampled controls, integrated, in the order of A*, checked along the whole way (SBMPC).
//!
//! In: a sparse map, a problem, and a budget of states to expand. Out: a plan, and what kind of answer it is. The same map,
//! problem and settings give the same plan to the bit.
//!
//! A state is left by its samples (`samples`): straight on, the tightest and the half turns, and some of a Halton
//! sequence, a different choice at each state. Where there is room they are longer. What a sample leads to is kept as it was
//! integrated; a grid of places and headings only decides which states are alike. What the rest of the way costs at least is
//! the larger of the straight line and the 2D distance around obstacles, neither of which is too much.
//! The closed form of the last piece (`closing`) is tried now and then, so that the goal is met exactly.
//!
//! Anytime: a search with a large weight on the rest finds a way soon; further ones with smaller weights improve on it while
//! the budget lasts, and leave out what cannot. A way that is found is straightened where that makes it cheaper.

mod closing;
mod samples;
mod straighten;
mod tree;

pub(crate) use super::field::as_f32;

use super::field::whole;
use super::field::{Area, Field};
use super::grid::{Distances, Fit};
use super::model::{Action, Model};
use super::sparse::SparseMap;
use super::sweep::{Outline, Sweep};
use crate::{Place, within_half_turn};
use samples::{SampleRule, Samples};
use tree::{Keys, Node, ROOT, Stride, Tree};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// Where the vehicle is.
    pub start: Place,
    /// Where it should go.
    pub goal: Goal,
    /// What it can do.
    pub model: Model,
    /// What it covers.
    pub outline: Outline,
    /// Where it may go: nothing is known outside.
    pub area: Area,
}

/// Where to go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// The point, x and y, metres.
    pub at_m: [f64; 2],
    /// This near to it is there, metres.
    pub tolerance_m: f64,
    /// How to stand there; `None`: in any way.
    pub heading: Option<GoalHeading>,
}

/// How to stand at a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalHeading {
    /// From x, to the left positive.
    pub heading_rad: f64,
    /// This near to it is enough.
    pub tolerance_rad: f64,
}

/// How a search goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How many states may be expanded before the search must answer.
    pub max_expansions: u32,
    /// How many states may be kept.
    pub max_nodes: usize,
    /// What the rest of the way is multiplied with at first; more is faster, and may give longer ways.
    pub first_weight: f64,
    /// And at last; with 1 the way is the best of those that the samples offer.
    pub last_weight: f64,
    /// How long a sample is, metres.
    pub step_m: f64,
    /// States this near to each other are alike, metres.
    pub key_m: f64,
    /// How many headings are distinguished, at most 256.
    pub n_headings: u32,
    /// How many samples of the sequence leave a state, beside those that always do.
    pub n_sampled: u32,
    /// Where the sequence begins.
    pub seed: u32,
    /// A metre backward costs as much as so many forward, 1 or more.
    pub reverse_cost: f64,
    /// What a turn on the spot costs, metres for each radian.
    pub spot_m_per_rad: f64,
    /// Room around the outline below which a way costs more, metres.
    pub comfort_m: f64,
    /// How much more it costs where there is no room at all, as a part of its length.
    pub comfort_cost: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_expansions: 20_000,
            max_nodes: 500_000,
            first_weight: 1.5,
            last_weight: 1.1,
            step_m: 0.5,
            key_m: 0.2,
            n_headings: 72,
            n_sampled: 2,
            seed: 0,
            reverse_cost: 2.0,
            spot_m_per_rad: 0.3,
            comfort_m: 0.0,
            comfort_cost: 0.0,
        }
    }
}

/// How to get there, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What kind of answer it is.
    pub outcome: Outcome,
    /// What to do, in order.
    pub actions: Vec<Action>,
    /// Where each action begins, and the end. Empty without actions.
    pub states: Vec<Place>,
    /// How long the way is, metres, either direction.
    pub length_m: f64,
    /// What it costs: its length, and more for going backward, turning on the spot and little room.
    pub cost_m: f64,
    /// How many states were expanded.
    pub n_expanded: u32,
}

impl Plan {
    /// To stay: a follower stands, and does not go on to where the plan before has led.
    #[must_use]
    pub fn to_stay(place: Place) -> Self {
        Self {
            outcome: Outcome::Complete,
            actions: Vec::new(),
            states: vec![place],
            length_m: 0.0,
            cost_m: 0.0,
            n_expanded: 0,
        }
    }
}

/// What kind of answer a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ends at the goal.
    Complete,
    /// The budget was used up: it ends where the rest looked shortest. It may be empty.
    Partial,
    /// There is no way within the area: none for anything as wide as the vehicle, or none that samples lead along.
    Unreachable,
    /// The vehicle touches something where it stands.
    StartBlocked,
}

/// Why nothing can be planned at all.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The start is nowhere.
    #[error("expected a start within the area, found {0:?}")]
    Start(Place),
    /// The goal is nowhere.
    #[error("expected a goal within the area, with tolerances of 0 or more, found {0:?}")]
    Goal(Goal),
    /// Nothing moves like that.
    #[error("expected limits of a vehicle between 0.0001 and 10000, found {0:?}")]
    Model(Model),
    /// Nothing looks like that.
    #[error("expected an outline around the origin, with sides of 0 m or more, found {0:?}")]
    Outline(Outline),
    /// The settings cannot be searched with.
    #[error(
        "expected weights and costs of 1 or more, and steps and keys between 0.0001 m and 10000 m, found {0:?}"
    )]
    Settings(Settings),
}

/// How many times as long samples are where there is room.
const LONG: f64 = 3.0;
/// The closed form is tried at every state that is fewer steps than this from the goal, and more seldom beyond.
const CLOSING_STEPS: f64 = 4.0;

/// Searches, and keeps its memory between searches.
#[derive(Clone, Debug, Default)]
pub struct Search {
    field: Field,
    distances: Distances,
    tree: Tree,
}

impl Search {
    /// Finds a way.
    ///
    /// # Errors
    /// When the question makes no sense.
    pub fn plan(
        &mut self,
        map: &SparseMap,
        problem: &Problem,
        settings: &Settings,
    ) -> Result<Plan, PlanError> {
        check(problem, settings)?;
        self.field.measure(map, problem.area);
        let inside = |at| self.field.at(at);
        let start_cell =
            inside(problem.start.position_m()).ok_or(PlanError::Start(problem.start))?;
        inside(problem.goal.at_m).ok_or(PlanError::Goal(problem.goal))?;
        let sweep = Sweep::new(&self.field, problem.outline);
        if !sweep.is_free(&problem.start) {
            return Ok(Plan::none(Outcome::StartBlocked));
        }
        let rule = SampleRule {
            model: problem.model,
            step_m: settings.step_m,
            reverse_cost: settings.reverse_cost,
            spot_m_per_rad: settings.spot_m_per_rad,
            seed: settings.seed,
        };
        let long = SampleRule {
            step_m: settings.step_m * LONG,
            ..rule
        };
        let mut run = Run {
            problem,
            settings,
            sweep,
            samples: &[Samples::new(&rule), Samples::new(&long)],
            rule,
            distances: &mut self.distances,
            tree: &mut self.tree,
            best: None,
            nearest: None,
            n_expanded: 0,
        };
        // What cannot be done near the middles of cells may still be done elsewhere in them.
        for fit in [Fit::Middle, Fit::Anywhere] {
            if !run.reaches(start_cell, fit) {
                continue;
            }
            run.search();
            if run.best.is_some() || run.is_spent() {
                return Ok(run.answer());
            }
        }
        Ok(Plan {
            n_expanded: run.n_expanded,
            ..Plan::none(Outcome::Unreachable)
        })
    }

    /// The distances to what is blocked, as they were at the latest search.
    #[must_use]
    pub fn field(&self) -> &Field {
        &self.field
    }
}

fn check(problem: &Problem, settings: &Settings) -> Result<(), PlanError> {
    let Problem {
        start,
        goal,
        model,
        outline,
        ..
    } = problem;
    let is_tolerance = |tolerance: f64| (0.0..1e6).contains(&tolerance);
    let is_goal = is_tolerance(goal.tolerance_m)
        && goal.heading.is_none_or(|heading| {
            heading.heading_rad.is_finite() && is_tolerance(heading.tolerance_rad)
        });
    let is_positive = |number: f64| (1e-4..1e4).contains(&number);
    let at_least_one = |number: f64| (1.0..1e6).contains(&number);
    let is_set = is_positive(settings.step_m)
        && is_positive(settings.key_m)
        && (1..=256).contains(&settings.n_headings)
        && at_least_one(settings.first_weight)
        && at_least_one(settings.last_weight)
        && at_least_one(settings.reverse_cost)
        && [
            settings.spot_m_per_rad,
            settings.comfort_m,
            settings.comfort_cost,
        ]
        .into_iter()
        .all(is_tolerance);
    if !start.is_finite() {
        Err(PlanError::Start(*start))
    } else if !is_goal {
        Err(PlanError::Goal(*goal))
    } else if !model.is_sound() {
        Err(PlanError::Model(*model))
    } else if !outline.is_sound() {
        Err(PlanError::Outline(*outline))
    } else if !is_set {
        Err(PlanError::Settings(*settings))
    } else {
        Ok(())
    }
}

/// One search, with all that it looks at.
struct Run<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    rule: SampleRule,
    sweep: Sweep<'a>,
    /// Short ones and long ones.
    samples: &'a [Samples; 2],
    distances: &'a mut Distances,
    tree: &'a mut Tree,
    /// The best way to the goal so far.
    best: Option<Way>,
    /// The state nearest to the goal so far, by what the rest costs at least and then by what it cost.
    nearest: Option<Nearest>,
    n_expanded: u32,
}

/// Actions from the start on, and what they cost.
#[derive(Clone, Debug)]
struct Way {
    cost_m: f64,
    actions: Vec<Action>,
}

#[derive(Clone, Copy, Debug)]
struct Nearest {
    rank: (f64, f64),
    idx: u32,
}

impl Run<'_> {
    /// Whether the goal could be reached if the vehicle were a disc; makes the distances ready.
    fn reaches(&mut self, start_cell: [usize; 2], fit: Fit) -> bool {
        let Goal {
            at_m, tolerance_m, ..
        } = self.problem.goal;
        let disc = (self.problem.outline.inner_m(), fit);
        let field = self.sweep.field();
        self.distances.begin(field, at_m, tolerance_m, disc)
            && self.distances.at_least_m(start_cell).is_some()
    }

    /// With smaller and smaller weights, while the budget lasts.
    fn search(&mut self) {
        let mut weight = self.settings.first_weight;
        loop {
            self.search_with(weight);
            let is_last = weight <= self.settings.last_weight;
            if is_last || self.is_spent() || self.best.is_none() {
                break;
            }
            // Half the way to 1, or to the last one.
            weight = (1.0 + (weight - 1.0) / 2.0).max(self.settings.last_weight);
        }
        self.straighten();
    }

    fn search_with(&mut self, weight: f64) {
        self.tree.clear(Keys {
            corner_m: self.sweep.field().corner_m(),
            key_m: self.settings.key_m,
            n_headings: self.settings.n_headings,
        });
        self.nearest = None;
        let start = self.problem.start;
        let rest_m = self.rest_m(&start).unwrap_or_default();
        let root = Node {
            state: start,
            cost_m: 0.0,
            rest_m,
            parent: ROOT,
            sample: 0,
            stride: Stride::Short,
            is_expanded: false,
        };
        self.tree.add_root(root, weight * rest_m);
        if self.is_goal(&start) {
            self.best = Some(Way {
                cost_m: 0.0,
                actions: Vec::new(),
            });
            return;
        }
        while !self.is_spent() {
            let Some((idx, rank_m)) = self.tree.next() else {
                return;
            };
            // Nothing that is left can lead to a cheaper one, within the weight.
            if rank_m >= self.bound_m() {
                return;
            }
            self.expand(idx, weight);
        }
    }

    fn is_spent(&self) -> bool {
        self.n_expanded >= self.settings.max_expansions
            || self.tree.nodes.len() >= self.settings.max_nodes
    }

    /// What a way must cost less than to be of interest.
    fn bound_m(&self) -> f64 {
        self.best
            .as_ref()
            .map_or(f64::INFINITY, |best| best.cost_m - 1e-9)
    }

    fn expand(&mut self, idx: u32, weight: f64) {
        self.n_expanded += 1;
        let node = self.tree.nodes[idx as usize];
        let room_m = self.sweep.room_m(&node.state);
        self.try_closing(idx, &node);
        let stride = if room_m > LONG * self.settings.step_m {
            Stride::Long
        } else {
            Stride::Short
        };
        let discomfort = self.discomfort(room_m);
        let turned = node.state.heading_rad.sin_cos();
        let samples = self.samples;
        for (number, sample) in samples[stride.idx()].of(idx, self.settings.n_sampled) {
            let state = node.state.then_turned(&sample.end, turned);
            let cost_m = node.cost_m + sample.cost_m * discomfort;
            let Some(key) = self.tree.improves(&state, cost_m) else {
                continue;
            };
            let Some(rest_m) = self.rest_m(&state) else {
                continue;
            };
            if cost_m + rest_m >= self.bound_m() {
                continue;
            }
            let is_free = self.sweep.is_free_with(&node.state, room_m, &sample.action);
            if !is_free {
                continue;
            }
            let child = Node {
                state,
                cost_m,
                rest_m,
                parent: idx,
                sample: number,
                stride,
                is_expanded: false,
            };
            self.tree.add(key, child, cost_m + weight * rest_m);
            self.note(&child);
        }
    }

    /// Keeps what a new state may be the best of.
    fn note(&mut self, child: &Node) {
        let newest = u32::try_from(self.tree.nodes.len() - 1).unwrap_or(ROOT);
        if self.is_goal(&child.state) {
            self.best = Some(self.way_to(newest, child.cost_m, &[]));
        }
        let rank = (child.rest_m, child.cost_m);
        if self.nearest.is_none_or(|nearest| rank < nearest.rank) {
            self.nearest = Some(Nearest { rank, idx: newest });
        }
    }

    /// Tries the closed form to the goal: always when it is near, and the more seldom the farther it is.
    fn try_closing(&mut self, idx: u32, node: &Node) {
        let every = whole((node.rest_m / (CLOSING_STEPS * self.settings.step_m)).min(64.0)) + 1;
        if !(self.n_expanded as usize).is_multiple_of(every) && self.n_expanded > 1 {
            return;
        }
        let actions = closing::to_goal(self.problem, &node.state);
        let within_m = self.bound_m() - node.cost_m;
        if let Some(cost_m) = self.cost_along(&node.state, &actions, within_m) {
            self.best = Some(self.way_to(idx, node.cost_m + cost_m, &actions));
        }
    }

    /// What actions cost, if all of them are free and they cost less than `within_m`.
    fn cost_along(&self, from: &Place, actions: &[Action], within_m: f64) -> Option<f64> {
        let plain_m: f64 = actions.iter().map(|action| self.rule.cost_m(action)).sum();
        if actions.is_empty() || plain_m >= within_m {
            return None;
        }
        let mut state = *from;
        let mut cost_m = 0.0;
        for action in actions {
            cost_m += self.cost_of_piece(&state, action)?;
            state = action.advance(&state);
        }
        (cost_m < within_m && self.sweep.is_free(&state)).then_some(cost_m)
    }

    /// As samples would cost it, step by step.
    fn cost_of_piece(&self, from: &Place, action: &Action) -> Option<f64> {
        let plain_m = self.rule.cost_m(action);
        if self.settings.comfort_cost <= 0.0 {
            let room_m = self.sweep.room_m(from);
            return self
                .sweep
                .is_free_with(from, room_m, action)
                .then_some(plain_m);
        }
        let n_pieces = whole((plain_m / self.settings.step_m).min(1e4)) + 1;
        let part = Action {
            duration_s: action.duration_s / n_pieces as f64,
            ..*action
        };
        let mut cost_m = 0.0;
        for nth in 0..n_pieces {
            let state = action.control.advance(from, part.duration_s * nth as f64);
            let room_m = self.sweep.room_m(&state);
            if !self.sweep.is_free_with(&state, room_m, &part) {
                return None;
            }
            cost_m += self.rule.cost_m(&part) * self.discomfort(room_m);
        }
        Some(cost_m)
    }

    /// By how much a way costs more than its length.
    fn discomfort(&self, room_m: f64) -> f64 {
        let Settings {
            comfort_m,
            comfort_cost,
            ..
        } = *self.settings;
        if room_m >= comfort_m {
            return 1.0;
        }
        1.0 + comfort_cost * (1.0 - room_m / comfort_m)
    }

    /// What the way to the goal costs at least; none: there is no way from here.
    fn rest_m(&mut self, state: &Place) -> Option<f64> {
        let cell = self.sweep.field().at(state.position_m())?;
        let around_m = self.distances.at_least_m(cell)?;
        let Goal {
            at_m, tolerance_m, ..
        } = self.problem.goal;
        let straight_m = state.distance_m(at_m) - tolerance_m;
        Some(around_m.max(straight_m))
    }

    fn is_goal(&self, state: &Place) -> bool {
        let Goal {
            at_m,
            tolerance_m,
            heading,
        } = self.problem.goal;
        state.distance_m(at_m) <= tolerance_m
            && heading.is_none_or(|goal| {
                within_half_turn(goal.heading_rad - state.heading_rad).abs() <= goal.tolerance_rad
            })
    }

    fn way_to(&self, idx: u32, cost_m: f64, rest: &[Action]) -> Way {
        let chain = self.tree.chain(idx);
        let driven = chain.iter().skip(1).map(|node| {
            let samples = &self.samples[node.stride.idx()];
            samples.get(node.sample).action
        });
        let actions = driven.chain(rest.iter().copied()).collect();
        Way { cost_m, actions }
    }

    /// The way that was found, or the best that there is when the budget is spent.
    fn answer(mut self) -> Plan {
        let best = self.best.take();
        let outcome = match best {
            Some(_) => Outcome::Complete,
            None => Outcome::Partial,
        };
        let nearest = self.nearest.filter(|_| outcome == Outcome::Partial);
        let way = best.or_else(|| {
            let Nearest { rank, idx } = nearest?;
            Some(self.way_to(idx, rank.1, &[]))
        });
        let mut plan = Plan::none(outcome);
        plan.n_expanded = self.n_expanded;
        if let Some(way) = way {
            plan.cost_m = way.cost_m;
            plan.actions = merged(way.actions);
            plan.length_m = plan.actions.iter().map(Action::length_m).sum();
            plan.states = straighten::states_along(&self.problem.start, &plan.actions);
        }
        plan
    }
}

impl Plan {
    fn none(outcome: Outcome) -> Self {
        Self {
            outcome,
            actions: Vec::new(),
            states: Vec::new(),
            length_m: 0.0,
            cost_m: 0.0,
            n_expanded: 0,
        }
    }
}

/// The same with neighbours that are alike made one.
fn merged(actions: Vec<Action>) -> Vec<Action> {
    let mut merged: Vec<Action> = Vec::with_capacity(actions.len());
    for action in actions {
        match merged.last_mut() {
            Some(last) if last.control == action.control => last.duration_s += action.duration_s,
            _ => merged.push(action),
        }
    }
    merged
}

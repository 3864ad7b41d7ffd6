//! The planner on the random discs of SBMPO's own unicycle benchmark, and in cities like those of Bench-MR.
//!
//! Neither peer is a package that can be installed and asked the same question, so what the survey of 2026 measured with them
//! on this kind of machine is named as such: SBMPO on its own settings and distributions, OMPL on the street map
//! `Berlin_0_256`, 15 hardest scenarios. The sets and cities here are our own, of the same kind.

use crate::{Length, stopwatch};
use anyhow::{Context as _, Result};
use bowline_autonomy::Place;
use bowline_autonomy::plan::field::Area;
use bowline_autonomy::plan::model::{Model, Spot};
use bowline_autonomy::plan::search::{Goal, Outcome, Plan, Problem, Search, Settings};
use bowline_autonomy::plan::sparse::Cell;
use bowline_autonomy::plan::sweep::Outline;
use bowline_autonomy::plan::worlds::{self, Discs, Errand};
use std::f64::consts::FRAC_PI_8;
use std::time::Duration;

const CELL_M: f64 = 0.1;
const BODY_M: f64 = 0.125;
const N_SETS: u64 = 100;
const N_CITIES: u64 = 3;
const N_ERRANDS: usize = 15;

pub(crate) fn run(length: Length) -> Result<()> {
    let n_turns = if length == Length::Quick { 1 } else { 9 };
    discs(n_turns)?;
    cities(n_turns)
}

/// Some times, and what came of it.
#[derive(Default)]
struct Tally {
    took: Vec<Duration>,
    n_solved: usize,
    n_unreachable: usize,
    n_expanded: u64,
}

impl Tally {
    fn add(&mut self, took: Duration, plan: &Plan) {
        self.took.push(took);
        self.n_solved += usize::from(plan.outcome == Outcome::Complete);
        self.n_unreachable += usize::from(plan.outcome == Outcome::Unreachable);
        self.n_expanded += u64::from(plan.n_expanded);
    }

    /// Milliseconds that so large a part of them did not exceed.
    fn ms(&mut self, part: f64) -> f64 {
        self.took.sort();
        let nth = (self.took.len() as f64 * part).floor();
        let below = self.took.iter().enumerate();
        let took = below
            .take_while(|(idx, _)| *idx as f64 <= nth)
            .last()
            .map(|(_, took)| took.as_secs_f64() * 1e3);
        took.unwrap_or_default()
    }
}

/// The best of some turns, with the map made anew in each.
fn timed(n_turns: u32, mut plan: impl FnMut() -> Result<Plan>) -> Result<(Duration, Plan)> {
    let mut best: Option<(Duration, Plan)> = None;
    for _ in 0..n_turns {
        let mut answer = None;
        let took = stopwatch::time(|| answer = Some(plan()));
        let answer = answer.context("the turn was taken")??;
        if best.as_ref().is_none_or(|(least, _)| took < *least) {
            best = Some((took, answer));
        }
    }
    best.context("at least one turn")
}

fn discs(n_turns: u32) -> Result<()> {
    let mut search = Search::default();
    let mut tally = Tally::default();
    let mut n_cut = 0;
    for seed in 0..N_SETS {
        let discs = worlds::discs(seed);
        let (took, plan) = timed(n_turns, || {
            let map = worlds::map_of_discs(&discs, CELL_M);
            let settings = Settings {
                first_weight: 1.3,
                last_weight: 1.3,
                step_m: 0.7,
                key_m: 0.25,
                ..Settings::default()
            };
            Ok(search.plan(&map, &unicycle()?, &settings)?)
        })?;
        n_cut += usize::from(is_cut(&plan, &discs));
        tally.add(took, &plan);
    }
    println!(
        "a unicycle among 5 to 7 random discs, {N_SETS} sets, map and distances included (best of {n_turns} turns)"
    );
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>11} {:>22}",
        "", "median ms", "p90", "max", "expansions", "ways that cut a disc"
    );
    let [median, p90, max] = [0.5, 0.9, 1.0].map(|part| tally.ms(part));
    println!(
        "{:<34} {median:>9.2} {p90:>9.2} {max:>9.2} {:>11.0} {n_cut:>15} of {:>3}   aim 0.5 ms, 0 of 100",
        "bowline",
        tally.n_expanded as f64 / N_SETS as f64,
        tally.n_solved
    );
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>11} {:>15} of 100",
        "SBMPO, measured for facts", 2.72, 11.6, 26.5, 716, 92
    );
    println!(
        "{} solved, {} proven unreachable; {:.1}x as fast as SBMPO\n",
        tally.n_solved,
        tally.n_unreachable,
        2.72 / median
    );
    Ok(())
}

/// SBMPO's settings: speeds up to 1 m/s, turns up to 22.5 degrees a second from 0.5 m/s on.
fn unicycle() -> Result<Problem> {
    let ends = [[-3.0, -3.0], [3.0, 3.0]];
    Ok(Problem {
        start: Place::new(-3.0, -3.0, 0.0),
        goal: Goal {
            at_m: ends[1],
            tolerance_m: 0.5,
            heading: None,
        },
        model: Model {
            forward_mps: 1.0,
            reverse_mps: 0.0,
            max_curvature_per_m: FRAC_PI_8 / 0.5,
            max_turn_radps: FRAC_PI_8,
            spot: Spot::Never,
        },
        outline: Outline::disc(BODY_M),
        area: Area::around(ends, 1.0, CELL_M, 1 << 20).context("a small area")?,
    })
}

/// Whether a way enters a disc anywhere, by more than a tenth of a millimetre.
fn is_cut(plan: &Plan, discs: &Discs) -> bool {
    plan.states.iter().zip(&plan.actions).any(|(from, action)| {
        (0..=1_000).any(|nth| {
            let at = action
                .control
                .advance(from, action.duration_s * f64::from(nth) / 1e3);
            discs
                .iter()
                .any(|(middle, radius_m)| at.distance_m(*middle) < radius_m + BODY_M - 1e-4)
        })
    })
}

fn cities(n_turns: u32) -> Result<()> {
    println!(
        "a car with a turning radius of 4 through a city of 256 by 256, the {N_ERRANDS} longest of 200 errands in each of \
         {N_CITIES} cities"
    );
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>26}",
        "", "median ms", "max", "solved", "length / best on a grid"
    );
    for (name, first_weight, last_weight) in [
        ("bowline, first way", 1.5, 1.5),
        ("bowline, improved once", 1.5, 1.25),
    ] {
        let mut search = Search::default();
        let mut tally = Tally::default();
        let mut ratios = 0.0;
        for seed in 0..N_CITIES {
            let map = worlds::city(seed);
            for errand in worlds::hardest_errands(&map, seed, N_ERRANDS) {
                let settings = Settings {
                    first_weight,
                    last_weight,
                    step_m: 4.0,
                    key_m: 2.0,
                    ..Settings::default()
                };
                let (took, plan) = timed(n_turns.min(3), || {
                    Ok(search.plan(&map, &car(&errand), &settings)?)
                })?;
                // It may stop half of the tolerance before the goal.
                ratios += (plan.length_m + 0.5) / errand.grid_m;
                tally.add(took, &plan);
            }
        }
        let n = tally.took.len();
        let [median, max] = [0.5, 1.0].map(|part| tally.ms(part));
        println!(
            "{name:<34} {median:>9.1} {max:>9.1} {:>6}/{n} {:>26.3}   aim 10 ms, 1.0x",
            tally.n_solved,
            ratios / n as f64
        );
    }
    for (name, ms, solved, ratio) in [
        ("OMPL RRTConnect, facts, Berlin", 3.0, "15/15", 1.275),
        ("OMPL BIT*, facts, Berlin", 33.0, "15/15", 1.172),
        ("OMPL RRT*, facts, Berlin", 44.0, "14/15", 1.086),
    ] {
        println!("{name:<34} {ms:>9.1} {:>9} {solved:>9} {ratio:>26.3}", "-");
    }
    println!();
    Ok(())
}

fn car(errand: &Errand) -> Problem {
    let side = usize::try_from(worlds::CITY).unwrap_or_default();
    Problem {
        start: errand.start,
        goal: Goal {
            at_m: errand.goal_m,
            tolerance_m: 1.0,
            heading: None,
        },
        model: Model {
            forward_mps: 1.0,
            reverse_mps: 1.0,
            max_curvature_per_m: 0.25,
            max_turn_radps: 1.0,
            spot: Spot::Never,
        },
        outline: Outline::default(),
        area: Area {
            low: Cell::default(),
            n_columns: side,
            n_rows: side,
        },
    }
}

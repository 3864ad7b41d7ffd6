//! How the planner does on random discs and in a city. For trying settings; the figures that count are in `bench/`.

use bowline_autonomy::Place;
use bowline_autonomy::plan::field::Area;
use bowline_autonomy::plan::model::{Model, Spot};
use bowline_autonomy::plan::search::{Goal, Outcome, Problem, Search, Settings};
use bowline_autonomy::plan::sparse::Cell;
use bowline_autonomy::plan::sweep::Outline;
use bowline_autonomy::plan::worlds;
use std::time::Duration;

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let done = work();
    (done, start.elapsed())
}

fn discs(first: f64, step_m: f64, key_m: f64) {
    let mut search = Search::default();
    let mut times = Vec::new();
    let (mut solved, mut expanded, mut unreachable, mut length) = (0, 0, 0, 0.0);
    for seed in 0..100 {
        let discs = worlds::discs(seed);
        let model = Model {
            forward_mps: 1.0,
            reverse_mps: 0.0,
            max_curvature_per_m: 0.3927 / 0.5,
            max_turn_radps: 0.3927,
            spot: Spot::Never,
        };
        let mut best = Duration::MAX;
        let mut plan = None;
        for _ in 0..5 {
            let (answer, took) = time(|| {
                let map = worlds::map_of_discs(&discs, 0.1);
                let ends = [[-3.0, -3.0], [3.0, 3.0]];
                let problem = Problem {
                    start: Place::new(-3.0, -3.0, 0.0),
                    goal: Goal {
                        at_m: [3.0, 3.0],
                        tolerance_m: 0.5,
                        heading: None,
                    },
                    model,
                    outline: Outline::disc(0.125),
                    area: Area::around(ends, 1.5, 0.1, 1 << 20).unwrap(),
                };
                search.plan(
                    &map,
                    &problem,
                    &Settings {
                        first_weight: first,
                        last_weight: first,
                        step_m,
                        key_m,
                        ..Settings::default()
                    },
                )
            });
            best = best.min(took);
            plan = Some(answer.unwrap());
        }
        let plan = plan.unwrap();
        solved += usize::from(plan.outcome == Outcome::Complete);
        unreachable += usize::from(plan.outcome == Outcome::Unreachable);
        expanded += plan.n_expanded;
        length += plan.length_m;
        times.push(best);
    }
    times.sort();
    println!(
        "discs {first} {step_m} {key_m}: {solved} solved, {unreachable} unreachable; median {:?} p90 {:?} max {:?}; {expanded} expanded, mean length {:.3}",
        times[50],
        times[90],
        times[99],
        length / solved as f64
    );
}

fn cities(first: f64, last: f64, step: f64, key: f64) {
    let mut search = Search::default();
    for seed in 0..3 {
        let map = worlds::city(seed);
        let (mut times, mut ratio, mut solved, mut expanded) = (Vec::new(), 0.0, 0, 0);
        let errands = worlds::hardest_errands(&map, seed, 15);
        for errand in &errands {
            let problem = Problem {
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
                    n_columns: 256,
                    n_rows: 256,
                },
            };
            let settings = Settings {
                first_weight: first,
                last_weight: last,
                step_m: step,
                key_m: key,
                ..Settings::default()
            };
            let (mut best, mut plan) = (Duration::MAX, None);
            for _ in 0..3 {
                let (answer, took) = time(|| search.plan(&map, &problem, &settings).unwrap());
                best = best.min(took);
                plan = Some(answer);
            }
            let plan = plan.unwrap();
            times.push(best);
            if plan.outcome == Outcome::Complete {
                solved += 1;
                ratio += (plan.length_m + 0.5) / errand.grid_m;
            } else {
                print!("{:?} ", plan.outcome);
            }
            expanded += plan.n_expanded;
        }
        times.sort();
        println!(
            "city {seed} (w {first}..{last}, step {step}, key {key}): {solved}/{} blocked {} median {:?} max {:?} ratio {:.4} expanded {expanded}",
            errands.len(),
            map.n_blocked(),
            times[times.len() / 2],
            times.last().unwrap(),
            ratio / solved as f64
        );
    }
}

fn main() {
    if std::env::args().nth(1).is_some() {
        for _ in 0..20 {
            discs(1.3, 0.7, 0.25);
        }
        return;
    }
    for first in [1.3, 1.6] {
        for (step, key) in [(0.5, 0.15), (0.7, 0.25)] {
            discs(first, step, key);
        }
    }
    for (first, last) in [(1.5, 1.5), (1.2, 1.2)] {
        for (step, key) in [(4.0, 2.0)] {
            cities(first, last, step, key);
        }
    }
}

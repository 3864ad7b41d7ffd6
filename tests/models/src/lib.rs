//! The bus under a scheduler of our own: thousands of ways for its threads to take turns, from seeds.
//!
//! `promises.rs` has what must hold in all of them, `twins.rs` how to break each promise by one line. A promise that
//! no twin breaks proves nothing, so every one has a twin, and the twin must fail.

pub mod kernel;
mod random;
#[path = "../twins.rs"]
pub mod twins;

/// The bus as it is, and as twins weaken it.
#[allow(dead_code, unused_imports, reason = "copies use less than the bus")]
pub mod copies {
    include!(concat!(env!("OUT_DIR"), "/copies.rs"));
}

/// What has to hold, by name.
pub type Promises = &'static [(&'static str, fn())];
/// On the bus as it is.
pub const FAITHFUL: Promises = copies::faithful::promises::PROMISES;
/// On the bus with lines that can be weak.
pub const WEAKENED: Promises = copies::weakened::promises::PROMISES;

use random::Random;
use shuttle::scheduler::{PctScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than any schedule takes that ends at all.
const MAX_STEPS: usize = 30_000;
/// How many times PCT takes the turn from the thread whose it is.
const PCT_DEPTH: usize = 3;

/// How many schedules one scheduler makes.
pub const ROUND: usize = 500;

/// What exploring found.
#[derive(Debug)]
pub struct Outcome {
    /// How many schedules were run, the failing one included.
    pub n_schedules: usize,
    /// The panic of the first one that failed.
    pub failure: Option<String>,
}

/// Runs `model`, with the line of `twin` weak, with `n_rounds` times [`ROUND`] schedules until one fails. In every other round each turn is chosen at
/// random; in those between the turn seldom changes, which finds what needs a thread to be late by much.
#[must_use]
pub fn explore(model: fn(), twin: Option<&'static str>, n_rounds: usize, seed: u64) -> Outcome {
    let mut n_schedules = 0;
    for round in 0..n_rounds {
        let seed = seed.wrapping_add(round as u64);
        let outcome = if round % 2 == 0 {
            explore_with(model, twin, Random::new(seed, ROUND))
        } else {
            explore_with(
                model,
                twin,
                PctScheduler::new_from_seed(seed, PCT_DEPTH, ROUND),
            )
        };
        n_schedules += outcome.n_schedules;
        if outcome.failure.is_some() {
            return Outcome {
                n_schedules,
                ..outcome
            };
        }
    }
    Outcome {
        n_schedules,
        failure: None,
    }
}

fn explore_with(
    model: fn(),
    twin: Option<&'static str>,
    scheduler: impl Scheduler + 'static,
) -> Outcome {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let run = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        kernel::boot(twin);
        model();
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| Runner::new(scheduler, config).run(run)));
    Outcome {
        n_schedules: count.load(Ordering::Relaxed),
        failure: outcome.err().map(|panic| what(&*panic)),
    }
}

fn what(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

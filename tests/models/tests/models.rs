//! Explores every promise on the bus as it is, where it must hold, and on its twins, where it must not.
//!
//! `cargo test -- PART` explores only what has PART in its name.

use models::twins::{TWINS, Twin};
use models::{FAITHFUL, Outcome, WEAKENED, explore};
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// So many rounds of schedules must all keep a promise.
const N_ROUNDS: usize = 16;
/// A twin fails much earlier, or its promise is too weak.
const N_TWIN_ROUNDS: usize = 16;
const SEED: u64 = 0x0b0e;
/// Schedules need no more than a core each.
const N_WORKERS: usize = 2;

/// A promise on a copy.
#[derive(Clone, Copy)]
struct Task {
    promise: &'static str,
    model: fn(),
    twin: Option<&'static Twin>,
}

fn main() -> ExitCode {
    let wanted = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let wanted = wanted.unwrap_or_default();
    let mut tasks: VecDeque<Task> = tasks().into();
    // Twins panic by design; what the faithful copy prints is shown below.
    std::panic::set_hook(Box::new(|_| {}));
    tasks.retain(|task| task.name().contains(&wanted));
    let tasks = Mutex::new(tasks);
    let work = || {
        let mut is_right = true;
        let next = || tasks.lock().expect("workers do not panic").pop_front();
        while let Some(task) = next() {
            is_right &= task.run();
        }
        is_right
    };
    let is_right = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..N_WORKERS).map(|_| scope.spawn(work)).collect();
        let results: Vec<bool> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(false))
            .collect();
        results.iter().all(|is_right| *is_right)
    });
    if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tasks() -> Vec<Task> {
    for (promise, _) in FAITHFUL {
        let has_twin = TWINS.iter().any(|twin| twin.breaks == *promise);
        assert!(has_twin, "{promise} has no twin that breaks it");
    }
    let kept = FAITHFUL.iter().map(|(promise, model)| Task {
        promise,
        model: *model,
        twin: None,
    });
    let broken = TWINS.iter().map(|twin| {
        let mut promises = WEAKENED.iter();
        let found = promises.find(|(promise, _)| *promise == twin.breaks);
        let (promise, model) = found.expect("a twin breaks a promise that there is");
        Task {
            promise,
            model: *model,
            twin: Some(twin),
        }
    });
    kept.chain(broken).collect()
}

impl Task {
    fn name(&self) -> &'static str {
        self.twin.map_or(self.promise, |twin| twin.name)
    }

    /// Returns whether exploring found what it should.
    fn run(self) -> bool {
        let begin = Instant::now();
        let n_rounds = if self.twin.is_some() {
            N_TWIN_ROUNDS
        } else {
            N_ROUNDS
        };
        let Outcome {
            n_schedules,
            failure,
        } = explore(self.model, self.twin.map(|twin| twin.name), n_rounds, SEED);
        let took = begin.elapsed().as_secs_f64();
        let promise = self.promise;
        let (is_right, verdict) = match (self.twin, &failure) {
            (None, None) => (
                true,
                format!("kept    {promise} in {n_schedules} schedules"),
            ),
            (None, Some(failure)) => (
                false,
                format!("BROKEN  {promise} by schedule {n_schedules}: {failure}"),
            ),
            (Some(twin), Some(failure)) => {
                let why = failure.replace('\n', " ");
                (
                    true,
                    format!(
                        "breaks  {promise} by schedule {n_schedules}, as {} must: {why}",
                        twin.name
                    ),
                )
            }
            (Some(twin), None) => (
                false,
                format!(
                    "KEPT    {promise} in {n_schedules} schedules, though {} must break it",
                    twin.name
                ),
            ),
        };
        println!("{verdict} ({took:.1} s)");
        is_right
    }
}

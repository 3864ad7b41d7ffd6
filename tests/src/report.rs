//! Work in several threads, and failures reported in full but not all at once.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// One piece of work that depends on no other.
pub type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

fn do_all(jobs: &Mutex<VecDeque<Job<'_>>>, panics: &Mutex<Vec<Box<dyn Any + Send>>>) {
    while let Some(job) = next(jobs) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
            let mut panics = panics
                .lock()
                .expect("no thread panics while it holds the lock");
            panics.push(panic);
        }
    }
}

/// Does all jobs, two at a time, in their order. The first that panics panics here, after all are done.
pub fn in_two_threads(jobs: Vec<Job<'_>>) {
    in_threads(2, jobs);
}

/// Does all jobs at the same time, at most eight: for those that mostly wait.
pub fn at_once(jobs: Vec<Job<'_>>) {
    in_threads(8, jobs);
}

fn in_threads(n_threads: usize, jobs: Vec<Job<'_>>) {
    let n_threads = n_threads.min(jobs.len());
    let jobs = Mutex::new(VecDeque::from(jobs));
    let panics: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::default();
    std::thread::scope(|scope| {
        for nth in 1..=n_threads {
            let work = || do_all(&jobs, &panics);
            std::thread::Builder::new()
                .name(format!("driver {nth}"))
                .spawn_scoped(scope, work)
                .expect("a thread can start");
        }
    });
    if let Some(panic) = panics
        .into_inner()
        .expect("all threads are done")
        .into_iter()
        .next()
    {
        resume_unwind(panic);
    }
}

fn next<'j>(jobs: &Mutex<VecDeque<Job<'j>>>) -> Option<Job<'j>> {
    jobs.lock()
        .expect("no thread panics while it holds the lock")
        .pop_front()
}

/// Failures of many cases.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Vec<String>>);

impl Failures {
    /// Adds one.
    pub fn add(&self, failure: String) {
        self.0
            .lock()
            .expect("no thread panics while it holds the lock")
            .push(failure);
    }

    /// Panics with the first of each kind, if there are any. The kind is what stands before the first colon.
    pub fn check(self) {
        let failures = self.0.into_inner().expect("all threads are done");
        if failures.is_empty() {
            return;
        }
        // What fails in one language fails there often; the first of each is worth more than the first few of one.
        let mut by_who: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for failure in &failures {
            by_who
                .entry(failure.split(':').next().unwrap_or_default())
                .or_default()
                .push(failure);
        }
        let counts: Vec<String> = by_who
            .iter()
            .map(|(who, all)| format!("{who}: {}", all.len()))
            .collect();
        let shown: Vec<&str> = by_who
            .values()
            .filter_map(|all| all.first().copied())
            .collect();
        panic!(
            "{} failures:\n{}\n\n{}",
            failures.len(),
            counts.join("\n"),
            shown.join("\n\n")
        );
    }
}

//! Work in two threads, and failures told in full but not all at once.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// One piece of work that depends on no other.
pub type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

/// Does all jobs, two at a time, in their order. The first that panics panics here, after all are done.
pub fn in_two_threads(jobs: Vec<Job<'_>>) {
    let jobs = Mutex::new(VecDeque::from(jobs));
    let panics: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::default();
    std::thread::scope(|scope| {
        for name in ["driver 1", "driver 2"] {
            let work = || {
                while let Some(job) = next(&jobs) {
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(job)) {
                        panics.lock().expect("no thread panics while it holds the lock").push(panic);
                    }
                }
            };
            std::thread::Builder::new().name(name.to_string()).spawn_scoped(scope, work).expect("a thread can start");
        }
    });
    if let Some(panic) = panics.into_inner().expect("all threads are done").into_iter().next() {
        resume_unwind(panic);
    }
}

fn next<'j>(jobs: &Mutex<VecDeque<Job<'j>>>) -> Option<Job<'j>> {
    jobs.lock().expect("no thread panics while it holds the lock").pop_front()
}

/// Failures of many cases.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Vec<String>>);

impl Failures {
    /// How many are told in full.
    const MAX_SHOWN: usize = 5;

    /// Adds one.
    pub fn add(&self, failure: String) {
        self.0.lock().expect("no thread panics while it holds the lock").push(failure);
    }

    /// Panics with the first few, if there are any.
    pub fn check(self) {
        let failures = self.0.into_inner().expect("all threads are done");
        if failures.is_empty() {
            return;
        }
        let shown: Vec<&str> = failures.iter().take(Self::MAX_SHOWN).map(String::as_str).collect();
        panic!("{} failures; the first {}:\n\n{}", failures.len(), shown.len(), shown.join("\n\n"));
    }
}

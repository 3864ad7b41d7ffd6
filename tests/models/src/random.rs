//! A scheduler that picks any thread that can run. Unlike shuttle's own it prints nothing when a twin fails.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

pub struct Random {
    numbers: bowline_testing::random::Random,
    n_left: usize,
}

impl Random {
    pub fn new(seed: u64, n_schedules: usize) -> Self {
        Self {
            numbers: bowline_testing::random::Random::fixed(seed),
            n_left: n_schedules,
        }
    }
}

impl Scheduler for Random {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.n_left = self.n_left.checked_sub(1)?;
        Some(Schedule::new(self.numbers.bits()))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let at = self.numbers.below(runnable.len());
        runnable.get(at).map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.numbers.bits()
    }
}

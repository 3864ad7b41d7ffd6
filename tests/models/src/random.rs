//! A scheduler that picks any thread that can run. Unlike shuttle's own it says nothing when a twin fails.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

pub struct Random {
    state: u64,
    n_left: usize,
}

impl Random {
    pub fn new(seed: u64, n_schedules: usize) -> Self {
        Self {
            state: seed,
            n_left: n_schedules,
        }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Scheduler for Random {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.n_left = self.n_left.checked_sub(1)?;
        Some(Schedule::new(self.next()))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let at = usize::try_from(self.next() % runnable.len() as u64).ok()?;
        runnable.get(at).map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.next()
    }
}

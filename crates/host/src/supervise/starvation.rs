//! For how long processes waited for a processor, from what the scheduler counted for their threads.
//!
//! A process that hangs does not want to run, or runs; one on a busy machine wants to run and waits. Only the second is
//! no fault of its own. [`waited`] decides that from two looks; [`Starvation`] takes the looks, through `proc`.

use super::proc::{self, Stat, Thread};
use bowline_component::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Between two looks, unless a process is to be judged.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The threads of a process group, by their numbers.
type Threads = BTreeMap<i32, Thread>;

/// Processes that may hang, as they were at the last look.
#[derive(Debug, Default)]
pub(crate) struct Starvation {
    looked: Option<Time>,
    own: Threads,
    /// By their places in the plan.
    groups: BTreeMap<usize, Threads>,
}

impl Starvation {
    /// Looks at processes that may hang, given with their process groups. For how long each waited for a processor since
    /// the last look, or this thread did, which watches them: nothing for those that it did not look at before.
    pub(crate) fn look(
        &mut self,
        now: Time,
        must_look: bool,
        doubtful: &BTreeMap<usize, i32>,
    ) -> Vec<(usize, Duration)> {
        if doubtful.is_empty() {
            *self = Self::default();
            return Vec::new();
        }
        let elapsed = self.looked.map_or(Duration::MAX, |at| now.since(at));
        if elapsed < LOOK_EVERY && !must_look {
            return Vec::new();
        }
        let own = proc::own_thread()
            .into_iter()
            .map(|it| (it.tid, it))
            .collect();
        let groups = threads_of(doubtful);
        let own_waited = waited(&self.own, &own, elapsed);
        let starved = groups.iter().filter_map(|(unit, after)| {
            let waited = waited(self.groups.get(unit)?, after, elapsed);
            Some((*unit, waited.max(own_waited)))
        });
        let starved = starved.filter(|(_, waited)| !waited.is_zero()).collect();
        *self = Self {
            looked: Some(now),
            own,
            groups,
        };
        starved
    }
}

fn threads_of(doubtful: &BTreeMap<usize, i32>) -> BTreeMap<usize, Threads> {
    let wanted: BTreeSet<i32> = doubtful.values().copied().collect();
    let mut members: BTreeMap<i32, Threads> = BTreeMap::new();
    let is_wanted = |stat: &Stat| !stat.is_zombie && wanted.contains(&stat.group);
    for stat in proc::stats().into_iter().filter(is_wanted) {
        let threads = proc::threads(stat.pid).into_iter();
        let group = members.entry(stat.group).or_default();
        group.extend(threads.map(|it| (it.tid, it)));
    }
    let threads = |group| members.get(group).cloned().unwrap_or_default();
    doubtful
        .iter()
        .map(|(unit, group)| (*unit, threads(group)))
        .collect()
}

/// For how long the thread waited for a processor that waited most, between two looks. The kernel counts a wait when it is
/// over, so a thread that is ready to run and has not had a turn since the first look waited all the time.
fn waited(before: &Threads, after: &Threads, elapsed: Duration) -> Duration {
    let waits = after.iter().filter_map(|(tid, after)| {
        let before = before.get(tid)?;
        let is_without_turn = after.is_runnable
            && before.is_runnable
            && (after.n_turns, after.ran_ns) == (before.n_turns, before.ran_ns);
        Some(match is_without_turn {
            true => elapsed,
            false => Duration::from_nanos(after.waited_ns.saturating_sub(before.waited_ns)),
        })
    });
    waits.max().unwrap_or_default().min(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELAPSED: Duration = Duration::from_millis(100);

    fn thread(tid: i32, is_runnable: bool, ran_ms: u64, waited_ms: u64, n_turns: u64) -> Thread {
        Thread {
            tid,
            is_runnable,
            ran_ns: ran_ms * 1_000_000,
            waited_ns: waited_ms * 1_000_000,
            n_turns,
        }
    }

    fn threads(threads: &[Thread]) -> Threads {
        threads.iter().map(|it| (it.tid, *it)).collect()
    }

    #[test]
    fn waits_for_a_processor_are_neither_sleep_nor_work() {
        let before = thread(7, false, 500, 40, 9);
        let runnable = thread(7, true, 500, 40, 9);
        #[rustfmt::skip]
        let cases = [
            ("sleeps or is stopped", before, thread(7, false, 500, 40, 9), 0),
            ("works without a wait", runnable, thread(7, true, 600, 40, 9), 0),
            ("works and waits in turn", runnable, thread(7, true, 520, 120, 20), 80),
            ("waits, got no turn", runnable, runnable, 100),
            ("has just become ready to run", before, runnable, 0),
            ("had waited for longer than between the looks", runnable, thread(7, true, 501, 900, 10), 100),
        ];
        for (name, before, after, expected_ms) in cases {
            let waited = waited(&threads(&[before]), &threads(&[after]), ELAPSED);
            assert_eq!(waited, Duration::from_millis(expected_ms), "{name}");
        }
    }

    #[test]
    fn the_thread_that_waited_most_counts_and_new_threads_do_not() {
        let before = threads(&[thread(1, true, 0, 0, 1), thread(2, true, 0, 0, 1)]);
        let after = threads(&[
            thread(1, true, 50, 30, 5),
            thread(2, true, 40, 60, 5),
            thread(3, true, 1, 90, 2),
        ]);
        assert_eq!(waited(&before, &after, ELAPSED), Duration::from_millis(60));
        assert_eq!(waited(&before, &Threads::new(), ELAPSED), Duration::ZERO);
        assert_eq!(waited(&Threads::new(), &after, ELAPSED), Duration::ZERO);
    }
}

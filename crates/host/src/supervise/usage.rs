//! How much of the processor and of memory each process group takes, and the children that no other code reaps.

use super::proc::Stat;
use bowline_component::Time;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::{BTreeMap, BTreeSet};

/// What a process group takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Of one processor; 1 is all of it.
    pub(crate) cpu_ratio: f64,
    pub(crate) memory_bytes: i64,
}

/// Looks at process groups now and then.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Time on processors by process group, and when that was.
    before: Option<(Time, BTreeMap<i32, u64>)>,
    zombies: BTreeSet<i32>,
}

impl Meter {
    /// What each process group takes.
    pub(crate) fn measure(&mut self, now: Time, stats: &[Stat]) -> BTreeMap<i32, Usage> {
        let mut ticks: BTreeMap<i32, u64> = BTreeMap::new();
        let mut usages: BTreeMap<i32, Usage> = BTreeMap::new();
        let page = i64::try_from(rustix::param::page_size()).unwrap_or(4096);
        for stat in stats.iter().filter(|stat| !stat.is_zombie) {
            *ticks.entry(stat.group).or_default() += stat.cpu_ticks;
            let pages = i64::try_from(stat.resident_pages).unwrap_or(i64::MAX);
            usages.entry(stat.group).or_default().memory_bytes += pages.saturating_mul(page);
        }
        if let Some((at, before)) = &self.before {
            let seconds = now.since(*at).as_secs_f64();
            for (group, usage) in &mut usages {
                let (ticks, before) = (ticks.get(group), before.get(group));
                if let (Some(ticks), Some(before)) = (ticks, before)
                    && seconds > 0.0
                {
                    usage.cpu_ratio = in_seconds(ticks.saturating_sub(*before)) / seconds;
                }
            }
        }
        self.before = Some((now, ticks));
        usages
    }

    /// Reaps children without a parent: orphans that the kernel gave us. One look later, because the starter of a
    /// child on purpose asks for it at once.
    pub(crate) fn reap_orphans(&mut self, stats: &[Stat], runs: &BTreeSet<i32>) {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let is_orphan =
            |stat: &&Stat| stat.is_zombie && stat.parent == own && !runs.contains(&stat.pid);
        let zombies: BTreeSet<i32> = stats.iter().filter(is_orphan).map(|it| it.pid).collect();
        for pid in zombies.intersection(&self.zombies) {
            if let Some(pid) = Pid::from_raw(*pid) {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                let _is_gone = waitid(WaitId::Pid(pid), options);
            }
        }
        self.zombies = zombies;
    }
}

/// Clock ticks of a second or so: few enough for any number.
fn in_seconds(ticks: u64) -> f64 {
    let per_second = rustix::param::clock_ticks_per_second();
    let number = |ticks: u64| f64::from(u32::try_from(ticks).unwrap_or(u32::MAX));
    number(ticks) / number(per_second.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn stat(pid: i32, group: i32, cpu_ticks: u64) -> Stat {
        Stat {
            pid,
            is_zombie: false,
            parent: 1,
            group,
            cpu_ticks,
            start_ticks: 1,
            resident_pages: 2,
        }
    }

    #[test]
    fn a_group_takes_what_its_processes_take() {
        let per_second = rustix::param::clock_ticks_per_second();
        let page = i64::try_from(rustix::param::page_size()).unwrap();
        let mut meter = Meter::default();
        let start = Time::from_ns(5);
        meter.measure(start, &[stat(10, 10, 7), stat(11, 10, 7), stat(12, 12, 9)]);
        let later = start + Duration::from_secs(2);
        let stats = [
            stat(10, 10, 7 + per_second),
            stat(11, 10, 7 + 2 * per_second),
            stat(12, 12, 9),
        ];
        let usages = meter.measure(later, &stats);
        let usage = |cpu_ratio, n_pages| Usage {
            cpu_ratio,
            memory_bytes: n_pages * page,
        };
        assert_eq!(usages.get(&10), Some(&usage(1.5, 4)));
        assert_eq!(usages.get(&12), Some(&usage(0.0, 2)));
    }
}

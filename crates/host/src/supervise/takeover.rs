//! What a supervisor that comes back does about what the one before it has left.
//!
//! A process that is still the same, and was started as the plan has it, goes on. Another in its place is asked to stop,
//! and then replaced. What is in no plan is asked to stop. What carries our mark and was not written down is killed.

use super::plan::{Plan, ProcessSpec};
use super::proc::Survey;
use super::process::Run;
use super::state::Child;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::thread;
use std::time::Duration;

/// Between two looks at what is being killed, and how many there are at most.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const MAX_LOOKS: usize = 100;

/// A process that was left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) child: Child,
    pub(crate) run: Run,
    /// Its place: in the plan, or behind it, where strangers are.
    pub(crate) place: usize,
    /// Whether it is as the plan has it.
    pub(crate) is_wanted: bool,
}

fn run(child: &Child) -> Option<Run> {
    Run::adopt(Pid::from_raw(child.pid)?, child.start_ticks, &child.mark)
}

/// What was left, and what of that is not in the plan.
#[derive(Debug, Default)]
pub(crate) struct Takeover {
    pub(crate) left: Vec<Left>,
    pub(crate) strangers: Vec<ProcessSpec>,
}

impl Takeover {
    /// Looks for what is left of what was written down.
    pub(crate) fn new(plan: &Plan, children: Vec<Child>) -> Self {
        let mut takeover = Self::default();
        for child in children {
            if let Some(run) = run(&child) {
                takeover.add(plan, child, run);
            }
        }
        takeover
    }

    /// Whether a process that was written down still runs.
    pub(crate) fn is_left(child: &Child) -> bool {
        run(child).is_some()
    }

    fn add(&mut self, plan: &Plan, child: Child, run: Run) {
        let place = plan.processes.iter().position(|it| it.name == child.name);
        let is_taken = place.is_some_and(|place| self.left.iter().any(|it| it.place == place));
        let (place, is_wanted) = match place {
            Some(place) if !is_taken => {
                let digest = plan.processes.get(place).map(ProcessSpec::digest);
                (place, digest == Some(child.digest))
            }
            Some(_) | None => {
                let mut spec = ProcessSpec::new(child.name.clone(), [""; 0]);
                spec.grace = child.grace;
                spec.stop_signal = child.stop_signal;
                self.strangers.push(spec);
                (plan.processes.len() + self.strangers.len() - 1, false)
            }
        };
        self.left.push(Left {
            child,
            run,
            place,
            is_wanted,
        });
    }

    /// Kills what carries our mark and is part of no run that was taken over. Returns how many there were.
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel does not report when another process's child is gone"
    )]
    pub(crate) fn sweep(&self, prefix: &str) -> usize {
        let mut n_killed = 0;
        for _ in 0..MAX_LOOKS {
            let killed = self.kill_unknown(prefix);
            if killed == 0 {
                break;
            }
            n_killed = n_killed.max(killed);
            thread::sleep(LOOK_EVERY);
        }
        n_killed
    }

    fn kill_unknown(&self, prefix: &str) -> usize {
        let survey = Survey::take();
        let unknown = survey.0.iter().filter(|found| {
            let mark = found.mark.as_deref().unwrap_or_default();
            let is_ours = mark.split('/').any(|part| part.starts_with(prefix));
            is_ours && !self.left.iter().any(|left| found.is_of_run(&left.run.mark))
        });
        let mut n_killed = 0;
        for found in unknown {
            let pid = Pid::from_raw(found.stat.pid);
            let descriptor = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            if let Some(descriptor) = descriptor {
                let _is_gone = pidfd_send_signal(descriptor, Signal::KILL);
                n_killed += 1;
            }
        }
        n_killed
    }
}

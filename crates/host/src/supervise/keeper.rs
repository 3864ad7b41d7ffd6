//! Bounds what processes print while no supervisor is there to read it.
//!
//! A process of its own, started by a supervisor, and ended by it. If the supervisor dies instead, the keeper gives back
//! the memory of all but the last of what its processes print, until the next supervisor comes or none of them is left.
//! What it gives back unread is counted, and the next supervisor gets the count.

use super::capture::Capture;
use super::plan::Plan;
use super::process::Run;
use super::state::{self, Child, Skipped};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How often it looks, as often as a supervisor would.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Keeps watch over the processes of a supervisor, which is the process of that number. Returns when it is not needed any
/// more. For a program that does nothing else, started by [`Options::keeper`](super::Options::keeper).
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel does not report writes to a file"
)]
pub fn keep(folder: &Path, name: &str, supervisor: i32) {
    let who = state::who(folder, name);
    wait_for_end(supervisor);
    let mut skipped = Skipped::default();
    // Another supervisor of the name reads itself.
    while state::who(folder, name) == who {
        let children = state::read(folder, name).children;
        let runs: Vec<(Child, Run)> = children.into_iter().filter_map(adopt).collect();
        if runs.is_empty() {
            return;
        }
        for (child, run) in &runs {
            let n_bytes = Capture::reopen(run.pid).map_or(0, |mut capture| capture.trim());
            skipped.add(&child.mark, n_bytes);
        }
        skipped.write(folder, name);
        thread::sleep(LOOK_EVERY);
    }
}

fn adopt(child: Child) -> Option<(Child, Run)> {
    let run = Run::adopt(Pid::from_raw(child.pid)?, child.start_ticks, &child.mark)?;
    Some((child, run))
}

fn wait_for_end(supervisor: i32) {
    let descriptor = Pid::from_raw(supervisor).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    // One that is gone already has no descriptor.
    if let Some(Ok(descriptor)) = descriptor {
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        // A signal for another purpose.
        while poll(&mut polled, None).is_err() {}
    }
}

/// A keeper that was started, by its descriptor: its number may be another's one day. It ends with this.
#[derive(Debug)]
pub(crate) struct Keeper(OwnedFd);

impl Keeper {
    /// Starts one; `None` where that is refused: a robot runs without, too.
    pub(crate) fn start(command: &[String], folder: &Path, plan: &Plan) -> Option<Self> {
        use std::os::unix::process::CommandExt as _;
        let (program, arguments) = command.split_first()?;
        let child = Command::new(program)
            .args(arguments)
            .arg(folder)
            .arg(format!("{}@{}", plan.robot, plan.host))
            .arg(process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the supervisor's terminal does not end it.
            .process_group(0)
            .spawn();
        let pid = Pid::from_child(&child.ok()?);
        pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _is_gone = pidfd_send_signal(&self.0, Signal::KILL);
        let _is_reaped = waitid(WaitId::PidFd(self.0.as_fd()), WaitIdOptions::EXITED);
    }
}

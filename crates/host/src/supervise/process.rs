//! Runs of processes: started, waited for, signalled, and looked after until nothing of them is left.
//!
//! A run is a process group, and whatever else carries its mark. The process itself is asked for its exit without being
//! reaped; that happens when nothing else is left, so that its number cannot be another's while we send signals to it.

use super::capture::Capture;
use super::exit::Exit;
use super::plan::{Limits, ProcessSpec, StopSignal};
use super::proc::{self, Found, MARKER, Stat, Survey};
use super::sys::unblock_signals;
use crate::clock::Epoch;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process_group,
    pidfd_open, pidfd_send_signal, prlimit, setpriority_process, waitid,
};
use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// A run of a process.
pub(crate) struct Run {
    pub(crate) pid: Pid,
    /// When it started, clock ticks since the machine did.
    pub(crate) start_ticks: u64,
    pub(crate) mark: String,
    /// Whether it is another's child.
    pub(crate) is_adopted: bool,
    pub(crate) has_exited: bool,
    /// Since it was killed, the processes outside of its group that were killed, too.
    strays: Option<Vec<Pid>>,
    descriptor: OwnedFd,
}

impl Run {
    /// Starts a process in a process group of its own.
    pub(crate) fn spawn(
        spec: &ProcessSpec,
        mark: String,
        epoch: Epoch,
        capture: &Capture,
    ) -> Result<Self, SpawnError> {
        let (program, arguments) = spec.argv.split_first().ok_or(SpawnError::NoProgram)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .env(MARKER, &mark)
            .env(Epoch::VARIABLE, epoch.to_string())
            .stdin(Stdio::null())
            .stdout(capture.writer().map_err(SpawnError::Capture)?)
            .stderr(capture.writer().map_err(SpawnError::Capture)?)
            .process_group(0);
        if let Some(folder) = &spec.cwd {
            command.current_dir(folder);
        }
        unblock_signals(&mut command);
        // It is waited for by its descriptor, not by std.
        let child = command.spawn().map_err(|source| SpawnError::Start {
            program: program.clone(),
            source,
        })?;
        let pid = Pid::from_child(&child);
        let run = Self::of(pid, mark, false).map_err(SpawnError::Watch);
        let limited = limit(pid, &spec.limits).map_err(SpawnError::Limit);
        run.and_then(|run| limited.map(|()| run)).inspect_err(|_| {
            let _is_gone = kill_process_group(pid, Signal::KILL);
            let _is_reaped = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        })
    }

    /// Takes over a process that was started by a supervisor that is gone. `None` if it is not the one.
    pub(crate) fn adopt(pid: Pid, start_ticks: u64, mark: &str) -> Option<Self> {
        let run = Self::of(pid, mark.to_owned(), true).ok()?;
        // After its descriptor was opened, so that it cannot become another.
        let stat = proc::stat(pid)?;
        let is_same = stat.start_ticks == start_ticks && !stat.is_zombie;
        (is_same && proc::mark(stat.pid).as_deref() == Some(mark)).then_some(run)
    }

    fn of(pid: Pid, mark: String, is_adopted: bool) -> io::Result<Self> {
        Ok(Self {
            pid,
            start_ticks: proc::stat(pid).map_or(0, |stat| stat.start_ticks),
            mark,
            is_adopted,
            has_exited: false,
            strays: None,
            descriptor: pidfd_open(pid, PidfdFlags::empty())?,
        })
    }

    fn group(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Readable when the process has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// How the process ended. To be asked when the descriptor is readable.
    pub(crate) fn exit(&mut self) -> Exit {
        self.has_exited = true;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(Some(status)) = waitid(WaitId::PidFd(self.descriptor()), options) else {
            return Exit::Unknown;
        };
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(number)) => Exit::Signal {
                number,
                has_core: status.dumped(),
            },
            (None, None) => Exit::Unknown,
        }
    }

    /// Asks all of it to stop: its group, and what has left that.
    pub(crate) fn ask(&self, signal: StopSignal, survey: &Survey) {
        let signal = signal.of_system();
        // A halted process receives nothing else.
        for signal in [signal, Signal::CONT] {
            self.signal_group(signal);
            for found in survey
                .of_run(&self.mark)
                .filter(|it| it.stat.group != self.group())
            {
                send(found, signal);
            }
        }
    }

    /// Kills its group, which is all that most runs are. Whether that was done before.
    pub(crate) fn kill_group(&mut self) -> bool {
        self.signal_group(Signal::KILL);
        let was_killed = self.strays.is_some();
        self.strays.get_or_insert_default();
        was_killed
    }

    /// Kills what else there is of it.
    pub(crate) fn kill_strays(&mut self, survey: &Survey) {
        for found in survey.of_run(&self.mark) {
            let strays = self.strays.get_or_insert_default();
            strays.extend(send(found, Signal::KILL));
        }
    }

    /// Whether nothing of it is left. Then it has been reaped, and must not be asked for anything.
    pub(crate) fn is_gone(&mut self, survey: &Survey) -> bool {
        if !self.has_exited {
            return false;
        }
        let is_member = |stat: &Stat| {
            stat.group == self.group() && !stat.is_zombie && stat.start_ticks >= self.start_ticks
        };
        let is_left = survey.0.iter().any(|it| is_member(&it.stat));
        if is_left || survey.of_run(&self.mark).next().is_some() {
            return false;
        }
        self.reap();
        true
    }

    /// The kernel keeps a line for each child until it was asked about it.
    fn reap(&mut self) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // Its own line, and those of orphans that became our children.
        while let Ok(Some(_)) = waitid(WaitId::Pgid(Some(self.pid)), options) {}
        // It may have gone to another group, as those have that were killed outside of it.
        let strays = self.strays.as_mut().map(std::mem::take);
        for pid in strays.into_iter().flatten().chain([self.pid]) {
            let _is_gone = waitid(WaitId::Pid(pid), options);
        }
    }

    fn signal_group(&self, signal: Signal) {
        // A child of ours keeps its number until it is reaped. Another's does not.
        let is_ours = !self.is_adopted
            || proc::stat(self.pid).is_some_and(|it| it.start_ticks == self.start_ticks);
        if is_ours {
            // An empty group needs no signal.
            let _is_gone = kill_process_group(self.pid, signal);
        }
    }
}

/// Sends a signal to a process that was found, if it is still the same.
fn send(found: &Found, signal: Signal) -> Option<Pid> {
    let pid = Pid::from_raw(found.stat.pid)?;
    // The number may be another's by now. Its descriptor cannot be, if the time of its start is still the same.
    let descriptor = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let is_same = proc::stat(pid)?.start_ticks == found.stat.start_ticks;
    if is_same {
        // What has ended meanwhile needs no signal.
        let _is_gone = pidfd_send_signal(descriptor, signal);
    }
    is_same.then_some(pid)
}

fn limit(pid: Pid, limits: &Limits) -> io::Result<()> {
    let Limits {
        memory_bytes,
        open_files,
        processes,
        nice,
    } = *limits;
    let resources = [
        (Resource::As, memory_bytes),
        (Resource::Nofile, open_files),
        (Resource::Nproc, processes),
    ];
    for (resource, most) in resources {
        if most.is_some() {
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            still_there(prlimit(Some(pid), resource, limit).map(|_| ()))?;
        }
    }
    match nice {
        Some(nice) => still_there(setpriority_process(Some(pid), i32::from(nice))),
        None => Ok(()),
    }
}

/// A process that has ended already needs no limits.
fn still_there(result: Result<(), Errno>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error("no program is given")]
    NoProgram,
    #[error("cannot run {program:?}: {source}")]
    Start { program: String, source: io::Error },
    #[error("its output cannot be taken: {0}")]
    Capture(io::Error),
    #[error("it cannot be watched: {0}")]
    Watch(io::Error),
    #[error("its limits cannot be set: {0}")]
    Limit(io::Error),
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({}, {:?})", self.pid.as_raw_nonzero(), self.mark)
    }
}

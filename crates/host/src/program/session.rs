//! A program's process, and the bus between it and its host.
//!
//! In: requests for steps. Out: what the program publishes until it reports the step done, in its order; or why it cannot
//! go on. Every wait is bounded, and ends when the process does.
//!
//! The bus is a hub on loopback: ordered, without loss, and known to every implementation of LCM.

use super::{
    STEP_DONE_CHANNEL, STEP_READY_CHANNEL, STEP_REQUEST_CHANNEL, STEP_URL_VARIABLE, STEP_VERSION,
};
use crate::clock;
use crate::robot::Command;
use crate::supervise::{Exit, MARKER, end_with_parent, unblock_signals};
use bowline_bus::hub::BindHubError;
use bowline_bus::transport::{ListenError, OpenError};
use bowline_bus::{
    Bus, Bytes, Channel, Event, Hub, Inbox, Pattern, PublishError, Queue, RecvError,
    SCHEMA_CHANNEL, SCHEMA_REQUEST_CHANNEL, SubscriptionId,
};
use bowline_component::{Input, Raw, Time};
use bowline_msgs::{StepDone, StepReady, StepRequest};
use bowline_wire::{DecodeError, Message as _};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

/// How often at least it is looked whether the process has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many times the limit of a step a program may take until it is ready: it loads its libraries.
pub(crate) const READY_STEPS: u32 = 10;
/// What publishers announce beside their messages.
const ANNOUNCEMENTS: [&str; 2] = [SCHEMA_CHANNEL, SCHEMA_REQUEST_CHANNEL];

/// A program that takes steps.
pub(super) struct Session {
    inbox: Inbox,
    everything: SubscriptionId,
    /// What comes back to the host because it publishes it itself.
    own: Vec<Channel>,
    clock: clock::Live,
    step_within: Duration,
    period: Option<Duration>,
    n_steps: i64,
    // In this order: the process ends while its bus is there.
    process: Process,
    hub: Hub,
}

impl Session {
    /// Starts the program, and waits until it is ready.
    pub(super) fn start(
        command: &Command,
        step_within: Duration,
        inputs: &[(Channel, Input<Raw>)],
    ) -> Result<Self, ProgramError> {
        let hub = Hub::bind("127.0.0.1:0")?;
        let inbox = Bus::open(&hub.url())?.inbox();
        let everything =
            Pattern::new(".*").map_err(|error| ProgramError::Pattern(error.to_string()))?;
        let everything = inbox.subscribe_to(everything, Queue::default())?;
        let own = inputs.iter().map(|(channel, _)| channel.clone());
        let mut session = Self {
            inbox,
            everything,
            own: own.chain([Channel::from(STEP_REQUEST_CHANNEL)]).collect(),
            clock: clock::Live::new(),
            step_within,
            period: None,
            n_steps: 0,
            process: Process::start(command, &hub.url())?,
            hub,
        };
        session.period = session.wait_until_ready()?;
        Ok(session)
    }

    /// How often the program wants a step.
    pub(super) fn period(&self) -> Option<Duration> {
        self.period
    }

    fn wait_until_ready(&mut self) -> Result<Option<Duration>, ProgramError> {
        let within = self.step_within.saturating_mul(READY_STEPS);
        let event = self.next_within(within)?;
        let event = event.ok_or(ProgramError::NotReady(within))?;
        if event.channel.as_str() != STEP_READY_CHANNEL {
            return Err(ProgramError::Early(event.channel));
        }
        let StepReady {
            version,
            name: _,
            period_ns,
        } = StepReady::decode(&event.payload).map_err(unreadable(STEP_READY_CHANNEL))?;
        if version != STEP_VERSION {
            return Err(ProgramError::Version(version));
        }
        let period = u64::try_from(period_ns).ok();
        let period = period.ok_or(ProgramError::Period(period_ns))?;
        Ok((period > 0).then(|| Duration::from_nanos(period)))
    }

    /// Hands a message to the program, for the step that follows.
    pub(super) fn publish(&self, channel: &str, bytes: &Bytes) -> Result<(), ProgramError> {
        Ok(self.inbox.bus().publish_bytes(channel, bytes)?)
    }

    /// Has the program take a step. `send` is given what it publishes, and refuses what the robot file does not name.
    /// Returns when the program wants to be woken.
    pub(super) fn step(
        &mut self,
        reason: i8,
        channel: &str,
        now: Time,
        send: &mut dyn FnMut(&str, Bytes) -> bool,
    ) -> Result<Option<Time>, ProgramError> {
        let step = self.n_steps;
        self.n_steps += 1;
        let request = StepRequest {
            step,
            time_ns: now.ns(),
            reason,
            channel: channel.to_owned(),
        };
        self.inbox.bus().publish(STEP_REQUEST_CHANNEL, &request)?;
        let deadline = self.clock.now() + self.step_within;
        let done = loop {
            let event = self.next_within(self.clock.until(deadline))?;
            let within = self.step_within;
            let event = event.ok_or(ProgramError::Silent { step, within })?;
            match event.channel.as_str() {
                STEP_DONE_CHANNEL => {
                    let done = StepDone::decode(&event.payload);
                    break done.map_err(unreadable(STEP_DONE_CHANNEL))?;
                }
                channel if send(channel, event.payload) => {}
                _ => {
                    let channel = event.channel;
                    return Err(ProgramError::Undeclared { step, channel });
                }
            }
        };
        if done.step != step {
            return Err(ProgramError::WrongStep {
                expected: step,
                found: done.step,
            });
        }
        if !done.error.is_empty() {
            return Err(ProgramError::Failed {
                step,
                why: done.error,
            });
        }
        let lost = self.hub.status().dropped + self.inbox.queue_counts(self.everything).dropped;
        if lost > 0 {
            return Err(ProgramError::Lost { step, lost });
        }
        Ok((done.wake_ns != 0).then(|| Time::from_ns(done.wake_ns)))
    }

    /// The next message of the program; `None` if there is none in time.
    fn next_within(&mut self, within: Duration) -> Result<Option<Event>, ProgramError> {
        let deadline = self.clock.now() + within;
        let mut exit = None;
        loop {
            let left = self.clock.until(deadline);
            if let Some((_, event)) = self.inbox.recv_timeout(left.min(LOOK_EVERY))? {
                let is_of_program = !self.own.contains(&event.channel)
                    && !ANNOUNCEMENTS.contains(&event.channel.as_str());
                if is_of_program {
                    return Ok(Some(event));
                }
                continue;
            }
            // What it published before its end may come a moment after that.
            if let Some(exit) = exit {
                return Err(ProgramError::Ended(exit));
            }
            exit = self.process.exit();
            if exit.is_none() && left.is_zero() {
                return Ok(None);
            }
        }
    }
}

fn unreadable(channel: &'static str) -> impl FnOnce(DecodeError) -> ProgramError {
    move |source| ProgramError::Unreadable { channel, source }
}

/// A process in a group of its own, which ends with this.
struct Process {
    child: Child,
    pid: Pid,
    descriptor: OwnedFd,
    stop_signal: Signal,
    grace: Duration,
}

impl Process {
    fn start(command: &Command, url: &str) -> Result<Self, ProgramError> {
        let (program, arguments) = command
            .command
            .split_first()
            .ok_or(ProgramError::NoProgram)?;
        let refused = |source| ProgramError::Start {
            program: program.clone(),
            source,
        };
        // Standard output is the host's own, and may be read by another program.
        let errors = io::stderr().as_fd().try_clone_to_owned().map_err(refused)?;
        let mut process = std::process::Command::new(program);
        process
            .args(arguments)
            .envs([STEP_URL_VARIABLE, "BOWLINE_URL", "LCM_DEFAULT_URL"].map(|name| (name, url)))
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            // A supervisor asks the host to stop, which finishes its step and then ends the program itself.
            .env_remove(MARKER)
            .stdin(Stdio::null())
            .stdout(errors)
            // ^C at a terminal is for the host, which ends the program in its own time.
            .process_group(0);
        if !command.folder.as_os_str().is_empty() {
            process.current_dir(&command.folder);
        }
        unblock_signals(&mut process);
        end_with_parent(&mut process);
        let mut child = process.spawn().map_err(refused)?;
        let pid = Pid::from_child(&child);
        let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => descriptor,
            Err(error) => {
                let _is_gone = child.kill();
                let _is_reaped = child.wait();
                return Err(refused(error.into()));
            }
        };
        Ok(Self {
            child,
            pid,
            descriptor,
            stop_signal: command.stop_signal.of_system(),
            grace: command.stop_grace,
        })
    }

    /// How it ended, if it has. It keeps its number until it is dropped.
    fn exit(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::PidFd(self.descriptor.as_fd()), options);
        let status = status.ok().flatten()?;
        Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(number)) => Exit::Signal {
                number,
                has_core: status.dumped(),
            },
            (None, None) => Exit::Unknown,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for signal in [self.stop_signal, Signal::CONT] {
            let _is_gone = kill_process_group(self.pid, signal);
        }
        let grace = Timespec::try_from(self.grace).ok();
        let mut ended = [PollFd::new(&self.descriptor, PollFlags::IN)];
        // Whatever keeps it from being waited for, it is killed.
        let _is_ended = poll(&mut ended, grace.as_ref());
        let _is_gone = kill_process_group(self.pid, Signal::KILL);
        let _is_reaped = self.child.wait();
    }
}

/// Why a program takes no more steps.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no bus to talk to it.
    #[error("the bus of its program cannot be made: {0}")]
    Hub(#[from] BindHubError),
    /// There is no bus to talk to it.
    #[error("the bus of its program cannot be opened: {0}")]
    Open(#[from] OpenError),
    /// There is no bus to talk to it.
    #[error("the bus of its program cannot be read: {0}")]
    Listen(#[from] ListenError),
    /// There is no bus to talk to it.
    #[error("the bus of its program cannot be read: {0}")]
    Pattern(String),
    /// Its bus broke.
    #[error("the bus of its program cannot be read: {0}")]
    Receive(#[from] RecvError),
    /// Its bus broke, or a message is too large for it.
    #[error("its program cannot be sent a message: {0}")]
    Publish(#[from] PublishError),
    /// The robot file names none.
    #[error("it has no program")]
    NoProgram,
    /// The system refused.
    #[error("its program {program:?} cannot be started: {source}")]
    Start {
        /// What was to be started.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// It sent no `step_ready_t`.
    #[error(
        "its program was not ready within {0:?}: expected a message on {STEP_READY_CHANNEL:?}, found none"
    )]
    NotReady(Duration),
    /// It was not asked for anything yet.
    #[error("its program published on {:?} before it was ready", .0.as_str())]
    Early(Channel),
    /// It speaks another version of the protocol.
    #[error("its program speaks version {0} of the protocol: expected {STEP_VERSION}")]
    Version(i32),
    /// Time goes forward.
    #[error("its program wants a step every {0} ns: expected 0 or more")]
    Period(i64),
    /// It publishes another type than the protocol has.
    #[error("what its program published on {channel:?} cannot be read: {source}")]
    Unreadable {
        /// Where.
        channel: &'static str,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// It hangs, or takes longer than its robot file allows.
    #[error("its program did not finish step {step} within {within:?} (step_within)")]
    Silent {
        /// Which step.
        step: i64,
        /// How long it may take.
        within: Duration,
    },
    /// Its process is gone.
    #[error("its program ended: {0}")]
    Ended(Exit),
    /// It reports another step than it was asked for.
    #[error("its program reports step {found} done: expected step {expected}")]
    WrongStep {
        /// What it was asked for.
        expected: i64,
        /// What it reports.
        found: i64,
    },
    /// It publishes what its robot file does not name.
    #[error("its program published on {:?} in step {step}, which is not among its writes", channel.as_str())]
    Undeclared {
        /// In which step.
        step: i64,
        /// Where.
        channel: Channel,
    },
    /// It reports itself that it cannot go on.
    #[error("its program failed in step {step}: {why}")]
    Failed {
        /// In which step.
        step: i64,
        /// Its own words.
        why: String,
    },
    /// More than the bus between both holds.
    #[error(
        "{lost} messages were lost in step {step}: the program publishes more than its bus holds"
    )]
    Lost {
        /// In which step.
        step: i64,
        /// How many.
        lost: u64,
    },
    /// It asks for ever more wake-ups.
    #[error("its program wants to be woken at too many moments")]
    TooManyWakes,
}

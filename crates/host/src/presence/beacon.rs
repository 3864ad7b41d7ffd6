//! When a process sends a heartbeat, and when what it is made of.

use super::{
    HEARTBEAT_PERIOD, MAX_COMPONENTS, MAX_PORTS, MAX_SERVICES, MAX_TEXT, PRESENCE_PERIOD,
    ThisProcess,
};
use bowline_component::Time;
use bowline_msgs::{Heartbeat, HeartbeatComponent, Presence, PresenceComponent, PresenceRequest};
use std::time::Duration;

/// How soon after the last one a description may follow, however often it is requested.
const MIN_PRESENCE_GAP: Duration = Duration::from_millis(250);

/// The sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name of the robot that the process is part of.
    pub robot: String,
    /// Name of the machine.
    pub host: String,
    /// Name of the process in the robot file.
    pub process: String,
    /// Its number on that machine.
    pub pid: i32,
    /// When it started, microseconds since the epoch: identifies its instances.
    pub instance: i64,
}

impl Identity {
    /// This process, as a part of a robot.
    #[must_use]
    pub fn of_this_process(robot: &str, process: &str, started: Time) -> Self {
        let this = ThisProcess::get();
        Self {
            robot: robot.to_owned(),
            host: this.host.clone(),
            process: process.to_owned(),
            pid: i32::try_from(this.pid).unwrap_or(0),
            instance: started.utime(),
        }
    }
}

/// What is due to be sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DuePresence {
    /// For [`HEARTBEAT_CHANNEL`](super::HEARTBEAT_CHANNEL).
    pub heartbeat: Option<Heartbeat>,
    /// For [`PRESENCE_CHANNEL`](super::PRESENCE_CHANNEL).
    pub presence: Option<Presence>,
}

/// Knows what a process is made of, and when to send what.
#[derive(Debug)]
pub struct Beacon {
    identity: Identity,
    components: Vec<PresenceComponent>,
    revision: i64,
    heartbeat_due: Time,
    presence_due: Time,
    /// When the last description was given.
    presence_at: Option<Time>,
    n_cut: u64,
}

impl Beacon {
    /// For a process made of `components`. Everything is due at once.
    ///
    /// What is more than a message may carry is cut off, and counted.
    #[must_use]
    pub fn new(identity: Identity, components: Vec<PresenceComponent>, now: Time) -> Self {
        let mut beacon = Self {
            identity,
            components: Vec::new(),
            revision: 0,
            heartbeat_due: now,
            presence_due: now,
            presence_at: None,
            n_cut: 0,
        };
        beacon.describe(now, components);
        beacon
    }

    /// The process is made of something else now, which is due to be sent at once.
    pub fn describe(&mut self, now: Time, mut components: Vec<PresenceComponent>) {
        cut(&mut components, MAX_COMPONENTS, &mut self.n_cut);
        for component in &mut components {
            cut(&mut component.ports, MAX_PORTS, &mut self.n_cut);
            cut(&mut component.services, MAX_SERVICES, &mut self.n_cut);
        }
        let components = components.into_iter().map(PresenceComponent::with_lengths);
        self.components = components.collect();
        self.revision += 1;
        self.presence_due = now;
    }

    /// Takes a request for what the process is made of. Whether it is for this process.
    pub fn on_request(&mut self, now: Time, request: &PresenceRequest) -> bool {
        let is_equal = |asked: &str, own: &str| asked.is_empty() || asked == own;
        let is_meant = is_equal(&request.robot, &self.identity.robot)
            && is_equal(&request.process, &self.identity.process);
        if is_meant {
            // A flood of requests gets no flood of answers.
            let earliest = self.presence_at.map_or(now, |at| at + MIN_PRESENCE_GAP);
            self.presence_due = self.presence_due.min(earliest.max(now));
        }
        is_meant
    }

    /// When [`on_time`](Self::on_time) has something to send.
    #[must_use]
    pub fn next_due(&self) -> Time {
        self.heartbeat_due.min(self.presence_due)
    }

    /// What is to be sent now. `health` is asked only if it is.
    pub fn on_time(
        &mut self,
        now: Time,
        clock_offset_ns: i64,
        health: impl FnOnce() -> Vec<HeartbeatComponent>,
    ) -> DuePresence {
        let mut due = DuePresence::default();
        if self.presence_due <= now {
            self.presence_due = now + PRESENCE_PERIOD;
            self.presence_at = Some(now);
            due.presence = Some(self.presence(now));
        }
        if self.heartbeat_due <= now {
            self.heartbeat_due = next_beat(self.heartbeat_due, now);
            due.heartbeat = Some(self.heartbeat(now, clock_offset_ns, health()));
        }
        due
    }

    /// The last words: the process ends.
    pub fn leave(
        &mut self,
        now: Time,
        clock_offset_ns: i64,
        health: Vec<HeartbeatComponent>,
    ) -> Heartbeat {
        Heartbeat {
            is_leaving: true,
            ..self.heartbeat(now, clock_offset_ns, health)
        }
    }

    /// Components, ports and services that were too many to announce.
    #[must_use]
    pub fn n_cut(&self) -> u64 {
        self.n_cut
    }

    /// The sender.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    fn heartbeat(
        &mut self,
        now: Time,
        clock_offset_ns: i64,
        mut components: Vec<HeartbeatComponent>,
    ) -> Heartbeat {
        components.truncate(MAX_COMPONENTS);
        for component in &mut components {
            component.text = bowline_component::service::shortened(&component.text, MAX_TEXT);
        }
        let Identity {
            robot,
            host,
            process,
            pid,
            instance,
        } = self.identity.clone();
        Heartbeat {
            utime: now.utime(),
            robot,
            host,
            process,
            pid,
            instance,
            clock_offset_us: clock_offset_ns.div_euclid(1_000),
            period_us: i32::try_from(HEARTBEAT_PERIOD.as_micros()).unwrap_or(i32::MAX),
            is_leaving: false,
            revision: self.revision,
            components,
            ..Heartbeat::default()
        }
        .with_lengths()
    }

    fn presence(&self, now: Time) -> Presence {
        let Identity {
            robot,
            host,
            process,
            pid,
            instance,
        } = self.identity.clone();
        Presence {
            utime: now.utime(),
            robot,
            host,
            process,
            pid,
            instance,
            revision: self.revision,
            components: self.components.clone(),
            ..Presence::default()
        }
        .with_lengths()
    }
}

/// The beat after one that was due then and is given now: in step, unless whole beats were missed.
fn next_beat(due: Time, now: Time) -> Time {
    let next = due + HEARTBEAT_PERIOD;
    if next <= now {
        now + HEARTBEAT_PERIOD
    } else {
        next
    }
}

fn cut<T>(list: &mut Vec<T>, max: usize, n_cut: &mut u64) {
    *n_cut += list.len().saturating_sub(max) as u64;
    list.truncate(max);
}

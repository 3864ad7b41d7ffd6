//! What a station brings with each command: its name, its session, the lease, a number, and the newest token.

use bowline_component::Time;
use bowline_msgs::{
    Authority, GateToken, LeaseRequest, Refusal, StopCommand, Task, TaskCommand, Thrust,
    ThrustCommand, Velocity, VelocityCommand,
};
use std::time::Duration;

/// A holder that says nothing else renews its lease so often: a lease outlives two that are lost.
const RENEW_EVERY: Duration = Duration::from_millis(300);

/// A token that is earlier than the newest by no more than this was overtaken; by more, the gate has begun anew.
const MAX_LATE_US: i64 = 5_000_000;

/// One life of a station, as a gate sees it.
///
/// Whoever has one hands it every token that is heard, and publishes what it makes. It does no I/O and reads no clock: `now`
/// is the station's own, for logs, and to renew in time.
#[derive(Clone, Debug)]
pub struct Session {
    station: String,
    session: i64,
    rank: i32,
    sequence: i64,
    heard: Option<GateToken>,
    said: Time,
}

impl Session {
    /// A station's session. The number must not be 0, and another one after each restart.
    #[must_use]
    pub fn new(station: &str, session: i64, rank: i32) -> Self {
        Self {
            station: station.to_owned(),
            session: if session == 0 { 1 } else { session },
            rank,
            sequence: 0,
            heard: None,
            said: Time::ZERO,
        }
    }

    /// Takes what the gate says twenty times a second.
    pub fn hear(&mut self, token: &GateToken) {
        let is_overtaken = self.heard.as_ref().is_some_and(|heard| {
            let late_us = heard.utime.saturating_sub(token.utime);
            (1..=MAX_LATE_US).contains(&late_us)
        });
        if !is_overtaken {
            self.heard = Some(token.clone());
        }
    }

    /// What the station is called.
    #[must_use]
    pub fn station(&self) -> &str {
        &self.station
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.session
    }

    /// Whether the gate was heard at all.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Whether it holds the lease, as far as it has heard.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.heard
            .as_ref()
            .is_some_and(|it| it.session == self.session)
    }

    /// Whether another session holds the lease, as far as it has heard.
    #[must_use]
    pub fn is_held_by_another(&self) -> bool {
        let holder = self.heard.as_ref().map_or(0, |it| it.session);
        holder != 0 && holder != self.session
    }

    /// Whether this is about a command of its own.
    #[must_use]
    pub fn is_mine(&self, refusal: &Refusal) -> bool {
        refusal.by.session == self.session && refusal.by.station == self.station
    }

    /// What has to be said now so that the lease is not lost, if anything.
    pub fn renewal(&mut self, now: Time) -> Option<LeaseRequest> {
        let is_due = self.is_holder() && now >= self.renew_at();
        is_due.then(|| self.request(now, LeaseRequest::RENEW))
    }

    /// When [`renewal`](Self::renewal) has something to say, if nothing else is said before.
    #[must_use]
    pub fn renew_at(&self) -> Time {
        self.said + RENEW_EVERY
    }

    /// TAKE, RENEW, RELEASE, CONSENT, DENY or PREEMPT.
    pub fn request(&mut self, now: Time, ask: i8) -> LeaseRequest {
        LeaseRequest {
            utime: now.utime(),
            by: self.authority(now),
            ask,
            rank: self.rank,
        }
    }

    /// A stop. It needs no lease and no token.
    pub fn stop(&mut self, now: Time, reason: &str) -> StopCommand {
        self.stop_command(now, StopCommand::STOP, reason)
    }

    /// The end of a stop.
    pub fn clear(&mut self, now: Time) -> StopCommand {
        self.stop_command(now, StopCommand::CLEAR, "")
    }

    fn stop_command(&mut self, now: Time, ask: i8, reason: &str) -> StopCommand {
        StopCommand {
            utime: now.utime(),
            by: self.authority(now),
            ask,
            reason: reason.to_owned(),
        }
    }

    /// Something to do.
    pub fn task(&mut self, now: Time, task: Task) -> TaskCommand {
        TaskCommand {
            utime: now.utime(),
            by: self.authority(now),
            task,
        }
    }

    /// Direct control of a vessel.
    pub fn thrust(&mut self, now: Time, port_ratio: f64, starboard_ratio: f64) -> ThrustCommand {
        let utime = now.utime();
        ThrustCommand {
            utime,
            by: self.authority(now),
            thrust: Thrust {
                utime,
                port_ratio,
                starboard_ratio,
            },
        }
    }

    /// Direct control of a vehicle on the ground.
    pub fn velocity(&mut self, now: Time, steering_rad: f64, speed_mps: f64) -> VelocityCommand {
        let utime = now.utime();
        VelocityCommand {
            utime,
            by: self.authority(now),
            velocity: Velocity {
                utime,
                steering_rad,
                speed_mps,
            },
        }
    }

    /// Numbers follow the clock where they can, so that several programs can speak for one session in turn.
    fn authority(&mut self, now: Time) -> Authority {
        self.sequence = self.sequence.saturating_add(1).max(now.utime());
        self.said = now;
        let heard = self.heard.as_ref();
        Authority {
            station: self.station.clone(),
            session: self.session,
            epoch: heard
                .filter(|it| it.session == self.session)
                .map_or(0, |it| it.epoch),
            sequence: self.sequence,
            token: heard.map_or(0, |it| it.token),
        }
    }
}

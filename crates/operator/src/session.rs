//! What a station puts into each command: its name, its session, the epoch of the lease, a number, and a token.

use bowline_msgs::{
    Authority, DirectCommand, Gate, GateToken, LeaseRequest, Refusal, StopCommand, Task,
    TaskCommand,
};
use std::collections::VecDeque;

/// A message of the gate that is older than the last by no more than this was overtaken on the way; one that is older by
/// more comes from a gate whose clock was set back.
const MAX_LATE_US: i64 = 5_000_000;

/// Tokens that are kept, so that one can be found that is no newer than a state: a second and a half of them.
const MAX_TOKENS: usize = 32;

/// Whether a message of the vehicle's time `utime` was overtaken by one of `last`.
#[must_use]
pub fn is_overtaken(utime: i64, last: i64) -> bool {
    (1..=MAX_LATE_US).contains(&last.saturating_sub(utime))
}

/// Who commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the station, 1 to 64 bytes.
    pub station: String,
    /// A number other than 0, and another one after each restart.
    pub session: i64,
    /// The rank that it asks for; the gate grants it as far as its rules allow.
    pub rank: i32,
}

/// One session of a station with one gate: makes commands with the authority that the gate demands.
///
/// Times are microseconds since the epoch by the station's clock: they are logged, and number the commands.
#[derive(Clone, Debug)]
pub struct Session {
    identity: Identity,
    sequence: i64,
    tokens: VecDeque<GateToken>,
    state_utime: Option<i64>,
    holder: Option<Holder>,
}

/// Who holds the lease, by the newest of the gate's messages that names the holder.
#[derive(Clone, Copy, Debug)]
struct Holder {
    utime: i64,
    session: i64,
    epoch: i64,
}

impl Session {
    /// A station's session.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        let session = match identity.session {
            0 => 1,
            session => session,
        };
        Self {
            identity: Identity {
                session,
                ..identity
            },
            sequence: 0,
            tokens: VecDeque::new(),
            state_utime: None,
            holder: None,
        }
    }

    /// Takes a token of the gate; false if a newer one overtook it.
    pub fn receive_token(&mut self, token: &GateToken) -> bool {
        if let Some(last) = self.tokens.back() {
            if is_overtaken(token.utime, last.utime) {
                return false;
            }
            if token.utime < last.utime {
                self.tokens.clear();
            }
        }
        if self.tokens.len() >= MAX_TOKENS {
            self.tokens.pop_front();
        }
        self.tokens.push_back(token.clone());
        self.note_holder(token.utime, token.session, token.epoch);
        true
    }

    /// Takes a state of the gate; false if a newer one overtook it.
    pub fn receive_state(&mut self, gate: &Gate) -> bool {
        if self
            .state_utime
            .is_some_and(|last| is_overtaken(gate.utime, last))
        {
            return false;
        }
        self.state_utime = Some(gate.utime);
        self.note_holder(gate.utime, gate.session, gate.epoch);
        true
    }

    /// Tokens and states both name the holder; the newer of them by the vehicle's clock counts.
    fn note_holder(&mut self, utime: i64, session: i64, epoch: i64) {
        if self.holder.is_none_or(|it| !is_overtaken(utime, it.utime)) {
            self.holder = Some(Holder {
                utime,
                session,
                epoch,
            });
        }
    }

    /// Who commands.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether a token of the gate was received.
    #[must_use]
    pub fn has_token(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Whether this session holds the lease, as far as the gate's messages have arrived.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.holder
            .is_some_and(|it| it.session == self.identity.session)
    }

    /// Whether another session holds the lease.
    #[must_use]
    pub fn is_held_by_another(&self) -> bool {
        self.holder.is_some_and(|it| it.session != 0) && !self.is_holder()
    }

    /// Whether this refuses a command of this session.
    #[must_use]
    pub fn is_mine(&self, refusal: &Refusal) -> bool {
        let Identity {
            station, session, ..
        } = &self.identity;
        refusal.by.session == *session && refusal.by.station == *station
    }

    /// The number of the last command.
    #[must_use]
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// A request of this kind for the lease, such as `LeaseRequest::TAKE`.
    pub fn request(&mut self, utime: i64, ask: i8) -> LeaseRequest {
        LeaseRequest {
            utime,
            by: self.authority(utime),
            ask,
            rank: self.identity.rank,
        }
    }

    /// A stop. It needs no lease and no token.
    pub fn stop(&mut self, utime: i64, reason: &str) -> StopCommand {
        StopCommand {
            utime,
            by: self.authority(utime),
            ask: StopCommand::STOP,
            reason: reason.to_owned(),
        }
    }

    /// The end of a stop, with the newest token.
    pub fn clear(&mut self, utime: i64) -> StopCommand {
        StopCommand {
            utime,
            by: self.authority(utime),
            ask: StopCommand::CLEAR,
            reason: String::new(),
        }
    }

    /// The end of a stop, with a token that is no newer than the newest state: then the gate refuses it if the vehicle was
    /// stopped again after that state. `None` while there is no such token.
    pub fn clear_seen(&mut self, utime: i64) -> Option<StopCommand> {
        let state_utime = self.state_utime?;
        let seen = self.tokens.iter().rfind(|it| it.utime <= state_utime)?;
        let token = seen.token;
        let mut command = self.clear(utime);
        command.by.token = token;
        Some(command)
    }

    /// Something to do.
    pub fn task(&mut self, utime: i64, task: Task) -> TaskCommand {
        TaskCommand {
            utime,
            by: self.authority(utime),
            task,
        }
    }

    /// Direct control: a value for each axis of the vehicle's kind of actuation, as the rules of its gate name both.
    pub fn direct(&mut self, utime: i64, actuation: &str, values: &[f64]) -> DirectCommand {
        DirectCommand {
            utime,
            by: self.authority(utime),
            actuation: actuation.to_owned(),
            values: values.to_vec(),
            ..DirectCommand::default()
        }
        .with_lengths()
    }

    /// Numbers follow the clock where they can, so that several programs can command for one session in turn.
    fn authority(&mut self, utime: i64) -> Authority {
        self.sequence = self.sequence.saturating_add(1).max(utime);
        let Identity {
            station, session, ..
        } = &self.identity;
        let epoch = self.holder.filter(|_| self.is_holder()).map(|it| it.epoch);
        Authority {
            station: station.clone(),
            session: *session,
            epoch: epoch.unwrap_or(0),
            sequence: self.sequence,
            token: self.tokens.back().map_or(0, |it| it.token),
        }
    }
}

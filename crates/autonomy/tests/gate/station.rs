//! A station by the clock of a test: an operator's session, given the time as components are.

use bowline_component::Time;
use bowline_msgs::{DirectCommand, GateToken, LeaseRequest, StopCommand, Task, TaskCommand};
use bowline_operator::{Identity, Session};

#[derive(Clone, Debug)]
pub(crate) struct Station(Session);

impl Station {
    pub(crate) fn new(name: &str, session: i64, rank: i32) -> Self {
        Self(Session::new(Identity {
            station: name.to_owned(),
            session,
            rank,
        }))
    }

    pub(crate) fn hear(&mut self, token: &GateToken) {
        self.0.receive_token(token);
    }

    pub(crate) fn is_holder(&self) -> bool {
        self.0.is_holder()
    }

    pub(crate) fn number(&self) -> i64 {
        self.0.identity().session
    }

    pub(crate) fn request(&mut self, now: Time, ask: i8) -> LeaseRequest {
        self.0.request(now.utime(), ask)
    }

    pub(crate) fn stop(&mut self, now: Time, reason: &str) -> StopCommand {
        self.0.stop(now.utime(), reason)
    }

    pub(crate) fn clear(&mut self, now: Time) -> StopCommand {
        self.0.clear(now.utime())
    }

    pub(crate) fn task(&mut self, now: Time, task: Task) -> TaskCommand {
        self.0.task(now.utime(), task)
    }

    pub(crate) fn thrust(&mut self, now: Time, port: f64, starboard: f64) -> DirectCommand {
        self.direct(now, "thrust", &[port, starboard])
    }

    pub(crate) fn velocity(&mut self, now: Time, steering: f64, speed: f64) -> DirectCommand {
        self.direct(now, "velocity", &[speed, steering])
    }

    pub(crate) fn direct(&mut self, now: Time, actuation: &str, values: &[f64]) -> DirectCommand {
        self.0.direct(now.utime(), actuation, values)
    }
}

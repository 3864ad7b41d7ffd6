//! One supervisor for each name, on a bus that may lose messages: the first one stays.
//!
//! In: the messages of other supervisors, and the time. Out: whether the name is ours. A supervisor that comes asks for a moment
//! before it starts anything; one that is there answers at once. When two come at the same moment, the one that started
//! earlier has the name. The same holds when two find each other later, as after a cable was plugged in again.

use bowline_component::Time;
use bowline_msgs::Supervisor;
use std::time::Duration;

/// For so long nothing is started while others may object.
pub(crate) const CLAIM: Duration = Duration::from_millis(400);

/// Who a supervisor is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) robot: String,
    pub(crate) host: String,
    pub(crate) machine: String,
    pub(crate) pid: i32,
    pub(crate) instance: i64,
}

/// What follows from the message of another supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is another name, or ourselves.
    Unconcerned,
    /// It must learn that we are here.
    Object,
    /// It was here first: who it is.
    Yield(String),
}

/// A supervisor's claim to its name.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    own: Identity,
    until: Option<Time>,
}

impl Claim {
    pub(crate) fn new(own: Identity, now: Time) -> Self {
        Self {
            own,
            until: Some(now + CLAIM),
        }
    }

    pub(crate) fn own(&self) -> &Identity {
        &self.own
    }

    /// Whether there was no objection for long enough.
    pub(crate) fn is_granted(&mut self, now: Time) -> bool {
        if self.until.is_some_and(|until| now >= until) {
            self.until = None;
        }
        self.until.is_none()
    }

    /// Takes the message of another supervisor.
    pub(crate) fn hear(&self, other: &Supervisor) -> Verdict {
        let own = &self.own;
        let is_name = other.robot == own.robot && other.host == own.host;
        let key = (own.instance, own.machine.as_str(), own.pid);
        let other_key = (other.instance, other.machine.as_str(), other.pid);
        if !is_name || key == other_key || other.state == Supervisor::ENDED {
            return Verdict::Unconcerned;
        }
        let is_claiming = other.state == Supervisor::CLAIMING;
        let is_ours = match (self.until.is_none(), is_claiming) {
            // A supervisor at work stays, however late its clock is.
            (true, true) => true,
            (false, false) => false,
            (true, false) | (false, true) => key < other_key,
        };
        match is_ours {
            true => Verdict::Object,
            false => Verdict::Yield(format!("pid {} on {}", other.pid, other.machine)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(instance: i64) -> Identity {
        Identity {
            robot: "raptor".to_owned(),
            host: "deck".to_owned(),
            machine: "m".to_owned(),
            pid: 1,
            instance,
        }
    }

    fn says(instance: i64, state: i8) -> Supervisor {
        Supervisor {
            robot: "raptor".to_owned(),
            host: "deck".to_owned(),
            machine: "m".to_owned(),
            pid: 1,
            instance,
            state,
            ..Supervisor::default()
        }
    }

    /// What one makes of the other, where each may be at work already.
    fn verdict(own: (i64, bool), other: (i64, bool)) -> Verdict {
        let mut claim = Claim::new(identity(own.0), Time::ZERO);
        let now = if own.1 {
            Time::ZERO + CLAIM
        } else {
            Time::ZERO
        };
        assert_eq!(claim.is_granted(now), own.1);
        let state = if other.1 {
            Supervisor::RUNNING
        } else {
            Supervisor::CLAIMING
        };
        claim.hear(&says(other.0, state))
    }

    #[test]
    fn of_two_exactly_one_yields_whatever_they_are_doing() {
        let doing = [(false, false), (false, true), (true, false), (true, true)];
        for (one, other) in doing {
            let (one, other) = ((1, one), (2, other));
            let is_yielding = |verdict| matches!(verdict, Verdict::Yield(_));
            let yields = [verdict(one, other), verdict(other, one)].map(is_yielding);
            assert_ne!(yields[0], yields[1], "{one:?} {other:?}");
        }
    }

    #[test]
    fn others_and_ourselves_do_not_matter() {
        let claim = Claim::new(identity(1), Time::ZERO);
        let mut other = says(2, Supervisor::RUNNING);
        other.host = "mast".to_owned();
        for heard in [
            other,
            says(1, Supervisor::RUNNING),
            says(0, Supervisor::ENDED),
        ] {
            assert_eq!(claim.hear(&heard), Verdict::Unconcerned, "{heard:?}");
        }
    }
}

//! How many refusals are published: a flood of them is not to be one itself, and costs only its own source.
//!
//! Everything is counted, whether or not it is published.

use super::commands::MAX_STATION;
use super::ledger::MAX_SESSIONS;
use super::refusal::Reason;
use bowline_component::Time;
use bowline_msgs::Authority;
use std::time::Duration;

/// How many refusals of a session are published at once, and how many a second after that.
const AT_ONCE: u32 = 20;
const EVERY: Duration = Duration::from_millis(100);

/// A pace for each session; those beyond what is kept have one in common.
#[derive(Debug, Default)]
pub(super) struct Paces {
    sessions: Vec<Session>,
    others: Pace,
}

#[derive(Debug)]
struct Session {
    station: String,
    number: i64,
    pace: Pace,
    /// Those that were published since its pace began.
    said: Vec<Reason>,
}

impl Paces {
    /// Whether a refusal is published. The first for each reason is, however many there were for others.
    pub(super) fn allow(&mut self, now: Time, by: &Authority, reason: Reason) -> bool {
        let Some(session) = self.session(now, by) else {
            return self.others.allows(now);
        };
        let is_allowed = session.pace.allows(now);
        let is_first = !session.said.contains(&reason);
        if is_first {
            session.said.push(reason);
        }
        is_allowed || is_first
    }

    fn session(&mut self, now: Time, by: &Authority) -> Option<&mut Session> {
        let is_it = |it: &Session| it.number == by.session && it.station == by.station;
        if let Some(at) = self.sessions.iter().position(is_it) {
            return self.sessions.get_mut(at);
        }
        if self.sessions.len() >= MAX_SESSIONS {
            // A session that has been silent for so long begins as a new one.
            self.sessions.retain_mut(|it| !it.pace.is_full(now));
        }
        if self.sessions.len() >= MAX_SESSIONS || by.station.len() > MAX_STATION {
            return None;
        }
        self.sessions.push(Session {
            station: by.station.clone(),
            number: by.session,
            pace: Pace::default(),
            said: Vec::new(),
        });
        self.sessions.last_mut()
    }
}

#[derive(Debug)]
struct Pace {
    n_left: u32,
    since: Time,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            n_left: AT_ONCE,
            since: Time::ZERO,
        }
    }
}

impl Pace {
    fn allows(&mut self, now: Time) -> bool {
        if self.is_full(now) {
            self.since = now;
        }
        let is_allowed = self.n_left > 0;
        self.n_left = self.n_left.saturating_sub(1);
        is_allowed
    }

    fn is_full(&mut self, now: Time) -> bool {
        while self.n_left < AT_ONCE && now >= self.since + EVERY {
            self.n_left += 1;
            self.since = self.since + EVERY;
        }
        self.n_left == AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_utime(1_763_269_856_250_000);

    fn by(station: &str, session: i64) -> Authority {
        Authority {
            station: station.to_owned(),
            session,
            ..Authority::default()
        }
    }

    fn n_said(paces: &mut Paces, now: Time, by: &Authority, reason: Reason) -> usize {
        (0..1_000).filter(|_| paces.allow(now, by, reason)).count()
    }

    #[test]
    fn twenty_refusals_are_sent_at_once_then_ten_a_second() {
        let (mut paces, bridge) = (Paces::default(), by("bridge", 7));
        let mut n_said = |at: Duration| n_said(&mut paces, START + at, &bridge, Reason::Stale);
        assert_eq!(n_said(Duration::ZERO), 20);
        assert_eq!(n_said(EVERY - Duration::from_nanos(1)), 0);
        assert_eq!(n_said(EVERY), 1);
        assert_eq!(n_said(EVERY * 11), 10);
        assert_eq!(n_said(EVERY * 1_000), 20, "no more than at first");
    }

    #[test]
    fn flood_of_one_station_costs_no_other_a_refusal() {
        let mut paces = Paces::default();
        let noise = by("noise", 1);
        assert_eq!(n_said(&mut paces, START, &noise, Reason::Stale), 20);
        assert!(
            paces.allow(START, &noise, Reason::Lease),
            "the first of its sort"
        );
        assert!(!paces.allow(START, &noise, Reason::Lease));
        for other in [by("bridge", 7), by("noise", 2), by("bridge", 1)] {
            assert_eq!(n_said(&mut paces, START, &other, Reason::Stale), 20);
        }
    }

    #[test]
    fn names_are_kept_as_far_as_a_gate_takes_them() {
        for (len, n_kept) in [(MAX_STATION, 1), (MAX_STATION + 1, 0), (1_000, 0)] {
            let mut paces = Paces::default();
            let named = by(&"x".repeat(len), 3);
            assert!(paces.allow(START, &named, Reason::Malformed), "{len}");
            assert_eq!(paces.sessions.len(), n_kept, "{len}");
        }
    }

    #[test]
    fn sessions_that_are_made_up_share_what_is_left_and_memory_is_bounded() {
        let mut paces = Paces::default();
        let crowd = |paces: &mut Paces, now: Time| -> usize {
            let is_said = |session: &i64| paces.allow(now, &by("crowd", *session), Reason::Lease);
            (1..=10_000).filter(is_said).count()
        };
        assert_eq!(crowd(&mut paces, START), MAX_SESSIONS + 20);
        assert_eq!(paces.sessions.len(), MAX_SESSIONS);
        let long = by(&"x".repeat(1_000), 3);
        assert!(
            !paces.allow(START, &long, Reason::Malformed),
            "nor is a long name kept"
        );
        // One word each is made up for after a tenth of a second, and all of them begin anew.
        assert!(paces.allow(START + EVERY, &by("bridge", 7), Reason::Lease));
        assert_eq!(paces.sessions.len(), 1);
    }
}

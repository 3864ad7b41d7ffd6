//! Alarms: what a component has found to be wrong, for people.
//!
//! A component declares each of its alarms as a constant, an [`AlarmKind`], and raises and clears it through its
//! [`Outbox`](crate::Outbox). The engine publishes it under the component's name: when it is raised, every second while it
//! holds, and a few times after it was cleared, so that a lost message costs a second and not the truth. A component that
//! dies stops refreshing its alarms, which is how the list of the vehicle knows.

use crate::health::Health;
use crate::time::Time;
use bowline_msgs::Alarm;
use std::collections::BTreeMap;
use std::time::Duration;

/// Where alarms are published, as `bowline.alarm_t`, by any client.
pub const ALARM_CHANNEL: &str = bowline_msgs::ALARM_CHANNEL;
/// How often an alarm that holds is published again.
const ALARM_AGAIN: Duration = Duration::from_secs(1);

/// How often an alarm that comes and goes is published at most.
const ALARM_AT_MOST: Duration = Duration::from_millis(200);
/// How often it is published that an alarm was cleared.
const N_CLEARED: u32 = 3;
/// Alarms of one component: its kinds are constants, and a person cannot read more.
const MAX_ALARMS: usize = 16;
/// The longest cause, bytes.
const MAX_CAUSE: usize = 512;

/// A kind of alarm: a row of the table of its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmKind {
    /// Identifies an alarm of one component: a word.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What follows from it.
    pub consequence: &'static str,
    /// What a person can do about it.
    pub action: &'static str,
}

/// How bad an alarm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A person should know.
    Caution,
    /// A person should act soon.
    Warning,
    /// A person must act at once.
    Alarm,
}

impl Severity {
    /// As messages have it.
    #[must_use]
    pub const fn code(self) -> i8 {
        match self {
            Self::Caution => Alarm::CAUTION,
            Self::Warning => Alarm::WARNING,
            Self::Alarm => Alarm::ALARM,
        }
    }

    /// From a message. An unknown value counts as the worst.
    #[must_use]
    pub const fn of(code: i8) -> Self {
        match code {
            Alarm::CAUTION => Self::Caution,
            Alarm::WARNING => Self::Warning,
            _ => Self::Alarm,
        }
    }

    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Caution => "caution",
            Self::Warning => "warning",
            Self::Alarm => "alarm",
        }
    }
}

/// Raised where a component reports that it does less than it should, and has raised no more specific alarm.
const DEGRADED: AlarmKind = AlarmKind {
    id: "degraded",
    severity: Severity::Caution,
    consequence: "the component does less than it should",
    action: "see to the cause",
};
/// The same where it cannot do its work.
const FAILED: AlarmKind = AlarmKind {
    id: "failed",
    severity: Severity::Warning,
    consequence: "the component does not do its work, and what needs it does without",
    action: "see to the cause; restart it if that does not help",
};

/// The alarms of one component, and when each is to be published next.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    raised: BTreeMap<&'static str, Entry>,
}

#[derive(Debug)]
struct Entry {
    kind: AlarmKind,
    cause: String,
    since: Time,
    is_raised: bool,
    /// Whether it was raised by the component itself, and not for its health.
    is_own: bool,
    /// When it is to be published next.
    due: Time,
    /// When it may be published at the earliest.
    earliest: Time,
    /// How often it is still to be published that it was cleared.
    n_left: u32,
}

/// There is no room for another alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Alarms {
    pub(crate) fn raise(
        &mut self,
        now: Time,
        kind: &AlarmKind,
        cause: &str,
    ) -> Result<(), TooMany> {
        self.set(now, kind, cause, true)
    }

    pub(crate) fn clear(&mut self, now: Time, id: &str) {
        if let Some(entry) = self.raised.get_mut(id).filter(|it| it.is_raised) {
            entry.is_raised = false;
            entry.n_left = N_CLEARED;
            entry.due = now.max(entry.earliest);
        }
    }

    /// Raises or clears what the health of the component comes to.
    pub(crate) fn follow(&mut self, now: Time, health: &Health) {
        if self.raised.is_empty() && matches!(health, Health::Good | Health::Starting) {
            return;
        }
        let has_own = self.raised.values().any(|it| it.is_own && it.is_raised);
        let wrong = match health {
            Health::Good | Health::Starting => None,
            Health::Degraded(why) => Some((&DEGRADED, why)),
            Health::Failed(why) => Some((&FAILED, why)),
        };
        let wrong = wrong.filter(|_| !has_own);
        for kind in [&DEGRADED, &FAILED] {
            match wrong {
                Some((found, why)) if found.id == kind.id => {
                    let set = self.set(now, kind, why, false);
                    debug_assert!(set.is_ok(), "there is always room for these two");
                }
                Some(_) | None => self.clear(now, kind.id),
            }
        }
    }

    fn set(
        &mut self,
        now: Time,
        kind: &AlarmKind,
        cause: &str,
        is_own: bool,
    ) -> Result<(), TooMany> {
        let cause = shortened(cause);
        match self.raised.get_mut(kind.id) {
            Some(entry) if entry.is_raised => {
                // Another cause is published with the next repetition: it may have a number in it that never rests.
                if entry.cause != cause {
                    cause.clone_into(&mut entry.cause);
                }
                return Ok(());
            }
            Some(entry) => {
                entry.is_raised = true;
                entry.since = now;
                entry.kind = *kind;
                entry.is_own = is_own;
                cause.clone_into(&mut entry.cause);
                entry.due = now.max(entry.earliest);
                return Ok(());
            }
            None => {}
        }
        let n_own = self.raised.values().filter(|it| it.is_own).count();
        if is_own && n_own >= MAX_ALARMS {
            return Err(TooMany);
        }
        let entry = Entry {
            kind: *kind,
            cause: cause.to_owned(),
            since: now,
            is_raised: true,
            is_own,
            due: now,
            earliest: now,
            n_left: 0,
        };
        self.raised.insert(kind.id, entry);
        Ok(())
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        self.raised.values().map(|it| it.due).min()
    }

    /// What is to be published now, without whose it is.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<Alarm> {
        let mut due = Vec::new();
        self.raised.retain(|_, entry| {
            if entry.due <= now {
                due.push(entry.message(now));
                entry.due = now + ALARM_AGAIN;
                entry.earliest = now + ALARM_AT_MOST;
                if !entry.is_raised {
                    entry.n_left -= 1;
                }
            }
            entry.is_raised || entry.n_left > 0
        });
        due
    }
}

impl Entry {
    fn message(&self, now: Time) -> Alarm {
        let AlarmKind {
            id,
            severity,
            consequence,
            action,
        } = self.kind;
        Alarm {
            utime: now.utime(),
            since_utime: self.since.utime(),
            id: id.to_owned(),
            severity: severity.code(),
            state: match self.is_raised {
                true => Alarm::RAISED,
                false => Alarm::CLEARED,
            },
            cause: self.cause.clone(),
            consequence: consequence.to_owned(),
            action: action.to_owned(),
            ..Alarm::default()
        }
    }
}

/// As much of a text as fits.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MAX_CAUSE);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Build, BuildError, Component, Expect, Input, NoParameters, Outbox, Ports, Rig, Step,
    };
    use bowline_msgs::Beat;

    /// Is lost while beats have an even count.
    struct Listener(Input<Beat>);

    impl Component for Listener {
        fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
            out.health(Health::Good);
            if let Some(beat) = step.arrived(self.0) {
                out.alarm(&LOST, (beat.count % 2 == 0).then_some("an even beat"));
            }
        }
    }

    impl Build for Listener {
        type Parameters = NoParameters;

        fn build(_: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
            Ok(Self(ports.input("beat", "Beats.", Expect::ever())))
        }
    }

    #[test]
    fn a_component_that_is_not_woken_keeps_its_alarm_until_it_clears_it() {
        let mut rig = Rig::new::<Listener>(NoParameters);
        rig.send("beat", Beat::default());
        rig.advance(Duration::from_millis(2_500));
        let said = rig.alarms();
        assert_eq!(said.len(), 3);
        for alarm in &said {
            assert_eq!((alarm.id.as_str(), alarm.state), ("lost", Alarm::RAISED));
            assert_eq!(alarm.since_utime, said[0].utime);
            assert!(!alarm.source.is_empty(), "the component has a name");
        }
        let odd = Beat {
            count: 1,
            ..Beat::default()
        };
        rig.send("beat", odd);
        rig.advance(Duration::from_secs(60));
        let said = rig.alarms();
        assert_eq!(said.len(), 3);
        assert!(said.iter().all(|it| it.state == Alarm::CLEARED));
    }

    const LOST: AlarmKind = AlarmKind {
        id: "lost",
        severity: Severity::Alarm,
        consequence: "it stops",
        action: "find it",
    };

    fn at(ms: u64) -> Time {
        Time::from_utime(1_000_000) + Duration::from_millis(ms)
    }

    /// What is published until a moment, each with when and whether it is raised.
    fn published(alarms: &mut Alarms, until_ms: u64) -> Vec<(i64, bool)> {
        let mut found = Vec::new();
        while let Some(due) = alarms.next_due().filter(|due| *due <= at(until_ms)) {
            let said = alarms.take_due(due);
            let said = said.iter();
            found
                .extend(said.map(|it| ((it.utime - 1_000_000) / 1_000, it.state == Alarm::RAISED)));
        }
        found
    }

    #[test]
    fn an_alarm_that_holds_is_published_every_second_and_one_that_is_over_three_times() {
        let mut alarms = Alarms::default();
        alarms.raise(at(0), &LOST, "nothing received").unwrap();
        assert_eq!(
            published(&mut alarms, 2_500),
            [(0, true), (1_000, true), (2_000, true)]
        );
        alarms.clear(at(2_500), LOST.id);
        assert_eq!(
            published(&mut alarms, 60_000),
            [(2_500, false), (3_500, false), (4_500, false)]
        );
        assert_eq!(alarms.next_due(), None);
    }

    #[test]
    fn an_alarm_that_flickers_is_published_five_times_a_second_at_most() {
        let mut alarms = Alarms::default();
        let mut n = 0;
        for ms in 0..10_000 {
            match ms % 2 {
                0 => alarms.raise(at(ms), &LOST, "flickers").unwrap(),
                _ => alarms.clear(at(ms), LOST.id),
            }
            n += published(&mut alarms, ms).len();
        }
        assert!((20..=51).contains(&n), "{n}");
    }

    #[test]
    fn another_cause_keeps_the_beginning_and_waits_for_the_next_repetition() {
        let mut alarms = Alarms::default();
        alarms.raise(at(0), &LOST, "for 1 s").unwrap();
        drop(alarms.take_due(at(0)));
        alarms.raise(at(10), &LOST, "for 2 s").unwrap();
        assert_eq!(alarms.next_due(), Some(at(1_000)));
        let said = alarms.take_due(at(1_000));
        assert_eq!(
            (said[0].cause.as_str(), said[0].since_utime),
            ("for 2 s", at(0).utime())
        );
    }

    #[test]
    fn health_is_an_alarm_unless_the_component_raises_one() {
        let mut alarms = Alarms::default();
        alarms.follow(at(0), &Health::Degraded("dusty".to_owned()));
        let said = alarms.take_due(at(0));
        assert_eq!(
            (said[0].id.as_str(), said[0].severity),
            ("degraded", Alarm::CAUTION)
        );
        alarms.follow(at(500), &Health::Failed("broken".to_owned()));
        let said = alarms.take_due(at(500));
        let said: Vec<_> = said.iter().map(|it| (it.id.as_str(), it.state)).collect();
        assert_eq!(
            said,
            [("degraded", Alarm::CLEARED), ("failed", Alarm::RAISED)]
        );
        alarms.raise(at(600), &LOST, "lost").unwrap();
        alarms.follow(at(600), &Health::Failed("broken".to_owned()));
        let said = alarms.take_due(at(800));
        let said: Vec<_> = said.iter().map(|it| (it.id.as_str(), it.state)).collect();
        assert_eq!(said, [("failed", Alarm::CLEARED), ("lost", Alarm::RAISED)]);
        alarms.clear(at(900), LOST.id);
        alarms.follow(at(900), &Health::Good);
        published(&mut alarms, 60_000);
        assert_eq!(alarms.next_due(), None);
    }

    #[test]
    fn a_component_has_sixteen_alarms_at_most_and_a_long_cause_is_cut() {
        let mut alarms = Alarms::default();
        let ids: Vec<&'static str> = (0..17).map(|i| &*format!("a{i:02}").leak()).collect();
        let results: Vec<_> = ids
            .iter()
            .map(|id| alarms.raise(at(0), &AlarmKind { id, ..LOST }, &"ä".repeat(400)))
            .collect();
        assert_eq!(results.iter().filter(|it| it.is_err()).count(), 1);
        let said = alarms.take_due(at(0));
        assert_eq!(said.len(), 16);
        assert!(said.iter().all(|it| it.cause.len() == MAX_CAUSE));
    }
}

//! The list of a vehicle's alarms: what is wrong, whether that still holds, and who knows of it.
//!
//! In: alarms of components, supervisors and recorders, and acknowledgements of people. Out: one list, which the command line,
//! every page and the log show as it is. Deliberately absent: what is wrong, which those decide who find it.
//!
//! An alarm stays while it holds, and until a person acknowledges it. One whose source does not refresh it any more is marked
//! so, because it is unknown whether it holds. One that gets worse, or is raised again, is to be acknowledged again.

use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Time,
};
use bowline_msgs::{ALARM_CHANNEL, Acknowledge, Alarm, Alarms as AlarmsMessage, ListedAlarm};
use bowline_operator::commands;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often the list is published, also when nothing changes.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is published at most.
const AT_MOST: Duration = Duration::from_millis(100);
/// Alarms in the list. A person cannot read more, and a list of them goes over a thin link.
const MAX_ALARMS: usize = 64;

bowline_component::parameters! {
    /// When an alarm counts as not refreshed.
    pub struct AlarmsParameters {
        /// For how long an alarm is believed to hold after its source last reported it; sources do every second.
        refresh: Duration = Duration::from_secs(3), within Duration::from_millis(1_100)..=Duration::from_secs(60);
    }
}

/// Keeps the list.
#[derive(Debug)]
pub struct Alarms {
    refresh: Duration,
    raised: Input<Alarm>,
    acknowledged: Input<Acknowledge>,
    list: Output<AlarmsMessage>,
    alarms: BTreeMap<Key, Listed>,
    n_dropped: i64,
    is_changed: bool,
    published: Option<Time>,
}

/// Identifies an alarm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    robot: String,
    host: String,
    source: String,
    id: String,
}

#[derive(Debug)]
struct Listed {
    alarm: Alarm,
    /// When it was raised by the clock of its source: another time is another alarm.
    source_since: i64,
    heard: Time,
    is_refreshed: bool,
    by: Option<(String, Time)>,
}

impl Build for Alarms {
    type Parameters = AlarmsParameters;

    fn build(parameters: AlarmsParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let any_client = Expect::ever().optional().from_anybody();
        ports.tick(Duration::from_millis(500));
        Ok(Self {
            refresh: parameters.refresh,
            raised: ports.input_on(
                "raised",
                "What components, supervisors and recorders find wrong.",
                any_client,
                ALARM_CHANNEL,
            ),
            acknowledged: ports.input_on(
                "acknowledged",
                "What people know of.",
                any_client,
                commands::channel::<Acknowledge>(),
            ),
            list: ports.output_on(
                "list",
                "All that is wrong, and who knows of it.",
                commands::ALARMS.channel,
            ),
            alarms: BTreeMap::new(),
            n_dropped: 0,
            is_changed: false,
            published: None,
        })
    }
}

impl Component for Alarms {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        out.health(Health::Good);
        if let Some(alarm) = step.arrived(self.raised) {
            self.take(now, alarm.message());
        }
        if let Some(acknowledge) = step.arrived(self.acknowledged) {
            self.acknowledge(now, acknowledge.message());
        }
        if step.is_tick() {
            self.age(now);
        }
        let since = self.published.map(|at| now.since(at));
        let is_due = match self.is_changed {
            true => since.is_none_or(|since| since >= AT_MOST),
            false => {
                since.is_none_or(|since| since >= AGAIN) && (step.is_tick() || step.is_start())
            }
        };
        if is_due {
            self.is_changed = false;
            self.published = Some(now);
            out.send(self.list, self.message(now));
        } else if let (true, Some(at)) = (self.is_changed, self.published) {
            out.wake_at(at + AT_MOST);
        }
    }
}

impl Alarms {
    fn take(&mut self, now: Time, alarm: &Alarm) {
        let key = Key {
            robot: alarm.robot.clone(),
            host: alarm.host.clone(),
            source: alarm.source.clone(),
            id: alarm.id.clone(),
        };
        let is_raised = alarm.state == Alarm::RAISED;
        if let Some(listed) = self.alarms.get_mut(&key) {
            let before = (
                listed.alarm.clone(),
                listed.is_refreshed,
                listed.by.is_some(),
            );
            let is_over = listed.alarm.state == Alarm::CLEARED;
            let is_another = is_raised && (is_over || listed.source_since != alarm.since_utime);
            if is_another || is_raised && alarm.severity > listed.alarm.severity {
                listed.by = None;
            }
            if is_another {
                listed.source_since = alarm.since_utime;
                listed.alarm.since_utime = since(now, alarm);
            }
            listed.heard = now;
            listed.is_refreshed = true;
            listed.update(now, alarm);
            let is_known = listed.by.is_some();
            let after = (listed.alarm.clone(), true, is_known);
            self.is_changed |= !is_same(&before, &after);
            if !is_raised && is_known {
                self.alarms.remove(&key);
            }
            return;
        }
        if is_raised {
            self.make_room();
            let listed = Listed {
                alarm: Alarm {
                    utime: now.utime(),
                    since_utime: since(now, alarm),
                    ..alarm.clone()
                },
                source_since: alarm.since_utime,
                heard: now,
                is_refreshed: true,
                by: None,
            };
            self.alarms.insert(key, listed);
            self.is_changed = true;
        }
    }

    /// A person acknowledges an alarm: this one, and not one that is worse or was raised since.
    fn acknowledge(&mut self, now: Time, acknowledge: &Acknowledge) {
        let key = Key {
            robot: acknowledge.robot.clone(),
            host: acknowledge.host.clone(),
            source: acknowledge.source.clone(),
            id: acknowledge.id.clone(),
        };
        let Some(listed) = self.alarms.get_mut(&key) else {
            return;
        };
        let is_this = listed.alarm.since_utime == acknowledge.since_utime
            && listed.alarm.severity <= acknowledge.severity;
        let is_named = !acknowledge.by.station.is_empty();
        if !is_this || !is_named || listed.by.is_some() {
            return;
        }
        listed.by = Some((acknowledge.by.station.clone(), now));
        self.is_changed = true;
        if listed.alarm.state == Alarm::CLEARED || !listed.is_refreshed {
            self.alarms.remove(&key);
        }
    }

    /// Marks what is not refreshed, and removes it where it is acknowledged.
    fn age(&mut self, now: Time) {
        let refresh = self.refresh;
        let mut is_changed = false;
        self.alarms.retain(|_, listed| {
            let holds = listed.alarm.state == Alarm::RAISED;
            if holds && listed.is_refreshed && now.since(listed.heard) > refresh {
                listed.is_refreshed = false;
                is_changed = true;
            }
            listed.is_refreshed || listed.by.is_none()
        });
        self.is_changed |= is_changed;
    }

    /// Removes what is over first, then what is acknowledged, then the oldest of the least severe, which is counted.
    fn make_room(&mut self) {
        if self.alarms.len() < MAX_ALARMS {
            return;
        }
        let worth = |listed: &Listed| {
            let holds = listed.alarm.state == Alarm::RAISED;
            let is_new = listed.by.is_none();
            (
                holds && is_new,
                holds,
                listed.alarm.severity,
                listed.alarm.since_utime,
            )
        };
        let least = self.alarms.iter().min_by_key(|(_, it)| worth(it));
        if let Some((key, holds)) = least.map(|(key, it)| (key.clone(), worth(it).1)) {
            self.alarms.remove(&key);
            self.n_dropped += i64::from(holds);
        }
    }

    fn message(&self, now: Time) -> AlarmsMessage {
        let mut alarms: Vec<ListedAlarm> = self.alarms.values().map(Listed::message).collect();
        alarms.sort_by_key(|it| {
            let is_known = !it.acknowledged_by.is_empty();
            let is_over = it.alarm.state == Alarm::CLEARED;
            let age = Reverse((it.alarm.severity, it.alarm.since_utime));
            (is_known, is_over, age)
        });
        let list = AlarmsMessage {
            utime: now.utime(),
            n_dropped: self.n_dropped,
            alarms,
            ..AlarmsMessage::default()
        };
        list.with_lengths()
    }
}

impl Listed {
    /// Takes what its source reports now; when it was raised is kept. One that is over keeps what it was.
    fn update(&mut self, now: Time, alarm: &Alarm) {
        self.alarm.utime = now.utime();
        self.alarm.state = alarm.state;
        if alarm.state == Alarm::RAISED {
            self.alarm.severity = alarm.severity;
            self.alarm.cause.clone_from(&alarm.cause);
            self.alarm.consequence.clone_from(&alarm.consequence);
            self.alarm.action.clone_from(&alarm.action);
        }
    }

    fn message(&self) -> ListedAlarm {
        let (by, at) = match &self.by {
            Some((by, at)) => (by.clone(), at.utime()),
            None => (String::new(), 0),
        };
        ListedAlarm {
            alarm: self.alarm.clone(),
            is_refreshed: self.is_refreshed,
            acknowledged_by: by,
            acknowledged_utime: at,
        }
    }
}

/// When it was raised, by the clock here: the source reports how long ago that is by its own, which may be another.
fn since(now: Time, alarm: &Alarm) -> i64 {
    now.utime() - (alarm.utime.saturating_sub(alarm.since_utime)).max(0)
}

/// Whether people would see no difference.
fn is_same(one: &(Alarm, bool, bool), other: &(Alarm, bool, bool)) -> bool {
    let timeless = |alarm: &Alarm| Alarm {
        utime: 0,
        ..alarm.clone()
    };
    timeless(&one.0) == timeless(&other.0) && (one.1, one.2) == (other.1, other.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_component::Rig;
    use bowline_msgs::Authority;

    fn alarm(source: &str, severity: i8, since_utime: i64) -> Alarm {
        Alarm {
            utime: since_utime,
            since_utime,
            source: source.to_owned(),
            id: "lost".to_owned(),
            severity,
            state: Alarm::RAISED,
            cause: "nothing received".to_owned(),
            ..Alarm::default()
        }
    }

    fn cleared(alarm: &Alarm) -> Alarm {
        Alarm {
            state: Alarm::CLEARED,
            cause: String::new(),
            ..alarm.clone()
        }
    }

    fn acknowledge(listed: &ListedAlarm) -> Acknowledge {
        Acknowledge {
            by: Authority {
                station: "bridge/anna".to_owned(),
                ..Authority::default()
            },
            source: listed.alarm.source.clone(),
            id: listed.alarm.id.clone(),
            since_utime: listed.alarm.since_utime,
            severity: listed.alarm.severity,
            ..Acknowledge::default()
        }
    }

    fn rig() -> Rig {
        Rig::new::<Alarms>(AlarmsParameters::default())
    }

    /// The list as it was last published.
    fn list(rig: &mut Rig) -> Vec<ListedAlarm> {
        rig.advance(Duration::from_millis(1_001));
        rig.take::<AlarmsMessage>("list").pop().unwrap().alarms
    }

    #[test]
    fn an_alarm_is_listed_until_it_is_cleared_and_acknowledged() {
        let mut rig = rig();
        let lost = alarm("gps", Alarm::WARNING, 0);
        rig.send("raised", lost.clone());
        let listed = list(&mut rig);
        assert_eq!(
            (
                listed[0].alarm.cause.as_str(),
                listed[0].is_refreshed,
                listed[0].acknowledged_by.as_str()
            ),
            ("nothing received", true, "")
        );
        rig.send("raised", cleared(&lost));
        let over = list(&mut rig);
        assert_eq!(
            (over[0].alarm.state, over[0].alarm.cause.as_str()),
            (Alarm::CLEARED, "nothing received")
        );
        rig.send("acknowledged", acknowledge(&over[0]));
        assert_eq!(list(&mut rig), []);
    }

    #[test]
    fn an_acknowledged_alarm_stays_with_the_name_while_it_holds_and_goes_when_it_is_cleared() {
        let mut rig = rig();
        let lost = alarm("gps", Alarm::WARNING, 0);
        rig.send("raised", lost.clone());
        let listed = list(&mut rig);
        rig.send("acknowledged", acknowledge(&listed[0]));
        rig.send("raised", lost.clone());
        assert_eq!(list(&mut rig)[0].acknowledged_by, "bridge/anna");
        rig.send("raised", cleared(&lost));
        assert_eq!(list(&mut rig), []);
    }

    #[test]
    fn an_alarm_that_got_worse_or_was_raised_again_is_to_be_acknowledged_again() {
        let mut rig = rig();
        rig.send("raised", alarm("gps", Alarm::CAUTION, 0));
        let seen = list(&mut rig).remove(0);
        rig.send("raised", alarm("gps", Alarm::ALARM, 0));
        rig.send("acknowledged", acknowledge(&seen));
        let worse = list(&mut rig).remove(0);
        assert_eq!(worse.acknowledged_by, "", "what was seen was less bad");
        rig.send("acknowledged", acknowledge(&worse));
        rig.send("raised", alarm("gps", Alarm::ALARM, 0));
        assert_eq!(list(&mut rig)[0].acknowledged_by, "bridge/anna");
        rig.send("raised", alarm("gps", Alarm::ALARM, 7));
        assert_eq!(list(&mut rig)[0].acknowledged_by, "", "it was raised again");
    }

    #[test]
    fn acknowledgement_without_a_name_is_refused() {
        let mut rig = rig();
        rig.send("raised", alarm("gps", Alarm::CAUTION, 0));
        let seen = list(&mut rig).remove(0);
        let nameless = Acknowledge {
            by: Authority::default(),
            ..acknowledge(&seen)
        };
        rig.send("acknowledged", nameless);
        assert_eq!(list(&mut rig)[0].acknowledged_by, "");
    }

    #[test]
    fn an_alarm_of_a_dead_source_is_marked_and_stays_until_it_is_acknowledged() {
        let mut rig = rig();
        rig.send("raised", alarm("gps", Alarm::CAUTION, 0));
        rig.advance(Duration::from_secs(60));
        let listed = list(&mut rig);
        assert_eq!((listed.len(), listed[0].is_refreshed), (1, false));
        rig.send("acknowledged", acknowledge(&listed[0]));
        assert_eq!(list(&mut rig), []);
    }

    #[test]
    fn thirteen_alarms_acknowledged_at_once_are_all_acknowledged() {
        let mut rig = rig();
        for i in 0..13 {
            rig.send("raised", alarm(&format!("gps{i}"), Alarm::WARNING, 0));
        }
        let listed = list(&mut rig);
        assert_eq!(listed.len(), 13);
        for it in &listed {
            rig.send("acknowledged", acknowledge(it));
        }
        assert!(
            list(&mut rig)
                .iter()
                .all(|it| it.acknowledged_by == "bridge/anna")
        );
    }

    #[test]
    fn a_full_list_keeps_the_worst_and_counts_what_it_leaves_out() {
        let mut rig = rig();
        rig.send("raised", alarm("minor", Alarm::CAUTION, 0));
        for i in 0..MAX_ALARMS {
            rig.send("raised", alarm(&format!("gps{i}"), Alarm::ALARM, 0));
        }
        rig.advance(Duration::from_millis(1_001));
        let list = rig.take::<AlarmsMessage>("list").pop().unwrap();
        assert_eq!((list.alarms.len(), list.n_dropped), (MAX_ALARMS, 1));
        assert!(list.alarms.iter().all(|it| it.alarm.source != "minor"));
    }

    #[test]
    fn worst_unacknowledged_alarm_is_first() {
        let mut rig = rig();
        for (source, severity) in [
            ("a", Alarm::CAUTION),
            ("b", Alarm::ALARM),
            ("c", Alarm::WARNING),
        ] {
            rig.send("raised", alarm(source, severity, 0));
        }
        let worst = list(&mut rig).remove(0);
        rig.send("acknowledged", acknowledge(&worst));
        let sources: Vec<String> = list(&mut rig)
            .into_iter()
            .map(|it| it.alarm.source)
            .collect();
        assert_eq!(sources, ["c", "a", "b"]);
    }

    #[test]
    fn a_storm_of_alarms_makes_ten_lists_a_second_at_most() {
        let mut rig = rig();
        for i in 0..1_000 {
            rig.send("raised", alarm("gps", Alarm::CAUTION, i));
            rig.advance(Duration::from_millis(1));
        }
        let n = rig.take::<AlarmsMessage>("list").len();
        assert!((5..=11).contains(&n), "{n}");
    }
}

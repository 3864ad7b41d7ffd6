//! `bowline alarms ack`: a person acknowledges an alarm from the command line, as on the page.

use super::{LISTEN, Lists, patterns, source};
use crate::input::{self, Usage};
use crate::listen::{Heard, Listener, Place};
use crate::{Outcome, output};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_inspect::text::printable;
use bowline_msgs::{Acknowledge, Alarm, Alarms, Authority, ListedAlarm};
use bowline_operator::commands::{self, ALARMS};
use bowline_wire::Message as _;
use clap::Args;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline alarms ack gps silent                   this station knows of it
  bowline alarms ack gate contingency --station bridge/anna
  bowline alarms ack 'heron gps' silent           where several vehicles have such a source

SOURCE and ID are those of `bowline alarms --json`. The alarm is acknowledged as the list has it now: one
that gets worse, or is raised again, is to be acknowledged again. An alarm that still holds stays in the
list, with the name of the station.
Exit code 0 if the vehicle's list has the name; 1 if there is no such alarm, or the list was not changed;
2 for wrong usage.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What the alarm is about, as the list has it
    source: String,
    /// Which of the alarms of that source
    id: String,
    /// What this station is called; without it the name of the host
    #[arg(long, value_name = "NAME", value_parser = input::station_name)]
    station: Option<String>,
    /// How long to wait for the list, and for its answer
    #[arg(long, value_name = "DURATION", value_parser = input::period, default_value = "5s")]
    timeout: Duration,
    #[command(flatten)]
    place: Place,
}

/// It is sent again after this: buses and links may lose it, and a list takes it once.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) fn run(arguments: &Arguments, url: Option<&str>) -> anyhow::Result<Outcome> {
    let url = arguments.place.url.as_deref().or(url);
    let mut listener = Listener::open(url, &patterns(), None, None)?;
    if listener.source.bus().is_none() {
        let text = "expected the URL of a bus, found a log: what is over cannot be acknowledged";
        return Err(Usage(text.to_owned()).into());
    }
    let clock = Live::new();
    // Several vehicles may have one like it, so all lists are waited for.
    let mut lists = Lists::default();
    let begun = clock.now();
    let is_early = |lists: &Lists| {
        let since = clock.now().since(begun);
        since < LISTEN || lists.0.is_empty() && since < arguments.timeout
    };
    while is_early(&lists) && !listener.is_interrupted() {
        if let Some((channel, list)) = next(&mut listener)? {
            lists.0.insert(channel, list);
        }
    }
    let (channel, alarm) = match find(&lists, arguments) {
        Ok(found) => found,
        Err(error) => {
            output::error(&error);
            return Ok(Outcome::Diagnostics);
        }
    };
    let end = clock.now() + arguments.timeout;
    let mut send_at = clock.now();
    while clock.now() < end && !listener.is_interrupted() {
        let now = clock.now();
        if now >= send_at {
            send(&listener, &channel, &acknowledge(&alarm, arguments, now))?;
            send_at = now + AGAIN;
        }
        match next(&mut listener)? {
            Some((of, list)) if of == channel => match judge(&alarm, &list) {
                Answer::Open => {}
                Answer::Known(text) => {
                    output::line(&printable(&text))?;
                    return Ok(Outcome::Fine);
                }
                Answer::Changed => {
                    output::error("the alarm got worse, or was raised again: look at it first");
                    return Ok(Outcome::Diagnostics);
                }
            },
            Some(_) | None => {}
        }
    }
    output::error("the list does not have the name: whether it was acknowledged is not known");
    Ok(Outcome::Diagnostics)
}

/// The next list, if one comes soon.
fn next(listener: &mut Listener) -> anyhow::Result<Option<(String, Alarms)>> {
    let Heard::Event(event) = listener.next()? else {
        return Ok(None);
    };
    let list = Alarms::decode(&event.payload).ok();
    Ok(list.map(|list| (event.channel.to_string(), list)))
}

/// The alarm that is meant, and the channel of its list; or why there is none.
fn find(lists: &Lists, arguments: &Arguments) -> Result<(String, Alarm), String> {
    if lists.0.is_empty() {
        return Err(
            "no list of alarms was received: a component of kind alarms keeps one".to_owned(),
        );
    }
    let Arguments {
        source: wanted, id, ..
    } = arguments;
    let is_meant = |channel: &str, alarm: &Alarm| {
        let is_source = alarm.source == *wanted || source(channel, alarm) == *wanted;
        is_source && alarm.id == *id
    };
    let all = lists.0.iter().flat_map(|(channel, list)| {
        let alarms = list.alarms.iter().map(|it| &it.alarm);
        alarms.map(move |alarm| (channel, alarm))
    });
    let found: Vec<_> = all
        .filter(|(channel, alarm)| is_meant(channel, alarm))
        .collect();
    match &found[..] {
        [(channel, alarm)] => Ok(((*channel).clone(), (*alarm).clone())),
        [] => Err(printable(&format!(
            "expected an alarm that is listed, found no {id:?} of {wanted:?}: `bowline alarms --json` lists them"
        ))),
        several => {
            let names = several
                .iter()
                .map(|(channel, alarm)| source(channel, alarm));
            let names = names.collect::<Vec<_>>().join(", ");
            Err(printable(&format!(
                "expected one alarm, found {id:?} of {names}"
            )))
        }
    }
}

fn acknowledge(alarm: &Alarm, arguments: &Arguments, now: Time) -> Acknowledge {
    Acknowledge {
        utime: now.utime(),
        by: Authority {
            station: input::station_or_host(arguments.station.as_deref()),
            sequence: now.utime(),
            ..Authority::default()
        },
        robot: alarm.robot.clone(),
        host: alarm.host.clone(),
        source: alarm.source.clone(),
        id: alarm.id.clone(),
        since_utime: alarm.since_utime,
        severity: alarm.severity,
    }
}

/// To the list, under the same prefix.
fn send(listener: &Listener, list: &str, acknowledge: &Acknowledge) -> anyhow::Result<()> {
    let prefix = list.strip_suffix(ALARMS.channel).unwrap_or_default();
    let channel = format!("{prefix}{}", commands::channel::<Acknowledge>());
    if let Some(bus) = listener.source.bus() {
        bus.publish_bytes(&channel, &acknowledge.encode()?)?;
    }
    Ok(())
}

/// What a list shows of an acknowledgement.
#[derive(Debug, PartialEq)]
enum Answer {
    /// Nothing yet.
    Open,
    /// The alarm has a name; or it is over, and was removed by that.
    Known(String),
    /// It is not the alarm any more that was seen.
    Changed,
}

fn judge(seen: &Alarm, list: &Alarms) -> Answer {
    let is_it = |it: &&ListedAlarm| {
        let name = |alarm: &Alarm| {
            let Alarm {
                robot,
                host,
                source,
                id,
                ..
            } = alarm;
            [robot, host, source, id].map(Clone::clone)
        };
        name(&it.alarm) == name(seen)
    };
    match list.alarms.iter().find(is_it) {
        None => Answer::Known("it is over, and acknowledged".to_owned()),
        Some(it) if !it.acknowledged_by.is_empty() => {
            Answer::Known(format!("known to {}", it.acknowledged_by))
        }
        Some(it) if it.alarm.since_utime != seen.since_utime => Answer::Changed,
        Some(it) if it.alarm.severity > seen.severity => Answer::Changed,
        Some(_) => Answer::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str, severity: i8, by: &str) -> ListedAlarm {
        ListedAlarm {
            alarm: Alarm {
                source: source.to_owned(),
                id: "silent".to_owned(),
                severity,
                since_utime: 7,
                ..Alarm::default()
            },
            acknowledged_by: by.to_owned(),
            ..ListedAlarm::default()
        }
    }

    fn list(alarms: Vec<ListedAlarm>) -> Alarms {
        Alarms {
            alarms,
            ..Alarms::default()
        }
    }

    fn arguments(source: &str, id: &str) -> Arguments {
        Arguments {
            source: source.to_owned(),
            id: id.to_owned(),
            station: Some("bridge/anna".to_owned()),
            timeout: Duration::from_secs(1),
            place: Place { url: None },
        }
    }

    #[test]
    fn alarm_is_found_by_source_and_id_and_several_are_told_apart_by_vehicle() {
        let one = || list(vec![listed("gps", Alarm::WARNING, "")]);
        let channels = ["heron.alarms.list", "tern.alarms.list"].map(str::to_owned);
        let lists = Lists(channels.into_iter().map(|it| (it, one())).collect());
        let error = find(&lists, &arguments("gps", "silent")).unwrap_err();
        assert!(error.contains("heron gps, tern gps"), "{error}");
        let (channel, alarm) = find(&lists, &arguments("tern gps", "silent")).unwrap();
        assert_eq!((&*channel, &*alarm.source), ("tern.alarms.list", "gps"));
        let error = find(&lists, &arguments("tern gps", "lost")).unwrap_err();
        assert!(error.contains("no \"lost\" of \"tern gps\""), "{error}");
        let error = find(&Lists::default(), &arguments("gps", "silent")).unwrap_err();
        assert!(error.contains("no list of alarms"), "{error}");
    }

    #[test]
    fn list_answers_by_a_name_by_removing_it_or_by_another_alarm() {
        let seen = listed("gps", Alarm::WARNING, "").alarm;
        let judge = |alarms| judge(&seen, &list(alarms));
        assert_eq!(judge(vec![listed("gps", Alarm::WARNING, "")]), Answer::Open);
        let known = Answer::Known("known to bridge/bo".to_owned());
        assert_eq!(judge(vec![listed("gps", Alarm::ALARM, "bridge/bo")]), known);
        assert!(matches!(
            judge(vec![listed("imu", 1, "")]),
            Answer::Known(_)
        ));
        assert_eq!(
            judge(vec![listed("gps", Alarm::ALARM, "")]),
            Answer::Changed
        );
        let mut again = listed("gps", Alarm::WARNING, "");
        again.alarm.since_utime = 8;
        assert_eq!(judge(vec![again]), Answer::Changed);
    }
}

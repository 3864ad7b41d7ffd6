//! `bowline alarms`: what is wrong with the vehicles on a bus or in a log, and who knows of it.
//!
//! The list is the vehicle's own, kept by its component of kind `alarms`; here it is shown, and acknowledged by
//! `acknowledge.rs`.

mod acknowledge;

use crate::listen::{Heard, Listener, PLACES_HELP, Place};
use crate::output::{count, table_within};
use crate::{Outcome, input, output};
use bowline_component::{Severity, Time};
use bowline_inspect::text::printable;
use bowline_msgs::{Alarm, Alarms, ListedAlarm};
use bowline_operator::commands::ALARMS;
use bowline_wire::Message as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline alarms                      what is wrong, the worst first
  bowline alarms --follow             each change, until ^C
  bowline alarms --json | jq -r 'select(.acknowledged_by == null) | .cause'
  bowline alarms -l day.log           as it was at the end of a log
  bowline alarms ack gps silent       this station knows of it

An alarm is listed while it holds, and until a person acknowledges it, here or on the operator's page. One whose
source does not report it any more is marked as not refreshed: it is unknown whether it still holds.
With --json there is one line for each alarm; with --follow one for each change of one.";

const EXIT_CODES: &str =
    "Exit code 0 if nothing is wrong; 1 if there is an alarm, or no list was received.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Print each change, until ^C or the end of the log
    #[arg(short, long)]
    follow: bool,
    /// Print lines of JSON, one for each alarm
    #[arg(long)]
    json: bool,
    /// How long to listen for lists
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    period: Option<Duration>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Acknowledge an alarm, under the name of this station
    Ack(acknowledge::Arguments),
}

/// Lists are published every second, on a tick of half a second: 1.5 s after a change at the latest.
const LISTEN: Duration = Duration::from_millis(1_800);

/// Identifies an alarm among those of all vehicles.
type Key = [String; 5];

/// The lists that were received, by channel: each vehicle has its own.
#[derive(Debug, Default)]
struct Lists(BTreeMap<String, Alarms>);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let url = arguments.place.url.as_deref();
    if let Some(Verb::Ack(acknowledge)) = &arguments.verb {
        return acknowledge::run(acknowledge, url);
    }
    let mut listener = Listener::open(url, &patterns(), None, None)?;
    if listener.source.bus().is_some() && !(arguments.follow && arguments.period.is_none()) {
        listener.end_after(arguments.period.unwrap_or(LISTEN));
    }
    let mut lists = Lists::default();
    loop {
        match listener.next()? {
            Heard::Event(event) => {
                let Ok(list) = Alarms::decode(&event.payload) else {
                    continue;
                };
                let channel = event.channel.to_string();
                if arguments.follow {
                    follow(&lists, &channel, &list, arguments.json)?;
                }
                lists.0.insert(channel, list);
            }
            Heard::Silence => {}
            Heard::Over => break,
        }
    }
    if !arguments.follow {
        show(&lists, arguments.json)?;
    }
    if lists.0.is_empty() {
        output::note(&format!(
            "no list of alarms was received: {}; a component of kind alarms keeps one",
            listener.why_silent()
        ));
        return Ok(Outcome::Diagnostics);
    }
    let n_dropped: i64 = lists.0.values().map(|it| it.n_dropped).sum();
    if n_dropped > 0 {
        let alarms = count(n_dropped.unsigned_abs(), "alarm");
        output::note(&format!("and {alarms} that a list had no room for"));
    }
    let is_well = lists.0.values().all(|it| it.alarms.is_empty());
    Ok(match is_well {
        true => Outcome::Fine,
        false => Outcome::Diagnostics,
    })
}

/// The lists of all vehicles.
fn patterns() -> [String; 1] {
    [format!("(.*[./])?{}", ALARMS.channel.replace('.', "\\."))]
}

fn show(lists: &Lists, is_json: bool) -> anyhow::Result<()> {
    let all = lists
        .0
        .iter()
        .flat_map(|(channel, list)| list.alarms.iter().map(move |it| (channel, list, it)));
    if is_json {
        for (channel, _, listed) in all {
            output::line(&to_json(channel, listed).to_string())?;
        }
        return Ok(());
    }
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(all.map(|(channel, list, listed)| row(channel, list, listed)));
    if rows.len() > 1 {
        let text = table_within(output::width(), &rows, &[0, 1, 2, 4, 5, 6]);
        output::bytes(text.as_bytes())?;
    } else if !lists.0.is_empty() {
        output::line("nothing is wrong")?;
    }
    Ok(())
}

const HEAD: [&str; 7] = [
    "SEVERITY",
    "SOURCE",
    "CAUSE",
    "FOR",
    "STATE",
    "KNOWN TO",
    "WHAT TO DO",
];

fn row(channel: &str, list: &Alarms, listed: &ListedAlarm) -> Vec<String> {
    let alarm = &listed.alarm;
    let held = list.utime.saturating_sub(alarm.since_utime).max(0);
    let held = Duration::from_micros(held.unsigned_abs());
    let cause = match alarm.consequence.as_str() {
        "" => printable(&alarm.cause),
        consequence => printable(&format!("{}: {consequence}", alarm.cause)),
    };
    vec![
        Severity::of(alarm.severity).word().to_owned(),
        printable(&source(channel, alarm)),
        cause,
        format!("{:.0?}", Duration::from_secs(held.as_secs())),
        state(listed).to_owned(),
        printable(&listed.acknowledged_by),
        printable(&alarm.action),
    ]
}

/// What an alarm is about, with the vehicle where channels name one.
fn source(channel: &str, alarm: &Alarm) -> String {
    let vehicle = channel.strip_suffix(ALARMS.channel).unwrap_or_default();
    let parts = [
        vehicle.trim_end_matches(['.', '/']),
        &*alarm.host,
        &*alarm.source,
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    parts.join(" ")
}

fn state(listed: &ListedAlarm) -> &'static str {
    match (listed.alarm.state, listed.is_refreshed) {
        (Alarm::CLEARED, _) => "over",
        (_, false) => "not refreshed",
        (_, true) => "holds",
    }
}

/// Prints what is other than before.
fn follow(lists: &Lists, channel: &str, list: &Alarms, is_json: bool) -> anyhow::Result<()> {
    let known = lists.0.get(channel).map_or(&[][..], |it| &it.alarms);
    let known: BTreeMap<Key, &ListedAlarm> =
        known.iter().map(|it| (key(channel, it), it)).collect();
    let mut now = Vec::new();
    for listed in &list.alarms {
        let key = key(channel, listed);
        if known
            .get(&key)
            .is_none_or(|before| !is_same(before, listed))
        {
            print(channel, list, listed, state(listed), is_json)?;
        }
        now.push(key);
    }
    for (key, listed) in known {
        if !now.contains(&key) {
            print(channel, list, listed, "gone", is_json)?;
        }
    }
    Ok(())
}

fn key(channel: &str, ListedAlarm { alarm, .. }: &ListedAlarm) -> Key {
    let Alarm {
        robot,
        host,
        source,
        id,
        ..
    } = alarm;
    [channel, robot, host, source, id].map(ToOwned::to_owned)
}

fn is_same(one: &ListedAlarm, other: &ListedAlarm) -> bool {
    let timeless = |it: &ListedAlarm| ListedAlarm {
        alarm: Alarm {
            utime: 0,
            ..it.alarm.clone()
        },
        ..it.clone()
    };
    timeless(one) == timeless(other)
}

fn print(
    channel: &str,
    list: &Alarms,
    listed: &ListedAlarm,
    state: &str,
    is_json: bool,
) -> anyhow::Result<()> {
    if is_json {
        let mut json = to_json(channel, listed);
        json["state"] = state.into();
        return output::line(&json.to_string());
    }
    let alarm = &listed.alarm;
    let known = match listed.acknowledged_by.as_str() {
        "" => String::new(),
        by => format!(" (known to {by})"),
    };
    output::line(&printable(&format!(
        "{}  {:<8} {}: {}: {state}{known}",
        Time::from_utime(list.utime).utime(),
        Severity::of(alarm.severity).word(),
        source(channel, alarm),
        alarm.cause
    )))
}

fn to_json(channel: &str, listed: &ListedAlarm) -> Value {
    let alarm = &listed.alarm;
    let by = Some(&listed.acknowledged_by).filter(|by| !by.is_empty());
    json!({
        "channel": channel,
        "robot": alarm.robot,
        "host": alarm.host,
        "source": alarm.source,
        "id": alarm.id,
        "severity": Severity::of(alarm.severity).word(),
        "state": state(listed),
        "since_utime": alarm.since_utime,
        "cause": alarm.cause,
        "consequence": alarm.consequence,
        "action": alarm.action,
        "acknowledged_by": by,
        "acknowledged_utime": by.map(|_| listed.acknowledged_utime),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> ListedAlarm {
        let alarm = Alarm {
            source: source.to_owned(),
            severity: Alarm::WARNING,
            state: Alarm::RAISED,
            cause: "nothing received\u{1b}[2J".to_owned(),
            consequence: "no place".to_owned(),
            action: "look at it".to_owned(),
            ..Alarm::default()
        };
        ListedAlarm {
            alarm,
            is_refreshed: true,
            ..ListedAlarm::default()
        }
    }

    #[test]
    fn an_alarm_is_a_row_with_its_vehicle_and_without_control_characters() {
        let list = Alarms {
            utime: 90_000_000,
            ..Alarms::default()
        };
        let row = row("heron.alarms.list", &list, &listed("gps"));
        assert_eq!(row[..2], ["warning", "heron gps"]);
        assert!(
            !row[2].contains('\u{1b}') && row[2].ends_with(": no place"),
            "{row:?}"
        );
        assert_eq!(row[3..], ["90s", "holds", "", "look at it"]);
    }

    #[test]
    fn json_has_no_name_of_an_unacknowledged_alarm() {
        let mut known = listed("gps");
        assert_eq!(
            to_json(ALARMS.channel, &known)["acknowledged_by"],
            Value::Null
        );
        known.acknowledged_by = "bridge/anna".to_owned();
        known.is_refreshed = false;
        let json = to_json(ALARMS.channel, &known);
        assert_eq!(json["acknowledged_by"], "bridge/anna");
        assert_eq!(json["state"], "not refreshed");
    }
}

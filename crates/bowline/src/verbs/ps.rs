//! `bowline ps`: what supervisors run, on all hosts, and how that is.

use crate::listen::{Heard, Listener};
use crate::output::{count, table_within};
use crate::screen::{REFRESH, Screen};
use crate::supervisors::{self, Whom};
use crate::{Outcome, output};
use bowline_component::Time;
use bowline_host::supervise::{Entry, Roster, SUPERVISOR_CHANNEL};
use bowline_inspect::text::printable;
use bowline_msgs::{Supervised, Supervisor};
use bowline_wire::Message as _;
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline ps                       all processes of all robots that are received
  bowline ps --robot raptor        of one robot
  bowline ps --watch               again and again, until ^C
  bowline ps --json | jq -r '.processes[] | select(.state == \"given up\") | .name'
  bowline ps -l day.log            as it was at the end of a log

A process is stopped, finished (it did what it was for), given up (it failed too often: `bowline start`
tries again), waiting (for those it depends on), resting (before it is tried again), starting,
running or stopping. CPU is of one processor. With --json there is one line for each supervisor. `bowline alarms` lists what is wrong, of components too.";

const EXIT_CODES: &str = "\
Exit code 0 if all is well; 1 if none was received, or there is an alarm.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{}\n{EXIT_CODES}", supervisors::HELP)
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    whom: Whom,
    /// Show it again and again
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
    /// Print lines of JSON, one for each supervisor
    #[arg(long)]
    json: bool,
}

/// A supervisor that reports once a second has been silent for too long.
const SILENT: Duration = Duration::from_millis(2_500);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let whom = &arguments.whom;
    let patterns = [SUPERVISOR_CHANNEL.to_owned()];
    let mut listener = Listener::open(whom.place.url.as_deref(), &patterns, None, None)?;
    let is_bus = listener.source.bus().is_some();
    if let Some(bus) = listener.source.bus() {
        whom.ask(bus);
    }
    if is_bus && !arguments.watch {
        listener.end_after(whom.period.unwrap_or(supervisors::LISTEN));
    }
    let mut screen = Screen::watched().filter(|_| arguments.watch);
    let mut roster = Roster::default();
    let mut drawn_at = Duration::ZERO;
    loop {
        let now = moment(listener.elapsed());
        match listener.next()? {
            Heard::Event(event) => {
                // What is not a status is none of ours.
                if let Ok(status) = Supervisor::decode(&event.payload) {
                    roster.hear(now, status);
                }
            }
            Heard::Silence => {}
            Heard::Over => break,
        }
        if is_bus && !arguments.watch && whom.is_found(&roster) {
            break;
        }
        if let Some(screen) = &mut screen
            && listener.elapsed() >= drawn_at + REFRESH
        {
            drawn_at = listener.elapsed();
            screen.draw(&text(&roster, whom, now))?;
        }
    }
    let now = moment(listener.elapsed());
    if arguments.json {
        for status in roster.of(whom.robot.as_deref(), whom.host.as_deref()) {
            output::line(&to_json(status).to_string())?;
        }
    } else if let Some(screen) = &mut screen {
        screen.finish(&text(&roster, whom, now))?;
    } else {
        output::bytes(text(&roster, whom, now).as_bytes())?;
    }
    finish(&roster, &listener, whom)
}

fn finish(roster: &Roster, listener: &Listener, whom: &Whom) -> anyhow::Result<Outcome> {
    let (robot, host) = (whom.robot.as_deref(), whom.host.as_deref());
    if roster.n_left_out() > 0 {
        let messages = count(roster.n_left_out(), "message");
        output::note(&format!("and {messages} of further supervisors"));
    }
    if roster.of(robot, host).next().is_none() {
        let which = if roster.iter().next().is_some() {
            "no such"
        } else {
            "no"
        };
        output::note(&format!(
            "{which} supervisor was received: {}",
            listener.why_silent()
        ));
        return Ok(Outcome::Diagnostics);
    }
    let is_well = roster.of(robot, host).all(|status| status.alarm.is_empty());
    Ok(if is_well {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

fn moment(elapsed: Duration) -> Time {
    Time::ZERO + elapsed
}

fn text(roster: &Roster, whom: &Whom, now: Time) -> String {
    let mut text = String::new();
    let is_meant = |entry: &&Entry| {
        let Supervisor { robot, host, .. } = &entry.status;
        whom.robot.as_ref().is_none_or(|it| it == robot)
            && whom.host.as_ref().is_none_or(|it| it == host)
    };
    for entry in roster.iter().filter(is_meant) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &headline(entry, now);
        text += &processes(&entry.status);
    }
    text
}

fn headline(entry: &Entry, now: Time) -> String {
    let Supervisor {
        robot,
        host,
        machine,
        pid,
        state,
        alarm,
        ..
    } = &entry.status;
    let name = printable(&format!("{robot}@{host}"));
    let mut text = format!(
        "{name}: {}, pid {pid} on {}",
        word(*state),
        printable(machine)
    );
    let silent = now.since(entry.heard);
    if silent > SILENT {
        text += &format!(", no message for {:.0} s", silent.as_secs_f32());
    }
    text.push('\n');
    for alarm in alarm.lines() {
        text += &format!("ALARM {}\n", printable(alarm));
    }
    text
}

fn processes(status: &Supervisor) -> String {
    let heads = [
        "process", "group", "state", "pid", "restarts", "cpu", "memory", "up", "note",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for process in &status.processes {
        rows.push(row(process, status.utime));
    }
    table_within(output::width(), &rows, &[0, 1, 2, 8])
}

fn row(process: &Supervised, utime: i64) -> Vec<String> {
    let is_there = process.pid != 0;
    let if_there = |text: String| if is_there { text } else { "-".to_owned() };
    let up = u64::try_from(utime - process.started_utime).unwrap_or(0);
    vec![
        printable(&process.name),
        if process.group.is_empty() {
            "-".to_owned()
        } else {
            printable(&process.group)
        },
        state_word(process.state).to_owned(),
        if_there(process.pid.to_string()),
        process.n_restarts.to_string(),
        if_there(format!("{:.0} %", process.cpu_ratio * 100.0)),
        if_there(size(process.memory_bytes)),
        if_there(age(Duration::from_micros(up))),
        printable(&note(process)),
    ]
}

/// What people should know of a process beside its numbers.
fn note(process: &Supervised) -> String {
    let mut notes = Vec::new();
    if !process.health.is_empty() {
        notes.push(process.health.clone());
    }
    if !process.last_exit.is_empty() {
        notes.push(format!("last: {}", process.last_exit));
    }
    if process.is_adopted {
        notes.push("adopted".to_owned());
    }
    if process.n_lines_dropped > 0 || process.n_bytes_skipped > 0 {
        let lines = count(u64::try_from(process.n_lines_dropped).unwrap_or(0), "line");
        notes.push(format!(
            "{lines} and {} of output dropped",
            size(process.n_bytes_skipped)
        ));
    }
    notes.join("; ")
}

pub(crate) fn state_word(state: i8) -> &'static str {
    match state {
        Supervised::STOPPED => "stopped",
        Supervised::FINISHED => "finished",
        Supervised::GIVEN_UP => "given up",
        Supervised::WAITING => "waiting",
        Supervised::RESTING => "resting",
        Supervised::STARTING => "starting",
        Supervised::RUNNING => "running",
        Supervised::STOPPING => "stopping",
        _ => "?",
    }
}

fn word(state: i8) -> &'static str {
    match state {
        Supervisor::CLAIMING => "claiming",
        Supervisor::RUNNING => "running",
        Supervisor::SAFE => "SAFE STATE",
        Supervisor::STOPPING => "stopping",
        Supervisor::ENDED => "ended",
        _ => "?",
    }
}

/// Bytes as people compare them.
fn size(bytes: i64) -> String {
    let bytes = u64::try_from(bytes).unwrap_or(0);
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_240_000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// How long something is up, in two units.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} m {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} m", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn to_json(status: &Supervisor) -> Value {
    let process = |process: &Supervised| {
        json!({
            "name": process.name,
            "group": process.group,
            "components": process.components,
            "state": state_word(process.state),
            "pid": (process.pid != 0).then_some(process.pid),
            "adopted": process.is_adopted,
            "restarts": process.n_restarts,
            "last_exit": process.last_exit,
            "started_utime": (process.started_utime != 0).then_some(process.started_utime),
            "cpu_ratio": process.cpu_ratio,
            "memory_bytes": process.memory_bytes,
            "health": process.health,
            "lines": process.n_lines,
            "lines_dropped": process.n_lines_dropped,
            "bytes_skipped": process.n_bytes_skipped,
        })
    };
    json!({
        "utime": status.utime,
        "robot": status.robot,
        "host": status.host,
        "machine": status.machine,
        "pid": status.pid,
        "state": word(status.state).to_lowercase(),
        "alarms": status.alarm.lines().collect::<Vec<_>>(),
        "processes": status.processes.iter().map(process).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_are_short() {
        let ages = [5, 65, 3_700, 90_000].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(ages, ["5 s", "1 m 5 s", "1 h 1 m", "1 d 1 h"]);
        let sizes = [0, 9_999, 1 << 20, 1 << 30].map(size);
        assert_eq!(sizes, ["0 B", "9999 B", "1024 KiB", "1024 MiB"]);
    }
}

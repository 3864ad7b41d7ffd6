//! What a gate says of itself, for people and programs.

use super::desk::Desk;
use crate::{Outcome, output};
use bowline_inspect::text::printable;
use bowline_msgs::Gate;
use bowline_node::Time;
use serde_json::{Value, json};
use std::time::Duration;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Who reads it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// People.
    Words,
    /// Programs.
    Json,
}

pub(super) fn show(desk: &mut Desk, follows: bool, form: Form) -> anyhow::Result<Outcome> {
    let mut shown: Option<Gate> = None;
    let mut heard_at = desk.now();
    while !desk.is_interrupted() {
        desk.listen(desk.now() + LOOK_EVERY)?;
        let Some((at, gate)) = desk.gate.take() else {
            if desk.now().since(heard_at) > desk.timeout {
                output::error(&desk.no_gate("gate.state"));
                return Ok(Outcome::Diagnostics);
            }
            continue;
        };
        heard_at = at;
        if shown.as_ref().is_none_or(|last| has_changed(last, &gate)) {
            match form {
                Form::Json => output::line(&to_json(&gate).to_string())?,
                Form::Words => output::bytes(words(&gate).as_bytes())?,
            }
        }
        shown = Some(gate);
        if !follows {
            break;
        }
    }
    Ok(Outcome::Fine)
}

fn has_changed(last: &Gate, gate: &Gate) -> bool {
    let of = |gate: &Gate| {
        let Gate {
            state,
            level,
            since_utime,
            epoch,
            session,
            n_refused,
            ..
        } = gate;
        (
            *state,
            *level,
            *since_utime,
            *epoch,
            *session,
            *n_refused,
            gate.asking.clone(),
        )
    };
    of(last) != of(gate)
}

fn state(gate: &Gate) -> &'static str {
    match gate.state {
        Gate::STOPPED => "stopped",
        Gate::IDLE => "idle",
        Gate::OPERATED => "operated",
        Gate::AUTONOMOUS => "autonomous",
        Gate::CONTINGENCY => "contingency",
        _ => "unknown",
    }
}

fn level(gate: &Gate) -> &'static str {
    match gate.level {
        Gate::THRUST => "direct",
        Gate::SETPOINT => "heading and speed",
        Gate::WAYPOINT => "a place",
        Gate::ROUTE => "a route",
        Gate::OBJECTIVE => "an objective",
        Gate::OBSERVE => "nobody sets anything",
        _ => "unknown",
    }
}

/// How long ago a moment was, or how long it is until then, by the vehicle's own clock.
fn apart(gate: &Gate, utime: i64) -> String {
    let (now, then) = (Time::from_utime(gate.utime), Time::from_utime(utime));
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    if then > now {
        format!("for {} more", seconds(then.since(now)))
    } else {
        format!("for {}", seconds(now.since(then)))
    }
}

fn words(gate: &Gate) -> String {
    let mut rows = vec![
        (
            "state",
            format!(
                "{} {}: {}",
                state(gate),
                apart(gate, gate.since_utime),
                printable(&gate.reason)
            ),
        ),
        (
            "control",
            format!(
                "{}, level {}: {}",
                printable(&gate.in_control),
                gate.level,
                level(gate)
            ),
        ),
    ];
    if gate.until_utime != 0 {
        rows.push((
            "lasts",
            format!("{} if nobody says anything", apart(gate, gate.until_utime)),
        ));
    }
    rows.push((
        "lease",
        match gate.holder.as_str() {
            "" => "nobody has it".to_owned(),
            holder => format!(
                "{}, rank {}, {}",
                printable(holder),
                gate.rank,
                apart(gate, gate.lease_until_utime)
            ),
        },
    ));
    if !gate.asking.is_empty() {
        rows.push(("asking", printable(&gate.asking).to_string()));
    }
    if gate.is_stopped {
        let (by, why) = (printable(&gate.stopped_by), printable(&gate.stop_reason));
        rows.push(("stop", format!("by {by}: {why}")));
    }
    rows.push(("if lost", printable(&gate.contingency).to_string()));
    let refused = gate
        .reasons
        .iter()
        .zip(&gate.n_refusals)
        .filter(|(_, n)| **n > 0);
    let refused: Vec<String> = refused
        .map(|(reason, n)| format!("{n} {}", printable(reason)))
        .collect();
    let refused = if refused.is_empty() {
        String::new()
    } else {
        format!(": {}", refused.join(", "))
    };
    rows.push((
        "commands",
        format!(
            "{} taken, {} refused{refused}",
            gate.n_accepted, gate.n_refused
        ),
    ));
    let name = printable(&gate.name).to_string();
    let rows = rows
        .into_iter()
        .map(|(what, text)| vec![name.clone(), what.to_owned(), text]);
    output::table(&rows.collect::<Vec<_>>(), &[0, 1, 2])
}

fn to_json(gate: &Gate) -> Value {
    let refused = gate
        .reasons
        .iter()
        .cloned()
        .zip(gate.n_refusals.iter().map(|n| Value::from(*n)));
    json!({
        "utime": gate.utime,
        "name": gate.name,
        "state": state(gate),
        "level": gate.level,
        "since_utime": gate.since_utime,
        "until_utime": gate.until_utime,
        "in_control": gate.in_control,
        "reason": gate.reason,
        "holder": gate.holder,
        "session": gate.session.to_string(),
        "rank": gate.rank,
        "epoch": gate.epoch,
        "lease_until_utime": gate.lease_until_utime,
        "asking": gate.asking,
        "is_stopped": gate.is_stopped,
        "stopped_by": gate.stopped_by,
        "stop_reason": gate.stop_reason,
        "contingency": gate.contingency,
        "n_accepted": gate.n_accepted,
        "n_refused": gate.n_refused,
        "refused": Value::Object(refused.collect()),
    })
}

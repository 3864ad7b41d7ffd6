//! The state of a gate, for people and programs.

use super::desk::Desk;
use crate::{Outcome, output};
use bowline_component::Time;
use bowline_inspect::text::printable;
use bowline_msgs::{Gate, GateRules};
use serde_json::{Value, json};
use std::time::Duration;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Rules come twice a second: a gate that has sent none by then sends none.
const RULES_WITHIN: Duration = Duration::from_secs(1);

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
    let began_at = desk.now();
    let mut heard_at = began_at;
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
        if desk.rules().is_none() && desk.now().since(began_at) < RULES_WITHIN {
            // They come a moment later, and not from every gate.
            continue;
        }
        if shown.as_ref().is_none_or(|last| has_changed(last, &gate)) {
            match form {
                Form::Json => output::line(&to_json(&gate, desk.rules()).to_string())?,
                Form::Words => output::bytes(words(&gate, desk.rules()).as_bytes())?,
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
        Gate::DIRECT => "direct",
        Gate::SETPOINT => "heading and speed",
        Gate::WAYPOINT => "a place",
        Gate::ROUTE => "a route",
        Gate::OBJECTIVE => "an objective",
        Gate::OBSERVE => "nothing sets the actuators",
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

/// What the gate accepts of direct commands, and what it guards.
fn demands(rules: &GateRules) -> Vec<(&'static str, String)> {
    let ms = |us: i64| us / 1_000;
    let axes = rules.axes.iter();
    let axes = axes.map(|it| format!("{} {} to {}", printable(&it.field), it.min, it.max));
    let direct = format!(
        "{}, {}; at most {} ms old, after {} ms of neutral input",
        printable(&rules.actuation),
        axes.collect::<Vec<_>>().join(", "),
        ms(rules.direct_max_age_us),
        ms(rules.neutral_us)
    );
    let lease = format!(
        "{} ms, then {} ms until control counts as lost",
        ms(rules.lease_us),
        ms(rules.grace_us)
    );
    let fence = match rules.n_fence {
        0 => "none".to_owned(),
        n => format!("{n} corners, with poses of at most {} m", rules.pose_sd_m),
    };
    vec![("direct", direct), ("a lease", lease), ("fence", fence)]
}

fn words(gate: &Gate, rules: Option<&GateRules>) -> String {
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
            format!("{} without a new one", apart(gate, gate.until_utime)),
        ));
    }
    rows.push((
        "lease",
        match gate.holder.as_str() {
            "" => "it is free".to_owned(),
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
    rows.extend(rules.map(demands).into_iter().flatten());
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

fn rules_to_json(rules: &GateRules) -> Value {
    let axes = rules.axes.iter();
    let axes = axes.map(|it| {
        json!({
            "field": it.field, "word": it.word, "unit": it.unit, "min": it.min, "max": it.max,
            "ahead": it.ahead, "left": it.left, "moves": it.moves,
        })
    });
    json!({
        "actuation": rules.actuation,
        "verb": rules.verb,
        "setpoint": rules.setpoint,
        "axes": axes.collect::<Vec<_>>(),
        "direct_max_age_us": rules.direct_max_age_us,
        "task_max_age_us": rules.task_max_age_us,
        "setpoint_us": rules.setpoint_us,
        "neutral_us": rules.neutral_us,
        "lease_us": rules.lease_us,
        "answer_us": rules.answer_us,
        "grace_us": rules.grace_us,
        "contingency": rules.contingency,
        "local_stop_us": rules.local_stop_us,
        "pose_max_age_us": rules.pose_max_age_us,
        "pose_sd_m": rules.pose_sd_m,
        "fence_m": rules.fence_m,
    })
}

fn to_json(gate: &Gate, rules: Option<&GateRules>) -> Value {
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
        "rules": rules.map(rules_to_json),
    })
}

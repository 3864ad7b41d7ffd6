//! The table of commands, for people and programs; the page is built with what this prints.

use crate::{Outcome, output};
use bowline_operator::{COMMANDS, Command, Effect, Need, Role};
use serde_json::{Value, json};

pub(super) fn show(is_json: bool) -> anyhow::Result<Outcome> {
    if is_json {
        let rows: Vec<Value> = COMMANDS.iter().map(to_json).collect();
        output::line(&serde_json::to_string_pretty(&rows)?)?;
        return Ok(Outcome::Fine);
    }
    let head = ["COMMAND", "CHANNEL", "TYPE", "NEEDS", "FROM"].map(str::to_owned);
    let row = |it: &Command| {
        let needs: Vec<&str> = it.needs.iter().copied().map(need).collect();
        [
            it.name,
            it.channel,
            it.message.name,
            &needs.join(", "),
            role(it.role),
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let rows = std::iter::once(head.to_vec()).chain(COMMANDS.iter().map(row));
    let rows: Vec<Vec<String>> = rows.collect();
    output::bytes(output::table(&rows, &[0, 1, 2, 3, 4]).as_bytes())?;
    Ok(Outcome::Fine)
}

fn to_json(command: &Command) -> Value {
    // In the order of the alphabet, whether or not the library keeps another.
    json!({
        "answered_on": command.answered_on.channel,
        "ask": command.ask,
        "channel": command.channel,
        "effect": effect(command.effect),
        "name": command.name,
        "needs": command.needs.iter().copied().map(need).collect::<Vec<_>>(),
        "role": role(command.role),
        "type": command.message.name,
    })
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Stop => "stop",
        Effect::Authority => "authority",
        Effect::Task => "task",
        Effect::Direct => "direct",
        Effect::Notice => "notice",
    }
}

fn need(need: Need) -> &'static str {
    match need {
        Need::Token => "token",
        Need::Lease => "lease",
        Need::Rank => "rank",
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Viewer => "viewer",
        Role::Operator => "operator",
    }
}

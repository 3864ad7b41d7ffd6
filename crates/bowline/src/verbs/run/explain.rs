//! Kinds of components, for people: what can be set, what they read and write, and how to write one down.

use crate::output::table_within;
use bowline_component::{
    Change, Direction, Expect, Kind, Need, Parameter, PortInfo, Ports, Setting, TypeInfo,
};
use bowline_host::supervise::HEARTBEAT_LIMIT;
use serde_json::{Value, json};
use std::time::Duration;

/// All kinds, a line each.
pub(super) fn all(kinds: &[Kind], width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = kinds
        .iter()
        .map(|kind| vec![kind.name.to_owned(), kind.summary.to_owned()])
        .collect();
    let mut text = table_within(width, &rows, &[0, 1]);
    text += "\n`bowline run --explain KIND` shows all about one of them.\n";
    text
}

/// All about one kind.
pub(super) fn one(kind: &Kind, width: Option<usize>) -> String {
    let mut text = format!("{}: {}\n", kind.name, kind.summary);
    text += "\nParameters\n";
    let needed = kind.attempt(&[]).missing;
    let (facts, own): (Vec<Parameter>, Vec<Parameter>) =
        kind.parameters().iter().partition(|it| it.group.is_some());
    text += &parameters(&own, &needed, width);
    if !facts.is_empty() {
        text += "\nParameters that [vehicle] sets for all components\n";
        text += &parameters(&facts, &needed, width);
    }
    text += "\nPorts\n";
    let outline = kind.outline();
    match &outline {
        Ok(outline) => {
            text += &ports(&outline.ports, width);
            if !outline.others.is_empty() {
                text += &format!("  and {}\n", outline.others);
            }
        }
        Err(error) => text += &format!("  they depend on the parameters: {error}\n"),
    }
    if let Some(period) = outline.as_ref().ok().and_then(|it| it.ports.tick_period()) {
        text += &format!("  woken every {}\n", duration(period));
    }
    text += "\nIn a robot file\n";
    let ports: Vec<&PortInfo> = outline.iter().flat_map(|it| it.ports.iter()).collect();
    for line in snippet(kind, &ports).lines() {
        text += format!("  {line}").trim_end();
        text.push('\n');
    }
    text
}

fn parameters(table_of: &[Parameter], needed: &[&str], width: Option<usize>) -> String {
    if table_of.is_empty() {
        return "  none\n".to_owned();
    }
    let mut rows = vec![
        ["", "name", "is a", "default", "may be", "changes", "for"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for parameter in table_of {
        let limits = parameter
            .limits
            .map_or_else(|| "anything".to_owned(), |limits| limits());
        let change = match parameter.change {
            Change::AtStart => "at start",
            Change::Live => "live",
        };
        rows.push(vec![
            String::new(),
            parameter.name.to_owned(),
            parameter.kind.to_owned(),
            default_of(parameter, needed),
            limits,
            change.to_owned(),
            one_line(parameter.doc),
        ]);
    }
    table_within(width, &rows, &[0, 1, 2, 3, 4, 5, 6])
}

/// What a parameter is when nothing sets it; those that are needed have no default.
fn default_of(parameter: &Parameter, needed: &[&str]) -> String {
    let default = (parameter.default)();
    let is_none = parameter.kind != "text" && default == Setting::Text(String::new());
    match (needed.contains(&parameter.name), is_none) {
        (true, _) => "needed".to_owned(),
        (false, true) => "none".to_owned(),
        (false, false) => default.to_string(),
    }
}

fn ports(ports: &Ports, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for port in ports.iter() {
        let (verb, expects) = match port.direction {
            Direction::Reads(expect) => ("reads", expectation(expect)),
            Direction::Writes => ("writes", String::new()),
            Direction::Serves => ("serves", String::new()),
            Direction::Calls => ("calls", String::new()),
        };
        rows.push(vec![
            String::new(),
            verb.to_owned(),
            port.name.clone(),
            types(port),
            expects,
            one_line(&port.doc),
        ]);
    }
    match rows.is_empty() {
        true => "  none\n".to_owned(),
        false => table_within(width, &rows, &[0, 1, 2, 3, 4, 5]),
    }
}

/// What is expected of an input, in words.
fn expectation(expect: Expect) -> String {
    let need = match expect.need {
        Need::Required => "required",
        Need::Optional => "optional",
    };
    let fresh = expect
        .fresh_for
        .map(|fresh_for| format!("fresh for {}", duration(fresh_for)));
    let every = expect
        .every
        .map(|every| format!("every {}", duration(every)));
    let parts: Vec<String> = [Some(need.to_owned()), fresh, every]
        .into_iter()
        .flatten()
        .collect();
    parts.join(", ")
}

fn types(port: &PortInfo) -> String {
    let name = |info: Option<TypeInfo>| info.map_or("any", |info| info.name);
    match port.answer {
        Some(_) => format!("{} => {}", name(port.message), name(port.answer)),
        None => name(port.message).to_owned(),
    }
}

/// A component of this kind, ready to paste: what must be connected, and every parameter as it is by default.
fn snippet(kind: &Kind, ports: &[&PortInfo]) -> String {
    let mut text = format!("[component.{0}]\nkind = {0:?}\n", kind.name);
    let connected: Vec<String> = ports
        .iter()
        .filter(|port| match port.direction {
            Direction::Reads(expect) => expect.need == Need::Required,
            Direction::Calls => true,
            Direction::Writes | Direction::Serves => false,
        })
        .map(|port| format!("{} = \"...\"", port.name))
        .collect();
    if !connected.is_empty() {
        text += &format!("channels = {{ {} }}\n", connected.join(", "));
    }
    text += &format!(
        "# heartbeat = {{ within = {:?} }}\n",
        duration(HEARTBEAT_LIMIT)
    );
    let mut own = kind.parameters().iter().filter(|it| it.group.is_none());
    if let Some(first) = own.next() {
        text += &format!("\n[component.{}.parameters]\n", kind.name);
        text.extend(std::iter::once(first).chain(own).map(setting_line));
    }
    let needed = kind.attempt(&[]).missing;
    if !needed.is_empty() {
        text += "\n# What all components share; this one needs to know:\n# [vehicle]\n";
        text.extend(needed.iter().map(|name| format!("# {name} = ...\n")));
    }
    let outputs: Vec<String> = ports
        .iter()
        .filter(|port| matches!(port.direction, Direction::Writes | Direction::Serves))
        .filter(|port| port.name != "parameters")
        .map(|port| format!("{}.{}", kind.name, port.name))
        .collect();
    match outputs.is_empty() {
        true => text,
        false => format!("# Others find it at {}.\n{text}", outputs.join(", ")),
    }
}

/// A parameter as it is by default. A path or a list that is not given by default has nothing to paste but its place.
fn setting_line(parameter: &Parameter) -> String {
    let Parameter { name, kind, .. } = parameter;
    match (parameter.default)() {
        Setting::Text(text) if text.is_empty() && *kind == "path" => {
            format!("# {name} = \"...\"\n")
        }
        Setting::List(items) if items.is_empty() => {
            let of_numbers = matches!(*kind, "list of numbers" | "list of whole numbers");
            let item = if of_numbers { "..." } else { "\"...\"" };
            format!("# {name} = [{item}]\n")
        }
        default @ (Setting::Boolean(_)
        | Setting::Integer(_)
        | Setting::Real(_)
        | Setting::Text(_)
        | Setting::List(_)) => format!("{name} = {default}\n"),
    }
}

fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As robot files write it.
pub(super) fn duration(duration: Duration) -> String {
    match bowline_component::ParameterValue::to_setting(&duration) {
        Setting::Text(text) => text,
        other @ (Setting::Boolean(_)
        | Setting::Integer(_)
        | Setting::Real(_)
        | Setting::List(_)) => other.to_string(),
    }
}

pub(super) fn all_as_json(kinds: &[Kind]) -> Value {
    kinds
        .iter()
        .map(|kind| json!({ "kind": kind.name, "summary": kind.summary }))
        .collect()
}

pub(super) fn as_json(kind: &Kind) -> Value {
    let needed = kind.attempt(&[]).missing;
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name,
            "type": parameter.kind,
            "default": (parameter.default)().to_string(),
            "limits": parameter.limits.map(|limits| limits()),
            "live": parameter.change == Change::Live,
            "group": parameter.group,
            "needed": needed.contains(&parameter.name),
            "doc": one_line(parameter.doc),
        })
    };
    let port = |port: &PortInfo| {
        let expect = match port.direction {
            Direction::Reads(expect) => Some(expect),
            Direction::Writes | Direction::Serves | Direction::Calls => None,
        };
        let direction = match port.direction {
            Direction::Reads(_) => "reads",
            Direction::Writes => "writes",
            Direction::Serves => "serves",
            Direction::Calls => "calls",
        };
        json!({
            "name": port.name,
            "direction": direction,
            "type": port.message.map(|info| info.name),
            "reply": port.answer.map(|info| info.name),
            "required": expect.map(|expect| expect.need == Need::Required),
            "fresh_for_s": expect.and_then(|expect| expect.fresh_for).map(|it| it.as_secs_f64()),
            "doc": one_line(&port.doc),
        })
    };
    let outline = kind.outline().ok();
    json!({
        "kind": kind.name,
        "summary": kind.summary,
        "parameters": kind.parameters().iter().map(parameter).collect::<Vec<_>>(),
        "ports": outline.iter().flat_map(|it| it.ports.iter()).map(port).collect::<Vec<_>>(),
        "other_ports": outline.iter().map(|it| it.others).find(|others| !others.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::App;
    use crate::kinds::KINDS;

    const HEARTBEAT: &str = "\
heartbeat: Publishes a beat at a steady rate.

Parameters
  name     is a    default  may be           changes   for
  rate_hz  number  1.0      0.001 to 1000.0  at start  Beats a second.
";
    const SNIPPET: &str = "
In a robot file
  # Others find it at heartbeat.beat.
  [component.heartbeat]
  kind = \"heartbeat\"
  # heartbeat = { within = \"650ms\" }

  [component.heartbeat.parameters]
  rate_hz = 1.0
";

    #[test]
    fn a_kind_is_explained_and_ready_to_paste() {
        let heartbeat = KINDS.iter().find(|kind| kind.name == "heartbeat").unwrap();
        let text = one(heartbeat, None);
        assert!(text.starts_with(HEARTBEAT), "{text}");
        assert!(text.ends_with(SNIPPET), "{text}");
    }

    #[test]
    fn ports_are_shown_even_where_they_depend_on_a_file() {
        let model = KINDS.iter().find(|kind| kind.name == "model").unwrap();
        let text = one(model, None);
        for part in [
            "  serves  transform  ",
            "  and for each joint of the model that a channel moves, an input",
            "  # [vehicle]\n  # model = ...\n",
            "  # Others find it at model.transform, model.bodies, model.frames.\n",
        ] {
            assert!(text.contains(part), "expected {part:?} in\n{text}");
        }
        assert!(!text.contains("model = \"\""), "{text}");
        assert_eq!(as_json(model)["ports"][0]["name"], "transform");
    }

    #[test]
    fn facts_of_the_vehicle_are_explained_apart_with_those_that_are_needed() {
        let teleop = KINDS.iter().find(|kind| kind.name == "teleop").unwrap();
        let text = one(teleop, None);
        let (own, facts) = text
            .split_once("\nParameters that [vehicle] sets for all components\n")
            .unwrap();
        assert!(
            own.contains("rate_hz") && !own.contains("wheelbase_m"),
            "{own}"
        );
        let words = |name: &str| -> Vec<&str> {
            let line = facts
                .lines()
                .find(|line| line.trim_start().starts_with(name));
            line.unwrap().split_whitespace().take(3).collect()
        };
        assert_eq!(words("wheelbase_m"), ["wheelbase_m", "number", "needed"]);
        assert_eq!(words("front_m"), ["front_m", "number", "none"]);
        let paste = "  # [vehicle]\n  # wheelbase_m = ...\n  # max_curvature_per_m = ...\n";
        assert!(facts.ends_with(paste), "{facts}");
        let json = as_json(teleop);
        let rows = json["parameters"].as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["name"] == "wheelbase_m")
            .unwrap();
        assert_eq!(
            (&row["group"], &row["needed"]),
            (&json!("vehicle"), &json!(true))
        );
        assert_eq!(rows[0]["group"], Value::Null);
    }

    #[test]
    fn lists_are_shown_as_what_they_are_lists_of() {
        for (name, expected) in [
            ("arbiter", "  # weights = [...]\n"),
            ("model", "  # types = [\"...\"]\n"),
        ] {
            let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
            let text = one(kind, None);
            assert!(text.contains(expected), "expected {expected:?} in\n{text}");
        }
    }

    #[test]
    fn every_kind_can_be_explained() {
        let app = App::new();
        for kind in app.kind_table() {
            assert!(all(app.kind_table(), None).contains(kind.summary));
            assert_eq!(as_json(kind)["kind"], kind.name);
        }
    }
}

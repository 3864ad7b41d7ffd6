//! What a robot is, in a few lines.

use super::explain::duration;
use crate::output::{self, count, table_within};
use bowline_component::{Parameters as _, Setting};
use bowline_host::robot::{Component, Experiment, Problem, Program, Robot, Severity, Source};
use bowline_host::supervise::HEARTBEAT_LIMIT;
use bowline_log::record::increments;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn text(robot: &Robot, source: Source) -> String {
    let components: Vec<&Component> = robot.components(source).collect();
    let processes = robot.processes(source);
    let parts = [
        count(components.len() as u64, "component"),
        match processes.len() {
            1 => "1 process".to_owned(),
            n => format!("{n} processes"),
        },
        count(channels(&components).len() as u64, "channel"),
    ];
    let bus = robot
        .bus()
        .map_or_else(|| "the default bus".to_owned(), ToString::to_string);
    let mut text = format!("{}: {} on {bus}\n", robot.name(), parts.join(", "));
    let mut rows = vec![
        ["component", "what", "process", "group", "host", "after"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for component in &components {
        let own = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let after = match component.after.is_empty() {
            true => "-".to_owned(),
            false => component.after.join(", "),
        };
        rows.push(vec![
            component.name.clone(),
            what(component),
            component.process.clone(),
            own(&component.group),
            own(&component.host),
            after,
        ]);
    }
    if !components.is_empty() {
        text += &table_within(output::width(), &rows, &[0, 1, 2, 3, 4, 5]);
    }
    text += &vehicle_line(robot);
    for experiment in robot.experiments() {
        text += &experiment_line(experiment);
    }
    for component in &components {
        if let Some(within) = heartbeat_within(component).filter(|it| *it != HEARTBEAT_LIMIT) {
            let (name, within) = (&component.name, duration(within));
            text += &format!("{name} counts as hung after {within} without a heartbeat\n");
        }
    }
    if let Some(record) = robot.record() {
        text += &format!(
            "records to {}: the first number that is free\n",
            next_recording(&record.file).display()
        );
    }
    let state = robot.safe_state();
    for (does, names) in [("stops", &state.stop), ("starts", &state.start)] {
        if !names.is_empty() {
            text += &format!("when it gives up, it {does} {}\n", names.join(", "));
        }
    }
    for message in &state.publish {
        text += &format!(
            "when it gives up, it publishes {} on {}\n",
            message.message.name, message.channel
        );
    }
    for (source, word) in [(Source::Sim, "sim"), (Source::Log, "log:FILE")] {
        let replaced: Vec<&str> = robot.replaced(source).map(|it| it.name.as_str()).collect();
        if !replaced.is_empty() {
            text += &format!("--source {word} replaces {}\n", replaced.join(", "));
        }
    }
    text
}

/// What is so of the vehicle, if anything is.
fn vehicle_line(robot: &Robot) -> String {
    let facts: Vec<String> = facts(robot)
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    match facts.is_empty() {
        true => String::new(),
        false => format!("vehicle: {}\n", facts.join(", ")),
    }
}

/// Those that the file or `--set` sets to something else than their defaults.
fn facts(robot: &Robot) -> impl Iterator<Item = (&'static str, Setting)> {
    let vehicle = robot.vehicle();
    let facts = vehicle.table().iter();
    facts.filter_map(|fact| {
        let value = vehicle.get(fact.name)?;
        (value != (fact.default)()).then_some((fact.name, value))
    })
}

fn experiment_line(experiment: &Experiment) -> String {
    let Experiment {
        name,
        about,
        components,
        gate,
    } = experiment;
    let components = components.join(", ");
    let gate = gate.as_ref();
    let gate = gate.map_or("no gate".to_owned(), |gate| format!("gate {gate}"));
    let about = match about.is_empty() {
        true => String::new(),
        false => format!(": {about}"),
    };
    format!("experiment {name} ({components}; {gate}){about}\n")
}

/// A robot that starts again does not overwrite what it did before.
fn next_recording(file: &Path) -> PathBuf {
    let mut names = increments(file);
    let free = names.find(|name| !name.exists());
    free.unwrap_or_else(|| file.to_owned())
}

fn what(component: &Component) -> String {
    match &component.program {
        Program::Kind { kind, .. } => kind.name.to_owned(),
        Program::Command(command) => {
            let program = command.command.first().map_or("", String::as_str);
            let name = Path::new(program)
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let sort = match command.deterministic {
                Some(_) => "deterministic command",
                None => "command",
            };
            format!("{sort} {}", name.unwrap_or_default())
        }
    }
}

/// How long a component may send no heartbeat; `None` if it sends none.
fn heartbeat_within(component: &Component) -> Option<Duration> {
    match &component.program {
        Program::Kind {
            heartbeat_within, ..
        } => Some(*heartbeat_within),
        Program::Command(command) => command.heartbeat.as_ref().map(|it| it.within),
    }
}

fn channels<'r>(components: &[&'r Component]) -> BTreeSet<&'r str> {
    let ports = components.iter().flat_map(|component| &component.ports);
    ports.filter_map(|port| port.channel.as_deref()).collect()
}

fn fact_json(value: &Setting) -> Value {
    match value {
        Setting::Real(number) => json!(number),
        Setting::Text(text) => json!(text),
        other @ (Setting::Boolean(_) | Setting::Integer(_) | Setting::List(_)) => {
            json!(other.to_string())
        }
    }
}

pub(super) fn json(robot: Option<&Robot>, source: Source, problems: &[Problem]) -> Value {
    let problem = |problem: &Problem| {
        json!({
            "severity": match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "message": problem.message,
            "help": problem.help,
            "file": &*problem.place.file,
            "line": problem.place.line,
            "column": problem.place.column,
        })
    };
    let component = |component: &Component| {
        json!({
            "name": component.name,
            "what": what(component),
            "process": component.process,
            "group": component.group,
            "host": component.host,
            "after": component.after,
            "heartbeat_within_s": heartbeat_within(component).map(|it| it.as_secs_f64()),
        })
    };
    let experiment = |experiment: &Experiment| {
        json!({
            "name": experiment.name,
            "about": experiment.about,
            "components": experiment.components,
            "gate": experiment.gate,
        })
    };
    json!({
        "robot": robot.map(Robot::name),
        "vehicle": robot.map(|robot| facts(robot).map(|(name, value)| (name.to_owned(), fact_json(&value))).collect::<Map<_, _>>()),
        "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        "records_to": robot.and_then(Robot::record).map(|it| next_recording(&it.file)),
        "experiments": robot.map(|robot| robot.experiments().iter().map(experiment).collect::<Vec<_>>()),
        "components": robot.map(|robot| robot.components(source).map(component).collect::<Vec<_>>()),
    })
}

//! `bowline run ROBOT --source log:FILE --verify`: are the outputs what they were?

use super::lockstep;
use crate::known_types::Types;
use crate::progress::Progress;
use crate::verbs::log::choice;
use crate::verbs::log::diff::{Manner, compare};
use crate::{Outcome, output};
use bowline_bus::Channel;
use bowline_host::robot::{Component, Robot, Source};
use bowline_host::verify::{Difference, Findings, Problem, Recorded, Verification, verify};
use bowline_host::{Logged, Scope};
use bowline_log::{
    Catalog, ChannelFilter, DiffOptions, IndexUse, Writer, WriterOptions, explain_pair,
};
use std::path::Path;

/// How many fields of a message that differs are shown.
const FIELDS: usize = 10;

pub(super) fn run(robot: &Robot, path: &Path, types: &Types) -> anyhow::Result<Outcome> {
    let mut log = choice::open(path, IndexUse::IfThere)?;
    let mut progress = Progress::new("verifying");
    let mut remake = |name: &str| {
        let component = robot.component(name, Source::Live);
        let component = component.or_else(|| robot.component(name, Source::Sim));
        component.and_then(Component::make)
    };
    let verification = verify(&mut log, robot.name(), &mut remake, &mut |done, all| {
        progress.at(done, all);
    })?;
    drop(progress);
    if verification.components.is_empty() {
        output::note(
            "the log has no traces of steps (bowline.steps), which robots publish when they record: its inputs are taken \
             in the order of the log, at the times of the log",
        );
        return in_log_order(robot, path, types);
    }
    let catalog = types.catalog_with(&log)?;
    let outcome = print(&verification, &catalog)?;
    let untold = untold(robot, &verification);
    for component in &untold {
        output::line(&format!(
            "{component}: NOT verified: the log has no steps of it"
        ))?;
    }
    for component in robot.components(Source::Live) {
        if !component.takes_steps() {
            output::line(&format!(
                "{}: a program that is not declared deterministic, not checked",
                component.name
            ))?;
        }
    }
    Ok(if untold.is_empty() {
        outcome
    } else {
        Outcome::Diagnostics
    })
}

/// Components that take steps and that the log says nothing about: one that crashed at once, or was not traced.
fn untold<'r>(robot: &'r Robot, verification: &Verification) -> Vec<&'r str> {
    let is_sim = verification.components.keys().any(|name| {
        let component = robot.component(name, Source::Sim);
        component.is_some_and(|component| component.is_simulated)
    });
    let source = if is_sim { Source::Sim } else { Source::Live };
    let ours = robot.components(source);
    let ours = ours.filter(|component| component.takes_steps());
    let names = ours.map(|component| component.name.as_str());
    names
        .filter(|name| !verification.components.contains_key(*name))
        .collect()
}

fn print(verification: &Verification, catalog: &Catalog) -> anyhow::Result<Outcome> {
    let mut is_same = true;
    for (name, findings) in &verification.components {
        is_same &= findings.problems.is_empty();
        output::line(&headline(name, findings))?;
        for problem in &findings.problems {
            for line in problem_lines(problem, catalog) {
                output::line(&format!("  {line}"))?;
            }
        }
    }
    Ok(if is_same {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

fn headline(name: &str, findings: &Findings) -> String {
    let Findings {
        lives,
        steps,
        messages,
        skipped,
        problems,
    } = findings;
    let verdict = if problems.is_empty() {
        "the same"
    } else {
        "NOT the same"
    };
    let lives = if *lives == 1 {
        String::new()
    } else {
        format!(" in {lives} lives")
    };
    let skipped = if *skipped == 0 {
        String::new()
    } else {
        format!(", {skipped} steps not taken")
    };
    format!("{name}: {verdict}: {messages} messages, {steps} steps{lives}{skipped}")
}

fn problem_lines(problem: &Problem, catalog: &Catalog) -> Vec<String> {
    match problem {
        Problem::Differs(difference) => difference_lines(difference, catalog),
        Problem::InputMissing { step, at, channel } => vec![format!(
            "step {step} at {at:?}: its input on {channel} is not in the log"
        )],
        Problem::StepsMissing { step, count: 0 } => {
            vec![format!(
                "the log has no steps from {step} on, or has them twice"
            )]
        }
        Problem::StepsMissing { step: 0, count } => vec![format!(
            "the log begins in the middle of its life: its first {count} steps are missing"
        )],
        Problem::StepsMissing { step, count } => {
            vec![format!(
                "{count} steps from {step} on are missing in the log"
            )]
        }
        Problem::SettingsChanged { changes } => {
            let changes = changes.iter().map(|change| format!("  {change}"));
            let first = "it was made from other settings when the log was recorded:".to_owned();
            std::iter::once(first).chain(changes).collect()
        }
        Problem::Unknown => vec!["it is not in the robot file".to_owned()],
        Problem::NotMade(why) => vec![format!("it cannot be made any more: {why}")],
        Problem::Panicked(what) => vec![what.clone()],
    }
}

fn difference_lines(difference: &Difference, catalog: &Catalog) -> Vec<String> {
    let Difference {
        step,
        at,
        channel,
        recorded,
        replayed,
    } = difference;
    let place = format!("the first difference is in step {step}, at {at:?}, on {channel}:");
    let mut lines = vec![place];
    match (recorded, replayed) {
        (None, _) => {
            lines.push("  nothing was sent when it was recorded, and something is now".to_owned());
        }
        (_, None) => {
            lines.push("  something was sent when it was recorded, and nothing is now".to_owned());
        }
        (Some(Recorded::NotInLog(hash)), Some(_)) => {
            lines.push(format!(
                "  the recorded message ({hash:016x}) is not in the log"
            ));
        }
        (Some(Recorded::Message(recorded)), Some(replayed)) => {
            let catalogs = [catalog.clone(), catalog.clone()];
            let explanation = explain_pair(Some(recorded), Some(replayed), &catalogs, FIELDS);
            let fields = explanation.fields.iter();
            lines.extend(fields.map(|field| {
                format!(
                    "  {}: recorded {}, replayed {}",
                    field.path, field.a, field.b
                )
            }));
            if explanation.fields.is_empty() {
                let byte = explanation.byte.unwrap_or_default();
                lines.push(format!("  the bytes differ from byte {byte} on"));
            }
        }
    }
    lines
}

/// Runs the components on the log's inputs, and compares their outputs channel by channel.
fn in_log_order(robot: &Robot, path: &Path, types: &Types) -> anyhow::Result<Outcome> {
    let engine = lockstep::engine(robot, Source::Log)?;
    let said: Vec<Channel> = engine.written().cloned().collect();
    let folder = tempfile::tempdir()?;
    let replayed = folder.path().join("replayed.lcmlog");
    let writer = Writer::create(&replayed, WriterOptions::default())?;
    let mut sink = Logged::new(writer, Scope::Outputs);
    let (mut lockstep, _) = lockstep::start_log(path, engine, &mut sink)?;
    lockstep.run_to_end(&mut sink)?;
    if let Some(last) = lockstep.source().last() {
        lockstep.run_until(last, &mut sink)?;
    }
    sink.finish()?;
    let patterns: Vec<String> = said
        .iter()
        .map(|channel| format!("^{}$", channel.replace('.', "\\.")))
        .collect();
    let options = DiffOptions {
        channels: ChannelFilter::new(&patterns)?,
        ..DiffOptions::default()
    };
    output::note("a is the log, b the outputs of the components now");
    let manner = Manner {
        show: FIELDS,
        types,
        json: false,
    };
    compare([path, &replayed], &options, &manner)
}

//! Names: that they are valid, unique, and defined where they are used.

use crate::robot::RECORDER;
use crate::robot::draft::{ComponentDraft, Draft};
use crate::supervise::ALL;
use bowline_component::document::Problems;
use bowline_component::document::{Word, did_you_mean};

pub(super) fn check(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    if let Some(name) = &draft.name {
        check_name("robot", name, problems);
    }
    for component in &draft.components {
        check_name("component", &component.name, problems);
        let own = [
            ("process", &component.process),
            ("group", &component.group),
            ("host", &component.host),
        ];
        for (what, name) in own {
            if let Some(name) = name {
                check_name(what, name, problems);
            }
        }
    }
    for experiment in &draft.experiments {
        check_name("experiment", &experiment.name, problems);
    }
    check_recorder(draft, problems);
    check_twice(draft, problems);
    check_groups(draft, problems);
    for (what, names) in [("sim", &draft.sim), ("log", &draft.log)] {
        for name in names.iter().flatten() {
            check_replaced(what, name, draft, problems);
        }
    }
}

/// The longest name, in bytes.
const MAX_NAME: usize = 40;

/// Names become parts of channels, arguments and file names.
fn check_name(what: &str, name: &Word, problems: &mut Problems<'_>) {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let text = name.get_ref();
    let is_name = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_allowed)
        && text.len() <= MAX_NAME;
    if !is_name {
        let message = format!("no {what} can be called {text:?}");
        let help = format!(
            "names begin with a letter or a digit, and have at most {MAX_NAME} letters, digits, _, - and ."
        );
        problems.error(name.span(), message).help(help);
    } else if text == ALL {
        let message = format!("no {what} can be called {text:?}, which orders call everything");
        problems.error(name.span(), message);
    }
}

/// The recorder is a process beside the components.
fn check_recorder(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let Some(record) = &draft.record else {
        return;
    };
    for component in &draft.components {
        let names = [Some(&component.name), component.process.as_ref()];
        for name in names
            .into_iter()
            .flatten()
            .filter(|name| name.get_ref() == RECORDER)
        {
            let place = problems.place(&record.at);
            problems
                .error(
                    name.span(),
                    format!("{RECORDER:?} is what the recorder is called"),
                )
                .note("it is there because of [record]", place);
        }
    }
}

/// TOML itself refuses a name twice in one table.
fn check_twice(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let simulated = draft
        .components
        .iter()
        .filter(|component| component.is_simulated);
    for component in simulated {
        let name = component.name.get_ref();
        let real = draft
            .components
            .iter()
            .find(|other| !other.is_simulated && other.name.get_ref() == name);
        if let Some(real) = real {
            let place = problems.place(&real.name.span());
            problems
                .error(
                    component.name.span(),
                    format!("two components are called {name:?}"),
                )
                .note("the other is", place)
                .help("give the simulated one a name of its own, and name the other in replaces");
        }
    }
}

/// `drive` must name one thing.
fn check_groups(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let groups = draft
        .components
        .iter()
        .filter_map(|component| component.group.as_ref());
    for group in groups {
        let names = draft.components.iter().flat_map(|component| {
            let process = component
                .process
                .as_ref()
                .map(|process| ("process", process));
            [Some(("component", &component.name)), process]
                .into_iter()
                .flatten()
        });
        for (what, name) in names.filter(|(_, name)| name.get_ref() == group.get_ref()) {
            let place = problems.place(&name.span());
            let message = format!(
                "a group cannot be called {:?}, as a {what} is",
                group.get_ref()
            );
            problems
                .error(group.span(), message)
                .note(format!("the {what} is"), place);
        }
    }
}

fn check_replaced(source: &str, name: &Word, draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let real = |component: &&ComponentDraft<'_, '_>| !component.is_simulated;
    let mut names = draft
        .components
        .iter()
        .filter(real)
        .map(|component| component.name.get_ref().as_str());
    if names.clone().any(|known| known == name.get_ref()) {
        return;
    }
    let simulated = draft
        .components
        .iter()
        .find(|component| component.name.get_ref() == name.get_ref());
    let message = match simulated {
        Some(_) => format!(
            "[{source}] replaces {:?}, which is itself simulated",
            name.get_ref()
        ),
        None => format!(
            "[{source}] replaces {:?}, which is no component",
            name.get_ref()
        ),
    };
    let help = did_you_mean(name.get_ref(), names.by_ref());
    problems.error(name.span(), message).maybe_help(help);
}

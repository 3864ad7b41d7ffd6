//! What runs where and in which order: processes that are shared, hosts, and who is started after whom.

use super::ring::way_back;
use crate::robot::draft::{ComponentDraft, Draft, ProgramDraft};
use crate::robot::{Restart, Start};
use bowline_bus::{Capability, Scheme};
use bowline_component::ParameterValue as _;
use bowline_component::document::Problems;
use bowline_component::document::{Word, did_you_mean};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(
    draft: &Draft<'_, '_>,
    transport: Option<&Scheme>,
    problems: &mut Problems<'_>,
) {
    check_hosts(draft, problems);
    check_sharing(draft, problems);
    check_after(draft, problems);
    check_cycles(draft, problems);
    if let Some(transport) = transport.filter(|it| it.has(Capability::InProcess)) {
        check_in_process(draft, transport.name, problems);
    }
}

fn process_of<'d>(component: &'d ComponentDraft<'_, '_>) -> &'d str {
    component
        .process
        .as_ref()
        .unwrap_or(&component.name)
        .get_ref()
}

/// A component without a host would run on all of them, or on none.
fn check_hosts(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let with_host = draft
        .components
        .iter()
        .find(|component| component.host.is_some());
    let Some(with_host) = with_host.and_then(|component| component.host.as_ref()) else {
        return;
    };
    if let Some(record) = draft.record.as_ref().filter(|record| record.host.is_none()) {
        let place = problems.place(&with_host.span());
        problems
            .error(
                record.at.clone(),
                "[record] names no host, but components do",
            )
            .note("a host is named", place)
            .help(format!(
                "set where it runs: host = {:?}",
                with_host.get_ref()
            ));
    }
    for component in draft
        .components
        .iter()
        .filter(|component| component.host.is_none())
    {
        let message = format!(
            "component {:?} names no host, but others do",
            component.name.get_ref()
        );
        let place = problems.place(&with_host.span());
        problems
            .error(component.name.span(), message)
            .note("a host is named", place)
            .help(format!(
                "set where it runs: host = {:?}",
                with_host.get_ref()
            ));
    }
}

/// Components in one process start, stop and fail together.
fn check_sharing(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let mut first_of: BTreeMap<&str, &ComponentDraft<'_, '_>> = BTreeMap::new();
    for component in &draft.components {
        let Some(process) = &component.process else {
            continue;
        };
        if matches!(component.program, Some(ProgramDraft::Command(_))) {
            let help = "a program is a process of its own; take out process";
            problems
                .error(
                    process.span(),
                    "only components of a kind can share a process",
                )
                .help(help);
            continue;
        }
        let named = draft
            .components
            .iter()
            .find(|other| other.name.get_ref() == process.get_ref());
        if let Some(named) =
            named.filter(|named| process_of(named) != process.get_ref() || named.process.is_none())
            && named.name.get_ref() != component.name.get_ref()
        {
            let message = format!(
                "process {:?} has the name of a component that is not in it",
                process.get_ref()
            );
            let place = problems.place(&named.name.span());
            problems
                .error(process.span(), message)
                .note("the component is", place)
                .help(format!(
                    "give that component process = {:?} too, or choose another name",
                    process.get_ref()
                ));
        }
        match first_of.get(process.get_ref().as_str()) {
            Some(first) => check_agreement(first, component, process, problems),
            None => {
                first_of.insert(process.get_ref(), component);
            }
        }
    }
}

fn check_agreement(
    first: &ComponentDraft<'_, '_>,
    second: &ComponentDraft<'_, '_>,
    process: &Word,
    problems: &mut Problems<'_>,
) {
    let word = |word: &Option<Word>| {
        word.as_ref()
            .map_or_else(|| "none".to_owned(), |word| format!("{:?}", word.get_ref()))
    };
    let start = |component: &ComponentDraft<'_, '_>| match component.start {
        Some(Start::OnOrder) => "\"on-order\"".to_owned(),
        Some(Start::WithRobot) | None => "\"with-robot\"".to_owned(),
    };
    let restart = |component: &ComponentDraft<'_, '_>| match component.restart {
        Some(Restart::OnFailure) => "\"on-failure\"".to_owned(),
        Some(Restart::Never) => "\"never\"".to_owned(),
        Some(Restart::Always) | None => "\"always\"".to_owned(),
    };
    let heartbeat = |component: &ComponentDraft<'_, '_>| match &component.program {
        Some(ProgramDraft::Kind {
            heartbeat_within: Some(within),
            ..
        }) => format!("{{ within = {} }}", within.to_setting()),
        Some(ProgramDraft::Kind { .. } | ProgramDraft::Command(_)) | None => "none".to_owned(),
    };
    let pairs = [
        ("host", word(&first.host), word(&second.host)),
        ("group", word(&first.group), word(&second.group)),
        ("start", start(first), start(second)),
        ("restart", restart(first), restart(second)),
        ("heartbeat", heartbeat(first), heartbeat(second)),
    ];
    for (what, one, other) in pairs {
        if one == other {
            continue;
        }
        let message = format!(
            "components of one process have one {what}: {:?} has {one}, {:?} has {other}",
            first.name.get_ref(),
            second.name.get_ref(),
        );
        let place = problems.place(&first.name.span());
        problems
            .error(process.span(), message)
            .note(format!("{:?} is", first.name.get_ref()), place)
            .help(format!(
                "give them the same {what}, or processes of their own"
            ));
    }
}

fn check_after(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    for component in &draft.components {
        for name in &component.after {
            check_started_before(component, name, draft, problems);
        }
    }
}

fn check_started_before(
    component: &ComponentDraft<'_, '_>,
    name: &Word,
    draft: &Draft<'_, '_>,
    problems: &mut Problems<'_>,
) {
    let others = || {
        draft
            .components
            .iter()
            .filter(|other| other.name.get_ref() != component.name.get_ref())
    };
    if name.get_ref() == component.name.get_ref() {
        let message = format!(
            "component {:?} cannot be started after itself",
            name.get_ref()
        );
        problems.error(name.span(), message);
        return;
    }
    if others().any(|other| other.name.get_ref() == name.get_ref()) {
        return;
    }
    let message = format!("after names {:?}, which is no component", name.get_ref());
    let is_group = draft.components.iter().any(|other| {
        other
            .group
            .as_ref()
            .is_some_and(|group| group.get_ref() == name.get_ref())
    });
    let help = match is_group {
        true => Some("it is a group; name its components".to_owned()),
        false => did_you_mean(
            name.get_ref(),
            others().map(|other| other.name.get_ref().as_str()),
        ),
    };
    problems.error(name.span(), message).maybe_help(help);
}

/// Processes are what is started, so a circle of processes cannot be either.
fn check_cycles(draft: &Draft<'_, '_>, problems: &mut Problems<'_>) {
    let mut after: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let process_named = |name: &str| {
        let found = draft
            .components
            .iter()
            .find(|component| component.name.get_ref() == name);
        found.map(process_of)
    };
    for component in &draft.components {
        let own = process_of(component);
        let before = component
            .after
            .iter()
            .filter_map(|name| process_named(name.get_ref()));
        after
            .entry(own)
            .or_default()
            .extend(before.filter(|before| *before != own));
    }
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for component in &draft.components {
        let own = process_of(component);
        let Some(way) = way_back(own, &after) else {
            continue;
        };
        if way.iter().any(|process| told.contains(process)) {
            continue;
        }
        told.extend(&way);
        let mut words: Vec<String> = way.iter().map(|process| format!("{process:?}")).collect();
        words.push(format!("{own:?}"));
        let message = format!("none can start first: {}", words.join(" is started after "));
        let at = component
            .after
            .first()
            .map_or_else(|| component.name.span(), Word::span);
        problems
            .error(at, message)
            .help("take one of them out of after");
    }
}

/// A transport that stays within one process connects no other.
fn check_in_process(draft: &Draft<'_, '_>, transport: &str, problems: &mut Problems<'_>) {
    let at = draft.bus.as_ref().map_or(0..0, Word::span);
    let command = draft
        .components
        .iter()
        .find(|it| matches!(it.program, Some(ProgramDraft::Command(_))));
    if let Some(command) = command {
        let message = format!(
            "{transport} stays inside one process, but component {:?} is one of its own",
            command.name.get_ref()
        );
        let place = problems.place(&command.name.span());
        problems
            .error(at, message)
            .note("the component is", place)
            .help("use udpm, or shm on one host");
        return;
    }
    let mut processes = draft
        .components
        .iter()
        .filter(|it| !it.is_simulated)
        .map(|it| (process_of(it), it));
    let Some((first, _)) = processes.next() else {
        return;
    };
    if let Some((second, component)) = processes.find(|(process, _)| *process != first) {
        let message = format!(
            "{transport} stays inside one process, but the components are in several: {first:?} and {second:?}"
        );
        let place = problems.place(&component.name.span());
        problems
            .error(at, message)
            .note("the second is", place)
            .help("give all components the same process, or use udpm, or shm on one host");
    }
}

//! What giving up means: that those who are to stop are there, and that the messages are messages.

use super::{Checked, Context, check_channel_name};
use crate::robot::draft::Draft;
use crate::robot::message::{SafeMessage, safe_message};
use crate::robot::{Component, SafeState, Start};
use crate::supervise::MIN_EVERY;
use bowline_component::Direction;
use bowline_component::ParameterValue as _;
use bowline_component::document::Problems;
use bowline_component::document::{Word, did_you_mean};

pub(super) fn check(
    draft: &Draft<'_, '_>,
    checked: &[Checked],
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> SafeState {
    let mut state = SafeState::default();
    for name in &draft.safe_state.stop {
        let meant = meant_by("stops", name, checked, problems);
        state
            .stop
            .extend(meant.iter().map(|it| it.component.name.clone()));
    }
    for name in &draft.safe_state.start {
        let meant = meant_by("starts", name, checked, problems);
        for it in &meant {
            check_started(name, it, &state, problems);
            check_needs(name, it, checked, &state, problems);
        }
        state
            .start
            .extend(meant.iter().map(|it| it.component.name.clone()));
    }
    for message in &draft.safe_state.publish {
        check_channel_name(&message.channel, problems);
        if let Some((at, every)) = message.every.as_ref().filter(|(_, it)| *it < MIN_EVERY) {
            let [least, found] = [MIN_EVERY, *every].map(|it| it.to_setting());
            let message = format!("every is a duration from {least} on, found {found}");
            problems
                .error(at.clone(), message)
                .help("safe_state publishes at most 100 times a second");
        }
        let made = safe_message(message, context.types, problems);
        if let Some(made) = made {
            check_readers(
                &made,
                &message.channel,
                &message.type_name,
                checked,
                problems,
            );
            state.publish.push(made);
        }
    }
    state
}

/// A component, or all of a group.
fn meant_by<'c>(
    verb: &str,
    name: &Word,
    checked: &'c [Checked],
    problems: &mut Problems<'_>,
) -> Vec<&'c Checked> {
    let is_meant = |it: &&Checked| {
        let Component {
            name: own, group, ..
        } = &it.component;
        own == name.get_ref() || group.as_ref() == Some(name.get_ref())
    };
    let meant: Vec<&Checked> = checked.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let names = checked.iter().map(|it| it.component.name.as_str());
        let groups = checked
            .iter()
            .filter_map(|it| it.component.group.as_deref());
        let message = format!(
            "safe_state {verb} {:?}, which is neither a component nor a group",
            name.get_ref()
        );
        let help = did_you_mean(name.get_ref(), names.chain(groups));
        problems.error(name.span(), message).maybe_help(help);
    }
    meant
}

/// A process that runs already need not be started, and one that is stopped cannot be.
fn check_started(name: &Word, it: &Checked, state: &SafeState, problems: &mut Problems<'_>) {
    let Component {
        name: own,
        start,
        place,
        ..
    } = &it.component;
    if state.stop.contains(own) {
        let message = format!("safe_state both stops and starts component {own:?}");
        problems.error(name.span(), message);
    } else if *start == Start::WithRobot {
        let message = format!("safe_state starts component {own:?}, which starts with the robot");
        problems
            .error(name.span(), message)
            .note("the component is", place.clone())
            .help("start = \"on-order\" has it wait until it is needed");
    }
}

/// A process that is started needs those that it is started after, with all that share their processes.
fn check_needs(
    name: &Word,
    it: &Checked,
    checked: &[Checked],
    state: &SafeState,
    problems: &mut Problems<'_>,
) {
    let mut processes = vec![it.component.process.as_str()];
    let mut looked_at = 0;
    while let Some(process) = processes.get(looked_at).copied() {
        looked_at += 1;
        let members = checked.iter().filter(|it| it.component.process == process);
        let before: Vec<&String> = members.flat_map(|it| &it.component.after).collect();
        let needed = checked
            .iter()
            .filter(|it| before.contains(&&it.component.name));
        for needed in needed.map(|it| it.component.process.as_str()) {
            if !processes.contains(&needed) {
                processes.push(needed);
            }
        }
    }
    let is_stopped = |it: &&Checked| {
        let Component { name, process, .. } = &it.component;
        processes.contains(&process.as_str()) && state.stop.contains(name)
    };
    if let Some(stopped) = checked.iter().find(is_stopped)
        && stopped.component.name != it.component.name
    {
        let message = format!(
            "safe_state starts component {:?}, which needs {:?}, which it stops",
            it.component.name, stopped.component.name,
        );
        problems.error(name.span(), message);
    }
}

/// What makes the robot safe should have a reader, of its type.
fn check_readers(
    message: &SafeMessage,
    channel: &Word,
    type_name: &Word,
    checked: &[Checked],
    problems: &mut Problems<'_>,
) {
    let mut is_read = false;
    let ports = checked.iter().flat_map(|it| {
        it.component
            .ports
            .iter()
            .zip(&it.ports_at)
            .map(move |port| (it, port))
    });
    let on_channel = ports.filter(|(_, (port, _))| port.channel.as_ref() == Some(&message.channel));
    for (it, (port, at)) in on_channel {
        let verb = match port.direction {
            Direction::Reads(_) => {
                is_read = true;
                "reads"
            }
            Direction::Writes => "writes",
            Direction::Serves | Direction::Calls => continue,
        };
        if let Some(other) = port
            .message
            .as_ref()
            .filter(|other| other.fingerprint != message.message.fingerprint)
        {
            let told = format!(
                "safe_state publishes {} on {:?}, but component {:?} {verb} {} there",
                message.message.name, message.channel, it.component.name, other.name,
            );
            let place = problems.place(at);
            problems
                .error(type_name.span(), told)
                .note(format!("{:?} {verb} it", it.component.name), place);
        }
    }
    let is_certain = checked.iter().all(|it| it.is_whole);
    if !is_read && is_certain {
        let told = format!(
            "safe_state publishes on {:?}, which no component reads",
            message.channel
        );
        problems
            .warning(channel.span(), told)
            .help("if a program outside of this file reads it, this is no problem");
    }
}

//! What giving up means: that those who are to stop are there, and that the messages are messages.

use super::{Checked, Context, check_channel_name};
use crate::port::Direction;
use crate::robot::SafeState;
use crate::robot::draft::Draft;
use crate::robot::message::{SafeMessage, safe_message};
use crate::robot::problem::Problems;
use crate::robot::table::{Word, did_you_mean};

pub(super) fn check(
    draft: &Draft<'_, '_>,
    checked: &[Checked],
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> SafeState {
    let mut state = SafeState::default();
    for name in &draft.safe_state.stop {
        for stopped in stopped_by(name, checked, problems) {
            if !state.stop.contains(&stopped) {
                state.stop.push(stopped);
            }
        }
    }
    for message in &draft.safe_state.publish {
        check_channel_name(&message.channel, problems);
        let made = safe_message(message, context.catalog, problems);
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
fn stopped_by(name: &Word, checked: &[Checked], problems: &mut Problems<'_>) -> Vec<String> {
    let is_meant = |it: &&Checked| {
        it.component.name == *name.get_ref() || it.component.group.as_ref() == Some(name.get_ref())
    };
    let stopped: Vec<String> = checked
        .iter()
        .filter(is_meant)
        .map(|it| it.component.name.clone())
        .collect();
    if stopped.is_empty() {
        let names = checked.iter().map(|it| it.component.name.as_str());
        let groups = checked
            .iter()
            .filter_map(|it| it.component.group.as_deref());
        let message = format!(
            "safe_state stops {:?}, which is neither a component nor a group",
            name.get_ref()
        );
        let help = did_you_mean(name.get_ref(), names.chain(groups));
        problems.error(name.span(), message).maybe_help(help);
    }
    stopped
}

/// Somebody should read what makes the robot safe, and as what it is.
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

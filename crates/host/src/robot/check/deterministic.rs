//! Programs that declare themselves deterministic: how long their steps take, and what they cannot do.

use super::Context;
use crate::robot::draft::CommandDraft;
use crate::robot::message::known_type;
use crate::robot::{DescribedType, Deterministic, STEP_WITHIN};
use bowline_component::ParameterValue as _;
use bowline_component::document::{Problems, Word};
use std::time::Duration;

/// A step that takes longer keeps a robot from being watched.
const LONGEST_STEP: Duration = Duration::from_secs(60);
/// A shorter limit ends programs that only wait for a processor.
const SHORTEST_STEP: Duration = Duration::from_millis(10);

/// How the program takes steps; `None` if it does not.
pub(super) fn check(
    draft: &CommandDraft,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Option<Deterministic> {
    check_limit(draft, problems);
    let declared = draft.deterministic.as_ref()?;
    for (key, at) in &draft.not_in_steps {
        let message = format!("a deterministic program has no {key}");
        let help = match *key {
            "heartbeat" => {
                "its host sends heartbeats for it; step_within limits how long a step may take"
            }
            _ => {
                "services are for programs that run by themselves; take out deterministic, or read and write channels"
            }
        };
        let place = problems.place(declared);
        problems
            .error(at.clone(), message)
            .note("it is declared deterministic", place)
            .help(help);
    }
    for (channel, _) in &draft.writes {
        let is_read = |(read, _): &&(Word, Word)| read.get_ref() == channel.get_ref();
        if let Some((read, _)) = draft.reads.iter().find(is_read) {
            let message = format!(
                "a deterministic program cannot read {:?}, which it writes",
                channel.get_ref()
            );
            problems
                .error(read.span(), message)
                .help("it knows what it publishes; take it out of reads");
        }
    }
    let described = |pairs: &[(Word, Word)]| -> Vec<(String, Option<DescribedType>)> {
        let pairs = pairs.iter();
        pairs
            .map(|(channel, name)| (channel.get_ref().clone(), known_type(name, context.types)))
            .collect()
    };
    Some(Deterministic {
        step_within: draft
            .step_within
            .as_ref()
            .map_or(STEP_WITHIN, |(_, within)| *within),
        reads: described(&draft.reads),
        writes: described(&draft.writes),
    })
}

fn check_limit(draft: &CommandDraft, problems: &mut Problems<'_>) {
    let Some((at, within)) = &draft.step_within else {
        return;
    };
    if draft.deterministic.is_none() {
        let message = "step_within is for programs that take steps, and this one is not declared deterministic";
        problems
            .error(at.clone(), message)
            .help("add deterministic = true, or take out step_within");
    }
    if !(SHORTEST_STEP..=LONGEST_STEP).contains(within) {
        let text = |duration: Duration| duration.to_setting().to_string();
        let message = format!(
            "step_within is a duration from {} to {}, found {}",
            text(SHORTEST_STEP),
            text(LONGEST_STEP),
            text(*within)
        );
        let help = "it only has to find a program that hangs: 5s is the default";
        problems.error(at.clone(), message).help(help);
    }
}

//! Experiments: that their components are there, that each is in one, and that one gate guards each.

use super::Checked;
use crate::robot::draft::{Draft, ExperimentDraft};
use crate::robot::{Component, Experiment, Port, Program};
use bowline_component::Direction;
use bowline_component::document::{Problems, Word, did_you_mean};
use bowline_msgs::GateToken;
use bowline_wire::Message as _;
use std::collections::BTreeMap;

pub(super) fn check(
    draft: &Draft<'_, '_>,
    checked: &[Checked],
    problems: &mut Problems<'_>,
) -> Vec<Experiment> {
    let mut taken: BTreeMap<&str, (&Word, &Word)> = BTreeMap::new();
    let mut experiments = Vec::new();
    for experiment in &draft.experiments {
        for component in &experiment.components {
            check_there(experiment, component, checked, problems);
            let earlier = taken.insert(component.get_ref(), (&experiment.name, component));
            if let Some((other, at)) = earlier {
                complain_of_two(experiment, component, (other, at), problems);
            }
        }
        let text = |word: &Word| word.get_ref().clone();
        experiments.push(Experiment {
            name: text(&experiment.name),
            about: experiment.about.as_ref().map(text).unwrap_or_default(),
            components: experiment.components.iter().map(text).collect(),
            gate: find_gate(experiment, checked, problems),
        });
    }
    experiments
}

fn check_there(
    experiment: &ExperimentDraft,
    component: &Word,
    checked: &[Checked],
    problems: &mut Problems<'_>,
) {
    let mut names = checked.iter().map(|it| it.component.name.as_str());
    if names.clone().any(|name| name == component.get_ref()) {
        return;
    }
    let message = format!(
        "experiment {:?} has {:?}, which is no component",
        experiment.name.get_ref(),
        component.get_ref()
    );
    let help = did_you_mean(component.get_ref(), names.by_ref());
    problems.error(component.span(), message).maybe_help(help);
}

fn complain_of_two(
    experiment: &ExperimentDraft,
    component: &Word,
    (other, at): (&Word, &Word),
    problems: &mut Problems<'_>,
) {
    let (name, own) = (component.get_ref(), experiment.name.get_ref());
    let place = problems.place(&at.span());
    if other.get_ref() == own {
        let message = format!("experiment {own:?} has {name:?} twice");
        problems
            .error(component.span(), message)
            .note("it is already", place);
        return;
    }
    let message = format!(
        "component {name:?} is in two experiments: {:?} and {own:?}",
        other.get_ref()
    );
    problems
        .error(component.span(), message)
        .note("it is in the other", place)
        .help("each experiment can be taken by another station, so each component belongs to one");
}

/// Whether a component decides who may command others: one of ours that publishes what commands must bring back.
fn is_gate(component: &Component) -> bool {
    let publishes_tokens = |port: &Port| {
        let message = port.message.as_ref().map(|it| it.name.as_str());
        port.direction == Direction::Writes && message == Some(GateToken::NAME)
    };
    matches!(component.program, Program::Kind { .. })
        && component.ports.iter().any(publishes_tokens)
}

/// The component that is named, or the only one that is a gate.
fn find_gate(
    experiment: &ExperimentDraft,
    checked: &[Checked],
    problems: &mut Problems<'_>,
) -> Option<String> {
    let is_one = |name: &&Word| {
        let found = checked
            .iter()
            .find(|it| it.component.name == *name.get_ref());
        found.is_some_and(|it| is_gate(&it.component))
    };
    let gates: Vec<&Word> = experiment.components.iter().filter(is_one).collect();
    if let [first, second, ..] = &gates[..] {
        let message = format!(
            "experiment {:?} has more than one gate: {:?} and {:?}",
            experiment.name.get_ref(),
            first.get_ref(),
            second.get_ref()
        );
        let place = problems.place(&first.span());
        problems
            .error(second.span(), message)
            .note("the first is", place)
            .help("one gate decides for all of it; make two experiments of it otherwise");
    }
    let Some(named) = &experiment.gate else {
        return gates.first().map(|gate| gate.get_ref().clone());
    };
    let mut names = experiment.components.iter().map(|it| it.get_ref().as_str());
    if !names.clone().any(|name| name == named.get_ref()) {
        let message = format!(
            "the gate of experiment {:?} is {:?}, which is none of its components",
            experiment.name.get_ref(),
            named.get_ref()
        );
        let help = did_you_mean(named.get_ref(), names.by_ref());
        problems.error(named.span(), message).maybe_help(help);
    }
    Some(named.get_ref().clone())
}

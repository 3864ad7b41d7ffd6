//! `[vehicle]`: what is so of the vehicle, once for all components that ask.

use super::settings::{complain_of_value, in_file, resolved};
use super::{Checked, is_there};
use crate::robot::Preset;
use crate::robot::draft::Draft;
use bowline_component::document::{Problems, Value, Word, did_you_mean, quoted, setting};
use bowline_component::{Parameter, Parameters as _, Setting, Vehicle};

/// What the file has of the vehicle.
pub(super) struct Facts {
    /// As the command line leaves it.
    pub(super) vehicle: Vehicle,
    /// What components are given.
    pub(super) settings: Vec<(String, Setting)>,
    /// Everything that the file has, even if it is wrong.
    written: Vec<String>,
}

fn table() -> &'static [Parameter] {
    Vehicle::default().table()
}

/// Whether there is such a fact.
pub(super) fn is_fact(name: &str) -> bool {
    table().iter().any(|fact| fact.name == name)
}

/// Whether a parameter of a component is one of the vehicle's facts.
pub(super) fn is_of_vehicle(parameter: &Parameter) -> bool {
    parameter.group == Some(Vehicle::GROUP)
}

/// Every fact is looked at, so that all that is wrong is reported.
pub(super) fn check(
    draft: &Draft<'_, '_>,
    presets: &[Preset],
    problems: &mut Problems<'_>,
) -> Facts {
    let (known, unknown): (Vec<_>, Vec<_>) = (draft.vehicle.facts.iter())
        .map(|(name, value)| (name, *value))
        .partition(|(name, _)| is_fact(name.get_ref()));
    for (name, _) in unknown {
        refuse_unknown(name, problems);
    }
    for (name, value) in &draft.parameters {
        if is_fact(name.get_ref()) {
            refuse_shared(name, value, problems);
        }
    }
    let mut facts = Facts {
        vehicle: Vehicle::default(),
        settings: Vec::new(),
        written: known
            .iter()
            .map(|(name, _)| name.get_ref().clone())
            .collect(),
    };
    for given in in_file(known.into_iter(), problems) {
        let Some(value) = resolved(table(), &given) else {
            continue;
        };
        let is_set = facts.vehicle.set(given.name, &value);
        if let Err(error) = is_set {
            complain_of_value(&error, table(), &given, problems);
            continue;
        }
        // Components are not given a model that is not there: each of them would report it again.
        let model = facts.vehicle.model().ok().filter(|_| given.name == "model");
        if model.is_none_or(|model| is_there(model, ("model", given.value_at), problems)) {
            facts.settings.push((given.name.to_owned(), value));
        }
    }
    // What is wrong with them is reported where components are given them.
    for preset in presets.iter().filter(|preset| preset.component.is_none()) {
        drop(facts.vehicle.set(&preset.name, &preset.value));
    }
    facts
}

fn refuse_unknown(name: &Word, problems: &mut Problems<'_>) {
    let names: Vec<&str> = table().iter().map(|fact| fact.name).collect();
    let help = did_you_mean(name.get_ref(), names.iter().copied());
    let help = help.unwrap_or_else(|| format!("[vehicle] has {}", names.join(", ")));
    let message = format!("unknown key {:?} in [vehicle]", name.get_ref());
    problems.error(name.span(), message).help(help);
}

fn refuse_shared(name: &Word, value: &Value<'_>, problems: &mut Problems<'_>) {
    let name_of = name.get_ref();
    let written = setting(value.get_ref());
    let written = written.map_or_else(|| "...".to_owned(), |value| value.to_string());
    let message = format!("{name_of} is a fact of the vehicle, not of [robot]");
    let help = format!("in a section of its own: [vehicle] and below it {name_of} = {written}");
    problems.error(name.span(), message).help(help);
}

/// What components need that nothing sets, each once with all of them.
pub(super) fn check_missing(
    draft: &Draft<'_, '_>,
    (facts, checked): (&Facts, &[Checked]),
    problems: &mut Problems<'_>,
) {
    for Parameter { name, doc, .. } in table() {
        let lacks = |checked: &&Checked| checked.missing.contains(name);
        let lack = checked.iter().filter(lacks);
        let lack: Vec<&str> = lack.map(|it| it.component.name.as_str()).collect();
        // One that is wrong was reported.
        if lack.is_empty() || facts.written.iter().any(|written| written == name) {
            continue;
        }
        let message = format!(
            "[vehicle] has no {name}, which is needed by {}",
            quoted(&lack)
        );
        let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let help = format!("below [vehicle], add {name} = ...: {doc}");
        problems.error(draft.vehicle.at.clone(), message).help(help);
    }
}

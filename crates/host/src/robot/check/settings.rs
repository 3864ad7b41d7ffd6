//! Parameters of a component: from the file for all, from the file for this one, and from the command line.

use super::{Context, vehicle};
use crate::robot::Preset;
use crate::robot::draft::{Draft, ProgramDraft};
use bowline_component::Kind;
use bowline_component::document::{
    Problems, Span, Value, Word, describe, did_you_mean, quoted, setting, with_unit,
};
use bowline_component::{BadParameter, Parameter, Setting};
use std::path::PathBuf;

/// What a component's parameters are set to.
pub(super) struct Settings {
    pub(super) settings: Vec<(String, Setting)>,
    /// Whether all of it could be set.
    pub(super) is_whole: bool,
}

/// A value for a parameter, and where it is written.
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    value: Setting,
    name_at: Span,
    pub(super) value_at: Span,
    /// What paths are relative to.
    folder: PathBuf,
    preset: Option<&'a Preset>,
}

/// Every parameter is tried, so that all errors are reported.
pub(super) fn settings(
    kind: &Kind,
    component: &Word,
    parameters: &[(Word, &Value<'_>)],
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Settings {
    let mut scratch = kind.defaults();
    let mut settings: Vec<(String, Setting)> = Vec::new();
    let mut is_whole = parameters
        .iter()
        .all(|(_, value)| setting(value.get_ref()).is_some());
    let has = |name: &str| parameter(kind, name).is_some();
    let is_fact = |name: &str| parameter(kind, name).is_some_and(vehicle::is_of_vehicle);
    let facts = context.vehicle.iter();
    let facts = facts.filter(|(name, _)| is_fact(name));
    let types = ("types".to_owned(), context.types_setting.clone());
    for (name, setting) in facts.chain([&types]) {
        let is_set = (is_fact(name) || is_path(kind, name)) && scratch.set(name, setting).is_ok();
        if is_set {
            settings.push((name.clone(), setting.clone()));
        }
    }
    let is_own = |name: &str| parameters.iter().any(|(own, _)| own.get_ref() == name);
    let shared = context.shared.iter();
    let is_shared = |name: &str| has(name) && !is_own(name) && !vehicle::is_fact(name);
    let shared = shared.filter(|(name, _)| is_shared(name.get_ref()));
    let written = in_file(pairs(shared), problems)
        .into_iter()
        .chain(in_file(pairs(parameters.iter()), problems));
    let presets = context
        .loader
        .presets
        .iter()
        .filter(|preset| match &preset.component {
            Some(named) => named == component.get_ref(),
            None => has(&preset.name),
        });
    let presets = presets.map(|preset| Given {
        name: &preset.name,
        value: preset.value.clone(),
        name_at: component.span(),
        value_at: component.span(),
        folder: PathBuf::new(),
        preset: Some(preset),
    });
    // Who comes later counts more.
    for given in written.chain(presets) {
        let Some(value) = resolved(scratch.table(), &given) else {
            continue;
        };
        match scratch.set(given.name, &value) {
            Ok(()) => {
                settings.retain(|(name, _)| name != given.name);
                settings.push((given.name.to_owned(), value));
            }
            Err(error) => {
                is_whole = false;
                complain(&error, kind, &given, problems);
            }
        }
    }
    Settings { settings, is_whole }
}

fn parameter<'k>(kind: &'k Kind, name: &str) -> Option<&'k Parameter> {
    kind.parameters().iter().find(|it| it.name == name)
}

fn pairs<'a>(
    written: impl Iterator<Item = &'a (Word, &'a Value<'a>)>,
) -> impl Iterator<Item = (&'a Word, &'a Value<'a>)> {
    written.map(|(name, value)| (name, *value))
}

fn is_path(kind: &Kind, name: &str) -> bool {
    let is_path = |it: &Parameter| it.kind.ends_with("path") || it.kind.ends_with("paths");
    parameter(kind, name).is_some_and(is_path)
}

pub(super) fn in_file<'a>(
    written: impl Iterator<Item = (&'a Word, &'a Value<'a>)>,
    problems: &mut Problems<'_>,
) -> Vec<Given<'a>> {
    let given = written.filter_map(|(name, value)| {
        let Some(setting) = setting(value.get_ref()) else {
            let found = describe(value.get_ref());
            problems.error(value.span(), format!("no parameter can be {found}"));
            return None;
        };
        Some(Given {
            name: name.get_ref(),
            value: setting,
            name_at: name.span(),
            value_at: value.span(),
            folder: problems.folder(&value.span()).to_owned(),
            preset: None,
        })
    });
    given.collect()
}

/// Parameters that no component has: those of the robot, and those of the command line.
pub(super) fn check_taken(
    draft: &Draft<'_, '_>,
    kinds: &[Kind],
    presets: &[Preset],
    problems: &mut Problems<'_>,
) {
    let used = draft
        .components
        .iter()
        .filter_map(|component| match &component.program {
            Some(ProgramDraft::Kind { kind, .. }) => {
                kinds.iter().find(|it| it.name == kind.get_ref())
            }
            Some(ProgramDraft::Command(_)) | None => None,
        });
    let known: Vec<&str> = used
        .flat_map(|kind| kind.parameters())
        .map(|parameter| parameter.name)
        .collect();
    let nobody = |name: &str| {
        let help = did_you_mean(name, known.iter().copied());
        let help = help.unwrap_or_else(|| {
            "`bowline run --explain KIND` lists the parameters of a kind".to_owned()
        });
        (format!("no component has a parameter {name:?}"), help)
    };
    for (name, _) in &draft.parameters {
        if !known.contains(&name.get_ref().as_str()) {
            let (message, help) = nobody(name.get_ref());
            problems.error(name.span(), message).help(help);
        }
    }
    for preset in presets {
        let whose = preset.whose();
        let (message, help) = match &preset.component {
            None if known.contains(&preset.name.as_str()) => continue,
            None => nobody(&preset.name),
            Some(named) => {
                let names = draft.components.iter().map(|it| it.name.get_ref().as_str());
                let component = draft
                    .components
                    .iter()
                    .find(|it| it.name.get_ref() == named);
                match component.map(|it| &it.program) {
                    Some(Some(ProgramDraft::Kind { .. }) | None) => continue,
                    Some(Some(ProgramDraft::Command(_))) => (
                        format!("{named:?} is a command, which has no parameters"),
                        "a command takes arguments and env from the file".to_owned(),
                    ),
                    None => (
                        format!("there is no component {named:?}"),
                        did_you_mean(named, names).unwrap_or_else(|| {
                            "`bowline run ROBOT --check` lists the components".to_owned()
                        }),
                    ),
                }
            }
        };
        let message = format!("--set {whose}: {message}");
        problems.error(0..0, message).help(help);
    }
}

/// Paths are relative to the file that they are in, wherever the robot is started from. An empty one is as if it were not given:
/// `None`, as the folder itself is never meant by it.
pub(super) fn resolved(table: &[Parameter], given: &Given<'_>) -> Option<Setting> {
    let parameter = table.iter().find(|parameter| parameter.name == given.name);
    let is_path = parameter.is_some_and(|parameter| parameter.kind.ends_with("path"));
    let are_paths = parameter.is_some_and(|parameter| parameter.kind.ends_with("paths"));
    let joined = |path: &str| Setting::Text(given.folder.join(path).display().to_string());
    let is_empty = |item: &&Setting| **item == Setting::Text(String::new());
    let join = |item: &Setting| match item {
        Setting::Text(path) => joined(path),
        Setting::Boolean(_) | Setting::Integer(_) | Setting::Real(_) | Setting::List(_) => {
            item.clone()
        }
    };
    match &given.value {
        Setting::Text(path) if is_path && path.is_empty() => None,
        Setting::Text(path) if is_path => Some(joined(path)),
        Setting::List(items) if are_paths => {
            let items = items.iter().filter(|item| !is_empty(item));
            Some(Setting::List(items.map(join).collect()))
        }
        Setting::Boolean(_)
        | Setting::Integer(_)
        | Setting::Real(_)
        | Setting::Text(_)
        | Setting::List(_) => Some(given.value.clone()),
    }
}

/// A parameter that is unknown is marked itself; otherwise its value is.
fn complain(error: &BadParameter, kind: &Kind, given: &Given<'_>, problems: &mut Problems<'_>) {
    let BadParameter::Unknown {
        name: written,
        suggestion,
    } = error
    else {
        return complain_of_value(error, kind.parameters(), given, problems);
    };
    let from = given.from();
    let message = format!("{from}kind {:?} has no parameter {written:?}", kind.name);
    let known: Vec<&str> = kind.parameters().iter().map(|it| it.name).collect();
    let help = match (suggestion, known.is_empty()) {
        (Some(suggestion), _) => format!("did you mean {suggestion:?}?"),
        (None, true) => "it has no parameters".to_owned(),
        (None, false) => format!("its parameters are {}", quoted(&known)),
    };
    problems.error(given.name_at.clone(), message).help(help);
}

/// A value that a parameter does not take, with what the parameter is for.
pub(super) fn complain_of_value(
    error: &BadParameter,
    table: &[Parameter],
    given: &Given<'_>,
    problems: &mut Problems<'_>,
) {
    let parameter = table.iter().find(|parameter| parameter.name == given.name);
    let help = parameter.map(
        |Parameter {
             name, kind, doc, ..
         }| match with_unit(&given.value) {
            Some(text) if *kind == "duration" => format!("{name} = {text:?}"),
            Some(_) | None => format!("{name}: {}", doc.trim()),
        },
    );
    let message = format!("{}{error}", given.from());
    problems
        .error(given.value_at.clone(), message)
        .maybe_help(help);
}

impl Given<'_> {
    /// Where it comes from, if not from the file.
    fn from(&self) -> String {
        let preset = self
            .preset
            .map(|preset| format!("--set {}: ", preset.whose()));
        preset.unwrap_or_default()
    }
}

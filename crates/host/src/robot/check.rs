//! From what is written to a robot: everything is looked up, and everything that does not fit together is reported.

mod components;
mod deterministic;
mod experiments;
mod names;
mod processes;
mod ring;
mod safe_state;
mod settings;
mod vehicle;
mod wiring;

use super::draft::{Draft, RecordDraft};
use super::message::{KnownTypes, find_type};
use super::{Component, Loader, Port, Record, Robot, Source};
use bowline_bus::{BadUrl, Capability, Pattern, Scheme, Schemes, Url, check_url};
use bowline_component::Direction;
use bowline_component::Setting;
use bowline_component::document::{Problems, Span, Value, Word, did_you_mean};
use bowline_format::{Catalog, Schemas};
use bowline_wire::datagram::check_channel;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A component with the places of its parts.
struct Checked {
    component: Component,
    /// Of each of its ports.
    ports_at: Vec<Span>,
    /// What it needs to know of the vehicle and does not.
    missing: Vec<&'static str>,
    /// Whether its ports are known: something else is wrong with it otherwise, and nothing follows from what it lacks.
    is_whole: bool,
}

/// What the parts of the check share.
struct Context<'a> {
    loader: &'a Loader<'a>,
    types: &'a KnownTypes,
    /// Where the robot's own types are, for components that have a parameter `types`.
    types_setting: &'a Setting,
    /// What the file has of the vehicle.
    vehicle: &'a [(String, Setting)],
    /// Parameters for all components that have one of that name.
    shared: &'a [(Word, &'a Value<'a>)],
    /// How long components of a kind may be silent that set no limit of their own.
    heartbeat_within: Option<Duration>,
    /// Components that do not run here and now, because something else takes their place.
    replaced: &'a [Word],
}

/// The components that the source of data replaces, where something is to run.
fn replaced_here<'d>(draft: &'d Draft<'_, '_>, loader: &Loader<'_>) -> &'d [Word] {
    let replaced = loader.here.and_then(|here| match here.source {
        Source::Live => None,
        Source::Sim => draft.sim.as_deref(),
        Source::Log => draft.log.as_deref(),
    });
    replaced.unwrap_or_default()
}

/// Makes a robot; `None`, or problems that are errors, if there is none to be made.
pub(super) fn check(
    draft: &Draft<'_, '_>,
    path: &Path,
    loader: &Loader<'_>,
    problems: &mut Problems<'_>,
) -> Option<Robot> {
    let folder = path.parent().unwrap_or(Path::new(""));
    names::check(draft, problems);
    settings::check_taken(draft, loader.kinds, loader.presets, problems);
    let bus = draft.bus.as_ref().and_then(|url| check_bus(url, problems));
    let (bus, transport) = bus.unzip();
    let facts = vehicle::check(draft, loader.presets, problems);
    let types: Vec<PathBuf> = draft
        .types
        .iter()
        .map(|path| existing(path, "types", problems))
        .collect();
    let types_known = read_types(draft, &types, loader, problems);
    let paths = types.iter().map(|path| path.display().to_string());
    let types_setting = Setting::List(paths.map(Setting::Text).collect());
    let context = Context {
        loader,
        types: &types_known,
        types_setting: &types_setting,
        vehicle: &facts.settings,
        shared: &draft.parameters,
        heartbeat_within: draft.heartbeat_within,
        replaced: replaced_here(draft, loader),
    };
    let record = draft
        .record
        .as_ref()
        .map(|record| check_record(record, problems));
    let checked: Vec<Checked> = draft
        .components
        .iter()
        .map(|component| components::check(component, &context, problems))
        .collect();
    vehicle::check_missing(draft, (&facts, &checked), problems);
    let external = check_external(draft, &types_known, problems);
    processes::check(draft, transport, problems);
    let safe_state = safe_state::check(draft, &checked, &context, problems);
    let experiments = experiments::check(draft, &checked, problems);
    wiring::check(draft, &checked, &external, (&types_known, problems));
    Some(Robot {
        name: draft.name.as_ref()?.get_ref().clone(),
        file: path.to_owned(),
        folder: folder.to_owned(),
        bus,
        vehicle: facts.vehicle,
        types,
        external: external.into_iter().map(|(port, _)| port).collect(),
        record,
        components: checked
            .into_iter()
            .map(|checked| checked.component)
            .collect(),
        experiments,
        safe_state,
        sim_replaces: draft.sim.as_deref().map(texts),
        log_replaces: draft.log.as_deref().map(texts),
        presets: loader.presets.to_vec(),
    })
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.get_ref().clone()).collect()
}

fn check_bus(url: &Word, problems: &mut Problems<'_>) -> Option<(Url, &'static Scheme)> {
    match check_url(url.get_ref()) {
        Ok((_, row)) if row.has(Capability::Log) => {
            let help = "--source log:FILE takes data from a log; [record] writes one";
            problems
                .error(url.span(), "expected a bus, found a log")
                .help(help);
            None
        }
        Ok(bus) => Some(bus),
        Err(error) => {
            complain_of_bus(url, &error, problems);
            None
        }
    }
}

/// Which transports there are depends on how this was built, so they are not listed.
fn complain_of_bus(url: &Word, error: &BadUrl, problems: &mut Problems<'_>) {
    let known = || Schemes::installed().iter().map(|row| row.name);
    match url.get_ref().split_once("://") {
        Some((scheme, _)) if known().all(|known| known != scheme) => {
            let help = did_you_mean(scheme, known());
            let help =
                help.unwrap_or_else(|| "udpm://239.255.76.67:7667?ttl=0 is the default".to_owned());
            let message = format!("no bus is reached by {scheme:?}");
            problems.error(url.span(), message).help(help);
        }
        Some(_) | None => {
            problems.error(url.span(), error.to_string());
        }
    }
}

/// A path, which should be there.
fn existing(path: &Word, what: &str, problems: &mut Problems<'_>) -> PathBuf {
    let found = problems.folder(&path.span()).join(path.get_ref());
    is_there(&found, (what, path.span()), problems);
    found
}

/// Whether there is such a file or folder, which is named at a place.
fn is_there(path: &Path, (what, at): (&str, Span), problems: &mut Problems<'_>) -> bool {
    let is_there = path.exists();
    if !is_there {
        let message = format!("{what}: there is no {}", path.display());
        let help = "paths are relative to the robot file";
        problems.error(at, message).help(help);
    }
    is_there
}

fn read_types(
    draft: &Draft<'_, '_>,
    paths: &[PathBuf],
    loader: &Loader<'_>,
    problems: &mut Problems<'_>,
) -> KnownTypes {
    // What is not there was reported.
    let there: Vec<PathBuf> = paths.iter().filter(|path| path.exists()).cloned().collect();
    match (loader.types)(&there) {
        Ok(catalog) => KnownTypes {
            catalog,
            is_whole: there.len() == paths.len(),
        },
        Err(why) => {
            let at = draft.types.first().map_or(0..0, Word::span);
            problems.error(at, format!("the types cannot be understood: {why}"));
            KnownTypes {
                catalog: Catalog::new(Schemas::default(), bowline_msgs::SCHEMA),
                is_whole: false,
            }
        }
    }
}

fn check_record(record: &RecordDraft, problems: &mut Problems<'_>) -> Record {
    let all = || Pattern::new(".*").into_iter().collect();
    let channels = record.channels.as_ref().map_or_else(all, |patterns| {
        let checked = patterns
            .iter()
            .filter_map(|pattern| match Pattern::new(pattern.get_ref()) {
                Ok(checked) => Some(checked),
                Err(error) => {
                    problems.error(pattern.span(), error.to_string());
                    None
                }
            });
        checked.collect()
    });
    Record {
        file: problems
            .folder(&record.file.span())
            .join(record.file.get_ref()),
        host: record.host.as_ref().map(|host| host.get_ref().clone()),
        channels,
    }
}

/// What others write and serve, each with its place.
fn check_external(
    draft: &Draft<'_, '_>,
    types: &KnownTypes,
    problems: &mut Problems<'_>,
) -> Vec<(Port, Span)> {
    let mut ports = Vec::new();
    for (channel, type_name) in &draft.external {
        check_channel_name(channel, problems);
        let message = find_type(type_name, types, problems).map(|(message, ..)| message);
        let port = components::named_port(channel.get_ref(), Direction::Writes, message, None);
        ports.push((port, channel.span()));
    }
    for service in &draft.external_services {
        check_service_name(&service.name, problems);
        let request = find_type(&service.request, types, problems).map(|(message, ..)| message);
        let reply = find_type(&service.reply, types, problems).map(|(message, ..)| message);
        let port =
            components::named_port(service.name.get_ref(), Direction::Serves, request, reply);
        ports.push((port, service.name.span()));
    }
    ports
}

/// What a service adds to its name on the bus.
const SERVICE_PREFIX: &str = "bowline.answer.";
/// Channels of our own.
const RESERVED: &str = "bowline.";

fn check_channel_name(channel: &Word, problems: &mut Problems<'_>) -> bool {
    check_name_on_bus(channel.get_ref(), channel.span(), problems)
}

fn check_name_on_bus(channel: &str, at: Span, problems: &mut Problems<'_>) -> bool {
    match check_channel(channel) {
        Ok(()) => true,
        Err(error) => {
            problems.error(at, format!("no channel can be called {channel:?}: {error}"));
            false
        }
    }
}

fn check_service_name(name: &Word, problems: &mut Problems<'_>) -> bool {
    check_service(name.get_ref(), name.span(), problems)
}

fn check_service(name: &str, at: Span, problems: &mut Problems<'_>) -> bool {
    if name.is_empty() {
        problems.error(at, "no service can be called \"\"");
        return false;
    }
    match check_channel(&format!("{SERVICE_PREFIX}{name}")) {
        Ok(()) => true,
        Err(_) => {
            let most = bowline_wire::datagram::MAX_CHANNEL_LEN - SERVICE_PREFIX.len();
            let message = format!(
                "no service can be called {name:?}: expected at most {most} bytes without NUL, found {}",
                name.len()
            );
            problems.error(at, message);
            false
        }
    }
}

//! A robot file as it is written: every key known and of the right type, every word with its place, and nothing yet
//! looked up.

use super::{Restart, Start, StopSignal};
use crate::supervise::{MAX_HEARTBEAT_LIMIT, MIN_HEARTBEAT_LIMIT};
use bowline_component::ParameterValue as _;
use bowline_component::document::{Problems, Span};
use bowline_component::document::{Table, Value, Word, describe};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Debug, Default)]
pub(super) struct Draft<'v, 'i> {
    pub(super) name: Option<Word>,
    pub(super) bus: Option<Word>,
    pub(super) vehicle: VehicleDraft<'v, 'i>,
    pub(super) types: Vec<Word>,
    /// How long components of a kind may be silent that set no limit of their own.
    pub(super) heartbeat_within: Option<Duration>,
    /// Of every component that has them.
    pub(super) parameters: Vec<(Word, &'v Value<'i>)>,
    /// Channel and type.
    pub(super) external: Vec<(Word, Word)>,
    pub(super) external_services: Vec<ServiceDraft>,
    pub(super) record: Option<RecordDraft>,
    pub(super) components: Vec<ComponentDraft<'v, 'i>>,
    pub(super) experiments: Vec<ExperimentDraft>,
    pub(super) safe_state: SafeStateDraft<'v, 'i>,
    /// What the simulator replaces, if there is one.
    pub(super) sim: Option<Vec<Word>>,
    /// What a log replaces, if one may.
    pub(super) log: Option<Vec<Word>>,
}

/// What is so of the vehicle.
#[derive(Debug, Default)]
pub(super) struct VehicleDraft<'v, 'i> {
    /// Where the section begins, or where it should be.
    pub(super) at: Span,
    pub(super) facts: Vec<(Word, &'v Value<'i>)>,
}

#[derive(Debug)]
pub(super) struct RecordDraft {
    pub(super) file: Word,
    pub(super) at: Span,
    pub(super) host: Option<Word>,
    pub(super) channels: Option<Vec<Word>>,
}

#[derive(Debug)]
pub(super) struct ComponentDraft<'v, 'i> {
    pub(super) name: Word,
    /// Whether it is there only with `--source sim`.
    pub(super) is_simulated: bool,
    pub(super) program: Option<ProgramDraft<'v, 'i>>,
    pub(super) process: Option<Word>,
    pub(super) group: Option<Word>,
    pub(super) after: Vec<Word>,
    pub(super) host: Option<Word>,
    pub(super) start: Option<Start>,
    pub(super) restart: Option<Restart>,
}

#[derive(Debug)]
pub(super) enum ProgramDraft<'v, 'i> {
    Kind {
        kind: Word,
        /// How long it may be silent.
        heartbeat_within: Option<Duration>,
        parameters: Vec<(Word, &'v Value<'i>)>,
        /// Port and channel.
        channels: Vec<(Word, Word)>,
    },
    Command(Box<CommandDraft>),
}

#[derive(Debug)]
pub(super) struct CommandDraft {
    pub(super) command: Vec<Word>,
    pub(super) env: Vec<(Word, Word)>,
    pub(super) folder: Option<Word>,
    /// Channel and type.
    pub(super) reads: Vec<(Word, Word)>,
    pub(super) writes: Vec<(Word, Word)>,
    pub(super) serves: Vec<ServiceDraft>,
    pub(super) calls: Vec<ServiceDraft>,
    pub(super) heartbeat: Option<(Word, Duration)>,
    pub(super) stop_signal: Option<StopSignal>,
    pub(super) stop_grace: Option<Duration>,
    /// Where it declares itself deterministic, if it does.
    pub(super) deterministic: Option<Span>,
    /// Where it is written, and how long a step may take.
    pub(super) step_within: Option<(Span, Duration)>,
    /// Where it is written that it sends heartbeats, serves and calls.
    pub(super) not_in_steps: Vec<(&'static str, Span)>,
}

#[derive(Debug)]
pub(super) struct ExperimentDraft {
    pub(super) name: Word,
    pub(super) about: Option<Word>,
    pub(super) components: Vec<Word>,
    pub(super) gate: Option<Word>,
}

#[derive(Debug)]
pub(super) struct ServiceDraft {
    pub(super) name: Word,
    pub(super) request: Word,
    pub(super) reply: Word,
}

#[derive(Debug, Default)]
pub(super) struct SafeStateDraft<'v, 'i> {
    /// Components and groups.
    pub(super) stop: Vec<Word>,
    pub(super) start: Vec<Word>,
    pub(super) publish: Vec<SafeMessageDraft<'v, 'i>>,
}

#[derive(Debug)]
pub(super) struct SafeMessageDraft<'v, 'i> {
    pub(super) channel: Word,
    pub(super) type_name: Word,
    pub(super) message: &'v Value<'i>,
    /// Where it is written, and how long.
    pub(super) every: Option<(Span, Duration)>,
}

/// Reads what can be read; what cannot is among the problems.
pub(super) fn read<'v, 'i>(file: &'v DeTable<'i>, problems: &mut Problems<'_>) -> Draft<'v, 'i> {
    let mut draft = Draft::default();
    let mut root = Table::root("the robot file", file);
    match root.table("robot", "[robot]", problems) {
        Some(table) => read_robot(table, &mut draft, problems),
        None => {
            let help = "begin the file with [robot] and name = \"...\"";
            problems
                .error(0..0, "expected a table [robot], found none")
                .help(help);
        }
    }
    if let Some(table) = root.table("vehicle", "[vehicle]", problems) {
        draft.vehicle.at = root.key("vehicle").unwrap_or_default();
        draft.vehicle.facts = table.entries();
    }
    draft.record = root
        .table("record", "[record]", problems)
        .and_then(|table| read_record(table, problems));
    if let Some(table) = root.table("component", "[component]", problems) {
        read_components(&table, &mut draft, problems);
    }
    if let Some(table) = root.table("experiment", "[experiment]", problems) {
        draft.experiments = read_experiments(&table, problems);
    }
    if let Some(table) = root.table("safe_state", "[safe_state]", problems) {
        draft.safe_state = read_safe_state(table, problems);
    }
    if let Some(mut table) = root.table("sim", "[sim]", problems) {
        draft.sim = Some(table.texts("replaces", problems).unwrap_or_default());
        if let Some(components) = table.table("component", "[sim.component]", problems) {
            let n_before = draft.components.len();
            read_components(&components, &mut draft, problems);
            for component in draft.components.iter_mut().skip(n_before) {
                component.is_simulated = true;
            }
        }
        table.finish(problems);
    }
    if let Some(mut table) = root.table("log", "[log]", problems) {
        draft.log = Some(table.texts("replaces", problems).unwrap_or_default());
        table.finish(problems);
    }
    root.finish(problems);
    draft
}

fn read_robot<'v, 'i>(
    mut table: Table<'v, 'i>,
    draft: &mut Draft<'v, 'i>,
    problems: &mut Problems<'_>,
) {
    draft.vehicle.at = table.at();
    draft.name = table.text("name", problems);
    table.require("name", "give the robot a name: name = \"...\"", problems);
    // Whatever that is like is in here already.
    let _like = table.text("like", problems);
    draft.bus = table.text("bus", problems);
    refuse_model(&mut table, problems);
    draft.types = table.texts("types", problems).unwrap_or_default();
    draft.heartbeat_within = read_heartbeat_limit(&mut table, problems);
    if let Some(parameters) = table.table("parameters", "[robot.parameters]", problems) {
        draft.parameters = parameters.entries();
    }
    draft.external = table.pairs("external", problems);
    draft.external_services = read_services(&mut table, "external_services", problems);
    table.finish(problems);
}

/// It was there before there was a section for what is so of the vehicle.
fn refuse_model(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) {
    if let Some(at) = table.key("model") {
        let model = table.value("model").map(Spanned::get_ref);
        let model = model.and_then(DeValue::as_str).unwrap_or("...");
        let help = format!("in a section of its own: [vehicle] and below it model = {model:?}");
        problems
            .error(at, "model is a fact of the vehicle, not of [robot]")
            .help(help);
    }
}

fn read_record(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Option<RecordDraft> {
    let file = table.text("file", problems);
    let help = "set where to record to: file = \"logs/robot.mcap\"";
    table.require("file", help, problems);
    let channels = table.texts("channels", problems);
    let host = table.text("host", problems);
    let at = table.at();
    table.finish(problems);
    Some(RecordDraft {
        // That it is missing was reported; the rest is looked at all the same.
        file: file.unwrap_or_else(|| Spanned::new(at.clone(), String::new())),
        at,
        host,
        channels,
    })
}

fn read_components<'v, 'i>(
    table: &Table<'v, 'i>,
    draft: &mut Draft<'v, 'i>,
    problems: &mut Problems<'_>,
) {
    for (name, value) in table.entries() {
        let what = format!("[component.{}]", name.get_ref());
        let table = Table::of(&what, value, problems);
        draft.components.push(read_component(name, table, problems));
    }
}

fn read_component<'v, 'i>(
    name: Word,
    mut table: Table<'v, 'i>,
    problems: &mut Problems<'_>,
) -> ComponentDraft<'v, 'i> {
    let starts = [
        ("with-robot", Start::WithRobot),
        ("on-order", Start::OnOrder),
    ];
    let restarts = [
        ("always", Restart::Always),
        ("on-failure", Restart::OnFailure),
        ("never", Restart::Never),
    ];
    let mut component = ComponentDraft {
        name,
        is_simulated: false,
        program: None,
        process: table.text("process", problems),
        group: table.text("group", problems),
        after: table.texts("after", problems).unwrap_or_default(),
        host: table.text("host", problems),
        start: table.choice("start", &starts, problems),
        restart: table.choice("restart", &restarts, problems),
    };
    let (kind_at, command_at) = (table.key("kind"), table.key("command"));
    match (kind_at, command_at) {
        (Some(kind_at), Some(command_at)) => {
            let message = format!(
                "component {:?} has both kind and command: expected one",
                component.name.get_ref()
            );
            let place = problems.place(&kind_at);
            problems
                .error(command_at, message)
                .note("kind is", place)
                .help("a component is of a built-in kind, or any program; take out one of them");
        }
        (None, None) if !table.is_table() => {}
        (None, None) => {
            let message = format!(
                "component {:?} has neither kind nor command: expected one",
                component.name.get_ref()
            );
            problems.error(component.name.span(), message).help(
                "kind = \"...\" for one that is built in (`bowline run --explain` lists them), command = [\"...\"] for any program",
            );
        }
        (Some(_), None) => {
            component.program = read_kind(&mut table, problems);
            refuse(&table, &COMMAND_ONLY, "command", problems);
        }
        (None, Some(_)) => {
            component.program = Some(ProgramDraft::Command(Box::new(read_command(
                &mut table, problems,
            ))));
            refuse(&table, &KIND_ONLY, "kind", problems);
        }
    }
    // What is wrong with these was reported.
    table.allow(&KIND_ONLY);
    table.allow(&COMMAND_ONLY);
    table.allow(&["heartbeat"]);
    table.finish(problems);
    component
}

const KIND_ONLY: [&str; 3] = ["kind", "parameters", "channels"];
const COMMAND_ONLY: [&str; 10] = [
    "command",
    "env",
    "folder",
    "reads",
    "writes",
    "serves",
    "calls",
    "stop",
    "deterministic",
    "step_within",
];
/// What a program that takes steps has no way to do.
const NOT_IN_STEPS: [&str; 3] = ["heartbeat", "serves", "calls"];

/// Keys of the other sort of component.
fn refuse(table: &Table<'_, '_>, keys: &[&str], belongs_to: &str, problems: &mut Problems<'_>) {
    for key in keys {
        if let Some(at) = table.key(key) {
            let message =
                format!("{key} belongs to components with a {belongs_to}, and this one has none");
            let help = match (*key, belongs_to) {
                ("env" | "parameters", _) => {
                    "a kind takes parameters, a command takes arguments and env"
                }
                ("deterministic" | "step_within", _) => {
                    "components of a kind are deterministic by themselves"
                }
                (_, "kind") => "a command has reads and writes, by channel",
                (_, _) => {
                    "a kind declares what it reads and writes; channels = { port = \"channel\" } connects it"
                }
            };
            problems.error(at, message).help(help);
        }
    }
}

fn read_kind<'v, 'i>(
    table: &mut Table<'v, 'i>,
    problems: &mut Problems<'_>,
) -> Option<ProgramDraft<'v, 'i>> {
    let kind = table.text("kind", problems);
    let parameters = table.table("parameters", "parameters", problems);
    let channels = table.pairs("channels", problems);
    let heartbeat_within = read_heartbeat_limit(table, problems);
    Some(ProgramDraft::Kind {
        kind: kind?,
        heartbeat_within,
        parameters: parameters.map_or(Vec::new(), |parameters| parameters.entries()),
        channels,
    })
}

fn read_command(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> CommandDraft {
    let command = table.texts("command", problems);
    let at = table.value("command").map_or(0..0, Spanned::span);
    if command.as_ref().is_some_and(Vec::is_empty) {
        let help = "the program and its arguments, each as text: [\"python3\", \"camera.py\"]";
        problems
            .error(at, "command is empty: expected a program")
            .help(help);
    }
    let mut draft = CommandDraft {
        command: Vec::new(),
        env: table.pairs("env", problems),
        folder: table.text("folder", problems),
        reads: table.pairs("reads", problems),
        writes: table.pairs("writes", problems),
        serves: read_services(table, "serves", problems),
        calls: read_services(table, "calls", problems),
        heartbeat: table
            .table("heartbeat", "heartbeat", problems)
            .and_then(|table| read_heartbeat(table, problems)),
        stop_signal: None,
        stop_grace: None,
        deterministic: read_flag(table, "deterministic", problems),
        step_within: table.duration("step_within", problems).map(|within| {
            let at = table.value("step_within").map_or(0..0, Spanned::span);
            (at, within)
        }),
        not_in_steps: NOT_IN_STEPS
            .into_iter()
            .filter_map(|key| Some((key, table.key(key)?)))
            .collect(),
    };
    if let Some(mut stop) = table.table("stop", "stop", problems) {
        let signals =
            StopSignal::ALL.map(|signal| (signal.name().trim_start_matches("SIG"), signal));
        draft.stop_signal = stop.choice("signal", &signals, problems);
        draft.stop_grace = stop.duration("grace", problems);
        stop.finish(problems);
    }
    // What is wrong with it was reported; the rest is looked at all the same.
    draft.command = command.unwrap_or_default();
    draft
}

/// Where a key is true.
fn read_flag(
    table: &mut Table<'_, '_>,
    key: &'static str,
    problems: &mut Problems<'_>,
) -> Option<Span> {
    let value = table.value(key)?;
    let DeValue::Boolean(is_set) = value.get_ref() else {
        let found = describe(value.get_ref());
        problems.error(
            value.span(),
            format!("{key} is true or false, found {found}"),
        );
        return None;
    };
    is_set.then(|| value.span())
}

/// The heartbeat of components of a kind, which they send by themselves: only its limit can be set.
fn read_heartbeat_limit(
    table: &mut Table<'_, '_>,
    problems: &mut Problems<'_>,
) -> Option<Duration> {
    let mut table = table.table("heartbeat", "heartbeat", problems)?;
    if let Some(at) = table.key("channel") {
        let message = "the heartbeat of a component with a kind has no channel to choose";
        let help = "it sends heartbeats by itself; set only how long it may be silent: heartbeat = { within = \"650ms\" }";
        problems.error(at, message).help(help);
        table.allow(&["channel"]);
    }
    let within = table.duration("within", problems);
    table.require("within", "heartbeat = { within = \"650ms\" }", problems);
    let at = table.value("within").map_or(0..0, Spanned::span);
    table.finish(problems);
    let (least, most) = (MIN_HEARTBEAT_LIMIT, MAX_HEARTBEAT_LIMIT);
    let within = within?;
    if !(least..=most).contains(&within) {
        let text = |duration: Duration| duration.to_setting().to_string();
        let message = format!(
            "within is a duration from {} to {}, found {}",
            text(least),
            text(most),
            text(within)
        );
        let help = "heartbeats come every 200ms; one that is lost must not end a component, and one that hangs must be found";
        problems.error(at, message).help(help);
    }
    Some(within)
}

fn read_heartbeat(
    mut table: Table<'_, '_>,
    problems: &mut Problems<'_>,
) -> Option<(Word, Duration)> {
    let channel = table.text("channel", problems);
    let within = table.duration("within", problems);
    let help = "heartbeat = { channel = \"camera.image\", within = \"700ms\" }";
    table.require("channel", help, problems);
    table.require("within", help, problems);
    table.finish(problems);
    // That its limit is missing or wrong was reported.
    Some((channel?, within.unwrap_or_default()))
}

/// Services by name, each with its types: `{ "camera.grab" = { request = "grab_t", reply = "image_t" } }`.
fn read_services(
    table: &mut Table<'_, '_>,
    key: &'static str,
    problems: &mut Problems<'_>,
) -> Vec<ServiceDraft> {
    let Some(services) = table.table(key, key, problems) else {
        return Vec::new();
    };
    let entries = services.entries().into_iter();
    let service = |(name, value): (Word, &Value<'_>)| {
        let what = format!("{key}.{}", name.get_ref());
        let mut table = Table::of(&what, value, problems);
        let request = table.text("request", problems);
        let reply = table.text("reply", problems);
        let help = "{ request = \"TYPE\", reply = \"TYPE\" }";
        table.require("request", help, problems);
        table.require("reply", help, problems);
        table.finish(problems);
        Some(ServiceDraft {
            name,
            request: request?,
            reply: reply?,
        })
    };
    entries.filter_map(service).collect()
}

fn read_experiments(table: &Table<'_, '_>, problems: &mut Problems<'_>) -> Vec<ExperimentDraft> {
    let read = |(name, value): (Word, &Value<'_>)| {
        let what = format!("[experiment.{}]", name.get_ref());
        let mut table = Table::of(&what, value, problems);
        let about = table.text("about", problems);
        let components = table.texts("components", problems);
        let help = "name those that belong to it: components = [\"...\"]";
        table.require("components", help, problems);
        let gate = table.text("gate", problems);
        let at = table.value("components").map_or(0..0, Spanned::span);
        if components.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("experiment {:?} has no components", name.get_ref());
            problems.error(at, message).help(help);
        }
        table.finish(problems);
        ExperimentDraft {
            name,
            about,
            components: components.unwrap_or_default(),
            gate,
        }
    };
    table.entries().into_iter().map(read).collect()
}

fn read_safe_state<'v, 'i>(
    mut table: Table<'v, 'i>,
    problems: &mut Problems<'_>,
) -> SafeStateDraft<'v, 'i> {
    let stop = table.texts("stop", problems).unwrap_or_default();
    let start = table.texts("start", problems).unwrap_or_default();
    let publish = match table.value("publish").map(|value| (value, value.get_ref())) {
        None => Vec::new(),
        Some((_, DeValue::Array(items))) => {
            let messages = items.iter().map(|item| read_safe_message(item, problems));
            messages.flatten().collect()
        }
        Some((value, other)) => {
            let found = describe(other);
            problems.error(
                value.span(),
                format!("publish is a list of tables, found {found}"),
            );
            Vec::new()
        }
    };
    table.finish(problems);
    SafeStateDraft {
        stop,
        start,
        publish,
    }
}

fn read_safe_message<'v, 'i>(
    value: &'v Value<'i>,
    problems: &mut Problems<'_>,
) -> Option<SafeMessageDraft<'v, 'i>> {
    let mut table = Table::of("each of publish", value, problems);
    let channel = table.text("channel", problems);
    let type_name = table.text("type", problems);
    let message = table.value("message");
    for key in ["channel", "type", "message"] {
        let help =
            "publish = [{ channel = \"...\", type = \"...\", message = { speed_mps = 0.0 } }]";
        table.require(key, help, problems);
    }
    let every = table.duration("every", problems);
    let every_at = table.value("every").map_or(0..0, Spanned::span);
    table.finish(problems);
    Some(SafeMessageDraft {
        channel: channel?,
        type_name: type_name?,
        message: message?,
        every: every.map(|every| (every_at, every)),
    })
}

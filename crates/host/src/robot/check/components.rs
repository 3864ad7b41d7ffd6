//! Each component by itself: its kind, its parameters, its ports and their channels; or its command.

use super::settings::{self, Settings};
use super::{
    Checked, Context, RESERVED, check_channel_name, check_name_on_bus, check_service, deterministic,
};

use crate::robot::draft::{CommandDraft, ComponentDraft, ProgramDraft, ServiceDraft};
use crate::robot::message::find_type;
use crate::robot::{
    Command, Component, Heartbeat, MessageType, Port, Program, Restart, STOP_GRACE, Source, Start,
    StopSignal,
};
use crate::supervise::HEARTBEAT_LIMIT;
use bowline_component::Setting;
use bowline_component::document::{Problems, Span, Value, Word, did_you_mean, quoted, words_of};
use bowline_component::{Attempt, Kind, MakeError, MissingFact};
use bowline_component::{Direction, Expect, Need, PortInfo, Writers};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ports with their places.
type Located = Vec<(Port, Span)>;

pub(super) fn check(
    draft: &ComponentDraft<'_, '_>,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Checked {
    let name = draft.name.get_ref().clone();
    let (made, missing) = match &draft.program {
        Some(ProgramDraft::Kind {
            kind,
            heartbeat_within,
            parameters,
            channels,
        }) => {
            let draft = KindDraft {
                component: &draft.name,
                kind,
                heartbeat_within: heartbeat_within
                    .or(context.heartbeat_within)
                    .unwrap_or(HEARTBEAT_LIMIT),
                parameters,
                channels,
            };
            draft.check(context, problems)
        }
        Some(ProgramDraft::Command(command)) => (
            Some(check_command(draft, command, context, problems)),
            Vec::new(),
        ),
        None => (None, Vec::new()),
    };
    let is_whole = made.is_some();
    let (program, ports) = made.unwrap_or_else(|| (placeholder(), connected_by(draft)));
    let (ports, ports_at) = ports.into_iter().unzip();
    let component = Component {
        process: draft
            .process
            .as_ref()
            .map_or_else(|| name.clone(), |process| process.get_ref().clone()),
        name,
        is_simulated: draft.is_simulated,
        program,
        ports,
        group: draft.group.as_ref().map(|group| group.get_ref().clone()),
        after: draft
            .after
            .iter()
            .map(|name| name.get_ref().clone())
            .collect(),
        host: draft.host.as_ref().map(|host| host.get_ref().clone()),
        start: draft.start.unwrap_or(Start::WithRobot),
        restart: draft.restart.unwrap_or(Restart::Always),
        place: problems.place(&draft.name.span()),
    };
    Checked {
        component,
        ports_at,
        missing,
        is_whole,
    }
}

/// Where something is wrong nothing runs, so it does not matter what.
fn placeholder() -> Program {
    Program::Command(Command {
        command: Vec::new(),
        env: Vec::new(),
        folder: PathBuf::new(),
        heartbeat: None,
        stop_signal: StopSignal::Terminate,
        stop_grace: STOP_GRACE,
        deterministic: None,
    })
}

/// The channels of a component that cannot be made: taken as written, so that their readers are not
/// complained about too.
fn connected_by(draft: &ComponentDraft<'_, '_>) -> Located {
    let Some(ProgramDraft::Kind { channels, .. }) = &draft.program else {
        return Vec::new();
    };
    let ports = channels.iter().map(|(_, channel)| {
        let port = named_port(channel.get_ref(), Direction::Writes, None, None);
        (port, channel.span())
    });
    ports.collect()
}

/// A port of a program that knows only channels.
pub(super) fn named_port(
    channel: &str,
    direction: Direction,
    message: Option<MessageType>,
    answer: Option<MessageType>,
) -> Port {
    Port {
        name: channel.to_owned(),
        doc: String::new(),
        direction,
        channel: Some(channel.to_owned()),
        message,
        answer,
        numbers: Vec::new(),
        passes_on: None,
    }
}

/// A component of a kind, as it is written.
struct KindDraft<'d, 'v, 'i> {
    component: &'d Word,
    kind: &'d Word,
    heartbeat_within: Duration,
    parameters: &'d [(Word, &'v Value<'i>)],
    channels: &'d [(Word, Word)],
}

impl KindDraft<'_, '_, '_> {
    /// What it becomes, and what of the vehicle it needs to know and does not.
    fn check(
        &self,
        context: &Context<'_>,
        problems: &mut Problems<'_>,
    ) -> (Option<(Program, Located)>, Vec<&'static str>) {
        let Some(kind) = find_kind(self.kind, context.loader.kinds, problems) else {
            return (None, Vec::new());
        };
        let Settings { settings, is_whole } =
            settings::settings(&kind, self.component, self.parameters, context, problems);
        let borrowed: Vec<(&str, Setting)> = settings
            .iter()
            .map(|(name, setting)| (name.as_str(), setting.clone()))
            .collect();
        let Attempt { built, missing } = kind.attempt(&borrowed);
        let built = match built {
            Ok(built) => built,
            // What follows from settings that are wrong is no mistake of its own.
            Err(_) if !is_whole => return (None, Vec::new()),
            Err(MakeError::Refused(error)) if error.is::<MissingFact>() => return (None, missing),
            Err(error) => {
                let message = format!(
                    "{:?} cannot be made with these parameters: {error}",
                    self.component.get_ref()
                );
                problems.error(self.kind.span(), message);
                return (None, missing);
            }
        };
        let infos: Vec<&PortInfo> = built.ports.iter().collect();
        self.check_names(&infos, problems);
        let ports = infos.iter().map(|info| self.connect(info, problems));
        let ports = ports.collect();
        let program = Program::Kind {
            kind,
            settings,
            heartbeat_within: self.heartbeat_within,
        };
        match is_whole {
            true => (Some((program, ports)), missing),
            false => (None, Vec::new()),
        }
    }

    fn check_names(&self, infos: &[&PortInfo], problems: &mut Problems<'_>) {
        for (port, _) in self.channels {
            if infos.iter().any(|info| info.name == *port.get_ref()) {
                continue;
            }
            let known: Vec<&str> = infos.iter().map(|info| info.name.as_str()).collect();
            let message = format!(
                "kind {:?} has no port {:?}",
                self.kind.get_ref(),
                port.get_ref()
            );
            let help =
                did_you_mean(port.get_ref(), known.iter().copied()).unwrap_or_else(|| match known
                    .is_empty()
                {
                    true => "it has no ports".to_owned(),
                    false => format!("its ports are {}", quoted(&known)),
                });
            problems.error(port.span(), message).help(help);
        }
    }

    /// A port with its channel, and the place in the file that connects it.
    fn connect(&self, info: &PortInfo, problems: &mut Problems<'_>) -> (Port, Span) {
        let written = self
            .channels
            .iter()
            .find(|(port, _)| *port.get_ref() == info.name);
        let named = written.map(|(_, channel)| channel.get_ref().as_str());
        let at = written.map_or_else(|| self.component.span(), |(_, channel)| channel.span());
        let channel = info.connection(self.component.get_ref(), named);
        if let Some(channel) = &channel {
            check_direction(channel, info.direction, at.clone(), problems);
        }
        let port = Port {
            name: info.name.clone(),
            doc: info.doc.clone(),
            direction: info.direction,
            channel,
            message: info.message.map(MessageType::from),
            answer: info.answer.map(MessageType::from),
            numbers: info.numbers.clone(),
            passes_on: info.passes_on.clone(),
        };
        (port, at)
    }
}

/// Whether a channel can be called so, and be written by those who do.
fn check_direction(channel: &str, direction: Direction, at: Span, problems: &mut Problems<'_>) {
    match direction {
        Direction::Reads(_) => {
            check_name_on_bus(channel, at, problems);
        }
        Direction::Writes => {
            if check_name_on_bus(channel, at.clone(), problems) && channel.starts_with(RESERVED) {
                let message = format!(
                    "channel {channel:?} is reserved: names that begin with {RESERVED:?} are Bowline's own"
                );
                problems.error(at, message).help("choose another name");
            }
        }
        Direction::Serves | Direction::Calls => {
            check_service(channel, at, problems);
        }
    }
}

fn find_kind(kind: &Word, kinds: &[Kind], problems: &mut Problems<'_>) -> Option<Kind> {
    let found = kinds.iter().find(|known| known.name == kind.get_ref());
    if found.is_none() {
        let help = did_you_mean(kind.get_ref(), kinds.iter().map(|known| known.name));
        let help = help.unwrap_or_else(|| "`bowline run --explain` lists all kinds".to_owned());
        problems
            .error(kind.span(), format!("unknown kind {:?}", kind.get_ref()))
            .help(help);
    }
    found.copied()
}

fn check_command(
    component: &ComponentDraft<'_, '_>,
    draft: &CommandDraft,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> (Program, Located) {
    let folder = match &draft.folder {
        Some(folder) => super::existing(folder, "folder", problems),
        None => {
            let at = draft.command.first().map_or(0..0, Word::span);
            problems.folder(&at).to_owned()
        }
    };
    if let Some(program) = draft.command.first() {
        look_for(program, component, &folder, context, problems);
    }
    let ports = command_ports(draft, context, problems);
    let heartbeat = draft.heartbeat.as_ref().map(|(channel, within)| {
        check_heartbeat(channel, draft, problems);
        Heartbeat {
            channel: channel.get_ref().clone(),
            within: *within,
        }
    });
    let text = |word: &Word| word.get_ref().clone();
    let program = Program::Command(Command {
        command: draft.command.iter().map(text).collect(),
        env: draft
            .env
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        folder,
        heartbeat,
        stop_signal: draft.stop_signal.unwrap_or(StopSignal::Terminate),
        stop_grace: draft.stop_grace.unwrap_or(STOP_GRACE),
        deterministic: deterministic::check(draft, context, problems),
    });
    for (name, _) in &draft.env {
        if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
            problems.error(
                name.span(),
                format!(
                    "no variable of the environment can be called {:?}",
                    name.get_ref()
                ),
            );
        }
    }
    (program, ports)
}

/// A program that the system would not find may yet be on the machine that runs it, unless that is this one.
fn look_for(
    program: &Word,
    component: &ComponentDraft<'_, '_>,
    folder: &Path,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) {
    let name = program.get_ref();
    let search_path = context.loader.search_path;
    let path = folder.join(name);
    let (is_found, place) = match name.contains('/') {
        true => (
            path.is_file(),
            format!("at {} on this machine", path.display()),
        ),
        false => {
            let is_found = search_path.iter().any(|place| place.join(name).is_file());
            (is_found, "on the PATH of this machine".to_owned())
        }
    };
    if !is_found {
        let message = format!(
            "the program {name:?} of component {:?} is not {place}",
            component.name.get_ref(),
        );
        let words = name
            .contains(' ')
            .then(|| format!("command = {}", words_of(name)));
        if runs_here(component, context) {
            let help = words.unwrap_or_else(|| {
                "install it, or name the program with its path: paths are relative to folder"
                    .to_owned()
            });
            problems.error(program.span(), message).help(help);
        } else {
            let help = "if it is there on the machine that runs it, this is no problem".to_owned();
            let help = words.unwrap_or(help);
            problems.warning(program.span(), message).help(help);
        }
    }
}

/// Whether a component is to run on this machine now.
fn runs_here(component: &ComponentDraft<'_, '_>, context: &Context<'_>) -> bool {
    let Some(here) = context.loader.here else {
        return false;
    };
    let name = component.name.get_ref();
    let is_host = component
        .host
        .as_ref()
        .is_none_or(|host| host.get_ref() == here.host);
    let is_active = match component.is_simulated {
        true => here.source == Source::Sim,
        false => context
            .replaced
            .iter()
            .all(|replaced| replaced.get_ref() != name),
    };
    is_host && is_active
}

fn command_ports(
    draft: &CommandDraft,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Located {
    let reads = Direction::Reads(Expect {
        fresh_for: None,
        every: None,
        need: Need::Required,
        writers: Writers::One,
    });
    let mut ports = Vec::new();
    for (pairs, direction) in [(&draft.reads, reads), (&draft.writes, Direction::Writes)] {
        for (channel, type_name) in pairs {
            if check_channel_name(channel, problems) {
                check_direction(channel.get_ref(), direction, channel.span(), problems);
            }
            let message =
                find_type(type_name, context.types, problems).map(|(message, ..)| message);
            ports.push((
                named_port(channel.get_ref(), direction, message, None),
                channel.span(),
            ));
        }
    }
    for (services, direction) in [
        (&draft.serves, Direction::Serves),
        (&draft.calls, Direction::Calls),
    ] {
        for ServiceDraft {
            name,
            request,
            reply,
        } in services
        {
            check_direction(name.get_ref(), direction, name.span(), problems);
            let request = find_type(request, context.types, problems).map(|(message, ..)| message);
            let reply = find_type(reply, context.types, problems).map(|(message, ..)| message);
            ports.push((
                named_port(name.get_ref(), direction, request, reply),
                name.span(),
            ));
        }
    }
    ports
}

fn check_heartbeat(channel: &Word, draft: &CommandDraft, problems: &mut Problems<'_>) {
    let mut written = draft
        .writes
        .iter()
        .map(|(channel, _)| channel.get_ref().as_str());
    if written.clone().any(|known| known == channel.get_ref()) {
        return;
    }
    let message = format!(
        "the heartbeat is on {:?}, which this component does not write",
        channel.get_ref()
    );
    let help = did_you_mean(channel.get_ref(), written.by_ref())
        .unwrap_or_else(|| "name the channel in writes, with its type".to_owned());
    problems.error(channel.span(), message).help(help);
}

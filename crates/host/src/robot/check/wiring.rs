//! Writers and readers: that every input is connected, every channel has one writer unless any client may write it, and
//! both ends have one type.
//!
//! Each source of data makes a robot of its own, so each is checked. What is wrong with several is reported once.

use super::ring::way_back;
use super::{Checked, RESERVED};
use crate::robot::draft::Draft;
use crate::robot::message::{KnownTypes, not_a_number};
use crate::robot::{MessageType, Port, Source};
use bowline_component::document::did_you_mean;
use bowline_component::document::{Problems, Severity, Span};
use bowline_component::{Direction, Need};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(
    draft: &Draft<'_, '_>,
    checked: &[Checked],
    external: &[(Port, Span)],
    (types, problems): (&KnownTypes, &mut Problems<'_>),
) {
    let findings = |source| Wiring::new(draft, checked, external, source).findings(types);
    let live = findings(Source::Live);
    let others = [
        (Source::Sim, "sim", draft.sim.is_some()),
        (Source::Log, "log:FILE", draft.log.is_some()),
    ];
    for (source, name, is_there) in others {
        if !is_there {
            continue;
        }
        for mut finding in findings(source) {
            if !live.contains(&finding) {
                finding.message += &format!(" (with --source {name})");
                finding.tell(problems);
            }
        }
    }
    for finding in live {
        finding.tell(problems);
    }
}

/// Something that does not fit together.
#[derive(PartialEq)]
struct Finding {
    severity: Severity,
    at: Span,
    message: String,
    help: Option<String>,
    note: Option<(String, Span)>,
}

impl Finding {
    fn error(at: &Span, message: String) -> Self {
        Self {
            severity: Severity::Error,
            at: at.clone(),
            message,
            help: None,
            note: None,
        }
    }

    fn tell(self, problems: &mut Problems<'_>) {
        let note = self.note.map(|(note, at)| (note, problems.place(&at)));
        let added = match self.severity {
            Severity::Error => problems.error(self.at, self.message),
            Severity::Warning => problems.warning(self.at, self.message),
        };
        let added = added.maybe_help(self.help);
        if let Some((note, place)) = note {
            added.note(note, place);
        }
    }
}

/// One end of a channel or a service.
#[derive(Clone, Copy)]
struct End<'c> {
    /// The component; `None` for what is outside of the robot.
    who: Option<&'c str>,
    port: &'c Port,
    at: &'c Span,
}

impl End<'_> {
    fn name(&self) -> String {
        self.who.map_or_else(
            || "[robot] external".to_owned(),
            |who| format!("component {who:?}"),
        )
    }
}

/// The robot as it runs with one source.
struct Wiring<'c> {
    /// By channel.
    writers: BTreeMap<&'c str, Vec<End<'c>>>,
    /// By name.
    servers: BTreeMap<&'c str, Vec<End<'c>>>,
    readers: Vec<End<'c>>,
    clients: Vec<End<'c>>,
    /// Components of which not all ports are known.
    partly_known: Vec<&'c Checked>,
}

impl<'c> Wiring<'c> {
    fn new(
        draft: &Draft<'_, '_>,
        checked: &'c [Checked],
        external: &'c [(Port, Span)],
        source: Source,
    ) -> Self {
        let replaced = match source {
            Source::Live => None,
            Source::Sim => draft.sim.as_ref(),
            Source::Log => draft.log.as_ref(),
        };
        let is_replaced =
            |name: &str| replaced.is_some_and(|names| names.iter().any(|it| it.get_ref() == name));
        let mut wiring = Self {
            writers: BTreeMap::new(),
            servers: BTreeMap::new(),
            readers: Vec::new(),
            clients: Vec::new(),
            partly_known: Vec::new(),
        };
        for (port, at) in external {
            wiring.add(End {
                who: None,
                port,
                at,
            });
        }
        for it in checked {
            let name = it.component.name.as_str();
            let runs = match it.component.is_simulated {
                true => source == Source::Sim,
                false => !is_replaced(name),
            };
            // What a component wrote when the log was recorded comes from there.
            let is_played = source == Source::Log && !it.component.is_simulated;
            if !runs && !is_played {
                continue;
            }
            if !it.is_whole {
                wiring.partly_known.push(it);
                continue;
            }
            let ends = it.component.ports.iter().zip(&it.ports_at);
            for (port, at) in ends.filter(|(port, _)| runs || port.direction == Direction::Writes) {
                wiring.add(End {
                    who: Some(name),
                    port,
                    at,
                });
            }
        }
        wiring
    }

    fn add(&mut self, end: End<'c>) {
        let channel = end.port.channel.as_deref();
        match (end.port.direction, channel) {
            (Direction::Writes, Some(channel)) => {
                self.writers.entry(channel).or_default().push(end);
            }
            (Direction::Serves, Some(name)) => self.servers.entry(name).or_default().push(end),
            (Direction::Reads(_), _) => self.readers.push(end),
            (Direction::Calls, _) => self.clients.push(end),
            // Outputs and services always have a name.
            (Direction::Writes | Direction::Serves, None) => {}
        }
    }

    fn findings(&self, types: &KnownTypes) -> Vec<Finding> {
        let mut findings = Vec::new();
        let owned = self
            .writers
            .iter()
            .filter(|(channel, _)| !self.is_from_anybody(channel));
        findings.extend(owned.flat_map(|(channel, ends)| too_many(ends, "write channel", channel)));
        findings.extend(
            self.servers
                .iter()
                .flat_map(|(name, ends)| too_many(ends, "serve", name)),
        );
        for reader in &self.readers {
            self.check_reader(reader, types, &mut findings);
        }
        for client in &self.clients {
            self.check_client(client, &mut findings);
        }
        self.check_rings(&mut findings);
        findings
    }

    fn check_reader(&self, reader: &End<'_>, types: &KnownTypes, findings: &mut Vec<Finding>) {
        let need = match reader.port.direction {
            Direction::Reads(expect) => expect.need,
            Direction::Writes | Direction::Serves | Direction::Calls => return,
        };
        let Some(channel) = reader.port.channel.as_deref() else {
            if need == Need::Required {
                findings.push(self.unconnected(reader, "reads", &self.writers));
            }
            return;
        };
        let Some(writers) = self.writers.get(channel) else {
            if !self.may_be_written(channel) {
                findings.push(self.unwritten(reader, channel, need));
            }
            return;
        };
        for writer in writers {
            let pair = (&reader.port.message, &writer.port.message);
            findings.extend(mismatch(reader, writer, ("reads", "writes"), pair));
            findings.extend(unfit(reader, writer, types));
        }
    }

    /// What is passed on for ever fills the bus.
    fn check_rings(&self, findings: &mut Vec<Finding>) {
        let relays = self.relays();
        let mut leads_to: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to, _) in &relays {
            leads_to.entry(from).or_default().insert(to);
        }
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for (from, _, first) in &relays {
            let Some(way) = way_back(from, &leads_to) else {
                continue;
            };
            if way.iter().any(|channel| told.contains(channel)) {
                continue;
            }
            told.extend(&way);
            let mut words: Vec<String> = way.iter().map(|channel| format!("{channel:?}")).collect();
            words.push(format!("{from:?}"));
            let message = format!(
                "channel {from:?} feeds itself: {}",
                words.join(" is passed on to ")
            );
            let help = "every message goes round for ever; give one of them another channel";
            findings.push(Finding {
                severity: Severity::Warning,
                help: Some(help.to_owned()),
                ..Finding::error(first.at, message)
            });
        }
    }

    /// Who passes on what as it is: from which channel, to which.
    fn relays(&self) -> Vec<(&'c str, &'c str, End<'c>)> {
        let writers = self.writers.values().flatten();
        let relay = |writer: &End<'c>| {
            let input = writer.port.passes_on.as_ref()?;
            let mut readers = self.readers.iter();
            let reader =
                readers.find(|reader| reader.who == writer.who && reader.port.name == *input)?;
            let from = reader.port.channel.as_deref()?;
            Some((from, writer.port.channel.as_deref()?, *writer))
        };
        writers.filter_map(relay).collect()
    }

    fn check_client(&self, client: &End<'_>, findings: &mut Vec<Finding>) {
        let Some(name) = client.port.channel.as_deref() else {
            findings.push(self.unconnected(client, "calls with", &self.servers));
            return;
        };
        let Some(servers) = self.servers.get(name) else {
            if !self.is_partly_known(name) {
                let message = format!(
                    "no component serves {name:?}, which {} calls",
                    client.name()
                );
                let help = did_you_mean(name, self.servers.keys().copied());
                let help = help.unwrap_or_else(|| "if a program outside of this file serves it, name it in [robot] external_services".to_owned());
                findings.push(Finding {
                    help: Some(help),
                    ..Finding::error(client.at, message)
                });
            }
            return;
        };
        for server in servers {
            let request = (&client.port.message, &server.port.message);
            findings.extend(mismatch(client, server, ("calls with", "serves"), request));
            let reply = (&client.port.answer, &server.port.answer);
            findings.extend(mismatch(
                client,
                server,
                ("expects replies of", "replies with"),
                reply,
            ));
        }
    }

    /// Whether a channel may be written although it is not declared.
    fn may_be_written(&self, channel: &str) -> bool {
        channel.starts_with(RESERVED)
            || self.is_from_anybody(channel)
            || self.is_partly_known(channel)
    }

    /// Whether it has a reader that accepts any writer.
    fn is_from_anybody(&self, channel: &str) -> bool {
        let mut readers = self.readers.iter().map(|reader| reader.port);
        readers.any(|port| {
            port.channel.as_deref() == Some(channel) && port.direction.is_from_anybody()
        })
    }

    fn is_partly_known(&self, channel: &str) -> bool {
        let is_own = |it: &&Checked| {
            let rest = channel.strip_prefix(it.component.name.as_str());
            let mut ports = it.component.ports.iter();
            rest.is_some_and(|rest| rest.starts_with('.'))
                || ports.any(|port| port.channel.as_deref() == Some(channel))
        };
        self.partly_known.iter().any(is_own)
    }

    /// A port that must have a channel has none.
    fn unconnected(
        &self,
        end: &End<'_>,
        verb: &str,
        others: &BTreeMap<&str, Vec<End<'_>>>,
    ) -> Finding {
        let port = &end.port.name;
        let what = end
            .port
            .message
            .as_ref()
            .map_or("anything", |message| &message.name);
        let message = format!(
            "port {port:?} of {} is not connected: it {verb} {what}",
            end.name()
        );
        let is_same = |other: &End<'_>| match (&end.port.message, &other.port.message) {
            (Some(one), Some(two)) => one.fingerprint == two.fingerprint,
            (None, _) | (_, None) => false,
        };
        let fitting = others.iter().find(|(_, ends)| ends.iter().any(is_same));
        let example = fitting.map_or("...", |(channel, _)| *channel);
        let help = format!("channels = {{ {port} = {example:?} }}");
        Finding {
            help: Some(help),
            ..Finding::error(end.at, message)
        }
    }

    fn unwritten(&self, reader: &End<'_>, channel: &str, need: Need) -> Finding {
        let message = format!(
            "no component writes channel {channel:?}, which {} reads",
            reader.name()
        );
        let type_name = reader
            .port
            .message
            .as_ref()
            .map_or("...", |message| &message.name);
        let help = did_you_mean(channel, self.writers.keys().copied()).unwrap_or_else(|| {
            format!("if a program outside of this file writes it: [robot] external = {{ {channel:?} = {type_name:?} }}")
        });
        let severity = match need {
            Need::Required => Severity::Error,
            Need::Optional => Severity::Warning,
        };
        Finding {
            severity,
            help: Some(help),
            ..Finding::error(reader.at, message)
        }
    }
}

/// A channel has one writer: with two, it is undefined whose message counts.
fn too_many(ends: &[End<'_>], verb: &str, channel: &str) -> Vec<Finding> {
    let Some((first, rest)) = ends.split_first() else {
        return Vec::new();
    };
    let twice = |second: &End<'_>| {
        let message = format!(
            "two {verb} {channel:?}: {} and {}",
            first.name(),
            second.name()
        );
        // A program that knows only channels has no ports to connect.
        let port =
            Some(&second.port.name).filter(|name| Some(*name) != second.port.channel.as_ref());
        let help = match port {
            Some(port) => format!("give one of them another: channels = {{ {port} = \"...\" }}"),
            None => "give one of them another".to_owned(),
        };
        Finding {
            help: Some(help),
            note: Some((format!("{} is connected", first.name()), first.at.clone())),
            ..Finding::error(second.at, message)
        }
    };
    rest.iter().map(twice).collect()
}

/// What is read whatever its type is must still have what its reader needs.
fn unfit(reader: &End<'_>, writer: &End<'_>, types: &KnownTypes) -> Option<Finding> {
    let message = writer.port.message.as_ref()?;
    let mut fields = reader.port.numbers.iter();
    let (field, why) =
        fields.find_map(|field| Some((field, not_a_number(types, message.fingerprint, field)?)))?;
    let channel = reader.port.channel.as_deref().unwrap_or_default();
    let told = format!(
        "{} needs a number in field {:?} of channel {channel:?}, where {} writes {}: {why}",
        reader.name(),
        field.to_string(),
        writer.name(),
        message.name,
    );
    Some(Finding {
        note: Some((format!("{} is connected", writer.name()), writer.at.clone())),
        ..Finding::error(reader.at, told)
    })
}

/// Both ends must have one type.
fn mismatch(
    end: &End<'_>,
    other: &End<'_>,
    (verb, other_verb): (&str, &str),
    types: (&Option<MessageType>, &Option<MessageType>),
) -> Option<Finding> {
    let (Some(one), Some(two)) = types else {
        return None;
    };
    if one.fingerprint == two.fingerprint {
        return None;
    }
    let channel = end.port.channel.as_deref().unwrap_or_default();
    // Types of one name may still differ.
    let (one_name, two_name) = match one.name == two.name {
        true => (
            format!("{} {}", one.name, one.fingerprint),
            format!("{} {}", two.name, two.fingerprint),
        ),
        false => (one.name.clone(), two.name.clone()),
    };
    let message = format!(
        "types differ on {channel:?}: {} {verb} {one_name}, {} {other_verb} {two_name}",
        end.name(),
        other.name(),
    );
    let note = Some((format!("{} is connected", other.name()), other.at.clone()));
    Some(Finding {
        note,
        ..Finding::error(end.at, message)
    })
}

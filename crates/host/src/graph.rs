//! Who writes and reads what: of a robot file, or of a bus.
//!
//! In: a [`Robot`], or a [`Directory`] and what other programs announce. Out: a [`Graph`] of components and the
//! channels and services between them, as [text](Graph::to_text), and laid out for a [drawing](layout::layout). The same graph
//! gives the same letters.

pub mod layout;
mod text;

use crate::directory::{Directory, Life, Process, ProcessKey};
use crate::robot::{Component, MessageType, Port, Robot, Source};
use crate::supervise::SUPERVISOR;
use bowline_component::Time;
use bowline_component::{Direction, Need};
use bowline_msgs::{ParametersRequest, PresenceComponent, PresencePort, PresenceService};
use bowline_wire::{Fingerprint, Message as _};
use std::collections::BTreeMap;

/// Components and what is between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What it is of.
    pub title: String,
    /// Those who write and read.
    pub nodes: Vec<Node>,
}

/// A publisher and subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is: a kind, a program; empty where that is unknown.
    pub what: String,
    /// Whether it is one of the robot's components.
    pub role: Role,
    /// What became of it, where that is known: that it ended and when, and how often it was started.
    pub past: Option<String>,
    /// The process that it runs in, where that has another name.
    pub process: Option<String>,
    /// The machine that it runs on.
    pub host: Option<String>,
    /// The experiment that it belongs to, where that is known.
    pub experiment: Option<String>,
    /// What it writes and reads.
    pub ends: Vec<End>,
}

/// What a node is to the robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of its components.
    Component,
    /// Any other.
    Outside,
}

/// One end of a channel or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Which way data flows.
    pub flow: Flow,
    /// The name of the port.
    pub port: String,
    /// The channel, or the name of the service; `None` if it is not connected.
    pub channel: Option<String>,
    /// What flows; requests, at a service. `None` is anything, or unknown.
    pub message: Option<MessageType>,
    /// What comes back, at a service.
    pub answer: Option<MessageType>,
    /// Whether its owner can do without.
    pub need: Need,
}

/// Which way data flows at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Messages come in.
    Reads,
    /// Messages go out.
    Writes,
    /// Requests come in.
    Serves,
    /// Requests go out.
    Calls,
}

impl Flow {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Serves => "serves",
            Self::Calls => "calls",
        }
    }

    /// What is at the other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Reads => Self::Writes,
            Self::Writes => Self::Reads,
            Self::Serves => Self::Calls,
            Self::Calls => Self::Serves,
        }
    }

    /// Whether it comes in, as messages or requests.
    #[must_use]
    pub fn is_inward(self) -> bool {
        matches!(self, Self::Reads | Self::Serves)
    }
}

/// Which end of which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndId {
    /// Its place in [`Graph::nodes`].
    pub node: usize,
    /// Its place in [`Node::ends`].
    pub end: usize,
}

/// Remarks about an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It is connected.
    Connected,
    /// Bowline itself writes it.
    Reserved,
    /// It has no reader or caller, which is no fault.
    Unused,
    /// It is not connected, and need not be.
    Left,
    /// It has no writer or server.
    Missing,
    /// Others write or serve it too.
    Shared,
    /// The other end has another type.
    TypesDiffer,
}

/// Channels of our own begin with this.
const RESERVED: &str = "bowline.";

impl Mark {
    /// Whether something is wrong.
    #[must_use]
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Missing | Self::Shared | Self::TypesDiffer)
    }
}

/// Who is at the ends of each channel and service.
#[derive(Clone, Debug, Default)]
pub struct Links<'g> {
    /// By whether it is a service, and name.
    ends: BTreeMap<(bool, &'g str), Vec<EndId>>,
    graph: Option<&'g Graph>,
}

impl Graph {
    /// A robot file, with one of its sources of data.
    #[must_use]
    pub fn of_robot(robot: &Robot, source: Source) -> Self {
        let mut graph = Self {
            title: robot.name().to_owned(),
            nodes: robot.components(source).map(Node::of_component).collect(),
        };
        for node in &mut graph.nodes {
            let experiment = robot.experiment_of(&node.name);
            node.experiment = experiment.map(|experiment| experiment.name.clone());
        }
        graph.push_outside(
            "outside",
            "programs that are not in the file",
            robot.external().iter(),
        );
        if source == Source::Log {
            let played = robot
                .replaced(Source::Log)
                .flat_map(|component| &component.ports);
            let played = played.filter(|port| port.direction == Direction::Writes);
            graph.push_outside("log", "what was recorded", played);
        }
        graph
    }

    /// What processes on a bus announce, those of one robot or all.
    #[must_use]
    pub fn of_directory(directory: &Directory, robot: Option<&str>, now: Time) -> Self {
        let mut graph = Self::default();
        for (key, process, life) in directory.processes(now) {
            if life != Life::Gone && robot.is_none_or(|robot| robot == key.robot) {
                graph.push_process(key, process, None);
            }
        }
        graph
    }

    /// All processes that were ever there, as a log knows them from its beginning to `now`. Of several instances of a process there
    /// is the last.
    #[must_use]
    pub fn of_history(
        directory: &Directory,
        robot: Option<&str>,
        (start, now): (Time, Time),
    ) -> Self {
        let mut graph = Self::default();
        let mut lives: BTreeMap<(&str, &str, &str), Vec<_>> = BTreeMap::new();
        for (key, process, life) in directory.processes(now) {
            if robot.is_none_or(|robot| robot == key.robot) {
                let name = (&*key.robot, &*key.host, &*key.process);
                lives.entry(name).or_default().push((key, process, life));
            }
        }
        for mut lives in lives.into_values() {
            lives.sort_by_key(|(key, ..)| key.instance);
            let n_lives = lives.len();
            if let Some((key, process, life)) = lives.pop() {
                let end = (life == Life::Gone).then(|| {
                    let after = process.last_heard.since(start).as_secs_f64();
                    format!("ended after {after:.1} s")
                });
                let starts = (n_lives > 1).then(|| format!("started {n_lives} times"));
                let past: Vec<String> = starts.into_iter().chain(end).collect();
                let past = (!past.is_empty()).then(|| past.join(", "));
                graph.push_process(key, process, past);
            }
        }
        graph
    }

    fn push_process(&mut self, key: &ProcessKey, process: &Process, past: Option<String>) {
        let components = process.presence.iter().flat_map(|it| &it.components);
        let is_supervisor = components.clone().any(|it| it.kind == SUPERVISOR);
        for component in components {
            let mut node = Node::of_presence(component);
            // A supervisor reports programs that do not announce themselves, and are not in its process.
            let is_inside = !is_supervisor || component.kind == SUPERVISOR;
            let process = Some(&key.process).filter(|name| is_inside && **name != node.name);
            node.process = process.cloned();
            node.host = Some(key.host.clone());
            node.past.clone_from(&past);
            self.nodes.push(node);
        }
    }

    /// Adds a program that announces what it publishes, beyond what components of its process are known to.
    pub fn push_publisher(
        &mut self,
        name: &str,
        host: &str,
        channels: impl IntoIterator<Item = (String, Option<MessageType>)>,
    ) {
        let is_known = |channel: &str| {
            let mut ends = self.nodes.iter().flat_map(|node| &node.ends);
            ends.any(|end| end.flow == Flow::Writes && end.channel.as_deref() == Some(channel))
        };
        let ends: Vec<End> = channels
            .into_iter()
            .filter(|(channel, _)| !is_known(channel))
            .map(|(channel, message)| End::writes(channel, message))
            .collect();
        if !ends.is_empty() {
            self.nodes.push(Node {
                name: name.to_owned(),
                what: "program".to_owned(),
                role: Role::Outside,
                past: None,
                process: None,
                host: Some(host.to_owned()),
                experiment: None,
                ends,
            });
        }
    }

    fn push_outside<'p>(&mut self, name: &str, what: &str, ports: impl Iterator<Item = &'p Port>) {
        let ends: Vec<End> = ports.map(End::of_port).collect();
        if !ends.is_empty() {
            self.nodes.push(Node {
                name: name.to_owned(),
                what: what.to_owned(),
                role: Role::Outside,
                past: None,
                process: None,
                host: None,
                experiment: None,
                ends,
            });
        }
    }

    /// The end of that place.
    #[must_use]
    pub fn end(&self, id: EndId) -> Option<&End> {
        self.nodes.get(id.node)?.ends.get(id.end)
    }

    /// Who is at the ends of each channel and service.
    #[must_use]
    pub fn links(&self) -> Links<'_> {
        let mut ends: BTreeMap<_, Vec<EndId>> = BTreeMap::new();
        for (node, it) in self.nodes.iter().enumerate() {
            for (end, it) in it.ends.iter().enumerate() {
                if let Some(channel) = &it.channel {
                    let is_service = matches!(it.flow, Flow::Serves | Flow::Calls);
                    let key = (is_service, channel.as_str());
                    ends.entry(key).or_default().push(EndId { node, end });
                }
            }
        }
        Links {
            ends,
            graph: Some(self),
        }
    }
}

impl<'g> Links<'g> {
    /// Those of a flow on a channel or service.
    #[must_use]
    pub fn on(&self, channel: &str, flow: Flow) -> Vec<EndId> {
        let is_service = matches!(flow, Flow::Serves | Flow::Calls);
        let ends = self.ends.get(&(is_service, channel)).into_iter().flatten();
        let flows = |id: &EndId| self.end(*id).is_some_and(|end| end.flow == flow);
        ends.copied().filter(flows).collect()
    }

    /// Every channel, sorted.
    pub fn channels(&self) -> impl Iterator<Item = &'g str> {
        self.ends
            .keys()
            .filter(|(is_service, _)| !is_service)
            .map(|(_, name)| *name)
    }

    /// Every service, sorted.
    pub fn services(&self) -> impl Iterator<Item = &'g str> {
        self.ends
            .keys()
            .filter(|(is_service, _)| *is_service)
            .map(|(_, name)| *name)
    }

    /// Those at the other end.
    #[must_use]
    pub fn peers(&self, id: EndId) -> Vec<EndId> {
        let Some(end) = self.end(id) else {
            return Vec::new();
        };
        let channel = end.channel.as_deref();
        channel.map_or(Vec::new(), |channel| self.on(channel, end.flow.other()))
    }

    /// Remarks about an end.
    #[must_use]
    pub fn mark(&self, id: EndId) -> Mark {
        let Some(end) = self.end(id) else {
            return Mark::Connected;
        };
        let Some(channel) = end.channel.as_deref() else {
            return match end.need {
                Need::Required => Mark::Missing,
                Need::Optional => Mark::Left,
            };
        };
        let peers = self.peers(id);
        let differs = |peer: &EndId| {
            let peer = self.end(*peer);
            peer.is_some_and(|peer| {
                differ(&peer.message, &end.message) || differ(&peer.answer, &end.answer)
            })
        };
        let is_source = matches!(end.flow, Flow::Writes | Flow::Serves);
        if peers.iter().any(differs) {
            Mark::TypesDiffer
        } else if is_source && self.on(channel, end.flow).len() > 1 {
            Mark::Shared
        } else if !peers.is_empty() {
            Mark::Connected
        } else if is_source {
            Mark::Unused
        } else if end.flow == Flow::Reads && channel.starts_with(RESERVED) {
            Mark::Reserved
        } else {
            Mark::Missing
        }
    }

    fn end(&self, id: EndId) -> Option<&'g End> {
        self.graph?.end(id)
    }
}

fn differ(one: &Option<MessageType>, other: &Option<MessageType>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.fingerprint != other.fingerprint,
        (None, _) | (_, None) => false,
    }
}

impl Node {
    fn of_component(component: &Component) -> Self {
        let process = Some(component.process.clone());
        Self {
            name: component.name.clone(),
            what: component.what(),
            role: Role::Component,
            past: None,
            process: process.filter(|process| *process != component.name),
            host: component.host.clone(),
            experiment: None,
            ends: component
                .ports
                .iter()
                .map(End::of_port)
                .filter(is_shown)
                .collect(),
        }
    }

    fn of_presence(component: &PresenceComponent) -> Self {
        let ports = component.ports.iter().filter_map(End::of_presence);
        let services = component.services.iter().filter_map(End::of_service);
        Self {
            name: component.name.clone(),
            what: component.kind.clone(),
            role: Role::Component,
            past: None,
            process: None,
            host: None,
            experiment: None,
            ends: ports.chain(services).filter(is_shown).collect(),
        }
    }
}

/// Every component with parameters serves them. That need not be shown so often.
fn is_shown(end: &End) -> bool {
    let message = end.message.as_ref().map(|message| message.fingerprint);
    end.flow != Flow::Serves || message != Some(ParametersRequest::FINGERPRINT)
}

impl End {
    fn writes(channel: String, message: Option<MessageType>) -> Self {
        Self {
            flow: Flow::Writes,
            port: channel.clone(),
            channel: Some(channel),
            message,
            answer: None,
            need: Need::Required,
        }
    }

    fn of_port(port: &Port) -> Self {
        let (flow, need) = match port.direction {
            Direction::Reads(expect) => (Flow::Reads, expect.need),
            Direction::Writes => (Flow::Writes, Need::Required),
            Direction::Serves => (Flow::Serves, Need::Required),
            Direction::Calls => (Flow::Calls, Need::Required),
        };
        Self {
            flow,
            port: port.name.clone(),
            channel: port.channel.clone(),
            message: port.message.clone(),
            answer: port.answer.clone(),
            need,
        }
    }

    fn of_presence(port: &PresencePort) -> Option<Self> {
        let flow = match port.direction {
            PresencePort::READS => Flow::Reads,
            PresencePort::WRITES => Flow::Writes,
            _ => return None,
        };
        Some(Self {
            flow,
            port: port.name.clone(),
            channel: Some(port.channel.clone()).filter(|channel| !channel.is_empty()),
            message: said(&port.type_name, port.fingerprint),
            answer: None,
            // It would not have been started otherwise.
            need: Need::Optional,
        })
    }

    fn of_service(service: &PresenceService) -> Option<Self> {
        let flow = match service.direction {
            PresenceService::SERVES => Flow::Serves,
            PresenceService::CALLS => Flow::Calls,
            _ => return None,
        };
        Some(Self {
            flow,
            port: service.port.clone(),
            channel: Some(service.name.clone()).filter(|name| !name.is_empty()),
            message: said(&service.request_type, service.request_fingerprint),
            answer: said(&service.reply_type, service.reply_fingerprint),
            need: Need::Optional,
        })
    }
}

/// A type as presence has it; 0 is anything.
fn said(name: &str, fingerprint: i64) -> Option<MessageType> {
    (fingerprint != 0).then(|| MessageType {
        name: name.to_owned(),
        fingerprint: Fingerprint(u64::from_be_bytes(fingerprint.to_be_bytes())),
    })
}

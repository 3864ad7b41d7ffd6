//! `bowline graph`: who writes and reads what, of a robot file or of a bus.

mod svg;

use super::who;
use crate::known_types::Types;
use crate::listen::{Heard, Limits, Listener, PLACES_HELP, Place};
use crate::robot_file::{self, SourceArgument};
use crate::screen::{REFRESH, Screen};
use crate::{App, Outcome, output};
use anyhow::Context as _;
use bowline_bus::Event;
use bowline_component::Time;
use bowline_host::directory::Directory;
use bowline_host::graph::{End, EndId, Flow, Graph, Links, Mark, Node, Role};
use bowline_host::presence::{HEARTBEAT_CHANNEL, PRESENCE_CHANNEL, PRESENCE_REQUEST_CHANNEL};
use bowline_host::robot::MessageType;
use bowline_host::supervise::EXPERIMENT_CHANNEL;
use bowline_inspect::{Senders, TypeName, Who};
use bowline_log::Catalog;
use bowline_msgs::{Experiment, Heartbeat, Presence, PresenceRequest};
use bowline_wire::Message as _;
use clap::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline graph robots/example.toml                    of a robot file
  bowline graph robots/example.toml --source sim       as it is in simulation
  bowline graph robots/example.toml --svg graph.svg    as a drawing
  bowline graph                                        of what programs use by default, six seconds
  bowline graph -l 'udpm://239.255.76.67:7667?ttl=1' --robot patrol
  bowline graph --json | jq -r '.channels[] | select(.readers == []) | .channel'

On a bus, components publish what they read and write, and supervisors what the programs do
that they run. Of other programs it is known what they publish, and not what they read. Of a log
every process of the log is shown, with the time of its end.
In the text, <- NO WRITER is an input without a writer. In the drawing it is red; wires of services are dashed.";

const EXIT_CODES: &str = "\
Exit code 0 if all fits together; 1 if something does not, the robot file is wrong, or none was received.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    /// The robot file; without it, a bus
    #[arg(value_name = "ROBOT", conflicts_with = "url")]
    file: Option<PathBuf>,
    /// Of a robot file, where data comes from: live, sim or log
    #[arg(long, default_value = "live", requires = "file", value_parser = SourceArgument::parse)]
    source: SourceArgument,
    /// On a bus, only the robot of this name, and who writes what it reads
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    robot: Option<String>,
    /// Write a drawing to this file
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    types: Types,
}

/// Long enough to receive programs that announce every 5 s what they publish.
const PERIOD: Duration = Duration::from_secs(6);

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let graph = match &arguments.file {
        Some(file) => {
            let checked = robot_file::check(app, file, &[])?;
            let Some(robot) = checked.robot else {
                output::problems(&checked.problems);
                return Ok(Outcome::Diagnostics);
            };
            arguments.source.check(&robot)?;
            Graph::of_robot(&robot, arguments.source.source())
        }
        None => listen(arguments)?,
    };
    show(&graph, arguments)?;
    let links = graph.links();
    let mut marks = ids(&graph).map(|id| links.mark(id));
    if graph.nodes.is_empty() || marks.any(Mark::is_wrong) {
        return Ok(Outcome::Diagnostics);
    }
    Ok(Outcome::Fine)
}

fn show(graph: &Graph, arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(file) = &arguments.svg {
        fs::write(file, svg::to_svg(graph))
            .with_context(|| format!("cannot write {}", file.display()))?;
        output::note(&format!("drawn: {}", file.display()));
        return Ok(());
    }
    match arguments.json {
        true => output::line(&format!("{:#}", to_json(graph))),
        false => output::bytes(graph.to_text().as_bytes()),
    }
}

/// What is on a bus or in a log.
fn listen(arguments: &Arguments) -> anyhow::Result<Graph> {
    let Limits { count, period } = arguments.limits;
    let catalog = arguments.types.catalog()?;
    let place = arguments.place.url.as_deref();
    let mut listener = Listener::open(place, &[], None, Some(catalog))?;
    if let Some(bus) = listener.source.bus() {
        let request = PresenceRequest {
            robot: arguments.robot.clone().unwrap_or_default(),
            ..PresenceRequest::default()
        };
        bus.publish(PRESENCE_REQUEST_CHANNEL, &request)
            .context("cannot ask who is there")?;
        let period = period.unwrap_or(PERIOD);
        listener.end_after(period);
        if arguments.svg.is_some() {
            output::note(&format!("listening for {period:.1?}"));
        }
    }
    let mut screen = Screen::watched().filter(|_| !arguments.json && arguments.svg.is_none());
    let mut heard = Listening::default();
    let mut drawn_at = Duration::ZERO;
    while heard.n_messages < count.unwrap_or(u64::MAX) {
        match listener.next()? {
            Heard::Event(event) => heard.take(&event),
            Heard::Silence => {}
            Heard::Over => break,
        }
        let elapsed = listener.elapsed();
        if let Some(screen) = &mut screen
            && elapsed >= drawn_at + REFRESH
        {
            drawn_at = elapsed;
            screen.draw(&heard.graph(&listener, arguments).to_text())?;
        }
    }
    let graph = heard.graph(&listener, arguments);
    if let Some(screen) = &mut screen {
        screen.finish("")?;
    }
    if graph.nodes.is_empty() {
        output::note(&format!("none was received: {}", listener.why_silent()));
    }
    Ok(graph)
}

/// More components are in no experiments that fit a screen.
const MAX_EXPERIMENTED: usize = 4_096;

/// What was received so far.
#[derive(Default)]
struct Listening {
    directory: Directory,
    senders: Senders,
    /// By component; `None` where robots disagree.
    experiments: BTreeMap<String, Option<String>>,
    n_messages: u64,
    began: Option<Time>,
    now: Time,
}

impl Listening {
    fn take(&mut self, event: &Event) {
        self.n_messages += 1;
        self.now = self.now.max(Time::from_ns(event.arrival.received_ns));
        self.began.get_or_insert(self.now);
        self.senders.take(event);
        match event.channel.as_str() {
            HEARTBEAT_CHANNEL => {
                if let Ok(heartbeat) = Heartbeat::decode(&event.payload) {
                    self.directory.on_heartbeat(self.now, heartbeat);
                }
            }
            PRESENCE_CHANNEL => {
                if let Ok(presence) = Presence::decode(&event.payload) {
                    self.directory.on_presence(self.now, presence);
                }
            }
            EXPERIMENT_CHANNEL => {
                if let Ok(experiment) = Experiment::decode(&event.payload) {
                    self.take_experiment(&experiment);
                }
            }
            _ => {}
        }
    }

    fn take_experiment(&mut self, experiment: &Experiment) {
        for component in &experiment.components {
            if self.experiments.len() >= MAX_EXPERIMENTED {
                return;
            }
            let own = Some(experiment.name.clone());
            let known = self.experiments.entry(component.name.clone());
            let known = known.or_insert_with(|| own.clone());
            if *known != own {
                *known = None;
            }
        }
    }

    fn graph(&self, listener: &Listener, arguments: &Arguments) -> Graph {
        let robot = arguments.robot.as_deref();
        let mut graph = match (listener.source.bus(), self.began) {
            // In a log, all processes that were ever there are of interest.
            (None, Some(began)) => Graph::of_history(&self.directory, robot, (began, self.now)),
            (Some(_), _) | (None, None) => Graph::of_directory(&self.directory, robot, self.now),
        };
        let place = arguments.place.url.as_deref();
        for node in &mut graph.nodes {
            node.experiment = self.experiments.get(&node.name).cloned().flatten();
        }
        graph.title = robot.or(place).unwrap_or("bus").to_owned();
        let read: BTreeSet<String> = read_channels(&graph).map(str::to_owned).collect();
        // Of one robot's world, only what it reads.
        let is_wanted = |channel: &str| robot.is_none() || read.contains(channel);
        for who in who::found(listener, &self.senders) {
            add_program(&mut graph, &who, listener.source.catalog(), is_wanted);
        }
        graph
    }
}

/// Bowline's own channels are not shown here.
const RESERVED: &str = "bowline.";

fn read_channels(graph: &Graph) -> impl Iterator<Item = &str> {
    let ends = graph.nodes.iter().flat_map(|node| &node.ends);
    let read = ends.filter(|end| end.flow == Flow::Reads);
    read.filter_map(|end| end.channel.as_deref())
}

/// A publisher, known by what was seen or by its announcement.
fn add_program(graph: &mut Graph, who: &Who, catalog: &Catalog, is_wanted: impl Fn(&str) -> bool) {
    let fingerprint_of = |name: &TypeName| match name {
        TypeName::Unknown(fingerprint) => Some(MessageType {
            name: fingerprint.to_string(),
            fingerprint: *fingerprint,
        }),
        TypeName::Named(name) => {
            let (types, id) = catalog.by_name(name)?;
            let fingerprint = types.fingerprint(id)?;
            let name = name.clone();
            Some(MessageType { name, fingerprint })
        }
    };
    let channels = who.channels.iter();
    let channels =
        channels.filter(|(channel, _)| !channel.starts_with(RESERVED) && is_wanted(channel));
    let channels = channels.map(|(channel, types)| {
        // Of several types on one channel, none can be known to be the one.
        let message = match &types[..] {
            [name] => fingerprint_of(name),
            _ => None,
        };
        (channel.clone(), message)
    });
    let address = who.sender.map(|sender| sender.to_string());
    let name = match (&who.process, who.pid, address) {
        (Some(process), Some(pid), _) => format!("{process} {pid}"),
        (Some(process), None, _) => process.clone(),
        (None, _, Some(address)) => address,
        (None, _, None) => "somebody".to_owned(),
    };
    let host = who.host.as_deref().unwrap_or("an unknown machine");
    graph.push_publisher(&name, host, channels);
}

fn ids(graph: &Graph) -> impl Iterator<Item = EndId> {
    let nodes = graph.nodes.iter().enumerate();
    nodes.flat_map(|(node, it)| (0..it.ends.len()).map(move |end| EndId { node, end }))
}

fn to_json(graph: &Graph) -> Value {
    let links = graph.links();
    let nodes = graph.nodes.iter().enumerate();
    let nodes = nodes.map(|(at, node)| node_to_json(graph, at, node, &links));
    let channels = links.channels().map(|channel| {
        json!({
            "channel": channel,
            "writers": names(graph, &links.on(channel, Flow::Writes)),
            "readers": names(graph, &links.on(channel, Flow::Reads)),
        })
    });
    let services = links.services().map(|service| {
        json!({
            "service": service,
            "servers": names(graph, &links.on(service, Flow::Serves)),
            "clients": names(graph, &links.on(service, Flow::Calls)),
        })
    });
    json!({
        "title": graph.title,
        "components": nodes.collect::<Vec<_>>(),
        "channels": channels.collect::<Vec<_>>(),
        "services": services.collect::<Vec<_>>(),
    })
}

fn node_to_json(graph: &Graph, at: usize, node: &Node, links: &Links<'_>) -> Value {
    let end = |(place, end): (usize, &End)| {
        let id = EndId {
            node: at,
            end: place,
        };
        let name = |message: &Option<MessageType>| message.as_ref().map(|it| it.name.clone());
        json!({
            "flow": end.flow.word(),
            "port": end.port,
            "channel": end.channel,
            "type": name(&end.message),
            "reply": name(&end.answer),
            "peers": names(graph, &links.peers(id)),
            "mark": mark_word(links.mark(id)),
        })
    };
    json!({
        "name": node.name,
        "what": node.what,
        "outside": node.role == Role::Outside,
        "process": node.process,
        "host": node.host,
        "experiment": node.experiment,
        "past": node.past,
        "ports": node.ends.iter().enumerate().map(end).collect::<Vec<_>>(),
    })
}

fn mark_word(mark: Mark) -> &'static str {
    match mark {
        Mark::Connected => "connected",
        Mark::Reserved => "reserved",
        Mark::Unused => "unused",
        Mark::Left => "not connected",
        Mark::Missing => "missing",
        Mark::Shared => "shared",
        Mark::TypesDiffer => "types differ",
    }
}

fn names(graph: &Graph, ids: &[EndId]) -> Vec<String> {
    let nodes = ids.iter().filter_map(|id| graph.nodes.get(id.node));
    nodes.map(|node| node.name.clone()).collect()
}

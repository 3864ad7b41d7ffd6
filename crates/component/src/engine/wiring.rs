//! Who writes a channel and who reads it.

use super::services::{caller_name, incarnation};
use crate::alarm::ALARM_CHANNEL;
use crate::kind::{Built, Kind, MakeError};
use crate::parameter::Setting;
use crate::parcel::{Decoder, Parcel};
use crate::port::{Direction, Need, PortInfo, TypeInfo};
use crate::service::{BadServiceName, CALL_CHANNEL, ServiceName};
use crate::time::Time;
use bowline_msgs::Call;
use bowline_wire::Channel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A component of a robot: its name, and which channels its ports are on.
#[derive(Debug)]
pub struct Instance {
    /// Unique among those that run together.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// The component and what it declared.
    pub built: Built,
    /// From port to channel. Outputs that are not named here go to `NAME.PORT`.
    pub channels: BTreeMap<String, String>,
    /// Kind, parameters and channels in words, a line each: what a trace records that a component was made from.
    pub settings: String,
}

/// What is in a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHash {
    /// Its name, or its path from the file that leads to it.
    pub name: String,
    /// The hash of its contents ([`trace::hash`](crate::trace::hash)).
    pub hash: u64,
}

/// What is in files, by their paths as settings name them: first the file itself, then those that it names.
pub type FileHashes = BTreeMap<String, Vec<FileHash>>;

impl Instance {
    /// Makes a component; what is not set is as its default. A trace records the files that it was made from by name.
    ///
    /// # Errors
    /// When a setting is wrong, or the component refuses.
    pub fn new(
        kind: &Kind,
        name: &str,
        settings: &[(&str, Setting)],
        channels: BTreeMap<String, String>,
    ) -> Result<Self, MakeError> {
        Self::with_files(kind, name, settings, channels, &FileHashes::new())
    }

    /// Makes a component as [`new`](Self::new) does. A trace records the files that it was made from by name and hash, so
    /// that a replay with another file is found. [`Kind::files`] lists which files these are; the host reads them.
    ///
    /// # Errors
    /// When a setting is wrong, or the component refuses.
    pub fn with_files(
        kind: &Kind,
        name: &str,
        settings: &[(&str, Setting)],
        channels: BTreeMap<String, String>,
        files: &FileHashes,
    ) -> Result<Self, MakeError> {
        let built = kind.build(settings)?;
        Ok(Self {
            name: name.to_owned(),
            kind: kind.name.to_owned(),
            built,
            settings: words(kind, settings, &channels, files),
            channels,
        })
    }

    /// What a port is connected to, if it is: a channel, or a service.
    #[must_use]
    pub fn connection(&self, port: &PortInfo) -> Option<String> {
        let named = self.channels.get(&port.name);
        port.connection(&self.name, named.map(String::as_str))
    }

    /// The channels of all ports. Services with names that cannot be are refused before.
    pub(super) fn lanes(&self) -> Vec<Lane> {
        self.built
            .ports
            .iter()
            .map(|port| self.lane(port))
            .collect()
    }

    fn lane(&self, port: &PortInfo) -> Lane {
        let Some(name) = self.connection(port) else {
            return Lane::default();
        };
        let channel = |name: &str| Some(Channel::from(name));
        let service = ServiceName::new(&name).ok();
        let call = service.as_ref().map(ServiceName::call_channel);
        let answer = service.as_ref().map(ServiceName::answer_channel);
        let [call, answer] = [call, answer].map(|name| name.and_then(|name| channel(&name)));
        match port.direction {
            Direction::Reads(_) => Lane {
                reads: channel(&name),
                ..Lane::default()
            },
            Direction::Writes => Lane {
                writes: channel(&name),
                ..Lane::default()
            },
            Direction::Serves => Lane {
                reads: call,
                writes: answer,
                service,
            },
            Direction::Calls => Lane {
                reads: answer,
                writes: call,
                service,
            },
        }
    }
}

/// The channels of a port.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// What it reads: messages, calls or answers.
    pub reads: Option<Channel>,
    /// What it writes: messages, answers or calls.
    pub writes: Option<Channel>,
    /// The service that it serves or calls.
    pub service: Option<ServiceName>,
}

fn words(
    kind: &Kind,
    settings: &[(&str, Setting)],
    channels: &BTreeMap<String, String>,
    files: &FileHashes,
) -> String {
    let parameters = kind.parameters().iter().map(|parameter| {
        let (value, name) = (parameter.value_in(settings), parameter.name);
        if !parameter.is_path() {
            return format!("{name} = {value}\n");
        }
        let mut named = Vec::new();
        let contents = contents(&value, files, &mut named);
        // A line each, so that a replay shows which of them changed.
        named.sort_unstable();
        named.dedup();
        let named = named
            .into_iter()
            .map(|file| format!("{name} needs {file}\n"));
        format!("{name} = {contents}\n") + &named.collect::<String>()
    });
    let channels = channels
        .iter()
        .map(|(port, channel)| format!("{port} on {channel}\n"));
    let kind = std::iter::once(format!("kind {}\n", kind.name));
    kind.chain(parameters).chain(channels).collect()
}

/// What files are, wherever they are: their names, and the hashes of what is in them. Adds the files that they name.
fn contents(paths: &Setting, files: &FileHashes, named: &mut Vec<String>) -> String {
    let shown = |FileHash { name, hash }: &FileHash| format!("{name} ({hash:016x})");
    match paths {
        Setting::Text(path) => {
            if let Some([file, others @ ..]) = files.get(path).map(Vec::as_slice) {
                named.extend(others.iter().map(shown));
                return shown(file);
            }
            let name = Path::new(path).file_name().unwrap_or_default();
            name.display().to_string()
        }
        Setting::List(paths) => {
            let each = paths.iter().map(|path| contents(path, files, named));
            each.collect::<Vec<_>>().join(", ")
        }
        Setting::Boolean(_) | Setting::Integer(_) | Setting::Real(_) => paths.to_string(),
    }
}

/// Why components cannot be wired together.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WiringError {
    /// Two have one name.
    #[error("there are two components {0:?}")]
    SameName(String),
    /// A name that is no port.
    #[error("component {component:?} has no port {port:?}: it has {}", ports.join(", "))]
    UnknownPort {
        /// Of the component.
        component: String,
        /// What was named.
        port: String,
        /// What there is.
        ports: Vec<String>,
    },
    /// Two ports have one name.
    #[error("component {component:?} has two ports {port:?}")]
    SamePort {
        /// Of the component.
        component: String,
        /// Of the ports.
        port: String,
    },
    /// A name that no service can have.
    #[error("port {port:?} of component {component:?}: {source}")]
    ServiceName {
        /// Of the component.
        component: String,
        /// Of the port.
        port: String,
        /// What is wrong with it.
        source: BadServiceName,
    },
    /// One service, offered twice.
    #[error("both {first:?} and {second:?} offer the service {service:?}")]
    TwoServers {
        /// Of the service.
        service: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// An input without a channel.
    #[error("input {port:?} of component {component:?} is not connected to a channel")]
    Unconnected {
        /// Of the component.
        component: String,
        /// Of the input.
        port: String,
    },
    /// One channel with two writers.
    #[error("both {first:?} and {second:?} write channel {channel:?}")]
    TwoWriters {
        /// Of the channel.
        channel: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// One channel with two types.
    #[error("on channel {channel:?}, {writer:?} writes {written} and {reader:?} reads {read}")]
    TypeMismatch {
        /// Of the channel.
        channel: String,
        /// The component that writes.
        writer: String,
        /// What it writes.
        written: &'static str,
        /// The component that reads.
        reader: String,
        /// What it reads.
        read: &'static str,
    },
}

/// An input of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) cell: usize,
    pub(super) port: usize,
}

/// Where an output goes.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) channel: Channel,
    pub(super) readers: Vec<Target>,
}

#[derive(Debug)]
pub(super) struct Wiring {
    readers: BTreeMap<Channel, Vec<Target>>,
    /// By cell and port.
    outlets: Vec<Vec<Option<Outlet>>>,
    /// Where what is wrong goes, whichever component it is of.
    alarms: Outlet,
    /// What comes from outside.
    wanted: Vec<Channel>,
    /// Channels open to external writers that a component here reads.
    shared: BTreeSet<Channel>,
    /// Those who call services here, by the names that they are known by in calls.
    callers: BTreeSet<String>,
}

/// A port that writes or reads a channel, for checks.
struct End<'a> {
    component: &'a str,
    message: Option<TypeInfo>,
}

impl Wiring {
    pub(super) fn new(instances: &[Instance]) -> Result<Self, WiringError> {
        check_names(instances)?;
        check_connections(instances)?;
        check_services(instances)?;
        let shared = shared(instances);
        let writers = check_writers(instances, &shared)?;
        check_types(instances, &writers)?;
        let readers = readers(instances);
        Ok(Self {
            alarms: Outlet {
                channel: Channel::from(ALARM_CHANNEL),
                readers: readers.get(ALARM_CHANNEL).cloned().unwrap_or_default(),
            },
            wanted: wanted(instances),
            outlets: outlets(instances, &readers),
            shared,
            callers: callers(instances),
            readers,
        })
    }

    pub(super) fn readers(&self, channel: &str) -> &[Target] {
        self.readers.get(channel).map_or(&[], Vec::as_slice)
    }

    pub(super) fn outlet(&self, cell: usize, port: usize) -> Option<&Outlet> {
        self.outlets.get(cell)?.get(port)?.as_ref()
    }

    pub(super) fn alarms(&self) -> &Outlet {
        &self.alarms
    }

    /// The channels to subscribe to: those without a writer here, and calls, which any client may make.
    pub(super) fn wanted(&self) -> impl Iterator<Item = &Channel> {
        self.wanted.iter()
    }

    /// Takes messages of external writers from outside, also where a component here writes them.
    pub(super) fn hear_anybody(&mut self) {
        let outlets = self.outlets.iter_mut().flatten().flatten();
        for outlet in outlets.filter(|outlet| self.shared.contains(&outlet.channel)) {
            outlet.readers.clear();
        }
        self.alarms.readers.clear();
        self.wanted.extend(self.shared.iter().cloned());
        self.wanted.sort();
        self.wanted.dedup();
    }

    /// Whether a message from outside is a call that was made here and came back.
    pub(super) fn is_echo(&self, channel: &str, parcel: &Parcel, started: Time) -> bool {
        if self.callers.is_empty() || !channel.starts_with(CALL_CHANNEL) {
            return false;
        }
        let opened = parcel.open(&Decoder::of::<Call>()).ok();
        let call = opened
            .as_ref()
            .and_then(|opened| opened.value.downcast_ref::<Call>());
        call.is_some_and(|call| {
            call.incarnation == incarnation(started) && self.callers.contains(&call.caller)
        })
    }
}

fn ports(instances: &[Instance]) -> impl Iterator<Item = (Target, &Instance, &PortInfo)> {
    instances.iter().enumerate().flat_map(|(cell, instance)| {
        let ports = instance.built.ports.iter().enumerate();
        ports.map(move |(port, info)| (Target { cell, port }, instance, info))
    })
}

fn readers(instances: &[Instance]) -> BTreeMap<Channel, Vec<Target>> {
    let mut readers: BTreeMap<Channel, Vec<Target>> = BTreeMap::new();
    for (target, instance, info) in ports(instances) {
        if let Some(channel) = instance.lane(info).reads {
            readers.entry(channel).or_default().push(target);
        }
    }
    readers
}

fn shared(instances: &[Instance]) -> BTreeSet<Channel> {
    let shared = ports(instances).filter(|(_, _, info)| info.direction.is_from_anybody());
    shared
        .filter_map(|(_, instance, info)| instance.lane(info).reads)
        .collect()
}

fn wanted(instances: &[Instance]) -> Vec<Channel> {
    let written = ports(instances).filter_map(|(_, instance, info)| instance.lane(info).writes);
    let written: BTreeSet<Channel> = written.collect();
    let wanted = ports(instances).filter_map(|(_, instance, info)| {
        let channel = instance.lane(info).reads?;
        let is_wanted = info.direction == Direction::Serves || !written.contains(&channel);
        is_wanted.then_some(channel)
    });
    wanted.collect::<BTreeSet<_>>().into_iter().collect()
}

fn callers(instances: &[Instance]) -> BTreeSet<String> {
    let callers = ports(instances).filter(|(_, _, info)| info.direction == Direction::Calls);
    callers
        .map(|(_, instance, info)| caller_name(&instance.name, &info.name))
        .collect()
}

fn outlets(
    instances: &[Instance],
    readers: &BTreeMap<Channel, Vec<Target>>,
) -> Vec<Vec<Option<Outlet>>> {
    let outlets = instances.iter().map(|instance| {
        let ports = instance.built.ports.iter().map(|info| {
            let channel = instance.lane(info).writes?;
            let readers = readers.get(&channel).cloned().unwrap_or_default();
            Some(Outlet { channel, readers })
        });
        ports.collect()
    });
    outlets.collect()
}

fn check_connections(instances: &[Instance]) -> Result<(), WiringError> {
    for (_, instance, info) in ports(instances) {
        let is_needed = match info.direction {
            Direction::Reads(expect) => expect.need == Need::Required,
            Direction::Calls => true,
            Direction::Writes | Direction::Serves => false,
        };
        if is_needed && instance.connection(info).is_none() {
            return Err(WiringError::Unconnected {
                component: instance.name.clone(),
                port: info.name.clone(),
            });
        }
    }
    Ok(())
}

fn check_services(instances: &[Instance]) -> Result<(), WiringError> {
    let mut servers: BTreeMap<String, &str> = BTreeMap::new();
    for (_, instance, info) in ports(instances) {
        if !matches!(info.direction, Direction::Serves | Direction::Calls) {
            continue;
        }
        let Some(service) = instance.connection(info) else {
            continue;
        };
        ServiceName::new(&service).map_err(|source| WiringError::ServiceName {
            component: instance.name.clone(),
            port: info.name.clone(),
            source,
        })?;
        if info.direction == Direction::Calls {
            continue;
        }
        if let Some(first) = servers.insert(service.clone(), &instance.name) {
            return Err(WiringError::TwoServers {
                service,
                first: first.to_owned(),
                second: instance.name.clone(),
            });
        }
    }
    Ok(())
}

fn check_names(instances: &[Instance]) -> Result<(), WiringError> {
    for (at, instance) in instances.iter().enumerate() {
        let before = instances.iter().take(at);
        if before.into_iter().any(|other| other.name == instance.name) {
            return Err(WiringError::SameName(instance.name.clone()));
        }
        let ports: Vec<&str> = instance
            .built
            .ports
            .iter()
            .map(|port| port.name.as_str())
            .collect();
        let twice = ports
            .iter()
            .enumerate()
            .find(|(at, port)| ports.iter().take(*at).any(|other| other == *port));
        if let Some((_, port)) = twice {
            return Err(WiringError::SamePort {
                component: instance.name.clone(),
                port: (*port).to_owned(),
            });
        }
        let unknown = instance
            .channels
            .keys()
            .find(|port| !ports.contains(&port.as_str()));
        if let Some(port) = unknown {
            return Err(WiringError::UnknownPort {
                component: instance.name.clone(),
                port: port.clone(),
                ports: ports.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    Ok(())
}

fn check_writers<'a>(
    instances: &'a [Instance],
    shared: &BTreeSet<Channel>,
) -> Result<BTreeMap<String, Vec<End<'a>>>, WiringError> {
    let mut writers: BTreeMap<String, Vec<End<'a>>> = BTreeMap::new();
    for instance in instances {
        for info in instance
            .built
            .ports
            .iter()
            .filter(|info| info.direction == Direction::Writes)
        {
            let Some(channel) = instance.connection(info) else {
                continue;
            };
            let end = End {
                component: &instance.name,
                message: info.message,
            };
            let is_shared = shared.contains(channel.as_str());
            let before = writers.entry(channel.clone()).or_default();
            if let Some(first) = before.first().filter(|_| !is_shared) {
                return Err(WiringError::TwoWriters {
                    channel,
                    first: first.component.to_owned(),
                    second: instance.name.clone(),
                });
            }
            before.push(end);
        }
    }
    Ok(writers)
}

fn check_types(
    instances: &[Instance],
    writers: &BTreeMap<String, Vec<End<'_>>>,
) -> Result<(), WiringError> {
    for (_, instance, info) in ports(instances) {
        let (Direction::Reads(_), Some(read)) = (info.direction, info.message) else {
            continue;
        };
        let Some(channel) = instance.connection(info) else {
            continue;
        };
        let differs = |writer: &&End<'_>| {
            let written = writer.message;
            written.is_some_and(|written| written.fingerprint != read.fingerprint)
        };
        let mut heard = writers.get(&channel).into_iter().flatten();
        if let Some(End {
            component,
            message: Some(written),
        }) = heard.find(differs)
        {
            return Err(WiringError::TypeMismatch {
                channel,
                writer: (*component).to_owned(),
                written: written.name,
                reader: instance.name.clone(),
                read: read.name,
            });
        }
    }
    Ok(())
}

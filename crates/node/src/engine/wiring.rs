//! Who writes a channel and who reads it.

use crate::kind::{Built, Kind, MakeError};
use crate::parameter::Setting;
use crate::port::{Direction, Need, PortInfo, TypeInfo};
use bowline_bus::Channel;
use std::collections::BTreeMap;

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
    /// Kind, parameters and channels in words, a line each: what a trace says that a component was made from.
    pub settings: String,
}

impl Instance {
    /// Makes a component; what is not set is as its default.
    ///
    /// # Errors
    /// When a setting is wrong, or the component refuses.
    pub fn new(
        kind: &Kind,
        name: &str,
        settings: &[(&str, Setting)],
        channels: BTreeMap<String, String>,
    ) -> Result<Self, MakeError> {
        let built = kind.build(settings)?;
        Ok(Self {
            name: name.to_owned(),
            kind: kind.name.to_owned(),
            built,
            settings: words(kind, settings, &channels),
            channels,
        })
    }

    /// The channel of a port, if it has one.
    #[must_use]
    pub fn channel(&self, port: &PortInfo) -> Option<String> {
        let named = self.channels.get(&port.name).cloned();
        match port.direction {
            Direction::Reads(_) => named,
            Direction::Writes | Direction::Serves | Direction::Calls => {
                Some(named.unwrap_or_else(|| format!("{}.{}", self.name, port.name)))
            }
        }
    }
}

fn words(kind: &Kind, settings: &[(&str, Setting)], channels: &BTreeMap<String, String>) -> String {
    let parameters = kind.parameters().iter().map(|parameter| {
        let set = settings
            .iter()
            .rev()
            .find(|(name, _)| *name == parameter.name);
        let value = set.map_or_else(parameter.default, |(_, value)| value.clone());
        format!("{} = {value}\n", parameter.name)
    });
    let channels = channels
        .iter()
        .map(|(port, channel)| format!("{port} on {channel}\n"));
    let kind = std::iter::once(format!("kind {}\n", kind.name));
    kind.chain(parameters).chain(channels).collect()
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

#[derive(Debug, Default)]
pub(super) struct Wiring {
    readers: BTreeMap<Channel, Vec<Target>>,
    /// By cell and port.
    outlets: Vec<Vec<Option<Outlet>>>,
    /// What nobody here writes.
    wanted: Vec<Channel>,
}

/// A port that writes or reads a channel, for checks.
struct End<'a> {
    component: &'a str,
    message: Option<TypeInfo>,
}

impl Wiring {
    pub(super) fn new(instances: &[Instance]) -> Result<Self, WiringError> {
        check_names(instances)?;
        let mut readers: BTreeMap<Channel, Vec<Target>> = BTreeMap::new();
        for (cell, instance) in instances.iter().enumerate() {
            for (port, info) in instance.built.ports.iter().enumerate() {
                let Direction::Reads(expect) = info.direction else {
                    continue;
                };
                match instance.channel(info) {
                    Some(channel) => {
                        let readers = readers.entry(channel.as_str().into()).or_default();
                        readers.push(Target { cell, port });
                    }
                    None if expect.need == Need::Optional => {}
                    None => {
                        return Err(WiringError::Unconnected {
                            component: instance.name.clone(),
                            port: info.name.clone(),
                        });
                    }
                }
            }
        }
        let writers = check_writers(instances)?;
        check_types(instances, &writers)?;
        let wanted = readers
            .keys()
            .filter(|channel| !writers.contains_key(channel.as_str()));
        Ok(Self {
            wanted: wanted.cloned().collect(),
            outlets: outlets(instances, &readers),
            readers,
        })
    }

    pub(super) fn readers(&self, channel: &str) -> &[Target] {
        self.readers.get(channel).map_or(&[], Vec::as_slice)
    }

    pub(super) fn outlet(&self, cell: usize, port: usize) -> Option<&Outlet> {
        self.outlets.get(cell)?.get(port)?.as_ref()
    }

    pub(super) fn wanted(&self) -> impl Iterator<Item = &Channel> {
        self.wanted.iter()
    }
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

fn check_writers(instances: &[Instance]) -> Result<BTreeMap<String, End<'_>>, WiringError> {
    let mut writers: BTreeMap<String, End<'_>> = BTreeMap::new();
    for instance in instances {
        for info in instance
            .built
            .ports
            .iter()
            .filter(|info| info.direction == Direction::Writes)
        {
            let Some(channel) = instance.channel(info) else {
                continue;
            };
            let end = End {
                component: &instance.name,
                message: info.message,
            };
            if let Some(first) = writers.insert(channel.clone(), end) {
                return Err(WiringError::TwoWriters {
                    channel,
                    first: first.component.to_owned(),
                    second: instance.name.clone(),
                });
            }
        }
    }
    Ok(writers)
}

fn check_types(
    instances: &[Instance],
    writers: &BTreeMap<String, End<'_>>,
) -> Result<(), WiringError> {
    for instance in instances {
        for info in instance.built.ports.iter() {
            if !matches!(info.direction, Direction::Reads(_)) {
                continue;
            }
            let Some(channel) = instance.channel(info) else {
                continue;
            };
            let Some(writer) = writers.get(&channel) else {
                continue;
            };
            if let (Some(written), Some(read)) = (writer.message, info.message)
                && written.fingerprint != read.fingerprint
            {
                return Err(WiringError::TypeMismatch {
                    channel,
                    writer: writer.component.to_owned(),
                    written: written.name,
                    reader: instance.name.clone(),
                    read: read.name,
                });
            }
        }
    }
    Ok(())
}

fn outlets(
    instances: &[Instance],
    readers: &BTreeMap<Channel, Vec<Target>>,
) -> Vec<Vec<Option<Outlet>>> {
    let outlets = instances.iter().map(|instance| {
        let ports = instance.built.ports.iter().map(|info| {
            let channel = instance.channel(info)?;
            (info.direction == Direction::Writes).then(|| Outlet {
                channel: channel.as_str().into(),
                readers: readers.get(channel.as_str()).cloned().unwrap_or_default(),
            })
        });
        ports.collect()
    });
    outlets.collect()
}

//! A component of a robot file in the form in which processes describe themselves: for programs, which do not.

use super::{Component, MessageType, Port, Program};
use bowline_component::Direction;
use bowline_msgs::{PresenceComponent, PresencePort, PresenceService};

impl Component {
    /// What it is, for people: its kind, or as much of its command as fits on a line.
    #[must_use]
    pub fn what(&self) -> String {
        match &self.program {
            Program::Kind { kind, .. } => kind.name.to_owned(),
            Program::Command(command) => in_a_line(&command.command),
        }
    }

    /// What it is made of.
    #[must_use]
    pub fn described(&self) -> PresenceComponent {
        let described = PresenceComponent {
            name: self.name.clone(),
            kind: self.what(),
            ports: self.ports.iter().filter_map(port).collect(),
            services: self.ports.iter().filter_map(service).collect(),
            ..PresenceComponent::default()
        };
        described.with_lengths()
    }
}

fn port(port: &Port) -> Option<PresencePort> {
    let direction = match port.direction {
        Direction::Reads(_) => PresencePort::READS,
        Direction::Writes => PresencePort::WRITES,
        Direction::Serves | Direction::Calls => return None,
    };
    let (type_name, fingerprint) = told(port.message.as_ref());
    Some(PresencePort {
        name: port.name.clone(),
        direction,
        channel: port.channel.clone().unwrap_or_default(),
        type_name,
        fingerprint,
    })
}

fn service(port: &Port) -> Option<PresenceService> {
    let direction = match port.direction {
        Direction::Serves => PresenceService::SERVES,
        Direction::Calls => PresenceService::CALLS,
        Direction::Reads(_) | Direction::Writes => return None,
    };
    let (request_type, request_fingerprint) = told(port.message.as_ref());
    let (reply_type, reply_fingerprint) = told(port.answer.as_ref());
    Some(PresenceService {
        port: port.name.clone(),
        direction,
        name: port.channel.clone().unwrap_or_default(),
        request_type,
        request_fingerprint,
        reply_type,
        reply_fingerprint,
    })
}

/// A type as presence has it; 0 is any.
fn told(message: Option<&MessageType>) -> (String, i64) {
    message.map_or_else(Default::default, |message| {
        (message.name.clone(), message.fingerprint.0.cast_signed())
    })
}

fn in_a_line(command: &[String]) -> String {
    const MAX: usize = 40;
    let words = command.iter().flat_map(|word| word.split_whitespace());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.chars().count() > MAX {
        true => line.chars().take(MAX - 1).chain(['…']).collect(),
        false => line,
    }
}

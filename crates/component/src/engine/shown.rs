//! Components as their process shows them to others.

use super::Engine;
use super::cell::Cell;
use crate::port::{Direction, PortInfo, TypeInfo};
use bowline_msgs::{HeartbeatComponent, PresenceComponent, PresencePort, PresenceService};

impl Engine {
    /// What the components are made of.
    #[must_use]
    pub fn describe(&self) -> Vec<PresenceComponent> {
        self.cells.iter().map(describe).collect()
    }

    /// How they are.
    #[must_use]
    pub fn health(&self) -> Vec<HeartbeatComponent> {
        self.cells.iter().map(health).collect()
    }
}

fn describe(cell: &Cell) -> PresenceComponent {
    let ports = cell.ports.iter().zip(&cell.lanes);
    let channels = ports.clone().filter_map(|(port, lane)| {
        let channel = lane.reads.as_ref().or(lane.writes.as_ref())?;
        describe_port(port, channel)
    });
    let services = ports.filter_map(|(port, lane)| {
        let service = lane.service.as_ref()?;
        describe_service(port, service.as_str())
    });
    PresenceComponent {
        name: cell.name.clone(),
        kind: cell.kind.clone(),
        ports: channels.collect(),
        services: services.collect(),
        ..PresenceComponent::default()
    }
    .with_lengths()
}

fn health(cell: &Cell) -> HeartbeatComponent {
    let counts = cell.effects.counts;
    let errors = counts.undecodable + counts.unencodable + counts.refused_wakes;
    HeartbeatComponent {
        n_steps: counts.steps.cast_signed(),
        n_late: counts.missed_ticks.cast_signed(),
        n_dropped: 0,
        n_errors: errors.cast_signed(),
        ..cell.effects.health.heartbeat(&cell.name)
    }
}

/// A port as presence has it, with the channel that the robot has put it on; `None` if it is a service.
fn describe_port(port: &PortInfo, channel: &str) -> Option<PresencePort> {
    let direction = match port.direction {
        Direction::Reads(_) => PresencePort::READS,
        Direction::Writes => PresencePort::WRITES,
        Direction::Serves | Direction::Calls => return None,
    };
    let (type_name, fingerprint) = described(port.message);
    Some(PresencePort {
        name: port.name.clone(),
        direction,
        channel: channel.to_owned(),
        type_name,
        fingerprint,
    })
}

/// A service as presence has it, with the name that the robot has given it; `None` if it is a port for messages.
fn describe_service(port: &PortInfo, name: &str) -> Option<PresenceService> {
    let direction = match port.direction {
        Direction::Serves => PresenceService::SERVES,
        Direction::Calls => PresenceService::CALLS,
        Direction::Reads(_) | Direction::Writes => return None,
    };
    let (request_type, request_fingerprint) = described(port.message);
    let (reply_type, reply_fingerprint) = described(port.answer);
    Some(PresenceService {
        port: port.name.clone(),
        direction,
        name: name.to_owned(),
        request_type,
        request_fingerprint,
        reply_type,
        reply_fingerprint,
    })
}

fn described(ty: Option<TypeInfo>) -> (String, i64) {
    ty.map_or_else(Default::default, |ty| {
        (ty.name.to_owned(), ty.fingerprint.0.cast_signed())
    })
}

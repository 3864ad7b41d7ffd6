//! Components as their process shows them to others.

use super::Engine;
use super::cell::Cell;
use crate::presence::{describe_port, describe_service};
use bowline_msgs::{HeartbeatComponent, PresenceComponent};

impl Engine {
    /// What the components are made of.
    pub(crate) fn describe(&self) -> Vec<PresenceComponent> {
        self.cells.iter().map(describe).collect()
    }

    /// How they are.
    pub(crate) fn health(&self) -> Vec<HeartbeatComponent> {
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

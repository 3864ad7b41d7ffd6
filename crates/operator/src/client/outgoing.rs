//! What a client publishes: a command with its row in the table.

use crate::commands::{self, Command};
use bowline_msgs::{Authority, DirectCommand, LeaseRequest, StopCommand, TaskCommand};
use bowline_wire::{EncodeError, Message as _};

/// A command to publish.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// About the lease.
    Lease(LeaseRequest),
    /// A stop, or the end of one.
    Stop(StopCommand),
    /// A task.
    Task(TaskCommand),
    /// Direct control.
    Direct(DirectCommand),
}

/// A command to publish, with its row in the table.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Its row: name, channel, needs.
    pub command: &'static Command,
    /// The message.
    pub payload: Payload,
    /// Whether it repeats one that a person or script asked for before; a log need not have each.
    pub is_repeated: bool,
}

impl Outgoing {
    pub(super) fn new(name: &str, payload: Payload, is_repeated: bool) -> Self {
        let command = commands::named(name).expect("the name of a row");
        Self {
            command,
            payload,
            is_repeated,
        }
    }
}

impl Payload {
    /// The message as it is published.
    ///
    /// # Errors
    /// When a list in it has another length than declared.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Lease(it) => it.encode(),
            Self::Stop(it) => it.encode(),
            Self::Task(it) => it.encode(),
            Self::Direct(it) => it.encode(),
        }
    }

    /// By which right it commands.
    #[must_use]
    pub fn by(&self) -> &Authority {
        match self {
            Self::Lease(it) => &it.by,
            Self::Stop(it) => &it.by,
            Self::Task(it) => &it.by,
            Self::Direct(it) => &it.by,
        }
    }
}

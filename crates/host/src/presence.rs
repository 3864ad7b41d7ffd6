//! Presence: what every process with components announces of itself, and when.
//!
//! A [`Beacon`] returns what is due, and its owner publishes that. [`Directory`](crate::directory::Directory) is the other
//! end. There is no broker: every subscriber has the same knowledge.

mod beacon;
mod presenter;
mod this_process;

pub use beacon::{Beacon, DuePresence, Identity};
pub use presenter::Presenter;
pub use this_process::ThisProcess;

use std::time::Duration;

/// Where processes publish their heartbeats, as `bowline.heartbeat_t`.
pub const HEARTBEAT_CHANNEL: &str = "bowline.heartbeat";
/// Where processes publish what they are made of, as `bowline.presence_t`.
pub const PRESENCE_CHANNEL: &str = "bowline.presence";
/// Where they can be asked to, with a `bowline.presence_request_t`.
pub const PRESENCE_REQUEST_CHANNEL: &str = "bowline.presence.request";

/// How often a process sends a heartbeat, at least.
pub const HEARTBEAT_PERIOD: Duration = Duration::from_millis(200);
/// How often it publishes what it is made of.
pub const PRESENCE_PERIOD: Duration = Duration::from_secs(2);

/// Components that one process can announce.
pub const MAX_COMPONENTS: usize = 256;
/// Ports that one component can announce.
pub const MAX_PORTS: usize = 256;
/// Services that one component can announce.
pub const MAX_SERVICES: usize = 64;
/// The longest name or text, bytes.
pub const MAX_TEXT: usize = 256;

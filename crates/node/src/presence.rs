//! Who is there: what every process with components says of itself, and when.
//!
//! A [`Beacon`] says what is due; whoever holds it sends that. [`Directory`](crate::directory::Directory) is the other
//! end. There is no broker: whoever listens knows.

mod beacon;
mod presenter;
mod this_process;

pub use beacon::{Beacon, DuePresence, Identity};
pub use presenter::Presenter;
pub use this_process::ThisProcess;

use crate::port::{Direction, PortInfo};
use bowline_msgs::{PresencePort, PresenceService};
use std::time::Duration;

/// Where processes say that they live, as `bowline.heartbeat_t`.
pub const HEARTBEAT_CHANNEL: &str = "bowline.heartbeat";
/// Where processes say what they are made of, as `bowline.presence_t`.
pub const PRESENCE_CHANNEL: &str = "bowline.presence";
/// Where they can be asked to, with a `bowline.presence_request_t`.
pub const PRESENCE_REQUEST_CHANNEL: &str = "bowline.presence.request";

/// How often a process says that it lives, at least.
pub const HEARTBEAT_PERIOD: Duration = Duration::from_millis(200);
/// How often it says what it is made of.
pub const PRESENCE_PERIOD: Duration = Duration::from_secs(2);

/// Components that one process can tell of.
pub const MAX_COMPONENTS: usize = 256;
/// Ports that one component can tell of.
pub const MAX_PORTS: usize = 256;
/// Services that one component can tell of.
pub const MAX_SERVICES: usize = 64;
/// The longest name or text, bytes.
pub const MAX_TEXT: usize = 256;

/// A port as presence tells it, with the channel that the robot has put it on; `None` if it is a service.
#[must_use]
pub fn describe_port(port: &PortInfo, channel: &str) -> Option<PresencePort> {
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

/// A service as presence tells it, with the name that the robot has given it; `None` if it is a port for messages.
#[must_use]
pub fn describe_service(port: &PortInfo, name: &str) -> Option<PresenceService> {
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

fn described(ty: Option<crate::port::TypeInfo>) -> (String, i64) {
    ty.map_or_else(Default::default, |ty| {
        (ty.name.to_owned(), ty.fingerprint.0.cast_signed())
    })
}

//! Services on a bus, for programs that are no components: [`Client`] and [`call`] ask, [`Responder`] and [`serve`] answer.
//!
//! The exchange itself is `bowline_component::service`: state machines without a socket and without a clock. Here they get
//! a bus, the live clock and a thread that waits.

mod client;
mod responder;

pub use client::{Client, ClientError, call};
pub use responder::{Responder, ServeError, serve};

use bowline_bus::Bus;
use bowline_component::TypeInfo;
use bowline_wire::schema::TypeSet;

/// Describes a type on the bus, so that tools can decode requests and replies of it.
pub fn describe(bus: &Bus, channel: &str, ty: TypeInfo) {
    let types = TypeSet::from_bytes(ty.schema).ok();
    let found = types.and_then(|types| {
        let id = types.by_fingerprint(ty.fingerprint)?;
        Some((types, id))
    });
    // A type without a schema cannot be described.
    if let Some((types, id)) = found {
        bus.describe(channel, &types, id);
    }
}

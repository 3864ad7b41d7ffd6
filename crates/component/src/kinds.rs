//! Components that every robot may need. What a robot file can name is in the binary's table of kinds.

mod heartbeat;
mod relay;

pub use heartbeat::{Heartbeat, HeartbeatParameters};
pub use relay::{Relay, RelayParameters};

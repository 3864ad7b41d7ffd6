//! Components that every robot may need. What a robot file can name is in the binary's table of kinds.

mod heartbeat;

pub use heartbeat::{Heartbeat, HeartbeatParameters};

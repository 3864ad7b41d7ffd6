//! Bowline's own message types.
//!
//! Everything here is generated from the .lcm files in `types/` by `make gen`, committed so that it can be read, and
//! checked for freshness by `make test`. Two of them are generated into `bowline_wire::messages`, for the formats of logs,
//! and are here as well.
//!
//! ```
//! use bowline_msgs::{Path, PathRef, Waypoint};
//! use bowline_wire::Message as _;
//!
//! let dock = Waypoint { id: "dock".into(), position: [12.0, -3.5] };
//! let path = Path { waypoints: vec![dock], ..Path::default() }.with_lengths();
//! let message = path.encode()?;
//!
//! assert_eq!(Path::decode(&message)?, path);
//! assert_eq!(PathRef::decode(&message)?.waypoints[0].id, "dock");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[rustfmt::skip]
#[expect(clippy::doc_markdown, reason = "comments in types/ are plain text")]
#[expect(unreachable_pub, reason = "generated modules are public; this crate shows their types at its root")]
mod generated;

/// Where components, supervisors and recorders publish what is wrong, as [`Alarm`]: all of them on one channel.
pub const ALARM_CHANNEL: &str = "bowline.alarm";

pub use generated::bowline::*;
pub use generated::{SCHEMA, TYPES};

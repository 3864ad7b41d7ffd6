//! Chosen channels of a bus, carried across thin, lossy links.
//!
//! ```text
//!  bus ─▶ offer ─▶ queues ─▶ scheduler ─▶ packets ─▶ path ─┄┄┄─▶ path ─▶ reassembly ─▶ deliver ─▶ bus
//!                    newest, fifo, reliable   pacer ◀── reports ──┘   age, generation, duplicates
//! ```
//!
//! A [`Session`] is one end, and both ends are alike. It is a state machine: it gets the time, the messages that are offered
//! and the packets that arrive; it gives the packets to send and the messages to deliver. It reads no clock and touches no
//! socket, so a minute on a bad radio is a unit test. `run::Link` gives it a bus, carriers and a clock.
//!
//! ```
//! use bowline_link::{Carriage, Incoming, Outgoing, Session, Setup, schedule};
//! use bowline_component::Time;
//! use std::time::Duration;
//!
//! let end = |life, sends: &[&str], receives: &[&str]| {
//!     let sends = sends.iter().map(|channel| Outgoing::new(channel)).collect();
//!     let receives = receives.iter().map(|channel| Incoming::new(channel)).collect();
//!     let scheduler = schedule::find("value").expect("it is in the table").make();
//!     Session::new(Setup { life, sends, receives, n_paths: 1 }, scheduler)
//! };
//! let (mut station, mut vehicle) = (end(1, &["operator.direct"], &[]), end(2, &[], &["operator.direct"]));
//!
//! let mut now = Time::from_utime(1_000_000);
//! station.path_up(0, Carriage::default(), now);
//! vehicle.path_up(0, Carriage::default(), now);
//! let mut packet = Vec::new();
//! for n in 0..100 {
//!     if n == 50 {
//!         station.offer(0, vec![1, 2, 3].into(), now);
//!     }
//!     while station.transmit(now, &mut packet).is_some() {
//!         vehicle.receive(0, &packet, now);
//!     }
//!     while vehicle.transmit(now, &mut packet).is_some() {
//!         station.receive(0, &packet, now);
//!     }
//!     now = now + Duration::from_millis(10);
//! }
//! assert_eq!(vehicle.deliver().map(|message| message.payload.to_vec()), Some(vec![1, 2, 3]));
//! ```

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

#[cfg(feature = "carriers")]
pub mod authority;
#[cfg(feature = "carriers")]
pub mod carrier;
mod counts;
#[cfg(feature = "carriers")]
pub mod file;
#[cfg(feature = "carriers")]
pub mod keys;
pub mod packet;
mod path;
mod queue;
mod reassembly;
#[cfg(feature = "carriers")]
pub mod run;
pub mod schedule;
mod session;
#[cfg(feature = "carriers")]
mod status;
mod stream;

pub use counts::{Ages, Cause, Counts};
#[cfg(feature = "carriers")]
pub use file::Tables;
pub use path::{Carriage, PathState, PathStatus};
pub use session::{Delivery, Session, Setup};
pub use stream::{Incoming, Keep, Outgoing, stream_id};

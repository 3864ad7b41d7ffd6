//! The operator's side of a vehicle's gate: which commands there are, and the state machine of a station that sends them.
//!
//! In: what the gate publishes, what a person or a script asks for, and the time. Out: commands to publish, and how each
//! request stands. docs/control.md specifies the machine; the vectors in `vectors/` hold this one and the page's to it.
//!
//! Deliberately absent: sockets, threads and clocks, and any right: the gate decides.
//!
//! ```
//! use bowline_operator::{Client, Identity, Now};
//!
//! let identity = Identity { station: "bridge".into(), session: 77, rank: 0 };
//! let mut client = Client::new(identity);
//! // A stop needs neither lease nor token, and is repeated until the gate confirms it.
//! let sent = client.press_stop("a swimmer", Now { ms: 0, utime: 1_000_000 });
//! assert_eq!((sent[0].command.name, sent[0].command.channel), ("stop", "operator.stop"));
//! ```

#![forbid(unsafe_code)]

mod client;
pub mod commands;
mod session;

pub use client::{
    Client, Direct, Drive, Lease, Now, Outgoing, Payload, Progress, Request, StopState, Timing,
};
pub use commands::{COMMANDS, Command, Effect, Need, Role};
pub use session::{Identity, Session, is_overtaken};

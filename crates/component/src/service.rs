//! Query and response on top of the bus: typed services with request, reply, error, timeout and cancellation.
//!
//! ```text
//!   Caller                                                  Server
//!     begin ──────── call_t REQUEST ──────────────────────▶ on_call ─▶ Incoming::Called
//!       │  again, with back-off,            ◀── ACCEPTED ───┘              │
//!       │  until there is an answer                                        ▼ the component works
//!       ▼                                   ◀── REPLY, ERROR ────────── finish
//!     Finished: exactly one for each call
//! ```
//!
//! Any of these messages may be lost, doubled or late. The caller asks again until it is answered or its time is over;
//! the server executes a call at most once in its life and gives the same answer to every repetition. The reader of a
//! log sees all of it: nothing that an exchange depends on is kept from the wire, and no id comes from a clock or from
//! chance.
//!
//! [`Caller`] and [`Server`] get messages and the time, and return what to send; they hold no socket and no clock.
//! `bowline_host::service` puts them on a bus, for programs that are no components.

mod caller;
mod id;
mod name;
mod server;

pub use caller::{
    BeginError, CallError, Caller, CallerCounts, DueCalls, Finished, Request, ServerId,
};
pub use id::CallId;
pub use name::{BadServiceName, ServiceName};
pub use server::{Called, Failure, Handled, Incoming, Server, ServerCounts, ServerLimits};

use bowline_wire::Fingerprint;
use std::time::Duration;

/// What the channels of calls begin with; the name of the service follows.
pub const CALL_CHANNEL: &str = "bowline.call.";
/// What the channels of answers begin with; the name of the service follows.
pub const ANSWER_CHANNEL: &str = "bowline.answer.";

/// The longest request or reply, bytes. What is larger is a stream, and belongs on a channel.
pub const MAX_BODY: usize = 1 << 20;
/// The longest name of a caller or a server, bytes.
pub const MAX_NAME: usize = 128;
/// The longest text of an error, bytes.
pub const MAX_TEXT: usize = 1024;
/// The longest wait of a caller.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// A text that is not longer than `max` bytes, cut between letters.
#[must_use]
pub fn shortened(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// A duration as messages carry it.
fn whole_us(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// What an encoded message begins with.
fn fingerprint_of(body: &[u8]) -> Option<Fingerprint> {
    let (first, _) = body.split_first_chunk::<8>()?;
    Some(Fingerprint(u64::from_be_bytes(*first)))
}

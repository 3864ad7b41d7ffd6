//! What every worker of the bus benchmark has in common.
//!
//! A worker is a small program that drives one system, ours or a peer. It implements [`System`], [`Endpoint`],
//! [`Publisher`] and [`Subscriber`]; everything else is here, once, so that pacing, payload, counting and clocks are the
//! same for all systems:
//!
//! ```text
//! WORKER pub  ADDRESS [options]   publishes, then an end marker
//! WORKER sub  ADDRESS [options]   counts until the end marker or a second of silence
//! WORKER idle ADDRESS [options]   subscribes to something else until standard input ends
//! WORKER ping ADDRESS [options]   publishes and takes the echoes of --peers clients
//! WORKER pong ADDRESS [options]   echoes
//!
//! --rate N      messages a second; 0 is flat out, that is, never waiting by itself
//! --size N      bytes a message, at least 24
//! --seconds S   how long to publish
//! --batch       hand messages over many at a time
//! --peers N     how many sub or pong workers there are
//! --idx N       which of them this is
//! --inside      pub and ping: have the sub or pong workers as threads, for transports that do not leave a process
//! ```
//!
//! Each prints `ready` once it would miss nothing, and one line of flat JSON at its end. With `--inside` the lines of
//! the others come first. A worker ends when its parent does, and when it takes much longer than it should.
//!
//! [`exchange`] starts workers and makes figures of their reports, for `make bench` and for `bowline bench`.
//!
//! Deliberately absent: any system. A worker brings its own, so that this crate depends on none of them.

mod args;
pub mod exchange;
pub mod machine;
mod payload;
mod sys;
mod tally;
mod verbs;

pub use args::Settings;
pub use verbs::{Run, main, run};

use anyhow::Result;
use std::time::Duration;

/// How long a subscriber may wait before it looks at [`Run::is_over`] again.
pub const POLL: Duration = Duration::from_millis(100);

/// One system under test.
pub trait System: Sync {
    /// Joins, as one process does.
    ///
    /// # Errors
    /// When the system does not start.
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>>;
}

/// A process's place on the bus; publishers and subscribers share it.
pub trait Endpoint {
    /// # Errors
    /// When the system refuses.
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>>;

    /// # Errors
    /// When the system refuses.
    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>>;
}

/// The sending side of one channel.
pub trait Publisher: Send {
    /// Returns once `n` subscribers would get what is published. Multicast cannot know and does not wait.
    ///
    /// # Errors
    /// When they do not come.
    fn wait_for_subscribers(&mut self, n: usize) -> Result<()> {
        let _ = n;
        Ok(())
    }

    /// # Errors
    /// When the message was not handed over; the benchmark counts it and goes on.
    fn publish(&mut self, message: &[u8]) -> Result<()>;

    /// All at once, where the system can.
    ///
    /// # Errors
    /// When not all of them were handed over.
    fn publish_many(&mut self, messages: &[Vec<u8>]) -> Result<()> {
        messages
            .iter()
            .try_for_each(|message| self.publish(message))
    }
}

/// What is done with each message.
pub type Handler = Box<dyn FnMut(&[u8]) + Send>;

/// The receiving side.
pub trait Subscriber {
    /// Hands every message to `handler` until the run is over.
    ///
    /// # Errors
    /// When nothing more can be received.
    fn serve(&mut self, handler: Handler, run: &Run) -> Result<()>;
}

//! What every transport of a bus promises, each promise once, for transports here and in crates of their own.
//!
//! [`check_row`] checks a row of the table of transports against what its transport does with URLs, and
//! [`check_transport`] what goes over it. Both panic with what was expected and what was found, as tests do.
//!
//! ```no_run
//! use bowline_bus::{Bus, transport::memq};
//! use bowline_conformance::{Subject, check_row, check_transport};
//!
//! check_row(&memq::SCHEME);
//! check_transport(|name| {
//!     let url = format!("memq://{name}");
//!     Subject::new(move || Bus::open(&url).expect("the transport opens"))
//! });
//! ```
//!
//! Deliberately absent: networks. A transport that needs one is run where it has one.

#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "this crate is for tests, which fail by panicking"
)]

mod promises;
mod row;

pub use row::check_row;

use bowline_bus::Bus;
use promises::PROMISES;
use std::any::Any;
use std::fmt;

/// A transport under test: a way to open buses that reach each other, and no others.
pub struct Subject {
    open: Box<dyn Fn() -> Bus>,
    large: usize,
    keep: Vec<Box<dyn Any>>,
}

impl Subject {
    /// `open` opens one bus more of the same network, as often as it is called.
    pub fn new(open: impl Fn() -> Bus + 'static) -> Self {
        Self {
            open: Box::new(open),
            large: 8 << 20,
            keep: Vec::new(),
        }
    }

    /// The largest payload that the suite tries, in bytes; 8 MiB otherwise.
    #[must_use]
    pub fn with_large(mut self, bytes: usize) -> Self {
        self.large = bytes;
        self
    }

    /// Keeps something as long as the subject lives, such as a hub.
    #[must_use]
    pub fn keeping(mut self, needed: impl Any) -> Self {
        self.keep.push(Box::new(needed));
        self
    }

    fn open(&self) -> Bus {
        (self.open)()
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("large", &self.large)
            .field("keep", &self.keep.len())
            .finish_non_exhaustive()
    }
}

/// Runs every promise over a transport. `subject` makes a fresh one for each, by a name that no other has in this
/// process.
pub fn check_transport(subject: impl Fn(&str) -> Subject) {
    for (name, promise) in PROMISES {
        eprintln!("{name}");
        promise(&subject(&format!(
            "conformance-{}-{:?}-{name}",
            std::process::id(),
            std::thread::current().id()
        )));
    }
}

//! Messages of undescribed types, at the start.
//!
//! A publisher describes what it publishes before the first message, on request, and every 5 s. So it is only in the
//! first seconds that a type may be unknown which is described in a moment.

use bowline_bus::Event;
use bowline_inspect::fingerprint;
use bowline_log::Catalog;
use std::collections::VecDeque;
use std::time::Duration;

/// Publishers that cannot be asked describe every 5 s what they publish.
const PATIENCE: Duration = Duration::from_secs(6);
/// What may wait.
const MAX_EVENTS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;

/// Events in order, but that those of types that may be described in a moment wait for that.
pub(super) struct Holding {
    is_on: bool,
    ready: VecDeque<Event>,
    held: VecDeque<Event>,
    held_bytes: usize,
}

impl Holding {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }

    pub(super) fn put(&mut self, event: Event, catalog: &Catalog) {
        if self.is_on && may_be_described(&event, catalog) {
            self.held_bytes += event.payload.len();
            self.held.push_back(event);
        } else {
            self.ready.push_back(event);
        }
    }

    /// Takes note of how long it has been.
    pub(super) fn at(&mut self, elapsed: Duration) {
        self.is_on &= elapsed < PATIENCE;
    }

    /// The next event to show.
    pub(super) fn take(&mut self, catalog: &Catalog) -> Option<Event> {
        while let Some(first) = self.held.front() {
            let is_full = self.held.len() > MAX_EVENTS || self.held_bytes > MAX_BYTES;
            if self.is_on && !is_full && may_be_described(first, catalog) {
                break;
            }
            self.held_bytes -= first.payload.len();
            self.ready.extend(self.held.pop_front());
        }
        self.ready.pop_front()
    }
}

/// What begins with readable letters is no message of LCM: fingerprints are not readable.
fn may_be_described(event: &Event, catalog: &Catalog) -> bool {
    let Some(fingerprint) = fingerprint(&event.payload) else {
        return false;
    };
    let is_letter = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    catalog.find(fingerprint).is_none() && !fingerprint.0.to_be_bytes().iter().all(is_letter)
}

//! The last events, in bounded memory, to look back and to write to a log.

use bowline_bus::{Channel, Event};
use std::collections::VecDeque;
use std::ops::Range;

/// What an event costs beyond its bytes, about.
const OVERHEAD: usize = 160;

/// The last events, oldest first.
///
/// Events have numbers that stay: one that was looked at is found again, or known to be gone.
#[derive(Clone, Debug)]
pub struct History {
    events: VecDeque<Event>,
    n_bytes: usize,
    max_bytes: usize,
    n_forgotten: u64,
}

impl History {
    /// Remembers events of so many bytes together.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            events: VecDeque::new(),
            n_bytes: 0,
            max_bytes,
            n_forgotten: 0,
        }
    }

    /// Adds an event, and forgets the oldest ones that there is no more room for.
    pub fn push(&mut self, event: Event) {
        self.n_bytes += cost(&event);
        self.events.push_back(event);
        while self.n_bytes > self.max_bytes
            && let Some(gone) = self.events.pop_front()
        {
            self.n_bytes -= cost(&gone);
            self.n_forgotten += 1;
        }
    }

    /// The numbers of the events that are there.
    #[must_use]
    pub fn numbers(&self) -> Range<u64> {
        self.n_forgotten..self.n_forgotten + self.events.len() as u64
    }

    /// The event with that number, if it is still there.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&Event> {
        let at = usize::try_from(number.checked_sub(self.n_forgotten)?).ok()?;
        self.events.get(at)
    }

    /// The last event of a channel before a number, with its own number.
    #[must_use]
    pub fn before(&self, channel: &str, number: u64) -> Option<(u64, &Event)> {
        self.numbered()
            .rev()
            .skip_while(|(found, _)| *found >= number)
            .find(|(_, event)| event.channel.as_str() == channel)
    }

    /// The first event of a channel after a number, with its own number.
    #[must_use]
    pub fn after(&self, channel: &str, number: u64) -> Option<(u64, &Event)> {
        self.numbered()
            .skip_while(|(found, _)| *found <= number)
            .find(|(_, event)| event.channel.as_str() == channel)
    }

    /// The last event of a channel, with its number.
    #[must_use]
    pub fn last(&self, channel: &str) -> Option<(u64, &Event)> {
        self.before(channel, u64::MAX)
    }

    /// The events received from one time to another, both in nanoseconds since the epoch and included.
    pub fn between(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &Event> {
        let events = self.events.iter();
        events.filter(move |event| (from_ns..=to_ns).contains(&event.arrival.received_ns))
    }

    /// The events of one channel, oldest first, with their numbers.
    pub fn of<'a>(&'a self, channel: &'a Channel) -> impl Iterator<Item = (u64, &'a Event)> {
        self.numbered()
            .filter(move |(_, event)| event.channel == *channel)
    }

    /// When the oldest was received, in nanoseconds since the epoch.
    #[must_use]
    pub fn oldest_ns(&self) -> Option<i64> {
        let oldest = self.events.front();
        oldest.map(|event| event.arrival.received_ns)
    }

    /// Events that there was no room for any more.
    #[must_use]
    pub fn n_forgotten(&self) -> u64 {
        self.n_forgotten
    }

    fn numbered(&self) -> impl DoubleEndedIterator<Item = (u64, &Event)> + ExactSizeIterator {
        let first = self.n_forgotten;
        let events = self.events.iter().enumerate();
        events.map(move |(at, event)| (first + at as u64, event))
    }
}

fn cost(event: &Event) -> usize {
    event.payload.len() + OVERHEAD
}

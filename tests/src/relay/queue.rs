//! Datagrams on their way: those that others overtake, and those that come later.

use super::frames::Datagram;
use super::{Fate, Way};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// After this time without traffic, what waits to be overtaken waits no longer.
const IDLE: Duration = Duration::from_millis(100);

/// What waits, both ways.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Vec<Waiting>,
    /// By when it is due, and in the order of arrival.
    delayed: BTreeMap<(Instant, u64), (Way, Datagram)>,
    n_delayed: u64,
    last_came: Option<Instant>,
}

#[derive(Debug)]
struct Waiting {
    way: Way,
    /// How many datagrams still have to overtake it.
    n_left: u8,
    delay: Duration,
    datagram: Datagram,
}

impl Queue {
    /// A datagram came, with its fate.
    pub fn push(&mut self, now: Instant, way: Way, datagram: Datagram, fate: Fate) {
        self.last_came = Some(now);
        let delay = Duration::from_micros(fate.delay_us.into());
        let n_late = u8::from(fate.n_copies > 0 && fate.overtaken_by > 0);
        for _ in n_late..fate.n_copies {
            self.delay(now + delay, way, datagram.clone());
        }
        // Also one that is lost overtakes: otherwise how long others wait would depend on what is lost.
        self.overtake(now, way);
        if n_late > 0 {
            self.waiting.push(Waiting {
                way,
                n_left: fate.overtaken_by,
                delay,
                datagram,
            });
        }
    }

    /// What is due.
    pub fn pop(&mut self, now: Instant) -> Option<(Way, Datagram)> {
        if self.idle_at().is_some_and(|idle| idle <= now) {
            self.release_all(now);
        }
        let first = self.delayed.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// All that is left, in order, due or not.
    pub fn drain(&mut self, now: Instant) -> impl Iterator<Item = (Way, Datagram)> {
        self.release_all(now);
        std::mem::take(&mut self.delayed).into_values()
    }

    /// When something will be due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let delayed = self.delayed.keys().next().map(|key| key.0);
        delayed.into_iter().chain(self.idle_at()).min()
    }

    fn idle_at(&self) -> Option<Instant> {
        let last = self.last_came.filter(|_| !self.waiting.is_empty());
        last.map(|last| last + IDLE)
    }

    fn overtake(&mut self, now: Instant, way: Way) {
        let same_way = self.waiting.iter_mut().filter(|waiting| waiting.way == way);
        same_way.for_each(|waiting| waiting.n_left -= 1);
        let free: Vec<Waiting> = self
            .waiting
            .extract_if(.., |waiting| waiting.n_left == 0)
            .collect();
        for waiting in free {
            self.delay(now + waiting.delay, waiting.way, waiting.datagram);
        }
    }

    fn release_all(&mut self, now: Instant) {
        for waiting in std::mem::take(&mut self.waiting) {
            self.delay(now + waiting.delay, waiting.way, waiting.datagram);
        }
    }

    fn delay(&mut self, due: Instant, way: Way, datagram: Datagram) {
        self.n_delayed += 1;
        self.delayed.insert((due, self.n_delayed), (way, datagram));
    }
}

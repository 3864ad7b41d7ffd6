//! What waits to go out over a line: whole messages, each with the moment at which it came, and none for longer than it
//! is meant to be true.
//!
//! It gets the time. What the kernel was handed cannot be taken back from a serial port, so that is handed no more
//! than goes out in time; at a pseudo-terminal it is seen whether it was read.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What waits at most, bytes.
const MAX_WAITING: usize = 16_384;
/// How often it is looked whether what was handed over is read, while more waits.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A queue of messages that grow old.
#[derive(Debug)]
pub(super) struct Outgoing {
    max_age: Duration,
    way: Way,
    waiting: VecDeque<Waiting>,
    /// Bytes of the first that have gone. It is finished however old it is: half a message would spoil the next one too.
    n_begun: usize,
    n_bytes: usize,
    pub(super) counts: OutgoingCounts,
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutgoingCounts {
    pub(super) n_sent_bytes: u64,
    pub(super) n_dropped: u64,
    pub(super) n_dropped_bytes: u64,
}

#[derive(Debug)]
struct Waiting {
    came: Instant,
    bytes: Vec<u8>,
}

/// How it is known what became of bytes that the kernel was handed.
#[derive(Debug)]
enum Way {
    /// A byte takes so long, and the last one will be gone then.
    Paced { byte: Duration, gone_at: Instant },
    /// The other end is seen to have read or not.
    Watched {
        unread: Option<Unread>,
        is_held: bool,
    },
}

/// What was handed over since nothing was left to read.
#[derive(Clone, Copy, Debug)]
struct Unread {
    /// When the first of it came.
    came: Instant,
    n_messages: u64,
    n_bytes: u64,
}

impl Outgoing {
    /// For a line that takes so long for a byte.
    pub(super) fn paced(max_age: Duration, byte: Duration, now: Instant) -> Self {
        Self::new(max_age, Way::Paced { byte, gone_at: now })
    }

    /// For one where it is seen whether the other end reads.
    pub(super) fn watched(max_age: Duration) -> Self {
        let way = Way::Watched {
            unread: None,
            is_held: false,
        };
        Self::new(max_age, way)
    }

    fn new(max_age: Duration, way: Way) -> Self {
        Self {
            max_age,
            way,
            waiting: VecDeque::new(),
            n_begun: 0,
            n_bytes: 0,
            counts: OutgoingCounts::default(),
        }
    }

    /// Takes a message. Where there is no room, the oldest ones go.
    pub(super) fn push(&mut self, came: Instant, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        if bytes.len() > MAX_WAITING {
            self.refuse(bytes.len());
            return;
        }
        self.n_bytes += bytes.len();
        self.waiting.push_back(Waiting { came, bytes });
        while self.n_bytes > MAX_WAITING && self.waiting.len() > self.first() + 1 {
            self.drop_first();
        }
    }

    /// Counts a message that cannot even wait.
    pub(super) fn refuse(&mut self, n_bytes: usize) {
        self.counts.n_dropped += 1;
        self.counts.n_dropped_bytes += n_bytes as u64;
    }

    /// The line is gone, and everything that was meant for this moment with it.
    pub(super) fn clear(&mut self) {
        for message in std::mem::take(&mut self.waiting) {
            self.refuse(message.bytes.len());
        }
        (self.n_begun, self.n_bytes) = (0, 0);
        if let Way::Watched { unread, is_held } = &mut self.way {
            (*unread, *is_held) = (None, false);
        }
    }

    /// Takes whether something is left to read at the other end; returns whether that has grown too old, and is to be
    /// thrown away there.
    #[must_use]
    pub(super) fn look(&mut self, now: Instant, has_unread: bool) -> bool {
        let Way::Watched { unread, is_held } = &mut self.way else {
            return false;
        };
        if !has_unread {
            *unread = None;
        }
        let max_age = self.max_age;
        let is_old = |it: &Unread| now.saturating_duration_since(it.came) > max_age;
        let old = unread.take_if(|it| is_old(it));
        *is_held = unread.is_some();
        if let Some(old) = old {
            // A reader at this very moment may have had a part of it.
            self.counts.n_sent_bytes = self.counts.n_sent_bytes.saturating_sub(old.n_bytes);
            self.counts.n_dropped_bytes += old.n_bytes;
            self.counts.n_dropped += old.n_messages;
        }
        old.is_some()
    }

    /// What to write now, if anything: never the beginning of a message that would be too old when it goes out.
    pub(super) fn next(&mut self, now: Instant) -> Option<&[u8]> {
        let delay = self.delay(now);
        while let Some(message) = self.waiting.get(self.first()) {
            if now.saturating_duration_since(message.came) + delay <= self.max_age {
                break;
            }
            self.drop_first();
        }
        if !self.is_ready(now) {
            return None;
        }
        self.waiting.front()?.bytes.get(self.n_begun..)
    }

    /// So much of it was written.
    pub(super) fn wrote(&mut self, now: Instant, n_bytes: usize) {
        let Some(message) = self.waiting.front() else {
            return;
        };
        self.counts.n_sent_bytes += n_bytes as u64;
        self.n_bytes -= n_bytes;
        let is_new = self.n_begun == 0;
        self.n_begun += n_bytes;
        match &mut self.way {
            Way::Paced { byte, gone_at } => {
                let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
                *gone_at = now.max(*gone_at) + *byte * n_bytes;
            }
            Way::Watched { unread, .. } => {
                let unread = unread.get_or_insert(Unread {
                    came: message.came,
                    n_messages: 0,
                    n_bytes: 0,
                });
                unread.n_messages += u64::from(is_new);
                unread.n_bytes += n_bytes as u64;
            }
        }
        if self.n_begun >= message.bytes.len() {
            self.n_begun = 0;
            self.waiting.pop_front();
        }
    }

    /// Whether there is something that may be written now.
    pub(super) fn is_ready(&self, now: Instant) -> bool {
        let may_begin = match &self.way {
            Way::Paced { .. } => self.delay(now) <= self.max_age / 2,
            Way::Watched { is_held, .. } => !is_held,
        };
        !self.waiting.is_empty() && (may_begin || self.n_begun > 0)
    }

    /// How long it may be until it is looked at again, though nothing happens.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        let waits = (!self.waiting.is_empty()).then_some(self.max_age);
        let own = match &self.way {
            Way::Paced { .. } => waits.map(|_| self.delay(now).saturating_sub(self.max_age / 2)),
            Way::Watched { unread, .. } => unread.map(|unread| {
                let ends = (unread.came + self.max_age).saturating_duration_since(now);
                if waits.is_some() {
                    ends.min(LOOK_EVERY)
                } else {
                    ends
                }
            }),
        };
        let own = own.filter(|own| !own.is_zero() || matches!(self.way, Way::Watched { .. }));
        own.into_iter().chain(waits).min()
    }

    /// How long it is until what was handed over is gone.
    fn delay(&self, now: Instant) -> Duration {
        match &self.way {
            Way::Paced { gone_at, .. } => gone_at.saturating_duration_since(now),
            Way::Watched { .. } => Duration::ZERO,
        }
    }

    /// The place of the oldest that has not begun.
    fn first(&self) -> usize {
        usize::from(self.n_begun > 0)
    }

    fn drop_first(&mut self) {
        if let Some(message) = self.waiting.remove(self.first()) {
            self.n_bytes -= message.bytes.len();
            self.refuse(message.bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen;

    const MAX_AGE: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn without_room_the_oldest_go_and_the_newest_stays() {
        let now = listen::now();
        let mut outgoing = Outgoing::watched(MAX_AGE);
        for letter in *b"abc" {
            outgoing.push(now, vec![letter; 6_000]);
        }
        // Half of a message is worse than an old one.
        assert_eq!(outgoing.next(now).map(|it| it[0]), Some(b'b'));
        outgoing.wrote(now, 1);
        outgoing.push(now, vec![b'd'; 6_000]);
        let mut order = Vec::new();
        while let Some(bytes) = outgoing.next(now) {
            order.push(bytes[0]);
            let n_bytes = bytes.len();
            outgoing.wrote(now, n_bytes);
        }
        assert_eq!(order, b"bd");
        let counts = OutgoingCounts {
            n_sent_bytes: 12_000,
            n_dropped: 2,
            n_dropped_bytes: 12_000,
        };
        assert_eq!(outgoing.counts, counts);
        outgoing.push(now, vec![0; MAX_WAITING + 1]);
        assert_eq!(outgoing.next(now), None);
        assert_eq!(outgoing.counts.n_dropped, 3);
    }

    #[test]
    fn nothing_is_begun_that_is_too_old_and_what_was_begun_is_finished() {
        let start = listen::now();
        let mut outgoing = Outgoing::watched(MAX_AGE);
        outgoing.push(start, b"old".to_vec());
        outgoing.push(start, b"older than it may be".to_vec());
        outgoing.push(start + ms(60), b"new".to_vec());
        outgoing.next(start);
        outgoing.wrote(start, 1);
        let now = start + ms(101);
        assert_eq!(outgoing.next(now), Some(&b"ld"[..]));
        outgoing.wrote(now, 2);
        assert_eq!(outgoing.next(now), Some(&b"new"[..]));
        assert_eq!(outgoing.counts.n_dropped, 1);
        assert_eq!(outgoing.next(start + ms(161)), None);
        assert_eq!(outgoing.counts.n_dropped, 2);
    }

    #[test]
    fn unread_output_is_dropped_in_time_and_counted() {
        let start = listen::now();
        let mut outgoing = Outgoing::watched(MAX_AGE);
        outgoing.push(start, b"one".to_vec());
        outgoing.next(start);
        outgoing.wrote(start, 3);
        outgoing.push(start + ms(90), b"two".to_vec());
        // More is not handed over before that was read.
        assert!(!outgoing.look(start + ms(90), true));
        assert_eq!(outgoing.next(start + ms(90)), None);
        assert_eq!(outgoing.patience(start + ms(90)), Some(LOOK_EVERY));
        assert!(outgoing.look(start + ms(101), true));
        assert_eq!(
            (outgoing.counts.n_sent_bytes, outgoing.counts.n_dropped),
            (0, 1)
        );
        assert_eq!(outgoing.next(start + ms(101)), Some(&b"two"[..]));
        outgoing.wrote(start + ms(101), 3);
        assert!(!outgoing.look(start + ms(300), false), "it was read");
        assert_eq!(outgoing.counts.n_dropped, 1);
    }

    #[test]
    fn slow_line_gets_new_messages_and_none_late() {
        let start = listen::now();
        // It carries 120 bytes a second, and is given 400.
        let byte = Duration::from_secs(1) / 120;
        let mut outgoing = Outgoing::paced(MAX_AGE, byte, start);
        let (mut gone_at, mut n_begun) = (start, 0);
        for step in 0..5_000 {
            let now = start + ms(step);
            if step.is_multiple_of(10) {
                outgoing.push(now, step.to_be_bytes()[4..].to_vec());
            }
            while let Some(bytes) = outgoing.next(now) {
                let came = u64::from(u32::from_be_bytes(bytes.try_into().unwrap()));
                gone_at = gone_at.max(now);
                let age = gone_at - (start + ms(came));
                assert!(age <= MAX_AGE, "begun {age:?} after it came");
                gone_at += byte * 4;
                n_begun += 1;
                outgoing.wrote(now, 4);
            }
        }
        let n_most = 5 * 120 / 4;
        assert!((n_most - 5..=n_most + 5).contains(&n_begun), "{n_begun}");
        assert!(outgoing.waiting.len() <= 11, "{}", outgoing.waiting.len());
        assert!(outgoing.counts.n_dropped > 300, "{:?}", outgoing.counts);
    }
}

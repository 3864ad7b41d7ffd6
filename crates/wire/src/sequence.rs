//! Loss, by sequence numbers.
//!
//! A sender counts its messages. A [`Track`] follows the count of one sender and reports what is missing, what came late
//! and what came twice. It takes numbers and keeps a few hundred bytes; whose numbers they are is the caller's business.

/// How far back a number can be and still be classified: late or twice.
pub const WINDOW: u32 = 1_024;

/// A counter this low that falls back beyond the window has started anew, with the first messages perhaps lost.
const FRESH: u32 = 64;

/// So many old numbers in a row, and nothing else, mean a new count too.
const STRAYS: u32 = 8;

/// A jump ahead this far is no loss that a receiver could live through: the count is another.
const MAX_GAP: u32 = 1 << 28;

/// Words of the bitmap, one bit for each number of the window.
const WORDS: usize = (WINDOW / u64::BITS) as usize;

/// Follows the sequence numbers of one sender.
///
/// A message that is missing counts as lost until it comes late. A sender that falls back within the window, having
/// anew with its port and within its first thousand messages, cannot be distinguished from one whose messages come
/// twice.
#[derive(Clone, Debug)]
pub struct Track {
    highest: u32,
    /// Bit `n % WINDOW` is set if `n` was seen, for the window that ends with `highest`.
    seen: [u64; WORDS],
    /// How many numbers there were from the first to the highest, over all counts.
    expected: u64,
    /// What `expected` was when the present count started.
    before: u64,
    received: u64,
    duplicates: u64,
    late: u64,
    too_old: u64,
    restarts: u64,
    strays: Strays,
}

/// Old numbers in a row: the sign of a count that started anew beyond [`FRESH`].
#[derive(Clone, Copy, Debug, Default)]
struct Strays {
    last: u32,
    n_in_row: u32,
    /// What had been received when the row started. Another value ends the row, at no cost to what is in order.
    received: u64,
}

/// The result for a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Seen {
    /// The next one, or a further fragment of a message already seen.
    InOrder,
    /// A later one than the next.
    Gap {
        /// How many are missing before it.
        missing: u32,
    },
    /// One that had been counted as lost, or from before the first.
    Late,
    /// One that was seen before.
    Duplicate,
    /// The sender counts anew. What it sent in parts before will not be completed.
    Restarted,
    /// So old that it may be late or a duplicate.
    TooOld,
}

/// What a [`Track`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Different messages.
    pub received: u64,
    /// Messages that should have been there and were not, or not yet.
    pub lost: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Messages that came after a later one. They are among the received.
    pub late: u64,
    /// Messages so old that they may be late or duplicates. They are not among the received.
    pub too_old: u64,
    /// How often the sender started to count anew.
    pub restarts: u64,
}

impl Track {
    /// Starts with the first number seen of a sender, which counts as received.
    #[must_use]
    pub fn new(first: u32) -> Self {
        let mut track = Self {
            highest: first,
            seen: [0; WORDS],
            expected: 1,
            before: 0,
            received: 1,
            duplicates: 0,
            late: 0,
            too_old: 0,
            restarts: 0,
            strays: Strays::default(),
        };
        track.mark(first);
        track
    }

    /// Takes the number of a message in one datagram.
    #[inline]
    pub fn see(&mut self, sequence: u32) -> Seen {
        if sequence == self.highest.wrapping_add(1) {
            return self.advance(sequence);
        }
        self.see_other(sequence, Part::Whole)
    }

    /// Takes the number of a fragment. Fragments of one message share it, so a number seen before is no duplicate.
    #[inline]
    pub fn see_fragment(&mut self, sequence: u32) -> Seen {
        match sequence.wrapping_sub(self.highest) {
            0 => Seen::InOrder,
            1 => self.advance(sequence),
            _ => self.see_other(sequence, Part::Fragment),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Self {
            received,
            duplicates,
            late,
            too_old,
            restarts,
            ..
        } = *self;
        Counts {
            received,
            lost: self.expected - received,
            duplicates,
            late,
            too_old,
            restarts,
        }
    }

    #[inline]
    fn advance(&mut self, sequence: u32) -> Seen {
        self.highest = sequence;
        self.expected += 1;
        self.received += 1;
        self.mark(sequence);
        Seen::InOrder
    }

    #[cold]
    fn see_other(&mut self, sequence: u32, part: Part) -> Seen {
        let ahead = sequence.wrapping_sub(self.highest);
        let age = self.highest.wrapping_sub(sequence);
        match (ahead, age) {
            (_, age) if age < WINDOW => self.see_recent(sequence, age, part),
            (ahead, _) if ahead <= MAX_GAP => self.skip_to(sequence, ahead),
            (_, age) if age <= MAX_GAP => self.see_old(sequence, part),
            _ => self.restart(sequence),
        }
    }

    fn see_recent(&mut self, sequence: u32, age: u32, part: Part) -> Seen {
        if self.has(sequence) {
            return match part {
                Part::Whole => {
                    self.duplicates += 1;
                    Seen::Duplicate
                }
                Part::Fragment => Seen::InOrder,
            };
        }
        self.mark(sequence);
        self.received += 1;
        self.late += 1;
        // From before the first: the count is longer than it seemed.
        let span = self.expected - self.before;
        self.expected += (u64::from(age) + 1).saturating_sub(span);
        Seen::Late
    }

    fn skip_to(&mut self, sequence: u32, ahead: u32) -> Seen {
        for step in 1..ahead.min(WINDOW) {
            self.unmark(self.highest.wrapping_add(step));
        }
        if ahead > WINDOW {
            self.seen = [0; WORDS];
        }
        self.mark(sequence);
        self.highest = sequence;
        self.expected += u64::from(ahead);
        self.received += 1;
        Seen::Gap { missing: ahead - 1 }
    }

    fn see_old(&mut self, sequence: u32, part: Part) -> Seen {
        // A fragment with a low number may belong to a long message that was overtaken by many small ones.
        if part == Part::Whole && sequence < FRESH {
            return self.restart(sequence);
        }
        let strays = &mut self.strays;
        if strays.received != self.received {
            *strays = Strays {
                last: sequence,
                n_in_row: 1,
                received: self.received,
            };
        } else if strays.last != sequence {
            strays.last = sequence;
            strays.n_in_row += 1;
        }
        if strays.n_in_row >= STRAYS {
            return self.restart(sequence);
        }
        if part == Part::Whole {
            self.too_old += 1;
        }
        Seen::TooOld
    }

    fn restart(&mut self, sequence: u32) -> Seen {
        self.before = self.expected;
        self.expected += 1;
        self.received += 1;
        self.restarts += 1;
        self.highest = sequence;
        self.seen = [0; WORDS];
        self.mark(sequence);
        Seen::Restarted
    }

    #[inline]
    fn has(&self, sequence: u32) -> bool {
        let (word, bit) = place(sequence);
        self.seen.get(word).is_some_and(|seen| seen & bit != 0)
    }

    #[inline]
    fn mark(&mut self, sequence: u32) {
        let (word, bit) = place(sequence);
        if let Some(seen) = self.seen.get_mut(word) {
            *seen |= bit;
        }
    }

    fn unmark(&mut self, sequence: u32) {
        let (word, bit) = place(sequence);
        if let Some(seen) = self.seen.get_mut(word) {
            *seen &= !bit;
        }
    }
}

/// Whether a datagram holds a message or a part of one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Fragment,
}

/// The word and the bit of a number in the bitmap.
#[inline]
fn place(sequence: u32) -> (usize, u64) {
    (
        (sequence / u64::BITS) as usize % WORDS,
        1 << (sequence % u64::BITS),
    )
}

#[cfg(test)]
mod tests;

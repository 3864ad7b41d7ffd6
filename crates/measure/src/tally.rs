//! Counting what arrives.

use crate::payload::{END, WARM_UP, header, sum};
use crate::sys::now_ns;

/// What a receiver has seen.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    unique: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    /// Of the unique ones, those that had come by then.
    unique_at_last: u64,
    sum: u64,
    /// Per client: which sequence numbers came.
    seen: Vec<Vec<u64>>,
    /// How many senders there are, and a bit for each whose end marker came.
    n_senders: u32,
    ended: u64,
    /// Of echoes only.
    round_trips_ns: Vec<u64>,
}

/// What to do after a message.
#[derive(PartialEq)]
pub(crate) enum Next {
    Message,
    End,
}

impl Tally {
    pub(crate) fn new(n_senders: usize) -> Self {
        let n_senders = u32::try_from(n_senders).unwrap_or(u32::MAX);
        Self {
            n_senders,
            ..Self::default()
        }
    }

    /// Counts a message.
    pub(crate) fn count(&mut self, message: &[u8]) -> Next {
        let Some((sequence, _, client)) = header(message) else {
            return Next::Message;
        };
        if sequence == WARM_UP {
            return Next::Message;
        }
        if sequence == END {
            self.ended |= 1_u64
                .checked_shl(u32::try_from(client).unwrap_or(u32::MAX))
                .unwrap_or(0);
            let is_last = self.ended.count_ones() >= self.n_senders;
            return if is_last { Next::End } else { Next::Message };
        }
        self.received += 1;
        self.bytes += message.len() as u64;
        self.sum = self.sum.wrapping_add(sum(message));
        self.unique += u64::from(self.is_new(client, sequence));
        // Reading the clock costs a fifth of what a batched message costs, so not for each small one.
        if self.first_ns == 0 || message.len() > 10_000 || self.received.is_multiple_of(16) {
            self.last_ns = now_ns();
            self.unique_at_last = self.unique;
        }
        if self.first_ns == 0 {
            self.first_ns = self.last_ns;
        }
        Next::Message
    }

    /// Counts an echo and how long it was away.
    pub(crate) fn count_echo(&mut self, message: &[u8]) -> Next {
        let now = now_ns();
        if let Some((sequence, sent_ns, _)) = header(message)
            && sequence != END
            && sequence != WARM_UP
        {
            self.round_trips_ns.push(now.saturating_sub(sent_ns));
        }
        self.count(message)
    }

    fn is_new(&mut self, client: u64, sequence: u64) -> bool {
        // A worker numbers from 0 and has few clients: anything else is not ours.
        let (Ok(client), Ok(sequence)) = (usize::try_from(client), usize::try_from(sequence))
        else {
            return false;
        };
        if client >= 64 || sequence >= 1 << 30 {
            return false;
        }
        if self.seen.len() <= client {
            self.seen.resize(client + 1, Vec::new());
        }
        let (word, bit) = (sequence / 64, 1_u64 << (sequence % 64));
        let Some(seen) = self.seen.get_mut(client) else {
            return false;
        };
        if seen.len() <= word {
            seen.resize((word + 1).next_power_of_two(), 0);
        }
        seen.get_mut(word).is_some_and(|seen| {
            let is_new = *seen & bit == 0;
            *seen |= bit;
            is_new
        })
    }

    pub(crate) fn report(&mut self) -> Vec<(&'static str, u64)> {
        self.round_trips_ns.sort_unstable();
        let times = &self.round_trips_ns;
        let at = |percent: usize| {
            times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)))
        };
        let at = |percent| at(percent).copied().unwrap_or(0);
        let mean = times.iter().sum::<u64>() / (times.len() as u64).max(1);
        vec![
            ("received", self.received),
            ("unique", self.unique),
            ("bytes", self.bytes),
            ("first_ns", self.first_ns),
            ("last_ns", self.last_ns),
            ("unique_at_last", self.unique_at_last),
            ("mean_ns", mean),
            ("p50_ns", at(50)),
            ("p99_ns", at(99)),
            ("max_ns", at(100)),
            ("sum", self.sum),
        ]
    }
}

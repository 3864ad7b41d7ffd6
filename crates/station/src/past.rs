//! The past of a channel: enough of it to draw a track or a curve, whatever the length of the mission.
//!
//! When it is full every other message is left out, and from then on only every second, fourth, eighth … one is kept: so
//! what is kept is spread evenly over all the time that there was.

use crate::board::Message;
use std::collections::VecDeque;

/// So many messages of a channel are kept at most, and so many bytes of them.
const MAX_MESSAGES: usize = 2_048;
const MAX_BYTES: usize = 256 << 10;
/// Longer ones are pictures and maps, of which the last is enough.
const MAX_MESSAGE: usize = 4 << 10;

/// Some of the messages that came, in their order.
#[derive(Debug, Default)]
pub(crate) struct Past {
    kept: VecDeque<Message>,
    n_bytes: usize,
    /// One of so many is kept.
    every: u64,
    n_offered: u64,
}

impl Past {
    /// Takes a message, if its turn has come. Returns how many bytes are kept now.
    pub(crate) fn offer(&mut self, message: &Message) -> usize {
        let every = self.every.max(1);
        let is_due = self.n_offered.is_multiple_of(every);
        self.n_offered += 1;
        if is_due && message.payload.len() <= MAX_MESSAGE {
            self.n_bytes += message.payload.len();
            self.kept.push_back(message.clone());
            if self.kept.len() > MAX_MESSAGES || self.n_bytes > MAX_BYTES {
                self.thin();
            }
        }
        self.n_bytes
    }

    /// Leaves out every other message.
    pub(crate) fn thin(&mut self) {
        let mut is_kept = false;
        self.kept.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.n_bytes = self.kept.iter().map(|it| it.payload.len()).sum();
        self.every = self.every.max(1).saturating_mul(2);
        self.n_offered = 1;
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// At most `n` of them, evenly, the newest among them.
    pub(crate) fn sample(&self, n: usize) -> impl Iterator<Item = &Message> {
        let n = n.min(self.kept.len());
        let n_kept = self.kept.len();
        (1..=n).filter_map(move |i| self.kept.get(n_kept * i / n - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn message(utime: i64, len: usize) -> Message {
        Message {
            utime,
            payload: Bytes::from(vec![0; len]),
        }
    }

    #[test]
    fn a_day_at_ten_hertz_is_kept_evenly_and_in_bounds() {
        let mut past = Past::default();
        for i in 0..864_000 {
            assert!(past.offer(&message(i, 100)) <= MAX_BYTES + 100);
        }
        let utimes: Vec<i64> = past.sample(1_000).map(|it| it.utime).collect();
        assert_eq!(utimes.len(), 1_000);
        assert!(utimes.is_sorted_by(|a, b| a < b));
        let longest = utimes.windows(2).map(|it| it[1] - it[0]).max().unwrap();
        assert!(longest <= 3 * 864, "{longest}");
        assert!(*utimes.last().unwrap() > 863_000);
        assert!(*utimes.first().unwrap() < 3_000);
    }

    #[test]
    fn pictures_are_not_kept() {
        let mut past = Past::default();
        assert_eq!(past.offer(&message(1, MAX_MESSAGE + 1)), 0);
        assert_eq!(past.sample(10).count(), 0);
    }
}

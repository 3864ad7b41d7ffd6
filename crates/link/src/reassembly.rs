//! Messages out of their parts: at most one at a time for each stream, within bounds.
//!
//! A sender sends the parts of a stream's messages one message after the other, so parts of a newer one mean that the older
//! one will not be whole any more. A message is delivered from bytes that arrived, or not at all.

use crate::packet::{BLOCK_LEN, Data};
use bytes::Bytes;

/// The parts of one message.
#[derive(Debug)]
pub(crate) struct Partial {
    message: u32,
    bytes: Vec<u8>,
    has: Vec<bool>,
    n_missing: usize,
    /// Known once the last part is here.
    len: Option<usize>,
}

/// What came of a part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is kept; others are missing.
    Kept,
    /// The message is whole.
    Whole(Bytes),
    /// It contradicts what is here, or its stream.
    Refused,
}

impl Partial {
    /// For the first part of a message that arrives; `None` if the message is larger than `max_bytes`.
    pub(crate) fn new(data: &Data<'_>, max_bytes: usize) -> Option<Self> {
        let n_blocks = usize::from(data.n_blocks);
        // The last block may be short, and all others are full.
        ((n_blocks - 1) * BLOCK_LEN < max_bytes).then(|| Self {
            message: data.message,
            bytes: Vec::new(),
            has: vec![false; n_blocks],
            n_missing: n_blocks,
            len: None,
        })
    }

    pub(crate) fn message(&self) -> u32 {
        self.message
    }

    pub(crate) fn put(&mut self, data: &Data<'_>) -> Put {
        let start = usize::from(data.first_block);
        let n_new = data.payload.len().div_ceil(BLOCK_LEN);
        let end = start + n_new;
        let is_last = end == self.has.len();
        let is_full = data.payload.len().is_multiple_of(BLOCK_LEN);
        if usize::from(data.n_blocks) != self.has.len()
            || data.message != self.message
            || end > self.has.len()
            || n_new == 0
            || !(is_last || is_full)
        {
            return Put::Refused;
        }
        let (from, to) = (start * BLOCK_LEN, start * BLOCK_LEN + data.payload.len());
        if is_last && self.len.is_some_and(|len| len != to) {
            return Put::Refused;
        }
        if is_last {
            self.len = Some(to);
        }
        // Memory follows what arrived, up to where it arrived.
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        if let Some(place) = self.bytes.get_mut(from..to) {
            place.copy_from_slice(data.payload);
        }
        for has in self.has.iter_mut().take(end).skip(start) {
            self.n_missing -= usize::from(!*has);
            *has = true;
        }
        match self.n_missing {
            0 => Put::Whole(std::mem::take(&mut self.bytes).into()),
            _ => Put::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first_block: u16, n_blocks: u16, payload: &[u8]) -> Data<'_> {
        Data {
            keep: 0,
            is_urgent: false,
            stream: 1,
            message: 5,
            age_us: 0,
            left_us: 0,
            first_block,
            n_blocks,
            payload,
        }
    }

    #[test]
    fn parts_in_any_order_and_twice_make_the_message() {
        let message: Vec<u8> = (0..200).collect();
        let parts = [(3, 192..200), (0, 0..64), (0, 0..64), (1, 64..192)];
        let mut partial = Partial::new(&part(3, 4, &message[192..]), 1_000).expect("it fits");
        let mut outcomes = Vec::new();
        for (first, range) in parts {
            outcomes.push(partial.put(&part(first, 4, &message[range])));
        }
        assert_eq!(outcomes.pop(), Some(Put::Whole(message.into())));
        assert!(outcomes.iter().all(|it| *it == Put::Kept));
    }

    #[test]
    fn what_contradicts_is_refused_and_changes_nothing() {
        let block = [7; 64];
        let mut partial = Partial::new(&part(0, 3, &block), 1_000).expect("it fits");
        assert_eq!(partial.put(&part(2, 3, &block[..10])), Put::Kept);
        let other = Data {
            message: 6,
            ..part(0, 3, &block)
        };
        let bad = [
            part(0, 4, &block),
            part(2, 3, &block[..11]),
            part(0, 3, &block[..63]),
            part(0, 3, &[]),
            part(2, 3, &[0; 128]),
            other,
        ];
        for data in bad {
            assert_eq!(partial.put(&data), Put::Refused, "{data:?}");
        }
        assert_eq!(partial.put(&part(0, 3, &block)), Put::Kept);
        let whole = [vec![7; 128], vec![7; 10]].concat();
        assert_eq!(partial.put(&part(1, 3, &block)), Put::Whole(whole.into()));
    }

    #[test]
    fn a_message_that_is_too_large_is_not_begun() {
        assert!(Partial::new(&part(0, 17, &[0; 64]), 1_024).is_none());
        assert!(Partial::new(&part(0, 16, &[0; 64]), 1_024).is_some());
    }
}

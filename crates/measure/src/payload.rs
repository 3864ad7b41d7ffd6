//! What is in a message.
//!
//! ```text
//! 0        8               16              24
//! ┌────────┬───────────────┬───────────────┬─────────────────────────────┐
//! │sequence│ sent, ns      │ echoed by     │ anything; read once, summed │
//! └────────┴───────────────┴───────────────┴─────────────────────────────┘
//! ```
//!
//! Little endian; the time is `CLOCK_MONOTONIC`, which all processes of a machine share.

/// Bytes before the filling.
pub(crate) const HEADER: usize = 24;

/// The sequence number of the marker after the last message.
pub(crate) const END: u64 = u64::MAX;

/// The sequence number of messages that only make sure that everything is in place.
pub(crate) const WARM_UP: u64 = u64::MAX - 1;

pub(crate) fn message(size: usize) -> Vec<u8> {
    let mut message: Vec<u8> = (0..=255).cycle().take(size).collect();
    stamp(&mut message, 0, 0);
    stamp_client(&mut message, 0);
    message
}

pub(crate) fn stamp(message: &mut [u8], sequence: u64, sent_ns: u64) {
    if let Some((head, _)) = message.split_first_chunk_mut::<16>() {
        let (first, second) = head.split_at_mut(8);
        first.copy_from_slice(&sequence.to_le_bytes());
        second.copy_from_slice(&sent_ns.to_le_bytes());
    }
}

pub(crate) fn stamp_client(message: &mut [u8], client: u64) {
    if let Some(field) = message.get_mut(16..24) {
        field.copy_from_slice(&client.to_le_bytes());
    }
}

/// Sequence, time and client.
pub(crate) fn header(message: &[u8]) -> Option<(u64, u64, u64)> {
    let word = |at: usize| Some(u64::from_le_bytes(*message.get(at..)?.first_chunk()?));
    Some((word(0)?, word(8)?, word(16)?))
}

/// Reads every byte, so that memory that was only mapped is not free.
pub(crate) fn sum(message: &[u8]) -> u64 {
    let (words, rest) = message.as_chunks::<8>();
    let words = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .fold(0, u64::wrapping_add);
    rest.iter()
        .fold(words, |sum, &byte| sum.wrapping_add(u64::from(byte)))
}

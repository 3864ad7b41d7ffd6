//! Bytes to text, fast. The only file of this crate that may use `unsafe`.
//!
//! Most strings in messages are short ASCII names. The standard library's validation takes as long as the rest of
//! their decoding; a check of one or two words does not (2026-11, AMD EPYC, `path_t` with 50 waypoints, borrowed: 46 % of
//! the time before).
#![expect(
    unsafe_code,
    reason = "text that is known to be ASCII has no safe spelling without a second check"
)]

use core::str::Utf8Error;

/// The text that `bytes` are, if they are UTF-8.
#[inline]
pub(crate) fn from_utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if is_short_ascii(bytes) {
        // SAFETY: every byte is below 0x80, and so each is the UTF-8 of one character.
        return Ok(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes)
}

/// Whether these are at most 64 bytes, all of them ASCII.
#[inline]
fn is_short_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // Two words that may overlap cover all the lengths from one to two words.
    let all_bits = match bytes {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(*a | *b),
        [a, b, c] => u64::from(*a | *b | *c),
        _ if bytes.len() <= 8 => match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => {
                u64::from(u32::from_le_bytes(*first) | u32::from_le_bytes(*last))
            }
            _ => HIGH_BITS,
        },
        _ if bytes.len() <= 16 => match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) => u64::from_le_bytes(*first) | u64::from_le_bytes(*last),
            _ => HIGH_BITS,
        },
        _ if bytes.len() <= 64 => {
            let (words, _) = bytes.as_chunks();
            let last = bytes
                .last_chunk()
                .map_or(HIGH_BITS, |last| u64::from_le_bytes(*last));
            words
                .iter()
                .fold(last, |all, word| all | u64::from_le_bytes(*word))
        }
        _ => HIGH_BITS,
    };
    all_bits & HIGH_BITS == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_high_bit_is_seen_at_every_place_of_every_short_length() {
        for len in 0..=70 {
            let text = vec![b'a'; len];
            assert_eq!(is_short_ascii(&text), len <= 64, "{len}");
            for at in 0..len {
                let mut text = text.clone();
                *text.get_mut(at).unwrap() = 0x80;
                assert!(!is_short_ascii(&text), "{at} of {len}");
                assert!(from_utf8(&text).is_err());
            }
        }
    }

    #[test]
    fn text_validity_equals_the_standard_librarys() {
        for text in [
            "",
            "a",
            "wp0001",
            "a longer name than sixteen",
            "été",
            "日本語",
            "wp\0x",
        ] {
            assert_eq!(from_utf8(text.as_bytes()), Ok(text));
        }
    }
}

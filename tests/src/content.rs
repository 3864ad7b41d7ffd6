//! What messages hold, so that a receiver with the seed knows what must arrive.
//!
//! Every end of a bus fills a message by the same rule, in C, Java and Python too, so that this is no
//! [`bowline_wire::random`]: 64-bit words of xorshift64*, least byte first, repeated after a while. The period keeps
//! large messages cheap in languages that are slow at arithmetic. It is a prime, so that pieces of a message that change
//! places change the digest.

/// How many words there are before they repeat.
const PERIOD_WORDS: usize = 65_521;
/// Keeps neighbouring indices apart, and stands in for the one state that xorshift cannot leave.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bytes of message `index`.
#[must_use]
pub fn content(seed: u64, index: u64, size: usize) -> Vec<u8> {
    let mut x = match seed.wrapping_add(index.wrapping_mul(STEP)) {
        0 => STEP,
        start => start,
    };
    let mut bytes = Vec::with_capacity(size + 8);
    for _ in 0..size.div_ceil(8).min(PERIOD_WORDS) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        bytes.extend_from_slice(&x.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(size);
    while bytes.len() < size {
        let n = (8 * PERIOD_WORDS).min(size - bytes.len());
        bytes.extend_from_within(..n);
    }
    bytes
}

/// The CRC-32 of zlib: Python and Java have it built in, and C needs a dozen lines.
#[must_use]
pub fn digest(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(!0, |crc: u32, byte| {
        TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the index is below 256, and try_from is not const"
)]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < table.len() {
        let mut c = i as u32;
        let mut bit = 0;
        while bit < 8 {
            c = if c & 1 == 1 {
                0xedb8_8320 ^ (c >> 1)
            } else {
                c >> 1
            };
            bit += 1;
        }
        table[i] = c;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{PERIOD_WORDS, content, digest};

    #[test]
    fn the_digest_is_the_crc_of_zlib() {
        assert_eq!(digest(b"123456789"), 0xcbf4_3926);
        assert_eq!(digest(b""), 0);
    }

    #[test]
    fn content_differs_by_seed_and_index_and_repeats_after_its_period() {
        let period = 8 * PERIOD_WORDS;
        let long = content(1, 2, 2 * period + 3);
        assert_eq!(long[..period], long[period..2 * period]);
        assert_eq!(long[..3], long[2 * period..]);
        assert_eq!(content(1, 2, 100), long[..100]);
        assert_ne!(content(1, 3, 100), long[..100]);
        assert_ne!(content(2, 2, 100), long[..100]);
    }
}

//! Frames by name, in one look-up.

use super::FrameId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// `Body:Frame` to frame, and back.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    ids: HashMap<Box<str>, FrameId, BuildHasherDefault<WordHasher>>,
    texts: Vec<Box<str>>,
}

impl Names {
    /// Of all frames, in their order.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let texts: Vec<Box<str>> = texts.into_iter().map(Into::into).collect();
        let ids = (0..).map(FrameId);
        Self {
            ids: texts.iter().cloned().zip(ids).collect(),
            texts,
        }
    }

    #[inline]
    pub(super) fn find(&self, name: &str) -> Option<FrameId> {
        self.ids.get(name).copied()
    }

    pub(super) fn of(&self, frame: FrameId) -> &str {
        self.texts
            .get(frame.0 as usize)
            .map_or("", |text| text.as_ref())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(AsRef::as_ref)
    }
}

/// Eight bytes at a time. Names come from the robot's own files, and there are few enough of them that even a file
/// made to collide does no harm, so what std's hasher costs buys nothing here.
#[derive(Clone, Copy, Debug, Default)]
struct WordHasher(u64);

impl WordHasher {
    /// An odd number without pattern: the fraction of the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(Self::FACTOR);
    }
}

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        let mut last = 0;
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        self.add(last);
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The best bits of a product are its high ones; a table looks at both ends.
        self.0 ^ self.0 >> 29
    }
}

//! A serial line as a driver sees it, and frames out of its bytes.

use crate::counts::Counts;
use bowline_component::Time;

/// The line to a device during one step: what came, what goes, and when to look again.
#[derive(Debug)]
pub struct Line<'a> {
    received: &'a [u8],
    to_send: Vec<u8>,
    wake_at: Option<Time>,
}

impl<'a> Line<'a> {
    /// With the bytes that came since the last step.
    #[must_use]
    pub fn new(received: &'a [u8]) -> Self {
        Self {
            received,
            to_send: Vec::new(),
            wake_at: None,
        }
    }

    /// The bytes that came; none, where time alone has passed.
    #[must_use]
    pub fn received(&self) -> &'a [u8] {
        self.received
    }

    /// Sends bytes to the device.
    pub fn send(&mut self, bytes: &[u8]) {
        self.to_send.extend_from_slice(bytes);
    }

    /// Asks for a step at that moment, whether anything comes or not. The earliest counts.
    pub fn wake_at(&mut self, moment: Time) {
        self.wake_at = Some(self.wake_at.map_or(moment, |earlier| earlier.min(moment)));
    }

    /// What goes to the device, and when it wants to be looked at again.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Option<Time>) {
        (self.to_send, self.wake_at)
    }
}

/// How frames look on a line: something to begin with, something to end with, and neither within.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes that begin a frame; none: whatever may stand within one.
    pub begins: &'static [u8],
    /// Bytes that end it.
    pub ends: &'static [u8],
    /// Bytes that may stand between frames.
    pub between: &'static [u8],
    /// Whether what is between begin and end can have this byte.
    pub is_inner: fn(u8) -> bool,
    /// No frame is longer, without its begin and end.
    pub max_len: usize,
}

/// Cuts the bytes of a line into frames, however they are spread over reads. It holds one frame at most.
#[derive(Debug)]
pub struct Splitter {
    shape: Shape,
    frame: Vec<u8>,
    is_inside: bool,
}

impl Splitter {
    /// For frames of a shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            frame: Vec::new(),
            is_inside: false,
        }
    }

    /// Takes bytes, and gives the frames that are now whole: without what they end with, with what they began with.
    /// Frames that break off and bytes between frames are counted.
    pub fn split(&mut self, bytes: &[u8], counts: &mut Counts) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        for &byte in bytes {
            let is_anything = self.shape.begins.is_empty() && !self.is_inside;
            if self.shape.begins.contains(&byte) || (is_anything && (self.shape.is_inner)(byte)) {
                self.break_off(counts);
                self.is_inside = true;
                self.frame.push(byte);
            } else if !self.is_inside {
                let is_expected = self.shape.between.contains(&byte);
                counts.n_garbage_bytes += u64::from(!is_expected);
            } else if self.shape.ends.contains(&byte) {
                self.is_inside = false;
                frames.push(std::mem::take(&mut self.frame));
            } else if self.frame.len() > self.shape.max_len || !(self.shape.is_inner)(byte) {
                self.break_off(counts);
                counts.n_garbage_bytes += 1;
            } else {
                self.frame.push(byte);
            }
        }
        frames
    }

    /// Forgets what is not whole yet: what comes next has nothing to do with it.
    pub fn break_off(&mut self, counts: &mut Counts) {
        if self.is_inside {
            counts.n_malformed += 1;
        }
        self.is_inside = false;
        self.frame.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        begins: b"$",
        ends: b"\r\n",
        between: b"\r\n",
        is_inner: |byte| byte.is_ascii_graphic(),
        max_len: 8,
    };

    #[test]
    fn lines_without_a_beginning_begin_with_whatever_comes() {
        let shape = Shape {
            begins: b"",
            ..SHAPE
        };
        let (mut splitter, mut counts) = (Splitter::new(shape), Counts::default());
        let mut frames = splitter.split(b"on", &mut counts);
        frames.extend(splitter.split(b"e\r\n\xfftwo\rth\xffree\n123456789x\r", &mut counts));
        let expected: [&[u8]; 3] = [b"one", b"two", b"ree"];
        assert_eq!(frames, expected);
        assert_eq!((counts.n_malformed, counts.n_garbage_bytes), (2, 3));
    }

    #[test]
    fn frames_come_out_whole_however_their_bytes_are_spread() {
        let text = b"x$one\r\n\xff$tw$three\r\n$123456789\r\n$four\n$fi";
        let expected: [&[u8]; 3] = [b"$one", b"$three", b"$four"];
        for n_at_once in 1..=text.len() {
            let (mut splitter, mut counts) = (Splitter::new(SHAPE), Counts::default());
            let chunks = text.chunks(n_at_once);
            let frames: Vec<Vec<u8>> = chunks
                .flat_map(|chunk| splitter.split(chunk, &mut counts))
                .collect();
            assert_eq!(frames, expected, "{n_at_once} at a time");
            assert_eq!(
                (counts.n_malformed, counts.n_garbage_bytes),
                (2, 3),
                "$tw and the long one, x and FF and what is beyond the longest"
            );
        }
    }
}

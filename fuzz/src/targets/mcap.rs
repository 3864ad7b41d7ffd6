//! Any bytes are decoded as MCAP to their end, in windows of any size, and no window is larger than the bytes need.

use bowline_format::mcap::{Decoder, Needed, Window};
use bowline_format::{Damages, LogEvent, OwnedEvent};

/// Bytes in memory, of which a decoder sees a window.
struct Input<'a> {
    bytes: &'a [u8],
    /// How many bytes more than it asks for it gets.
    n_extra: usize,
    at: usize,
    end: usize,
}

impl Input<'_> {
    fn drive<T>(
        &mut self,
        decoder: &mut Decoder,
        mut work: impl FnMut(&mut Decoder, Window<'_>) -> Result<T, Needed>,
    ) -> T {
        loop {
            let window = Window {
                offset: self.at as u64,
                bytes: &self.bytes[self.at..self.end],
                size: self.bytes.len() as u64,
            };
            let needed = match work(decoder, window) {
                Ok(done) => return done,
                Err(needed) => needed,
            };
            let start = usize::try_from(needed.offset).expect("a place in the input");
            let end = start + usize::try_from(needed.n_bytes).expect("a part of the input");
            assert!(
                start < end && end <= self.bytes.len(),
                "{needed:?} is not in the input"
            );
            assert!(
                start < self.at || end > self.end,
                "{needed:?} is in the window already"
            );
            (self.at, self.end) = (start, self.bytes.len().min(end + self.n_extra));
        }
    }
}

fn decode(bytes: &[u8], n_extra: usize) -> (Vec<OwnedEvent>, Damages) {
    let mut input = Input {
        bytes,
        n_extra,
        at: 0,
        end: 0,
    };
    let mut decoder = Decoder::new();
    input.drive(&mut decoder, Decoder::learn_directory);
    let mut events = Vec::new();
    while let Some(found) = input.drive(&mut decoder, Decoder::next) {
        events.push(LogEvent::to_owned(decoder.event(&found)));
    }
    if let Some(last) = events.last() {
        input.drive(&mut decoder, |decoder, window| {
            decoder.seek_to(last.utime, window)
        });
        let found = input.drive(&mut decoder, Decoder::next);
        let is_late = found.is_none_or(|found| decoder.event(&found).utime >= last.utime);
        assert!(is_late, "an event before the time that was sought");
        decoder.rewind();
        while input.drive(&mut decoder, Decoder::next).is_some() {}
    }
    (events, decoder.damages().clone())
}

pub(crate) fn run(bytes: &[u8]) {
    let exact = decode(bytes, 0);
    assert_eq!(exact, decode(bytes, 7), "windows change nothing");
    assert_eq!(exact, decode(bytes, bytes.len()), "windows change nothing");
}

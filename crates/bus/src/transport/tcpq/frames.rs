//! From a stream's bytes to whole frames, for clients and the hub alike.
//!
//! No sockets here: the caller appends what arrived. Memory follows that, not what a peer claims.

use bowline_wire::tcpq::{self, BadFrame, BadHello, Frame, HELLO_LEN, Limits, Part, Side};
use bytes::{Bytes, BytesMut};

/// How much is read at once, unless a frame is known to be larger.
const CHUNK: usize = 64 << 10;
/// And then: so that one large frame does not keep all others waiting.
const LARGE_CHUNK: usize = 1 << 20;
/// Frames from this size on keep the memory they arrived in. Smaller ones would keep the chunk around them too.
const KEPT_WHOLE: usize = CHUNK / 4;
/// A name that is too long, but not longer than this, costs its frame and not the connection.
const MAX_SKIPPED_NAME: usize = CHUNK;

/// Takes a stream apart.
#[derive(Debug)]
pub(crate) struct FrameReader {
    /// Whose stream it is.
    side: Side,
    limits: Limits,
    buffer: BytesMut,
    /// The contents of the hello, once it came.
    version: Option<u32>,
}

impl FrameReader {
    /// For what `side` sends.
    pub(crate) fn new(side: Side, limits: Limits) -> Self {
        Self {
            side,
            limits,
            buffer: BytesMut::new(),
            version: None,
        }
    }

    /// Where to append what arrives, and how much of it at most.
    pub(crate) fn room(&mut self) -> (&mut BytesMut, usize) {
        let n_held = self.buffer.len();
        let n_known = self.version.map_or(0, |_| tcpq::known_len(&self.buffer));
        let n_wanted = match n_known.saturating_sub(n_held) {
            // A large frame gets memory of its own: nothing beyond its end is read into it.
            missing if n_known > CHUNK => missing.min(n_held.clamp(CHUNK, LARGE_CHUNK)),
            _ => CHUNK,
        };
        (&mut self.buffer, n_wanted.max(1))
    }

    /// The version of the hello, once it came.
    pub(crate) fn version(&self) -> Option<u32> {
        self.version
    }

    /// The next frame, if it is there as a whole.
    pub(crate) fn next(&mut self) -> Result<Option<WholeFrame>, BadStream> {
        if self.version.is_none() {
            self.version = self.side.read_hello(&self.buffer)?;
            if self.version.is_none() {
                return Ok(None);
            }
            drop(self.buffer.split_to(HELLO_LEN));
        }
        let (frame, length) = match tcpq::parse(&self.buffer, &self.limits) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(fault) => return self.skip(fault),
        };
        let whole = match frame {
            Frame::Publish { channel, .. } => {
                let channel_len = channel.len();
                let bytes = self.buffer.split_to(length).freeze();
                WholeFrame::Publish(Published { bytes, channel_len })
            }
            Frame::Subscribe { pattern } => WholeFrame::Subscribe(pattern.to_owned()),
            Frame::Unsubscribe { pattern } => WholeFrame::Unsubscribe(pattern.to_owned()),
        };
        if !matches!(whole, WholeFrame::Publish(_)) {
            drop(self.buffer.split_to(length));
        }
        self.tidy();
        Ok(Some(whole))
    }

    /// Leaves out a frame that cannot be used, once it is there as a whole: its lengths still give where the next one
    /// begins, as long as they can be believed.
    fn skip(&mut self, fault: BadFrame) -> Result<Option<WholeFrame>, BadStream> {
        let is_sound = match &fault {
            BadFrame::NotUtf8 { .. } => true,
            BadFrame::TooLong { part, found, .. } => {
                let is_name = matches!(part, Part::Channel | Part::Pattern);
                is_name && usize::try_from(*found).is_ok_and(|found| found <= MAX_SKIPPED_NAME)
            }
            BadFrame::Kind { .. } => false,
        };
        let length = tcpq::known_len(&self.buffer);
        let most = MAX_SKIPPED_NAME
            .saturating_add(self.limits.payload_len)
            .saturating_add(CHANNEL_AT + 4);
        if !is_sound || length > most {
            return Err(fault.into());
        }
        if self.buffer.len() < length {
            return Ok(None);
        }
        drop(self.buffer.split_to(length));
        self.tidy();
        Ok(Some(WholeFrame::Unusable(fault)))
    }

    /// Keeps nothing of a large frame.
    fn tidy(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > 2 * CHUNK {
            self.buffer = BytesMut::new();
        }
    }
}

/// A frame that came as a whole.
#[derive(Debug)]
pub(crate) enum WholeFrame {
    Publish(Published),
    Subscribe(String),
    Unsubscribe(String),
    /// One that breaks a rule, but ends where it should.
    Unusable(BadFrame),
}

/// A message, still in its frame: it goes to a hub and from a hub in the same form.
#[derive(Debug)]
pub(crate) struct Published {
    bytes: Bytes,
    channel_len: usize,
}

/// Kind and length come before the channel, and another length after it.
const CHANNEL_AT: usize = 8;

impl Published {
    pub(crate) fn channel(&self) -> &str {
        let channel = self.bytes.get(CHANNEL_AT..CHANNEL_AT + self.channel_len);
        // The parser checked it.
        std::str::from_utf8(channel.unwrap_or_default()).unwrap_or_default()
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload_at()..).unwrap_or_default()
    }

    /// The payload to keep as it is, if that does not keep other memory too.
    pub(crate) fn large_payload(&self) -> Option<Bytes> {
        (self.bytes.len() >= KEPT_WHOLE).then(|| self.bytes.slice(self.payload_at()..))
    }

    /// The whole frame, to keep.
    pub(crate) fn into_frame(self) -> Bytes {
        if self.bytes.len() >= KEPT_WHOLE {
            return self.bytes;
        }
        Bytes::copy_from_slice(&self.bytes)
    }

    fn payload_at(&self) -> usize {
        CHANNEL_AT + self.channel_len + 4
    }
}

/// A stream that is not, or no longer, one of frames. There is no way to find the next frame: hang up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadStream {
    #[error(transparent)]
    Hello(#[from] BadHello),
    #[error(transparent)]
    Frame(#[from] BadFrame),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(payload_len: usize) -> Vec<u8> {
        let mut bytes = Side::Client.hello().to_vec();
        let payload = vec![7; payload_len];
        for frame in [
            Frame::Subscribe { pattern: "A.*" },
            Frame::Publish {
                channel: "AB",
                payload: &payload,
            },
            Frame::Unsubscribe { pattern: "A.*" },
        ] {
            frame.write(&mut bytes).unwrap();
        }
        bytes
    }

    /// Feeds a stream in pieces of at most `step` bytes, and returns what came out.
    fn read(stream: &[u8], step: usize) -> Vec<String> {
        let mut reader = FrameReader::new(Side::Client, Limits::default());
        let mut said = Vec::new();
        let mut rest = stream;
        while !rest.is_empty() {
            let (buffer, max) = reader.room();
            let (now, later) = rest.split_at(max.min(step).min(rest.len()));
            buffer.extend_from_slice(now);
            rest = later;
            while let Some(frame) = reader.next().unwrap() {
                said.push(match frame {
                    WholeFrame::Publish(message) => {
                        let sum: usize = message
                            .payload()
                            .iter()
                            .map(|byte| usize::from(*byte))
                            .sum();
                        format!("{} {sum}", message.channel())
                    }
                    WholeFrame::Subscribe(pattern) => format!("+{pattern}"),
                    WholeFrame::Unsubscribe(pattern) => format!("-{pattern}"),
                    WholeFrame::Unusable(fault) => format!("!{fault}"),
                });
            }
        }
        assert!(
            reader.buffer.capacity() <= 2 * CHUNK,
            "nothing is kept of a large frame"
        );
        said
    }

    #[test]
    fn frames_come_out_whole_however_the_stream_is_cut() {
        for payload_len in [0, 100, KEPT_WHOLE, CHUNK, CHUNK + 1, 5 << 20] {
            let expected = [
                "+A.*".to_owned(),
                format!("AB {}", 7 * payload_len),
                "-A.*".to_owned(),
            ];
            let steps = if payload_len <= 100 {
                &[1, 2, 3, 7, 64, 1_000][..]
            } else {
                &[1_000, CHUNK, usize::MAX]
            };
            for step in steps {
                assert_eq!(
                    read(&stream(payload_len), *step),
                    expected,
                    "{payload_len} {step}"
                );
            }
        }
    }

    #[test]
    fn what_is_claimed_costs_no_memory_until_it_arrives() {
        let mut reader = FrameReader::new(Side::Client, Limits::default());
        let mut bytes = Side::Client.hello().to_vec();
        tcpq::write_publish_header("A", 200 << 20, &mut bytes).unwrap();
        reader.room().0.extend_from_slice(&bytes);
        assert!(reader.next().unwrap().is_none());
        let (_, max) = reader.room();
        assert!(max <= CHUNK, "{max}");
    }

    #[test]
    fn a_frame_that_breaks_a_rule_costs_itself_and_nothing_after_it() {
        let mut bytes = Side::Client.hello().to_vec();
        let long = "x".repeat(64);
        Frame::Publish {
            channel: &long,
            payload: &[7; 1_000],
        }
        .write(&mut bytes)
        .unwrap();
        Frame::Subscribe {
            pattern: &"y".repeat(5_000),
        }
        .write(&mut bytes)
        .unwrap();
        // Latin-1, as Java may send it.
        bytes.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 2, b'a', 0xE4, 0, 0, 0, 1, 7]);
        Frame::Subscribe { pattern: "A" }.write(&mut bytes).unwrap();
        for step in [1, 3, 64, 1_000, usize::MAX] {
            let expected = [
                "!expected a channel of at most 63 bytes, found one of 64",
                "!expected a pattern of at most 4096 bytes, found one of 5000",
                "!expected a channel in UTF-8, found something else after 1 bytes of it",
                "+A",
            ];
            assert_eq!(read(&bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn impossible_lengths_end_the_stream() {
        for claim in [
            &[0, 0, 0, 1, 0, 1, 0, 1][..],
            &[0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0, 0, 0, 1, 0, 0, 0, 1, 0xE4, 0x20, 0, 0, 0],
            &[0, 0, 0, 9],
        ] {
            let mut reader = FrameReader::new(Side::Client, Limits::default());
            reader.room().0.extend_from_slice(&Side::Client.hello());
            reader.room().0.extend_from_slice(claim);
            assert!(reader.next().is_err(), "{claim:?}");
        }
    }

    #[test]
    fn foreign_protocol_is_detected_at_once() {
        let mut reader = FrameReader::new(Side::Client, Limits::default());
        reader.room().0.extend_from_slice(b"GET / HTTP/1.1");
        let error = reader.next().unwrap_err().to_string();
        assert!(error.contains("expected an LCM client"), "{error}");
    }
}

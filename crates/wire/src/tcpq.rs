//! Frames of LCM's TCP protocol, between clients and a hub.
//!
//! ```text
//! hello        │ magic u32 │ version u32 │                                   each side, without waiting for the other's
//! publish      │ 1 u32 │ n u32 │ channel, n bytes │ m u32 │ payload, m bytes │    both ways
//! subscribe    │ 2 u32 │ n u32 │ pattern, n bytes │                             to the hub
//! unsubscribe  │ 3 u32 │ n u32 │ pattern, n bytes │                             to the hub
//! ```
//!
//! All numbers are big-endian; names have no NUL. The caller reads into a buffer that grows with what arrives, and
//! [`parse`] looks at the front of it. Lengths beyond the caller's [`Limits`] are errors, so what a peer merely claims
//! never costs memory. A stream has no way to resynchronise: after an error, hang up.

use alloc::vec::Vec;
use core::fmt;

/// The version that LCM's libraries send. liblcm ignores the hub's, and the hub does not look at hellos at all.
pub const VERSION: u32 = 0x0100;

/// The version that our hub sends: it confirms subscriptions. Other libraries do not look at a hub's version.
///
/// A subscription to a name that begins with [`CONFIRM_PREFIX`] is answered with an empty message on that channel, to
/// the client that asked and to no other. All it asked for before is then in force.
pub const CONFIRMING_VERSION: u32 = 0x0101;

/// What subscriptions begin with that only ask for an answer.
pub const CONFIRM_PREFIX: &str = "#!bowline_CONFIRM_";

/// Bytes of a hello.
pub const HELLO_LEN: usize = 8;

/// The longest channel that LCM's libraries take.
pub const MAX_CHANNEL_LEN: usize = 63;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that connected.
    Client,
    /// The hub.
    Server,
}

impl Side {
    fn magic(self) -> u32 {
        match self {
            Self::Client => 0x2876_17fb,
            Self::Server => 0x2876_17fa,
        }
    }

    /// The first bytes of this side.
    #[must_use]
    pub fn hello(self) -> [u8; HELLO_LEN] {
        self.hello_of_version(VERSION)
    }

    /// The same, with another version.
    #[must_use]
    pub fn hello_of_version(self, version: u32) -> [u8; HELLO_LEN] {
        let number = u64::from(self.magic()) << 32 | u64::from(version);
        number.to_be_bytes()
    }

    /// Reads the first bytes of this side: its version, or `None` while bytes are missing. Takes [`HELLO_LEN`] bytes.
    ///
    /// # Errors
    /// When it is no hello of this side, as soon as its first bytes show it.
    pub fn read_hello(self, bytes: &[u8]) -> Result<Option<u32>, BadHello> {
        let magic = self.magic().to_be_bytes();
        if magic
            .iter()
            .zip(bytes)
            .any(|(expected, found)| expected != found)
        {
            let mut found = [0; 4];
            found
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            return Err(BadHello { side: self, found });
        }
        let version = bytes.get(4..).and_then(<[u8]>::first_chunk);
        Ok(version.map(|version| u32::from_be_bytes(*version)))
    }
}

/// The other side does not use tcpq.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHello {
    /// Whose hello was expected.
    pub side: Side,
    /// What came, zeros for what did not come yet.
    pub found: [u8; 4],
}

impl fmt::Display for BadHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.side {
            Side::Client => "an LCM client",
            Side::Server => "an LCM hub",
        };
        let expected = self.side.magic();
        let found = u32::from_be_bytes(self.found);
        write!(
            f,
            "expected {who}, which begins with {expected:08x}, found {found:08x}: is something else on that port?"
        )
    }
}

impl core::error::Error for BadHello {}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message, to the hub or from it.
    Publish {
        /// Where.
        channel: &'a str,
        /// The message.
        payload: &'a [u8],
    },
    /// The client wants messages on channels that the pattern matches in full.
    Subscribe {
        /// A regular expression.
        pattern: &'a str,
    },
    /// The client no longer wants them.
    Unsubscribe {
        /// The same text that it subscribed with.
        pattern: &'a str,
    },
}

impl Frame<'_> {
    /// Writes the whole frame. Those who hold a large payload write [`write_publish_header`] and then the payload, so
    /// that it is not copied.
    ///
    /// # Errors
    /// When a part is longer than any peer can count. Nothing is written then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WriteFrameError> {
        match self {
            Self::Publish { channel, payload } => {
                write_publish_header(channel, payload.len(), out)?;
                out.extend_from_slice(payload);
                Ok(())
            }
            Self::Subscribe { pattern } => write_subscribe(pattern, out),
            Self::Unsubscribe { pattern } => write_unsubscribe(pattern, out),
        }
    }
}

/// How long the parts of a frame may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A channel's name.
    pub channel_len: usize,
    /// A pattern.
    pub pattern_len: usize,
    /// A payload.
    pub payload_len: usize,
}

impl Default for Limits {
    /// What liblcm sends and takes: channels of 63 bytes, messages of 256 MiB. Patterns have no limit there.
    fn default() -> Self {
        Self {
            channel_len: MAX_CHANNEL_LEN,
            pattern_len: 4096,
            payload_len: 1 << 28,
        }
    }
}

const PUBLISH: u32 = 1;
const SUBSCRIBE: u32 = 2;
const UNSUBSCRIBE: u32 = 3;

/// Reads the frame at the front of `bytes` and returns how many bytes it took, or `None` while bytes are missing.
///
/// # Errors
/// When no more bytes could make it a frame.
pub fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<(Frame<'a>, usize)>, BadFrame> {
    let Some((kind, rest)) = read_u32(bytes) else {
        return Ok(None);
    };
    let (part, limit) = match kind {
        PUBLISH => (Part::Channel, limits.channel_len),
        SUBSCRIBE | UNSUBSCRIBE => (Part::Pattern, limits.pattern_len),
        found => return Err(BadFrame::Kind { found }),
    };
    let Some((name, rest)) = read_part(rest, part, limit)? else {
        return Ok(None);
    };
    let name = match core::str::from_utf8(name) {
        Ok(name) => name,
        Err(error) => {
            return Err(BadFrame::NotUtf8 {
                part,
                valid_up_to: error.valid_up_to(),
            });
        }
    };
    if kind != PUBLISH {
        let frame = if kind == SUBSCRIBE {
            Frame::Subscribe { pattern: name }
        } else {
            Frame::Unsubscribe { pattern: name }
        };
        return Ok(Some((frame, bytes.len() - rest.len())));
    }
    let Some((payload, rest)) = read_part(rest, Part::Payload, limits.payload_len)? else {
        return Ok(None);
    };
    Ok(Some((
        Frame::Publish {
            channel: name,
            payload,
        },
        bytes.len() - rest.len(),
    )))
}

/// How long the frame at the front of `bytes` is, as far as they declare it already. What is unknown is not counted, and
/// nothing is checked: that is what [`parse`] does.
#[must_use]
pub fn known_len(bytes: &[u8]) -> usize {
    let Some((kind, rest)) = read_u32(bytes) else {
        return 4;
    };
    let Some((name_len, rest)) = read_u32(rest) else {
        return 8;
    };
    let name_len = usize::try_from(name_len).unwrap_or(usize::MAX);
    let until_name = name_len.saturating_add(8);
    if kind != PUBLISH {
        return until_name;
    }
    let payload_len = rest.get(name_len..).and_then(read_u32);
    let payload_len = payload_len.map_or(0, |(length, _)| length);
    let payload_len = usize::try_from(payload_len).unwrap_or(usize::MAX);
    until_name.saturating_add(4).saturating_add(payload_len)
}

fn read_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// A part of a frame and what follows it.
type Split<'a> = (&'a [u8], &'a [u8]);

/// A length and that many bytes.
fn read_part(bytes: &[u8], part: Part, limit: usize) -> Result<Option<Split<'_>>, BadFrame> {
    let Some((found, rest)) = read_u32(bytes) else {
        return Ok(None);
    };
    let length = usize::try_from(found)
        .ok()
        .filter(|length| *length <= limit);
    let length = length.ok_or(BadFrame::TooLong { part, limit, found })?;
    Ok(rest.split_at_checked(length))
}

/// Which part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The channel of a message.
    Channel,
    /// The pattern of a subscription.
    Pattern,
    /// The message itself.
    Payload,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel => "channel",
            Self::Pattern => "pattern",
            Self::Payload => "payload",
        })
    }
}

/// Bytes that are no frame and never will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFrame {
    /// There is no such kind of frame.
    Kind {
        /// The declared value.
        found: u32,
    },
    /// A part is longer than allowed.
    TooLong {
        /// Which part.
        part: Part,
        /// How long it may be.
        limit: usize,
        /// The declared length.
        found: u32,
    },
    /// A name is not text.
    NotUtf8 {
        /// Which part.
        part: Part,
        /// Bytes that are.
        valid_up_to: usize,
    },
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { found } => write!(f, "expected a frame of kind 1, 2 or 3, found {found}"),
            Self::TooLong { part, limit, found } => {
                write!(
                    f,
                    "expected a {part} of at most {limit} bytes, found one of {found}"
                )
            }
            Self::NotUtf8 { part, valid_up_to } => {
                write!(
                    f,
                    "expected a {part} in UTF-8, found something else after {valid_up_to} bytes of it"
                )
            }
        }
    }
}

impl core::error::Error for BadFrame {}

/// Writes what comes before a message's payload.
///
/// # Errors
/// When a length does not fit into 32 bits. Nothing is written then.
pub fn write_publish_header(
    channel: &str,
    payload_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), WriteFrameError> {
    let n_payload = fit(Part::Payload, payload_len)?;
    write_name(PUBLISH, Part::Channel, channel, out)?;
    out.extend_from_slice(&n_payload.to_be_bytes());
    Ok(())
}

/// Writes a subscription.
///
/// # Errors
/// When the pattern's length does not fit into 32 bits. Nothing is written then.
pub fn write_subscribe(pattern: &str, out: &mut Vec<u8>) -> Result<(), WriteFrameError> {
    write_name(SUBSCRIBE, Part::Pattern, pattern, out)
}

/// Writes the end of a subscription.
///
/// # Errors
/// When the pattern's length does not fit into 32 bits. Nothing is written then.
pub fn write_unsubscribe(pattern: &str, out: &mut Vec<u8>) -> Result<(), WriteFrameError> {
    write_name(UNSUBSCRIBE, Part::Pattern, pattern, out)
}

fn write_name(kind: u32, part: Part, name: &str, out: &mut Vec<u8>) -> Result<(), WriteFrameError> {
    let length = fit(part, name.len())?;
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(name.as_bytes());
    Ok(())
}

fn fit(part: Part, length: usize) -> Result<u32, WriteFrameError> {
    // Peers count in signed numbers.
    let length = i32::try_from(length)
        .ok()
        .and_then(|length| u32::try_from(length).ok());
    length.ok_or(WriteFrameError { part })
}

/// A part of a frame that is longer than any peer can count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFrameError {
    /// Which part.
    pub part: Part,
}

impl fmt::Display for WriteFrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a {} of at most {} bytes, found a longer one",
            self.part,
            i32::MAX
        )
    }
}

impl core::error::Error for WriteFrameError {}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test that panics has failed")]
mod tests {
    use super::{
        BadFrame, BadHello, Frame, HELLO_LEN, Limits, Part, Side, VERSION, known_len, parse,
    };
    use alloc::string::ToString as _;
    use alloc::vec::Vec;
    use proptest::prelude::{any, prop, proptest};

    const LIMITS: Limits = Limits {
        channel_len: 10,
        pattern_len: 20,
        payload_len: 30,
    };

    #[test]
    fn a_hello_is_known_as_soon_as_it_can_be() {
        for (side, other) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
            let hello = side.hello();
            for n in 0..HELLO_LEN {
                assert_eq!(side.read_hello(&hello[..n]), Ok(None));
            }
            assert_eq!(side.read_hello(&hello), Ok(Some(VERSION)));
            let found = [hello[0], hello[1], hello[2], hello[3]];
            assert_eq!(
                other.read_hello(&hello[..4]),
                Err(BadHello { side: other, found })
            );
        }
        let error = Side::Client.read_hello(b"G").unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected an LCM client, which begins with 287617fb, found 47000000: is something else on that port?"
        );
    }

    #[test]
    fn lengths_are_refused_before_their_bytes_arrive() {
        for (bytes, part, limit) in [
            (&[0, 0, 0, 1, 0, 0, 0, 11][..], Part::Channel, 10),
            (&[0, 0, 0, 2, 0, 0, 0, 21], Part::Pattern, 20),
            (&[0, 0, 0, 3, 0xFF, 0xFF, 0xFF, 0xFF], Part::Pattern, 20),
            (
                &[0, 0, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 31],
                Part::Payload,
                30,
            ),
        ] {
            let (_, last) = bytes.split_last_chunk().expect("it ends in a length");
            let found = u32::from_be_bytes(*last);
            assert_eq!(
                parse(bytes, &LIMITS),
                Err(BadFrame::TooLong { part, limit, found })
            );
        }
    }

    #[test]
    fn other_kinds_and_other_encodings_are_refused() {
        for found in [0_u32, 4, 0x2876_17fb] {
            assert_eq!(
                parse(&found.to_be_bytes(), &LIMITS),
                Err(BadFrame::Kind { found })
            );
        }
        let error = parse(&[0, 0, 0, 1, 0, 0, 0, 2, b'a', 0xFF], &LIMITS).unwrap_err();
        assert_eq!(
            error,
            BadFrame::NotUtf8 {
                part: Part::Channel,
                valid_up_to: 1
            }
        );
    }

    proptest! {
        #[test]
        fn frames_are_read_as_they_were_written(
            kind in 0..3_u8,
            name in "[a-z\u{e9}.*]{0,5}",
            payload in prop::collection::vec(any::<u8>(), 0..30),
            after in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let frame = match kind {
                0 => Frame::Publish { channel: &name, payload: &payload },
                1 => Frame::Subscribe { pattern: &name },
                _ => Frame::Unsubscribe { pattern: &name },
            };
            let mut bytes = Vec::new();
            frame.write(&mut bytes).unwrap();
            let length = bytes.len();
            for n in 0..length {
                assert_eq!(parse(&bytes[..n], &LIMITS), Ok(None));
                assert!(known_len(&bytes[..n]) > n && known_len(&bytes[..n]) <= length);
            }
            assert_eq!(known_len(&bytes), length);
            bytes.extend_from_slice(&after);
            assert_eq!(parse(&bytes, &LIMITS), Ok(Some((frame, length))));
        }
    }
}

//! How a large message is cut into fragments.

use super::{
    ChannelError, FRAGMENT_HEADER_SIZE, FRAGMENT_MAGIC, MAX_FRAGMENT_BODY, check_channel,
    write_channel,
};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A message cut into fragments: each has a header, and a range of the message that follows it.
///
/// All bodies but the last are equally long; that of fragment 0 starts with the channel. A cut with bodies of
/// [`MAX_FRAGMENT_BODY`] is liblcm's.
///
/// ```
/// use bowline_wire::datagram::{Cut, Datagram, MAX_FRAGMENT_BODY};
///
/// let message = vec![7; 100_000];
/// let cut = Cut::new("camera.image", message.len(), MAX_FRAGMENT_BODY)?;
/// assert_eq!(cut.count(), 2);
///
/// let mut datagram = Vec::new();
/// cut.write_header(0, 1, &mut datagram);
/// datagram.extend_from_slice(&message[cut.range(1)]);
/// assert!(matches!(Datagram::parse(&datagram)?, Datagram::Fragment(fragment) if fragment.index == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cut<'a> {
    channel: &'a str,
    message_size: u32,
    /// Payload bytes in fragment 0, if the message has as many.
    first: usize,
    body: usize,
    count: u16,
}

impl<'a> Cut<'a> {
    /// Cuts a message of `message_size` bytes into fragments with `body` bytes after the header.
    ///
    /// # Errors
    ///
    /// If the format cannot carry the message so.
    pub fn new(channel: &'a str, message_size: usize, body: usize) -> Result<Self, CutError> {
        check_channel(channel).map_err(CutError::Channel)?;
        let name_size = channel.len() + 1;
        // Fragment 0 must not be empty: a receiver could not distinguish it from nonsense.
        if body <= name_size || body > MAX_FRAGMENT_BODY {
            return Err(CutError::Body {
                found: body,
                min: name_size + 1,
            });
        }
        let needed = message_size.saturating_add(name_size).div_ceil(body);
        let (Ok(message_size), Ok(count)) = (u32::try_from(message_size), u16::try_from(needed))
        else {
            let max = body as u64 * u64::from(u16::MAX) - name_size as u64;
            return Err(CutError::TooLarge {
                found: message_size,
                max,
            });
        };
        Ok(Self {
            channel,
            message_size,
            first: body - name_size,
            body,
            count,
        })
    }

    /// How many fragments there are; at least one.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// Which bytes of the message are in a fragment. Beyond the last fragment there are none.
    #[must_use]
    pub fn range(&self, index: u16) -> Range<usize> {
        let size = self.message_size as usize;
        let end = self
            .first
            .saturating_add(self.body.saturating_mul(usize::from(index)));
        let start = if index == 0 {
            0
        } else {
            end.saturating_sub(self.body)
        };
        start.min(size)..end.min(size)
    }

    /// Appends what stands before the payload in a fragment.
    pub fn write_header(&self, sequence: u32, index: u16, into: &mut Vec<u8>) {
        debug_assert!(index < self.count, "fragment {index} of {}", self.count);
        let offset = u32::try_from(self.range(index).start).unwrap_or(self.message_size);
        into.reserve(FRAGMENT_HEADER_SIZE + self.channel.len() + 1);
        into.extend_from_slice(&FRAGMENT_MAGIC);
        into.extend_from_slice(&sequence.to_be_bytes());
        into.extend_from_slice(&self.message_size.to_be_bytes());
        into.extend_from_slice(&offset.to_be_bytes());
        into.extend_from_slice(&index.to_be_bytes());
        into.extend_from_slice(&self.count.to_be_bytes());
        if index == 0 {
            write_channel(self.channel, into);
        }
    }
}

/// Why a message cannot be cut so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutError {
    /// The channel's name cannot be sent.
    Channel(ChannelError),
    /// A fragment's body must hold the channel and something of the message, and fit into a datagram.
    Body {
        /// The bytes after the header that were asked for.
        found: usize,
        /// The fewest that hold this channel.
        min: usize,
    },
    /// The message needs more fragments than the format can count.
    TooLarge {
        /// The message's size in bytes.
        found: usize,
        /// The largest size that can be sent so.
        max: u64,
    },
}

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(error) => error.fmt(f),
            Self::Body { found, min } => {
                write!(
                    f,
                    "expected fragments with {min} to {MAX_FRAGMENT_BODY} bytes after the header, found {found}"
                )
            }
            Self::TooLarge { found, max } => {
                write!(
                    f,
                    "a message in such fragments has at most {max} bytes, found {found}: use larger fragments, or split it"
                )
            }
        }
    }
}

impl core::error::Error for CutError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Channel(error) => Some(error),
            Self::Body { .. } | Self::TooLarge { .. } => None,
        }
    }
}

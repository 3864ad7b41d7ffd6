//! LCM's datagrams: what one UDP packet of `udpm` or `mpudpm` holds.
//!
//! A message that fits travels in one *short* datagram. A larger one is cut into *fragments*, each in a datagram of
//! its own; [`crate::reassembly`] puts them together again. All numbers are big-endian.
//!
//! [`Datagram::parse`] borrows from the bytes and copies nothing; [`write_short_header`] and [`Cut`] write what goes
//! in front of a payload, so that a sender can hand header and payload to the system apart. Nothing here knows of
//! sockets.

mod cut;

pub use cut::{Cut, CutError};

use crate::text;
use alloc::vec::Vec;
use core::fmt;

/// The longest channel name that may be sent, in bytes: liblcm drops longer ones.
pub const MAX_CHANNEL_LEN: usize = 63;

/// The longest channel name that is understood, in bytes: lcm-lite sends names longer than liblcm takes.
pub const MAX_FOREIGN_CHANNEL_LEN: usize = 255;

/// The most that one UDP datagram over IPv4 can hold.
pub const MAX_DATAGRAM_SIZE: usize = 65_507;

/// What stands before the channel in a short message.
pub const SHORT_HEADER_SIZE: usize = 8;

/// What stands before the channel or the payload in a fragment.
pub const FRAGMENT_HEADER_SIZE: usize = 20;

/// The most that channel, NUL and payload of a short message may take together.
pub const MAX_SHORT_SIZE: usize = MAX_DATAGRAM_SIZE - SHORT_HEADER_SIZE;

/// The most that a fragment may hold after its header.
pub const MAX_FRAGMENT_BODY: usize = MAX_DATAGRAM_SIZE - FRAGMENT_HEADER_SIZE;

/// "LC02".
const SHORT_MAGIC: [u8; 4] = 0x4c43_3032_u32.to_be_bytes();

/// "LC03".
const FRAGMENT_MAGIC: [u8; 4] = 0x4c43_3033_u32.to_be_bytes();

/// A datagram, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// A whole message.
    Short(Short<'a>),
    /// A part of a message.
    Fragment(Fragment<'a>),
}

/// A message that fits into one datagram.
///
/// ```text
///  0               1               2               3
/// +---------------+---------------+---------------+---------------+
/// |                       magic: "LC02"                           |
/// +---------------+---------------+---------------+---------------+
/// |                          sequence                             |
/// +---------------+---------------+---------------+---------------+
/// |  channel, 1 to 255 bytes of UTF-8, then a NUL                 ~
/// +---------------------------------------------------------------+
/// |  payload, to the end of the datagram                          ~
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short<'a> {
    /// The sender's count of messages, fragmented ones included. It starts at 0 and wraps.
    pub sequence: u32,
    /// The channel's name.
    pub channel: &'a str,
    /// The message.
    pub payload: &'a [u8],
}

/// A part of a message that does not fit into one datagram.
///
/// ```text
///  0               1               2               3
/// +---------------+---------------+---------------+---------------+
/// |                       magic: "LC03"                           |
/// +---------------+---------------+---------------+---------------+
/// |              sequence, the same in every fragment             |
/// +---------------+---------------+---------------+---------------+
/// |            message size: bytes of all payloads                |
/// +---------------+---------------+---------------+---------------+
/// |            offset of this payload in the message              |
/// +---------------+---------------+---------------+---------------+
/// |             index             |             count             |
/// +---------------+---------------+---------------+---------------+
/// |  in fragment 0 only: channel and a NUL, as above              ~
/// +---------------------------------------------------------------+
/// |  payload, to the end of the datagram                          ~
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The sender's count of messages; all fragments of a message share it.
    pub sequence: u32,
    /// How many bytes the whole message has.
    pub message_size: u32,
    /// Where in the message this payload belongs. Offset and payload lie within the message.
    pub offset: u32,
    /// Which fragment this is, below `count`.
    pub index: u16,
    /// How many fragments the sender made.
    pub count: u16,
    /// The channel's name, in fragment 0 and nowhere else.
    pub channel: Option<&'a str>,
    /// This part of the message. Empty only if the message is.
    pub payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Takes a datagram apart. Every field of the result has been checked against the others.
    ///
    /// # Errors
    ///
    /// If the bytes are no datagram of LCM, or contradict themselves.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BadDatagram> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(BadDatagram::TooShort)?;
        match *magic {
            SHORT_MAGIC => Short::parse(rest).map(Self::Short),
            FRAGMENT_MAGIC => Fragment::parse(rest).map(Self::Fragment),
            _ => Err(BadDatagram::Magic),
        }
    }
}

impl<'a> Short<'a> {
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<Self, BadDatagram> {
        let (sequence, rest) = bytes.split_first_chunk().ok_or(BadDatagram::TooShort)?;
        let (channel, payload) = split_channel(rest)?;
        Ok(Self {
            sequence: u32::from_be_bytes(*sequence),
            channel,
            payload,
        })
    }
}

impl<'a> Fragment<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, BadDatagram> {
        let (sequence, rest) = take_u32(bytes)?;
        let (message_size, rest) = take_u32(rest)?;
        let (offset, rest) = take_u32(rest)?;
        let (index, rest) = take_u16(rest)?;
        let (count, rest) = take_u16(rest)?;
        if index >= count {
            return Err(BadDatagram::IndexBeyondCount);
        }
        let (channel, payload) = match index {
            0 => split_channel(rest).map(|(channel, payload)| (Some(channel), payload))?,
            _ => (None, rest),
        };
        // A message without bytes is one fragment without bytes. Any other empty fragment brings nothing.
        if payload.is_empty() && (message_size != 0 || index != 0) {
            return Err(BadDatagram::EmptyFragment);
        }
        let end = u32::try_from(payload.len())
            .ok()
            .and_then(|len| offset.checked_add(len));
        if end.is_none_or(|end| end > message_size) {
            return Err(BadDatagram::BeyondMessage);
        }
        Ok(Self {
            sequence,
            message_size,
            offset,
            index,
            count,
            channel,
            payload,
        })
    }
}

fn take_u32(bytes: &[u8]) -> Result<(u32, &[u8]), BadDatagram> {
    let (number, rest) = bytes.split_first_chunk().ok_or(BadDatagram::TooShort)?;
    Ok((u32::from_be_bytes(*number), rest))
}

fn take_u16(bytes: &[u8]) -> Result<(u16, &[u8]), BadDatagram> {
    let (number, rest) = bytes.split_first_chunk().ok_or(BadDatagram::TooShort)?;
    Ok((u16::from_be_bytes(*number), rest))
}

/// Splits a channel and its NUL off.
#[inline]
fn split_channel(bytes: &[u8]) -> Result<(&str, &[u8]), BadDatagram> {
    let Some(len) = find_nul(bytes) else {
        return Err(match bytes.len() > MAX_FOREIGN_CHANNEL_LEN {
            true => BadDatagram::ChannelTooLong,
            false => BadDatagram::ChannelUnterminated,
        });
    };
    let (channel, rest) = bytes.split_at_checked(len).ok_or(BadDatagram::TooShort)?;
    let (_nul, payload) = rest.split_first().ok_or(BadDatagram::TooShort)?;
    if channel.is_empty() {
        return Err(BadDatagram::ChannelEmpty);
    }
    let Ok(channel) = text::from_utf8(channel) else {
        return Err(BadDatagram::ChannelNotUtf8);
    };
    Ok((channel, payload))
}

/// Where the first NUL is, if a channel can end there.
#[inline]
fn find_nul(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);

    let window = bytes.get(..=MAX_FOREIGN_CHANNEL_LEN).unwrap_or(bytes);
    let (words, tail) = window.as_chunks();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Borrows run upwards from the first zero byte only, so the lowest bit set is exact.
        let zeros = word.wrapping_sub(ONES) & !word & TOPS;
        if zeros != 0 {
            return Some(at * 8 + (zeros.trailing_zeros() / 8) as usize);
        }
    }
    let at = tail.iter().position(|byte| *byte == 0)?;
    Some(words.len() * 8 + at)
}

/// Why bytes are no datagram of LCM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BadDatagram {
    /// The datagram ends within its header.
    TooShort,
    /// It starts with neither "LC02" nor "LC03".
    Magic,
    /// The datagram ends within the channel's name.
    ChannelUnterminated,
    /// The channel has no name.
    ChannelEmpty,
    /// The channel's name is longer than [`MAX_FOREIGN_CHANNEL_LEN`].
    ChannelTooLong,
    /// The channel's name is not UTF-8.
    ChannelNotUtf8,
    /// The fragment's index is not below the count of fragments.
    IndexBeyondCount,
    /// The fragment reaches beyond the end of its message.
    BeyondMessage,
    /// The fragment has no payload, though the message has.
    EmptyFragment,
}

impl fmt::Display for BadDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the datagram ends within its header",
            Self::Magic => "expected a datagram that starts with \"LC02\" or \"LC03\"",
            Self::ChannelUnterminated => "the datagram ends within the channel's name",
            Self::ChannelEmpty => "the channel has no name",
            Self::ChannelTooLong => "the channel's name is longer than 255 bytes",
            Self::ChannelNotUtf8 => "the channel's name is not UTF-8",
            Self::IndexBeyondCount => "the fragment's index is not below the count of fragments",
            Self::BeyondMessage => "the fragment reaches beyond the end of its message",
            Self::EmptyFragment => "the fragment has no payload, though its message has",
        })
    }
}

impl core::error::Error for BadDatagram {}

/// Appends what stands before the payload of a short message.
///
/// The channel is not checked here, once a message: see [`check_channel`].
#[inline]
pub fn write_short_header(sequence: u32, channel: &str, into: &mut Vec<u8>) {
    debug_assert_eq!(check_channel(channel), Ok(()), "{channel:?}");
    into.reserve(SHORT_HEADER_SIZE + channel.len() + 1);
    into.extend_from_slice(&SHORT_MAGIC);
    into.extend_from_slice(&sequence.to_be_bytes());
    write_channel(channel, into);
}

fn write_channel(channel: &str, into: &mut Vec<u8>) {
    into.extend_from_slice(channel.as_bytes());
    into.push(0);
}

/// Whether messages may be sent on a channel of that name.
///
/// # Errors
///
/// If peers would not understand it.
pub fn check_channel(channel: &str) -> Result<(), ChannelError> {
    match channel.len() {
        0 => Err(ChannelError::Empty),
        found if found > MAX_CHANNEL_LEN => Err(ChannelError::TooLong { found }),
        _ if channel.contains('\0') => Err(ChannelError::HasNul),
        _ => Ok(()),
    }
}

/// Why no message can be sent on a channel of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// It has no name.
    Empty,
    /// Its name is longer than [`MAX_CHANNEL_LEN`].
    TooLong {
        /// The name's length in bytes.
        found: usize,
    },
    /// There is a NUL in its name, which would end there.
    HasNul,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a channel needs a name of 1 to 63 bytes, found none"),
            Self::TooLong { found } => {
                write!(f, "a channel's name has at most 63 bytes, found {found}")
            }
            Self::HasNul => {
                f.write_str("a channel's name cannot contain a NUL, which ends it on the wire")
            }
        }
    }
}

impl core::error::Error for ChannelError {}

#[cfg(test)]
mod tests;

//! Records of LCM's event logs, written and found again, also in files that are damaged.
//!
//! ```text
//!  0       4               12              20      24      28
//! ┌───────┬───────────────┬───────────────┬───────┬───────┬─────────┬─────────┐
//! │ sync  │ event number  │ utime         │ n_ch  │ n_pay │ channel │ payload │   big-endian, no padding
//! └───────┴───────────────┴───────────────┴───────┴───────┴─────────┴─────────┘
//! ```
//!
//! A file is records end to end: no header, no index, no checksum. The caller holds the bytes and the file; [`parse`]
//! looks at the front of them and returns what is there. A record is bounded by a limit of the caller's, and no more than
//! two of the largest are ever asked for.
//!
//! Without checksums a flipped bit in a payload cannot be seen, but damage to a header can, by what is around
//! it. The same rules hold before and after a damaged place:
//!
//! - A record whose header makes sense is believed, whatever comes after it: the damage there is not its fault.
//! - Unless a record inside its payload shows that its length is the lie: one whose number shows that it follows, or
//!   one that is linked, record by record, across its end to a sync word behind it.
//! - A payload that the next number follows is not looked into.
//!
//! So damage loses the records that it touches and no others, also where payloads contain logs. What these rules cannot
//! settle: a record whose length and number are both damaged may swallow others, if damage behind them breaks the links;
//! and one whose length became shorter is given out short.

use alloc::vec::Vec;
use core::fmt;

/// The first four bytes of every record.
pub const SYNC: [u8; 4] = [0xED, 0xA1, 0xDA, 0x01];

/// Bytes before a record's channel.
pub const HEADER_LEN: usize = 28;

/// LCM's own reader takes no longer channel.
pub const MAX_CHANNEL_LEN: usize = 999;

/// LCM's own reader counts a payload in a 32-bit signed number.
pub const MAX_PAYLOAD_LEN: usize = i32::MAX as usize;

/// How many records inside a payload are considered as witnesses against it. Bounds the work on hostile files, where every byte could
/// begin a record; in others the first one or two decide.
const MAX_WITNESSES: usize = 16;

/// How many records may be cut out of a damaged place before numbers on both sides of it are no longer compared. More
/// would make it likelier that a log inside a payload is taken for the one around it.
const MAX_CUT_OUT: i64 = 256;

/// One event of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The event's number. Writers count from 0; appending starts again.
    pub number: i64,
    /// When it was received, microseconds since the epoch.
    pub utime: i64,
    /// Where it was published.
    pub channel: &'a str,
    /// The message.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// Bytes that it takes in a log.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        HEADER_LEN + self.channel.len() + self.payload.len()
    }
}

/// What [`parse`] found at the front of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A record. Go on after its [`Record::encoded_len`].
    Record(Record<'a>),
    /// Not enough to decide. Call again with more bytes of the same place, or declare that there are none.
    NeedMore {
        /// How many bytes there must be in all: more than there were.
        n_bytes: usize,
    },
    /// Bytes that are no record. Go on after them; what follows may be damaged too.
    Damaged {
        /// How many, at least one.
        skipped: usize,
    },
    /// No more records. Only returned at the end.
    End {
        /// Bytes that are no whole record: 0, unless the file was cut off or damaged.
        trailing: usize,
    },
}

/// The record that these bytes are, all of them, where something better than this format confirms it: a checksum.
#[must_use]
pub fn whole(bytes: &[u8]) -> Option<Record<'_>> {
    let log = Log {
        bytes,
        at_end: true,
        max_payload_len: MAX_PAYLOAD_LEN,
    };
    match log.look(0) {
        Look::Whole { record, end } => (end == bytes.len()).then_some(record),
        Look::Partial { .. } | Look::Nothing => None,
    }
}

/// Writes what comes before the payload: the header and the channel.
///
/// # Errors
/// When no reader could read the record. Nothing is written then.
pub fn write_header(
    number: i64,
    utime: i64,
    channel: &str,
    payload_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), WriteRecordError> {
    let n_channel = i32::try_from(channel.len()).ok();
    let n_channel = n_channel.filter(|_| is_channel(channel.as_bytes()));
    let n_channel = n_channel.ok_or(WriteRecordError::Channel {
        found: channel.len(),
    })?;
    let n_payload = i32::try_from(payload_len).ok();
    let n_payload = n_payload.ok_or(WriteRecordError::Payload { found: payload_len })?;
    out.reserve(HEADER_LEN + channel.len());
    out.extend_from_slice(&SYNC);
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&utime.to_be_bytes());
    out.extend_from_slice(&n_channel.to_be_bytes());
    out.extend_from_slice(&n_payload.to_be_bytes());
    out.extend_from_slice(channel.as_bytes());
    Ok(())
}

/// Why a record cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteRecordError {
    /// The channel is empty, too long or has a NUL inside.
    Channel {
        /// Its length.
        found: usize,
    },
    /// The payload is too long.
    Payload {
        /// Its length.
        found: usize,
    },
}

impl fmt::Display for WriteRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel { found } => write!(
                f,
                "expected a channel of 1 to {MAX_CHANNEL_LEN} bytes without NUL, found one of {found} bytes"
            ),
            Self::Payload { found } => write!(
                f,
                "expected a payload of at most {MAX_PAYLOAD_LEN} bytes, found {found}"
            ),
        }
    }
}

impl core::error::Error for WriteRecordError {}

/// Returns what is at the front of `bytes`. `at_end` promises that nothing comes after them.
///
/// A payload of more than `max_payload_len` bytes is taken for damage.
#[must_use]
pub fn parse(bytes: &[u8], at_end: bool, max_payload_len: usize) -> Step<'_> {
    let log = Log {
        bytes,
        at_end,
        max_payload_len,
    };
    if at_end && bytes.is_empty() {
        return Step::End { trailing: 0 };
    }
    match log.look(0) {
        Look::Nothing => log.skip(),
        Look::Partial { .. } if at_end => log.skip(),
        Look::Partial { end } => Step::NeedMore { n_bytes: end },
        Look::Whole { record, end } => match log.judge(&record, end) {
            Verdict::Believed => Step::Record(record),
            Verdict::NeedMore { n_bytes } => Step::NeedMore { n_bytes },
            Verdict::Refuted { skipped } => Step::Damaged { skipped },
        },
    }
}

/// The bytes of a log from some place on, and how to read them.
#[derive(Clone, Copy)]
struct Log<'a> {
    bytes: &'a [u8],
    at_end: bool,
    max_payload_len: usize,
}

/// What a place looks like, seen alone.
enum Look<'a> {
    /// No record starts here.
    Nothing,
    /// A record may start here, but its bytes are not all there. They are known to reach to `end` at least.
    Partial { end: usize },
    /// A record that ends at `end`.
    Whole { record: Record<'a>, end: usize },
}

/// The evidence of the surroundings for a whole record.
enum Verdict {
    Believed,
    NeedMore { n_bytes: usize },
    Refuted { skipped: usize },
}

/// Whether a chain of records leads across a place.
enum Crossing {
    Yes,
    No,
    NeedMore { n_bytes: usize },
}

impl<'a> Log<'a> {
    fn look(&self, at: usize) -> Look<'a> {
        #[cfg(test)]
        tests::WORK.with(|work| work.set(work.get() + 1));
        let rest = self.bytes.get(at..).unwrap_or_default();
        let shown = SYNC
            .iter()
            .zip(rest)
            .all(|(expected, found)| expected == found);
        if !shown {
            return Look::Nothing;
        }
        let Some(header) = Header::read(rest) else {
            return Look::Partial {
                end: at + HEADER_LEN,
            };
        };
        let Some((n_channel, n_payload)) = header.lengths(self.max_payload_len) else {
            return Look::Nothing;
        };
        let body = rest.get(HEADER_LEN..).unwrap_or_default();
        let end = at + HEADER_LEN + n_channel + n_payload;
        let Some((channel, body)) = body.split_at_checked(n_channel) else {
            return Look::Partial {
                end: at + HEADER_LEN + n_channel,
            };
        };
        let Some(channel) = core::str::from_utf8(channel)
            .ok()
            .filter(|_| is_channel(channel))
        else {
            return Look::Nothing;
        };
        let Some(payload) = body.get(..n_payload) else {
            return Look::Partial { end };
        };
        let Header { number, utime, .. } = header;
        let record = Record {
            number,
            utime,
            channel,
            payload,
        };
        Look::Whole { record, end }
    }

    /// Whether to believe a record at the front, which ends at `end`.
    fn judge(&self, record: &Record<'_>, end: usize) -> Verdict {
        let next_number = record.number.wrapping_add(1);
        let after = self.bytes.get(end..).unwrap_or_default();
        match after.first_chunk::<12>() {
            Some(front) if *front == number_after_sync(next_number) => return Verdict::Believed,
            None if !self.at_end => return Verdict::NeedMore { n_bytes: end + 12 },
            Some(_) | None => {}
        }
        for at in self.candidates(end).take(MAX_WITNESSES) {
            match self.testify(record, end, at) {
                Crossing::No => {}
                Crossing::NeedMore { n_bytes } => return Verdict::NeedMore { n_bytes },
                Crossing::Yes => {
                    // An earlier one that ends before this one may be whole as well, if damage follows it.
                    let is_whole = |earlier: &usize| matches!(self.look(*earlier), Look::Whole { end, .. } if end <= at);
                    let earlier = self.candidates(at).find(is_whole);
                    return Verdict::Refuted {
                        skipped: earlier.unwrap_or(at),
                    };
                }
            }
        }
        Verdict::Believed
    }

    /// Where records may start inside the one at the front, which ends at `end`.
    fn candidates(self, end: usize) -> impl Iterator<Item = usize> {
        let starts = syncs(self.bytes, 1).take_while(move |at| *at < end);
        starts.filter(move |at| !matches!(self.look(*at), Look::Nothing))
    }

    /// Whether what is at `at` shows that the record at the front does not end at `end`.
    fn testify(&self, record: &Record<'_>, end: usize, at: usize) -> Crossing {
        let header = Header::read(self.bytes.get(at..).unwrap_or_default());
        match self.look(at) {
            Look::Partial { end } if !self.at_end => Crossing::NeedMore { n_bytes: end },
            Look::Nothing => Crossing::No,
            Look::Partial { .. } | Look::Whole { .. } => match header {
                Some(header) if is_later(record.number, header.number, at) => Crossing::Yes,
                Some(_) | None => self.crosses(at, end),
            },
        }
    }

    /// Whether records follow one another from `at` on so that one lies across `place` and is followed as well.
    fn crosses(&self, at: usize, place: usize) -> Crossing {
        let mut at = at;
        while at < place {
            match self.look(at) {
                Look::Whole { end, .. } => at = end,
                Look::Partial { end } if !self.at_end => {
                    return Crossing::NeedMore { n_bytes: end };
                }
                Look::Nothing | Look::Partial { .. } => return Crossing::No,
            }
        }
        let next = self.bytes.get(at..).unwrap_or_default();
        match next.first_chunk::<4>() {
            _ if at == place => Crossing::No,
            Some(front) if *front == SYNC => Crossing::Yes,
            None if !self.at_end => Crossing::NeedMore {
                n_bytes: at + SYNC.len(),
            },
            None if next.is_empty() => Crossing::Yes,
            Some(_) | None => Crossing::No,
        }
    }

    /// No record is at the front: on to where the next may be.
    fn skip(&self) -> Step<'a> {
        for at in syncs(self.bytes, 1) {
            match self.look(at) {
                Look::Whole { .. } => return Step::Damaged { skipped: at },
                Look::Partial { .. } if !self.at_end => return Step::Damaged { skipped: at },
                Look::Nothing | Look::Partial { .. } => {}
            }
        }
        if self.at_end {
            return Step::End {
                trailing: self.bytes.len(),
            };
        }
        // The last bytes may be the front of a sync word.
        let kept = (1..SYNC.len())
            .rev()
            .find(|n| self.bytes.ends_with(SYNC.get(..*n).unwrap_or_default()));
        Step::Damaged {
            skipped: self.bytes.len() - kept.unwrap_or(0),
        }
    }
}

/// The numbers of a header, unchecked.
struct Header {
    number: i64,
    utime: i64,
    n_channel: i32,
    n_payload: i32,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (_, rest) = bytes.split_first_chunk::<4>()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (utime, rest) = rest.split_first_chunk()?;
        let (n_channel, rest) = rest.split_first_chunk()?;
        let n_payload = rest.first_chunk()?;
        Some(Self {
            number: i64::from_be_bytes(*number),
            utime: i64::from_be_bytes(*utime),
            n_channel: i32::from_be_bytes(*n_channel),
            n_payload: i32::from_be_bytes(*n_payload),
        })
    }

    /// Lengths of channel and payload, if they can be true.
    fn lengths(&self, max_payload_len: usize) -> Option<(usize, usize)> {
        let n_channel = usize::try_from(self.n_channel).ok()?;
        let n_payload = usize::try_from(self.n_payload).ok()?;
        let is_sane = (1..=MAX_CHANNEL_LEN).contains(&n_channel) && n_payload <= max_payload_len;
        is_sane.then_some((n_channel, n_payload))
    }
}

/// A channel is a C string to LCM, so it has no NUL inside.
fn is_channel(channel: &[u8]) -> bool {
    (1..=MAX_CHANNEL_LEN).contains(&channel.len()) && !channel.contains(&0)
}

/// How the record of that number begins.
fn number_after_sync(number: i64) -> [u8; 12] {
    let mut front = [0; 12];
    let (sync, rest) = front.split_at_mut(SYNC.len());
    sync.copy_from_slice(&SYNC);
    rest.copy_from_slice(&number.to_be_bytes());
    front
}

/// Whether a record at `at` has a number that one of the records after the first could have there.
fn is_later(first: i64, number: i64, at: usize) -> bool {
    let n_between = i64::try_from(at / (HEADER_LEN + 1)).unwrap_or(i64::MAX);
    let n_most = n_between.saturating_add(MAX_CUT_OUT);
    (1..=n_most).contains(&number.wrapping_sub(first))
}

/// Where sync words are, from `from` on.
fn syncs(bytes: &[u8], from: usize) -> impl Iterator<Item = usize> {
    let words = bytes.get(from..).unwrap_or_default().windows(SYNC.len());
    words
        .enumerate()
        .inspect(|_| {
            #[cfg(test)]
            tests::WORK.with(|work| work.set(work.get() + 1));
        })
        .filter(|(_, word)| **word == SYNC)
        .map(move |(i, _)| from + i)
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test that panics has failed")]
mod tests;

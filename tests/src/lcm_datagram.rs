//! Just enough of LCM's datagrams to make and to recognise them. Written from the format's description, not with
//! our own codec, which is what is tested.
//!
//! ```text
//! short     0 "LC02" | 4 seqno | 8 channel NUL payload
//! fragment  0 "LC03" | 4 seqno | 8 message size | 12 offset | 16 u16 index | 18 u16 count | 20 [channel NUL] payload
//! ```
//!
//! All numbers are big-endian. Only the fragment with index 0 has the channel.

const SHORT: &[u8; 4] = b"LC02";
const FRAGMENT: &[u8; 4] = b"LC03";

/// Which datagram of its sender it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The number of the message.
    pub seqno: u32,
    /// The index of the fragment; none for a message of one datagram.
    pub fragment: Option<u16>,
}

impl Id {
    /// What a datagram declares it is; none when it is not LCM's.
    #[must_use]
    pub fn of(datagram: &[u8]) -> Option<Self> {
        let (magic, rest) = datagram.split_first_chunk::<4>()?;
        let (seqno, rest) = rest.split_first_chunk::<4>()?;
        let fragment = match magic {
            SHORT => None,
            FRAGMENT => Some(u16::from_be_bytes(*rest.get(8..)?.first_chunk()?)),
            _ => return None,
        };
        Some(Self {
            seqno: u32::from_be_bytes(*seqno),
            fragment,
        })
    }

    /// As it stands in logs: `7` or `7/2`.
    #[must_use]
    pub fn to_text(self) -> String {
        match self.fragment {
            None => self.seqno.to_string(),
            Some(index) => format!("{}/{index}", self.seqno),
        }
    }

    /// The other way round.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (seqno, fragment) = match text.split_once('/') {
            None => (text, None),
            Some((seqno, index)) => (seqno, Some(index.parse().ok()?)),
        };
        Some(Self {
            seqno: seqno.parse().ok()?,
            fragment,
        })
    }
}

/// A message of one datagram.
#[must_use]
pub fn short(seqno: u32, channel: &str, payload: &[u8]) -> Vec<u8> {
    [
        SHORT,
        &seqno.to_be_bytes()[..],
        channel.as_bytes(),
        &[0],
        payload,
    ]
    .concat()
}

/// A fragment's header, which may lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fragment {
    /// The number of the message.
    pub seqno: u32,
    /// How many bytes the message has.
    pub message_size: u32,
    /// Where the fragment's bytes belong.
    pub offset: u32,
    /// Which fragment it is.
    pub index: u16,
    /// How many there are.
    pub count: u16,
}

impl Fragment {
    /// The datagram. `body` is the payload, after the channel and its NUL where there is one.
    #[must_use]
    pub fn datagram(&self, body: &[u8]) -> Vec<u8> {
        let mut datagram = FRAGMENT.to_vec();
        for number in [self.seqno, self.message_size, self.offset] {
            datagram.extend(number.to_be_bytes());
        }
        for number in [self.index, self.count] {
            datagram.extend(number.to_be_bytes());
        }
        datagram.extend(body);
        datagram
    }
}

/// A message cut into fragments of so many bytes of payload.
#[must_use]
pub fn fragments(seqno: u32, channel: &str, payload: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let number = |n: usize| u32::try_from(n).expect("small");
    let count = payload.len().div_ceil(piece);
    let cut = |(index, bytes): (usize, &[u8])| {
        let header = Fragment {
            seqno,
            message_size: number(payload.len()),
            offset: number(index * piece),
            index: u16::try_from(index).expect("few"),
            count: u16::try_from(count).expect("few"),
        };
        if index == 0 {
            header.datagram(&[channel.as_bytes(), &[0], bytes].concat())
        } else {
            header.datagram(bytes)
        }
    };
    payload.chunks(piece).enumerate().map(cut).collect()
}

//! Frames: 02, the bytes and their checksum in characters of six bits each, 03.

use crate::line::Shape;

/// More sectors has no such device.
pub const MAX_SECTORS: usize = 512;

const BEGIN: u8 = 0x02;
const END: u8 = 0x03;
/// What six bits of 0 are as a character.
const ZERO: u8 = 0x20;

/// Frames on a line.
pub const SHAPE: Shape = Shape {
    begins: &[BEGIN],
    ends: &[END],
    between: &[],
    is_inner: |byte| matches!(byte, ZERO..=0x5f),
    // Two bytes of what it is, two for each sector, some more, and the checksum: four characters for three bytes.
    max_len: (2 * MAX_SECTORS + 24) * 4 / 3,
};

/// Why a frame cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// It is too short, or not as long as whole bytes are.
    #[error("expected whole bytes in characters of six bits, found {n_characters} characters")]
    Length {
        /// How many there are.
        n_characters: usize,
    },
    /// A character is none of six bits, or bits are left over that mean nothing.
    #[error("expected characters of six bits, found another at {at}")]
    Character {
        /// Where.
        at: usize,
    },
    /// A bit has changed on the way.
    #[error("expected the checksum {expected:04X}, found {found:04X}")]
    Checksum {
        /// Of what came.
        expected: u16,
        /// The checksum in the frame.
        found: u16,
    },
}

/// A frame around some bytes.
#[must_use]
pub fn encode(payload: &[u8]) -> Vec<u8> {
    let [low, high] = crc(payload).to_le_bytes();
    let bytes = payload.iter().copied().chain([low, high]);
    let mut frame = vec![BEGIN];
    let (mut bits, mut n_bits) = (0_u32, 0_u32);
    for byte in bytes {
        bits = bits << 8 | u32::from(byte);
        n_bits += 8;
        while n_bits >= 6 {
            n_bits -= 6;
            frame.push(character(bits >> n_bits));
        }
    }
    if n_bits > 0 {
        frame.push(character(bits << (6 - n_bits)));
    }
    frame.push(END);
    frame
}

fn character(bits: u32) -> u8 {
    // Six bits fit in a byte.
    ZERO + u8::try_from(bits & 0x3f).unwrap_or(0)
}

/// The bytes of a frame, which begins with 02 and is without its 03.
///
/// # Errors
/// When they are not of the form, or the checksum is wrong.
pub fn decode(frame: &[u8]) -> Result<Vec<u8>, BadFrame> {
    let characters = frame.strip_prefix(&[BEGIN]).unwrap_or(frame);
    let n_characters = characters.len();
    let mut bytes = Vec::with_capacity(n_characters * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0_u32);
    for (at, character) in characters.iter().enumerate() {
        let six = character.checked_sub(ZERO).filter(|six| *six < 64);
        bits = bits << 6 | u32::from(six.ok_or(BadFrame::Character { at })?);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).unwrap_or(0));
        }
    }
    // Six bits that are left are a character too many; fewer are there to fill the last one, and are 0.
    if n_bits >= 6 || bytes.len() < 4 {
        return Err(BadFrame::Length { n_characters });
    }
    if bits & ((1 << n_bits) - 1) != 0 {
        let at = n_characters - 1;
        return Err(BadFrame::Character { at });
    }
    let Some((payload, &[low, high])) = bytes.split_last_chunk() else {
        return Err(BadFrame::Length { n_characters });
    };
    let (expected, found) = (crc(payload), u16::from_le_bytes([low, high]));
    if expected != found {
        return Err(BadFrame::Checksum { expected, found });
    }
    bytes.truncate(bytes.len() - 2);
    Ok(bytes)
}

/// CRC-16 with the polynomial 0x1021, bits reflected, beginning with 0.
#[must_use]
pub(super) fn crc(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            let shifted = crc >> 1;
            if crc & 1 == 1 {
                shifted ^ 0x8408
            } else {
                shifted
            }
        })
    })
}

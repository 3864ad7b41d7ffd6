//! Sentences: `$`, the talker, the type, fields between commas, `*` and a checksum.

use crate::line::Shape;
use std::str;

/// The longest sentence, from `$` to its checksum. The standard has 82; receivers with many digits go beyond.
pub const MAX_SENTENCE: usize = 128;

/// Sentences on a line.
pub const SHAPE: Shape = Shape {
    begins: b"$!",
    ends: b"\r\n",
    between: b"\r\n",
    is_inner: |byte| matches!(byte, 0x20..=0x7e),
    max_len: MAX_SENTENCE,
};

/// A sentence whose checksum is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The talker: `GP`, `IN`; `P` for sentences of a maker's own.
    pub talker: &'a str,
    /// What about: `GGA`.
    pub kind: &'a str,
    /// The rest, which may be empty.
    pub fields: Vec<&'a str>,
}

/// Why bytes are no sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSentence {
    /// It does not end with a checksum.
    #[error("expected a sentence that ends with * and two hexadecimal digits, found {found:?}")]
    NoChecksum {
        /// As much of it as fits in a line.
        found: String,
    },
    /// A bit has changed on the way.
    #[error("expected the checksum {expected:02X}, found {found:02X}")]
    Checksum {
        /// Of what came.
        expected: u8,
        /// The checksum in the sentence.
        found: u8,
    },
    /// The type is missing.
    #[error("expected the letters of who speaks and what about, found {found:?}")]
    Address {
        /// What there is instead.
        found: String,
    },
}

impl<'a> Sentence<'a> {
    /// Understands a frame, from `$` on, without the end of the line.
    ///
    /// # Errors
    /// When it is not of the form, or its checksum is wrong.
    pub fn parse(frame: &'a [u8]) -> Result<Self, BadSentence> {
        let no_checksum = || BadSentence::NoChecksum {
            found: shown(frame),
        };
        let text = str::from_utf8(frame).ok().filter(|text| text.is_ascii());
        let body = text.and_then(|text| text.strip_prefix(['$', '!']));
        let (body, digits) = body
            .and_then(|body| body.rsplit_once('*'))
            .ok_or_else(no_checksum)?;
        let is_hex = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found = u8::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        let found = found.ok_or_else(no_checksum)?;
        let expected = checksum(body);
        if expected != found {
            return Err(BadSentence::Checksum { expected, found });
        }
        let (address, fields) = body.split_once(',').unwrap_or((body, ""));
        let (talker, kind) = match address.split_at_checked(2) {
            _ if !address.bytes().all(|it| it.is_ascii_alphanumeric()) => None,
            _ if address.len() > 1 && address.starts_with('P') => address.split_at_checked(1),
            Some((talker, kind)) if kind.len() == 3 => Some((talker, kind)),
            Some(_) | None => None,
        }
        .ok_or_else(|| BadSentence::Address {
            found: address.to_owned(),
        })?;
        Ok(Self {
            talker,
            kind,
            fields: fields.split(',').collect(),
        })
    }
}

/// A sentence with its checksum and the end of the line.
#[must_use]
pub fn write(talker: &str, kind: &str, fields: &[String]) -> String {
    let body = format!("{talker}{kind},{}", fields.join(","));
    format!("${body}*{:02X}\r\n", checksum(&body))
}

fn checksum(body: &str) -> u8 {
    body.bytes().fold(0, |sum, byte| sum ^ byte)
}

fn shown(frame: &[u8]) -> String {
    const MAX: usize = 40;
    let text = String::from_utf8_lossy(frame);
    text.chars().take(MAX).collect()
}

//! What bytes of an undescribed type might be.

use crate::watch::fingerprint;
use bowline_format::Catalog;
use bowline_wire::Fingerprint;

/// How much of a message is looked at to guess.
const LOOKED_AT: usize = 4_096;
/// Files and streams, by what they begin with.
const BEGINNINGS: [(&[u8], &str); 10] = [
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x89MCAP0\r\n", "an MCAP log"),
    (b"\xed\xa1\xda\x01", "an LCM log"),
    (b"%PDF-", "a PDF document"),
];

/// What the bytes might be, in words.
///
/// If they are LCM's, but of another version of a type that is known, the guess names that type.
#[must_use]
pub fn guess(payload: &[u8], catalog: &Catalog) -> String {
    let start = payload.get(..LOOKED_AT).unwrap_or(payload);
    if payload.is_empty() {
        return "empty".to_owned();
    }
    if let Some((_, what)) = BEGINNINGS
        .iter()
        .find(|(beginning, _)| payload.starts_with(beginning))
    {
        return format!("looks like {what}");
    }
    if let Some(what) = text(start, payload.len()) {
        return format!("looks like {what}");
    }
    if payload.iter().all(|byte| *byte == 0) {
        return format!("{} zeros", payload.len());
    }
    let Some(found) = fingerprint(payload) else {
        return format!("{} bytes, too few for a message of LCM", payload.len());
    };
    match similar(payload, found, catalog) {
        Some(name) => {
            format!("would fit {name} but for its fingerprint: perhaps another version of it")
        }
        None => "maybe a message of LCM of an unknown type; --types names its place".to_owned(),
    }
}

/// What kind of text it is, if it is one.
fn text(start: &[u8], size: usize) -> Option<&'static str> {
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // Cut in the middle of a character.
        Err(error) if error.error_len().is_none() && start.len() < size => {
            std::str::from_utf8(start.get(..error.valid_up_to())?).ok()?
        }
        Err(_not_text) => return None,
    };
    let is_printable = |letter: char| !letter.is_control() || "\n\r\t".contains(letter);
    // C sends its strings with a zero at the end.
    let text = text.strip_suffix('\0').unwrap_or(text);
    if text.is_empty() || !text.chars().all(is_printable) {
        return None;
    }
    let trimmed = text.trim_start();
    Some(match trimmed.chars().next() {
        Some('{' | '[') => "JSON",
        Some('<') => "XML",
        Some('$' | '!') if text.contains(',') => "NMEA 0183",
        _ => "text",
    })
}

/// A type that the bytes after the fingerprint fit exactly. Types without anything to get wrong do not count.
fn similar(payload: &[u8], found: Fingerprint, catalog: &Catalog) -> Option<String> {
    const MAX_TRIED: usize = 2_000;
    const MAX_SIZE: usize = 64 << 10;
    if payload.len() > MAX_SIZE {
        return None;
    }
    let mut message = payload.to_vec();
    let candidates = catalog.iter().take(MAX_TRIED);
    candidates
        .filter(|(fingerprint, _, _)| *fingerprint != found)
        .find_map(|(fingerprint, types, id)| {
            if let Some(first) = message.first_chunk_mut() {
                *first = fingerprint.0.to_be_bytes();
            }
            let fits = types.min_size(id) >= 8 && types.decode_as(id, &message).is_ok();
            fits.then(|| types.def(id).full_name())
        })
}

/// Lines of 16 bytes, as people look at bytes: where, in hexadecimal, as letters.
#[must_use]
pub fn hex_lines(payload: &[u8], lines: std::ops::Range<usize>) -> Vec<String> {
    let rows = payload.chunks(16).enumerate();
    let rows = rows.skip(lines.start).take(lines.len());
    rows.map(|(row, bytes)| {
        let mut hex = String::new();
        for (at, byte) in bytes.iter().enumerate() {
            let gap = if at == 8 { "  " } else { " " };
            hex += &format!("{gap}{byte:02x}");
        }
        let letter = |byte: &u8| match byte {
            0x20..=0x7e => char::from(*byte),
            _ => '.',
        };
        let letters: String = bytes.iter().map(letter).collect();
        format!("{:06x} {hex:<49}  {letters}", row * 16)
    })
    .collect()
}

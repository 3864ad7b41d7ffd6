//! Numbers and text as people read them, and nothing that a terminal would obey.
//!
//! What comes off a bus is untrusted: names, comments and strings may hold letters that move cursors, change colours or
//! turn the reading direction. Everything that is shown goes through [`printable`] or [`quoted`].

use std::fmt::Write as _;

/// Whether a terminal would do something else with this letter than show it: control characters, and those that change
/// the direction of text, break lines or cannot be seen.
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Text with `?` for every letter that a terminal would not just show. For names of channels, hosts and programs.
#[must_use]
pub fn printable(text: &str) -> String {
    let replace = |letter: char| {
        if is_unprintable(letter) { '?' } else { letter }
    };
    text.chars().map(replace).collect()
}

/// A string of a message in quotes, whatever is in it: what is not for a terminal, or not UTF-8, is escaped. At most
/// `max_letters` of it, then `...`.
#[must_use]
pub fn quoted(bytes: &[u8], max_letters: usize) -> String {
    let mut out = String::from("\"");
    // A letter has at most 4 bytes: what comes later will not be shown, and is not looked at.
    let shown = bytes.get(..max_letters.saturating_mul(4)).unwrap_or(bytes);
    let mut n_letters = 0;
    let mut is_cut = shown.len() < bytes.len();
    'chunks: for chunk in shown.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if n_letters == max_letters {
                is_cut = true;
                break 'chunks;
            }
            n_letters += 1;
            push_letter(&mut out, letter);
        }
        for byte in chunk.invalid() {
            if n_letters == max_letters {
                is_cut = true;
                break 'chunks;
            }
            n_letters += 1;
            push_format(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push_str(if is_cut { "\"..." } else { "\"" });
    out
}

fn push_letter(out: &mut String, letter: char) {
    match letter {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        letter if is_unprintable(letter) && letter.is_ascii() => {
            push_format(out, format_args!("\\x{:02x}", u32::from(letter)));
        }
        letter if is_unprintable(letter) => {
            push_format(out, format_args!("\\u{{{:x}}}", u32::from(letter)));
        }
        letter => out.push(letter),
    }
}

fn push_format(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

/// Bytes in hex: `00 40 80 ff`, at most `max_bytes` of them, then `...`.
#[must_use]
pub fn hex(bytes: &[u8], max_bytes: usize) -> String {
    let shown = bytes.iter().take(max_bytes);
    let mut text = shown
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ");
    if bytes.len() > max_bytes {
        text.push_str(" ...");
    }
    text
}

/// The digits that are shown of a `float` and of a `double` that changes.
pub const FLOAT_DIGITS: usize = 7;
/// As [`FLOAT_DIGITS`], of a `double`: a tenth of a millimetre in degrees of latitude, or in a hundred kilometres.
pub const DOUBLE_DIGITS: usize = 10;

/// A number that changes from message to message, of a constant width: as many digits whatever the value, and room for
/// a sign. Small and large ones have an exponent, within the same width.
#[must_use]
pub fn steady(value: f64, n_digits: usize) -> String {
    let sign = if value.is_sign_negative() && !value.is_nan() {
        '-'
    } else {
        ' '
    };
    let size = value.abs();
    if value.is_nan() {
        return " NaN".into();
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let n_decimals = n_digits - 1;
    let text = format!("{size:.n_decimals$}");
    let n_whole = text.find('.').unwrap_or(text.len());
    if size >= 1e-3 && n_whole < n_digits || size.to_bits() == 0 {
        // Rounding may have added a digit in front: 9.9999 is 10.000 with fewer.
        let n_decimals = n_digits - n_whole;
        let text = format!("{size:.n_decimals$}");
        return format!(
            "{sign}{}",
            text.get(..=n_digits).unwrap_or(&text).trim_end_matches('.')
        );
    }
    let exponent = format!("{size:e}");
    let exponent = exponent.rsplit('e').next().map_or(0, str::len);
    let n_decimals = n_digits.saturating_sub(exponent + 2);
    format!("{sign}{size:.n_decimals$e}")
}

/// A number on its own, in at most six digits and no more than it needs: `0.5`, `1`, `-3.14159`, `1.5e9`.
#[must_use]
pub fn short(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    let size = value.abs();
    if value.is_infinite() || size.to_bits() == 0 {
        return value.to_string();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..=8).contains(&exponent) {
        return format!("{}e{exponent}", trim_zeros(digits));
    }
    let n_decimals = usize::try_from(5 - exponent).unwrap_or(0);
    trim_zeros(&format!("{value:.n_decimals$}")).into()
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

/// A moment as a date, where a field's name marks it as one and its number may be: since 1970, in micro-, milli- or
/// nanoseconds, between 1990 and 2100.
#[must_use]
pub fn time_of_field(name: &str, value: i64) -> Option<String> {
    const FROM_S: i64 = 631_152_000;
    const TO_S: i64 = 4_102_444_800;
    let name = name.to_ascii_lowercase();
    let is_time = ["utime", "timestamp", "time", "stamp"];
    if !is_time.iter().any(|end| name.ends_with(end)) && !name.contains("utime") {
        return None;
    }
    let units = [1_000_000_i64, 1_000, 1_000_000_000];
    let per_s = units.into_iter().find(|per_s| {
        let whole = value / per_s;
        (FROM_S..TO_S).contains(&whole)
    })?;
    utime(i64::try_from(i128::from(value) * 1_000_000 / i128::from(per_s)).ok()?)
}

/// Microseconds since 1970 as a date and a time of day in UTC, with microseconds. `None` beyond the calendar.
#[must_use]
pub fn utime(utime: i64) -> Option<String> {
    let time = jiff::Timestamp::from_microsecond(utime).ok()?;
    Some(format!("{time:.6}").replacen('T', " ", 1))
}

/// A number of bytes: `999 B`, `1.2 kB`, `12 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        1_000_000_000.. => (1_000_000_000, "GB"),
    };
    match bytes / unit {
        whole @ 0..10 => format!("{whole}.{} {name}", bytes % unit / (unit / 10)),
        whole => format!("{whole} {name}"),
    }
}

/// Bytes in a second: `1.2 MB/s`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion stops at the ends, and a rate is positive"
)]
pub fn bandwidth(bytes_per_s: f64) -> String {
    format!("{}/s", size(bytes_per_s.round() as u64))
}

/// How often in a second, in three digits: `0.50 Hz`, `49.8 Hz`, `1.20 kHz`.
#[must_use]
pub fn rate(hz: f64) -> String {
    let (value, unit) = match hz {
        hz if hz >= 999.5e3 => (hz / 1e6, "MHz"),
        hz if hz >= 999.5 => (hz / 1e3, "kHz"),
        hz => (hz, "Hz"),
    };
    let n_decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.n_decimals$} {unit}")
}

/// A stretch of time, in about three digits: `12 us`, `3.40 ms`, `5.00 s`, `2 min 5 s`, `3 h 20 min`.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "three digits are shown, of fifteen"
)]
pub fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        1_000_000_000..60_000_000_000 => (ns as f64 / 1e9, "s"),
        60_000_000_000.. => {
            let s = ns / 1_000_000_000;
            return match s / 60 {
                min @ 0..60 => format!("{min} min {} s", s % 60),
                min @ 60..1440 => format!("{} h {} min", min / 60, min % 60),
                min => format!("{} d {} h", min / 1440, min / 60 % 24),
            };
        }
    };
    let n_decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.n_decimals$} {unit}")
}

/// A four-letter code, such as that of a pixel format: `GREY` of `0x59455247`. `None` unless all are letters or digits,
/// but for spaces at the end.
#[must_use]
pub fn four_letters(code: i64) -> Option<String> {
    let bytes = u32::try_from(code).ok()?.to_le_bytes();
    let text = str::from_utf8(&bytes).ok()?.trim_end();
    let is_code = text.len() > 1 && text.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_code.then(|| text.into())
}

//! Numbers as people write them: in the type language, in settings and on command lines.

/// Reads an integer as C does: decimal, `0x` hex or `0` octal, with a minus sign if need be. A value beyond 64 bits is
/// none.
#[must_use]
pub fn parse_integer(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
}

/// A duration as people write it: `90`, `1.5` and `10s` are seconds, `250ms`, `2m` and `1h` have their unit.
#[must_use]
pub fn parse_seconds(text: &str) -> Option<f64> {
    let at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let unit_s = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * unit_s)
}

/// Reads a float: decimal with an optional exponent, C's hex integers, `inf` and `nan`.
#[must_use]
pub fn parse_float(text: &str) -> Option<f64> {
    if let Some(integer) = parse_hex(text) {
        return Some(integer);
    }
    text.parse().ok()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a float constant written in hex is rounded, as C does"
)]
fn parse_hex(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_hex = digits.starts_with("0x") || digits.starts_with("0X");
    is_hex
        .then(|| parse_integer(text))
        .flatten()
        .map(|value| value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_read_as_c_reads_them() {
        #[rustfmt::skip]
        let cases = [
            ("0", Some(0)), ("10", Some(10)), ("-3", Some(-3)), ("0x10", Some(16)), ("-0X1f", Some(-31)),
            ("017", Some(15)), ("00", Some(0)), ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)), ("9223372036854775808", None),
            ("", None), ("-", None), ("0x", None), ("08", None), ("+1", None), ("1.5", None), ("--1", None), ("0x-1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_integer(text), expected, "{text:?}");
        }
    }
}

//! Units: what a member's name and comment declare about its numbers.
//!
//! Shared by the linter, which asks for units, and the inspectors, which show them. The linter is content
//! with any word that may be a unit; to show one, it must be clear that it is meant.

use super::Member;
use alloc::string::String;

/// A unit and the ways to write it.
struct Unit {
    /// As people read it.
    symbol: &'static str,
    /// At the end of a member's name, after `_`: `depth_m`.
    suffixes: &'static [&'static str],
    /// In a comment.
    words: &'static [&'static str],
}

const fn unit(
    symbol: &'static str,
    suffixes: &'static [&'static str],
    words: &'static [&'static str],
) -> Unit {
    Unit {
        symbol,
        suffixes,
        words,
    }
}

#[rustfmt::skip]
const UNITS: &[Unit] = &[
    unit("A", &["a"], &["a", "amperes"]),
    unit("bar", &["bar"], &["bar"]),
    unit("bits", &[], &["bits"]),
    unit("B", &["bytes"], &["bytes"]),
    unit("cm", &["cm"], &["cm"]),
    unit("Da", &["da"], &["dalton", "daltons"]),
    unit("dB", &["db"], &["db", "decibels"]),
    unit("deg", &["deg"], &["deg", "degrees"]),
    unit("\u{b0}C", &["c", "degc"], &["celsius", "degc"]),
    unit("deg/s", &["dps"], &[]),
    unit("g", &["g"], &["g"]),
    unit("Hz", &["hz"], &["hertz", "hz"]),
    unit("J", &["j"], &[]),
    unit("K", &["k"], &["kelvin"]),
    unit("kg", &["kg"], &["kg", "kilograms"]),
    unit("km", &["km"], &["km"]),
    unit("kn", &["kn", "kts"], &["kn", "knots", "kts"]),
    unit("kPa", &["kpa"], &["kpa"]),
    unit("m", &["m"], &["m", "metre", "metres", "meter", "meters"]),
    unit("m/s", &["mps"], &[]),
    unit("m/s\u{b2}", &["mps2"], &[]),
    unit("m\u{b2}", &["m2"], &[]),
    unit("m\u{b3}", &["m3"], &[]),
    unit("min", &[], &["min", "minutes"]),
    unit("mm", &["mm"], &["mm"]),
    unit("mm\u{b2}", &["mm2"], &[]),
    unit("ms", &["ms"], &["milliseconds", "ms"]),
    unit("N", &["n"], &["n", "newtons"]),
    unit("Nm", &["nm"], &[]),
    unit("ns", &["ns"], &["nanoseconds", "ns"]),
    unit("Pa", &["pa"], &["pa", "pascals"]),
    unit("%", &["percent"], &["percent", "%"]),
    unit("ppm", &["ppm"], &["ppm"]),
    unit("psi", &["psi"], &["psi"]),
    unit("px", &["px"], &["pixel", "pixels", "px"]),
    unit("rad", &["rad"], &["rad", "radian", "radians"]),
    unit("rad/s", &["radps"], &[]),
    unit("rad/s\u{b2}", &["radps2"], &[]),
    unit("rpm", &["rpm"], &["rpm"]),
    unit("s", &["s", "secs"], &["s", "sec", "seconds", "secs"]),
    unit("T", &["tesla"], &["tesla"]),
    unit("us", &["us", "utime"], &["microseconds", "us"]),
    unit("V", &["v"], &["v", "volts"]),
    unit("W", &["w"], &["w", "watts"]),
    // Numbers of things, and of nothing.
    unit("", &["count", "ratio"], &["count", "dimensionless", "ratio", "unitless"]),
];

impl Member {
    /// Whether the name or the comment has a word for a unit, or declares that there is none.
    #[must_use]
    pub fn has_unit(&self) -> bool {
        let mut words = self.doc.split(|c: char| !c.is_alphanumeric() && c != '%');
        self.unit_of_name().is_some() || words.any(|word| of_word(word).is_some())
    }

    /// The unit, as people read it: `m`, `rad/s`. `None` where the name does not end in one and the comment names none,
    /// or more than one, so that it is not clear which is meant.
    #[must_use]
    pub fn unit(&self) -> Option<String> {
        if let Some(unit) = self.unit_of_name() {
            return Some(unit.into()).filter(|unit: &String| !unit.is_empty());
        }
        let mut found: Option<String> = None;
        for phrase in self.doc.split([',', ';', '(', ')', '[', ']', ':', '.']) {
            let Some(unit) = of_phrase(phrase) else {
                continue;
            };
            if found.as_ref().is_some_and(|other| *other != unit) {
                return None;
            }
            found = Some(unit);
        }
        found.filter(|unit| !unit.is_empty())
    }

    fn unit_of_name(&self) -> Option<&'static str> {
        let (_, suffix) = self.name.rsplit_once('_')?;
        let is_suffix = |known: &&str| known.eq_ignore_ascii_case(suffix);
        let unit = UNITS
            .iter()
            .find(|unit| unit.suffixes.iter().any(is_suffix));
        unit.map(|unit| unit.symbol)
    }
}

fn of_word(word: &str) -> Option<&'static str> {
    let is_word = |known: &&str| known.eq_ignore_ascii_case(word);
    let unit = UNITS.iter().find(|unit| unit.words.iter().any(is_word));
    unit.map(|unit| unit.symbol)
}

/// The unit that a part of a comment begins with: `decimal degrees`, `metres a second`, `m/s`, `bytes of data`.
fn of_phrase(phrase: &str) -> Option<String> {
    let phrase = phrase.trim();
    let phrase = phrase.strip_prefix("decimal ").unwrap_or(phrase);
    let phrase = phrase.strip_prefix("in ").unwrap_or(phrase);
    let end = phrase.find([' ', '/']).unwrap_or(phrase.len());
    let (word, rest) = phrase.split_at_checked(end)?;
    let unit = of_word(word)?;
    let per_second = ["/s", " a second", " per second"];
    if let Some(power) = per_second.iter().find_map(|per| rest.strip_prefix(per)) {
        let square = if power.starts_with(['2', '\u{b2}']) || power.starts_with("^2") {
            "\u{b2}"
        } else {
            ""
        };
        return Some(alloc::format!("{unit}/s{square}"));
    }
    // A letter is a unit only where it stands alone: "a rate" is no current. And "seconds of log time in a second" names
    // what is counted, not in what, unlike "bytes of data".
    let is_letter = word.chars().count() < 3 && !rest.is_empty();
    let is_counted = rest.starts_with(" of ") && !matches!(unit, "B" | "bits" | "px");
    (!is_letter && !is_counted).then(|| unit.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Primitive, Type};

    fn member(name: &str, doc: &str) -> Member {
        Member {
            name: name.into(),
            doc: doc.into(),
            ty: Type::Primitive(Primitive::Double),
            dims: alloc::vec![],
        }
    }

    #[test]
    fn a_unit_is_read_from_the_name_or_else_from_the_comment() {
        #[rustfmt::skip]
        let cases = [
            ("depth_m",  "below the surface",                                  Some("m")),
            ("late_s",   "on average, milliseconds",                           Some("s")),
            ("utime",    "when the fix was valid, microseconds since the epoch", Some("us")),
            ("lat",      "latitude, decimal degrees, north positive, -90 to 90 (WGS 84)", Some("deg")),
            ("sog",      "speed over ground, knots, 0 or more",                Some("kn")),
            ("v",        "speed (m/s)",                                        Some("m/s")),
            ("a",        "acceleration (m/s^2)",                               Some("m/s\u{b2}")),
            ("v",        "surge, metres a second, body frame",                 Some("m/s")),
            ("size",     "bytes of data, 0 or more",                           Some("B")),
            ("width",    "pixels in a row, 1 or more",                         Some("px")),
            ("disk",     "room on the disk, bytes; -1 if unknown",        Some("B")),
            ("charge",   "of the battery (ratio)",                             None),
            ("rate",     "a rate, as it was asked for",                        None),
            ("rate",     "seconds of log time in a second, above 0",           None),
            ("state",    "position (metres); attitude (radians)",              None),
            ("x",        "",                                                   None),
        ];
        for (name, doc, expected) in cases {
            assert_eq!(
                member(name, doc).unit().as_deref(),
                expected,
                "{name}: {doc}"
            );
        }
    }
}

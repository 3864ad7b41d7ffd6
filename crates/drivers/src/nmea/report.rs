//! The contents of sentences, field by field. What cannot be is refused, and no field is made up.

use super::sentence::Sentence;

/// The contents of a sentence that a vessel can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Report {
    /// Where the receiver is.
    Gga(Gga),
    /// Where it is and how fast it goes.
    Rmc(Rmc),
    /// How sure it is.
    Gst(Gst),
    /// How the satellites stand: dilution of precision across and along the vertical.
    Gsa {
        /// Horizontal.
        hdop: Option<f64>,
        /// Vertical.
        vdop: Option<f64>,
    },
    /// Course and speed.
    Vtg {
        /// From true north, clockwise, degrees.
        course_deg: Option<f64>,
        /// Over ground, knots.
        speed_kn: Option<f64>,
    },
    /// Where a compass points.
    Heading(HeadingReport),
    /// How deep it is.
    Depth(Depth),
    /// What time it is.
    Zda(TimeOfDay),
}

/// A fix that a receiver stands by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// When it was.
    pub time: TimeOfDay,
    /// North positive, degrees.
    pub lat_deg: f64,
    /// East positive, degrees.
    pub lon_deg: f64,
}

/// A GGA sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gga {
    /// Where, if it knows.
    pub fix: Option<Fix>,
    /// 1 satellites alone, 2 differential, 3 precise, 4 RTK, 5 RTK afloat.
    pub quality: u8,
    /// Horizontal dilution of precision.
    pub hdop: Option<f64>,
    /// Above mean sea level, metres.
    pub altitude_m: Option<f64>,
    /// The geoid above the ellipsoid, metres.
    pub geoid_m: Option<f64>,
}

/// An RMC sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmc {
    /// Where, if it knows.
    pub fix: Option<Fix>,
    /// Over ground, knots.
    pub speed_kn: Option<f64>,
}

/// A GST sentence: standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gst {
    /// Along north, metres.
    pub lat_sd_m: f64,
    /// Along east, metres.
    pub lon_sd_m: f64,
    /// Of the height, metres.
    pub alt_sd_m: f64,
}

/// HDT, HDM or HDG.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeadingReport {
    /// Clockwise from true north, degrees.
    True(f64),
    /// Clockwise from magnetic north, degrees.
    Magnetic(f64),
    /// The device has none now.
    Unknown,
}

/// DBT or DPT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Depth {
    /// Below the transducer, metres.
    Metres(f64),
    /// No echo came back.
    NoEcho,
}

/// Microseconds since midnight, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay(pub i64);

/// Why a field cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} field {number}: expected {expected}, found {found:?}")]
pub struct BadField {
    /// What the sentence is about.
    pub kind: String,
    /// Which field, from 1.
    pub number: usize,
    /// What it may be.
    pub expected: &'static str,
    /// What it is.
    pub found: String,
}

/// No vessel is faster, and a receiver that reports more is wrong.
const MAX_SPEED_KN: f64 = 1_000.0;
/// Deeper is no sea.
const MAX_DEPTH_M: f64 = 12_000.0;
/// Where receivers can be, metres above the sea.
const ALTITUDES_M: [f64; 2] = [-1_000.0, 20_000.0];
/// The geoid is nowhere farther from the ellipsoid, metres.
const MAX_GEOID_M: f64 = 150.0;
const MAX_DILUTION: f64 = 100.0;
const MAX_SD_M: f64 = 100_000.0;

impl Report {
    /// Understands a sentence. `None`: it is about something else.
    ///
    /// # Errors
    /// When a field is none that such a sentence can have.
    pub fn read(sentence: &Sentence<'_>) -> Result<Option<Self>, BadField> {
        let fields = Fields { sentence };
        Ok(Some(match sentence.kind {
            _ if sentence.talker == "P" => return Ok(None),
            "GGA" => Self::Gga(gga(&fields)?),
            "RMC" => Self::Rmc(rmc(&fields)?),
            "GST" => match gst(&fields)? {
                Some(gst) => Self::Gst(gst),
                None => return Ok(None),
            },
            "GSA" => Self::Gsa {
                hdop: fields.number(16, "a dilution", [0.0, MAX_DILUTION])?,
                vdop: fields.number(17, "a dilution", [0.0, MAX_DILUTION])?,
            },
            "VTG" => Self::Vtg {
                course_deg: fields.number(1, "a course, 0 to 360", [0.0, 360.0])?,
                speed_kn: fields.number(5, "a speed in knots", [0.0, MAX_SPEED_KN])?,
            },
            "HDT" => Self::Heading(heading(&fields, "T", HeadingReport::True)?),
            "HDM" => Self::Heading(heading(&fields, "M", HeadingReport::Magnetic)?),
            "HDG" => Self::Heading(hdg(&fields)?),
            "DBT" => Self::Depth(dbt(&fields)?),
            "DPT" => Self::Depth(depth(&fields, 1)?),
            "ZDA" => match zda(&fields)? {
                Some(time) => Self::Zda(time),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// The fix that it has, if it is about one and has any.
    #[must_use]
    pub fn fix(&self) -> Option<&Fix> {
        match self {
            Self::Gga(gga) => gga.fix.as_ref(),
            Self::Rmc(rmc) => rmc.fix.as_ref(),
            Self::Gst(_)
            | Self::Gsa { .. }
            | Self::Vtg { .. }
            | Self::Heading(_)
            | Self::Depth(_)
            | Self::Zda(_) => None,
        }
    }
}

fn gga(fields: &Fields<'_>) -> Result<Gga, BadField> {
    let quality = match fields.text(6) {
        "" | "0" => 0,
        // Estimated, typed in, simulated: none of them was measured.
        "6" | "7" | "8" => 0,
        text => match text.as_bytes() {
            [digit @ b'1'..=b'5'] => digit - b'0',
            _ => return Err(fields.bad(6, "a quality, 0 to 8")),
        },
    };
    let place = place(fields, 1, 2)?;
    let fix = match (place, quality) {
        (_, 0) => None,
        (Some(fix), _) => Some(fix),
        (None, _) => return Err(fields.bad(2, "a place, as there is a fix")),
    };
    fields.one_of(10, &["", "M"])?;
    fields.one_of(12, &["", "M"])?;
    Ok(Gga {
        fix,
        quality,
        hdop: fields.number(8, "a dilution", [0.0, MAX_DILUTION])?,
        altitude_m: fields.number(9, "a height in metres", ALTITUDES_M)?,
        geoid_m: fields.number(
            11,
            "a geoid's height in metres",
            [-MAX_GEOID_M, MAX_GEOID_M],
        )?,
    })
}

fn rmc(fields: &Fields<'_>) -> Result<Rmc, BadField> {
    fields.one_of(2, &["A", "V", ""])?;
    fields.one_of(12, &["", "A", "D", "E", "F", "M", "N", "P", "R", "S"])?;
    // Estimated, typed in, simulated or none at all: nothing that was measured.
    let is_measured = !matches!(fields.text(12), "E" | "M" | "N" | "S");
    let place = place(fields, 1, 3)?;
    check_date(fields, 9)?;
    let fix = match (fields.text(2) == "A" && is_measured, place) {
        (false, _) => None,
        (true, Some(fix)) => Some(fix),
        (true, None) => return Err(fields.bad(3, "a place, as there is a fix")),
    };
    Ok(Rmc {
        fix,
        speed_kn: fields.number(7, "a speed in knots", [0.0, MAX_SPEED_KN])?,
    })
}

fn gst(fields: &Fields<'_>) -> Result<Option<Gst>, BadField> {
    let deviation = |number| fields.number(number, "a deviation in metres", [0.0, MAX_SD_M]);
    let (lat, lon, alt) = (deviation(6)?, deviation(7)?, deviation(8)?);
    Ok(match (lat, lon, alt) {
        (Some(lat_sd_m), Some(lon_sd_m), Some(alt_sd_m)) => Some(Gst {
            lat_sd_m,
            lon_sd_m,
            alt_sd_m,
        }),
        (Some(_) | None, _, _) => None,
    })
}

fn heading(
    fields: &Fields<'_>,
    reference: &'static str,
    of: fn(f64) -> HeadingReport,
) -> Result<HeadingReport, BadField> {
    fields.one_of(2, &[reference])?;
    let heading_deg = fields.number(1, "a heading, 0 to 360", [0.0, 360.0])?;
    Ok(heading_deg.map_or(HeadingReport::Unknown, of))
}

/// What the sensor points at, and how far the iron of the vessel turns it.
fn hdg(fields: &Fields<'_>) -> Result<HeadingReport, BadField> {
    let heading_deg = fields.number(1, "a heading, 0 to 360", [0.0, 360.0])?;
    let deviation_deg = fields.number(2, "a deviation, 0 to 180", [0.0, 180.0])?;
    let sign = match (fields.text(3), deviation_deg) {
        ("E", _) | ("", None) => 1.0,
        ("W", _) => -1.0,
        _ => return Err(fields.bad(3, "E or W")),
    };
    Ok(heading_deg.map_or(HeadingReport::Unknown, |heading_deg| {
        let turned_deg = heading_deg + sign * deviation_deg.unwrap_or(0.0);
        HeadingReport::Magnetic(turned_deg.rem_euclid(360.0))
    }))
}

fn depth(fields: &Fields<'_>, number: usize) -> Result<Depth, BadField> {
    let depth_m = fields.number(number, "a depth in metres", [0.0, MAX_DEPTH_M])?;
    Ok(depth_m.map_or(Depth::NoEcho, Depth::Metres))
}

/// Feet, metres and fathoms, of one and the same depth.
fn dbt(fields: &Fields<'_>) -> Result<Depth, BadField> {
    for (number, unit) in [(2, "f"), (4, "M"), (6, "F")] {
        fields.one_of(number, &["", unit])?;
    }
    let metres = depth(fields, 3)?;
    let feet = fields.number(1, "a depth in feet", [0.0, MAX_DEPTH_M / 0.3048])?;
    match (metres, feet) {
        (Depth::NoEcho, Some(feet)) => Ok(Depth::Metres(feet * 0.3048)),
        (Depth::Metres(metres), Some(feet))
            if (feet * 0.3048 - metres).abs() > 0.2 + 0.01 * metres =>
        {
            Err(fields.bad(1, "the same depth in feet as in metres"))
        }
        (metres, Some(_) | None) => Ok(metres),
    }
}

fn zda(fields: &Fields<'_>) -> Result<Option<TimeOfDay>, BadField> {
    fields.time(1)
}

/// A time, and a place in the four fields from `first` on. `None`: the device does not know.
fn place(fields: &Fields<'_>, time: usize, first: usize) -> Result<Option<Fix>, BadField> {
    let time = fields.time(time)?;
    let lat_deg = fields.degrees(first, 2, ["N", "S"], 90.0)?;
    let lon_deg = fields.degrees(first + 2, 3, ["E", "W"], 180.0)?;
    Ok(match (time, lat_deg, lon_deg) {
        (Some(time), Some(lat_deg), Some(lon_deg)) => Some(Fix {
            time,
            lat_deg,
            lon_deg,
        }),
        (Some(_) | None, _, _) => None,
    })
}

/// A date is not used: receivers that count weeks from a wrong beginning are common. One that is none is a mistake.
fn check_date(fields: &Fields<'_>, number: usize) -> Result<(), BadField> {
    let text = fields.text(number);
    let two = |at: usize| text.get(at..at + 2).and_then(digits);
    let is_date = text.len() == 6
        && two(0).is_some_and(|day| (1..=31).contains(&day))
        && two(2).is_some_and(|month| (1..=12).contains(&month))
        && two(4).is_some();
    match text.is_empty() || is_date {
        true => Ok(()),
        false => Err(fields.bad(number, "a date, ddmmyy")),
    }
}

struct Fields<'s> {
    sentence: &'s Sentence<'s>,
}

impl Fields<'_> {
    /// A field that is not there is empty: standards have added some at the end.
    fn text(&self, number: usize) -> &str {
        self.sentence.fields.get(number - 1).copied().unwrap_or("")
    }

    fn bad(&self, number: usize, expected: &'static str) -> BadField {
        BadField {
            kind: self.sentence.kind.to_owned(),
            number,
            expected,
            found: self.text(number).to_owned(),
        }
    }

    fn one_of(&self, number: usize, allowed: &[&'static str]) -> Result<(), BadField> {
        match allowed.contains(&self.text(number)) {
            true => Ok(()),
            false => Err(self.bad(number, "another letter")),
        }
    }

    fn number(
        &self,
        number: usize,
        expected: &'static str,
        [least, most]: [f64; 2],
    ) -> Result<Option<f64>, BadField> {
        let text = self.text(number);
        if text.is_empty() {
            return Ok(None);
        }
        let value = decimal(text).filter(|value| (least..=most).contains(value));
        value.map(Some).ok_or_else(|| self.bad(number, expected))
    }

    /// `hhmmss`, or with a fraction.
    fn time(&self, number: usize) -> Result<Option<TimeOfDay>, BadField> {
        let text = self.text(number);
        if text.is_empty() {
            return Ok(None);
        }
        let time = time_of_day(text);
        time.map(Some)
            .ok_or_else(|| self.bad(number, "a time, hhmmss"))
    }

    /// Degrees and minutes in one, `4807.038`, and the half of the world that it is in.
    fn degrees(
        &self,
        number: usize,
        n_degrees: usize,
        [positive, negative]: [&str; 2],
        most_deg: f64,
    ) -> Result<Option<f64>, BadField> {
        let text = self.text(number);
        let sign = match self.text(number + 1) {
            "" if text.is_empty() => return Ok(None),
            half if half == positive => 1.0,
            half if half == negative => -1.0,
            _ => return Err(self.bad(number + 1, "a half of the world")),
        };
        let bad = || self.bad(number, "degrees and minutes");
        let (degrees, minutes) = text.split_at_checked(n_degrees).ok_or_else(bad)?;
        let is_two = minutes
            .split('.')
            .next()
            .is_some_and(|whole| whole.len() == 2);
        let whole = digits(degrees).filter(|_| is_two).ok_or_else(bad)?;
        let minutes = decimal(minutes).filter(|minutes| (0.0..60.0).contains(minutes));
        let value_deg = f64::from(whole) + minutes.ok_or_else(bad)? / 60.0;
        match value_deg <= most_deg {
            true => Ok(Some(sign * value_deg)),
            false => Err(bad()),
        }
    }
}

fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let two = |at: usize| text.get(at..at + 2).and_then(digits).map(i64::from);
    let (hours, minutes, seconds) = (two(0)?, two(2)?, two(4)?);
    let micros = match text.get(6..)?.split_at_checked(1) {
        None => 0,
        Some((".", fraction)) => {
            // More digits than microseconds have are cut off, if they are digits.
            let is_digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
            let six: String = fraction.chars().chain("000000".chars()).take(6).collect();
            i64::from(digits(&six).filter(|_| is_digits)?)
        }
        Some(_) => return None,
    };
    // A second may be a leap second.
    let is_time = hours < 24 && minutes < 60 && seconds <= 60;
    is_time.then_some(TimeOfDay(
        ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros,
    ))
}

/// Digits alone, at least one and at most nine.
fn digits(text: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// A decimal number as the standard writes them: no exponent, no words.
fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let is_allowed = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_digit = unsigned.bytes().any(|byte| byte.is_ascii_digit());
    let is_decimal = has_digit && unsigned.bytes().all(is_allowed);
    text.parse().ok().filter(|_| is_decimal)
}

//! Scans: ranges in equal steps of angle, as lasers and sonars give them.

use super::fields::{Fields, nested};
use bowline_wire::schema::{Member, Primitive, TypeId, TypeSet};
use bowline_wire::{Array, Items, Value};
use thiserror::Error;

const ANGLE: &[&str] = &["rad", "ang", "theta", "bearing", "azimuth", "deg"];
const START: &[&str] = &["0", "min", "start", "first", "begin"];
const STEP: &[&str] = &["step", "inc", "delta", "res", "spacing"];
const END: &[&str] = &["max", "end", "stop", "last"];
/// More ranges than any scanner gives, and than a screen can show apart.
const MAX_RANGES: usize = 1 << 20;

/// A scan seen from above, in the frame of its sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The field that has the ranges.
    pub path: String,
    /// What was hit: metres ahead and to the left.
    pub points: Vec<(f64, f64)>,
    /// How many ranges there are, whether they hit something or not.
    pub n_ranges: usize,
    /// The farthest hit, metres.
    pub max_m: f64,
    /// Angle of the first range, radians, counter-clockwise from ahead.
    pub from_rad: f64,
    /// Angle of the last range.
    pub to_rad: f64,
}

/// A scan that cannot be drawn.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BadScan {
    /// Its angles are none.
    #[error("expected angles to begin with and to step by, found {from} and {step}")]
    Angles {
        /// The declared start.
        from: f64,
        /// The declared step.
        step: f64,
    },
    /// It has more ranges than can be drawn.
    #[error("expected at most {MAX_RANGES} ranges, found {found}")]
    TooMany {
        /// How many it has.
        found: usize,
    },
}

/// The scan in a message, or in a struct in it; `None` if there is none.
#[must_use]
pub fn scan<'v>(
    types: &'v TypeSet,
    id: TypeId,
    value: &'v Value<'v>,
) -> Option<Result<Scan, BadScan>> {
    nested(types, id, value, &|fields| scan_in(&fields))
}

fn scan_in(fields: &Fields<'_>) -> Option<Result<Scan, BadScan>> {
    let (name, ranges) = ranges(fields)?;
    let (from, from_angle) = fields.fraction([ANGLE, START])?;
    let from_rad = from_angle * radians(from);
    let step_rad = match fields.fraction([ANGLE, STEP]) {
        Some((member, step)) => step * radians(member),
        None => {
            let (member, to) = fields.fraction([ANGLE, END])?;
            let n_steps = u32::try_from(ranges.len()).ok()?.saturating_sub(1).max(1);
            (to * radians(member) - from_rad) / f64::from(n_steps)
        }
    };
    if !from_rad.is_finite() || !step_rad.is_finite() {
        let (from, step) = (from_rad, step_rad);
        return Some(Err(BadScan::Angles { from, step }));
    }
    if ranges.len() > MAX_RANGES {
        let found = ranges.len();
        return Some(Err(BadScan::TooMany { found }));
    }
    let metres = fields.member(name).map_or(1.0, metres);
    let path = fields.path_to(name);
    Some(Ok(points(path, ranges, metres, (from_rad, step_rad))))
}

/// The row of ranges: the one that is called so, or the only one of fractions.
fn ranges<'v>(fields: &Fields<'v>) -> Option<(&'v str, &'v Array<'v>)> {
    let is_fraction = |array: &Array<'_>| {
        let ty = match array.items() {
            Items::Numbers { ty, .. } => Some(*ty),
            Items::Values(_) | Items::Structs { .. } => None,
        };
        array.n_dims() == 1 && matches!(ty, Some(Primitive::Float | Primitive::Double))
    };
    let all: Vec<_> = fields
        .arrays()
        .filter(|(_, array)| is_fraction(array))
        .collect();
    let is_named = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["range", "dist"].iter().any(|part| name.contains(part))
    };
    let named = all.iter().find(|(name, _)| is_named(name));
    let only = (all.len() == 1).then(|| all.first()).flatten();
    named.or(only).copied()
}

fn radians(member: &Member) -> f64 {
    let is_degrees = member.unit().as_deref() == Some("deg") || member.name.contains("deg");
    if is_degrees { 1_f64.to_radians() } else { 1.0 }
}

fn metres(member: &Member) -> f64 {
    match member.unit().as_deref() {
        Some("mm") => 1e-3,
        Some("cm") => 1e-2,
        Some("km") => 1e3,
        Some(_) | None => 1.0,
    }
}

fn points(path: String, ranges: &Array<'_>, metres: f64, (from, step): (f64, f64)) -> Scan {
    let mut scan = Scan {
        path,
        points: Vec::with_capacity(ranges.len()),
        n_ranges: ranges.len(),
        max_m: 0.0,
        from_rad: from,
        to_rad: from,
    };
    let values = ranges.iter().filter_map(|value| value.as_f64());
    for (place, range) in (0_u32..).zip(values) {
        let angle = from + step * f64::from(place);
        scan.to_rad = angle;
        let range = range * metres;
        // Nothing was hit: sensors report that as 0, a negative number, infinity or NaN.
        if range.is_finite() && range > 0.0 {
            scan.max_m = scan.max_m.max(range);
            scan.points.push((range * angle.cos(), range * angle.sin()));
        }
    }
    scan
}

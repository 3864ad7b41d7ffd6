//! Painted lines in world files of our own.

use super::{MAX_POINTS, PLACE, read_colour};
use crate::world::World;
use crate::world::line::{Line, WHITE};
use bowline_component::document::{Problems, Span, Table, Value, Word, describe, numbers};
use bowline_geometry::is_name;
use std::ops::RangeInclusive;

/// More lines are a city.
const MAX_LINES: usize = 1_000;
/// How long all lines together may be, metres: cameras look at every spot of them.
const MAX_TOTAL_M: f64 = 20_000.0;
/// Breadths, dashes and gaps in metres.
const WIDTH: RangeInclusive<f64> = 0.01..=10.0;
const DASH: RangeInclusive<f64> = 0.05..=1_000.0;

/// Reads all of `[line]` into a world whose bodies are known.
pub(super) fn read(table: &Table<'_, '_>, world: &mut World, problems: &mut Problems<'_>) {
    let entries = table.entries();
    if entries.len() > MAX_LINES {
        let found = entries.len();
        let message = format!("expected at most {MAX_LINES} lines, found {found}");
        problems.error(table.at(), message);
        return;
    }
    for (name, value) in entries {
        if world.bodies.iter().any(|body| body.name == *name.get_ref()) {
            let message = format!(
                "expected a name that no body has, found {:?}: contacts are reported by name",
                name.get_ref()
            );
            problems.error(name.span(), message);
        }
        world.lines.extend(read_line(&name, value, problems));
    }
    let total_m: f64 = world.lines.iter().map(Line::length_m).sum();
    if total_m > MAX_TOTAL_M {
        let message =
            format!("lines are at most {MAX_TOTAL_M} m long together, found {total_m:.0} m");
        problems.error(table.at(), message);
    }
}

fn read_line(name: &Word, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Line> {
    if !is_name(name.get_ref()) {
        let message = format!(
            "a line's name has no spaces and colons, found {:?}",
            name.get_ref()
        );
        problems.error(name.span(), message);
        return None;
    }
    let what = format!("[line.{}]", name.get_ref());
    let mut table = Table::of(&what, value, problems);
    table.require("points_m", "points_m = [[0.0, 0.0], [5.0, 0.0]]", problems);
    let points = table.list("points_m", problems);
    let width_m = table.number("width_m", WIDTH, problems);
    let dash_m = table.numbers("dash_m", DASH, problems);
    let colour = read_colour(&mut table, problems);
    let at = table.key("points_m").unwrap_or(table.at());
    table.finish(problems);
    let usual = Line::new(name.get_ref().clone(), read_points(points?, at, problems)?);
    Some(Line {
        width_m: width_m.unwrap_or(usual.width_m),
        dash_m,
        colour: colour.unwrap_or(WHITE),
        ..usual
    })
}

fn read_points(
    points: &[Value<'_>],
    at: Span,
    problems: &mut Problems<'_>,
) -> Option<Vec<[f64; 2]>> {
    if !(2..=MAX_POINTS).contains(&points.len()) {
        let found = points.len();
        let message = format!("points_m has 2 to {MAX_POINTS} points, found {found}");
        problems.error(at, message);
        return None;
    }
    let mut way: Vec<[f64; 2]> = Vec::with_capacity(points.len());
    for point in points {
        let Some(found) = numbers::<2>(point.get_ref(), &PLACE) else {
            let found = describe(point.get_ref());
            let message = format!("each of points_m is 2 numbers, found {found}");
            problems.error(point.span(), message);
            return None;
        };
        if way
            .last()
            .is_some_and(|last| last.map(f64::to_bits) == found.map(f64::to_bits))
        {
            let message =
                format!("expected another point than the one before, found {found:?} twice");
            problems.error(point.span(), message);
            return None;
        }
        way.push(found);
    }
    Some(way)
}

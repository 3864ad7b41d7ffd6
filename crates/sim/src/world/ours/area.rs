//! Areas in world files of our own.

use super::{PLACE, read_points};
use crate::world::{Area, AreaKind};
use bowline_component::document::{Problems, Table, Value, Word};
use bowline_geometry::is_name;

/// More areas are a chart of a coast.
const MAX_AREAS: usize = 1_000;

/// Reads all of `[area]`.
pub(super) fn read(table: &Table<'_, '_>, problems: &mut Problems<'_>) -> Vec<Area> {
    let entries = table.entries();
    if entries.len() > MAX_AREAS {
        let found = entries.len();
        let message = format!("expected at most {MAX_AREAS} areas, found {found}");
        problems.error(table.at(), message);
        return Vec::new();
    }
    let areas = entries.iter();
    let areas = areas.filter_map(|(name, value)| read_area(name, value, problems));
    areas.collect()
}

fn read_area(name: &Word, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Area> {
    if !is_name(name.get_ref()) {
        let found = name.get_ref();
        let message = format!("an area's name has no spaces and colons, found {found:?}");
        problems.error(name.span(), message);
        return None;
    }
    let what = format!("[area.{}]", name.get_ref());
    let mut table = Table::of(&what, value, problems);
    table.require("kind", "kind = \"survey\"", problems);
    let help = "points_m = [[0.0, 0.0], [9.0, 0.0], [9.0, 5.0]]";
    table.require("points_m", help, problems);
    let kind = table.choice("kind", AreaKind::WORDS, problems);
    let points_m = read_points(&mut table, (3, PLACE), problems);
    table.finish(problems);
    Some(Area {
        name: name.get_ref().clone(),
        kind: kind?,
        points_m: points_m?,
    })
}

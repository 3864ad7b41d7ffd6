//! The sea in world files of our own.

use super::{DEGREES, PLACE};
use crate::world::{Flow, Plume, Sea, Waves};
use bowline_component::document::{Problems, Table, Value, Word};
use std::ops::RangeInclusive;

/// How far the water may stand from height 0, metres.
const LEVEL: RangeInclusive<f64> = -1_000.0..=1_000.0;
/// Faster water is no harbour, and faster wind no weather, metres a second.
const CURRENT: RangeInclusive<f64> = 0.0..=10.0;
const WIND: RangeInclusive<f64> = 0.0..=60.0;
/// Waves by their height, metres.
const HEIGHT: RangeInclusive<f64> = 0.0..=20.0;

pub(super) fn read(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Sea {
    let level_m = table.number("level_m", LEVEL, problems);
    let current = table.table("current", "current", problems);
    let current = current.map(|mut table| {
        let tide = table.duration("tide", problems);
        let tide_s = tide.map(|tide| tide.as_secs_f64()).filter(|it| *it > 0.0);
        Flow {
            tide_s,
            ..read_flow(table, CURRENT, problems)
        }
    });
    let wind = table.table("wind", "wind", problems);
    let wind = wind.map(|table| read_flow(table, WIND, problems));
    let waves = table.table("waves", "waves", problems);
    let waves = waves.map(|table| read_waves(table, problems));
    let plumes = table.table("plume", "[sea.plume]", problems);
    let plumes = plumes.map(|table| read_plumes(&table, problems));
    table.finish(problems);
    Sea {
        plumes: plumes.unwrap_or_default(),
        level_m: level_m.unwrap_or(0.0),
        current: current.unwrap_or_default(),
        wind: wind.unwrap_or_default(),
        waves: waves.unwrap_or_default(),
    }
}

fn read_flow(
    mut table: Table<'_, '_>,
    speeds: RangeInclusive<f64>,
    problems: &mut Problems<'_>,
) -> Flow {
    table.require("speed_mps", "speed_mps = 0.5", problems);
    let speed_mps = table.number("speed_mps", speeds.clone(), problems);
    let towards = table.number("towards_deg", DEGREES, problems);
    let gust_mps = table.number("gust_mps", speeds, problems);
    let gust = table.duration("gust", problems);
    table.finish(problems);
    Flow {
        speed_mps: speed_mps.unwrap_or(0.0),
        towards_rad: towards.unwrap_or(0.0).to_radians(),
        gust_mps: gust_mps.unwrap_or(0.0),
        gust_s: gust.map_or(USUAL_GUST_S, |gust| gust.as_secs_f64()),
        tide_s: None,
    }
}

/// How long a gust lasts by default.
const USUAL_GUST_S: f64 = 10.0;

fn read_waves(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Waves {
    let usual = Waves::default();
    table.require("height_m", "height_m = 0.2", problems);
    let height_m = table.number("height_m", HEIGHT, problems);
    let period = table.duration("period", problems);
    if let (Some(period), Some(at)) = (period, table.key("period"))
        && !(0.5..=30.0).contains(&period.as_secs_f64())
    {
        let message = format!("period is 0.5 s to 30 s, found {period:?}");
        problems.error(at, message);
    }
    let towards = table.number("towards_deg", DEGREES, problems);
    let spread = table.number("spread_deg", 0.0..=90.0, problems);
    table.finish(problems);
    Waves {
        height_m: height_m.unwrap_or(0.0),
        period_s: period.map_or(usual.period_s, |period| period.as_secs_f64()),
        towards_rad: towards.unwrap_or(0.0).to_radians(),
        spread_rad: spread.unwrap_or(0.0).to_radians(),
    }
}

/// More leaks are a delta.
const MAX_PLUMES: usize = 100;

fn read_plumes(table: &Table<'_, '_>, problems: &mut Problems<'_>) -> Vec<Plume> {
    let entries = table.entries();
    if entries.len() > MAX_PLUMES {
        let found = entries.len();
        let message = format!("expected at most {MAX_PLUMES} plumes, found {found}");
        problems.error(table.at(), message);
        return Vec::new();
    }
    let plumes = entries.iter();
    let plumes = plumes.filter_map(|(name, value)| read_plume(name, value, problems));
    plumes.collect()
}

fn read_plume(name: &Word, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Plume> {
    let what = format!("[sea.plume.{}]", name.get_ref());
    let mut table = Table::of(&what, value, problems);
    for (key, help) in [
        ("substance", "substance = \"benzene\""),
        ("at_m", "at_m = [0.0, 0.0]"),
        ("leak_gps", "leak_gps = 2.0"),
    ] {
        table.require(key, help, problems);
    }
    let substance = table.text("substance", problems);
    let at_m = table.numbers("at_m", PLACE, problems);
    let leak_gps = table.number("leak_gps", 0.0..=1e6, problems);
    let radius_m = table.number("radius_m", 0.1..=1_000.0, problems);
    let mixing_m2ps = table.number("mixing_m2ps", 0.0..=100.0, problems);
    let depth_m = table.number("depth_m", 0.1..=1_000.0, problems);
    table.finish(problems);
    Some(Plume {
        name: name.get_ref().clone(),
        substance: substance?.into_inner(),
        at_m: at_m?,
        leak_gps: leak_gps?,
        radius_m: radius_m.unwrap_or(1.0),
        mixing_m2ps: mixing_m2ps.unwrap_or(0.1),
        depth_m: depth_m.unwrap_or(2.0),
    })
}

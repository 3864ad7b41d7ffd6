//! The sea in world files of our own.

use super::DEGREES;
use crate::world::{Flow, Sea, Waves};
use bowline_node::document::{Problems, Table};
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
    table.finish(problems);
    Sea {
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

/// How long a gust lasts, unless the file says otherwise.
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

//! Harbour floors in world files of our own.

use super::{PLACE, SIZE, read_points};
use crate::solid::Solid;
use crate::world::seabed::{Channel, Seabed};
use bowline_component::document::{Problems, Table};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Every height is compared with every piece of a channel.
const MAX_BENDS: usize = 32;
const DEPTH: RangeInclusive<f64> = 0.1..=1_000.0;

pub(super) fn read(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Option<Solid> {
    let help = "size_m = [200.0, 150.0, 1.0]: along x and y, and between two heights";
    table.require("size_m", help, problems);
    table.require("depth_m", "depth_m = 8.0", problems);
    let size_m = table.numbers::<3>("size_m", SIZE, problems);
    let depth_m = table.number("depth_m", DEPTH, problems);
    let edge_depth_m = table.number("edge_depth_m", DEPTH, problems);
    let slope_m = table.number("slope_m", SIZE, problems);
    let roughness_m = table.number("roughness_m", 0.0..=10.0, problems);
    let seed = table.number("seed", 0.0..=1e9, problems);
    let channel = table.table("channel", "channel", problems);
    let channel = channel.map(|table| read_channel(table, problems));
    let ([x, y, cell_m], depth_m) = (size_m?, depth_m?);
    let channel = match channel {
        Some(channel) => Some(channel?),
        None => None,
    };
    let seabed = Seabed {
        size_m: [x, y],
        cell_m,
        depth_m,
        edge_depth_m: edge_depth_m.unwrap_or(depth_m),
        slope_m: slope_m.unwrap_or(1.0),
        channel,
        roughness_m: roughness_m.unwrap_or(0.0),
        // The same number, the same floor, whatever its digits.
        seed: seed.unwrap_or(1.0).to_bits(),
    };
    match seabed.mesh() {
        Ok(mesh) => Some(Solid::Mesh(Arc::new(mesh))),
        Err(error) => {
            let at = table.key("size_m").unwrap_or(table.at());
            problems.error(at, error.to_string());
            None
        }
    }
}

fn read_channel(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Option<Channel> {
    let help = "points_m = [[-80.0, 0.0], [80.0, 0.0]]: about the middle of the floor";
    table.require("points_m", help, problems);
    table.require("width_m", "width_m = 30.0", problems);
    table.require("depth_m", "depth_m = 12.0", problems);
    let points_m = read_points(&mut table, (2, PLACE), problems);
    let points_m = points_m.filter(|points| {
        let is_short = points.len() <= MAX_BENDS;
        if !is_short {
            let found = points.len();
            let message = format!("a channel has at most {MAX_BENDS} points, found {found}");
            problems.error(table.at(), message);
        }
        is_short
    });
    let width_m = table.number("width_m", SIZE, problems);
    let depth_m = table.number("depth_m", DEPTH, problems);
    table.finish(problems);
    Some(Channel {
        points_m: points_m?,
        width_m: width_m?,
        depth_m: depth_m?,
    })
}

//! How long a point takes on its way into the terrain map, and the map on its way to where one can drive.
//!
//! `grid_map` is in no package that could be run beside it; what the survey of 2026 measured with its core's loop on this
//! kind of machine is named as such. Like there, a cloud of a camera of 1280x720 goes into 200x200 cells.

use crate::{Length, stopwatch};
use anyhow::{Context as _, Result};
use bowline_autonomy::map::{
    Chart as _, Limits, PoseNoise, SensorNoise, Terrain, TerrainSettings, View, traverse,
};
use bowline_geometry::Transform;
use std::hint::black_box;
use std::time::Duration;

/// As measured for facts: 21.9 ms for 604 thousand points, and 14 us to move.
const GRID_MAP_NS: f64 = 36.0;
const GRID_MAP_MOVE_US: f64 = 14.0;
/// Parts are short, so that each has a turn in which no other process had the processor.
const PART: usize = 4096;

const CAMERA: SensorNoise = SensorNoise {
    min_range_m: 0.3,
    max_range_m: 15.0,
    range_sd_m: 0.01,
    range_sd_per_m: 0.005,
    bearing_sd_rad: 0.001,
};

pub(crate) fn run(length: Length) -> Result<()> {
    let n_turns = if length == Length::Quick { 3 } else { 100 };
    let points = cloud();
    let fuse_ns = fuse_ns(&points, n_turns)?;
    let mut terrain = Terrain::new(TerrainSettings::default())?;
    terrain.fuse(&points, CAMERA, &view(), 0);
    let map = terrain.to_map("map", 0);
    let judge = best(n_turns, || {
        drop(black_box(traverse(&map, &Limits::default())));
    })?;
    let mut at_m = 0.0;
    let shift = best(n_turns, || {
        at_m += 0.2;
        terrain.centre_on([at_m, 0.5 * at_m]);
    })?;
    let shift_us = shift.as_secs_f64() * 1e6;
    println!(
        "terrain, {} points into 200 x 200 cells (best of {n_turns} turns; grid_map_core as measured for facts)",
        points.len()
    );
    println!(
        "{:<34} {:>9} {:>9} {:>8}  aim",
        "", "bowline", "grid_map", "ratio"
    );
    println!(
        "{:<34} {fuse_ns:>9.1} {GRID_MAP_NS:>9.1} {:>7.1}x  10",
        "fuse by variance, ns a point",
        GRID_MAP_NS / fuse_ns
    );
    println!(
        "{:<34} {shift_us:>9.1} {GRID_MAP_MOVE_US:>9.1} {:>7.1}x",
        "move by a cell, us",
        GRID_MAP_MOVE_US / shift_us
    );
    println!(
        "{:<34} {:>9.0} {:>9} {:>8}\n",
        "slope, step, roughness, us",
        judge.as_secs_f64() * 1e6,
        "-",
        "-"
    );
    Ok(())
}

/// The best turn of each part, summed.
fn fuse_ns(points: &[[f32; 4]], n_turns: usize) -> Result<f64> {
    let parts: Vec<_> = points.chunks(PART).collect();
    let mut bests = vec![Duration::MAX; parts.len()];
    for turn in 0_i64..i64::try_from(n_turns)? {
        let mut terrain = Terrain::new(TerrainSettings::default())?;
        for (part, best) in parts.iter().zip(&mut bests) {
            let took = stopwatch::time(|| terrain.fuse(black_box(part), CAMERA, &view(), turn));
            *best = took.min(*best);
        }
        black_box(terrain.counts());
    }
    let total: Duration = bests.iter().sum();
    Ok(total.as_secs_f64() * 1e9 / points.len() as f64)
}

fn best(n_turns: usize, mut work: impl FnMut()) -> Result<Duration> {
    let turns = (0..n_turns).map(|_| stopwatch::time(&mut work));
    turns.min().context("at least one turn")
}

fn view() -> View {
    let diagonal = |x: f64, y: f64, z: f64| [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]];
    View {
        map_from_sensor: Transform::from_xyz_rpy([0.0, 0.0, 1.5], [0.0, 0.21, 0.0]),
        posed_at: [0.0, 0.0, 1.0],
        noise: PoseNoise {
            attitude: diagonal(1e-6, 1e-6, 1e-5),
            position: diagonal(1e-4, 1e-4, 1e-4),
        },
    }
}

/// What a stereo camera sees of a plane with posts on it: X, Y, Z and R for each pixel within its range.
fn cloud() -> Vec<[f32; 4]> {
    let mut seed = 1_u32;
    let mut points = Vec::new();
    for row in 0..720_u16 {
        for column in 0..1280_u16 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [noise, ..] = seed.to_be_bytes();
            let noise = f32::from(noise) / 255.0 - 0.5;
            let (left, up) = (
                (640.0 - f32::from(column)) / 700.0,
                (360.0 - f32::from(row)) / 700.0,
            );
            // How far the pixel looks along the camera's axis: to the ground, or to a post, every fourth strip.
            let down = 0.21 - up;
            let ground_m = if down > 0.0 { 1.5 / down } else { 18.0 };
            let post_m = 6.0 + f32::from(column / 160);
            let is_post = column / 40 % 4 == 0 && post_m < ground_m && post_m * down > 0.7;
            let x = if is_post { post_m } else { ground_m } * (1.0 + 0.004 * noise);
            let range = (x * x * (1.0 + left * left + up * up)).sqrt();
            if range < CAMERA.max_range_m {
                points.push([x, x * left, x * up, range]);
            }
        }
    }
    points
}

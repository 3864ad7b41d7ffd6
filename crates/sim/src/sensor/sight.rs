//! Lasers and depth cameras.

use super::{Moment, world_from};
use crate::beams::Beams;
use crate::math::single;
use crate::noise::Stream;
use crate::vehicle::Mounted;
use bowline_geometry::{Depth, Laser};
use bowline_msgs::Range3d;
use rapier3d_f64::math::Vector;

type Scan<'a> = (&'a Beams, &'a mut Vec<f64>);
type At<'a, 's> = (&'a Moment<'s>, &'a mut Stream);

pub(super) fn laser(
    mounted: &Mounted,
    laser: &Laser,
    (beams, ranges): Scan<'_>,
    (moment, stream): At<'_, '_>,
) -> Range3d {
    let pose = world_from(mounted, moment);
    let scene = &moment.physics.scene;
    scene.scan(beams, (&pose, moment.share), laser.range_max_m, ranges);
    let mut points = Vec::with_capacity(beams.len());
    for (direction, true_range) in beams.directions().iter().zip(&*ranges) {
        // Every beam takes its numbers, whether it needs them or not: those of one do not hang on another's luck.
        let (error, turned) = (stream.normal(), bearing(laser, moment, stream));
        if true_range.is_infinite() {
            points.push(nothing(*direction));
            continue;
        }
        let [bias, deviation] = laser.error_at(*true_range);
        let range = true_range + moment.noise * (bias + deviation * error);
        let range = rounded(range, laser.resolution_m);
        if range < laser.range_min_m {
            // Too near to be measured: the device says nothing there.
            continue;
        }
        if range > laser.range_max_m {
            points.push(nothing(*direction));
            continue;
        }
        points.push(point(turn(*direction, turned), range));
    }
    Range3d {
        utime: moment.utime,
        duration_us: 0,
        frame: mounted.frame.clone(),
        min_range_m: single(laser.range_min_m),
        max_range_m: single(laser.range_max_m),
        range_sd_m: single(laser.error_at(1.0)[1].max(quantum(laser.resolution_m))),
        range_sd_per_m: single(growth(laser)),
        bearing_sd_rad: single(laser.bearing_sd_rad),
        points,
        ..Range3d::default()
    }
    .with_lengths()
}

fn bearing(laser: &Laser, moment: &Moment<'_>, stream: &mut Stream) -> f64 {
    if laser.bearing_sd_rad > 0.0 {
        moment.noise * laser.bearing_sd_rad * stream.normal()
    } else {
        0.0
    }
}

/// The deviation that rounding alone gives.
fn quantum(resolution_m: f64) -> f64 {
    resolution_m / 12.0_f64.sqrt()
}

/// How much the noise grows from 1 m to the farthest range, for each metre.
fn growth(laser: &Laser) -> f64 {
    let (near, far) = (laser.error_at(1.0)[1], laser.error_at(laser.range_max_m)[1]);
    ((far - near) / (laser.range_max_m - 1.0).max(1.0)).max(0.0)
}

fn rounded(range: f64, resolution_m: f64) -> f64 {
    if resolution_m > 0.0 {
        (range / resolution_m).round() * resolution_m
    } else {
        range
    }
}

fn turn(direction: Vector, about_z: f64) -> Vector {
    if about_z == 0.0 {
        return direction;
    }
    let (sin, cos) = about_z.sin_cos();
    Vector::new(
        cos * direction.x - sin * direction.y,
        sin * direction.x + cos * direction.y,
        direction.z,
    )
}

fn point(direction: Vector, range: f64) -> [f32; 4] {
    let Vector { x, y, z } = direction * range;
    [x, y, z, range].map(single)
}

/// Nothing was met in this direction.
fn nothing(direction: Vector) -> [f32; 4] {
    let Vector { x, y, z } = direction;
    [x, y, z, f64::INFINITY].map(single)
}

pub(super) fn depth(
    mounted: &Mounted,
    camera: &Depth,
    (beams, ranges): Scan<'_>,
    (moment, stream): At<'_, '_>,
) -> Range3d {
    let pose = world_from(mounted, moment);
    // At the edge of a picture a depth is a longer range.
    let slant = beams
        .directions()
        .iter()
        .map(|direction| direction.x)
        .fold(1.0, f64::min);
    let most_m = camera.far_m / slant;
    let scene = &moment.physics.scene;
    scene.scan(beams, (&pose, moment.share), most_m, ranges);
    let deviation = |depth: f64| camera.depth_sd_m + camera.depth_sd_per_m2 * depth * depth;
    let mut points = Vec::with_capacity(beams.len());
    for (direction, range) in beams.directions().iter().zip(&*ranges) {
        let error = stream.normal();
        let depth = range * direction.x;
        if depth > camera.far_m {
            points.push(nothing(*direction));
            continue;
        }
        let measured = depth + moment.noise * deviation(depth) * error;
        if measured >= camera.near_m {
            points.push(point(*direction, measured / direction.x));
        }
    }
    let at_far = deviation(camera.far_m);
    Range3d {
        utime: moment.utime,
        duration_us: 0,
        frame: mounted.frame.clone(),
        min_range_m: single(camera.near_m),
        max_range_m: single(most_m),
        range_sd_m: single(deviation(1.0)),
        range_sd_per_m: single((at_far - deviation(1.0)) / (camera.far_m - 1.0).max(1.0)),
        bearing_sd_rad: 0.0,
        points,
        ..Range3d::default()
    }
    .with_lengths()
}

//! Cameras, as far as they are simulated: what a vision module makes of their pictures, which is where painted lines are.
//!
//! A spot of paint is seen where it falls on a pixel, if nothing stands before it; from that pixel the module works out a
//! point on the ground. So points are right along the picture, and the less sure the farther they are and the lower the
//! camera sits. The vehicle itself hides nothing.

use super::super::{Moment, Reach, Sample, Sensor};
use super::Camera;
use crate::math::single;
use crate::noise::Stream;
use bowline_msgs::Range3d;
use rapier3d_f64::math::{Pose, Vector};

/// How well the edge of a line is found in a picture without noise: standard deviation, pixels.
const EDGE_PX: f64 = 0.5;
/// How much brighter a line is than the ground, of 1: what noise of pixels is measured against.
const CONTRAST: f64 = 0.5;
/// What is this near to a spot does not hide it, metres: the ground that it is painted on.
const SKIN_M: f64 = 0.05;

/// How a camera makes pictures.
struct Lens {
    focal_px: f64,
    half_px: [f64; 2],
}

impl Lens {
    fn of(camera: &Camera) -> Self {
        let half_px = camera.size_px.map(|it| f64::from(it) / 2.0);
        Self {
            focal_px: half_px[0] / (camera.fov_rad / 2.0).tan(),
            half_px,
        }
    }

    /// Where a point of the camera's frame is in the picture, to the left and up from its middle; none outside of it.
    fn pixel(&self, point: Vector) -> Option<[f64; 2]> {
        let pixel = [point.y, point.z].map(|it| self.focal_px * it / point.x);
        let is_within = pixel
            .iter()
            .zip(self.half_px)
            .all(|(at, half)| at.abs() <= half);
        (point.x > 0.0 && is_within).then_some(pixel)
    }

    /// Which way a pixel looks.
    fn direction(&self, [left_px, up_px]: [f64; 2]) -> Vector {
        Vector::new(self.focal_px, left_px, up_px).normalize()
    }

    /// How much longer than its depth the way to the corner of a picture is.
    fn slant(&self) -> f64 {
        1.0 / self.direction(self.half_px).x
    }
}

/// A camera with a module behind it that finds lines.
#[derive(Clone, Debug)]
pub(super) struct Lines(pub(super) Camera);

impl Sensor for Lines {
    type Message = Range3d;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Range3d {
        let (Self(camera), moment) = (self, at.moment);
        let lens = Lens::of(camera);
        let pose = at.world_from_sensor();
        let sd_px = EDGE_PX + camera.pixel_sd / CONTRAST;
        let most_m = camera.far_m * lens.slant();
        let mut points = Vec::new();
        let mut last = None;
        for spot in moment.paint.spots() {
            if (*spot - pose.translation).length_squared() > most_m * most_m {
                continue;
            }
            let Some(pixel) = seen(&lens, camera, (moment, &pose), *spot) else {
                continue;
            };
            let pixel =
                pixel.map(|px| (px + at.noise_ratio() * sd_px * noise.normal()).floor() + 0.5);
            // Spots that fall on one pixel are one point.
            if last.replace(pixel) != Some(pixel) {
                let depths = camera.near_m..=camera.far_m;
                let point = on_ground(lens.direction(pixel), &pose, spot.z);
                points.extend(point.filter(|point| depths.contains(&f64::from(point[0]))));
            }
        }
        Range3d {
            utime: at.utime(),
            duration_us: 0,
            frame: at.frame(),
            min_range_m: single(camera.near_m),
            max_range_m: single(most_m),
            range_sd_m: 0.0,
            range_sd_per_m: 0.0,
            bearing_sd_rad: single(sd_px / lens.focal_px),
            points,
            ..Range3d::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Range3d) -> &mut i64 {
        &mut message.utime
    }

    fn doc(&self, word: &str, port: &str) -> String {
        format!("Where the {word} {port} sees painted lines.")
    }

    fn reach(&self) -> Option<Reach> {
        Some(Reach::ahead(self.0.fov_rad, self.0.far_m))
    }
}

/// Where in the picture a spot is, if nothing stands before it.
fn seen(
    lens: &Lens,
    camera: &Camera,
    (moment, pose): (&Moment<'_>, &Pose),
    spot: Vector,
) -> Option<[f64; 2]> {
    let from_camera = pose.inverse_transform_point(spot);
    if !(camera.near_m..=camera.far_m).contains(&from_camera.x) {
        return None;
    }
    let pixel = lens.pixel(from_camera)?;
    let way = spot - pose.translation;
    let away_m = way.length();
    let met = moment
        .physics
        .cast(pose.translation, way / away_m, away_m - SKIN_M);
    met.is_none().then_some(pixel)
}

/// Where a direction of the camera meets the ground of a height; none if it does not.
fn on_ground(direction: Vector, pose: &Pose, height_m: f64) -> Option<[f32; 4]> {
    let down = (pose.rotation * direction).z;
    let range_m = (height_m - pose.translation.z) / down;
    let Vector { x, y, z } = direction * range_m;
    (range_m > 0.0 && range_m.is_finite()).then(|| [x, y, z, range_m].map(single))
}

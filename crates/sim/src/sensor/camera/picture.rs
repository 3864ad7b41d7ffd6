//! Pictures: sky, water and what stands in it, each pixel by one ray.
//!
//! Shapes have the brightness of their colour, lit by a sun; far things fade. Water is dark before the bow and mirrors the
//! sky far away. Nothing throws a shadow, and nothing is seen below the surface.

use super::super::{Moment, Reach, Sample, Sensor};
use super::Camera;
use crate::beams::Beams;
use crate::noise::Stream;
use crate::scene::{Looked, Placed};
use bowline_msgs::Image;
use rapier3d_f64::math::{Matrix, Vector};

/// `GREY`: a byte for each pixel.
const GREY: i32 = 0x5945_5247;
/// Towards the sun, of length 1.
const SUN: Vector = Vector::new(0.48, -0.36, 0.8);
/// Brightness, 0 to 1: of the sky above and at the horizon, of deep water, and of things without a colour.
const ZENITH: f64 = 0.62;
const HORIZON: f64 = 0.9;
const DEEP: f64 = 0.2;
const UNPAINTED: f64 = 0.57;
/// How far one sees half of a thing's own brightness, metres.
const HAZE_M: f64 = 900.0;

/// A camera whose pictures are published.
#[derive(Clone, Debug)]
pub(super) struct Pictures {
    camera: Camera,
    /// From the first picture on.
    beams: Option<Beams>,
    looked: Looked,
}

impl Pictures {
    pub(super) fn new(camera: Camera) -> Self {
        Self {
            camera,
            beams: None,
            looked: Looked::default(),
        }
    }
}

impl Sensor for Pictures {
    type Message = Image;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Image {
        let (camera, moment) = (self.camera, at.moment);
        let pixels = || Beams::pixels(camera.size_px, camera.fov_rad, 1);
        let beams = &*self.beams.get_or_insert_with(pixels);
        let looked = &mut self.looked;
        let pose = at.world_from_sensor();
        let scene = &moment.physics.scene;
        let level_m = moment.water.map(|water| water.sea.level_m);
        // What water covers is not seen, and the bottom is most of the work.
        let is_above = |placed: &Placed| level_m.is_none_or(|level| placed.highest_m() > level);
        scene.look(beams, (&pose, moment.share), camera.far_m, is_above, looked);
        let turn = Matrix::from_quat(pose.rotation);
        let eye = pose.translation;
        let seconds = std::time::Duration::from_nanos(moment.elapsed_ns).as_secs_f64();
        let mut data = Vec::with_capacity(beams.len());
        for (nth, direction) in beams.directions().iter().enumerate() {
            let direction = turn * *direction;
            let to_water = level_m.map_or(f64::INFINITY, |level| to_level(eye, direction, level));
            let to_thing = looked.range(nth);
            let seen = if to_thing < to_water {
                let placed = looked.met(nth, scene);
                let point = eye + direction * to_thing;
                let bright = placed.map_or(UNPAINTED, |it| thing(it, moment, point, direction));
                hazy(bright, to_thing)
            } else if to_water < camera.far_m {
                let bright = water(eye + direction * to_water, direction, seconds);
                hazy(bright, to_water)
            } else {
                sky(direction)
            };
            let error = if camera.pixel_sd > 0.0 {
                at.noise_ratio() * camera.pixel_sd * noise.normal()
            } else {
                0.0
            };
            data.push(byte(seen + error));
        }
        let [width, height] = camera.size_px;
        Image {
            utime: at.utime(),
            width: i32::try_from(width).unwrap_or(i32::MAX),
            height: i32::try_from(height).unwrap_or(i32::MAX),
            pixelformat: GREY,
            data,
            ..Image::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Image) -> &mut i64 {
        &mut message.utime
    }

    fn doc(&self, word: &str, port: &str) -> String {
        format!("What the {word} {port} sees.")
    }

    fn reach(&self) -> Option<Reach> {
        Some(Reach::ahead(self.camera.fov_rad, self.camera.far_m))
    }
}

/// How far a ray goes to still water.
fn to_level(eye: Vector, direction: Vector, level_m: f64) -> f64 {
    let along = (level_m - eye.z) / direction.z;
    if along > 0.0 { along } else { f64::INFINITY }
}

fn sky(direction: Vector) -> f64 {
    HORIZON + (ZENITH - HORIZON) * direction.z.clamp(0.0, 1.0).sqrt()
}

/// Deep where one looks down into it, a mirror where one looks along it, with ripples.
fn water(point: Vector, direction: Vector, seconds: f64) -> f64 {
    let ripple = (1.7 * point.x + 0.6 * point.y - 2.1 * seconds).sin()
        * (0.9 * point.y - 0.5 * point.x + 1.3 * seconds).sin();
    let steep = (-direction.z + 0.03 * ripple).clamp(0.0, 1.0);
    // Schlick's formula for what a surface mirrors.
    let mirrored = 0.02 + 0.98 * (1.0 - steep).powi(5);
    DEEP * (1.0 - mirrored) + sky(-direction) * mirrored
}

/// A surface by its colour and how it faces the sun.
fn thing(placed: &Placed, moment: &Moment<'_>, point: Vector, direction: Vector) -> f64 {
    let body = moment.physics.body(placed.body);
    let colour = body.and_then(|body| body.colour);
    let own = colour.map_or(UNPAINTED, |[red, green, blue]| {
        let [red, green, blue] = [red, green, blue].map(|it| f64::from(it) / 255.0);
        0.299 * red + 0.587 * green + 0.114 * blue
    });
    let normal = placed.normal_at(point, direction);
    own * (0.55 + 0.6 * normal.dot(SUN).max(0.0))
}

fn hazy(bright: f64, range_m: f64) -> f64 {
    let clear = HAZE_M / (HAZE_M + range_m);
    bright * clear + HORIZON * (1.0 - clear)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held within 0 and 255"
)]
fn byte(bright: f64) -> u8 {
    (bright * 255.0).round().clamp(0.0, 255.0) as u8
}

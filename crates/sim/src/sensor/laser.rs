//! A laser: a row, or rows, of beams about the x axis.

use super::{Instrument, Reach, Sample, Sensor, SensorKind};
use crate::beams::Beams;
use crate::math::single;
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{
    Attribute, Bounds, ElementKind, ElementRole, ElementValues, Value, numbers,
};
use bowline_msgs::Range3d;
use rapier3d_f64::math::Vector;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "laser",
        doc: "A laser scanner: a row, or rows, of beams about the x axis.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::required("beams", Value::Count(u32::MAX), "beams in a row"),
            Attribute::required(
                "fov_deg",
                Value::Number(Bounds::VIEW_DEG),
                "from the first beam of a row to the last",
            ),
            Attribute::optional(
                "centre_deg",
                Value::Number(Bounds::ANY),
                "where the middle of a row points, to the left of x",
            ),
            Attribute::optional("rows", Value::Count(u32::MAX), "rows (default 1)"),
            Attribute::optional(
                "fov_vertical_deg",
                Value::Number(Bounds::VIEW_DEG),
                "from the lowest row to the highest; several rows need it",
            ),
            Attribute::optional(
                "centre_vertical_deg",
                Value::Number(Bounds::ANY),
                "where the middle of the rows points, above the x-y plane",
            ),
            Attribute::required(
                "range_min_m",
                Value::Number(Bounds::NOT_NEGATIVE),
                "what is nearer is not seen",
            ),
            Attribute::required(
                "range_max_m",
                Value::Number(Bounds::POSITIVE),
                "what is further is not seen",
            ),
            Attribute::noise("resolution_m", "the steps that ranges come in; 0: none"),
            Attribute::noise("range_sd_m", "the noise of a range"),
            Attribute::noise(
                "range_sd_per_m",
                "how much that grows with each metre beyond the first",
            ),
            Attribute::noise("bearing_sd_deg", "the noise of a beam's direction"),
            Attribute::optional(
                "range_errors",
                Value::Text,
                "rows `range bias sd` with commas between them, metres, with growing ranges: errors that were measured, in place of the noise above; between them it is interpolated",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<Range3d>()],
    build: |values| build(values).map(Instrument::new),
};

#[derive(Clone, Debug)]
struct Laser {
    view: View,
    range_min_m: f64,
    range_max_m: f64,
    resolution_m: f64,
    range_sd_m: f64,
    range_sd_per_m: f64,
    bearing_sd_rad: f64,
    range_errors: Vec<RangeError>,
    /// From the first scan on.
    beams: Option<Beams>,
    ranges_m: Vec<f64>,
}

/// Where beams point: the first and the last of a row, and the lowest and the highest row.
#[derive(Clone, Copy, Debug)]
struct View {
    across_rad: [f64; 2],
    n_beams: u32,
    upright_rad: [f64; 2],
    n_rows: u32,
}

/// How wrong ranges are at one range.
#[derive(Clone, Copy, Debug)]
struct RangeError {
    /// The true range.
    range_m: f64,
    /// What is measured too much, on the average.
    bias_m: f64,
    /// The noise.
    sd_m: f64,
}

fn build(values: &mut ElementValues<'_>) -> Option<Laser> {
    let n_rows = values.count("rows").unwrap_or(1);
    if n_rows > 1 {
        values.require("fov_vertical_deg");
    }
    let range_errors = range_errors(values);
    let ranges = values.ranges(["range_min_m", "range_max_m"]);
    let view = View {
        across_rad: view(values, ["fov_deg", "centre_deg"]),
        n_beams: values.count("beams")?,
        upright_rad: view(values, ["fov_vertical_deg", "centre_vertical_deg"]),
        n_rows,
    };
    let [range_min_m, range_max_m] = ranges?;
    Some(Laser {
        view,
        range_min_m,
        range_max_m,
        resolution_m: values.noise("resolution_m"),
        range_sd_m: values.noise("range_sd_m"),
        range_sd_per_m: values.noise("range_sd_per_m"),
        bearing_sd_rad: values.noise("bearing_sd_deg").to_radians(),
        range_errors,
        beams: None,
        ranges_m: Vec::new(),
    })
}

/// A field of view about a direction, from its one end to the other.
fn view(values: &ElementValues<'_>, [width, centre]: [&str; 2]) -> [f64; 2] {
    let (half, centre) = (values.noise(width) / 2.0, values.noise(centre));
    [centre - half, centre + half].map(f64::to_radians)
}

fn range_errors(values: &mut ElementValues<'_>) -> Vec<RangeError> {
    let Some(text) = values.text("range_errors") else {
        return Vec::new();
    };
    let rows = text.split(',').map(|row| {
        let [range_m, bias_m, sd_m] = numbers(row)?;
        (range_m >= 0.0 && sd_m >= 0.0).then_some(RangeError {
            range_m,
            bias_m,
            sd_m,
        })
    });
    let rows: Option<Vec<RangeError>> = rows.collect();
    let rows = rows.filter(|rows| rows.is_sorted_by(|one, two| one.range_m < two.range_m));
    if rows.is_none() {
        let expected =
            "rows of range, bias and deviation with commas between them, with growing ranges";
        values.refuse("range_errors", expected);
    }
    rows.unwrap_or_default()
}

impl Laser {
    /// How wrong a range is: what is measured too much, and the noise.
    fn error_at(&self, range_m: f64) -> [f64; 2] {
        let after = self
            .range_errors
            .partition_point(|error| error.range_m <= range_m);
        let before = after
            .checked_sub(1)
            .and_then(|at| self.range_errors.get(at));
        match (before, self.range_errors.get(after)) {
            (None, None) => [
                0.0,
                self.range_sd_m + self.range_sd_per_m * (range_m - 1.0).max(0.0),
            ],
            (Some(only), None) | (None, Some(only)) => [only.bias_m, only.sd_m],
            (Some(before), Some(after)) => {
                let share = (range_m - before.range_m) / (after.range_m - before.range_m);
                let between = |one: f64, two: f64| one + (two - one) * share;
                [
                    between(before.bias_m, after.bias_m),
                    between(before.sd_m, after.sd_m),
                ]
            }
        }
    }

    /// How much the noise grows from 1 m to the farthest range, for each metre.
    fn growth(&self) -> f64 {
        let (near, far) = (self.error_at(1.0)[1], self.error_at(self.range_max_m)[1]);
        ((far - near) / (self.range_max_m - 1.0).max(1.0)).max(0.0)
    }

    fn bearing(&self, noise_ratio: f64, noise: &mut Stream) -> f64 {
        if self.bearing_sd_rad > 0.0 {
            noise_ratio * self.bearing_sd_rad * noise.normal()
        } else {
            0.0
        }
    }

    /// Where beams meet something, and where they meet nothing.
    fn points(&self, beams: &Beams, noise_ratio: f64, noise: &mut Stream) -> Vec<[f32; 4]> {
        let mut points = Vec::with_capacity(beams.len());
        for (direction, true_range) in beams.directions().iter().zip(&self.ranges_m) {
            // Every beam takes its numbers, whether it needs them or not: those of one do not hang on another's luck.
            let (error, turned) = (noise.normal(), self.bearing(noise_ratio, noise));
            if true_range.is_infinite() {
                points.push(nothing(*direction));
                continue;
            }
            let [bias, deviation] = self.error_at(*true_range);
            let range = true_range + noise_ratio * (bias + deviation * error);
            let range = rounded(range, self.resolution_m);
            if range < self.range_min_m {
                // Too near to be measured: the device sends nothing there.
                continue;
            }
            if range > self.range_max_m {
                points.push(nothing(*direction));
                continue;
            }
            points.push(point(turn(*direction, turned), range));
        }
        points
    }
}

impl Sensor for Laser {
    type Message = Range3d;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Range3d {
        let View {
            across_rad,
            n_beams,
            upright_rad,
            n_rows,
        } = self.view;
        let pose = at.world_from_sensor();
        let made = self.beams.take();
        let beams =
            made.unwrap_or_else(|| Beams::rows((across_rad, n_beams), (upright_rad, n_rows)));
        let scene = &at.moment.physics.scene;
        let from = (&pose, at.moment.share);
        scene.scan(&beams, from, self.range_max_m, &mut self.ranges_m);
        let points = self.points(&beams, at.noise_ratio(), noise);
        self.beams = Some(beams);
        Range3d {
            utime: at.utime(),
            duration_us: 0,
            frame: at.frame(),
            min_range_m: single(self.range_min_m),
            max_range_m: single(self.range_max_m),
            range_sd_m: single(self.error_at(1.0)[1].max(quantum(self.resolution_m))),
            range_sd_per_m: single(self.growth()),
            bearing_sd_rad: single(self.bearing_sd_rad),
            points,
            ..Range3d::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Range3d) -> &mut i64 {
        &mut message.utime
    }

    fn reach(&self) -> Option<Reach> {
        let [from_rad, to_rad] = self.view.across_rad;
        Some(Reach {
            from_rad,
            to_rad,
            range_m: self.range_max_m,
        })
    }
}

/// The deviation that rounding alone gives.
fn quantum(resolution_m: f64) -> f64 {
    resolution_m / 12.0_f64.sqrt()
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

/// What a beam met, as messages have it.
pub(super) fn point(direction: Vector, range: f64) -> [f32; 4] {
    let Vector { x, y, z } = direction * range;
    [x, y, z, range].map(single)
}

/// Nothing was met in this direction.
pub(super) fn nothing(direction: Vector) -> [f32; 4] {
    let Vector { x, y, z } = direction;
    [x, y, z, f64::INFINITY].map(single)
}

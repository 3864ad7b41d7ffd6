//! Worlds that can be worked out by hand: a plane with boxes on it, and devices that look at it.

use bowline_autonomy::map::{PoseNoise, SensorNoise, View};
use bowline_component::Vehicle;
use bowline_geometry::{Assembly, Body, BodyFrame, Constraint, FrameName, Model, Transform, Vec3};
use bowline_msgs::{Map, PoseTransform, Range3d};

/// A vehicle of which only the model is known.
pub(crate) fn modelled(model: &str) -> Vehicle {
    Vehicle {
        model: model.into(),
        ..Vehicle::default()
    }
}

/// A car of the size of the Raptor, whose poses are those of its own frame.
pub(crate) fn car() -> Vehicle {
    Vehicle {
        front_m: Some(2.55),
        rear_m: Some(0.5),
        width_m: Some(1.5),
        wheelbase_m: Some(1.96),
        max_curvature_per_m: Some(0.5),
        max_turn_radps: Some(1.0),
        brake_mps2: Some(1.5),
        reaction_s: Some(0.3),
        ..Vehicle::default()
    }
}

/// A plane with boxes that stand in it.
#[derive(Default)]
pub(crate) struct Scene {
    /// Metres a metre, along x and y.
    pub(crate) gradient: [f64; 2],
    /// Corners with the smallest and the largest coordinates.
    pub(crate) boxes: Vec<(Vec3, Vec3)>,
}

impl Scene {
    /// How far it is from a place in a direction of length 1, if something is there.
    pub(crate) fn cast(&self, from: Vec3, along: Vec3) -> Option<f64> {
        let boxes = self.boxes.iter().filter_map(|it| enter(it, from, along));
        boxes.chain(self.cast_plane(from, along)).reduce(f64::min)
    }

    fn cast_plane(&self, from: Vec3, along: Vec3) -> Option<f64> {
        let [gx, gy] = self.gradient;
        let above = from[2] - gx * from[0] - gy * from[1];
        let toward = gx * along[0] + gy * along[1] - along[2];
        (toward > 1e-9).then(|| above / toward)
    }

    /// What a device sees: X, Y, Z, R in its own frame, with noise of its own.
    pub(crate) fn scan(
        &self,
        map_from_sensor: &Transform,
        directions: &[Vec3],
        sensor: &SensorNoise,
        mut noise: impl FnMut() -> f64,
    ) -> Vec<[f32; 4]> {
        let from = map_from_sensor.xyz();
        let point = |direction: &Vec3| {
            let range = self
                .cast(from, map_from_sensor.turn(*direction))
                .filter(|range| *range < f64::from(sensor.max_range_m));
            let Some(range) = range else {
                return [direction[0], direction[1], direction[2], f64::INFINITY];
            };
            let range = range + noise() * f64::from(sensor.range_sd(range as f32));
            let [x, y, z] = direction.map(|it| it * range);
            [x, y, z, range]
        };
        let points = directions.iter().map(point);
        points.map(|point| point.map(|it| it as f32)).collect()
    }
}

/// Where a ray enters a box from outside.
fn enter((low, high): &(Vec3, Vec3), from: Vec3, along: Vec3) -> Option<f64> {
    let (mut first, mut last) = (f64::NEG_INFINITY, f64::INFINITY);
    for axis in 0..3 {
        let ends = [low[axis], high[axis]].map(|end| (end - from[axis]) / along[axis]);
        if along[axis].abs() < 1e-12 {
            if from[axis] < low[axis] || from[axis] > high[axis] {
                return None;
            }
            continue;
        }
        first = first.max(ends[0].min(ends[1]));
        last = last.min(ends[0].max(ends[1]));
    }
    (first <= last && first > 0.0).then_some(first)
}

/// A row of beams in the x-y plane of a device, from right to left.
pub(crate) fn beams(n: usize, fov_rad: f64) -> Vec<Vec3> {
    let angle = |at: usize| fov_rad * (at as f64 / (n - 1) as f64 - 0.5);
    (0..n)
        .map(angle)
        .map(|angle| [angle.cos(), angle.sin(), 0.0])
        .collect()
}

/// Beams to the front, in rows: a camera.
pub(crate) fn camera(columns: usize, rows: usize, fov_rad: f64) -> Vec<Vec3> {
    let span = |at: usize, n: usize| fov_rad * (at as f64 / (n - 1) as f64 - 0.5);
    let direction = |at: usize| {
        let (yaw, pitch) = (span(at % columns, columns), span(at / columns, rows));
        [
            yaw.cos() * pitch.cos(),
            yaw.sin() * pitch.cos(),
            pitch.sin(),
        ]
    };
    (0..columns * rows).map(direction).collect()
}

/// A device without noise that sees 30 m.
pub(crate) const EXACT: SensorNoise = SensorNoise {
    min_range_m: 0.1,
    max_range_m: 30.0,
    range_sd_m: 0.002,
    range_sd_per_m: 0.0,
    bearing_sd_rad: 0.0,
};

/// From a device whose pose is exact.
pub(crate) fn view(map_from_sensor: Transform) -> View {
    View {
        map_from_sensor,
        posed_at: map_from_sensor.xyz(),
        noise: PoseNoise::default(),
    }
}

/// A vehicle with a laser a metre above the ground, looking down by an angle.
pub(crate) fn model(down_rad: f64) -> Model {
    let frame = |name: &str, body_from_frame| BodyFrame {
        name: name.to_owned(),
        body_from_frame,
        ..BodyFrame::default()
    };
    let body = |name: &str, frames| Body {
        name: name.to_owned(),
        frames,
        ..Body::default()
    };
    let mount = Transform::from_xyz_rpy([1.0, 0.0, 1.0], [0.0, down_rad, 0.0]);
    let assembly = Assembly {
        bodies: vec![
            body(
                "Car",
                vec![
                    frame("Ins", Transform::from_xyz([0.0, 0.0, 0.5])),
                    frame("Mount", mount),
                ],
            ),
            body("Laser", vec![frame("Scan", Transform::IDENTITY)]),
        ],
        constraints: vec![Constraint {
            name: "Bolt".to_owned(),
            from: FrameName::new("Car", "Mount"),
            to: FrameName::new("Laser", "Scan"),
            ..Constraint::default()
        }],
        ..Assembly::default()
    };
    Model::new(assembly).expect("it is a model")
}

/// Where the vehicle of [`model`] is on the ground.
pub(crate) fn pose(utime: i64, x: f64, y: f64, heading_rad: f64) -> PoseTransform {
    let map_from_ins = Transform::from_xyz_rpy([x, y, 0.5], [0.0, 0.0, heading_rad]);
    PoseTransform {
        utime,
        frame: "Car:Ins".to_owned(),
        reference: "map".to_owned(),
        matrix: std::array::from_fn(|at| map_from_ins.matrix()[at / 4][at % 4]),
        ..PoseTransform::default()
    }
}

/// What a device of the vehicle sends.
pub(crate) fn ranges(utime: i64, duration_us: i32, points: Vec<[f32; 4]>) -> Range3d {
    let SensorNoise {
        min_range_m,
        max_range_m,
        range_sd_m,
        range_sd_per_m,
        bearing_sd_rad,
    } = EXACT;
    let ranges = Range3d {
        utime,
        duration_us,
        frame: "Laser:Scan".to_owned(),
        min_range_m,
        max_range_m,
        range_sd_m,
        range_sd_per_m,
        bearing_sd_rad,
        points,
        ..Range3d::default()
    };
    ranges.with_lengths()
}

/// A map of one plane, from what is at each middle of a cell.
pub(crate) fn heights(n: usize, cell_m: f64, height: impl Fn(f64, f64) -> f64) -> Map {
    let middle = |at: usize| (at as f64 + 0.5) * cell_m;
    let row = |row: usize| {
        (0..n)
            .map(|column| height(middle(column), middle(row)) as f32)
            .collect()
    };
    let map = Map {
        reference: "map".to_owned(),
        cell_m,
        names: vec!["height".to_owned()],
        units: vec!["m".to_owned()],
        cells: vec![(0..n).map(row).collect()],
        ..Map::default()
    };
    map.with_lengths()
}

/// A plane of a map.
pub(crate) fn plane<'a>(map: &'a Map, name: &str) -> &'a [Vec<f32>] {
    let at = map.names.iter().position(|it| it == name);
    &map.cells[at.unwrap_or_else(|| panic!("no plane {name}"))]
}

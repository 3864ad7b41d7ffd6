//! Compares a map of heights with the world that it is a map of.

use crate::physics::Physics;
use crate::world::World;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step,
};
use bowline_msgs::{Map, MapError};
use rapier3d_f64::math::Vector;
use std::path::PathBuf;

bowline_component::parameters! {
    /// Which map is compared with which world.
    pub struct SurveyParameters {
        /// The world file: ours (.toml), Gazebo's (.sdf, .world) or BARN's (.json); without it flat ground.
        world: PathBuf = PathBuf::new();
        /// The plane of the map that has heights.
        plane: String = "height".into();
        /// The plane of the map that has their variances, if it has one.
        variance: String = "variance".into();
        /// A cell around which the world's heights differ by more than this is at an edge, metres.
        edge_m: f64 = 0.1, within 0.001..=100.0;
        /// How far around a cell that is looked for, in cells: a wall that is seen with noise is seen beside itself.
        edge_cells: i64 = 2, within 1..=100;
        /// From which height the ground is looked for, metres; lower than roofs that one drives under.
        from_z_m: f64 = 100.0, within -1000.0..=10000.0;
    }
}

/// Compares maps of heights with a world as they come.
#[derive(Debug)]
pub struct Survey {
    world: Physics,
    parameters: SurveyParameters,
    map: Input<Map>,
    error: Output<MapError>,
}

/// Nothing moves here; a step is asked for all the same.
const STEP_S: f64 = 0.005;
/// How deep the ground is looked for.
const DEPTH_M: f64 = 1e4;

impl Build for Survey {
    type Parameters = SurveyParameters;

    fn build(parameters: SurveyParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let world = World::load_or_flat(&parameters.world)?;
        let doc = "What is compared, in the world's coordinates.";
        Ok(Self {
            world: Physics::new(&world, STEP_S),
            map: ports.input_on("map", doc, Expect::ever(), "terrain"),
            error: ports.output_on(
                "error",
                "How far the map is from the world.",
                "truth.map_error",
            ),
            parameters,
        })
    }
}

impl Component for Survey {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Some(map) = step.arrived(self.map) else {
            return;
        };
        match self.compare(&map) {
            Some(error) => {
                out.health(Health::Good);
                out.send(self.error, error);
            }
            None => {
                let planes = map.names.join(", ");
                let wanted = &self.parameters.plane;
                let why = format!("expected a map with a plane {wanted:?}, found {planes}");
                out.health(Health::Failed(why));
            }
        }
    }
}

impl Survey {
    fn compare(&self, map: &Map) -> Option<MapError> {
        let plane = |name: &str| map.names.iter().position(|it| it == name);
        let heights = map.cells.get(plane(&self.parameters.plane)?)?;
        let variances = plane(&self.parameters.variance).and_then(|at| map.cells.get(at));
        let truth = self.truth(map);
        let mut tally = Tally::default();
        for (row, heights) in heights.iter().enumerate() {
            for (column, height) in heights.iter().enumerate() {
                if !height.is_finite() {
                    continue;
                }
                let variance = variances.and_then(|rows| rows.get(row)?.get(column));
                let variance = variance.map_or(0.0, |variance| f64::from(*variance));
                match truth.height(row, column) {
                    Some(truth) => tally.add(f64::from(*height) - truth, variance),
                    None => tally.n_edges += 1,
                }
            }
        }
        Some(MapError {
            utime: map.utime,
            plane: self.parameters.plane.clone(),
            ..tally.sum()
        })
    }

    /// The world where the map is, and a little around it.
    fn truth(&self, map: &Map) -> Truth {
        let SurveyParameters {
            edge_m,
            edge_cells,
            from_z_m,
            ..
        } = self.parameters;
        let n_around = usize::try_from(edge_cells).unwrap_or(1);
        let count = |n: i32| usize::try_from(n).unwrap_or(0) + 2 * n_around;
        let middle = |origin: f64, at: usize| {
            let at = u32::try_from(at).map_or(f64::MAX, f64::from);
            let around = u32::try_from(n_around).map_or(f64::MAX, f64::from);
            origin + (at - around + 0.5) * map.cell_m
        };
        let [x, y] = map.origin_m;
        let n_columns = count(map.n_columns);
        let rows = (0..count(map.n_rows)).map(|row| middle(y, row));
        let heights = rows.flat_map(|y| {
            let columns = (0..n_columns).map(move |column| middle(x, column));
            columns.map(move |x| {
                let met = self
                    .world
                    .cast(Vector::new(x, y, from_z_m), -Vector::Z, DEPTH_M);
                met.map_or(f64::NAN, |met| from_z_m - met.range_m)
            })
        });
        Truth {
            heights_m: heights.collect(),
            n_columns,
            n_around,
            edge_m,
        }
    }
}

/// How high a world is in the cells of a map, and in some around them.
struct Truth {
    heights_m: Vec<f64>,
    n_columns: usize,
    n_around: usize,
    edge_m: f64,
}

impl Truth {
    /// How high the world is in a cell of the map; none at an edge, or where there is no ground.
    fn height(&self, row: usize, column: usize) -> Option<f64> {
        let across = 2 * self.n_around + 1;
        let around = (row..row + across).flat_map(|row| {
            let first = row * self.n_columns + column;
            self.heights_m
                .get(first..first + across)
                .unwrap_or_default()
        });
        let [mut lowest, mut highest] = [f64::INFINITY, f64::NEG_INFINITY];
        for height in around {
            if height.is_nan() {
                return None;
            }
            lowest = lowest.min(*height);
            highest = highest.max(*height);
        }
        let middle = (row + self.n_around) * self.n_columns + column + self.n_around;
        let is_even = highest - lowest <= self.edge_m;
        self.heights_m.get(middle).copied().filter(|_| is_even)
    }
}

/// Errors, added up.
#[derive(Debug, Default)]
struct Tally {
    n: u32,
    n_edges: i32,
    sum: f64,
    squares: f64,
    worst: f64,
    n_sure: u32,
    normalized_squares: f64,
}

impl Tally {
    fn add(&mut self, error: f64, variance: f64) {
        self.n += 1;
        self.sum += error;
        self.squares += error * error;
        self.worst = self.worst.max(error.abs());
        if variance > 0.0 {
            self.n_sure += 1;
            self.normalized_squares += error * error / variance;
        }
    }

    fn sum(&self) -> MapError {
        let mean = |sum: f64, n: u32| if n > 0 { sum / f64::from(n) } else { 0.0 };
        MapError {
            n_compared: i32::try_from(self.n).unwrap_or(i32::MAX),
            n_edges: self.n_edges,
            rms_m: mean(self.squares, self.n).sqrt(),
            bias_m: mean(self.sum, self.n),
            worst_m: self.worst,
            boldness: mean(self.normalized_squares, self.n_sure).sqrt(),
            ..MapError::default()
        }
    }
}

//! Worlds of the BARN challenge's kind, as lists of obstacles: read from a file, or generated.

mod generate;

use super::{Body, Spawn, World};
use crate::solid::Solid;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_2;

/// A world of the BARN challenge, or one of its kind that [`Barn::generate`] made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Barn {
    /// Its number.
    pub world: u32,
    /// Of all cylinders, metres.
    pub cylinder_radius_m: f64,
    /// Where they stand, metres.
    pub cylinders_xy_m: Vec<[f64; 2]>,
    /// The way that the challenge measures others against, in cells of its grid.
    pub reference_path: Vec<[f64; 2]>,
}

/// Why a text is no world of BARN's.
#[derive(Debug, thiserror::Error)]
pub enum BadBarn {
    /// It is not what it should be.
    #[error(
        "expected world, cylinder_radius_m, cylinders_xy_m and reference_path in JSON, found: {0}"
    )]
    Json(#[from] serde_json::Error),
    /// A cylinder has no size, or is nowhere.
    #[error(
        "expected cylinders with a radius of 0.001 to 100 m within 10 km, and at most {MAX_CYLINDERS}, found others"
    )]
    Cylinders,
}

const MAX_CYLINDERS: usize = 10_000;
/// How high the cylinders are. The challenge's robot is lower than that.
const HEIGHT_M: f64 = 1.0;

impl Barn {
    /// Where the robot begins: the heading is north.
    pub const START_M: [f64; 2] = [-2.25, 3.0];
    /// Where it should get to, within 1 m.
    pub const GOAL_M: [f64; 2] = [-2.25, 13.0];
    /// The edge of a cell of the challenge's grid, metres.
    pub const CELL_M: f64 = 0.15;

    /// Reads an obstacle list.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, BadBarn> {
        let barn: Self = serde_json::from_str(text)?;
        let is_near = |at: &f64| at.abs() <= 1e4;
        let is_sound = (0.001..=100.0).contains(&barn.cylinder_radius_m)
            && barn.cylinders_xy_m.len() <= MAX_CYLINDERS
            && barn.cylinders_xy_m.iter().flatten().all(is_near);
        if is_sound {
            Ok(barn)
        } else {
            Err(BadBarn::Cylinders)
        }
    }

    /// The world with its cylinders on flat ground.
    #[must_use]
    pub fn world(&self) -> World {
        let mut world = World::flat();
        world.name = format!("barn_{:03}", self.world);
        world.spawn = Spawn {
            xy_m: Self::START_M,
            from_z_m: None,
            heading_rad: FRAC_PI_2,
        };
        let radius_m = self.cylinder_radius_m;
        for (idx, [x, y]) in self.cylinders_xy_m.iter().enumerate() {
            let solid = Solid::Cylinder {
                radius_m,
                half_m: HEIGHT_M / 2.0,
            };
            let body = Body::new(format!("cylinder_{idx}"), solid);
            world.bodies.push(body.at([*x, *y, HEIGHT_M / 2.0]));
        }
        world
    }

    /// The reference path from start to goal, metres.
    #[must_use]
    pub fn path_m(&self) -> Vec<[f64; 2]> {
        let points = self.reference_path.iter().map(|cell| Self::cell_m(*cell));
        let mut path = vec![Self::START_M];
        path.extend(points);
        path.push(Self::GOAL_M);
        path
    }

    /// Where a cell of the challenge's grid has its middle, metres.
    fn cell_m([column, row]: [f64; 2]) -> [f64; 2] {
        [Self::CELL_M * column - 4.575, Self::CELL_M * row + 5.075]
    }

    /// The obstacle list as text, which [`Barn::parse`] reads.
    ///
    /// # Panics
    /// Never: numbers and lists of them can always be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and lists can be written") + "\n"
    }

    /// How long the challenge takes the best way to be: along the reference path, at 2 m/s, seconds.
    #[must_use]
    pub fn optimal_time_s(&self) -> f64 {
        let path = self.path_m();
        let legs = path
            .array_windows()
            .map(|[a, b]| (a[0] - b[0]).hypot(a[1] - b[1]));
        legs.sum::<f64>() / 2.0
    }
}

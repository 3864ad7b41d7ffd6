//! The lines of a world as cameras see them and as vehicles cross them.
//!
//! Paint lies on whatever ground is below it, so that lines lead over ramps. Dashes are what cameras see; what a vehicle
//! must not cross is the whole line, as on a road.

use crate::math::transform;
use crate::outline::{Outline, apart_m, from_piece_m, outline};
use crate::physics::Physics;
use crate::vehicle::Vehicle;
use crate::world::World;
use crate::world::line::{Line, Piece, along, length_m};
use rapier3d_f64::math::{Pose, Vector};

/// How far spots are apart along an edge of a line, metres.
const APART_M: f64 = 0.05;
/// From where the ground is looked for, metres.
const SKY_M: f64 = 1e4;

/// All lines of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paint {
    spots: Vec<Vector>,
    lines: Vec<Marking>,
}

/// A line that must not be crossed.
#[derive(Clone, Debug)]
struct Marking {
    name: String,
    half_width_m: f64,
    pieces: Vec<Piece>,
}

/// A part of the vehicle is over a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crossing {
    pub(crate) part: usize,
    /// An index into the world's lines.
    pub(crate) line: usize,
}

impl Paint {
    /// Paints the lines of a world on its ground.
    pub(crate) fn new(world: &World, physics: &Physics) -> Self {
        let ground = physics.ground();
        let painted = world.lines.iter().flat_map(edges);
        let spots = painted.map(|[x, y]| {
            let met = ground.cast(Vector::new(x, y, SKY_M), -Vector::Z, 2.0 * SKY_M);
            Vector::new(x, y, met.map_or(0.0, |met| SKY_M - met.range_m))
        });
        let lines = world.lines.iter().map(|line| Marking {
            name: line.name.clone(),
            half_width_m: line.width_m / 2.0,
            pieces: line.pieces().collect(),
        });
        Self {
            spots: spots.collect(),
            lines: lines.collect(),
        }
    }

    /// Points along both edges of all that is painted.
    pub(crate) fn spots(&self) -> &[Vector] {
        &self.spots
    }

    /// What a line is called.
    pub(crate) fn name(&self, line: usize) -> Option<&str> {
        self.lines.get(line).map(|line| line.name.as_str())
    }

    /// Which parts of the vehicle are over which lines, seen from above, in a fixed order.
    pub(crate) fn crossings(&self, vehicle: &Vehicle, world_from_vehicle: &Pose) -> Vec<Crossing> {
        let Vector { x, y, .. } = world_from_vehicle.translation;
        let reach_m = vehicle.chassis.reach_m();
        let mut parts: Option<Vec<(usize, Outline)>> = None;
        let mut found = Vec::new();
        for (line, marking) in self.lines.iter().enumerate() {
            let near_m = reach_m + marking.half_width_m;
            let near = marking
                .pieces
                .iter()
                .filter(|piece| from_piece_m([x, y], **piece) <= near_m);
            for piece in near {
                let parts = parts.get_or_insert_with(|| outlines(vehicle, world_from_vehicle));
                let over = parts
                    .iter()
                    .filter(|(_, outline)| apart_m(outline, *piece) <= marking.half_width_m);
                found.extend(over.map(|(part, _)| Crossing { part: *part, line }));
            }
        }
        found.sort_by_key(|crossing| (crossing.part, crossing.line));
        found.dedup();
        found
    }
}

fn outlines(vehicle: &Vehicle, world_from_vehicle: &Pose) -> Vec<(usize, Outline)> {
    let at = transform(world_from_vehicle);
    let shapes = vehicle.chassis.shapes.iter();
    let seen = shapes.filter_map(|shape| {
        let outline = outline(&shape.solid, &(at * shape.vehicle_from_shape))?;
        Some((shape.part, outline))
    });
    seen.collect()
}

/// Points along the two edges of what is painted of a line.
fn edges(line: &Line) -> impl Iterator<Item = [f64; 2]> {
    let half_m = line.width_m / 2.0;
    let of_piece = move |piece: Piece| {
        let [from, to] = piece;
        let whole_m = length_m(piece).max(f64::MIN_POSITIVE);
        let aside = [
            half_m * (from[1] - to[1]) / whole_m,
            half_m * (to[0] - from[0]) / whole_m,
        ];
        let steps = spread(whole_m);
        steps.flat_map(move |part| {
            let [x, y] = along(piece, part);
            [[x + aside[0], y + aside[1]], [x - aside[0], y - aside[1]]]
        })
    };
    line.painted().into_iter().flat_map(of_piece)
}

/// From 0 to 1, in steps of at most [`APART_M`].
fn spread(whole_m: f64) -> impl Iterator<Item = f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lines of world files are at most kilometres long"
    )]
    let n = (whole_m / APART_M).ceil().clamp(1.0, 1e7) as u32;
    (0..=n).map(move |nth| f64::from(nth) / f64::from(n))
}

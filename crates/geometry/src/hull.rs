//! What carries and pushes a body on water: hulls and thrusters.

use crate::mistake::Place;

/// What the water and the wind do to a vessel, as Fossen's model of surge, sway and yaw has it.
///
/// Everything is about the vessel's centre of mass. Terms that couple sway and yaw are left out: hulls are taken to be
/// alike fore and aft.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Where it is declared.
    pub place: Place,
    /// Along the waterline, for how it rides waves.
    pub length_m: f64,
    /// From side to side at the waterline.
    pub beam_m: f64,
    /// What water moves with it: in surge and sway, kilograms, and in yaw, kilogram square metres.
    pub added_mass: [f64; 3],
    /// What holds it back by speed through the water: newtons at a metre a second in surge and sway, and newton metres at
    /// a radian a second in yaw.
    pub linear_drag: [f64; 3],
    /// The same by the square of speed.
    pub quadratic_drag: [f64; 3],
    /// How much is left of the moment with which added mass turns a drifting hull across its way (Munk's), 0 to 1: skegs
    /// and the wake take it away.
    pub munk_ratio: f64,
    /// What the wind blows against from ahead and from the side, with its drag coefficient, square metres.
    pub windage_m2: [f64; 2],
}

/// What pushes a vessel along the x axis of its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Thruster {
    /// Its name on the body.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// The frame that it sits in, of the same body.
    pub frame: String,
    /// How hard it pushes at most.
    pub ahead_n: f64,
    /// How hard it pulls back at most.
    pub astern_n: f64,
    /// How long until it gives about two thirds of what it is told, seconds.
    pub lag_s: f64,
}

//! What carries and pushes a body on water: hulls and thrusters.

use crate::element::{Attribute, Bounds, Element, ElementKind, ElementRole, Value};
use crate::mistake::{Mistakes, Place};

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
    /// How long until it gives about two thirds of what is commanded, seconds.
    pub lag_s: f64,
}

/// `<hull>`.
pub const HULL: ElementKind = ElementKind {
    word: "hull",
    doc: "What water and wind do to a vessel, about its centre of mass.",
    role: ElementRole::Body,
    attributes: &[
        Attribute::required("length_m", LENGTH, "along the waterline"),
        Attribute::required("beam_m", LENGTH, "from side to side at the waterline"),
        Attribute::required(
            "added_mass",
            Value::Numbers(3, Bounds::NOT_NEGATIVE),
            "the water that moves along, in surge, sway and yaw: kg, kg, kg m²",
        ),
        Attribute::required(
            "linear_drag",
            Value::Numbers(3, Bounds::NOT_NEGATIVE),
            "in surge, sway and yaw: N at 1 m/s twice, N m at 1 rad/s",
        ),
        Attribute::optional(
            "quadratic_drag",
            Value::Numbers(3, Bounds::NOT_NEGATIVE),
            "the same, by the square of speed",
        ),
        Attribute::optional(
            "munk_ratio",
            Value::Number(Bounds::RATIO),
            "how much is left of the moment that turns a drifting hull across its way (default 1)",
        ),
        Attribute::optional(
            "windage_m2",
            Value::Numbers(2, Bounds::NOT_NEGATIVE),
            "what the wind blows against from ahead and from the side, with its drag coefficient",
        ),
    ],
};

const LENGTH: Value = Value::Number(Bounds::POSITIVE);

/// `<thruster>`.
pub const THRUSTER: ElementKind = ElementKind {
    word: "thruster",
    doc: "It pushes along the x axis of its frame.",
    role: ElementRole::Device,
    attributes: &[
        Attribute::required("ahead_n", LENGTH, "how hard it pushes at most"),
        Attribute::optional(
            "astern_n",
            Value::Number(Bounds::NOT_NEGATIVE),
            "how hard it pulls back at most (default: as ahead)",
        ),
        Attribute::noise(
            "lag_s",
            "how long until it gives two thirds of its set-point",
        ),
    ],
};

impl Hull {
    /// Reads a `<hull>`.
    pub fn read(element: &Element, mistakes: &mut Mistakes) -> Option<Self> {
        let values = HULL.read(element, mistakes);
        Some(Self {
            place: element.place.clone(),
            length_m: values.number("length_m")?,
            beam_m: values.number("beam_m")?,
            added_mass: values.numbers("added_mass")?,
            linear_drag: values.numbers("linear_drag")?,
            quadratic_drag: values.numbers("quadratic_drag").unwrap_or_default(),
            munk_ratio: values.number("munk_ratio").unwrap_or(1.0),
            windage_m2: values.numbers("windage_m2").unwrap_or_default(),
        })
    }
}

impl Thruster {
    /// Reads a `<thruster>`.
    pub fn read(element: &Element, mistakes: &mut Mistakes) -> Option<Self> {
        let values = THRUSTER.read(element, mistakes);
        let ahead_n = values.number("ahead_n")?;
        Some(Self {
            name: element.name.clone()?,
            place: element.place.clone(),
            frame: element.frame.clone()?,
            ahead_n,
            astern_n: values.number("astern_n").unwrap_or(ahead_n),
            lag_s: values.noise("lag_s"),
        })
    }
}

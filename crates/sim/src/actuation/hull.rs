//! A hull that floats, with a thruster on each side.

mod afloat;
mod thrusters;

use super::{ActuationKind, CommandPort, Gear, MountedBody, Propulsion, Site, Start};
use crate::math::vector;
use crate::world::Spawn;
use afloat::Afloat;
use bowline_autonomy::gate::GateComponent;
use bowline_component::{BuildError, Kind};
use bowline_geometry::{
    HULL, Hull as Described, Mistakes, THRUSTER, Thruster as DescribedThruster, Transform,
};
use bowline_msgs::Thrust;

pub use thrusters::MountedThruster;

pub(super) const KIND: ActuationKind = ActuationKind {
    needs: "a <hull>",
    elements: &[HULL, THRUSTER],
    build,
    gate: Some(Kind::of::<GateComponent<Thrust>>(
        "gate",
        "Decides what may move a vessel; the only writer of its thrust commands.",
    )),
};

/// A hull with its thrusters, about the vehicle's centre of mass; in surge, sway and yaw.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Along the waterline, metres.
    pub length_m: f64,
    /// From side to side, metres.
    pub beam_m: f64,
    /// What water moves with it: kilograms twice, and kilogram square metres.
    pub added_mass: [f64; 3],
    /// What holds it back by speed through the water: newtons at a metre a second twice, and newton metres at a radian a
    /// second.
    pub linear_drag: [f64; 3],
    /// The same by the square of speed.
    pub quadratic_drag: [f64; 3],
    /// How much is left of Munk's moment, 0 to 1.
    pub munk_ratio: f64,
    /// What the wind blows against from ahead and from the side, with its drag coefficient, square metres.
    pub windage_m2: [f64; 2],
    /// To port, and to starboard.
    pub thrusters: [MountedThruster; 2],
}

/// Why a model with a hull is no vessel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeHullError {
    /// It has several hulls.
    #[error(
        "expected one <hull> for the whole vessel, found {}: a twin hull is one, too", found.join(", ")
    )]
    ManyHulls {
        /// The bodies that have one.
        found: Vec<String>,
    },
    /// It has not one thruster on each side.
    #[error("expected a <thruster> to port and one to starboard, found {port} and {starboard}")]
    Thrusters {
        /// How many are to the left.
        port: usize,
        /// How many are to the right, or in the middle.
        starboard: usize,
    },
}

fn build(bodies: &[MountedBody<'_>]) -> Result<Option<Box<dyn Gear>>, BuildError> {
    let mut mistakes = Mistakes::new();
    let (mut names, mut hulls, mut thrusters) = (Vec::new(), Vec::new(), Vec::new());
    for mounted in bodies {
        for element in mounted.body.elements_of(HULL.word) {
            names.push(mounted.body.name.clone());
            hulls.extend(Described::read(element, &mut mistakes));
        }
        for element in mounted.body.elements_of(THRUSTER.word) {
            let thruster = DescribedThruster::read(element, &mut mistakes);
            thrusters.extend(thruster.and_then(|thruster| mount(mounted, thruster)));
        }
    }
    mistakes.or(())?;
    let Some(hull) = hulls.pop() else {
        return Ok(None);
    };
    if !hulls.is_empty() {
        return Err(MakeHullError::ManyHulls { found: names }.into());
    }
    let Described {
        place: _,
        length_m,
        beam_m,
        added_mass,
        linear_drag,
        quadratic_drag,
        munk_ratio,
        windage_m2,
    } = hull;
    Ok(Some(Box::new(Hull {
        length_m,
        beam_m,
        added_mass,
        linear_drag,
        quadratic_drag,
        munk_ratio,
        windage_m2,
        thrusters: pair(thrusters)?,
    })))
}

/// A thruster where it sits; none on a frame that is not there.
fn mount(mounted: &MountedBody<'_>, thruster: DescribedThruster) -> Option<MountedThruster> {
    let frame = mounted.body.frame(&thruster.frame)?;
    let at = mounted.vehicle_from_body * frame.body_from_frame;
    let tip = vector(at.apply([1.0, 0.0, 0.0]));
    Some(MountedThruster {
        name: format!("{}.{}", mounted.body.name, thruster.name),
        part: mounted.part,
        at_m: at.xyz(),
        along: (tip - vector(at.xyz())).to_array(),
        ahead_n: thruster.ahead_n,
        astern_n: thruster.astern_n,
        lag_s: thruster.lag_s,
    })
}

/// The one to port, and the one to starboard.
fn pair(thrusters: Vec<MountedThruster>) -> Result<[MountedThruster; 2], MakeHullError> {
    let is_port = |thruster: &MountedThruster| thruster.at_m[1] > 0.0;
    let (port, starboard): (Vec<_>, Vec<_>) = thrusters.into_iter().partition(is_port);
    let found = MakeHullError::Thrusters {
        port: port.len(),
        starboard: starboard.len(),
    };
    match (<[_; 1]>::try_from(port), <[_; 1]>::try_from(starboard)) {
        (Ok([port]), Ok([starboard])) => Ok([port, starboard]),
        (_, _) => Err(found),
    }
}

impl Gear for Hull {
    fn command(&self) -> CommandPort {
        CommandPort::of::<Thrust>(
            "thrust",
            "How hard thrusters push. Without one for the timeout they do not.",
        )
    }

    fn start(&self, start: &Start<'_>) -> Box<dyn Propulsion> {
        Box::new(Afloat::new(self, start))
    }

    fn stand(&self, site: &Site<'_>, spawn: &Spawn) -> Transform {
        let level_m = site.world.sea.as_ref().map_or(0.0, |sea| sea.level_m);
        let [x, y] = spawn.xy_m;
        Transform::from_xyz_rpy([x, y, level_m], [0.0, 0.0, spawn.heading_rad])
    }

    fn needs_sea(&self) -> bool {
        true
    }

    fn is_planar(&self) -> bool {
        true
    }
}

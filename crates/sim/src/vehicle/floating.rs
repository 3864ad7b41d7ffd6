//! A hull and its thrusters, gathered from a model.

use super::thrusters::MountedThruster;
use super::{Hull, MakeVehicleError};
use crate::math::vector;
use bowline_geometry::{Body, Hull as Described, Transform};

/// Hulls and thrusters while they are gathered.
#[derive(Debug, Default)]
pub(super) struct Floating {
    hulls: Vec<(String, Described)>,
    thrusters: Vec<MountedThruster>,
}

impl Floating {
    pub(super) fn add(&mut self, part: usize, body: &Body, vehicle_from_body: &Transform) {
        let hull = body.hull.clone();
        self.hulls
            .extend(hull.map(|hull| (body.name.clone(), hull)));
        for thruster in &body.thrusters {
            let mut frames = body.frames.iter();
            let Some(frame) = frames.find(|frame| frame.name == thruster.frame) else {
                continue;
            };
            let at = *vehicle_from_body * frame.body_from_frame;
            let tip = vector(at.apply([1.0, 0.0, 0.0]));
            self.thrusters.push(MountedThruster {
                name: format!("{}.{}", body.name, thruster.name),
                part,
                at_m: at.xyz(),
                along: (tip - vector(at.xyz())).to_array(),
                ahead_n: thruster.ahead_n,
                astern_n: thruster.astern_n,
                lag_s: thruster.lag_s,
            });
        }
    }

    /// The vessel's hull; none if it is no vessel.
    pub(super) fn finish(self) -> Result<Option<Hull>, MakeVehicleError> {
        let (names, mut hulls): (Vec<String>, Vec<Described>) = self.hulls.into_iter().unzip();
        let Some(hull) = hulls.pop() else {
            return Ok(None);
        };
        if !hulls.is_empty() {
            return Err(MakeVehicleError::ManyHulls { found: names });
        }
        let is_port = |thruster: &MountedThruster| thruster.at_m[1] > 0.0;
        let (port, starboard): (Vec<_>, Vec<_>) = self.thrusters.into_iter().partition(is_port);
        let (n_port, n_starboard) = (port.len(), starboard.len());
        let pairs: Result<[MountedThruster; 2], _> = port
            .into_iter()
            .chain(starboard)
            .collect::<Vec<_>>()
            .try_into();
        let thrusters = pairs.ok().filter(|_| n_port == 1);
        let thrusters = thrusters.ok_or(MakeVehicleError::Thrusters {
            port: n_port,
            starboard: n_starboard,
        })?;
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
        Ok(Some(Hull {
            length_m,
            beam_m,
            added_mass,
            linear_drag,
            quadratic_drag,
            munk_ratio,
            windage_m2,
            thrusters,
        }))
    }
}

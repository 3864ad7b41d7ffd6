//! Two thrusters: their commands, and how hard they push.

use super::Hull;
use bowline_component::Time;
use bowline_msgs::Thrust;
use rapier3d_f64::math::Vector;
use std::time::Duration;

/// A thruster where it sits.
#[derive(Clone, Debug, PartialEq)]
pub struct MountedThruster {
    /// `Body.Thruster`.
    pub name: String,
    /// The body that it is on.
    pub part: usize,
    /// Where it pushes, in coordinates of the vehicle, metres.
    pub at_m: [f64; 3],
    /// Which way, of length 1.
    pub along: [f64; 3],
    /// How hard ahead, newtons.
    pub ahead_n: f64,
    /// How hard astern, newtons.
    pub astern_n: f64,
    /// How long until it gives about two thirds of what is commanded, seconds.
    pub lag_s: f64,
}

/// Both thrusters of a vessel, as they are now.
#[derive(Clone, Debug)]
pub(super) struct Thrusters {
    /// To port, and to starboard.
    mounted: [MountedThruster; 2],
    /// How hard each pushes now, newtons.
    push_n: [f64; 2],
    command: Option<Command>,
    /// Without a command for so long, none pushes.
    timeout: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Command {
    at: Time,
    utime: i64,
    /// To port, and to starboard.
    ratios: [f64; 2],
}

impl Thrusters {
    pub(super) fn new(hull: &Hull, timeout: Duration) -> Self {
        Self {
            mounted: hull.thrusters.clone(),
            push_n: [0.0; 2],
            command: None,
            timeout,
        }
    }

    /// Takes a command that has just arrived. One that is not a number, or that was overtaken by a later one, is refused.
    pub(super) fn command(&mut self, now: Time, command: &Thrust) {
        let ratios = [command.port_ratio, command.starboard_ratio];
        let is_overtaken = self
            .command
            .is_some_and(|last| command.utime < last.utime && !self.is_late(now, last));
        if is_overtaken || !ratios.iter().all(|ratio| ratio.is_finite()) {
            return;
        }
        self.command = Some(Command {
            at: now,
            utime: command.utime,
            ratios: ratios.map(|ratio| ratio.clamp(-1.0, 1.0)),
        });
    }

    /// Whether there is no command that counts.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.command
            .is_none_or(|command| self.is_late(now, command))
    }

    fn is_late(&self, now: Time, command: Command) -> bool {
        now.since(command.at) >= self.timeout
    }

    /// Forgets commands and effects.
    pub(super) fn settle(&mut self) {
        self.push_n = [0.0; 2];
        self.command = None;
    }

    /// Spins them up or down for a step, with a share of their strength.
    pub(super) fn advance(&mut self, now: Time, strength: f64, step_s: f64) {
        let command = self.command.filter(|command| !self.is_late(now, *command));
        let ratios = command.map_or([0.0; 2], |command| command.ratios);
        for ((push, thruster), ratio) in self.push_n.iter_mut().zip(&self.mounted).zip(ratios) {
            let most = if ratio > 0.0 {
                thruster.ahead_n
            } else {
                thruster.astern_n
            };
            let wanted = ratio * most * strength;
            let gained = if thruster.lag_s > 0.0 {
                1.0 - (-step_s / thruster.lag_s).exp()
            } else {
                1.0
            };
            *push += (wanted - *push) * gained;
        }
    }

    /// What they do about the centre of mass, in surge, sway and yaw.
    pub(super) fn loads(&self, centre: Vector) -> [f64; 3] {
        let mut loads = [0.0; 3];
        for (thruster, push) in self.mounted.iter().zip(self.push_n) {
            let force = Vector::from_array(thruster.along) * push;
            let moment = (Vector::from_array(thruster.at_m) - centre).cross(force);
            for (load, more) in loads.iter_mut().zip([force.x, force.y, moment.z]) {
                *load += more;
            }
        }
        loads
    }
}

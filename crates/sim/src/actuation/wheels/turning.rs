//! How a vehicle turns, and what that makes of the speed and the angle that are commanded.

use bowline_autonomy::control::{DriveLimits, Setpoint};

/// How a vehicle turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steering {
    /// By the angle of its front wheels.
    Ackermann {
        /// Between the axles, metres.
        wheelbase_m: f64,
    },
    /// By wheels that turn faster on one side: differential and skid steer.
    ///
    /// The steering angle of a command means the arc that a car of this wheelbase would follow. So every turn rate can be
    /// asked for: near a right angle and at a small speed, on the spot.
    Sides {
        /// Of the car that steering angles are meant for, metres.
        wheelbase_m: f64,
        /// How fast it turns at most, radians a second.
        limit_radps: f64,
        /// How fast that changes at most, radians a second squared.
        accel_radps2: f64,
    },
}

/// How a vehicle is to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Along its forward axis, metres a second.
    pub speed_mps: f64,
    /// Angle of the steered wheels, radians; 0 without them.
    pub steering_rad: f64,
    /// How fast it turns, radians a second, to the left positive.
    pub turn_radps: f64,
}

/// Nearly a right angle: its tangent is still a number to calculate with.
pub(crate) const SQUARE_RAD: f64 = std::f64::consts::FRAC_PI_2 - 1e-6;

impl Steering {
    /// How to move with these commands, a moment after `before`.
    pub(super) fn motion(&self, told: Setpoint, before: Motion, dt: f64) -> Motion {
        match *self {
            Self::Ackermann { wheelbase_m } => Motion {
                speed_mps: told.speed_mps,
                steering_rad: told.steering_rad,
                turn_radps: told.speed_mps * told.steering_rad.tan() / wheelbase_m,
            },
            Self::Sides {
                wheelbase_m,
                limit_radps,
                accel_radps2,
            } => {
                let angle = told.steering_rad.clamp(-SQUARE_RAD, SQUARE_RAD);
                let curvature = angle.tan() / wheelbase_m;
                // The arc is kept and speed given up, so that the vehicle is not carried into what the arc avoids.
                let most_mps = limit_radps / curvature.abs().max(1e-9);
                let speed_mps = told.speed_mps.clamp(-most_mps, most_mps);
                let most_radps = accel_radps2 * dt;
                let change = speed_mps * curvature - before.turn_radps;
                Motion {
                    speed_mps,
                    steering_rad: 0.0,
                    turn_radps: before.turn_radps + change.clamp(-most_radps, most_radps),
                }
            }
        }
    }

    /// What a drive may do that has so much of its strength. Brakes hold.
    pub(super) fn weakened(limits: DriveLimits, strength: f64) -> DriveLimits {
        DriveLimits {
            max_speed_mps: limits.max_speed_mps * strength,
            max_reverse_mps: limits.max_reverse_mps * strength,
            max_accel_mps2: limits.max_accel_mps2 * strength,
            max_steering_radps: limits.max_steering_radps * strength,
            ..limits
        }
    }
}

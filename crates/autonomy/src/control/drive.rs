//! The last word before the actuators: limits, and a stop when nobody commands any more.
//!
//! In: commands when they arrive, and the time. Out: how the vehicle should move now, never faster, never more suddenly
//! and never for longer than it may. The same for a simulated vehicle and the driver of a real one.

use bowline_node::Time;
use std::time::Duration;

/// How a vehicle turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steering {
    /// By the angle of its front wheels.
    Ackermann {
        /// Between the axles, metres.
        wheelbase_m: f64,
        /// The largest angle to either side, radians.
        limit_rad: f64,
        /// How fast the angle changes at most, radians a second.
        rate_radps: f64,
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

/// What a vehicle may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveLimits {
    /// How it turns.
    pub steering: Steering,
    /// Forward, metres a second.
    pub speed_mps: f64,
    /// Backward, metres a second, as a positive number.
    pub reverse_mps: f64,
    /// Getting faster, metres a second squared.
    pub accel_mps2: f64,
    /// Getting slower, metres a second squared.
    pub brake_mps2: f64,
    /// How long a command holds.
    pub timeout: Duration,
}

/// A command, as it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// When it arrived.
    pub at: Time,
    /// Angle of the steered wheels, radians, to the left positive.
    pub steering_rad: f64,
    /// Metres a second, backward negative.
    pub speed_mps: f64,
}

/// How the vehicle should move now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Along the vehicle's forward axis, metres a second.
    pub speed_mps: f64,
    /// Angle of the steered wheels, radians; of a vehicle without them, the angle that gives its arc.
    pub steering_rad: f64,
    /// How fast it turns, radians a second, to the left positive.
    pub turn_radps: f64,
}

/// Takes commands, and says how to move.
#[derive(Clone, Debug)]
pub struct Drive {
    limits: DriveLimits,
    asked: Option<Asked>,
    motion: Motion,
    advanced_at: Option<Time>,
}

impl Drive {
    /// Stands still until it is told otherwise.
    #[must_use]
    pub const fn new(limits: DriveLimits) -> Self {
        Self {
            limits,
            asked: None,
            motion: Motion {
                speed_mps: 0.0,
                steering_rad: 0.0,
                turn_radps: 0.0,
            },
            advanced_at: None,
        }
    }

    /// What it may do.
    #[must_use]
    pub const fn limits(&self) -> &DriveLimits {
        &self.limits
    }

    /// Lets it do more, or less, from now on: a motor is weak, a zone is slow.
    pub const fn set_limits(&mut self, limits: DriveLimits) {
        self.limits = limits;
    }

    /// Takes a command; `false` if it is none, because a number of it is not finite. Such a command does not count, so
    /// somebody who sends nothing else is stopped.
    pub fn command(&mut self, asked: Asked) -> bool {
        let is_command = asked.steering_rad.is_finite() && asked.speed_mps.is_finite();
        if is_command {
            self.asked = Some(asked);
        }
        is_command
    }

    /// Whether the last command still holds.
    #[must_use]
    pub fn is_commanded(&self, now: Time) -> bool {
        let limit = self.limits.timeout;
        self.asked.is_some_and(|asked| now.since(asked.at) < limit)
    }

    /// Forgets what it was told, and stands still at once: the vehicle was put somewhere else.
    pub fn reset(&mut self) {
        *self = Self::new(self.limits);
    }

    /// How to move now. To be asked often: the limits hold for what lies between two questions.
    pub fn advance(&mut self, now: Time) -> Motion {
        let dt = self
            .advanced_at
            .map_or(0.0, |before| now.since(before).as_secs_f64());
        self.advanced_at = Some(now);
        let wanted = match self.asked {
            Some(asked) if self.is_commanded(now) => asked,
            // Nobody commands: stop, and let the wheels point to where they do.
            Some(_) | None => Asked {
                at: now,
                steering_rad: self.motion.steering_rad,
                speed_mps: 0.0,
            },
        };
        self.motion = match self.limits.steering {
            Steering::Ackermann { .. } => self.towards_angle(wanted, dt),
            Steering::Sides { .. } => self.towards_rate(wanted, dt),
        };
        self.motion
    }

    fn speed_after(&self, wanted_mps: f64, dt: f64) -> f64 {
        let DriveLimits {
            speed_mps,
            reverse_mps,
            accel_mps2,
            brake_mps2,
            ..
        } = self.limits;
        let wanted = wanted_mps.clamp(-reverse_mps, speed_mps);
        let now = self.motion.speed_mps;
        // Through zero it first brakes, and then speeds up.
        let is_braking = wanted * now < 0.0 || wanted.abs() < now.abs();
        if is_braking {
            let goal = if wanted * now < 0.0 { 0.0 } else { wanted };
            return towards(now, goal, brake_mps2 * dt);
        }
        towards(now, wanted, accel_mps2 * dt)
    }

    fn towards_angle(&self, wanted: Asked, dt: f64) -> Motion {
        let Steering::Ackermann {
            wheelbase_m,
            limit_rad,
            rate_radps,
        } = self.limits.steering
        else {
            return self.motion;
        };
        let angle = wanted.steering_rad.clamp(-limit_rad, limit_rad);
        let steering_rad = towards(self.motion.steering_rad, angle, rate_radps * dt);
        let speed_mps = self.speed_after(wanted.speed_mps, dt);
        Motion {
            speed_mps,
            steering_rad,
            turn_radps: speed_mps * steering_rad.tan() / wheelbase_m,
        }
    }

    fn towards_rate(&self, wanted: Asked, dt: f64) -> Motion {
        let Steering::Sides {
            wheelbase_m,
            limit_radps,
            accel_radps2,
        } = self.limits.steering
        else {
            return self.motion;
        };
        let angle = wanted.steering_rad.clamp(-SQUARE_RAD, SQUARE_RAD);
        let curvature = angle.tan() / wheelbase_m;
        // An arc is kept and the speed given up, so that nobody is carried into what the arc avoids.
        let most_mps = limit_radps / curvature.abs().max(1e-9);
        let goal_mps = wanted.speed_mps.clamp(-most_mps, most_mps);
        let goal_radps = goal_mps * curvature;
        let speed_mps = self.speed_after(goal_mps, dt);
        let turn_radps = towards(self.motion.turn_radps, goal_radps, accel_radps2 * dt);
        Motion {
            speed_mps,
            steering_rad: angle,
            turn_radps,
        }
    }
}

/// Nearly a right angle: its tangent is still a number to calculate with.
const SQUARE_RAD: f64 = std::f64::consts::FRAC_PI_2 - 1e-6;

fn towards(now: f64, goal: f64, most: f64) -> f64 {
    now + (goal - now).clamp(-most, most)
}

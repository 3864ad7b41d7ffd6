//! Speed and steering of a vehicle on the ground.

use super::{Actuation, Axis, Hands};
use bowline_msgs::Velocity;

impl Actuation for Velocity {
    const WORD: &'static str = "velocity";
    const VERB: &'static str = "drive";
    const AXES: &'static [Axis<Self>] = &[
        Axis {
            field: "speed_mps",
            word: "speed",
            unit: "m/s",
            // Faster than anything on wheels that this is for.
            bound: 100.0,
            // A fast walk, for a person who sees it by camera.
            direct_limit: 2.0,
            hands: Hands {
                ahead: 1.0,
                left: 0.0,
            },
            moves: true,
            get: |it| it.speed_mps,
            set: |it, value| it.speed_mps = value,
        },
        Axis {
            field: "steering_rad",
            word: "steering",
            unit: "rad",
            bound: std::f64::consts::PI,
            direct_limit: 0.5,
            hands: Hands {
                ahead: 0.0,
                left: 1.0,
            },
            // A wheel that is turned moves nothing.
            moves: false,
            get: |it| it.steering_rad,
            set: |it, value| it.steering_rad = value,
        },
    ];

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }
}

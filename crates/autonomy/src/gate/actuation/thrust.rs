//! Two thrusters of a vessel.

use super::{Actuation, Axis, Hands};
use bowline_msgs::Thrust;

impl Actuation for Thrust {
    const WORD: &'static str = "thrust";
    const VERB: &'static str = "thrust";
    const AXES: &'static [Axis<Self>] = &[
        Axis {
            field: "port_ratio",
            word: "port",
            unit: "ratio",
            bound: 1.0,
            direct_limit: 1.0,
            hands: Hands {
                ahead: 1.0,
                left: -0.5,
            },
            moves: true,
            get: |it| it.port_ratio,
            set: |it, value| it.port_ratio = value,
        },
        Axis {
            field: "starboard_ratio",
            word: "starboard",
            unit: "ratio",
            bound: 1.0,
            direct_limit: 1.0,
            hands: Hands {
                ahead: 1.0,
                left: 0.5,
            },
            moves: true,
            get: |it| it.starboard_ratio,
            set: |it, value| it.starboard_ratio = value,
        },
    ];

    fn at(&self, utime: i64) -> Self {
        Self { utime, ..*self }
    }
}

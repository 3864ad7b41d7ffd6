//! A switch that closes when its body is pushed.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole};
use bowline_msgs::Bumper as Message;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "bumper",
        doc: "A switch that closes when its body is pushed.",
        role: ElementRole::Sensor,
        attributes: &[Attribute::noise("force_n", "how hard it must be pushed")],
    },
    publishes: &[TypeInfo::of::<Message>()],
    build: |values| {
        Some(Instrument::new(Bumper {
            force_n: values.noise("force_n"),
            is_pressed: false,
            n_presses: 0,
        }))
    },
};

#[derive(Clone, Debug)]
struct Bumper {
    force_n: f64,
    is_pressed: bool,
    n_presses: i32,
}

impl Sensor for Bumper {
    type Message = Message;

    fn measure(&mut self, at: &Sample<'_>, _noise: &mut Stream) -> Message {
        Message {
            utime: at.utime(),
            frame: at.frame(),
            pressed: self.is_pressed,
            n_presses: self.n_presses,
        }
    }

    fn utime_of(message: &mut Message) -> &mut i64 {
        &mut message.utime
    }

    fn touched(&mut self, force_n: Option<f64>) {
        let is_pressed = force_n.is_some_and(|force_n| force_n >= self.force_n);
        if is_pressed && !self.is_pressed {
            self.n_presses = self.n_presses.saturating_add(1);
        }
        self.is_pressed = is_pressed;
    }
}

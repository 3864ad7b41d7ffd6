//! Counts how far the wheel has turned that it sits on.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole, Value};
use bowline_msgs::Wheels;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "encoder",
        doc: "It counts how far the constraint has turned that its frame carries.",
        role: ElementRole::Sensor,
        attributes: &[Attribute::required(
            "ticks_per_turn",
            Value::Count(u32::MAX),
            "counts in a full turn",
        )],
    },
    publishes: &[TypeInfo::of::<Wheels>()],
    build: |values| {
        let ticks_per_turn = values.count("ticks_per_turn")?;
        Some(Instrument::new(Encoder { ticks_per_turn }))
    },
};

#[derive(Clone, Debug)]
struct Encoder {
    ticks_per_turn: u32,
}

impl Sensor for Encoder {
    type Message = Wheels;

    fn measure(&mut self, at: &Sample<'_>, _noise: &mut Stream) -> Wheels {
        let wheel = at.disturbance.wheel.unwrap_or_default();
        let turns = wheel.turned_rad / std::f64::consts::TAU;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and a wheel does not turn that often"
        )]
        let ticks = (turns * f64::from(self.ticks_per_turn)).floor() as i64;
        Wheels {
            utime: at.utime(),
            names: vec![at.frame()],
            ticks: vec![ticks],
            ticks_per_turn: vec![i32::try_from(self.ticks_per_turn).unwrap_or(i32::MAX)],
            rate_radps: vec![wheel.rate_radps],
            ..Wheels::default()
        }
        .with_lengths()
    }

    fn utime_of(message: &mut Wheels) -> &mut i64 {
        &mut message.utime
    }
}

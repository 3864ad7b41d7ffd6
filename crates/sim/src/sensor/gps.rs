//! A receiver of a satellite system.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole};
use bowline_msgs::GpsFix;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "gps",
        doc: "A receiver of a satellite system: where it is on earth.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::noise("horizontal_sd_m", "the noise of latitude and longitude"),
            Attribute::noise("vertical_sd_m", "the noise of the altitude"),
        ],
    },
    publishes: &[TypeInfo::of::<GpsFix>()],
    build: |values| {
        Some(Instrument::new(Gps {
            horizontal_sd_m: values.noise("horizontal_sd_m"),
            vertical_sd_m: values.noise("vertical_sd_m"),
        }))
    },
};

#[derive(Clone, Debug)]
struct Gps {
    horizontal_sd_m: f64,
    vertical_sd_m: f64,
}

impl Sensor for Gps {
    type Message = GpsFix;

    fn measure(&mut self, sample: &Sample<'_>, noise: &mut Stream) -> GpsFix {
        let Self {
            horizontal_sd_m,
            vertical_sd_m,
        } = *self;
        let at = sample.world_from_sensor().translation.to_array();
        let error = noise.normals([horizontal_sd_m, horizontal_sd_m, vertical_sd_m]);
        let mut measured = [0, 1, 2].map(|axis| at[axis] + sample.noise_ratio() * error[axis]);
        measured[0] += sample.disturbance.jump_m;
        let [lat_deg, lon_deg, alt_m] = sample.moment.origin.earth().on_earth(measured);
        GpsFix {
            utime: sample.utime(),
            frame: sample.frame(),
            lat_deg,
            lon_deg,
            alt_m,
            horizontal_sd_m,
            vertical_sd_m,
        }
    }

    fn utime_of(message: &mut GpsFix) -> &mut i64 {
        &mut message.utime
    }
}

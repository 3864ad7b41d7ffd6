//! A compass in three axes.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole};
use bowline_msgs::Heading;
use rapier3d_f64::math::{Rotation, Vector};

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "magnetometer",
        doc: "A compass in three axes that knows how it is tilted.",
        role: ElementRole::Sensor,
        attributes: &[Attribute::noise(
            "field_sd_t",
            "the noise of the field, tesla",
        )],
    },
    publishes: &[TypeInfo::of::<Heading>()],
    build: |values| {
        let field_sd_t = values.noise("field_sd_t");
        Some(Instrument::new(Magnetometer { field_sd_t }))
    },
};

#[derive(Clone, Debug)]
struct Magnetometer {
    field_sd_t: f64,
}

impl Sensor for Magnetometer {
    type Message = Heading;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Heading {
        let pose = at.world_from_sensor();
        let field = Vector::from_array(at.moment.origin.field_tesla);
        let error = Vector::from_array(noise.normals([self.field_sd_t; 3])) * at.noise_ratio();
        let measured = pose.rotation.inverse() * field + error;
        // The field is taken back to the level, and only the heading is left.
        let forward = pose.rotation * Vector::X;
        let heading = forward.y.atan2(forward.x);
        let level = Rotation::from_rotation_z(-heading) * (pose.rotation * measured);
        let north = level.y.atan2(level.x);
        let across = field.x.hypot(field.y).max(f64::MIN_POSITIVE);
        let turn_rad = at.disturbance.turn_rad;
        Heading {
            utime: at.utime(),
            frame: at.frame(),
            heading_rad: wrapped(std::f64::consts::FRAC_PI_2 - north + turn_rad),
            sd_rad: self.field_sd_t / across,
            field_tesla: measured.to_array(),
        }
    }

    fn utime_of(message: &mut Heading) -> &mut i64 {
        &mut message.utime
    }
}

fn wrapped(angle: f64) -> f64 {
    angle.sin().atan2(angle.cos())
}

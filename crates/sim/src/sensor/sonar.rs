//! A depth sounder: the first echo of a cone of sound about the x axis.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, Bounds, ElementKind, ElementRole, Value};
use bowline_msgs::Sounding;
use rapier3d_f64::math::Vector;
use std::f64::consts::TAU;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "sonar",
        doc: "A depth sounder: the first echo of a cone of sound about the x axis.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::required(
                "range_min_m",
                Value::Number(Bounds::NOT_NEGATIVE),
                "nearer echoes are not received",
            ),
            Attribute::required(
                "range_max_m",
                Value::Number(Bounds::POSITIVE),
                "further echoes are not received",
            ),
            Attribute::required(
                "fov_deg",
                Value::Number(Bounds::VIEW_DEG),
                "how wide the cone opens, from side to side",
            ),
            Attribute::noise("range_sd_m", "the noise of a range"),
        ],
    },
    publishes: &[TypeInfo::of::<Sounding>()],
    build: |values| {
        let [range_min_m, range_max_m] = values.ranges(["range_min_m", "range_max_m"])?;
        Some(Instrument::new(Sonar {
            range_min_m,
            range_max_m,
            fov_rad: values.number("fov_deg")?.to_radians(),
            range_sd_m: values.noise("range_sd_m"),
        }))
    },
};

#[derive(Clone, Debug)]
struct Sonar {
    range_min_m: f64,
    range_max_m: f64,
    fov_rad: f64,
    range_sd_m: f64,
}

/// Rays that a sounder's cone is looked through with, beside the middle one.
const N_RAYS: u32 = 6;

impl Sensor for Sonar {
    type Message = Sounding;

    /// What is nearest in the cone, not what is below.
    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Sounding {
        let pose = at.world_from_sensor();
        let (out, ahead) = (self.fov_rad / 2.0).sin_cos();
        let ring = (0..N_RAYS).map(|nth| {
            let (sin, cos) = (TAU * f64::from(nth) / f64::from(N_RAYS)).sin_cos();
            Vector::new(ahead, out * cos, out * sin)
        });
        let echoes = ring.chain([Vector::X]).filter_map(|direction| {
            let direction = pose.rotation * direction;
            let physics = at.moment.physics;
            let met = physics.cast(pose.translation, direction, self.range_max_m);
            met.map(|met| met.range_m)
        });
        let first = echoes.fold(f64::INFINITY, f64::min);
        let range_m = first + at.noise_ratio() * self.range_sd_m * noise.normal();
        let is_heard = (self.range_min_m..=self.range_max_m).contains(&range_m);
        Sounding {
            utime: at.utime(),
            frame: at.frame(),
            depth_m: if is_heard { range_m } else { f64::NAN },
            sd_m: self.range_sd_m,
        }
    }

    fn utime_of(message: &mut Sounding) -> &mut i64 {
        &mut message.utime
    }
}

//! Inertial navigation with satellites: where it is and how it is turned.

use super::sample::{matrix, pose_message};
use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::{Stream, lasting};
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole, Vec3};
use bowline_msgs::PoseTransform;
use rapier3d_f64::math::{Pose, Rotation, Vector};

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "ins",
        doc: "Inertial navigation with satellites: where it is and how it is turned.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::noise(
                "position_sd_m",
                "the error of the position, along each axis",
            ),
            Attribute::noise("attitude_sd_deg", "the error of roll and pitch"),
            Attribute::noise("heading_sd_deg", "the error of the heading"),
            Attribute::noise(
                "correlation_s",
                "how long an error lasts; 0: each measurement has its own",
            ),
        ],
    },
    publishes: &[TypeInfo::of::<PoseTransform>()],
    build: |values| {
        Some(Instrument::new(Ins {
            position_sd_m: values.noise("position_sd_m"),
            attitude_sd_rad: values.noise("attitude_sd_deg").to_radians(),
            heading_sd_rad: values.noise("heading_sd_deg").to_radians(),
            correlation_s: values.noise("correlation_s"),
        }))
    },
};

#[derive(Clone, Debug)]
struct Ins {
    position_sd_m: f64,
    attitude_sd_rad: f64,
    heading_sd_rad: f64,
    correlation_s: f64,
}

impl Sensor for Ins {
    type Message = PoseTransform;

    fn measure(&mut self, at: &Sample<'_>, _noise: &mut Stream) -> PoseTransform {
        let (moment, disturbance) = (at.moment, &at.disturbance);
        let truth = at.world_from_sensor();
        let mut message = pose_message(&at.mounted.frame, &truth, moment);
        // Its errors last, so they have streams of their own.
        let error = |nth, deviation: f64| {
            if deviation == 0.0 {
                return 0.0;
            }
            let source = (moment.seed, at.mounted.port.as_str());
            let lasts_s = self.correlation_s;
            disturbance.noise * deviation * lasting(source, moment.elapsed_ns, lasts_s, nth)
        };
        let shift = Vector::new(
            error(0, self.position_sd_m) + disturbance.jump_m,
            error(1, self.position_sd_m),
            error(2, self.position_sd_m),
        );
        let tilt = Vector::new(
            error(3, self.attitude_sd_rad),
            error(4, self.attitude_sd_rad),
            error(5, self.heading_sd_rad),
        );
        let turned = Rotation::from_rotation_z(disturbance.turn_rad);
        let measured = Pose::from_parts(
            truth.translation + shift,
            turned * Rotation::from_scaled_axis(tilt) * truth.rotation,
        );
        message.matrix = matrix(&measured);
        let squared = |deviation: f64| deviation * deviation;
        let attitude = squared(self.attitude_sd_rad);
        message.attitude_covariance = diagonal([attitude, attitude, squared(self.heading_sd_rad)]);
        message.position_covariance = diagonal([squared(self.position_sd_m); 3]);
        message
    }

    fn utime_of(message: &mut PoseTransform) -> &mut i64 {
        &mut message.utime
    }
}

fn diagonal([x, y, z]: Vec3) -> [f64; 9] {
    [x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z]
}

//! An inertial measurement unit.

use super::{Instrument, Sample, Sensor, SensorKind};
use crate::noise::Stream;
use crate::physics::ChassisState;
use bowline_component::TypeInfo;
use bowline_geometry::{Attribute, ElementKind, ElementRole, Vec3};
use bowline_msgs::Imu as Message;
use rapier3d_f64::math::Vector;

pub(super) const KIND: SensorKind = SensorKind {
    element: ElementKind {
        word: "imu",
        doc: "An inertial measurement unit: turn rates and specific forces.",
        role: ElementRole::Sensor,
        attributes: &[
            Attribute::noise("gyro_sd_radps", "the noise of a turn rate"),
            Attribute::noise("accel_sd_mps2", "the noise of a specific force"),
        ],
    },
    publishes: &[TypeInfo::of::<Message>()],
    build: |values| {
        Some(Instrument::new(Imu {
            gyro_sd_radps: values.noise("gyro_sd_radps"),
            accel_sd_mps2: values.noise("accel_sd_mps2"),
        }))
    },
};

#[derive(Clone, Debug)]
struct Imu {
    gyro_sd_radps: f64,
    accel_sd_mps2: f64,
}

impl Sensor for Imu {
    type Message = Message;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Message {
        let moment = at.moment;
        let back = at.world_from_sensor().rotation.inverse();
        // How the place of the sensor moved before the step, and after it.
        let on_vehicle = Vector::from_array(at.mounted.vehicle_from_sensor.xyz());
        let velocity = |state: &ChassisState| state.velocity_at(state.pose * on_vehicle);
        let gained = velocity(&moment.state) - velocity(&moment.before);
        let force = back * (gained / moment.step_s - moment.gravity);
        let rate = back * moment.state.rate;
        let rate_error = noise.normals([self.gyro_sd_radps; 3]);
        let force_error = noise.normals([self.accel_sd_mps2; 3]);
        let with = |value: Vector, error: Vec3| {
            (value + Vector::from_array(error) * at.noise_ratio()).to_array()
        };
        Message {
            utime: at.utime(),
            frame: at.frame(),
            rate_radps: with(rate, rate_error),
            force_mps2: with(force, force_error),
            rate_sd_radps: self.gyro_sd_radps,
            force_sd_mps2: self.accel_sd_mps2,
        }
    }

    fn utime_of(message: &mut Message) -> &mut i64 {
        &mut message.utime
    }
}

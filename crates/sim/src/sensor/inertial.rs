//! Sensors that feel where they are and how they move.

use super::{Moment, world_from};
use crate::noise::{Stream, lasting};
use crate::vehicle::Mounted;
use bowline_geometry::{Gps, Imu, Ins, Magnetometer, Vec3};
use bowline_msgs::{GpsFix, Heading, Imu as ImuMessage, PoseTransform, Wheels};
use rapier3d_f64::math::{Matrix, Pose, Rotation, Vector};

/// Where a frame is and how it moves, without errors.
pub(super) fn pose_message(
    frame: &str,
    world_from_frame: &Pose,
    moment: &Moment<'_>,
) -> PoseTransform {
    let back = world_from_frame.rotation.inverse();
    let velocity = moment.state.velocity_at(world_from_frame.translation);
    PoseTransform {
        utime: moment.utime,
        frame: frame.to_owned(),
        reference: "map".to_owned(),
        matrix: matrix(world_from_frame),
        attitude_covariance: [0.0; 9],
        position_covariance: [0.0; 9],
        velocity_mps: (back * velocity).to_array(),
        rate_radps: (back * moment.state.rate).to_array(),
    }
}

fn matrix(pose: &Pose) -> [f64; 16] {
    let turn = Matrix::from_quat(pose.rotation);
    let (x, y, z, at) = (turn.x_axis, turn.y_axis, turn.z_axis, pose.translation);
    [
        x.x, y.x, z.x, at.x, x.y, y.y, z.y, at.y, x.z, y.z, z.z, at.z, 0.0, 0.0, 0.0, 1.0,
    ]
}

fn diagonal([x, y, z]: Vec3) -> [f64; 9] {
    [x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z]
}

pub(super) fn ins(mounted: &Mounted, ins: &Ins, moment: &Moment<'_>) -> PoseTransform {
    let truth = world_from(mounted, moment);
    let mut message = pose_message(&mounted.frame, &truth, moment);
    let error = |nth, deviation: f64| {
        if deviation == 0.0 {
            return 0.0;
        }
        let source = (moment.seed, mounted.port.as_str());
        let lasts_s = ins.correlation_s;
        moment.noise * deviation * lasting(source, moment.elapsed_ns, lasts_s, nth)
    };
    let shift = Vector::new(
        error(0, ins.position_sd_m) + moment.jump_m,
        error(1, ins.position_sd_m),
        error(2, ins.position_sd_m),
    );
    let tilt = Vector::new(
        error(3, ins.attitude_sd_rad),
        error(4, ins.attitude_sd_rad),
        error(5, ins.heading_sd_rad),
    );
    let turned = Rotation::from_rotation_z(moment.turn_rad);
    let measured = Pose::from_parts(
        truth.translation + shift,
        turned * Rotation::from_scaled_axis(tilt) * truth.rotation,
    );
    message.matrix = matrix(&measured);
    let squared = |deviation: f64| deviation * deviation;
    let attitude = squared(ins.attitude_sd_rad);
    message.attitude_covariance = diagonal([attitude, attitude, squared(ins.heading_sd_rad)]);
    message.position_covariance = diagonal([squared(ins.position_sd_m); 3]);
    message
}

pub(super) fn gps(
    mounted: &Mounted,
    gps: &Gps,
    moment: &Moment<'_>,
    stream: &mut Stream,
) -> GpsFix {
    let Gps {
        horizontal_sd_m,
        vertical_sd_m,
    } = *gps;
    let at = world_from(mounted, moment).translation.to_array();
    let error = stream.normals([horizontal_sd_m, horizontal_sd_m, vertical_sd_m]);
    let mut measured = [0, 1, 2].map(|axis| at[axis] + moment.noise * error[axis]);
    measured[0] += moment.jump_m;
    let [lat_deg, lon_deg, alt_m] = moment.origin.earth().on_earth(measured);
    GpsFix {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        lat_deg,
        lon_deg,
        alt_m,
        horizontal_sd_m,
        vertical_sd_m,
    }
}

pub(super) fn imu(
    mounted: &Mounted,
    imu: &Imu,
    moment: &Moment<'_>,
    stream: &mut Stream,
) -> ImuMessage {
    let pose = world_from(mounted, moment);
    let back = pose.rotation.inverse();
    // How the place of the sensor moved before the step, and after it.
    let on_vehicle = Vector::from_array(mounted.vehicle_from_sensor.xyz());
    let velocity =
        |state: &crate::physics::ChassisState| state.velocity_at(state.pose * on_vehicle);
    let gained = velocity(&moment.state) - velocity(&moment.before);
    let force = back * (gained / moment.step_s - moment.gravity);
    let rate = back * moment.state.rate;
    let rate_error = stream.normals([imu.gyro_sd_radps; 3]);
    let force_error = stream.normals([imu.accel_sd_mps2; 3]);
    let with =
        |value: Vector, error: Vec3| (value + Vector::from_array(error) * moment.noise).to_array();
    ImuMessage {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        rate_radps: with(rate, rate_error),
        force_mps2: with(force, force_error),
        rate_sd_radps: imu.gyro_sd_radps,
        force_sd_mps2: imu.accel_sd_mps2,
    }
}

pub(super) fn compass(
    mounted: &Mounted,
    compass: &Magnetometer,
    moment: &Moment<'_>,
    stream: &mut Stream,
) -> Heading {
    let pose = world_from(mounted, moment);
    let field = Vector::from_array(moment.origin.field_tesla);
    let error = Vector::from_array(stream.normals([compass.field_sd_t; 3])) * moment.noise;
    let measured = pose.rotation.inverse() * field + error;
    // It knows how it is tilted: the field is taken back to the level, and only the heading is left.
    let forward = pose.rotation * Vector::X;
    let heading = forward.y.atan2(forward.x);
    let level = Rotation::from_rotation_z(-heading) * (pose.rotation * measured);
    let north = level.y.atan2(level.x);
    let across = field.x.hypot(field.y).max(f64::MIN_POSITIVE);
    Heading {
        utime: moment.utime,
        frame: mounted.frame.clone(),
        heading_rad: wrapped(std::f64::consts::FRAC_PI_2 - north + moment.turn_rad),
        sd_rad: compass.field_sd_t / across,
        field_tesla: measured.to_array(),
    }
}

fn wrapped(angle: f64) -> f64 {
    angle.sin().atan2(angle.cos())
}

pub(super) fn encoder(mounted: &Mounted, ticks_per_turn: u32, moment: &Moment<'_>) -> Wheels {
    let wheel = moment.wheel.unwrap_or_default();
    let turns = wheel.turned_rad / std::f64::consts::TAU;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and a wheel does not turn that often"
    )]
    let ticks = (turns * f64::from(ticks_per_turn)).floor() as i64;
    Wheels {
        utime: moment.utime,
        names: vec![mounted.frame.clone()],
        ticks: vec![ticks],
        ticks_per_turn: vec![i32::try_from(ticks_per_turn).unwrap_or(i32::MAX)],
        rate_radps: vec![wheel.rate_radps],
        ..Wheels::default()
    }
    .with_lengths()
}

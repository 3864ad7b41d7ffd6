//! Everything that a measurement depends on, but for its noise.

use crate::actuation::wheels::WheelState;
use crate::math::{pose, transform, vector};
use crate::noise::Seed;
use crate::paint::Paint;
use crate::physics::{ChassisState, Physics};
use crate::sea::Water;
use crate::vehicle::Mounted;
use crate::world::Origin;
use bowline_geometry::{Transform, Vec3};
use bowline_msgs::PoseTransform;
use rapier3d_f64::math::{Matrix, Pose, Vector};

/// A moment of a simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'s> {
    pub(crate) physics: &'s Physics,
    pub(crate) paint: &'s Paint,
    /// What a vessel floats on.
    pub(crate) water: Option<&'s Water>,
    /// The vehicle at this very moment, between two steps.
    pub(crate) world_from_vehicle: Pose,
    /// How much of the step is over at the moment, 0 to 1.
    pub(crate) share: f64,
    /// After the step that has the moment in it, and before.
    pub(crate) state: ChassisState,
    pub(crate) before: ChassisState,
    pub(crate) step_s: f64,
    pub(crate) gravity: Vector,
    pub(crate) origin: Origin,
    /// When it is, for the message.
    pub(crate) utime: i64,
    /// Nanoseconds since the simulation began.
    pub(crate) elapsed_ns: u64,
    pub(crate) seed: Seed,
}

/// What is wrong with a measurement on purpose, and what else is the sensor's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbance {
    /// What noise is multiplied with.
    pub(crate) noise: f64,
    /// How far positions are off, metres to the east.
    pub(crate) jump_m: f64,
    /// How far headings are off, radians to the left.
    pub(crate) turn_rad: f64,
    /// The wheel that the sensor's body is, if it is one.
    pub(crate) wheel: Option<WheelState>,
}

/// What a sensor measures at: a moment, and where it is then.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'s> {
    pub(crate) moment: &'s Moment<'s>,
    pub(crate) mounted: &'s Mounted,
    pub(crate) disturbance: Disturbance,
}

impl Sample<'_> {
    /// When it is, for the message: microseconds since the epoch.
    #[must_use]
    pub const fn utime(&self) -> i64 {
        self.moment.utime
    }

    /// Nanoseconds since the simulation began.
    #[must_use]
    pub const fn elapsed_ns(&self) -> u64 {
        self.moment.elapsed_ns
    }

    /// The sensor's frame as `Body:Frame`, for the message.
    #[must_use]
    pub fn frame(&self) -> String {
        self.mounted.frame.clone()
    }

    /// The factor of all noise: 1, unless the simulation or a fault sets another.
    #[must_use]
    pub const fn noise_ratio(&self) -> f64 {
        self.disturbance.noise
    }

    /// Where the sensor truly is.
    #[must_use]
    pub fn map_from_sensor(&self) -> Transform {
        transform(&self.world_from_sensor())
    }

    /// How the sensor truly moves, along its own axes, metres a second.
    #[must_use]
    pub fn velocity_mps(&self) -> Vec3 {
        let at = self.world_from_sensor();
        let velocity = self.moment.state.velocity_at(at.translation);
        (at.rotation.inverse() * velocity).to_array()
    }

    /// How the sensor truly turns, about its own axes, radians a second.
    #[must_use]
    pub fn rate_radps(&self) -> Vec3 {
        let back = self.world_from_sensor().rotation.inverse();
        (back * self.moment.state.rate).to_array()
    }

    /// How far it is to what a ray meets, in a direction of length 1 of the sensor's frame.
    #[must_use]
    pub fn range_m(&self, direction: Vec3, most_m: f64) -> Option<f64> {
        let at = self.world_from_sensor();
        let direction = at.rotation * vector(direction);
        let met = self.moment.physics.cast(at.translation, direction, most_m);
        met.map(|met| met.range_m)
    }

    /// How high the water stands above the sensor, with its waves; none where a vehicle has no water.
    #[must_use]
    pub fn depth_m(&self) -> Option<f64> {
        let at = self.world_from_sensor().translation;
        let water = self.moment.water?;
        Some(water.surface_m([at.x, at.y], self.moment.elapsed_ns) - at.z)
    }

    pub(crate) fn world_from_sensor(&self) -> Pose {
        self.moment.world_from_vehicle * pose(&self.mounted.vehicle_from_sensor)
    }
}

/// The truth about the vehicle, as a pose without errors.
pub(crate) fn truth(frame: &str, moment: &Moment<'_>) -> PoseTransform {
    pose_message(frame, &moment.world_from_vehicle, moment)
}

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

pub(super) fn matrix(pose: &Pose) -> [f64; 16] {
    let turn = Matrix::from_quat(pose.rotation);
    let (x, y, z, at) = (turn.x_axis, turn.y_axis, turn.z_axis, pose.translation);
    [
        x.x, y.x, z.x, at.x, x.y, y.y, z.y, at.y, x.z, y.z, z.z, at.z, 0.0, 0.0, 0.0, 1.0,
    ]
}

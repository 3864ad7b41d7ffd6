//! Where the vehicle is, from the pose of whatever measures it.

use crate::Place;
use bowline_component::{BuildError, Vehicle};
use bowline_geometry::{Disk, Model, Transform, load};
use bowline_msgs::PoseTransform;

/// The default name of a vehicle's frame.
const VEHICLE_FRAME: &str = "Vehicle";

/// Turns poses of an instrument into those of the vehicle's own frame, which is on the ground, x forward.
#[derive(Debug)]
pub struct Whereabouts {
    model: Option<Model>,
    vehicle: String,
}

impl Whereabouts {
    /// From what is so of the vehicle. Without a model, poses are taken for those of the vehicle's frame itself.
    ///
    /// # Errors
    ///
    /// When the model cannot be read, or does not have the vehicle's frame.
    pub fn of(vehicle: &Vehicle) -> Result<Self, BuildError> {
        let (model, vehicle) = model_and_frame(vehicle)?;
        Ok(Self { model, vehicle })
    }

    /// The pose of any frame of the model, such as a sensor's.
    ///
    /// # Errors
    ///
    /// As [`Self::vehicle`]; and without a model nothing is known of other frames.
    pub fn frame(&self, pose: &PoseTransform, frame: &str) -> Result<Transform, BadPose> {
        let bad = |why: String| BadPose::Frame {
            frame: frame.to_owned(),
            why,
        };
        let map_from_frame = transform_of(pose)?;
        let model = self.model.as_ref();
        let model = model.ok_or_else(|| bad("there is no model".to_owned()))?;
        let frame_from_other = model.transform_by_name(frame, &pose.frame);
        Ok(map_from_frame * frame_from_other.map_err(|why| bad(why.to_string()))?)
    }

    /// The pose of the vehicle's frame.
    ///
    /// # Errors
    ///
    /// When the message is no pose, or of a frame that has no known place on the vehicle.
    pub fn vehicle(&self, pose: &PoseTransform) -> Result<Transform, BadPose> {
        let map_from_frame = transform_of(pose)?;
        let Some(model) = &self.model else {
            return Ok(map_from_frame);
        };
        let frame_from_vehicle = model
            .transform_by_name(&self.vehicle, &pose.frame)
            .map_err(|why| BadPose::Frame {
                frame: pose.frame.clone(),
                why: why.to_string(),
            })?;
        Ok(map_from_frame * frame_from_vehicle)
    }

    /// Where that is on the ground.
    ///
    /// # Errors
    ///
    /// As [`Self::vehicle`].
    pub fn place(&self, pose: &PoseTransform) -> Result<Place, BadPose> {
        Ok(Place::of(&self.vehicle(pose)?))
    }
}

/// The vehicle's model, for a component that needs it.
pub(crate) fn model_of(vehicle: &Vehicle) -> Result<Model, BuildError> {
    Ok(Model::new(load(vehicle.model()?, &mut Disk)?.assembly)?)
}

/// The vehicle's model, if there is one, and the whole name of the vehicle's frame in it.
pub(crate) fn model_and_frame(vehicle: &Vehicle) -> Result<(Option<Model>, String), BuildError> {
    let wanted = &vehicle.origin_frame;
    if vehicle.model().is_err() {
        return Ok((None, wanted.clone()));
    }
    let model = model_of(vehicle)?;
    let frame = match wanted.as_str() {
        "" => only_frame(&model, VEHICLE_FRAME)?,
        short if !short.contains(':') => only_frame(&model, short)?,
        whole => whole.to_owned(),
    };
    model.frame(&frame)?;
    Ok((Some(model), frame))
}

/// The one frame that is called so, whichever body has it.
fn only_frame(model: &Model, short: &str) -> Result<String, BuildError> {
    let is_there = |name: &String| model.frame(name).is_ok();
    let names = model.body_list().map(|body| format!("{body}:{short}"));
    let mut found: Vec<String> = names.filter(is_there).collect();
    match (found.pop(), found.is_empty()) {
        (Some(frame), true) => Ok(frame),
        (Some(_), false) => Err(format!(
            "several bodies of the model have a frame {short:?}: choose one below [vehicle] with origin_frame = \"BODY:{short}\""
        )
        .into()),
        (None, _) => Err(format!(
            "no body of the model has a frame {short:?}, on the ground and x forward: add it, or name another below \
             [vehicle] with origin_frame"
        )
        .into()),
    }
}

/// The transform in a message.
///
/// # Errors
///
/// When it is not a rigid transform.
pub fn transform_of(pose: &PoseTransform) -> Result<Transform, BadPose> {
    let m = &pose.matrix;
    let rows = std::array::from_fn(|row| std::array::from_fn(|column| m[4 * row + column]));
    Transform::from_matrix(rows).map_err(|why| BadPose::Matrix {
        why: why.to_string(),
    })
}

/// Forward speed of whatever the pose is of, metres a second, if it knows; the sensor's axes count as the vehicle's.
#[must_use]
pub fn forward_speed_mps(pose: &PoseTransform) -> Option<f64> {
    let [forward, _, _] = pose.velocity_mps;
    forward.is_finite().then_some(forward)
}

/// Why a pose cannot be used for the vehicle.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadPose {
    /// It is not a pose.
    #[error("the pose's matrix is no rigid transform: {why}")]
    Matrix {
        /// What is wrong with it.
        why: String,
    },
    /// It is of something else.
    #[error("where {frame:?} is on the vehicle is not known: {why}")]
    Frame {
        /// What it is of.
        frame: String,
        /// Why that does not help.
        why: String,
    },
}

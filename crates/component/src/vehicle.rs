//! What is so of the vehicle, whichever component asks: the group of parameters that robot files have as `[vehicle]`.
//!
//! Its measures have no defaults, as there is no vehicle that others resemble. A component that needs one asks for it when
//! it is built, and without it there is no such component.

use std::path::{Path, PathBuf};

crate::parameters! {
    /// What is so of the vehicle: `in vehicle: Vehicle;` gives it to the parameters of a component.
    pub struct Vehicle {
        /// Its geometry: an Assembly file, a URDF or an SDF file.
        model: PathBuf = PathBuf::new();
        /// Its own frame in the model, by its name or as Body:Frame: on the ground, x forward; of a vessel amidships on the
        /// waterline. Without it the one called Vehicle.
        origin_frame: String = String::new();
        /// How it steers on wheels: by front wheels, by two wheels on one axle, or by wheels that skid.
        steering: String = "ackermann".into(), within ["ackermann", "differential", "skid"];
        /// From its origin to its front, metres.
        front_m: Option<f64> = None, within 0.0..=50.0;
        /// From its origin to its back, metres.
        rear_m: Option<f64> = None, within 0.0..=50.0;
        /// Its width, metres.
        width_m: Option<f64> = None, within 0.05..=50.0;
        /// Between the axles, metres; of vehicles without steered wheels, what steering angles are meant for.
        wheelbase_m: Option<f64> = None, within 0.01..=100.0;
        /// The sharpest turn, 1/metres.
        max_curvature_per_m: Option<f64> = None, within 0.001..=100.0;
        /// How fast it may turn, radians a second.
        max_turn_radps: Option<f64> = None, within 0.001..=100.0;
        /// How hard it surely brakes, metres a second squared.
        brake_mps2: Option<f64> = None, within 0.05..=20.0;
        /// How long it takes from a command until it has an effect, seconds.
        reaction_s: Option<f64> = None, within 0.0..=5.0;
    }
}

/// A component needs what `[vehicle]` does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("[vehicle] has no {name}: add it to the robot file, or give it with --set {name}=VALUE")]
pub struct MissingFact {
    /// What is missing.
    pub name: &'static str,
}

macro_rules! measures {
    ($($name:ident),* $(,)?) => {
        impl Vehicle {
            $(
                #[doc = concat!("[`", stringify!($name), "`](field@Self::", stringify!($name), ") for a component that needs it.")]
                ///
                /// # Errors
                /// When it is not known.
                pub fn $name(&self) -> Result<f64, MissingFact> {
                    self.$name.ok_or(MissingFact { name: stringify!($name) })
                }
            )*
        }
    };
}

measures!(
    front_m,
    rear_m,
    width_m,
    wheelbase_m,
    max_curvature_per_m,
    max_turn_radps,
    brake_mps2,
    reaction_s,
);

impl Vehicle {
    /// The group's name in `parameters!`, and the section's in robot files.
    pub const GROUP: &'static str = "vehicle";

    /// The file of its geometry, for a component that needs it.
    ///
    /// # Errors
    /// When there is none.
    pub fn model(&self) -> Result<&Path, MissingFact> {
        let model = Some(self.model.as_path()).filter(|path| !path.as_os_str().is_empty());
        model.ok_or(MissingFact { name: "model" })
    }

    /// Whether it is turned by its two sides, also on the spot, and not by wheels that are steered.
    #[must_use]
    pub fn turns_by_its_sides(&self) -> bool {
        self.steering != "ackermann"
    }
}

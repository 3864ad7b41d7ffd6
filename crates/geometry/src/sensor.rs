//! What a body senses with, in enough detail to simulate it.
//!
//! A sensor sits in a frame of its body and looks along that frame's x axis, with z up, as the simulator has it.

use crate::mistake::Place;

/// A sensor on a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// Its name on the body.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// The frame that it sits in, of the same body.
    pub frame: String,
    /// How often it measures; 0 is as often as the simulator steps.
    pub rate_hz: f64,
    /// What it measures, and how well.
    pub kind: SensorKind,
}

/// What a sensor measures.
#[derive(Clone, Debug, PartialEq)]
pub enum SensorKind {
    /// Ranges along beams.
    Laser(Laser),
    /// Pictures.
    Camera(Camera),
    /// Where it is on earth.
    Gps(Gps),
    /// Turn rates and accelerations.
    Imu(Imu),
    /// Where north is.
    Magnetometer(Magnetometer),
    /// The range along one cone.
    Sonar(Sonar),
    /// How far a wheel or a joint has turned.
    Encoder(Encoder),
}

impl SensorKind {
    /// The element's name in a body file.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Laser(_) => "laser",
            Self::Camera(_) => "camera",
            Self::Gps(_) => "gps",
            Self::Imu(_) => "imu",
            Self::Magnetometer(_) => "magnetometer",
            Self::Sonar(_) => "sonar",
            Self::Encoder(_) => "encoder",
        }
    }
}

/// A row, or rows, of beams about the sensor's x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Laser {
    /// Beams in a row.
    pub n_beams: u32,
    /// Where the first beam of a row points, to the left of x.
    pub first_rad: f64,
    /// Where the last one points.
    pub last_rad: f64,
    /// Rows.
    pub n_rows: u32,
    /// Where the lowest row points, above the x-y plane.
    pub lowest_rad: f64,
    /// Where the highest one points.
    pub highest_rad: f64,
    /// What is nearer is not seen.
    pub range_min_m: f64,
    /// What is further is not seen.
    pub range_max_m: f64,
    /// The steps that ranges come in; 0 for none.
    pub resolution_m: f64,
    /// The noise of a range.
    pub range_sd_m: f64,
}

/// A camera without distortion.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Columns of a picture.
    pub width_px: u32,
    /// Rows of a picture.
    pub height_px: u32,
    /// From the left edge of a picture to the right one.
    pub fov_rad: f64,
    /// What is nearer is not seen.
    pub near_m: f64,
    /// What is further is not seen.
    pub far_m: f64,
    /// The noise of a pixel, of 1.
    pub pixel_sd: f64,
}

/// A receiver of a satellite system.
#[derive(Clone, Debug, PartialEq)]
pub struct Gps {
    /// The noise of latitude and longitude.
    pub horizontal_sd_m: f64,
    /// The noise of the altitude.
    pub vertical_sd_m: f64,
}

/// An inertial measurement unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Imu {
    /// The noise of a turn rate.
    pub gyro_sd_radps: f64,
    /// The noise of an acceleration.
    pub accel_sd_mps2: f64,
}

/// A compass in three axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnetometer {
    /// The noise of the field.
    pub field_sd_t: f64,
}

/// One cone of sound about the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Sonar {
    /// What is nearer is not heard.
    pub range_min_m: f64,
    /// What is further is not heard.
    pub range_max_m: f64,
    /// How wide the cone opens, from side to side.
    pub fov_rad: f64,
}

/// Counts how far the constraint has turned that its frame carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// Counts in a full turn.
    pub ticks_per_turn: u32,
}

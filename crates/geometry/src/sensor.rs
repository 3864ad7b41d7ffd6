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
    /// How far everything in a picture is: a stereo or depth camera.
    Depth(Depth),
    /// Where it is and how it is turned: inertial navigation with satellites.
    Ins(Ins),
    /// Where it is on earth.
    Gps(Gps),
    /// Turn rates and accelerations.
    Imu(Imu),
    /// Where north is.
    Magnetometer(Magnetometer),
    /// The range along one cone: a depth sounder.
    Sonar(Sonar),
    /// Ranges of sound along a fan of beams.
    Multibeam(Multibeam),
    /// What is dissolved in the water.
    Spectrometer(Spectrometer),
    /// How far a wheel or a joint has turned.
    Encoder(Encoder),
    /// Whether its body touches something.
    Bumper(Bumper),
}

impl SensorKind {
    /// The element's name in a body file.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Laser(_) => "laser",
            Self::Camera(_) => "camera",
            Self::Depth(_) => "depth",
            Self::Ins(_) => "ins",
            Self::Gps(_) => "gps",
            Self::Imu(_) => "imu",
            Self::Magnetometer(_) => "magnetometer",
            Self::Sonar(_) => "sonar",
            Self::Multibeam(_) => "multibeam",
            Self::Spectrometer(_) => "spectrometer",
            Self::Encoder(_) => "encoder",
            Self::Bumper(_) => "bumper",
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
    /// How much that grows with each metre of range.
    pub range_sd_per_m: f64,
    /// The noise of a beam's direction.
    pub bearing_sd_rad: f64,
    /// Errors that were measured at some ranges, in place of the noise above; between them it is interpolated. Ranges
    /// grow.
    pub range_errors: Vec<RangeError>,
}

/// How wrong ranges are at one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeError {
    /// The true range.
    pub range_m: f64,
    /// What is measured too much, on the average.
    pub bias_m: f64,
    /// The noise.
    pub sd_m: f64,
}

impl Laser {
    /// How wrong a range is: what is measured too much, and the noise.
    #[must_use]
    pub fn error_at(&self, range_m: f64) -> [f64; 2] {
        let after = self
            .range_errors
            .partition_point(|error| error.range_m <= range_m);
        let before = after
            .checked_sub(1)
            .and_then(|at| self.range_errors.get(at));
        match (before, self.range_errors.get(after)) {
            (None, None) => [
                0.0,
                self.range_sd_m + self.range_sd_per_m * (range_m - 1.0).max(0.0),
            ],
            (Some(only), None) | (None, Some(only)) => [only.bias_m, only.sd_m],
            (Some(before), Some(after)) => {
                let share = (range_m - before.range_m) / (after.range_m - before.range_m);
                let between = |one: f64, two: f64| one + (two - one) * share;
                [
                    between(before.bias_m, after.bias_m),
                    between(before.sd_m, after.sd_m),
                ]
            }
        }
    }
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
    /// What it tells.
    pub gives: CameraGives,
}

/// What is told of what a camera sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CameraGives {
    /// Points on painted lines, as a vision module behind it would.
    #[default]
    Lines,
    /// The picture itself.
    Picture,
}

impl CameraGives {
    /// As files have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Picture => "picture",
        }
    }
}

/// A stereo or depth camera without distortion.
#[derive(Clone, Debug, PartialEq)]
pub struct Depth {
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
    /// Of so many pixels, both ways, one is told.
    pub decimation: u32,
    /// The noise of a depth that does not depend on it.
    pub depth_sd_m: f64,
    /// The noise for each square metre of depth, as stereo cameras have it.
    pub depth_sd_per_m2: f64,
}

/// An inertial navigation unit with satellites.
#[derive(Clone, Debug, PartialEq)]
pub struct Ins {
    /// The error of the position, along each axis.
    pub position_sd_m: f64,
    /// The error of roll and pitch.
    pub attitude_sd_rad: f64,
    /// The error of the heading.
    pub heading_sd_rad: f64,
    /// How long an error lasts, in seconds; 0 if each measurement has its own.
    pub correlation_s: f64,
}

/// A switch that closes when its body is pushed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bumper {
    /// How hard it must be pushed, in newtons.
    pub force_n: f64,
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
    /// The noise of a range.
    pub range_sd_m: f64,
}

/// A fan of sound beams in the x-z plane, about the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Multibeam {
    /// Beams of a ping.
    pub n_beams: u32,
    /// From the first beam to the last.
    pub fov_rad: f64,
    /// How wide a beam is.
    pub beam_width_rad: f64,
    /// What is nearer is not heard.
    pub range_min_m: f64,
    /// What is further is not heard.
    pub range_max_m: f64,
    /// The noise of a range.
    pub range_sd_m: f64,
    /// How many of all echoes are lost, 0 to 1.
    pub dropout_ratio: f64,
    /// What ranges are made of times with, metres a second.
    pub sound_speed_mps: f64,
}

/// A mass spectrometer with an inlet in the water.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrometer {
    /// What it looks at.
    pub masses: Vec<SpectrumMass>,
    /// The ion current of a gram of a substance in a cubic metre, ampere.
    pub sensitivity_a: f64,
    /// The noise of a current, as a share of it.
    pub current_sd_ratio: f64,
    /// The noise that does not depend on it, ampere.
    pub current_sd_a: f64,
}

/// A mass that a spectrometer looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectrumMass {
    /// By charge, daltons.
    pub mass_da: f64,
    /// What it is taken for.
    pub substance: String,
    /// The ion current that is always there, ampere.
    pub background_a: f64,
}

/// Counts how far the constraint has turned that its frame carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// Counts in a full turn.
    pub ticks_per_turn: u32,
}

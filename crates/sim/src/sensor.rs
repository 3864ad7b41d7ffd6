//! Simulated sensors: which kinds there are, and what one measures at a moment.
//!
//! A measurement is a function of where everything is, the seed and the number of the measurement.
//! A kind is one file below this one and one row of [`SENSORS`]; a program adds rows of its own by
//! [`Tables`](crate::Tables).

mod bumper;
mod camera;
mod depth;
mod encoder;
mod gps;
mod imu;
mod ins;
mod instrument;
mod laser;
mod magnetometer;
mod multibeam;
mod sample;
mod sonar;
mod spectrometer;

use bowline_component::TypeInfo;
use bowline_geometry::{ElementKind, ElementValues};
use bowline_wire::Message;
use std::fmt;

pub(crate) use instrument::{Device, ReadingOutput};
pub use instrument::{Instrument, Reading};
pub use sample::Sample;
pub(crate) use sample::{Disturbance, Moment, truth};

/// All kinds of sensors, sorted by their words. Add yours here; nothing else needs to change.
pub const SENSORS: &[SensorKind] = &[
    bumper::KIND,
    camera::KIND,
    depth::KIND,
    encoder::KIND,
    gps::KIND,
    imu::KIND,
    ins::KIND,
    laser::KIND,
    magnetometer::KIND,
    multibeam::KIND,
    sonar::KIND,
    spectrometer::KIND,
];

/// A kind of sensor that models can have.
#[derive(Clone, Copy, Debug)]
pub struct SensorKind {
    /// The element of Body files that declares one, with its documentation.
    pub element: ElementKind,
    /// The message types that its sensors publish, each of them one.
    pub publishes: &'static [TypeInfo],
    /// Makes one from an element; none where something is wrong with that, which is reported through the values.
    pub build: fn(&mut ElementValues<'_>) -> Option<Instrument>,
}

/// A sensor that measures.
///
/// Every measurement is a function of the sample and the noise, which are given; a sensor may remember what it has felt.
pub trait Sensor: Clone + fmt::Debug + Send + Sync + 'static {
    /// What it publishes.
    type Message: Message + Clone + fmt::Debug + PartialEq + Send + Sync + 'static;

    /// Measures. `noise` has the random numbers of this measurement and no other.
    fn measure(&mut self, at: &Sample<'_>, noise: &mut crate::Stream) -> Self::Message;

    /// When a message of it was measured, to repeat it at another time: the output of a stuck sensor.
    fn utime_of(message: &mut Self::Message) -> &mut i64;

    /// What its output is for, in a sentence.
    fn doc(&self, word: &str, port: &str) -> String {
        format!("What the {word} {port} measures.")
    }

    /// Takes how hard its body is pushed during a step, newtons; none where nothing touches it.
    fn touched(&mut self, _force_n: Option<f64>) {}

    /// What it sees of the plane about it, for pictures.
    fn reach(&self) -> Option<Reach> {
        None
    }
}

/// What a sensor sees of its x-y plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// From this direction, to the left of x.
    pub from_rad: f64,
    /// To this one.
    pub to_rad: f64,
    /// As far as this.
    pub range_m: f64,
}

impl Reach {
    /// About the x axis.
    #[must_use]
    pub fn ahead(fov_rad: f64, range_m: f64) -> Self {
        Self {
            from_rad: -fov_rad / 2.0,
            to_rad: fov_rad / 2.0,
            range_m,
        }
    }
}

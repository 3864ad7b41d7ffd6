//! What sensors measure at a moment: a function of where everything is, the seed and the number of the measurement.

mod inertial;
mod lines;
mod picture;
mod sight;
mod water;

use crate::beams::Beams;
use crate::noise::Seed;
use crate::paint::Paint;
use crate::physics::{ChassisState, Physics, Touch};
use crate::scene::Looked;
use crate::schedule::{Rate, Schedule};
use crate::sea::Water;
use crate::vehicle::Mounted;
use crate::vehicle::wheels::WheelState;
use crate::world::Origin;
use bowline_geometry::{CameraGives, SensorKind};
use bowline_msgs::{
    Bumper as BumperMessage, GpsFix, Heading, Image, Imu as ImuMessage, Multibeam, PoseTransform,
    Range3d, Sounding, Spectrum, Wheels as WheelsMessage,
};
use rapier3d_f64::math::{Pose, Vector};

/// A message of a sensor.
#[expect(
    clippy::large_enum_variant,
    reason = "a pose is a few hundred bytes, and readings are few at a time"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Of lasers, depth cameras, and cameras that look for lines.
    Range(Range3d),
    /// Of inertial navigation.
    Pose(PoseTransform),
    /// Of a satellite receiver.
    Fix(GpsFix),
    /// Of an inertial measurement unit.
    Imu(ImuMessage),
    /// Of an encoder.
    Wheels(WheelsMessage),
    /// Of a compass.
    Heading(Heading),
    /// Of a switch.
    Bumper(BumperMessage),
    /// Of a depth sounder.
    Sounding(Sounding),
    /// Of a multibeam sonar.
    Multibeam(Multibeam),
    /// Of a mass spectrometer.
    Spectrum(Spectrum),
    /// Of a camera.
    Image(Image),
}

impl Reading {
    /// The same at another time: what a sensor says that is stuck.
    pub(crate) const fn restamped(mut self, utime: i64) -> Self {
        match &mut self {
            Self::Range(message) => message.utime = utime,
            Self::Pose(message) => message.utime = utime,
            Self::Fix(message) => message.utime = utime,
            Self::Imu(message) => message.utime = utime,
            Self::Wheels(message) => message.utime = utime,
            Self::Heading(message) => message.utime = utime,
            Self::Bumper(message) => message.utime = utime,
            Self::Sounding(message) => message.utime = utime,
            Self::Multibeam(message) => message.utime = utime,
            Self::Spectrum(message) => message.utime = utime,
            Self::Image(message) => message.utime = utime,
        }
        self
    }
}

/// Everything that a measurement depends on.
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
    /// What noise is multiplied with.
    pub(crate) noise: f64,
    /// How far positions are off, metres to the east.
    pub(crate) jump_m: f64,
    /// How far headings are off, radians to the left.
    pub(crate) turn_rad: f64,
    /// The wheel that the sensor's body is, if it is one.
    pub(crate) wheel: Option<WheelState>,
}

/// A sensor that measures.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) mounted: Mounted,
    pub(crate) schedule: Schedule,
    beams: Option<Beams>,
    /// For the beams of a scan.
    ranges: Vec<f64>,
    looked: Looked,
    /// What it said last, for when it is stuck.
    pub(crate) last: Option<Reading>,
    is_pressed: bool,
    n_presses: i32,
}

impl Device {
    /// A sensor that begins to measure. One that has no rate measures at every step.
    pub(crate) fn new(mounted: Mounted, step_hz: Rate) -> Self {
        let rate = Rate::from_hz(mounted.sensor.rate_hz).unwrap_or(step_hz);
        let beams = match &mounted.sensor.kind {
            SensorKind::Laser(laser) => Some(Beams::of_laser(laser)),
            SensorKind::Depth(camera) => Some(Beams::of_depth(camera)),
            SensorKind::Multibeam(sonar) => Some(Beams::of_multibeam(sonar)),
            SensorKind::Camera(camera) => match camera.gives {
                CameraGives::Lines => None,
                CameraGives::Picture => Some(Beams::of_camera(camera)),
            },
            SensorKind::Ins(_)
            | SensorKind::Gps(_)
            | SensorKind::Imu(_)
            | SensorKind::Magnetometer(_)
            | SensorKind::Sonar(_)
            | SensorKind::Spectrometer(_)
            | SensorKind::Encoder(_)
            | SensorKind::Bumper(_) => None,
        };
        Self {
            mounted,
            schedule: Schedule::new(rate),
            beams,
            ranges: Vec::new(),
            looked: Looked::default(),
            last: None,
            is_pressed: false,
            n_presses: 0,
        }
    }

    /// Feels what happened in a step, for switches.
    pub(crate) fn feel(&mut self, touches: &[Touch]) {
        let SensorKind::Bumper(bumper) = &self.mounted.sensor.kind else {
            return;
        };
        let part = self.mounted.part;
        let pushes = touches.iter().filter(|touch| touch.part == part);
        let force_n: f64 = pushes.clone().map(|touch| touch.force_n).sum();
        let is_pressed = pushes.count() > 0 && force_n >= bumper.force_n;
        if is_pressed && !self.is_pressed {
            self.n_presses = self.n_presses.saturating_add(1);
        }
        self.is_pressed = is_pressed;
    }

    /// What it measures, as its `tick`-th measurement.
    pub(crate) fn measure(&mut self, tick: u64, moment: &Moment<'_>) -> Option<Reading> {
        let mut stream = moment.seed.stream(&self.mounted.port, tick);
        match &self.mounted.sensor.kind {
            SensorKind::Laser(laser) => {
                let beams = self.beams.as_ref()?;
                let found = (beams, &mut self.ranges);
                let message = sight::laser(&self.mounted, laser, found, (moment, &mut stream));
                Some(Reading::Range(message))
            }
            SensorKind::Depth(camera) => {
                let beams = self.beams.as_ref()?;
                let found = (beams, &mut self.ranges);
                let message = sight::depth(&self.mounted, camera, found, (moment, &mut stream));
                Some(Reading::Range(message))
            }
            SensorKind::Ins(ins) => Some(Reading::Pose(inertial::ins(&self.mounted, ins, moment))),
            SensorKind::Gps(gps) => Some(Reading::Fix(inertial::gps(
                &self.mounted,
                gps,
                moment,
                &mut stream,
            ))),
            SensorKind::Imu(imu) => Some(Reading::Imu(inertial::imu(
                &self.mounted,
                imu,
                moment,
                &mut stream,
            ))),
            SensorKind::Magnetometer(compass) => Some(Reading::Heading(inertial::compass(
                &self.mounted,
                compass,
                moment,
                &mut stream,
            ))),
            SensorKind::Encoder(encoder) => {
                let wheels = inertial::encoder(&self.mounted, encoder.ticks_per_turn, moment);
                Some(Reading::Wheels(wheels))
            }
            SensorKind::Bumper(_) => Some(Reading::Bumper(BumperMessage {
                utime: moment.utime,
                frame: self.mounted.frame.clone(),
                pressed: self.is_pressed,
                n_presses: self.n_presses,
            })),
            SensorKind::Camera(camera) => match camera.gives {
                CameraGives::Lines => {
                    let message = lines::lines(&self.mounted, camera, (moment, &mut stream));
                    Some(Reading::Range(message))
                }
                CameraGives::Picture => {
                    let found = (self.beams.as_ref()?, &mut self.looked);
                    let at = (moment, &mut stream);
                    let message = picture::picture(&self.mounted, camera, found, at);
                    Some(Reading::Image(message))
                }
            },
            SensorKind::Sonar(sonar) => {
                let message = water::sounder(&self.mounted, sonar, (moment, &mut stream));
                Some(Reading::Sounding(message))
            }
            SensorKind::Multibeam(sonar) => {
                let found = (self.beams.as_ref()?, &mut self.looked);
                let at = (moment, &mut stream);
                let message = water::multibeam(&self.mounted, sonar, found, at);
                Some(Reading::Multibeam(message))
            }
            SensorKind::Spectrometer(device) => {
                let at = (moment, &mut stream);
                let message = water::spectrometer(&self.mounted, device, at);
                Some(Reading::Spectrum(message))
            }
        }
    }
}

/// Where a sensor is at a moment.
fn world_from(mounted: &Mounted, moment: &Moment<'_>) -> Pose {
    moment.world_from_vehicle * crate::math::pose(&mounted.vehicle_from_sensor)
}

/// The truth about the vehicle, as a pose without errors.
pub(crate) fn truth(frame: &str, moment: &Moment<'_>) -> PoseTransform {
    inertial::pose_message(frame, &moment.world_from_vehicle, moment)
}

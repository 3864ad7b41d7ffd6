//! Where a vessel is: satellites, compass and inertial unit brought together.
//!
//! In: `gps_fix_t`, `heading_t`, `imu_t`, as they come, and the vessel's model for where each of them sits. Out: the pose of
//! the vessel's own frame with its covariances, ten times a second.
//!
//! ```text
//!   gps_fix_t, heading_t, imu_t ─▶ history ─▶ belief ─▶ filter ─▶ pose_transform_t
//!                                  in order   gates     errors and their covariance
//! ```
//!
//! Deliberately absent: what the vessel is asked to do. An estimate that needs to know the thrust is wrong when it is towed.

mod align;
mod belief;
mod filter;
mod history;
mod vectors;

pub use belief::{Afloat, Measured, Patience, Watch};
pub use filter::{Beliefs, Felt};
pub use history::{MAX_KEPT, TimeCounts};

use align::Aligning;
use belief::Belief;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_geometry::{Earth, Model, Transform};
use bowline_msgs::{GpsFix, Heading as HeadingMessage, Imu as ImuMessage, PoseTransform};
use history::History;
use std::time::Duration;

bowline_component::parameters! {
    /// Where the map is on earth, and what is believed before anything is measured.
    pub struct EstimatorParameters {
        in vehicle: Vehicle;
        /// Latitude of the map's origin, degrees, north positive.
        origin_lat_deg: f64 = 0.0, within -89.0..=89.0;
        /// Longitude of the map's origin, degrees, east positive.
        origin_lon_deg: f64 = 0.0, within -180.0..=180.0;
        /// Height of the map's origin above the ellipsoid, metres.
        origin_alt_m: f64 = 0.0, within -1000.0..=10_000.0;
        /// Where magnetic north is from true north, radians, to the left (west) positive.
        declination_rad: f64 = 0.0, within -1.6..=1.6;
        /// How often the pose is published, times a second.
        rate_hz: f64 = 10.0, within 1.0..=100.0;
        /// How late a measurement may come and still be put where it belongs.
        history: Duration = Duration::from_secs(1), within Duration::from_millis(10)..=Duration::from_secs(10);
        /// After how long without a fix the receiver is silent.
        fix_timeout: Duration = Duration::from_millis(2500), within Duration::from_millis(10)..=Duration::from_secs(60);
        /// After how long without a heading the compass is silent.
        heading_timeout: Duration = Duration::from_secs(1), within Duration::from_millis(10)..=Duration::from_secs(60);
        /// After how long without a sample the inertial unit is silent.
        imu_timeout: Duration = Duration::from_millis(300), within Duration::from_millis(10)..=Duration::from_secs(60);
        /// For how long steady fixes are rejected before the position is taken anew.
        fix_patience: Duration = Duration::from_secs(10), within Duration::from_secs(1)..=Duration::from_secs(600);
        /// For how long a steady compass is rejected before it is decided who is wrong.
        heading_patience: Duration = Duration::from_secs(5), within Duration::from_secs(1)..=Duration::from_secs(600);
        /// Above this standard deviation, metres, the position is called lost.
        lost_m: f64 = 25.0, within 0.1..=1e6;
        /// Standard deviation of a gyro's bias when it is switched on, radians a second.
        gyro_bias_sd_radps: f64 = 0.002, within 0.0..=0.1;
        /// How much that wanders, radians a second for a square root of a second.
        gyro_walk: f64 = 1e-5, within 0.0..=0.1;
        /// Standard deviation of an accelerometer's bias when it is switched on, metres a second squared.
        accel_bias_sd_mps2: f64 = 0.02, within 0.0..=1.0;
        /// How much that wanders, metres a second squared for a square root of a second.
        accel_walk: f64 = 1e-4, within 0.0..=1.0;
        /// Standard deviation of the compass's deviation, radians.
        deviation_sd_rad: f64 = 0.02, within 0.0..=1.0;
        /// How much that wanders, radians for a square root of a second.
        deviation_walk: f64 = 1e-4, within 0.0..=0.1;
        /// Height of the vessel's frame when it floats at rest, metres, map frame.
        level_m: f64 = 0.0, within -1000.0..=1000.0;
        /// Standard deviation of that, waves and tide included, metres.
        level_sd_m: f64 = 0.5, within 0.01..=100.0;
    }
}

impl EstimatorParameters {
    fn beliefs(&self) -> Beliefs {
        Beliefs {
            gyro_bias_sd_radps: self.gyro_bias_sd_radps,
            gyro_walk: self.gyro_walk,
            accel_bias_sd_mps2: self.accel_bias_sd_mps2,
            accel_walk: self.accel_walk,
            deviation_sd_rad: self.deviation_sd_rad,
            deviation_walk: self.deviation_walk,
            speed_sd_mps: 1.0,
            unfelt_mps2: 0.5,
            unfelt_radps: 0.2,
        }
    }
}

/// Standard deviation of roll and pitch of a vessel that floats, radians: waves do not lean it more.
const LEAN_SD_RAD: f64 = 0.15;

/// Estimates the pose of the vessel.
#[derive(Debug)]
pub struct Estimator {
    parameters: EstimatorParameters,
    earth: Earth,
    model: Option<Model>,
    vehicle: String,
    /// The frame of the inertial unit; without a model, or before its first message, the vessel's own.
    imu: Option<Mounting>,
    stage: Stage,
    n_bad: u64,
    trouble: Option<String>,
    fix: Input<GpsFix>,
    heading: Input<HeadingMessage>,
    felt: Input<ImuMessage>,
    pose: Output<PoseTransform>,
}

/// Where the inertial unit sits.
#[derive(Debug)]
struct Mounting {
    frame: String,
    imu_from_vehicle: Transform,
}

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// It waits for all that it needs to begin.
    Aligning(Aligning),
    /// It knows.
    Running(Box<History>),
}

impl Build for Estimator {
    type Parameters = EstimatorParameters;

    fn build(parameters: EstimatorParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let (model, vehicle) = crate::whereabouts::model_and_frame(&parameters.vehicle)?;
        ports.tick(crate::period(parameters.rate_hz));
        let within = Expect::within;
        Ok(Self {
            earth: Earth::new(
                parameters.origin_lat_deg,
                parameters.origin_lon_deg,
                parameters.origin_alt_m,
            ),
            model,
            vehicle,
            imu: None,
            stage: Stage::Aligning(Aligning::default()),
            n_bad: 0,
            trouble: None,
            fix: ports.input_on(
                "fix",
                "Where a satellite receiver is.",
                within(parameters.fix_timeout),
                "gps.fix",
            ),
            heading: ports.input_on(
                "heading",
                "Where a compass points.",
                within(parameters.heading_timeout),
                "compass.heading",
            ),
            felt: ports.input_on(
                "imu",
                "What an inertial unit feels.",
                within(parameters.imu_timeout),
                "imu",
            ),
            pose: ports.output_on("pose", "Where the vessel's own frame is.", "pose"),
            parameters,
        })
    }
}

impl Component for Estimator {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now().utime();
        if let Some(felt) = step.arrived(self.felt) {
            self.hear(now, felt.utime, |it| it.felt(&felt));
        }
        if let Some(fix) = step.arrived(self.fix) {
            self.hear(now, fix.utime, |it| it.fix(&fix));
        }
        if let Some(heading) = step.arrived(self.heading) {
            self.hear(now, heading.utime, |it| it.heading(&heading));
        }
        if step.is_tick() {
            self.publish(now, out);
        }
        if step.is_tick() || step.is_start() {
            out.health(self.health(step));
        }
    }
}

/// From messages to measurements.
impl Estimator {
    /// Takes a measurement in, if it is one.
    fn hear(
        &mut self,
        now: i64,
        utime: i64,
        read: impl FnOnce(&mut Self) -> Result<Measured, String>,
    ) {
        let measured = match read(self) {
            Ok(measured) => measured,
            Err(why) => {
                self.n_bad += 1;
                self.trouble = Some(why);
                return;
            }
        };
        match &mut self.stage {
            Stage::Aligning(aligning) => {
                aligning.take(utime, measured);
                if let Some(filter) = aligning.filter(self.parameters.beliefs()) {
                    let belief = Belief::new(filter, self.afloat(), self.patience());
                    let max_us = micros(self.parameters.history);
                    self.stage = Stage::Running(Box::new(History::new(belief, max_us)));
                }
            }
            Stage::Running(history) => history.take(now, utime, measured),
        }
    }

    fn felt(&mut self, message: &ImuMessage) -> Result<Measured, String> {
        let mut numbers = message.rate_radps.iter().chain(&message.force_mps2);
        let sds = [message.rate_sd_radps, message.force_sd_mps2];
        if !numbers.all(|it| it.is_finite()) || !sds.iter().all(|sd| (0.0..1e3).contains(sd)) {
            return Err("a sample of the inertial unit has numbers that are none".to_owned());
        }
        if self
            .imu
            .as_ref()
            .is_none_or(|imu| imu.frame != message.frame)
        {
            // The filter is about the first unit; another one cannot go on for it.
            if let Some(imu) = self.imu.as_ref().filter(|_| self.is_running()) {
                let expected = &imu.frame;
                return Err(format!(
                    "expected samples of {expected:?}, found {:?}",
                    message.frame
                ));
            }
            self.imu = Some(Mounting {
                imu_from_vehicle: self.place_of(&self.vehicle, &message.frame)?,
                frame: message.frame.clone(),
            });
            self.stage = Stage::Aligning(Aligning::default());
        }
        Ok(Measured::Felt(Felt {
            utime: message.utime,
            rate_radps: message.rate_radps,
            force_mps2: message.force_mps2,
            rate_sd_radps: message.rate_sd_radps,
            force_sd_mps2: message.force_sd_mps2,
        }))
    }

    fn fix(&mut self, message: &GpsFix) -> Result<Measured, String> {
        let on_earth = [message.lat_deg, message.lon_deg, message.alt_m];
        let sds = [message.horizontal_sd_m, message.vertical_sd_m];
        let is_place = message.lat_deg.abs() <= 90.0
            && message.lon_deg.abs() <= 180.0
            && message.alt_m.is_finite();
        if !is_place || !sds.iter().all(|sd| (1e-3..1e6).contains(sd)) {
            return Err(format!(
                "a fix is no place on earth: {on_earth:?} within {sds:?} m"
            ));
        }
        let at_m = self.earth.on_map(on_earth);
        let [east_m, north_m, _] = at_m;
        if east_m.hypot(north_m) > MAX_FROM_ORIGIN_M {
            return Err(format!(
                "a fix is {:.0} km from the map's origin: is that set by origin_lat_deg and origin_lon_deg?",
                east_m.hypot(north_m) / 1e3
            ));
        }
        Ok(Measured::Fix {
            at_m,
            sd_m: sds,
            antenna_in_imu: self.on_imu(&message.frame)?.xyz(),
        })
    }

    fn heading(&mut self, message: &HeadingMessage) -> Result<Measured, String> {
        if !message.heading_rad.is_finite() || !(1e-4..10.0).contains(&message.sd_rad) {
            return Err(format!(
                "a heading is none: {} within {} radians",
                message.heading_rad, message.sd_rad
            ));
        }
        Ok(Measured::Heading {
            heading_rad: message.heading_rad + self.parameters.declination_rad,
            sd_rad: message.sd_rad,
            axis_in_imu: self.on_imu(&message.frame)?.turn([1.0, 0.0, 0.0]),
        })
    }

    /// A frame on the inertial unit, or on the vessel while there is none.
    fn on_imu(&self, frame: &str) -> Result<Transform, String> {
        let imu = self.imu.as_ref().map_or(&self.vehicle, |imu| &imu.frame);
        self.place_of(frame, imu)
    }

    fn place_of(&self, frame: &str, on: &str) -> Result<Transform, String> {
        match &self.model {
            None => Ok(Transform::IDENTITY),
            Some(model) => model
                .transform_by_name(frame, on)
                .map_err(|why| format!("where {frame:?} is on the vessel is not known: {why}")),
        }
    }

    const fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running(_))
    }

    fn imu_from_vehicle(&self) -> Transform {
        self.imu
            .as_ref()
            .map_or(Transform::IDENTITY, |imu| imu.imu_from_vehicle)
    }

    fn afloat(&self) -> Afloat {
        let imu_from_vehicle = self.imu_from_vehicle();
        Afloat {
            origin_in_imu: imu_from_vehicle.xyz(),
            up_in_imu: imu_from_vehicle.turn([0.0, 0.0, 1.0]),
            level_m: self.parameters.level_m,
            level_sd_m: self.parameters.level_sd_m,
            lean_sd_rad: LEAN_SD_RAD,
        }
    }

    fn patience(&self) -> Patience {
        Patience {
            fix_us: micros(self.parameters.fix_patience),
            heading_us: micros(self.parameters.heading_patience),
        }
    }
}

/// Farther from the map's origin the projection is no map any more.
const MAX_FROM_ORIGIN_M: f64 = 100e3;

/// The pose that it publishes.
impl Estimator {
    fn publish(&mut self, now: i64, out: &mut Outbox<'_>) {
        let Stage::Running(history) = &self.stage else {
            return;
        };
        let mut belief = history.latest().clone();
        belief.advance(now);
        if !belief.filter.is_finite() {
            self.trouble = Some("the estimate is no number any more: it begins anew".to_owned());
            self.stage = Stage::Aligning(Aligning::default());
            return;
        }
        let imu_from_vehicle = self.imu_from_vehicle();
        let filter = &belief.filter;
        let map_from_vehicle = filter.pose() * imu_from_vehicle;
        let origin = imu_from_vehicle.xyz();
        let vehicle_from_map = map_from_vehicle.inverse();
        let rate_in_vehicle = imu_from_vehicle.inverse().turn(filter.rate_radps());
        let message = PoseTransform {
            utime: now,
            frame: self.vehicle.clone(),
            reference: "map".to_owned(),
            matrix: flat(&map_from_vehicle),
            attitude_covariance: filter.attitude_covariance(),
            position_covariance: filter.position_covariance(origin),
            velocity_mps: vehicle_from_map.turn(filter.velocity_mps(origin)),
            rate_radps: rate_in_vehicle,
        };
        out.send(self.pose, message);
    }

    fn health(&mut self, step: &Step<'_>) -> Health {
        let mut words = Vec::new();
        let silent = [
            (step.fresh(self.fix).is_none(), "fixes"),
            (step.fresh(self.heading).is_none(), "the compass"),
            (step.fresh(self.felt).is_none(), "the inertial unit"),
        ];
        let silent: Vec<&str> = silent.iter().filter(|it| it.0).map(|it| it.1).collect();
        if !silent.is_empty() {
            words.push(format!("nothing comes from {}", silent.join(", ")));
        }
        words.extend(self.trouble.take());
        let Stage::Running(history) = &self.stage else {
            words.insert(0, "it does not know yet where the vessel is".to_owned());
            return Health::Failed(words.join("; "));
        };
        let belief = history.latest();
        words.extend(doubts(belief, step.now().utime()));
        let [xx, _, _, _, yy, ..] = belief
            .filter
            .position_covariance(self.imu_from_vehicle().xyz());
        let sd_m = xx.max(yy).max(0.0).sqrt();
        if sd_m > self.parameters.lost_m {
            words.insert(0, format!("the position is lost: known within {sd_m:.0} m"));
            return Health::Failed(words.join("; "));
        }
        if words.is_empty() {
            Health::Good
        } else {
            Health::Degraded(words.join("; "))
        }
    }

    /// What became of fixes and headings so far, and of the times of all measurements; nothing before it has begun.
    #[must_use]
    pub fn counts(&self) -> Option<(Watch, Watch, TimeCounts)> {
        let Stage::Running(history) = &self.stage else {
            return None;
        };
        let belief = history.latest();
        Some((belief.fix, belief.heading, history.counts()))
    }
}

/// Rejections shorter than this are not reported, microseconds.
const CHANCE_US: i64 = 1_000_000;
/// For how long a decision is reported, microseconds.
const TOLD_FOR_US: i64 = 10_000_000;

/// What is doubtful about sensors, in words.
fn doubts(belief: &Belief, now: i64) -> Vec<String> {
    let mut words = Vec::new();
    let for_s = |since: i64| vectors::seconds(now - since);
    // One that is rejected now and then is chance.
    let lasts = |since: &i64| now - since > CHANCE_US;
    if let Some(since) = belief.fix.rejected_since().filter(lasts) {
        let for_s = for_s(since);
        words.push(format!(
            "fixes have not been where it can be for {for_s:.0} s: not used"
        ));
    }
    if let Some(since) = belief.heading.rejected_since().filter(lasts) {
        let for_s = for_s(since);
        words.push(format!(
            "the compass has disagreed with the gyros for {for_s:.0} s: not used"
        ));
    }
    let (deviation_rad, sd_rad) = belief.filter.deviation();
    if belief.n_turned > 0 && deviation_rad.abs() > TURNED_RAD.max(3.0 * sd_rad) {
        words.push(format!(
            "the compass is {:.0} degrees off by gyros and fixes: corrected",
            deviation_rad.to_degrees()
        ));
    }
    let is_new = |at: Option<i64>| at.is_some_and(|at| now - at < TOLD_FOR_US);
    if is_new(belief.fix.believed_utime) {
        words.push("the position was lost, and was taken anew from fixes".to_owned());
    }
    if is_new(belief.heading.believed_utime) {
        words.push("the heading was lost, and was taken anew from the compass".to_owned());
    }
    words
}

/// A deviation that is reported, radians: 6 degrees.
const TURNED_RAD: f64 = 0.1;

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn flat(transform: &Transform) -> [f64; 16] {
    let matrix = transform.matrix();
    std::array::from_fn(|at| matrix[at / 4][at % 4])
}

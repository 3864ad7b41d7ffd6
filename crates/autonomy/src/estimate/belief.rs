//! Which measurements to believe.
//!
//! A measurement that is further off than chance allows is rejected and counted. One that goes on being rejected, and is
//! steady about it, is not chance: either the sensor is wrong or the estimate is. The others decide:
//!
//! - The compass against the gyros. While fixes agree with the estimate, the heading is right, because a wrong heading
//!   turns forces into velocities that fixes do not show: then the compass has turned, and what it is off by becomes its
//!   deviation. Otherwise, or when nothing is felt, no other sensor knows the heading: it is taken anew from the compass.
//! - Fixes against the estimate. No other sensor knows where the vessel is for longer than inertia lasts: after a while the
//!   position is taken anew.
//!
//! - Fixes of which many are rejected, here and there, are noisier than they report. Those that pass are then taken for as
//!   noisy, or the estimate would be sure of a speed that only noise has, and reject all fixes afterwards.
//!
//! All of it is part of the state, so that a measurement that comes late changes what it would have changed in time.

use super::filter::{Felt, Filter, Innovation};
use super::vectors::seconds;
use bowline_geometry::Vec3;

/// Further off than this, by its variance, is not chance: one in a thousand, for one number and for two.
const GATE_ONE: f64 = 10.83;
const GATE_TWO: f64 = 13.82;
/// How long the fixes must have been right lately to judge the compass by, microseconds.
const LATELY_US: i64 = 3_000_000;
/// One measurement counts for so much in what became of those of late: about ten of them.
const LATE_SHARE: f64 = 0.1;
/// When more of them were rejected than this, the sensor is noisier than it reports. Chance rejects one in a thousand.
const DOUBTED: f64 = 0.25;
/// What a doubted sensor's variance is taken for: what passes the gate though it is much noisier is anywhere within it,
/// and so about three standard deviations wide.
const DOUBTED_VARIANCE: f64 = 9.0;
/// A gap between rejected measurements this many times as long as the one before it ends a run: too little is known of
/// how they go on.
const MAX_TIMES: f64 = 4.0;
/// A compass that has turned may have turned anywhere, radians.
const TURNED_SD_RAD: f64 = 1.0;
/// How often the vessel is known to float, microseconds.
const FLOAT_EVERY_US: i64 = 1_000_000;

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// What the inertial unit felt.
    Felt(Felt),
    /// Where a receiver's antenna is.
    Fix {
        /// In the map.
        at_m: Vec3,
        /// Standard deviations, level and up.
        sd_m: [f64; 2],
        /// The antenna on the unit.
        antenna_in_imu: Vec3,
    },
    /// Where an axis of a compass points.
    Heading {
        /// From east, to the left positive.
        heading_rad: f64,
        /// Its standard deviation.
        sd_rad: f64,
        /// The axis on the unit.
        axis_in_imu: Vec3,
    },
}

/// How the vessel floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Afloat {
    /// The origin of the vessel's frame on the unit.
    pub origin_in_imu: Vec3,
    /// Its up axis on the unit.
    pub up_in_imu: Vec3,
    /// The height of that origin when nothing moves, metres, map frame.
    pub level_m: f64,
    /// Standard deviation of that, waves included.
    pub level_sd_m: f64,
    /// Standard deviation of roll and pitch.
    pub lean_sd_rad: f64,
}

/// For how long a sensor is rejected before the conflict is resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// With fixes, microseconds.
    pub fix_us: i64,
    /// With the compass, microseconds.
    pub heading_us: i64,
}

/// What became of a sensor's measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watch {
    /// How many were taken.
    pub n_taken: u64,
    /// How many were rejected.
    pub n_rejected: u64,
    /// How often it was decided that the sensor was right and the estimate wrong.
    pub n_believed: u64,
    /// The last that was taken, microseconds since the epoch.
    pub taken_utime: Option<i64>,
    /// The last time that it was decided that the estimate was wrong, microseconds since the epoch.
    pub believed_utime: Option<i64>,
    run: Option<Run>,
    /// Of those of late, how many were rejected, 0 to 1.
    late: f64,
}

/// Measurements that were rejected one after the other, each of which is off by as much as those before it, or by a
/// difference that grows evenly: from fixes that are right, an estimate with a wrong speed gets away.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    since_utime: i64,
    n: u32,
    /// How far the first one was off.
    first_off: [f64; 2],
    /// When the last one was made, and how far it was off.
    last: (i64, [f64; 2]),
    /// The time between the last two, and how much more the later one was off.
    growth: Option<(i64, [f64; 2])>,
}

impl Run {
    const fn new(utime: i64, off: [f64; 2]) -> Self {
        Self {
            since_utime: utime,
            n: 1,
            first_off: off,
            last: (utime, off),
            growth: None,
        }
    }

    /// The run with another measurement, or nothing if that does not continue it. With the variance of a measurement.
    fn with(&self, utime: i64, off: [f64; 2], variance: f64) -> Option<Self> {
        let (last_utime, last) = self.last;
        let since_us = utime - last_utime;
        if since_us <= 0 {
            return None;
        }
        if let Some((over_us, growth)) = self.growth {
            let times = seconds(since_us) / seconds(over_us);
            let apart2: f64 = (0..2)
                .map(|axis| (off[axis] - last[axis] - times * growth[axis]).powi(2))
                .sum();
            // Three measurements take part, the one in the middle with both differences.
            let parts = 1.0 + (1.0 + times).powi(2) + times.powi(2);
            if times > MAX_TIMES || apart2 > GATE_TWO * parts * variance {
                return None;
            }
        }
        Some(Self {
            n: self.n.saturating_add(1),
            last: (utime, off),
            growth: Some((since_us, [off[0] - last[0], off[1] - last[1]])),
            ..*self
        })
    }

    /// How much more it is off after a second, on average.
    fn growth_per_s(&self) -> [f64; 2] {
        let (last_utime, last) = self.last;
        let lasted_s = seconds(last_utime - self.since_utime).max(1e-3);
        [0, 1].map(|axis| (last[axis] - self.first_off[axis]) / lasted_s)
    }
}

impl Watch {
    const NEW: Self = Self {
        n_taken: 0,
        n_rejected: 0,
        n_believed: 0,
        taken_utime: None,
        believed_utime: None,
        run: None,
        late: 0.0,
    };

    /// Since when it is rejected, if it is.
    #[must_use]
    pub fn rejected_since(&self) -> Option<i64> {
        self.run.map(|run| run.since_utime)
    }

    fn take(&mut self, utime: i64) {
        self.n_taken += 1;
        self.taken_utime = Some(utime);
        self.run = None;
        self.late -= LATE_SHARE * self.late;
    }

    /// The factor on its reported variance.
    fn doubt(&self) -> f64 {
        if self.late > DOUBTED {
            DOUBTED_VARIANCE
        } else {
            1.0
        }
    }

    /// The sensor is right, and the estimate is not.
    fn believe(&mut self, utime: i64) {
        self.n_believed += 1;
        self.believed_utime = Some(utime);
    }

    /// Rejects one that is off by so much; how long that has been going on, steadily, microseconds.
    fn reject(&mut self, utime: i64, off: [f64; 2], variance: f64) -> i64 {
        self.n_rejected += 1;
        self.late += LATE_SHARE * (1.0 - self.late);
        let longer = self.run.and_then(|run| run.with(utime, off, variance));
        let run = longer.unwrap_or_else(|| Run::new(utime, off));
        self.run = Some(run);
        if run.n < 3 {
            0
        } else {
            utime - run.since_utime
        }
    }

    /// How much more those that are rejected are off after a second.
    fn growth_per_s(&self) -> [f64; 2] {
        self.run.map_or([0.0; 2], |run| run.growth_per_s())
    }
}

/// The filter, and whom it believes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Belief {
    pub(super) filter: Filter,
    afloat: Afloat,
    patience: Patience,
    pub(super) fix: Watch,
    pub(super) heading: Watch,
    /// How often the compass was found to have turned.
    pub(super) n_turned: u64,
    /// The last time that the inertial unit sent anything.
    pub(super) felt_utime: Option<i64>,
    floated_utime: i64,
}

impl Belief {
    pub(super) const fn new(filter: Filter, afloat: Afloat, patience: Patience) -> Self {
        Self {
            floated_utime: filter.utime,
            filter,
            afloat,
            patience,
            fix: Watch::NEW,
            heading: Watch::NEW,
            n_turned: 0,
            felt_utime: None,
        }
    }

    /// Goes on to a time.
    pub(super) fn advance(&mut self, utime: i64) {
        self.filter.advance(utime);
        self.float();
    }

    /// Goes on to a measurement and takes it in, or not.
    pub(super) fn measure(&mut self, utime: i64, measured: &Measured) {
        match *measured {
            Measured::Felt(felt) => {
                self.filter.feel(felt);
                self.felt_utime = Some(utime);
                self.float();
            }
            Measured::Fix {
                at_m,
                sd_m,
                antenna_in_imu,
            } => {
                self.advance(utime);
                self.take_fix(utime, at_m, sd_m, antenna_in_imu);
            }
            Measured::Heading {
                heading_rad,
                sd_rad,
                axis_in_imu,
            } => {
                self.advance(utime);
                self.take_heading(utime, (heading_rad, sd_rad), axis_in_imu);
            }
        }
    }

    fn take_fix(&mut self, utime: i64, at_m: Vec3, [level_sd_m, up_sd_m]: [f64; 2], antenna: Vec3) {
        let [east_m, north_m, up_m] = at_m;
        let variance = level_sd_m * level_sd_m;
        let filter = &mut self.filter;
        let east = filter.position(0, antenna, (east_m, variance));
        let north = filter.position(1, antenna, (north_m, variance));
        if off_together(filter, &east, &north) <= GATE_TWO {
            self.fix.take(utime);
        } else {
            let steady_us = self.fix.reject(utime, [east.off, north.off], variance);
            if steady_us < self.patience.fix_us {
                return;
            }
            let faster_mps = self.fix.growth_per_s();
            self.fix.believe(utime);
            self.fix.take(utime);
            filter.lose_position(antenna, [east_m, north_m], level_sd_m, faster_mps);
            // What leans unnoticed is drawn away, and would be again.
            filter.lose_level(self.afloat.lean_sd_rad);
            return;
        }
        let doubt = self.fix.doubt();
        let east = filter.position(0, antenna, (east_m, doubt * variance));
        filter.correct(&east);
        let north = filter.position(1, antenna, (north_m, doubt * variance));
        filter.correct(&north);
        let up = filter.position(2, antenna, (up_m, doubt * up_sd_m * up_sd_m));
        if up.off * up.off <= GATE_ONE * filter.variance_of(&up) {
            filter.correct(&up);
        }
    }

    fn take_heading(&mut self, utime: i64, (heading_rad, sd_rad): (f64, f64), axis: Vec3) {
        let variance = sd_rad * sd_rad;
        let innovation = self.filter.heading(axis, (heading_rad, variance));
        let is_near =
            innovation.off * innovation.off <= GATE_ONE * self.filter.variance_of(&innovation);
        if is_near {
            self.heading.take(utime);
            self.filter.correct(&innovation);
            return;
        }
        let steady_us = self.heading.reject(utime, [innovation.off, 0.0], variance);
        if steady_us < self.patience.heading_us {
            return;
        }
        self.heading.take(utime);
        if self.are_others_right(utime) {
            self.n_turned += 1;
            self.filter.lose_deviation(TURNED_SD_RAD);
        } else {
            self.heading.believe(utime);
            self.filter.lose_heading(TURNED_SD_RAD);
        }
        let innovation = self.filter.heading(axis, (heading_rad, variance));
        self.filter.correct(&innovation);
    }

    /// Whether gyros and fixes show where the bow points.
    fn are_others_right(&self, utime: i64) -> bool {
        let is_lately = |at: Option<i64>| at.is_some_and(|at| utime - at <= LATELY_US);
        is_lately(self.felt_utime)
            && is_lately(self.fix.taken_utime)
            && self.fix.rejected_since().is_none()
    }

    /// Once a second: it is still a vessel.
    fn float(&mut self) {
        if self.filter.utime - self.floated_utime < FLOAT_EVERY_US {
            return;
        }
        self.floated_utime = self.filter.utime;
        let Afloat {
            origin_in_imu,
            up_in_imu,
            level_m,
            level_sd_m,
            lean_sd_rad,
        } = self.afloat;
        let level = (level_m, level_sd_m * level_sd_m);
        let height = self.filter.position(2, origin_in_imu, level);
        self.filter.correct(&height);
        for axis in [0, 1] {
            let lean = self.filter.lean(axis, up_in_imu, lean_sd_rad * lean_sd_rad);
            self.filter.correct(&lean);
        }
    }
}

/// How far off two numbers are together, by their covariance: chi-square of two.
fn off_together(filter: &Filter, one: &Innovation, other: &Innovation) -> f64 {
    let (a, d) = (filter.variance_of(one), filter.variance_of(other));
    let b = filter.covariance_of(one, other);
    let determinant = (a * d - b * b).max(f64::MIN_POSITIVE);
    (d * one.off * one.off - 2.0 * b * one.off * other.off + a * other.off * other.off)
        / determinant
}

//! The driver: asks, believes what fits together, and starts the device anew when nothing does.

use super::frame::{self, BadFrame, MAX_SECTORS, SHAPE};
use crate::counts::{Condition, Counts};
use crate::line::{Line, Splitter};
use crate::sensor::Sensor;
use bowline_component::{BuildError, Parameters, Time};
use bowline_msgs::Range3d;
use std::time::Duration;

bowline_component::parameters! {
    /// What a scanner is like. The defaults are those of a PB9-11; a PBS-03JN has 121 sectors from -105.88 degrees on.
    pub struct ScannerParameters {
        /// Where it is, as Body:Frame of the robot's model; it looks along x.
        frame: String = String::new();
        /// How many sectors there are.
        n_sectors: i64 = 91, within 2..=512;
        /// Where the first sector is, degrees to the left of ahead.
        first_deg: f64 = -81.0, within -180.0..=180.0;
        /// From one sector to the next, degrees to the left.
        step_deg: f64 = 1.8, within -10.0..=10.0;
        /// Nearer than this it sees nothing, metres.
        min_range_m: f64 = 0.1, within 0.0..=10.0;
        /// Farther than this it sees nothing, metres.
        max_range_m: f64 = 4.0, within 0.1..=60.0;
        /// What it sends where it sees nothing is at most this, millimetres; more is no answer.
        nothing_mm: i64 = 5_000, within 100..=65_535;
        /// Standard deviation of a range, metres.
        range_sd_m: f64 = 0.05, within 0.0..=1.0;
        /// How many bytes it sends after the distances.
        n_more_bytes: i64 = 0, within 0..=16;
        /// How often it is asked, times a second.
        rate_hz: f64 = 5.5, within 0.1..=50.0;
        /// How long an answer may take.
        answer_within: Duration = Duration::from_millis(250), within Duration::from_millis(10)..=Duration::from_secs(5);
        /// The same scan so often in a row is that of a device that is stuck; 0: never.
        stuck_after: i64 = 5, within 0..=1_000;
        /// The longest rest before the device is started anew.
        max_rest: Duration = Duration::from_secs(2), within Duration::from_millis(100)..=Duration::from_secs(60);
    }
}

/// The driver of a scanner.
///
/// What it publishes was asked for, came whole and in time, has the right number of distances that can be, and is not
/// a repetition. After any trouble a scan only counts once another has followed: a device that is stuck on an unseen
/// scan is found out by the next one, before anything was believed.
#[derive(Debug)]
pub struct Scanner {
    parameters: ScannerParameters,
    n_sectors: usize,
    splitter: Splitter,
    counts: Counts,
    began: Option<Time>,
    phase: Phase,
    /// How long to rest before the next start.
    rest: Duration,
    /// The scan before, if nothing was wrong since.
    last: Option<Vec<u16>>,
    n_same: i64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing is asked until then, and nothing that comes counts.
    Resting { until: Time },
    /// The device was asked who it is.
    Meeting { until: Time },
    /// The device was asked to let us in.
    Entering { key: u16, until: Time },
    /// We are in.
    Ranging(Ranging),
}

#[derive(Clone, Copy, Debug)]
struct Ranging {
    key: u16,
    asked: Option<Asked>,
    /// When to ask for the next scan.
    next: Time,
    /// When to ask to be let in again.
    renew: Time,
    n_failures: u32,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Time,
    what: Question,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Renewal,
    Scan,
}

/// The device forgets us after 3 s.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// So many answers in a row that are none, and the device is started anew.
const MAX_FAILURES: u32 = 3;
/// The first rest; each is twice as long as the one before.
const MIN_REST: Duration = Duration::from_millis(100);
/// A scan with fewer distances may well be the same as the one before: there is little to see.
const MIN_TO_COMPARE: usize = 8;
/// How long the device may be without a scan that counts.
const PATIENCE: Duration = Duration::from_millis(1_500);

pub(super) const WHO: [u8; 2] = [0xa0, 0x69];
pub(super) const ENTER: [u8; 2] = [0xa0, 0x5a];
pub(super) const SCAN: [u8; 2] = [0xa2, 0x69];
pub(super) const IN: u8 = 1;

impl Scanner {
    fn is_measured(&self, distance_mm: u16) -> bool {
        let metres = f64::from(distance_mm) / 1_000.0;
        (self.parameters.min_range_m..=self.parameters.max_range_m).contains(&metres)
    }

    /// What came is none that was asked for, or cannot be.
    fn fail(&mut self, now: Time, why: impl Into<String>) {
        self.counts.error(now, why);
        self.last = None;
        let wait = self.parameters.answer_within;
        match &mut self.phase {
            Phase::Ranging(ranging) if ranging.n_failures + 1 < MAX_FAILURES => {
                ranging.n_failures += 1;
                ranging.asked = None;
                // What is still on its way is ignored.
                ranging.next = now + wait;
                ranging.renew = ranging.renew.max(ranging.next);
            }
            Phase::Ranging(_) | Phase::Meeting { .. } | Phase::Entering { .. } => self.restart(now),
            Phase::Resting { .. } => {}
        }
    }

    fn restart(&mut self, now: Time) {
        self.counts.n_restarts += 1;
        self.splitter.break_off(&mut self.counts);
        self.last = None;
        self.n_same = 0;
        let until = now + self.rest;
        self.phase = Phase::Resting { until };
        self.rest = (self.rest * 2).min(self.parameters.max_rest);
    }

    fn frame(&mut self, now: Time, frame: &[u8], line: &mut Line<'_>) -> Option<Range3d> {
        if matches!(self.phase, Phase::Resting { .. }) {
            self.counts.n_ignored += 1;
            return None;
        }
        let payload = match frame::decode(frame) {
            Ok(payload) => payload,
            Err(error) => {
                match error {
                    BadFrame::Checksum { .. } => self.counts.n_bad_checksum += 1,
                    BadFrame::Length { .. } | BadFrame::Character { .. } => {
                        self.counts.n_malformed += 1;
                    }
                }
                self.fail(now, error.to_string());
                return None;
            }
        };
        let until = now + self.parameters.answer_within;
        let what = payload.first_chunk().copied().unwrap_or_default();
        let rest = payload.get(2..).unwrap_or_default();
        match (&mut self.phase, what) {
            (Phase::Meeting { .. }, WHO) if rest.len() == 8 => {
                let key = frame::crc(rest);
                line.send(&enter(key));
                self.phase = Phase::Entering { key, until };
            }
            (Phase::Entering { key, .. }, ENTER) if rest == [IN] => {
                let key = *key;
                self.phase = Phase::Ranging(Ranging {
                    key,
                    asked: None,
                    next: now,
                    renew: now + RENEW_EVERY,
                    n_failures: 0,
                });
            }
            (Phase::Ranging(ranging), ENTER)
                if rest == [IN] && is_asked(ranging, Question::Renewal) =>
            {
                ranging.asked = None;
                ranging.renew = now + RENEW_EVERY;
            }
            (Phase::Entering { .. } | Phase::Ranging(_), ENTER) if rest != [IN] => {
                self.counts.n_refused += 1;
                self.counts.error(now, "the device does not let us in");
                self.restart(now);
            }
            (Phase::Ranging(ranging), SCAN) if is_asked(ranging, Question::Scan) => {
                let at = ranging.asked.take().map_or(now, |asked| asked.at);
                return self.scan(now, at, rest);
            }
            _ => self.counts.n_ignored += 1,
        }
        None
    }

    fn scan(&mut self, now: Time, at: Time, bytes: &[u8]) -> Option<Range3d> {
        let n_expected = 2 * self.n_sectors + usize::try_from(self.parameters.n_more_bytes).ok()?;
        if bytes.len() != n_expected {
            self.counts.n_refused += 1;
            let found = bytes.len();
            self.fail(
                now,
                format!("expected {n_expected} bytes of a scan, found {found}"),
            );
            return None;
        }
        let pairs = bytes.as_chunks::<2>().0.iter().take(self.n_sectors);
        let distances_mm: Vec<u16> = pairs.map(|pair| u16::from_le_bytes(*pair)).collect();
        let most_mm = self.parameters.nothing_mm;
        if let Some(far_mm) = distances_mm.iter().find(|mm| i64::from(**mm) > most_mm) {
            self.counts.n_refused += 1;
            self.fail(
                now,
                format!("expected at most {most_mm} mm, found {far_mm} mm"),
            );
            return None;
        }
        let n_measured = distances_mm
            .iter()
            .filter(|mm| self.is_measured(**mm))
            .count();
        let can_compare = self.parameters.stuck_after > 0 && n_measured >= MIN_TO_COMPARE;
        if can_compare && self.last.as_ref() == Some(&distances_mm) {
            self.counts.n_refused += 1;
            self.n_same += 1;
            let n_times = self.n_same + 1;
            let what = format!("the same scan {n_times} times: the device is stuck");
            self.counts.error(now, what);
            if n_times >= self.parameters.stuck_after {
                self.restart(now);
            }
            return None;
        }
        self.n_same = 0;
        let range = self.range(at, &distances_mm);
        let is_first = self.last.replace(distances_mm).is_none();
        if let Phase::Ranging(ranging) = &mut self.phase {
            ranging.n_failures = 0;
        }
        if is_first {
            self.counts.n_ignored += 1;
            return None;
        }
        self.rest = MIN_REST;
        self.counts.good(now);
        Some(range)
    }

    fn range(&self, at: Time, distances_mm: &[u16]) -> Range3d {
        let min_mm = self.parameters.min_range_m * 1_000.0;
        let points = distances_mm.iter().enumerate().filter_map(|(sector, mm)| {
            // Too near to be measured, or not measured at all.
            if f64::from(*mm) < min_mm {
                return None;
            }
            let (x, y) = self.direction(sector);
            Some(match self.is_measured(*mm) {
                true => {
                    let range_m = f64::from(*mm) / 1_000.0;
                    [
                        single(x * range_m),
                        single(y * range_m),
                        0.0,
                        single(range_m),
                    ]
                }
                false => [single(x), single(y), 0.0, f32::INFINITY],
            })
        });
        let parameters = &self.parameters;
        Range3d {
            utime: at.utime(),
            // A scan is the last one before it was asked for.
            duration_us: 0,
            frame: parameters.frame.clone(),
            min_range_m: single(parameters.min_range_m),
            max_range_m: single(parameters.max_range_m),
            range_sd_m: single(parameters.range_sd_m),
            bearing_sd_rad: single(parameters.step_deg.abs().to_radians() / 12_f64.sqrt()),
            points: points.collect(),
            ..Range3d::default()
        }
        .with_lengths()
    }

    fn direction(&self, sector: usize) -> (f64, f64) {
        let sector = u16::try_from(sector).unwrap_or(u16::MAX);
        let bearing = self.parameters.first_deg + self.parameters.step_deg * f64::from(sector);
        let (sin, cos) = bearing.to_radians().sin_cos();
        (cos, sin)
    }

    /// Sends the request that is due, and returns when to look again.
    fn ask(&mut self, now: Time, line: &mut Line<'_>) -> Time {
        let until = now + self.parameters.answer_within;
        match &mut self.phase {
            Phase::Resting { until: end } if now < *end => *end,
            Phase::Resting { .. } => {
                line.send(&frame::encode(&WHO));
                self.phase = Phase::Meeting { until };
                until
            }
            Phase::Meeting { until } | Phase::Entering { until, .. } => *until,
            Phase::Ranging(ranging) => {
                if let Some(asked) = ranging.asked {
                    return asked.at + self.parameters.answer_within;
                }
                let what = if now >= ranging.renew {
                    line.send(&enter(ranging.key));
                    Question::Renewal
                } else if now >= ranging.next {
                    line.send(&frame::encode(&SCAN));
                    let period = Duration::try_from_secs_f64(1.0 / self.parameters.rate_hz);
                    ranging.next = now + period.unwrap_or(RENEW_EVERY);
                    Question::Scan
                } else {
                    return ranging.next.min(ranging.renew);
                };
                ranging.asked = Some(Asked { at: now, what });
                until
            }
        }
    }

    fn is_late(&self, now: Time) -> bool {
        match self.phase {
            Phase::Resting { .. } => false,
            Phase::Meeting { until } | Phase::Entering { until, .. } => now >= until,
            Phase::Ranging(Ranging { asked, .. }) => {
                asked.is_some_and(|asked| now.since(asked.at) >= self.parameters.answer_within)
            }
        }
    }
}

fn is_asked(ranging: &Ranging, what: Question) -> bool {
    ranging.asked.is_some_and(|asked| asked.what == what)
}

fn enter(key: u16) -> Vec<u8> {
    let ([one, two], [low, high]) = (ENTER, key.to_le_bytes());
    frame::encode(&[one, two, IN, low, high])
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a millimetre of metres needs few digits"
)]
fn single(value: f64) -> f32 {
    value as f32
}

impl Sensor for Scanner {
    const DEVICE: &'static str = "PB scanner";
    type Parameters = ScannerParameters;
    type Reading = Range3d;

    fn new(parameters: ScannerParameters) -> Result<Self, BuildError> {
        let n_sectors = usize::try_from(parameters.n_sectors)?.min(MAX_SECTORS);
        if parameters.step_deg == 0.0 {
            return Err("step_deg: expected an angle between sectors, found 0".into());
        }
        #[expect(clippy::cast_precision_loss, reason = "at most five digits")]
        let nothing_m = parameters.nothing_mm as f64 / 1_000.0;
        if nothing_m < parameters.max_range_m || parameters.min_range_m >= parameters.max_range_m {
            let ScannerParameters {
                min_range_m,
                max_range_m,
                ..
            } = parameters;
            let why = format!(
                "expected min_range_m below max_range_m, and that below nothing_mm; found {min_range_m}, {max_range_m} and {nothing_m} m"
            );
            return Err(why.into());
        }
        Ok(Self {
            n_sectors,
            parameters,
            splitter: Splitter::new(SHAPE),
            counts: Counts::default(),
            began: None,
            phase: Phase::Resting { until: Time::ZERO },
            rest: MIN_REST,
            last: None,
            n_same: 0,
        })
    }

    fn poll(&mut self, now: Time, line: &mut Line<'_>) -> Vec<Range3d> {
        self.began.get_or_insert(now);
        let mut readings = Vec::new();
        for frame in self.splitter.split(line.received(), &mut self.counts) {
            readings.extend(self.frame(now, &frame, line));
        }
        if self.is_late(now) {
            self.counts.n_timeouts += 1;
            self.fail(now, "no answer");
        }
        let next = self.ask(now, line);
        line.wake_at(next);
        readings
    }

    fn condition(&self, now: Time) -> Condition {
        self.counts
            .condition(now, self.began.unwrap_or(now), PATIENCE)
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

//! From sentences to messages: with times of our clock, and deviations where a device gives none.

use super::report::{Depth, Fix, Gga, Gst, HeadingReport, Report, Rmc, TimeOfDay};
use super::sentence::{BadSentence, SHAPE, Sentence};
use crate::counts::{Condition, Counts};
use crate::line::{Line, Splitter};
use crate::sensor::{Reading, Sensor};
use bowline_component::{BuildError, Outbox, Output, Parameters, Ports, Time};
use bowline_msgs::{GpsFix, GpsRmc, Heading, Sounding};
use std::collections::BTreeMap;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};
use std::time::Duration;

bowline_component::parameters! {
    /// What a device on an NMEA line is like.
    pub struct NmeaParameters {
        /// The receiver's antenna, as Body:Frame of the robot's model.
        gps_frame: String = String::new();
        /// The frame whose x axis the compass is about, as Body:Frame.
        compass_frame: String = String::new();
        /// The sounder's transducer, as Body:Frame.
        sounder_frame: String = String::new();
        /// Standard deviation of a position for a dilution of 1, where the receiver gives none, metres.
        range_sd_m: f64 = 3.0, within 0.01..=100.0;
        /// The geoid above the ellipsoid, where the receiver does not give it, metres.
        geoid_m: f64 = 0.0, within -150.0..=150.0;
        /// Standard deviation of headings, degrees.
        heading_sd_deg: f64 = 1.0, within 0.001..=90.0;
        /// How far magnetic north is to the right of true north: taken from headings that are about true north, degrees.
        variation_deg: f64 = 0.0, within -180.0..=180.0;
        /// Standard deviation of depths, metres.
        depth_sd_m: f64 = 0.1, within 0.001..=100.0;
        /// A receiver whose clock differs more from ours is not believed about the time: then arrival counts.
        max_clock_error: Duration = Duration::from_secs(2), within Duration::ZERO..=Duration::from_secs(3600);
        /// How long a sentence took on its way, where arrival counts.
        latency: Duration = Duration::from_millis(100), within Duration::ZERO..=Duration::from_secs(5);
        /// Without anything for so long, the device is silent.
        silent_after: Duration = Duration::from_secs(3), within Duration::from_millis(100)..=Duration::from_secs(60);
    }
}

/// The driver for anything that sends NMEA 0183: one device, or several behind a multiplexer.
#[derive(Debug)]
pub struct Nmea {
    parameters: NmeaParameters,
    splitter: Splitter,
    counts: Counts,
    began: Option<Time>,
    /// Deviations that the receiver itself gave, and when.
    gst: Option<(Time, Gst)>,
    vdop: Option<(Time, f64)>,
    /// The time of the last fix of each kind of sentence, by talker and kind.
    last_times: BTreeMap<(String, String), TimeOfDay>,
}

/// What such a device measures.
#[derive(Clone, Debug, PartialEq)]
pub enum NmeaReading {
    /// Where it is.
    Fix(GpsFix),
    /// Where it is and how fast.
    Rmc(GpsRmc),
    /// Where it points.
    Heading(Heading),
    /// How deep it is.
    Depth(Sounding),
}

/// The deviations that a receiver reports are good for so long.
const DEVIATIONS_LAST: Duration = Duration::from_secs(5);

/// Kinds of sentences with fixes that are kept apart. A line has a few; one with more is garbled, and is begun anew.
const MAX_KINDS: usize = 16;

/// Of the geoid over the whole Earth, metres: what is not known where a receiver only knows the sea.
const GEOID_SD_M: f64 = 30.0;

/// Heights are less certain than places.
const VERTICAL_FACTOR: f64 = 1.5;

impl Nmea {
    fn frame(&mut self, now: Time, frame: &[u8]) -> Option<NmeaReading> {
        let sentence = match Sentence::parse(frame) {
            Ok(sentence) => sentence,
            Err(error) => {
                match error {
                    BadSentence::Checksum { .. } => self.counts.n_bad_checksum += 1,
                    BadSentence::NoChecksum { .. } | BadSentence::Address { .. } => {
                        self.counts.n_malformed += 1;
                    }
                }
                self.counts.error(now, error.to_string());
                return None;
            }
        };
        let report = match Report::read(&sentence) {
            Ok(report) => report,
            Err(error) => {
                self.counts.n_refused += 1;
                self.counts.error(now, error.to_string());
                return None;
            }
        };
        if let Some(fix) = report.as_ref().and_then(Report::fix)
            && !self.is_new(&sentence, fix.time)
        {
            self.counts.n_refused += 1;
            let what = format!("{} with the time of the one before", sentence.kind);
            self.counts.error(now, what);
            return None;
        }
        let reading = match report {
            None | Some(Report::Vtg { .. }) => {
                self.counts.n_ignored += 1;
                return None;
            }
            Some(Report::Gst(gst)) => return self.keep(|own| own.gst = Some((now, gst))),
            Some(Report::Gsa { vdop, .. }) => {
                return self.keep(|own| own.vdop = vdop.map(|vdop| (now, vdop)));
            }
            Some(Report::Zda(time)) => {
                return self.keep(|own| {
                    own.stamp(now, time);
                });
            }
            Some(Report::Gga(gga)) => self.fix(now, &gga),
            Some(Report::Rmc(rmc)) => self.rmc(now, &rmc),
            Some(Report::Heading(heading)) => self.heading(now, heading),
            Some(Report::Depth(depth)) => Some(self.depth(now, depth)),
        };
        match &reading {
            Some(_) => self.counts.good(now),
            None => {
                self.counts.n_refused += 1;
                let what = format!("{} without a value: the device has none", sentence.kind);
                self.counts.error(now, what);
            }
        }
        reading
    }

    /// Whether a fix is another one than that before: a receiver that hangs may repeat its last sentence for ever. Days
    /// need no looking at, because no receiver is silent from one fix until the same microsecond of the next day.
    fn is_new(&mut self, sentence: &Sentence<'_>, time: TimeOfDay) -> bool {
        let key = (sentence.talker.to_owned(), sentence.kind.to_owned());
        if self.last_times.len() >= MAX_KINDS && !self.last_times.contains_key(&key) {
            self.last_times.clear();
        }
        self.last_times.insert(key, time) != Some(time)
    }

    /// Something that is good to know, and no reading.
    fn keep(&mut self, keep: impl FnOnce(&mut Self)) -> Option<NmeaReading> {
        self.counts.n_good += 1;
        keep(self);
        None
    }

    fn fix(&mut self, now: Time, gga: &Gga) -> Option<NmeaReading> {
        let Fix {
            time,
            lat_deg,
            lon_deg,
        } = gga.fix?;
        let [horizontal_sd_m, vertical_sd_m] = self.deviations(now, gga);
        // Without a height it is not known where on the vertical the receiver is; it is somewhere on Earth.
        let (altitude_m, no_altitude_sd_m) = match gga.altitude_m {
            Some(altitude_m) => (altitude_m, 0.0),
            None => (0.0, 1_000.0),
        };
        let (geoid_m, geoid_sd_m) = match gga.geoid_m {
            Some(geoid_m) => (geoid_m, 0.0),
            None => (self.parameters.geoid_m, GEOID_SD_M),
        };
        Some(NmeaReading::Fix(GpsFix {
            utime: self.stamp(now, time),
            frame: self.parameters.gps_frame.clone(),
            lat_deg,
            lon_deg,
            alt_m: altitude_m + geoid_m,
            horizontal_sd_m,
            vertical_sd_m: vertical_sd_m.hypot(geoid_sd_m).hypot(no_altitude_sd_m),
        }))
    }

    /// Horizontal along an axis, and vertical: as the receiver reports, or else by how the satellites stand.
    fn deviations(&self, now: Time, gga: &Gga) -> [f64; 2] {
        let is_fresh = |at: Time| now.since(at) <= DEVIATIONS_LAST;
        if let Some((_, gst)) = self.gst.filter(|(at, _)| is_fresh(*at)) {
            return [gst.lat_sd_m.max(gst.lon_sd_m), gst.alt_sd_m];
        }
        // What corrections and carrier phases make of a range, as a part of what satellites alone do.
        let part = match gga.quality {
            2 | 3 => 0.4,
            4 => 0.01,
            5 => 0.1,
            _ => 1.0,
        };
        let range_sd_m = self.parameters.range_sd_m * part;
        let hdop = gga.hdop.unwrap_or(2.0);
        let vdop = self.vdop.filter(|(at, _)| is_fresh(*at));
        let vdop = vdop.map_or(hdop * VERTICAL_FACTOR, |(_, vdop)| vdop);
        [range_sd_m * hdop * FRAC_1_SQRT_2, range_sd_m * vdop]
    }

    fn rmc(&mut self, now: Time, rmc: &Rmc) -> Option<NmeaReading> {
        let (fix, sog) = (rmc.fix?, rmc.speed_kn?);
        Some(NmeaReading::Rmc(GpsRmc {
            utime: self.stamp(now, fix.time),
            lat: fix.lat_deg,
            lon: fix.lon_deg,
            sog,
        }))
    }

    fn heading(&self, now: Time, heading: HeadingReport) -> Option<NmeaReading> {
        let magnetic_deg = match heading {
            HeadingReport::True(deg) => deg - self.parameters.variation_deg,
            HeadingReport::Magnetic(deg) => deg,
            HeadingReport::Unknown => return None,
        };
        let turned = FRAC_PI_2 - magnetic_deg.to_radians();
        Some(NmeaReading::Heading(Heading {
            utime: self.arrived(now),
            frame: self.parameters.compass_frame.clone(),
            heading_rad: turned.sin().atan2(turned.cos()),
            sd_rad: self.parameters.heading_sd_deg.to_radians(),
            field_tesla: [f64::NAN; 3],
        }))
    }

    fn depth(&self, now: Time, depth: Depth) -> NmeaReading {
        NmeaReading::Depth(Sounding {
            utime: self.arrived(now),
            frame: self.parameters.sounder_frame.clone(),
            depth_m: match depth {
                Depth::Metres(depth_m) => depth_m,
                Depth::NoEcho => f64::NAN,
            },
            sd_m: self.parameters.depth_sd_m,
        })
    }

    /// The time of a measurement that is known by its arrival only.
    fn arrived(&self, now: Time) -> i64 {
        (now - self.parameters.latency).utime()
    }

    /// The moment nearest to now at which it is that time of the day, if the receiver's clock is about right. So days
    /// and dates need no looking at: midnight may lie between measurement and arrival, and receivers whose count of
    /// weeks has run over do no harm.
    fn stamp(&mut self, now: Time, time: TimeOfDay) -> i64 {
        const DAY_US: i64 = 86_400_000_000;
        let utime = now.utime();
        let ahead_us = (time.0 - utime + DAY_US / 2).rem_euclid(DAY_US) - DAY_US / 2;
        let off = Duration::from_micros(ahead_us.unsigned_abs());
        if off <= self.parameters.max_clock_error {
            return utime + ahead_us;
        }
        let what = format!("the device's clock is off by {off:.1?}: arrival counts");
        self.counts.error(now, what);
        self.arrived(now)
    }
}

impl Sensor for Nmea {
    const DEVICE: &'static str = "NMEA 0183";
    type Parameters = NmeaParameters;
    type Reading = NmeaReading;

    fn new(parameters: NmeaParameters) -> Result<Self, BuildError> {
        Ok(Self {
            parameters,
            splitter: Splitter::new(SHAPE),
            counts: Counts::default(),
            began: None,
            gst: None,
            vdop: None,
            last_times: BTreeMap::new(),
        })
    }

    fn poll(&mut self, now: Time, line: &mut Line<'_>) -> Vec<NmeaReading> {
        self.began.get_or_insert(now);
        let frames = self.splitter.split(line.received(), &mut self.counts);
        let readings = frames.iter().filter_map(|frame| self.frame(now, frame));
        readings.collect()
    }

    fn condition(&self, now: Time) -> Condition {
        self.counts
            .condition(now, self.began.unwrap_or(now), self.parameters.silent_after)
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

/// Where readings go.
#[derive(Debug)]
pub struct NmeaOutputs {
    fix: Output<GpsFix>,
    rmc: Output<GpsRmc>,
    heading: Output<Heading>,
    depth: Output<Sounding>,
}

impl Reading for NmeaReading {
    type Outputs = NmeaOutputs;

    fn declare(ports: &mut Ports) -> NmeaOutputs {
        NmeaOutputs {
            fix: ports.output("fix", "Where the receiver is."),
            rmc: ports.output("rmc", "Where it is, and how fast it goes."),
            heading: ports.output("heading", "Where the compass points."),
            depth: ports.output("depth", "How deep the water is."),
        }
    }

    fn send(self, outputs: &NmeaOutputs, out: &mut Outbox<'_>) {
        match self {
            Self::Fix(fix) => out.send(outputs.fix, fix),
            Self::Rmc(rmc) => out.send(outputs.rmc, rmc),
            Self::Heading(heading) => out.send(outputs.heading, heading),
            Self::Depth(depth) => out.send(outputs.depth, depth),
        }
    }
}

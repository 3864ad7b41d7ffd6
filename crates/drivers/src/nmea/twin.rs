//! The simulated twin of devices that send NMEA 0183: from the measurements of simulated sensors to bytes on the line.

use super::sentence::write;
use crate::pace::Pace;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
};
use bowline_msgs::{GpsFix, GpsRmc, Heading, Serial, Sounding};
use std::f64::consts::FRAC_PI_2;

bowline_component::parameters! {
    /// What a simulated line is like.
    pub struct NmeaTwinParameters {
        /// Bits a second; a byte has ten.
        baud: i64 = 38_400, within 300..=4_000_000;
        /// What the receiver calls itself, two letters.
        talker: String = "GP".into();
    }
}

/// Writes the measurements of simulated sensors as sentences, as fast as the line is: they arrive late and in pieces.
#[derive(Debug)]
pub struct NmeaTwin {
    parameters: NmeaTwinParameters,
    pace: Pace,
    fix: Input<GpsFix>,
    rmc: Input<GpsRmc>,
    heading: Input<Heading>,
    depth: Input<Sounding>,
    line_out: Output<Serial>,
}

impl Build for NmeaTwin {
    type Parameters = NmeaTwinParameters;

    fn build(parameters: NmeaTwinParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let talker = parameters.talker.as_bytes();
        if talker.len() != 2 || !talker.iter().all(u8::is_ascii_uppercase) {
            let found = &parameters.talker;
            return Err(format!("talker: expected two capital letters, found {found:?}").into());
        }
        let expect = Expect::ever().optional();
        Ok(Self {
            pace: Pace::new(parameters.baud),
            parameters,
            fix: ports.input("fix", "Where the receiver is.", expect),
            rmc: ports.input("rmc", "Where it is, and how fast it goes.", expect),
            heading: ports.input("heading", "Where the compass points.", expect),
            depth: ports.input("depth", "How deep the water is.", expect),
            line_out: ports.output("line_out", "The output of the devices."),
        })
    }
}

impl Component for NmeaTwin {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_start() {
            out.health(Health::Good);
        }
        let talker = &self.parameters.talker;
        let mut sentences = Vec::new();
        if let Some(fix) = step.arrived(self.fix) {
            sentences.extend([gst(talker, &fix), gga(talker, &fix)]);
        }
        if let Some(message) = step.arrived(self.rmc) {
            sentences.push(rmc(talker, &message));
        }
        if let Some(heading) = step.arrived(self.heading) {
            sentences.push(hdg(&heading));
        }
        if let Some(depth) = step.arrived(self.depth) {
            sentences.push(dpt(&depth));
        }
        for sentence in &sentences {
            if !self.pace.push(step.now(), sentence.as_bytes()) {
                let n = self.pace.n_dropped();
                out.health(Health::Degraded(format!(
                    "the line is too slow: {n} sentences were left out"
                )));
            }
        }
        self.pace.run(self.line_out, out);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

/// Deviations, which the next fix has.
pub(super) fn gst(talker: &str, fix: &GpsFix) -> String {
    let (across_m, up_m) = (fix.horizontal_sd_m, fix.vertical_sd_m);
    let mut fields = vec![time(fix.utime)];
    fields.extend([across_m, across_m, across_m, 0.0, across_m, across_m, up_m].map(number));
    write(talker, "GST", &fields)
}

pub(super) fn gga(talker: &str, fix: &GpsFix) -> String {
    let is_fix = [fix.lat_deg, fix.lon_deg, fix.alt_m]
        .iter()
        .all(|number| number.is_finite());
    let quality = match fix.horizontal_sd_m {
        _ if !is_fix => "0",
        sd_m if sd_m < 0.05 => "4",
        sd_m if sd_m < 1.5 => "2",
        _ => "1",
    };
    let mut fields = vec![time(fix.utime)];
    fields.extend(place(fix.lat_deg, fix.lon_deg));
    fields.extend([quality, "09", "1.0"].map(str::to_owned));
    // Heights are above the ellipsoid already: here the geoid is nowhere apart from it.
    fields.extend([number(fix.alt_m), "M".to_owned()]);
    fields.extend(["0.0", "M", "", ""].map(str::to_owned));
    write(talker, "GGA", &fields)
}

pub(super) fn rmc(talker: &str, rmc: &GpsRmc) -> String {
    let is_fix = [rmc.lat, rmc.lon, rmc.sog].iter().all(|it| it.is_finite());
    let mut fields = vec![time(rmc.utime)];
    fields.push(if is_fix { "A" } else { "V" }.to_owned());
    fields.extend(place(rmc.lat, rmc.lon));
    fields.extend([number(rmc.sog), String::new(), date(rmc.utime)]);
    fields.extend(["", "", if is_fix { "A" } else { "N" }].map(str::to_owned));
    write(talker, "RMC", &fields)
}

pub(super) fn hdg(heading: &Heading) -> String {
    let heading_deg = (FRAC_PI_2 - heading.heading_rad).to_degrees();
    // Rounding must not make a full turn of nearly one.
    let heading_deg = (heading_deg.rem_euclid(360.0) * 100.0).round() / 100.0 % 360.0;
    let mut fields = vec![match heading_deg.is_finite() {
        true => format!("{heading_deg:.2}"),
        false => String::new(),
    }];
    fields.extend(["", "", "", ""].map(str::to_owned));
    write("HC", "HDG", &fields)
}

pub(super) fn dpt(depth: &Sounding) -> String {
    write("SD", "DPT", &[number(depth.depth_m), "0.0".to_owned()])
}

/// To the millimetre; what is no number is empty.
fn number(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:.3}"),
        false => String::new(),
    }
}

/// Latitude and longitude, to some centimetres of a millimetre.
fn place(lat_deg: f64, lon_deg: f64) -> [String; 4] {
    if !lat_deg.is_finite() || !lon_deg.is_finite() {
        return [const { String::new() }; 4];
    }
    let half = |degrees: f64, halves: [&str; 2]| {
        halves[usize::from(degrees.is_sign_negative())].to_owned()
    };
    [
        minutes(lat_deg, 2),
        half(lat_deg, ["N", "S"]),
        minutes(lon_deg, 3),
        half(lon_deg, ["E", "W"]),
    ]
}

/// `ddmm.mmmmmmm`, with so many digits for the degrees.
fn minutes(degrees: f64, n_digits: usize) -> String {
    const PER_MINUTE: u64 = 10_000_000;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "not negative, and no more than 180 degrees: twelve digits"
    )]
    let units = (degrees.abs() * 60.0 * PER_MINUTE as f64).round() as u64;
    let (whole, rest) = (units / (60 * PER_MINUTE), units % (60 * PER_MINUTE));
    let (minutes, fraction) = (rest / PER_MINUTE, rest % PER_MINUTE);
    format!("{whole:0n_digits$}{minutes:02}.{fraction:07}")
}

const DAY_US: i64 = 86_400_000_000;

/// `hhmmss.sss`.
fn time(utime: i64) -> String {
    let ms = utime.rem_euclid(DAY_US) / 1_000;
    let (seconds, ms) = (ms / 1_000, ms % 1_000);
    format!(
        "{:02}{:02}{:02}.{ms:03}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `ddmmyy`: the day of the Gregorian calendar, counted in years that begin in March.
fn date(utime: i64) -> String {
    let days = utime.div_euclid(DAY_US) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, years) = match month < 10 {
        true => (month + 3, 0),
        false => (month - 9, 1),
    };
    let year = (era * 400 + year_of_era + years).rem_euclid(100);
    format!("{day:02}{month:02}{year:02}")
}

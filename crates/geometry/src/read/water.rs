//! What sensors of the water say about themselves.

use super::body::SENSOR;
use super::sight::{noise, required_ranges};
use crate::assembly::is_name;
use crate::mistake::Mistakes;
use crate::sensor::{Multibeam, Sonar, Spectrometer, SpectrumMass};
use crate::xml::{Element, NOT_NEGATIVE, POSITIVE, RATIO, VIEW_DEG, numbers};

/// Sound in sea water of 10 degrees, metres a second.
const SOUND_MPS: f64 = 1_490.0;
/// A fan of more is none that looks ahead.
const MAX_FAN_DEG: f64 = 170.0;
/// As many as a message can have.
const MAX_BEAMS: u32 = 10_000;
const MAX_MASSES: usize = 1_000;

pub(super) fn sonar(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Sonar> {
    let own = &["range_min_m", "range_max_m", "fov_deg", "range_sd_m"];
    element.allow(&[SENSOR, own], mistakes);
    element.required("fov_deg", mistakes);
    let fov_deg = element.number_in("fov_deg", VIEW_DEG, mistakes);
    let [range_min_m, range_max_m] = required_ranges(element, mistakes)?;
    Some(Sonar {
        range_min_m,
        range_max_m,
        fov_rad: fov_deg?.to_radians(),
        range_sd_m: noise(element, "range_sd_m", mistakes),
    })
}

pub(super) fn multibeam(
    element: Element<'_>,
    common: &[&str],
    mistakes: &mut Mistakes,
) -> Option<Multibeam> {
    let own = &["beams", "fov_deg", "range_min_m", "range_max_m"];
    let errors = &[
        "beam_width_deg",
        "range_sd_m",
        "dropout_ratio",
        "sound_speed_mps",
    ];
    element.allow(&[common, own, errors], mistakes);
    for name in ["beams", "fov_deg"] {
        element.required(name, mistakes);
    }
    let n_beams = element.count("beams", mistakes);
    if n_beams.is_some_and(|n_beams| !(2..=MAX_BEAMS).contains(&n_beams)) {
        let expected = format_args!("a whole number from 2 to {MAX_BEAMS}");
        element.refuse_value("beams", expected, mistakes);
        return None;
    }
    let fov_deg = element.number_in("fov_deg", VIEW_DEG, mistakes);
    if fov_deg.is_some_and(|fov| fov > MAX_FAN_DEG) {
        let expected = format_args!("an angle above 0 and up to {MAX_FAN_DEG} degrees");
        element.refuse_value("fov_deg", expected, mistakes);
        return None;
    }
    let dropout_ratio = element.number_in("dropout_ratio", RATIO, mistakes);
    let sound_speed_mps = element.number_in("sound_speed_mps", POSITIVE, mistakes);
    let [range_min_m, range_max_m] = required_ranges(element, mistakes)?;
    Some(Multibeam {
        n_beams: n_beams?,
        fov_rad: fov_deg?.to_radians(),
        beam_width_rad: noise(element, "beam_width_deg", mistakes).to_radians(),
        range_min_m,
        range_max_m,
        range_sd_m: noise(element, "range_sd_m", mistakes),
        dropout_ratio: dropout_ratio.unwrap_or(0.0),
        sound_speed_mps: sound_speed_mps.unwrap_or(SOUND_MPS),
    })
}

pub(super) fn spectrometer(
    element: Element<'_>,
    common: &[&str],
    mistakes: &mut Mistakes,
) -> Option<Spectrometer> {
    let own = &[
        "masses",
        "sensitivity_a",
        "current_sd_ratio",
        "current_sd_a",
    ];
    element.allow(&[common, own], mistakes);
    for name in ["masses", "sensitivity_a"] {
        element.required(name, mistakes);
    }
    let masses = masses(element, mistakes);
    let sensitivity_a = element.number_in("sensitivity_a", NOT_NEGATIVE, mistakes);
    Some(Spectrometer {
        masses: masses?,
        sensitivity_a: sensitivity_a?,
        current_sd_ratio: noise(element, "current_sd_ratio", mistakes),
        current_sd_a: noise(element, "current_sd_a", mistakes),
    })
}

/// `daltons substance ampere, daltons substance ampere, ...`.
fn masses(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Vec<SpectrumMass>> {
    let text = element.attribute("masses")?;
    let rows = text.split(',').map(|row| {
        let mut words = row.split_ascii_whitespace();
        let [mass_da] = numbers(words.next()?)?;
        let substance = words.next().filter(|word| is_name(word))?.to_owned();
        let [background_a] = numbers(words.next()?)?;
        let is_sound = mass_da > 0.0 && background_a >= 0.0 && words.next().is_none();
        is_sound.then_some(SpectrumMass {
            mass_da,
            substance,
            background_a,
        })
    });
    let rows: Option<Vec<SpectrumMass>> = rows.take(MAX_MASSES).collect();
    if rows.is_none() {
        let expected =
            "rows of daltons, a substance and its background in ampere, with commas between them";
        element.refuse_value("masses", expected, mistakes);
    }
    rows
}

//! Vessels and sensors of the water, which SDF has no words for.

use super::super::markup::Markup;
use super::{joined, number, write_ours};
use crate::hull::{Hull, Thruster};
use crate::sensor::{Multibeam, Sonar, Spectrometer};

/// Simulators have vessels by plugins, each another: this is for our own reader.
pub(super) fn hull(out: &mut Markup, hull: &Hull) {
    let Hull {
        place: _,
        length_m,
        beam_m,
        added_mass,
        linear_drag,
        quadratic_drag,
        munk_ratio,
        windage_m2,
    } = hull;
    out.empty(
        "bowline:hull",
        &[
            ("length_m", &length_m.to_string()),
            ("beam_m", &beam_m.to_string()),
            ("added_mass", &joined(*added_mass)),
            ("linear_drag", &joined(*linear_drag)),
            ("quadratic_drag", &joined(*quadratic_drag)),
            ("munk_ratio", &munk_ratio.to_string()),
            ("windage_m2", &joined(*windage_m2)),
        ],
    );
}

pub(super) fn thruster(out: &mut Markup, thruster: &Thruster) {
    out.empty(
        "bowline:thruster",
        &[
            ("name", &thruster.name),
            ("frame", &thruster.frame),
            ("ahead_n", &thruster.ahead_n.to_string()),
            ("astern_n", &thruster.astern_n.to_string()),
            ("lag_s", &thruster.lag_s.to_string()),
        ],
    );
}

pub(super) fn sonar(out: &mut Markup, sonar: &Sonar) {
    out.open("sonar", &[]);
    number(out, "min", sonar.range_min_m);
    number(out, "max", sonar.range_max_m);
    let radius = sonar.range_max_m * (sonar.fov_rad / 2.0).tan();
    number(out, "radius", radius);
    out.empty(
        "bowline:sonar",
        &[
            ("fov_rad", &sonar.fov_rad.to_string()),
            ("range_sd_m", &sonar.range_sd_m.to_string()),
        ],
    );
    out.close();
}

pub(super) fn multibeam(out: &mut Markup, multibeam: &Multibeam) {
    write_ours(
        out,
        "bowline:multibeam",
        &[
            ("beams", multibeam.n_beams.into()),
            ("fov_deg", multibeam.fov_rad.to_degrees()),
            ("beam_width_deg", multibeam.beam_width_rad.to_degrees()),
            ("range_min_m", multibeam.range_min_m),
            ("range_max_m", multibeam.range_max_m),
            ("range_sd_m", multibeam.range_sd_m),
            ("dropout_ratio", multibeam.dropout_ratio),
            ("sound_speed_mps", multibeam.sound_speed_mps),
        ],
    );
}

pub(super) fn spectrometer(out: &mut Markup, spectrometer: &Spectrometer) {
    let masses = spectrometer.masses.iter();
    let rows: Vec<String> = masses
        .map(|it| format!("{} {} {}", it.mass_da, it.substance, it.background_a))
        .collect();
    out.empty(
        "bowline:spectrometer",
        &[
            ("masses", &rows.join(", ")),
            ("sensitivity_a", &spectrometer.sensitivity_a.to_string()),
            (
                "current_sd_ratio",
                &spectrometer.current_sd_ratio.to_string(),
            ),
            ("current_sd_a", &spectrometer.current_sd_a.to_string()),
        ],
    );
}

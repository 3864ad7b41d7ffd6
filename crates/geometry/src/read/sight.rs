//! What sensors that see, and those that know where they are, say about themselves.

use super::body::SENSOR;
use crate::mistake::Mistakes;
use crate::sensor::{Bumper, Camera, CameraGives, Depth, Ins, Laser, RangeError};
use crate::xml::{Element, NOT_NEGATIVE, POSITIVE, VIEW_DEG, numbers};

pub(super) fn noise(element: Element<'_>, name: &str, mistakes: &mut Mistakes) -> f64 {
    let found = element.number_in(name, NOT_NEGATIVE, mistakes);
    found.unwrap_or(0.0)
}

/// The nearest and the furthest of what is seen.
fn ranges(element: Element<'_>, names: [&str; 2], mistakes: &mut Mistakes) -> Option<[f64; 2]> {
    let [least, most] = names;
    let near = element.number_in(least, NOT_NEGATIVE, mistakes);
    let far = element.number_in(most, POSITIVE, mistakes);
    let (near, far) = (near?, far?);
    if near >= far {
        element.refuse_value(most, format_args!("more than {least}"), mistakes);
        return None;
    }
    Some([near, far])
}

pub(super) fn required_ranges(element: Element<'_>, mistakes: &mut Mistakes) -> Option<[f64; 2]> {
    let names = ["range_min_m", "range_max_m"];
    for name in names {
        element.required(name, mistakes);
    }
    ranges(element, names, mistakes)
}

pub(super) fn laser(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Laser> {
    let own = &[
        "beams",
        "fov_deg",
        "centre_deg",
        "rows",
        "fov_vertical_deg",
        "centre_vertical_deg",
        "range_min_m",
        "range_max_m",
        "resolution_m",
        "range_sd_m",
    ];
    let errors = &["range_sd_per_m", "bearing_sd_deg", "range_errors"];
    element.allow(&[SENSOR, own, errors], mistakes);
    for name in ["beams", "fov_deg"] {
        element.required(name, mistakes);
    }
    let n_beams = element.count("beams", mistakes);
    let n_rows = match element.attribute("rows") {
        Some(_) => element.count("rows", mistakes),
        None => Some(1),
    };
    let across = view(element, "fov_deg", "centre_deg", mistakes);
    let upright = view(element, "fov_vertical_deg", "centre_vertical_deg", mistakes);
    let ranges = required_ranges(element, mistakes);
    let resolution_m = noise(element, "resolution_m", mistakes);
    let range_sd_m = noise(element, "range_sd_m", mistakes);
    if n_rows.is_some_and(|n_rows| n_rows > 1) {
        element.required("fov_vertical_deg", mistakes);
    }
    let ([first_rad, last_rad], [lowest_rad, highest_rad]) = (across, upright);
    let [range_min_m, range_max_m] = ranges?;
    Some(Laser {
        n_beams: n_beams?,
        first_rad,
        last_rad,
        n_rows: n_rows?,
        lowest_rad,
        highest_rad,
        range_min_m,
        range_max_m,
        resolution_m,
        range_sd_m,
        range_sd_per_m: noise(element, "range_sd_per_m", mistakes),
        bearing_sd_rad: noise(element, "bearing_sd_deg", mistakes).to_radians(),
        range_errors: range_errors(element, mistakes),
    })
}

/// `range bias sd, range bias sd, ...`: metres, with growing ranges.
pub(super) fn range_errors(element: Element<'_>, mistakes: &mut Mistakes) -> Vec<RangeError> {
    let Some(text) = element.attribute("range_errors") else {
        return Vec::new();
    };
    let rows = text.split(',').map(|row| {
        let [range_m, bias_m, sd_m] = numbers(row)?;
        (range_m >= 0.0 && sd_m >= 0.0).then_some(RangeError {
            range_m,
            bias_m,
            sd_m,
        })
    });
    let rows: Option<Vec<RangeError>> = rows.collect();
    let rows = rows.filter(|rows| rows.is_sorted_by(|one, two| one.range_m < two.range_m));
    if rows.is_none() {
        let expected =
            "rows of range, bias and deviation with commas between them, with growing ranges";
        element.refuse_value("range_errors", expected, mistakes);
    }
    rows.unwrap_or_default()
}

/// A stereo or depth camera.
pub(super) fn depth(
    element: Element<'_>,
    common: &[&str],
    mistakes: &mut Mistakes,
) -> Option<Depth> {
    let own = &[
        "width_px",
        "height_px",
        "fov_deg",
        "near_m",
        "far_m",
        "decimation",
        "depth_sd_m",
        "depth_sd_per_m2",
    ];
    element.allow(&[common, own], mistakes);
    for name in ["width_px", "height_px", "fov_deg", "near_m", "far_m"] {
        element.required(name, mistakes);
    }
    let width_px = element.count("width_px", mistakes);
    let height_px = element.count("height_px", mistakes);
    let fov_deg = element.number_in("fov_deg", VIEW_DEG, mistakes);
    if fov_deg.is_some_and(|fov| fov >= 179.0) {
        element.refuse_value(
            "fov_deg",
            "less than 179 degrees: a picture is flat",
            mistakes,
        );
        return None;
    }
    let decimation = match element.attribute("decimation") {
        Some(_) => element.count("decimation", mistakes),
        None => Some(1),
    };
    let [near_m, far_m] = ranges(element, ["near_m", "far_m"], mistakes)?;
    Some(Depth {
        width_px: width_px?,
        height_px: height_px?,
        fov_rad: fov_deg?.to_radians(),
        near_m,
        far_m,
        decimation: decimation?,
        depth_sd_m: noise(element, "depth_sd_m", mistakes),
        depth_sd_per_m2: noise(element, "depth_sd_per_m2", mistakes),
    })
}

/// Inertial navigation.
pub(super) fn ins(element: Element<'_>, common: &[&str], mistakes: &mut Mistakes) -> Ins {
    let own = &[
        "position_sd_m",
        "attitude_sd_deg",
        "heading_sd_deg",
        "correlation_s",
    ];
    element.allow(&[common, own], mistakes);
    Ins {
        position_sd_m: noise(element, "position_sd_m", mistakes),
        attitude_sd_rad: noise(element, "attitude_sd_deg", mistakes).to_radians(),
        heading_sd_rad: noise(element, "heading_sd_deg", mistakes).to_radians(),
        correlation_s: noise(element, "correlation_s", mistakes),
    }
}

/// A switch.
pub(super) fn bumper(element: Element<'_>, common: &[&str], mistakes: &mut Mistakes) -> Bumper {
    element.allow(&[common, &["force_n"]], mistakes);
    Bumper {
        force_n: noise(element, "force_n", mistakes),
    }
}

/// A field of view about a direction, from its one end to the other.
fn view(element: Element<'_>, width: &str, centre: &str, mistakes: &mut Mistakes) -> [f64; 2] {
    let half = element.number_in(width, VIEW_DEG, mistakes).unwrap_or(0.0) / 2.0;
    let centre = element.number(centre, mistakes).unwrap_or(0.0);
    [centre - half, centre + half].map(f64::to_radians)
}

pub(super) fn camera(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Camera> {
    let own = &[
        "width_px",
        "height_px",
        "fov_deg",
        "near_m",
        "far_m",
        "pixel_sd",
        "gives",
    ];
    element.allow(&[SENSOR, own], mistakes);
    for name in ["width_px", "height_px", "fov_deg"] {
        element.required(name, mistakes);
    }
    let width_px = element.count("width_px", mistakes);
    let height_px = element.count("height_px", mistakes);
    let fov_deg = element.number_in("fov_deg", VIEW_DEG, mistakes);
    let pixel_sd = noise(element, "pixel_sd", mistakes);
    let mut distance = |name, usual| match element.attribute(name) {
        Some(_) => element.number_in(name, POSITIVE, mistakes),
        None => Some(usual),
    };
    let (near_m, far_m) = (distance("near_m", 0.1), distance("far_m", 100.0));
    let (near_m, far_m) = (near_m?, far_m?);
    if near_m >= far_m {
        element.refuse_value("far_m", "more than near_m", mistakes);
    }
    Some(Camera {
        width_px: width_px?,
        height_px: height_px?,
        fov_rad: fov_deg?.to_radians(),
        near_m,
        far_m,
        pixel_sd,
        gives: gives(element, mistakes),
    })
}

/// What a camera tells; a vision module's lines, if nobody says.
pub(super) fn gives(element: Element<'_>, mistakes: &mut Mistakes) -> CameraGives {
    match element.attribute("gives") {
        None | Some("lines") => CameraGives::Lines,
        Some("picture") => CameraGives::Picture,
        Some(_) => {
            element.refuse_value("gives", "lines or picture", mistakes);
            CameraGives::Lines
        }
    }
}

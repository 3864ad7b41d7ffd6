//! Elements of a body as SDF: sensors that SDF has words for in these words, and all of them in ours.

use super::super::markup::Markup;
use super::number;
use crate::element::Element;

/// An element that is no sensor. Simulators have such things by plugins, each by another: this is for our own reader.
pub(super) fn device(out: &mut Markup, element: &Element) {
    let identity = [("name", &element.name), ("frame", &element.frame)];
    let identity = identity
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)));
    ours(out, element, identity);
}

/// An element of our namespace, with the contents of a Body file.
fn ours<'e>(
    out: &mut Markup,
    element: &'e Element,
    identity: impl Iterator<Item = (&'e str, &'e str)>,
) {
    let given = element.attributes.iter();
    let given = given.map(|it| (it.name.as_str(), it.value.as_str()));
    let attributes: Vec<(&str, &str)> = identity.chain(given).collect();
    out.empty(&format!("bowline:{}", element.word), &attributes);
}

pub(super) fn sensor(out: &mut Markup, body: &str, sensor: &Element) {
    let translation = TRANSLATIONS.iter().find(|it| it.word == sensor.word);
    let kind = translation.map_or("custom", |it| it.sdf);
    let name = sensor.name.as_deref().unwrap_or_default();
    out.open("sensor", &[("name", name), ("type", kind)]);
    let frame = format!("{body}:{}", sensor.frame.as_deref().unwrap_or_default());
    out.empty("pose", &[("relative_to", &frame)]);
    number(out, "update_rate", sensor.rate_hz());
    if let Some(translation) = translation {
        (translation.write)(out, &Numbers(sensor));
    }
    ours(out, sensor, std::iter::empty());
    out.close();
}

/// A sensor that SDF has words for.
struct Translation {
    word: &'static str,
    /// SDF's type.
    sdf: &'static str,
    write: fn(&mut Markup, &Numbers<'_>),
}

/// The sensors that SDF itself has. All others are `custom` there, and need nothing here.
const TRANSLATIONS: &[Translation] = &[
    Translation {
        word: "camera",
        sdf: "camera",
        write: camera,
    },
    Translation {
        word: "gps",
        sdf: "navsat",
        write: gps,
    },
    Translation {
        word: "imu",
        sdf: "imu",
        write: imu,
    },
    Translation {
        word: "laser",
        sdf: "gpu_lidar",
        write: laser,
    },
    Translation {
        word: "magnetometer",
        sdf: "magnetometer",
        write: |out, sensor| {
            out.open("magnetometer", &[]);
            for axis in ["x", "y", "z"] {
                noise_of(out, axis, sensor.or("field_sd_t", 0.0));
            }
            out.close();
        },
    },
    Translation {
        word: "sonar",
        sdf: "sonar",
        write: |out, sensor| {
            out.open("sonar", &[]);
            let range_max_m = sensor.or("range_max_m", 1.0);
            number(out, "min", sensor.or("range_min_m", 0.0));
            number(out, "max", range_max_m);
            let half_rad = sensor.or("fov_deg", 0.0).to_radians() / 2.0;
            number(out, "radius", range_max_m * half_rad.tan());
            out.close();
        },
    },
];

/// The numbers of an element.
struct Numbers<'e>(&'e Element);

impl Numbers<'_> {
    fn or(&self, attribute: &str, usual: f64) -> f64 {
        self.0.number(attribute).unwrap_or(usual)
    }
}

fn gps(out: &mut Markup, gps: &Numbers<'_>) {
    out.open("navsat", &[]);
    out.open("position_sensing", &[]);
    noise_of(out, "horizontal", gps.or("horizontal_sd_m", 0.0));
    noise_of(out, "vertical", gps.or("vertical_sd_m", 0.0));
    out.close();
    out.close();
}

fn imu(out: &mut Markup, imu: &Numbers<'_>) {
    out.open("imu", &[]);
    for (what, sd) in [
        ("angular_velocity", imu.or("gyro_sd_radps", 0.0)),
        ("linear_acceleration", imu.or("accel_sd_mps2", 0.0)),
    ] {
        out.open(what, &[]);
        for axis in ["x", "y", "z"] {
            noise_of(out, axis, sd);
        }
        out.close();
    }
    out.close();
}

fn noise_of(out: &mut Markup, what: &'static str, sd: f64) {
    out.open(what, &[]);
    out.open("noise", &[("type", "gaussian")]);
    number(out, "mean", 0.0);
    number(out, "stddev", sd);
    out.close();
    out.close();
}

/// Noise where SDF has its type as an element.
fn noise(out: &mut Markup, sd: f64) {
    out.open("noise", &[]);
    out.leaf("type", &[], "gaussian");
    number(out, "mean", 0.0);
    number(out, "stddev", sd);
    out.close();
}

fn laser(out: &mut Markup, laser: &Numbers<'_>) {
    out.open("lidar", &[]);
    out.open("scan", &[]);
    for (name, samples, view) in [
        ("horizontal", "beams", ["fov_deg", "centre_deg"]),
        (
            "vertical",
            "rows",
            ["fov_vertical_deg", "centre_vertical_deg"],
        ),
    ] {
        out.open(name, &[]);
        number(out, "samples", laser.or(samples, 1.0));
        number(out, "resolution", 1.0);
        let [width, centre] = view.map(|name| laser.or(name, 0.0));
        number(out, "min_angle", (centre - width / 2.0).to_radians());
        number(out, "max_angle", (centre + width / 2.0).to_radians());
        out.close();
    }
    out.close();
    out.open("range", &[]);
    number(out, "min", laser.or("range_min_m", 0.0));
    number(out, "max", laser.or("range_max_m", 0.0));
    number(out, "resolution", laser.or("resolution_m", 0.0));
    out.close();
    noise(out, laser.or("range_sd_m", 0.0));
    out.close();
}

fn camera(out: &mut Markup, camera: &Numbers<'_>) {
    out.open("camera", &[]);
    let fov_rad = camera.or("fov_deg", 60.0).to_radians();
    number(out, "horizontal_fov", fov_rad);
    out.open("image", &[]);
    number(out, "width", camera.or("width_px", 320.0));
    number(out, "height", camera.or("height_px", 240.0));
    out.leaf("format", &[], "R8G8B8");
    out.close();
    out.open("clip", &[]);
    number(out, "near", camera.or("near_m", 0.1));
    number(out, "far", camera.or("far_m", 100.0));
    out.close();
    noise(out, camera.or("pixel_sd", 0.0));
    out.close();
}

//! SDF's sensors, as ours.

use super::super::{sight, water};
use super::{bad_text, clean, ours};
use crate::mistake::Mistakes;
use crate::sensor::{
    Camera, CameraGives, Encoder, Gps, Imu, Laser, Magnetometer, SensorKind, Sonar,
};
use crate::xml::{Element, numbers};

/// Its name, its rate, and what it is.
pub(crate) type Read = (String, f64, SensorKind);

/// A `<sensor>`, unless it is of a kind that is none of ours.
pub(crate) fn read(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Read> {
    let name = clean(element.required("name", mistakes)?);
    let mut values = Values { mistakes };
    let rate_hz = values.number(element, &["update_rate"], 0.0);
    let kind = match element.attribute("type")? {
        "lidar" | "gpu_lidar" | "ray" | "gpu_ray" => {
            let lidar = element.child("lidar").or_else(|| element.child("ray"))?;
            SensorKind::Laser(values.laser(lidar))
        }
        "camera" | "wideanglecamera" | "depth" | "depth_camera" | "rgbd_camera" => {
            SensorKind::Camera(values.camera(element.child("camera")?))
        }
        "navsat" | "gps" => {
            let gps = element.child("navsat").or_else(|| element.child("gps"));
            SensorKind::Gps(Gps {
                horizontal_sd_m: values.noise(gps, &["position_sensing", "horizontal"]),
                vertical_sd_m: values.noise(gps, &["position_sensing", "vertical"]),
            })
        }
        "imu" => {
            let imu = element.child("imu");
            SensorKind::Imu(Imu {
                gyro_sd_radps: values.noise(imu, &["angular_velocity", "x"]),
                accel_sd_mps2: values.noise(imu, &["linear_acceleration", "x"]),
            })
        }
        "magnetometer" => SensorKind::Magnetometer(Magnetometer {
            field_sd_t: values.noise(element.child("magnetometer"), &["x"]),
        }),
        "sonar" => {
            let sonar = element.child("sonar")?;
            let range_max_m = values.number(sonar, &["max"], 1.0);
            let radius = values.number(sonar, &["radius"], 0.5);
            // What the cone's radius at its far end cannot say exactly, our own exports say again.
            let hint = ours(sonar, "sonar").and_then(|it| it.number("fov_rad", values.mistakes));
            SensorKind::Sonar(Sonar {
                range_min_m: values.number(sonar, &["min"], 0.0),
                range_max_m,
                fov_rad: hint.unwrap_or_else(|| 2.0 * radius.atan2(range_max_m)),
                range_sd_m: ours(sonar, "sonar")
                    .map_or(0.0, |it| sight::noise(it, "range_sd_m", values.mistakes)),
            })
        }
        "custom" => custom(element, values.mistakes)?,
        _ => return None,
    };
    Some((name, rate_hz, kind))
}

/// What only our own exports can say, as body files say it.
fn custom(element: Element<'_>, mistakes: &mut Mistakes) -> Option<SensorKind> {
    if let Some(depth) = ours(element, "depth") {
        return sight::depth(depth, &[], mistakes).map(SensorKind::Depth);
    }
    if let Some(ins) = ours(element, "ins") {
        return Some(SensorKind::Ins(sight::ins(ins, &[], mistakes)));
    }
    if let Some(bumper) = ours(element, "bumper") {
        return Some(SensorKind::Bumper(sight::bumper(bumper, &[], mistakes)));
    }
    if let Some(multibeam) = ours(element, "multibeam") {
        return water::multibeam(multibeam, &[], mistakes).map(SensorKind::Multibeam);
    }
    if let Some(spectrometer) = ours(element, "spectrometer") {
        let found = water::spectrometer(spectrometer, &[], mistakes);
        return found.map(SensorKind::Spectrometer);
    }
    let encoder = ours(element, "encoder")?;
    let ticks_per_turn = encoder.count("ticks_per_turn", mistakes)?;
    Some(SensorKind::Encoder(Encoder { ticks_per_turn }))
}

struct Values<'m> {
    mistakes: &'m mut Mistakes,
}

impl Values<'_> {
    fn number(&mut self, element: Element<'_>, path: &[&str], usual: f64) -> f64 {
        let Some(found) = element.descend(path) else {
            return usual;
        };
        // "inf" is a word that ranges of sensors may have.
        let is_far = matches!(found.text(), "inf" | "+inf");
        let number = numbers::<1>(found.text()).map(|[number]| number);
        if is_far {
            return 1e9;
        }
        number.unwrap_or_else(|| {
            bad_text(found, "a number", self.mistakes);
            usual
        })
    }

    fn count(&mut self, element: Element<'_>, path: &[&str], usual: u32) -> u32 {
        let Some(found) = element.descend(path) else {
            return usual;
        };
        found.text().parse().unwrap_or_else(|_| {
            bad_text(found, "a whole number", self.mistakes);
            usual
        })
    }

    fn noise(&mut self, element: Option<Element<'_>>, path: &[&str]) -> f64 {
        let place = element.and_then(|element| element.descend(path));
        place.map_or(0.0, |place| self.number(place, &["noise", "stddev"], 0.0))
    }

    /// What only our own exports say of a laser.
    fn hint(&mut self, lidar: Element<'_>, name: &str) -> f64 {
        ours(lidar, "lidar").map_or(0.0, |it| sight::noise(it, name, self.mistakes))
    }

    fn laser(&mut self, lidar: Element<'_>) -> Laser {
        Laser {
            n_beams: self.count(lidar, &["scan", "horizontal", "samples"], 640),
            first_rad: self.number(lidar, &["scan", "horizontal", "min_angle"], 0.0),
            last_rad: self.number(lidar, &["scan", "horizontal", "max_angle"], 0.0),
            n_rows: self.count(lidar, &["scan", "vertical", "samples"], 1),
            lowest_rad: self.number(lidar, &["scan", "vertical", "min_angle"], 0.0),
            highest_rad: self.number(lidar, &["scan", "vertical", "max_angle"], 0.0),
            range_min_m: self.number(lidar, &["range", "min"], 0.0),
            range_max_m: self.number(lidar, &["range", "max"], 0.0),
            resolution_m: self.number(lidar, &["range", "resolution"], 0.0),
            range_sd_m: self.number(lidar, &["noise", "stddev"], 0.0),
            range_sd_per_m: self.hint(lidar, "range_sd_per_m"),
            bearing_sd_rad: self.hint(lidar, "bearing_sd_deg").to_radians(),
            range_errors: ours(lidar, "lidar")
                .map_or_else(Vec::new, |it| sight::range_errors(it, self.mistakes)),
        }
    }

    fn camera(&mut self, camera: Element<'_>) -> Camera {
        Camera {
            width_px: self.count(camera, &["image", "width"], 320),
            height_px: self.count(camera, &["image", "height"], 240),
            fov_rad: self.number(camera, &["horizontal_fov"], 1.047),
            near_m: self.number(camera, &["clip", "near"], 0.1),
            far_m: self.number(camera, &["clip", "far"], 100.0),
            pixel_sd: self.number(camera, &["noise", "stddev"], 0.0),
            gives: ours(camera, "camera")
                .map_or(CameraGives::Lines, |it| sight::gives(it, self.mistakes)),
        }
    }
}

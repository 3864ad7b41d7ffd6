//! SDF's sensors, as ours: what a Body file would have for them.
//!
//! Our own exports have that in an element of our namespace, word for word; of others, what SDF has words for is translated.

use super::{bad_text, clean, ours_of_any_name};
use crate::element::{Element as Open, Given};
use crate::mistake::Mistakes;
use crate::xml::{Element, numbers};

/// A `<sensor>` without the frame that it sits in, unless it is of a kind that is none of ours.
pub(crate) fn read(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Open> {
    let name = clean(element.required("name", mistakes)?);
    if let Some(ours) = ours_of_any_name(element) {
        return Some(Open {
            word: ours.name().to_owned(),
            place: element.place(),
            name: Some(name),
            frame: None,
            attributes: ours.others(&[], mistakes),
        });
    }
    let mut sensor = Translation {
        attributes: Vec::new(),
        source: element,
        mistakes,
    };
    let rate_hz = sensor.number(element, &["update_rate"], 0.0);
    sensor.add("rate_hz", rate_hz);
    let word = match element.attribute("type")? {
        "lidar" | "gpu_lidar" | "ray" | "gpu_ray" => {
            sensor.laser(element.child("lidar").or_else(|| element.child("ray"))?)
        }
        "camera" | "wideanglecamera" | "depth" | "depth_camera" | "rgbd_camera" => {
            sensor.camera(element.child("camera")?)
        }
        "navsat" | "gps" => {
            let gps = element.child("navsat").or_else(|| element.child("gps"));
            sensor.noise("horizontal_sd_m", gps, &["position_sensing", "horizontal"]);
            sensor.noise("vertical_sd_m", gps, &["position_sensing", "vertical"]);
            "gps"
        }
        "imu" => {
            let imu = element.child("imu");
            sensor.noise("gyro_sd_radps", imu, &["angular_velocity", "x"]);
            sensor.noise("accel_sd_mps2", imu, &["linear_acceleration", "x"]);
            "imu"
        }
        "magnetometer" => {
            sensor.noise("field_sd_t", element.child("magnetometer"), &["x"]);
            "magnetometer"
        }
        "sonar" => sensor.sonar(element.child("sonar")?),
        _ => return None,
    };
    Some(Open {
        word: word.to_owned(),
        place: element.place(),
        name: Some(name),
        frame: None,
        attributes: sensor.attributes,
    })
}

/// A sensor of SDF on its way to one of ours.
struct Translation<'m, 'd> {
    attributes: Vec<Given>,
    source: Element<'d>,
    mistakes: &'m mut Mistakes,
}

impl Translation<'_, '_> {
    fn add(&mut self, name: &str, value: impl ToString) {
        self.attributes.push(Given {
            name: name.to_owned(),
            value: value.to_string(),
            place: self.source.place(),
        });
    }

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

    /// A deviation, as SDF has it in a `<noise>` at a path.
    fn noise(&mut self, name: &str, element: Option<Element<'_>>, path: &[&str]) {
        let place = element.and_then(|element| element.descend(path));
        let sd = place.map_or(0.0, |place| self.number(place, &["noise", "stddev"], 0.0));
        self.add(name, sd);
    }

    fn laser(&mut self, lidar: Element<'_>) -> &'static str {
        let n_beams = self.count(lidar, &["scan", "horizontal", "samples"], 640);
        self.add("beams", n_beams);
        let [width, centre] = self.view(lidar, "horizontal");
        // A single beam has no width; ours are wider than nothing.
        self.add("fov_deg", width.max(1e-9));
        self.add("centre_deg", centre);
        let n_rows = self.count(lidar, &["scan", "vertical", "samples"], 1);
        let [height, centre] = self.view(lidar, "vertical");
        if n_rows > 1 {
            self.add("rows", n_rows);
            self.add("fov_vertical_deg", height.max(1e-9));
        }
        self.add("centre_vertical_deg", centre);
        for (name, path) in [
            ("range_min_m", &["range", "min"]),
            ("range_max_m", &["range", "max"]),
            ("resolution_m", &["range", "resolution"]),
            ("range_sd_m", &["noise", "stddev"]),
        ] {
            let value = self.number(lidar, path, 0.0);
            self.add(name, value);
        }
        "laser"
    }

    /// How wide a scan is, and where its middle is, degrees.
    fn view(&mut self, lidar: Element<'_>, which: &str) -> [f64; 2] {
        let from = self.number(lidar, &["scan", which, "min_angle"], 0.0);
        let to = self.number(lidar, &["scan", which, "max_angle"], 0.0);
        [to - from, (from + to) / 2.0].map(f64::to_degrees)
    }

    fn camera(&mut self, camera: Element<'_>) -> &'static str {
        for (name, path, usual) in [
            ("width_px", &["image", "width"], 320),
            ("height_px", &["image", "height"], 240),
        ] {
            let count = self.count(camera, path, usual);
            self.add(name, count);
        }
        let fov_rad = self.number(camera, &["horizontal_fov"], 1.047);
        self.add("fov_deg", fov_rad.to_degrees());
        for (name, path, usual) in [
            ("near_m", &["clip", "near"], 0.1),
            ("far_m", &["clip", "far"], 100.0),
            ("pixel_sd", &["noise", "stddev"], 0.0),
        ] {
            let value = self.number(camera, path, usual);
            self.add(name, value);
        }
        "camera"
    }

    fn sonar(&mut self, sonar: Element<'_>) -> &'static str {
        let range_min_m = self.number(sonar, &["min"], 0.0);
        let range_max_m = self.number(sonar, &["max"], 1.0);
        let radius_m = self.number(sonar, &["radius"], 0.5);
        self.add("range_min_m", range_min_m);
        self.add("range_max_m", range_max_m);
        let fov_rad = 2.0 * radius_m.atan2(range_max_m);
        self.add("fov_deg", fov_rad.to_degrees());
        "sonar"
    }
}

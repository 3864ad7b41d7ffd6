//! Body files: one device, measured by hand.

use super::Reading;
use super::pose::{POSE, SURENESS, covariance, pose};
use crate::assembly::{Body, BodyFrame};
use crate::mistake::{Fault, Mistakes, Place};
use crate::sensor::{Camera, Encoder, Gps, Imu, Laser, Magnetometer, Sensor, SensorKind, Sonar};
use crate::shape::{Mass, Role, Shape, ShapeKind};
use crate::xml::{self, Element, NOT_NEGATIVE, POSITIVE, VIEW_DEG};
use std::path::Path;
use std::sync::Arc;

/// The elements of a body.
const ELEMENTS: &[&str] = &[
    "description",
    "frame",
    "box",
    "cylinder",
    "sphere",
    "mesh",
    "mass",
    "laser",
    "camera",
    "gps",
    "imu",
    "magnetometer",
    "sonar",
    "encoder",
];

pub(super) fn load(
    path: &Path,
    asked: &Place,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Body> {
    let file: Arc<str> = path.display().to_string().into();
    let bytes = reading.bytes(path, asked, mistakes)?;
    let text = xml::text(&file, &bytes, mistakes)?;
    let page = xml::parse(&file, text, mistakes)?;
    let root = page.root();
    if root.name() != "body" || !root.is_plain() {
        root.refuse(&["body"], mistakes);
        return None;
    }
    Some(read(root, mistakes))
}

fn read(root: Element<'_>, mistakes: &mut Mistakes) -> Body {
    root.allow(&[&["name"]], mistakes);
    let mut body = Body {
        name: root.required_name("name", mistakes).unwrap_or_default(),
        place: root.place(),
        ..Body::default()
    };
    let mut mass: Option<Element<'_>> = None;
    for element in root.children(mistakes) {
        if !element.is_plain() {
            element.refuse(ELEMENTS, mistakes);
            continue;
        }
        match element.name() {
            "description" => element.allow(&[], mistakes),
            "frame" => body.frames.extend(frame(element, mistakes)),
            "box" | "cylinder" | "sphere" | "mesh" => {
                body.shapes.extend(shape(element, mistakes));
            }
            "mass" => {
                if let Some(first) = mass.replace(element) {
                    let fault = Fault::Duplicate {
                        what: "elements",
                        name: "mass".to_owned(),
                        first: first.place(),
                    };
                    mistakes.push(element.place(), fault);
                }
                body.mass = read_mass(element, mistakes);
            }
            "laser" | "camera" | "gps" | "imu" | "magnetometer" | "sonar" | "encoder" => {
                body.sensors.extend(sensor(element, mistakes));
            }
            _ => element.refuse(ELEMENTS, mistakes),
        }
    }
    body
}

/// Complains about anything in an element that has only attributes.
fn expect_empty(element: Element<'_>, mistakes: &mut Mistakes) {
    for child in element.children(mistakes) {
        child.refuse(&[], mistakes);
    }
}

fn frame(element: Element<'_>, mistakes: &mut Mistakes) -> Option<BodyFrame> {
    element.allow(&[&["name"], POSE, SURENESS], mistakes);
    expect_empty(element, mistakes);
    let body_from_frame = pose(element, mistakes);
    let covariance = covariance(element, mistakes);
    Some(BodyFrame {
        name: element.required_name("name", mistakes)?,
        place: element.place(),
        body_from_frame,
        covariance,
    })
}

fn shape(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Shape> {
    let own: &[&str] = match element.name() {
        "box" => &["size_m"],
        "cylinder" => &["radius_m", "length_m"],
        "sphere" => &["radius_m"],
        _ => &["file", "scale"],
    };
    element.allow(&[own, &["role"], POSE], mistakes);
    expect_empty(element, mistakes);
    let role = match element.attribute("role") {
        None | Some("both") => Role::Both,
        Some("visual") => Role::Visual,
        Some("collision") => Role::Collision,
        Some(_) => {
            element.refuse_value("role", "both, visual or collision", mistakes);
            Role::Both
        }
    };
    let mut length = |name| {
        element.required(name, mistakes)?;
        element.number_in(name, POSITIVE, mistakes)
    };
    let kind = match element.name() {
        "cylinder" => {
            let (radius_m, length_m) = (length("radius_m"), length("length_m"));
            ShapeKind::Cylinder {
                radius_m: radius_m?,
                length_m: length_m?,
            }
        }
        "sphere" => ShapeKind::Sphere {
            radius_m: length("radius_m")?,
        },
        "box" => ShapeKind::Box {
            size_m: sizes(element, "size_m", mistakes)?,
        },
        _ => ShapeKind::Mesh {
            file: element.required("file", mistakes)?.to_owned(),
            scale: match element.attribute("scale") {
                Some(_) => sizes(element, "scale", mistakes)?,
                None => [1.0; 3],
            },
        },
    };
    Some(Shape {
        place: element.place(),
        body_from_shape: pose(element, mistakes),
        kind,
        role,
    })
}

fn sizes(element: Element<'_>, name: &str, mistakes: &mut Mistakes) -> Option<[f64; 3]> {
    element.required(name, mistakes)?;
    let sizes = element.numbers::<3>(name, mistakes)?;
    if sizes.iter().any(|it| *it <= 0.0) {
        element.refuse_value(name, "3 numbers above 0", mistakes);
        return None;
    }
    Some(sizes)
}

fn read_mass(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Mass> {
    element.allow(&[&["mass_kg", "inertia_kgm2"], POSE], mistakes);
    expect_empty(element, mistakes);
    element.required("mass_kg", mistakes)?;
    Some(Mass {
        mass_kg: element.number_in("mass_kg", POSITIVE, mistakes)?,
        body_from_centre: pose(element, mistakes),
        inertia_kgm2: element.numbers::<6>("inertia_kgm2", mistakes),
    })
}

/// The attributes of every sensor.
const SENSOR: &[&str] = &["name", "frame", "rate_hz"];

fn sensor(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Sensor> {
    expect_empty(element, mistakes);
    let kind = match element.name() {
        "laser" => laser(element, mistakes).map(SensorKind::Laser),
        "camera" => camera(element, mistakes).map(SensorKind::Camera),
        "gps" => {
            element.allow(&[SENSOR, &["horizontal_sd_m", "vertical_sd_m"]], mistakes);
            Some(SensorKind::Gps(Gps {
                horizontal_sd_m: noise(element, "horizontal_sd_m", mistakes),
                vertical_sd_m: noise(element, "vertical_sd_m", mistakes),
            }))
        }
        "imu" => {
            element.allow(&[SENSOR, &["gyro_sd_radps", "accel_sd_mps2"]], mistakes);
            Some(SensorKind::Imu(Imu {
                gyro_sd_radps: noise(element, "gyro_sd_radps", mistakes),
                accel_sd_mps2: noise(element, "accel_sd_mps2", mistakes),
            }))
        }
        "magnetometer" => {
            element.allow(&[SENSOR, &["field_sd_t"]], mistakes);
            let field_sd_t = noise(element, "field_sd_t", mistakes);
            Some(SensorKind::Magnetometer(Magnetometer { field_sd_t }))
        }
        "sonar" => sonar(element, mistakes).map(SensorKind::Sonar),
        _ => {
            element.allow(&[SENSOR, &["ticks_per_turn"]], mistakes);
            element.required("ticks_per_turn", mistakes);
            let ticks_per_turn = element.count("ticks_per_turn", mistakes);
            ticks_per_turn.map(|ticks_per_turn| SensorKind::Encoder(Encoder { ticks_per_turn }))
        }
    };
    let name = element.required_name("name", mistakes);
    let frame = element.required_name("frame", mistakes);
    element.required("rate_hz", mistakes);
    let rate_hz = element.number_in("rate_hz", NOT_NEGATIVE, mistakes);
    Some(Sensor {
        name: name?,
        place: element.place(),
        frame: frame?,
        rate_hz: rate_hz?,
        kind: kind?,
    })
}

fn noise(element: Element<'_>, name: &str, mistakes: &mut Mistakes) -> f64 {
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

fn required_ranges(element: Element<'_>, mistakes: &mut Mistakes) -> Option<[f64; 2]> {
    let names = ["range_min_m", "range_max_m"];
    for name in names {
        element.required(name, mistakes);
    }
    ranges(element, names, mistakes)
}

fn laser(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Laser> {
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
    element.allow(&[SENSOR, own], mistakes);
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
    })
}

/// A field of view about a direction, from its one end to the other.
fn view(element: Element<'_>, width: &str, centre: &str, mistakes: &mut Mistakes) -> [f64; 2] {
    let half = element.number_in(width, VIEW_DEG, mistakes).unwrap_or(0.0) / 2.0;
    let centre = element.number(centre, mistakes).unwrap_or(0.0);
    [centre - half, centre + half].map(f64::to_radians)
}

fn camera(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Camera> {
    let own = &[
        "width_px",
        "height_px",
        "fov_deg",
        "near_m",
        "far_m",
        "pixel_sd",
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
    })
}

fn sonar(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Sonar> {
    element.allow(
        &[SENSOR, &["range_min_m", "range_max_m", "fov_deg"]],
        mistakes,
    );
    element.required("fov_deg", mistakes);
    let fov_deg = element.number_in("fov_deg", VIEW_DEG, mistakes);
    let [range_min_m, range_max_m] = required_ranges(element, mistakes)?;
    Some(Sonar {
        range_min_m,
        range_max_m,
        fov_rad: fov_deg?.to_radians(),
    })
}

//! Body files: one device, measured by hand.

use super::Reading;
use super::hull;
use super::pose::{POSE, SURENESS, covariance, pose};
use super::sight;
use super::water;
use crate::assembly::{Body, BodyFrame};
use crate::mistake::{Fault, Mistakes, Place};
use crate::sensor::{Encoder, Gps, Imu, Magnetometer, Sensor, SensorKind};
use crate::shape::{Mass, Role, Shape, ShapeKind};
use crate::xml::{self, Element, NOT_NEGATIVE, POSITIVE};
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
    "hull",
    "thruster",
    "laser",
    "camera",
    "depth",
    "ins",
    "gps",
    "imu",
    "magnetometer",
    "sonar",
    "multibeam",
    "spectrometer",
    "encoder",
    "bumper",
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
    let mut once: [Option<Element<'_>>; 2] = [None; 2];
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
                expect_once(&mut once[0], element, mistakes);
                body.mass = read_mass(element, mistakes);
            }
            "hull" => {
                expect_once(&mut once[1], element, mistakes);
                expect_empty(element, mistakes);
                body.hull = hull::hull(element, mistakes);
            }
            "thruster" => {
                expect_empty(element, mistakes);
                body.thrusters.extend(hull::thruster(element, mistakes));
            }
            "laser" | "camera" | "depth" | "ins" | "gps" | "imu" | "magnetometer" | "sonar"
            | "multibeam" | "spectrometer" | "encoder" | "bumper" => {
                body.sensors.extend(sensor(element, mistakes));
            }
            _ => element.refuse(ELEMENTS, mistakes),
        }
    }
    body
}

/// Complains about a second element where one is all there may be.
fn expect_once<'e>(first: &mut Option<Element<'e>>, element: Element<'e>, mistakes: &mut Mistakes) {
    if let Some(first) = first.replace(element) {
        let fault = Fault::Duplicate {
            what: "elements",
            name: element.name().to_owned(),
            first: first.place(),
        };
        mistakes.push(element.place(), fault);
    }
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
pub(super) const SENSOR: &[&str] = &["name", "frame", "rate_hz"];

fn sensor(element: Element<'_>, mistakes: &mut Mistakes) -> Option<Sensor> {
    expect_empty(element, mistakes);
    let kind = match element.name() {
        "laser" => sight::laser(element, mistakes).map(SensorKind::Laser),
        "camera" => sight::camera(element, mistakes).map(SensorKind::Camera),
        "depth" => sight::depth(element, SENSOR, mistakes).map(SensorKind::Depth),
        "ins" => Some(SensorKind::Ins(sight::ins(element, SENSOR, mistakes))),
        "bumper" => Some(SensorKind::Bumper(sight::bumper(element, SENSOR, mistakes))),
        "gps" => {
            element.allow(&[SENSOR, &["horizontal_sd_m", "vertical_sd_m"]], mistakes);
            Some(SensorKind::Gps(Gps {
                horizontal_sd_m: sight::noise(element, "horizontal_sd_m", mistakes),
                vertical_sd_m: sight::noise(element, "vertical_sd_m", mistakes),
            }))
        }
        "imu" => {
            element.allow(&[SENSOR, &["gyro_sd_radps", "accel_sd_mps2"]], mistakes);
            Some(SensorKind::Imu(Imu {
                gyro_sd_radps: sight::noise(element, "gyro_sd_radps", mistakes),
                accel_sd_mps2: sight::noise(element, "accel_sd_mps2", mistakes),
            }))
        }
        "magnetometer" => {
            element.allow(&[SENSOR, &["field_sd_t"]], mistakes);
            let field_sd_t = sight::noise(element, "field_sd_t", mistakes);
            Some(SensorKind::Magnetometer(Magnetometer { field_sd_t }))
        }
        "sonar" => water::sonar(element, mistakes).map(SensorKind::Sonar),
        "multibeam" => water::multibeam(element, SENSOR, mistakes).map(SensorKind::Multibeam),
        "spectrometer" => {
            water::spectrometer(element, SENSOR, mistakes).map(SensorKind::Spectrometer)
        }
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

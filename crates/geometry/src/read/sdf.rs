//! SDF, the simulator's description: links, joints, frames, sensors and nested models.
//!
//! A link becomes a body, with a frame `origin` where the link is and one for each `<frame>`, joint and sensor on it; a
//! joint becomes a constraint between frames of its own name on both links. Links of a nested model are called
//! `nested/link`. What has nothing to do with geometry is passed over; what has and cannot be taken is refused.

mod graph;
mod joint;
pub(crate) mod link;
pub(crate) mod sensor;
pub(super) mod world;

use super::Reading;
use crate::assembly::{Assembly, Body, BodyFrame, Constraint, FrameName, Tolerance};
use crate::element::Element as Open;
use crate::mistake::{Fault, Mistakes, Place};
use crate::transform::Transform;
use crate::xml::{Element, numbers};
use graph::{Graph, Kind};

/// The namespace of what our own exports have beyond SDF.
pub(crate) const NAMESPACE: &str = "https://bowline.dev/model";

pub(super) fn read(
    root: Element<'_>,
    reading: &mut Reading<'_>,
    mistakes: &mut Mistakes,
) -> Option<Assembly> {
    let version = version(root, mistakes)?;
    let models: Vec<Element<'_>> = root.elements().filter(|it| it.is_plain()).collect();
    let &[model] = models.as_slice() else {
        let found = format!("{} elements", models.len());
        unsupported(root, "one <model> in <sdf>", found, mistakes);
        return None;
    };
    if model.name() != "model" {
        unsupported(
            model,
            "a <model> in <sdf>",
            format!("<{}>", model.name()),
            mistakes,
        );
        return None;
    }
    let name = clean(model.required("name", mistakes)?);
    let graph = Graph::read(model, mistakes)?;
    let ours = ours(model, "assembly");
    let mut import = Import {
        graph,
        version,
        is_ours: ours.is_some(),
        assembly: Assembly {
            name,
            place: model.place(),
            tolerance: ours.map_or_else(Tolerance::default, |it| tolerance(it, mistakes)),
            ..Assembly::default()
        },
        bodies: Vec::new(),
    };
    import.links(reading, mistakes);
    import.frames(reading, mistakes)?;
    import.joints(mistakes);
    Some(import.assembly)
}

/// An element of our namespace in an element of another.
pub(crate) fn ours<'d>(element: Element<'d>, name: &str) -> Option<Element<'d>> {
    element
        .elements()
        .find(|child| child.namespace() == Some(NAMESPACE) && child.name() == name)
}

/// The first element of ours inside one of SDF's.
pub(crate) fn ours_of_any_name(element: Element<'_>) -> Option<Element<'_>> {
    element
        .elements()
        .find(|child| child.namespace() == Some(NAMESPACE))
}

fn tolerance(element: Element<'_>, mistakes: &mut Mistakes) -> Tolerance {
    let standard = Tolerance::default();
    let distance_m = element.number("tolerance_m", mistakes);
    let angle_rad = element.number("tolerance_rad", mistakes);
    Tolerance {
        distance_m: distance_m.unwrap_or(standard.distance_m),
        angle_rad: angle_rad.unwrap_or(standard.angle_rad),
    }
}

fn version(root: Element<'_>, mistakes: &mut Mistakes) -> Option<(u32, u32)> {
    let text = root.required("version", mistakes)?;
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let version = major.parse().ok().zip(minor.parse().ok());
    if version.is_none_or(|(major, _)| major != 1_u32) {
        root.refuse_value("version", "a version of SDF such as 1.9", mistakes);
        return None;
    }
    version
}

fn unsupported(
    element: Element<'_>,
    expected: impl Into<String>,
    found: impl Into<String>,
    mistakes: &mut Mistakes,
) {
    let fault = Fault::Unsupported {
        expected: expected.into(),
        found: found.into(),
    };
    mistakes.push(element.place(), fault);
}

/// A name of theirs as one of ours: nested ones with a stroke, spaces as low lines.
pub(crate) fn clean(name: &str) -> String {
    let letter = |it: char| match it {
        ':' => '/',
        it if it.is_whitespace() || it.is_control() => '_',
        it => it,
    };
    name.replace("::", "/").chars().map(letter).collect()
}

/// The pose in an element's `<pose>`; without one, where its parent is.
pub(crate) fn pose(element: Element<'_>, mistakes: &mut Mistakes) -> Transform {
    let Some(pose) = element.child("pose") else {
        return Transform::IDENTITY;
    };
    pose_value(pose, mistakes)
}

fn pose_value(pose: Element<'_>, mistakes: &mut Mistakes) -> Transform {
    let text = pose.text();
    if text.is_empty() {
        return Transform::IDENTITY;
    }
    let is_quat = pose.attribute("rotation_format") == Some("quat_xyzw");
    let is_deg = matches!(pose.attribute("degrees"), Some("true" | "1"));
    let made = if is_quat {
        numbers::<7>(text).and_then(|[x, y, z, qx, qy, qz, qw]| {
            Transform::from_xyz_quat([x, y, z], [qw, qx, qy, qz]).ok()
        })
    } else {
        numbers::<6>(text).map(|[x, y, z, roll, pitch, yaw]| {
            let unit = if is_deg { 1.0_f64.to_radians() } else { 1.0 };
            Transform::from_xyz_rpy([x, y, z], [roll, pitch, yaw].map(|it| it * unit))
        })
    };
    made.unwrap_or_else(|| {
        let expected = if is_quat {
            "x y z and a quaternion x y z w"
        } else {
            "x y z roll pitch yaw"
        };
        bad_text(pose, expected, mistakes);
        Transform::IDENTITY
    })
}

pub(crate) fn bad_text(element: Element<'_>, expected: &str, mistakes: &mut Mistakes) {
    let fault = Fault::BadValue {
        what: format!("<{}>", element.name()),
        expected: expected.to_owned(),
        found: element.text().chars().take(100).collect(),
    };
    mistakes.push(element.place(), fault);
}

/// An SDF model on its way into an assembly.
struct Import<'d> {
    graph: Graph<'d>,
    version: (u32, u32),
    is_ours: bool,
    assembly: Assembly,
    /// For each entity that is a link, its body.
    bodies: Vec<(usize, usize)>,
}

impl Import<'_> {
    fn body_of(&self, link: usize) -> Option<usize> {
        let found = self.bodies.iter().find(|(entity, _)| *entity == link);
        found.map(|(_, body)| *body)
    }

    fn links(&mut self, reading: &mut Reading<'_>, mistakes: &mut Mistakes) {
        for (idx, entity) in self.graph.entities.iter().enumerate() {
            if entity.kind != Kind::Link {
                continue;
            }
            let mut body = Body {
                name: clean(&entity.name),
                place: entity.element.place(),
                ..Body::default()
            };
            if !self.is_ours {
                body.frames.push(BodyFrame {
                    name: "origin".to_owned(),
                    place: body.place.clone(),
                    ..BodyFrame::default()
                });
            }
            link::shapes(entity.element, &mut body, &mut reading.notes, mistakes);
            self.bodies.push((idx, self.assembly.bodies.len()));
            self.assembly.bodies.push(body);
        }
    }

    /// Frames of models, `<frame>`s and sensors. None when their poses lead in circles.
    fn frames(&mut self, reading: &mut Reading<'_>, mistakes: &mut Mistakes) -> Option<()> {
        let poses = self.graph.resolve(mistakes)?;
        for (idx, entity) in self.graph.entities.iter().enumerate() {
            let is_wanted = match entity.kind {
                Kind::Frame => true,
                Kind::Model => !self.is_ours,
                Kind::Link | Kind::Joint => false,
            };
            if !is_wanted {
                continue;
            }
            let Some(link) = self.graph.link_of(idx) else {
                continue;
            };
            let Some(body) = self.body_of(link) else {
                continue;
            };
            let body = &mut self.assembly.bodies[body];
            let short = entity.name.rsplit("::").next().unwrap_or(&entity.name);
            // Our exports put the body's name before a frame's, because names are unique in all of a model there.
            let prefix = format!("{}:", body.name);
            let name = clean(short.strip_prefix(&prefix).unwrap_or(short));
            body.frames.push(BodyFrame {
                name,
                place: entity.element.place(),
                body_from_frame: poses[link].inverse_mul(&poses[idx]),
                covariance: None,
            });
        }
        self.sensors(&poses, reading, mistakes);
        self.graph.poses = poses;
        Some(())
    }

    fn sensors(&mut self, poses: &[Transform], reading: &mut Reading<'_>, mistakes: &mut Mistakes) {
        for &(link, body) in &self.bodies {
            let entity = &self.graph.entities[link];
            for element in entity.element.elements() {
                if !element.is_plain() || element.name() != "sensor" {
                    continue;
                }
                let found = sensor::read(element, mistakes);
                let Some(sensor) = found else {
                    reading.leave_out_sensor(element);
                    continue;
                };
                let base = element.child("pose");
                let base = base.and_then(|pose| pose.attribute("relative_to"));
                let base = match base.filter(|base| !base.is_empty()) {
                    Some(base) => match self.graph.find(&entity.scope, base) {
                        Some(base) => base,
                        None => {
                            self.graph.unknown(element, base, mistakes);
                            continue;
                        }
                    },
                    None => link,
                };
                let pose = poses[link].inverse_mul(&poses[base]) * pose(element, mistakes);
                let body = &mut self.assembly.bodies[body];
                add_sensor(body, sensor, pose);
            }
        }
    }

    fn joints(&mut self, mistakes: &mut Mistakes) {
        for idx in 0..self.graph.entities.len() {
            if self.graph.entities[idx].kind == Kind::Joint
                && let Some(constraint) = joint::read(self, idx, mistakes)
            {
                self.assembly.constraints.push(constraint);
            }
        }
        self.statics();
    }

    /// Links of a static model do not move, so they are bound to its first one.
    fn statics(&mut self) {
        let links = self.bodies.clone();
        for (link, body) in links {
            let entity = &self.graph.entities[link];
            let Some(first) = self.graph.static_base(link) else {
                continue;
            };
            let Some(base) = self.body_of(first) else {
                continue;
            };
            let pose = self.graph.poses[first].inverse_mul(&self.graph.poses[link]);
            let place = entity.element.place();
            let name = format!("static/{}", self.assembly.bodies[body].name);
            let from = add_frame(&mut self.assembly.bodies[base], &name, &place, pose);
            let to = add_frame(
                &mut self.assembly.bodies[body],
                "static",
                &place,
                Transform::IDENTITY,
            );
            let bodies = &self.assembly.bodies;
            self.assembly.constraints.push(Constraint {
                from: FrameName::new(&bodies[base].name, from),
                to: FrameName::new(&bodies[body].name, to),
                name,
                place,
                ..Constraint::default()
            });
        }
    }
}

/// Adds a frame under a name, or the nearest that is free.
pub(crate) fn add_frame(body: &mut Body, name: &str, place: &Place, pose: Transform) -> String {
    let is_taken = |name: &str| body.frames.iter().any(|frame| frame.name == name);
    let others = (2..).map(|nth: u32| format!("{name}_{nth}"));
    let mut names = std::iter::once(name.to_owned()).chain(others);
    let name = names.find(|name| !is_taken(name)).unwrap_or_default();
    body.frames.push(BodyFrame {
        name: name.clone(),
        place: place.clone(),
        body_from_frame: pose,
        covariance: None,
    });
    name
}

/// Adds a sensor in the frame that is where it is, or in a new one of its name.
pub(crate) fn add_sensor(body: &mut Body, sensor: Open, body_from_sensor: Transform) {
    let is_there = |frame: &&BodyFrame| {
        let off = frame.body_from_frame.inverse_mul(&body_from_sensor);
        off.distance_m() < 1e-12 && off.angle_rad() < 1e-12
    };
    let there = body.frames.iter().find(is_there);
    let frame = match there.map(|frame| frame.name.clone()) {
        Some(frame) => frame,
        None => {
            let name = sensor.name.as_deref().unwrap_or(&sensor.word);
            add_frame(body, name, &sensor.place, body_from_sensor)
        }
    };
    body.elements.push(Open {
        frame: Some(frame),
        ..sensor
    });
}

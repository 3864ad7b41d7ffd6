//! The rules for assemblies, DRDC's four among them.

use super::{MAX_BODIES, MAX_FRAMES};
use crate::assembly::{Assembly, Body, FrameName, MAX_NAME_LEN, is_name};
use crate::mistake::{Fault, Mistakes, Place};
use std::collections::BTreeMap;

/// What names of an assembly stand for.
#[derive(Debug)]
pub(super) struct Resolved {
    /// For each constraint, the frames that it binds.
    pub(super) ends: Vec<[End; 2]>,
    /// For each constraint that follows another one, which.
    pub(super) leaders: Vec<Option<usize>>,
}

/// A frame by its place in the assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub(super) body: usize,
    pub(super) frame: usize,
}

pub(super) fn check(assembly: &Assembly) -> Result<Resolved, Mistakes> {
    let mut mistakes = Mistakes::new();
    check_bodies(assembly, &mut mistakes);
    for body in &assembly.bodies {
        check_body(body, &mut mistakes);
    }
    let resolved = check_constraints(assembly, &mut mistakes);
    mistakes.or(resolved)
}

fn check_bodies(assembly: &Assembly, mistakes: &mut Mistakes) {
    let bodies = &assembly.bodies;
    if bodies.len() < 2 {
        let found = bodies.len();
        mistakes.push(assembly.place.clone(), Fault::TooFewBodies { found });
    }
    let n_frames = bodies.iter().map(|body| body.frames.len()).sum::<usize>();
    for (found, what, limit) in [
        (bodies.len(), "bodies", MAX_BODIES),
        (n_frames, "frames", MAX_FRAMES),
        (assembly.constraints.len(), "constraints", MAX_FRAMES),
    ] {
        if found > limit {
            mistakes.push(assembly.place.clone(), Fault::TooMany { what, limit });
        }
    }
    check_names(
        "bodies",
        bodies.iter().map(|body| (&body.name, &body.place)),
        mistakes,
    );
}

fn check_body(body: &Body, mistakes: &mut Mistakes) {
    if body.frames.is_empty() {
        let fault = Fault::NoFrames {
            body: body.name.clone(),
        };
        mistakes.push(body.place.clone(), fault);
    }
    let frames = body.frames.iter();
    check_names(
        "frames",
        frames.clone().map(|frame| (&frame.name, &frame.place)),
        mistakes,
    );
    for frame in frames.clone().filter(|it| !it.body_from_frame.is_finite()) {
        mistakes.push(frame.place.clone(), not_finite(&frame.name));
    }
    for (what, is_sensor) in [("sensors", true), ("devices", false)] {
        let alike = body
            .elements
            .iter()
            .filter(|it| it.is_sensor() == is_sensor);
        let named = alike.filter_map(|it| Some((it.name.as_ref()?, &it.place)));
        check_names(what, named, mistakes);
    }
    let seats = body.elements.iter();
    for (seat, place) in seats.filter_map(|it| Some((it.frame.as_ref()?, &it.place))) {
        if body.frame(seat).is_none() {
            let known = body.frames.iter().map(|frame| frame.name.as_str());
            let fault = Fault::Unknown {
                what: "frame of the same body",
                found: seat.clone(),
                suggestion: mistakes.suggest(seat, known),
            };
            mistakes.push(place.clone(), fault);
        }
    }
}

fn not_finite(what: &str) -> Fault {
    Fault::BadValue {
        what: what.to_owned(),
        expected: "finite numbers".to_owned(),
        found: "others".to_owned(),
    }
}

fn check_names<'a>(
    what: &'static str,
    named: impl Iterator<Item = (&'a String, &'a Place)>,
    mistakes: &mut Mistakes,
) {
    let mut first: BTreeMap<&str, &Place> = BTreeMap::new();
    for (name, place) in named {
        if !is_name(name) {
            let expected =
                format!("1 to {MAX_NAME_LEN} bytes without spaces, colons and control characters");
            let fault = Fault::BadValue {
                what: "name".to_owned(),
                expected,
                found: name.clone(),
            };
            mistakes.push(place.clone(), fault);
        }
        match first.get(name.as_str()) {
            Some(first) => {
                let fault = Fault::Duplicate {
                    what,
                    name: name.clone(),
                    first: (*first).clone(),
                };
                mistakes.push(place.clone(), fault);
            }
            None => drop(first.insert(name, place)),
        }
    }
}

fn check_constraints(assembly: &Assembly, mistakes: &mut Mistakes) -> Resolved {
    let constraints = &assembly.constraints;
    check_names(
        "constraints",
        constraints.iter().map(|it| (&it.name, &it.place)),
        mistakes,
    );
    let index = Index::new(assembly);
    let mut taken: BTreeMap<End, usize> = BTreeMap::new();
    let mut ends = Vec::new();
    for (idx, constraint) in constraints.iter().enumerate() {
        let place = &constraint.place;
        if !constraint.from_from_to.is_finite() {
            mistakes.push(place.clone(), not_finite(&constraint.name));
        }
        if constraint.from == constraint.to {
            let frame = constraint.from.to_string();
            mistakes.push(place.clone(), Fault::SameFrame { frame });
            continue;
        }
        let mut find = |name: &FrameName| {
            let found = index.find(assembly, name, mistakes);
            found.map_err(|fault| mistakes.push(place.clone(), fault))
        };
        let (Ok(from), Ok(to)) = (find(&constraint.from), find(&constraint.to)) else {
            continue;
        };
        for (end, name) in [(from, &constraint.from), (to, &constraint.to)] {
            if let Some(first) = taken.get(&end).map(|first| &constraints[*first]) {
                let fault = Fault::FrameTaken {
                    frame: name.to_string(),
                    first: first.name.clone(),
                    place: first.place.clone(),
                };
                mistakes.push(place.clone(), fault);
            } else {
                taken.insert(end, idx);
            }
        }
        ends.push([from, to]);
    }
    let leaders = check_followers(assembly, mistakes);
    Resolved { ends, leaders }
}

/// Bodies and frames by name, for as long as a check takes.
struct Index<'a> {
    bodies: BTreeMap<&'a str, (usize, BTreeMap<&'a str, usize>)>,
}

impl<'a> Index<'a> {
    fn new(assembly: &'a Assembly) -> Self {
        let frames = |body: &'a Body| {
            let frames = body.frames.iter().enumerate();
            frames
                .map(|(idx, frame)| (frame.name.as_str(), idx))
                .collect()
        };
        let bodies = assembly.bodies.iter().enumerate();
        Self {
            bodies: bodies
                .map(|(idx, body)| (body.name.as_str(), (idx, frames(body))))
                .collect(),
        }
    }

    fn find(
        &self,
        assembly: &Assembly,
        name: &FrameName,
        mistakes: &Mistakes,
    ) -> Result<End, Fault> {
        let Some((body, frames)) = self.bodies.get(name.body.as_str()) else {
            let known = assembly.bodies.iter().map(|body| body.name.as_str());
            return Err(Fault::Unknown {
                what: "body",
                found: name.body.clone(),
                suggestion: mistakes.suggest(&name.body, known),
            });
        };
        let Some(frame) = frames.get(name.frame.as_str()) else {
            let nearest = mistakes.suggest(&name.frame, frames.keys().copied());
            return Err(Fault::Unknown {
                what: "frame",
                found: name.to_string(),
                suggestion: nearest.map(|frame| format!("{}:{frame}", name.body)),
            });
        };
        Ok(End {
            body: *body,
            frame: *frame,
        })
    }
}

fn check_followers(assembly: &Assembly, mistakes: &mut Mistakes) -> Vec<Option<usize>> {
    let constraints = &assembly.constraints;
    let mut leaders = Vec::new();
    for constraint in constraints {
        let joint = constraint.joint.as_ref();
        let Some(follows) = joint.and_then(|joint| joint.follows.as_ref()) else {
            leaders.push(None);
            continue;
        };
        let moving = || constraints.iter().filter(|it| it.joint.is_some());
        let leads = |name: &str| {
            let found = constraints.iter().position(|it| it.name == name)?;
            let joint = constraints[found].joint.as_ref()?;
            joint.follows.is_none().then_some(found)
        };
        let leader = leads(&follows.constraint);
        if leader.is_none() {
            let fault = Fault::Unknown {
                what: "joint that follows no other",
                found: follows.constraint.clone(),
                suggestion: mistakes
                    .suggest(&follows.constraint, moving().map(|it| it.name.as_str())),
            };
            mistakes.push(constraint.place.clone(), fault);
        }
        leaders.push(leader);
    }
    leaders
}

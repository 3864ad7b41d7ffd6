//! SDF's frames: who is relative to whom, and who is attached to what.
//!
//! Every link, joint, frame and model has a pose relative to another one, and is attached to a link in the end. Both are
//! followed here, and circles are found.

use super::{pose, unsupported};
use crate::mistake::{Fault, Mistakes};
use crate::model::MAX_FRAMES;
use crate::transform::Transform;
use crate::xml::Element;
use std::collections::BTreeMap;

/// What something in a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Model,
    Link,
    Joint,
    Frame,
}

pub(super) struct Entity<'d> {
    pub(super) kind: Kind,
    /// With the names of the models that it is in, but for the first.
    pub(super) name: String,
    /// The models that it is in, with two colons after each.
    pub(super) scope: String,
    pub(super) element: Element<'d>,
    pose: Transform,
    is_static: bool,
}

pub(super) struct Graph<'d> {
    pub(super) entities: Vec<Entity<'d>>,
    by_name: BTreeMap<String, usize>,
    /// In coordinates of the first model, once they are worked out.
    pub(super) poses: Vec<Transform>,
    relative_to: Vec<usize>,
    attached_to: Vec<usize>,
    /// Where the first model is in the world.
    pub(super) world_from_model: Transform,
}

/// The name of a model's own frame.
const MODEL: &str = "__model__";

impl<'d> Graph<'d> {
    pub(super) fn read(model: Element<'d>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut graph = Self {
            entities: Vec::new(),
            by_name: BTreeMap::new(),
            poses: Vec::new(),
            relative_to: Vec::new(),
            attached_to: Vec::new(),
            world_from_model: pose(model, mistakes),
        };
        graph.model(model, "", false, mistakes);
        graph.entities.first_mut()?.pose = Transform::IDENTITY;
        graph.connect(mistakes)?;
        Some(graph)
    }

    /// Takes a model and those in it. Files bound how deep they are in each other.
    fn model(&mut self, model: Element<'d>, scope: &str, is_static: bool, mistakes: &mut Mistakes) {
        let says_static = model.child("static").map(|it| it.text());
        let is_static = is_static || matches!(says_static, Some("true" | "1"));
        if model.attribute("placement_frame").is_some() {
            unsupported(
                model,
                "a <model> without placement_frame",
                "one with it",
                mistakes,
            );
        }
        self.add(Kind::Model, model, scope, MODEL, is_static, mistakes);
        for element in model.elements().filter(Element::is_plain) {
            let kind = match element.name() {
                "link" => Kind::Link,
                "joint" => Kind::Joint,
                "frame" => Kind::Frame,
                "model" => {
                    if let Some(name) = element.required("name", mistakes) {
                        let scope = format!("{scope}{name}::");
                        self.model(element, &scope, is_static, mistakes);
                    }
                    continue;
                }
                "include" => {
                    let expected = "a model that is written out";
                    let found =
                        "<include>: put the model's own text here, or let `gz sdf -p` do it";
                    unsupported(element, expected, found, mistakes);
                    continue;
                }
                _ => continue,
            };
            if let Some(name) = element.required("name", mistakes) {
                self.add(kind, element, scope, name, is_static, mistakes);
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the six columns of a table, and where to complain"
    )]
    fn add(
        &mut self,
        kind: Kind,
        element: Element<'d>,
        scope: &str,
        name: &str,
        is_static: bool,
        mistakes: &mut Mistakes,
    ) {
        let name = format!("{scope}{name}");
        let idx = self.entities.len();
        if idx == MAX_FRAMES {
            let fault = Fault::TooMany {
                what: "links, joints and frames",
                limit: MAX_FRAMES,
            };
            mistakes.push(element.place(), fault);
            return;
        }
        if let Some(first) = self.by_name.get(&name) {
            let fault = Fault::Duplicate {
                what: "links, joints and frames",
                name,
                first: self.entities[*first].element.place(),
            };
            mistakes.push(element.place(), fault);
            return;
        }
        self.by_name.insert(name.clone(), idx);
        self.entities.push(Entity {
            kind,
            name,
            scope: scope.to_owned(),
            element,
            pose: pose(element, mistakes),
            is_static,
        });
    }

    /// Something by its name in a model.
    pub(super) fn find(&self, scope: &str, name: &str) -> Option<usize> {
        // A nested model is known by its name from outside.
        let full = format!("{scope}{name}");
        let found = self.by_name.get(&full);
        found
            .or_else(|| self.by_name.get(&format!("{full}::{MODEL}")))
            .copied()
    }

    pub(super) fn unknown(&self, element: Element<'_>, name: &str, mistakes: &mut Mistakes) {
        let fault = Fault::Unknown {
            what: "link, joint or frame",
            found: name.to_owned(),
            suggestion: mistakes.suggest(name, self.by_name.keys().map(String::as_str)),
        };
        mistakes.push(element.place(), fault);
    }

    fn connect(&mut self, mistakes: &mut Mistakes) -> Option<()> {
        let mut is_fine = true;
        for idx in 0..self.entities.len() {
            let attached_to = self.attachment(idx, mistakes);
            let relative_to = attached_to.and_then(|it| self.base(idx, it, mistakes));
            is_fine &= relative_to.is_some();
            self.attached_to.push(attached_to.unwrap_or(idx));
            self.relative_to.push(relative_to.unwrap_or(idx));
        }
        is_fine.then_some(())
    }

    /// What something moves with; itself for a link.
    fn attachment(&self, idx: usize, mistakes: &mut Mistakes) -> Option<usize> {
        let entity = &self.entities[idx];
        let named = match entity.kind {
            Kind::Link => return Some(idx),
            Kind::Model => return self.canonical(idx, mistakes),
            Kind::Joint => entity.element.child("child").map_or("", |it| it.text()),
            Kind::Frame => entity.element.attribute("attached_to").unwrap_or(""),
        };
        if named.is_empty() {
            if entity.kind == Kind::Joint {
                let fault = Fault::Missing {
                    element: "joint".to_owned(),
                    expected: "<child>".to_owned(),
                };
                mistakes.push(entity.element.place(), fault);
                return None;
            }
            return self.find(&entity.scope, MODEL);
        }
        let found = self.find(&entity.scope, named);
        if found.is_none() {
            self.unknown(entity.element, named, mistakes);
        }
        found
    }

    /// The link that a model's own frame moves with: the first, or the one that it names.
    fn canonical(&self, idx: usize, mistakes: &mut Mistakes) -> Option<usize> {
        let model = &self.entities[idx];
        if let Some(name) = model.element.attribute("canonical_link") {
            let found = self.find(&model.scope, name);
            if found.is_none() {
                self.unknown(model.element, name, mistakes);
            }
            return found;
        }
        let is_in = |it: &&Entity<'_>| it.kind == Kind::Link && it.scope == model.scope;
        let is_below =
            |it: &&Entity<'_>| it.kind == Kind::Link && it.scope.starts_with(&model.scope);
        let links = || self.entities.iter();
        let first = links().find(is_in).or_else(|| links().find(is_below));
        let found = first.and_then(|link| self.by_name.get(&link.name)).copied();
        if found.is_none() {
            let fault = Fault::Missing {
                element: "model".to_owned(),
                expected: "at least one <link>".to_owned(),
            };
            mistakes.push(model.element.place(), fault);
        }
        found
    }

    /// What the pose of something is relative to.
    fn base(&self, idx: usize, attached_to: usize, mistakes: &mut Mistakes) -> Option<usize> {
        let entity = &self.entities[idx];
        let is_first = idx == 0;
        // The model around a nested one.
        let outside = entity.scope.trim_end_matches("::");
        let outside = outside
            .rsplit_once("::")
            .map_or_else(String::new, |(it, _)| format!("{it}::"));
        let scope = match entity.kind {
            Kind::Model => &outside,
            Kind::Link | Kind::Joint | Kind::Frame => &entity.scope,
        };
        let says = entity.element.child("pose");
        let says = says.and_then(|pose| pose.attribute("relative_to"));
        if let Some(name) = says.filter(|name| !name.is_empty() && !is_first) {
            let found = self.find(scope, name);
            if found.is_none() {
                self.unknown(entity.element, name, mistakes);
            }
            return found;
        }
        match entity.kind {
            Kind::Model if is_first => Some(idx),
            Kind::Model | Kind::Link => self.find(scope, MODEL),
            Kind::Joint | Kind::Frame => Some(attached_to),
        }
    }

    /// All poses in coordinates of the first model.
    pub(super) fn resolve(&self, mistakes: &mut Mistakes) -> Option<Vec<Transform>> {
        let mut poses: Vec<Option<Transform>> = vec![None; self.entities.len()];
        if let Some(first) = poses.first_mut() {
            *first = Some(Transform::IDENTITY);
        }
        for idx in 0..self.entities.len() {
            let mut chain = Vec::new();
            let mut at = idx;
            while poses[at].is_none() {
                if chain.contains(&at) {
                    self.complain_of_circle(&chain, mistakes);
                    return None;
                }
                chain.push(at);
                at = self.relative_to[at];
            }
            for entity in chain.into_iter().rev() {
                let base = poses[self.relative_to[entity]].unwrap_or_default();
                poses[entity] = Some(base * self.entities[entity].pose);
            }
        }
        for idx in 0..self.entities.len() {
            self.link_of_or_circle(idx, mistakes)?;
        }
        Some(poses.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn complain_of_circle(&self, chain: &[usize], mistakes: &mut Mistakes) {
        let names: Vec<&str> = chain
            .iter()
            .map(|idx| self.entities[*idx].name.as_str())
            .collect();
        let element = chain.first().map(|idx| self.entities[*idx].element);
        if let Some(element) = element {
            mistakes.push(element.place(), Fault::Circle(names.join(" -> ")));
        }
    }

    fn link_of_or_circle(&self, idx: usize, mistakes: &mut Mistakes) -> Option<usize> {
        let found = self.link_of(idx);
        if found.is_none() {
            self.complain_of_circle(&[idx, self.attached_to[idx]], mistakes);
        }
        found
    }

    /// The link that something is attached to in the end.
    pub(super) fn link_of(&self, idx: usize) -> Option<usize> {
        let mut at = idx;
        for _ in 0..=self.entities.len() {
            if self.entities[at].kind == Kind::Link {
                return Some(at);
            }
            at = self.attached_to[at];
        }
        None
    }

    /// The first link of a static model, for the others in it.
    pub(super) fn static_base(&self, link: usize) -> Option<usize> {
        let entity = &self.entities[link];
        let first = self.link_of(0)?;
        (entity.is_static && first != link && self.entities[first].is_static).then_some(first)
    }
}

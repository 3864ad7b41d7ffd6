//! SDF's worlds: models that stand somewhere, with what they bump into things with.
//!
//! The light, physics engines, plugins and windows of a world have nothing to do with where things are; they are left
//! out, and named.

use super::graph::{Graph, Kind};
use super::link::{kind, mass, value};
use super::{bad_text, clean, pose, version};
use crate::mistake::{Fault, Mistake, Mistakes, Place};
use crate::read::{Files, Reading};
use crate::shape::ShapeKind;
use crate::transform::{Transform, Vec3};
use crate::xml::{self, Element};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A world as SDF describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SdfWorld {
    /// What it is called.
    pub name: String,
    /// Gravity, if it has any, metres a second squared.
    pub gravity_mps2: Option<Vec3>,
    /// Latitude and longitude in degrees and height in metres of the origin, if it has one.
    pub origin: Option<Vec3>,
    /// In the order of the file.
    pub models: Vec<SdfModel>,
    /// What was left out.
    pub notes: Vec<Mistake>,
}

/// A model in a world.
#[derive(Clone, Debug, PartialEq)]
pub struct SdfModel {
    /// What it is called.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// Whether it never moves.
    pub is_static: bool,
    /// What it is made of.
    pub links: Vec<SdfLink>,
}

/// A link of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct SdfLink {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub world_from_link: Transform,
    /// What it bumps into things with.
    pub collisions: Vec<SdfCollision>,
    /// Its mass; 0 if it has none.
    pub mass_kg: f64,
    /// Red, green and blue of 1, as its first visual has them.
    pub colour: Option<Vec3>,
}

/// A shape of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct SdfCollision {
    /// Where it is on the link.
    pub link_from_shape: Transform,
    /// What it is.
    pub shape: SdfShape,
    /// The coefficient of friction, if it has one.
    pub friction: Option<f64>,
    /// Where it is declared.
    pub place: Place,
}

/// What a shape of a world is.
#[derive(Clone, Debug, PartialEq)]
pub enum SdfShape {
    /// One that models have, too.
    Plain(ShapeKind),
    /// Everything below z = 0.
    Plane,
    /// Heights from a picture.
    Heightmap {
        /// The picture's file.
        file: PathBuf,
        /// Along x, y and z, metres.
        size_m: Vec3,
        /// Its middle, metres.
        middle_m: Vec3,
    },
}

/// Reads an SDF world, and models that it includes from files beside it.
///
/// # Errors
///
/// All mistakes in the file, each with its place.
pub fn load_sdf_world(path: &Path, files: &mut dyn Files) -> Result<SdfWorld, Mistakes> {
    let mut mistakes = Mistakes::new();
    let mut reading = Reading::new(files);
    let mut world = SdfWorld::default();
    read_file(path, &mut reading, &mut world, &mut mistakes);
    world.notes = reading.notes.take();
    mistakes.or(world)
}

fn read_file(
    path: &Path,
    reading: &mut Reading<'_>,
    world: &mut SdfWorld,
    mistakes: &mut Mistakes,
) {
    let file: Arc<str> = path.display().to_string().into();
    let Some(bytes) = reading.bytes(path, &Place::whole(&file), mistakes) else {
        return;
    };
    let page = xml::text(&file, &bytes, mistakes).and_then(|it| xml::parse(&file, it, mistakes));
    let Some(page) = page else {
        return;
    };
    let root = page.root();
    if root.name() != "sdf" {
        root.refuse(&["sdf"], mistakes);
        return;
    }
    if version(root, mistakes).is_none() {
        return;
    }
    let Some(element) = root.child("world") else {
        let fault = Fault::Missing {
            element: "sdf".to_owned(),
            expected: "a <world>".to_owned(),
        };
        mistakes.push(root.place(), fault);
        return;
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    Import {
        folder,
        reading,
        world,
        mistakes,
    }
    .world(element);
}

/// A world on its way in.
struct Import<'a, 'f> {
    folder: &'a Path,
    reading: &'a mut Reading<'f>,
    world: &'a mut SdfWorld,
    mistakes: &'a mut Mistakes,
}

/// Where the links of a model are, and what its pose is relative to.
struct Standing<'d> {
    model: Element<'d>,
    relative_to: Option<&'d str>,
    world_from_model: Transform,
}

impl Import<'_, '_> {
    fn world(&mut self, element: Element<'_>) {
        self.world.name = clean(element.attribute("name").unwrap_or("world"));
        let mut models = Vec::new();
        for child in element.elements().filter(Element::is_plain) {
            match child.name() {
                "model" => models.push(standing(child, self.mistakes)),
                "include" => self.include(child),
                "gravity" => self.world.gravity_mps2 = value::<3>(child, self.mistakes),
                "spherical_coordinates" => self.world.origin = self.origin(child),
                other => {
                    let left_out = format!(
                        "<{other}> is left out: it has nothing to do with where things are"
                    );
                    self.note(child, left_out);
                }
            }
        }
        for (idx, world_from_model) in self.resolve(&models) {
            if let Some(standing) = models.get(idx) {
                self.model(standing.model, &world_from_model, None);
            }
        }
    }

    fn note(&mut self, element: Element<'_>, left_out: String) {
        // One of a kind is enough: worlds repeat themselves.
        let is_told =
            |note: &Mistake| matches!(&note.fault, Fault::LeftOut(told) if *told == left_out);
        if !self.reading.notes.list().iter().any(is_told) {
            self.reading
                .notes
                .push(element.place(), Fault::LeftOut(left_out));
        }
    }

    fn origin(&mut self, element: Element<'_>) -> Option<Vec3> {
        let mut number = |name: &str| {
            let found = element.child(name)?;
            value::<1>(found, self.mistakes).map(|[number]| number)
        };
        let (lat, lon) = (number("latitude_deg")?, number("longitude_deg")?);
        Some([lat, lon, number("elevation").unwrap_or(0.0)])
    }

    /// Where each model is in the world: relative to others, perhaps.
    fn resolve(&mut self, models: &[Standing<'_>]) -> Vec<(usize, Transform)> {
        let mut by_name = BTreeMap::new();
        for (idx, standing) in models.iter().enumerate() {
            if let Some(name) = standing.model.attribute("name") {
                by_name.entry(name).or_insert(idx);
            }
        }
        let mut placed = Vec::with_capacity(models.len());
        for (idx, standing) in models.iter().enumerate() {
            let mut pose = standing.world_from_model;
            let mut base = standing.relative_to;
            let mut n_seen = 0;
            while let Some(name) = base.filter(|name| *name != "world") {
                n_seen += 1;
                let found = by_name.get(name).and_then(|at| models.get(*at));
                let Some(found) = found else {
                    let fault = Fault::Unknown {
                        what: "model of the world",
                        found: name.to_owned(),
                        suggestion: self.mistakes.suggest(name, by_name.keys().copied()),
                    };
                    self.mistakes.push(standing.model.place(), fault);
                    break;
                };
                if n_seen > models.len() {
                    let fault = Fault::Circle(name.to_owned());
                    self.mistakes.push(standing.model.place(), fault);
                    break;
                }
                pose = found.world_from_model * pose;
                base = found.relative_to;
            }
            placed.push((idx, pose));
        }
        placed
    }

    fn model(&mut self, model: Element<'_>, world_from_model: &Transform, name: Option<&str>) {
        let Some(own) = model.required("name", self.mistakes) else {
            return;
        };
        let Some(graph) = Graph::read(model, self.mistakes) else {
            return;
        };
        let Some(poses) = graph.resolve(self.mistakes) else {
            return;
        };
        let says_static = model.child("static").map(|it| it.text());
        let mut found = SdfModel {
            name: clean(name.unwrap_or(own)),
            place: model.place(),
            is_static: matches!(says_static, Some("true" | "1")),
            links: Vec::new(),
        };
        for (entity, model_from_link) in graph.entities.iter().zip(&poses) {
            if entity.kind == Kind::Link {
                let world_from_link = *world_from_model * *model_from_link;
                let link = self.link(entity.element, clean(&entity.name), world_from_link);
                found.links.push(link);
            }
        }
        self.world.models.push(found);
    }

    fn link(&mut self, link: Element<'_>, name: String, world_from_link: Transform) -> SdfLink {
        let mut found = SdfLink {
            name,
            world_from_link,
            collisions: Vec::new(),
            mass_kg: 0.0,
            colour: None,
        };
        for element in link.elements().filter(Element::is_plain) {
            match element.name() {
                "collision" => found.collisions.extend(self.collision(element)),
                "visual" => found.colour = found.colour.or(colour(element)),
                "inertial" => {
                    let mass = mass(element, self.mistakes);
                    found.mass_kg = mass.map_or(0.0, |mass| mass.mass_kg);
                }
                _ => {}
            }
        }
        if found.collisions.is_empty() {
            let left_out =
                "links without a <collision> are left out: nothing bumps into them".to_owned();
            self.note(link, left_out);
        }
        found
    }

    fn collision(&mut self, element: Element<'_>) -> Option<SdfCollision> {
        let geometry = element.child("geometry")?;
        let friction = element.descend(&["surface", "friction", "ode", "mu"]);
        Some(SdfCollision {
            link_from_shape: pose(element, self.mistakes),
            shape: self.shape(geometry)?,
            friction: friction
                .and_then(|mu| value::<1>(mu, self.mistakes))
                .map(|[mu]| mu),
            place: element.place(),
        })
    }

    fn shape(&mut self, geometry: Element<'_>) -> Option<SdfShape> {
        if geometry.child("plane").is_some() {
            return Some(SdfShape::Plane);
        }
        let Some(map) = geometry.child("heightmap") else {
            let plain = kind(geometry, &mut self.reading.notes, self.mistakes)?;
            return Some(SdfShape::Plain(self.beside(plain)));
        };
        let file = map.child("uri")?.text();
        let mut triple = |name: &str, usual: Vec3| match map.child(name) {
            Some(found) => value::<3>(found, self.mistakes).unwrap_or(usual),
            None => usual,
        };
        Some(SdfShape::Heightmap {
            size_m: triple("size", [1.0; 3]),
            middle_m: triple("pos", [0.0; 3]),
            file: self.folder.join(local(file)),
        })
    }

    /// Meshes are found beside the world.
    fn beside(&self, shape: ShapeKind) -> ShapeKind {
        match shape {
            ShapeKind::Mesh { file, scale } => ShapeKind::Mesh {
                file: self.folder.join(local(&file)).display().to_string(),
                scale,
            },
            ShapeKind::Box { .. } | ShapeKind::Cylinder { .. } | ShapeKind::Sphere { .. } => shape,
        }
    }

    /// A model from a file of its own, or one that every Gazebo has.
    fn include(&mut self, element: Element<'_>) {
        let Some(uri) = element.child("uri").map(|uri| uri.text()) else {
            let fault = Fault::Missing {
                element: "include".to_owned(),
                expected: "a <uri>".to_owned(),
            };
            self.mistakes.push(element.place(), fault);
            return;
        };
        let name = element.child("name").map(|name| name.text());
        let world_from_model = pose(element, self.mistakes);
        match local(uri) {
            "sun" => self.note(
                element,
                "model://sun is left out: light has nothing to do with where things are".to_owned(),
            ),
            "ground_plane" => self.world.models.push(ground(
                name.unwrap_or("ground_plane"),
                element,
                world_from_model,
            )),
            model => self.include_file(element, model, (name, &world_from_model)),
        }
    }

    fn include_file(
        &mut self,
        element: Element<'_>,
        model: &str,
        (name, world_from_model): (Option<&str>, &Transform),
    ) {
        let is_outside =
            Path::new(model).is_absolute() || model.split('/').any(|part| part == "..");
        if is_outside {
            bad_text(element, "a model beside the world", self.mistakes);
            return;
        }
        let path = self.folder.join(model);
        let path = if path.extension().is_some() {
            path
        } else {
            path.join("model.sdf")
        };
        let Some(bytes) = self.reading.bytes(&path, &element.place(), self.mistakes) else {
            return;
        };
        let file: Arc<str> = path.display().to_string().into();
        let text = xml::text(&file, &bytes, self.mistakes);
        let Some(page) = text.and_then(|text| xml::parse(&file, text, self.mistakes)) else {
            return;
        };
        let Some(model) = page.root().child("model") else {
            page.root().refuse(&["sdf with a <model>"], self.mistakes);
            return;
        };
        let own = pose(model, self.mistakes);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Import {
            folder: &folder,
            reading: self.reading,
            world: self.world,
            mistakes: self.mistakes,
        }
        .model(model, &(*world_from_model * own), name);
    }
}

fn standing<'d>(model: Element<'d>, mistakes: &mut Mistakes) -> Standing<'d> {
    let relative_to = model
        .child("pose")
        .and_then(|pose| pose.attribute("relative_to"));
    Standing {
        model,
        relative_to: relative_to.filter(|name| !name.is_empty()),
        world_from_model: pose(model, mistakes),
    }
}

/// An address as a path: `model://name/meshes/x.stl` is beside the world.
fn local(uri: &str) -> &str {
    let after = |scheme: &str| uri.strip_prefix(scheme);
    after("model://")
        .or_else(|| after("file://"))
        .unwrap_or(uri)
}

fn ground(name: &str, element: Element<'_>, world_from_model: Transform) -> SdfModel {
    SdfModel {
        name: clean(name),
        place: element.place(),
        is_static: true,
        links: vec![SdfLink {
            name: "link".to_owned(),
            world_from_link: world_from_model,
            collisions: vec![SdfCollision {
                link_from_shape: Transform::IDENTITY,
                shape: SdfShape::Plane,
                friction: None,
                place: element.place(),
            }],
            mass_kg: 0.0,
            colour: None,
        }],
    }
}

fn colour(visual: Element<'_>) -> Option<Vec3> {
    let diffuse = visual.descend(&["material", "diffuse"])?;
    let [red, green, blue, _] = xml::numbers::<4>(diffuse.text())?;
    Some([red, green, blue])
}

//! Gazebo's worlds, as ours.

use super::load::LoadWorldError;
use super::{Body, Moves, Part, World, heights, mesh};
use crate::solid::Solid;
use bowline_geometry::{
    Fault, Files, Mistake, SdfCollision, SdfLink, SdfModel, SdfShape, ShapeKind, Transform,
    load_sdf_world,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub(super) fn load(path: &Path, files: &mut dyn Files) -> Result<World, LoadWorldError> {
    let sdf = load_sdf_world(path, files)?;
    let mut world = World {
        name: sdf.name,
        ..World::default()
    };
    world.gravity_mps2 = sdf.gravity_mps2.unwrap_or(world.gravity_mps2);
    if let Some([lat_deg, lon_deg, alt_m]) = sdf.origin {
        world.origin.lat_deg = lat_deg;
        world.origin.lon_deg = lon_deg;
        world.origin.alt_m = alt_m;
    }
    world.notes = sdf.notes.iter().map(ToString::to_string).collect();
    let mut taken = BTreeSet::new();
    for model in &sdf.models {
        for link in &model.links {
            take(model, link, (&mut *files, &mut taken), &mut world);
        }
    }
    Ok(world)
}

/// A link becomes a body of its own. Joints of worlds are left out: what is not static moves by itself.
fn take(
    model: &SdfModel,
    link: &SdfLink,
    (files, taken): (&mut dyn Files, &mut BTreeSet<String>),
    world: &mut World,
) {
    let name = if model.links.len() == 1 {
        model.name.clone()
    } else {
        format!("{}/{}", model.name, link.name)
    };
    let mut parts = Vec::new();
    for collision in &link.collisions {
        match part(collision, files) {
            Ok(part) => parts.push(part),
            Err(why) => {
                let fault = Fault::LeftOut(format!("a shape of {name} is left out: {why}"));
                let note = Mistake {
                    place: collision.place.clone(),
                    fault,
                };
                world.notes.push(note.to_string());
            }
        }
    }
    if parts.is_empty() {
        return;
    }
    let is_ground = parts.iter().any(|part| matches!(part.solid, Solid::Plane))
        || link
            .collisions
            .iter()
            .any(|it| matches!(it.shape, SdfShape::Heightmap { .. }));
    let is_free = !model.is_static && !is_ground && link.mass_kg > 0.0;
    let friction = link.collisions.iter().find_map(|it| it.friction);
    world.bodies.push(Body {
        name: unique(name, taken),
        world_from_body: link.world_from_link,
        parts,
        moves: if is_free {
            Moves::Freely {
                mass_kg: link.mass_kg,
            }
        } else {
            Moves::Never
        },
        // Gazebo's worlds often have 100, which holds as 1 does.
        friction: friction.unwrap_or(0.9).clamp(0.0, 1.0),
        colour: link.colour.map(|colour| colour.map(byte)),
        is_ground,
        chart: None,
    });
}

/// A name that no other body has.
fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(name.clone()) {
        return name;
    }
    let mut others = (2_u32..).map(|nth| format!("{name}_{nth}"));
    let free = others.find(|name| taken.insert(name.clone()));
    free.unwrap_or(name)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0 to 255"
)]
fn byte(share: f64) -> u8 {
    (share * 255.0).round().clamp(0.0, 255.0) as u8
}

fn part(collision: &SdfCollision, files: &mut dyn Files) -> Result<Part, String> {
    let mut body_from_part = collision.link_from_shape;
    let solid = match &collision.shape {
        SdfShape::Plane => Solid::Plane,
        SdfShape::Plain(ShapeKind::Box { size_m }) => Solid::Box {
            half_m: size_m.map(|edge| edge / 2.0),
        },
        SdfShape::Plain(ShapeKind::Cylinder { radius_m, length_m }) => Solid::Cylinder {
            radius_m: *radius_m,
            half_m: length_m / 2.0,
        },
        SdfShape::Plain(ShapeKind::Sphere { radius_m }) => Solid::Sphere {
            radius_m: *radius_m,
        },
        SdfShape::Plain(ShapeKind::Mesh { file, scale }) => {
            let bytes = files
                .read(Path::new(file))
                .map_err(|error| format!("{file}: {error}"))?;
            let mesh = mesh::read(file, &bytes, *scale).map_err(|error| error.to_string())?;
            Solid::Mesh(Arc::new(mesh))
        }
        SdfShape::Heightmap {
            file,
            size_m,
            middle_m,
        } => {
            let shown = file.display();
            let bytes = files
                .read(file)
                .map_err(|error| format!("{shown}: {error}"))?;
            let rows = heights::of_png(&bytes).map_err(|error| format!("{shown}: {error}"))?;
            let mesh = heights::mesh(&rows, *size_m).map_err(|error| error.to_string())?;
            body_from_part = body_from_part * Transform::from_xyz(*middle_m);
            Solid::Mesh(Arc::new(mesh))
        }
    };
    if !is_sized(&solid) {
        return Err("it has no size".to_owned());
    }
    Ok(Part {
        body_from_part,
        solid,
    })
}

fn is_sized(solid: &Solid) -> bool {
    let is_length = |length: &f64| (1e-6..=1e6).contains(length);
    match solid {
        Solid::Plane | Solid::Mesh(_) => true,
        Solid::Box { half_m } => half_m.iter().all(is_length),
        Solid::Cylinder { radius_m, half_m } => is_length(radius_m) && is_length(half_m),
        Solid::Sphere { radius_m } => is_length(radius_m),
    }
}

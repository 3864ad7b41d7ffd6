//! World files of our own: TOML, with a table for each body and each painted line.

mod line;

use super::load::LoadWorldError;
use super::{Body, Moves, Origin, Path, PathEnd, Spawn, World, heights, mesh};
use crate::solid::Solid;
use bowline_geometry::{Files, Transform, Vec3, is_name};
use bowline_node::document::{self, Problems, Table, Value, Word, describe, numbers};
use std::ops::RangeInclusive;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Coordinates in metres.
const PLACE: RangeInclusive<f64> = -1e5..=1e5;
/// Sizes in metres.
const SIZE: RangeInclusive<f64> = 1e-3..=1e5;
const DEGREES: RangeInclusive<f64> = -3_600.0..=3_600.0;
/// More bodies are a city.
const MAX_BODIES: usize = 10_000;
const MAX_POINTS: usize = 1_000;

const SHAPES: &[(&str, Shape)] = &[
    ("box", Shape::Box),
    ("cylinder", Shape::Cylinder),
    ("sphere", Shape::Sphere),
    ("plane", Shape::Plane),
    ("mesh", Shape::Mesh),
    ("heightmap", Shape::Heightmap),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Box,
    Cylinder,
    Sphere,
    Plane,
    Mesh,
    Heightmap,
}

pub(super) fn parse(
    text: &str,
    path: &std::path::Path,
    files: &mut dyn Files,
) -> Result<World, LoadWorldError> {
    let mut problems = Problems::new(&path.display().to_string(), text);
    let folder = path.parent().unwrap_or(std::path::Path::new(""));
    let world = document::parse(text, &mut problems, |file, problems| {
        Some(read(file, (folder, files), problems))
    });
    match world {
        Some(mut world) if !problems.has_errors() => {
            let warnings = problems.into_sorted();
            world.notes = warnings.iter().map(ToString::to_string).collect();
            Ok(world)
        }
        Some(_) | None => Err(LoadWorldError::Ours(problems.into_sorted())),
    }
}

type Beside<'a> = (&'a std::path::Path, &'a mut dyn Files);

fn read(file: &DeTable<'_>, (folder, files): Beside<'_>, problems: &mut Problems<'_>) -> World {
    let mut world = World::default();
    let mut root = Table::root("the world file", file);
    match root.table("world", "[world]", problems) {
        Some(table) => read_world(table, &mut world, problems),
        None => {
            let help = "begin the file with [world] and name = \"...\"";
            problems
                .error(0..0, "expected a table [world], found none")
                .help(help);
        }
    }
    if let Some(table) = root.table("spawn", "[spawn]", problems) {
        world.spawn = read_spawn(table, problems);
    }
    if let Some(table) = root.table("body", "[body]", problems) {
        let entries = table.entries();
        if entries.len() > MAX_BODIES {
            let found = entries.len();
            problems.error(
                table.at(),
                format!("expected at most {MAX_BODIES} bodies, found {found}"),
            );
            return world;
        }
        for (name, value) in entries {
            let body = read_body(&name, value, (folder, &mut *files), problems);
            world.bodies.extend(body);
        }
    }
    if let Some(table) = root.table("line", "[line]", problems) {
        line::read(&table, &mut world, problems);
    }
    root.finish(problems);
    world
}

fn read_world(mut table: Table<'_, '_>, world: &mut World, problems: &mut Problems<'_>) {
    table.require("name", "name = \"...\"", problems);
    if let Some(name) = table.text("name", problems) {
        world.name = name.into_inner();
    }
    let gravity = table.numbers("gravity_mps2", -100.0..=100.0, problems);
    world.gravity_mps2 = gravity.unwrap_or(world.gravity_mps2);
    if let Some(origin) = table.table("origin", "origin", problems) {
        world.origin = read_origin(origin, problems);
    }
    table.finish(problems);
}

fn read_origin(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Origin {
    let usual = Origin::default();
    let lat_deg = table.number("lat_deg", -90.0..=90.0, problems);
    let lon_deg = table.number("lon_deg", -180.0..=180.0, problems);
    let alt_m = table.number("alt_m", -1e4..=1e5, problems);
    let field_tesla = table.numbers("field_tesla", -1e-3..=1e-3, problems);
    table.finish(problems);
    Origin {
        lat_deg: lat_deg.unwrap_or(usual.lat_deg),
        lon_deg: lon_deg.unwrap_or(usual.lon_deg),
        alt_m: alt_m.unwrap_or(usual.alt_m),
        field_tesla: field_tesla.unwrap_or(usual.field_tesla),
    }
}

fn read_spawn(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> Spawn {
    table.require("at_m", "at_m = [0.0, 0.0]", problems);
    let xy_m = table.numbers("at_m", PLACE, problems).unwrap_or_default();
    let heading = table.number("heading_deg", DEGREES, problems);
    let from_z_m = table.number("from_z_m", PLACE, problems);
    table.finish(problems);
    Spawn {
        xy_m,
        from_z_m,
        heading_rad: heading.unwrap_or(0.0).to_radians(),
    }
}

fn read_body(
    name: &Word,
    value: &Value<'_>,
    beside: Beside<'_>,
    problems: &mut Problems<'_>,
) -> Option<Body> {
    if !is_name(name.get_ref()) {
        let message = format!(
            "a body's name has no spaces and colons, found {:?}",
            name.get_ref()
        );
        problems.error(name.span(), message);
        return None;
    }
    let what = format!("[body.{}]", name.get_ref());
    let mut table = Table::of(&what, value, problems);
    table.require("shape", "shape = \"box\"", problems);
    let shape = table.choice("shape", SHAPES, problems);
    let solid = shape.and_then(|shape| read_solid(shape, &mut table, beside, problems));
    let pose = read_pose(&mut table, solid.as_ref(), problems);
    let friction = table.number("friction", 0.0..=10.0, problems);
    let colour = read_colour(&mut table, problems);
    let is_ground = table.boolean("ground", problems);
    let moves = read_moves(&mut table, &pose, problems);
    table.finish(problems);
    let mut body = Body::new(name.get_ref().clone(), solid?).posed(pose);
    body.is_ground = is_ground.unwrap_or(matches!(shape, Some(Shape::Plane | Shape::Heightmap)));
    body.friction = friction.unwrap_or(body.friction);
    body.colour = colour;
    body.moves = moves;
    Some(body)
}

fn read_solid(
    shape: Shape,
    table: &mut Table<'_, '_>,
    beside: Beside<'_>,
    problems: &mut Problems<'_>,
) -> Option<Solid> {
    match shape {
        Shape::Plane => Some(Solid::Plane),
        Shape::Box => {
            table.require("size_m", "size_m = [1.0, 1.0, 1.0]", problems);
            let half_m = table
                .numbers("size_m", SIZE, problems)?
                .map(|edge| edge / 2.0);
            Some(Solid::Box { half_m })
        }
        Shape::Cylinder => {
            table.require("radius_m", "radius_m = 0.5", problems);
            table.require("height_m", "height_m = 1.0", problems);
            let radius_m = table.number("radius_m", SIZE, problems);
            let height_m = table.number("height_m", SIZE, problems);
            Some(Solid::Cylinder {
                radius_m: radius_m?,
                half_m: height_m? / 2.0,
            })
        }
        Shape::Sphere => {
            table.require("radius_m", "radius_m = 0.5", problems);
            let radius_m = table.number("radius_m", SIZE, problems)?;
            Some(Solid::Sphere { radius_m })
        }
        Shape::Mesh => read_mesh(table, beside, problems),
        Shape::Heightmap => read_heights(table, beside, problems),
    }
}

/// The bytes of a file that a body names.
fn read_file(
    table: &mut Table<'_, '_>,
    (folder, files): Beside<'_>,
    problems: &mut Problems<'_>,
) -> Option<(Word, Vec<u8>)> {
    let file = table.text("file", problems)?;
    let path = folder.join(file.get_ref());
    match files.read(&path) {
        Ok(bytes) => Some((file, bytes)),
        Err(error) => {
            let message = format!("expected a file at {}, found: {error}", path.display());
            problems.error(file.span(), message);
            None
        }
    }
}

fn read_mesh(
    table: &mut Table<'_, '_>,
    beside: Beside<'_>,
    problems: &mut Problems<'_>,
) -> Option<Solid> {
    table.require("file", "file = \"rock.obj\"", problems);
    let scale = table
        .numbers("scale", 1e-6..=1e6, problems)
        .unwrap_or([1.0; 3]);
    let (file, bytes) = read_file(table, beside, problems)?;
    match mesh::read(file.get_ref(), &bytes, scale) {
        Ok(mesh) => Some(Solid::Mesh(Arc::new(mesh))),
        Err(error) => {
            problems.error(file.span(), error.to_string());
            None
        }
    }
}

fn read_heights(
    table: &mut Table<'_, '_>,
    beside: Beside<'_>,
    problems: &mut Problems<'_>,
) -> Option<Solid> {
    table.require(
        "size_m",
        "size_m = [20.0, 20.0, 1.0]: along x and y, and the height of white",
        problems,
    );
    let size: Option<Vec3> = table.numbers("size_m", SIZE, problems);
    let inline = table.list("heights", problems);
    let file = read_file(table, beside, problems);
    let at = table
        .key("heights")
        .or(file.as_ref().map(|(file, _)| file.span()));
    let at = at.unwrap_or(table.at());
    let rows = match (inline, file) {
        (Some(rows), None) => {
            let rows = rows.iter().map(|row| height_row(row, problems));
            rows.collect::<Option<Vec<_>>>()?
        }
        (None, Some((file, bytes))) => match heights::of_png(&bytes) {
            Ok(rows) => rows,
            Err(error) => {
                problems.error(file.span(), error.to_string());
                return None;
            }
        },
        (Some(_), Some(_)) => {
            problems.error(at, "expected one of heights and file, found both");
            return None;
        }
        (None, None) => {
            if !problems.has_errors() {
                let help = "file = \"hill.png\", or heights = [[0.0, 0.1], [0.0, 0.2]]: rows from south to north";
                problems
                    .error(at, "expected heights or a file, found none")
                    .help(help);
            }
            return None;
        }
    };
    match heights::mesh(&rows, size?) {
        Ok(mesh) => Some(Solid::Mesh(Arc::new(mesh))),
        Err(error) => {
            problems.error(at, error.to_string());
            None
        }
    }
}

fn height_row(row: &Value<'_>, problems: &mut Problems<'_>) -> Option<Vec<f64>> {
    let items = row.get_ref().as_array();
    let items = items.and_then(|items| {
        let heights = items.iter().map(|item| number(item.get_ref()));
        heights.collect::<Option<Vec<f64>>>()
    });
    if items.is_none() {
        let found = describe(row.get_ref());
        problems.error(
            row.span(),
            format!("each of heights is a list of numbers, found {found}"),
        );
    }
    items
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        DeValue::Float(number) => number.as_str(),
        DeValue::Integer(number) => number.as_str(),
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return None,
    };
    text.parse().ok().filter(|number| PLACE.contains(number))
}

/// Where a body is: its middle at `at_m`, or standing at `on_m`, on the ground of height 0.
fn read_pose(
    table: &mut Table<'_, '_>,
    solid: Option<&Solid>,
    problems: &mut Problems<'_>,
) -> Transform {
    let at: Option<Vec3> = table.numbers("at_m", PLACE, problems);
    let on: Option<[f64; 2]> = table.numbers("on_m", PLACE, problems);
    let rpy: Option<Vec3> = table.numbers("rpy_deg", DEGREES, problems);
    let heading = table.number("heading_deg", DEGREES, problems);
    if let (Some(_), Some(span)) = (at, table.key("on_m")) {
        problems.error(span, "expected one of at_m and on_m, found both");
    }
    if let (Some(_), Some(span)) = (rpy, table.key("heading_deg")) {
        problems.error(span, "expected one of rpy_deg and heading_deg, found both");
    }
    let half = match solid {
        Some(Solid::Box { half_m }) => half_m[2],
        Some(Solid::Cylinder { half_m, .. }) => *half_m,
        Some(Solid::Sphere { radius_m }) => *radius_m,
        Some(Solid::Plane | Solid::Mesh(_)) | None => 0.0,
    };
    let xyz = at.or(on.map(|[x, y]| [x, y, half])).unwrap_or_default();
    let turned = rpy.unwrap_or([0.0, 0.0, heading.unwrap_or(0.0)]);
    Transform::from_xyz_rpy(xyz, turned.map(f64::to_radians))
}

fn read_colour(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Option<[u8; 3]> {
    let word = table.text("colour", problems)?;
    let colour = hex(word.get_ref());
    if colour.is_none() {
        let message = format!(
            "colour is text such as \"#a0522d\", found {:?}",
            word.get_ref()
        );
        problems.error(word.span(), message);
    }
    colour
}

fn hex(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

fn read_moves(table: &mut Table<'_, '_>, pose: &Transform, problems: &mut Problems<'_>) -> Moves {
    let mass = table.number("mass_kg", 1e-3..=1e6, problems);
    let path = table.table("path", "path", problems);
    match (mass, path) {
        (None, None) => Moves::Never,
        (Some(mass_kg), None) => Moves::Freely { mass_kg },
        (None, Some(path)) => read_path(path, pose, problems).map_or(Moves::Never, Moves::Along),
        (Some(_), Some(path)) => {
            let message =
                "expected one of mass_kg and path, found both: what is pushed leaves its path";
            problems.error(path.at(), message);
            Moves::Never
        }
    }
}

fn read_path(
    mut table: Table<'_, '_>,
    pose: &Transform,
    problems: &mut Problems<'_>,
) -> Option<Path> {
    table.require("points_m", "points_m = [[0.0, 0.0], [5.0, 0.0]]", problems);
    table.require("speed_mps", "speed_mps = 1.0", problems);
    let points = table.list("points_m", problems);
    let speed_mps = table.number("speed_mps", 1e-3..=100.0, problems);
    let ends = [
        ("loop", PathEnd::Loop),
        ("back", PathEnd::Back),
        ("stop", PathEnd::Stop),
    ];
    let end = table.choice("end", &ends, problems);
    let delay = table.duration("delay", problems);
    table.finish(problems);
    let z = pose.xyz()[2];
    let mut way = Vec::new();
    for point in points? {
        let flat = numbers::<2>(point.get_ref(), &PLACE).map(|[x, y]| [x, y, z]);
        let found = flat.or_else(|| numbers::<3>(point.get_ref(), &PLACE));
        match found {
            Some(found) => way.push(found),
            None => {
                let found = describe(point.get_ref());
                problems.error(
                    point.span(),
                    format!("each of points_m is 2 or 3 numbers, found {found}"),
                );
                return None;
            }
        }
    }
    if !(2..=MAX_POINTS).contains(&way.len()) {
        let (at, found) = (table_at(points?), way.len());
        problems.error(
            at,
            format!("points_m has 2 to {MAX_POINTS} points, found {found}"),
        );
        return None;
    }
    Some(Path {
        points_m: way,
        speed_mps: speed_mps?,
        end: end.unwrap_or(PathEnd::Back),
        delay_s: delay.unwrap_or_default().as_secs_f64(),
    })
}

fn table_at(points: &[Value<'_>]) -> document::Span {
    points.first().map_or(0..0, Value::span)
}

//! World files of our own: TOML, with a table for each body and each painted line.

mod area;
mod line;
mod sea;
mod seabed;

use super::load::LoadWorldError;
use super::{Body, Moves, Origin, Path, PathEnd, Spawn, World, heights, mesh};
use crate::fault::{KINDS, MAX_FAULTS, NamedKind, PlannedFault};
use crate::solid::Solid;
use bowline_component::document::{self, Problems, Table, Texts, Value, Word, describe, numbers};
use bowline_geometry::{Files, Transform, Vec3, is_name};
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
/// As many as may be broken at once.
const MAX_PLANNED: usize = MAX_FAULTS;

const SHAPES: &[(&str, Shape)] = &[
    ("box", Shape::Box),
    ("cylinder", Shape::Cylinder),
    ("sphere", Shape::Sphere),
    ("plane", Shape::Plane),
    ("mesh", Shape::Mesh),
    ("heightmap", Shape::Heightmap),
    ("seabed", Shape::Seabed),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Box,
    Cylinder,
    Sphere,
    Plane,
    Mesh,
    Heightmap,
    Seabed,
}

pub(super) fn parse(
    text: &str,
    path: &std::path::Path,
    files: &mut dyn Files,
) -> Result<World, LoadWorldError> {
    let mut other = |path: &std::path::Path| {
        let text = super::load::text(path, files);
        text.map_err(|error| error.to_string())
    };
    let texts = Texts::new(path, text, "world", &mut other);
    let mut problems = Problems::new(&texts);
    let world = document::parse(&texts, &mut problems, |file, problems| {
        Some(read(file, files, problems))
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

fn read(file: &DeTable<'_>, files: &mut dyn Files, problems: &mut Problems<'_>) -> World {
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
            let body = read_body(&name, value, files, problems);
            world.bodies.extend(body);
        }
    }
    if let Some(table) = root.table("line", "[line]", problems) {
        line::read(&table, &mut world, problems);
    }
    if let Some(table) = root.table("sea", "[sea]", problems) {
        world.sea = Some(sea::read(table, problems));
    }
    if let Some(table) = root.table("area", "[area]", problems) {
        world.areas = area::read(&table, problems);
    }
    world.faults = read_faults(&mut root, problems);
    root.finish(problems);
    world
}

fn read_world(mut table: Table<'_, '_>, world: &mut World, problems: &mut Problems<'_>) {
    table.require("name", "name = \"...\"", problems);
    // Whatever that is like is in here already.
    let _like = table.text("like", problems);
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
    files: &mut dyn Files,
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
    let solid = shape.and_then(|shape| read_solid(shape, &mut table, files, problems));
    let pose = read_pose(&mut table, solid.as_ref(), problems);
    let friction = table.number("friction", 0.0..=10.0, problems);
    let colour = read_colour(&mut table, problems);
    let is_ground = table.boolean("ground", problems);
    let chart = read_chart(&mut table, problems);
    let (moves, pose) = read_moves(&mut table, pose, problems);
    table.finish(problems);
    let mut body = Body::new(name.get_ref().clone(), solid?).posed(pose);
    let lies = matches!(shape, Some(Shape::Plane | Shape::Heightmap | Shape::Seabed));
    body.is_ground = is_ground.unwrap_or(lies);
    body.friction = friction.unwrap_or(body.friction);
    body.colour = colour;
    body.chart = chart;
    body.moves = moves;
    Some(body)
}

fn read_solid(
    shape: Shape,
    table: &mut Table<'_, '_>,
    files: &mut dyn Files,
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
        Shape::Mesh => read_mesh(table, files, problems),
        Shape::Heightmap => read_heights(table, files, problems),
        Shape::Seabed => seabed::read(table, problems),
    }
}

/// The bytes of a file that a body names.
fn read_file(
    table: &mut Table<'_, '_>,
    files: &mut dyn Files,
    problems: &mut Problems<'_>,
) -> Option<(Word, Vec<u8>)> {
    let file = table.text("file", problems)?;
    let path = problems.folder(&file.span()).join(file.get_ref());
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
    files: &mut dyn Files,
    problems: &mut Problems<'_>,
) -> Option<Solid> {
    table.require("file", "file = \"rock.obj\"", problems);
    let scale = table
        .numbers("scale", 1e-6..=1e6, problems)
        .unwrap_or([1.0; 3]);
    let (file, bytes) = read_file(table, files, problems)?;
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
    files: &mut dyn Files,
    problems: &mut Problems<'_>,
) -> Option<Solid> {
    table.require(
        "size_m",
        "size_m = [20.0, 20.0, 1.0]: along x and y, and the height of white",
        problems,
    );
    let size: Option<Vec3> = table.numbers("size_m", SIZE, problems);
    let inline = table.list("heights", problems);
    let file = read_file(table, files, problems);
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
    // What has a path stands on the ground by default.
    let unsaid = match table.key("path") {
        Some(_) => [0.0, 0.0, half],
        None => [0.0; 3],
    };
    let xyz = at.or(on.map(|[x, y]| [x, y, half])).unwrap_or(unsaid);
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

/// What a chart calls a body.
fn read_chart(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Option<String> {
    let word = table.text("chart", problems)?;
    if !is_name(word.get_ref()) {
        let found = word.get_ref();
        let message = format!("chart is a word such as \"pier\", found {found:?}");
        problems.error(word.span(), message);
        return None;
    }
    Some(word.into_inner())
}

/// The list `points_m`, of so many pairs at least.
fn read_points(
    table: &mut Table<'_, '_>,
    (least, limits): (usize, RangeInclusive<f64>),
    problems: &mut Problems<'_>,
) -> Option<Vec<[f64; 2]>> {
    let points = table.list("points_m", problems)?;
    if !(least..=MAX_POINTS).contains(&points.len()) {
        let found = points.len();
        let message = format!("points_m has {least} to {MAX_POINTS} points, found {found}");
        problems.error(table.key("points_m").unwrap_or(table.at()), message);
        return None;
    }
    let points = points.iter().map(|point| {
        let found = numbers::<2>(point.get_ref(), &limits);
        if found.is_none() {
            let found = describe(point.get_ref());
            let message = format!("each of points_m is 2 numbers, found {found}");
            problems.error(point.span(), message);
        }
        found
    });
    points.collect()
}

fn hex(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue])
}

/// How a body moves, and where it is at the beginning.
fn read_moves(
    table: &mut Table<'_, '_>,
    pose: Transform,
    problems: &mut Problems<'_>,
) -> (Moves, Transform) {
    let mass = table.number("mass_kg", 1e-3..=1e6, problems);
    let path = table.table("path", "path", problems);
    match (mass, path) {
        (None, None) => (Moves::Never, pose),
        (Some(mass_kg), None) => (Moves::Freely { mass_kg }, pose),
        (None, Some(path)) => match read_path(path, &pose, problems) {
            Some(path) => {
                check_begin(table, &path, &pose, problems);
                let begin = path.pose_at(0.0);
                (Moves::Along(path), begin)
            }
            None => (Moves::Never, pose),
        },
        (Some(_), Some(path)) => {
            let message =
                "expected one of mass_kg and path, found both: what is pushed leaves its path";
            problems.error(path.at(), message);
            (Moves::Never, pose)
        }
    }
}

/// A path defines where its body begins and where it looks; nothing else may.
fn check_begin(table: &Table<'_, '_>, path: &Path, pose: &Transform, problems: &mut Problems<'_>) {
    let first = path.points_m.first().copied().unwrap_or_default();
    if let Some(at) = table.key("on_m").or(table.key("at_m"))
        && first.map(f64::to_bits) != pose.xyz().map(f64::to_bits)
    {
        let message = format!(
            "expected the first of points_m, {first:?}, found {:?}",
            pose.xyz()
        );
        let help = "a body begins at the first of its points: leave this out";
        problems.error(at, message).help(help);
    }
    if let Some(at) = table.key("heading_deg").or(table.key("rpy_deg")) {
        let message = "expected no heading files a path, found one: it looks where it goes";
        problems.error(at, message);
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

/// What breaks by itself.
fn read_faults(root: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Vec<PlannedFault> {
    let list = root.list("fault", problems).unwrap_or_default();
    if let Some(beyond) = list.get(MAX_PLANNED) {
        let found = list.len();
        let message = format!("expected at most {MAX_PLANNED} faults, found {found}");
        problems.error(beyond.span(), message);
        return Vec::new();
    }
    let faults = list.iter().map(|value| read_fault(value, problems));
    faults.flatten().collect()
}

fn read_fault(value: &Value<'_>, problems: &mut Problems<'_>) -> Option<PlannedFault> {
    let mut table = Table::of("each [[fault]]", value, problems);
    table.require("at", "at = \"10s\"", problems);
    table.require("kind", "kind = \"dead\"", problems);
    let at = table.duration("at", problems);
    let lasts = table.duration("for", problems);
    let port = table.text("port", problems).map(Word::into_inner);
    let kinds: Vec<(&str, &NamedKind)> = KINDS.iter().map(|kind| (kind.word, kind)).collect();
    let kind = table.choice("kind", &kinds, problems);
    let kind = kind.and_then(|named| match named.amount {
        None => named.of(0.0).ok(),
        Some(amount) => {
            let help = format!("{} reports how much is wrong", amount.key);
            table.require(amount.key, &help, problems);
            let (least, most) = (amount.limits.start(), amount.limits.end());
            let limits = least / amount.unit..=most / amount.unit;
            let found = table.number(amount.key, limits, problems)?;
            // Half a turn is half a turn, whichever way it is rounded.
            named.of((found * amount.unit).clamp(*least, *most)).ok()
        }
    });
    table.finish(problems);
    Some(PlannedFault {
        at: at?,
        kind: kind?,
        port,
        lasts,
    })
}

//! A chart of a world, as `GeoJSON`: what a harbour office would publish, and nothing that it would not know.
//!
//! In: a world. Out: a feature collection in longitude and latitude, with its `origin`, so that readers can go back to
//! metres. Each feature has a `kind`: that of bodies with `chart` in their file, of areas, `depth_area`, `sounding`, `berth`.
//! Deliberately absent: bodies without `chart`, plumes, currents.

use crate::outline::outline;
use crate::physics::Physics;
use crate::scene::Scene;
use crate::world::{Body, Origin, World};
use rapier3d_f64::math::Vector;
use serde_json::{Map, Value, json};

/// Depth areas are made of cells so large, metres.
const CELL_M: f64 = 5.0;
/// Of every so many cells, both ways, one has its sounding.
const SOUNDING_CELLS: usize = 4;
/// Where one depth area ends and the next begins, metres.
pub(crate) const DEPTHS_M: [f64; 6] = [0.0, 3.0, 5.0, 7.0, 9.0, 12.0];
/// More cells are an ocean.
const MAX_CELLS: usize = 40_000;
/// Nothing moves here; a step is asked for all the same.
const STEP_S: f64 = 0.005;

/// A rectangle of the map: west, south, east and north, metres.
pub(crate) type Rectangle = [f64; 4];

/// The chart of a world; none if it has no sea.
#[must_use]
pub fn to_geojson(world: &World) -> Option<String> {
    let depths = Depths::of(world)?;
    let mut features = Vec::new();
    for (at, rectangles) in depths.areas().iter().enumerate() {
        features.extend(depth_area(&world.origin, at, rectangles));
    }
    for ([x, y], depth_m) in depths.soundings() {
        let point = json!({ "type": "Point", "coordinates": position(&world.origin, [x, y]) });
        let depth_m = rounded(depth_m, 10.0);
        features.push(feature(
            json!({ "kind": "sounding", "depth_m": depth_m }),
            &point,
        ));
    }
    for body in &world.bodies {
        features.extend(charted(&world.origin, body));
    }
    for area in &world.areas {
        let ring = ring(&world.origin, area.points_m.iter().copied());
        let polygon = json!({ "type": "Polygon", "coordinates": [ring] });
        let properties = json!({ "kind": area.kind.word(), "name": area.name });
        features.push(feature(properties, &polygon));
    }
    let berth =
        json!({ "type": "Point", "coordinates": position(&world.origin, world.spawn.xy_m) });
    let heading_deg = rounded(world.spawn.heading_rad.to_degrees(), 10.0);
    let properties = json!({ "kind": "berth", "name": "home", "heading_deg": heading_deg });
    features.push(feature(properties, &berth));
    let Origin {
        lat_deg,
        lon_deg,
        alt_m,
        ..
    } = world.origin;
    let head = json!({
        "type": "FeatureCollection",
        "name": world.name,
        "origin": { "lat_deg": lat_deg, "lon_deg": lon_deg, "alt_m": alt_m },
    });
    Some(lines(&head, &features))
}

/// Everything that stands in a world, seen from above, in metres of the map frame: what is true, beside what a vehicle
/// believes. For displays of simulations; no vehicle has such a chart.
#[must_use]
pub fn to_truth(world: &World) -> String {
    let mut features = Vec::new();
    for body in &world.bodies {
        let outlines = body.parts.iter().filter_map(|part| {
            let at = body.world_from_body * part.body_from_part;
            outline(&part.solid, &at)
        });
        for mut points in outlines {
            points.extend(points.first().copied());
            let points: Vec<[f64; 2]> = points.into_iter().map(to_centimetres).collect();
            let polygon = json!({ "type": "Polygon", "coordinates": [points] });
            let properties = json!({ "kind": "body", "name": body.name });
            features.push(feature(properties, &polygon));
        }
    }
    for line in &world.lines {
        let points: Vec<[f64; 2]> = line.points_m.iter().copied().map(to_centimetres).collect();
        let string = json!({ "type": "LineString", "coordinates": points });
        features.push(feature(json!({ "kind": "line" }), &string));
    }
    let head = json!({
        "type": "FeatureCollection",
        "name": world.name,
        "frame": "map",
        "is_truth": true,
    });
    lines(&head, &features)
}

fn to_centimetres(point: [f64; 2]) -> [f64; 2] {
    point.map(|it| rounded(it, 100.0))
}

/// A feature in a line, so that changes of a chart can be read.
fn lines(head: &Value, features: &[Value]) -> String {
    let head = head.to_string();
    let open = head.strip_suffix('}').unwrap_or(&head);
    let features: Vec<String> = features.iter().map(ToString::to_string).collect();
    format!("{open},\"features\":[\n{}\n]}}\n", features.join(",\n"))
}

fn feature(properties: Value, geometry: &Value) -> Value {
    json!({ "type": "Feature", "properties": properties, "geometry": geometry })
}

fn depth_area(origin: &Origin, at: usize, rectangles: &[Rectangle]) -> Option<Value> {
    if rectangles.is_empty() {
        return None;
    }
    let polygons = rectangles.iter().map(|[west, south, east, north]| {
        let corners = [
            [*west, *south],
            [*east, *south],
            [*east, *north],
            [*west, *north],
        ];
        json!([ring(origin, corners.into_iter())])
    });
    let polygons: Vec<Value> = polygons.collect();
    let mut properties = Map::new();
    properties.insert("kind".to_owned(), "depth_area".into());
    properties.insert("depth_min_m".to_owned(), DEPTHS_M.get(at).copied().into());
    if let Some(most) = DEPTHS_M.get(at + 1) {
        properties.insert("depth_max_m".to_owned(), (*most).into());
    }
    let geometry = json!({ "type": "MultiPolygon", "coordinates": polygons });
    Some(feature(properties.into(), &geometry))
}

/// A body that its file puts on the chart.
fn charted(origin: &Origin, body: &Body) -> Vec<Value> {
    let Some(kind) = &body.chart else {
        return Vec::new();
    };
    let outlines = body.parts.iter().filter_map(|part| {
        let at = body.world_from_body * part.body_from_part;
        outline(&part.solid, &at)
    });
    let features = outlines.map(|points| {
        let ring = ring(origin, points.into_iter());
        let polygon = json!({ "type": "Polygon", "coordinates": [ring] });
        feature(json!({ "kind": kind, "name": body.name }), &polygon)
    });
    features.collect()
}

/// Closed, as `GeoJSON` wants it.
fn ring(origin: &Origin, points: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let mut ring: Vec<[f64; 2]> = points.map(|point| position(origin, point)).collect();
    ring.extend(ring.first().copied());
    ring
}

/// Longitude and latitude, to a centimetre.
fn position(origin: &Origin, [x, y]: [f64; 2]) -> [f64; 2] {
    let [lat_deg, lon_deg, _] = origin.earth().on_earth([x, y, 0.0]);
    [rounded(lon_deg, 1e7), rounded(lat_deg, 1e7)]
}

fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

/// How deep a world is, in cells.
pub(crate) struct Depths {
    west: f64,
    south: f64,
    n_columns: usize,
    /// Row by row from the south, metres below still water; not a number where there is no water.
    depths_m: Vec<f64>,
}

impl Depths {
    /// Of a world with a sea and a bottom that ends somewhere.
    pub(crate) fn of(world: &World) -> Option<Self> {
        let level_m = world.sea.as_ref()?.level_m;
        let [west, south, east, north] = floor(world)?;
        let n_columns = cells(east - west);
        let n_rows = cells(north - south);
        if n_columns.checked_mul(n_rows)? > MAX_CELLS {
            return None;
        }
        let ground = Physics::new(world, STEP_S).ground();
        let middle = |from: f64, at: usize| from + (number(at) + 0.5) * CELL_M;
        let rows = (0..n_rows).map(|row| middle(south, row));
        let depths = rows.flat_map(|y| {
            let columns = (0..n_columns).map(|column| middle(west, column));
            let ground = &ground;
            columns.map(move |x| depth(ground, [x, y], level_m))
        });
        Some(Self {
            west,
            south,
            n_columns,
            depths_m: depths.collect(),
        })
    }

    /// Each depth's cells, put together along their rows.
    pub(crate) fn areas(&self) -> Vec<Vec<Rectangle>> {
        let mut areas = vec![Vec::new(); DEPTHS_M.len()];
        for (row, depths) in self.depths_m.chunks(self.n_columns.max(1)).enumerate() {
            let south = self.south + number(row) * CELL_M;
            let mut begin = 0;
            for run in depths.chunk_by(|one, two| band(*one) == band(*two)) {
                let [west, east] = [begin, begin + run.len()];
                begin = east;
                let band = run.first().and_then(|depth| band(*depth));
                if let Some(area) = band.and_then(|band| areas.get_mut(band)) {
                    let [west, east] = [west, east].map(|at| self.west + number(at) * CELL_M);
                    area.push([west, south, east, south + CELL_M]);
                }
            }
        }
        areas
    }

    /// Some depths, each with its place.
    fn soundings(&self) -> impl Iterator<Item = ([f64; 2], f64)> {
        let rows = self.depths_m.chunks(self.n_columns.max(1)).enumerate();
        let rows = rows.skip(SOUNDING_CELLS / 2).step_by(SOUNDING_CELLS);
        rows.flat_map(move |(row, depths)| {
            let columns = depths.iter().enumerate();
            let columns = columns.skip(SOUNDING_CELLS / 2).step_by(SOUNDING_CELLS);
            columns.filter_map(move |(column, depth)| {
                let at = [
                    self.west + (number(column) + 0.5) * CELL_M,
                    self.south + (number(row) + 0.5) * CELL_M,
                ];
                depth.is_finite().then_some((at, *depth))
            })
        })
    }
}

/// Around everything that is ground and has an end.
fn floor(world: &World) -> Option<Rectangle> {
    let grounds = world.bodies.iter().filter(|body| body.is_ground);
    let outlines = grounds.flat_map(|body| {
        body.parts.iter().filter_map(|part| {
            let at = body.world_from_body * part.body_from_part;
            outline(&part.solid, &at)
        })
    });
    outlines
        .flatten()
        .fold(None, |found: Option<Rectangle>, [x, y]| {
            let [west, south, east, north] = found.unwrap_or([x, y, x, y]);
            Some([west.min(x), south.min(y), east.max(x), north.max(y)])
        })
}

fn depth(ground: &Scene, [x, y]: [f64; 2], level_m: f64) -> f64 {
    let met = ground.cast(Vector::new(x, y, level_m), -Vector::Z, 1e4);
    met.map_or(f64::NAN, |met| met.range_m)
}

/// Which depth area a depth belongs to; none where there is no water.
fn band(depth_m: f64) -> Option<usize> {
    let above = DEPTHS_M.partition_point(|least| *least <= depth_m);
    above.checked_sub(1).filter(|_| depth_m.is_finite())
}

/// How many cells a side has.
fn cells(side_m: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "held within 0 and a million"
    )]
    let n = (side_m / CELL_M).round().clamp(0.0, 1e6) as usize;
    n
}

fn number(at: usize) -> f64 {
    u32::try_from(at).map_or(f64::MAX, f64::from)
}

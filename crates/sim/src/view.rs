//! A world from above, as SVG: shapes, lines, paths, where the robot begins and what its lasers reach.

use crate::chart::{DEPTHS_M, Depths};
use crate::outline::{N_CIRCLE, Outline, outline};
use crate::sensor::Reach;
use crate::simulation::Simulation;
use crate::vehicle::Vehicle;
use crate::world::{Area, AreaKind, Body, Line, Moves, PathEnd, Plume, World};
use bowline_geometry::Transform;
use bowline_geometry::svg::{Pixels, Svg};

/// How many pixels the longer side has.
const SIDE_PX: f64 = 1_000.0;
/// Of depth areas, from the shallowest on.
const BLUES: [&str; 6] = [
    "#dcecf5", "#c3dff0", "#a6cfe8", "#87bbdc", "#68a5cd", "#4d8fbf",
];
/// Around everything, metres.
const MARGIN_M: f64 = 3.0;

/// Draws a world from above, with a vehicle where its robot begins.
#[must_use]
pub fn to_svg(simulation: &Simulation) -> String {
    let (world, vehicle) = (simulation.world(), simulation.vehicle());
    let map_from_vehicle = simulation.pose();
    draw(world, Some((vehicle, &map_from_vehicle)))
}

/// Draws a world from above, without a vehicle.
#[must_use]
pub fn world_to_svg(world: &World) -> String {
    draw(world, None)
}

fn draw(world: &World, vehicle: Option<(&Vehicle, &Transform)>) -> String {
    let outlines: Vec<(&Body, Vec<Outline>)> = world
        .bodies
        .iter()
        .map(|body| (body, outlines(body)))
        .collect();
    let points = outlines.iter().flat_map(|(_, it)| it).flatten().copied();
    let ways = world.bodies.iter().flat_map(way);
    let painted = world.lines.iter().flat_map(|line| &line.points_m).copied();
    let points = points.chain(ways).chain(painted);
    let mut page = Page::around(&world.name, points.chain([world.spawn.xy_m]));
    let depths = Depths::of(world);
    if let Some(depths) = &depths {
        page.depths(depths);
    }
    // What is driven on lies below what is painted on it, and that below what stands there.
    let (ground, things): (Vec<_>, Vec<_>) = outlines.iter().partition(|(body, _)| body.is_ground);
    for (body, outlines) in ground {
        // Of a sea's floor, depths are what is to be seen.
        if depths.is_none() {
            page.body(body, outlines);
        }
    }
    for line in &world.lines {
        page.line(line);
    }
    for (body, outlines) in things {
        page.body(body, outlines);
    }
    for body in &world.bodies {
        page.path(body);
    }
    for area in &world.areas {
        page.area(area);
    }
    for plume in world.sea.iter().flat_map(|sea| &sea.plumes) {
        page.plume(plume);
    }
    match vehicle {
        Some((vehicle, pose)) => page.vehicle(vehicle, pose),
        None => page.arrow(world.spawn.xy_m, world.spawn.heading_rad, 1.5),
    }
    page.svg.finish()
}

/// The points that a body goes to, seen from above; back to the first, if it goes round.
fn way(body: &Body) -> Vec<[f64; 2]> {
    let Moves::Along(path) = &body.moves else {
        return Vec::new();
    };
    let mut points: Vec<[f64; 2]> = path.points_m.iter().map(|[x, y, _]| [*x, *y]).collect();
    if path.end == PathEnd::Loop {
        points.extend(points.first().copied());
    }
    points
}

fn outlines(body: &Body) -> Vec<Outline> {
    let parts = body.parts.iter();
    parts
        .filter_map(|part| outline(&part.solid, &(body.world_from_body * part.body_from_part)))
        .collect()
}

struct Page {
    svg: Svg,
    /// West, north and pixels in a metre.
    west: f64,
    north: f64,
    scale: f64,
    size_px: Pixels,
}

impl Page {
    fn around(name: &str, points: impl Iterator<Item = [f64; 2]>) -> Self {
        let far = f64::INFINITY;
        let [west, south, east, north] = points
            .fold([far, far, -far, -far], |[w, s, e, n], [x, y]| {
                [w.min(x), s.min(y), e.max(x), n.max(y)]
            });
        let (west, south) = (west - MARGIN_M, south - MARGIN_M);
        let (wide, high) = (east + MARGIN_M - west, north + MARGIN_M - south);
        let scale = SIDE_PX / wide.max(high);
        let size_px = [wide * scale, high * scale];
        let mut svg = Svg::open(size_px, "font-family=\"sans-serif\"");
        svg.title(name);
        svg.background("#f4f2ea");
        let mut page = Self {
            svg,
            west,
            north: north + MARGIN_M,
            scale,
            size_px,
        };
        page.grid();
        page
    }

    fn at(&self, [x, y]: [f64; 2]) -> Pixels {
        [(x - self.west) * self.scale, (self.north - y) * self.scale]
    }

    /// As commands of paths have it.
    fn place(&self, point: [f64; 2]) -> String {
        let [x, y] = self.at(point);
        format!("{x:.1},{y:.1}")
    }

    /// A line for every 10 metres, or every metre in small worlds.
    fn grid(&mut self) {
        let (line, label) = ("stroke=\"#dcd8c8\"", "font-size=\"10\" fill=\"#8a8674\"");
        let step = if self.scale > 40.0 { 1.0 } else { 10.0 };
        let [wide, high] = self.size_px;
        let mut x = (self.west / step).ceil() * step;
        while (x - self.west) * self.scale < wide {
            let at = (x - self.west) * self.scale;
            self.svg.path(&format!("M{at:.1},0V{high:.0}"), line, "");
            let below = [at + 2.0, high - 4.0];
            self.svg.text(below, label, &format!("{x:.0} m"));
            x += step;
        }
        let mut y = (self.north / step).floor() * step;
        while (self.north - y) * self.scale < high {
            let at = (self.north - y) * self.scale;
            self.svg.path(&format!("M0,{at:.1}H{wide:.0}"), line, "");
            self.svg.text([2.0, at - 2.0], label, &format!("{y:.0} m"));
            y -= step;
        }
    }

    fn polygon(&mut self, points: &[[f64; 2]], style: &str, title: &str) {
        let points: Vec<Pixels> = points.iter().map(|point| self.at(*point)).collect();
        self.svg.polygon(&points, style, title);
    }

    /// Water, the deeper the darker.
    fn depths(&mut self, depths: &Depths) {
        for (nth, rectangles) in depths.areas().iter().enumerate() {
            if rectangles.is_empty() {
                continue;
            }
            let boxes = rectangles.iter().map(|[west, south, east, north]| {
                let [left, top] = self.at([*west, *north]);
                let [wide, high] = [(east - west) * self.scale, (north - south) * self.scale];
                format!("M{left:.1},{top:.1}h{wide:.1}v{high:.1}h-{wide:.1}z")
            });
            let boxes: String = boxes.collect();
            let colour = BLUES.get(nth).copied().unwrap_or("#4d8fbf");
            let from = DEPTHS_M.get(nth).copied().unwrap_or(0.0);
            let title = match DEPTHS_M.get(nth + 1) {
                Some(to) => format!("{from} to {to} m deep"),
                None => format!("more than {from} m deep"),
            };
            self.svg.path(&boxes, &format!("fill=\"{colour}\""), &title);
        }
        // Over the water again.
        self.grid();
    }

    fn area(&mut self, area: &Area) {
        let colour = match area.kind {
            AreaKind::Survey => "#7d3c98",
            AreaKind::Geofence => "#c0392b",
        };
        let style = format!(
            "fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"8 4\""
        );
        self.polygon(&area.points_m, &style, &area.name);
    }

    fn plume(&mut self, plume: &Plume) {
        let radius = (plume.radius_m * self.scale).max(3.0);
        let title = format!("{}: {}", plume.name, plume.substance);
        let paint = "fill=\"#d4ac0d\" fill-opacity=\"0.8\"";
        self.svg.circle(self.at(plume.at_m), radius, paint, &title);
    }

    fn body(&mut self, body: &Body, outlines: &[Outline]) {
        let [red, green, blue] = body.colour.unwrap_or([150, 146, 134]);
        let opacity = if body.is_ground { 0.4 } else { 0.9 };
        let style = format!(
            "fill=\"rgb({red},{green},{blue})\" fill-opacity=\"{opacity}\" stroke=\"#4a463c\" stroke-width=\"0.8\""
        );
        for points in outlines {
            self.polygon(points, &style, &body.name);
        }
    }

    /// As broad as it is, but not thinner than can be seen, with a dark edge: most paint is white.
    fn line(&mut self, line: &Line) {
        let [red, green, blue] = line.colour;
        let wide_px = (line.width_m * self.scale).max(1.5);
        let painted = line.painted();
        let strokes: Vec<String> = painted
            .iter()
            .map(|[from, to]| format!("M{}L{}", self.place(*from), self.place(*to)))
            .collect();
        let strokes = strokes.concat();
        for (stroke, px) in [
            ("#4a463c".to_owned(), wide_px + 1.5),
            (format!("rgb({red},{green},{blue})"), wide_px),
        ] {
            let style =
                format!("stroke=\"{stroke}\" stroke-width=\"{px:.1}\" stroke-linecap=\"round\"");
            self.svg.path(&strokes, &style, &line.name);
        }
    }

    fn path(&mut self, body: &Body) {
        let points: Vec<Pixels> = way(body).iter().map(|point| self.at(*point)).collect();
        if points.is_empty() {
            return;
        }
        let style = "fill=\"none\" stroke=\"#b03a2e\" stroke-dasharray=\"6 4\"";
        self.svg.polyline(&points, style);
    }

    fn vehicle(&mut self, vehicle: &Vehicle, map_from_vehicle: &Transform) {
        for mounted in &vehicle.sensors {
            let Some(reach) = mounted.instrument.reach() else {
                continue;
            };
            let Reach {
                from_rad: from,
                to_rad: to,
                range_m: reach,
            } = reach;
            let map_from_sensor = *map_from_vehicle * mounted.vehicle_from_sensor;
            let tip = |nth: u32| {
                let (sin, cos) =
                    (from + (to - from) * f64::from(nth) / f64::from(N_CIRCLE)).sin_cos();
                let [x, y, _] = map_from_sensor.apply([reach * cos, reach * sin, 0.0]);
                [x, y]
            };
            let [x, y, _] = map_from_sensor.xyz();
            let fan: Vec<[f64; 2]> = (0..=N_CIRCLE).map(tip).chain([[x, y]]).collect();
            let style =
                "fill=\"#2e86c1\" fill-opacity=\"0.08\" stroke=\"#2e86c1\" stroke-opacity=\"0.4\"";
            self.polygon(&fan, style, &mounted.port);
        }
        let style = "fill=\"#27ae60\" stroke=\"#145a32\"";
        for (solid, vehicle_from_shape) in vehicle.shapes() {
            let points = outline(solid, &(*map_from_vehicle * *vehicle_from_shape));
            self.polygon(&points.unwrap_or_default(), style, "vehicle");
        }
        let [x, y, _] = map_from_vehicle.xyz();
        self.arrow([x, y], map_from_vehicle.rpy()[2], 1.0);
    }

    fn arrow(&mut self, at: [f64; 2], heading: f64, length: f64) {
        let point = |forward: f64, left: f64| {
            let (sin, cos) = heading.sin_cos();
            [
                at[0] + cos * forward - sin * left,
                at[1] + sin * forward + cos * left,
            ]
        };
        let points = [
            point(length, 0.0),
            point(-0.4 * length, 0.4 * length),
            point(0.0, 0.0),
            point(-0.4 * length, -0.4 * length),
        ];
        self.polygon(&points, "fill=\"#145a32\"", "where the robot begins");
    }
}

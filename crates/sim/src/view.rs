//! A world from above, as SVG: shapes, lines, paths, where the robot begins and what its lasers reach.

use crate::chart::{DEPTHS_M, Depths};
use crate::outline::{N_CIRCLE, Outline, outline};
use crate::sensor::Reach;
use crate::simulation::Simulation;
use crate::vehicle::Vehicle;
use crate::world::{Area, AreaKind, Body, Line, Moves, PathEnd, Plume, World};
use bowline_geometry::Transform;
use std::fmt::Write as _;

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
    let mut page = Page::around(points.chain([world.spawn.xy_m]));
    page.begin(&world.name);
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
    page.finish()
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
    text: String,
    /// West, north and pixels in a metre.
    west: f64,
    north: f64,
    scale: f64,
    size_px: [f64; 2],
}

impl Page {
    fn around(points: impl Iterator<Item = [f64; 2]>) -> Self {
        let far = f64::INFINITY;
        let [west, south, east, north] = points
            .fold([far, far, -far, -far], |[w, s, e, n], [x, y]| {
                [w.min(x), s.min(y), e.max(x), n.max(y)]
            });
        let (west, south) = (west - MARGIN_M, south - MARGIN_M);
        let (wide, high) = (east + MARGIN_M - west, north + MARGIN_M - south);
        let scale = SIDE_PX / wide.max(high);
        Self {
            text: String::new(),
            west,
            north: north + MARGIN_M,
            scale,
            size_px: [wide * scale, high * scale],
        }
    }

    fn at(&self, [x, y]: [f64; 2]) -> String {
        format!(
            "{:.1},{:.1}",
            (x - self.west) * self.scale,
            (self.north - y) * self.scale
        )
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text cannot fail.
        let written = self
            .text
            .write_fmt(text)
            .and_then(|()| self.text.write_char('\n'));
        debug_assert!(written.is_ok(), "texts take everything");
    }

    fn begin(&mut self, name: &str) {
        let [wide, high] = self.size_px;
        self.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\" font-family=\"sans-serif\">"
        ));
        self.add(format_args!("<title>{}</title>", escaped(name)));
        self.add(format_args!(
            "<rect width=\"100%\" height=\"100%\" fill=\"#f4f2ea\"/>"
        ));
        self.grid();
    }

    /// A line for every 10 metres, or every metre in small worlds.
    fn grid(&mut self) {
        let step = if self.scale > 40.0 { 1.0 } else { 10.0 };
        let [wide, high] = self.size_px;
        let mut x = (self.west / step).ceil() * step;
        while (x - self.west) * self.scale < wide {
            let at = (x - self.west) * self.scale;
            self.add(format_args!(
                "<path d=\"M{at:.1},0V{high:.0}\" stroke=\"#dcd8c8\"/>"
            ));
            self.add(format_args!(
                "<text x=\"{:.1}\" y=\"{:.0}\" font-size=\"10\" fill=\"#8a8674\">{x:.0} m</text>",
                at + 2.0,
                high - 4.0
            ));
            x += step;
        }
        let mut y = (self.north / step).floor() * step;
        while (self.north - y) * self.scale < high {
            let at = (self.north - y) * self.scale;
            self.add(format_args!(
                "<path d=\"M0,{at:.1}H{wide:.0}\" stroke=\"#dcd8c8\"/>"
            ));
            self.add(format_args!(
                "<text x=\"2\" y=\"{:.1}\" font-size=\"10\" fill=\"#8a8674\">{y:.0} m</text>",
                at - 2.0
            ));
            y -= step;
        }
    }

    fn polygon(&mut self, points: &[[f64; 2]], style: &str, title: &str) {
        let points: Vec<String> = points.iter().map(|point| self.at(*point)).collect();
        self.add(format_args!(
            "<polygon points=\"{}\" {style}><title>{}</title></polygon>",
            points.join(" "),
            escaped(title)
        ));
    }

    /// Water, the deeper the darker.
    fn depths(&mut self, depths: &Depths) {
        for (nth, rectangles) in depths.areas().iter().enumerate() {
            if rectangles.is_empty() {
                continue;
            }
            let boxes = rectangles.iter().map(|[west, south, east, north]| {
                let [left, top] = [
                    (west - self.west) * self.scale,
                    (self.north - north) * self.scale,
                ];
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
            self.add(format_args!(
                "<path d=\"{boxes}\" fill=\"{colour}\"><title>{title}</title></path>"
            ));
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
        let [x, y] = plume.at_m;
        let radius = (plume.radius_m * self.scale).max(3.0);
        let at = [(x - self.west) * self.scale, (self.north - y) * self.scale];
        self.add(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"#d4ac0d\" fill-opacity=\"0.8\"><title>{}: {}</title></circle>",
            at[0], at[1], escaped(&plume.name), escaped(&plume.substance)
        ));
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
            .map(|[from, to]| format!("M{}L{}", self.at(*from), self.at(*to)))
            .collect();
        let strokes = strokes.concat();
        let name = escaped(&line.name);
        for (stroke, px) in [
            ("#4a463c".to_owned(), wide_px + 1.5),
            (format!("rgb({red},{green},{blue})"), wide_px),
        ] {
            self.add(format_args!(
                "<path d=\"{strokes}\" stroke=\"{stroke}\" stroke-width=\"{px:.1}\" stroke-linecap=\"round\"><title>{name}</title></path>"
            ));
        }
    }

    fn path(&mut self, body: &Body) {
        let points: Vec<String> = way(body).iter().map(|point| self.at(*point)).collect();
        if points.is_empty() {
            return;
        }
        self.add(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#b03a2e\" stroke-dasharray=\"6 4\"/>",
            points.join(" ")
        ));
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

    fn finish(mut self) -> String {
        self.add(format_args!("</svg>"));
        self.text
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

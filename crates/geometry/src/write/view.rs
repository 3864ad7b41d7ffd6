//! A model as a picture, from three sides, as engineers draw it: the top view above the left view, the front view
//! beside it, all to one scale.

mod labels;
mod outline;

use crate::model::Model;
use crate::svg::Svg;
use crate::transform::{Transform, Vec3};
use labels::{Anchor, Labels};
use outline::{Point, outline};

/// How wide the picture is, in pixels.
const WIDTH: f64 = 1500.0;
/// Beside each view, for names.
const MARGIN: f64 = 150.0;
/// Above and below each view, for its title and names.
const GAP: f64 = 75.0;
/// The length of a frame's axes.
const AXIS: f64 = 16.0;
/// The length of the axes beside a view's title.
const COMPASS: f64 = 18.0;
/// The axes of a frame, with their names.
const AXES: [(Vec3, &str); 3] = [
    ([1.0, 0.0, 0.0], "x"),
    ([0.0, 1.0, 0.0], "y"),
    ([0.0, 0.0, 1.0], "z"),
];
/// Bodies by colour, in turn; distinguishable for people who see colours differently, too.
const COLOURS: [&str; 12] = [
    "#4477aa", "#cc3355", "#228833", "#997700", "#0088aa", "#aa3377", "#555555", "#7755bb",
    "#bb5500", "#117766", "#6688ee", "#885544",
];
/// Where the list of bodies begins, and how many it has at most.
const LEGEND_TOP: f64 = 108.0;
const MAX_LEGEND: usize = 24;

/// From where a model is seen.
struct Side {
    title: &'static str,
    /// What is to the right, and what is up.
    right: Vec3,
    up: Vec3,
}

const TOP: Side = Side {
    title: "top",
    right: [-1.0, 0.0, 0.0],
    up: [0.0, -1.0, 0.0],
};
const LEFT: Side = Side {
    title: "left",
    right: [-1.0, 0.0, 0.0],
    up: [0.0, 0.0, 1.0],
};
const FRONT: Side = Side {
    title: "front",
    right: [0.0, 1.0, 0.0],
    up: [0.0, 0.0, 1.0],
};

impl Side {
    fn flat(&self, [x, y, z]: Vec3) -> Point {
        let along = |[a, b, c]: Vec3| a * x + b * y + c * z;
        [along(self.right), along(self.up)]
    }

    /// How near something is to who looks.
    fn nearness(&self, [x, y, z]: Vec3) -> f64 {
        let [a, b, c] = crate::transform::cross(self.right, self.up);
        a * x + b * y + c * z
    }
}

/// A body as it stands.
struct Standing<'m> {
    name: &'m str,
    colour: &'static str,
    /// Each shape as points in space.
    shapes: Vec<Vec<Vec3>>,
    frames: Vec<(&'m str, Transform)>,
}

/// Draws a model as it stands: joints with their newest values, or at rest.
#[must_use]
pub fn to_svg(model: &Model) -> String {
    let bodies = stand(model);
    let drawings = [&TOP, &LEFT, &FRONT].map(|side| Drawing::new(side, &bodies));
    let [top, left, front] = &drawings;
    let columns = [front.size()[0], left.size()[0].max(top.size()[0])];
    let rows = [top.size()[1], left.size()[1].max(front.size()[1])];
    let room = WIDTH - 4.0 * MARGIN;
    let scale = room / (columns[0] + columns[1]).max(1e-6);
    let second_column = columns[0] * scale + 3.0 * MARGIN;
    let second_row = rows[0] * scale + 3.0 * GAP;
    // The legend needs room even above a flat model.
    let second_row = second_row.max(LEGEND_TOP + 15.0 * bodies.len().min(MAX_LEGEND) as f64 + GAP);
    let height = second_row + rows[1] * scale + GAP;
    let mut svg = open(height, &model.assembly().name);
    for (drawing, at) in drawings.iter().zip([
        [second_column, GAP],
        [second_column, second_row],
        [MARGIN, second_row],
    ]) {
        drawing.draw(&mut svg, at, scale, height);
    }
    let names = bodies.iter().map(|body| (body.name, body.colour));
    legend(&mut svg, scale, names);
    svg.finish()
}

/// Every body where it is. Parts that nothing connects stand one beside the other's origin.
fn stand(model: &Model) -> Vec<Standing<'_>> {
    let assembly = model.assembly();
    let mut bodies = Vec::new();
    let mut frames = model.frames();
    for (body, colour) in assembly.bodies.iter().zip(COLOURS.into_iter().cycle()) {
        let ids = frames.by_ref().take(body.frames.len());
        let names = body.frames.iter().map(|frame| frame.name.as_str());
        let placed: Vec<(&str, Transform)> =
            names.zip(ids.map(|id| model.pose_in_part(id))).collect();
        let declared = body.frames.first();
        let part_from_body = match (placed.first(), declared) {
            (Some((_, pose)), Some(frame)) => *pose * frame.body_from_frame.inverse(),
            (_, _) => Transform::IDENTITY,
        };
        let shapes = body.shapes.iter();
        bodies.push(Standing {
            name: &body.name,
            colour,
            shapes: shapes
                .filter_map(|shape| outline(shape, &part_from_body))
                .collect(),
            frames: placed,
        });
    }
    bodies
}

/// One view, in metres.
struct Drawing<'m> {
    side: &'static Side,
    bodies: &'m [Standing<'m>],
    least: Point,
    most: Point,
}

impl<'m> Drawing<'m> {
    fn new(side: &'static Side, bodies: &'m [Standing<'m>]) -> Self {
        let shapes = bodies
            .iter()
            .flat_map(|body| body.shapes.iter().flatten().copied());
        let frames = bodies
            .iter()
            .flat_map(|body| body.frames.iter().map(|(_, pose)| pose.xyz()));
        let points = shapes.chain(frames).map(|point| side.flat(point));
        let mut least = [f64::INFINITY; 2];
        let mut most = [f64::NEG_INFINITY; 2];
        for point in points {
            for axis in 0..2 {
                least[axis] = least[axis].min(point[axis]);
                most[axis] = most[axis].max(point[axis]);
            }
        }
        if least[0] > most[0] {
            (least, most) = ([0.0; 2], [0.0; 2]);
        }
        Self {
            side,
            bodies,
            least,
            most,
        }
    }

    fn size(&self) -> Point {
        [self.most[0] - self.least[0], self.most[1] - self.least[1]]
    }

    fn draw(&self, svg: &mut Svg, [left, top]: Point, scale: f64, height: f64) {
        let place = |point: Vec3| {
            let [x, y] = self.side.flat(point);
            [
                left + (x - self.least[0]) * scale,
                top + (self.most[1] - y) * scale,
            ]
        };
        svg.open_group("");
        svg.text([left, top - 34.0], "class=\"title\"", self.side.title);
        self.compass(svg, [left - 48.0, top - 38.0]);
        self.shapes(svg, place);
        let mut labels = Labels::new([0.0, 0.0, WIDTH, height]);
        let mut anchors = Vec::new();
        for body in self.bodies {
            for (name, pose) in &body.frames {
                let at = place(pose.xyz());
                self.axes(svg, at, pose);
                self.keep_axes_free(at, pose, &mut labels);
                let text = format!("{}:{name}", body.name);
                anchors.push(Anchor {
                    at,
                    text,
                    colour: body.colour,
                });
            }
        }
        labels.place(svg, anchors);
        svg.close_group();
    }

    /// Where the model's own axes point in this view, each with its name.
    fn compass(&self, svg: &mut Svg, [x, y]: Point) {
        for (axis, name) in AXES {
            let [dx, dy] = self.side.flat(axis);
            if dx.hypot(dy) < 0.5 {
                continue;
            }
            let along = |times: f64| [x + times * COMPASS * dx, y - times * COMPASS * dy];
            svg.line([x, y], along(1.0), &format!("class=\"{name}\""));
            let [text_x, text_y] = along(1.4);
            svg.text([text_x, text_y + 3.5], "class=\"axis\"", name);
        }
    }

    /// Names stay off a frame's axes.
    fn keep_axes_free(&self, [x, y]: Point, pose: &Transform, labels: &mut Labels) {
        labels.keep_free([x, y], 3.0);
        for (axis, _) in AXES {
            let [dx, dy] = self.side.flat(pose.turn(axis));
            for part in [0.5, 1.0] {
                labels.keep_free([x + part * AXIS * dx, y - part * AXIS * dy], 2.0);
            }
        }
    }

    /// Shapes from the furthest to the nearest, so that what is in front covers what is behind.
    fn shapes(&self, svg: &mut Svg, place: impl Fn(Vec3) -> Point) {
        let mut shapes: Vec<(f64, &str, Vec<Point>)> = Vec::new();
        for body in self.bodies {
            for points in &body.shapes {
                let nearness = points
                    .iter()
                    .map(|point| self.side.nearness(*point))
                    .sum::<f64>();
                let flat = points.iter().map(|point| place(*point)).collect();
                shapes.push((
                    nearness / points.len() as f64,
                    body.colour,
                    outline::hull(flat),
                ));
            }
        }
        shapes.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, colour, points) in shapes {
            let paint = format!("fill=\"{colour}\" stroke=\"{colour}\"");
            svg.polygon(&points, &paint, "");
        }
    }

    fn axes(&self, svg: &mut Svg, [x, y]: Point, pose: &Transform) {
        for (axis, class) in AXES {
            let [dx, dy] = self.side.flat(pose.turn(axis));
            if dx.hypot(dy) * AXIS > 1.0 {
                let tip = [x + AXIS * dx, y - AXIS * dy];
                svg.line([x, y], tip, &format!("class=\"{class}\""));
            }
        }
        svg.circle([x, y], 1.8, "", "");
    }
}

fn open(height: f64, name: &str) -> Svg {
    let font = "font-family=\"sans-serif\" font-size=\"10\"";
    let mut svg = Svg::open([WIDTH, height], font);
    svg.style(
        "polygon{fill-opacity:.16;stroke-opacity:.7;stroke-linejoin:round} \
         .x{stroke:#d22;stroke-width:1.5} .y{stroke:#191;stroke-width:1.5} .z{stroke:#22d;stroke-width:1.5} \
         .leader{stroke:#777;stroke-width:.7} .title{font-size:14px;font-weight:bold} .axis{text-anchor:middle;font-weight:bold}",
    );
    svg.background("white");
    svg.text([24.0, 38.0], "font-size=\"22\" font-weight=\"bold\"", name);
    svg
}

/// The scale, the axes' colours and the bodies' in the corner that three views leave free.
fn legend<'m>(svg: &mut Svg, scale: f64, bodies: impl Iterator<Item = (&'m str, &'static str)>) {
    let length = bar_length(160.0 / scale);
    let end = 24.0 + length * scale;
    let black = "stroke=\"black\"";
    svg.line(
        [24.0, 62.0],
        [end, 62.0],
        "stroke=\"black\" stroke-width=\"2\"",
    );
    svg.line([24.0, 57.0], [24.0, 67.0], black);
    svg.line([end, 57.0], [end, 67.0], black);
    svg.text([24.0, 82.0], "", &format!("{length} m"));
    svg.marked_text(
        [80.0, 82.0],
        "",
        "<tspan fill=\"#d22\">x</tspan> <tspan fill=\"#191\">y</tspan> <tspan fill=\"#22d\">z</tspan> of each frame",
    );
    for (nth, (name, colour)) in bodies.take(MAX_LEGEND).enumerate() {
        let y = LEGEND_TOP + 15.0 * nth as f64;
        svg.rect([24.0, y - 9.0], [10.0, 10.0], &format!("fill=\"{colour}\""));
        svg.text([40.0, y], "", name);
    }
}

/// The nearest round length that is not longer.
fn bar_length(most: f64) -> f64 {
    let power = 10.0_f64.powf(most.max(1e-9).log10().floor());
    let step = [5.0, 2.0, 1.0]
        .into_iter()
        .find(|step| step * power <= most);
    let length = step.unwrap_or(1.0) * power;
    // Powers of ten below 1 are not exact; what is printed should be.
    (length * 1e9).round() / 1e9
}

//! A model as a picture, from three sides, as engineers draw it: the top view above the left view, the front view
//! beside it, all to one scale.

mod labels;
mod outline;

use super::markup::escaped;
use crate::model::Model;
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
    let mut svg = header(height, &model.assembly().name);
    for (drawing, at) in drawings.iter().zip([
        [second_column, GAP],
        [second_column, second_row],
        [MARGIN, second_row],
    ]) {
        svg += &drawing.draw(at, scale, height);
    }
    svg += &legend(scale, bodies.iter().map(|body| (body.name, body.colour)));
    svg += "</svg>\n";
    svg
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

    fn draw(&self, [left, top]: Point, scale: f64, height: f64) -> String {
        let place = |point: Vec3| {
            let [x, y] = self.side.flat(point);
            [
                left + (x - self.least[0]) * scale,
                top + (self.most[1] - y) * scale,
            ]
        };
        let mut svg = format!(
            "<g><text class=\"title\" x=\"{left:.1}\" y=\"{:.1}\">{}</text>\n",
            top - 34.0,
            self.side.title
        );
        svg += &self.compass([left - 48.0, top - 38.0]);
        svg += &self.shapes(place);
        let mut labels = Labels::new([0.0, 0.0, WIDTH, height]);
        let mut anchors = Vec::new();
        for body in self.bodies {
            for (name, pose) in &body.frames {
                let at = place(pose.xyz());
                svg += &self.axes(at, pose);
                self.keep_axes_free(at, pose, &mut labels);
                let text = format!("{}:{name}", body.name);
                anchors.push(Anchor {
                    at,
                    text,
                    colour: body.colour,
                });
            }
        }
        svg += &labels.place(anchors);
        svg += "</g>\n";
        svg
    }

    /// Where the model's own axes point in this view, each with its name.
    fn compass(&self, [x, y]: Point) -> String {
        let mut svg = String::new();
        for (axis, name) in AXES {
            let [dx, dy] = self.side.flat(axis);
            if dx.hypot(dy) < 0.5 {
                continue;
            }
            let (to_x, to_y) = (x + COMPASS * dx, y - COMPASS * dy);
            let (text_x, text_y) = (x + 1.4 * COMPASS * dx, y - 1.4 * COMPASS * dy + 3.5);
            svg += &format!(
                "<line class=\"{name}\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>\
                 <text class=\"axis\" x=\"{text_x:.1}\" y=\"{text_y:.1}\">{name}</text>\n"
            );
        }
        svg
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
    fn shapes(&self, place: impl Fn(Vec3) -> Point) -> String {
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
        let mut svg = String::new();
        for (_, colour, points) in shapes {
            let points: Vec<String> = points
                .iter()
                .map(|[x, y]| format!("{x:.1},{y:.1}"))
                .collect();
            svg += &format!(
                "<polygon fill=\"{colour}\" stroke=\"{colour}\" points=\"{}\"/>\n",
                points.join(" ")
            );
        }
        svg
    }

    fn axes(&self, [x, y]: Point, pose: &Transform) -> String {
        let mut svg = String::new();
        for (axis, class) in AXES {
            let [dx, dy] = self.side.flat(pose.turn(axis));
            if dx.hypot(dy) * AXIS > 1.0 {
                let (to_x, to_y) = (x + AXIS * dx, y - AXIS * dy);
                svg += &format!(
                    "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>\n"
                );
            }
        }
        svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.8\"/>\n");
        svg
    }
}

fn header(height: f64, name: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n\
         <style>polygon{{fill-opacity:.16;stroke-opacity:.7;stroke-linejoin:round}} \
         .x{{stroke:#d22;stroke-width:1.5}} .y{{stroke:#191;stroke-width:1.5}} .z{{stroke:#22d;stroke-width:1.5}} \
         .leader{{stroke:#777;stroke-width:.7}} .title{{font-size:14px;font-weight:bold}} .axis{{text-anchor:middle;font-weight:bold}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"24\" y=\"38\" font-size=\"22\" font-weight=\"bold\">{}</text>\n",
        escaped(name)
    )
}

/// The scale, the axes' colours and the bodies' in the corner that three views leave free.
fn legend<'m>(scale: f64, bodies: impl Iterator<Item = (&'m str, &'static str)>) -> String {
    let length = bar_length(160.0 / scale);
    let end = 24.0 + length * scale;
    let mut svg = format!(
        "<line x1=\"24\" y1=\"62\" x2=\"{end:.1}\" y2=\"62\" stroke=\"black\" stroke-width=\"2\"/>\n\
         <line x1=\"24\" y1=\"57\" x2=\"24\" y2=\"67\" stroke=\"black\"/>\n\
         <line x1=\"{end:.1}\" y1=\"57\" x2=\"{end:.1}\" y2=\"67\" stroke=\"black\"/>\n\
         <text x=\"24\" y=\"82\">{length} m</text>\n\
         <text x=\"80\" y=\"82\"><tspan fill=\"#d22\">x</tspan> <tspan fill=\"#191\">y</tspan> \
         <tspan fill=\"#22d\">z</tspan> of each frame</text>\n"
    );
    for (nth, (name, colour)) in bodies.take(MAX_LEGEND).enumerate() {
        let y = LEGEND_TOP + 15.0 * nth as f64;
        svg += &format!(
            "<rect x=\"24\" y=\"{:.0}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"40\" y=\"{y:.0}\">{}</text>\n",
            y - 9.0,
            escaped(name)
        );
    }
    svg
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

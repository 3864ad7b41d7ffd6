//! A graph as a drawing: components as boxes with their channels in rows, wires from who writes to who reads.

use super::layout::{Rect, Size, Wire, layout};
use super::{End, EndId, Flow, Graph, Links, Mark, Node, Role};
use std::fmt::Write as _;

/// A letter's width, pixels: of the fonts that are asked for, at [`FONT`].
const LETTER: f64 = 6.7;
const FONT: f64 = 11.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 44.0;
const PADDING: f64 = 10.0;
/// Between what comes in and what goes out.
const MIDDLE: f64 = 24.0;
/// Longer names are cut; the whole name is shown when the pointer is on it.
const MAX_CHANNEL: usize = 28;
const MAX_TITLE: usize = 34;
const MAX_ABOUT: usize = 40;
/// How far wires that turn round go beside a column.
const TURN: f64 = 30.0;

/// Wires of one writer have one colour. All can be told from the background, and most from each other by anybody.
const COLOURS: [&str; 8] = [
    "#3465a4", "#c05800", "#2e7d32", "#8e3a9d", "#00838f", "#ad1457", "#6d6000", "#455a64",
];
const WRONG: &str = "#c62828";

impl Graph {
    /// A drawing that any browser shows.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let sizes: Vec<Size> = self.nodes.iter().map(size).collect();
        let links = self.links();
        let row = |id: EndId| self.row_below_top(id);
        let layout = layout(self, &sizes, &row);
        let (width, height) = (layout.width.max(200.0), layout.height.max(80.0));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
             font-size=\"{FONT}\">\n<title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            escaped(&self.title)
        );
        for wire in &layout.wires {
            svg += &self.draw_wire(wire, &links);
        }
        for (node, rect) in layout.boxes.iter().enumerate() {
            svg += &self.draw_node(node, rect, &links);
        }
        svg + "</svg>\n"
    }

    /// How far below the top of its box an end is.
    fn row_below_top(&self, id: EndId) -> f64 {
        let Some(node) = self.nodes.get(id.node) else {
            return 0.0;
        };
        let is_inward = node
            .ends
            .get(id.end)
            .is_some_and(|end| end.flow.is_inward());
        let before = node.ends.iter().take(id.end);
        let n_before = before
            .filter(|end| end.flow.is_inward() == is_inward)
            .count();
        HEAD + ROW * (number(n_before) + 0.5)
    }

    fn draw_wire(&self, wire: &Wire, links: &Links<'_>) -> String {
        let is_wrong = links.mark(wire.from).is_wrong() || links.mark(wire.to).is_wrong();
        let colour = match is_wrong {
            true => WRONG,
            false => COLOURS
                .get(wire.from.node % COLOURS.len())
                .copied()
                .unwrap_or(WRONG),
        };
        let end = self.end(wire.from);
        // What is asked and answered is dashed.
        let dash = match end.map(|end| end.flow) {
            Some(Flow::Calls | Flow::Serves) => " stroke-dasharray=\"5 3\"",
            Some(Flow::Reads | Flow::Writes) | None => "",
        };
        let name = |id: EndId| {
            self.nodes
                .get(id.node)
                .map_or("", |node| node.name.as_str())
        };
        let title = format!(
            "{}: {} to {}",
            end.map_or(String::new(), told),
            name(wire.from),
            name(wire.to)
        );
        let (x, y) = wire.end;
        format!(
            "<g><title>{}</title><path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"{dash}/>\
             <path d=\"M{:.1} {:.1}L{x:.1} {y:.1}L{:.1} {:.1}Z\" fill=\"{colour}\"/></g>\n",
            escaped(&title),
            path(wire),
            x - 7.0,
            y - 3.5,
            x - 7.0,
            y + 3.5,
        )
    }

    fn draw_node(&self, at: usize, rect: &Rect, links: &Links<'_>) -> String {
        let Some(node) = self.nodes.get(at) else {
            return String::new();
        };
        let Rect {
            x,
            y,
            width,
            height,
        } = *rect;
        let (fill, stroke, dash) = match node.role {
            Role::Component => ("#f5f8fc", "#5a6b7d", ""),
            Role::Outside => ("#fafafa", "#9e9e9e", " stroke-dasharray=\"4 3\""),
        };
        let mut svg = format!(
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\" \
             fill=\"{fill}\" stroke=\"{stroke}\"{dash}/>\n",
            escaped(&format!("{} ({})", node.name, about(node)))
        );
        let middle = x + width / 2.0;
        let head = |svg: &mut String, below: f64, style: &str, text: String| {
            let _never_fails = writeln!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" {style}>{}</text>",
                y + below,
                escaped(&text)
            );
        };
        head(
            &mut svg,
            18.0,
            "font-weight=\"bold\" font-size=\"12\"",
            cut(&node.name, MAX_TITLE),
        );
        head(
            &mut svg,
            33.0,
            "fill=\"#667\" font-size=\"10\"",
            cut(&about(node), MAX_ABOUT),
        );
        svg += "</g>\n";
        for end in 0..node.ends.len() {
            svg += &self.draw_row(EndId { node: at, end }, rect, links);
        }
        svg
    }

    fn draw_row(&self, id: EndId, rect: &Rect, links: &Links<'_>) -> String {
        let Some(end) = self.end(id) else {
            return String::new();
        };
        let y = rect.y + self.row_below_top(id);
        let (x, text_x, anchor) = match end.flow.is_inward() {
            true => (rect.x, rect.x + PADDING, "start"),
            false => (rect.x + rect.width, rect.x + rect.width - PADDING, "end"),
        };
        let mark = links.mark(id);
        let (colour, dot) = match mark {
            Mark::Connected => ("#223", None),
            Mark::Reserved | Mark::Unused | Mark::Left => ("#889", Some("#bbc")),
            Mark::Missing | Mark::Shared | Mark::TypesDiffer => (WRONG, Some(WRONG)),
        };
        let dot = dot.map_or(String::new(), |dot| {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"#fff\" stroke=\"{dot}\" stroke-width=\"1.5\"/>")
        });
        format!(
            "<g><title>{}</title>{dot}<text x=\"{text_x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text></g>\n",
            escaped(&format!("{}{}", told(end), remark(mark))),
            y + FONT * 0.36,
            escaped(&label(end)),
        )
    }
}

fn remark(mark: Mark) -> &'static str {
    match mark {
        Mark::Connected => "",
        Mark::Reserved => ": written by Bowline itself",
        Mark::Unused => ": nobody reads it",
        Mark::Left => ": not connected",
        Mark::Missing => ": nobody writes it",
        Mark::Shared => ": others write it too",
        Mark::TypesDiffer => ": the other end has another type",
    }
}

/// What a row shows.
fn label(end: &End) -> String {
    let service = matches!(end.flow, Flow::Serves | Flow::Calls);
    let name = end.channel.as_ref().unwrap_or(&end.port);
    let name = cut(name, MAX_CHANNEL);
    if service { name + "()" } else { name }
}

/// All of it, for the pointer.
fn told(end: &End) -> String {
    let name = end.channel.as_ref().unwrap_or(&end.port);
    let types =
        [&end.message, &end.answer].map(|it| it.as_ref().map(|message| message.name.as_str()));
    match types {
        [Some(message), Some(answer)] => format!("{name} ({message} => {answer})"),
        [Some(message), None] => format!("{name} ({message})"),
        [None, _] => name.clone(),
    }
}

fn about(node: &Node) -> String {
    let process = node.process.as_ref().map(|process| format!("in {process}"));
    let host = node.host.as_ref().map(|host| format!("on {host}"));
    let what = Some(node.what.clone()).filter(|what| !what.is_empty());
    let parts: Vec<String> = [what, process, host].into_iter().flatten().collect();
    parts.join(", ")
}

fn size(node: &Node) -> Size {
    let side = |is_inward: bool| {
        let rows: Vec<usize> = node
            .ends
            .iter()
            .filter(|end| end.flow.is_inward() == is_inward)
            .map(|end| label(end).chars().count())
            .collect();
        (rows.len(), rows.into_iter().max().unwrap_or(0))
    };
    let ((n_in, left), (n_out, right)) = (side(true), side(false));
    let rows_width = LETTER * number(left + right) + MIDDLE;
    // The title is larger and bold, what is below it smaller.
    let title = 1.15 * LETTER * number(node.name.chars().count().min(MAX_TITLE));
    let below = 0.92 * LETTER * number(about(node).chars().count().min(MAX_ABOUT));
    Size {
        width: rows_width.max(title).max(below).max(90.0) + 2.0 * PADDING,
        height: HEAD + ROW * number(n_in.max(n_out)) + if n_in + n_out > 0 { 6.0 } else { 0.0 },
    }
}

/// The line of a wire: straight along lanes, curved between them.
fn path(wire: &Wire) -> String {
    let (x, y) = wire.start;
    let mut path = format!("M{x:.1} {y:.1}");
    let mut at = wire.start;
    for (place, [enter, leave]) in wire.lanes.iter().enumerate() {
        path += &match wire.is_back && place == 0 {
            true => turn(at, *enter, TURN),
            false => curve(at, *enter),
        };
        path += &format!("L{:.1} {:.1}", leave.0, leave.1);
        at = *leave;
    }
    path += &match wire.is_back {
        true => turn(at, wire.end, -TURN),
        false => curve(at, wire.end),
    };
    path
}

fn curve(from: (f64, f64), to: (f64, f64)) -> String {
    let middle = f64::midpoint(from.0, to.0);
    let ((_, y), (to_x, to_y)) = (from, to);
    format!("C{middle:.1} {y:.1} {middle:.1} {to_y:.1} {to_x:.1} {to_y:.1}")
}

/// Round the side of a column.
fn turn(from: (f64, f64), to: (f64, f64), by: f64) -> String {
    let ((x, y), (to_x, to_y)) = (from, to);
    format!(
        "C{:.1} {y:.1} {:.1} {to_y:.1} {to_x:.1} {to_y:.1}",
        x + by,
        to_x + by
    )
}

/// At most so many letters, the last of them a sign that there are more.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// Names come from buses and files, and may be anything.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            // XML has no way to write these at all.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

fn number(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

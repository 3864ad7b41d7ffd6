//! A graph as a drawing: components as boxes with their channels in rows, wires from who writes to who reads.

use bowline_geometry::svg::Svg;
use bowline_host::graph::layout::{Rect, Size, Wire, layout};
use bowline_host::graph::{End, EndId, Flow, Graph, Links, Mark, Node, Role};

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

/// A drawing that any browser shows.
pub(super) fn to_svg(graph: &Graph) -> String {
    let sizes: Vec<Size> = graph.nodes.iter().map(size).collect();
    let row = |id: EndId| row_below_top(graph, id);
    let layout = layout(graph, &sizes, &row);
    let font = format!(
        "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"{FONT}\""
    );
    let page = [layout.width.max(200.0), layout.height.max(80.0)];
    let mut drawing = Drawing {
        graph,
        links: graph.links(),
        svg: Svg::open(page, &font),
    };
    drawing.svg.title(&graph.title);
    drawing.svg.background("#ffffff");
    for wire in &layout.wires {
        drawing.wire(wire);
    }
    for (at, rect) in layout.boxes.iter().enumerate() {
        drawing.node(at, rect);
    }
    drawing.svg.finish()
}

/// How far below the top of its box an end is.
fn row_below_top(graph: &Graph, id: EndId) -> f64 {
    let Some(node) = graph.nodes.get(id.node) else {
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

struct Drawing<'g> {
    graph: &'g Graph,
    links: Links<'g>,
    svg: Svg,
}

impl Drawing<'_> {
    fn wire(&mut self, wire: &Wire) {
        let is_wrong = self.links.mark(wire.from).is_wrong() || self.links.mark(wire.to).is_wrong();
        let colour = match is_wrong {
            true => WRONG,
            false => COLOURS
                .get(wire.from.node % COLOURS.len())
                .copied()
                .unwrap_or(WRONG),
        };
        let end = self.graph.end(wire.from);
        // What is asked and answered is dashed.
        let dash = match end.map(|end| end.flow) {
            Some(Flow::Calls | Flow::Serves) => " stroke-dasharray=\"5 3\"",
            Some(Flow::Reads | Flow::Writes) | None => "",
        };
        let name = |id: EndId| {
            let node = self.graph.nodes.get(id.node);
            node.map_or("", |node| node.name.as_str())
        };
        let title = format!(
            "{}: {} to {}",
            end.map_or(String::new(), told),
            name(wire.from),
            name(wire.to)
        );
        let line = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"{dash}");
        let (x, y) = wire.end;
        let (behind, above, below) = (x - 7.0, y - 3.5, y + 3.5);
        let tip = format!("M{behind:.1} {above:.1}L{x:.1} {y:.1}L{behind:.1} {below:.1}Z");
        self.svg.open_group(&title);
        self.svg.path(&path(wire), &line, "");
        self.svg.path(&tip, &format!("fill=\"{colour}\""), "");
        self.svg.close_group();
    }

    fn node(&mut self, at: usize, rect: &Rect) {
        let Some(node) = self.graph.nodes.get(at) else {
            return;
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
        let paint = format!("rx=\"6\" fill=\"{fill}\" stroke=\"{stroke}\"{dash}");
        let about = about(node);
        self.svg.open_group(&format!("{} ({about})", node.name));
        self.svg.rect([x, y], [width, height], &paint);
        let middle = x + width / 2.0;
        self.svg.text(
            [middle, y + 18.0],
            "text-anchor=\"middle\" font-weight=\"bold\" font-size=\"12\"",
            &cut(&node.name, MAX_TITLE),
        );
        self.svg.text(
            [middle, y + 33.0],
            "text-anchor=\"middle\" fill=\"#667\" font-size=\"10\"",
            &cut(&about, MAX_ABOUT),
        );
        self.svg.close_group();
        for end in 0..node.ends.len() {
            self.row(EndId { node: at, end }, rect);
        }
    }

    fn row(&mut self, id: EndId, rect: &Rect) {
        let Some(end) = self.graph.end(id) else {
            return;
        };
        let y = rect.y + row_below_top(self.graph, id);
        let (x, text_x, anchor) = match end.flow.is_inward() {
            true => (rect.x, rect.x + PADDING, "start"),
            false => (rect.x + rect.width, rect.x + rect.width - PADDING, "end"),
        };
        let mark = self.links.mark(id);
        let (colour, dot) = match mark {
            Mark::Connected => ("#223", None),
            Mark::Reserved | Mark::Unused | Mark::Left => ("#889", Some("#bbc")),
            Mark::Missing | Mark::Shared | Mark::TypesDiffer => (WRONG, Some(WRONG)),
        };
        self.svg
            .open_group(&format!("{}{}", told(end), remark(mark)));
        if let Some(dot) = dot {
            let ring = format!("fill=\"#fff\" stroke=\"{dot}\" stroke-width=\"1.5\"");
            self.svg.circle([x, y], 3.5, &ring, "");
        }
        let attributes = format!("text-anchor=\"{anchor}\" fill=\"{colour}\"");
        self.svg
            .text([text_x, y + FONT * 0.36], &attributes, &label(end));
        self.svg.close_group();
    }
}

fn remark(mark: Mark) -> &'static str {
    match mark {
        Mark::Connected => "",
        Mark::Reserved => ": written by Bowline itself",
        Mark::Unused => ": no reader",
        Mark::Left => ": not connected",
        Mark::Missing => ": no writer",
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

fn number(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_of_hostile_names_is_whole() {
        let mut graph = Graph::default();
        let channel = "<b>&\"\u{1b}[2J\u{0}".to_owned();
        graph.push_publisher("</svg>", "\u{7}", [(channel, None)]);
        let svg = to_svg(&graph);
        assert!(
            svg.ends_with("</svg>\n") && svg.matches("</svg>").count() == 1,
            "{svg}"
        );
        assert!(svg.contains("&lt;b&gt;&amp;&quot;"), "{svg}");
        assert!(!svg.chars().any(|c| c.is_control() && c != '\n'));
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
        assert_eq!(svg, to_svg(&graph), "the same every time");
    }
}

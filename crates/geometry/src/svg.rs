//! Drawings as SVG, element by element.
//!
//! In: shapes in pixels, x to the right and y down, and texts, which may be anything. Out: a text that any browser shows.
//! Written by hand because it is less than what a drawing library would bring along.

pub use crate::write::escaped;
use std::fmt::Write as _;

/// A place or a size, in pixels.
pub type Pixels = [f64; 2];

/// A drawing that grows, what is drawn later over what was drawn before.
///
/// Attributes are written as they are, such as `fill="none"`; texts and titles are escaped. A title is shown when the
/// pointer is on the shape; an empty one is none.
#[derive(Clone, Debug)]
pub struct Svg {
    text: String,
}

impl Svg {
    /// Begins a drawing of that size.
    #[must_use]
    pub fn open([width, height]: Pixels, attributes: &str) -> Self {
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" {attributes}>\n"
            ),
        }
    }

    /// The name of the drawing, or of the group that was opened last.
    pub fn title(&mut self, title: &str) {
        self.add(format_args!("<title>{}</title>", escaped(title)));
    }

    /// Rules for classes of elements.
    pub fn style(&mut self, rules: &str) {
        self.add(format_args!("<style>{rules}</style>"));
    }

    /// Paints everything in one colour.
    pub fn background(&mut self, colour: &str) {
        self.add(format_args!(
            "<rect width=\"100%\" height=\"100%\" fill=\"{colour}\"/>"
        ));
    }

    /// Begins a group of elements.
    pub fn open_group(&mut self, title: &str) {
        self.add(format_args!("<g>"));
        if !title.is_empty() {
            self.title(title);
        }
    }

    /// Ends the group that was begun last.
    pub fn close_group(&mut self) {
        self.add(format_args!("</g>"));
    }

    /// A line of text; the place is at its left end unless attributes say otherwise.
    pub fn text(&mut self, [x, y]: Pixels, attributes: &str, text: &str) {
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>",
            escaped(text)
        ));
    }

    /// A line of text with markup inside, which is written as it is.
    pub fn marked_text(&mut self, [x, y]: Pixels, attributes: &str, markup: &str) {
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{markup}</text>"
        ));
    }

    /// A straight line.
    pub fn line(&mut self, [x1, y1]: Pixels, [x2, y2]: Pixels, attributes: &str) {
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {attributes}/>"
        ));
    }

    /// A line of SVG's path commands, such as `M0 0L10 10`.
    pub fn path(&mut self, commands: &str, attributes: &str, title: &str) {
        self.shape("path", &format!("d=\"{commands}\" {attributes}"), title);
    }

    /// An area by its corners.
    pub fn polygon(&mut self, corners: &[Pixels], attributes: &str, title: &str) {
        let points = format!("points=\"{}\" {attributes}", listed(corners));
        self.shape("polygon", &points, title);
    }

    /// A line by its corners.
    pub fn polyline(&mut self, corners: &[Pixels], attributes: &str) {
        let points = format!("points=\"{}\" {attributes}", listed(corners));
        self.shape("polyline", &points, "");
    }

    /// A rectangle by its upper left corner.
    pub fn rect(&mut self, [x, y]: Pixels, [width, height]: Pixels, attributes: &str) {
        let place = format!(
            "x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {attributes}"
        );
        self.shape("rect", &place, "");
    }

    /// A circle by its middle.
    pub fn circle(&mut self, [x, y]: Pixels, radius: f64, attributes: &str, title: &str) {
        let place = format!("cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {attributes}");
        self.shape("circle", &place, title);
    }

    /// The whole drawing.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.add(format_args!("</svg>"));
        self.text
    }

    fn shape(&mut self, tag: &str, attributes: &str, title: &str) {
        let attributes = attributes.trim_end();
        match title {
            "" => self.add(format_args!("<{tag} {attributes}/>")),
            title => self.add(format_args!(
                "<{tag} {attributes}><title>{}</title></{tag}>",
                escaped(title)
            )),
        }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        let _a_string_takes_everything = writeln!(self.text, "{element}");
    }
}

/// Points as attributes have them.
fn listed(points: &[Pixels]) -> String {
    let points = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}"));
    points.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_leave_a_drawing_that_can_be_parsed() {
        let hostile = "</svg><b>&\"'\u{1b}[2J\u{0}\u{fffe}\n\t]]>";
        let mut svg = Svg::open([100.0, 50.4], "font-size=\"10\"");
        svg.title(hostile);
        svg.background("white");
        svg.open_group(hostile);
        svg.text([1.0, 2.0], "fill=\"red\"", hostile);
        svg.polygon(
            &[[0.0, 0.0], [1.0, 0.25], [2.0, 2.0]],
            "fill=\"none\"",
            hostile,
        );
        svg.path("M0 0h5", "stroke=\"red\"", hostile);
        svg.circle([5.0, 5.0], 2.0, "", hostile);
        svg.close_group();
        let text = svg.finish();
        let document = roxmltree::Document::parse(&text).expect("a drawing is XML");
        let root = document.root_element();
        assert_eq!(root.attribute("viewBox"), Some("0 0 100 50"));
        let shown = "</svg><b>&\"'\u{fffd}[2J\u{fffd}\u{fffd}\n\t]]>";
        let texts = document.descendants().filter(roxmltree::Node::is_text);
        let texts: Vec<&str> = texts.filter_map(|it| it.text()).collect();
        assert_eq!(
            texts.iter().filter(|it| **it == shown).count(),
            6,
            "{texts:?}"
        );
        let mut nodes = document.descendants();
        let polygon = nodes.find(|it| it.tag_name().name() == "polygon");
        let points = polygon.and_then(|it| it.attribute("points"));
        assert_eq!(points, Some("0.0,0.0 1.0,0.2 2.0,2.0"));
    }
}

//! Names beside what they name, over each other only where there is no room.

use super::outline::Point;
use crate::svg::Svg;

/// A name and what it names.
pub(super) struct Anchor {
    pub(super) at: Point,
    pub(super) text: String,
    pub(super) colour: &'static str,
}

/// Left, top, right, bottom.
type Area = [f64; 4];

pub(super) struct Labels {
    page: Area,
    taken: Vec<Area>,
}

/// Of a letter, about.
const LETTER_WIDTH: f64 = 6.2;
const LINE_HEIGHT: f64 = 11.5;
/// How far a name may be from what it names, and in which steps it moves away.
const STEPS: u32 = 14;
const STEP: f64 = 9.0;
/// Beyond so many names, finding room for each takes too long to be worth it.
const MAX_CAREFUL: usize = 8_000;

impl Labels {
    pub(super) fn new(page: Area) -> Self {
        Self {
            page,
            taken: Vec::new(),
        }
    }

    /// Names stay off a spot.
    pub(super) fn keep_free(&mut self, [x, y]: Point, radius: f64) {
        if self.taken.len() < MAX_CAREFUL {
            self.taken
                .push([x - radius, y - radius, x + radius, y + radius]);
        }
    }

    /// Draws every name, from left to right and from the top down, each at the nearest place that is free.
    pub(super) fn place(mut self, svg: &mut Svg, mut anchors: Vec<Anchor>) {
        anchors.sort_by(|a, b| {
            a.at[0]
                .total_cmp(&b.at[0])
                .then(a.at[1].total_cmp(&b.at[1]))
        });
        for anchor in &anchors {
            let area = self.find(anchor);
            if self.taken.len() < 2 * MAX_CAREFUL {
                self.taken.push(area);
            }
            draw(svg, anchor, area);
        }
    }

    fn find(&self, anchor: &Anchor) -> Area {
        let width = LETTER_WIDTH * anchor.text.chars().count() as f64;
        let [x, y] = anchor.at;
        let at = |left: f64, middle: f64| {
            [
                left,
                middle - LINE_HEIGHT / 2.0,
                left + width,
                middle + LINE_HEIGHT / 2.0,
            ]
        };
        let mut best = (f64::INFINITY, at(x + 5.0, y));
        for step in 0..STEPS {
            let away = f64::from(step) * STEP;
            for area in [
                at(x + 6.0, y - away),
                at(x + 6.0, y + away),
                at(x - 6.0 - width, y - away),
                at(x - 6.0 - width, y + away),
                at(x - width / 2.0, y - 10.0 - away),
                at(x - width / 2.0, y + 10.0 + away),
                at(x + 6.0 + 2.0 * away, y - away / 2.0),
                at(x - 6.0 - width - 2.0 * away, y - away / 2.0),
            ] {
                let cost = self.overlap(area);
                if cost < best.0 {
                    best = (cost, area);
                }
                if cost <= 0.0 {
                    return area;
                }
            }
        }
        best.1
    }

    /// How much of an area is taken, or off the page.
    fn overlap(&self, area: Area) -> f64 {
        let common = |other: &Area| {
            let width = area[2].min(other[2]) - area[0].max(other[0]);
            let height = area[3].min(other[3]) - area[1].max(other[1]);
            if width > 0.0 && height > 0.0 {
                width * height
            } else {
                0.0
            }
        };
        let whole = (area[2] - area[0]) * (area[3] - area[1]);
        let off_page = whole - common(&self.page);
        self.taken.iter().map(common).sum::<f64>() + 4.0 * off_page.max(0.0)
    }
}

fn draw(svg: &mut Svg, anchor: &Anchor, [left, top, right, bottom]: Area) {
    let [x, y] = anchor.at;
    // The nearest point of the name, for a line to it where it stands away.
    let near = [x.clamp(left, right), y.clamp(top, bottom)];
    if (near[0] - x).hypot(near[1] - y) > 9.0 {
        svg.line([x, y], near, "class=\"leader\"");
    }
    let colour = format!("fill=\"{}\"", anchor.colour);
    svg.text([left, bottom - 2.5], &colour, &anchor.text);
}

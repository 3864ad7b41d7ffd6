//! A canvas of braille dots: two across and four down in every cell, which makes them square on most terminals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

pub(crate) const DOTS_ACROSS: u16 = 2;
pub(crate) const DOTS_DOWN: u16 = 4;

/// The bit of each dot in its cell, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A canvas of dots. What lies beyond its edges is left out.
#[derive(Debug)]
pub(crate) struct Dots {
    n_columns: usize,
    cells: Vec<(u8, Color)>,
    width: i32,
    height: i32,
}

impl Dots {
    /// A canvas as large as that area.
    pub(crate) fn new(area: Rect) -> Self {
        let (n_columns, n_rows) = (usize::from(area.width), usize::from(area.height));
        Self {
            n_columns,
            cells: vec![(0, Color::Reset); n_columns * n_rows],
            width: i32::from(area.width) * i32::from(DOTS_ACROSS),
            height: i32::from(area.height) * i32::from(DOTS_DOWN),
        }
    }

    /// How many dots across and down.
    pub(crate) fn size(&self) -> (i32, i32) {
        (self.width, self.height)
    }

    /// Sets a dot, from the upper left. A cell has the colour that was set last.
    pub(crate) fn set(&mut self, x: i32, y: i32, colour: Color) {
        let is_inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if !is_inside {
            return;
        }
        let place = y / usize::from(DOTS_DOWN) * self.n_columns + x / usize::from(DOTS_ACROSS);
        let bit = BITS
            .get(y % usize::from(DOTS_DOWN))
            .and_then(|row| row.get(x % usize::from(DOTS_ACROSS)));
        if let (Some((bits, of)), Some(bit)) = (self.cells.get_mut(place), bit) {
            *bits |= bit;
            *of = colour;
        }
    }

    /// Sets the dots of a line, both ends included. The ends are at most a few canvases away.
    pub(crate) fn line(&mut self, from: (i32, i32), to: (i32, i32), colour: Color) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let n_steps = dx.abs().max(dy.abs()).max(1);
        for step in 0..=n_steps {
            let along = |from: i32, by: i32| from + rounded_div(by * step, n_steps);
            self.set(along(from.0, dx), along(from.1, dy), colour);
        }
    }

    /// Draws the dots over what is there; cells without dots are left as they are.
    pub(crate) fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let rows = self.cells.chunks(self.n_columns.max(1));
        for (y, row) in (area.top()..area.bottom()).zip(rows) {
            for (x, (bits, colour)) in (area.left()..area.right()).zip(row) {
                let letter = char::from_u32(0x2800 + u32::from(*bits));
                let (Some(letter), Some(cell)) = (letter, buffer.cell_mut((x, y))) else {
                    continue;
                };
                if *bits != 0 {
                    cell.set_char(letter).set_style(Style::new().fg(*colour));
                }
            }
        }
    }
}

fn rounded_div(a: i32, b: i32) -> i32 {
    (2 * a + b).div_euclid(2 * b)
}

/// A place that is meant in fractions of dots, as a dot; far away is at most as far as a line may go.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is clamped before the conversion"
)]
pub(crate) fn to_dot(place: f64) -> i32 {
    const FAR: f64 = 8192.0;
    place.round().clamp(-FAR, FAR) as i32
}

/// A step of 1, 2 or 5 times a power of ten, so that at most `n_steps` of them cover `span`.
pub(crate) fn nice_step(span: f64, n_steps: f64) -> f64 {
    let rough = span / n_steps.max(1.0);
    let decade = 10_f64.powf(rough.log10().floor());
    if !decade.is_normal() {
        return span;
    }
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= rough * 0.999_999)
        .unwrap_or(span)
}

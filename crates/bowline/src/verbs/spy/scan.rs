//! A scan seen from above: the vehicle in the middle, ahead is up, rings at round distances.

use super::dots::{DOTS_ACROSS, DOTS_DOWN, Dots, nice_step, to_dot};
use bowline_inspect::picture::Scan;
use bowline_inspect::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::Widget;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const RING: Color = Color::DarkGray;
const HIT: Color = Color::Green;

/// A scan, drawn to the same scale in all directions.
#[derive(Debug)]
pub(crate) struct ScanView<'a> {
    pub(crate) scan: &'a Scan,
    /// How much larger than to fit all of it: 1 shows all.
    pub(crate) zoom: f64,
}

impl Widget for ScanView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(*buffer.area());
        if area.width < 4 || area.height < 3 {
            return;
        }
        let caption = self.caption();
        buffer.set_stringn(
            area.x,
            area.y,
            caption,
            usize::from(area.width),
            Style::new(),
        );
        let area = Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        };
        let mut dots = Dots::new(area);
        let (width, height) = dots.size();
        let middle = Middle {
            x: width / 2,
            y: height / 2,
            dots_per_m: self.dots_per_m(width.min(height)),
        };
        let reach_m = f64::from(width.max(height)) / 2.0 / middle.dots_per_m;
        let shorter_m = f64::from(width.min(height)) / 2.0 / middle.dots_per_m;
        let step_m = nice_step(
            shorter_m,
            (f64::from(width.min(height)) / 24.0).clamp(1.0, 5.0),
        );
        let n_rings = to_dot((reach_m / step_m).floor()).clamp(1, 50);
        for ring in 1..=n_rings {
            middle.ring(f64::from(ring) * step_m, &mut dots);
        }
        dots.draw(area, buffer);
        // Hits over rings: a cell has one colour.
        let mut dots = Dots::new(area);
        for &(ahead, left) in &self.scan.points {
            let (x, y) = middle.place(ahead, left);
            dots.set(x, y, HIT);
        }
        dots.draw(area, buffer);
        for ring in 1..=n_rings {
            middle.label(f64::from(ring) * step_m, area, buffer);
        }
        let at = (area.x + area.width / 2, area.y + area.height / 2);
        if let Some(cell) = buffer.cell_mut(at) {
            cell.set_char('\u{25b2}')
                .set_style(Style::new().fg(Color::Yellow));
        }
    }
}

impl ScanView<'_> {
    fn dots_per_m(&self, n_dots: i32) -> f64 {
        let farthest_m = if self.scan.max_m > 0.0 {
            self.scan.max_m
        } else {
            1.0
        };
        let zoom = if self.zoom.is_normal() {
            self.zoom.clamp(1e-3, 1e3)
        } else {
            1.0
        };
        f64::from(n_dots - 2).max(2.0) / 2.0 / farthest_m * zoom
    }

    fn caption(&self) -> String {
        let Scan {
            points,
            n_ranges,
            max_m,
            from_rad,
            to_rad,
            path: _,
        } = self.scan;
        format!(
            "{} of {n_ranges} hit, farthest {} m, {:.0} to {:.0} deg",
            points.len(),
            text::short(*max_m),
            from_rad.to_degrees(),
            to_rad.to_degrees()
        )
    }
}

/// Where the vehicle is on the canvas, and how large a metre is.
struct Middle {
    x: i32,
    y: i32,
    dots_per_m: f64,
}

impl Middle {
    fn place(&self, ahead_m: f64, left_m: f64) -> (i32, i32) {
        let x = self.x - to_dot(left_m * self.dots_per_m);
        let y = self.y - to_dot(ahead_m * self.dots_per_m);
        (x, y)
    }

    /// A ring of single dots, not so many that they would look like a wall.
    fn ring(&self, radius_m: f64, dots: &mut Dots) {
        let n_dots = to_dot(radius_m * self.dots_per_m * 1.5).clamp(12, 720);
        for dot in 0..n_dots {
            let angle = std::f64::consts::TAU * f64::from(dot) / f64::from(n_dots);
            let (x, y) = self.place(radius_m * angle.cos(), radius_m * angle.sin());
            dots.set(x, y, RING);
        }
    }

    /// The distance, on the right where the ring crosses, or above where that is out of sight.
    fn label(&self, radius_m: f64, area: Rect, buffer: &mut Buffer) {
        let label = format!("{} m", text::short(radius_m));
        let len = u16::try_from(label.chars().count()).unwrap_or(u16::MAX);
        let (x, y) = self.place(0.0, -radius_m);
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else {
            return;
        };
        let (x, y) = (x / DOTS_ACROSS + 1, y / DOTS_DOWN);
        if x.saturating_add(len) <= area.width && y < area.height {
            buffer.set_string(area.x + x, area.y + y, label, DIM);
        }
    }
}

#[cfg(test)]
mod tests;

//! Pictures in block characters: two pixels in every cell, one above the other, in whatever colours the terminal has.

use bowline_inspect::picture::Rgb;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::Widget;

/// Its foreground is the upper pixel, its background the lower.
const UPPER_HALF: char = '\u{2580}';
/// From dark to light, for terminals without colours.
const LETTERS: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// Which colours a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// Any.
    All,
    /// Those of the table of 256: 6 shades of red, green and blue each, and 24 greys.
    Table,
    /// None that pictures can be made of: letters do instead.
    None,
}

impl Colours {
    /// The environment's description of the terminal: `COLORTERM`, `TERM`, `NO_COLOR`.
    pub(crate) fn of_terminal(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let is_any = |names: &[&str]| names.iter().any(|name| term.contains(name));
        let colorterm = variable("COLORTERM").unwrap_or_default();
        if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            Self::None
        } else if ["truecolor", "24bit"].contains(&colorterm.as_str())
            || is_any(&["direct", "kitty", "alacritty", "wezterm", "foot", "ghostty"])
        {
            Self::All
        } else if is_any(&["256", "xterm", "screen", "tmux", "rxvt"]) {
            Self::Table
        } else {
            Self::None
        }
    }

    fn colour(self, [r, g, b]: [u8; 3]) -> Color {
        match self {
            Self::All => Color::Rgb(r, g, b),
            Self::Table | Self::None => Color::Indexed(nearest_of_table([r, g, b])),
        }
    }
}

/// The place in the table of 256 colours of the one that is most alike.
fn nearest_of_table(colour: [u8; 3]) -> u8 {
    const SHADES: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |of: [u8; 3]| {
        let parts = of.into_iter().zip(colour);
        parts
            .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
            .sum::<u32>()
    };
    let place = colour.map(|part| {
        let places = (0_u8..).zip(SHADES);
        places
            .min_by_key(|(_, shade)| shade.abs_diff(part))
            .unwrap_or((0, 0))
    });
    let [(r, red), (g, green), (b, blue)] = place;
    let mean = colour.iter().map(|part| u32::from(*part)).sum::<u32>() / 3;
    let grey = u8::try_from(mean.saturating_sub(3) / 10)
        .unwrap_or(23)
        .min(23);
    let of_grey = 8 + 10 * grey;
    if distance([of_grey; 3]) < distance([red, green, blue]) {
        232 + grey
    } else {
        16 + 36 * r + 6 * g + b
    }
}

/// A picture, as large as the area allows, in its own shape.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) image: &'a Rgb,
    pub(crate) colours: Colours,
}

/// The most pixels that an area shows: ask for a picture of this size.
pub(crate) fn pixels_of(area: Rect) -> (u32, u32) {
    (area.width.into(), u32::from(area.height) * 2)
}

impl Widget for Picture<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(*buffer.area());
        let Rgb { width, height, .. } = *self.image;
        if area.is_empty() || width == 0 || height == 0 {
            return;
        }
        let (shown_width, shown_height) = enlarge((width, height), pixels_of(area));
        let n_rows = u16::try_from(shown_height.div_ceil(2)).unwrap_or(0);
        let n_columns = u16::try_from(shown_width).unwrap_or(0);
        let left = area.x + (area.width - n_columns) / 2;
        let top = area.y + (area.height - n_rows) / 2;
        let pixel = |x: u16, y: u32| {
            let y = (y < shown_height)
                .then(|| u64::from(y) * u64::from(height) / u64::from(shown_height))?;
            let x = u64::from(x) * u64::from(width) / u64::from(shown_width);
            let place = usize::try_from(y * u64::from(width) + x).ok()?;
            self.image.pixels.get(place).copied()
        };
        for row in 0..n_rows {
            for column in 0..n_columns {
                let upper = pixel(column, u32::from(row) * 2);
                let lower = pixel(column, u32::from(row) * 2 + 1);
                if let Some(cell) = buffer.cell_mut((left + column, top + row)) {
                    let (letter, style) = self.cell(upper.unwrap_or_default(), lower);
                    cell.set_char(letter).set_style(style);
                }
            }
        }
    }
}

impl Picture<'_> {
    fn cell(&self, upper: [u8; 3], lower: Option<[u8; 3]>) -> (char, Style) {
        if self.colours == Colours::None {
            let all = upper.into_iter().chain(lower.unwrap_or(upper));
            let light = all.map(usize::from).sum::<usize>() * LETTERS.len() / (6 * 256);
            return (LETTERS.get(light).copied().unwrap_or(' '), Style::new());
        }
        let style = Style::new().fg(self.colours.colour(upper));
        match lower {
            Some(lower) => (UPPER_HALF, style.bg(self.colours.colour(lower))),
            None => (UPPER_HALF, style),
        }
    }
}

/// The largest size of that shape that fits, whether it is larger or smaller.
pub(crate) fn enlarge(
    (width, height): (u32, u32),
    (most_width, most_height): (u32, u32),
) -> (u32, u32) {
    let (w, h) = (u64::from(width), u64::from(height));
    let (most_w, most_h) = (u64::from(most_width), u64::from(most_height));
    let (w, h) = if most_w * h <= most_h * w {
        (most_w, (most_w * h + w / 2) / w)
    } else {
        ((most_h * w + h / 2) / h, most_h)
    };
    let side = |side: u64, most: u64| u32::try_from(side.clamp(1, most)).unwrap_or(1);
    (side(w, most_w), side(h, most_h))
}

#[cfg(test)]
mod tests;

//! What messages are pictures of, in whatever way the terminal can show it.

use super::graphics::{self, Canvas, Graphics};
use super::image::{Colours, Picture, pixels_of};
use super::paint::{DIM, WRONG, fit};
use super::scan::ScanView;
use bowline_inspect::picture::{self, BadImage, Image};
use bowline_inspect::text;
use bowline_log::Decoded;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

const ZOOMS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Where pictures are shown.
#[derive(Debug)]
pub(crate) struct Gallery {
    colours: Colours,
    graphics: Graphics,
    /// Pixels of a cell, across and down.
    cell: (u16, u16),
    zoom: usize,
    /// The real picture that the terminal shows: of which message, and where.
    shown: Option<(i64, Rect)>,
    /// The same for the screen that is being drawn.
    wanted: Option<(i64, Rect)>,
    /// For the terminal, after the screen.
    bytes: Vec<u8>,
}

impl Gallery {
    pub(crate) fn new(colours: Colours, graphics: Graphics, cell: (u16, u16)) -> Self {
        Self {
            colours,
            graphics: if cell.0 == 0 || cell.1 == 0 {
                Graphics::Blocks
            } else {
                graphics
            },
            cell,
            zoom: 0,
            shown: None,
            wanted: None,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn zoom(&mut self) {
        self.zoom = (self.zoom + 1) % ZOOMS.len();
    }

    /// Draws what the message is a picture of; returns whether it is one. `at_ns` identifies a message.
    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        decoded: &Decoded<'_, '_>,
        at_ns: i64,
    ) -> bool {
        let Decoded { types, id, value } = decoded;
        if let Some(image) = picture::image(types, *id, value) {
            let drawn = image.and_then(|image| self.draw_image(frame, area, &image, at_ns));
            if let Err(error) = drawn {
                put(frame, area, &error.to_string(), WRONG);
            }
            return true;
        }
        match picture::scan(types, *id, value) {
            Some(Ok(scan)) => {
                let zoom = ZOOMS.get(self.zoom).copied().unwrap_or(1.0);
                frame.render_widget(ScanView { scan: &scan, zoom }, area);
                true
            }
            Some(Err(error)) => {
                put(frame, area, &error.to_string(), WRONG);
                true
            }
            None => false,
        }
    }

    fn draw_image(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        image: &Image<'_>,
        at_ns: i64,
    ) -> Result<(), BadImage> {
        put(frame, area, &image.label(), DIM);
        let area = Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(1),
            ..area
        };
        if self.graphics == Graphics::Blocks {
            let (width, height) = pixels_of(area);
            let scaled = image.scaled(width, height)?;
            let colours = self.colours;
            let picture = Picture {
                image: &scaled,
                colours,
            };
            frame.render_widget(picture, area);
            return Ok(());
        }
        self.wanted = Some((at_ns, area));
        if self.shown != self.wanted {
            let canvas = Canvas {
                area,
                cell: self.cell,
            };
            let (width, height) = canvas.pixels();
            self.bytes = canvas.show(self.graphics, &image.scaled(width, height)?);
        }
        Ok(())
    }

    /// What the terminal is to be sent after the screen was drawn.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        if self.wanted.is_none() && self.shown.is_some() {
            self.bytes = graphics::hide(self.graphics);
        }
        self.shown = self.wanted.take();
        std::mem::take(&mut self.bytes)
    }
}

fn put(frame: &mut Frame<'_>, area: Rect, words: &str, style: Style) {
    if area.height > 0 {
        let line = Line::styled(fit(&text::printable(words), area.width), style);
        frame
            .buffer_mut()
            .set_line(area.x, area.y, &line, area.width);
    }
}

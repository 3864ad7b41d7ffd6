//! A picture of a layer that can be drawn on, in the map's coordinates.

use super::Layer;

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// Why there is no PNG.
#[derive(Debug, thiserror::Error)]
pub enum EncodePngError {
    /// Nothing to show, or too much.
    #[error("expected a picture of 1 to 20000 pixels a side, found {width} by {height}")]
    Size {
        /// Pixels along x.
        width: usize,
        /// Pixels along y.
        height: usize,
    },
    /// The encoder refuses.
    #[error("the picture cannot be encoded")]
    Encode(#[from] png::EncodingError),
}

/// A picture of a map: x to the right, y up.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    width: usize,
    height: usize,
    /// Row by row from the top.
    pixels: Vec<Rgb>,
    origin_m: [f64; 2],
    pixels_per_m: f64,
}

const VEHICLE: Rgb = [40, 90, 255];
const HAIRS: Rgb = [235, 238, 245];

impl Picture {
    /// Of a layer, each cell a square of so many pixels (1 to 64).
    #[must_use]
    pub fn new(layer: &Layer, pixels_per_cell: usize) -> Self {
        let scale = pixels_per_cell.clamp(1, 64);
        let (width, height) = (layer.columns * scale, layer.rows * scale);
        let colour = |at: usize| {
            let (column, row) = (at % width / scale, at / width / scale);
            let index = layer.cells.get(row * layer.columns + column);
            layer.palette.colour(index.copied().unwrap_or_default())
        };
        #[expect(clippy::cast_precision_loss, reason = "it is at most 64")]
        let pixels_per_m = scale as f64 / layer.cell_m;
        Self {
            width,
            height,
            pixels: (0..width * height).map(colour).collect(),
            origin_m: layer.origin_m,
            pixels_per_m,
        }
    }

    /// Pixels along x and y.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The colour of a pixel, counted from the upper left corner.
    #[must_use]
    pub fn at(&self, column: usize, row: usize) -> Option<Rgb> {
        let is_within = column < self.width && row < self.height;
        is_within.then(|| self.pixels[row * self.width + column])
    }

    /// Draws lines from place to place, so many pixels wide.
    pub fn path(&mut self, places_m: &[[f64; 2]], colour: Rgb, width_px: f64) {
        for ends in places_m.windows(2) {
            if let [from, to] = ends {
                self.line(self.pixel(*from), self.pixel(*to), (colour, width_px));
            }
        }
    }

    /// Draws a dot of so many pixels from side to side.
    pub fn dot(&mut self, place_m: [f64; 2], colour: Rgb, width_px: f64) {
        self.disc(self.pixel(place_m), (colour, width_px));
    }

    /// Draws a ring of so many pixels from side to side, so that what is in it can be seen.
    pub fn ring(&mut self, place_m: [f64; 2], colour: Rgb, width_px: f64) {
        const STEPS: u8 = 60;
        let [x, y] = self.pixel(place_m);
        let radius = 0.5 * width_px;
        for step in 0..STEPS {
            let angle = std::f64::consts::TAU * f64::from(step) / f64::from(STEPS);
            let (sin, cos) = angle.sin_cos();
            self.disc([x + radius * cos, y + radius * sin], (colour, 2.0));
        }
    }

    /// Draws a vehicle as DRDC does: a blue dot in cross hairs, and here also where it heads.
    pub fn vehicle(&mut self, place_m: [f64; 2], heading_rad: f64) {
        let [x, y] = self.pixel(place_m);
        #[expect(clippy::cast_precision_loss, reason = "pictures are small")]
        let (right, low) = (self.width as f64, self.height as f64);
        self.line([0.0, y], [right, y], (HAIRS, 1.0));
        self.line([x, 0.0], [x, low], (HAIRS, 1.0));
        let nose = [x + 16.0 * heading_rad.cos(), y - 16.0 * heading_rad.sin()];
        self.line([x, y], nose, (HAIRS, 3.0));
        self.disc([x, y], (HAIRS, 12.0));
        self.disc([x, y], (VEHICLE, 9.0));
    }

    /// Draws an arc that begins at a pose, of a curvature (1/m, to the left positive) and a length.
    pub fn arc(
        &mut self,
        [x, y, heading_rad]: [f64; 3],
        curvature_per_m: f64,
        length_m: f64,
        (colour, width_px): (Rgb, f64),
    ) {
        const STEPS: u8 = 24;
        let place = |step: u8| {
            let along = length_m * f64::from(step) / f64::from(STEPS);
            let half = 0.5 * curvature_per_m * along;
            // The chord of an arc: its length, and its direction half way through the turn.
            let chord = if half.abs() < 1e-9 {
                along
            } else {
                along * half.sin() / half
            };
            let (sin, cos) = (heading_rad + half).sin_cos();
            [x + chord * cos, y + chord * sin]
        };
        let places: Vec<[f64; 2]> = (0..=STEPS).map(place).collect();
        self.path(&places, colour, width_px);
    }

    /// As a PNG.
    ///
    /// # Errors
    /// When it has no pixels.
    pub fn to_png(&self) -> Result<Vec<u8>, EncodePngError> {
        let (width, height) = size(self.width, self.height)?;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }

    /// Where a place is, in pixels from the upper left corner.
    fn pixel(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        #[expect(clippy::cast_precision_loss, reason = "pictures are small")]
        let height = self.height as f64;
        let [west, south] = self.origin_m;
        [
            (x - west) * self.pixels_per_m,
            height - (y - south) * self.pixels_per_m,
        ]
    }

    fn line(&mut self, from: [f64; 2], to: [f64; 2], brush: (Rgb, f64)) {
        let by = [to[0] - from[0], to[1] - from[1]];
        let length = by[0].hypot(by[1]);
        // What is far outside, or nowhere, is not worth walking to.
        if length.is_nan() || length > 1e5 {
            return;
        }
        let mut along = 0.0;
        while along <= length {
            let part = if length > 0.0 { along / length } else { 0.0 };
            self.disc([from[0] + part * by[0], from[1] + part * by[1]], brush);
            along += 0.5;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limited to the picture"
    )]
    fn disc(&mut self, [x, y]: [f64; 2], (colour, width_px): (Rgb, f64)) {
        let radius = 0.5 * width_px;
        let span = |middle: f64, end: usize| {
            let first = (middle - radius - 0.5).ceil().max(0.0) as usize;
            let last = (middle + radius - 0.5).floor();
            first..if last < 0.0 {
                0
            } else {
                (last as usize).saturating_add(1).min(end)
            }
        };
        for row in span(y, self.height) {
            for column in span(x, self.width) {
                #[expect(clippy::cast_precision_loss, reason = "pictures are small")]
                let off = (column as f64 + 0.5 - x).hypot(row as f64 + 0.5 - y);
                if off <= radius.max(0.71) {
                    self.pixels[row * self.width + column] = colour;
                }
            }
        }
    }
}

/// A size that pictures can have.
pub(super) fn size(width: usize, height: usize) -> Result<(u32, u32), EncodePngError> {
    let side = |pixels: usize| {
        u32::try_from(pixels)
            .ok()
            .filter(|it| (1..=20_000).contains(it))
    };
    match (side(width), side(height)) {
        (Some(width), Some(height)) => Ok((width, height)),
        (None, _) | (_, None) => Err(EncodePngError::Size { width, height }),
    }
}

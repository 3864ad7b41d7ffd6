//! Images and scans, found by the shape of their types.
//!
//! In: a message of any type. Out: pixels in RGB, no more than will be shown, or the points of a scan in metres. What a
//! message declares is checked against what it has: a header that promises more pixels than there are bytes is
//! refused, and so is a compressed picture that would unpack to more than a screen can use.
//!
//! An image is a struct with a row of bytes beside a width and a height, or whose bytes are a JPEG or PNG file; also a
//! grid of bytes. A scan is a struct with a row of ranges beside the angle of the first and the step between them.

mod compressed;
mod fields;
mod format;
mod scale;
mod scan;

pub use format::Format;
pub use scan::{BadScan, Scan, scan};

use bowline_wire::schema::{Primitive, TypeId, TypeSet};
use bowline_wire::{Items, Value};
use fields::{Fields, nested};
use thiserror::Error;

/// Pictures of more pixels are not unpacked: that would take more memory than all the rest.
const MAX_PIXELS: u64 = 16 << 20;
/// A grid of bytes with fewer rows or columns is more likely a table.
const MIN_GRID: usize = 16;

/// A picture as it will be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgb {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green and blue of every pixel, row by row from the top.
    pub pixels: Vec<[u8; 3]>,
}

/// An image of a message, as it came.
#[derive(Clone, Debug)]
pub struct Image<'v> {
    /// The field that has the pixels.
    pub path: String,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// How the pixels are written.
    pub format: Format,
    /// Whether the format is not given, but follows from the number of bytes.
    pub is_guessed: bool,
    /// Bytes from one row to the next.
    stride: usize,
    data: &'v [u8],
}

/// An image that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadImage {
    /// Its size is none.
    #[error("expected a width and a height above 0, found {width} x {height}")]
    Size {
        /// The declared width.
        width: i64,
        /// The declared height.
        height: i64,
    },
    /// Its format is not one that we can draw.
    #[error("expected a pixel format that can be drawn, such as GREY, RGB3 or MJPG, found {found}")]
    Format {
        /// The declared format.
        found: String,
    },
    /// Rows would overlap.
    #[error("expected rows of at least {expected} bytes, found a stride of {found}")]
    Stride {
        /// What a row needs.
        expected: u64,
        /// The declared value.
        found: i64,
    },
    /// It has less than it declares.
    #[error("expected {expected} bytes for {width} x {height} pixels of {format}, found {found}")]
    TooShort {
        /// The declared width.
        width: u32,
        /// The declared height.
        height: u32,
        /// The declared format.
        format: Format,
        /// What that needs.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// It would unpack to too much.
    #[error("expected at most {MAX_PIXELS} pixels to unpack, found {width} x {height}")]
    TooLarge {
        /// The width in its file.
        width: u32,
        /// The height in its file.
        height: u32,
    },
    /// Its file is damaged.
    #[error("expected a whole {format} file, found a damaged one: {problem}")]
    Damaged {
        /// Which kind of file.
        format: Format,
        /// The error of its reader.
        problem: String,
    },
}

/// The image in a message, or in a struct or an array of structs in it; `None` if there is none.
#[must_use]
pub fn image<'v>(
    types: &'v TypeSet,
    id: TypeId,
    value: &'v Value<'v>,
) -> Option<Result<Image<'v>, BadImage>> {
    nested(types, id, value, &|fields| image_in(&fields))
}

fn image_in<'v>(fields: &Fields<'v>) -> Option<Result<Image<'v>, BadImage>> {
    let mut lines = Vec::new();
    for (name, array) in fields.arrays() {
        let Items::Numbers {
            ty: Primitive::Byte | Primitive::Int8,
            bytes,
        } = array.items()
        else {
            continue;
        };
        let path = fields.path_to(name);
        if compressed::kind(bytes).is_some() {
            return Some(compressed::image(path, bytes));
        }
        match array.n_dims() {
            1 => lines.push((path, bytes.as_ref())),
            2 | 3 => {
                if let Some(image) = grid(path, [array.dim(1), array.dim(0), array.dim(2)], bytes) {
                    return Some(Ok(image));
                }
            }
            _ => {}
        }
    }
    let width = fields.integer(&["width"], &["w", "cols", "ncols", "columns", "nx"])?;
    let height = fields.integer(&["height"], &["h", "rows", "nrows", "ny"])?;
    // The pixels are the longest row of bytes: others may be names or masks.
    let (path, data) = lines.into_iter().max_by_key(|(_, data)| data.len())?;
    Some(line(fields, path, [width, height], data))
}

/// An image in a grid of bytes: rows, columns and, if it has a third dimension, colours.
fn grid(path: String, [width, height, depth]: [usize; 3], data: &[u8]) -> Option<Image<'_>> {
    let format = match depth {
        0 | 1 => Format::Grey8,
        3 => Format::Rgb,
        4 => Format::Rgba,
        _ => return None,
    };
    let is_large = width >= MIN_GRID && height >= MIN_GRID;
    is_large.then_some(())?;
    Some(Image {
        path,
        width: u32::try_from(width).ok()?,
        height: u32::try_from(height).ok()?,
        format,
        is_guessed: true,
        stride: width * depth.max(1),
        data,
    })
}

/// An image in a row of bytes, with its size beside it.
fn line<'v>(
    fields: &Fields<'v>,
    path: String,
    [width, height]: [i64; 2],
    data: &'v [u8],
) -> Result<Image<'v>, BadImage> {
    let bad_size = || BadImage::Size { width, height };
    let side = |side: i64| u32::try_from(side).ok().filter(|side| *side > 0);
    let (w, h) = (
        side(width).ok_or_else(bad_size)?,
        side(height).ok_or_else(bad_size)?,
    );
    let said = fields.format();
    let known = said.as_deref().and_then(Format::from_name);
    let guessed = || Format::guess(u64::from(w) * u64::from(h), data.len() as u64);
    let Some(format) = known.or_else(guessed) else {
        let found = said.unwrap_or_else(|| format!("{} bytes for {w} x {h} pixels", data.len()));
        return Err(BadImage::Format { found });
    };
    if let Format::Jpeg | Format::Png = format {
        // Pictures that are compressed were found by how they begin; this one does not.
        let problem = format!("it begins with {}", crate::text::hex(data, 4));
        return Err(BadImage::Damaged { format, problem });
    }
    let row_bytes = format.row_bytes(w);
    let stride = match fields.integer(&["stride", "pitch", "step"], &[]) {
        None | Some(0) => row_bytes,
        Some(said) => u64::try_from(said)
            .ok()
            .filter(|said| *said >= row_bytes)
            .ok_or(BadImage::Stride {
                expected: row_bytes,
                found: said,
            })?,
    };
    let expected = stride
        .saturating_mul(u64::from(h) - 1)
        .saturating_add(row_bytes);
    if expected > data.len() as u64 {
        return Err(BadImage::TooShort {
            width: w,
            height: h,
            format,
            expected,
            found: data.len() as u64,
        });
    }
    Ok(Image {
        path,
        width: w,
        height: h,
        format,
        is_guessed: known.is_none(),
        stride: usize::try_from(stride).unwrap_or(usize::MAX),
        data,
    })
}

impl Image<'_> {
    /// What it is, in a few words: `1280x720 RGB`.
    #[must_use]
    pub fn label(&self) -> String {
        let Self {
            width,
            height,
            format,
            ..
        } = self;
        let guessed = if self.is_guessed {
            " (by its size)"
        } else {
            ""
        };
        format!("{width}x{height} {format}{guessed}")
    }

    /// The picture in at most this size, as it is or smaller, with the same shape. Each pixel is the mean of those that
    /// it stands for.
    ///
    /// # Errors
    /// When a compressed picture is damaged or would unpack to too much.
    pub fn scaled(&self, max_width: u32, max_height: u32) -> Result<Rgb, BadImage> {
        let (width, height) = fit((self.width, self.height), (max_width, max_height));
        let mut scaler = scale::Scaler::new((self.width, self.height), (width, height));
        if matches!(self.format, Format::Jpeg | Format::Png) {
            compressed::unpack(self, &mut scaler)?;
        } else {
            format::unpack(self, &mut scaler);
        }
        Ok(scaler.finish())
    }
}

/// The largest size of that shape that fits, and is not larger.
#[must_use]
pub fn fit((width, height): (u32, u32), (max_width, max_height): (u32, u32)) -> (u32, u32) {
    let (w, h) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (most_w, most_h) = (u64::from(max_width).min(w), u64::from(max_height).min(h));
    let (fit_w, fit_h) = if most_w * h <= most_h * w {
        (most_w, (most_w * h + w / 2) / w)
    } else {
        ((most_h * w + h / 2) / h, most_h)
    };
    let side = |side: u64, most: u64| u32::try_from(side.clamp(1, most.max(1))).unwrap_or(1);
    (side(fit_w, most_w), side(fit_h, most_h))
}

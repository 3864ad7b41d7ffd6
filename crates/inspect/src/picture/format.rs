//! How pixels are written: the names of the formats, and the way from each to red, green and blue.

use super::Image;
use super::scale::Scaler;
use std::fmt;

/// How the pixels of an image are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lightness, a byte each.
    Grey8,
    /// Lightness, two bytes each, the high one last; the lightest is shown white.
    Grey16Le,
    /// Lightness, two bytes each, the high one first; the lightest is shown white.
    Grey16Be,
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
    /// Red, green, blue and something that is not shown.
    Rgba,
    /// Blue, green, red and something that is not shown.
    Bgra,
    /// Two pixels in four bytes: lightness, blueness, lightness, redness.
    Yuyv,
    /// Two pixels in four bytes: blueness, lightness, redness, lightness.
    Uyvy,
    /// Lightness, a byte each; colours follow, and are not shown.
    Planar,
    /// One colour a pixel, in squares of four that begin with red.
    BayerRggb,
    /// One colour a pixel, in squares of four that begin with blue.
    BayerBggr,
    /// One colour a pixel, in squares of four that begin with green and blue.
    BayerGbrg,
    /// One colour a pixel, in squares of four that begin with green and red.
    BayerGrbg,
    /// A JPEG file.
    Jpeg,
    /// A PNG file.
    Png,
}

/// What formats are called: in four letters, by ROS and `OpenCV`, and in the constants of LCM's well-known image types.
/// In capitals, and without `_`.
#[rustfmt::skip]
const NAMES: &[(Format, &[&str])] = &[
    (Format::Grey8,     &["GREY", "GRAY", "GREY8", "GRAY8", "MONO8", "Y8", "Y800", "L8", "8UC1"]),
    (Format::Grey16Le,  &["LEGRAY16", "LG16", "Y16", "MONO16", "GRAY16", "GREY16", "GRAY16LE", "Z16", "16UC1"]),
    (Format::Grey16Be,  &["BEGRAY16", "GRAY16BE", "Y16BE", "357"]),
    (Format::Rgb,       &["RGB", "RGB3", "RGB8", "RGB24"]),
    (Format::Bgr,       &["BGR", "BGR3", "BGR8", "BGR24", "8UC3"]),
    (Format::Rgba,      &["RGBA", "RGB4", "RGBA8", "RGBA32", "AB24"]),
    (Format::Bgra,      &["BGRA", "BGR4", "BGRA8", "BGRA32", "AR24", "8UC4"]),
    (Format::Yuyv,      &["YUYV", "YUY2", "YUV422YUY2"]),
    (Format::Uyvy,      &["UYVY", "YUV422", "2VUY"]),
    (Format::Planar,    &["YUV420", "YU12", "I420", "IYUV", "YV12", "NV12", "NV21"]),
    (Format::BayerRggb, &["BAYERRGGB", "BAYERRGGB8", "RGGB", "XXX4"]),
    (Format::BayerBggr, &["BAYERBGGR", "BAYERBGGR8", "BGGR", "BA81"]),
    (Format::BayerGbrg, &["BAYERGBRG", "BAYERGBRG8", "GBRG", "XXX2"]),
    (Format::BayerGrbg, &["BAYERGRBG", "BAYERGRBG8", "GRBG", "XXX3"]),
    (Format::Jpeg,      &["MJPEG", "MJPG", "JPEG", "JPG"]),
    (Format::Png,       &["PNG"]),
];

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grey8 => "grey",
            Self::Grey16Le => "grey 16 bit, low byte first",
            Self::Grey16Be => "grey 16 bit, high byte first",
            Self::Rgb => "RGB",
            Self::Bgr => "BGR",
            Self::Rgba => "RGBA",
            Self::Bgra => "BGRA",
            Self::Yuyv => "YUYV",
            Self::Uyvy => "UYVY",
            Self::Planar => "YUV, shown in grey",
            Self::BayerRggb => "Bayer RGGB",
            Self::BayerBggr => "Bayer BGGR",
            Self::BayerGbrg => "Bayer GBRG",
            Self::BayerGrbg => "Bayer GRBG",
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
        })
    }
}

impl Format {
    /// The format of that name, in the vocabulary of any library.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|letter| letter.to_ascii_uppercase()).collect();
        let prefixes = ["PIXELFORMAT", "PIXFMT", "FORMAT", "ENCODING", "CAM"];
        let bare = prefixes
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix));
        let bare = bare.unwrap_or(&plain);
        let known = NAMES.iter().find(|(_, names)| names.contains(&bare));
        known.map(|(format, _)| *format)
    }

    /// The format that so many bytes may be in, where it is not given.
    pub(super) fn guess(n_pixels: u64, n_bytes: u64) -> Option<Self> {
        [
            (1, Self::Grey8),
            (2, Self::Grey16Le),
            (3, Self::Rgb),
            (4, Self::Rgba),
        ]
        .into_iter()
        .find_map(|(size, format)| (n_pixels.checked_mul(size) == Some(n_bytes)).then_some(format))
    }

    /// What a row of pixels takes.
    pub(super) fn row_bytes(self, width: u32) -> u64 {
        let width = u64::from(width);
        match self {
            Self::Grey8
            | Self::Planar
            | Self::BayerRggb
            | Self::BayerBggr
            | Self::BayerGbrg
            | Self::BayerGrbg => width,
            Self::Grey16Le | Self::Grey16Be => width * 2,
            // Pixels come in pairs.
            Self::Yuyv | Self::Uyvy => width.div_ceil(2) * 4,
            Self::Rgb | Self::Bgr => width * 3,
            Self::Rgba | Self::Bgra => width * 4,
            Self::Jpeg | Self::Png => 0,
        }
    }

    /// Where red is in a square of four, and where blue.
    fn bayer(self) -> Option<(usize, usize)> {
        match self {
            Self::BayerRggb => Some((0, 3)),
            Self::BayerBggr => Some((3, 0)),
            Self::BayerGbrg => Some((2, 1)),
            Self::BayerGrbg => Some((1, 2)),
            Self::Grey8
            | Self::Grey16Le
            | Self::Grey16Be
            | Self::Rgb
            | Self::Bgr
            | Self::Rgba
            | Self::Bgra
            | Self::Yuyv
            | Self::Uyvy
            | Self::Planar
            | Self::Jpeg
            | Self::Png => None,
        }
    }
}

/// Hands over an image row by row.
pub(super) fn unpack(image: &Image<'_>, scaler: &mut Scaler) {
    let row_bytes = usize::try_from(image.format.row_bytes(image.width)).unwrap_or(usize::MAX);
    let row = |y: usize| {
        let start = y.saturating_mul(image.stride);
        image
            .data
            .get(start..start.saturating_add(row_bytes))
            .unwrap_or_default()
    };
    let height = image.height as usize;
    let mut pixels = Vec::with_capacity(image.width as usize);
    let lightest = lightest(image, height, &row);
    for y in 0..height {
        pixels.clear();
        if let Some(places) = image.format.bayer() {
            let upper = y - y % 2;
            let lower = if upper + 1 < height { upper + 1 } else { upper };
            bayer_row(row(upper), row(lower), places, &mut pixels);
        } else {
            plain_row(image.format, row(y), lightest, &mut pixels);
        }
        scaler.row(&pixels);
    }
}

/// The lightest pixel of 16 bits: cameras and depth sensors rarely use them all.
fn lightest<'i>(image: &Image<'_>, height: usize, row: &dyn Fn(usize) -> &'i [u8]) -> u32 {
    let read: fn([u8; 2]) -> u16 = if image.format == Format::Grey16Le {
        u16::from_le_bytes
    } else if image.format == Format::Grey16Be {
        u16::from_be_bytes
    } else {
        return 1;
    };
    let rows = (0..height).flat_map(|y| row(y).as_chunks::<2>().0);
    rows.map(|pixel| u32::from(read(*pixel)))
        .max()
        .unwrap_or(1)
        .max(1)
}

fn plain_row(format: Format, row: &[u8], lightest: u32, out: &mut Vec<[u8; 3]>) {
    match format {
        Format::Rgb => out.extend(row.as_chunks::<3>().0),
        Format::Bgr => out.extend(row.as_chunks::<3>().0.iter().map(|&[b, g, r]| [r, g, b])),
        Format::Rgba => out.extend(row.as_chunks::<4>().0.iter().map(|&[r, g, b, _]| [r, g, b])),
        Format::Bgra => out.extend(row.as_chunks::<4>().0.iter().map(|&[b, g, r, _]| [r, g, b])),
        Format::Grey16Le => grey16_row(row, lightest, u16::from_le_bytes, out),
        Format::Grey16Be => grey16_row(row, lightest, u16::from_be_bytes, out),
        Format::Yuyv => yuv_row(row, |[y0, u, y1, v]| [y0, y1, u, v], out),
        Format::Uyvy => yuv_row(row, |[u, y0, v, y1]| [y0, y1, u, v], out),
        Format::Grey8
        | Format::Planar
        | Format::BayerRggb
        | Format::BayerBggr
        | Format::BayerGbrg
        | Format::BayerGrbg
        | Format::Jpeg
        | Format::Png => out.extend(row.iter().map(|&grey| [grey; 3])),
    }
}

fn grey16_row(row: &[u8], lightest: u32, read: fn([u8; 2]) -> u16, out: &mut Vec<[u8; 3]>) {
    let grey =
        |pixel: &[u8; 2]| u8::try_from(u32::from(read(*pixel)) * 255 / lightest).unwrap_or(255);
    out.extend(row.as_chunks::<2>().0.iter().map(|pixel| [grey(pixel); 3]));
}

fn yuv_row(row: &[u8], order: fn([u8; 4]) -> [u8; 4], out: &mut Vec<[u8; 3]>) {
    for pair in row.as_chunks::<4>().0 {
        let [y0, y1, u, v] = order(*pair);
        out.push(from_yuv(y0, u, v));
        out.push(from_yuv(y1, u, v));
    }
}

/// By the rules of standard television (BT.601), as cameras do; in 1/256.
fn from_yuv(y: u8, u: u8, v: u8) -> [u8; 3] {
    let y = 298 * (i32::from(y) - 16);
    let (u, v) = (i32::from(u) - 128, i32::from(v) - 128);
    let colours = [y + 409 * v, y - 100 * u - 208 * v, y + 516 * u];
    colours.map(|colour| u8::try_from(((colour + 128) >> 8).clamp(0, 255)).unwrap_or(0))
}

/// Every pixel has the colours of the square of four that it is in: the picture is shown smaller than it is.
fn bayer_row(upper: &[u8], lower: &[u8], (red, blue): (usize, usize), out: &mut Vec<[u8; 3]>) {
    for (up, low) in upper.chunks(2).zip(lower.chunks(2)) {
        let at = |pair: &[u8], place: usize| pair.get(place).or(pair.first()).copied().unwrap_or(0);
        let square = [at(up, 0), at(up, 1), at(low, 0), at(low, 1)];
        let all: u16 = square.iter().map(|&value| u16::from(value)).sum();
        let colour = |place: usize| square.get(place).copied().unwrap_or(0);
        let green = (all - u16::from(colour(red)) - u16::from(colour(blue))) / 2;
        let pixel = [
            colour(red),
            u8::try_from(green).unwrap_or(255),
            colour(blue),
        ];
        out.extend(std::iter::repeat_n(pixel, up.len()));
    }
}

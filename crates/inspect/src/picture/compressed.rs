//! Pictures that come as files: JPEG and PNG, unpacked within limits.

use super::scale::Scaler;
use super::{BadImage, Format, Image, MAX_PIXELS};
use std::io::Cursor;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// More than a camera sends; a file that repeats itself costs time without end.
const MAX_SCANS: usize = 32;

/// Which kind of file it is, by how it begins.
pub(super) fn kind(data: &[u8]) -> Option<Format> {
    if data.starts_with(&[0xff, 0xd8, 0xff]) {
        Some(Format::Jpeg)
    } else if data.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(Format::Png)
    } else {
        None
    }
}

/// An image whose size is in its file.
pub(super) fn image(path: String, data: &[u8]) -> Result<Image<'_>, BadImage> {
    let format = kind(data).unwrap_or(Format::Jpeg);
    let (width, height) = if format == Format::Png {
        png_size(data)?
    } else {
        jpeg_size(data)?
    };
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(BadImage::TooLarge { width, height });
    }
    if width == 0 || height == 0 {
        let (width, height) = (width.into(), height.into());
        return Err(BadImage::Size { width, height });
    }
    Ok(Image {
        path,
        width,
        height,
        format,
        is_guessed: false,
        stride: 0,
        data,
    })
}

/// Hands over a picture row by row.
pub(super) fn unpack(image: &Image<'_>, scaler: &mut Scaler) -> Result<(), BadImage> {
    let (bytes, n_colours) = if image.format == Format::Png {
        png_bytes(image.data)?
    } else {
        (jpeg_bytes(image.data)?, 3)
    };
    let row_bytes = image.width as usize * n_colours;
    let mut pixels = Vec::with_capacity(image.width as usize);
    for row in bytes.chunks_exact(row_bytes.max(1)) {
        pixels.clear();
        pixels.extend(row.chunks_exact(n_colours).map(|pixel| match *pixel {
            [r, g, b] | [r, g, b, _] => [r, g, b],
            [grey] | [grey, _] => [grey; 3],
            _ => [0; 3],
        }));
        scaler.row(&pixels);
    }
    Ok(())
}

fn jpeg(data: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let any_side = usize::from(u16::MAX);
    let options = DecoderOptions::default()
        // What is too large is refused by its area, in our own words.
        .set_max_width(any_side)
        .set_max_height(any_side)
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .jpeg_set_max_scans(MAX_SCANS)
        .set_strict_mode(false);
    JpegDecoder::new_with_options(ZCursor::new(data), options)
}

fn bad_jpeg(problem: impl std::fmt::Debug) -> BadImage {
    let problem = crate::text::printable(&format!("{problem:?}"));
    BadImage::Damaged {
        format: Format::Jpeg,
        problem,
    }
}

fn jpeg_size(data: &[u8]) -> Result<(u32, u32), BadImage> {
    let mut decoder = jpeg(data);
    decoder.decode_headers().map_err(bad_jpeg)?;
    let info = decoder.info().ok_or_else(|| bad_jpeg("no header"))?;
    Ok((info.width.into(), info.height.into()))
}

fn jpeg_bytes(data: &[u8]) -> Result<Vec<u8>, BadImage> {
    jpeg(data).decode().map_err(bad_jpeg)
}

fn bad_png(problem: impl std::fmt::Display) -> BadImage {
    let problem = crate::text::printable(&problem.to_string());
    BadImage::Damaged {
        format: Format::Png,
        problem,
    }
}

fn png_reader(data: &[u8]) -> Result<png::Reader<Cursor<&[u8]>>, BadImage> {
    let bytes = usize::try_from(MAX_PIXELS * 4).unwrap_or(usize::MAX);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(data), png::Limits { bytes });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    decoder.read_info().map_err(bad_png)
}

fn png_size(data: &[u8]) -> Result<(u32, u32), BadImage> {
    Ok(png_reader(data)?.info().size())
}

/// The pixels, and how many bytes each has.
fn png_bytes(data: &[u8]) -> Result<(Vec<u8>, usize), BadImage> {
    let mut reader = png_reader(data)?;
    let size = reader.output_buffer_size();
    let mut bytes = vec![0; size.ok_or_else(|| bad_png("too large"))?];
    let info = reader.next_frame(&mut bytes).map_err(bad_png)?;
    bytes.truncate(info.buffer_size());
    Ok((bytes, info.color_type.samples()))
}

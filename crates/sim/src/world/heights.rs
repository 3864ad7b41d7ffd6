//! Ground that is not flat: heights on a grid, from a picture or a list.

use crate::solid::{MakeMeshError, Mesh};
use std::io::Cursor;

/// Why there are no heights.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadHeights {
    #[error("expected a PNG picture, found: {0}")]
    Png(#[from] png::DecodingError),
    #[error("expected a grey picture with 8 or 16 bits, found {0}")]
    Colour(String),
    #[error("expected 2 to {MAX_SIDE} rows of as many heights each, found {0}")]
    Rows(String),
    #[error("expected at most {most} heights, found {} by {}", found[0], found[1])]
    TooMany { most: u64, found: [u32; 2] },
    #[error(transparent)]
    Made(#[from] MakeMeshError),
}

/// A grid with more on a side is a mistake.
const MAX_SIDE: usize = 1_025;

/// A grid of heights between 0 and 1 from a picture: rows with growing y, so the picture's last row comes first.
pub(super) fn of_png(bytes: &[u8]) -> Result<Vec<Vec<f64>>, BadHeights> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_limits(png::Limits { bytes: 64 << 20 });
    let mut reader = decoder.read_info()?;
    let (width, height) = reader.info().size();
    let (colour, depth) = reader.output_color_type();
    let sides = [width, height].map(|side| usize::try_from(side).unwrap_or(usize::MAX));
    if sides.iter().any(|side| !(2..=MAX_SIDE).contains(side)) {
        return Err(BadHeights::Rows(format!("{width} by {height}")));
    }
    let bytes_each = match (colour, depth) {
        (png::ColorType::Grayscale, png::BitDepth::Eight) => 1,
        (png::ColorType::Grayscale, png::BitDepth::Sixteen) => 2,
        _ => return Err(BadHeights::Colour(format!("{colour:?} with {depth:?}"))),
    };
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    reader.next_frame(&mut pixels)?;
    let height_of = |pixel: &[u8]| match pixel {
        [only] => f64::from(*only) / 255.0,
        [high, low] => f64::from(u16::from_be_bytes([*high, *low])) / 65_535.0,
        _ => 0.0,
    };
    let row = |line: &[u8]| line.chunks_exact(bytes_each).map(height_of).collect();
    let mut rows: Vec<Vec<f64>> = pixels
        .chunks_exact(sides[0] * bytes_each)
        .map(row)
        .collect();
    rows.reverse();
    Ok(rows)
}

/// Ground about its own middle, `x` by `y` metres, with heights times `z`. Rows have growing y, in them x grows.
pub(super) fn mesh(rows: &[Vec<f64>], [x, y, z]: [f64; 3]) -> Result<Mesh, BadHeights> {
    let n_rows = rows.len();
    let n_columns = rows.first().map_or(0, Vec::len);
    let is_even = rows.iter().all(|row| row.len() == n_columns);
    let is_grid = (2..=MAX_SIDE).contains(&n_rows) && (2..=MAX_SIDE).contains(&n_columns);
    let counts = u32::try_from(n_rows)
        .ok()
        .zip(u32::try_from(n_columns).ok());
    let Some((n_rows, n_columns)) = counts.filter(|_| is_even && is_grid) else {
        return Err(BadHeights::Rows(format!(
            "{n_rows} rows, the first of {n_columns}"
        )));
    };
    let share = |at: u32, n: u32| f64::from(at) / f64::from(n - 1) - 0.5;
    let mut points = Vec::new();
    for (row, heights) in (0..n_rows).zip(rows) {
        points.extend((0..n_columns).zip(heights).map(|(column, height)| {
            [
                x * share(column, n_columns),
                y * share(row, n_rows),
                z * height,
            ]
        }));
    }
    let mut triangles = Vec::new();
    for row in 0..n_rows - 1 {
        for column in 0..n_columns - 1 {
            let at = row * n_columns + column;
            let (right, up) = (at + 1, at + n_columns);
            triangles.extend([[at, right, up], [right, up + 1, up]]);
        }
    }
    Ok(Mesh::new(points, triangles)?)
}

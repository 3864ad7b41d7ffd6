//! Planes of a map message, read with their sizes checked once.

use bowline_msgs::Map;

/// A map whose planes all have the size that it declares.
#[derive(Clone, Copy, Debug)]
pub struct Planes<'a> {
    map: &'a Map,
    rows: usize,
    columns: usize,
}

/// Why a map cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReadMapError {
    /// A plane is not there.
    #[error("expected a plane {expected:?} in the map, found {found:?}")]
    NoPlane {
        /// What was looked for.
        expected: String,
        /// What there is.
        found: Vec<String>,
    },
    /// Rows or planes have different sizes.
    #[error("expected {planes} planes of {rows} rows of {columns} cells, found other sizes")]
    Ragged {
        /// How many names there are.
        planes: usize,
        /// Rows of the first plane.
        rows: usize,
        /// Cells of its first row.
        columns: usize,
    },
    /// Cells of no size, or at no place.
    #[error("expected cells of more than 0 m at a place, found {cell_m} m at {origin_m:?}")]
    Cell {
        /// Their side.
        cell_m: f64,
        /// Where the first one is.
        origin_m: [f64; 2],
    },
}

impl<'a> Planes<'a> {
    /// Checks a map.
    ///
    /// # Errors
    /// When sizes are not what they should be.
    pub fn new(map: &'a Map) -> Result<Self, ReadMapError> {
        let first = map.cells.first();
        let rows = first.map_or(0, Vec::len);
        let columns = first.and_then(|plane| plane.first()).map_or(0, Vec::len);
        let is_whole = map.cells.len() == map.names.len()
            && map
                .cells
                .iter()
                .all(|plane| plane.len() == rows && plane.iter().all(|row| row.len() == columns));
        if !is_whole {
            let planes = map.names.len();
            return Err(ReadMapError::Ragged {
                planes,
                rows,
                columns,
            });
        }
        let is_somewhere = map.cell_m > 0.0
            && map.cell_m.is_finite()
            && map.origin_m.iter().all(|it| it.is_finite());
        if !is_somewhere {
            let (cell_m, origin_m) = (map.cell_m, map.origin_m);
            return Err(ReadMapError::Cell { cell_m, origin_m });
        }
        Ok(Self { map, rows, columns })
    }

    /// A plane by its name: rows with growing y, in them columns with growing x.
    ///
    /// # Errors
    /// When there is none.
    pub fn plane(&self, name: &str) -> Result<&'a [Vec<f32>], ReadMapError> {
        self.optional(name).ok_or_else(|| ReadMapError::NoPlane {
            expected: name.to_owned(),
            found: self.map.names.clone(),
        })
    }

    /// A plane that may be missing.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<&'a [Vec<f32>]> {
        let at = self.map.names.iter().position(|it| it == name)?;
        self.map.cells.get(at).map(Vec::as_slice)
    }

    /// Cells along y.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Cells along x.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The map itself.
    #[must_use]
    pub fn map(&self) -> &'a Map {
        self.map
    }
}

//! Pictures made smaller: each pixel is the mean of those that it stands for.

use super::Rgb;

/// Takes rows of one size and gives a picture of a smaller one. One pass, and a row of memory beside the result.
pub(super) struct Scaler {
    from_height: u64,
    /// Which columns of the source each column stands for.
    columns: Vec<(usize, usize)>,
    height: u32,
    /// The row of the source that comes next.
    y: u64,
    sums: Vec<[u32; 3]>,
    n_rows: u32,
    out: Vec<[u8; 3]>,
}

impl Scaler {
    pub(super) fn new(from: (u32, u32), to: (u32, u32)) -> Self {
        let (from_width, width) = (u64::from(from.0), u64::from(to.0));
        let edge = |column: u64| usize::try_from(column * from_width / width).unwrap_or(usize::MAX);
        let columns = (0..width)
            .map(|column| (edge(column), edge(column + 1)))
            .collect();
        let n_columns = usize::try_from(width).unwrap_or(0);
        Self {
            from_height: u64::from(from.1),
            columns,
            height: to.1,
            y: 0,
            sums: vec![[0; 3]; n_columns],
            n_rows: 0,
            out: Vec::with_capacity(n_columns * to.1 as usize),
        }
    }

    /// Takes the next row of the source.
    pub(super) fn row(&mut self, pixels: &[[u8; 3]]) {
        for (sum, &(from, to)) in self.sums.iter_mut().zip(&self.columns) {
            let mut column = [0_u32; 3];
            let of_column = pixels.get(from..to).unwrap_or_default();
            for [r, g, b] in of_column {
                column[0] += u32::from(*r);
                column[1] += u32::from(*g);
                column[2] += u32::from(*b);
            }
            // The mean of the row, in 1/256: sums of whole pictures fit.
            let n = u32::try_from(of_column.len()).unwrap_or(u32::MAX).max(1);
            for (sum, colour) in sum.iter_mut().zip(column) {
                *sum = sum.saturating_add(mean_256(colour, n));
            }
        }
        self.n_rows += 1;
        self.y += 1;
        let height = u64::from(self.height);
        let is_last = self.y * height / self.from_height > (self.y - 1) * height / self.from_height;
        if is_last {
            self.finish_row();
        }
    }

    fn finish_row(&mut self) {
        let n = self.n_rows.max(1);
        for sum in &mut self.sums {
            let colour = |sum: u32| u8::try_from((sum / n + 128) >> 8).unwrap_or(255);
            self.out.push(sum.map(colour));
            *sum = [0; 3];
        }
        self.n_rows = 0;
    }

    pub(super) fn finish(self) -> Rgb {
        let width = u32::try_from(self.columns.len()).unwrap_or(0);
        let mut pixels = self.out;
        // A source that ended early leaves the rest black.
        pixels.resize(self.columns.len() * self.height as usize, [0; 3]);
        Rgb {
            width,
            height: self.height,
            pixels,
        }
    }
}

fn mean_256(sum: u32, n: u32) -> u32 {
    u32::try_from(u64::from(sum) * 256 / u64::from(n)).unwrap_or(u32::MAX)
}

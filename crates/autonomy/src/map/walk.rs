//! The cells that a line crosses, one after the other.

/// The parts of a line, from 0 to 1, that lie in one cell each. It may take any number of steps: take no more than the
/// grid has.
pub(crate) fn walk(
    start_m: [f64; 2],
    by_m: [f64; 2],
    cell_m: f64,
) -> impl Iterator<Item = (f64, f64)> {
    let mut axes = [0, 1].map(|axis| Axis::new(start_m[axis], by_m[axis], cell_m));
    let mut from = 0.0;
    std::iter::from_fn(move || {
        if from >= 1.0 {
            return None;
        }
        let to = axes[0].next.min(axes[1].next).min(1.0);
        axes.iter_mut().for_each(|axis| axis.pass(to));
        Some((std::mem::replace(&mut from, to), to))
    })
}

/// Where a ray crosses the lines between cells, as parts of its length.
#[derive(Clone, Copy, Debug)]
struct Axis {
    next: f64,
    step: f64,
}

impl Axis {
    fn new(start_m: f64, by_m: f64, cell_m: f64) -> Self {
        let within = start_m - (start_m / cell_m).floor() * cell_m;
        let to_line = if by_m > 0.0 { cell_m - within } else { within };
        Self {
            // Along the lines there is none to cross.
            next: if by_m == 0.0 {
                f64::INFINITY
            } else {
                to_line / by_m.abs()
            },
            step: cell_m / by_m.abs(),
        }
    }

    fn pass(&mut self, at: f64) {
        if self.next <= at {
            self.next += self.step;
        }
    }
}

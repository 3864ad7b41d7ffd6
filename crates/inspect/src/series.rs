//! A field over time.
//!
//! In: numbers and when they were. Out: the curve through any stretch of that time, as the least and the greatest of
//! each column of a plot, so that a spike of one message is seen however far one zooms out.
//!
//! Memory is bounded: the latest numbers are kept one by one, older ones as the extremes of several in a row; the longer
//! the series, the more in a row.

use std::collections::VecDeque;

/// The latest numbers, each kept as it came.
const MAX_POINTS: usize = 50_000;
/// Older ones, several in each.
const MAX_BUCKETS: usize = 25_000;
/// Time may step back by so much without being another time: hosts and threads hand over messages out of order.
const MOMENT_NS: i64 = 100_000_000;

/// A field over time.
#[derive(Clone, Debug)]
pub struct Series {
    old: Vec<Bucket>,
    /// How many numbers a bucket has.
    stride: u32,
    recent: VecDeque<(i64, f64)>,
    all: Option<Stats>,
    n_gaps: u64,
    n_restarts: u64,
}

/// What a number of numbers have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// How many there are.
    pub n: u64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The latest.
    pub last: f64,
}

impl Stats {
    fn of(value: f64) -> Self {
        Self {
            n: 1,
            min: value,
            max: value,
            mean: value,
            last: value,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "the weight of a mean need not be exact"
    )]
    fn and(self, later: Self) -> Self {
        let n = self.n + later.n;
        Self {
            n,
            min: self.min.min(later.min),
            max: self.max.max(later.max),
            mean: self.mean + (later.mean - self.mean) * (later.n as f64 / n as f64),
            last: later.last,
        }
    }
}

fn add(to: &mut Option<Stats>, stats: Stats) {
    *to = Some(to.map_or(stats, |earlier| earlier.and(stats)));
}

/// Several numbers in a row.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    from_ns: i64,
    to_ns: i64,
    n_points: u32,
    first: f64,
    /// `None` if there was a gap all along.
    stats: Option<Stats>,
    has_gap: bool,
}

impl Bucket {
    fn of((ns, value): (i64, f64)) -> Self {
        let is_number = value.is_finite();
        Self {
            from_ns: ns,
            to_ns: ns,
            n_points: 1,
            first: value,
            stats: is_number.then(|| Stats::of(value)),
            has_gap: !is_number,
        }
    }

    fn join(&mut self, later: &Self) {
        if self.stats.is_none() {
            self.first = later.first;
        }
        self.to_ns = later.to_ns;
        self.n_points = self.n_points.saturating_add(later.n_points);
        if let Some(stats) = later.stats {
            add(&mut self.stats, stats);
        }
        self.has_gap |= later.has_gap;
    }
}

impl Default for Series {
    fn default() -> Self {
        Self {
            old: Vec::new(),
            stride: 2,
            recent: VecDeque::new(),
            all: None,
            n_gaps: 0,
            n_restarts: 0,
        }
    }
}

impl Series {
    /// Adds a number and its time. One that is NaN or infinite is a gap in the curve. If time goes back, as when a player
    /// of logs seeks, the series starts anew.
    pub fn push(&mut self, ns: i64, value: f64) {
        let last_ns = self.last_ns().unwrap_or(ns);
        if ns < last_ns.saturating_sub(MOMENT_NS) {
            let n_restarts = self.n_restarts + 1;
            *self = Self {
                n_restarts,
                ..Self::default()
            };
        }
        let ns = self.last_ns().map_or(ns, |last_ns| ns.max(last_ns));
        if value.is_finite() {
            add(&mut self.all, Stats::of(value));
        } else {
            self.n_gaps += 1;
        }
        if self.recent.len() == MAX_POINTS {
            self.thin();
        }
        self.recent.push_back((ns, value));
    }

    /// Moves the older half of the points to the buckets.
    fn thin(&mut self) {
        for point in self.recent.drain(..MAX_POINTS / 2) {
            let point = Bucket::of(point);
            match self.old.last_mut() {
                Some(bucket) if bucket.n_points < self.stride => bucket.join(&point),
                Some(_) | None => self.old.push(point),
            }
        }
        while self.old.len() > MAX_BUCKETS {
            self.stride = self.stride.saturating_mul(2);
            let join = |pair: &[Bucket]| {
                let (first, rest) = pair.split_first()?;
                let mut joined = *first;
                rest.iter().for_each(|later| joined.join(later));
                Some(joined)
            };
            self.old = self.old.chunks(2).filter_map(join).collect();
        }
    }

    /// What all numbers since the start have in common; `None` if there were none.
    #[must_use]
    pub fn stats(&self) -> Option<Stats> {
        self.all
    }

    /// How many were NaN or infinite.
    #[must_use]
    pub fn n_gaps(&self) -> u64 {
        self.n_gaps
    }

    /// How often time went back.
    #[must_use]
    pub fn n_restarts(&self) -> u64 {
        self.n_restarts
    }

    /// When the series begins.
    #[must_use]
    pub fn first_ns(&self) -> Option<i64> {
        let old = self.old.first().map(|bucket| bucket.from_ns);
        old.or_else(|| self.recent.front().map(|(ns, _)| *ns))
    }

    /// When the latest number was.
    #[must_use]
    pub fn last_ns(&self) -> Option<i64> {
        self.recent.back().map(|(ns, _)| *ns)
    }

    /// How many points and buckets are kept: bounded, however long the series.
    #[must_use]
    pub fn n_kept(&self) -> usize {
        self.old.len() + self.recent.len()
    }

    /// The number nearest to a moment, and its time; for a cursor. Gaps are passed over.
    #[must_use]
    pub fn nearest(&self, ns: i64) -> Option<(i64, f64)> {
        let is_number = |(_, value): &&(i64, f64)| value.is_finite();
        let n_recent = self.recent.partition_point(|(at, _)| *at < ns);
        let after = self.recent.range(n_recent..).find(is_number);
        let before = self.recent.range(..n_recent).rev().find(is_number);
        let n_old = self.old.partition_point(|bucket| bucket.to_ns < ns);
        let (old, later) = self.old.split_at(n_old);
        let last = |bucket: &Bucket| Some((bucket.to_ns, bucket.stats?.last));
        let found = [
            old.iter().rev().find_map(last),
            later.iter().find_map(last),
            before.copied(),
            after.copied(),
        ];
        let found = found.into_iter().flatten();
        found.min_by_key(|(at, _)| at.abs_diff(ns))
    }

    /// The curve from `from_ns` to `to_ns` in so many columns. The cost follows the number of points in that time.
    #[must_use]
    pub fn window(&self, from_ns: i64, to_ns: i64, n_columns: usize) -> Window {
        let mut window = Window {
            columns: vec![None; n_columns],
            stats: None,
            before: None,
            after: None,
        };
        if n_columns == 0 || to_ns <= from_ns {
            return window;
        }
        let scale = Scale {
            from_ns,
            to_ns,
            n_columns,
        };
        let first_old = self.old.partition_point(|bucket| bucket.to_ns < from_ns);
        let first_recent = self.recent.partition_point(|(ns, _)| *ns < from_ns);
        window.before = self.point_before(first_old, first_recent);
        let old = self.old.iter().skip(first_old).copied();
        let recent = self.recent.range(first_recent..).copied().map(Bucket::of);
        let mut is_after_gap = window.before.is_none();
        for bucket in old.chain(recent) {
            if bucket.from_ns > to_ns {
                if !is_after_gap && bucket.stats.is_some() && !bucket.has_gap {
                    window.after = Some((bucket.from_ns, bucket.first));
                }
                break;
            }
            window.put(&scale, &bucket, is_after_gap);
            is_after_gap = bucket.has_gap;
        }
        window
    }

    fn point_before(&self, first_old: usize, first_recent: usize) -> Option<(i64, f64)> {
        let recent = first_recent
            .checked_sub(1)
            .and_then(|at| self.recent.get(at));
        if let Some((ns, value)) = recent {
            return value.is_finite().then_some((*ns, *value));
        }
        let bucket = self.old.get(first_old.checked_sub(1)?)?;
        let last = bucket.stats?.last;
        (!bucket.has_gap).then_some((bucket.to_ns, last))
    }
}

struct Scale {
    from_ns: i64,
    to_ns: i64,
    n_columns: usize,
}

impl Scale {
    /// The column of a moment. Called for every point: in fractions, which are exact enough for months of nanoseconds.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 0 to 1, of columns that are counted in thousands"
    )]
    fn column(&self, ns: i64) -> usize {
        let into = ns.saturating_sub(self.from_ns).max(0) as f64;
        let span = self.to_ns.saturating_sub(self.from_ns) as f64;
        let column = (into / span * self.n_columns as f64) as usize;
        column.min(self.n_columns - 1)
    }
}

/// A stretch of a [`Series`], ready to be plotted.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// What is in each column; `None` where nothing is, which a line may cross.
    pub columns: Vec<Option<Column>>,
    /// What all in the window have in common; `None` if nothing is in it.
    pub stats: Option<Stats>,
    /// The last number before the window and its time, from which the line comes; `None` at a gap.
    pub before: Option<(i64, f64)>,
    /// The first number after the window and its time, to which the line goes; `None` at a gap.
    pub after: Option<(i64, f64)>,
}

/// What a series does in one column of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The first, to which a line from the left goes.
    pub first: f64,
    /// The last, from which a line to the right goes.
    pub last: f64,
    /// Whether there is a gap before: no line comes from the left.
    pub is_after_gap: bool,
}

impl Window {
    fn put(&mut self, scale: &Scale, bucket: &Bucket, is_after_gap: bool) {
        let Some(stats) = bucket.stats else {
            return;
        };
        add(&mut self.stats, stats);
        let from = scale.column(bucket.from_ns);
        let to = scale.column(bucket.to_ns);
        for (place, column) in (from..).zip(self.columns.get_mut(from..=to).unwrap_or_default()) {
            let it = Column {
                min: stats.min,
                max: stats.max,
                first: bucket.first,
                last: stats.last,
                is_after_gap: place == from && is_after_gap,
            };
            *column = Some(match *column {
                None => it,
                Some(earlier) => Column {
                    min: earlier.min.min(it.min),
                    max: earlier.max.max(it.max),
                    first: earlier.first,
                    last: it.last,
                    is_after_gap: earlier.is_after_gap,
                },
            });
        }
    }
}

//! Statistics of the times between messages.
//!
//! In: when messages came, and how large they were. Out: rates and intervals over the last of them, exactly: what is
//! in the window is kept.

use std::collections::VecDeque;

/// The latest messages of one channel.
#[derive(Clone, Debug)]
pub struct Intervals {
    max_messages: usize,
    /// When, and how many bytes.
    window: VecDeque<(i64, u64)>,
    n_messages: u64,
    n_bytes: u64,
}

/// The statistics of the window. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSummary {
    /// Intervals that are looked at.
    pub n: usize,
    /// Messages a second.
    pub rate_hz: f64,
    /// Payload bytes a second.
    pub bytes_per_s: f64,
    /// The mean interval.
    pub mean_s: f64,
    /// The shortest. Less than nothing where the clock was set back.
    pub min_s: f64,
    /// The longest.
    pub max_s: f64,
    /// The standard deviation.
    pub deviation_s: f64,
}

/// One bar of a histogram: from, up to, and how many intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The shortest interval that is counted here, in seconds.
    pub from_s: f64,
    /// The next bin begins here. The longest interval of all is in the last bin.
    pub to_s: f64,
    /// How many there were.
    pub n: usize,
}

impl Intervals {
    /// Keeps the last `max_intervals`, at least one.
    #[must_use]
    pub fn new(max_intervals: usize) -> Self {
        Self {
            max_messages: max_intervals.max(1).saturating_add(1),
            window: VecDeque::new(),
            n_messages: 0,
            n_bytes: 0,
        }
    }

    /// A message came.
    pub fn add(&mut self, received_ns: i64, size: usize) {
        self.n_messages += 1;
        self.n_bytes += size as u64;
        if self.window.len() >= self.max_messages {
            self.window.pop_front();
        }
        self.window.push_back((received_ns, size as u64));
    }

    /// Messages since the beginning.
    #[must_use]
    pub fn n_messages(&self) -> u64 {
        self.n_messages
    }

    /// Their payload bytes.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// The intervals in the window, in seconds, in the order in which they were.
    fn intervals(&self) -> impl Iterator<Item = f64> {
        let times = self.window.iter().map(|(at_ns, _)| *at_ns);
        let later = self.window.iter().skip(1).map(|(at_ns, _)| *at_ns);
        times.zip(later).map(|(a, b)| seconds(b.saturating_sub(a)))
    }

    /// The statistics of the window, if there are two messages in it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "statistics for people")]
    pub fn summary(&self) -> Option<IntervalSummary> {
        let n = self.window.len().checked_sub(1).filter(|n| *n > 0)?;
        let sum_s: f64 = self.intervals().sum();
        let mean_s = sum_s / n as f64;
        let variance = self
            .intervals()
            .map(|interval| (interval - mean_s).powi(2))
            .sum::<f64>()
            / n as f64;
        // The first message was there before the time that is looked at.
        let n_bytes: u64 = self.window.iter().skip(1).map(|(_, size)| size).sum();
        let per_s = |amount: f64| if sum_s > 0.0 { amount / sum_s } else { 0.0 };
        Some(IntervalSummary {
            n,
            rate_hz: per_s(n as f64),
            bytes_per_s: per_s(n_bytes as f64),
            mean_s,
            min_s: self.intervals().fold(f64::INFINITY, f64::min),
            max_s: self.intervals().fold(f64::NEG_INFINITY, f64::max),
            deviation_s: variance.sqrt(),
        })
    }

    /// The intervals in bins of one width, or, where they differ widely, of one ratio. At most so many bins; one where
    /// all intervals are the same.
    #[must_use]
    pub fn histogram(&self, max_bins: usize) -> Vec<Bin> {
        let Some(summary) = self.summary() else {
            return Vec::new();
        };
        let scale = Scale::of(&summary, max_bins.max(1));
        let mut bins: Vec<Bin> = (0..scale.n_bins)
            .map(|place| Bin {
                from_s: scale.edge(place),
                to_s: scale.edge(place + 1),
                n: 0,
            })
            .collect();
        for interval in self.intervals() {
            if let Some(bin) = bins.get_mut(scale.place(interval)) {
                bin.n += 1;
            }
        }
        bins
    }
}

/// Intervals that differ by more than this ratio are in bins of one ratio.
const WIDE: f64 = 20.0;
/// Times below the resolution of the kernel's stamps are equal.
const FINEST_S: f64 = 1e-9;

/// Where bins begin.
#[derive(Clone, Copy, Debug)]
struct Scale {
    is_wide: bool,
    /// Of the intervals, or of their logarithms.
    start: f64,
    width: f64,
    n_bins: usize,
}

impl Scale {
    #[expect(clippy::cast_precision_loss, reason = "few bins")]
    fn of(summary: &IntervalSummary, n_bins: usize) -> Self {
        let IntervalSummary { min_s, max_s, .. } = *summary;
        // Several messages at one time, or out of order, cannot be distinguished.
        let floor_s = min_s.max(summary.mean_s / 1e6).max(FINEST_S);
        let is_wide = max_s / floor_s > WIDE;
        let (start, end) = if is_wide {
            (floor_s.ln(), max_s.ln())
        } else {
            (min_s, max_s)
        };
        if end - start < FINEST_S {
            return Self {
                is_wide: false,
                start: min_s,
                width: (max_s - min_s).max(FINEST_S),
                n_bins: 1,
            };
        }
        Self {
            is_wide,
            start,
            width: (end - start) / n_bins as f64,
            n_bins,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "few bins")]
    fn edge(&self, place: usize) -> f64 {
        let edge = self.start + self.width * place as f64;
        if self.is_wide { edge.exp() } else { edge }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is below 0 or beyond the last bin is put there"
    )]
    fn place(&self, interval_s: f64) -> usize {
        let at = if self.is_wide {
            interval_s.max(FINEST_S).ln()
        } else {
            interval_s
        };
        let place = ((at - self.start) / self.width) as usize;
        place.min(self.n_bins - 1)
    }
}

#[expect(clippy::cast_precision_loss, reason = "statistics for people")]
fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

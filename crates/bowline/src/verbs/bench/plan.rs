//! What is measured: a case for each size, number of receivers and rate.

use super::Bench;
use crate::input::Usage;
use bowline_measure::exchange::{Case, Outcome, Pattern};

/// As in the papers.
const BYTES_PER_POINT: u64 = 100_000_000;
pub(crate) const RATES: &[u32] = &[2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000];

const QUICK_BYTES_PER_POINT: u64 = 400_000;
pub(crate) const QUICK_RATES: &[u32] = &[1_000, 5_000];

/// How long to publish flat out, where a number of bytes means nothing.
const FLAT_OUT_S: f64 = 2.0;
const QUICK_FLAT_OUT_S: f64 = 0.2;

/// What starting and ending the workers of a case takes, roughly.
const OVERHEAD_S: f64 = 0.5;

/// The cases, and what they were made from.
pub(crate) struct Plan {
    pub(crate) pattern: Pattern,
    pub(crate) sizes: Vec<usize>,
    pub(crate) clients: Vec<usize>,
    pub(crate) cases: Vec<Case>,
}

/// One figure.
pub(crate) struct Point {
    pub(crate) system: String,
    pub(crate) case: Case,
    pub(crate) outcome: Outcome,
}

impl Point {
    /// What should be sent a second; flat out, what was.
    pub(crate) fn attempted_hz(&self) -> f64 {
        match self.case.rate_hz {
            0 => self.outcome.sent_hz,
            rate => f64::from(rate),
        }
    }

    /// The same in megabytes.
    pub(crate) fn attempted_mbps(&self) -> f64 {
        self.attempted_hz() * to_f64(self.case.size) / 1e6
    }

    /// Megabytes a second that arrived, if enough came for a rate.
    pub(crate) fn delivered_mbps(&self) -> Option<f64> {
        self.outcome.delivered_gbps.map(|gbps| gbps * 1e3)
    }
}

impl Plan {
    pub(crate) fn new(pattern: Pattern, args: &Bench) -> Result<Self, Usage> {
        let rates = match (args.rates.as_slice(), args.quick) {
            ([], false) => RATES,
            ([], true) => QUICK_RATES,
            (rates, _) => rates,
        };
        if pattern == Pattern::Echo && rates.contains(&0) {
            return Err(Usage(
                "expected rates above 0: echoes of a flat-out sender only queue".into(),
            ));
        }
        if let Some(n) = args.clients.iter().find(|n| !(1..=64).contains(*n)) {
            return Err(Usage(format!("expected 1 to 64 clients, found {n}")));
        }
        let bytes = args.bytes.unwrap_or(if args.quick {
            QUICK_BYTES_PER_POINT
        } else {
            BYTES_PER_POINT
        });
        let flat_out_s = if args.quick {
            QUICK_FLAT_OUT_S
        } else {
            FLAT_OUT_S
        };
        let sizes: Vec<usize> = args
            .sizes
            .iter()
            .filter_map(|&size| usize::try_from(size).ok())
            .collect();
        let clients: Vec<usize> = args.clients.iter().map(|&n| usize::from(n)).collect();
        let mut cases = Vec::new();
        for &size in &sizes {
            for &n_peers in &clients {
                for &rate_hz in rates {
                    let seconds = match rate_hz {
                        0 => flat_out_s,
                        rate => seconds(bytes, size, rate),
                    };
                    cases.push(case(pattern, size, n_peers, rate_hz, seconds));
                }
            }
        }
        Ok(Self {
            pattern,
            sizes,
            clients,
            cases,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.pattern {
            Pattern::Echo => "echo",
            Pattern::OneWay | Pattern::Idle => "oneway",
        }
    }

    /// For people who wait: what is left after so many points.
    pub(crate) fn time_left(&self, n_done: usize, n_contestants: usize) -> String {
        let points = self
            .cases
            .iter()
            .flat_map(|case| std::iter::repeat_n(case, n_contestants));
        let left = points.skip(n_done).map(|case| case.seconds + OVERHEAD_S);
        match left.fold(0.0, |sum, seconds| sum + seconds) {
            0.0..=0.0 => "done".to_owned(),
            seconds @ ..100.0 => format!("about {seconds:.0} s left"),
            seconds => format!("about {:.0} min left", seconds / 60.0),
        }
    }
}

/// How long it takes to send so many bytes; at least two messages are sent.
fn seconds(bytes: u64, size: usize, rate_hz: u32) -> f64 {
    let n_messages = (bytes / (size as u64).max(1)).max(2);
    f64::from(u32::try_from(n_messages).unwrap_or(u32::MAX)) / f64::from(rate_hz)
}

fn case(pattern: Pattern, size: usize, n_peers: usize, rate_hz: u32, seconds: f64) -> Case {
    let receivers = match pattern {
        Pattern::Echo => "client",
        Pattern::OneWay | Pattern::Idle => "subscriber",
    };
    let s = if n_peers == 1 { "" } else { "s" };
    let rate = match rate_hz {
        0 => "flat out".to_owned(),
        rate => format!("{rate}/s"),
    };
    Case {
        name: format!("{n_peers} {receivers}{s}, {size} B, {rate}"),
        pattern,
        rate_hz,
        size,
        n_peers,
        seconds,
        is_batched: false,
        is_pinned: false,
    }
}

/// Rates as they are typed.
pub(crate) fn listed(rates: &[u32]) -> String {
    let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
    rates.join(",")
}

pub(crate) fn to_f64(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// A number of bytes, with k, M or G for thousands, millions and thousands of millions.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a number of bytes such as 800 or 100M, found {text:?}");
    let digits = text.trim_end_matches('B');
    let (digits, factor) = match digits.chars().next_back() {
        Some('k') => (&digits[..digits.len() - 1], 1_000),
        Some('M') => (&digits[..digits.len() - 1], 1_000_000),
        Some('G') => (&digits[..digits.len() - 1], 1_000_000_000),
        _ => (digits, 1),
    };
    let number: u64 = digits.parse().map_err(|_unspecific| expected())?;
    number
        .checked_mul(factor)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_carry_units() {
        for (text, expected) in [
            ("800", 800),
            ("64k", 64_000),
            ("100M", 100_000_000),
            ("1GB", 1_000_000_000),
        ] {
            assert_eq!(bytes(text), Ok(expected));
        }
        for text in ["", "M", "1.5M", "-1", "0", "1T", "99999999999G"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_point_sends_the_bytes_asked_for() {
        assert!((seconds(100_000_000, 800, 5_000) - 25.0).abs() < 1e-9);
        assert!((seconds(1, 800, 1_000) - 0.002).abs() < 1e-9);
    }
}

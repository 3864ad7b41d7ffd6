//! Histograms in letters.

use bowline_inspect::Bin;

/// The longest bar.
const WIDTH: usize = 40;
/// Eighths of a letter, to the right and upwards.
const RIGHT: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const UP: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One line for each bin: from where, how many, and a bar. One that is not empty is never without a bar.
pub(super) fn bars(bins: &[Bin]) -> Vec<String> {
    let most = most(bins);
    let starts: Vec<String> = bins.iter().map(|bin| time(bin.from_s)).collect();
    let width = starts
        .iter()
        .map(|it| it.chars().count())
        .max()
        .unwrap_or(0);
    let n_width = most.to_string().len();
    let line = |(bin, start): (&Bin, &String)| {
        let eighths = (bin.n * WIDTH * 8).div_ceil(most);
        let bar = "█".repeat(eighths / 8) + RIGHT.get(eighths % 8).copied().unwrap_or("");
        format!("{start:>width$} ┤{:>n_width$} {bar}", bin.n)
            .trim_end()
            .to_owned()
    };
    bins.iter().zip(&starts).map(line).collect()
}

/// The same in one line, a letter for each bin.
pub(super) fn sparkline(bins: &[Bin]) -> String {
    let most = most(bins);
    let letter = |bin: &Bin| match bin.n {
        0 => ' ',
        n => UP.get((n * 8).div_ceil(most) - 1).copied().unwrap_or('█'),
    };
    bins.iter().map(letter).collect()
}

fn most(bins: &[Bin]) -> usize {
    bins.iter().map(|bin| bin.n).max().unwrap_or(0).max(1)
}

/// A time for people, in a unit that fits it.
pub(super) fn time(seconds: f64) -> String {
    let size = seconds.abs();
    if size >= 1.0 {
        format!("{seconds:.3} s")
    } else if size >= 1e-3 {
        format!("{:.3} ms", seconds * 1e3)
    } else if size >= 1e-6 {
        format!("{:.1} us", seconds * 1e6)
    } else {
        format!("{:.0} ns", seconds * 1e9)
    }
}

/// The same in three digits, for tables.
pub(super) fn short_time(seconds: f64) -> String {
    let (scaled, unit) = match seconds.abs() {
        1.0.. => (seconds, "s"),
        1e-3..1.0 => (seconds * 1e3, "ms"),
        1e-6..1e-3 => (seconds * 1e6, "us"),
        _ => (seconds * 1e9, "ns"),
    };
    match scaled.abs() {
        0.0..9.995 if unit != "ns" => format!("{scaled:.2} {unit}"),
        9.995..99.95 if unit != "ns" => format!("{scaled:.1} {unit}"),
        _ => format!("{scaled:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(counts: &[usize]) -> Vec<Bin> {
        let bin = |n: &usize| Bin {
            from_s: 0.01,
            to_s: 0.02,
            n: *n,
        };
        counts.iter().map(bin).collect()
    }

    #[test]
    fn the_longest_bar_is_full_and_the_shortest_can_be_seen() {
        let lines = bars(&bins(&[1_000, 1, 0]));
        assert_eq!(lines[0], format!("10.000 ms ┤1000 {}", "█".repeat(WIDTH)));
        assert_eq!(lines[1], "10.000 ms ┤   1 ▏");
        assert_eq!(lines[2], "10.000 ms ┤   0");
        assert!(lines.iter().all(|line| line.chars().count() < 78));
        assert_eq!(sparkline(&bins(&[1_000, 1, 0, 500])), "█▁ ▄");
        assert!(bars(&[]).is_empty() && sparkline(&[]).is_empty());
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        for (seconds, text) in [
            (2.0, "2.000 s"),
            (0.01, "10.000 ms"),
            (12.5e-6, "12.5 us"),
            (3e-9, "3 ns"),
            (-0.01, "-10.000 ms"),
            (0.0, "0 ns"),
        ] {
            assert_eq!(time(seconds), text);
        }
        for (seconds, text) in [
            (2.0, "2.00 s"),
            (0.012_345, "12.3 ms"),
            (0.123_45, "123 ms"),
            (-12.5e-6, "-12.5 us"),
            (3e-9, "3 ns"),
            (0.0, "0 ns"),
        ] {
            assert_eq!(short_time(seconds), text);
        }
    }
}

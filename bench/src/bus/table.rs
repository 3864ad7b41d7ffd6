//! Figures side by side, and whether the aims are met.

use super::systems::{BOWLINE, BOWLINE_SHM, System};
use super::{Outcome, Results};

/// What is read off an outcome, and how it is printed.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) decimals: usize,
    pub(super) of: fn(&Outcome) -> f64,
}

pub(super) const LOSS: Figure = Figure {
    name: "loss, %",
    decimals: 2,
    of: |o| o.loss_percent,
};
pub(super) const DELIVERED: Figure = Figure {
    name: "delivered to each, thousands/s",
    decimals: 1,
    of: |o| o.delivered_hz / 1e3,
};
pub(super) const GIGABYTES: Figure = Figure {
    name: "delivered, GB/s",
    decimals: 2,
    of: |o| o.delivered_gbps,
};
pub(super) const P50: Figure = Figure {
    name: "round trip p50, us",
    decimals: 0,
    of: |o| o.p50_us,
};
pub(super) const P99: Figure = Figure {
    name: "round trip p99, us",
    decimals: 0,
    of: |o| o.p99_us,
};
pub(super) const IDLE_CPU: Figure = Figure {
    name: "bystander's CPU, us a datagram",
    decimals: 2,
    of: |o| o.idle_cpu_us,
};
pub(super) const PUBLISHER_CPU: Figure = Figure {
    name: "publisher's CPU, us a message",
    decimals: 2,
    of: |o| o.publisher_cpu_us,
};

const WIDTH: usize = 31;

impl Results<'_> {
    /// A row per case and a column per system; beside each peer's figure, how many times it ours is.
    pub(super) fn print(&self, figure: Figure) {
        print!("{:<34}", figure.name);
        for system in &self.systems {
            print!("{:>WIDTH$}", system.name);
        }
        println!();
        for (case_idx, (case, outcomes)) in self.cases.iter().zip(&self.outcomes).enumerate() {
            print!("  {:<32}", case.name);
            for (system, turns) in self.systems.iter().zip(outcomes) {
                let cell = cell(turns, figure) + &self.beside(case_idx, system, figure);
                print!("{cell:>WIDTH$}");
            }
            println!();
        }
    }

    /// Our figure over a peer's, where both took part and both are something.
    fn beside(&self, case_idx: usize, peer: &System, figure: Figure) -> String {
        let ours = [&BOWLINE, &BOWLINE_SHM]
            .into_iter()
            .find(|ours| self.systems.contains(ours));
        ours.filter(|ours| ours.name != peer.name)
            .and_then(|ours| self.ratio(case_idx, ours, peer, figure))
            .filter(|ratio| ratio.is_finite())
            .map_or_else(String::new, |ratio| format!(" {ratio:.2}x"))
    }

    /// The median, if the system took part.
    pub(super) fn median(&self, case_idx: usize, system: &System, figure: Figure) -> Option<f64> {
        let system_idx = self
            .systems
            .iter()
            .position(|each| each.name == system.name)?;
        let turns = self.outcomes.get(case_idx)?.get(system_idx)?;
        let (_, median, _) = range(turns, figure)?;
        Some(median)
    }

    /// How many times the peer's figure ours is.
    pub(super) fn ratio(
        &self,
        case_idx: usize,
        ours: &System,
        peer: &System,
        figure: Figure,
    ) -> Option<f64> {
        Some(self.median(case_idx, ours, figure)? / self.median(case_idx, peer, figure)?)
    }

    /// The largest median over all cases.
    pub(super) fn worst(&self, system: &System, figure: Figure) -> Option<f64> {
        (0..self.cases.len())
            .map(|case_idx| self.median(case_idx, system, figure))
            .try_fold(0.0, |worst: f64, median| Some(worst.max(median?)))
    }
}

fn range(turns: &[Outcome], figure: Figure) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = turns.iter().map(figure.of).collect();
    values.sort_by(f64::total_cmp);
    Some((
        *values.first()?,
        *values.get(values.len() / 2)?,
        *values.last()?,
    ))
}

fn cell(turns: &[Outcome], figure: Figure) -> String {
    let decimals = figure.decimals;
    match range(turns, figure) {
        Some((low, median, high)) => {
            format!("{median:.decimals$} ({low:.decimals$}-{high:.decimals$})")
        }
        None => "-".to_string(),
    }
}

/// Which side of the bound is good.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Prints an aim with what was measured. `value` is missing when a system was left out.
pub(crate) fn aim(text: &str, value: Option<f64>, bound: Bound, unit: &str) {
    let (word, limit, is_met) = match (bound, value) {
        (Bound::AtLeast(limit), value) => ("at least", limit, value.map(|value| value >= limit)),
        (Bound::AtMost(limit), value) => ("at most", limit, value.map(|value| value <= limit)),
    };
    let verdict = match is_met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "not measured",
    };
    let found = value.map_or_else(|| "-".to_string(), |value| format!("{value:.2}{unit}"));
    println!("  aim: {text}: {word} {limit}{unit}; found {found}: {verdict}");
}

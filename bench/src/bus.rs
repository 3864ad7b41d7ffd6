//! The bus against liblcm, zenoh, iceoryx2 and bare sockets: who delivers what, how fast, at what cost.
//!
//! Every system is driven by a worker of its own with the same protocol (`crates/measure`), in a network namespace that
//! exists for the run only. Systems take turns within each case, so that a noisy moment hits all of them; tables show
//! the median of the turns and what they ranged over.

mod questions;
mod systems;
mod table;

pub(crate) use questions::is_question;
pub(crate) use table::{Bound, aim};

use crate::Length;

use bowline_measure::exchange::{self, Case, Outcome};
use systems::System;

/// Answers the questions named, or all, inside the namespace.
pub(crate) fn run(questions: &[String], length: Length) -> anyhow::Result<()> {
    println!("the bus: 800-byte messages by default; median of the turns (lowest to highest)");
    for system in systems::ALL {
        if !system.is_built() {
            println!("{} is left out: {}", system.name, system.how_to_build());
        }
    }
    println!();
    questions::ask(questions, length)
}

/// Median round trip of a small message between two processes with liblcm, a thousand times a second; `None` if its
/// worker is not built.
pub(crate) fn lcm_round_trip_us(length: Length) -> anyhow::Result<Option<f64>> {
    if !systems::LCM.is_built() {
        println!("  liblcm is left out: {}", systems::LCM.how_to_build());
        return Ok(None);
    }
    let case = Case {
        name: "a small message at 1 kHz".to_owned(),
        pattern: exchange::Pattern::Echo,
        rate_hz: 1_000,
        size: 64,
        n_peers: 1,
        seconds: if length == Length::Quick { 0.3 } else { 3.0 },
        is_batched: false,
        is_pinned: false,
    };
    Ok(Some(exchange::run(&systems::LCM, &case)?.p50_us))
}

/// What each system did in each case, turn by turn.
struct Results<'c> {
    systems: Vec<&'static System>,
    cases: &'c [Case],
    /// Case, system, turn.
    outcomes: Vec<Vec<Vec<Outcome>>>,
}

/// Runs every system on every case.
fn measure<'c>(
    systems: &[&'static System],
    cases: &'c [Case],
    n_turns: usize,
) -> anyhow::Result<Results<'c>> {
    let systems: Vec<_> = systems
        .iter()
        .copied()
        .filter(|system| system.is_built())
        .collect();
    let mut results = Results {
        outcomes: vec![vec![Vec::new(); systems.len()]; cases.len()],
        systems,
        cases,
    };
    for (case, outcomes) in cases.iter().zip(&mut results.outcomes) {
        for turn in 0..n_turns {
            // Not always the same one first.
            let n = results.systems.len();
            for place in 0..n {
                let idx = (place + turn) % n;
                if let (Some(system), Some(turns)) =
                    (results.systems.get(idx), outcomes.get_mut(idx))
                {
                    turns.push(exchange::run(*system, case)?);
                }
            }
        }
    }
    Ok(results)
}

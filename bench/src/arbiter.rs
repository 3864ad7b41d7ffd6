//! How long the arbiter takes from votes to a decision.
//!
//! There is no published program to run beside it; what the survey of 2026 measured with MOOS-IvP's solver on this kind of
//! machine is named as such.

use crate::{Length, stopwatch};
use anyhow::{Context as _, Result};
use bowline_autonomy::vote::{Ballot, Lead, Motion, Rules, Voter, decide};
use bowline_autonomy::{Fan, Travel};
use bowline_msgs::{Arc, Vote};
use std::hint::black_box;

const NOW: i64 = 1_000_000;

pub(crate) fn run(length: Length) -> Result<()> {
    let n_turns = if length == Length::Quick { 20 } else { 2_000 };
    println!("from votes to a command, us (best of {n_turns} turns; aim 50)");
    for (n_voters, n_each_side) in [(5_u16, 20_u16), (8, 80)] {
        let took_us = best_us(n_voters, n_each_side, n_turns)?;
        println!(
            "  {n_voters} voters, {:>3} arcs each {took_us:>16.1}",
            2 * n_each_side + 1
        );
    }
    println!(
        "  MOOS-IvP, 3 behaviours, 840 pieces each, as measured for facts: 530 to solve, 3460 to build\n"
    );
    Ok(())
}

fn best_us(n_voters: u16, n_each_side: u16, n_turns: u32) -> Result<f64> {
    let rules = rules(n_each_side);
    let votes: Vec<Vote> = (0..n_voters).map(|nth| vote(&rules.fan, nth)).collect();
    let turns = (0..n_turns).map(|_| stopwatch::time(|| one_decision(&rules, &votes)));
    let best = turns.min().context("at least one turn")?;
    Ok(best.as_secs_f64() * 1e6)
}

/// Everything that happens when a vote of each voter has arrived.
fn one_decision(rules: &Rules, votes: &[Vote]) {
    let ballots: Vec<_> = votes
        .iter()
        .map(|vote| {
            Ballot::new(
                black_box(vote),
                Travel::Forward,
                rules.fan.spacing_per_m() / 2.0,
            )
        })
        .collect();
    let voters: Vec<Voter<'_>> = ballots
        .iter()
        .map(|ballot| Voter {
            name: "voter",
            weight: 1.0,
            is_required: true,
            lead: Lead::Mission,
            ballot: ballot.as_ref().map_err(Clone::clone),
        })
        .collect();
    let motion = Motion {
        curvature_per_m: 0.1,
        elapsed_s: 0.05,
    };
    black_box(decide(rules, &voters, motion, NOW));
}

fn rules(n_each_side: u16) -> Rules {
    Rules {
        fan: Fan::new(0.5, usize::from(n_each_side)),
        max_speed_mps: 3.0,
        min_speed_mps: 0.05,
        brake_mps2: 1.5,
        reaction_s: 0.3,
        margin_m: 0.5,
        side_mps2: 2.0,
        max_turn_radps: 10.0,
        max_curvature_rate: 0.7,
        band: 0.1,
        fresh_s: 0.25,
        deadline_s: 0.4,
        max_moved_m: 2.0,
        max_turned_rad: 0.5,
    }
}

/// Vetoes on one side, a preference on the other.
#[expect(
    clippy::cast_possible_truncation,
    reason = "votes travel in single precision"
)]
fn vote(fan: &Fan, nth: u16) -> Vote {
    let arcs = fan.curvatures_per_m().iter().map(|curvature| Arc {
        veto: *curvature < -0.3,
        curvature_per_m: *curvature as f32,
        max_speed_mps: 2.0,
        vote: (0.5 - (curvature - 0.02 * f64::from(nth)).abs()) as f32,
        confidence: 0.7,
    });
    let arcs: Vec<Arc> = arcs.collect();
    Vote {
        utime: NOW,
        free_m: vec![8.0; arcs.len()],
        arcs,
        ..Vote::default()
    }
    .with_lengths()
}

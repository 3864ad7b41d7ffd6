//! Our schedule: what arrives in time is worth something, what is late is not, and a byte is spent where it is worth most.
//!
//! In this order:
//! 1. A stream whose promised rate is about to be broken, one part, and then the next rule before it once more: so
//!    commands that fill the link starve no other stream, and a command waits for one part at most.
//! 2. Streams with a deadline, the earliest first.
//! 3. Streams that are due by their promised rate, the most behind first.
//! 4. The most value for each byte: value, times how long the stream has had nothing as a share of how long a message is
//!    good for, by the bytes that are left of the message. What is nearly sent is finished.
//!
//! What could not be there while it is good is not begun.

use super::{Candidate, Choice, Scheduler, View};
use std::cmp::Ordering;
use std::time::Duration;

/// A stream that had nothing for ever is not worth more for ever: so many times what it is after its time to live.
const MAX_GROWTH: f64 = 10.0;

#[derive(Debug, Default)]
pub(super) struct ValueDensity {
    /// Whether the last part was one of a starving stream.
    was_starving: bool,
}

impl Scheduler for ValueDensity {
    fn pick(&mut self, candidates: &[Candidate], view: View) -> Choice {
        if let Some(hopeless) = candidates.iter().position(|it| is_hopeless(it, view)) {
            return Choice::Shed(hopeless);
        }
        let most_behind = || best(candidates, |it| it.behind().filter(|behind| *behind >= 1.0));
        let urgent = best(candidates, |it| {
            let left = it.deadline_at?;
            // Later is less.
            Some(-left.since(view.now).as_secs_f64() + view.now.since(left).as_secs_f64())
        });
        let behind_most = most_behind();
        let starving = behind_most
            .filter(|nth| candidates.get(*nth).is_some_and(Candidate::is_starving))
            .filter(|_| !self.was_starving || urgent.is_none());
        self.was_starving = starving.is_some();
        let picked = starving.or(urgent).or(behind_most);
        let picked = picked.or_else(|| best(candidates, |it| Some(density(it))));
        Choice::Send(picked.unwrap_or(0))
    }

    fn is_paced(&self) -> bool {
        true
    }
}

fn density(candidate: &Candidate) -> f64 {
    let ttl_s = candidate.ttl.max(Duration::from_millis(1)).as_secs_f64();
    let growth = (candidate.since.as_secs_f64() / ttl_s).min(MAX_GROWTH);
    let n_left = u32::try_from(candidate.n_left).unwrap_or(u32::MAX);
    candidate.value * growth / f64::from(n_left.max(1))
}

/// Whether a message that was not begun could not be there in time if nothing else were sent.
fn is_hopeless(candidate: &Candidate, view: View) -> bool {
    let Some(capacity) = view.capacity_bytes_per_s else {
        return false;
    };
    let n_left = u32::try_from(candidate.n_left).unwrap_or(u32::MAX);
    let needs_s = f64::from(n_left) / capacity.max(1.0);
    let left_s = candidate.expires_at.since(view.now).as_secs_f64();
    !candidate.is_begun && candidate.deadline_at.is_none() && needs_s > left_s
}

/// The first with the highest score.
fn best(candidates: &[Candidate], score: impl Fn(&Candidate) -> Option<f64>) -> Option<usize> {
    let scores = candidates.iter().enumerate();
    let scores = scores.filter_map(|(nth, it)| Some((nth, score(it)?)));
    let higher = |best: (usize, f64), next: (usize, f64)| match next.1.total_cmp(&best.1) {
        Ordering::Greater => next,
        Ordering::Less | Ordering::Equal => best,
    };
    scores.reduce(higher).map(|(nth, _)| nth)
}

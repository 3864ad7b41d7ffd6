//! FAST-Robots' second schedule: the most valuable stream that has anything. It may take parts of a message in between
//! those of another. The others wait for as long as that one has anything, and the capacity of the link is not considered.

use super::{Candidate, Choice, Scheduler, View};

#[derive(Debug)]
pub(super) struct Priority;

impl Scheduler for Priority {
    fn pick(&mut self, candidates: &[Candidate], _: View) -> Choice {
        let mut best = 0;
        for (nth, candidate) in candidates.iter().enumerate() {
            if candidates
                .get(best)
                .is_some_and(|it| candidate.value > it.value)
            {
                best = nth;
            }
        }
        Choice::Send(best)
    }

    fn is_paced(&self) -> bool {
        false
    }
}

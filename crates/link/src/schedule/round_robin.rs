//! FAST-Robots' simplest schedule: every source in turn, each message whole and at once. It promises nothing.

use super::{Candidate, Choice, Scheduler, View};

#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    /// The stream whose turn was last.
    last: Option<usize>,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, candidates: &[Candidate], _: View) -> Choice {
        let last = self.last;
        // A message that was begun is sent to its end before it is another one's turn.
        let begun = candidates
            .iter()
            .position(|it| it.is_begun && Some(it.stream) == last);
        let next = candidates.iter().position(|it| Some(it.stream) > last);
        let picked = begun.or(next).unwrap_or(0);
        self.last = candidates.get(picked).map(|it| it.stream);
        Choice::Send(picked)
    }

    fn is_paced(&self) -> bool {
        false
    }
}

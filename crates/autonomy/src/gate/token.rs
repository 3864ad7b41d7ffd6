//! Tokens: proof that a command is young, by the gate's own clock alone.
//!
//! The gate publishes a new token some twenty times a second; a command that carries it was made after that. So the
//! age of a command is bounded end to end, whatever lay between, without a look at the sender's clock.
//!
//! Tokens show freshness and are no secret: every receiver of the gate knows them. Who may send is the link's and the
//! station's business.

use bowline_component::Time;
use bowline_wire::random::mix;
use std::collections::VecDeque;
use std::time::Duration;

/// Tokens that are remembered at most; the oldest are forgotten first, and a forgotten token is worth nothing.
const MAX_TOKENS: usize = 1_024;

/// Makes tokens, and knows when each was issued.
#[derive(Clone, Debug)]
pub(super) struct Mint {
    /// Nanoseconds at which the gate's life began, and one more with each token.
    ///
    /// A life makes far fewer tokens than it has nanoseconds, so the next one begins after all of its numbers: no token
    /// comes twice as long as the clock goes forward between lives. And there is no entropy in it, so the same log gives
    /// the same tokens.
    next: i64,
    issued: VecDeque<Issued>,
    n_issued: u64,
    remember: Duration,
}

/// A token that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Issued {
    token: i64,
    pub(super) at: Time,
    /// How many there were before it: the order within one instant.
    pub(super) nth: u64,
}

impl Mint {
    /// Of a gate that begins to live now, and wants to know tokens for so long.
    pub(super) fn new(now: Time, remember: Duration) -> Self {
        Self {
            next: now.ns(),
            issued: VecDeque::new(),
            n_issued: 0,
            remember,
        }
    }

    pub(super) fn issue(&mut self, now: Time) -> i64 {
        let remember = self.remember;
        let is_forgotten = |it: &Issued| now.since(it.at) > remember;
        while self.issued.len() >= MAX_TOKENS || self.issued.front().is_some_and(is_forgotten) {
            self.issued.pop_front();
        }
        let mut token = scatter(self.next);
        if token == 0 {
            // A station without a token sends 0.
            self.next = self.next.wrapping_add(1);
            token = scatter(self.next);
        }
        self.next = self.next.wrapping_add(1);
        self.issued.push_back(Issued {
            token,
            at: now,
            nth: self.n_issued,
        });
        self.n_issued += 1;
        token
    }

    /// How many tokens were issued so far.
    pub(super) fn n_issued(&self) -> u64 {
        self.n_issued
    }

    /// What stands for a token where none is needed: as fresh as one that is issued now.
    pub(super) fn unissued(&self, now: Time) -> Issued {
        Issued {
            token: 0,
            at: now,
            nth: self.n_issued,
        }
    }

    /// This token, if it was issued, and not too long ago.
    pub(super) fn find(&self, token: i64) -> Option<Issued> {
        let mut newest_first = self.issued.iter().rev();
        newest_first.find(|it| it.token == token).copied()
    }
}

/// A number for each number, far from those of its neighbours: a client that counts, or sends a time, hits no token by
/// accident.
fn scatter(number: i64) -> i64 {
    mix(number.cast_unsigned()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const REMEMBER: Duration = Duration::from_secs(2);
    const START: Time = Time::from_utime(1_763_269_856_250_000);

    fn tokens(start: Time, n: u32) -> Vec<i64> {
        let mut mint = Mint::new(start, REMEMBER);
        let issue = |nth| mint.issue(start + Duration::from_millis(50) * nth);
        (0..n).map(issue).collect()
    }

    fn issued_at(mint: &Mint, token: i64) -> Option<Time> {
        mint.find(token).map(|it| it.at)
    }

    #[test]
    fn no_token_comes_twice_in_one_life_or_in_the_next() {
        let first = tokens(START, 20_000);
        // The next life begins a second after the first has ended.
        let second = tokens(START + Duration::from_secs(1_001), 20_000);
        let all: BTreeSet<i64> = first.iter().chain(&second).copied().collect();
        assert_eq!(all.len(), 40_000);
        assert!(!all.contains(&0), "0 is sent by a station without a token");
    }

    #[test]
    fn numbers_are_scattered_as_splitmix64_does() {
        // The first outputs of that generator from seed 0, as published; it counts in steps of this.
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let expected: [u64; 3] = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        for (n, expected) in (1..).zip(expected) {
            let number = step.wrapping_mul(n).cast_signed();
            assert_eq!(scatter(number).cast_unsigned(), expected, "output {n}");
        }
    }

    #[test]
    fn the_same_life_has_the_same_tokens() {
        assert_eq!(tokens(START, 100), tokens(START, 100));
    }

    #[test]
    fn token_number_zero_is_skipped() {
        let mut mint = Mint::new(Time::ZERO, REMEMBER);
        assert_eq!(scatter(0), 0, "the case that this is about");
        let tokens = [mint.issue(START), mint.issue(START)];
        assert_eq!(tokens, [scatter(1), scatter(2)]);
    }

    #[test]
    fn a_token_is_known_for_as_long_as_it_may_matter_and_then_forgotten() {
        let mut mint = Mint::new(START, REMEMBER);
        let token = mint.issue(START);
        assert_eq!(issued_at(&mint, token), Some(START));
        assert_eq!(mint.find(token.wrapping_add(1)), None);
        mint.issue(START + REMEMBER);
        assert_eq!(issued_at(&mint, token), Some(START));
        mint.issue(START + REMEMBER + Duration::from_nanos(1));
        assert_eq!(mint.find(token), None);
    }

    #[test]
    fn memory_is_bounded_however_many_are_issued() {
        let mut mint = Mint::new(START, REMEMBER);
        let first = mint.issue(START);
        for _ in 1..MAX_TOKENS {
            mint.issue(START);
        }
        assert_eq!(issued_at(&mint, first), Some(START));
        mint.issue(START);
        assert_eq!(mint.find(first), None);
        assert_eq!(mint.issued.len(), MAX_TOKENS);
    }
}

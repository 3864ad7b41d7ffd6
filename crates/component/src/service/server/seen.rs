//! Which numbers of a caller were received, in bounded memory.

/// How far numbers may be apart and still be compared with those that were received.
const WIDTH: i64 = 1024;
const N_WORDS: usize = 16;

/// The highest number and, for those just below it, whether they were received. What is further below counts as received: a
/// call that comes so late is refused, never executed twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    highest: i64,
    /// A bit for each of the last numbers, at the place of the number modulo the width.
    bits: [u64; N_WORDS],
}

impl Seen {
    /// Takes note of a number, from 1 on. Whether it is the first time.
    pub(super) fn insert(&mut self, number: i64) -> bool {
        if number <= self.highest.saturating_sub(WIDTH) {
            return false;
        }
        if number > self.highest {
            self.advance(number);
        }
        let (word, bit) = self.place(number);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn advance(&mut self, number: i64) {
        if number.saturating_sub(self.highest) >= WIDTH {
            self.bits = [0; N_WORDS];
        } else {
            for skipped in self.highest + 1..=number {
                let (word, bit) = self.place(skipped);
                *word &= !bit;
            }
        }
        self.highest = number;
    }

    fn place(&mut self, number: i64) -> (&mut u64, u64) {
        let place = usize::try_from(number.rem_euclid(WIDTH)).unwrap_or(0);
        (&mut self.bits[place / 64 % N_WORDS], 1 << (place % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Held against a set without bounds.
        #[test]
        fn no_number_is_new_twice_and_a_recent_one_is_new_once(
            steps in proptest::collection::vec((-1100_i64..1100, any::<bool>()), 1..400)
        ) {
            let mut seen = Seen::default();
            let mut all = BTreeSet::new();
            let mut near = 1_i64;
            for (step, is_jump) in steps {
                near = if is_jump { near + step } else { near + step.signum() }.max(1);
                let highest = all.last().copied().unwrap_or(0);
                let is_within = near > highest - WIDTH;
                let is_first = all.insert(near);
                prop_assert_eq!(seen.insert(near), is_first && is_within, "{}", near);
            }
        }
    }

    #[test]
    fn the_ends_of_the_numbers_do_no_harm() {
        let mut seen = Seen::default();
        assert!(seen.insert(i64::MAX));
        assert!(!seen.insert(i64::MAX));
        assert!(seen.insert(i64::MAX - 1));
        assert!(!seen.insert(1));
    }
}

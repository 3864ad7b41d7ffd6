//! Identities of calls.

use bowline_wire::random::fnv;
use std::fmt;

/// One call, among all calls of all callers.
///
/// Made from the caller's name, its incarnation and a count: the same run gives the same ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub i64);

impl CallId {
    /// The id of a caller's call of that number.
    #[must_use]
    pub fn new(caller: &str, incarnation: i64, number: i64) -> Self {
        let counts = [incarnation, number].into_iter();
        let counts = counts.flat_map(i64::to_be_bytes);
        let hash = fnv(caller.bytes().chain([0]).chain(counts));
        // One round of mixing, so that callers with similar names differ in all bits. Logs have these ids.
        let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ (mixed >> 31)).cast_signed())
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_the_same_in_every_run_and_differ_between_calls() {
        assert_eq!(CallId::new("a", 1, 2), CallId::new("a", 1, 2));
        let mut ids = BTreeSet::new();
        for caller in ["a", "b", "ab", "planner"] {
            for incarnation in 0..50 {
                for number in 0..500 {
                    ids.insert(CallId::new(caller, incarnation, number));
                }
            }
        }
        assert_eq!(ids.len(), 4 * 50 * 500);
    }
}

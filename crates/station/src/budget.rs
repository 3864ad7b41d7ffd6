//! How often something may be done: a bucket that fills steadily and empties with each deed.

use bowline_component::Time;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    per_second: f64,
    most: f64,
    left: f64,
    at: Time,
}

impl Budget {
    /// So many a second, and so many at once.
    pub(crate) fn new(per_second: f64, most: f64, now: Time) -> Self {
        Self {
            per_second,
            most,
            left: most,
            at: now,
        }
    }

    /// Whether one more is allowed now.
    pub(crate) fn spend(&mut self, now: Time) -> bool {
        self.fill(now);
        let is_allowed = self.left >= 1.0;
        if is_allowed {
            self.left -= 1.0;
        }
        is_allowed
    }

    /// Gives one back that should not have counted.
    pub(crate) fn refund(&mut self) {
        self.left = (self.left + 1.0).min(self.most);
    }

    /// Whether it is as full as it can be: nothing happened for long.
    pub(crate) fn is_full(&mut self, now: Time) -> bool {
        self.fill(now);
        self.left >= self.most
    }

    fn fill(&mut self, now: Time) {
        let passed = now.since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.most);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_allowed_once_and_then_the_steady_rate() {
        let start = Time::from_utime(1);
        let mut budget = Budget::new(10.0, 5.0, start);
        assert_eq!((0..20).filter(|_| budget.spend(start)).count(), 5);
        let later = start + Duration::from_millis(200);
        assert_eq!((0..20).filter(|_| budget.spend(later)).count(), 2);
        budget.refund();
        assert_eq!((0..20).filter(|_| budget.spend(later)).count(), 1);
        assert!(!budget.is_full(later));
        assert!(budget.is_full(later + Duration::from_secs(1)));
    }
}

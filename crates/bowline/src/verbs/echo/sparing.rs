//! Fewer messages of each channel than came.

use bowline_bus::{Channel, Event};
use std::collections::HashMap;

/// Channels that are spared one by one; beyond those all begin anew.
const MAX_CHANNELS: usize = 65_536;

/// Lets through so many messages a second of each channel, by the times of the messages.
pub(super) struct Sparing {
    interval_ns: Option<i64>,
    due_ns: HashMap<Channel, i64>,
    n_left_out: u64,
}

impl Sparing {
    pub(super) fn new(hz: Option<f64>) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, and longer than 300 years is for ever"
        )]
        let interval_ns = hz.map(|hz| (1e9 / hz) as i64);
        Self {
            interval_ns,
            due_ns: HashMap::new(),
            n_left_out: 0,
        }
    }

    pub(super) fn allows(&mut self, event: &Event) -> bool {
        let Some(interval_ns) = self.interval_ns else {
            return true;
        };
        if self.due_ns.len() >= MAX_CHANNELS {
            self.due_ns.clear();
        }
        let now_ns = event.arrival.received_ns;
        let due_ns = self.due_ns.entry(event.channel.clone()).or_insert(now_ns);
        // A clock that was set back does not silence a channel.
        let is_ahead = due_ns.saturating_sub(now_ns) <= interval_ns;
        if now_ns < *due_ns && is_ahead {
            self.n_left_out += 1;
            return false;
        }
        // As often as asked on average, but no burst after a pause.
        let earliest_ns = now_ns.saturating_sub(interval_ns);
        *due_ns = (*due_ns)
            .clamp(earliest_ns, now_ns)
            .saturating_add(interval_ns);
        true
    }

    pub(super) fn n_left_out(&self) -> u64 {
        self.n_left_out
    }
}

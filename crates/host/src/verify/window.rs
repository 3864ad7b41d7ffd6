//! Messages of the log that a trace may still name.

use bowline_bus::{Bytes, Channel};
use bowline_component::Time;
use bowline_component::trace;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

/// How much later than a message its trace may be in the log.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes of messages are kept at most.
const MAX_BYTES: usize = 512 << 20;

#[derive(Debug, Default)]
pub(super) struct Window {
    names: BTreeSet<Channel>,
    messages: HashMap<(Channel, u64), Kept>,
    /// In the order of the log.
    ages: VecDeque<(Time, Channel, u64)>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    message: Bytes,
    /// How often the very same was published within the window.
    copies: usize,
}

impl Window {
    pub(super) fn add(&mut self, now: Time, channel: &str, payload: &[u8]) {
        let channel = self.name(channel);
        let hash = trace::hash(payload);
        let kept = self
            .messages
            .entry((channel.clone(), hash))
            .or_insert_with(|| {
                self.bytes += payload.len();
                Kept {
                    message: Bytes::copy_from_slice(payload),
                    copies: 0,
                }
            });
        kept.copies += 1;
        self.ages.push_back((now, channel, hash));
        self.forget(now);
    }

    pub(super) fn get(&self, channel: &Channel, hash: u64) -> Option<&Bytes> {
        let kept = self.messages.get(&(channel.clone(), hash))?;
        Some(&kept.message)
    }

    fn forget(&mut self, now: Time) {
        let is_old = |at: &Time| now.since(*at) > PATIENCE * 2;
        while self.ages.front().is_some_and(|(at, _, _)| is_old(at)) || self.bytes > MAX_BYTES {
            let Some((_, channel, hash)) = self.ages.pop_front() else {
                return;
            };
            let key = (channel, hash);
            let Some(kept) = self.messages.get_mut(&key) else {
                continue;
            };
            kept.copies -= 1;
            if kept.copies == 0 {
                self.bytes -= kept.message.len();
                self.messages.remove(&key);
            }
        }
    }

    /// Names are kept once: they are few, and messages are many.
    fn name(&mut self, channel: &str) -> Channel {
        if let Some(known) = self.names.get(channel) {
            return known.clone();
        }
        let name = Channel::from(channel);
        self.names.insert(name.clone());
        name
    }
}

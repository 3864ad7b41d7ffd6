//! What was received: channels, their types, the last message of each and some of its past. All in bounds.

use crate::past::Past;
use bowline_bus::Channel;
use bowline_component::Time;
use bowline_wire::Fingerprint;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// More channels than real systems have. The one that was silent the longest makes room for a new one.
pub(crate) const MAX_CHANNELS: usize = 4_096;
/// Unless all of them were active so lately: a flood of new ones must not push out those that are in use. It is counted.
const SILENT_AFTER: Duration = Duration::from_secs(60);
/// A longer message is no picture and no map of ours. It is counted and left out.
pub(crate) const MAX_MESSAGE: usize = 8 << 20;
/// All last messages together. One that does not fit is sent on, but not kept for pages that come later.
const MAX_LAST_BYTES: usize = 128 << 20;
/// All pasts together.
const MAX_PAST_BYTES: usize = 32 << 20;

/// A channel, by the order of first messages. No two have the same, though one of them be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ChannelId(pub(crate) u32);

/// A message, and when it came: by the station's clock, or the log's.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) utime: i64,
    pub(crate) payload: Bytes,
}

impl Message {
    /// The first eight bytes; 0 if it is too short.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let front = self.payload.first_chunk().copied().unwrap_or_default();
        Fingerprint(u64::from_be_bytes(front))
    }
}

/// A channel and what is known of it.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) name: Channel,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) last: Option<Message>,
    pub(crate) past: Past,
    heard_at: Time,
    rate: Rate,
}

/// A type that was described.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) name: Arc<str>,
    pub(crate) compact: Bytes,
}

/// A channel, its name and that of its type.
pub(crate) type Listed = (ChannelId, Channel, Option<Arc<str>>);

/// The result of receiving a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Known(ChannelId),
    /// The first message of a channel, for which another one may have been forgotten; or the first of another type.
    Changed {
        id: ChannelId,
        gone: Option<ChannelId>,
    },
    /// It is too long, or there are too many channels.
    Refused,
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    channels: BTreeMap<ChannelId, Heard>,
    n_channels_ever: u32,
    by_name: HashMap<Channel, ChannelId>,
    /// Until when no channel can have been silent for long enough to make room.
    full_until: Time,
    types: BTreeMap<u64, Described>,
    last_bytes: usize,
    past_bytes: usize,
    pub(crate) counts: BoardCounts,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BoardCounts {
    pub(crate) heard: u64,
    /// On channels beyond the bound.
    pub(crate) unlisted: u64,
    /// Channels that made room for others.
    pub(crate) forgotten: u64,
    pub(crate) too_large: u64,
    /// Last messages that were not kept.
    pub(crate) unkept: u64,
}

impl Board {
    /// Takes note of a message that came.
    pub(crate) fn hear(&mut self, now: Time, channel: &Channel, message: &Message) -> Outcome {
        self.counts.heard += 1;
        let outcome = self.recall(now, channel, message);
        if let Outcome::Known(id) | Outcome::Changed { id, .. } = outcome
            && let Some(heard) = self.channels.get_mut(&id)
        {
            heard.rate.count(now);
        }
        outcome
    }

    /// Takes note of a message that came at another time, without counting it into the rate.
    pub(crate) fn recall(&mut self, now: Time, channel: &Channel, message: &Message) -> Outcome {
        if message.payload.len() > MAX_MESSAGE {
            self.counts.too_large += 1;
            return Outcome::Refused;
        }
        let (id, is_new, gone) = match self.by_name.get(channel) {
            Some(id) => (*id, false, None),
            None => match self.enter(now, channel) {
                Some((id, gone)) => (id, true, gone),
                None => {
                    self.counts.unlisted += 1;
                    return Outcome::Refused;
                }
            },
        };
        let Some(heard) = self.channels.get_mut(&id) else {
            return Outcome::Refused;
        };
        heard.heard_at = now;
        let is_changed = heard.fingerprint != message.fingerprint();
        heard.fingerprint = message.fingerprint();
        self.past_bytes -= heard.past.n_bytes();
        self.past_bytes += heard.past.offer(message);
        let before = heard.last.as_ref().map_or(0, |last| last.payload.len());
        self.last_bytes -= before;
        if self.last_bytes + message.payload.len() <= MAX_LAST_BYTES {
            self.last_bytes += message.payload.len();
            heard.last = Some(message.clone());
        } else {
            self.counts.unkept += 1;
            heard.last = None;
        }
        if self.past_bytes > MAX_PAST_BYTES {
            self.thin();
        }
        if is_new || is_changed {
            Outcome::Changed { id, gone }
        } else {
            Outcome::Known(id)
        }
    }

    /// Enters a new channel, and takes out the one that makes room for it.
    fn enter(&mut self, now: Time, channel: &Channel) -> Option<(ChannelId, Option<ChannelId>)> {
        let gone = if self.channels.len() < MAX_CHANNELS {
            None
        } else {
            Some(self.forget_silent(now)?)
        };
        let id = ChannelId(self.n_channels_ever);
        self.n_channels_ever = self.n_channels_ever.checked_add(1)?;
        let heard = Heard {
            name: channel.clone(),
            fingerprint: Fingerprint(0),
            last: None,
            past: Past::default(),
            heard_at: now,
            rate: Rate::default(),
        };
        self.channels.insert(id, heard);
        self.by_name.insert(channel.clone(), id);
        Some((id, gone))
    }

    /// Takes out the channel that was silent the longest, if that is long.
    fn forget_silent(&mut self, now: Time) -> Option<ChannelId> {
        if now < self.full_until {
            return None;
        }
        let silent = self.channels.iter().min_by_key(|(_, it)| it.heard_at);
        let (id, heard_at) = silent.map(|(id, heard)| (*id, heard.heard_at))?;
        if now < heard_at + SILENT_AFTER {
            self.full_until = heard_at + SILENT_AFTER;
            return None;
        }
        let heard = self.channels.remove(&id)?;
        self.by_name.remove(&heard.name);
        self.last_bytes -= heard.last.map_or(0, |last| last.payload.len());
        self.past_bytes -= heard.past.n_bytes();
        self.counts.forgotten += 1;
        Some(id)
    }

    /// Makes room in the largest past.
    fn thin(&mut self) {
        let largest = self
            .channels
            .values_mut()
            .max_by_key(|it| it.past.n_bytes());
        if let Some(heard) = largest {
            let before = heard.past.n_bytes();
            heard.past.thin();
            self.past_bytes -= before - heard.past.n_bytes();
        }
    }

    /// Takes note of a type. `false` if it was known.
    pub(crate) fn describe(&mut self, fingerprint: Fingerprint, described: Described) -> bool {
        self.types.insert(fingerprint.0, described).is_none()
    }

    pub(crate) fn type_of(&self, fingerprint: Fingerprint) -> Option<&Described> {
        self.types.get(&fingerprint.0)
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = (Fingerprint, &Described)> {
        let types = self.types.iter();
        types.map(|(fingerprint, described)| (Fingerprint(*fingerprint), described))
    }

    /// The types of channels without a description.
    pub(crate) fn undescribed(&self) -> Vec<Fingerprint> {
        let types = self.channels.values().map(|it| it.fingerprint);
        let mut types: Vec<_> = types
            .filter(|it| it.0 != 0 && !self.types.contains_key(&it.0))
            .collect();
        types.sort_unstable_by_key(|it| it.0);
        types.dedup();
        types
    }

    pub(crate) fn channels(&self) -> impl Iterator<Item = (ChannelId, &Heard)> {
        self.channels.iter().map(|(id, heard)| (*id, heard))
    }

    /// All channels, with their names and those of their types.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let channels = self.channels();
        let listed = channels.map(|(id, heard)| {
            let described = self.type_of(heard.fingerprint);
            let type_name = described.map(|it| Arc::clone(&it.name));
            (id, heard.name.clone(), type_name)
        });
        listed.collect()
    }

    pub(crate) fn channel(&self, id: ChannelId) -> Option<&Heard> {
        self.channels.get(&id)
    }

    /// The type of what is on a channel of this name.
    pub(crate) fn fingerprint_on(&self, name: &str) -> Option<Fingerprint> {
        let id = self.by_name.get(name)?;
        Some(self.channel(*id)?.fingerprint)
    }

    /// Messages a second, by channel.
    pub(crate) fn rates(&self, now: Time) -> impl Iterator<Item = (&str, f64)> {
        let channels = self.channels.values();
        channels.map(move |heard| (heard.name.as_str(), heard.rate.hz(now)))
    }

    /// Forgets messages, but not which channels and types there are: time went back.
    pub(crate) fn forget(&mut self) {
        for heard in self.channels.values_mut() {
            heard.last = None;
            heard.past = Past::default();
        }
        self.last_bytes = 0;
        self.past_bytes = 0;
    }
}

/// Messages a second over the last whole second or two.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    began: Time,
    n: u32,
    n_before: u32,
}

/// How long is counted at a time.
const WINDOW_NS: i64 = 1_000_000_000;

impl Rate {
    fn count(&mut self, now: Time) {
        self.turn(now);
        self.n += 1;
    }

    fn turn(&mut self, now: Time) {
        let passed = now.ns().saturating_sub(self.began.ns());
        if passed >= 2 * WINDOW_NS {
            *self = Self {
                began: now,
                ..Self::default()
            };
        } else if passed >= WINDOW_NS {
            self.began = Time::from_ns(self.began.ns() + WINDOW_NS);
            self.n_before = std::mem::take(&mut self.n);
        }
    }

    /// The running second, and as much of the one before as makes it whole.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn hz(mut self, now: Time) -> f64 {
        self.turn(now);
        let passed = now.ns().saturating_sub(self.began.ns()) as f64 / WINDOW_NS as f64;
        let rate = f64::from(self.n) + f64::from(self.n_before) * (1.0 - passed).clamp(0.0, 1.0);
        (rate * 10.0).round() / 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const START: Time = Time::from_utime(1_000_000_000_000);

    fn message(fingerprint: u64, len: usize) -> Message {
        let mut payload = fingerprint.to_be_bytes().to_vec();
        payload.resize(len.max(8), 0);
        Message {
            utime: 1,
            payload: payload.into(),
        }
    }

    #[test]
    fn new_channel_and_new_type_are_announced() {
        let mut board = Board::default();
        let pose = Channel::from("pose");
        let id = ChannelId(0);
        let changed = Outcome::Changed { id, gone: None };
        assert_eq!(board.hear(START, &pose, &message(1, 8)), changed);
        assert_eq!(board.hear(START, &pose, &message(1, 8)), Outcome::Known(id));
        assert_eq!(board.hear(START, &pose, &message(2, 8)), changed);
        assert_eq!(board.undescribed(), [Fingerprint(2)]);
    }

    #[test]
    fn floods_of_channels_and_giants_are_bounded_and_counted() {
        let mut board = Board::default();
        for i in 0..5_000 {
            let channel = Channel::from(format!("c{i}").as_str());
            board.hear(START, &channel, &message(1, 64));
        }
        assert_eq!(board.channels().count(), MAX_CHANNELS);
        assert_eq!(board.counts.unlisted, 5_000 - 4_096);
        let giant = message(1, MAX_MESSAGE + 1);
        assert_eq!(
            board.hear(START, &Channel::from("c0"), &giant),
            Outcome::Refused
        );
        assert_eq!(board.counts.too_large, 1);
        let large = message(1, MAX_MESSAGE);
        for i in 0..20 {
            let channel = Channel::from(format!("c{i}").as_str());
            board.hear(START, &channel, &large);
        }
        assert!(board.last_bytes <= MAX_LAST_BYTES);
        assert!(board.counts.unkept > 0);
    }

    #[test]
    fn a_channel_that_was_silent_for_long_makes_room_and_one_in_use_does_not() {
        let mut board = Board::default();
        let in_use = Channel::from("gate.state");
        board.hear(START, &in_use, &message(1, 8));
        for i in 0..MAX_CHANNELS - 1 {
            let channel = Channel::from(format!("c{i}").as_str());
            board.hear(START + Duration::from_secs(1), &channel, &message(1, 64));
        }
        let late = Channel::from("late");
        let soon = START + SILENT_AFTER / 2;
        board.hear(soon, &in_use, &message(1, 8));
        assert_eq!(board.hear(soon, &late, &message(1, 8)), Outcome::Refused);
        let later = START + Duration::from_secs(1) + SILENT_AFTER;
        let id = ChannelId(4_096);
        let gone = Some(ChannelId(1));
        assert_eq!(
            board.hear(later, &late, &message(1, 8)),
            Outcome::Changed { id, gone }
        );
        assert_eq!((board.counts.unlisted, board.counts.forgotten), (1, 1));
        assert_eq!(board.channels().count(), MAX_CHANNELS);
        assert_eq!(board.fingerprint_on("c0"), None);
        assert!(board.fingerprint_on("gate.state").is_some());
        assert_eq!(board.last_bytes, 8 + 8 + 64 * (MAX_CHANNELS - 2));
        // And it comes back under another number.
        let back = board.hear(later, &Channel::from("c0"), &message(1, 8));
        let id = ChannelId(4_097);
        assert!(matches!(back, Outcome::Changed { id: it, .. } if it == id));
    }

    #[test]
    fn what_is_recalled_is_no_rate() {
        let mut board = Board::default();
        let pose = Channel::from("pose");
        for _ in 0..100 {
            board.recall(START, &pose, &message(1, 8));
        }
        assert!(board.rates(START).next().unwrap().1 < 0.05);
        assert_eq!(board.counts.heard, 0);
    }

    #[test]
    fn rates_follow_what_comes_and_fall_to_nothing() {
        let mut board = Board::default();
        let pose = Channel::from("pose");
        for i in 0..50 {
            let now = START + Duration::from_millis(100 * i);
            board.hear(now, &pose, &message(1, 8));
        }
        let rate = |now: Time| board.rates(now).next().unwrap().1;
        let last = START + Duration::from_millis(4_900);
        assert!((rate(last) - 10.0).abs() <= 1.0, "{}", rate(last));
        assert!(rate(last + Duration::from_secs(3)) < 0.05);
    }
}

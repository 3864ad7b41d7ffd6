//! The first difference between two logs, channel by channel.
//!
//! The n-th message of a channel in the one log is held against the n-th of that channel in the other, however the
//! channels interleave. Both logs are read once, side by side; what the one is ahead of the other on a channel is
//! remembered as checksums, in a bounded number. A second reading fetches the messages that differ, to be shown.

mod explain;

pub use explain::{Explanation, FieldDifference, explain, explain_pair};

use crate::select::ChannelFilter;
use bowline_format::{LogEvent, ReadError, Reader};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};

/// How many channels are compared separately: more than real logs have.
const MAX_CHANNELS: usize = 100_000;

/// What is compared.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Only these channels.
    pub channels: ChannelFilter,
    /// Not these.
    pub ignored: Option<ChannelFilter>,
    /// The times of messages too, and how.
    pub times: Option<TimeRule>,
    /// How many messages one log may be ahead of the other, on all channels together: 24 bytes each.
    pub max_ahead: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            channels: ChannelFilter::default(),
            ignored: None,
            times: None,
            max_ahead: 4 << 20,
        }
    }
}

/// When two times are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRule {
    /// Whether times count from the first event of their log, rather than from the epoch.
    pub is_relative: bool,
    /// How far apart they may be, microseconds.
    pub tolerance_us: u64,
}

/// What two logs differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The channels that differ, the first difference first.
    pub channels: Vec<ChannelDifference>,
    /// How many pairs of messages were the same.
    pub n_same: u64,
    /// How many channels were compared.
    pub n_channels: u64,
    /// Events on channels beyond those that are compared separately.
    pub n_unlisted: u64,
}

impl Difference {
    /// Whether there is none that was found, and all could be compared.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.channels.is_empty() && self.n_unlisted == 0
    }
}

/// What a channel differs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelDifference {
    /// The channel.
    pub channel: String,
    /// Which message of it is the first that differs, from 0.
    pub index: u64,
    /// How.
    pub kind: DifferenceKind,
    /// That message in the first log, if it has one.
    pub a: Option<Place>,
    /// That message in the second log.
    pub b: Option<Place>,
    /// How many messages the logs have on the channel.
    pub n_messages: (u64, u64),
    /// How many events of both logs were read before it was found.
    order: u64,
}

/// Kinds of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Other bytes.
    Message,
    /// The same bytes at another time.
    Time,
    /// The first log has no such message any more, or the channel not at all.
    OnlyInB,
    /// The second log has no such message any more, or the channel not at all.
    OnlyInA,
    /// One log is too far ahead of the other to be compared further.
    TooFarApart,
}

/// Where a message is in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number in the log.
    pub number: i64,
    /// When it was received, microseconds since the epoch.
    pub utime: i64,
}

/// Compares two logs from their beginning. `progress` receives how many bytes of how many are read.
///
/// # Errors
/// When one cannot be read. Damage is no error; the readers have the account of it.
pub fn diff(
    a: &mut Reader,
    b: &mut Reader,
    options: &DiffOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Difference, ReadError> {
    let mut comparison = Comparison::new(options);
    let logs = [a, b];
    let mut is_over = [false; 2];
    let mut n_read = 0_u64;
    loop {
        // The log that is less far ahead is read next, so that alike logs stay alike.
        let side = match is_over {
            [true, true] => break,
            [true, false] => Side::B,
            [false, true] => Side::A,
            [false, false] if comparison.n_ahead[0] > comparison.n_ahead[1] => Side::B,
            [false, false] if comparison.n_ahead[0] < comparison.n_ahead[1] => Side::A,
            [false, false] if n_read.is_multiple_of(2) => Side::A,
            [false, false] => Side::B,
        };
        n_read += 1;
        match logs[side as usize].next_event()? {
            Some(event) => comparison.take(side, &event),
            None => is_over[side as usize] = true,
        }
        if n_read.is_multiple_of(4_096) {
            let ((done_a, all_a), (done_b, all_b)) = (logs[0].progress()?, logs[1].progress()?);
            progress(done_a + done_b, all_a + all_b);
        }
    }
    Ok(comparison.finish())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A = 0,
    B = 1,
}

/// A message that the other log has not come to yet.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    hash: u64,
    place: Place,
}

#[derive(Debug, Default)]
struct Channel {
    n_messages: [u64; 2],
    /// Of the log that is ahead.
    ahead: VecDeque<Ahead>,
    found: Option<ChannelDifference>,
}

struct Comparison<'o> {
    options: &'o DiffOptions,
    channels: BTreeMap<String, Channel>,
    /// How many messages each log is ahead of the other.
    n_ahead: [usize; 2],
    first_utime: [Option<i64>; 2],
    n_taken: u64,
    difference: Difference,
}

impl<'o> Comparison<'o> {
    fn new(options: &'o DiffOptions) -> Self {
        Self {
            options,
            channels: BTreeMap::new(),
            n_ahead: [0; 2],
            first_utime: [None; 2],
            n_taken: 0,
            difference: Difference::default(),
        }
    }

    fn take(&mut self, side: Side, event: &LogEvent<'_>) {
        self.n_taken += 1;
        self.first_utime[side as usize].get_or_insert(event.utime);
        if !self.channels.contains_key(event.channel) {
            let options = self.options;
            let is_ignored = |name| options.ignored.as_ref().is_some_and(|it| it.matches(name));
            if !options.channels.matches(event.channel) || is_ignored(event.channel) {
                return;
            }
            if self.channels.len() >= MAX_CHANNELS {
                self.difference.n_unlisted += 1;
                return;
            }
            let channel = Channel::default();
            self.channels.insert(event.channel.to_owned(), channel);
        }
        self.compare(side, event);
        if self.n_ahead[0] + self.n_ahead[1] > self.options.max_ahead {
            self.give_up_one();
        }
    }

    fn compare(&mut self, side: Side, event: &LogEvent<'_>) {
        let Some(channel) = self.channels.get_mut(event.channel) else {
            return;
        };
        let index = channel.n_messages[side as usize];
        channel.n_messages[side as usize] += 1;
        if channel.found.is_some() {
            return;
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(event.payload);
        let this = Ahead {
            hash: hasher.finish(),
            place: Place {
                number: event.number,
                utime: event.utime,
            },
        };
        let other = 1 - side as usize;
        if index >= channel.n_messages[other] {
            channel.ahead.push_back(this);
            self.n_ahead[side as usize] += 1;
            return;
        }
        let Some(that) = channel.ahead.pop_front() else {
            return;
        };
        self.n_ahead[other] -= 1;
        let (a, b) = match side {
            Side::A => (this, that),
            Side::B => (that, this),
        };
        let kind = if a.hash != b.hash {
            DifferenceKind::Message
        } else if !is_same_time(self.options.times, self.first_utime, a.place, b.place) {
            DifferenceKind::Time
        } else {
            self.difference.n_same += 1;
            return;
        };
        self.n_ahead[other] -= channel.ahead.len();
        channel.ahead = VecDeque::new();
        channel.found = Some(ChannelDifference {
            channel: event.channel.to_owned(),
            index,
            kind,
            a: Some(a.place),
            b: Some(b.place),
            n_messages: (0, 0),
            order: self.n_taken,
        });
    }

    /// Forgets the channel on which one log is ahead the most.
    fn give_up_one(&mut self) {
        let longest = self.channels.iter_mut();
        let Some((name, channel)) = longest.max_by_key(|(_, channel)| channel.ahead.len()) else {
            return;
        };
        let side = usize::from(channel.n_messages[0] < channel.n_messages[1]);
        self.n_ahead[side] -= channel.ahead.len();
        let first = channel.ahead.front().map(|ahead| ahead.place);
        channel.ahead = VecDeque::new();
        channel.found = Some(ChannelDifference {
            channel: name.clone(),
            index: channel.n_messages[1 - side],
            kind: DifferenceKind::TooFarApart,
            a: first.filter(|_| side == 0),
            b: first.filter(|_| side == 1),
            n_messages: (0, 0),
            order: self.n_taken,
        });
    }

    fn finish(mut self) -> Difference {
        self.difference.n_channels = self.channels.len() as u64;
        for (name, channel) in self.channels {
            let [n_a, n_b] = channel.n_messages;
            let more = channel.ahead.front().map(|first| ChannelDifference {
                channel: name,
                index: n_a.min(n_b),
                kind: if n_a > n_b {
                    DifferenceKind::OnlyInA
                } else {
                    DifferenceKind::OnlyInB
                },
                a: (n_a > n_b).then_some(first.place),
                b: (n_a < n_b).then_some(first.place),
                n_messages: (0, 0),
                order: u64::MAX,
            });
            if let Some(found) = channel.found.or(more) {
                self.difference.channels.push(ChannelDifference {
                    n_messages: (n_a, n_b),
                    ..found
                });
            }
        }
        self.difference.channels.sort_by_key(|found| found.order);
        self.difference
    }
}

fn is_same_time(rule: Option<TimeRule>, first: [Option<i64>; 2], a: Place, b: Place) -> bool {
    let Some(rule) = rule else {
        return true;
    };
    let since = |utime: i64, first: Option<i64>| {
        let first = first.filter(|_| rule.is_relative).unwrap_or(0);
        i128::from(utime) - i128::from(first)
    };
    let apart = since(a.utime, first[0]) - since(b.utime, first[1]);
    apart.unsigned_abs() <= u128::from(rule.tolerance_us)
}

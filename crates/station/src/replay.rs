//! A log as a source: one thread plays it to the pages, by the player that `bowline log play` has.
//!
//! Wherever playing jumps to, pages first get what they would know had they been there: the last message of each channel
//! before that moment, and some of its past.

use crate::board::Message;
use crate::feed::Feed;
use crate::live::described;
use crate::past::Past;
use crate::station::StartError;
use bowline_bus::Channel;
use bowline_host::clock;
use bowline_log::play::{Command, Offer, Place, Player, PlayerOptions, State, Status, Step};
use bowline_log::{Catalog, LogEvent, ReadError, Reader, Schemas, Summary};
use bowline_msgs::Bookmark;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Orders that may wait.
const MAX_ORDERS: usize = 64;
/// How long at most until it is seen that it should stop, or that log time went on.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How much of a log is read to know what was before a moment: so many bytes for the past, and for channels that had
/// no messages for long.
const PAST_BYTES: i64 = 64 << 20;
const LAST_BYTES: u64 = 256 << 20;
/// How long that is in the log's time, at least and at most.
const PAST_US: (i64, i64) = (2_000_000, 600_000_000);

/// A log that is played.
#[derive(Debug)]
pub(crate) struct Replay {
    orders: SyncSender<Command>,
    view: Arc<Mutex<View>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How playing is.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) log: String,
    pub(crate) status: Status,
    pub(crate) bookmarks: Arc<[Bookmark]>,
    /// Why it cannot go on.
    pub(crate) error: Option<String>,
}

/// Why a player does not carry out a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OrderError {
    #[error("the player has too much to do")]
    Busy,
    #[error("the log cannot be played any further: {0}")]
    Gone(String),
}

impl Replay {
    pub(crate) fn start(
        reader: Reader,
        feed: Arc<Feed>,
        clock: clock::Live,
    ) -> Result<Self, StartError> {
        let span = reader.summary().and_then(|summary| summary.span);
        let player = Player::new(PlayerOptions {
            span,
            ..PlayerOptions::default()
        });
        let bookmarks = reader.summary().map(|it| it.bookmarks.clone());
        let log = reader.path().file_name().unwrap_or_default();
        let view = View {
            log: log.to_string_lossy().into_owned(),
            status: player.status(Duration::ZERO),
            bookmarks: bookmarks.unwrap_or_default().into(),
            error: None,
        };
        let view = Arc::new(Mutex::new(view));
        let (orders, ordered) = sync_channel(MAX_ORDERS);
        let stop = Arc::new(AtomicBool::new(false));
        let stage = Stage {
            player,
            feed,
            clock,
            catalog: Catalog::new(Schemas::default(), bowline_msgs::SCHEMA),
            channels: BTreeMap::new(),
            is_undescribed: true,
            n_schemas: 0,
            ordered,
            view: Arc::clone(&view),
            stop: Arc::clone(&stop),
        };
        let thread = std::thread::Builder::new().name("feed".to_owned());
        let thread = thread.spawn(move || stage.play(reader));
        Ok(Self {
            orders,
            view,
            stop,
            thread: Some(thread.map_err(StartError::Threads)?),
        })
    }

    /// Has the player do something.
    pub(crate) fn order(&self, command: Command) -> Result<(), OrderError> {
        self.orders.try_send(command).map_err(|it| match it {
            TrySendError::Full(_) => OrderError::Busy,
            TrySendError::Disconnected(_) => {
                OrderError::Gone(self.view().error.unwrap_or_default())
            }
        })
    }

    pub(crate) fn view(&self) -> View {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        view.clone()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The hook has reported a panic there.
            drop(thread.join());
        }
    }
}

/// Everything but the log, which lends its events.
struct Stage {
    player: Player,
    feed: Arc<Feed>,
    clock: clock::Live,
    catalog: Catalog,
    channels: BTreeMap<String, Channel>,
    /// Whether there may be types that pages do not know.
    is_undescribed: bool,
    /// How many the log had described when that was looked at.
    n_schemas: usize,
    ordered: Receiver<Command>,
    view: Arc<Mutex<View>>,
    stop: Arc<AtomicBool>,
}

/// What became of an event.
enum Done {
    Next,
    Seek(Place),
    Stopped,
}

impl Stage {
    fn play(mut self, mut reader: Reader) {
        loop {
            self.describe(&reader);
            let done = match reader.next_event() {
                Ok(event) => self.perform(event),
                Err(error) => return self.fail(&error),
            };
            let sought = match done {
                Done::Next => Ok(()),
                Done::Seek(place) => self.seek(&mut reader, place),
                Done::Stopped => return,
            };
            if let Err(error) = sought {
                return self.fail(&error);
            }
        }
    }

    fn perform(&mut self, event: Option<LogEvent<'_>>) -> Done {
        let offer = event.map(|event| Offer {
            utime: event.utime,
            channel: event.channel,
            len: event.payload.len(),
        });
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.now();
            while let Ok(command) = self.ordered.try_recv() {
                self.player.command(command, now);
            }
            self.show();
            let wait = match self.player.next(offer, now) {
                Step::Publish(_) => {
                    if let Some(event) = event {
                        self.hear(&event);
                    }
                    return Done::Next;
                }
                Step::Pass => return Done::Next,
                Step::Seek(place) => return Done::Seek(place),
                Step::WaitUntil(due) => due.saturating_sub(now).min(LOOK_EVERY),
                Step::WaitForCommand | Step::End => LOOK_EVERY,
            };
            if let Ok(command) = self.ordered.recv_timeout(wait) {
                let now = self.now();
                self.player.command(command, now);
            }
        }
        Done::Stopped
    }

    fn now(&self) -> Duration {
        self.clock.now().since(self.clock.started_at())
    }

    fn hear(&mut self, event: &LogEvent<'_>) {
        let channel = self.channel(event.channel);
        let now = self.clock.now();
        self.is_undescribed |= self.feed.hear(now, &channel, &message_of(event));
    }

    fn channel(&mut self, name: &str) -> Channel {
        if let Some(channel) = self.channels.get(name) {
            return channel.clone();
        }
        let channel = Channel::from(name);
        self.channels.insert(name.to_owned(), channel.clone());
        channel
    }

    /// Notifies pages of new types; cheap if there are none.
    fn describe(&mut self, reader: &Reader) {
        let n_schemas = reader.n_schemas();
        if !self.is_undescribed && n_schemas == self.n_schemas {
            return;
        }
        self.is_undescribed = false;
        self.n_schemas = n_schemas;
        self.catalog.learn_from(reader);
        for fingerprint in self.feed.undescribed() {
            if let Some((types, id)) = self.catalog.find(fingerprint) {
                self.feed.describe(fingerprint, &described(types, id));
            }
        }
    }

    fn show(&self) {
        let status = self.player.status(self.now());
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        view.status = status;
    }

    fn fail(&self, error: &ReadError) {
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        view.error = Some(error.to_string());
        view.status.state = State::Ended;
    }

    /// Goes to another place, and sends pages what they would know there.
    fn seek(&mut self, reader: &mut Reader, place: Place) -> Result<(), ReadError> {
        let first = reader.summary().and_then(|it| it.span).map(|it| it.0);
        let (utime, why) = match place {
            Place::Beginning => (first.unwrap_or(0), "the log starts again"),
            Place::Utime(utime) => (utime, "the player went to another moment"),
        };
        let heard = before(reader, utime)?;
        let heard: Vec<(Channel, Message)> = heard
            .into_iter()
            .map(|(name, message)| (self.channel(&name), message))
            .collect();
        self.feed.reset(self.clock.now(), utime, why, &heard);
        self.is_undescribed = true;
        match place {
            Place::Beginning => reader.rewind(),
            Place::Utime(utime) => reader.seek_to(utime),
        }
    }
}

fn message_of(event: &LogEvent<'_>) -> Message {
    Message {
        utime: event.utime,
        payload: bytes::Bytes::copy_from_slice(event.payload),
    }
}

/// A channel before a moment.
#[derive(Default)]
struct Before {
    past: Past,
    last: Option<Message>,
}

/// The messages before a moment, in the order of time.
fn before(reader: &mut Reader, utime: i64) -> Result<Vec<(String, Message)>, ReadError> {
    let summary = reader.summary().cloned().unwrap_or_default();
    let Some((first, _)) = summary.span else {
        return Ok(Vec::new());
    };
    let mut known: BTreeMap<String, Before> = BTreeMap::new();
    let mut from = utime.saturating_sub(past_us(&summary)).max(first);
    read_between(reader, (from, utime), |event| {
        let before = known.entry(event.channel.to_owned()).or_default();
        let message = message_of(&event);
        before.past.offer(&message);
        before.last = Some(message);
    })?;
    // Channels without messages for long: further and further back, until all are found or the limit is reached.
    let mut n_bytes = 0;
    let mut length = utime - from;
    while from > first && n_bytes < LAST_BYTES && is_any_missing(&summary, &known, from) {
        length = length.saturating_mul(2).max(PAST_US.0);
        let until = from;
        from = from.saturating_sub(length).max(first);
        let mut older: BTreeMap<String, Message> = BTreeMap::new();
        read_between(reader, (from, until), |event| {
            n_bytes += event.payload.len() as u64;
            if !known.contains_key(event.channel) {
                older.insert(event.channel.to_owned(), message_of(&event));
            }
        })?;
        for (channel, message) in older {
            known.entry(channel).or_default().last = Some(message);
        }
    }
    let mut heard = Vec::new();
    for (channel, Before { past, last }) in known {
        let newest = last.as_ref().map(|last| last.utime);
        let older = past.sample(usize::MAX);
        let older = older.filter(|message| Some(message.utime) != newest);
        heard.extend(older.map(|message| (channel.clone(), message.clone())));
        heard.extend(last.map(|message| (channel, message)));
    }
    heard.sort_by_key(|(_, message)| message.utime);
    Ok(heard)
}

fn is_any_missing(summary: &Summary, known: &BTreeMap<String, Before>, before: i64) -> bool {
    let mut channels = summary.channels.iter();
    channels.any(|(name, channel)| channel.first_utime < before && !known.contains_key(name))
}

/// How much of the past is read: as long as it is not too many bytes.
fn past_us(summary: &Summary) -> i64 {
    let (least, most) = PAST_US;
    let (first, last) = summary.span.unwrap_or_default();
    let n_bytes = i64::try_from(summary.n_bytes).unwrap_or(i64::MAX).max(1);
    let us = i128::from(PAST_BYTES) * i128::from(last - first) / i128::from(n_bytes);
    i64::try_from(us).unwrap_or(most).clamp(least, most)
}

fn read_between(
    reader: &mut Reader,
    (from, until): (i64, i64),
    mut take: impl FnMut(LogEvent<'_>),
) -> Result<(), ReadError> {
    reader.seek_to(from)?;
    while let Some(event) = reader.next_event()? {
        if event.utime >= until {
            break;
        }
        take(event);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn player_that_cannot_continue_has_the_reason() {
        let (orders, ordered) = sync_channel(0);
        let player = Player::new(PlayerOptions::default());
        let view = View {
            log: String::new(),
            status: player.status(Duration::ZERO),
            bookmarks: Arc::new([]),
            error: Some("the disk is gone".to_owned()),
        };
        let replay = Replay {
            orders,
            view: Arc::new(Mutex::new(view)),
            stop: Arc::default(),
            thread: None,
        };
        assert_eq!(replay.order(Command::Play), Err(OrderError::Busy));
        drop(ordered);
        let refused = replay.order(Command::Play).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the log cannot be played any further: the disk is gone"
        );
    }
}

//! From one source to all pages: the board, and an outbox for each page.

use crate::board::{Board, BoardCounts, ChannelId, Described, Message, Outcome};
use crate::outbox::{Outbox, OutboxCounts, Plan};
use crate::wish::Wishes;
use bowline_bus::Channel;
use bowline_component::Time;
use bowline_wire::Fingerprint;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Shared by the thread that receives and the tasks that send.
#[derive(Debug, Default)]
pub(crate) struct Feed(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    board: Board,
    pages: BTreeMap<u64, Arc<Page>>,
    n_pages_ever: u64,
    /// Of pages that are gone.
    gone: OutboxCounts,
}

/// One page, as the feed sees it.
#[derive(Debug, Default)]
pub(crate) struct Page {
    outbox: Mutex<Outbox>,
    wake: Notify,
}

/// How many, and what became of their messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FeedCounts {
    pub(crate) board: BoardCounts,
    pub(crate) n_pages: usize,
    pub(crate) n_pages_ever: u64,
    pub(crate) outbox: OutboxCounts,
}

impl Feed {
    /// One more page, which gets to know all channels and types.
    pub(crate) fn join(&self) -> (u64, Arc<Page>) {
        let mut state = self.lock();
        let number = state.n_pages_ever;
        state.n_pages_ever += 1;
        let page = Arc::new(Page::default());
        {
            let mut outbox = page.outbox();
            for (id, _) in state.board.channels() {
                outbox.channel(&state.board, id);
            }
            for (fingerprint, described) in state.board.types() {
                outbox.schema(fingerprint, described);
            }
        }
        state.pages.insert(number, Arc::clone(&page));
        (number, page)
    }

    pub(crate) fn leave(&self, number: u64) {
        let mut state = self.lock();
        if let Some(page) = state.pages.remove(&number) {
            let counts = page.outbox().counts;
            state.gone.frames += counts.frames;
            state.gone.bytes += counts.bytes;
            state.gone.skipped += counts.skipped;
        }
    }

    /// A message came. Whether the channel is new, or has another type.
    pub(crate) fn hear(&self, now: Time, channel: &Channel, message: &Message) -> bool {
        let mut state = self.lock();
        let State { board, pages, .. } = &mut *state;
        let outcome = board.hear(now, channel, message);
        let (Outcome::Known(id) | Outcome::Changed { id, .. }) = outcome else {
            return false;
        };
        let is_kept = board.channel(id).is_some_and(|it| it.last.is_some());
        for page in pages.values() {
            let mut outbox = page.outbox();
            outbox.learn(board, outcome);
            outbox.offer(now, id, message, is_kept);
            drop(outbox);
            page.wake.notify_one();
        }
        matches!(outcome, Outcome::Changed { .. })
    }

    /// The types of channels without a description.
    pub(crate) fn undescribed(&self) -> Vec<Fingerprint> {
        self.lock().board.undescribed()
    }

    /// A type was described.
    pub(crate) fn describe(&self, fingerprint: Fingerprint, described: &Described) {
        let mut state = self.lock();
        let State { board, pages, .. } = &mut *state;
        if !board.describe(fingerprint, described.clone()) {
            return;
        }
        let has_type = |(id, heard): (ChannelId, &crate::board::Heard)| {
            (heard.fingerprint == fingerprint).then_some(id)
        };
        let channels: Vec<ChannelId> = board.channels().filter_map(has_type).collect();
        for page in pages.values() {
            let mut outbox = page.outbox();
            outbox.schema(fingerprint, described);
            for id in &channels {
                outbox.channel(board, *id);
            }
            drop(outbox);
            page.wake.notify_one();
        }
    }

    /// Time went to another place: `heard` is what the board is to know there.
    pub(crate) fn reset(&self, now: Time, utime: i64, why: &str, heard: &[(Channel, Message)]) {
        let mut state = self.lock();
        let State { board, pages, .. } = &mut *state;
        board.forget();
        let recalled = heard.iter();
        let outcomes: Vec<Outcome> = recalled
            .map(|(channel, message)| board.recall(now, channel, message))
            .filter(|it| matches!(it, Outcome::Changed { .. }))
            .collect();
        for page in pages.values() {
            let mut outbox = page.outbox();
            for outcome in &outcomes {
                outbox.learn(board, *outcome);
            }
            outbox.reset(now, board, utime, why);
            drop(outbox);
            page.wake.notify_one();
        }
    }

    /// What a page wants from now on. No other page waits while channels are looked through for that.
    pub(crate) fn subscribe(&self, now: Time, page: &Page, wishes: Wishes) {
        let channels = self.lock().board.list();
        let plan = Plan::new(wishes, channels);
        let state = self.lock();
        page.outbox().subscribe(now, &state.board, plan);
        drop(state);
        page.wake.notify_one();
    }

    /// The same for all pages.
    pub(crate) fn tell_status(&self, status: &Bytes) {
        let pages: Vec<_> = self.lock().pages.values().cloned().collect();
        for page in pages {
            page.outbox().status(status.clone());
            page.wake.notify_one();
        }
    }

    /// The type of what is on a channel.
    pub(crate) fn type_on(&self, channel: &str) -> Option<Fingerprint> {
        self.lock().board.fingerprint_on(channel)
    }

    /// Whether the truth is published, which only a simulation knows.
    pub(crate) fn is_simulated(&self) -> bool {
        let state = self.lock();
        let mut channels = state.board.channels();
        channels.any(|(_, heard)| is_truth(&heard.name))
    }

    pub(crate) fn rates(&self, now: Time) -> BTreeMap<String, f64> {
        let state = self.lock();
        let rates = state.board.rates(now);
        rates.map(|(name, hz)| (name.to_owned(), hz)).collect()
    }

    pub(crate) fn counts(&self) -> FeedCounts {
        let state = self.lock();
        let mut outbox = state.gone;
        for page in state.pages.values() {
            let counts = page.outbox().counts;
            outbox.frames += counts.frames;
            outbox.bytes += counts.bytes;
            outbox.skipped += counts.skipped;
        }
        FeedCounts {
            board: state.board.counts,
            n_pages: state.pages.len(),
            n_pages_ever: state.n_pages_ever,
            outbox,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this is a channel of the truth of a simulation; the page has the same rule.
fn is_truth(channel: &str) -> bool {
    let before = channel.strip_suffix("truth.pose");
    before.is_some_and(|it| it.is_empty() || it.ends_with(['.', '/']))
}

impl Page {
    pub(crate) fn say(&self, frame: Bytes) {
        self.outbox().say(frame);
        self.wake.notify_one();
    }

    /// Frames that may be sent now, up to so many bytes; and when there will be more.
    pub(crate) fn take(&self, now: Time, max_bytes: usize) -> (Vec<Bytes>, Option<Time>) {
        let mut outbox = self.outbox();
        let mut frames = Vec::new();
        let mut n_bytes = 0;
        while n_bytes < max_bytes
            && let Some(frame) = outbox.take(now)
        {
            n_bytes += frame.len();
            frames.push(frame);
        }
        (frames, outbox.next_due())
    }

    pub(crate) fn is_overrun(&self) -> bool {
        self.outbox().is_overrun()
    }

    /// Waits until there may be something to send.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::WishRow;

    const START: Time = Time::from_utime(1_000_000_000);

    fn message(utime: i64) -> Message {
        Message {
            utime,
            payload: Bytes::from(5_u64.to_be_bytes().to_vec()),
        }
    }

    #[test]
    fn only_where_poses_are_true_is_it_a_simulation() {
        for (channel, is_simulated) in [
            ("truth.pose", true),
            ("heron/truth.pose", true),
            ("heron.truth.pose", true),
            ("truth/operator.stop", false),
            ("truth.poses", false),
            ("untruth.pose", false),
            ("a.truth.b", false),
        ] {
            let feed = Feed::default();
            feed.hear(START, &Channel::from(channel), &message(1));
            assert_eq!(feed.is_simulated(), is_simulated, "{channel}");
        }
    }

    #[test]
    fn a_channel_that_comes_while_a_page_subscribes_is_sent_too() {
        let feed = Feed::default();
        let (_, page) = feed.join();
        let old = Channel::from("old");
        feed.hear(START, &old, &message(1));
        let row = WishRow {
            pattern: ".*".to_owned(),
            type_name: None,
            max_hz: 0.0,
            past: 0,
        };
        let channels = feed.lock().board.list();
        let plan = Plan::new(Wishes::new(vec![row]).unwrap(), channels);
        feed.hear(START, &Channel::from("new"), &message(2));
        page.outbox().subscribe(START, &feed.lock().board, plan);
        let (frames, _) = page.take(START, usize::MAX);
        let n_messages = frames.iter().filter(|it| it[0] == 0x04).count();
        assert_eq!(n_messages, 2);
    }
}

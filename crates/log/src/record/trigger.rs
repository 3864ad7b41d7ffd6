//! The last seconds before something happens, kept in memory.
//!
//! ```text
//!             a condition holds, or a command comes: what is kept is written
//!    armed ──────────────────────────────────────────────────────────────────▶ recording
//!      ▲                                                                           │
//!      └────────── events are later than the last reason by what was asked ────────┘
//! ```

use super::condition::{Condition, Watch};
use bowline_bus::Event;
use std::collections::VecDeque;
use std::time::Duration;

/// When to record, and how much of what was before.
#[derive(Clone, Debug)]
pub struct TriggerOptions {
    /// How much of the time before is kept.
    pub before: Duration,
    /// How many bytes of it are kept at most.
    pub max_bytes: usize,
    /// How long is recorded after the last reason to. `None`: for good.
    pub after: Option<Duration>,
    /// The reasons to record, beside a command.
    pub conditions: Vec<Condition>,
}

impl Default for TriggerOptions {
    fn default() -> Self {
        Self {
            before: Duration::from_secs(10),
            max_bytes: 256 << 20,
            after: None,
            conditions: Vec::new(),
        }
    }
}

/// Beside its payload, what an event takes in memory.
const EVENT_OVERHEAD: usize = 128;

#[derive(Debug)]
pub(super) struct Trigger {
    pub(super) watch: Watch,
    before_ns: i64,
    after_ns: Option<i64>,
    max_bytes: usize,
    kept: VecDeque<Event>,
    kept_bytes: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Armed,
    /// The time of the last event that is recorded; `None` is for good.
    Recording {
        until_ns: Option<i64>,
    },
}

/// What was let go of because it was too old, and because it was too much.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LetGo {
    pub(super) n_old: u64,
    pub(super) n_over: u64,
}

impl Trigger {
    pub(super) fn new(options: TriggerOptions) -> Self {
        let ns = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        Self {
            watch: Watch::new(options.conditions),
            before_ns: ns(options.before),
            after_ns: options.after.map(ns),
            max_bytes: options.max_bytes,
            kept: VecDeque::new(),
            kept_bytes: 0,
            state: State::Armed,
        }
    }

    /// Records from now on. What was kept is there to be taken; what is too old by now is let go of.
    pub(super) fn pull(&mut self, now_ns: i64) -> LetGo {
        let let_go = if self.is_armed() {
            self.let_go(now_ns)
        } else {
            LetGo::default()
        };
        let until_ns = self.after_ns.map(|after| now_ns.saturating_add(after));
        self.state = State::Recording { until_ns };
        let_go
    }

    /// Whether an event of that time is recorded; otherwise it is to be kept.
    pub(super) fn is_recording_at(&mut self, now_ns: i64) -> bool {
        match self.state {
            State::Armed => false,
            State::Recording {
                until_ns: Some(until_ns),
            } if now_ns > until_ns => {
                self.state = State::Armed;
                false
            }
            State::Recording { .. } => true,
        }
    }

    pub(super) fn is_armed(&self) -> bool {
        self.state == State::Armed
    }

    /// Keeps an event behind those that are kept. What is about to be written is not let go of.
    pub(super) fn keep(&mut self, event: Event, is_recording: bool) -> LetGo {
        let now_ns = event.arrival.received_ns;
        self.kept_bytes += event.payload.len() + EVENT_OVERHEAD;
        self.kept.push_back(event);
        if is_recording {
            LetGo::default()
        } else {
            self.let_go(now_ns)
        }
    }

    /// Lets go of what is too old, or too much.
    fn let_go(&mut self, now_ns: i64) -> LetGo {
        let mut let_go = LetGo::default();
        while let Some(oldest) = self.kept.front() {
            let is_old = now_ns.saturating_sub(oldest.arrival.received_ns) > self.before_ns;
            let is_over = self.kept_bytes > self.max_bytes && self.kept.len() > 1;
            if !is_old && !is_over {
                break;
            }
            self.take_oldest();
            if is_old {
                let_go.n_old += 1;
            } else {
                let_go.n_over += 1;
            }
        }
        let_go
    }

    /// The oldest event that is kept.
    pub(super) fn take_oldest(&mut self) -> Option<Event> {
        let event = self.kept.pop_front()?;
        self.kept_bytes -= event.payload.len() + EVENT_OVERHEAD;
        Some(event)
    }

    /// How many events are kept, and their bytes.
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept_bytes)
    }
}

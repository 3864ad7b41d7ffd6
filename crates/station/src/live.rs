//! A bus as a source: one thread receives everything on it, and knows the types.

use crate::board::{Described, Message};
use crate::feed::Feed;
use crate::station::StartError;
use bowline_bus::{Bus, Event};
use bowline_component::Time;
use bowline_host::clock;
use bowline_inspect::{Outlook, Source, SourceOptions};
use bowline_wire::Fingerprint;
use bowline_wire::schema::{Docs, TypeId, TypeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long at most until a question is seen, and the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many events are taken before pages are notified.
const MOST_AT_ONCE: usize = 256;
/// How often it is looked whether unknown types were described.
const DESCRIBE_EVERY: Duration = Duration::from_millis(100);
/// Questions that may wait.
const MAX_QUESTIONS: usize = 32;

/// A type with all that it contains.
pub(crate) type Type = (TypeSet, TypeId);

/// A bus that is subscribed to.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) bus: Bus,
    questions: SyncSender<Question>,
    n_failed: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Question {
    about: About,
    answer: oneshot::Sender<Option<Type>>,
}

#[derive(Debug)]
enum About {
    Name(String),
    Fingerprint(Fingerprint),
}

/// Why there is no answer about a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    #[error("too many types are asked for at once")]
    Busy,
    #[error("the bus has no reader any more")]
    Gone,
}

impl From<AskError> for String {
    fn from(error: AskError) -> Self {
        error.to_string()
    }
}

impl Live {
    pub(crate) fn start(bus: Bus, feed: Arc<Feed>, clock: clock::Live) -> Result<Self, StartError> {
        let source = Source::of_bus(&bus, SourceOptions::default())?;
        let (questions, asked) = sync_channel(MAX_QUESTIONS);
        let stop = Arc::new(AtomicBool::new(false));
        let n_failed = Arc::new(AtomicU64::new(0));
        let ear = Ear {
            source,
            feed,
            empty_at: clock.now(),
            clock,
            asked,
            stop: Arc::clone(&stop),
            n_failed: Arc::clone(&n_failed),
        };
        let thread = std::thread::Builder::new().name("feed".to_owned());
        let thread = thread.spawn(move || ear.listen());
        Ok(Self {
            bus,
            questions,
            n_failed,
            stop,
            thread: Some(thread.map_err(StartError::Threads)?),
        })
    }

    /// The type of that name, if it was described.
    pub(crate) async fn type_named(&self, name: &str) -> Result<Option<Type>, AskError> {
        self.ask(About::Name(name.to_owned())).await
    }

    /// The type of such messages.
    pub(crate) async fn type_of(&self, fingerprint: Fingerprint) -> Result<Option<Type>, AskError> {
        self.ask(About::Fingerprint(fingerprint)).await
    }

    async fn ask(&self, about: About) -> Result<Option<Type>, AskError> {
        let (answer, answered) = oneshot::channel();
        let question = Question { about, answer };
        self.questions.try_send(question).map_err(|it| match it {
            TrySendError::Full(_) => AskError::Busy,
            TrySendError::Disconnected(_) => AskError::Gone,
        })?;
        answered.await.map_err(|_gone| AskError::Gone)
    }

    /// How often the bus could not be read.
    pub(crate) fn n_failed(&self) -> u64 {
        self.n_failed.load(Ordering::Relaxed)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The hook has reported a panic there.
            drop(thread.join());
        }
    }
}

/// The thread that receives.
struct Ear {
    source: Source,
    feed: Arc<Feed>,
    clock: clock::Live,
    asked: Receiver<Question>,
    stop: Arc<AtomicBool>,
    n_failed: Arc<AtomicU64>,
    /// When nothing waited to be received.
    empty_at: Time,
}

impl Ear {
    fn listen(mut self) {
        let mut events = Vec::new();
        let mut describe_at = Time::ZERO;
        while !self.stop.load(Ordering::Relaxed) {
            let polled = self.source.poll(LOOK_EVERY, MOST_AT_ONCE, &mut events);
            let now = self.clock.now();
            let is_empty = polled.is_ok() && events.len() < MOST_AT_ONCE;
            self.hear(now, &mut events);
            if is_empty {
                self.empty_at = now;
            }
            if now >= describe_at {
                self.describe();
                describe_at = now + DESCRIBE_EVERY;
            }
            self.answer();
            match polled {
                Ok(Outlook::Open) => {}
                // Buses come back by themselves; nothing is gained by asking them all the time.
                Ok(Outlook::Over) => self.clock.wait(LOOK_EVERY),
                Err(_) => {
                    self.n_failed.fetch_add(1, Ordering::Relaxed);
                    self.clock.wait(LOOK_EVERY);
                }
            }
        }
    }

    /// Passes on what came. A message is as old as it is, whatever was held up since it came: this thread, or the machine.
    fn hear(&self, now: Time, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            let stamp_ns = event.arrival.received_ns;
            let came_at = now - self.clock.waited(stamp_ns, now, self.empty_at);
            let message = Message {
                utime: came_at.utime(),
                payload: event.payload,
            };
            self.feed.hear(now, &event.channel, &message);
        }
    }

    fn describe(&self) {
        for fingerprint in self.feed.undescribed() {
            if let Some((types, id)) = self.source.catalog().find(fingerprint) {
                self.feed.describe(fingerprint, &described(types, id));
            }
        }
    }

    fn answer(&self) {
        while let Ok(Question { about, answer }) = self.asked.try_recv() {
            let catalog = self.source.catalog();
            let whole = |(types, id): (&TypeSet, TypeId)| (types.closure(id), TypeId(0));
            let found = match about {
                About::Name(name) => catalog
                    .by_name(&name)
                    .map(whole)
                    .or_else(|| self.source.type_named(&name)),
                About::Fingerprint(fingerprint) => catalog.find(fingerprint).map(whole),
            };
            // The client that asked may be gone.
            drop(answer.send(found));
        }
    }
}

/// A type as pages receive it.
pub(crate) fn described(types: &TypeSet, id: TypeId) -> Described {
    Described {
        name: types.def(id).full_name().into(),
        compact: types.closure(id).to_bytes(Docs::Keep).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_msgs::Beat;

    fn ear(bus: &Bus, clock: clock::Live) -> Ear {
        Ear {
            source: Source::of_bus(bus, SourceOptions::default()).unwrap(),
            feed: Arc::default(),
            clock,
            asked: sync_channel(1).1,
            stop: Arc::default(),
            n_failed: Arc::default(),
            empty_at: clock.now(),
        }
    }

    fn last_utime(feed: &Feed) -> i64 {
        let (_, page) = feed.join();
        let row = crate::frame::WishRow {
            pattern: "beat".to_owned(),
            type_name: None,
            max_hz: 0.0,
            past: 0,
        };
        let wishes = crate::wish::Wishes::new(vec![row]).unwrap();
        feed.subscribe(Time::ZERO, &page, wishes);
        let (frames, _) = page.take(Time::ZERO, usize::MAX);
        let message = frames.iter().find(|it| it[0] == 0x04).unwrap();
        i64::from_be_bytes(message[5..13].try_into().unwrap())
    }

    #[test]
    fn a_message_that_waited_is_as_old_as_it_is() {
        let bus = Bus::open("memq://").unwrap();
        let clock = clock::Live::new();
        let mut ear = ear(&bus, clock);
        bus.publish("beat", &Beat::default()).unwrap();
        let published_by = clock.now();
        let mut events = Vec::new();
        ear.source.poll(LOOK_EVERY, 9, &mut events).unwrap();
        // The machine slept for a minute before it was passed on.
        let minute = Duration::from_secs(60);
        ear.hear(published_by + minute, &mut events);
        let utime = last_utime(&ear.feed);
        // A little for the two clocks that are compared.
        let limit = published_by + Duration::from_secs(1);
        assert!(utime <= limit.utime(), "{utime} is after {limit:?}");
    }

    #[test]
    fn setting_the_date_makes_no_message_older_than_the_queue() {
        let bus = Bus::open("memq://").unwrap();
        let clock = clock::Live::new();
        let mut ear = ear(&bus, clock);
        bus.publish("beat", &Beat::default()).unwrap();
        let mut events = Vec::new();
        ear.source.poll(LOOK_EVERY, 9, &mut events).unwrap();
        for event in &mut events {
            event.arrival.received_ns = 0;
        }
        ear.hear(clock.now(), &mut events);
        assert!(last_utime(&ear.feed) >= ear.empty_at.utime());
    }

    #[tokio::test]
    async fn a_question_too_many_is_told_so() {
        let bus = Bus::open("memq://").unwrap();
        let (questions, asked) = sync_channel(0);
        let live = Live {
            bus,
            questions,
            n_failed: Arc::default(),
            stop: Arc::default(),
            thread: None,
        };
        assert_eq!(live.type_named("a_t").await, Err(AskError::Busy));
        drop(asked);
        assert_eq!(live.type_named("a_t").await, Err(AskError::Gone));
    }
}

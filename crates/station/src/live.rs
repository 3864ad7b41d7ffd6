//! A bus as a source: one thread hears everything on it, and knows the types.

use crate::board::{Described, Message};
use crate::feed::Feed;
use bowline_bus::Bus;
use bowline_inspect::{OpenSourceError, Outlook, Source, SourceOptions};
use bowline_node::Time;
use bowline_node::clock;
use bowline_wire::Fingerprint;
use bowline_wire::schema::{Docs, TypeId, TypeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long at most until a question is seen, and the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How many events are taken before pages are told.
const MOST_AT_ONCE: usize = 256;
/// How often it is looked whether unknown types were described.
const DESCRIBE_EVERY: Duration = Duration::from_millis(100);
/// Questions that may wait.
const MAX_QUESTIONS: usize = 32;

/// A type with all that it contains.
pub(crate) type Type = (TypeSet, TypeId);

/// A bus that is heard.
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

impl Live {
    pub(crate) fn start(
        bus: Bus,
        feed: Arc<Feed>,
        clock: clock::Live,
    ) -> Result<Self, OpenSourceError> {
        let source = Source::of_bus(&bus, SourceOptions::default())?;
        let (questions, asked) = sync_channel(MAX_QUESTIONS);
        let stop = Arc::new(AtomicBool::new(false));
        let n_failed = Arc::new(AtomicU64::new(0));
        let ear = Ear {
            source,
            feed,
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
            thread: thread.ok(),
        })
    }

    /// The type of that name, if anybody has described it.
    pub(crate) async fn type_named(&self, name: &str) -> Option<Type> {
        self.ask(About::Name(name.to_owned())).await
    }

    /// The type of such messages.
    pub(crate) async fn type_of(&self, fingerprint: Fingerprint) -> Option<Type> {
        self.ask(About::Fingerprint(fingerprint)).await
    }

    async fn ask(&self, about: About) -> Option<Type> {
        let (answer, answered) = oneshot::channel();
        self.questions.try_send(Question { about, answer }).ok()?;
        answered.await.ok()?
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
            // A panic there was told by the hook.
            drop(thread.join());
        }
    }
}

/// The thread that hears.
struct Ear {
    source: Source,
    feed: Arc<Feed>,
    clock: clock::Live,
    asked: Receiver<Question>,
    stop: Arc<AtomicBool>,
    n_failed: Arc<AtomicU64>,
}

impl Ear {
    fn listen(mut self) {
        let mut events = Vec::new();
        let mut describe_at = Time::ZERO;
        while !self.stop.load(Ordering::Relaxed) {
            let polled = self.source.poll(LOOK_EVERY, MOST_AT_ONCE, &mut events);
            let now = self.clock.now();
            for event in events.drain(..) {
                let message = Message {
                    utime: now.utime(),
                    payload: event.payload,
                };
                self.feed.hear(now, &event.channel, &message);
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
            // Whoever asked may be gone.
            drop(answer.send(found));
        }
    }
}

/// A type as pages are told.
pub(crate) fn described(types: &TypeSet, id: TypeId) -> Described {
    Described {
        name: types.def(id).full_name().into(),
        compact: types.closure(id).to_bytes(Docs::Keep).into(),
    }
}

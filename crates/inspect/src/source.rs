//! Where events come from, a bus or a log, and what is known of their types.
//!
//! In: a URL or the path of a log, and channels. Out: events with their arrival, and a [`Catalog`] that is kept up to
//! date: with what was given, what the log carries, and what publishers describe on `bowline.schema`. Descriptions are
//! requested at the start, and again while there are messages without a description, at most once a second.
//!
//! ```
//! use bowline_inspect::{Next, Source, SourceOptions};
//! use std::time::Duration;
//!
//! let mut source = Source::open("memq://", SourceOptions::default())?;
//! match source.next(Duration::from_millis(1))? {
//!     Next::Event(event) => println!("{}: {:?}", event.channel, source.catalog().decode(&event.payload)),
//!     Next::Silence => println!("nothing came"),
//!     Next::End => println!("the log is over"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::descriptions::{DescriptionCounts, Descriptions, Seen};
use crate::publishers::Publishers;
use bowline_bus::transport::{ListenError, OpenError};
use bowline_bus::{
    Arrival, BadPattern, Bus, Channel, Event, Inbox, Pattern, Queue, RecvError, SCHEMA_CHANNEL,
    SCHEMA_REQUEST_CHANNEL, SubscriptionId,
};
use bowline_format::{Catalog, LogEvent, ReadError, Reader, Schemas};
use bowline_msgs::SchemaRequest;
use bowline_wire::Fingerprint;
use bowline_wire::schema::{TypeId, TypeSet};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// What is wanted of a source.
#[derive(Debug)]
pub struct SourceOptions {
    /// Channels: names, or regular expressions that match whole names. None of them: all channels.
    pub patterns: Vec<String>,
    /// How much may wait for each pattern.
    pub queue: Queue,
    /// The types that are known before the first message.
    pub catalog: Catalog,
    /// What is done about types that are not.
    pub describing: Describing,
}

/// Whether types are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Describing {
    /// Publishers are asked, and listened to.
    Ask,
    /// Publishers are listened to.
    Listen,
    /// Types are not needed: nothing is subscribed to but the channels.
    Ignore,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            queue: Queue::default(),
            catalog: Catalog::new(Schemas::default(), bowline_msgs::SCHEMA),
            describing: Describing::Ask,
        }
    }
}

/// An opened bus or log.
#[derive(Debug)]
pub struct Source {
    origin: Origin,
    patterns: Vec<Pattern>,
    describing: Describing,
    descriptions: Descriptions,
    publishers: Publishers,
    asking: Asking,
}

#[derive(Debug)]
enum Origin {
    Bus(OpenBus),
    Log(OpenLog),
}

/// What comes next.
#[derive(Clone, Debug)]
pub enum Next {
    /// An event.
    Event(Event),
    /// Nothing came, for now.
    Silence,
    /// Nothing will ever come again: a log is over.
    End,
}

/// Whether more can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It can.
    Open,
    /// A log is over.
    Over,
}

/// How many descriptions may wait: more than any system has types.
const MAX_WAITING: usize = 8_192;
const MAX_WAITING_BYTES: usize = 16 << 20;

impl Source {
    /// Opens a bus by its URL, or a log by its path. An empty one is the bus that programs use by default.
    ///
    /// # Errors
    /// When it cannot be opened, or a pattern is malformed.
    pub fn open(place: &str, options: SourceOptions) -> Result<Self, OpenSourceError> {
        if is_log(place) {
            return Self::of_log(Reader::open(place)?, options);
        }
        Self::of_bus(&Bus::open(place)?, options)
    }

    /// Listens on a bus that is open already.
    ///
    /// # Errors
    /// When a pattern is malformed or nothing can be received.
    pub fn of_bus(bus: &Bus, options: SourceOptions) -> Result<Self, OpenSourceError> {
        let patterns = patterns(&options.patterns)?;
        let inbox = bus.inbox();
        for pattern in &patterns {
            inbox.subscribe_to(pattern.clone(), options.queue)?;
        }
        let schemas = match options.describing {
            Describing::Ask | Describing::Listen => {
                let channel = Pattern::exact(SCHEMA_CHANNEL);
                let queue = Queue::default()
                    .with_capacity(MAX_WAITING)
                    .with_max_bytes(MAX_WAITING_BYTES);
                Some(inbox.subscribe_to(channel, queue)?)
            }
            Describing::Ignore => None,
        };
        let origin = Origin::Bus(OpenBus {
            inbox,
            schemas,
            wanted_by: Vec::new(),
        });
        let source = Self::new(origin, patterns, options);
        if source.describing == Describing::Ask {
            source.ask();
        }
        Ok(source)
    }

    /// Reads a log, from where it is now, as fast as it is asked to.
    ///
    /// # Errors
    /// When a pattern is malformed.
    pub fn of_log(log: Reader, options: SourceOptions) -> Result<Self, OpenSourceError> {
        let patterns = patterns(&options.patterns)?;
        let origin = Origin::Log(OpenLog {
            reader: Box::new(log),
            channels: HashMap::new(),
        });
        Ok(Self::new(origin, patterns, options))
    }

    fn new(origin: Origin, patterns: Vec<Pattern>, options: SourceOptions) -> Self {
        Self {
            origin,
            patterns,
            describing: options.describing,
            descriptions: Descriptions::new(options.catalog),
            publishers: Publishers::default(),
            asking: Asking::default(),
        }
    }

    /// Waits for the next event that is wanted. May return early with nothing.
    ///
    /// Descriptions are taken in along the way, and handed on only where a pattern wants them; requests for
    /// descriptions, this program's own among them, only where a pattern is their very name.
    ///
    /// # Errors
    /// When the system refuses, or a log cannot be read.
    pub fn next(&mut self, timeout: Duration) -> Result<Next, ReceiveError> {
        let mut timeout = timeout;
        for _ in 0..MAX_PASSED {
            let came = match &mut self.origin {
                Origin::Bus(bus) => bus.next(timeout)?,
                Origin::Log(log) => log.next(&self.patterns, &mut self.descriptions)?,
            };
            let (event, is_wanted) = match came {
                Came::Event { event, is_wanted } => (event, is_wanted),
                Came::Nothing => return Ok(Next::Silence),
                Came::End => return Ok(Next::End),
            };
            self.take_note(&event);
            if is_wanted && self.is_handed_on(&event) {
                return Ok(Next::Event(event));
            }
            // There may be more at once, but there is no more time: it is not known how much of it has passed.
            timeout = Duration::ZERO;
        }
        Ok(Next::Silence)
    }

    /// Waits for events, and takes what is there then: at most `max_events`, which are put behind those in `events`.
    ///
    /// # Errors
    /// When the system refuses, or a log cannot be read.
    pub fn poll(
        &mut self,
        timeout: Duration,
        max_events: usize,
        events: &mut Vec<Event>,
    ) -> Result<Outlook, ReceiveError> {
        let mut timeout = timeout;
        for _ in 0..max_events {
            match self.next(timeout)? {
                Next::Event(event) => events.push(event),
                Next::Silence => return Ok(Outlook::Open),
                Next::End => return Ok(Outlook::Over),
            }
            timeout = Duration::ZERO;
        }
        Ok(Outlook::Open)
    }

    /// The types that are known now.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.descriptions.catalog()
    }

    /// The type of that name, with or without its package, whether a message of it was seen or not.
    #[must_use]
    pub fn type_named(&self, name: &str) -> Option<(TypeSet, TypeId)> {
        self.descriptions.named(name)
    }

    /// What became of the descriptions that came.
    #[must_use]
    pub fn description_counts(&self) -> DescriptionCounts {
        self.descriptions.counts()
    }

    /// The programs that announce what they publish.
    #[must_use]
    pub fn publishers(&self) -> &Publishers {
        &self.publishers
    }

    /// The bus, for its counts and senders; a log has none.
    #[must_use]
    pub fn bus(&self) -> Option<&Bus> {
        match &self.origin {
            Origin::Bus(bus) => Some(bus.inbox.bus()),
            Origin::Log(_) => None,
        }
    }

    /// The log that is read, if it is not a bus.
    pub fn log(&mut self) -> Option<&mut Reader> {
        match &mut self.origin {
            Origin::Bus(_) => None,
            Origin::Log(log) => Some(&mut log.reader),
        }
    }

    /// Where events come from, in words.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Bus(bus) => bus.inbox.bus().url().to_string(),
            Origin::Log(log) => log.reader.path().display().to_string(),
        }
    }

    fn take_note(&mut self, event: &Event) {
        if self.describing == Describing::Ignore {
            return;
        }
        let Arrival {
            sender,
            received_ns,
            ..
        } = event.arrival;
        if event.channel.as_str() == SCHEMA_CHANNEL
            && let Some(schema) = self.descriptions.hear(&event.payload)
        {
            self.publishers.hear(&schema, sender, received_ns);
        }
        let Some(front) = event.payload.first_chunk() else {
            return;
        };
        let seen = self
            .descriptions
            .see(Fingerprint(u64::from_be_bytes(*front)));
        let is_due = match seen {
            Seen::Known => false,
            Seen::Unknown => self.asking.is_due(received_ns),
            Seen::UnknownFirst => {
                self.asking.hurry();
                self.asking.is_due(received_ns)
            }
        };
        if is_due && self.describing == Describing::Ask {
            self.ask();
        }
    }

    fn ask(&self) {
        if let Origin::Bus(bus) = &self.origin {
            let for_all = SchemaRequest { fingerprint: 0 };
            let asked = bus.inbox.bus().publish(SCHEMA_REQUEST_CHANNEL, &for_all);
            // A log cannot be asked, and a hub that is not there answers nothing.
            drop(asked);
        }
    }

    fn is_handed_on(&self, event: &Event) -> bool {
        event.channel.as_str() != SCHEMA_REQUEST_CHANNEL
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.as_str() == SCHEMA_REQUEST_CHANNEL)
    }
}

/// Whether a place is a log and not a URL: a file that is there.
fn is_log(place: &str) -> bool {
    !place.contains("://") && Path::new(place).is_file()
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, BadPattern> {
    if texts.is_empty() {
        return Ok(vec![Pattern::new(".*")?]);
    }
    texts.iter().map(|text| Pattern::new(text)).collect()
}

/// What came, whether wanted or not.
enum Came {
    Event { event: Event, is_wanted: bool },
    Nothing,
    End,
}

#[derive(Debug)]
struct OpenBus {
    inbox: Inbox,
    schemas: Option<SubscriptionId>,
    /// Room for the subscriptions of an event.
    wanted_by: Vec<SubscriptionId>,
}

impl OpenBus {
    fn next(&mut self, timeout: Duration) -> Result<Came, RecvError> {
        self.wanted_by.clear();
        let next = self.inbox.recv_for_all(Some(timeout), &mut self.wanted_by);
        match next {
            Ok(Some(event)) => {
                let schemas = self.schemas;
                let is_wanted = self.wanted_by.iter().any(|id| Some(*id) != schemas);
                Ok(Came::Event { event, is_wanted })
            }
            Ok(None) => Ok(Came::Nothing),
            Err(error) if error.is_end() => Ok(Came::End),
            // A signal: the caller finds out which.
            Err(error) if error.is_interrupted() => Ok(Came::Nothing),
            Err(error) => Err(error),
        }
    }
}

#[derive(Debug)]
struct OpenLog {
    reader: Box<Reader>,
    /// Names that are shared by their events.
    channels: HashMap<String, Channel>,
}

/// How many unwanted events are passed before the caller may look up.
const MAX_PASSED: usize = 4_096;
/// How many names are shared.
const MAX_NAMES: usize = 65_536;

impl OpenLog {
    fn next(
        &mut self,
        patterns: &[Pattern],
        descriptions: &mut Descriptions,
    ) -> Result<Came, ReadError> {
        for _ in 0..MAX_PASSED {
            descriptions.learn_from(&self.reader);
            let Some(event) = self.reader.next_event()? else {
                return Ok(Came::End);
            };
            let is_wanted = patterns
                .iter()
                .any(|pattern| pattern.matches(event.channel));
            if is_wanted || event.channel == SCHEMA_CHANNEL {
                let event = own(&event, &mut self.channels);
                return Ok(Came::Event { event, is_wanted });
            }
        }
        Ok(Came::Nothing)
    }
}

/// An event of a log as if it had come over a bus when it was recorded.
fn own(event: &LogEvent<'_>, channels: &mut HashMap<String, Channel>) -> Event {
    if channels.len() >= MAX_NAMES {
        channels.clear();
    }
    let channel = match channels.get(event.channel) {
        Some(channel) => channel.clone(),
        None => {
            let channel = Channel::from(event.channel);
            channels.insert(event.channel.to_owned(), channel.clone());
            channel
        }
    };
    Event::of_log(event, channel)
}

/// When publishers are asked again. The time is that of the messages without a description.
#[derive(Debug)]
struct Asking {
    last_ns: Option<i64>,
    pause_ns: u64,
    n_hurried: u32,
}

const MIN_PAUSE_NS: u64 = 1_000_000_000;
/// Plain LCM's programs never answer, and need not be asked for ever.
const MAX_PAUSE_NS: u64 = 32 * MIN_PAUSE_NS;
/// More unknown types than a program that was forgotten has.
const MAX_HURRIED: u32 = 256;

impl Default for Asking {
    fn default() -> Self {
        Self {
            last_ns: None,
            pause_ns: MIN_PAUSE_NS,
            n_hurried: 0,
        }
    }
}

impl Asking {
    /// There is something new to ask about. What is always new is noise, and no reason for a request.
    fn hurry(&mut self) {
        if self.n_hurried < MAX_HURRIED {
            self.n_hurried += 1;
            self.pause_ns = MIN_PAUSE_NS;
        }
    }

    fn is_due(&mut self, now_ns: i64) -> bool {
        // The first of them came just after a request.
        let last_ns = *self.last_ns.get_or_insert(now_ns);
        // Clocks are set back too.
        if now_ns.abs_diff(last_ns) < self.pause_ns {
            return false;
        }
        self.last_ns = Some(now_ns);
        self.pause_ns = (self.pause_ns * 2).min(MAX_PAUSE_NS);
        true
    }
}

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSourceError {
    /// The bus cannot be opened.
    #[error(transparent)]
    Bus(#[from] OpenError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// A pattern is malformed.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// Nothing can be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// Why no event can be had.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The bus cannot be read.
    #[error(transparent)]
    Bus(#[from] RecvError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] ReadError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_are_asked_at_most_once_a_second_and_less_and_less() {
        let mut asking = Asking::default();
        let tenth_ns = 100_000_000;
        let asked: Vec<i64> = (0..1_000)
            .filter(|tenth| asking.is_due(tenth * tenth_ns))
            .collect();
        assert_eq!(asked, [10, 30, 70, 150, 310, 630, 950]);
        asking.hurry();
        assert!(!asking.is_due(955 * tenth_ns));
        assert!(asking.is_due(960 * tenth_ns));
        let asked = (961..10_000).filter(|tenth| {
            asking.hurry();
            asking.is_due(tenth * tenth_ns)
        });
        assert!(asked.count() < 60, "noise is not asked about for ever");
    }

    #[test]
    fn a_place_with_a_scheme_is_never_a_log() {
        assert!(!is_log("file:///dev/null"));
        assert!(!is_log(""));
        assert!(!is_log("/missing"));
        assert!(is_log(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")));
    }
}

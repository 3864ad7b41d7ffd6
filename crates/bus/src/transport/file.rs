//! A log as a bus: what was recorded is received again, in its own time; what is published is recorded.
//!
//! LCM's event logs and MCAP are distinguished by their first bytes when they are read, and by their names when they are
//! written: `.mcap` is MCAP. Reader, writer and the pace of playing are those of `bowline-format`, as in every other
//! program of ours. MCAP describes its types elsewhere than in events: they are received on `bowline.schema`, each
//! before its first message.
//!
//! A log can wait, so it does: an event is read when a thread waits for one, and where the bus reads for a descriptor or
//! a stream, a full queue holds it up. Only where one thread reads for another that is slower does the other's queue
//! decide: [`Queue::block`](crate::Queue::block) makes the log wait there too.
//!
//! Playing starts when a thread first waits for a message, so that subscriptions made before that miss nothing.

mod examine;

use crate::clock::{self, Wait};
use crate::counts::NetworkCounts;
use crate::diagnosis::Check;
use crate::event::{Arrival, Event, Sender};
use crate::router::{Body, Inlet, Interest};
use crate::schemes::{Capability, Scheme, UrlOption};
use crate::sys;
use crate::transport::{
    Buffered, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective, SendError,
    Transport,
};
use crate::url::{BadUrl, Options, Url};
use bowline_format::{
    Format, LogEvent, OwnedEvent, Rate, Reader, SCHEMA_CHANNEL, Timeline, WriteError, Writer,
    WriterOptions,
};
use bowline_wire::{Channel, Fingerprint, Message as _};
use bytes::Bytes;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many types are remembered as described. Others are described again.
const MAX_DESCRIBED: usize = 65_536;
/// How many events without a subscriber are passed before the reader may look up.
const MAX_PASSED: usize = 256;

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "file",
    summary: "a log, played or written",
    example: "file:///path/to/log",
    options: &[
        UrlOption {
            name: "mode",
            sample: "r",
            default: "r",
            meaning: "r plays, w writes a new log, which a name that ends in .mcap makes MCAP; a goes on with one of LCM's",
        },
        UrlOption {
            name: "speed",
            sample: "2.0",
            default: "1.0",
            meaning: "how many times as fast to play; 0 is as fast as the reader reads",
        },
        UrlOption {
            name: "start_timestamp",
            sample: "1700000000000000",
            default: "the first event",
            meaning: "from when on to play, in microseconds since the epoch",
        },
        UrlOption {
            name: "time",
            sample: "log",
            default: "wall",
            meaning: "when events count as received: when they are played (wall) or were recorded (log)",
        },
    ],
    capabilities: &[Capability::Log],
    check,
    open,
    examine: examine::examine,
    checks: &[Check {
        name: "log",
        look: examine::log,
    }],
};

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    settings_of(url).map(|_| ())
}

/// Opens a log to play it or to write it.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    let (mode, settings) = settings_of(url)?;
    let path = Path::new(url.address());
    // Its index is made by the first reader that needs it: it is unknown when the last message was published.
    let options = WriterOptions {
        without_index: true,
        ..WriterOptions::default()
    };
    let writer = match mode {
        Mode::Play => return Ok(Arc::new(Player::open(path, &settings)?)),
        Mode::Write => Writer::create(path, options),
        Mode::Append => Writer::append(path, options),
    };
    Ok(Arc::new(Recorder {
        writer: Mutex::new(writer.map_err(|error| {
            let kind = error.kind().unwrap_or(io::ErrorKind::InvalidInput);
            OpenError::system("open a log")(io::Error::new(kind, error))
        })?),
    }))
}

/// What is done with a log.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Play,
    Write,
    Append,
}

fn settings_of(url: &Url) -> Result<(Mode, Settings), BadUrl> {
    let mut options = url.options();
    if url.address().is_empty() {
        return Err(options.bad("expected a path, as in file:///path/to/log"));
    }
    let mode = options.text("mode").unwrap_or("r");
    let settings = Settings::take(&mut options)?;
    let mode = match mode {
        "r" => Mode::Play,
        "w" => Mode::Write,
        "a" => Mode::Append,
        _ => return Err(options.bad(format!("mode= expects r, w or a, found {mode:?}"))),
    };
    options.finish()?;
    Ok((mode, settings))
}

/// How a log is played.
#[derive(Clone, Copy, Debug)]
struct Settings {
    rate: Rate,
    start: Option<i64>,
    has_log_time: bool,
}

impl Settings {
    fn take(options: &mut Options<'_>) -> Result<Self, BadUrl> {
        let speed: f64 = options.parse("speed", "a number")?.unwrap_or(1.0);
        if !speed.is_finite() {
            return Err(options.bad(format!("speed= expects a number, found {speed}")));
        }
        let start = options.parse(
            "start_timestamp",
            "microseconds since the epoch, as a whole number",
        )?;
        let has_log_time = match options.text("time") {
            Some("log") => true,
            Some("wall") | None => false,
            Some(other) => {
                let what = format!("time= expects log or wall, found {other:?}");
                return Err(options.bad(what));
            }
        };
        Ok(Self {
            rate: Rate::new(speed),
            start,
            has_log_time,
        })
    }
}

/// Plays a log.
#[derive(Debug)]
struct Player {
    has_log_time: bool,
    /// Whether there are subscriptions: without any, nothing is played.
    is_wanted: AtomicBool,
    /// Only the one thread that receives takes it.
    tape: Mutex<Tape>,
    n_events: AtomicU64,
    n_damaged: AtomicU64,
}

#[derive(Debug)]
struct Tape {
    reader: Reader,
    timeline: Timeline,
    started: Instant,
    /// Read, but not yet delivered.
    next: OwnedEvent,
    has_next: bool,
    /// Types that MCAP describes, and that were described to the bus.
    described: HashSet<Fingerprint>,
}

impl Player {
    fn open(path: &Path, settings: &Settings) -> Result<Self, OpenError> {
        let open = || {
            let mut reader = Reader::open(path)?;
            if let Some(start) = settings.start {
                reader.seek_to(start)?;
            }
            Ok::<_, io::Error>(reader)
        };
        let reader = open().map_err(OpenError::system("open a log"))?;
        Ok(Self {
            has_log_time: settings.has_log_time,
            is_wanted: AtomicBool::new(false),
            tape: Mutex::new(Tape {
                reader,
                timeline: Timeline::new(settings.rate, true),
                started: clock::monotonic(),
                next: OwnedEvent::default(),
                has_next: false,
                described: HashSet::new(),
            }),
            n_events: AtomicU64::new(0),
            n_damaged: AtomicU64::new(0),
        })
    }

    /// Whether there is an event that is due before the waiting has to end. Waits for it.
    fn is_due(&self, tape: &mut Tape, wait: &Wait<'_>) -> Result<bool, ReceiveError> {
        if !tape.has_next {
            self.read(tape)?;
        }
        let ahead = tape.timeline.due_placed();
        let ahead = ahead.map(|due| due.saturating_sub(tape.now()));
        let Some(ahead) = ahead.filter(|ahead| !ahead.is_zero()) else {
            return Ok(true);
        };
        let timeout = wait.left().map_or(ahead, |left| left.min(ahead));
        if !timeout.is_zero() {
            sys::poll([wait.interrupt()], Some(timeout))?;
        }
        Ok(false)
    }

    fn read(&self, tape: &mut Tape) -> Result<(), ReceiveError> {
        let event = tape.reader.next_event().map_err(io::Error::from)?;
        if let Some(event) = event {
            tape.next.set(event);
        }
        let is_end = event.is_none();
        let n_damaged = tape.reader.damages().n_places();
        self.n_damaged.store(n_damaged, Ordering::Relaxed);
        if is_end {
            return Err(ReceiveError::End);
        }
        self.n_events.fetch_add(1, Ordering::Relaxed);
        tape.has_next = true;
        let now = tape.now();
        tape.timeline.place(tape.next.utime, None, now);
        Ok(())
    }

    fn deliver(&self, event: &LogEvent<'_>, inlet: &mut Inlet, wait: &Wait<'_>) -> bool {
        let received_ns = if self.has_log_time {
            received_ns(event)
        } else {
            clock::wall_ns()
        };
        let arrival = arrival(event, received_ns);
        let body = Body::Borrowed(event.payload);
        if wait.is_for_others() {
            inlet.deliver_without_loss(event.channel, body, arrival)
        } else {
            inlet.deliver_patiently(event.channel, body, arrival)
        }
    }
}

impl Tape {
    fn now(&self) -> Duration {
        clock::monotonic().saturating_duration_since(self.started)
    }

    /// The description of the next event's type, if there is one that is not among the events.
    fn description(&mut self) -> Option<Vec<u8>> {
        let fingerprint = self.next.as_event().fingerprint()?;
        if self.reader.format() == Format::Lcm || self.described.contains(&fingerprint) {
            return None;
        }
        if self.described.len() < MAX_DESCRIBED {
            self.described.insert(fingerprint);
        }
        let schema = self.reader.description(fingerprint)?;
        schema.encode().ok()
    }
}

impl Transport for Player {
    fn send(&self, _: &[Outgoing<'_>]) -> Result<(), SendError> {
        Err(SendError::ReceiveOnly {
            what: "a log that is being read",
        })
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        if !self.is_wanted.load(Ordering::Acquire) {
            // A change of subscriptions interrupts this.
            return wait.idle();
        }
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_PASSED {
            if !self.is_due(&mut tape, wait)? {
                return Ok(());
            }
            let mut is_delivered = false;
            if let Some(payload) = tape.description() {
                let described = LogEvent {
                    channel: SCHEMA_CHANNEL,
                    payload: &payload,
                    ..tape.next.as_event()
                };
                is_delivered = self.deliver(&described, inlet, wait);
            }
            tape.has_next = false;
            is_delivered |= self.deliver(&tape.next.as_event(), inlet, wait);
            if is_delivered {
                return Ok(());
            }
        }
        Ok(())
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Some(self)
    }

    fn buffered(&self) -> Option<&dyn Buffered> {
        Some(self)
    }

    fn observed(&self) -> Option<&dyn Observed> {
        Some(self)
    }
}

impl Selective for Player {
    fn want(&self, interest: &Interest, _: &mut Inlet) -> Result<(), ListenError> {
        self.is_wanted
            .store(!interest.is_empty(), Ordering::Release);
        Ok(())
    }
}

/// A log is no buffer that runs over: what is not read now can be read later.
impl Buffered for Player {
    fn holds_unread(&self) -> bool {
        false
    }

    fn is_pressed(&self) -> bool {
        false
    }
}

impl Observed for Player {
    fn counts(&self) -> NetworkCounts {
        NetworkCounts {
            datagrams: self.n_events.load(Ordering::Relaxed),
            malformed: self.n_damaged.load(Ordering::Relaxed),
            ..NetworkCounts::default()
        }
    }
}

/// Writes what is published.
#[derive(Debug)]
struct Recorder {
    writer: Mutex<Writer>,
}

impl Transport for Recorder {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = clock::wall_ns();
        for message in messages {
            let written = writer.write(LogEvent {
                number: 0,
                utime: now_ns.div_euclid(1_000),
                nanos: u16::try_from(now_ns.rem_euclid(1_000)).unwrap_or(0),
                channel: message.channel,
                payload: message.payload,
            });
            written.map_err(|error| not_written(error, message.payload.len()))?;
        }
        // The publisher learns whether it failed, and a crash of this process loses nothing.
        writer.flush().map_err(|error| not_written(error, 0))
    }

    /// There is nothing to receive, as with LCM: a program that publishes and subscribes can be pointed at a log.
    fn receive(&self, _: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        wait.idle()
    }

    fn observed(&self) -> Option<&dyn Observed> {
        Some(self)
    }
}

impl Observed for Recorder {
    fn counts(&self) -> NetworkCounts {
        NetworkCounts::default()
    }

    fn trouble(&self) -> Option<String> {
        Some("the log is being written: nothing can be received from it".to_owned())
    }
}

impl Drop for Recorder {
    /// MCAP ends with a directory, without which its readers take longer.
    fn drop(&mut self) {
        let writer = self
            .writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if writer.format() == Format::Mcap {
            // Everything that was published is in the file already, and it is read without its end too.
            drop(writer.finish());
        }
    }
}

/// Channels were checked before; what remains is a payload that is too large, or the system.
fn not_written(error: WriteError, size: usize) -> SendError {
    match error {
        WriteError::System { source, .. } => SendError::System(source),
        WriteError::Event(_) => SendError::TooLarge {
            size,
            limit: bowline_wire::eventlog::MAX_PAYLOAD_LEN,
        },
        WriteError::Encode(_) | WriteError::AppendMcap { .. } => {
            SendError::System(io::Error::other(error))
        }
    }
}

impl<'a> From<&'a Event> for LogEvent<'a> {
    /// What came over a bus, at the time when it came.
    fn from(event: &'a Event) -> Self {
        let received_ns = event.arrival.received_ns;
        Self {
            number: 0,
            utime: received_ns.div_euclid(1_000),
            nanos: u16::try_from(received_ns.rem_euclid(1_000)).unwrap_or(0),
            channel: event.channel.as_str(),
            payload: &event.payload,
        }
    }
}

impl Event {
    /// An event of a log as if it had come over a bus when it was recorded. `channel` is the event's own, to be shared.
    #[must_use]
    pub fn of_log(event: &LogEvent<'_>, channel: Channel) -> Self {
        Self {
            channel,
            payload: Bytes::copy_from_slice(event.payload),
            arrival: arrival(event, received_ns(event)),
        }
    }
}

fn received_ns(event: &LogEvent<'_>) -> i64 {
    let ns = event.utime.saturating_mul(1_000);
    ns.saturating_add(event.nanos.into())
}

fn arrival(event: &LogEvent<'_>, received_ns: i64) -> Arrival {
    Arrival {
        received_ns,
        sender: Sender::Log,
        sequence: u32::try_from(event.number & i64::from(u32::MAX)).ok(),
    }
}

//! A log as a bus: what was recorded is received again, in its own time; what is published is recorded.
//!
//! A log can wait, so it does: one event is read when somebody wants one, and where the bus reads on somebody's behalf
//! (a descriptor, a stream) a full queue holds it up. Only where one thread plays for another that is slower does the
//! other's queue decide: [`Queue::block`](crate::Queue::block) makes the log wait there too.
//!
//! Playing starts when somebody first waits for a message, so that subscriptions made before that miss nothing. Times
//! between events are kept against one point in time, so that lateness does not add up.

mod examine;

use crate::clock::{self, Wait};
use crate::counts::NetworkCounts;
use crate::diagnosis::Check;
use crate::event::{Arrival, Sender};
use crate::eventlog::{LogEvent, OpenLogError, Reader, WriteLogError, Writer};
use crate::router::{Body, Inlet, Interest};
use crate::schemes::{Capability, Scheme, UrlOption};
use crate::sys;
use crate::transport::{
    Buffered, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective, SendError,
    Transport,
};
use crate::url::{BadUrl, Options, Url};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many events that nobody wants are passed before the reader may look up.
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
            meaning: "r plays, w writes a new log, a goes on with one",
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
    let writer = match mode {
        Mode::Play => return Ok(Arc::new(Player::open(path, &settings)?)),
        Mode::Write => Writer::create(path),
        Mode::Append => Writer::append(path),
    };
    Ok(Arc::new(Recorder {
        writer: Mutex::new(writer.map_err(refused)?),
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

fn refused(error: OpenLogError) -> OpenError {
    OpenError::System {
        doing: "open a log".to_owned(),
        source: io::Error::new(error.kind(), error),
    }
}

/// How a log is played.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// `None` is as fast as the reader reads.
    speed: Option<f64>,
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
            speed: Some(speed).filter(|speed| *speed > 0.0),
            start,
            has_log_time,
        })
    }
}

/// Plays a log.
#[derive(Debug)]
struct Player {
    settings: Settings,
    /// Whether anybody subscribes: for nobody, nothing is played.
    is_wanted: AtomicBool,
    /// Only the one thread that receives takes it.
    tape: Mutex<Tape>,
    n_events: AtomicU64,
    n_damaged: AtomicU64,
}

#[derive(Debug)]
struct Tape {
    reader: Reader,
    /// Read, but not yet due.
    next: Option<LogEvent>,
    /// When the first event was due, and when it was recorded.
    anchor: Option<(Instant, i64)>,
}

impl Player {
    fn open(path: &Path, settings: &Settings) -> Result<Self, OpenError> {
        let mut reader = Reader::open(path).map_err(refused)?;
        if let Some(start) = settings.start {
            let sought = reader.seek_to(start).map_err(io::Error::from);
            sought.map_err(OpenError::system("seek in a log"))?;
        }
        Ok(Self {
            settings: *settings,
            is_wanted: AtomicBool::new(false),
            tape: Mutex::new(Tape {
                reader,
                next: None,
                anchor: None,
            }),
            n_events: AtomicU64::new(0),
            n_damaged: AtomicU64::new(0),
        })
    }

    /// The next event if it is due before the waiting has to end.
    fn due(&self, tape: &mut Tape, wait: &Wait<'_>) -> Result<Option<LogEvent>, ReceiveError> {
        let event = match tape.next.take() {
            Some(event) => event,
            None => self.read(tape)?,
        };
        let due = tape.due(&event, self.settings.speed);
        let ahead = due.map(|due| due.saturating_duration_since(clock::monotonic()));
        let ahead = ahead.unwrap_or_default();
        if ahead.is_zero() {
            return Ok(Some(event));
        }
        tape.next = Some(event);
        let timeout = wait.left().map_or(ahead, |left| left.min(ahead));
        if !timeout.is_zero() {
            sys::poll([wait.interrupt()], Some(timeout))?;
        }
        Ok(None)
    }

    fn read(&self, tape: &mut Tape) -> Result<LogEvent, ReceiveError> {
        let damaged_before = tape.reader.damaged_bytes();
        let event = tape.reader.next_event().map_err(io::Error::from)?;
        if tape.reader.damaged_bytes() > damaged_before {
            self.n_damaged.fetch_add(1, Ordering::Relaxed);
        }
        let event = event.ok_or(ReceiveError::End)?;
        self.n_events.fetch_add(1, Ordering::Relaxed);
        Ok(event)
    }

    fn arrival(&self, event: &LogEvent) -> Arrival {
        let received_ns = if self.settings.has_log_time {
            event.utime.saturating_mul(1_000)
        } else {
            clock::wall_ns()
        };
        Arrival {
            received_ns,
            sender: Sender::Log,
            sequence: u32::try_from(event.number & i64::from(u32::MAX)).ok(),
        }
    }
}

impl Tape {
    /// When an event is due; `None` is at once.
    fn due(&mut self, event: &LogEvent, speed: Option<f64>) -> Option<Instant> {
        let speed = speed?;
        let (start, start_utime) = *self
            .anchor
            .get_or_insert_with(|| (clock::monotonic(), event.utime));
        let ahead_us = event.utime.saturating_sub(start_utime);
        // Times before the start are due at once.
        let ahead = Duration::from_micros(u64::try_from(ahead_us).ok()?);
        let ahead = Duration::try_from_secs_f64(ahead.as_secs_f64() / speed);
        // Later than the clock can count is a thousand years from now.
        let ahead = ahead.unwrap_or(Duration::from_secs(1_000 * 365 * 24 * 60 * 60));
        start.checked_add(ahead)
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
            let Some(event) = self.due(&mut tape, wait)? else {
                return Ok(());
            };
            let arrival = self.arrival(&event);
            let body = Body::Owned(event.payload);
            let is_delivered = if wait.is_for_others() {
                inlet.deliver_without_loss(&event.channel, body, arrival)
            } else {
                inlet.deliver_patiently(&event.channel, body, arrival)
            };
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
        for message in messages {
            let utime = clock::wall_ns().div_euclid(1_000);
            let written = writer.write(utime, message.channel, message.payload);
            written.map_err(|error| not_written(error, message))?;
        }
        // The publisher is told if it failed, and a crash of ours loses nothing.
        writer.flush().map_err(|error| match error {
            WriteLogError::System { source, .. } => SendError::System(source),
            WriteLogError::Record(error) => SendError::System(io::Error::other(error)),
        })
    }

    /// Nothing ever comes, as with LCM: a program that publishes and subscribes can be pointed at a log.
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

/// Channels were checked before; what remains is a payload that is too large, or the system.
fn not_written(error: WriteLogError, message: &Outgoing<'_>) -> SendError {
    match error {
        WriteLogError::System { source, .. } => SendError::System(source),
        WriteLogError::Record(_) => SendError::TooLarge {
            size: message.payload.len(),
            limit: bowline_wire::eventlog::MAX_PAYLOAD_LEN,
        },
    }
}

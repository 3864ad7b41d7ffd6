//! What the verbs share that listen to a bus or read a log: where, for how long, and what ends them.

use crate::input::{self, Usage};
use crate::output;
use crate::verbs::doctor;
use anyhow::Context as _;
use bowline_bus::{Capability, Event, Queue};
use bowline_inspect::{Describing, Next, OpenSourceError, Source, SourceOptions};
use bowline_log::Catalog;
use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How a place is explained, for the end of a help text.
pub(crate) const PLACES_HELP: &str = "\
URL is that of a bus, or the path of a log: -l day.log reads all of it at once, with the times of
the log; -l 'file:///path/day.log?speed=1' plays it. Ctrl-C ends with what there is so far.";

// Where events come from. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Place {
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the bus is, or the path of a log; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    pub(crate) url: Option<String>,
}

// When it is enough. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
pub(crate) struct Limits {
    /// Stop after so many messages
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Stop after this time, as in 500ms or 1m; seconds without a unit. In a log, of its own time
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    pub(crate) period: Option<Duration>,
}

/// How often those who wait look whether it is enough.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A source, until it is enough.
pub(crate) struct Listener {
    pub(crate) source: Source,
    interrupt: Interrupt,
    started: Instant,
    period: Option<Duration>,
    /// When the first event of a log was recorded.
    first_ns: Option<i64>,
    last_ns: i64,
}

/// What comes next.
pub(crate) enum Heard {
    Event(Event),
    /// A moment has passed.
    Silence,
    /// It was enough, or there is no more.
    Over,
}

impl Listener {
    /// Opens a place. To be called before there are threads.
    pub(crate) fn open(
        place: Option<&str>,
        patterns: &[String],
        period: Option<Duration>,
        catalog: Option<Catalog>,
    ) -> anyhow::Result<Self> {
        let place = place.unwrap_or_default();
        let interrupt = Interrupt::new()?;
        let mut options = SourceOptions {
            patterns: patterns.to_vec(),
            queue: Queue::default(),
            describing: Describing::Ignore,
            ..SourceOptions::default()
        };
        if let Some(catalog) = catalog {
            options.catalog = catalog;
            options.describing = Describing::Ask;
        }
        let source = Source::open(place, options).map_err(|error| refused(error, place))?;
        if source.bus().is_some() {
            hint_at_logs(patterns);
        }
        Ok(Self {
            source,
            interrupt,
            started: now(),
            period,
            first_ns: None,
            last_ns: 0,
        })
    }

    /// Whether an end is requested.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Ends after this time whatever else was set.
    pub(crate) fn end_after(&mut self, period: Duration) {
        self.period = Some(period);
    }

    /// Waits a moment for the next event.
    pub(crate) fn next(&mut self) -> anyhow::Result<Heard> {
        if self.interrupt.is_set() {
            return Ok(Heard::Over);
        }
        let mut patience = LOOK_EVERY;
        if let (Some(period), Some(_)) = (self.period, self.source.bus()) {
            let left = period.saturating_sub(self.started.elapsed());
            if left.is_zero() {
                return Ok(Heard::Over);
            }
            patience = patience.min(left);
        }
        Ok(match self.source.next(patience)? {
            Next::Event(event) if self.is_too_late(&event) => Heard::Over,
            Next::Event(event) => Heard::Event(event),
            Next::Silence => Heard::Silence,
            Next::End => Heard::Over,
        })
    }

    /// Whether an event of a log is after the time that is wanted.
    fn is_too_late(&mut self, event: &Event) -> bool {
        let received_ns = event.arrival.received_ns;
        let first_ns = *self.first_ns.get_or_insert(received_ns);
        let since = Duration::from_nanos(u64::try_from(received_ns - first_ns).unwrap_or(0));
        let is_log = self.source.bus().is_none();
        let is_late = is_log && self.period.is_some_and(|period| since > period);
        if !is_late {
            self.last_ns = self.last_ns.max(received_ns);
        }
        is_late
    }

    /// For how long was listened, or how long a log is as far as it was read.
    pub(crate) fn elapsed(&self) -> Duration {
        if self.source.bus().is_some() {
            return self.started.elapsed();
        }
        let since_ns = self
            .last_ns
            .saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        Duration::from_nanos(u64::try_from(since_ns).unwrap_or(0))
    }

    /// Why nothing was received, and what may help.
    pub(crate) fn why_silent(&self) -> String {
        let Some(bus) = self.source.bus() else {
            return "the log has no such events".to_owned();
        };
        if let Some(trouble) = bus.trouble() {
            return trouble;
        }
        if bus.has(Capability::InProcess) {
            return format!(
                "{} stays within one process, so no other program can be seen there",
                bus.url().scheme()
            );
        }
        let url = doctor::quote(&bus.url().to_string());
        format!("is there a publisher? `bowline doctor {url}` checks whether messages can arrive")
    }

    /// Notes on standard error what keeps the source from being all of it: damage of a log.
    pub(crate) fn note_damage(&mut self) -> bool {
        let Some(log) = self.source.log() else {
            return false;
        };
        let damages = log.damages();
        crate::verbs::log::note_damage(damages);
        damages.is_lossy()
    }
}

fn refused(error: OpenSourceError, place: &str) -> anyhow::Error {
    match error {
        OpenSourceError::Pattern(error) => Usage(error.to_string()).into(),
        OpenSourceError::Bus(error) if !place.is_empty() && !place.contains(':') => Usage(format!(
            "expected a URL or the path of a log, found {place:?}, which is no file: {error}"
        ))
        .into(),
        OpenSourceError::Bus(error) => error.into(),
        OpenSourceError::Log(error) => error.into(),
        OpenSourceError::Listen(error) => error.into(),
    }
}

/// A log where channels are expected would mean waiting for ever.
fn hint_at_logs(patterns: &[String]) {
    for file in patterns.iter().filter(|it| Path::new(it).is_file()) {
        let file = doctor::quote(file);
        output::note(&format!(
            "listening for channels called {file}; to read the file of that name: -l {file}"
        ));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a listener's period is one of the real clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Set by ^C, or by a signal that ends the program.
pub(crate) struct Interrupt(Arc<Signalled>);

#[derive(Default)]
struct Signalled {
    is_set: AtomicBool,
    lock: Mutex<()>,
    condition: Condvar,
}

impl Interrupt {
    /// To be called before there are threads, so that all of them leave the signals to this one.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block().context("cannot wait for signals")?;
        let signalled = Arc::<Signalled>::default();
        let own = Arc::clone(&signalled);
        let waiter = thread::Builder::new().name("signals".to_owned());
        waiter
            .spawn(move || wait_for(signals, &own))
            .context("cannot start a thread")?;
        Ok(Self(signalled))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }

    /// Waits for so long, or until it is set; returns whether it is.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let Signalled {
            lock, condition, ..
        } = &*self.0;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(condition.wait_timeout_while(guard, timeout, |()| !self.is_set()));
        self.is_set()
    }
}

/// The first signal asks for an end; the second ends at once.
#[expect(clippy::exit, reason = "whoever presses ^C twice wants no summary")]
fn wait_for(signals: SigSet, signalled: &Signalled) {
    for n_before in 0..2 {
        if signals.wait().is_err() {
            return;
        }
        if n_before == 1 {
            std::process::exit(130);
        }
        let guard = signalled.lock.lock();
        signalled.is_set.store(true, Ordering::Release);
        drop(guard);
        signalled.condition.notify_all();
    }
}

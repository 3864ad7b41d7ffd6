//! Where the spy's events come from: a bus as they come, or a log in its own time.

use bowline_bus::{Bus, Event, wall_ns};
use bowline_inspect::{Next, Outlook, ReceiveError, Source};
use bowline_log::Catalog;
use std::time::{Duration, Instant};

/// How long an idle bus is read before keys are looked for.
const PATIENCE: Duration = Duration::from_millis(10);
/// How many events are taken before keys are looked for.
const MAX_EVENTS: usize = 4_096;
const SPEEDS: [f64; 13] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0,
];
const REAL_TIME: usize = 5;

/// Events, in time.
pub(crate) struct Feed {
    source: Source,
    pace: Option<Pace>,
    /// Read, but not due yet.
    held: Option<Event>,
    is_over: bool,
}

/// How a log is played.
struct Pace {
    /// The time in the log at `since`, in nanoseconds since the epoch; unknown before the first event.
    log_ns: Option<i64>,
    since: Instant,
    speed: usize,
    is_paused: bool,
}

impl Feed {
    pub(crate) fn new(mut source: Source, now: Instant) -> Self {
        let pace = source.log().is_some().then_some(Pace {
            log_ns: None,
            since: now,
            speed: REAL_TIME,
            is_paused: false,
        });
        Self {
            source,
            pace,
            held: None,
            is_over: false,
        }
    }

    /// Takes what is due. On a bus it waits a moment for that.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        events: &mut Vec<Event>,
    ) -> Result<(), ReceiveError> {
        if self.pace.is_some() {
            return self.read_log(now, events);
        }
        if self.is_over {
            return Ok(());
        }
        let outlook = self.source.poll(PATIENCE, MAX_EVENTS, events)?;
        self.is_over = outlook == Outlook::Over;
        Ok(())
    }

    fn read_log(&mut self, now: Instant, events: &mut Vec<Event>) -> Result<(), ReceiveError> {
        for _ in 0..MAX_EVENTS {
            if self.held.is_none() && !self.is_over {
                match self.source.next(Duration::ZERO)? {
                    Next::Event(event) => self.held = Some(event),
                    Next::Silence => {}
                    Next::End => self.is_over = true,
                }
            }
            let (Some(event), Some(pace)) = (&self.held, &mut self.pace) else {
                return Ok(());
            };
            let at_ns = event.arrival.received_ns;
            if at_ns > pace.begin(at_ns, now) {
                return Ok(());
            }
            events.extend(self.held.take());
        }
        Ok(())
    }

    /// The present, in nanoseconds since the epoch: that of the world, or of the log.
    pub(crate) fn now_ns(&self, now: Instant) -> i64 {
        let pace = self.pace.as_ref();
        pace.map_or_else(wall_ns, |pace| pace.now_ns(now).unwrap_or(0))
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.source.catalog()
    }

    pub(crate) fn bus(&self) -> Option<&Bus> {
        self.source.bus()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn is_log(&self) -> bool {
        self.pace.is_some()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over && self.held.is_none()
    }

    /// How the log is played, in words.
    pub(crate) fn state(&self) -> Option<String> {
        let pace = self.pace.as_ref()?;
        let state = match (self.is_over(), pace.is_paused) {
            (true, _) => "at the end",
            (false, true) => "paused",
            (false, false) => "playing",
        };
        Some(format!("{state} x{}", pace.factor()))
    }

    pub(crate) fn set_paused(&mut self, is_paused: bool, now: Instant) {
        if let Some(pace) = &mut self.pace {
            pace.rebase(now);
            pace.is_paused = is_paused;
        }
    }

    pub(crate) fn change_speed(&mut self, is_faster: bool, now: Instant) {
        if let Some(pace) = &mut self.pace {
            pace.rebase(now);
            pace.speed = if is_faster {
                (pace.speed + 1).min(SPEEDS.len() - 1)
            } else {
                pace.speed.saturating_sub(1)
            };
        }
    }

    /// Goes on from another time in the log. Returns whether that is possible.
    pub(crate) fn seek_by(&mut self, by_ns: i64, now: Instant) -> Result<bool, ReceiveError> {
        let Some(pace) = &mut self.pace else {
            return Ok(false);
        };
        let Some(log) = self.source.log() else {
            return Ok(false);
        };
        let mut to_ns = pace.now_ns(now).unwrap_or(0).saturating_add(by_ns);
        if let Some((first, last)) = log.summary().and_then(|summary| summary.span) {
            to_ns = to_ns.clamp(first.saturating_mul(1_000), last.saturating_mul(1_000));
        }
        log.seek_to(to_ns.div_euclid(1_000))?;
        pace.log_ns = Some(to_ns);
        pace.since = now;
        self.held = None;
        self.is_over = false;
        Ok(true)
    }
}

impl Pace {
    /// The time in the log; the first event begins it.
    fn begin(&mut self, first_ns: i64, now: Instant) -> i64 {
        if self.log_ns.is_none() {
            self.log_ns = Some(first_ns);
            self.since = now;
        }
        self.now_ns(now).unwrap_or(first_ns)
    }

    fn now_ns(&self, now: Instant) -> Option<i64> {
        if self.is_paused {
            return self.log_ns;
        }
        let elapsed = now.saturating_duration_since(self.since).as_secs_f64();
        #[expect(clippy::cast_possible_truncation, reason = "far within years")]
        let passed_ns = (elapsed * self.factor() * 1e9) as i64;
        self.log_ns.map(|log_ns| log_ns.saturating_add(passed_ns))
    }

    fn rebase(&mut self, now: Instant) {
        self.log_ns = self.now_ns(now);
        self.since = now;
    }

    fn factor(&self) -> f64 {
        SPEEDS.get(self.speed).copied().unwrap_or(1.0)
    }
}

//! A robot in this process, on the time of its events: simulated, or a log's.

use super::component::stop_at_signal;
use crate::{Outcome, output};
use anyhow::{Context as _, bail};
use bowline_bus::Bus;
use bowline_log::{Reader, Writer, WriterOptions};
use bowline_node::clock;
use bowline_node::engine::{Arrival, Engine, Sent, Sink};
use bowline_node::host::{Lockstep, Logged, Scope, Silence, Source as Events, Tape};
use bowline_node::robot::{Program, Robot, Source};
use bowline_node::{Time, service};
use nix::sys::signalfd::SignalFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// When simulated time begins, unless somebody says otherwise: a date that nobody takes for today's.
const SIMULATED_START: Time = Time::from_utime(1_000_000_000_000_000);

/// What is asked for.
#[derive(Debug)]
pub(super) struct Order {
    /// The log, if that is the source.
    pub(super) log: Option<PathBuf>,
    /// Seconds of simulated time in a second; without it as fast as the machine allows.
    pub(super) rate: Option<f64>,
    /// For how long, in simulated time.
    pub(super) duration: Option<Duration>,
    /// Where everything that happens is written to.
    pub(super) record: Option<PathBuf>,
    pub(super) threads: usize,
}

impl Order {
    fn source(&self) -> Source {
        if self.log.is_some() {
            Source::Log
        } else {
            Source::Sim
        }
    }
}

pub(super) fn run(robot: &Robot, order: &Order, signals: SignalFd) -> anyhow::Result<Outcome> {
    let engine = engine(robot, order.source())?.with_threads(order.threads)?;
    let mut sinks = Sinks {
        log: order.record.as_deref().map(begin_log).transpose()?,
        bus: order
            .rate
            .map(|_| open_bus(&engine, &robot.url()))
            .transpose()?,
    };
    let stop = stop_at_signal(signals)?;
    match &order.log {
        Some(path) => {
            let tape = Tape::new(Reader::open(path)?, engine.wanted().cloned());
            let mut lockstep = Lockstep::start(engine, tape, Time::MAX, &mut sinks)?;
            go_on(&mut lockstep, &mut sinks, order, &stop)?;
        }
        None => {
            let mut lockstep = Lockstep::start(engine, Silence, SIMULATED_START, &mut sinks)?;
            go_on(&mut lockstep, &mut sinks, order, &stop)?;
        }
    }
    if let Some(log) = sinks.log {
        log.finish()?;
    }
    Ok(Outcome::Fine)
}

/// The components that are ours. Programs of other people live by the clock of the machine.
pub(super) fn engine(robot: &Robot, source: Source) -> anyhow::Result<Engine> {
    let commands = robot
        .components(source)
        .filter(|component| matches!(component.program, Program::Command(_)));
    let commands: Vec<&str> = commands.map(|component| component.name.as_str()).collect();
    if !commands.is_empty() {
        bail!(
            "{} cannot run in lockstep: programs live by the clock of the machine; name them in replaces of [{}], or run \
             without --lockstep",
            commands.join(", "),
            if source == Source::Log { "log" } else { "sim" }
        );
    }
    Ok(Engine::new(robot.make(source)?)?)
}

fn begin_log(path: &Path) -> anyhow::Result<Logged> {
    let writer = Writer::create(path, WriterOptions::default())?;
    Ok(Logged::new(writer, Scope::Everything))
}

fn open_bus(engine: &Engine, url: &str) -> anyhow::Result<Bus> {
    let bus = Bus::open(url).with_context(|| format!("cannot open the bus {url}"))?;
    for (channel, message) in engine.spoken() {
        service::describe(&bus, channel, message);
    }
    Ok(bus)
}

fn go_on<S: Events>(
    lockstep: &mut Lockstep<S>,
    sinks: &mut Sinks,
    order: &Order,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let start = lockstep.now();
    let end = order
        .duration
        .map_or(Time::MAX, |duration| start + duration);
    let mut pace = order.rate.map(|rate| Pace::new(start, rate));
    let is_over = |lockstep: &Lockstep<S>| order.log.is_some() && lockstep.is_source_done();
    let mut reported = clock::Live::new();
    while !stop.load(Ordering::Relaxed) && !is_over(lockstep) {
        let Some(next) = lockstep.next_time().filter(|next| *next <= end) else {
            break;
        };
        if let Some(pace) = &mut pace
            && !pace.wait_for(next, stop)
        {
            break;
        }
        lockstep.step(sinks)?;
        for (component, fault) in lockstep.engine_mut().take_faults() {
            output::note(&format!("{component}: {fault}"));
        }
    }
    summary(lockstep, start, &mut reported)
}

fn summary<S: Events>(
    lockstep: &Lockstep<S>,
    start: Time,
    started: &mut clock::Live,
) -> anyhow::Result<()> {
    let simulated = lockstep.now().since(start).as_secs_f64();
    let took = started.now().since(started.started_at()).as_secs_f64();
    let counts = lockstep.engine().components().map(|view| view.counts);
    let (steps, sent) = counts.fold((0, 0), |(steps, sent), counts| {
        (steps + counts.steps, sent + counts.sent)
    });
    output::line(&format!(
        "{simulated:.3} s in {took:.3} s ({:.0}x): {steps} steps, {sent} messages",
        simulated / took.max(1e-9)
    ))
}

/// Where what happens goes to.
struct Sinks {
    log: Option<Logged>,
    bus: Option<Bus>,
}

impl Sink for Sinks {
    fn publish(&mut self, sent: &Sent<'_>) {
        if let Some(log) = &mut self.log {
            log.publish(sent);
        }
        if let Some(bus) = &self.bus {
            // The bus counts what it does not take.
            drop(bus.publish_shared(sent.channel, sent.parcel.bytes()));
        }
    }

    fn arrived(&mut self, now: Time, arrival: &Arrival) {
        if let Some(log) = &mut self.log {
            log.arrived(now, arrival);
        }
        if let Some(bus) = &self.bus {
            drop(bus.publish_shared(&arrival.channel, arrival.parcel.bytes()));
        }
    }
}

/// Holds simulated time to the clock of the machine.
struct Pace {
    clock: clock::Live,
    began: Time,
    start: Time,
    rate: f64,
}

impl Pace {
    fn new(start: Time, rate: f64) -> Self {
        let clock = clock::Live::new();
        Self {
            began: clock.now(),
            clock,
            start,
            rate,
        }
    }

    /// Waits until a simulated moment has come; `false` if the end came first.
    fn wait_for(&self, moment: Time, stop: &AtomicBool) -> bool {
        let after = moment.since(self.start).as_secs_f64() / self.rate;
        let due = self.began + Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX);
        while !stop.load(Ordering::Relaxed) {
            let left = self.clock.until(due);
            if left.is_zero() {
                return true;
            }
            self.clock.wait(left.min(Duration::from_millis(100)));
        }
        false
    }
}

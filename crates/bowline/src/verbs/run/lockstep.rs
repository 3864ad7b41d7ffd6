//! A robot in this process, on the time of its events: simulated, or a log's.

use super::component::stop_at_signal;
use super::deaths::Deaths;
use crate::verbs::log::choice;
use crate::{Outcome, output};
use anyhow::{Context as _, bail};
use bowline_bus::Bus;
use bowline_component::Time;
use bowline_component::engine::{Arrival, Engine, Sent, Sink};
use bowline_component::trace::{Lives, STEPS_CHANNEL};
use bowline_host::clock;
use bowline_host::robot::{Robot, Source};
use bowline_host::service;
use bowline_host::supervise::EXPERIMENT_CHANNEL;
use bowline_host::{Complaints, Lockstep, Logged, Scope, Silence, Source as Events, Tape};
use bowline_log::play::{Rate, Timeline};
use bowline_log::{IndexUse, Writer, WriterOptions};
use bowline_msgs::Experiment;
use bowline_wire::Message as _;
use nix::sys::signalfd::SignalFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// When simulated time begins by default: a date that is not mistaken for today's.
const SIMULATED_START: Time = Time::from_utime(1_000_000_000_000_000);

/// How often experiments are published: as often as by a supervisor.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// How many instants are in one piece of the record of steps.
const TRACE_EVERY: u64 = 1_024;

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
    /// What dies on the way, in the order of time.
    pub(super) deaths: Deaths,
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
    let engine = engine(robot, order.source())?;
    let engine = match order.record {
        // What happens to each component goes into the log, so that it can be verified.
        Some(_) => engine.with_trace(),
        None => engine,
    };
    let mut sinks = Sinks {
        log: order.record.as_deref().map(begin_log).transpose()?,
        bus: order
            .rate
            .map(|_| open_bus(&engine, &robot.url()))
            .transpose()?,
    };
    let stop = stop_at_signal(signals)?;
    if order.log.is_none() && order.duration.is_none() {
        output::note("simulated time goes on until ^C; --for 60s ends it by itself");
    }
    let outcome = match &order.log {
        Some(path) => run_log(robot, path, engine, &mut sinks, (order, &stop)),
        None => {
            let lockstep = Lockstep::start(engine, Silence, SIMULATED_START, &mut sinks);
            lockstep
                .map_err(anyhow::Error::from)
                .and_then(|mut lockstep| go_on(robot, &mut lockstep, &mut sinks, (order, &stop)))
        }
    };
    // What led to an error is in the log, too.
    if let Some(log) = sinks.log {
        log.finish()?;
    }
    outcome?;
    Ok(Outcome::Fine)
}

fn run_log(
    robot: &Robot,
    path: &Path,
    engine: Engine,
    sinks: &mut Sinks,
    how: (&Order, &AtomicBool),
) -> anyhow::Result<()> {
    let (mut lockstep, _) = start_log(path, engine, sinks)?;
    go_on(robot, &mut lockstep, sinks, how)?;
    let recalled = lockstep.source().recall_counts();
    if recalled.unmatched + recalled.forgotten > 0 {
        output::note(&format!(
            "{} calls of services were answered out of the log, {} were not recorded and had no answer",
            recalled.matched,
            recalled.unmatched + recalled.forgotten
        ));
    }
    if lockstep.clock_steps() > 0 {
        output::note(&format!(
            "the clock of the log was set {} times; time went on from where it was",
            lockstep.clock_steps()
        ));
    }
    Ok(())
}

/// Starts components at the first event of a log, whether they want that or not. Returns when that was, too.
pub(super) fn start_log(
    path: &Path,
    engine: Engine,
    sink: &mut dyn Sink,
) -> anyhow::Result<(Lockstep<Tape>, Time)> {
    let mut log = choice::open(path, IndexUse::IfThere)?;
    let first = log.next_event()?.map(|event| Time::from_utime(event.utime));
    let Some(first) = first else {
        bail!("{} has no events", path.display());
    };
    log.rewind()?;
    let tape = Tape::new(log, engine.wanted().cloned());
    Ok((Lockstep::start(engine, tape, first, sink)?, first))
}

/// All components, which take steps. Other programs run by the clock of the machine.
pub(super) fn engine(robot: &Robot, source: Source) -> anyhow::Result<Engine> {
    let commands = robot
        .components(source)
        .filter(|component| !component.takes_steps());
    let commands: Vec<&str> = commands.map(|component| component.name.as_str()).collect();
    if !commands.is_empty() {
        bail!(
            "{} cannot run in lockstep: programs run by the clock of the machine unless they take steps; declare one that \
             does with deterministic = true (docs/cosimulation.md), name them in replaces of [{}], or run without --lockstep",
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
    robot: &Robot,
    lockstep: &mut Lockstep<S>,
    sinks: &mut Sinks,
    (order, stop): (&Order, &AtomicBool),
) -> anyhow::Result<()> {
    let start = lockstep.now();
    let lives = Lives::new(robot.name().to_owned(), start);
    let end = order
        .duration
        .map_or(Time::MAX, |duration| start + duration);
    let pace = order.rate.map(|rate| Pace::new(start, rate));
    let started = clock::Live::new();
    let mut complaints = Complaints::default();
    let mut deaths = order.deaths.iter();
    let mut told = Told::new(robot.told_experiments(order.source()), start);
    sinks.tell(&mut told, start)?;
    let mut n_instants = 0_u64;
    let outcome = loop {
        let is_over = order.log.is_some() && lockstep.is_source_done();
        let next = lockstep.next_time().filter(|next| *next <= end);
        let Some(next) = next.filter(|_| !is_over && !stop.load(Ordering::Relaxed)) else {
            break Ok(());
        };
        if pace.as_ref().is_some_and(|pace| !pace.wait_for(next, stop)) {
            break Ok(());
        }
        for death in deaths.by(next.since(start)) {
            lockstep.engine_mut().kill(&death.component);
            output::note(&death.to_string());
        }
        sinks.tell(&mut told, next)?;
        if let Err(error) = lockstep.step(sinks) {
            break Err(error.into());
        }
        let faults = lockstep.engine_mut().take_faults();
        for (component, fault) in complaints.limit(started.now(), faults) {
            output::note(&format!("{component}: {fault}"));
        }
        n_instants += 1;
        if n_instants.is_multiple_of(TRACE_EVERY) {
            sinks.trace(&lives, lockstep)?;
        }
    };
    sinks.trace(&lives, lockstep)?;
    outcome.and_then(|()| summary(lockstep, start, &started))
}

fn summary<S: Events>(
    lockstep: &Lockstep<S>,
    start: Time,
    started: &clock::Live,
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

/// The experiments that are published to stations.
struct Told {
    experiments: Vec<Experiment>,
    due: Time,
}

impl Told {
    fn new(experiments: Vec<Experiment>, due: Time) -> Self {
        let named = experiments.into_iter().map(|it| Experiment {
            host: "lockstep".to_owned(),
            ..it
        });
        Self {
            experiments: named.collect(),
            due,
        }
    }
}

impl Sinks {
    /// Publishes the experiments, if that is due.
    fn tell(&mut self, told: &mut Told, now: Time) -> anyhow::Result<()> {
        if now < told.due {
            return Ok(());
        }
        // Seconds are counted from the start, however events lie between them.
        while told.due <= now {
            told.due = told.due + TELL_EVERY;
        }
        for experiment in &mut told.experiments {
            experiment.utime = now.utime();
            let bytes = experiment.encode()?;
            if let Some(log) = &mut self.log {
                log.write(now, EXPERIMENT_CHANNEL, &bytes);
            }
            if let Some(bus) = &self.bus {
                // The bus counts what it does not take.
                drop(bus.publish(EXPERIMENT_CHANNEL, &*experiment));
            }
        }
        Ok(())
    }

    /// Writes what happened to components since the last time.
    fn trace<S: Events>(
        &mut self,
        lives: &Lives,
        lockstep: &mut Lockstep<S>,
    ) -> anyhow::Result<()> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let now = lockstep.now();
        for taken in lockstep.engine_mut().take_traces() {
            log.write(now, STEPS_CHANNEL, &lives.message(now, &taken).encode()?);
        }
        match log.error() {
            Some(error) => bail!("{error}"),
            None => Ok(()),
        }
    }
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
    timeline: Timeline,
}

impl Pace {
    fn new(start: Time, rate: f64) -> Self {
        let clock = clock::Live::new();
        let mut timeline = Timeline::new(Rate::new(rate), true);
        let elapsed = clock.now().since(clock.started_at());
        timeline.jump(start.utime(), elapsed);
        Self { clock, timeline }
    }

    /// Waits until a simulated moment has come; `false` if the end came first.
    fn wait_for(&self, moment: Time, stop: &AtomicBool) -> bool {
        let due = self.timeline.due(moment.utime()).unwrap_or_default();
        let due = self.clock.started_at() + due;
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

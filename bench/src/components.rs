//! What it costs to be a component: a hop within a process, between two, and a tick in lockstep.

use crate::Length;
use crate::bus::lcm_round_trip_us;
use crate::stopwatch::time;
use anyhow::{Context as _, Result};
use bowline_bus::Bus;
use bowline_component::engine::{Arrival, Engine, Instance};
use bowline_component::{
    Build, BuildError, Component, Expect, Input, Kind, NoParameters, Outbox, Output, Parcel, Ports,
    Step, Time,
};
use bowline_host::{Live, LiveOptions, Lockstep, Silence};
use bowline_msgs::{Laser, Velocity};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
/// The argument that makes this program the other end of a round trip.
pub(crate) const ECHO: &str = "--component-echo";
/// Relays one after the other, so that what feeds them does not count.
const RELAYS: usize = 64;
/// Simulated seconds of the robot in lockstep.
const LOCKSTEP_S: u64 = 60;

pub(crate) fn run(length: Length) -> Result<()> {
    let count = if length == Length::Quick { 200 } else { 20_000 };
    println!("a message from one component to the next, ns");
    println!("{:<44}{:>12}{:>16}", "", "a command", "361 ranges");
    let velocity = Velocity::default();
    let laser = Laser {
        ranges: vec![1.0; 361],
        ..Laser::default()
    }
    .with_lengths();
    let direct = (direct_ns(count, &velocity), direct_ns(count, &laser));
    print_row("a direct call, with a copy of the message", direct);
    let within = (
        hop_ns::<Velocity>(count, &velocity)?,
        hop_ns::<Laser>(count, &laser)?,
    );
    print_row("within a process", within);
    let between_us = between_processes_us(length)? / 2.0;
    print_row(
        "between two processes, half a round trip",
        (between_us * 1e3, f64::NAN),
    );
    if let Some(lcm_us) = lcm_round_trip_us(length)? {
        let lcm_us = lcm_us / 2.0;
        print_row("liblcm, likewise", (lcm_us * 1e3, f64::NAN));
        println!(
            "  between two processes beside liblcm: {:.2}x",
            between_us / lcm_us
        );
    }
    println!();
    lockstep(length)
}

fn print_row(name: &str, (command, ranges): (f64, f64)) {
    let ranges = if ranges.is_nan() {
        String::new()
    } else {
        format!("{ranges:.0}")
    };
    println!("  {name:<42}{command:>12.0}{ranges:>16}");
}

fn lockstep(length: Length) -> Result<()> {
    let seconds = if length == Length::Quick {
        2
    } else {
        LOCKSTEP_S
    };
    println!(
        "ten components in lockstep: a laser at 40 Hz, a chain of eight, a controller at 100 Hz"
    );
    let engine = Engine::new(robot()?)?;
    let mut lockstep = Lockstep::start(engine, Silence, Time::ZERO, &mut ())?;
    let end = Time::ZERO + Duration::from_secs(seconds);
    let mut outcome = Ok(());
    let took = time(|| outcome = lockstep.run_until(end, &mut ()));
    outcome?;
    let steps: u64 = lockstep
        .engine()
        .components()
        .map(|view| view.counts.steps)
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let (speed, step_ns) = (
        seconds as f64 / took.as_secs_f64(),
        took.as_secs_f64() * 1e9 / steps as f64,
    );
    println!("  {speed:>10.0}x real time (aim 200x), {step_ns:.0} ns a step");
    println!();
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn direct_ns<M: Clone>(count: usize, message: &M) -> f64 {
    let took = time(|| {
        for _ in 0..count * RELAYS {
            black_box(black_box(message).clone());
        }
    });
    took.as_secs_f64() * 1e9 / (count * RELAYS) as f64
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn hop_ns<M>(count: usize, message: &M) -> Result<f64>
where
    Relay<M>: Build<Parameters = NoParameters>,
    M: bowline_wire::Message + Clone + Send + Sync + 'static,
{
    let kind = Kind::of::<Relay<M>>("relay", "Passes on what it receives.");
    let mut before = "source".to_owned();
    let mut instances = Vec::new();
    for number in 0..RELAYS {
        let name = format!("relay{number}");
        let channels = connected(&[("heard", &before)]);
        before = format!("{name}.said");
        instances.push(Instance::new(&kind, &name, &[], channels)?);
    }
    let mut engine = Engine::new(instances)?;
    engine.start(Time::ZERO, &mut ())?;
    let parcel = Parcel::new(message.clone())?;
    let arrival = Arrival {
        received: Time::ZERO,
        channel: "source".into(),
        parcel,
    };
    let mut outcome = Ok(());
    let took = time(|| {
        for _ in 0..count {
            outcome = engine.deliver(Time::ZERO, &arrival, &mut ());
        }
    });
    outcome?;
    Ok(took.as_secs_f64() * 1e9 / (count * RELAYS) as f64)
}

fn connected(ports: &[(&str, &str)]) -> BTreeMap<String, String> {
    let ports = ports.iter();
    ports
        .map(|(port, channel)| ((*port).to_owned(), (*channel).to_owned()))
        .collect()
}

/// Ten components: what issue and peers call a robot.
fn robot() -> Result<Vec<Instance>> {
    let scanner = Kind::of::<Scanner>("scanner", "Makes scans.");
    let relay = Kind::of::<Relay<Laser>>("relay", "Passes on what it receives.");
    let driver = Kind::of::<Driver>("driver", "Drives by scans.");
    let mut robot = vec![Instance::new(&scanner, "laser", &[], BTreeMap::new())?];
    let mut before = "laser.scan".to_owned();
    for number in 0..8 {
        let name = format!("stage{number}");
        let channels = connected(&[("heard", &before)]);
        before = format!("{name}.said");
        robot.push(Instance::new(&relay, &name, &[], channels)?);
    }
    let channels = connected(&[("scan", &before)]);
    robot.push(Instance::new(&driver, "driver", &[], channels)?);
    Ok(robot)
}

/// Passes on what it receives: a copy of it, as a component that changes something would make.
#[derive(Debug)]
struct Relay<M> {
    heard: Input<M>,
    said: Output<M>,
}

impl<M> Build for Relay<M>
where
    M: bowline_wire::Message + for<'a> bowline_wire::Decode<'a> + Clone + Send + Sync + 'static,
{
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        Ok(Self {
            heard: ports.input("heard", "What it receives.", Expect::ever()),
            said: ports.output("said", "The same."),
        })
    }
}

impl<M> Component for Relay<M>
where
    M: bowline_wire::Message + Clone + Send + Sync + 'static,
{
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(heard) = step.arrived(self.heard) {
            out.send(self.said, heard.message().clone());
        }
    }
}

struct Scanner {
    scan: Output<Laser>,
    number: f32,
}

impl Build for Scanner {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(25));
        Ok(Self {
            scan: ports.output("scan", "What is ahead."),
            number: 0.0,
        })
    }
}

impl Component for Scanner {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.number += 1.0;
        let scan = Laser {
            utime: step.now().utime(),
            ranges: vec![self.number; 361],
            ..Laser::default()
        };
        out.send(self.scan, scan.with_lengths());
    }
}

struct Driver {
    scan: Input<Laser>,
    command: Output<Velocity>,
}

impl Build for Driver {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(10));
        let fresh_for = Duration::from_millis(100);
        Ok(Self {
            scan: ports.input("scan", "What is ahead.", Expect::within(fresh_for)),
            command: ports.output("command", "How to move."),
        })
    }
}

impl Component for Driver {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if !step.is_tick() {
            return;
        }
        let scan = step.fresh(self.scan);
        let nearest_m = scan.and_then(|scan| scan.ranges.iter().copied().reduce(f32::min));
        let command = Velocity {
            utime: step.now().utime(),
            speed_mps: nearest_m.map_or(0.0, f64::from),
            ..Velocity::default()
        };
        out.send(self.command, command);
    }
}

/// Sends a thousand times a second, and measures how long it was until that came back.
struct Pinger {
    ping: Output<Velocity>,
    pong: Input<Velocity>,
    trips: SyncSender<f64>,
}

/// Where the pinger that is made next leaves its times: components are made from parameters, which these are not.
static TRIPS: Mutex<Option<SyncSender<f64>>> = Mutex::new(None);

impl Build for Pinger {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(1));
        let trips = TRIPS.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Self {
            ping: ports.output("ping", "Goes out."),
            pong: ports.input("pong", "Comes back.", Expect::ever()),
            trips: trips.ok_or("there is no receiver of the times")?,
        })
    }
}

impl Component for Pinger {
    #[expect(clippy::cast_precision_loss, reason = "short times")]
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_tick() {
            // Nanoseconds, in a message that has microseconds: only this program reads it.
            let utime = step.now().ns();
            out.send(
                self.ping,
                Velocity {
                    utime,
                    ..Velocity::default()
                },
            );
        }
        if let Some(pong) = step.arrived(self.pong) {
            let trip_us = (step.now().ns() - pong.utime) as f64 / 1e3;
            // The measuring thread may have gone.
            self.trips.try_send(trip_us).unwrap_or_default();
        }
    }
}

/// The median round trip between a component here and one in another process.
fn between_processes_us(length: Length) -> Result<f64> {
    let _echo = Other::start()?;
    let (sender, trips) = sync_channel(100_000);
    *TRIPS.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    let kind = Kind::of::<Pinger>("pinger", "Measures round trips.");
    let channels = connected(&[("pong", "echo.said")]);
    let engine = Engine::new(vec![Instance::new(&kind, "pinger", &[], channels)?])?;
    let mut host = Live::new(engine, Bus::open(URL)?, LiveOptions::default())?;
    let stop = AtomicBool::new(false);
    let wanted = if length == Length::Quick { 100 } else { 3_000 };
    let collected = std::thread::scope(|scope| {
        let running = scope.spawn(|| host.run(&stop));
        let collected = collect(&trips, wanted);
        stop.store(true, Ordering::Relaxed);
        let ended = running.join();
        drop(ended);
        collected
    });
    let mut collected = collected?;
    collected.sort_by(f64::total_cmp);
    collected
        .get(collected.len() / 2)
        .copied()
        .context("no message came back")
}

fn collect(trips: &Receiver<f64>, wanted: usize) -> Result<Vec<f64>> {
    let patience = Duration::from_secs(10);
    // The first ones are slower: memory, caches, the other's start.
    for _ in 0..wanted / 10 {
        trips
            .recv_timeout(patience)
            .context("no message came back")?;
    }
    let times = (0..wanted).map(|_| trips.recv_timeout(patience));
    times
        .collect::<Result<_, _>>()
        .context("no message came back")
}

/// The other process; ended with this.
struct Other(Child);

impl Other {
    fn start() -> Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .arg(ECHO)
            .stdin(Stdio::piped())
            .spawn();
        Ok(Self(
            child.context("cannot start the other end of the round trip")?,
        ))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What the other process does, until its input ends.
pub(crate) fn echo() -> Result<()> {
    let kind = Kind::of::<Relay<Velocity>>("relay", "Passes on what it receives.");
    let channels = connected(&[("heard", "pinger.ping")]);
    let engine = Engine::new(vec![Instance::new(&kind, "echo", &[], channels)?])?;
    let mut host = Live::new(engine, Bus::open(URL)?, LiveOptions::default())?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            drop(ended);
            stop.store(true, Ordering::Relaxed);
        });
        host.run(&stop)
    })?;
    Ok(())
}

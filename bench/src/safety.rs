//! Time to safe, in real time: from a fault until thrusters would have no thrust.
//!
//! Real processes on real sockets: a source that steers at 30 Hz, the gate, and between them a link that can be cut in
//! either direction. What the thrusters do is judged here as their driver judges it: by the last command, and by its own
//! timeout. Each trial is a life of everybody, and the fault comes at any moment of their rhythm.

use crate::Length;
use anyhow::{Context as _, Result, bail};
use bowline_autonomy::gate::GateComponent;
use bowline_autonomy::operator::Session;
use bowline_bus::{Bus, Hub, Inbox, Queue};
use bowline_msgs::{Gate, GateToken, LeaseRequest, Thrust};
use bowline_node::clock::Live;
use bowline_node::engine::{Engine, Instance};
use bowline_node::host::{self, LiveOptions};
use bowline_node::{Kind, Time};
use bowline_wire::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What makes this program the gate, or the source.
pub(crate) const GATE: &str = "safety-gate";
pub(crate) const SOURCE: &str = "safety-source";

/// What a driver of thrusters has as its own timeout.
const DRIVER_TIMEOUT: Duration = Duration::from_millis(250);
const SPEAK_EVERY: Duration = Duration::from_micros(33_333);
/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how long thrust must stay away.
const WATCH_FOR: Duration = Duration::from_millis(700);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    SourceKilled,
    SourceFrozen,
    UplinkCut,
    DownlinkCut,
    LinkCut,
    GateFrozen,
}

const FAULTS: [(&str, Fault); 6] = [
    ("source killed", Fault::SourceKilled),
    ("source frozen", Fault::SourceFrozen),
    ("uplink cut", Fault::UplinkCut),
    ("downlink cut", Fault::DownlinkCut),
    ("link cut", Fault::LinkCut),
    ("gate frozen", Fault::GateFrozen),
];

pub(crate) fn run(length: Length) -> Result<()> {
    let n_trials = if length == Length::Quick { 5 } else { 100 };
    println!(
        "from a fault until thrusters have no thrust, {n_trials} trials each, commands bounded to 250 ms: p50, p99, max in ms"
    );
    for (what, fault) in FAULTS {
        let times: Result<Vec<Duration>> = (0..n_trials).map(|nth| trial(fault, nth)).collect();
        let mut times = times?;
        times.sort_unstable();
        let ms = |share: usize| {
            let at = times.len().saturating_sub(1) * share / 100;
            times.get(at).map_or(f64::NAN, |it| it.as_secs_f64() * 1e3)
        };
        let (p50, p99, max) = (ms(50), ms(99), ms(100));
        println!("  {what:<14}{p50:>8.1}{p99:>8.1}{max:>8.1}   (aim: p99 at most 300)");
    }
    println!(
        "  PX4: 500 and more, Rover: 1500 and more; what they are configured to, not what was measured of them"
    );
    println!();
    Ok(())
}

/// Carries chosen channels one way, until it is cut.
fn relay(
    from: &str,
    to: &str,
    channels: &[&str],
    cut: &Arc<AtomicBool>,
    end: &Arc<AtomicBool>,
) -> Result<()> {
    let (from, to) = (Bus::open(from)?, Bus::open(to)?);
    let inbox = from.inbox();
    for channel in channels {
        inbox.subscribe(channel, Queue::default())?;
    }
    let (cut, end) = (Arc::clone(cut), Arc::clone(end));
    thread::Builder::new()
        .name("link".to_owned())
        .spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let Ok(heard) = inbox.recv_timeout(Duration::from_millis(50)) else {
                    return;
                };
                let Some((_, event)) = heard else { continue };
                if !cut.load(Ordering::Relaxed)
                    && to
                        .publish_bytes(event.channel.as_str(), &event.payload)
                        .is_err()
                {
                    return;
                }
            }
        })?;
    Ok(())
}

/// Ends with the trial, whatever becomes of it.
struct Process(Child);

impl Process {
    fn start(role: &str, url: &str) -> Result<Self> {
        let program = std::env::current_exe()?;
        let child = Command::new(program).args([role, url]).spawn();
        Ok(Self(child.with_context(|| format!("cannot start {role}"))?))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.0.id())?).context("a process has a number")?;
        Ok(kill_process(pid, signal)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        let _dead_already = self.0.kill();
        let _dead_already = self.0.wait();
    }
}

fn trial(fault: Fault, nth: u32) -> Result<Duration> {
    let vehicle = Hub::open("tcpq://127.0.0.1:0")?;
    let station = Hub::open("tcpq://127.0.0.1:0")?;
    let end = Arc::new(AtomicBool::new(false));
    let [up, down] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let operator = ["operator.lease", "operator.stop", "operator.thrust"];
    relay(&station.url(), &vehicle.url(), &operator, &up, &end)?;
    relay(
        &vehicle.url(),
        &station.url(),
        &["gate.token", "gate.state"],
        &down,
        &end,
    )?;
    let commands = Bus::open(&vehicle.url())?.events("thrust.command")?;
    let gate = Process::start(GATE, &vehicle.url())?;
    let source = Process::start(SOURCE, &station.url())?;
    let clock = Live::new();
    let mut driver = Driver::default();
    let limit = clock.now() + PATIENCE;
    while driver.is_safe(clock.now()) {
        if clock.now() > limit {
            bail!("nothing moves: the source has not been taken");
        }
        driver.hear(&commands, clock, clock.now() + SPEAK_EVERY)?;
    }
    // Not in step with anybody's rhythm: 7.3 ms is no part of 33 or 50.
    let phase = clock.now() + Duration::from_millis(100) + Duration::from_micros(7_300) * nth;
    while clock.now() < phase {
        driver.hear(&commands, clock, phase)?;
    }
    let begun = clock.now();
    match fault {
        Fault::SourceKilled => source.signal(Signal::KILL)?,
        Fault::SourceFrozen => source.signal(Signal::STOP)?,
        Fault::GateFrozen => gate.signal(Signal::STOP)?,
        Fault::UplinkCut => up.store(true, Ordering::Relaxed),
        Fault::DownlinkCut => down.store(true, Ordering::Relaxed),
        Fault::LinkCut => [&up, &down]
            .map(|way| way.store(true, Ordering::Relaxed))
            .into_iter()
            .collect(),
    }
    let safe_at = driver.safe_for_good(&commands, clock, begun + WATCH_FOR);
    end.store(true, Ordering::Relaxed);
    Ok(safe_at?.since(begun))
}

/// What thrusters do, as far as their driver knows.
#[derive(Default)]
struct Driver {
    heard: Option<Time>,
    is_moving: bool,
}

impl Driver {
    fn is_safe(&self, now: Time) -> bool {
        !self.is_moving || self.heard.is_none_or(|at| now.since(at) >= DRIVER_TIMEOUT)
    }

    fn hear(&mut self, commands: &Inbox, clock: Live, until: Time) -> Result<()> {
        if let Some((_, event)) = commands.recv_timeout(clock.until(until))? {
            let thrust = Thrust::decode(&event.payload)?;
            self.heard = Some(clock.now());
            self.is_moving = thrust.port_ratio != 0.0 || thrust.starboard_ratio != 0.0;
        }
        Ok(())
    }

    /// The moment from which on there is no thrust until the end.
    fn safe_for_good(&mut self, commands: &Inbox, clock: Live, end: Time) -> Result<Time> {
        let mut safe_at = None;
        while clock.now() < end {
            let tick = clock.now() + Duration::from_millis(1);
            self.hear(commands, clock, tick)?;
            let now = clock.now();
            safe_at = if self.is_safe(now) {
                safe_at.or(Some(now))
            } else {
                None
            };
        }
        safe_at.context("there is thrust to the end")
    }
}

/// The gate, alone in a process.
pub(crate) fn gate(url: &str) -> Result<()> {
    let kind = Kind::of::<GateComponent<Thrust>>("gate", "A gate.");
    let instance = Instance::new(&kind, "gate", &[], BTreeMap::new())?;
    let mut live = host::Live::new(
        Engine::new(vec![instance])?,
        Bus::open(url)?,
        LiveOptions::default(),
    )?;
    live.run(&AtomicBool::new(false))?;
    Ok(())
}

/// Takes the lease, clears the stop, and steers ahead until it is killed.
pub(crate) fn source(url: &str) -> Result<()> {
    let bus = Bus::open(url)?;
    let inbox = bus.inbox();
    for channel in ["gate.token", "gate.state"] {
        inbox.subscribe(channel, Queue::default())?;
    }
    let clock = Live::new();
    let mut session = Session::new("bench", clock.now().ns(), 0);
    let mut state: Option<Gate> = None;
    let mut neutral_since: Option<Time> = None;
    let mut speak_at = clock.now();
    loop {
        if let Some((_, event)) = inbox.recv_timeout(clock.until(speak_at))? {
            match event.channel.as_str() {
                "gate.token" => session.hear(&GateToken::decode(&event.payload)?),
                _ => state = Some(Gate::decode(&event.payload)?),
            }
        }
        let now = clock.now();
        if now < speak_at || !session.has_heard() {
            continue;
        }
        speak_at = now + SPEAK_EVERY;
        if !session.is_holder() {
            bus.publish("operator.lease", &session.request(now, LeaseRequest::TAKE))?;
        } else if state.as_ref().is_none_or(|it| it.is_stopped) {
            bus.publish("operator.stop", &session.clear(now))?;
        } else {
            let since = *neutral_since.get_or_insert(now);
            let ratio = if now.since(since) < Duration::from_millis(500) {
                0.0
            } else {
                0.5
            };
            bus.publish("operator.thrust", &session.thrust(now, ratio, ratio))?;
        }
    }
}

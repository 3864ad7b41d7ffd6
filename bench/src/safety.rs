//! Time to safe, in real time: from a fault until thrusters have no thrust.
//!
//! Real processes on real sockets: a source that steers at 30 Hz, the gate and the thrust driver behind it, and between
//! source and gate `bowline link` with the files of the harbour vessel, over a radio that can be cut in either direction
//! and keeps one packet until it is mended, as 802.11 does. Safe is by the thrust driver's own output. Each trial is a
//! run of all processes, and the fault comes at any moment of their rhythm.

use crate::Length;
use crate::peers;
use crate::stopwatch::shares;
use anyhow::{Context as _, Result, bail, ensure};
use bowline_autonomy::gate::GateComponent;
use bowline_bus::{Bus, Hub, Inbox, Queue};
use bowline_component::engine::{Engine, Instance};
use bowline_component::{Kind, Time};
use bowline_drivers::{ActuatorComponent, ThrustDriver};
use bowline_host::LiveOptions;
use bowline_host::clock::Live;
use bowline_msgs::{DirectCommand, Gate, GateRules, GateToken, Refusal, Thrust};
use bowline_operator::{Client, Drive, Identity, Now, Progress, Request};
use bowline_tests::process;
use bowline_wire::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// What makes this program one of the processes of a trial.
pub(crate) const ROLES: [Role; 3] = [(GATE, gate), (DRIVER, driver), (SOURCE, source)];
const GATE: &str = "safety-gate";
const DRIVER: &str = "safety-driver";
const SOURCE: &str = "safety-source";

/// What it is called by, and what it does on a bus until it is killed.
pub(crate) type Role = (&'static str, fn(&str) -> Result<()>);

/// As the harbour's files call them.
const STATION: &str = "bridge";
const VEHICLE: &str = "harbour";
/// Trials at once: their processes mostly wait.
const N_CREWS: u16 = 4;
/// Where the vehicle of the first crew listens, in a network of our own; the others' on the ports behind it.
const FIRST_PORT: u16 = 7_800;
const BOUND: Duration = Duration::from_millis(250);
const SPEAK_EVERY: Duration = Duration::from_micros(33_333);
/// What a source steers with: each command has a ratio of its own, by which it is known again.
const RATIO: f64 = 0.5;
const RATIO_STEP: f64 = 1e-6;
/// How often a source looks whether anything is due.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how long thrust must stay away.
const WATCH_FOR: Duration = Duration::from_millis(700);
/// For how long what was held up may come after everything is mended.
const WATCH_MENDED: Duration = Duration::from_millis(400);

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
    let crews = (0..N_CREWS).map(Crew::new).collect::<Result<Vec<_>>>()?;
    println!(
        "from a fault until thrusters have no thrust, {n_trials} trials each, commands bounded to 250 ms: p50, p99, max in ms"
    );
    let (mut ages, mut taken_ages) = (Vec::new(), Vec::new());
    for (what, fault) in FAULTS {
        let mut times = Vec::new();
        for seen in try_all(&crews, fault, n_trials).context(what)? {
            times.push(seen.time);
            ages.extend(seen.executed);
            taken_ages.extend(seen.taken);
        }
        let [p50, p99, max] = shares(&mut times);
        println!("  {what:<14}{p50:>8.1}{p99:>8.1}{max:>8.1}   (aim: p99 at most 300)");
    }
    let mut n_late = 0;
    for (whom, ages) in [
        ("gate executes", &mut ages),
        ("driver takes", &mut taken_ages),
    ] {
        ensure!(!ages.is_empty(), "the {whom} nothing: nothing was measured");
        let late = ages.iter().filter(|age| **age > BOUND).count();
        let [p50, p99, max] = shares(ages);
        println!(
            "  late commands that the {whom}: {late} of {} (aim 0); age then {p50:.1}, {p99:.1}, {max:.1}",
            ages.len()
        );
        n_late += late;
    }
    println!(
        "  PX4: 500 and more, Rover: 1500 and more; what they are configured to, not what was measured of them"
    );
    println!();
    ensure!(
        n_late == 0,
        "expected no command to move anything when it is older than {BOUND:?}, found {n_late} that did"
    );
    Ok(())
}

/// What was seen of a fault, each crew taking the next trial when it is done with one.
fn try_all(crews: &[Crew], fault: Fault, n_trials: u32) -> Result<Vec<Seen>> {
    let next = AtomicU32::new(0);
    let try_some = |crew: &Crew| -> Result<Vec<Seen>> {
        let mut seen = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= n_trials {
                return Ok(seen);
            }
            let trial = Trial::start(crew)?.run(fault, nth);
            seen.push(trial.with_context(|| format!("trial {nth}"))?);
        }
    };
    let seen = thread::scope(|scope| {
        let begun: Vec<_> = crews
            .iter()
            .map(|crew| scope.spawn(|| try_some(crew)))
            .collect();
        let ended = begun.into_iter().map(|it| match it.join() {
            Ok(seen) => seen,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<Vec<_>>>()
    })?;
    Ok(seen.into_iter().flatten().collect())
}

/// What was seen in a trial.
struct Seen {
    /// Until there was no thrust.
    time: Duration,
    /// How old commands were when the gate had them executed.
    executed: Vec<Duration>,
    /// How old they were when the driver of the thrusters first executed them.
    taken: Vec<Duration>,
}

/// The keys of two ends, made once, and where they meet.
struct Crew {
    folder: TempDir,
    radio: SocketAddr,
    vehicle: String,
    station: String,
}

impl Crew {
    fn new(nth: u16) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let make = |name: &str| -> Result<String> {
            let file = folder.path().join(format!("{name}.key"));
            let made = Command::new(bowline()?)
                .args(["link", "keygen"])
                .arg(file)
                .output()?;
            ensure!(made.status.success(), "{made:?}");
            Ok(String::from_utf8(made.stdout)?.trim().to_owned())
        };
        Ok(Self {
            vehicle: make(VEHICLE)?,
            station: make(STATION)?,
            radio: (Ipv4Addr::LOCALHOST, FIRST_PORT + nth).into(),
            folder,
        })
    }

    /// One end of the harbour's link, over the one radio that there is here.
    fn link(&self, own: &str, path: &str, url: &str) -> Result<process::Process> {
        let (file, peer, key) = match own {
            VEHICLE => ("harbour-vehicle.toml", STATION, &self.station),
            _ => ("harbour-station.toml", VEHICLE, &self.vehicle),
        };
        let like = peers::root().join("links").join(file);
        let text = format!(
            "[link]\nname = '{own}'\nlike = '{}'\nbus = '{url}'\nkey = '{own}.key'\n[peer]\nname = '{peer}'\nkey = '{key}'\n\
             [[path]]\ncarrier = 'quic'\n{path}\n",
            like.display()
        );
        let file = self.folder.path().join(format!("{own}.toml"));
        std::fs::write(&file, text)?;
        let process = process::Process::start(own, Command::new(bowline()?).arg("link").arg(file));
        let line = process.line();
        ensure!(
            line.contains("listens on") || line.contains("connects to"),
            "{line}"
        );
        Ok(process)
    }
}

/// Built beside this program.
fn bowline() -> Result<std::path::PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("bowline"))
}

/// A radio: carries datagrams until it is cut, either way. What it could not send first it keeps, and sends when it is
/// mended.
struct Radio {
    address: SocketAddr,
    is_up_cut: AtomicBool,
    is_down_cut: AtomicBool,
    is_over: AtomicBool,
}

impl Radio {
    /// The sender of what a vehicle receives.
    fn start(vehicle: SocketAddr) -> Result<Arc<Self>> {
        let [near, far] = [
            UdpSocket::bind("127.0.0.1:0")?,
            UdpSocket::bind("127.0.0.1:0")?,
        ];
        far.connect(vehicle)?;
        let radio = Arc::new(Self {
            address: near.local_addr()?,
            is_up_cut: AtomicBool::new(false),
            is_down_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        // The station's end, once it has sent something.
        let station = Arc::new(std::sync::OnceLock::<SocketAddr>::new());
        for socket in [&near, &far] {
            socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        }
        let (own, from, to, who) = (
            Arc::clone(&radio),
            near.try_clone()?,
            far.try_clone()?,
            Arc::clone(&station),
        );
        thread::Builder::new()
            .name("up".to_owned())
            .spawn(move || {
                own.carry(&own.is_up_cut, &from, |packet, from| {
                    who.get_or_init(|| from);
                    to.send(packet)
                });
            })?;
        let own = Arc::clone(&radio);
        thread::Builder::new()
            .name("down".to_owned())
            .spawn(move || {
                own.carry(&own.is_down_cut, &far, |packet, _| match station.get() {
                    Some(station) => near.send_to(packet, station),
                    None => Ok(0),
                });
            })?;
        Ok(radio)
    }

    fn carry(
        &self,
        is_cut: &AtomicBool,
        from: &UdpSocket,
        send: impl Fn(&[u8], SocketAddr) -> std::io::Result<usize>,
    ) {
        let mut kept: Option<(Vec<u8>, SocketAddr)> = None;
        let mut buffer = [0; 2_048];
        while !self.is_over.load(Ordering::Relaxed) {
            let received = from.recv_from(&mut buffer).ok();
            let packet = received.and_then(|(n, who)| Some((buffer.get(..n)?, who)));
            if is_cut.load(Ordering::Relaxed) {
                if let (None, Some((packet, who))) = (&kept, packet) {
                    kept = Some((packet.to_vec(), who));
                }
                continue;
            }
            // What the network refuses is lost, as on any network.
            if let Some((old, who)) = kept.take() {
                let _lost = send(&old, who);
            }
            if let Some((packet, who)) = packet {
                let _lost = send(packet, who);
            }
        }
    }

    fn set(&self, fault: Fault, is_cut: bool) {
        if matches!(fault, Fault::UplinkCut | Fault::LinkCut) {
            self.is_up_cut.store(is_cut, Ordering::Relaxed);
        }
        if matches!(fault, Fault::DownlinkCut | Fault::LinkCut) {
            self.is_down_cut.store(is_cut, Ordering::Relaxed);
        }
    }
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

/// All processes, from their start to their end.
struct Trial {
    clock: Live,
    radio: Arc<Radio>,
    gate: Process,
    source: Process,
    /// What the gate commands and what the driver makes of it.
    vehicle: Inbox,
    /// The messages of the source.
    station: Inbox,
    /// When commands were sent, by what is theirs alone.
    said: BTreeMap<u64, i64>,
    executed: Vec<Duration>,
    taken: Vec<Duration>,
    /// The last set-point of the thrusters.
    setpoint: f64,
    is_moving: bool,
    _others: (Process, [process::Process; 2], [Hub; 2]),
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.radio.is_over.store(true, Ordering::Relaxed);
    }
}

impl Trial {
    fn start(crew: &Crew) -> Result<Self> {
        let hubs = [
            Hub::open("tcpq://127.0.0.1:0")?,
            Hub::open("tcpq://127.0.0.1:0")?,
        ];
        let [vehicle, station] = [hubs[0].url(), hubs[1].url()];
        let radio = Radio::start(crew.radio)?;
        let listen = format!("listen = '{}'", crew.radio);
        let connect = format!("connect = '{}'", radio.address);
        let links = [
            crew.link(VEHICLE, &listen, &vehicle)?,
            crew.link(STATION, &connect, &station)?,
        ];
        Ok(Self {
            clock: Live::new(),
            radio,
            vehicle: Bus::open(&vehicle)?.events("thrust|thrust\\.command")?,
            station: Bus::open(&station)?.events("operator.direct")?,
            gate: Process::start(GATE, &vehicle)?,
            source: Process::start(SOURCE, &station)?,
            said: BTreeMap::new(),
            executed: Vec::new(),
            taken: Vec::new(),
            setpoint: 0.0,
            is_moving: false,
            _others: (Process::start(DRIVER, &vehicle)?, links, hubs),
        })
    }

    fn run(mut self, fault: Fault, nth: u32) -> Result<Seen> {
        // Not in step with any period: 7.3 ms is no part of 33 or 50.
        let phase = Duration::from_micros(7_300) * (nth % 30);
        let limit = self.clock.now() + PATIENCE;
        while !self.is_moving {
            if self.clock.now() > limit {
                bail!("nothing moves: the source has not been taken");
            }
            self.hear(self.clock.now() + SPEAK_EVERY)?;
            if self.is_moving {
                // On a machine that is busy it may stop again by itself, and only then has anything failed too early.
                self.watch(self.clock.now() + Duration::from_millis(400) + phase)?;
            }
        }
        let begun = self.clock.now();
        match fault {
            Fault::SourceKilled => self.source.signal(Signal::KILL)?,
            Fault::SourceFrozen => self.source.signal(Signal::STOP)?,
            Fault::GateFrozen => self.gate.signal(Signal::STOP)?,
            Fault::UplinkCut | Fault::DownlinkCut | Fault::LinkCut => self.radio.set(fault, true),
        }
        let safe_at = self.watch(begun + WATCH_FOR)?;
        let safe_at = safe_at.context("there is thrust to the end")?;
        // What was held up comes now, and must not be executed.
        self.radio.set(fault, false);
        match fault {
            Fault::SourceFrozen => self.source.signal(Signal::CONT)?,
            Fault::GateFrozen => self.gate.signal(Signal::CONT)?,
            Fault::SourceKilled | Fault::UplinkCut | Fault::DownlinkCut | Fault::LinkCut => {}
        }
        self.watch(self.clock.now() + WATCH_MENDED)?;
        Ok(Seen {
            time: safe_at.since(begun),
            executed: std::mem::take(&mut self.executed),
            taken: std::mem::take(&mut self.taken),
        })
    }

    /// The moment from which on there is no thrust until the end.
    fn watch(&mut self, end: Time) -> Result<Option<Time>> {
        let mut safe_at = None;
        while self.clock.now() < end {
            self.hear(end)?;
            safe_at = match self.is_moving {
                true => None,
                false => safe_at.or(Some(self.clock.now())),
            };
        }
        Ok(safe_at)
    }

    /// Takes the next message, if one arrives until then.
    fn hear(&mut self, until: Time) -> Result<()> {
        let heard = self.vehicle.recv_timeout(self.clock.until(until))?;
        while let Some((_, event)) = self.station.try_recv()? {
            let command = DirectCommand::decode(&event.payload)?;
            let port_ratio = command.values.first().context("it has no values")?;
            self.said.insert(mark(*port_ratio), command.utime);
        }
        let Some((_, event)) = heard else {
            return Ok(());
        };
        let thrust = Thrust::decode(&event.payload)?;
        let is_none = thrust.port_ratio == 0.0 && thrust.starboard_ratio == 0.0;
        if event.channel.as_str() == "thrust" {
            self.is_moving = !is_none;
            self.see_setpoint(&thrust);
        } else if !is_none {
            let age = self.age(&thrust);
            let age = age.context("the gate commands what no station sent")?;
            self.executed.push(age);
        }
        Ok(())
    }

    /// Thrust grows through all that lies below a command. Where it has grown up already, what it changes to is the next.
    fn see_setpoint(&mut self, thrust: &Thrust) {
        let before = std::mem::replace(&mut self.setpoint, thrust.port_ratio);
        let is_up = before >= RATIO && thrust.port_ratio >= RATIO;
        if is_up && mark(before) != mark(thrust.port_ratio) {
            self.taken.extend(self.age(thrust));
        }
    }

    /// How old the command is that this is, at the time that it has itself: all clocks here are those of one machine.
    fn age(&self, thrust: &Thrust) -> Option<Duration> {
        let age_us = thrust.utime - self.said.get(&mark(thrust.port_ratio))?;
        Some(Duration::from_micros(u64::try_from(age_us).unwrap_or(0)))
    }
}

/// What is a command's alone, whatever rounding it went through.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a ratio of 0 to 1"
)]
fn mark(ratio: f64) -> u64 {
    (ratio / RATIO_STEP).round() as u64
}

/// The gate, alone in a process.
fn gate(url: &str) -> Result<()> {
    alone(&Kind::of::<GateComponent<Thrust>>("gate", "A gate."), url)
}

/// The driver of the thrusters, alone in a process.
fn driver(url: &str) -> Result<()> {
    type Driver = ActuatorComponent<ThrustDriver>;
    alone(&Kind::of::<Driver>("driver", "Drives thrusters."), url)
}

fn alone(kind: &Kind, url: &str) -> Result<()> {
    let instance = Instance::new(kind, kind.name, &[], BTreeMap::new())?;
    let engine = Engine::new(vec![instance])?;
    let mut live = bowline_host::Live::new(engine, Bus::open(url)?, LiveOptions::default())?;
    live.run(&AtomicBool::new(false))?;
    Ok(())
}

/// Takes the lease, clears the stop, and steers ahead until it is killed.
fn source(url: &str) -> Result<()> {
    let bus = Bus::open(url)?;
    let inbox = bus.inbox();
    for channel in ["gate.token", "gate.state", "gate.rules", "gate.refusal"] {
        inbox.subscribe(channel, Queue::default())?;
    }
    let clock = Live::new();
    let both_clocks = |now: Time| Now {
        ms: now.ns() / 1_000_000,
        utime: now.utime(),
    };
    let mut client = Client::new(Identity {
        station: STATION.to_owned(),
        session: clock.now().ns(),
        rank: 0,
    });
    let mut next = clock.now();
    let mut ratio = RATIO;
    loop {
        if let Some((_, event)) = inbox.recv_timeout(clock.until(next))? {
            let now = both_clocks(clock.now());
            match event.channel.as_str() {
                "gate.token" => client.receive_token(&GateToken::decode(&event.payload)?, now),
                "gate.state" => client.receive_state(&Gate::decode(&event.payload)?, now.utime),
                "gate.rules" => client.receive_rules(&GateRules::decode(&event.payload)?),
                _ => {
                    client.receive_refusal(&Refusal::decode(&event.payload)?, now);
                }
            }
        }
        if clock.now() < next {
            continue;
        }
        next = clock.now() + LOOK_EVERY;
        let now = both_clocks(next);
        let is_stopped = client.state().is_none_or(|it| it.is_stopped);
        let mut due = match (client.is_holder(), client.direct().state()) {
            (false, _) if client.lease_progress() != Progress::Waiting => {
                client.request(Request::Take, now)
            }
            (true, _) if is_stopped && client.clear_progress() != Progress::Waiting => {
                client.clear(now)
            }
            (true, Drive::Off) if !is_stopped => {
                client.engage();
                Vec::new()
            }
            _ => Vec::new(),
        };
        // A set-point identifies its time: no two are the same.
        ratio += RATIO_STEP;
        let is_armed = !matches!(client.direct().state(), Drive::Off | Drive::Arming);
        let setpoint = [ratio; 2];
        due.extend(client.tick(is_armed.then_some(&setpoint[..]), "", now));
        for outgoing in due {
            bus.publish_bytes(outgoing.command.channel, &outgoing.payload.encode()?)?;
        }
    }
}

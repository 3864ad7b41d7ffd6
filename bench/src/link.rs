//! How old commands get on a link that is too thin for what it should carry.
//!
//! Real processes (`bowline link`) in networks of their own; between them a router whose queue lets so many kbit/s through
//! (the kernel's token bucket), and a relay before it that takes its time as a radio does, or keeps a packet as 802.11
//! does. Ages are by the one clock of this machine. A command that comes after its time to live, twice or after a later
//! one fails the bench.

use crate::Length;
use anyhow::{Context as _, Result, ensure};
use bowline_bus::{Bus, wall_ns};
use bowline_host::clock::Live;
use bowline_tests::netns::{Namespace, Port};
use bowline_tests::process::Process;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
const RATES_KBPS: [u32; 3] = [64, 256, 1_000];
/// Our scheduler over UDP, and over QUIC as the harbour has it, with its handshake and acknowledgements.
const CARRIERS: [Carrier; 2] = [
    Carrier {
        name: "udp",
        packet: 342,
    },
    Carrier {
        name: "quic",
        packet: 372,
    },
];
/// Commands are good for so long, ms.
const TTL_MS: f64 = 300.0;
/// A process may be kept from the processor for so long between looking at an age and handing the message on, ms.
const KEPT_MS: f64 = 20.0;
/// Packets that a round trip is measured with.
const N_ECHOES: u8 = 10;
/// What a radio takes, each way: as in simulated time (`crates/link/tests/it/overload.rs`). Not every kernel has netem.
const RADIO_DELAY: Duration = Duration::from_millis(20);
const COMMAND: &str = "operator.direct";
const STATE: &str = "gate.state";

/// What a link goes over.
#[derive(Clone, Copy, Debug)]
struct Carrier {
    name: &'static str,
    /// The largest packet that bulk is put into at these rates, with all that is around it on Ethernet, bytes.
    packet: u32,
}

impl Carrier {
    /// A round trip and two packets, ms.
    fn aim_ms(self, rtt_ms: f64, kbps: u32) -> f64 {
        rtt_ms + 2.0 * f64::from(self.packet) * 8.0 / f64::from(kbps)
    }
}

pub(crate) fn run(length: Length) -> Result<()> {
    let (warm_s, run_s) = match length {
        Length::Quick => (6, 6),
        Length::Full => (15, 30),
    };
    println!(
        "commands (20 Hz, 100 bytes) over a link at threefold overload: age p50, p99 in ms, and how many of a hundred came"
    );
    println!(
        "  {:<10}{:>22}{:>22}{:>22}{:>22}   aims for value: a round trip and two packets",
        "kbit/s", "round_robin, udp", "priority, udp", "value, udp", "value, quic"
    );
    let [udp, quic] = CARRIERS;
    let columns = [
        ("round_robin", udp),
        ("priority", udp),
        ("value", udp),
        ("value", quic),
    ];
    for kbps in RATES_KBPS {
        let mut line = format!("  {kbps:<10}");
        let mut aims = Vec::new();
        for (scheduler, carrier) in columns {
            let bench = Bench::radio(scheduler, carrier, kbps, kbps * 3)?;
            let got = bench.measure(warm_s, run_s, |_| Ok(()))?;
            line += &format!("{:>22}", got.commands.to_string());
            if scheduler == "value" {
                aims.push(format!(
                    "{} p99 {:.0}",
                    carrier.name,
                    carrier.aim_ms(got.rtt_ms, kbps)
                ));
            }
        }
        println!("{line}   {}", aims.join(", "));
    }
    println!();
    step(warm_s, run_s)?;
    stall(length)?;
    fail_over(length)
}

/// From 2 Mbit/s to 128 kbit/s at once.
fn step(warm_s: u64, run_s: u64) -> Result<()> {
    let [udp, _] = CARRIERS;
    let bench = Bench::radio("value", udp, 2_000, 6_000)?;
    let clock = Live::new();
    let mut stepped_ns = 0;
    let got = bench.measure(warm_s, run_s, |bench| {
        clock.wait(Duration::from_secs(1));
        bench.limit(128);
        stepped_ns = wall_ns();
        Ok(())
    })?;
    let aim = udp.aim_ms(got.rtt_ms, 128);
    let after = got.commands.0.iter().filter(|it| it.at_ns > stepped_ns);
    let late = after
        .clone()
        .filter(|it| it.age_ms > aim)
        .map(|it| it.at_ns)
        .max();
    let settled: Vec<Got> = after
        .filter(|it| it.at_ns > stepped_ns + 3_000_000_000)
        .copied()
        .collect();
    println!(
        "from 2000 to 128 kbit/s: worst command {:.0} ms; last one over {aim:.0} ms after {:.1} s; from 3 s on {}",
        got.commands.worst(),
        late.map_or(0.0, |at| ms(at - stepped_ns) / 1e3),
        Ages(settled, 0)
    );
    println!();
    Ok(())
}

/// A radio that is dead for two seconds and keeps the first packet.
fn stall(length: Length) -> Result<()> {
    let n_trials = if length == Length::Quick { 3 } else { 20 };
    let bench = Bench::stalling()?;
    let clock = Live::new();
    let (mut firsts, mut ends) = (Vec::new(), Vec::new());
    let got = bench.measure(3, 4 * n_trials, |bench| {
        for _ in 0..n_trials {
            clock.wait(Duration::from_millis(1_990));
            bench.is_stalled.store(true, Ordering::Relaxed);
            clock.wait(Duration::from_secs(2));
            bench.is_stalled.store(false, Ordering::Relaxed);
            ends.push(wall_ns());
        }
        Ok(())
    })?;
    for end in &ends {
        let first = got.states.0.iter().map(|it| it.at_ns).find(|at| at > end);
        firsts.extend(first.map(|at| ms(at - end)));
    }
    firsts.sort_by(f64::total_cmp);
    let worst = firsts.last().copied().unwrap_or(f64::NAN);
    println!(
        "{} outages of 2 s that keep one packet: {} commands delivered after their {TTL_MS:.0} ms; first fresh state at most {worst:.0} ms after (aim {:.0}: a round trip and 50 ms)",
        ends.len(),
        got.commands.n_stale(),
        got.rtt_ms + 50.0
    );
    println!();
    Ok(())
}

/// One of two links is cut, and mended.
fn fail_over(length: Length) -> Result<()> {
    let n_trials = if length == Length::Quick { 2 } else { 10 };
    let bench = Bench::wires(1_000, 300)?;
    let clock = Live::new();
    let mut cuts = Vec::new();
    let got = bench.measure(4, 8 * n_trials, |bench| {
        for _ in 0..n_trials {
            clock.wait(Duration::from_millis(3_970));
            bench.router.run("ip link set there0 down");
            cuts.push(wall_ns());
            clock.wait(Duration::from_secs(2));
            bench.router.run("ip link set there0 up");
            clock.wait(Duration::from_secs(2));
        }
        Ok(())
    })?;
    let mut gaps = Vec::new();
    for cut in &cuts {
        let near = |at: i64| (cut - 200_000_000..cut + 1_500_000_000).contains(&at);
        let at: Vec<i64> = got
            .commands
            .0
            .iter()
            .map(|it| it.at_ns)
            .filter(|at| near(*at))
            .collect();
        gaps.extend(
            at.windows(2)
                .map(|two| ms(two[1] - two[0]))
                .max_by(f64::total_cmp),
        );
    }
    let worst = gaps
        .iter()
        .copied()
        .max_by(f64::total_cmp)
        .unwrap_or(f64::NAN);
    println!(
        "{} cuts of the first of two links: longest rest between commands {worst:.0} ms; {} delivered twice or out of order; {}",
        cuts.len(),
        got.commands.n_again(),
        got.commands
    );
    println!();
    Ok(())
}

fn ms(ns: i64) -> f64 {
    let us = i32::try_from(ns / 1_000).unwrap_or(i32::MAX);
    f64::from(us) / 1e3
}

/// A message that came.
#[derive(Clone, Copy, Debug)]
struct Got {
    number: u64,
    at_ns: i64,
    age_ms: f64,
}

/// What came of a stream, and how many were offered.
struct Ages(Vec<Got>, u64);

impl Ages {
    fn percentile(&self, percent: usize) -> f64 {
        let mut ages: Vec<f64> = self.0.iter().map(|it| it.age_ms).collect();
        ages.sort_by(f64::total_cmp);
        let nth = (ages.len() * percent).div_ceil(100).saturating_sub(1);
        ages.get(nth).copied().unwrap_or(f64::NAN)
    }

    fn worst(&self) -> f64 {
        self.percentile(100)
    }

    /// How many came after their time to live.
    fn n_stale(&self) -> usize {
        let is_stale = |it: &&Got| it.age_ms > TTL_MS + KEPT_MS;
        self.0.iter().filter(is_stale).count()
    }

    /// How many came twice, or after a later one.
    fn n_again(&self) -> usize {
        let pairs = self.0.windows(2);
        pairs.filter(|two| two[0].number >= two[1].number).count()
    }
}

impl std::fmt::Display for Ages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        let n = u64::try_from(self.0.len()).unwrap_or(0);
        match (n, self.1) {
            (0, _) => write!(f, "none came"),
            (_, 0) => write!(f, "p50 {p50:.0}, p99 {p99:.0}"),
            (_, offered) => write!(f, "{p50:.0}, {p99:.0}, {} %", n * 100 / offered),
        }
    }
}

struct Measured {
    commands: Ages,
    states: Ages,
    rtt_ms: f64,
}

/// Two ends, and what is between them.
struct Bench {
    here: Namespace,
    there: Namespace,
    router: Namespace,
    folder: tempfile::TempDir,
    /// What is offered beside the commands, kbit/s.
    offered_kbps: u32,
    /// How long the relay keeps packets, if there is one.
    relay_delay: Option<Duration>,
    is_stalled: AtomicBool,
    is_over: AtomicBool,
}

impl Bench {
    /// One link that is thin and takes its time.
    fn radio(scheduler: &str, carrier: Carrier, kbps: u32, offered_kbps: u32) -> Result<Self> {
        let bench = Self::joined(offered_kbps, Some(RADIO_DELAY))?;
        bench.limit(kbps);
        bench.write(scheduler, carrier, &["10.1.0.1:7800"])?;
        Ok(bench)
    }

    /// Two links.
    fn wires(kbps: u32, offered_kbps: u32) -> Result<Self> {
        let bench = Self::joined(offered_kbps, None)?;
        bench.limit(kbps);
        bench.write("value", CARRIERS[0], &["10.2.0.2:7800", "10.4.0.2:7800"])?;
        Ok(bench)
    }

    /// One link that carries everything, unless it is stalled.
    fn stalling() -> Result<Self> {
        let bench = Self::joined(100, Some(Duration::ZERO))?;
        bench.write("value", CARRIERS[0], &["10.1.0.1:7800"])?;
        Ok(bench)
    }

    /// Networks 10.1 and 10.3 on this side of the router, 10.2 and 10.4 on the other.
    fn joined(offered_kbps: u32, relay_delay: Option<Duration>) -> Result<Self> {
        let [here, there, router] = [Namespace::new(), Namespace::new(), Namespace::new()];
        router.run("sysctl -qw net.ipv4.ip_forward=1");
        for nth in 0..2 {
            for (end, name, net) in [(&here, "here", 2 * nth + 1), (&there, "there", 2 * nth + 2)] {
                let device = format!("{name}{nth}");
                let addresses = [format!("10.{net}.0.1/24"), format!("10.{net}.0.2/24")];
                Namespace::link([
                    Port {
                        namespace: &router,
                        device: &device,
                        address: Some(&addresses[0]),
                    },
                    Port {
                        namespace: end,
                        device: &device,
                        address: Some(&addresses[1]),
                    },
                ]);
                let far = if name == "here" { net + 1 } else { net - 1 };
                end.run(&format!(
                    "ip route replace 10.{far}.0.0/24 via 10.{net}.0.1"
                ));
                end.route_multicast("lo");
            }
        }
        Ok(Self {
            here,
            there,
            router,
            folder: tempfile::tempdir()?,
            offered_kbps,
            relay_delay,
            is_stalled: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    fn limit(&self, kbps: u32) {
        for device in ["here0", "there0", "here1", "there1"] {
            self.router.run(&format!(
                "tc qdisc replace dev {device} root tbf rate {kbps}kbit burst 1600 limit 20000"
            ));
        }
    }

    /// Makes an end's key, and returns what the other end knows it by.
    fn keygen(&self, name: &str) -> Result<String> {
        let file = self.folder.path().join(format!("{name}.key"));
        let mut command = Command::new(beside("bowline")?);
        let made = command.args(["link", "keygen"]).arg(file).output()?;
        ensure!(made.status.success(), "{made:?}");
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    }

    fn write(&self, scheduler: &str, carrier: Carrier, addresses: &[&str]) -> Result<()> {
        let carrier = carrier.name;
        let paths = |verb: &str, addresses: &[&str]| -> String {
            let path = |it: &&str| {
                format!("[[path]]\ncarrier = '{carrier}'\n{verb} = '{it}'\ninsecure = true\n")
            };
            addresses.iter().map(path).collect()
        };
        let [here_key, there_key] = [self.keygen("here")?, self.keygen("there")?];
        let head = |name: &str, peer: &str, key: &str| {
            format!(
                "[link]\nname = '{name}'\nbus = '{URL}'\nscheduler = '{scheduler}'\nkey = '{name}.key'\n\
                 [peer]\nname = '{peer}'\nkey = '{key}'\n"
            )
        };
        let listens = match self.relay_delay {
            Some(_) => vec!["10.2.0.2:7800"],
            None => addresses.to_vec(),
        };
        let sends = "[send.'operator.direct']\ndeadline = '100ms'\nttl = '300ms'\nvalue = 100\n\
                     [send.'gate.state']\nttl = '1s'\nvalue = 50\n\
                     [send.'camera.image']\nttl = '20s'\nvalue = 1\n";
        let receives = "[receive.'operator.direct']\ncommands = false\n[receive.'gate.state']\n[receive.'camera.image']\n";
        let here = format!(
            "{}{}{sends}",
            head("here", "there", &there_key),
            paths("connect", addresses)
        );
        let there = format!(
            "{}{}{receives}",
            head("there", "here", &here_key),
            paths("listen", &listens)
        );
        std::fs::write(self.folder.path().join("here.toml"), here)?;
        std::fs::write(self.folder.path().join("there.toml"), there)?;
        Ok(())
    }

    fn start(&self, place: &Namespace, name: &str) -> Result<Process> {
        let mut command = place.command(beside("bowline")?);
        let process = Process::start(
            name,
            command
                .arg("link")
                .arg(self.folder.path().join(format!("{name}.toml"))),
        );
        let line = process.line();
        ensure!(
            line.contains("listens on") || line.contains("connects to"),
            "{line}"
        );
        Ok(process)
    }

    /// Warms up, measures, and does something beside it.
    fn measure(
        &self,
        warm_s: u64,
        run_s: u64,
        beside: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Measured> {
        let rtt_ms = self.rtt_ms()?;
        let _ends = [
            self.start(&self.there, "there")?,
            self.start(&self.here, "here")?,
        ];
        let clock = Live::new();
        thread::scope(|scope| {
            let relay = self
                .relay_delay
                .map(|_| self.spawn(scope, &self.router, Self::relay));
            let heard = self.spawn(scope, &self.there, Self::listen)?;
            let sent = self.spawn(scope, &self.here, Self::speak)?;
            clock.wait(Duration::from_secs(warm_s));
            let from = wall_ns();
            let done = beside(self);
            let elapsed = wall_ns() - from;
            let rest = i64::try_from(run_s).unwrap_or(0) * 1_000_000_000 - elapsed;
            clock.wait(Duration::from_nanos(u64::try_from(rest).unwrap_or(0)));
            self.is_over.store(true, Ordering::Relaxed);
            done?;
            let (commands, states) = heard.join().expect("it does not panic")?;
            let offered = sent.join().expect("it does not panic")?;
            if let Some(relay) = relay {
                relay?.join().expect("it does not panic")?;
            }
            let measured = |got: Vec<Got>| -> Vec<Got> {
                got.into_iter().filter(|it| it.at_ns >= from).collect()
            };
            let n_offered = offered.iter().filter(|at| **at >= from).count();
            let commands = Ages(measured(commands), u64::try_from(n_offered)?);
            let (n_stale, n_again) = (commands.n_stale(), commands.n_again());
            ensure!(n_stale == 0, "{n_stale} commands came too late: {commands}");
            ensure!(
                n_again == 0,
                "{n_again} commands came twice or out of order"
            );
            Ok(Measured {
                commands,
                states: Ages(measured(states), 0),
                rtt_ms,
            })
        })
    }

    /// A thread inside a network.
    fn spawn<'s, 'e: 's, T: Send + 's>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        place: &'e Namespace,
        work: fn(&'e Self) -> Result<T>,
    ) -> Result<ScopedJoinHandle<'s, Result<T>>> {
        let run = move || {
            place.enter();
            work(self)
        };
        Ok(thread::Builder::new()
            .name("inside".to_owned())
            .spawn_scoped(scope, run)?)
    }

    /// The sending end's bus: commands, states, and pictures for the rest of what is offered. When commands were sent.
    fn speak(&self) -> Result<Vec<i64>> {
        let bus = Bus::open(URL)?;
        let clock = Live::new();
        let mut said = Vec::new();
        // Two pictures a second, beside some 35 kbit/s of commands and states.
        let picture = usize::try_from(self.offered_kbps.saturating_sub(35).max(8) * 125 / 2)?;
        for tick in 0_u64.. {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            clock.wait(
                clock.until(clock.started_at() + Duration::from_millis(50) * u32::try_from(tick)?),
            );
            said.push(wall_ns());
            bus.publish_bytes(COMMAND, &message(tick, 100))?;
            if tick % 4 == 1 {
                bus.publish_bytes(STATE, &message(tick, 120))?;
            }
            if tick % 10 == 3 {
                bus.publish_bytes("camera.image", &message(tick, picture))?;
            }
        }
        Ok(said)
    }

    fn listen(&self) -> Result<(Vec<Got>, Vec<Got>)> {
        let bus = Bus::open(URL)?;
        let inbox = bus.events(&format!("{COMMAND}|{STATE}"))?;
        let (mut commands, mut states) = (Vec::new(), Vec::new());
        while !self.is_over.load(Ordering::Relaxed) {
            let Some((_, event)) = inbox.recv_timeout(Duration::from_millis(100))? else {
                continue;
            };
            // When it was there, however late we are.
            let at_ns = event.arrival.received_ns;
            let number = event.payload.get(..8).context("a number")?;
            let said = event.payload.get(8..16).context("a time")?;
            let got = Got {
                number: u64::from_be_bytes(number.try_into()?),
                at_ns,
                age_ms: ms(at_ns - i64::from_be_bytes(said.try_into()?)),
            };
            match event.channel.as_str() {
                COMMAND => commands.push(got),
                _ => states.push(got),
            }
        }
        Ok((commands, states))
    }

    /// A radio in between: it takes its time, keeps the first packet of each direction in an outage, and loses the others.
    fn relay(&self) -> Result<()> {
        let [near, far] = [
            UdpSocket::bind("10.1.0.1:7800")?,
            UdpSocket::bind("10.2.0.1:0")?,
        ];
        far.connect("10.2.0.2:7800")?;
        let mut from: Option<SocketAddr> = None;
        let mut kept: [Option<Vec<u8>>; 2] = [None, None];
        let delay = self.relay_delay.unwrap_or_default();
        let mut under_way = VecDeque::new();
        let mut buffer = [0; 2_048];
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        let clock = Live::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let is_stalled = self.is_stalled.load(Ordering::Relaxed);
            let mut packets = Vec::new();
            if !is_stalled {
                packets.extend(kept[0].take().map(|it| (0, it)));
                packets.extend(kept[1].take().map(|it| (1, it)));
            }
            while let Ok((n, who)) = near.recv_from(&mut buffer) {
                from = Some(who);
                packets.push((0, buffer[..n].to_vec()));
            }
            while let Ok(n) = far.recv(&mut buffer) {
                packets.push((1, buffer[..n].to_vec()));
            }
            for (way, packet) in packets {
                if is_stalled {
                    kept[way].get_or_insert(packet);
                } else {
                    under_way.push_back((clock.now() + delay, way, packet));
                }
            }
            let now = clock.now();
            while let Some((_, way, packet)) = under_way.pop_front_if(|(at, ..)| *at <= now) {
                // What the network refuses is lost, as on any network.
                let _lost = match (way, from) {
                    (0, _) => far.send(&packet),
                    (_, Some(from)) => near.send_to(&packet, from),
                    (_, None) => Ok(0),
                };
            }
            clock.wait(Duration::from_micros(500));
        }
        Ok(())
    }

    /// A round trip of a small packet without load, the middle one of some, ms: of the network, and what the relay adds.
    fn rtt_ms(&self) -> Result<f64> {
        let relayed_ms = self.relay_delay.unwrap_or_default().as_secs_f64() * 2e3;
        Ok(relayed_ms + self.network_rtt_ms()?)
    }

    fn network_rtt_ms(&self) -> Result<f64> {
        thread::scope(|scope| {
            let echo = self.spawn(scope, &self.there, |_| echo())?;
            let trips = self.spawn(scope, &self.here, |_| round_trips())?;
            echo.join().expect("it does not panic")?;
            let mut trips = trips.join().expect("it does not panic")?;
            trips.sort_by(f64::total_cmp);
            trips.get(trips.len() / 2).copied().context("a round trip")
        })
    }
}

/// A program that was built beside this one.
fn beside(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// Sends back what comes, until the last of them.
fn echo() -> Result<()> {
    let socket = UdpSocket::bind("10.2.0.2:7")?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = [0; 200];
    while let Ok((n, from)) = socket.recv_from(&mut buffer) {
        socket.send_to(&buffer[..n], from)?;
        if buffer[0] == N_ECHOES {
            break;
        }
    }
    Ok(())
}

fn round_trips() -> Result<Vec<f64>> {
    let socket = UdpSocket::bind("10.1.0.2:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let clock = Live::new();
    let mut trips = Vec::new();
    for nth in 0..=N_ECHOES {
        clock.wait(Duration::from_millis(50));
        let sent_ns = wall_ns();
        socket.send_to(&[nth; 140], "10.2.0.2:7")?;
        // The first one may be too early.
        if socket.recv(&mut [0; 200]).is_ok() {
            trips.push(ms(wall_ns() - sent_ns));
        }
    }
    Ok(trips)
}

fn message(number: u64, size: usize) -> Vec<u8> {
    let mut payload = vec![0; size.max(16)];
    payload[..8].copy_from_slice(&number.to_be_bytes());
    payload[8..16].copy_from_slice(&wall_ns().to_be_bytes());
    payload
}

//! What looking costs: the spy beside lcm-spy, and what either costs those who are looked at.

use crate::logs::{self, Recorder};
use crate::stopwatch::time;
use crate::{Length, peers};
use anyhow::{Context as _, Result, ensure};
use bowline_bus::Bus;
use bowline_msgs::Pose;
use bowline_wire::Message as _;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
/// Messages a second, on so many channels.
const LOADS: [(u32, usize); 2] = [(1_000, 20), (50_000, 10_000)];
/// Where lcm-spy shows its window: a virtual screen.
const DISPLAY: &str = ":4471";

pub(crate) fn run(length: Length) -> Result<()> {
    let seconds = if length == Length::Quick { 1 } else { 5 };
    println!("the spy at 120 x 40, on traffic of messages of 112 bytes: of a core, and memory");
    println!("{:<34}{:>24}{:>24}", "", "bowline spy", "lcm-spy");
    for (rate_hz, n_channels) in LOADS {
        let traffic = Traffic::start(rate_hz, n_channels)?;
        let ours = Spy::bowline()?.measure(seconds)?;
        let theirs = match Spy::lcm() {
            Ok(spy) => spy.measure(seconds)?.to_string(),
            Err(error) => format!("({error})"),
        };
        let sent_hz = traffic.stop();
        println!(
            "  {sent_hz:>8.0}/s on {n_channels:>6} channels  {:>22}{theirs:>24}",
            ours.to_string()
        );
    }
    println!();
    println!("what liblcm's publisher of 20000/s and a recorder of it notice");
    println!("{:<34}{:>24}{:>24}", "", "us for each message", "lost, %");
    let folder = tempfile::tempdir_in("/dev/shm")?;
    for watched_by in ["nobody", "bowline spy", "lcm-spy"] {
        let spy = match watched_by {
            "bowline spy" => Some(Spy::bowline()),
            "lcm-spy" => Some(Spy::lcm()),
            _ => None,
        };
        let spy = match spy.transpose() {
            Ok(spy) => spy,
            Err(error) => {
                println!("  watched by {watched_by:<21} ({error})");
                continue;
            }
        };
        settle();
        let length_s = if length == Length::Quick { 0.3 } else { 3.0 };
        let sent = logs::record_once(Recorder::Bowline, folder.path(), 800, 20_000, length_s)?;
        drop(spy);
        println!(
            "  watched by {watched_by:<21}{:>24.2}{:>24.2}",
            sent.cpu_ns / sent.n / 1e3,
            100.0 * (sent.n - sent.n_recorded) / sent.n.max(1.0)
        );
    }
    println!();
    Ok(())
}

/// A publisher, until it is stopped.
struct Traffic {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Traffic {
    fn start(rate_hz: u32, n_channels: usize) -> Result<Self> {
        let bus = Bus::open(URL)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let publish = move || publish(&bus, rate_hz, n_channels, &over);
        let thread = std::thread::Builder::new().name("traffic".to_owned());
        Ok(Self {
            thread: thread.spawn(publish)?,
            is_over,
        })
    }

    /// How many it sent a second.
    fn stop(self) -> f64 {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().unwrap_or(0.0)
    }
}

#[expect(clippy::disallowed_methods, reason = "a rate is one of the real clock")]
fn publish(bus: &Bus, rate_hz: u32, n_channels: usize, is_over: &AtomicBool) -> f64 {
    let payload = Pose::default().encode().unwrap_or_default();
    let channels: Vec<String> = (0..n_channels).map(|i| format!("load.{i:05}")).collect();
    let start = Instant::now();
    let mut n_sent = 0_u128;
    let mut channels = channels.iter().cycle();
    while !is_over.load(Ordering::Acquire) {
        let due = start.elapsed().as_millis() * u128::from(rate_hz) / 1_000;
        let mut cork = bus.cork();
        while n_sent < due
            && let Some(channel) = channels.next()
        {
            drop(cork.publish_bytes(channel, &payload));
            n_sent += 1;
        }
        drop(cork);
        std::thread::sleep(Duration::from_millis(1));
    }
    n_sent as f64 / start.elapsed().as_secs_f64()
}

/// A spy at work. Dropped, it is gone.
struct Spy {
    /// What is looked at.
    pid: u32,
    /// What it needs, to be ended last.
    others: Vec<Child>,
    socket: Option<String>,
}

/// What a process took.
struct Cost {
    core_percent: f64,
    memory_mib: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} %  {:.0} MiB", self.core_percent, self.memory_mib)
    }
}

impl Spy {
    /// Ours, at a terminal.
    fn bowline() -> Result<Self> {
        let socket = format!("bowline-bench-{}", std::process::id());
        let program = peers::root().join("target/release/bowline");
        let tmux = |arguments: &[&str]| {
            let mut command = Command::new("tmux");
            peers::run(
                command
                    .args(["-L", &socket, "-f", "/dev/null"])
                    .args(arguments),
            )
        };
        let spy = format!("exec {} spy '{URL}'", program.display());
        tmux(&["new-session", "-d", "-x", "120", "-y", "40", &spy])?;
        let pid = tmux(&["list-panes", "-F", "#{pane_pid}"])?;
        Ok(Self {
            pid: pid.trim().parse().context("expected a process")?,
            others: Vec::new(),
            socket: Some(socket),
        })
    }

    /// The reference's, on a virtual screen.
    fn lcm() -> Result<Self> {
        let mut command = Command::new("Xvfb");
        command.args([DISPLAY, "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]);
        let screen = quiet(&mut command).context("Debian's xvfb is missing")?;
        settle();
        let mut command = Command::new(peers::lcm_spy()?);
        command.env("DISPLAY", DISPLAY).args(["-l", URL]);
        let mut spy = Self {
            pid: 0,
            others: vec![screen],
            socket: None,
        };
        let mut java = quiet(&mut command)?;
        spy.pid = java.id();
        settle();
        settle();
        let ended = java.try_wait()?;
        spy.others.push(java);
        ensure!(ended.is_none(), "it does not start here");
        Ok(spy)
    }

    fn measure(self, seconds: u64) -> Result<Cost> {
        settle();
        settle();
        let before = self.cpu_s()?;
        let took = time(|| wait(Duration::from_secs(seconds)));
        let after = self.cpu_s()?;
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory_kib = memory.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        let memory_kib: f64 = memory_kib.context("expected how much memory it has")?;
        Ok(Cost {
            core_percent: 100.0 * (after - before) / took.as_secs_f64(),
            memory_mib: memory_kib / 1024.0,
        })
    }

    /// What it has used of the processor, in seconds.
    fn cpu_s(&self) -> Result<f64> {
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.pid)).context("the spy is gone")?;
        let (_, after_name) = stat
            .rsplit_once(')')
            .context("expected a process's figures")?;
        let figures = after_name.split_whitespace().skip(11).take(2);
        let ticks: f64 = figures.filter_map(|it| it.parse::<f64>().ok()).sum();
        // The kernel counts in hundredths for all programs, whatever it ticks in.
        Ok(ticks / 100.0)
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            let mut command = Command::new("tmux");
            drop(command.args(["-L", socket, "kill-server"]).output());
        }
        for child in self.others.iter_mut().rev() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn quiet(command: &mut Command) -> std::io::Result<Child> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn settle() {
    wait(Duration::from_millis(1_500));
}

#[expect(
    clippy::disallowed_methods,
    reason = "neither a window nor a virtual machine reports when it is ready"
)]
fn wait(duration: Duration) {
    std::thread::sleep(duration);
}

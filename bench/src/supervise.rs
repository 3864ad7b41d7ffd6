//! How soon a supervisor notices that a process was killed, or hangs.
//!
//! Real processes on a real bus: each trial is a process of its own, killed or stopped at any moment of its rhythm. Noticed
//! is when the supervisor reports it, after it has killed what hangs. Beside it what others are configured to.

use crate::Length;
use crate::stopwatch::shares;
use anyhow::{Context as _, Result, bail};
use bowline_bus::{Bus, Hub};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_host::presence::{HEARTBEAT_CHANNEL, HEARTBEAT_PERIOD};
use bowline_host::supervise::{
    self, Care, HEARTBEAT_LIMIT, Heartbeat, News, Options, Plan, ProcessSpec, Ready,
};
use bowline_msgs::{self as msgs, HeartbeatComponent};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What makes this program one of the processes that are supervised.
pub(crate) const BEAT: &str = "beat";

const ROBOT: &str = "bench";
/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What others have as their limits, not what was measured of them.
const ANCHORS: [(&str, &str); 3] = [
    (
        "killed: systemd",
        "SIGCHLD, then RestartSec 100 ms; gives up after 5 starts in 10 s",
    ),
    (
        "killed: procman",
        "waits for SIGCHLD; reports to its sheriff once a second and on change",
    ),
    (
        "hangs: systemd",
        "WatchdogSec has no default (off); seconds where it is used",
    ),
];

pub(crate) fn run(length: Length) -> Result<()> {
    let n_trials = if length == Length::Quick { 5 } else { 100 };
    println!(
        "from a signal to a process until its supervisor has noticed, {n_trials} trials each: p50, p99, max in ms;"
    );
    println!(
        "and how late the machine let a thread go on that only waits for its next 10 ms: p99, max in ms"
    );
    for (what, signal, limit) in [
        ("killed", Signal::KILL, "150"),
        ("hangs", Signal::STOP, "700"),
    ] {
        let canary = Canary::start()?;
        let mut delays = measure(n_trials, signal)?;
        let mut late = canary.stop()?;
        let [p50, p99, most] = shares(&mut delays);
        let [_, late_p99, late_most] = shares(&mut late);
        println!(
            "  {what:<10}{p50:>10.1}{p99:>10.1}{most:>10.1}   (promised: at most {limit})   machine {late_p99:.1}, {late_most:.1}"
        );
    }
    for (who, what) in ANCHORS {
        println!("  {who:<18}{what}");
    }
    println!();
    Ok(())
}

/// Sees how late a machine lets a thread go on that does nothing but wait: what no supervisor on it can do better.
struct Canary {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Canary {
    const PERIOD: Duration = Duration::from_millis(10);

    fn start() -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("canary".to_owned());
        let thread = thread.spawn(move || {
            let clock = Live::new();
            let mut late = Vec::new();
            while !own.load(Ordering::Relaxed) {
                let due = clock.now() + Self::PERIOD;
                clock.wait(Self::PERIOD);
                late.push(clock.now().since(due));
            }
            late
        })?;
        Ok(Self { is_over, thread })
    }

    fn stop(self) -> Result<Vec<Duration>> {
        self.is_over.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(late) => Ok(late),
            Err(_) => bail!("the canary panicked"),
        }
    }
}

/// The reports of the supervisor, and their times.
enum Said {
    Started(String, i32),
    Ended(String),
}

fn measure(n_trials: usize, signal: Signal) -> Result<Vec<Duration>> {
    let hub = Hub::open("tcpq://127.0.0.1:0")?;
    let bus = Bus::open(&hub.url())?;
    let beats = bus.events(HEARTBEAT_CHANNEL)?;
    let plan = plan(n_trials, &hub.url())?;
    let clock = Live::new();
    let (end, until) = UnixStream::pair()?;
    let (say, said) = sync_channel(10 * n_trials);
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_owned();
    let supervisor = thread::Builder::new().spawn(move || {
        let options = Options {
            folder: Some(path),
            until: until.as_fd(),
            care: Care::Own,
            keeper: Vec::new(),
            tell: &mut |news| say_it(&say, clock, news),
        };
        supervise::run(&plan, &bus, options)
    })?;
    let pids = started(&said, n_trials)?;
    // Until each has sent a heartbeat: a process that never did is not missed so soon.
    let mut silent: Vec<i32> = pids.values().copied().collect();
    while !silent.is_empty() {
        let event = beats.recv_timeout(PATIENCE)?;
        let (_, event) = event.context("the processes send nothing")?;
        let heartbeat = <msgs::Heartbeat as bowline_wire::Message>::decode(&event.payload)?;
        silent.retain(|pid| *pid != heartbeat.pid);
    }
    let mut delays = Vec::new();
    for (name, pid) in &pids {
        // Not in step with their rhythm: 37 ms is no part of 200.
        beats_pass(&beats, clock, Duration::from_millis(237))?;
        let sent = clock.now();
        let pid = Pid::from_raw(*pid).context("a process has a number")?;
        kill_process(pid, signal).with_context(|| format!("{name} cannot be signalled"))?;
        delays.push(ended(&said, name)?.since(sent));
    }
    drop(end);
    match supervisor.join() {
        Ok(result) => result?,
        Err(_) => bail!("the supervisor panicked"),
    }
    Ok(delays)
}

fn plan(n_trials: usize, url: &str) -> Result<Plan> {
    let program = std::env::current_exe()?.display().to_string();
    let processes = (0..n_trials).map(|n| {
        let name = format!("p{n}");
        ProcessSpec {
            heartbeat: Heartbeat::Presence {
                components: vec![name.clone()],
                within: HEARTBEAT_LIMIT,
            },
            ready: Ready::FirstHeartbeat,
            ready_within: PATIENCE,
            ..ProcessSpec::new(name.clone(), [&program, BEAT, url, &name])
        }
    });
    Ok(Plan {
        robot: ROBOT.to_owned(),
        host: format!("h{}", std::process::id()),
        processes: processes.collect(),
        ..Plan::default()
    })
}

type Stamped = (Time, Said);

fn say_it(say: &SyncSender<Stamped>, clock: Live, news: &News<'_>) {
    let said = match news {
        News::Started { process, pid } => Said::Started((*process).to_owned(), *pid),
        News::Ended { process, how: _ } => Said::Ended((*process).to_owned()),
        News::Adopted { .. }
        | News::Printed { .. }
        | News::Alarm { .. }
        | News::SafeState(_)
        | News::Note(_) => return,
    };
    // There is no receiver any more when everything is being stopped.
    drop(say.try_send((clock.now(), said)));
}

fn started(said: &Receiver<Stamped>, n: usize) -> Result<BTreeMap<String, i32>> {
    let mut pids = BTreeMap::new();
    while pids.len() < n {
        match said.recv_timeout(PATIENCE)? {
            (_, Said::Started(name, pid)) => drop(pids.insert(name, pid)),
            (_, Said::Ended(name)) => bail!("{name} ended by itself"),
        }
    }
    Ok(pids)
}

fn ended(said: &Receiver<Stamped>, name: &str) -> Result<Time> {
    loop {
        if let (at, Said::Ended(ended)) = said.recv_timeout(PATIENCE)?
            && ended == name
        {
            return Ok(at);
        }
    }
}

/// Lets a moment pass.
fn beats_pass(beats: &bowline_bus::Inbox, clock: Live, moment: Duration) -> Result<()> {
    let end = clock.now() + moment;
    while clock.now() < end {
        beats.recv_timeout(clock.until(end))?;
    }
    Ok(())
}

/// What each of the supervised processes does: sends heartbeats until it is killed.
pub(crate) fn beat(url: &str, name: &str) -> Result<()> {
    let bus = Bus::open(url)?;
    let nothing = bus.events("nothing")?;
    let component = HeartbeatComponent {
        name: name.to_owned(),
        health: HeartbeatComponent::GOOD,
        ..HeartbeatComponent::default()
    };
    let heartbeat = msgs::Heartbeat {
        robot: ROBOT.to_owned(),
        pid: i32::try_from(std::process::id())?,
        components: vec![component],
        ..msgs::Heartbeat::default()
    };
    let heartbeat = heartbeat.with_lengths();
    while bus.publish(HEARTBEAT_CHANNEL, &heartbeat).is_ok() {
        nothing.recv_timeout(HEARTBEAT_PERIOD)?;
    }
    Ok(())
}

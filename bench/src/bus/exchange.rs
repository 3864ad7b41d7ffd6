//! One measurement: workers of one system, from start to their reports.

use super::systems::System;
use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Longer than any exchange takes; a worker that hangs is killed then.
const LIMIT_S: u32 = 40;

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One publisher, some subscribers.
    OneWay,
    /// The papers' test: some clients echo, the sender takes the echoes.
    Echo,
    /// One publisher, and one process that wants something else.
    Idle,
}

/// What is asked of a system.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) pattern: Pattern,
    /// 0 is flat out.
    pub(super) rate_hz: u32,
    pub(super) size: usize,
    pub(super) n_peers: usize,
    pub(super) seconds: f64,
    pub(super) is_batched: bool,
    /// All on one core.
    pub(super) is_pinned: bool,
}

/// What came of it. What a pattern does not measure is 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// At the subscriber that got fewest.
    pub(super) delivered_hz: f64,
    pub(super) delivered_gbps: f64,
    pub(super) loss_percent: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// Of the process that wanted something else, per message sent.
    pub(super) idle_cpu_us: f64,
    /// Of the publisher, per message sent.
    pub(super) publisher_cpu_us: f64,
}

pub(super) fn run(system: &System, case: &Case) -> anyhow::Result<Outcome> {
    let outcome = match case.pattern {
        Pattern::OneWay => one_way(system, case),
        Pattern::Echo => echo(system, case),
        Pattern::Idle => idle(system, case),
    };
    outcome.with_context(|| format!("{}, {}", system.name, case.name))
}

fn one_way(system: &System, case: &Case) -> anyhow::Result<Outcome> {
    let subscribers = start_peers(system, case, "sub")?;
    let published = Worker::start(system, case, "pub", 0)?.finish()?;
    let sent = published.get("sent")?;
    let mut outcome = Outcome {
        delivered_hz: f64::INFINITY,
        delivered_gbps: f64::INFINITY,
        publisher_cpu_us: published.get("cpu_ns")? / sent.max(1.0) / 1e3,
        ..Outcome::default()
    };
    let mut delivered = 0.0;
    for subscriber in subscribers {
        let report = subscriber.finish()?;
        let unique = report.get("unique")?;
        let seconds = (report.get("last_ns")? - report.get("first_ns")?) / 1e9;
        let hz = if seconds > 0.0 { unique / seconds } else { 0.0 };
        delivered += unique;
        outcome.delivered_hz = outcome.delivered_hz.min(hz);
        let bytes_each = report.get("bytes")? / report.get("received")?.max(1.0);
        outcome.delivered_gbps = outcome.delivered_gbps.min(hz * bytes_each / 1e9);
    }
    outcome.loss_percent = case.loss_percent(sent, delivered);
    Ok(outcome)
}

fn echo(system: &System, case: &Case) -> anyhow::Result<Outcome> {
    let clients = start_peers(system, case, "pong")?;
    let report = Worker::start(system, case, "ping", 0)?.finish()?;
    for client in clients {
        client.finish()?;
    }
    Ok(Outcome {
        loss_percent: case.loss_percent(report.get("sent")?, report.get("unique")?),
        p50_us: report.get("p50_ns")? / 1e3,
        p99_us: report.get("p99_ns")? / 1e3,
        ..Outcome::default()
    })
}

fn idle(system: &System, case: &Case) -> anyhow::Result<Outcome> {
    let bystander = Worker::start(system, case, "idle", 0)?;
    let published = Worker::start(system, case, "pub", 0)?.finish()?;
    let report = bystander.finish()?;
    if report.get("received")? > 0.0 {
        bail!("the bystander received messages that it did not subscribe to");
    }
    let sent = published.get("sent")?.max(1.0);
    Ok(Outcome {
        idle_cpu_us: report.get("cpu_ns")? / sent / 1e3,
        publisher_cpu_us: published.get("cpu_ns")? / sent / 1e3,
        ..Outcome::default()
    })
}

impl Case {
    fn loss_percent(&self, sent: f64, delivered: f64) -> f64 {
        // What a sender that fell behind its pace did not send is lost as well.
        let asked = (f64::from(self.rate_hz) * self.seconds).max(sent) * to_f64(self.n_peers);
        if asked > 0.0 {
            (100.0 * (asked - delivered) / asked).max(0.0)
        } else {
            100.0
        }
    }
}

fn to_f64(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn start_peers(system: &System, case: &Case, verb: &str) -> anyhow::Result<Vec<Worker>> {
    (0..case.n_peers)
        .map(|idx| Worker::start(system, case, verb, idx))
        .collect()
}

/// A worker that has said that it is ready.
struct Worker {
    command: Command,
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Worker {
    fn start(system: &System, case: &Case, verb: &str, idx: usize) -> anyhow::Result<Self> {
        let mut command = system.command(LIMIT_S, case.is_pinned)?;
        command.arg(verb).arg(system.address);
        command.arg("--rate").arg(case.rate_hz.to_string());
        command.arg("--size").arg(case.size.to_string());
        command.arg("--seconds").arg(case.seconds.to_string());
        command.arg("--peers").arg(case.n_peers.to_string());
        command.arg("--idx").arg(idx.to_string());
        if case.is_batched {
            command.arg("--batch");
        }
        // liblcm writes about what it loses to standard error.
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let lines = child
            .stdout
            .take()
            .map(BufReader::new)
            .context("the pipe was asked for")?;
        let mut worker = Self {
            command,
            child,
            lines,
        };
        let line = worker.line()?;
        if line.trim() != "ready" {
            bail!(
                "expected ready, found {line:?}: run it by hand to see why: {:?}",
                worker.command
            );
        }
        Ok(worker)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }

    /// Waits for its end and takes its report.
    fn finish(mut self) -> anyhow::Result<Report> {
        drop(self.child.stdin.take());
        let line = self.line()?;
        self.child.wait()?;
        Report::parse(&line).with_context(|| {
            format!(
                "expected a report, found {line:?}: run it by hand to see why: {:?}",
                self.command
            )
        })
    }
}

impl Drop for Worker {
    /// An exchange that failed leaves nobody behind.
    fn drop(&mut self) {
        // Both fail when it has ended already, as it should have. `timeout` passes the signal on.
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            let stop = Command::new("kill")
                .arg(self.child.id().to_string())
                .status();
            drop((stop, self.child.wait()));
        }
    }
}

/// A worker's flat JSON.
struct Report(BTreeMap<String, f64>);

impl Report {
    fn parse(line: &str) -> Option<Self> {
        let fields = line.trim().strip_prefix('{')?.strip_suffix('}')?.split(',');
        let field = |field: &str| {
            let (name, value) = field.split_once(':')?;
            Some((name.trim_matches('"').to_string(), value.parse().ok()?))
        };
        fields.map(field).collect::<Option<_>>().map(Self)
    }

    fn get(&self, name: &str) -> anyhow::Result<f64> {
        self.0
            .get(name)
            .copied()
            .with_context(|| format!("expected {name} in the report, found none"))
    }
}

//! One measurement: workers of one system, from start to their reports.

use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// With fewer gaps between messages than this, one that comes late makes the rate a matter of luck.
const LEAST_INTERVALS: f64 = 8.0;

/// How workers of one system are started.
pub trait Launch {
    /// What people call the system.
    fn name(&self) -> &str;

    /// In the system's own notation.
    fn address(&self) -> &str;

    /// The worker's program, ready for its verb.
    ///
    /// # Errors
    /// When there is none.
    fn command(&self, case: &Case) -> Result<Command>;

    /// Whether its messages do not leave a process.
    fn is_inside(&self) -> bool {
        false
    }
}

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// One publisher, some subscribers.
    OneWay,
    /// The papers' test: some clients echo, the sender takes the echoes.
    Echo,
    /// One publisher, and one process that wants something else.
    Idle,
}

/// What is asked of a system.
#[derive(Debug, Clone)]
pub struct Case {
    /// For people.
    pub name: String,
    /// Who talks to whom.
    pub pattern: Pattern,
    /// Messages a second; 0 is flat out.
    pub rate_hz: u32,
    /// Bytes a message.
    pub size: usize,
    /// Subscribers, or clients that echo.
    pub n_peers: usize,
    /// How long to publish.
    pub seconds: f64,
    /// Whether messages are handed over many at a time.
    pub is_batched: bool,
    /// Whether all workers share one core.
    pub is_pinned: bool,
}

/// What came of it. What a pattern does not measure is 0.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Messages that were sent, each second.
    pub sent_hz: f64,
    /// At the subscriber that got fewest; of echoes, the sum of all clients'. None where too few came for a rate.
    pub delivered_hz: Option<f64>,
    /// The same in bytes.
    pub delivered_gbps: Option<f64>,
    /// Of what should have been sent.
    pub loss_percent: f64,
    /// Round trips of echoes.
    pub mean_us: f64,
    /// Their median.
    pub p50_us: f64,
    /// What one in a hundred takes longer than.
    pub p99_us: f64,
    /// Of the process that wanted something else, per message sent.
    pub idle_cpu_us: f64,
    /// Of the publisher, per message sent.
    pub publisher_cpu_us: f64,
    /// Of a subscriber, per message received.
    pub subscriber_cpu_us: f64,
}

/// Starts the workers of a case, and makes figures of what they report.
///
/// # Errors
/// When a worker does not start or does not report.
pub fn run(system: &dyn Launch, case: &Case) -> Result<Outcome> {
    let outcome = match case.pattern {
        Pattern::OneWay => one_way(system, case),
        Pattern::Echo => echo(system, case),
        Pattern::Idle => idle(system, case),
    };
    outcome.with_context(|| format!("{}, {}", system.name(), case.name))
}

fn one_way(system: &dyn Launch, case: &Case) -> Result<Outcome> {
    let (subscribers, published) = run_all(system, case, "sub", "pub")?;
    let sent = published.get("sent")?;
    let mut outcome = Outcome {
        sent_hz: published.sent_hz()?,
        publisher_cpu_us: published.get("cpu_ns")? / sent.max(1.0) / 1e3,
        ..Outcome::default()
    };
    let (mut delivered, mut cpu_ns) = (0.0, 0.0);
    let mut rates = Vec::new();
    for report in subscribers {
        rates.push(report.delivered()?);
        delivered += report.get("unique")?;
        // Threads of one process do not know their own.
        cpu_ns += report.get("cpu_ns").unwrap_or(0.0);
    }
    if let Some(rates) = rates.into_iter().collect::<Option<Vec<_>>>() {
        let least = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.min(b.1));
        (outcome.delivered_hz, outcome.delivered_gbps) = rates.into_iter().reduce(least).unzip();
    }
    outcome.subscriber_cpu_us = cpu_ns / delivered.max(1.0) / 1e3;
    outcome.loss_percent = case.loss_percent(sent, delivered);
    Ok(outcome)
}

fn echo(system: &dyn Launch, case: &Case) -> Result<Outcome> {
    let (_, report) = run_all(system, case, "pong", "ping")?;
    let (delivered_hz, delivered_gbps) = report.delivered()?.unzip();
    Ok(Outcome {
        sent_hz: report.sent_hz()?,
        delivered_hz,
        delivered_gbps,
        loss_percent: case.loss_percent(report.get("sent")?, report.get("unique")?),
        mean_us: report.get("mean_ns")? / 1e3,
        p50_us: report.get("p50_ns")? / 1e3,
        p99_us: report.get("p99_ns")? / 1e3,
        ..Outcome::default()
    })
}

fn idle(system: &dyn Launch, case: &Case) -> Result<Outcome> {
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

/// The reports of the peers, and of the one at the centre.
fn run_all(
    system: &dyn Launch,
    case: &Case,
    peer: &str,
    centre: &str,
) -> Result<(Vec<Report>, Report)> {
    if system.is_inside() {
        let mut worker = Worker::start(system, case, centre, 0)?;
        let peers = (0..case.n_peers).map(|_| worker.report());
        let peers = peers.collect::<Result<_>>()?;
        return Ok((peers, worker.finish()?));
    }
    let peers: Vec<Worker> = (0..case.n_peers)
        .map(|idx| Worker::start(system, case, peer, idx))
        .collect::<Result<_>>()?;
    let report = Worker::start(system, case, centre, 0)?.finish()?;
    let peers = peers.into_iter().map(Worker::finish);
    Ok((peers.collect::<Result<_>>()?, report))
}

/// A worker that has reported that it is ready.
struct Worker {
    command: Command,
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Worker {
    fn start(system: &dyn Launch, case: &Case, verb: &str, idx: usize) -> Result<Self> {
        let mut command = system.command(case)?;
        command.arg(verb).arg(system.address());
        command.arg("--rate").arg(case.rate_hz.to_string());
        command.arg("--size").arg(case.size.to_string());
        command.arg("--seconds").arg(case.seconds.to_string());
        command.arg("--peers").arg(case.n_peers.to_string());
        command.arg("--idx").arg(idx.to_string());
        if case.is_batched {
            command.arg("--batch");
        }
        if system.is_inside() {
            command.arg("--inside");
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

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line)
    }

    fn report(&mut self) -> Result<Report> {
        let line = self.line()?;
        Report::parse(&line).with_context(|| {
            format!(
                "expected a report, found {line:?}: run it by hand to see why: {:?}",
                self.command
            )
        })
    }

    /// Waits for its end and takes its report.
    fn finish(mut self) -> Result<Report> {
        drop(self.child.stdin.take());
        let report = self.report();
        self.child.wait()?;
        report
    }
}

impl Drop for Worker {
    /// An exchange that failed leaves no process behind.
    fn drop(&mut self) {
        // Both fail when it has ended already, as it should have.
        drop((self.child.kill(), self.child.wait()));
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

    fn get(&self, name: &str) -> Result<f64> {
        self.0
            .get(name)
            .copied()
            .with_context(|| format!("expected {name} in the report, found none"))
    }

    /// Messages a second while it published.
    fn sent_hz(&self) -> Result<f64> {
        Ok(self.get("sent")? * 1e9 / self.get("ns")?.max(1.0))
    }

    /// Messages and gigabytes a second, from the first to arrive to the last whose time is known. None where they are
    /// too few for a rate; but where nothing came, the rate is 0.
    fn delivered(&self) -> Result<Option<(f64, f64)>> {
        if self.get("unique")? < 1.0 {
            return Ok(Some((0.0, 0.0)));
        }
        let seconds = (self.get("last_ns")? - self.get("first_ns")?) / 1e9;
        // The first one only starts the watch.
        let n_intervals = self.get("unique_at_last")? - 1.0;
        if n_intervals < LEAST_INTERVALS || seconds <= 0.0 {
            return Ok(None);
        }
        let hz = n_intervals / seconds;
        let bytes_each = self.get("bytes")? / self.get("received")?.max(1.0);
        Ok(Some((hz, hz * bytes_each / 1e9)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(unique_at_last: u32, unique: u32, seconds: u32) -> Option<f64> {
        let line = format!(
            r#"{{"unique":{unique},"unique_at_last":{unique_at_last},"received":{unique},"bytes":{},"first_ns":5,"last_ns":{}}}"#,
            800 * unique,
            5 + u64::from(seconds) * 1_000_000_000,
        );
        let report = Report::parse(&line).expect("a report");
        let rate = report.delivered().expect("all is there");
        rate.map(|(hz, _)| hz)
    }

    #[test]
    fn a_rate_counts_the_intervals_that_were_timed() {
        // 1,001 posts, 1,000 gaps; five more came after the last look at the clock.
        assert_eq!(delivered(1_001, 1_006, 1), Some(1_000.0));
    }

    #[test]
    fn a_few_messages_are_no_rate_and_none_are_a_rate_of_0() {
        assert_eq!(delivered(2, 2, 1), None);
        assert_eq!(delivered(1, 12, 0), None);
        assert_eq!(delivered(0, 0, 0), Some(0.0));
    }
}

//! What workers do.

use crate::args::Settings;
use crate::payload::{self, END, WARM_UP};
use crate::sys::{cpu_ns, end_after, end_with_parent, now_ns, sharpen_timers, sleep_until};
use crate::tally::{Next, Tally};
use crate::{Handler, Publisher, Subscriber, System};
use anyhow::{Result, anyhow, bail, ensure};
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

const DATA: &str = "bench.data";
const OTHER: &str = "bench.other";
const PING: &str = "bench.ping";

/// Messages handed over at once with `--batch`.
const N_BATCH: usize = 80;

const NS_PER_MS: u64 = 1_000_000;

/// A receiver gives up after this much silence, and waits this long for the first message.
const SILENCE_NS: u64 = 1000 * NS_PER_MS;
const PATIENCE_NS: u64 = 10_000 * NS_PER_MS;

/// The end marker is repeated, for systems that lose messages.
const N_MARKERS: u64 = 8;
const MARKER_PERIOD_NS: u64 = 20 * NS_PER_MS;
const N_MARKER_BYTES: usize = 800;

/// Messages before those that count, so that connections and memory are there for every system alike.
const N_WARM_UP: u64 = 3;
const WARM_UP_PERIOD_NS: u64 = 50 * NS_PER_MS;

/// Whether a receiver should go on.
#[derive(Debug, Default)]
pub struct Run {
    is_over: AtomicBool,
    /// Goes up with each message.
    progress: AtomicU64,
}

impl Run {
    /// Whether [`crate::Subscriber::serve`] should return.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Waits for the end, for systems that call back on threads of their own.
    pub fn wait(&self) {
        while !self.is_over() {
            sleep_until(now_ns() + 10 * NS_PER_MS);
        }
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Ends the run after a second of silence.
    fn watch(&self) {
        let (mut progress, mut since) = (0, now_ns());
        while !self.is_over() {
            sleep_until(now_ns() + 50 * NS_PER_MS);
            let current = self.progress.load(Ordering::Relaxed);
            if current != progress {
                (progress, since) = (current, now_ns());
            }
            let patience = if current == 0 {
                PATIENCE_NS
            } else {
                SILENCE_NS
            };
            if now_ns() - since > patience {
                self.end();
            }
        }
    }
}

/// A worker may take this much longer than twice the time that it publishes: to start, to wait, to notice silence.
const GRACE_S: f64 = 30.0;

/// A worker's whole `main`.
///
/// # Errors
/// When the command line is wrong or the system fails.
pub fn main(system: &dyn System) -> Result<()> {
    run(system, std::env::args().skip(1))
}

/// A worker with its arguments, from the verb on.
///
/// # Errors
/// When the arguments are wrong or the system fails.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of seconds; the cast saturates"
)]
pub fn run(system: &dyn System, args: impl Iterator<Item = String>) -> Result<()> {
    let settings = Settings::parse(args)?;
    end_with_parent();
    end_after((2.0 * settings.seconds + GRACE_S) as u32);
    sharpen_timers();
    let reports = if settings.is_inside {
        inside(system, &settings)?
    } else {
        vec![perform(system, &settings, &ready)?]
    };
    for report in reports {
        let fields: Vec<String> = report
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        println!("{{{}}}", fields.join(","));
    }
    Ok(())
}

type Report = Vec<(&'static str, u64)>;

/// Called once a worker would miss nothing.
type Ready<'a> = &'a dyn Fn();

fn ready() {
    println!("ready");
}

fn perform(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    match settings.verb.as_str() {
        "pub" => publish(system, settings, ready),
        "sub" => subscribe(system, settings, ready),
        "idle" => idle(system, settings, ready),
        "ping" => ping(system, settings, ready),
        "pong" => pong(system, settings, ready),
        verb => bail!("expected pub, sub, idle, ping or pong, found {verb:?}"),
    }
}

/// All workers in this process; the one at the centre reports last, and for the CPU time of all.
fn inside(system: &dyn System, settings: &Settings) -> Result<Vec<Report>> {
    let verb = match settings.verb.as_str() {
        "pub" => "sub",
        "ping" => "pong",
        verb => bail!("expected pub or ping with --inside, found {verb:?}"),
    };
    let (is_ready, all_ready) = sync_channel(settings.n_peers);
    std::thread::scope(|scope| {
        let mut peers = Vec::new();
        for idx in 0..settings.n_peers {
            let settings = Settings {
                verb: verb.to_owned(),
                idx,
                ..settings.clone()
            };
            let is_ready = is_ready.clone();
            let ready = move || {
                let _is_heard = is_ready.send(());
            };
            peers.push(scope.spawn(move || perform(system, &settings, &ready)));
        }
        drop(is_ready);
        let n_ready = all_ready.iter().take(settings.n_peers).count();
        ensure!(n_ready == settings.n_peers, "not all peers could start");
        let centre = perform(system, settings, &ready)?;
        let mut reports = Vec::new();
        for peer in peers {
            let report = peer.join().map_err(|_panic| anyhow!("a peer panicked"))??;
            let is_own = |(name, _): &(&str, u64)| *name != "cpu_ns";
            reports.push(report.into_iter().filter(is_own).collect());
        }
        reports.push(centre);
        Ok(reports)
    })
}

fn publish(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    let endpoint = system.open(settings)?;
    let mut publisher = endpoint.publisher(DATA)?;
    publisher.wait_for_subscribers(settings.n_peers)?;
    ready();
    let cpu = cpu_ns();
    let (sent, errors, ns) = send_all(publisher.as_mut(), settings);
    let cpu = cpu_ns() - cpu;
    mark_end(publisher.as_mut(), settings.size);
    Ok(vec![
        ("sent", sent),
        ("errors", errors),
        ("ns", ns),
        ("cpu_ns", cpu),
    ])
}

/// How many messages were sent, how many were refused, and how long it took.
fn send_all(publisher: &mut dyn Publisher, settings: &Settings) -> (u64, u64, u64) {
    let n_batch = if settings.is_batched { N_BATCH } else { 1 };
    let mut messages = vec![payload::message(settings.size); n_batch];
    warm_up(publisher, settings.size);
    let start = now_ns();
    let pace = Pace::new(settings, start);
    let (mut sent, mut errors) = (0, 0);
    while pace.wait_for(sent) {
        for message in &mut messages {
            payload::stamp(message, sent, now_ns());
            sent += 1;
        }
        let result = match messages.as_slice() {
            [message] => publisher.publish(message),
            many => publisher.publish_many(many),
        };
        if let Err(error) = result {
            if errors == 0 {
                eprintln!("message {sent} was refused, and maybe more: {error:#}");
            }
            errors += 1;
        }
    }
    (sent, errors, pace.due_ns(sent).max(now_ns()) - start)
}

fn warm_up(publisher: &mut dyn Publisher, size: usize) {
    let mut message = payload::message(size);
    payload::stamp(&mut message, WARM_UP, 0);
    for _ in 0..N_WARM_UP {
        // What is refused here will be refused, and counted, again.
        drop(publisher.publish(&message));
        sleep_until(now_ns() + WARM_UP_PERIOD_NS);
    }
}

struct Pace {
    start_ns: u64,
    end_ns: u64,
    rate_hz: u64,
    n: u64,
}

impl Pace {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "durations of seconds and rates far below the limits"
    )]
    fn new(settings: &Settings, start_ns: u64) -> Self {
        let ns = (settings.seconds * 1e9) as u64;
        // A sender that cannot keep its pace is cut off rather than waited for; a moment of stillness is not that.
        let (n, ns) = match settings.rate_hz {
            0 => (u64::MAX, ns),
            rate => {
                let limit = ns + ns.max(1000 * NS_PER_MS);
                ((settings.seconds * rate as f64) as u64, limit)
            }
        };
        Self {
            start_ns,
            end_ns: start_ns + ns,
            rate_hz: settings.rate_hz,
            n,
        }
    }

    /// When message `i` is due; at once, flat out. The time of all messages before it ends then, so that the last of
    /// them has its share too.
    fn due_ns(&self, i: u64) -> u64 {
        let offset = (i * 1_000_000_000).checked_div(self.rate_hz);
        self.start_ns + offset.unwrap_or(0)
    }

    /// Waits until message `i` is due; whether it is to be sent at all.
    fn wait_for(&self, i: u64) -> bool {
        let now = now_ns();
        if i >= self.n || now >= self.end_ns {
            return false;
        }
        if self.due_ns(i) > now {
            sleep_until(self.due_ns(i));
        }
        true
    }
}

fn mark_end(publisher: &mut dyn Publisher, size: usize) {
    // Small, so that it gets through where large messages do not.
    let mut marker = payload::message(size.min(N_MARKER_BYTES));
    payload::stamp(&mut marker, END, 0);
    for _ in 0..N_MARKERS {
        sleep_until(now_ns() + MARKER_PERIOD_NS);
        // A system that refuses the marker is noticed by the receiver's silence.
        drop(publisher.publish(&marker));
    }
}

/// A handler that counts, the counts, and the run that ends with the marker of every sender.
fn counting(
    count: fn(&mut Tally, &[u8]) -> Next,
    n_senders: usize,
) -> (Handler, Arc<Mutex<Tally>>, Arc<Run>) {
    let (tally, run) = (
        Arc::new(Mutex::new(Tally::new(n_senders))),
        Arc::new(Run::default()),
    );
    let (counts, progress) = (Arc::clone(&tally), Arc::clone(&run));
    let handler: Handler = Box::new(move |message: &[u8]| {
        let next = count(
            &mut counts.lock().unwrap_or_else(PoisonError::into_inner),
            message,
        );
        progress.progress.fetch_add(1, Ordering::Relaxed);
        if next == Next::End {
            progress.end();
        }
    });
    (handler, tally, run)
}

fn subscribe(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    let endpoint = system.open(settings)?;
    let mut subscriber = endpoint.subscriber(&[DATA.to_string()])?;
    let (handler, tally, run) = counting(Tally::count, 1);
    ready();
    serve(subscriber.as_mut(), handler, &tally, &run)
}

/// Receives until the run is over, and reports what was counted.
fn serve(
    subscriber: &mut dyn Subscriber,
    handler: Handler,
    tally: &Mutex<Tally>,
    run: &Run,
) -> Result<Report> {
    let cpu = cpu_ns();
    std::thread::scope(|scope| {
        scope.spawn(|| run.watch());
        let result = subscriber.serve(handler, run);
        run.end();
        result
    })?;
    let mut report = tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .report();
    report.push(("cpu_ns", cpu_ns() - cpu));
    Ok(report)
}

/// What a process pays for traffic that it does not want.
fn idle(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    let endpoint = system.open(settings)?;
    let mut subscriber = endpoint.subscriber(&[OTHER.to_string()])?;
    let (handler, tally, run) = counting(Tally::count, 1);
    ready();
    let cpu = cpu_ns();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut nothing = [0];
            while std::io::stdin().read(&mut nothing).is_ok_and(|n| n > 0) {}
            run.end();
        });
        subscriber.serve(handler, &run)
    })?;
    let received = tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .received;
    Ok(vec![("received", received), ("cpu_ns", cpu_ns() - cpu)])
}

fn pong_channel(idx: usize) -> String {
    format!("bench.pong.{idx}")
}

fn ping(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    let endpoint = system.open(settings)?;
    let channels: Vec<String> = (0..settings.n_peers).map(pong_channel).collect();
    let mut subscriber = endpoint.subscriber(&channels)?;
    let mut publisher = endpoint.publisher(PING)?;
    publisher.wait_for_subscribers(settings.n_peers)?;
    let (handler, tally, run) = counting(Tally::count_echo, settings.n_peers);
    ready();
    let cpu = cpu_ns();
    let (sent, errors, ns) = std::thread::scope(|scope| -> Result<_> {
        let sender = scope.spawn(|| {
            let sent = send_all(publisher.as_mut(), settings);
            // The marker comes back as each client's last echo.
            mark_end(publisher.as_mut(), settings.size);
            sent
        });
        scope.spawn(|| run.watch());
        subscriber.serve(handler, &run)?;
        run.end();
        Ok(sender.join().unwrap_or_default())
    })?;
    let mut report = tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .report();
    report.extend([
        ("sent", sent),
        ("errors", errors),
        ("ns", ns),
        ("cpu_ns", cpu_ns() - cpu),
    ]);
    Ok(report)
}

fn pong(system: &dyn System, settings: &Settings, ready: Ready<'_>) -> Result<Report> {
    let endpoint = system.open(settings)?;
    let mut publisher = endpoint.publisher(&pong_channel(settings.idx))?;
    let mut subscriber = endpoint.subscriber(&[PING.to_string()])?;
    let (mut count, tally, run) = counting(Tally::count, 1);
    let client = settings.idx as u64;
    let mut echo = Vec::new();
    let handler: Handler = Box::new(move |message: &[u8]| {
        echo.clear();
        echo.extend_from_slice(message);
        payload::stamp_client(&mut echo, client);
        // An echo that was refused is missed, and counted, at the other end.
        drop(publisher.publish(&echo));
        count(message);
    });
    ready();
    serve(subscriber.as_mut(), handler, &tally, &run)
}

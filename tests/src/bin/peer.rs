//! One end of a bus, on ours. The verbs and lines that all ends share are described in `tests/src/bus_peers.rs`.
//!
//! This one also answers questions: a receiver answers `counts` with a line of JSON with what its bus counted.

use bowline_bus::{Bus, Event, Inbox, Queue};
use bowline_tests::content::{content, digest};
use serde_json::json;
use std::error::Error;
use std::io::{Write as _, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// How long a receiver waits before it looks whether it is to end.
const GLANCE: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["receive", url, pattern, count] => receive(url, pattern, count.parse()?, describe),
        ["echo", url, pattern, reply] => receive(url, pattern, 0, |bus, event| {
            bus.publish_shared(reply, &event.payload)?;
            Ok(None)
        }),
        [
            "send",
            url,
            channel,
            n_channels,
            seed,
            count,
            pace,
            ref sizes @ ..,
        ] => {
            let job = Job {
                bus: Bus::open(url)?,
                channel,
                n_channels: n_channels.parse()?,
                seed: seed.parse()?,
                sizes: sizes
                    .iter()
                    .map(|size| size.parse())
                    .collect::<Result<_, _>>()?,
            };
            send(&job, count.parse()?, pace)
        }
        _ => Err("expected receive, send or echo; see tests/src/bus_peers.rs".into()),
    }
}

/// What went through this end.
#[derive(Debug, Default)]
struct Tally {
    n_messages: u64,
    n_bytes: u64,
}

impl Tally {
    fn add(&mut self, size: usize) {
        self.n_messages += 1;
        self.n_bytes += size as u64;
    }

    fn say(&self) {
        let Self {
            n_messages,
            n_bytes,
        } = self;
        say(&format!("done {n_messages} messages {n_bytes} bytes"));
    }
}

/// Prints a line at once. A test that went away needs no answer.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn describe(_: &Bus, event: &Event) -> Result<Option<String>, Box<dyn Error>> {
    let (size, digest) = (event.payload.len(), digest(&event.payload));
    Ok(Some(format!("{} {size} {digest:08x}", event.channel)))
}

/// Handles messages until there were `count` (0: for ever), or stdin is closed and none waits.
fn receive(
    url: &str,
    pattern: &str,
    count: u64,
    handle: impl Fn(&Bus, &Event) -> Result<Option<String>, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let bus = Bus::open(url)?;
    let inbox = bus.inbox();
    // As in the other ends: what is tested is the wire.
    inbox.subscribe(pattern, Queue::default().with_max_bytes(usize::MAX))?;
    let shared = Arc::<Shared>::default();
    answer_in_background(bus.clone(), Arc::clone(&shared))?;
    say("ready");
    let mut tally = Tally::default();
    while count == 0 || tally.n_messages < count {
        let Some(event) = next(&inbox, &shared.is_closing)? else {
            break;
        };
        let received_ns = event.arrival.received_ns;
        shared.received_ns.store(received_ns, Ordering::Release);
        tally.add(event.payload.len());
        if let Some(line) = handle(&bus, &event)? {
            say(&line);
        }
    }
    tally.say();
    Ok(())
}

/// The next message; none when stdin is closed and nothing waits.
fn next(inbox: &Inbox, is_closing: &AtomicBool) -> Result<Option<Event>, Box<dyn Error>> {
    loop {
        // Looked at first: what was sent before stdin was closed is there by then.
        let was_closing = is_closing.load(Ordering::Acquire);
        let patience = if was_closing { Duration::ZERO } else { GLANCE };
        match inbox.recv_timeout(patience)? {
            Some((_, event)) => return Ok(Some(event)),
            None if was_closing => return Ok(None),
            None => {}
        }
    }
}

/// What the thread that receives and the one that reads stdin exchange.
#[derive(Debug, Default)]
struct Shared {
    is_closing: AtomicBool,
    /// When the last message was received.
    received_ns: AtomicI64,
}

/// Reads stdin on a thread of its own, which ends with the process.
fn answer_in_background(bus: Bus, shared: Arc<Shared>) -> Result<(), Box<dyn Error>> {
    let answer = move || {
        for line in stdin().lines().map_while(Result::ok) {
            if line == "counts" {
                say(&counts(&bus, shared.received_ns.load(Ordering::Acquire)));
            }
        }
        shared.is_closing.store(true, Ordering::Release);
    };
    std::thread::Builder::new()
        .name("stdin".to_string())
        .spawn(answer)?;
    Ok(())
}

/// What a bus counted, and when it last received something.
fn counts(bus: &Bus, received_ns: i64) -> String {
    let counts = bus.counts();
    let of_sender = |sender: &bowline_bus::SenderCounts| {
        json!({
            "sender": sender.sender.to_string(), "received": sender.received, "lost": sender.lost,
            "duplicates": sender.duplicates, "late": sender.late, "restarts": sender.restarts,
        })
    };
    let mut all = serde_json::Map::new();
    for (name, value) in counts.network.named() {
        all.insert(name.to_owned(), value.into());
    }
    all.insert("received".to_owned(), counts.received.into());
    all.insert("queue_drops".to_owned(), counts.queue_drops.into());
    all.insert("received_ns".to_owned(), received_ns.into());
    let of_senders = bus.senders().iter().map(of_sender).collect();
    all.insert("of_senders".to_owned(), of_senders);
    serde_json::Value::Object(all).to_string()
}

/// What to send.
struct Job<'j> {
    bus: Bus,
    channel: &'j str,
    n_channels: u64,
    seed: u64,
    sizes: Vec<usize>,
}

impl Job<'_> {
    fn publish(&self, index: u64, tally: &mut Tally) -> Result<(), Box<dyn Error>> {
        let which = usize::try_from(index % self.sizes.len() as u64)?;
        let size = *self.sizes.get(which).ok_or("expected a size")?;
        let payload = content(self.seed, index, size);
        let suffix = match self.n_channels {
            0 | 1 => String::new(),
            n => (index % n).to_string(),
        };
        self.bus
            .publish_bytes(&format!("{}{suffix}", self.channel), &payload)?;
        tally.add(size);
        Ok(())
    }
}

fn send(job: &Job<'_>, count: u64, pace: &str) -> Result<(), Box<dyn Error>> {
    let mut tally = Tally::default();
    say("ready");
    if pace == "step" {
        for line in stdin().lines() {
            let index = line?.parse()?;
            job.publish(index, &mut tally)?;
            say(&format!("sent {index}"));
            if tally.n_messages == count {
                break;
            }
        }
    } else {
        send_at(job, count, pace.parse()?, &mut tally)?;
    }
    tally.say();
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the pace is of the real time")]
fn send_at(
    job: &Job<'_>,
    count: u64,
    per_second: u32,
    tally: &mut Tally,
) -> Result<(), Box<dyn Error>> {
    let pause = Duration::from_secs(1)
        .checked_div(per_second)
        .unwrap_or_default();
    let mut due = Instant::now();
    for index in 0..count {
        job.publish(index, tally)?;
        due += pause;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

//! `bowline serial`: connects a serial line to the bus, or makes a pseudo-terminal for a simulated device.
//!
//! Bytes that come from the line are published as `serial_t` on one channel; what is published on the other goes out.
//! What the bytes mean is the business of drivers. When the line goes away it is opened again by itself, and what was to
//! be sent meanwhile is dropped and counted; so is what a slow line does not take in time: a device never gets what is
//! no longer true.

mod line;
mod outgoing;

use crate::input::{self, Usage};
use crate::output::{self, count};
use crate::{Outcome, listen, terminal};
use anyhow::Context as _;
use bowline_bus::{Bus, Event, Inbox, Pattern, Queue, SubscriptionId};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_msgs::Serial;
use bowline_wire::Message as _;
use clap::{Args, ValueEnum};
use line::{Line, Open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signalfd::SignalFd;
use outgoing::Outgoing;
use serde_json::json;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  bowline serial /dev/ttyUSB0 --baud 4800 --from gps.line            the sentences of a receiver
  bowline serial /dev/ttyS1 --baud 57600 --from scanner.answers --to scanner.questions
  bowline serial --pty /tmp/scanner --from scanner.questions --to scanner.answers
                         a pseudo-terminal: who opens /tmp/scanner talks to the simulated scanner
  bowline serial /tmp/scanner --from line.in --to line.out           a driver's side of the same
  bowline echo gps.line                                              what comes

In a robot file it is a program:
  [component.line]
  command = [\"bowline\", \"serial\", \"/dev/ttyUSB0\", \"--baud\", \"4800\", \"--from\", \"gps.line\"]
  writes = { \"gps.line\" = \"bowline.serial_t\" }

A line that goes away is opened again by itself, every half second until it is there. What is to be
sent meanwhile is dropped and counted, and so are messages that a slow line, or a reader of a
pseudo-terminal who has stopped, does not take within --max-age: the oldest first, and whole ones.
Ctrl-C ends it, with a line about what went through.
Exit code 0; 1 if the bus cannot be opened, or a pseudo-terminal cannot be made; 2 for wrong usage.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The line, as in /dev/ttyUSB0
    #[arg(
        value_name = "DEVICE",
        required_unless_present = "pty",
        conflicts_with = "pty"
    )]
    device: Option<PathBuf>,
    /// Make a pseudo-terminal instead, which others find at LINK
    #[arg(long, value_name = "LINK")]
    pty: Option<PathBuf>,
    /// Bits a second: 300 to 4000000, one that the system has
    #[arg(long, value_name = "N", default_value_t = 38_400)]
    baud: u32,
    /// Bits of a byte
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(7..=8))]
    bits: u8,
    /// A bit that makes the number of ones even or odd
    #[arg(long, value_enum, default_value_t = Parity::None)]
    parity: Parity,
    /// Bits at the end of a byte
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    stop_bits: u8,
    /// The channel for bytes that come from the line
    #[arg(long, value_name = "CHANNEL", required_unless_present = "to")]
    from: Option<String>,
    /// The channel with bytes that go to the line
    #[arg(long, value_name = "CHANNEL")]
    to: Option<String>,
    /// Gather what comes within this time into one message
    #[arg(long, value_name = "DURATION", default_value = "5ms", value_parser = input::period)]
    gather: Duration,
    /// Drop what cannot go out within this time after it came
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = input::period)]
    max_age: Duration,
    /// Print at the end as JSON what went through
    #[arg(long)]
    json: bool,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Parity {
    None,
    Even,
    Odd,
}

/// Between two tries to open a line.
const TRY_EVERY: Duration = Duration::from_millis(500);
/// Messages that are taken before anything else is looked at.
const MAX_MESSAGES: usize = 1_024;
/// How often drops are reported, while more and more messages are dropped.
const SAY_EVERY: Duration = Duration::from_secs(1);
/// What is read at once.
const MAX_READ: usize = 4_096;
/// How long there is to see to before looking at everything again.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    if arguments.from.is_some() && arguments.from == arguments.to {
        let usage = "--from and --to are the same channel: the line would talk to itself";
        return Err(Usage(usage.to_owned()).into());
    }
    let how = open(arguments)?;
    // Before there are threads, so that all of them leave the signals to us.
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let bus = Bus::open(arguments.url.as_deref().unwrap_or_default())?;
    let inbox = bus.inbox();
    let subscription = match &arguments.to {
        Some(to) => Some(inbox.subscribe_to(Pattern::exact(to), Queue::keep_newest(1_024))?),
        None => None,
    };
    let (clock, now) = (Live::new(), listen::now());
    let outgoing = match how.byte() {
        Some(byte) => Outgoing::paced(arguments.max_age, byte, now),
        None => Outgoing::watched(arguments.max_age),
    };
    let mut bridge = Bridge {
        from: arguments.from.as_deref(),
        gather: arguments.gather,
        line: None,
        how,
        try_at: now,
        read_at: now,
        empty_at: clock.now(),
        clock,
        say_at: now,
        n_said: 0,
        why_closed: String::new(),
        max_age: arguments.max_age,
        outgoing,
        counts: Counts::default(),
        bus: &bus,
        subscription,
    };
    bridge.run(&inbox, &signals)?;
    let counts = bridge.counts(&inbox);
    match arguments.json {
        true => output::line(&counts.json().to_string())?,
        false => output::note(&counts.words()),
    }
    Ok(Outcome::Fine)
}

fn open(arguments: &Arguments) -> anyhow::Result<Open> {
    if let Some(link) = &arguments.pty {
        return Open::pty(link);
    }
    let device = arguments.device.clone().unwrap_or_default();
    let settings = line::Settings::new(arguments).map_err(Usage)?;
    Ok(Open::Device { device, settings })
}

/// What went through, and what did not.
#[derive(Debug, Default)]
struct Counts {
    n_received: u64,
    n_sent: u64,
    n_dropped: u64,
    n_dropped_messages: u64,
    n_undecodable: u64,
    n_opened: u64,
}

impl Counts {
    fn words(&self) -> String {
        format!(
            "{} from the line, {} to it, {} dropped; {} dropped on the way to it, {} not understood; opened {} times",
            count(self.n_received, "byte"),
            count(self.n_sent, "byte"),
            count(self.n_dropped, "byte"),
            count(self.n_dropped_messages, "message"),
            count(self.n_undecodable, "message"),
            self.n_opened,
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "bytes_from_line": self.n_received,
            "bytes_to_line": self.n_sent,
            "bytes_dropped": self.n_dropped,
            "messages_dropped": self.n_dropped_messages,
            "messages_not_understood": self.n_undecodable,
            "times_opened": self.n_opened,
        })
    }
}

/// A line and a bus.
struct Bridge<'a> {
    from: Option<&'a str>,
    gather: Duration,
    how: Open,
    line: Option<Line>,
    try_at: Instant,
    /// When to read again, so that what comes byte by byte is not published so.
    read_at: Instant,
    /// The last report about why there is no line.
    why_closed: String,
    /// The time that the robot's components have, and when no message waited to be taken, last.
    clock: Live,
    empty_at: Time,
    /// When drops may be reported again, and how many there were at the last report.
    say_at: Instant,
    n_said: u64,
    max_age: Duration,
    outgoing: Outgoing,
    counts: Counts,
    bus: &'a Bus,
    subscription: Option<SubscriptionId>,
}

impl Bridge<'_> {
    fn run(&mut self, inbox: &Inbox, signals: &SignalFd) -> anyhow::Result<()> {
        loop {
            self.try_to_open();
            if self.wait(inbox, signals)? {
                return Ok(());
            }
            self.take_messages(inbox)?;
            if listen::now() >= self.read_at {
                self.read()?;
            }
            self.write();
            self.say_what_was_dropped(inbox);
        }
    }

    /// What went through until now, and what did not.
    fn counts(&self, inbox: &Inbox) -> Counts {
        let outgoing = self.outgoing.counts;
        let missed = self.subscription.map(|id| inbox.queue_counts(id).dropped);
        Counts {
            n_sent: outgoing.n_sent_bytes,
            n_dropped: self.counts.n_dropped + outgoing.n_dropped_bytes,
            n_dropped_messages: outgoing.n_dropped + missed.unwrap_or(0),
            ..self.counts
        }
    }

    /// Reports that messages are dropped though there is a line: at once, and then now and then while more are.
    fn say_what_was_dropped(&mut self, inbox: &Inbox) {
        let n_dropped = self.counts(inbox).n_dropped_messages;
        let now = listen::now();
        if self.line.is_none() {
            // It was reported that there is none, and that is why.
            self.n_said = n_dropped;
        } else if n_dropped > self.n_said && now >= self.say_at {
            self.n_said = n_dropped;
            self.say_at = now + SAY_EVERY;
            let dropped = count(n_dropped, "message");
            let within = self.max_age;
            output::note(&format!(
                "dropped {dropped} until now: {} does not take them within {within:?}",
                self.how.name()
            ));
        }
    }

    fn take_messages(&mut self, inbox: &Inbox) -> anyhow::Result<()> {
        for _ in 0..MAX_MESSAGES {
            match inbox.try_recv()? {
                Some((_, event)) => self.take(&event),
                None => {
                    self.empty_at = self.clock.now();
                    break;
                }
            }
        }
        Ok(())
    }

    fn try_to_open(&mut self) {
        if self.line.is_some() || listen::now() < self.try_at {
            return;
        }
        match self.how.open() {
            Ok(line) => {
                output::note(&format!("open: {}", self.how.name()));
                self.line = Some(line);
                self.why_closed.clear();
                self.counts.n_opened += 1;
            }
            Err(error) => self.is_closed(&error.to_string()),
        }
    }

    /// There is no line. The reason is reported once.
    fn is_closed(&mut self, why: &str) {
        self.line = None;
        self.try_at = listen::now() + TRY_EVERY;
        // A device that comes back does not get what was meant for a moment that is over.
        self.outgoing.clear();
        if self.why_closed != why {
            output::note(&format!("waiting for {}: {why}", self.how.name()));
            why.clone_into(&mut self.why_closed);
        }
    }

    /// Waits until there is something to do; returns whether an end is requested.
    fn wait(&mut self, inbox: &Inbox, signals: &SignalFd) -> anyhow::Result<bool> {
        let now = listen::now();
        let mut flags = PollFlags::empty();
        let mut patience = PATIENCE;
        if self.line.is_none() {
            patience = patience.min(self.try_at.saturating_duration_since(now));
        } else if self.read_at > now {
            patience = patience.min(self.read_at - now);
        } else {
            flags |= PollFlags::POLLIN;
        }
        if self.line.is_some() {
            patience = patience.min(self.outgoing.patience(now).unwrap_or(PATIENCE));
            flags.set(PollFlags::POLLOUT, self.outgoing.is_ready(now));
        }
        let mut descriptors = vec![
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(inbox.fd()?, PollFlags::POLLIN),
        ];
        // A line without anything to send or read would wake us for having hung up.
        if let Some(line) = self.line.as_ref().filter(|_| !flags.is_empty()) {
            descriptors.push(PollFd::new(line.as_fd(), flags));
        }
        // A fraction of a millisecond would be no wait at all.
        let timeout = PollTimeout::try_from(patience + Duration::from_millis(1));
        match poll(&mut descriptors, timeout.unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error).context("cannot wait for the line"),
        }
        let signal = descriptors.first().and_then(PollFd::revents);
        Ok(signal.is_some_and(|found| !found.is_empty()))
    }

    /// Something is to go out.
    fn take(&mut self, event: &Event) {
        let Ok(serial) = Serial::decode(&event.payload) else {
            self.counts.n_undecodable += 1;
            return;
        };
        if self.line.is_none() {
            self.outgoing.refuse(serial.bytes.len());
            return;
        }
        let (now, stamp_ns) = (listen::now(), event.arrival.received_ns);
        let waited = self.clock.waited(stamp_ns, self.clock.now(), self.empty_at);
        let came = now.checked_sub(waited).unwrap_or(now);
        self.outgoing.push(came, serial.bytes);
    }

    fn read(&mut self) -> anyhow::Result<()> {
        let mut bytes = vec![0; MAX_READ];
        let read = match &mut self.line {
            Some(line) => line.read(&mut bytes),
            None => return Ok(()),
        };
        match read {
            Ok(0) => self.is_closed("it has hung up"),
            Ok(n_bytes) => {
                bytes.truncate(n_bytes);
                self.read_at = listen::now() + self.gather;
                self.counts.n_received += n_bytes as u64;
                let Some(from) = self.from else {
                    self.counts.n_dropped += n_bytes as u64;
                    return Ok(());
                };
                let serial = Serial {
                    utime: self.clock.now().utime(),
                    bytes,
                    ..Serial::default()
                };
                self.bus.publish(from, &serial.with_lengths())?;
            }
            Err(error) if is_nothing(error.kind()) => {}
            Err(error) => self.is_closed(&error.to_string()),
        }
        Ok(())
    }

    fn write(&mut self) {
        if self.outgoing.look(listen::now(), self.how.has_unread()) {
            self.how.discard_unread();
        }
        while let Some(line) = &mut self.line {
            let now = listen::now();
            let Some(bytes) = self.outgoing.next(now) else {
                return;
            };
            match line.write(bytes) {
                Ok(0) => return,
                Ok(n_bytes) => self.outgoing.wrote(now, n_bytes),
                Err(error) if is_nothing(error.kind()) => return,
                Err(error) => self.is_closed(&error.to_string()),
            }
        }
    }
}

fn is_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

//! `bowline hub`: where programs on `tcpq://` meet.
//!
//! The hub itself is in `bowline_bus`; here it gets an address, a status line, and an end when somebody presses ^C.

use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::Hub;
use bowline_bus::hub::{Client, Status};
use clap::Args;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;

const EXAMPLES: &str = "\
Examples:
  bowline hub                          for programs on this host: tcpq://127.0.0.1:7700
  bowline hub tcpq://0.0.0.0:7700      for other hosts too; whoever reaches it may publish
  bowline hub tcpq://127.0.0.1:0       any free port, which it prints
  bowline hub --json                   a line of JSON a second while anything changes

Programs find it by their bus URL: BOWLINE_URL=tcpq://127.0.0.1:7700, or LCM_DEFAULT_URL
for programs of LCM. It ends with ^C.";

/// Between two looks at what changed.
const LOOK_EVERY_MS: u16 = 1_000;

#[derive(Args, Debug)]
#[command(about = "Relay messages between programs that use tcpq://", after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to listen
    #[arg(default_value = "tcpq://127.0.0.1:7700")]
    url: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    // Before there are threads, so that all of them leave the signals to us.
    let signals = end_signals().context("cannot wait for signals")?;
    let hub = Hub::open(&arguments.url).with_context(|| format!("no hub at {}", arguments.url))?;
    let mut screen = Screen::new(&hub, arguments.json)?;
    while !is_ended(&signals)? {
        screen.show(&hub)?;
    }
    screen.close(&hub)?;
    Ok(Outcome::Fine)
}

fn end_signals() -> nix::Result<SignalFd> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)
}

/// Waits for a moment; says whether somebody wants an end.
fn is_ended(signals: &SignalFd) -> anyhow::Result<bool> {
    let mut descriptors = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    match poll(&mut descriptors, PollTimeout::from(LOOK_EVERY_MS)) {
        Ok(n_ready) => Ok(n_ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What people and scripts see of a hub.
struct Screen {
    is_json: bool,
    is_terminal: bool,
    shown: Status,
    /// The number of the last parting that was told.
    n_partings: u64,
}

impl Screen {
    fn new(hub: &Hub, is_json: bool) -> anyhow::Result<Self> {
        let address = hub.address();
        if is_json {
            output::line(&to_json(hub, &hub.status()).to_string())?;
        } else {
            output::line(&format!("hub at {}", hub.url()))?;
            output::note(if address.ip().is_loopback() {
                "only programs on this host reach it"
            } else {
                "whoever reaches this address may publish and listen: there are no passwords"
            });
        }
        Ok(Self {
            is_json,
            is_terminal: std::io::stdout().is_terminal(),
            shown: Status::default(),
            n_partings: 0,
        })
    }

    /// Shows what changed.
    fn show(&mut self, hub: &Hub) -> anyhow::Result<()> {
        self.tell_partings(hub);
        let status = hub.status();
        if status == self.shown {
            return Ok(());
        }
        if self.is_json {
            output::line(&to_json(hub, &status).to_string())?;
        } else if self.is_terminal {
            // The line is written over by the next.
            output::bytes(format!("\r\x1b[K{}", to_line(&status)).as_bytes())?;
        } else if status.clients.len() != self.shown.clients.len() {
            output::line(&to_line(&status))?;
        }
        self.shown = status;
        Ok(())
    }

    fn tell_partings(&mut self, hub: &Hub) {
        for parting in hub.partings_since(self.n_partings) {
            self.n_partings = parting.number;
            let clear = if self.is_terminal && !self.is_json {
                "\r\x1b[K"
            } else {
                ""
            };
            output::note(&format!("{clear}{} left: {}", parting.peer, parting.why));
        }
    }

    fn close(mut self, hub: &Hub) -> anyhow::Result<()> {
        self.tell_partings(hub);
        let status = hub.status();
        hub.stop();
        if self.is_json {
            return output::line(&to_json(hub, &status).to_string());
        }
        let clear = if self.is_terminal { "\r\x1b[K" } else { "" };
        output::line(&format!("{clear}{}", to_line(&status)))
    }
}

fn to_line(status: &Status) -> String {
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let clients = count(status.clients.len() as u64, "client");
    let messages = count(status.messages, "message");
    let line = format!("{clients}, {messages}, {} dropped", status.dropped);
    let slowest = status.clients.iter().max_by_key(|client| client.dropped);
    match slowest {
        Some(client) if client.dropped > 0 => {
            format!(
                "{line} ({} reads too slowly: {})",
                client.peer, client.dropped
            )
        }
        Some(_) | None => line,
    }
}

fn to_json(hub: &Hub, status: &Status) -> Value {
    let client = |client: &Client| {
        json!({
            "peer": client.peer.to_string(),
            "patterns": client.patterns,
            "received": client.received,
            "sent": client.sent,
            "dropped": client.dropped,
            "waiting_bytes": client.waiting_bytes,
        })
    };
    json!({
        "url": hub.url(),
        "clients": status.clients.iter().map(client).collect::<Vec<_>>(),
        "joined": status.joined,
        "refused": status.refused,
        "messages": status.messages,
        "bytes": status.bytes,
        "dropped": status.dropped,
    })
}

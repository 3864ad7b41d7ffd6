//! `bowline hub`: where programs on `tcpq://` meet.
//!
//! The hub itself is in `bowline_bus`; here it gets an address, a status line, and an end by ^C.

use crate::output::count;
use crate::terminal::{self, Woken};
use crate::verbs::doctor::printable;
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::Hub;
use bowline_bus::hub::{Client, Happened, News, Status};
use clap::Args;
use nix::sys::signalfd::SignalFd;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::net::IpAddr;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline hub                          for programs on this host: tcpq://127.0.0.1:7700
  bowline hub tcpq://0.0.0.0:7700      for other hosts too; any program that reaches it may publish
  bowline hub tcpq://127.0.0.1:0       any free port, which it prints
  bowline hub --json                   a line of JSON a second while anything changes

Programs find it by their bus URL: BOWLINE_URL=tcpq://127.0.0.1:7700, or LCM_DEFAULT_URL
for programs of LCM. It ends with ^C.";

/// Between two looks at what changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
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
    let signals = terminal::end_signals().context("cannot wait for signals")?;
    let hub = Hub::open(&arguments.url).with_context(|| format!("no hub at {}", arguments.url))?;
    let mut screen = Screen::new(&hub, arguments.json)?;
    while !is_ended(&signals)? {
        screen.show(&hub)?;
    }
    screen.close(&hub)?;
    Ok(Outcome::Fine)
}

/// Waits for a moment; returns whether an end is requested.
fn is_ended(signals: &SignalFd) -> anyhow::Result<bool> {
    Ok(terminal::wait(signals, None, LOOK_EVERY)? == Woken::Signal)
}

/// What people and scripts see of a hub.
struct Screen {
    is_json: bool,
    is_terminal: bool,
    shown: Status,
    /// The number of the last news that was printed.
    n_news: u64,
    repeats: Repeats,
}

/// Complaints that come again and again, as from a program that tries again and again.
#[derive(Default)]
struct Repeats(BTreeMap<(IpAddr, String), u64>);

/// More than there are kinds of complaints; beyond that it is forgotten what was printed.
const MAX_REPEATS: usize = 256;

impl Repeats {
    /// The line for some news, unless enough was printed: connections and their ends always are, complaints
    /// about one host the first time and then when their number has doubled.
    fn line(&mut self, news: &News) -> Option<String> {
        let line = format!("{} {}", news.peer, news.what);
        match news.what {
            Happened::Joined | Happened::Left { .. } => return Some(line),
            Happened::SentAway { .. } | Happened::Ignored { .. } => {}
        }
        if self.0.len() >= MAX_REPEATS {
            self.0.clear();
        }
        let key = (news.peer.ip(), news.what.to_string());
        let n_times = self.0.entry(key).or_default();
        *n_times += 1;
        match *n_times {
            1 => Some(line),
            n if n.is_power_of_two() => Some(format!("{line} ({n} times so far)")),
            _ => None,
        }
    }
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
                "any program that reaches this address may publish and subscribe: there are no passwords"
            });
        }
        Ok(Self {
            is_json,
            is_terminal: std::io::stdout().is_terminal(),
            shown: Status::default(),
            n_news: 0,
            repeats: Repeats::default(),
        })
    }

    /// Shows what changed.
    fn show(&mut self, hub: &Hub) -> anyhow::Result<()> {
        self.tell_news(hub);
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

    fn tell_news(&mut self, hub: &Hub) {
        for news in hub.news_since(self.n_news) {
            self.n_news = news.number;
            let Some(line) = self.repeats.line(&news) else {
                continue;
            };
            let clear = if self.is_terminal && !self.is_json {
                "\r\x1b[K"
            } else {
                ""
            };
            output::note(&format!("{clear}{}", printable(&line)));
        }
    }

    fn close(mut self, hub: &Hub) -> anyhow::Result<()> {
        self.tell_news(hub);
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
    let clients = count(status.clients.len() as u64, "client");
    let messages = count(status.messages, "message");
    let mut line = format!("{clients}, {messages}, {} dropped", status.dropped);
    if status.ignored > 0 {
        line += &format!(", {} left out", status.ignored);
    }
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
            "ignored": client.ignored,
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
        "ignored": status.ignored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(port: u16, what: Happened) -> News {
        News {
            number: 1,
            peer: ([127, 0, 0, 1], port).into(),
            what,
        }
    }

    #[test]
    fn repeated_complaint_is_reported_less_often() {
        let mut repeats = Repeats::default();
        let why = || "no hello".to_owned();
        let told: Vec<u16> = (1..=100)
            .filter(|&n| {
                let news = news(n, Happened::SentAway { why: why() });
                repeats.line(&news).is_some()
            })
            .collect();
        assert_eq!(told, [1, 2, 4, 8, 16, 32, 64]);
        let other = Happened::Ignored { what: why() };
        assert!(repeats.line(&news(1, other)).is_some(), "another complaint");
    }

    #[test]
    fn connections_and_ends_are_always_reported() {
        let mut repeats = Repeats::default();
        for n in 1..=10 {
            let joined = repeats.line(&news(n, Happened::Joined));
            assert_eq!(joined, Some(format!("127.0.0.1:{n} joined")));
        }
    }
}

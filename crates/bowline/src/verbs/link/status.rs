//! `bowline link status`: the state of links, as they publish it on their bus.

use crate::listen::{Heard, Listener, PLACES_HELP, Place};
use crate::screen::{REFRESH, Screen};
use crate::{Outcome, output};
use bowline_inspect::text::printable;
use bowline_msgs::{Link, LinkPath, LinkStream};
use bowline_wire::Message as _;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline link status                    all links that are received within a second
  bowline link status --watch            again and again, until ^C
  bowline link status --json | jq '.streams[] | select(.age_p99_s > 0.2) | .channel'
  bowline link status -l day.log         as it was at the end of a log

Ages are of what arrives here, by the other end's offer; the other end knows those of what is sent.
With --json there is one line for each link.";

const EXIT_CODES: &str = "Exit code 0 if all links work; 1 if one does not, or none was received.";

#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// Where links publish their status
    #[arg(long, value_name = "CHANNEL", default_value = "link.state")]
    channel: String,
    #[command(flatten)]
    place: Place,
    /// Show it again and again
    #[arg(short, long, conflicts_with = "json")]
    watch: bool,
    /// Print lines of JSON, one for each link
    #[arg(long)]
    json: bool,
}

/// Links publish their status twice a second.
const LISTEN: Duration = Duration::from_millis(1_200);
/// More links than real buses have.
const MAX_LINKS: usize = 256;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let patterns = [arguments.channel.clone()];
    let mut listener = Listener::open(arguments.place.url.as_deref(), &patterns, None, None)?;
    if listener.source.bus().is_some() && !arguments.watch {
        listener.end_after(LISTEN);
    }
    let mut screen = Screen::watched().filter(|_| arguments.watch);
    let mut links: BTreeMap<(String, String), Link> = BTreeMap::new();
    let mut drawn_at = Duration::ZERO;
    loop {
        match listener.next()? {
            Heard::Event(event) => {
                // What is not a status is none of ours.
                if let Ok(link) = Link::decode(&event.payload) {
                    let key = (link.name.clone(), link.peer.clone());
                    if links.len() < MAX_LINKS || links.contains_key(&key) {
                        links.insert(key, link);
                    }
                }
            }
            Heard::Silence => {}
            Heard::Over => break,
        }
        if let Some(screen) = &mut screen
            && listener.elapsed() >= drawn_at + REFRESH
        {
            drawn_at = listener.elapsed();
            screen.draw(&text(links.values()))?;
        }
    }
    match (&mut screen, arguments.json) {
        (Some(screen), _) => screen.finish(&text(links.values()))?,
        (None, true) => {
            for link in links.values() {
                output::line(&to_json(link).to_string())?;
            }
        }
        (None, false) => output::bytes(text(links.values()).as_bytes())?,
    }
    if links.is_empty() {
        output::note(&format!("no link was received: {}", listener.why_silent()));
    }
    let is_well = links.values().all(|link| link.paths.iter().any(is_working));
    Ok(match !links.is_empty() && is_well {
        true => Outcome::Fine,
        false => Outcome::Diagnostics,
    })
}

fn is_working(path: &LinkPath) -> bool {
    path.is_active && path.state == LinkPath::READY
}

fn state(path: &LinkPath) -> &'static str {
    match path.state {
        LinkPath::DOWN => "down",
        LinkPath::CONNECTING => "connecting",
        LinkPath::READY if path.is_active => "in use",
        LinkPath::READY => "ready",
        LinkPath::STALLED => "stalled",
        _ => "unknown",
    }
}

fn text<'l>(links: impl Iterator<Item = &'l Link>) -> String {
    let texts: Vec<String> = links.map(link_text).collect();
    texts.join("\n")
}

fn link_text(link: &Link) -> String {
    let mut text = format!(
        "{} to {}, by {}\n\n",
        printable(&link.name),
        printable(&link.peer),
        printable(&link.scheduler)
    );
    let heads = [
        "path",
        "state",
        "round trip",
        "carries",
        "loss",
        "sent",
        "received",
        "stalls",
        "bad",
        "keys",
        "",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(link.paths.iter().map(|path| {
        vec![
            printable(&path.name),
            state(path).to_owned(),
            milliseconds(path.rtt_s),
            rate(path.capacity_bps),
            format!("{:.1} %", path.loss_ratio * 100.0),
            bytes(path.sent_bytes),
            bytes(path.received_bytes),
            path.n_stalls.to_string(),
            path.n_bad.to_string(),
            if path.is_secure { "yes" } else { "NONE" }.to_owned(),
            printable(&path.problem),
        ]
    }));
    text += &output::table(&rows, &[0, 1, 9, 10]);
    text.push('\n');
    let heads = [
        "channel", "", "age p50", "p99", "offered", "sent", "arrived", "bytes", "dropped",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(link.streams.iter().map(stream_row));
    text += &output::table(&rows, &[0, 1, 8]);
    if link.n_unknown > 0 {
        text += &format!(
            "and {} messages that this end does not take\n",
            link.n_unknown
        );
    }
    text
}

fn stream_row(stream: &LinkStream) -> Vec<String> {
    let name = match stream.channel == stream.name {
        true => printable(&stream.channel),
        false => format!(
            "{} (as {})",
            printable(&stream.channel),
            printable(&stream.name)
        ),
    };
    let dropped: Vec<String> = drops(stream)
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .map(|(cause, n)| format!("{n} {cause}"))
        .collect();
    let arrived = match stream.is_sent {
        true => String::new(),
        false => stream.n_delivered.to_string(),
    };
    let sent = match stream.is_sent {
        true => stream.n_sent.to_string(),
        false => String::new(),
    };
    vec![
        name,
        if stream.is_sent { "out" } else { "in" }.to_owned(),
        milliseconds(stream.age_p50_s),
        milliseconds(stream.age_p99_s),
        stream.n_offered.to_string(),
        sent,
        arrived,
        bytes(stream.n_bytes),
        dropped.join(", "),
    ]
}

fn drops(stream: &LinkStream) -> [(&'static str, i64); 11] {
    [
        ("expired", stream.n_expired),
        ("replaced", stream.n_replaced),
        ("shed", stream.n_shed),
        ("queue full", stream.n_queue_full),
        ("too large", stream.n_too_large),
        ("unchanged", stream.n_unchanged),
        ("looped", stream.n_looped),
        ("stale", stream.n_stale),
        ("duplicate", stream.n_duplicate),
        ("incomplete", stream.n_incomplete),
        ("not the peer's", stream.n_not_peers),
    ]
}

fn milliseconds(seconds: f64) -> String {
    match seconds.is_nan() {
        true => "-".to_owned(),
        false => format!("{:.0} ms", seconds * 1e3),
    }
}

fn rate(bps: f64) -> String {
    match bps < 1e6 {
        true => format!("{:.0} kbit/s", bps / 1e3),
        false => format!("{:.1} Mbit/s", bps / 1e6),
    }
}

fn bytes(n: i64) -> String {
    match n {
        ..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{} kB", n / 1_000),
        10_000_000.. => format!("{} MB", n / 1_000_000),
    }
}

/// A number that JSON has; NaN is none.
fn number(value: f64) -> Value {
    match value.is_finite() {
        true => json!(value),
        false => Value::Null,
    }
}

fn to_json(link: &Link) -> Value {
    let paths = link.paths.iter().map(|path| {
        json!({
            "name": path.name,
            "is_secure": path.is_secure,
            "state": state(path),
            "is_active": path.is_active,
            "problem": path.problem,
            "rtt_s": number(path.rtt_s),
            "capacity_bps": number(path.capacity_bps),
            "loss_ratio": number(path.loss_ratio),
            "n_sent": path.n_sent,
            "n_received": path.n_received,
            "sent_bytes": path.sent_bytes,
            "received_bytes": path.received_bytes,
            "n_stalls": path.n_stalls,
            "n_bad": path.n_bad,
        })
    });
    let streams = link.streams.iter().map(|stream| {
        let dropped: serde_json::Map<String, Value> = drops(stream)
            .into_iter()
            .map(|(cause, n)| (cause.replace([' ', '\''], "_"), json!(n)))
            .collect();
        json!({
            "channel": stream.channel,
            "name": stream.name,
            "is_sent": stream.is_sent,
            "age_p50_s": number(stream.age_p50_s),
            "age_p99_s": number(stream.age_p99_s),
            "n_offered": stream.n_offered,
            "n_sent": stream.n_sent,
            "n_delivered": stream.n_delivered,
            "n_bytes": stream.n_bytes,
            "n_resent": stream.n_resent,
            "dropped": dropped,
        })
    });
    json!({
        "utime": link.utime,
        "name": link.name,
        "peer": link.peer,
        "scheduler": link.scheduler,
        "n_unknown": link.n_unknown,
        "paths": paths.collect::<Vec<Value>>(),
        "streams": streams.collect::<Vec<Value>>(),
    })
}

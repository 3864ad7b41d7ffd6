//! `bowline rate`: how often messages come, and how evenly.

mod plot;

use super::doctor;
use crate::listen::{Heard, Limits, Listener, PLACES_HELP, Place};
use crate::screen::{REFRESH, Screen};
use crate::{Outcome, output};
use bowline_bus::{Channel, Event};
use bowline_inspect::text::printable;
use bowline_inspect::{IntervalSummary, Intervals};
use clap::Args;
use plot::{bars, short_time, sparkline, time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline rate vehicle.pose                    until Ctrl-C, drawn anew twice a second
  bowline rate 'vehicle\\..*' --for 5s          several channels, a line each
  bowline rate imu --window 100                only the last 100 intervals
  bowline rate imu --for 10s --json | jq .rate_hz
  bowline rate imu -l day.log --histogram      of a log, whose times are those when it was recorded

Times are those at which messages arrived, from the kernel where it stamps them.
With --json there is one line for each channel, at the end; times are in seconds.";

const EXIT_CODES: &str = "Exit code 0 if anything came; 1 if nothing did, or a log is damaged.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    /// Channels: names, or regular expressions that match whole names; without one, all
    #[arg(value_name = "CHANNEL")]
    channels: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    limits: Limits,
    /// Look at the last so many intervals of each channel
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = window)]
    window: usize,
    /// Draw a histogram of each channel, also where there are several
    #[arg(long)]
    histogram: bool,
    /// Print lines of JSON, one for each channel
    #[arg(long)]
    json: bool,
}

/// Channels that are measured; what is on others is still counted, together.
const MAX_CHANNELS: usize = 4_096;
/// More would not fit into memory with so many channels.
const MAX_WINDOW: usize = 1_000_000;
/// Rows of a histogram, and columns of a small one.
const N_BARS: usize = 12;
const N_COLUMNS: usize = 12;

fn window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_WINDOW) => Ok(n),
        Ok(_) | Err(_) => Err(format!("expected 1 to {MAX_WINDOW}, found {text:?}")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Limits { count, period } = arguments.limits;
    let place = arguments.place.url.as_deref();
    let mut listener = Listener::open(place, &arguments.channels, period, None)?;
    let mut screen = Screen::watched().filter(|_| !arguments.json);
    let mut rates = Rates::new(arguments.window, arguments.histogram);
    let mut drawn_at = Duration::ZERO;
    while rates.n_messages < count.unwrap_or(u64::MAX) {
        match listener.next()? {
            Heard::Event(event) => rates.take(&event),
            Heard::Silence => {}
            Heard::Over => break,
        }
        let elapsed = listener.elapsed();
        if let Some(screen) = &mut screen
            && listener.source.bus().is_some()
            && elapsed >= drawn_at + REFRESH
        {
            drawn_at = elapsed;
            screen.draw(&rates.to_text(&listener.source.name()))?;
        }
    }
    let text = if arguments.json {
        rates.to_json_lines()
    } else {
        rates.to_text(&listener.source.name())
    };
    match &mut screen {
        Some(screen) => screen.finish(&text)?,
        None => output::bytes(text.as_bytes())?,
    }
    let is_lossy = listener.note_damage();
    if rates.channels.is_empty() {
        output::note(&format!("nothing was received: {}", listener.why_silent()));
    }
    Ok(if rates.channels.is_empty() || is_lossy {
        Outcome::Diagnostics
    } else {
        Outcome::Fine
    })
}

struct Rates {
    window: usize,
    has_histograms: bool,
    channels: BTreeMap<Channel, Intervals>,
    n_messages: u64,
    n_unlisted: u64,
}

impl Rates {
    fn new(window: usize, has_histograms: bool) -> Self {
        Self {
            window,
            has_histograms,
            channels: BTreeMap::new(),
            n_messages: 0,
            n_unlisted: 0,
        }
    }

    fn take(&mut self, event: &Event) {
        self.n_messages += 1;
        if !self.channels.contains_key(&event.channel) {
            if self.channels.len() >= MAX_CHANNELS {
                self.n_unlisted += 1;
                return;
            }
            let intervals = Intervals::new(self.window);
            self.channels.insert(event.channel.clone(), intervals);
        }
        if let Some(intervals) = self.channels.get_mut(&event.channel) {
            intervals.add(event.arrival.received_ns, event.payload.len());
        }
    }

    fn to_text(&self, place: &str) -> String {
        let mut text = format!("{}\n\n", printable(place));
        if self.has_histograms || self.channels.len() == 1 {
            for (channel, intervals) in &self.channels {
                text += &channel_text(channel, intervals);
            }
        } else {
            text += &self.table();
        }
        if self.n_unlisted > 0 {
            text += &format!("and {} messages on further channels\n", self.n_unlisted);
        }
        text
    }

    fn table(&self) -> String {
        let heads = [
            "channel",
            "rate",
            "min",
            "max",
            "deviation",
            "bandwidth",
            "intervals",
        ];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        for (channel, intervals) in &self.channels {
            let mut row = vec![printable(channel)];
            match intervals.summary() {
                Some(summary) => row.extend([
                    rate(summary.rate_hz),
                    short_time(summary.min_s),
                    short_time(summary.max_s),
                    short_time(summary.deviation_s),
                    bandwidth(&summary),
                    sparkline(&intervals.histogram(N_COLUMNS)),
                ]),
                None => row.push("one message".to_owned()),
            }
            rows.push(row);
        }
        output::table(&rows, &[0, 6])
    }

    fn to_json_lines(&self) -> String {
        let lines = self.channels.iter().map(|(channel, intervals)| {
            let mut line = json!({
                "channel": channel.as_str(),
                "messages": intervals.n_messages(),
                "bytes": intervals.n_bytes(),
            });
            if let (Some(summary), Some(object)) = (intervals.summary(), line.as_object_mut()) {
                object.extend(numbers(&summary, intervals));
            }
            format!("{line}\n")
        });
        lines.collect()
    }
}

fn numbers(summary: &IntervalSummary, intervals: &Intervals) -> Vec<(String, Value)> {
    let IntervalSummary {
        n,
        rate_hz,
        bytes_per_s,
        mean_s,
        min_s,
        max_s,
        deviation_s,
    } = *summary;
    let histogram: Vec<Value> = intervals
        .histogram(N_BARS)
        .iter()
        .map(|bin| json!({ "from_s": bin.from_s, "to_s": bin.to_s, "n": bin.n }))
        .collect();
    [
        ("intervals", json!(n)),
        ("rate_hz", json!(rate_hz)),
        ("bytes_per_s", json!(bytes_per_s)),
        ("mean_s", json!(mean_s)),
        ("min_s", json!(min_s)),
        ("max_s", json!(max_s)),
        ("deviation_s", json!(deviation_s)),
        ("histogram", json!(histogram)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// All that is known of one channel.
fn channel_text(channel: &str, intervals: &Intervals) -> String {
    let messages = output::count(intervals.n_messages(), "message");
    let size = doctor::size(intervals.n_bytes());
    let mut text = format!("{}: {messages}, {size}\n", printable(channel));
    let Some(summary) = intervals.summary() else {
        return text + "  one message has no rate\n\n";
    };
    let rate = rate(summary.rate_hz);
    let bandwidth = bandwidth(&summary);
    let n = output::count(summary.n as u64, "interval");
    text += &format!("  {rate}, {bandwidth}, over the last {n}\n");
    text += &format!(
        "  mean {}, min {}, max {}, standard deviation {}\n\n",
        time(summary.mean_s),
        time(summary.min_s),
        time(summary.max_s),
        time(summary.deviation_s)
    );
    for bar in bars(&intervals.histogram(N_BARS)) {
        text += &format!("  {bar}\n");
    }
    text.push('\n');
    text
}

fn rate(hz: f64) -> String {
    match hz {
        100.0.. => format!("{hz:.1} Hz"),
        1.0..100.0 => format!("{hz:.2} Hz"),
        _ => format!("{hz:.4} Hz"),
    }
}

fn bandwidth(summary: &IntervalSummary) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never less than 0, and rounded for people"
    )]
    let bytes = summary.bytes_per_s as u64;
    format!("{}/s", doctor::size(bytes))
}

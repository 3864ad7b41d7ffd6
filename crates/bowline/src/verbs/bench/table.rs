//! The figures for people who read, and for programs.

use super::PlotPath;
use super::plan::{Plan, Point};
use crate::output::table;
use bowline_measure::exchange::Pattern;
use serde_json::{Value, json};

/// A column: its heading, and what it shows of a point.
type Column = (&'static str, fn(&Point) -> String);

const CASE: &[Column] = &[
    ("size", |p| p.case.size.to_string()),
    ("receivers", |p| p.case.n_peers.to_string()),
    ("rate/s", |p| format!("{:.0}", p.attempted_hz())),
    ("MB/s", |p| format!("{:.2}", p.attempted_mbps())),
    ("sent/s", |p| format!("{:.0}", p.outcome.sent_hz)),
    ("system", |p| p.system.clone()),
];

const ECHO: &[Column] = &[
    ("echoes MB/s", |p| rate(p.delivered_mbps(), 2)),
    ("lost %", loss),
    ("mean us", |p| format!("{:.0}", p.outcome.mean_us)),
    ("p50 us", |p| format!("{:.0}", p.outcome.p50_us)),
    ("p99 us", |p| format!("{:.0}", p.outcome.p99_us)),
];

const ONE_WAY: &[Column] = &[
    ("delivered/s", |p| rate(p.outcome.delivered_hz, 0)),
    ("delivered MB/s", |p| rate(p.delivered_mbps(), 2)),
    ("lost %", loss),
    ("send us", |p| format!("{:.2}", p.outcome.publisher_cpu_us)),
    ("receive us", |p| rate(receive_us(p), 2)),
];

/// A figure, or a dash where there is none.
fn rate(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// CPU time of a subscriber. Threads of one process do not have their own: it is in the publisher's.
fn receive_us(point: &Point) -> Option<f64> {
    let us = point.outcome.subscriber_cpu_us;
    (us > 0.0).then_some(us)
}

/// So that "0" means none at all.
fn loss(point: &Point) -> String {
    match point.outcome.loss_percent {
        0.0..=0.0 => "0".to_owned(),
        loss @ 0.0..0.01 => format!("{loss:.1e}"),
        loss => format!("{loss:.2}"),
    }
}

fn columns(plan: &Plan) -> impl Iterator<Item = &'static Column> {
    let figures = match plan.pattern {
        Pattern::Echo => ECHO,
        Pattern::OneWay | Pattern::Idle => ONE_WAY,
    };
    CASE.iter().chain(figures)
}

pub(crate) fn to_text(plan: &Plan, points: &[Point]) -> String {
    let mut rows = vec![
        columns(plan)
            .map(|(name, _)| (*name).to_owned())
            .collect::<Vec<_>>(),
    ];
    for point in points {
        rows.push(columns(plan).map(|(_, cell)| cell(point)).collect());
    }
    let legend = match plan.pattern {
        Pattern::Echo => {
            "rate, MB/s: attempted; echoes: of all clients together; us: round trips of what came back"
        }
        Pattern::OneWay | Pattern::Idle => {
            "rate, MB/s: attempted; delivered: to the slowest subscriber; send, receive: CPU time a message"
        }
    };
    let mut text = format!("{}{legend}\n", table(&rows, &[5]));
    if points.iter().any(|point| point.delivered_mbps().is_none()) {
        text += "- for a rate: too few messages came to measure one; --bytes asks for more\n";
    }
    let is_one_way = matches!(plan.pattern, Pattern::OneWay);
    if is_one_way && points.iter().any(|point| receive_us(point).is_none()) {
        text += "- for receive: subscribers in the publisher's process have their time in send\n";
    }
    text
}

/// One point in a few words.
pub(crate) fn summary(point: &Point) -> String {
    let outcome = &point.outcome;
    let what = match point.case.pattern {
        Pattern::Echo => format!("echoes, p50 {:.0} us", outcome.p50_us),
        Pattern::OneWay | Pattern::Idle => "to each".to_owned(),
    };
    format!(
        "{} {} MB/s {what}, {} % lost",
        point.system,
        rate(point.delivered_mbps(), 1),
        loss(point)
    )
}

pub(crate) fn to_json(plan: &Plan, points: &[Point], machine: &str, plots: &[PlotPath]) -> Value {
    let row = |point: &Point| {
        let (case, outcome) = (&point.case, &point.outcome);
        let mut row = json!({
            "system": point.system,
            "size": case.size,
            "receivers": case.n_peers,
            "rate_hz": case.rate_hz,
            "seconds": case.seconds,
            "sent_hz": outcome.sent_hz,
            "delivered_hz": outcome.delivered_hz,
            "delivered_mbps": point.delivered_mbps(),
            "loss_percent": outcome.loss_percent,
        });
        let more = match case.pattern {
            Pattern::Echo => vec![
                ("mean_us", outcome.mean_us),
                ("p50_us", outcome.p50_us),
                ("p99_us", outcome.p99_us),
            ],
            Pattern::OneWay | Pattern::Idle => vec![
                ("publisher_cpu_us", outcome.publisher_cpu_us),
                ("subscriber_cpu_us", outcome.subscriber_cpu_us),
            ],
        };
        for (name, value) in more {
            row[name] = value.into();
        }
        row
    };
    json!({
        "protocol": plan.name(),
        "machine": machine,
        "plots": plots.iter().map(|(_, path)| path).collect::<Vec<_>>(),
        "points": points.iter().map(row).collect::<Vec<_>>(),
    })
}

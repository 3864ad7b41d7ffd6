//! The figures for people who read, and for programs.

use super::plan::{Plan, Point};
use crate::output::table;
use bench_worker::exchange::Pattern;
use serde_json::{Value, json};
use std::path::PathBuf;

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
    ("echoes MB/s", |p| {
        format!("{:.2}", p.outcome.delivered_gbps * 1e3)
    }),
    ("lost %", loss),
    ("mean us", |p| format!("{:.0}", p.outcome.mean_us)),
    ("p50 us", |p| format!("{:.0}", p.outcome.p50_us)),
    ("p99 us", |p| format!("{:.0}", p.outcome.p99_us)),
];

const ONE_WAY: &[Column] = &[
    ("delivered/s", |p| format!("{:.0}", p.outcome.delivered_hz)),
    ("delivered MB/s", |p| {
        format!("{:.2}", p.outcome.delivered_gbps * 1e3)
    }),
    ("lost %", loss),
    ("send us", |p| format!("{:.2}", p.outcome.publisher_cpu_us)),
    ("receive us", |p| match p.outcome.subscriber_cpu_us {
        // Threads of one process: their time is the publisher's.
        0.0..=0.0 => "-".to_owned(),
        us => format!("{us:.2}"),
    }),
];

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
    format!("{}{legend}\n", table(&rows, &[5]))
}

/// One point in a few words.
pub(crate) fn summary(point: &Point) -> String {
    let outcome = &point.outcome;
    let what = match point.case.pattern {
        Pattern::Echo => format!("echoes, p50 {:.0} us", outcome.p50_us),
        Pattern::OneWay | Pattern::Idle => "to each".to_owned(),
    };
    format!(
        "{} {:.1} MB/s {what}, {} % lost",
        point.system,
        outcome.delivered_gbps * 1e3,
        loss(point)
    )
}

pub(crate) fn to_json(plan: &Plan, points: &[Point], machine: &str, plots: &[PathBuf]) -> Value {
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
            "delivered_mbps": outcome.delivered_gbps * 1e3,
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
        "plots": plots,
        "points": points.iter().map(row).collect::<Vec<_>>(),
    })
}

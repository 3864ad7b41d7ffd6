//! What was played, in words and as JSON.

use bowline_log::play::{Rate, Report};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn to_text(file: &Path, report: &Report) -> String {
    let tallies = report.status.tallies;
    let seconds = report.elapsed.as_secs_f64();
    let mut text = format!(
        "played {} of {} in {seconds:.3} s: {:.0} events/s, {:.2} MB/s, speed {}\n",
        count(tallies.n_published, "event"),
        file.display(),
        per_second(tallies.n_published, seconds),
        per_second(tallies.n_bytes, seconds) / 1e6,
        speed(report.status.rate),
    );
    if report.lateness.n() > 0 {
        text += &format!("late by {}\n", lateness(report));
    }
    let what_else = [
        (tallies.n_passed, "passed over"),
        (tallies.n_loops, "loops"),
        (tallies.n_backward, "times that went back"),
        (tallies.n_shortened, "gaps shortened"),
        (tallies.n_stalls, "times held up for more than a second"),
    ];
    let what_else: Vec<String> = what_else
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if !what_else.is_empty() {
        text += &format!("{}\n", what_else.join(", "));
    }
    text
}

/// What went wrong.
pub(crate) fn troubles(report: &Report) -> Vec<String> {
    let mut troubles = Vec::new();
    if report.n_failed > 0 {
        let why = report
            .first_failure
            .as_deref()
            .unwrap_or("it gave no reason");
        let n_failed = count(report.n_failed, "event");
        troubles.push(format!("the bus did not take {n_failed}; the first: {why}"));
    }
    if report.damages.is_lossy() {
        troubles.push(format!(
            "the log is damaged: {}, {} bytes, at least {} lost; `bowline log info` names them",
            count(report.damages.n_places(), "place"),
            report.damages.n_bytes(),
            count(report.damages.n_lost(), "event"),
        ));
    }
    if let Some(refusal) = &report.last_refusal {
        let n_refused = count(report.n_refused, "request");
        troubles.push(format!("{n_refused} made no sense; the last: {refusal}"));
    }
    troubles
}

pub(crate) fn to_json(file: &Path, report: &Report) -> Value {
    let tallies = report.status.tallies;
    let lateness = &report.lateness;
    json!({
        "log": file.display().to_string(),
        "seconds": report.elapsed.as_secs_f64(),
        "speed": report.status.rate.times(),
        "published": tallies.n_published,
        "bytes": tallies.n_bytes,
        "passed_over": tallies.n_passed,
        "failed": report.n_failed,
        "loops": tallies.n_loops,
        "backward": tallies.n_backward,
        "gaps_shortened": tallies.n_shortened,
        "stalls": tallies.n_stalls,
        "requests_refused": report.n_refused,
        "damaged_places": report.damages.n_places(),
        "late": {
            "events": lateness.n(),
            "mean_s": lateness.mean().as_secs_f64(),
            "p99_s": lateness.permille(990).as_secs_f64(),
            "max_s": lateness.max().as_secs_f64(),
        },
    })
}

/// The three figures for how well the timing was kept.
fn lateness(report: &Report) -> String {
    let ms = |duration: std::time::Duration| duration.as_secs_f64() * 1e3;
    let late = &report.lateness;
    format!(
        "{:.3} ms on average, {:.3} ms p99, {:.3} ms at most",
        ms(late.mean()),
        ms(late.permille(990)),
        ms(late.max())
    )
}

pub(crate) fn speed(rate: Rate) -> String {
    match rate {
        Rate::Times(times) => format!("x{times}"),
        Rate::Max => "max".to_owned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_second(n: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        n as f64 / seconds
    } else {
        0.0
    }
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

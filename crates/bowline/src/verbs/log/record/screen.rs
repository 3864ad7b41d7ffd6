//! What people and programs see of a recorder.

use crate::output;
use crate::verbs::doctor::{printable, size};
use bowline_bus::Bus;
use bowline_log::record::{Phase, Recorder, Status};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";
const CLEAR: &str = "\r\x1b[K";

/// Between two status lines.
const DRAW_EVERY: Duration = Duration::from_millis(250);
const JSON_EVERY: Duration = Duration::from_secs(1);
/// Rates are over so long.
const RATE_OVER: Duration = Duration::from_secs(1);

/// Shows how recording goes. A closed output is no reason to stop.
pub(super) struct Screen {
    audience: Audience,
    drawn_at: Instant,
    n_notices: u64,
    pace: Pace,
}

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// People who see a line that changes.
    Terminal,
    /// People who read what was printed.
    Reader,
    /// A program.
    Json,
    /// No output, unless something is wrong.
    Nobody,
}

/// Events and bytes a second, of the last second.
struct Pace {
    since: Instant,
    events: u64,
    bytes: u64,
    events_per_s: f64,
    bytes_per_s: f64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "what people see changes with the real clock"
)]
fn now() -> Instant {
    Instant::now()
}

impl Screen {
    pub(super) fn new(audience: Audience) -> Self {
        let now = now();
        Self {
            audience,
            drawn_at: now,
            n_notices: 0,
            pace: Pace {
                since: now,
                events: 0,
                bytes: 0,
                events_per_s: 0.0,
                bytes_per_s: 0.0,
            },
        }
    }

    /// The first words: from now on everything is recorded.
    pub(super) fn begin(&mut self, bus: &Bus, recorder: &Recorder) {
        match self.audience {
            Audience::Json => self.print_json(&recorder.status()),
            Audience::Nobody => {}
            Audience::Terminal => self.tell(&beginning(bus, recorder), false),
            Audience::Reader => drop(output::line(&beginning(bus, recorder))),
        }
    }

    /// Shows what changed.
    pub(super) fn show(&mut self, recorder: &Recorder, note: Option<&str>) {
        self.tell_notices(recorder);
        let now = now();
        let status = recorder.status();
        self.pace.update(&status, now);
        let every = match self.audience {
            Audience::Json => JSON_EVERY,
            Audience::Terminal | Audience::Reader | Audience::Nobody => DRAW_EVERY,
        };
        if now < self.drawn_at + every && note.is_none() {
            return;
        }
        self.drawn_at = now;
        match self.audience {
            Audience::Json => self.print_json(&status),
            Audience::Terminal => self.draw(&status, note),
            Audience::Reader | Audience::Nobody => {}
        }
    }

    fn draw(&self, status: &Status, note: Option<&str>) {
        let line = match note {
            Some(note) => format!("note: {}_   (Enter sets it, Esc drops it)", printable(note)),
            None => self.line(status),
        };
        let width = terminal_size::terminal_size_of(std::io::stderr());
        let width = width.map_or(80, |(width, _)| usize::from(width.0));
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let alarm = if status.alarm.is_some() { RED } else { "" };
        put(&format!("{CLEAR}{alarm}{line}{PLAIN}"));
    }

    /// Ends the log, and prints the summary.
    pub(super) fn end(&mut self, mut recorder: Recorder) -> Status {
        let status = recorder.stop();
        self.tell_notices(&recorder);
        put(self.clear());
        status
    }

    fn tell_notices(&mut self, recorder: &Recorder) {
        for notice in recorder.notices_since(self.n_notices) {
            self.n_notices = notice.number;
            self.tell(&notice.text, notice.is_warning);
        }
    }

    fn tell(&self, text: &str, is_warning: bool) {
        let text = printable(text);
        let text = if is_warning {
            super::warning(&text)
        } else {
            text
        };
        match self.audience {
            Audience::Terminal => put(&format!("{CLEAR}{text}\r\n")),
            Audience::Reader | Audience::Json => output::note(&text),
            Audience::Nobody if is_warning => output::note(&text),
            Audience::Nobody => {}
        }
    }

    /// What takes the status line away.
    fn clear(&self) -> &'static str {
        match self.audience {
            Audience::Terminal => CLEAR,
            Audience::Reader | Audience::Json | Audience::Nobody => "",
        }
    }

    fn line(&self, status: &Status) -> String {
        let file = status.file.file_name().unwrap_or_default();
        let file = printable(&file.to_string_lossy());
        let lost = format!(
            "lost {} net {} queue",
            status.lost_before().max(status.network.kernel_drops),
            status.queue.dropped
        );
        let disk = status
            .disk_left
            .map_or_else(String::new, |left| format!("  {} free", size(left)));
        let waiting = size(status.queue.waiting_bytes as u64);
        if let Some(alarm) = &status.alarm {
            return format!(
                "NOT WRITING  queue {waiting}  {lost}{disk}  {}",
                printable(alarm)
            );
        }
        let kept = match status.phase {
            Phase::Armed => format!("  armed, {} kept", size(status.kept_bytes)),
            Phase::Recording | Phase::Refused | Phase::Ended => String::new(),
        };
        format!(
            "{file}  {}  {:.0}/s  {}/s{kept}  queue {waiting}  {lost}{disk}",
            size(status.n_written_bytes),
            self.pace.events_per_s,
            rate(self.pace.bytes_per_s),
        )
    }

    fn print_json(&self, status: &Status) {
        drop(output::line(&self.to_json(status).to_string()));
    }

    /// The last words.
    pub(super) fn summarize(&self, status: &Status) -> anyhow::Result<()> {
        match self.audience {
            Audience::Json => output::line(&self.to_json(status).to_string()),
            Audience::Terminal | Audience::Reader => output::line(&summary(status)),
            Audience::Nobody => {
                if status.is_lossy() {
                    output::note(&summary(status));
                }
                Ok(())
            }
        }
    }

    fn to_json(&self, status: &Status) -> Value {
        json!({
            "phase": match status.phase {
                Phase::Recording => "recording",
                Phase::Armed => "armed",
                Phase::Refused => "refused",
                Phase::Ended => "ended",
            },
            "file": status.file.display().to_string(),
            "files": status.n_files,
            "alarm": status.alarm,
            "events_per_s": self.pace.events_per_s,
            "bytes_per_s": self.pace.bytes_per_s,
            "recorded": status.n_recorded,
            "recorded_bytes": status.n_recorded_bytes,
            "written_bytes": status.n_written_bytes,
            "left_out": status.n_left_out,
            "expired": status.n_expired,
            "kept": status.n_kept,
            "kept_bytes": status.kept_bytes,
            "triggers": status.n_triggers,
            "bookmarks": status.n_bookmarks,
            "waiting": status.queue.waiting,
            "waiting_bytes": status.queue.waiting_bytes,
            "disk_left": status.disk_left,
            "write_errors": status.n_write_errors,
            "sync_errors": status.n_sync_errors,
            "lost": {
                "network": status.network.lost,
                "incomplete": status.network.incomplete,
                "kernel_drops": status.network.kernel_drops,
                "queue": status.queue.dropped,
                "kept": status.n_over,
                "unwritable": status.n_unwritable,
                "unwritten": status.n_unwritten,
            },
            "is_lossy": status.is_lossy(),
        })
    }
}

fn beginning(bus: &Bus, recorder: &Recorder) -> String {
    let file = recorder.status().file;
    let url = printable(&bus.url().to_string());
    format!("recording {url} to {}", printable(&file.to_string_lossy()))
}

/// Every count, in words.
fn summary(status: &Status) -> String {
    let files = match status.n_files {
        1 => status.file.display().to_string(),
        n => format!("{n} files, the last {}", status.file.display()),
    };
    let mut text = format!(
        "recorded {} events, {}, in {files}",
        status.n_recorded,
        size(status.n_written_bytes),
    );
    #[rustfmt::skip]
    let counts = [
        ("left out by the selection", status.n_left_out),
        ("not recorded, since nothing happened", status.n_expired),
        ("times that something happened", status.n_triggers),
        (if status.n_bookmarks == 1 { "bookmark" } else { "bookmarks" }, status.n_bookmarks),
        ("refusals of the system to write, each tried again", status.n_write_errors),
        ("LOST: messages that never arrived", status.network.lost),
        ("LOST: messages that arrived in part", status.network.incomplete),
        ("LOST: datagrams that found the receive buffer full", status.network.kernel_drops),
        ("LOST: events that found the queue full (-m has it larger)", status.queue.dropped),
        ("LOST: events that were too much to keep (--before-mb keeps more)", status.n_over),
        ("LOST: events that no log of this format can hold", status.n_unwritable),
        ("LOST: events that could not be written by the end", status.n_unwritten),
        ("LOST, maybe: times that the system could not have the log on the disk", status.n_sync_errors),
    ];
    for (what, n) in counts.iter().filter(|(_, n)| *n > 0) {
        text += &format!("\n  {n} {what}");
    }
    if !status.is_lossy() {
        text += "\n  nothing was lost";
    }
    text
}

fn rate(bytes_per_s: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people, not negative"
    )]
    size(bytes_per_s as u64)
}

impl Pace {
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    fn update(&mut self, status: &Status, now: Instant) {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed < RATE_OVER {
            return;
        }
        let (events, bytes) = (status.n_recorded, status.n_recorded_bytes);
        self.events_per_s = events.saturating_sub(self.events) as f64 / elapsed.as_secs_f64();
        self.bytes_per_s = bytes.saturating_sub(self.bytes) as f64 / elapsed.as_secs_f64();
        (self.since, self.events, self.bytes) = (now, events, bytes);
    }
}

/// Puts a text on the terminal as it is.
fn put(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stderr().lock();
    // A closed output is no reason to stop.
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

//! What a player looks like on a terminal: a function of what it does, and of the terminal's size.

use super::summary::{lateness, speed};
use bowline_log::play::{Report, State};
use std::sync::Arc;

/// What the screen is made of.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) title: String,
    pub(crate) report: Arc<Report>,
    /// When, and what.
    pub(crate) bookmarks: Vec<(i64, String)>,
    /// Which channel is marked.
    pub(crate) selected: usize,
    /// What happened last.
    pub(crate) message: String,
    pub(crate) is_help: bool,
    pub(crate) events_per_second: f64,
    pub(crate) mb_per_second: f64,
}

const KEYS: &str =
    "space pause  n next  s next of channel  <- -> seek  +- speed  [ ] range  ? help  q quit";

const HELP: &str = "\
space        pause, go on
n            publish the next event, and pause
s, N         publish up to the next event of the marked channel, and pause
left, right  5 s back, forward; with page up and down 60 s
home, end    to the beginning, the end
+ -          faster, slower; 1 real time, 0 as fast as possible
[ ]          the range begins, ends here; \\ all of the log
l            loop over the range, or not
b B          next bookmark, bookmark before
up, down     mark a channel
enter        play the marked channel, or not; a all of them
?            this, or not
q, ^C        quit";

/// The lines of the screen, none longer than it is wide, as many as it is high.
pub(crate) fn lines(view: &View, width: usize, height: usize) -> Vec<String> {
    let mut lines = vec![
        view.title.clone(),
        state_line(view),
        bar(view, width),
        figures_line(view),
        view.message.clone(),
    ];
    let room = height.saturating_sub(lines.len() + 1);
    if view.is_help {
        lines.extend(HELP.lines().take(room).map(str::to_owned));
    } else {
        lines.extend(channel_lines(view, room));
    }
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), String::new());
    lines.push(KEYS.to_owned());
    for line in &mut lines {
        *line = printable(line).chars().take(width).collect();
    }
    lines
}

/// Names come from logs, and may hold anything.
fn printable(line: &str) -> String {
    line.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

fn state_line(view: &View) -> String {
    let status = &view.report.status;
    let state = match status.state {
        State::Playing => "playing",
        State::Paused => "paused",
        State::Ended => "ended",
    };
    let (first, last) = status.span.unwrap_or_default();
    let utime = status.log_utime.unwrap_or(first);
    let time = jiff::Timestamp::from_microsecond(utime)
        .map_or_else(|_far_away| utime.to_string(), |time| format!("{time:.3}"));
    format!(
        "{state:<8} {:<8} {} / {}   {time}",
        speed(status.rate),
        clock(utime.saturating_sub(first)),
        clock(last.saturating_sub(first)),
    )
}

fn clock(us: i64) -> String {
    let tenths = us.max(0) / 100_000;
    let (seconds, tenths) = (tenths / 10, tenths % 10);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{}:{:02}:{seconds:02}.{tenths}", minutes / 60, minutes % 60)
}

/// `[====|====>-----b--|-----]  42 %`: how far it is, where the range is, where bookmarks are.
fn bar(view: &View, width: usize) -> String {
    let status = &view.report.status;
    let room = width.saturating_sub(8).max(1);
    let Some((first, last)) = status.span else {
        return String::new();
    };
    let place = |utime: i64| {
        let span = i128::from(last) - i128::from(first);
        let at = (i128::from(utime) - i128::from(first)).clamp(0, span);
        let at = at * (room as i128 - 1) / span.max(1);
        usize::try_from(at).unwrap_or(0)
    };
    let at = status.log_utime.map_or(0, place);
    let mut cells: Vec<char> = (0..room)
        .map(|cell| if cell < at { '=' } else { '-' })
        .collect();
    let bookmarks = view.bookmarks.iter().map(|(utime, _)| (*utime, 'b'));
    let ends = [status.range.start, status.range.end];
    let ends = ends.into_iter().flatten().map(|utime| (utime, '|'));
    for (utime, mark) in bookmarks.chain(ends) {
        if let Some(cell) = cells.get_mut(place(utime)) {
            *cell = mark;
        }
    }
    if let Some(cell) = cells.get_mut(at) {
        *cell = '>';
    }
    let cells: String = cells.into_iter().collect();
    let percent = at * 100 / room.saturating_sub(1).max(1);
    format!("[{cells}] {percent:>3} %")
}

fn figures_line(view: &View) -> String {
    let report = &view.report;
    let tallies = report.status.tallies;
    let mut line = format!(
        "{} events, {:.0}/s, {:.2} MB/s",
        tallies.n_published, view.events_per_second, view.mb_per_second
    );
    if report.status.is_looping {
        line += &format!(", loop {}", tallies.n_loops + 1);
    }
    if report.n_failed > 0 {
        line += &format!(", {} FAILED", report.n_failed);
    }
    if report.lateness.n() > 0 {
        line += &format!("; late {}", lateness(report));
    }
    line
}

fn channel_lines(view: &View, room: usize) -> Vec<String> {
    let channels = &view.report.channels;
    let mut lines = vec![format!("{:>4} {:>10}  channel", "play", "events")];
    let room = room.saturating_sub(1);
    // The marked one is always in sight.
    let top = (view.selected + 1).saturating_sub(room);
    let shown = channels.iter().enumerate().skip(top).take(room);
    lines.extend(shown.map(|(at, channel)| {
        let mark = if at == view.selected { '>' } else { ' ' };
        let check = if channel.is_enabled { 'x' } else { ' ' };
        let name = if channel.name == channel.channel {
            channel.channel.clone()
        } else {
            format!("{} as {}", channel.channel, channel.name)
        };
        format!("{mark}[{check}] {:>10}  {name}", channel.n_published)
    }));
    lines
}

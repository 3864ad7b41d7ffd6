//! What a player looks like on a terminal: a function of what it does, and of the terminal's size.

use super::summary::speed;
use bowline_inspect::text::printable;
use bowline_log::play::{Report, State};
use std::sync::Arc;
use std::time::Duration;

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

const KEYS: &str = "space pause  n next  s next of channel  <- -> seek  + - speed  ? help  q quit";

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
        // Names come from logs, and may hold anything.
        *line = printable(line).chars().take(width).collect();
    }
    lines
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
    let share = |utime: i64, of: usize| {
        let span = (i128::from(last) - i128::from(first)).max(0);
        let at = (i128::from(utime) - i128::from(first)).clamp(0, span);
        usize::try_from(at * of as i128 / span.max(1)).unwrap_or(0)
    };
    let place = |utime: i64| share(utime, room - 1);
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
    let percent = status.log_utime.map_or(0, |utime| share(utime, 100));
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
        line += &format!("; late {} ms", lateness(report));
    }
    line
}

/// On average, 99 of 100, at most.
fn lateness(report: &Report) -> String {
    let late = &report.lateness;
    let ms = |late: Duration| late.as_secs_f64() * 1e3;
    let (mean, p99, max) = (late.mean(), late.permille(990), late.max());
    format!("{:.2} (p99 {:.2}, max {:.2})", ms(mean), ms(p99), ms(max))
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

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_bus::Bus;
    use bowline_log::play::{Player, PlayerOptions, Range, Runner, RunnerOptions};
    use bowline_log::{LogEvent, Reader, Writer, WriterOptions};

    /// What a player shows of a log with a channel of a name that means harm, before it plays.
    fn view(name: &str) -> View {
        let name = format!("bowline-screen-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log");
        let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
        for utime in [1_000_000, 11_000_000] {
            let event = LogEvent {
                number: 0,
                utime,
                nanos: 0,
                channel: "bad\x1b[31m",
                payload: b"",
            };
            writer.write(event).unwrap();
        }
        writer.finish().unwrap();
        let mut player = Player::new(PlayerOptions {
            span: Some((1_000_000, 11_000_000)),
            range: Range {
                start: Some(6_000_000),
                end: None,
            },
            ..PlayerOptions::default()
        });
        player.expect_channels(["bad\x1b[31m"]);
        let bus = Bus::open("memq://").unwrap();
        let reader = Reader::open(&path).unwrap();
        let runner = Runner::new(reader, bus, player, RunnerOptions::default());
        std::fs::remove_dir_all(&folder).unwrap();
        View {
            title: "t".repeat(300),
            report: runner.controls().report(),
            bookmarks: vec![(2_000_000, "start".to_owned())],
            selected: 0,
            message: String::new(),
            is_help: false,
            events_per_second: 0.0,
            mb_per_second: 0.0,
        }
    }

    #[test]
    fn a_screen_is_as_large_as_its_terminal_and_no_larger() {
        let mut view = view("size");
        for is_help in [false, true] {
            view.is_help = is_help;
            for (width, height) in [(80, 24), (200, 60), (20, 5), (1, 1), (0, 1)] {
                let lines = lines(&view, width, height);
                assert_eq!(lines.len(), height, "{width} x {height}");
                assert!(lines.iter().all(|line| line.chars().count() <= width));
                assert!(!lines.iter().any(|line| line.chars().any(char::is_control)));
            }
        }
    }

    #[test]
    fn the_bar_shows_place_range_and_bookmarks() {
        let lines = lines(&view("bar"), 29, 24);
        assert_eq!(lines[2], "[==b=======>----------]  50 %");
        assert_eq!(
            lines[1],
            "playing  x1       0:00:05.0 / 0:00:10.0".get(..29).unwrap()
        );
        assert_eq!(lines[6], ">[x]          0  bad?[31m");
    }
}

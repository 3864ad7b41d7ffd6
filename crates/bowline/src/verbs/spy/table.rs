//! The table of channels: what is in it, in which order, and how it looks.

use super::paint::{DIM, HEAD, LOST, SELECTED, WRONG, fit};
use bowline_bus::{Channel, Sender};
use bowline_inspect::{Traffic, Watch, text};
use bowline_log::Catalog;
use bowline_wire::Fingerprint;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::cmp::Ordering;
use std::collections::HashMap;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Channel,
    Type,
    Messages,
    Rate,
    Jitter,
    Bandwidth,
    Lost,
    Bad,
    Age,
    Sender,
}

/// A column, its title, its width, and at which width of the screen it appears. Names take what is left.
const COLUMNS: [(Column, &str, u16, u16); 10] = [
    (Column::Channel, "channel", 0, 0),
    (Column::Type, "type", 0, 0),
    (Column::Messages, "count", 7, 70),
    (Column::Rate, "Hz", 7, 0),
    (Column::Jitter, "jitter", 7, 60),
    (Column::Bandwidth, "B/s", 7, 50),
    (Column::Lost, "lost", 5, 60),
    (Column::Bad, "bad", 5, 40),
    (Column::Age, "age", 5, 0),
    (Column::Sender, "sender", 21, 110),
];

/// How the table is looked at.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) sort: Column,
    pub(crate) is_descending: bool,
    pub(crate) filter: String,
    /// The channel that is marked, by name: it stays marked wherever it goes.
    pub(crate) selected: Option<Channel>,
    /// In the order of the screen, as of the last time it was drawn.
    order: Vec<Channel>,
    first: usize,
    /// Where it was drawn, for the mouse.
    area: Rect,
}

/// What the table shows.
pub(crate) struct Shown<'a> {
    pub(crate) watch: &'a Watch,
    pub(crate) names: &'a Names<'a>,
    /// Messages that each sender is known to have lost on the way here.
    pub(crate) lost: &'a HashMap<Sender, u64>,
    pub(crate) now_ns: i64,
}

/// Types by their names.
pub(crate) struct Names<'a>(pub(crate) &'a Catalog);

impl Names<'_> {
    pub(crate) fn of(&self, fingerprint: Fingerprint) -> String {
        let name = self.0.name(fingerprint);
        name.unwrap_or_else(|| unknown(fingerprint))
    }

    fn of_traffic(&self, traffic: &Traffic) -> String {
        match traffic.types() {
            [] => "not LCM".to_owned(),
            [one] => self.of(*one),
            [latest, others @ ..] => format!("{} +{}", self.of(*latest), others.len()),
        }
    }
}

/// What is shown of an undescribed type.
fn unknown(fingerprint: Fingerprint) -> String {
    let bytes = fingerprint.0.to_be_bytes();
    let is_text = bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e));
    match std::str::from_utf8(&bytes) {
        Ok(text) if is_text => format!("text? {text}"),
        Ok(_) | Err(_) => format!("? {:016x}", fingerprint.0),
    }
}

impl Default for Table {
    fn default() -> Self {
        Self {
            sort: Column::Channel,
            is_descending: false,
            filter: String::new(),
            selected: None,
            order: Vec::new(),
            first: 0,
            area: Rect::ZERO,
        }
    }
}

impl Table {
    /// Sorts by the column to the left or right of the present one.
    pub(crate) fn sort_next(&mut self, is_right: bool) {
        let columns = visible(self.area.width.max(80));
        let at = columns.iter().position(|(column, ..)| *column == self.sort);
        let n = columns.len();
        let at = match (at, is_right) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % n,
            (Some(at), false) => (at + n - 1) % n,
        };
        if let Some((column, ..)) = columns.get(at) {
            self.sort_by(*column);
        }
    }

    fn sort_by(&mut self, column: Column) {
        self.sort = column;
        // Of numbers the largest are of interest, but for ages.
        self.is_descending = !matches!(
            column,
            Column::Channel | Column::Type | Column::Sender | Column::Age
        );
    }

    /// Moves the mark by so many rows.
    pub(crate) fn move_by(&mut self, rows: isize) {
        let at = self.position().unwrap_or(0);
        let last = self.order.len().saturating_sub(1);
        let at = at.saturating_add_signed(rows).min(last);
        self.selected = self.order.get(at).cloned();
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.area.height.saturating_sub(2)).unwrap_or(1)
    }

    fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.order.iter().position(|channel| channel == selected)
    }

    /// Takes a click. Returns whether it was on the channel that is marked already.
    pub(crate) fn click(&mut self, x: u16, y: u16) -> bool {
        if y == self.area.y {
            if let Some(column) = self.column_at(x) {
                if column == self.sort {
                    self.is_descending = !self.is_descending;
                } else {
                    self.sort_by(column);
                }
            }
            return false;
        }
        let row = usize::from(y.saturating_sub(self.area.y + 1));
        let clicked = self.order.get(self.first + row).cloned();
        let is_again = clicked.is_some() && clicked == self.selected;
        self.selected = clicked.or(self.selected.take());
        is_again
    }

    fn column_at(&self, x: u16) -> Option<Column> {
        let widths = widths(self.area.width);
        let mut left = self.area.x;
        widths.into_iter().find_map(|(column, _, width)| {
            let is_here = (left..left + width + 1).contains(&x);
            left += width + 1;
            is_here.then_some(column)
        })
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
        self.area = area;
        self.arrange(shown);
        let n_rows = usize::from(area.height.saturating_sub(1));
        self.scroll(n_rows);
        let widths = widths(area.width);
        let buffer = frame.buffer_mut();
        buffer.set_line(area.x, area.y, &self.title(&widths), area.width);
        let rows = self.order.iter().skip(self.first).take(n_rows);
        for (y, channel) in (area.y + 1..).zip(rows) {
            let Some(traffic) = shown.watch.get(channel) else {
                continue;
            };
            let is_selected = self.selected.as_ref() == Some(channel);
            let line = row(channel, traffic, shown, &widths);
            buffer.set_line(area.x, y, &line, area.width);
            if is_selected {
                let area = Rect::new(area.x, y, area.width, 1);
                buffer.set_style(area, SELECTED);
            }
        }
    }

    fn title(&self, widths: &[(Column, &str, u16)]) -> Line<'static> {
        let cells = widths.iter().map(|(column, title, width)| {
            let arrow = match (*column == self.sort, self.is_descending) {
                (false, _) => "",
                (true, true) => "▼",
                (true, false) => "▲",
            };
            Span::styled(cell(*column, &format!("{title}{arrow}"), *width), HEAD)
        });
        Line::from_iter(cells)
    }

    /// Works out which channels are shown, in which order.
    pub(crate) fn arrange(&mut self, shown: &Shown<'_>) {
        let filter = self.filter.to_lowercase();
        let is_wanted = |channel: &Channel, traffic: &Traffic| {
            filter.is_empty()
                || channel.to_lowercase().contains(&filter)
                || shown
                    .names
                    .of_traffic(traffic)
                    .to_lowercase()
                    .contains(&filter)
        };
        let mut rows: Vec<(&Channel, &Traffic)> = shown
            .watch
            .iter()
            .filter(|(channel, traffic)| is_wanted(channel, traffic))
            .collect();
        rows.sort_unstable_by(|a, b| {
            let order = self.compare(*a, *b, shown);
            let order = if self.is_descending {
                order.reverse()
            } else {
                order
            };
            order.then_with(|| a.0.cmp(b.0))
        });
        self.order = rows
            .into_iter()
            .map(|(channel, _)| channel.clone())
            .collect();
        if self.position().is_none() {
            self.selected = self.order.first().cloned();
        }
    }

    fn compare(
        &self,
        (channel, traffic): (&Channel, &Traffic),
        (other_channel, other): (&Channel, &Traffic),
        shown: &Shown<'_>,
    ) -> Ordering {
        let now_ns = shown.now_ns;
        match self.sort {
            Column::Channel => channel.cmp(other_channel),
            Column::Type => {
                let name = |traffic| shown.names.of_traffic(traffic);
                name(traffic).cmp(&name(other))
            }
            Column::Messages => traffic.messages.cmp(&other.messages),
            Column::Rate => traffic.rate_hz(now_ns).total_cmp(&other.rate_hz(now_ns)),
            Column::Jitter => traffic.jitter_s().total_cmp(&other.jitter_s()),
            Column::Bandwidth => {
                let bandwidth = |traffic: &Traffic| traffic.bytes_per_second(now_ns);
                bandwidth(traffic).total_cmp(&bandwidth(other))
            }
            Column::Lost => lost(traffic, shown).cmp(&lost(other, shown)),
            Column::Bad => traffic.undecodable().cmp(&other.undecodable()),
            Column::Age => other.last_ns.cmp(&traffic.last_ns),
            Column::Sender => traffic.sender().cmp(&other.sender()),
        }
    }

    fn scroll(&mut self, n_rows: usize) {
        let at = self.position().unwrap_or(0);
        if at < self.first {
            self.first = at;
        } else if at >= self.first + n_rows {
            self.first = at + 1 - n_rows.max(1);
        }
        let most = self.order.len().saturating_sub(n_rows);
        self.first = self.first.min(most);
    }

    /// How many channels are shown of those that there are.
    pub(crate) fn n_shown(&self) -> usize {
        self.order.len()
    }
}

/// The columns that a screen of that width has room for.
fn visible(width: u16) -> Vec<(Column, &'static str, u16)> {
    COLUMNS
        .into_iter()
        .filter(|(_, _, _, from)| width >= *from)
        .map(|(column, title, width, _)| (column, title, width))
        .collect()
}

/// The same with their widths: names share what the others leave, channels more than types.
fn widths(width: u16) -> Vec<(Column, &'static str, u16)> {
    let mut columns = visible(width);
    let gaps = u16::try_from(columns.len()).unwrap_or(0).saturating_sub(1);
    let fixed: u16 = columns.iter().map(|(_, _, width)| width).sum();
    let left = width.saturating_sub(fixed + gaps);
    let types = left * 2 / 5;
    for (column, _, width) in &mut columns {
        match column {
            Column::Channel => *width = left - types,
            Column::Type => *width = types,
            Column::Messages
            | Column::Rate
            | Column::Jitter
            | Column::Bandwidth
            | Column::Lost
            | Column::Bad
            | Column::Age
            | Column::Sender => {}
        }
    }
    columns
}

fn row(
    channel: &Channel,
    traffic: &Traffic,
    shown: &Shown<'_>,
    widths: &[(Column, &str, u16)],
) -> Line<'static> {
    let age_s = seconds(shown.now_ns - traffic.last_ns);
    let is_silent = age_s > 2.0 && age_s * traffic.rate_hz(traffic.last_ns) > 5.0;
    let base = if is_silent { DIM } else { Style::new() };
    let cells = widths.iter().map(|(column, _, width)| {
        let (mut text, style) = content(*column, channel, traffic, shown);
        if *column == Column::Type && text.chars().count() > usize::from(*width) {
            text = without_package(&text).to_owned();
        }
        Span::styled(cell(*column, &text, *width), base.patch(style))
    });
    Line::from_iter(cells)
}

/// The name of a type that has no room for its package.
fn without_package(name: &str) -> &str {
    let (package, rest) = name.rsplit_once('.').unwrap_or(("", name));
    if package.contains(' ') { name } else { rest }
}

fn content(
    column: Column,
    channel: &Channel,
    traffic: &Traffic,
    shown: &Shown<'_>,
) -> (String, Style) {
    let plain = |text: String| (text, Style::new());
    match column {
        Column::Channel => plain(text::printable(channel)),
        Column::Type => plain(text::printable(&shown.names.of_traffic(traffic))),
        Column::Messages => plain(short(traffic.messages)),
        Column::Rate => plain(figure(traffic.rate_hz(shown.now_ns))),
        Column::Jitter => plain(duration(traffic.jitter_s())),
        Column::Bandwidth => plain(figure(traffic.bytes_per_second(shown.now_ns))),
        Column::Lost => match lost(traffic, shown) {
            None => plain("-".to_owned()),
            Some(0) => plain("0".to_owned()),
            Some(n) => (short(n), LOST),
        },
        Column::Bad => {
            // With a mark where not all were looked at.
            let mark = if traffic.is_sampled() { "~" } else { "" };
            let text = format!("{mark}{}", short(traffic.undecodable()));
            let is_wrong = traffic.undecodable() > 0;
            (text, if is_wrong { WRONG } else { Style::new() })
        }
        Column::Age => plain(duration(seconds(shown.now_ns - traffic.last_ns))),
        Column::Sender => plain(senders(traffic)),
    }
}

fn senders(traffic: &Traffic) -> String {
    let Some(sender) = traffic.sender() else {
        return String::new();
    };
    let (known, has_more) = traffic.senders();
    match (known.len(), has_more) {
        (0 | 1, false) => sender.to_string(),
        (n, false) => format!("{sender} +{}", n - 1),
        (n, true) => format!("{sender} +{n} or more"),
    }
}

/// What the channel's latest sender lost: which channel a lost message was for is unknown.
fn lost(traffic: &Traffic, shown: &Shown<'_>) -> Option<u64> {
    shown.lost.get(&traffic.sender()?).copied()
}

/// Text in a column, with a gap after it. What is cut ends with a mark.
fn cell(column: Column, text: &str, width: u16) -> String {
    let text = fit(text, width);
    let width = usize::from(width);
    match column {
        Column::Channel | Column::Type | Column::Sender => format!("{text:<width$} "),
        Column::Messages
        | Column::Rate
        | Column::Jitter
        | Column::Bandwidth
        | Column::Lost
        | Column::Bad
        | Column::Age => format!("{text:>width$} "),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an age for people")]
pub(crate) fn seconds(ns: i64) -> f64 {
    ns.max(0) as f64 / 1e9
}

/// A count in at most five letters.
pub(crate) fn short(n: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rounded number for people")]
    let number = n as f64;
    if n < 100_000 {
        n.to_string()
    } else {
        figure(number)
    }
}

/// A number with three digits that count, and a letter for thousands and so on.
pub(crate) fn figure(number: f64) -> String {
    let (scaled, unit) = match number {
        x if x >= 999.5e9 => return format!("{x:.0e}"),
        x if x >= 999.5e6 => (x / 1e9, "G"),
        x if x >= 999.5e3 => (x / 1e6, "M"),
        x if x >= 9_999.5 => (x / 1e3, "k"),
        x => (x, ""),
    };
    match scaled {
        x if x >= 99.95 => format!("{x:.0}{unit}"),
        x if x >= 9.995 => format!("{x:.1}{unit}"),
        x if x > 0.0 => format!("{x:.2}{unit}"),
        _ => format!("0{unit}"),
    }
}

/// A time span in at most five letters or so.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => format!("{:.0}d", s / 86_400.0),
        s if s >= 5_400.0 => format!("{:.0}h", s / 3_600.0),
        s if s >= 99.5 => format!("{:.0}m", s / 60.0),
        s if s >= 0.9995 => format!("{s:.1}s"),
        s if s >= 0.000_999_5 => format!("{:.0}ms", s * 1e3),
        s if s > 0.0 => format!("{:.0}us", s * 1e6),
        _ => "0".to_owned(),
    }
}

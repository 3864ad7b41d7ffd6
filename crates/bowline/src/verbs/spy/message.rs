//! One channel, opened: its latest message, or an earlier one, as fields or as bytes.

use super::gallery::Gallery;
use super::paint::{BAR, DIM, HEAD, SELECTED, WRONG, fit};
use super::table::{Names, duration, figure, seconds};
use bowline_bus::{Channel, Event};
use bowline_inspect::tree::{Fold, Folds, Row, Tree};
use bowline_inspect::{History, Traffic, guess, hex_lines, text};
use bowline_log::{Catalog, Decoded, FieldChoice, LogEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

/// A screen with room for fields and a picture beside them.
const WIDE: u16 = 100;

/// How a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Fields,
    Bytes,
    /// What it is a picture of, if it is one.
    Picture,
}

/// A channel that was opened.
#[derive(Debug)]
pub(crate) struct MessageView {
    pub(crate) channel: Channel,
    pub(crate) face: Face,
    folds: Folds,
    /// The line that is marked, by its key: it stays marked when arrays before it grow.
    key: Option<String>,
    at: usize,
    first: usize,
    n_rows: usize,
    area: Rect,
    /// The message that is looked at, by its number; the latest otherwise.
    frozen: Option<(u64, Event)>,
    latest: Option<(u64, Event)>,
}

/// What an opened channel is drawn from.
pub(crate) struct Surroundings<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) traffic: Option<&'a Traffic>,
    pub(crate) now_ns: i64,
    /// The paths of this channel's fields that are plotted, with their colours.
    pub(crate) plotted: &'a [(String, Color)],
}

impl MessageView {
    pub(crate) fn new(channel: Channel, history: &History) -> Self {
        let latest = history.last(&channel);
        let latest = latest.map(|(number, event)| (number, event.clone()));
        Self {
            channel,
            face: Face::Fields,
            folds: Folds::default(),
            key: None,
            at: 0,
            first: 0,
            n_rows: 0,
            area: Rect::ZERO,
            frozen: None,
            latest,
        }
    }

    /// Takes a message of this channel.
    pub(crate) fn take(&mut self, number: u64, event: &Event) {
        self.latest = Some((number, event.clone()));
    }

    /// The message that is looked at.
    pub(crate) fn event(&self) -> Option<&Event> {
        let shown = self.frozen.as_ref().or(self.latest.as_ref());
        shown.map(|(_, event)| event)
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    pub(crate) fn toggle_freeze(&mut self) {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => self.latest.clone(),
        };
    }

    /// Goes to the message before or after the one that is looked at. Returns what is wrong if there is none.
    pub(crate) fn step(&mut self, is_back: bool, history: &History) -> Result<(), &'static str> {
        let Some((number, _)) = self.frozen.as_ref().or(self.latest.as_ref()) else {
            return Err("nothing has come yet");
        };
        let found = if is_back {
            history.before(&self.channel, *number)
        } else {
            history.after(&self.channel, *number)
        };
        let (number, event) = found.ok_or(if is_back {
            "no earlier message is remembered"
        } else {
            "this is the latest message"
        })?;
        self.frozen = Some((number, event.clone()));
        Ok(())
    }

    /// The message as JSON.
    pub(crate) fn to_json(&self, catalog: &Catalog) -> Option<String> {
        let event = LogEvent::from(self.event()?);
        let mut whole = FieldChoice::default();
        bowline_log::Line::new(event, catalog, &mut whole).map(|line| line.to_json_pretty())
    }

    /// Moves the mark.
    pub(crate) fn move_by(&mut self, rows: isize, catalog: &Catalog) {
        // Keys may come faster than screens, and the one before may have opened something.
        let n_rows = match self.face {
            Face::Fields => self.with_tree(catalog, |tree| tree.n_rows()),
            Face::Bytes | Face::Picture => None,
        };
        self.n_rows = n_rows.unwrap_or(self.n_rows);
        let last = self.n_rows.saturating_sub(1);
        self.at = self.at.saturating_add_signed(rows).min(last);
        self.key = self.row(catalog).map(|row| row.key);
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.area.height.saturating_sub(1)).unwrap_or(1)
    }

    /// The line that is marked.
    pub(crate) fn row(&self, catalog: &Catalog) -> Option<Row> {
        if self.face != Face::Fields {
            return None;
        }
        self.with_tree(catalog, |tree| {
            tree.rows(self.at..self.at + 1).into_iter().next()
        })?
    }

    fn with_tree<T>(&self, catalog: &Catalog, look: impl FnOnce(&Tree<'_>) -> T) -> Option<T> {
        let decoded = catalog.decode(&self.event()?.payload)?.ok()?;
        let tree = Tree::new(decoded.types, decoded.id, &decoded.value, &self.folds);
        Some(look(&tree))
    }

    /// Shows it in that way, or as fields if it is so already.
    pub(crate) fn turn(&mut self, face: Face) {
        self.face = if self.face == face {
            Face::Fields
        } else {
            face
        };
        (self.at, self.first, self.key) = (0, 0, None);
    }

    /// Opens what is closed and closes what is open. Returns whether there was anything.
    pub(crate) fn toggle(&mut self, catalog: &Catalog) -> bool {
        let row = self.row(catalog).filter(|row| row.fold != Fold::Leaf);
        if let Some(row) = &row {
            self.folds.toggle(row);
        }
        row.is_some()
    }

    pub(crate) fn open(&mut self, catalog: &Catalog) {
        if let Some(row) = self.row(catalog)
            && !self.folds.open(&row)
        {
            self.move_by(1, catalog);
        }
    }

    /// Closes what is open, or goes to what the line is inside of. Returns whether there was such.
    pub(crate) fn close(&mut self, catalog: &Catalog) -> bool {
        let Some(row) = self.row(catalog) else {
            return false;
        };
        if self.folds.close(&row) {
            return true;
        }
        match self
            .with_tree(catalog, |tree| tree.parent(self.at))
            .flatten()
        {
            Some(parent) => {
                self.at = parent;
                self.key = self.row(catalog).map(|row| row.key);
                true
            }
            None => false,
        }
    }

    /// Takes a click on a line. Returns whether it was on the one that is marked already.
    pub(crate) fn click(&mut self, y: u16, catalog: &Catalog) -> bool {
        let at = self.first + usize::from(y.saturating_sub(self.area.y));
        if y < self.area.y || y >= self.area.bottom() || at >= self.n_rows {
            return false;
        }
        let is_again = at == self.at;
        self.at = at;
        self.key = self.row(catalog).map(|row| row.key);
        is_again
    }

    /// The two lines above the message.
    pub(crate) fn draw_head(&self, frame: &mut Frame<'_>, area: Rect, around: &Surroundings<'_>) {
        let Some(event) = self.event() else {
            let text = format!(" {}: nothing has come yet", text::printable(&self.channel));
            put(frame, area, 0, Line::styled(text, BAR));
            return;
        };
        let names = Names(around.catalog);
        let ty = bowline_inspect::fingerprint(&event.payload)
            .map_or("not LCM".to_owned(), |fingerprint| names.of(fingerprint));
        let mut first = format!(
            " {}  {}",
            text::printable(&self.channel),
            text::printable(&ty)
        );
        if let Some(traffic) = around.traffic {
            first += &format!(
                "  {} Hz  jitter {}",
                figure(traffic.rate_hz(around.now_ns)),
                duration(traffic.jitter_s())
            );
        }
        put(frame, area, 0, Line::styled(fill(&first, area.width), BAR));
        let arrival = &event.arrival;
        let time = text::utime(arrival.utime()).unwrap_or_default();
        let age = duration(seconds(around.now_ns - arrival.received_ns));
        let state = if self.is_frozen() { "FROZEN  " } else { "" };
        let second = format!(
            " {state}{time}  {age} ago  {}  from {}",
            text::size(event.payload.len() as u64),
            arrival.sender
        );
        put(frame, area, 1, Line::styled(fit(&second, area.width), DIM));
    }

    /// The message itself, beside its picture where there is room for both.
    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        around: &Surroundings<'_>,
        gallery: &mut Gallery,
    ) {
        self.area = area;
        let Some(event) = self.event().cloned() else {
            return;
        };
        let decoded = match around.catalog.decode(&event.payload) {
            Some(Ok(decoded)) => decoded,
            Some(Err(error)) => {
                let what = format!("cannot be decoded: {error}");
                return self.draw_bytes(frame, area, &event, Some(what));
            }
            None => {
                let what = guess(&event.payload, around.catalog);
                return self.draw_bytes(frame, area, &event, Some(what));
            }
        };
        let at_ns = event.arrival.received_ns;
        match self.face {
            Face::Bytes => self.draw_bytes(frame, area, &event, None),
            Face::Picture if gallery.draw(frame, area, &decoded, at_ns) => {}
            Face::Picture => {
                let text = " this is neither a picture nor a scan; v shows the fields";
                put(frame, area, 0, Line::styled(text, DIM));
            }
            Face::Fields if area.width >= WIDE => {
                let half = Rect {
                    width: area.width / 2,
                    ..area
                };
                let other = Rect {
                    x: area.x + half.width + 1,
                    width: area.width - half.width - 1,
                    ..area
                };
                let is_picture = gallery.draw(frame, other, &decoded, at_ns);
                let area = if is_picture { half } else { area };
                self.draw_fields(frame, area, &decoded, around);
            }
            Face::Fields => self.draw_fields(frame, area, &decoded, around),
        }
    }

    fn draw_fields(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        decoded: &Decoded<'_, '_>,
        around: &Surroundings<'_>,
    ) {
        let tree = Tree::new(decoded.types, decoded.id, &decoded.value, &self.folds);
        let n_rows = tree.n_rows();
        let found = self.key.as_deref().and_then(|key| tree.position(key));
        let at = found.unwrap_or(self.at).min(n_rows.saturating_sub(1));
        let first = scrolled(self.first, at, n_rows, area.height.into());
        let rows = tree.rows(first..first + usize::from(area.height));
        (self.at, self.first, self.n_rows) = (at, first, n_rows);
        for (y, row) in (0..).zip(&rows) {
            let is_marked = first + usize::from(y) == at;
            put(frame, area, y, field_line(row, area.width, around.plotted));
            if is_marked {
                let line = Rect::new(area.x, area.y + y, area.width, 1);
                frame.buffer_mut().set_style(line, SELECTED);
            }
        }
    }

    fn draw_bytes(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        event: &Event,
        what: Option<String>,
    ) {
        let n_above = u16::from(what.is_some()) * 2;
        if let Some(what) = what {
            let text = format!(" {}", text::printable(&what));
            put(frame, area, 0, Line::styled(fit(&text, area.width), WRONG));
        }
        let height = usize::from(area.height.saturating_sub(n_above));
        let n_rows = event.payload.len().div_ceil(16);
        let at = self.at.min(n_rows.saturating_sub(1));
        let first = at.min(n_rows.saturating_sub(height));
        (self.at, self.first, self.n_rows) = (at, first, n_rows);
        let lines = hex_lines(&event.payload, first..first + height);
        for (y, text) in (n_above..).zip(lines) {
            put(frame, area, y, Line::raw(format!(" {text}")));
        }
    }
}

fn put(frame: &mut Frame<'_>, area: Rect, y: u16, line: Line<'_>) {
    if y < area.height {
        let buffer = frame.buffer_mut();
        buffer.set_line(area.x, area.y + y, &line, area.width);
    }
}

/// Text, with spaces up to the width.
fn fill(text: &str, width: u16) -> String {
    let width = usize::from(width);
    format!(
        "{:<width$}",
        fit(text, u16::try_from(width).unwrap_or(u16::MAX))
    )
}

/// The first line that is shown so that the marked one is.
pub(crate) fn scrolled(first: usize, at: usize, n_rows: usize, height: usize) -> usize {
    let height = height.max(1);
    let first = first.min(at).max((at + 1).saturating_sub(height));
    first.min(n_rows.saturating_sub(height))
}

/// A field: name, value, unit, and its type as far as there is room.
fn field_line(row: &Row, width: u16, plotted: &[(String, Color)]) -> Line<'static> {
    let width = usize::from(width);
    let name_width = (width * 2 / 5).clamp(12, 48);
    let mark = match row.fold {
        Fold::Leaf => ' ',
        Fold::Open => '▾',
        Fold::Closed => '▸',
    };
    let plotted = plotted.iter().find(|(path, _)| *path == row.path);
    let (dot, dot_style) = match plotted {
        Some((_, colour)) => ('●', Style::new().fg(*colour)),
        None => (' ', Style::new()),
    };
    let indent = " ".repeat(row.depth * 2);
    let name = format!("{indent}{mark} {}", row.name);
    let name = fit(&name, u16::try_from(name_width).unwrap_or(u16::MAX));
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    Line::from(vec![
        Span::styled(dot.to_string(), dot_style),
        Span::styled(format!("{name:<name_width$} "), HEAD),
        Span::raw(row.value.clone()),
        Span::styled(unit, Style::new().fg(Color::Cyan)),
        Span::styled(format!("  {}", row.ty), DIM),
    ])
}

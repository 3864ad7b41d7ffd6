//! What the spy shows and how it answers keys: a state that gets events, keys and the time.

use super::feed::Feed;
use super::gallery::Gallery;
use super::help;
use super::message::{Face, MessageView, Surroundings};
use super::paint::{ALERT, BAR, DIM, fit};
use super::plots::Plots;
use super::stretch::Stretch;
use super::table::{Names, Shown, Table, figure};
use bowline_bus::{Event, Sender};
use bowline_inspect::{History, Watch, text};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use std::collections::HashMap;
use std::time::Instant;

/// What is remembered of the last events, all channels together, in bytes.
const HISTORY: usize = 48 << 20;
const SEEK_NS: i64 = 5_000_000_000;

/// What the loop around it has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    Quit,
    /// To be put where the terminal keeps what was copied.
    Copy(String),
}

/// The whole program but for the terminal.
pub(crate) struct App {
    watch: Watch,
    history: History,
    table: Table,
    opened: Option<MessageView>,
    plots: Plots,
    gallery: Gallery,
    stretch: Stretch,
    /// What was there when the table was frozen, and when that was.
    frozen: Option<Box<(Watch, i64)>>,
    prompt: Option<Prompt>,
    notice: String,
    is_help: bool,
    lost: HashMap<Sender, u64>,
}

/// A line that is being typed.
#[derive(Debug)]
enum Prompt {
    Filter,
    /// The file for a stretch of events.
    File(String),
}

impl App {
    pub(crate) fn new(gallery: Gallery) -> Self {
        Self {
            gallery,
            watch: Watch::default(),
            history: History::new(HISTORY),
            table: Table::default(),
            opened: None,
            plots: Plots::default(),
            stretch: Stretch::default(),
            frozen: None,
            prompt: None,
            notice: String::new(),
            is_help: false,
            lost: HashMap::new(),
        }
    }

    /// Takes an event.
    pub(crate) fn take(&mut self, event: Event, feed: &Feed) {
        self.watch.take(&event, feed.catalog());
        self.plots.take(&event, feed.catalog());
        let number = self.history.numbers().end;
        if let Some(opened) = &mut self.opened
            && opened.channel == event.channel
        {
            opened.take(number, &event);
        }
        self.history.push(event);
    }

    /// Forgets what was counted: the log goes on from elsewhere.
    fn restart(&mut self) {
        self.watch.clear();
        self.plots.clear();
        self.frozen = None;
    }

    /// Answers a key.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    pub(crate) fn press(&mut self, key: KeyEvent, feed: &mut Feed, now: Instant) -> Wish {
        self.notice.clear();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Wish::Quit;
        }
        if self.prompt.is_some() {
            self.type_letter(key, feed);
            return Wish::Nothing;
        }
        if self.is_help {
            self.is_help = false;
            return Wish::Nothing;
        }
        match key.code {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('?') | KeyCode::F(1) => self.is_help = true,
            KeyCode::Char('{') => self.seek(-SEEK_NS, feed, now),
            KeyCode::Char('}') => self.seek(SEEK_NS, feed, now),
            KeyCode::Char('(') => feed.change_speed(false, now),
            KeyCode::Char(')') => feed.change_speed(true, now),
            KeyCode::Char('[') => self.begin_stretch(feed, now),
            KeyCode::Char(']') => self.end_stretch(feed, now),
            KeyCode::Char('+' | '=') => self.plots.zoom(true),
            KeyCode::Char('-') => self.plots.zoom(false),
            KeyCode::Char('c') => self.plots.remove_all(),
            KeyCode::Char('z') => self.gallery.zoom(),
            KeyCode::Char('p') => self.plots.is_large = !self.plots.is_large,
            _ if self.opened.is_some() => return self.press_message(key, feed),
            _ => self.press_table(key, feed, now),
        }
        Wish::Nothing
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    fn press_table(&mut self, key: KeyEvent, feed: &mut Feed, now: Instant) {
        // Keys may come faster than screens, and the ones before may have changed what is shown.
        self.arrange_table(feed, now);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.table.move_by(-1),
            KeyCode::Down | KeyCode::Char('j') => self.table.move_by(1),
            KeyCode::PageUp => self.table.move_by(-self.table.page()),
            KeyCode::PageDown => self.table.move_by(self.table.page()),
            KeyCode::Home => self.table.move_by(isize::MIN / 2),
            KeyCode::End => self.table.move_by(isize::MAX / 2),
            KeyCode::Left | KeyCode::Char('<') => self.table.sort_next(false),
            KeyCode::Right | KeyCode::Char('>') => self.table.sort_next(true),
            KeyCode::Char('r') => self.table.is_descending = !self.table.is_descending,
            KeyCode::Char('/') => self.prompt = Some(Prompt::Filter),
            KeyCode::Esc => self.table.filter.clear(),
            KeyCode::Char(' ') => self.toggle_freeze(feed, now),
            KeyCode::Enter => self.open_selected(),
            _ => self.notice = unknown(key),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    fn press_message(&mut self, key: KeyEvent, feed: &Feed) -> Wish {
        let Some(opened) = &mut self.opened else {
            return Wish::Nothing;
        };
        let catalog = feed.catalog();
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => opened.move_by(-1, catalog),
            KeyCode::Down | KeyCode::Char('j') => opened.move_by(1, catalog),
            KeyCode::PageUp => opened.move_by(-opened.page(), catalog),
            KeyCode::PageDown => opened.move_by(opened.page(), catalog),
            KeyCode::Home => opened.move_by(isize::MIN / 2, catalog),
            KeyCode::End => opened.move_by(isize::MAX / 2, catalog),
            KeyCode::Right => opened.open(catalog),
            KeyCode::Left => {
                if !opened.close(catalog) {
                    self.opened = None;
                }
            }
            KeyCode::Enter => {
                if !opened.toggle(catalog) {
                    self.mark(feed);
                }
            }
            KeyCode::Char('m') => self.mark(feed),
            KeyCode::Char('x') => opened.turn(Face::Bytes),
            KeyCode::Char('v') => opened.turn(Face::Picture),
            KeyCode::Char(' ') => opened.toggle_freeze(),
            KeyCode::Char(',') => self.step(true),
            KeyCode::Char('.') => self.step(false),
            KeyCode::Char('y') => return self.copy(feed),
            KeyCode::Esc | KeyCode::Backspace => self.opened = None,
            _ => self.notice = unknown(key),
        }
        Wish::Nothing
    }

    fn step(&mut self, is_back: bool) {
        let stepped = self
            .opened
            .as_mut()
            .map_or(Ok(()), |opened| opened.step(is_back, &self.history));
        if let Err(why_not) = stepped {
            why_not.clone_into(&mut self.notice);
        }
    }

    fn copy(&mut self, feed: &Feed) -> Wish {
        let json = self
            .opened
            .as_ref()
            .and_then(|opened| opened.to_json(feed.catalog()));
        let Some(json) = json else {
            "nothing has come yet".clone_into(&mut self.notice);
            return Wish::Nothing;
        };
        self.notice = format!(
            "copied as JSON, {}, if the terminal lets programs copy",
            text::size(json.len() as u64)
        );
        Wish::Copy(json)
    }

    /// Plots the field that is marked, or not any more.
    fn mark(&mut self, feed: &Feed) {
        let Some(opened) = &self.opened else {
            return;
        };
        let Some(row) = opened.row(feed.catalog()) else {
            "no field is marked here".clone_into(&mut self.notice);
            return;
        };
        if !row.is_numeric {
            self.notice = format!("{} is no number: only numbers are plotted", row.path);
            return;
        }
        let channel = &opened.channel;
        match self.plots.toggle(channel, &row.path, &row.unit) {
            Ok(true) => {
                for (_, event) in self.history.of(channel) {
                    self.plots.take_new(event, feed.catalog());
                }
            }
            Ok(false) => {}
            Err(why_not) => self.notice = why_not,
        }
    }

    fn arrange_table(&mut self, feed: &Feed, now: Instant) {
        let names = Names(feed.catalog());
        let (watch, now_ns) = looked_at(&self.watch, self.frozen.as_deref(), feed.now_ns(now));
        self.table.arrange(&Shown {
            watch,
            names: &names,
            lost: &self.lost,
            now_ns,
        });
    }

    fn open_selected(&mut self) {
        if let Some(channel) = &self.table.selected {
            self.opened = Some(MessageView::new(channel.clone(), &self.history));
        }
    }

    fn toggle_freeze(&mut self, feed: &mut Feed, now: Instant) {
        let is_frozen = self.frozen.is_some();
        self.frozen = (!is_frozen).then(|| Box::new((self.watch.clone(), feed.now_ns(now))));
        feed.set_paused(!is_frozen, now);
    }

    fn seek(&mut self, by_ns: i64, feed: &mut Feed, now: Instant) {
        match feed.seek_by(by_ns, now) {
            Ok(true) => self.restart(),
            Ok(false) => "only a log can be gone back and forth in".clone_into(&mut self.notice),
            Err(error) => self.notice = error.to_string(),
        }
    }

    fn present_ns(&self, feed: &Feed, now: Instant) -> i64 {
        let looked_at = self.opened.as_ref().filter(|opened| opened.is_frozen());
        let looked_at = looked_at.and_then(MessageView::event);
        looked_at.map_or_else(|| feed.now_ns(now), |event| event.arrival.received_ns)
    }

    fn begin_stretch(&mut self, feed: &Feed, now: Instant) {
        self.stretch.begin(self.present_ns(feed, now));
        "a stretch begins here; ] ends it".clone_into(&mut self.notice);
    }

    fn end_stretch(&mut self, feed: &Feed, now: Instant) {
        match self.stretch.end(self.present_ns(feed, now)) {
            Ok(()) => self.prompt = Some(Prompt::File("stretch.lcmlog".to_owned())),
            Err(why_not) => why_not.clone_into(&mut self.notice),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "most keys mean nothing")]
    fn type_letter(&mut self, key: KeyEvent, feed: &Feed) {
        let line = match &mut self.prompt {
            Some(Prompt::Filter) => &mut self.table.filter,
            Some(Prompt::File(name)) => name,
            None => return,
        };
        match key.code {
            KeyCode::Char(letter) => line.push(letter),
            KeyCode::Backspace => drop(line.pop()),
            KeyCode::Esc => {
                if matches!(self.prompt, Some(Prompt::Filter)) {
                    self.table.filter.clear();
                }
                self.prompt = None;
            }
            KeyCode::Enter => {
                if let Some(Prompt::File(name)) = self.prompt.take() {
                    self.notice = self.stretch.write(&name, &self.history, feed.catalog());
                }
            }
            _ => {}
        }
    }

    /// Answers the mouse.
    pub(crate) fn click(&mut self, mouse: MouseEvent, feed: &Feed) {
        let catalog = feed.catalog();
        match (mouse.kind, &mut self.opened) {
            (MouseEventKind::ScrollUp, Some(opened)) => opened.move_by(-3, catalog),
            (MouseEventKind::ScrollDown, Some(opened)) => opened.move_by(3, catalog),
            (MouseEventKind::ScrollUp, None) => self.table.move_by(-3),
            (MouseEventKind::ScrollDown, None) => self.table.move_by(3),
            (MouseEventKind::Down(MouseButton::Left), _) => self.click_left(mouse, feed),
            (MouseEventKind::Down(MouseButton::Right), Some(_)) => self.opened = None,
            _ => {}
        }
    }

    /// A click marks; another one there opens, or plots.
    fn click_left(&mut self, mouse: MouseEvent, feed: &Feed) {
        let catalog = feed.catalog();
        if let Some(opened) = &mut self.opened {
            if opened.click(mouse.row, catalog) && !opened.toggle(catalog) {
                self.mark(feed);
            }
        } else if self.table.click(mouse.column, mouse.row) {
            self.open_selected();
        }
    }

    /// Draws all of it.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, feed: &Feed, now: Instant) {
        let senders = feed
            .bus()
            .map(bowline_bus::Bus::senders)
            .unwrap_or_default();
        self.lost = senders
            .into_iter()
            .map(|counts| (counts.sender, counts.lost))
            .collect();
        if self.is_help {
            help::draw(frame);
            return;
        }
        let n_plots = self.plots.height(frame.area().height);
        let [head, body, plots, foot] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Min(1),
            Constraint::Length(n_plots),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let now_ns = feed.now_ns(now);
        match self.opened.take() {
            Some(mut opened) => {
                self.draw_message(frame, &mut opened, [head, body], feed, now_ns);
                self.opened = Some(opened);
            }
            None => self.draw_table(frame, [head, body], feed, now_ns),
        }
        let latest_ns = if feed.is_log() {
            self.watch.latest_ns()
        } else {
            now_ns
        };
        self.plots.draw(frame, plots, latest_ns);
        self.draw_foot(frame, foot, feed);
    }

    /// What the terminal is to be sent after the screen: pictures that are none of letters.
    pub(crate) fn graphics(&mut self) -> Vec<u8> {
        self.gallery.finish()
    }

    fn draw_message(
        &mut self,
        frame: &mut Frame<'_>,
        opened: &mut MessageView,
        [head, body]: [Rect; 2],
        feed: &Feed,
        now_ns: i64,
    ) {
        let plotted = self.plots.paths(&opened.channel);
        let around = Surroundings {
            catalog: feed.catalog(),
            traffic: self.watch.get(&opened.channel),
            now_ns,
            plotted: &plotted,
        };
        opened.draw_head(frame, head, &around);
        opened.draw(frame, body, &around, &mut self.gallery);
    }

    fn draw_table(
        &mut self,
        frame: &mut Frame<'_>,
        [head, body]: [Rect; 2],
        feed: &Feed,
        now_ns: i64,
    ) {
        let names = Names(feed.catalog());
        let (watch, now_ns) = looked_at(&self.watch, self.frozen.as_deref(), now_ns);
        let shown = Shown {
            watch,
            names: &names,
            lost: &self.lost,
            now_ns,
        };
        self.table.draw(frame, body, &shown);
        let [first, second] = self.head_lines(watch, feed, now_ns);
        let buffer = frame.buffer_mut();
        let width = usize::from(head.width);
        let first = format!("{:<width$}", fit(&first, head.width));
        let style = if self.frozen.is_some() { ALERT } else { BAR };
        buffer.set_line(head.x, head.y, &Line::styled(first, style), head.width);
        let second = fit(&second, head.width);
        buffer.set_line(head.x, head.y + 1, &Line::styled(second, DIM), head.width);
    }

    /// Where from and how much; and everything that was lost, by whose fault.
    fn head_lines(&self, watch: &Watch, feed: &Feed, now_ns: i64) -> [String; 2] {
        let rate: f64 = watch.iter().map(|(_, it)| it.rate_hz(now_ns)).sum();
        let bytes: f64 = watch
            .iter()
            .map(|(_, it)| it.bytes_per_second(now_ns))
            .sum();
        let state = match (&self.frozen, feed.state()) {
            (_, Some(state)) => format!(
                "{}  {state}",
                text::utime(now_ns / 1_000).unwrap_or_default()
            ),
            (Some(_), None) => "FROZEN".to_owned(),
            (None, None) => String::new(),
        };
        let first = format!(
            " {}  {} Hz  {}B/s  {state}",
            text::printable(&feed.source().name()),
            figure(rate),
            figure(bytes),
        );
        let n_channels = watch.len();
        let n_shown = self.table.n_shown();
        let mut second = if n_shown == n_channels {
            format!(" {n_channels} channels")
        } else {
            format!(
                " {n_shown} of {n_channels} channels match {:?}",
                self.table.filter
            )
        };
        if let Some(bus) = feed.bus() {
            let counts = bus.counts();
            second += &format!(
                "  network lost {}  own drops {}",
                counts.network.lost + counts.network.incomplete,
                counts.queue_drops + counts.network.kernel_drops,
            );
        }
        let refused = feed.source().description_counts();
        if watch.unlisted() > 0 {
            second += &format!("  {} on further channels", watch.unlisted());
        }
        if refused.refused() > 0 {
            second += &format!("  {} descriptions refused", refused.refused());
        }
        if let Some(trouble) = feed.bus().and_then(bowline_bus::Bus::trouble) {
            second += &format!("  {}", text::printable(&trouble));
        }
        [first, second]
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect, feed: &Feed) {
        let (text, style) = match (&self.prompt, &self.opened) {
            (Some(Prompt::Filter), _) => (format!("filter: {}_", self.table.filter), ALERT),
            (Some(Prompt::File(name)), _) => (format!("write to: {name}_"), ALERT),
            (None, _) if !self.notice.is_empty() => (text::printable(&self.notice), ALERT),
            (None, Some(opened)) => match opened.row(feed.catalog()) {
                Some(row) if !row.doc.is_empty() => (format!("{}: {}", row.path, row.doc), DIM),
                _ => (help::MESSAGE_KEYS.to_owned(), DIM),
            },
            (None, None) => (help::TABLE_KEYS.to_owned(), DIM),
        };
        let line = Line::styled(fit(&text, area.width), style);
        frame
            .buffer_mut()
            .set_line(area.x, area.y, &line, area.width);
    }
}

/// What the table shows, and as of when.
fn looked_at<'a>(
    watch: &'a Watch,
    frozen: Option<&'a (Watch, i64)>,
    now_ns: i64,
) -> (&'a Watch, i64) {
    match frozen {
        Some((watch, since_ns)) => (watch, *since_ns),
        None => (watch, now_ns),
    }
}

fn unknown(key: KeyEvent) -> String {
    let key = match key.code.as_char() {
        Some(letter) => format!("{letter:?}"),
        None => "this key".to_owned(),
    };
    format!("{key} does nothing here; ? shows what does")
}

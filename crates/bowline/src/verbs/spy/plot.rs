//! Fields over time: curves of braille dots with axes, and a legend with what they have in common.
//!
//! A function of the series and the area; where the window is and how wide is the caller's business. Every column shows
//! the least and the greatest of its time, so a spike is seen however far one zooms out.

use super::dots::{DOTS_ACROSS, Dots, nice_step, to_dot};
use bowline_inspect::series::{Column, Series, Stats, Window};
use bowline_inspect::text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Fewer rows than this for the curves, and the axis has no line of its own.
const ROWS_FOR_AXIS: u16 = 6;

/// One field of a plot.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    /// As people read it; empty for none.
    pub(crate) unit: &'a str,
    pub(crate) colour: Color,
    pub(crate) series: &'a Series,
}

/// A plot of several fields over the same stretch of time.
#[derive(Debug)]
pub(crate) struct Plot<'a> {
    pub(crate) curves: &'a [Curve<'a>],
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
    /// A moment to read values at, instead of the latest.
    pub(crate) cursor_ns: Option<i64>,
}

impl Widget for Plot<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(*buffer.area());
        if area.width < 4 || area.height < 3 {
            return;
        }
        let n_legend = self.n_legend(area.height);
        let (legend, rest) = split(area, n_legend);
        let n_below = if rest.height > ROWS_FOR_AXIS { 2 } else { 1 };
        let height = rest.height - n_below;
        // How wide the numbers are depends on the scale, and that on nothing that is wide.
        let windows = self.windows(1);
        let scale = Scale::of(&windows);
        let ticks = scale.ticks(height);
        let most = usize::from(area.width / 3);
        let labels = ticks.iter().map(|(_, label)| label.chars().count());
        let width = labels.max().unwrap_or(0).min(most);
        let left = u16::try_from(width + 1).unwrap_or(1);
        let inner = Rect {
            x: rest.x + left,
            width: rest.width - left,
            height,
            ..rest
        };
        self.draw_legend(&windows, legend, buffer);
        draw_y_axis(&ticks, inner, left, buffer);
        self.draw_x_axis(inner, n_below, buffer);
        self.draw_cursor(inner, buffer);
        self.draw_curves(&scale, inner, buffer);
    }
}

fn split(area: Rect, n_above: u16) -> (Rect, Rect) {
    let above = Rect {
        height: n_above,
        ..area
    };
    let below = Rect {
        y: area.y + n_above,
        height: area.height - n_above,
        ..area
    };
    (above, below)
}

impl Plot<'_> {
    /// A line for every curve, as long as most of the area is left for the curves themselves.
    fn n_legend(&self, height: u16) -> u16 {
        let n_curves = u16::try_from(self.curves.len()).unwrap_or(u16::MAX);
        n_curves.min((height / 3).max(1))
    }

    fn windows(&self, n_columns: usize) -> Vec<Window> {
        let window = |curve: &Curve<'_>| curve.series.window(self.from_ns, self.to_ns, n_columns);
        self.curves.iter().map(window).collect()
    }

    fn draw_legend(&self, windows: &[Window], area: Rect, buffer: &mut Buffer) {
        let n_shown = usize::from(area.height);
        let curves = self.curves.iter().zip(windows).enumerate();
        for (y, (at, (curve, window))) in (area.top()..area.bottom()).zip(curves) {
            let n_more = self.curves.len().saturating_sub(n_shown);
            let is_last = at + 1 == n_shown && n_more > 0;
            let more = if is_last {
                format!("  +{n_more}")
            } else {
                String::new()
            };
            let room = usize::from(area.width).saturating_sub(2 + more.len());
            let line = Line::from(vec![
                Span::styled("\u{2501} ", Style::new().fg(curve.colour)),
                Span::styled(self.legend(curve, window.stats, room), Style::new()),
                Span::styled(more, DIM),
            ]);
            buffer.set_line(area.x, y, &line, area.width);
        }
    }

    /// The name and the figures of the curve, in about so many letters. What is less important goes first.
    fn legend(&self, curve: &Curve<'_>, stats: Option<Stats>, room: usize) -> String {
        let value = match self.cursor_ns {
            Some(ns) => curve.series.nearest(ns).map(|(_, value)| value),
            None => stats.map(|stats| stats.last),
        };
        let unit = if curve.unit.is_empty() {
            String::new()
        } else {
            format!(" {}", text::printable(curve.unit))
        };
        let mut parts = vec![match value {
            Some(value) => format!("{}{unit}", text::short(value)),
            None => "no numbers".into(),
        }];
        if let Some(stats) = stats {
            let named = [("min", stats.min), ("max", stats.max), ("mean", stats.mean)];
            parts.extend(named.map(|(name, value)| format!("{name} {}", text::short(value))));
        }
        if curve.series.n_gaps() > 0 {
            parts.push(format!("{} NaN", curve.series.n_gaps()));
        }
        let letters = |text: &str| text.chars().count();
        let of_parts = |parts: &[String]| parts.iter().map(|part| letters(part) + 2).sum::<usize>();
        while parts.len() > 1 && of_parts(&parts) + letters(&curve.name).min(12) > room {
            parts.pop();
        }
        let name = tail(&curve.name, room.saturating_sub(of_parts(&parts)));
        format!("{name}  {}", parts.join("  "))
    }

    fn draw_curves(&self, scale: &Scale, area: Rect, buffer: &mut Buffer) {
        let mut dots = Dots::new(area);
        let windows = self.windows(usize::from(area.width) * usize::from(DOTS_ACROSS));
        for (curve, window) in self.curves.iter().zip(&windows) {
            self.draw_curve(window, scale, curve.colour, &mut dots);
        }
        dots.draw(area, buffer);
    }

    fn draw_curve(&self, window: &Window, scale: &Scale, colour: Color, dots: &mut Dots) {
        let (width, height) = dots.size();
        let y = |value: f64| to_dot(scale.share_from_top(value) * f64::from(height - 1));
        // Where the line enters and leaves, far outside perhaps: the part in the window is what counts.
        let x = |ns: i64| self.share(ns) * f64::from(width);
        let mut last = window.before.map(|(ns, value)| (x(ns), value));
        let place = |(x, value): (f64, f64)| (to_dot(x), y(value));
        for (column, it) in (0..width).zip(&window.columns) {
            let Some(it) = it else {
                continue;
            };
            let Column {
                min,
                max,
                first,
                last: latest,
                is_after_gap,
            } = *it;
            let here = f64::from(column);
            if let Some(from) = last.filter(|_| !is_after_gap) {
                let from = at_edge(from, (here, first), 0.0);
                dots.line(place(from), (column, y(first)), colour);
            }
            dots.line((column, y(min)), (column, y(max)), colour);
            last = Some((here, latest));
        }
        if let (Some(from), Some((ns, value))) = (last, window.after) {
            let from = at_edge(from, (x(ns), value), 0.0);
            let to = at_edge((x(ns), value), from, f64::from(width));
            dots.line(place(from), place(to), colour);
        }
    }

    /// How far along the window a moment is: 0 at its start, 1 at its end.
    #[expect(clippy::cast_precision_loss, reason = "a dot is less exact")]
    fn share(&self, ns: i64) -> f64 {
        let span = self.to_ns.saturating_sub(self.from_ns).max(1);
        ns.saturating_sub(self.from_ns) as f64 / span as f64
    }

    fn draw_cursor(&self, area: Rect, buffer: &mut Buffer) {
        let Some(share) = self.cursor_ns.map(|ns| self.share(ns)) else {
            return;
        };
        let x = to_dot(share * f64::from(area.width.saturating_sub(1)));
        let Some(x) = u16::try_from(x).ok().filter(|x| *x < area.width) else {
            return;
        };
        for y in area.top()..area.bottom() {
            buffer.set_string(area.x + x, y, "\u{2502}", DIM);
        }
    }

    /// Moments, as time before the end of the window.
    #[expect(clippy::cast_precision_loss, reason = "a label has three digits")]
    fn draw_x_axis(&self, area: Rect, n_below: u16, buffer: &mut Buffer) {
        let span_s = self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9;
        if span_s <= 0.0 {
            return;
        }
        let y = area.bottom() + n_below - 1;
        if n_below > 1 {
            let line = format!("\u{2514}{}", "\u{2500}".repeat(usize::from(area.width)));
            buffer.set_string(area.x - 1, area.bottom(), line, DIM);
        }
        let step = time_step(span_s, f64::from(area.width / 10).max(1.0));
        let mut free_from = area.x;
        let n_ticks = to_dot((span_s / step).floor());
        for tick in (0..=n_ticks).rev() {
            let before_s = f64::from(tick) * step;
            let share = 1.0 - before_s / span_s;
            let at = to_dot(share * f64::from(area.width.saturating_sub(1)));
            let Ok(at) = u16::try_from(at) else {
                continue;
            };
            let label = time_label(before_s);
            let len = u16::try_from(label.chars().count()).unwrap_or(0);
            let x = (area.x + at).saturating_sub(len / 2).max(free_from);
            let x = x.min(area.right().saturating_sub(len));
            if x < free_from {
                continue;
            }
            if n_below > 1 {
                buffer.set_string(area.x + at, area.bottom(), "\u{252c}", DIM);
            }
            buffer.set_stringn(x, y, &label, usize::from(len), DIM);
            free_from = x + len + 1;
        }
    }
}

/// Where the line from `from` to `to` crosses `x`, if it begins on the far side of it; `from` otherwise.
fn at_edge(from: (f64, f64), to: (f64, f64), x: f64) -> (f64, f64) {
    let is_beyond = (from.0 < x) != (to.0 < x) && (to.0 - from.0).abs() > f64::EPSILON;
    if !is_beyond {
        return from;
    }
    let share = (x - from.0) / (to.0 - from.0);
    (x, from.1 + (to.1 - from.1) * share)
}

/// The end of a name, which distinguishes fields.
fn tail(name: &str, most: usize) -> String {
    let name = text::printable(name);
    let n_letters = name.chars().count();
    if n_letters <= most {
        return name;
    }
    let end: String = name
        .chars()
        .skip(n_letters - most.saturating_sub(2))
        .collect();
    format!("..{end}")
}

/// What is lowest and highest on the screen.
struct Scale {
    min: f64,
    max: f64,
}

impl Scale {
    fn of(windows: &[Window]) -> Self {
        let stats = || windows.iter().filter_map(|window| window.stats);
        let min = stats().map(|it| it.min).fold(f64::INFINITY, f64::min);
        let max = stats().map(|it| it.max).fold(f64::NEG_INFINITY, f64::max);
        if min > max {
            return Self { min: 0.0, max: 1.0 };
        }
        // What does not change lies in the middle. Halves, so that the whole range of a double fits.
        let span = max / 2.0 - min / 2.0;
        let margin = if span > min.abs().max(max.abs()) * 1e-12 {
            0.0
        } else {
            (min.abs() * 0.1).max(0.5)
        };
        Self {
            min: (min - margin).max(-f64::MAX / 4.0),
            max: (max + margin).min(f64::MAX / 4.0),
        }
    }

    fn share_from_top(&self, value: f64) -> f64 {
        ((self.max - value) / (self.max - self.min)).clamp(-1.0, 2.0)
    }

    /// Round numbers and their places, from 0 at the top to 1.
    fn ticks(&self, height: u16) -> Vec<(f64, String)> {
        let span = self.max - self.min;
        let step = nice_step(span, f64::from((height / 2).clamp(1, 8)));
        let first = (self.min / step).ceil();
        let n_decimals = usize::try_from(to_dot(-step.log10().floor())).unwrap_or(0);
        let n_ticks = to_dot((self.max / step).floor() - first).min(64);
        let tick = |at: i32| {
            let value = (first + f64::from(at)) * step;
            let is_plain = value.abs() < 1e7 && n_decimals <= 6;
            let label = if is_plain {
                format!("{:.n_decimals$}", value + 0.0)
            } else {
                text::short(value)
            };
            (self.share_from_top(value), label)
        };
        (0..=n_ticks).map(tick).collect()
    }
}

fn draw_y_axis(ticks: &[(f64, String)], area: Rect, left: u16, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        buffer.set_string(area.x - 1, y, "\u{2502}", DIM);
    }
    let width = usize::from(left - 1);
    let mut taken = None;
    for (share, label) in ticks {
        let row = to_dot(share * f64::from(area.height.saturating_sub(1)));
        let Ok(row) = u16::try_from(row) else {
            continue;
        };
        if row >= area.height || taken == Some(row) {
            continue;
        }
        taken = Some(row);
        let label: String = label.chars().take(width).collect();
        let x = area.x - left;
        buffer.set_string(x, area.y + row, format!("{label:>width$}\u{2524}"), DIM);
    }
}

/// A step between labels that people count in.
fn time_step(span_s: f64, n_steps: f64) -> f64 {
    const STEPS_S: [u32; 14] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    ];
    let rough = span_s / n_steps;
    let nice = || nice_step(span_s, n_steps);
    if rough <= 0.5 {
        return nice();
    }
    let steps = STEPS_S.into_iter().map(f64::from);
    steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or_else(nice)
}

fn time_label(before_s: f64) -> String {
    if before_s <= 0.0 {
        return "0".into();
    }
    let (value, unit) = match before_s {
        s if s >= 7200.0 => (s / 3600.0, "h"),
        s if s >= 120.0 => (s / 60.0, "min"),
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("-{} {unit}", text::short(value))
}

#[cfg(test)]
mod tests;

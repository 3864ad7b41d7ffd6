//! Fields that are plotted.

use super::paint::colour;
use super::plot::{Curve, Plot};
use bowline_bus::{Channel, Event};
use bowline_inspect::series::Series;
use bowline_log::Catalog;
use bowline_wire::{FieldPath, Fingerprint, Selector};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;

/// More curves could not be distinguished.
const MAX_CURVES: usize = 6;
/// What may be decoded for curves in each slice of time.
const SLICE_NS: i64 = 50_000_000;
const MAX_PER_SLICE: u32 = 500;
/// How much time a screen is wide, in seconds.
const SPANS_S: [i64; 9] = [1, 2, 5, 10, 30, 60, 300, 1_800, 7_200];
const FIRST_SPAN: usize = 3;

/// Fields that are plotted, of any channels.
#[derive(Debug)]
pub(crate) struct Plots {
    plotted: Vec<Plotted>,
    span: usize,
    pub(crate) is_large: bool,
    slice: i64,
    n_in_slice: u32,
}

#[derive(Debug)]
struct Plotted {
    channel: Channel,
    path: String,
    unit: String,
    series: Series,
    /// The way to the field, in messages that begin so.
    selector: Option<(Fingerprint, Option<Selector>)>,
    /// Messages that there was no time for.
    n_left_out: u64,
}

impl Default for Plots {
    fn default() -> Self {
        Self {
            plotted: Vec::new(),
            span: FIRST_SPAN,
            is_large: false,
            slice: 0,
            n_in_slice: 0,
        }
    }
}

impl Plots {
    /// Plots a field, or not any more. Returns which.
    pub(crate) fn toggle(
        &mut self,
        channel: &Channel,
        path: &str,
        unit: &str,
    ) -> Result<bool, String> {
        let n_before = self.plotted.len();
        self.plotted
            .retain(|it| it.channel != *channel || it.path != path);
        if self.plotted.len() < n_before {
            return Ok(false);
        }
        if n_before >= MAX_CURVES {
            return Err(format!(
                "{MAX_CURVES} fields are plotted already; c removes them"
            ));
        }
        self.plotted.push(Plotted {
            channel: channel.clone(),
            path: path.to_owned(),
            unit: unit.to_owned(),
            series: Series::default(),
            selector: None,
            n_left_out: 0,
        });
        Ok(true)
    }

    pub(crate) fn remove_all(&mut self) {
        self.plotted.clear();
    }

    /// Starts all curves anew.
    pub(crate) fn clear(&mut self) {
        for plotted in &mut self.plotted {
            plotted.series = Series::default();
        }
    }

    pub(crate) fn zoom(&mut self, is_in: bool) {
        self.span = if is_in {
            self.span.saturating_sub(1)
        } else {
            (self.span + 1).min(SPANS_S.len() - 1)
        };
    }

    /// Takes what is plotted of an event, as long as there is time for it.
    pub(crate) fn take(&mut self, event: &Event, catalog: &Catalog) {
        if !self.plotted.iter().any(|it| it.channel == event.channel) {
            return;
        }
        let slice = event.arrival.received_ns.div_euclid(SLICE_NS);
        if slice != self.slice {
            self.slice = slice;
            self.n_in_slice = 0;
        }
        self.n_in_slice += 1;
        let is_time = self.n_in_slice <= MAX_PER_SLICE;
        for plotted in &mut self.plotted {
            if plotted.channel == event.channel {
                if is_time {
                    plotted.take(event, catalog);
                } else {
                    plotted.n_left_out += 1;
                }
            }
        }
    }

    /// Takes an earlier event, for the curve that was added last.
    pub(crate) fn take_new(&mut self, event: &Event, catalog: &Catalog) {
        if let Some(plotted) = self.plotted.last_mut() {
            plotted.take(event, catalog);
        }
    }

    /// The fields of a channel that are plotted, with their colours.
    pub(crate) fn paths(&self, channel: &str) -> Vec<(String, Color)> {
        let plotted = self.plotted.iter().enumerate();
        plotted
            .filter(|(_, it)| it.channel.as_str() == channel)
            .map(|(at, it)| (it.path.clone(), colour(at)))
            .collect()
    }

    /// How many lines of a screen they take.
    pub(crate) fn height(&self, of: u16) -> u16 {
        match (self.plotted.is_empty(), self.is_large) {
            (true, _) => 0,
            (false, true) => of.saturating_sub(4),
            (false, false) => (of * 2 / 5).max(6),
        }
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect, now_ns: i64) {
        if self.plotted.is_empty() || area.height == 0 {
            return;
        }
        let span_ns = SPANS_S.get(self.span).copied().unwrap_or(10) * 1_000_000_000;
        let curves: Vec<Curve<'_>> = self
            .plotted
            .iter()
            .enumerate()
            .map(|(at, it)| Curve {
                name: it.name(),
                unit: &it.unit,
                colour: colour(at),
                series: &it.series,
            })
            .collect();
        let plot = Plot {
            curves: &curves,
            from_ns: now_ns - span_ns,
            to_ns: now_ns,
            cursor_ns: None,
        };
        frame.render_widget(plot, area);
    }
}

impl Plotted {
    fn take(&mut self, event: &Event, catalog: &Catalog) {
        let Some(Ok(decoded)) = catalog.decode(&event.payload) else {
            return;
        };
        let fingerprint = bowline_inspect::fingerprint(&event.payload);
        let is_same = matches!(&self.selector, Some((of, _)) if Some(*of) == fingerprint);
        if let Some(fingerprint) = fingerprint.filter(|_| !is_same) {
            let path = FieldPath::parse(&self.path).ok();
            let selector = path.and_then(|path| decoded.types.select(decoded.id, &path).ok());
            self.selector = Some((fingerprint, selector));
        }
        if let Some((_, Some(selector))) = &self.selector
            && let Some(number) = selector.pick(&decoded.value).and_then(|it| it.as_f64())
        {
            self.series.push(event.arrival.received_ns, number);
        }
    }

    fn name(&self) -> String {
        match self.n_left_out {
            0 => format!("{} {}", self.channel, self.path),
            n => format!("{} {} ({n} left out)", self.channel, self.path),
        }
    }
}

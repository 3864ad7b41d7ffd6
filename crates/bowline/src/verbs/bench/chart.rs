//! Line charts as SVG: panels with axes, curves that can be told apart in grey, and nothing else.

use bowline_geometry::svg::Svg;

/// A rectangle to draw in, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// How values become places.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    /// From 0 to this.
    Linear(f64),
    /// Between these, equal factors equally far apart.
    Log(f64, f64),
}

impl Scale {
    /// From 0 to a round number not below the largest value.
    pub(crate) fn linear(values: impl Iterator<Item = f64>) -> Self {
        let max = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let step = step(max);
        Self::Linear((max / step).ceil().max(1.0) * step)
    }

    /// Around all values, from one round number to another.
    pub(crate) fn log(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
        if high <= 0.0 {
            return Self::Log(1.0, 10.0);
        }
        let round = || round_numbers(low, high);
        let bottom = round().take_while(|round| *round <= low).last();
        let bottom = bottom.unwrap_or(low);
        let top = round().find(|round| *round >= high && *round > bottom);
        Self::Log(bottom, top.unwrap_or(10.0 * high))
    }

    /// Between 0 and 1.
    fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear(max) => value / max,
            Self::Log(low, high) => (value.max(low) / low).log10() / (high / low).log10(),
        };
        place.clamp(0.0, 1.0)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear(max) => {
                let step = step(max);
                (0..=10)
                    .map(|n| f64::from(n) * step)
                    .take_while(|tick| *tick <= max * 1.001)
                    .collect()
            }
            Self::Log(low, high) => {
                let is_within = |tick: &f64| (low * 0.999..=high * 1.001).contains(tick);
                let all = || round_numbers(low, high).filter(is_within);
                if all().count() <= MAX_LOG_TICKS {
                    return all().collect();
                }
                let is_decade = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-6;
                all().filter(is_decade).collect()
            }
        }
    }
}

/// With more, only powers of ten are written at an axis.
const MAX_LOG_TICKS: usize = 8;

/// 1, 2 and 5 times powers of ten, from below `low` to above `high`.
fn round_numbers(low: f64, high: f64) -> impl Iterator<Item = f64> {
    let first = 10_f64.powf(low.log10().floor());
    (0..40)
        .map(move |n| first * 10_f64.powi(n))
        .take_while(move |power| *power <= high * 10.0)
        .flat_map(|power| [power, 2.0 * power, 5.0 * power])
}

/// 1, 2 or 5 times a power of ten, so that there are three to six ticks.
fn step(max: f64) -> f64 {
    if max <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf((max / 4.0).log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| max / (factor * power) <= 5.0);
    factor.unwrap_or(10.0) * power
}

fn number(value: f64) -> String {
    let decimals = match value {
        0.0..=0.0 | 1.0.. => usize::from(value.fract() > 1e-9),
        0.1..1.0 => 1,
        0.01..0.1 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// How the curves of one system look: colour, dashes and marker differ, so that one suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    colour: &'static str,
    dashes: &'static str,
    marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Disc,
    Ring,
    Square,
    Block,
    Triangle,
    Funnel,
    Diamond,
    Cross,
    Plus,
}

#[rustfmt::skip]
const STYLES: [Style; 8] = [
    Style { colour: "#0b3c6f", dashes: "",             marker: Marker::Disc },
    Style { colour: "#2e9c6d", dashes: "2 3",          marker: Marker::Triangle },
    Style { colour: "#8a5fb0", dashes: "10 3 2 3",     marker: Marker::Diamond },
    Style { colour: "#b01e3c", dashes: "14 4",         marker: Marker::Ring },
    Style { colour: "#17a2c4", dashes: "4 2",          marker: Marker::Block },
    Style { colour: "#7a5a2e", dashes: "1 4",          marker: Marker::Funnel },
    Style { colour: "#e070b0", dashes: "8 3 2 3 2 3",  marker: Marker::Cross },
    Style { colour: "#888888", dashes: "16 3 4 3",     marker: Marker::Plus },
];

impl Style {
    /// What everything is held against looks the same everywhere.
    pub(crate) const LIBLCM: Self = Self {
        colour: "#d1600a",
        dashes: "7 4",
        marker: Marker::Square,
    };

    /// Beyond the last it begins anew.
    pub(crate) fn of(idx: usize) -> Self {
        let [first, ..] = STYLES;
        STYLES.get(idx % STYLES.len()).copied().unwrap_or(first)
    }
}

/// A drawing of charts that grows.
pub(crate) struct Chart {
    svg: Svg,
}

const GREY: &str = "stroke=\"#666\"";
const PALE: &str = "stroke=\"#ddd\"";

impl Chart {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        let font = "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\"";
        let mut svg = Svg::open([width, height], font);
        svg.background("#fff");
        Self { svg }
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        self.svg.text([x, y], attributes, text);
    }

    /// The frame of a panel, with ticks, and numbers below and at the left.
    pub(crate) fn axes(&mut self, area: Area, x: Scale, y: Scale) {
        let bottom = area.y + area.height;
        for tick in y.ticks() {
            let at = bottom - y.place(tick) * area.height;
            self.svg.line([area.x, at], [area.x + area.width, at], PALE);
            self.text(
                area.x - 6.0,
                at + 4.0,
                r##"text-anchor="end" fill="#444""##,
                &number(tick),
            );
        }
        for tick in x.ticks() {
            let at = area.x + x.place(tick) * area.width;
            self.svg.line([at, bottom], [at, bottom + 4.0], GREY);
            self.text(
                at,
                bottom + 16.0,
                r##"text-anchor="middle" fill="#444""##,
                &number(tick),
            );
        }
        self.svg
            .line([area.x, bottom], [area.x + area.width, bottom], GREY);
    }

    /// A straight line from 0 for comparison, as far as the panel goes.
    pub(crate) fn reference(&mut self, area: Area, x: Scale, y: Scale, slope: f64) {
        let (Scale::Linear(max_x), Scale::Linear(max_y)) = (x, y) else {
            return;
        };
        let end = max_x.min(max_y / slope);
        let at = place(area, x, y, (end, end * slope));
        let start = place(area, x, y, (0.0, 0.0));
        let path = format!("M{:.1} {:.1}L{:.1} {:.1}", start.0, start.1, at.0, at.1);
        let dotted = r##"stroke="#777" stroke-width="1.2" stroke-dasharray="1.5 3" fill="none""##;
        self.svg.path(&path, dotted, "");
    }

    /// A curve through points, with a marker on each.
    pub(crate) fn curve(
        &mut self,
        area: Area,
        x: Scale,
        y: Scale,
        points: &[(f64, f64)],
        style: Style,
    ) {
        let places: Vec<(f64, f64)> = points
            .iter()
            .map(|&point| place(area, x, y, point))
            .collect();
        let path: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        if !path.is_empty() {
            self.stroke(&format!("M{}", path.join("L")), style);
        }
        for at in places {
            self.marker(at, style);
        }
    }

    /// A piece of curve for the legend.
    pub(crate) fn sample(&mut self, x: f64, y: f64, style: Style) {
        self.stroke(&format!("M{x:.1} {y:.1}h36"), style);
        self.marker((x + 18.0, y), style);
    }

    fn stroke(&mut self, path: &str, style: Style) {
        let Style { colour, dashes, .. } = style;
        let line = format!(
            r#"fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes}""#
        );
        self.svg.path(path, &line, "");
    }

    fn marker(&mut self, (x, y): (f64, f64), style: Style) {
        let colour = style.colour;
        let (path, fill) = match style.marker {
            Marker::Disc => ("m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", colour),
            Marker::Ring => ("m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "#fff"),
            Marker::Square => ("m-3.5 -3.5h7v7h-7z", "#fff"),
            Marker::Block => ("m-3.5 -3.5h7v7h-7z", colour),
            Marker::Triangle => ("m0 -4.5l4.5 8h-9z", colour),
            Marker::Funnel => ("m0 4.5l4.5 -8h-9z", "#fff"),
            Marker::Diamond => ("m0 -5l5 5l-5 5l-5 -5z", "#fff"),
            Marker::Cross => ("m-4 -4l8 8m0 -8l-8 8", "none"),
            Marker::Plus => ("m-5 0h10m-5 -5v10", "none"),
        };
        let paint = format!(r#"fill="{fill}" stroke="{colour}" stroke-width="1.5""#);
        self.svg.path(&format!("M{x:.1} {y:.1}{path}"), &paint, "");
    }

    pub(crate) fn finish(self) -> String {
        self.svg.finish()
    }
}

fn place(area: Area, x: Scale, y: Scale, (value_x, value_y): (f64, f64)) -> (f64, f64) {
    (
        area.x + x.place(value_x) * area.width,
        area.y + (1.0 - y.place(value_y)) * area.height,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for max in [0.0, 0.3, 1.0, 7.0, 31.9, 99.0, 128.0, 4_100.0] {
            let scale = Scale::linear([max].into_iter());
            let Scale::Linear(top) = scale else {
                panic!("linear gives linear");
            };
            assert!(top >= max, "{max}");
            let n = scale.ticks().len();
            assert!((2..=7).contains(&n), "{max}: {n} ticks");
        }
    }

    #[test]
    fn a_scale_by_factors_begins_and_ends_near_the_values() {
        #[rustfmt::skip]
        let cases: &[(&[f64], &[&str])] = &[
            (&[0.05, 8.0],  &["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"]),
            (&[0.06, 0.09], &["0.05", "0.1"]),
            (&[0.3],        &["0.2", "0.5"]),
            (&[2.0],        &["2", "5"]),
            (&[0.03, 400.], &["0.1", "1", "10", "100"]),
            (&[],           &["1", "2", "5", "10"]),
        ];
        for (values, expected) in cases {
            let ticks = Scale::log(values.iter().copied()).ticks();
            let names: Vec<String> = ticks.into_iter().map(number).collect();
            assert_eq!(&names, expected, "{values:?}");
        }
    }
}

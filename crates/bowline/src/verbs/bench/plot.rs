//! The papers' figures: a column of panels for each number of receivers, a row for each thing measured, a curve for
//! each system, over the bandwidth that was attempted.

use super::chart::{Area, Chart, Scale, Style};
use super::contestant;
use super::plan::{Plan, Point, to_f64};
use bowline_measure::exchange::Pattern;

const PANEL_WIDTH: f64 = 260.0;
const GAP: f64 = 58.0;
const LEFT: f64 = 80.0;
const ROW_GAP: f64 = 52.0;
const RIGHT: f64 = 16.0;
/// Where the legend begins, and how far apart its lines are.
const LEGEND: f64 = 58.0;
const LEGEND_LINE: f64 = 18.0;
/// From the last line above the panels to the panels: room for their headings.
const HEADROOM: f64 = 34.0;

/// A row of panels.
struct Row {
    title: &'static str,
    height: f64,
    kind: RowKind,
    /// The figure, where there is one.
    of: fn(&Point) -> Option<f64>,
}

enum RowKind {
    /// Bandwidth: a scale for each panel, and a line where everything arrives.
    Arrived,
    /// One linear scale, at least up to this.
    Linear(f64),
    /// One scale by decades.
    Log,
}

const LOSS: Row = Row {
    title: "lost, %",
    height: 110.0,
    kind: RowKind::Linear(10.0),
    of: |point| Some(point.outcome.loss_percent),
};

const ECHO: [Row; 3] = [
    Row {
        title: "echoes received, MB/s",
        height: 190.0,
        kind: RowKind::Arrived,
        of: Point::delivered_mbps,
    },
    LOSS,
    Row {
        title: "mean round trip, ms",
        height: 190.0,
        kind: RowKind::Log,
        // Of what never arrives there is no round trip.
        of: |point| Some(point.outcome.mean_us / 1e3).filter(|ms| *ms > 0.0),
    },
];

const ONE_WAY: [Row; 3] = [
    Row {
        title: "delivered to each, MB/s",
        height: 190.0,
        kind: RowKind::Arrived,
        of: Point::delivered_mbps,
    },
    LOSS,
    Row {
        title: "CPU, us a message sent and received",
        height: 190.0,
        kind: RowKind::Linear(1.0),
        of: |point| Some(point.outcome.publisher_cpu_us + point.outcome.subscriber_cpu_us),
    },
];

/// The figures of one message size.
pub(crate) fn draw(plan: &Plan, size: usize, points: &[&Point], machine: &str) -> String {
    let rows = match plan.pattern {
        Pattern::Echo => ECHO,
        Pattern::OneWay | Pattern::Idle => ONE_WAY,
    };
    let height: f64 = rows.iter().map(|row| row.height + ROW_GAP).sum();
    let n_columns = to_f64(plan.clients.len());
    let width = (LEFT + n_columns * (PANEL_WIDTH + GAP)).max(620.0);
    let systems = systems(points);
    let places = legend_places(&systems, width - RIGHT);
    let n_lines = places.last().map_or(1.0, |(_, line)| line + 1.0);
    let note_y = LEGEND + n_lines * LEGEND_LINE + 4.0;
    let top = note_y + HEADROOM;
    let mut chart = Chart::new(width, top + height + 8.0);
    heading(&mut chart, plan, size, machine);
    for ((system, style), (x, line)) in systems.iter().zip(&places) {
        let y = LEGEND + line * LEGEND_LINE;
        chart.sample(*x, y, *style);
        chart.text(x + 44.0, y + 4.0, r#"font-size="12""#, system);
    }
    chart.text(LEFT, note_y, r##"fill="#666""##, note(plan));
    let mut y = top;
    for row in &rows {
        for (column, &n_peers) in plan.clients.iter().enumerate() {
            let area = Area {
                x: LEFT + to_f64(column) * (PANEL_WIDTH + GAP),
                y,
                width: PANEL_WIDTH,
                height: row.height,
            };
            panel(&mut chart, area, row, n_peers, points, &systems);
        }
        let middle = y + row.height / 2.0;
        let turned =
            format!(r#"text-anchor="middle" font-size="12" transform="rotate(-90 26 {middle})""#);
        chart.text(26.0, middle, &turned, row.title);
        y += row.height + ROW_GAP;
    }
    for (column, &n_peers) in plan.clients.iter().enumerate() {
        let x = LEFT + to_f64(column) * (PANEL_WIDTH + GAP) + PANEL_WIDTH / 2.0;
        chart.text(
            x,
            top - 12.0,
            r#"text-anchor="middle" font-weight="bold""#,
            &receivers(plan, n_peers),
        );
        let bottom = y - ROW_GAP + 34.0;
        chart.text(
            x,
            bottom,
            r#"text-anchor="middle" font-size="12""#,
            "attempted, MB/s",
        );
    }
    chart.finish()
}

/// In the order in which they took part, each with its looks: liblcm has the same in all plots.
fn systems<'p>(points: &[&'p Point]) -> Vec<(&'p str, Style)> {
    let mut systems: Vec<(&str, Style)> = Vec::new();
    let mut n_ours = 0;
    for point in points {
        if systems.iter().any(|(system, _)| *system == point.system) {
            continue;
        }
        let style = if point.system == contestant::LIBLCM {
            Style::LIBLCM
        } else {
            n_ours += 1;
            Style::of(n_ours - 1)
        };
        systems.push((&point.system, style));
    }
    systems
}

/// Where each entry of the legend begins, and on which line: as many on one as fit.
fn legend_places(systems: &[(&str, Style)], right: f64) -> Vec<(f64, f64)> {
    let (mut x, mut line) = (LEFT, 0.0);
    let mut places = Vec::new();
    for (system, _) in systems {
        let width = 44.0 + 7.0 * to_f64(system.chars().count());
        if x > LEFT && x + width > right {
            (x, line) = (LEFT, line + 1.0);
        }
        places.push((x, line));
        x += width + 28.0;
    }
    places
}

fn receivers(plan: &Plan, n: usize) -> String {
    let s = if n == 1 { "" } else { "s" };
    match plan.pattern {
        Pattern::Echo => format!("{n} client{s}"),
        Pattern::OneWay | Pattern::Idle => format!("{n} subscriber{s}"),
    }
}

fn heading(chart: &mut Chart, plan: &Plan, size: usize, machine: &str) {
    let what = match plan.pattern {
        Pattern::Echo => "Echo test",
        Pattern::OneWay | Pattern::Idle => "One way",
    };
    chart.text(
        LEFT,
        24.0,
        r#"font-size="16" font-weight="bold""#,
        &format!("{what}, {size}-byte messages"),
    );
    chart.text(LEFT, 40.0, r##"fill="#666""##, machine);
}

fn note(plan: &Plan) -> &'static str {
    match plan.pattern {
        Pattern::Echo => "dotted: everything comes back; round trips are of what came back",
        Pattern::OneWay | Pattern::Idle => "dotted: everything arrives",
    }
}

fn panel(
    chart: &mut Chart,
    area: Area,
    row: &Row,
    n_peers: usize,
    points: &[&Point],
    systems: &[(&str, Style)],
) {
    let here = || points.iter().filter(|point| point.case.n_peers == n_peers);
    let x = Scale::linear(here().map(|point| point.attempted_mbps()));
    let y = match row.kind {
        RowKind::Arrived => {
            let arrived = |point: &&Point| (row.of)(point).unwrap_or(0.0);
            Scale::linear(here().map(|point| arrived(point).max(expected_mbps(point))))
        }
        RowKind::Linear(least) => {
            Scale::linear(points.iter().filter_map(|p| (row.of)(p)).chain([least]))
        }
        RowKind::Log => Scale::log(points.iter().filter_map(|point| (row.of)(point))),
    };
    chart.axes(area, x, y);
    if let RowKind::Arrived = row.kind
        && let Some(point) = here().next()
    {
        chart.reference(
            area,
            x,
            y,
            expected_mbps(point) / point.attempted_mbps().max(f64::MIN_POSITIVE),
        );
    }
    // Ours is the first, and is drawn over the others.
    for (system, style) in systems.iter().rev() {
        let of_system = here().filter(|point| point.system == *system);
        let mut curve: Vec<(f64, f64)> = of_system
            .filter_map(|point| Some((point.attempted_mbps(), (row.of)(point)?)))
            .collect();
        curve.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        chart.curve(area, x, y, &curve, *style);
    }
}

/// What arrives if nothing is lost.
fn expected_mbps(point: &Point) -> f64 {
    match point.case.pattern {
        Pattern::Echo => point.attempted_mbps() * to_f64(point.case.n_peers),
        Pattern::OneWay | Pattern::Idle => point.attempted_mbps(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_measure::exchange::{Case, Outcome};

    fn point(system: &str) -> Point {
        Point {
            system: system.to_owned(),
            case: Case {
                name: String::new(),
                pattern: Pattern::OneWay,
                rate_hz: 1_000,
                size: 800,
                n_peers: 1,
                seconds: 1.0,
                is_batched: false,
                is_pinned: false,
            },
            outcome: Outcome::default(),
        }
    }

    #[test]
    fn every_system_has_looks_of_its_own_and_liblcm_always_the_same() {
        let names = ["bowline", "a", "b", "c", "liblcm", "d", "e", "f", "g"];
        let points: Vec<Point> = names.map(point).into();
        let systems = systems(&points.iter().collect::<Vec<_>>());
        for (idx, (name, style)) in systems.iter().enumerate() {
            for (other, other_style) in systems.iter().take(idx) {
                assert_ne!(style, other_style, "{name} and {other}");
            }
        }
        let liblcm = systems.iter().find(|(name, _)| *name == "liblcm");
        assert_eq!(liblcm.map(|(_, style)| *style), Some(Style::LIBLCM));
    }

    #[test]
    fn the_legend_stays_within_the_picture() {
        let names = ["bowline udpm?batch=1ms&recv_buf_size=4MiB", "liblcm"].repeat(4);
        let points: Vec<(&str, Style)> = names.iter().map(|&name| (name, Style::of(0))).collect();
        let places = legend_places(&points, 604.0);
        for ((name, _), (x, _)) in points.iter().zip(&places) {
            let end = x + 44.0 + 7.0 * to_f64(name.len());
            assert!(end <= 604.0, "{name} ends at {end}");
        }
        assert!(places.is_sorted_by(|(x, line), (next_x, next)| line < next || x < next_x));
    }
}

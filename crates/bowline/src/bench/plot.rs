//! The papers' figures: a column of panels for each number of receivers, a row for each thing measured, a curve for
//! each system, over the bandwidth that was attempted.

use super::plan::{Plan, Point, to_f64};
use super::svg::{Area, Scale, Style, Svg};
use bench_worker::exchange::Pattern;

const PANEL_WIDTH: f64 = 260.0;
const GAP: f64 = 58.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 92.0;
const ROW_GAP: f64 = 52.0;

/// A row of panels.
struct Row {
    title: &'static str,
    height: f64,
    kind: RowKind,
    of: fn(&Point) -> f64,
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
    of: |point| point.outcome.loss_percent,
};

const ECHO: [Row; 3] = [
    Row {
        title: "echoes received, MB/s",
        height: 190.0,
        kind: RowKind::Arrived,
        of: |point| point.outcome.delivered_gbps * 1e3,
    },
    LOSS,
    Row {
        title: "mean round trip, ms",
        height: 190.0,
        kind: RowKind::Log,
        of: |point| point.outcome.mean_us / 1e3,
    },
];

const ONE_WAY: [Row; 3] = [
    Row {
        title: "delivered to each, MB/s",
        height: 190.0,
        kind: RowKind::Arrived,
        of: |point| point.outcome.delivered_gbps * 1e3,
    },
    LOSS,
    Row {
        title: "CPU, us a message sent and received",
        height: 190.0,
        kind: RowKind::Linear(1.0),
        of: |point| point.outcome.publisher_cpu_us + point.outcome.subscriber_cpu_us,
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
    let mut svg = Svg::new(width, TOP + height + 8.0);
    let systems = systems(points);
    heading(&mut svg, plan, size, machine);
    legend(&mut svg, plan, &systems);
    let mut y = TOP;
    for row in &rows {
        for (column, &n_peers) in plan.clients.iter().enumerate() {
            let area = Area {
                x: LEFT + to_f64(column) * (PANEL_WIDTH + GAP),
                y,
                width: PANEL_WIDTH,
                height: row.height,
            };
            panel(&mut svg, area, row, n_peers, points, &systems);
        }
        let middle = y + row.height / 2.0;
        let turned =
            format!(r#"text-anchor="middle" font-size="12" transform="rotate(-90 26 {middle})""#);
        svg.text(26.0, middle, &turned, row.title);
        y += row.height + ROW_GAP;
    }
    for (column, &n_peers) in plan.clients.iter().enumerate() {
        let x = LEFT + to_f64(column) * (PANEL_WIDTH + GAP) + PANEL_WIDTH / 2.0;
        svg.text(
            x,
            TOP - 12.0,
            r#"text-anchor="middle" font-weight="bold""#,
            &receivers(plan, n_peers),
        );
        let bottom = y - ROW_GAP + 34.0;
        svg.text(
            x,
            bottom,
            r#"text-anchor="middle" font-size="12""#,
            "attempted, MB/s",
        );
    }
    svg.finish()
}

/// In the order in which they took part.
fn systems<'p>(points: &[&'p Point]) -> Vec<&'p str> {
    let mut systems: Vec<&str> = Vec::new();
    for point in points {
        if !systems.contains(&point.system.as_str()) {
            systems.push(&point.system);
        }
    }
    systems
}

fn receivers(plan: &Plan, n: usize) -> String {
    let s = if n == 1 { "" } else { "s" };
    match plan.pattern {
        Pattern::Echo => format!("{n} client{s}"),
        Pattern::OneWay | Pattern::Idle => format!("{n} subscriber{s}"),
    }
}

fn heading(svg: &mut Svg, plan: &Plan, size: usize, machine: &str) {
    let what = match plan.pattern {
        Pattern::Echo => "Echo test",
        Pattern::OneWay | Pattern::Idle => "One way",
    };
    svg.text(
        LEFT,
        24.0,
        r#"font-size="16" font-weight="bold""#,
        &format!("{what}, {size}-byte messages"),
    );
    svg.text(LEFT, 40.0, r##"fill="#666""##, machine);
}

fn legend(svg: &mut Svg, plan: &Plan, systems: &[&str]) {
    let mut x = LEFT;
    for (idx, system) in systems.iter().enumerate() {
        svg.sample(x, 58.0, Style::of(idx));
        svg.text(x + 44.0, 62.0, r#"font-size="12""#, system);
        x += 72.0 + 7.0 * to_f64(system.chars().count());
    }
    let note = match plan.pattern {
        Pattern::Echo => "dotted: everything comes back; round trips are of what came back",
        Pattern::OneWay | Pattern::Idle => "dotted: everything arrives",
    };
    svg.text(x, 62.0, r##"fill="#666""##, note);
}

fn panel(
    svg: &mut Svg,
    area: Area,
    row: &Row,
    n_peers: usize,
    points: &[&Point],
    systems: &[&str],
) {
    let here = || points.iter().filter(|point| point.case.n_peers == n_peers);
    let x = Scale::linear(here().map(|point| point.attempted_mbps()));
    let y = match row.kind {
        RowKind::Arrived => {
            Scale::linear(here().map(|point| (row.of)(point).max(expected_mbps(point))))
        }
        RowKind::Linear(least) => {
            Scale::linear(points.iter().map(|point| (row.of)(point)).chain([least]))
        }
        RowKind::Log => Scale::log(points.iter().map(|point| (row.of)(point))),
    };
    svg.axes(area, x, y);
    if let RowKind::Arrived = row.kind
        && let Some(point) = here().next()
    {
        svg.reference(
            area,
            x,
            y,
            expected_mbps(point) / point.attempted_mbps().max(f64::MIN_POSITIVE),
        );
    }
    // Ours is the first, and is drawn over the others.
    for (idx, system) in systems.iter().enumerate().rev() {
        let of_system = here().filter(|point| point.system == *system);
        let mut curve: Vec<(f64, f64)> = of_system
            .map(|point| (point.attempted_mbps(), (row.of)(point)))
            // Of what never arrives there is no round trip.
            .filter(|(_, value)| !matches!(row.kind, RowKind::Log) || *value > 0.0)
            .collect();
        curve.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        svg.curve(area, x, y, &curve, Style::of(idx));
    }
}

/// What arrives if nothing is lost.
fn expected_mbps(point: &Point) -> f64 {
    match point.case.pattern {
        Pattern::Echo => point.attempted_mbps() * to_f64(point.case.n_peers),
        Pattern::OneWay | Pattern::Idle => point.attempted_mbps(),
    }
}

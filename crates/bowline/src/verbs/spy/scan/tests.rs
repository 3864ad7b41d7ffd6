use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn screen(view: ScanView<'_>, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| frame.render_widget(view, frame.area()))
        .unwrap();
    terminal.backend().to_string()
}

/// A room of 8 m by 4 m, the vehicle 1 m from its back wall.
fn room() -> Scan {
    let mut points = Vec::new();
    for at in 0..=180_i32 {
        let angle = (f64::from(at) * 2.0 - 180.0).to_radians();
        let (ahead, left) = (angle.cos(), angle.sin());
        let to_wall = |direction: f64, wall: f64| {
            if direction.abs() < 1e-9 {
                f64::INFINITY
            } else {
                wall / direction.abs()
            }
        };
        let range = to_wall(ahead, if ahead > 0.0 { 7.0 } else { 1.0 }).min(to_wall(left, 2.0));
        points.push((range * ahead, range * left));
    }
    Scan {
        path: "ranges".into(),
        points,
        n_ranges: 181,
        max_m: 7.0,
        from_rad: -std::f64::consts::PI,
        to_rad: std::f64::consts::PI,
    }
}

// This screen is of our own making, and was compared with the room by hand on 2026-11-18: three dots are a metre both ways
// (walls 4 m apart are 12 dots, 8 m are 24), the vehicle is 3 dots from the back wall and in the middle between the sides,
// and the rings cross its row 15 and 30 dots to the right, at their labels. No run writes it anew.
#[test]
fn a_room_is_seen_from_above_with_rings_in_metres() {
    let scan = room();
    let view = ScanView {
        scan: &scan,
        zoom: 1.0,
    };
    assert_eq!(
        screen(view, 40, 12),
        r#""181 of 181 hit, farthest 7 m, -180 to 18"
"         ⠄       ⠒⠒⠒⠒⠒⠒⠂       ⠄        "
"       ⠐         ⡅  ⡀  ⡅        ⠐       "
"      ⠐         ⠂⡆⠁   ⠁⡆⠂        ⠐      "
"     ⠐       ⢀⠈  ⡇     ⡇ ⠈⢀       ⠐     "
"     ⠂      ⢀    ⡇     ⡇   ⢀       ⠂    "
"     ⠂      ⢀    ⡇  ▲  ⡇   ⢀5 m    ⠂10 m"
"     ⠂       ⡀   ⠓⠒⠒⠒⠒⠒⠃   ⡀       ⠂    "
"     ⠐        ⡀           ⡀       ⠐     "
"      ⠂        ⠠        ⠠         ⠂     "
"       ⠂         ⠁ ⠂ ⠂ ⠁         ⠂      "
"        ⠁                       ⠁       "
"#
    );
}

#[test]
fn every_size_and_every_range_can_be_drawn() {
    let mut scan = room();
    for max_m in [0.0, 1e-300, 7.0, 1e300, f64::MAX] {
        scan.max_m = max_m;
        scan.points.push((max_m, -max_m));
        for zoom in [0.0, 1.0, 1e9, f64::NAN] {
            for (width, height) in [(1, 1), (4, 3), (20, 5), (200, 60)] {
                screen(ScanView { scan: &scan, zoom }, width, height);
            }
        }
    }
}

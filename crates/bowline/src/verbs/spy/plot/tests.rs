use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const S: i64 = 1_000_000_000;

fn screen(plot: Plot<'_>, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| frame.render_widget(plot, frame.area()))
        .unwrap();
    terminal.backend().to_string()
}

fn sine() -> Series {
    let mut series = Series::default();
    for at in 0..1000_i32 {
        let t = f64::from(at) / 100.0;
        series.push(i64::from(at) * S / 100, (t * 1.3).sin() * 2.0);
    }
    series
}

fn curve<'a>(name: &str, unit: &'a str, colour: Color, series: &'a Series) -> Curve<'a> {
    Curve {
        name: name.into(),
        unit,
        colour,
        series,
    }
}

/// Flat, with a spike of one message in ten seconds, and a gap.
fn spike() -> Series {
    let mut series = Series::default();
    for at in 0..1000_i32 {
        let value = match at {
            500 => 3.0,
            200..250 => f64::NAN,
            _ => -1.0,
        };
        series.push(i64::from(at) * S / 100, value);
    }
    series
}

// These screens are of our own making, and were compared with the curves by hand on 2026-11-18: 2 sin(1.3 t) ends at
// 2 sin(12.987) = 0.81667 and is 2 sin(3.9) = -1.37553 at the cursor; its second peak is at 6.04 s, four tenths from the right;
// of 949 values of -1 and one of 3 the mean is -946/950 = -0.995789; the spike stands in the middle, a row above the peaks,
// and the gap of half a second begins a fifth from the left. No run writes them anew.
#[test]
fn curves_have_axes_a_legend_gaps_and_spikes() {
    let (sine, spike) = (sine(), spike());
    let curves = [
        curve("vehicle.pose state[0]", "m", Color::Cyan, &sine),
        curve("vehicle.depth depth_m", "m", Color::Yellow, &spike),
    ];
    let plot = |cursor_ns| Plot {
        curves: &curves,
        from_ns: 0,
        to_ns: 10 * S,
        cursor_ns,
    };
    assert_eq!(
        screen(plot(None), 60, 10),
        r#""━ vehicle.pose state[0]  0.81667 m  min -1.99999  max 2     "
"━ ..pth depth_m  -1 m  min -1  max 3  mean -0.995789  50 NaN"
" │                             ⡇                            "
"2┤   ⣀⡤⠒⠒⠒⠒⢤⣀                  ⡇ ⣀⡤⠖⠒⠒⠒⢦⣀                   "
" │ ⣠⠞⠁      ⠈⠳⣄               ⢠⣧⠞⠁      ⠈⠳⣄                ⣠"
"0┤⠞⠁          ⠈⠳⣄            ⣠⢾⡇          ⠈⠳⣄            ⣠⠞⠁"
" │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤  ⠨⠷⣤⠤⠤⠤⠤⠤⠤⠤⠤⣤⠾⠥⠼⠧⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠬⠷⣤⡤⠤⠤⠤⠤⠤⠤⠤⣤⠾⠥⠤⠤"
" │                 ⠙⠦⢤⣀⣀⡠⠴⠋                    ⠙⠢⢤⣀⣀⣠⠴⠋⠁    "
" └┬──────────┬───────────┬──────────┬───────────┬──────────┬"
"  -10 s    -8 s        -6 s       -4 s        -2 s         0"
"#
    );
    assert_eq!(
        screen(plot(Some(3 * S)), 40, 7),
        r#""━ ..e state[0]  -1.37553 m  min -1.99999"
"━ ..e.depth depth_m  -1 m  min -1  max 3"
" │   ⣀⣀⣀     │       ⡇ ⢀⣀⣀⡀             "
" │⢀⡴⠊⠁ ⠈⠙⢦⡀  │      ⢀⣧⠞⠉  ⠉⠳⣄          ⢀"
"0┤⠋       ⠙⢦⡀│     ⣠⢾⡇      ⠈⠳⣄      ⣀⠔⠁"
" │⠉⠉⠉⠉⠉⠉⠉⠉ ⠈⠉⠻⢭⣉⣉⠽⠛⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠛⢯⣉⣉⡭⠟⠉⠉⠉"
"  -10 s            -5 s                0"
"#,
        "a cursor reads the value of its moment"
    );
    assert_eq!(
        screen(plot(None), 20, 5),
        r#""━ ..]  0.81667 m  +1"
" │ ⣠⢤⡀     ⣇⡤⣄      "
"0┤⡞⠁ ⠙⣄   ⣰⡏ ⠈⠳⡄   ⡴"
" │⠒⠒⠒⠒⠘⢶⣒⡶⠛⠓⠒⠒⠒⠛⢶⣲⠞⠓"
"  -10 s            0"
"#
    );
}

#[test]
fn a_line_crosses_a_window_between_two_points() {
    let mut series = Series::default();
    for (at, value) in [(0, 0.0), (5, 1.0), (10, 0.0)] {
        series.push(at * S, value);
    }
    let curves = [curve("x", "", Color::Cyan, &series)];
    let plot = Plot {
        curves: &curves,
        from_ns: 4 * S,
        to_ns: 8 * S,
        cursor_ns: None,
    };
    let shown = screen(plot, 30, 6);
    let row = shown.lines().nth(3).unwrap();
    let n_dots = row
        .chars()
        .filter(|it| ('\u{2801}'..='\u{28ff}').contains(it))
        .count();
    assert!(n_dots >= 8, "from edge to edge, not just a point:\n{shown}");
}

#[test]
fn every_size_and_every_number_can_be_drawn() {
    let odd = [
        vec![],
        vec![f64::NAN],
        vec![f64::MAX, f64::MIN],
        vec![1e-310, -1e-310],
        vec![1e15, 1e15 + 0.125],
        vec![f64::INFINITY, 0.0, f64::NEG_INFINITY],
        vec![7.0; 3],
    ];
    for values in odd {
        let mut series = Series::default();
        for (at, value) in (0..).zip(&values) {
            series.push(at * S, *value);
        }
        let curves = [curve("a\u{1b}[2J\u{202e}", "m", Color::Cyan, &series)];
        let windows = [
            (0, 3 * S),
            (S, S),
            (3 * S, 0),
            (i64::MIN, i64::MAX),
            (-S, 1),
        ];
        for (from_ns, to_ns) in windows {
            for (width, height) in [(1, 1), (4, 3), (20, 5), (33, 9), (200, 60)] {
                for cursor_ns in [None, Some(0), Some(i64::MAX)] {
                    let plot = Plot {
                        curves: &curves,
                        from_ns,
                        to_ns,
                        cursor_ns,
                    };
                    let shown = screen(plot, width, height);
                    assert!(!shown.contains(['\u{1b}', '\u{202e}']));
                }
            }
        }
    }
}

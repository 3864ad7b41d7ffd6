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

#[test]
fn look() {
    let sine = sine();
    let mut spike = Series::default();
    for at in 0..1000_i32 {
        spike.push(
            i64::from(at) * S / 100,
            if at == 500 {
                3.0
            } else if (200..250).contains(&at) {
                f64::NAN
            } else {
                -1.0
            },
        );
    }
    let curves = [
        curve("vehicle.pose state[0]", "m", Color::Cyan, &sine),
        curve("vehicle.depth depth_m", "m", Color::Yellow, &spike),
    ];
    for (w, h) in [(80, 16), (60, 10), (40, 7), (20, 5), (8, 3), (120, 24)] {
        for cursor_ns in [None, Some(3 * S)] {
            let plot = Plot {
                curves: &curves,
                from_ns: 0,
                to_ns: 10 * S,
                cursor_ns,
            };
            println!("{}", screen(plot, w, h));
        }
    }
    let plot = Plot {
        curves: &curves,
        from_ns: 4 * S,
        to_ns: 4 * S + S / 50,
        cursor_ns: None,
    };
    println!("{}", screen(plot, 80, 16));
    let plot = Plot {
        curves: &curves,
        from_ns: -3600 * S,
        to_ns: 40 * S,
        cursor_ns: None,
    };
    println!("{}", screen(plot, 80, 16));
    let plot = Plot {
        curves: &[],
        from_ns: -3600 * S,
        to_ns: 40 * S,
        cursor_ns: None,
    };
    println!("{}", screen(plot, 80, 16));
}

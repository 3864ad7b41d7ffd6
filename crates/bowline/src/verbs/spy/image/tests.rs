use super::*;
use ratatui::buffer::Cell;

fn drawn(image: &Rgb, colours: Colours, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    Picture { image, colours }.render(area, &mut buffer);
    buffer
}

fn letters(buffer: &Buffer) -> Vec<String> {
    let rows = buffer.content().chunks(usize::from(buffer.area().width));
    rows.map(|row| row.iter().map(Cell::symbol).collect())
        .collect()
}

fn flag() -> Rgb {
    let (r, b) = ([255, 0, 0], [0, 0, 255]);
    Rgb {
        width: 2,
        height: 2,
        pixels: vec![r, b, b, r],
    }
}

#[test]
fn a_cell_has_two_pixels() {
    let buffer = drawn(&flag(), Colours::All, 2, 1);
    let cell = buffer.cell((0, 0)).unwrap();
    assert_eq!(cell.symbol(), "\u{2580}");
    assert_eq!(
        (cell.fg, cell.bg),
        (Color::Rgb(255, 0, 0), Color::Rgb(0, 0, 255))
    );
}

#[test]
fn a_picture_keeps_its_shape_and_stands_in_the_middle() {
    let grey = |width, height| Rgb {
        width,
        height,
        pixels: vec![[99; 3]; (width * height) as usize],
    };
    #[rustfmt::skip]
    let cases = [
        (grey(4, 4), ["  ▀▀▀▀▀▀  ", "  ▀▀▀▀▀▀  ", "  ▀▀▀▀▀▀  "]),
        (grey(40, 8), ["          ", "▀▀▀▀▀▀▀▀▀▀", "          "]),
        (grey(2, 60), ["    ▀     ", "    ▀     ", "    ▀     "]),
    ];
    for (image, expected) in cases {
        assert_eq!(letters(&drawn(&image, Colours::All, 10, 3)), expected);
    }
}

#[test]
fn fewer_colours_do_where_there_are_no_more() {
    let buffer = drawn(&flag(), Colours::Table, 2, 1);
    let cell = buffer.cell((0, 0)).unwrap();
    assert_eq!(
        (cell.fg, cell.bg),
        (Color::Indexed(196), Color::Indexed(21))
    );
    assert_eq!(nearest_of_table([128; 3]), 244);
    assert_eq!(nearest_of_table([0; 3]), 16);
    let ramp = Rgb {
        width: 4,
        height: 2,
        pixels: [0, 80, 160, 255].map(|grey| [grey; 3]).repeat(2),
    };
    assert_eq!(letters(&drawn(&ramp, Colours::None, 4, 1)), [" -*@"]);
}

#[test]
fn colours_are_those_of_the_terminal() {
    #[rustfmt::skip]
    let cases = [
        (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")][..], Colours::All),
        (&[("TERM", "xterm-kitty")], Colours::All),
        (&[("TERM", "screen-256color")], Colours::Table),
        (&[("TERM", "linux")], Colours::None),
        (&[("TERM", "xterm-256color"), ("NO_COLOR", "1")], Colours::None),
        (&[], Colours::None),
    ];
    for (variables, expected) in cases {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(Colours::of_terminal(variable), expected, "{variables:?}");
    }
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in [(0, 0), (1, 1), (1, 9), (9, 1)] {
        drawn(&flag(), Colours::All, width, height);
    }
}

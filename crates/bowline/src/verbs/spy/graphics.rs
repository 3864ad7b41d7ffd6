//! Real pictures, where the terminal can show them: by kitty's protocol, or as sixels.
//!
//! These are bytes for the terminal, to be written after the screen was drawn: the cells under a picture stay blank.
//! A terminal is asked what it can do, because it may be at the far end of an `ssh` or around a `tmux`.

use super::image::enlarge;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bowline_inspect::picture::Rgb;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::layout::Rect;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

/// What is asked: whether a picture of one pixel would do (which those who do not know pictures ignore), and then what
/// kind of terminal it is (which all answer).
const QUESTION: &[u8] = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";
/// A terminal that does not answer for so long will not.
const PATIENCE_MS: u16 = 250;
const MAX_ANSWER: usize = 1024;
/// Our picture's name within the terminal.
const ID: u32 = 7667;
/// The most that kitty takes in one piece.
const MAX_PIECE: usize = 4096;
/// Shades of red, green and blue in sixels.
const N_SHADES: u16 = 6;

/// How a terminal shows pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graphics {
    /// Not at all: in block characters.
    Blocks,
    /// By kitty's protocol.
    Kitty,
    /// As sixels, after the DEC terminals of old.
    Sixel,
}

impl Graphics {
    /// Asks the terminal, which must be in raw mode, before any other code reads from it.
    pub(crate) fn ask(terminal: &mut File) -> io::Result<Self> {
        terminal.write_all(QUESTION)?;
        terminal.flush()?;
        let mut answer = Vec::new();
        while answer.len() < MAX_ANSWER && !is_complete(&answer) {
            let mut ready = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ready, PollTimeout::from(PATIENCE_MS))? == 0 {
                break;
            }
            let mut piece = [0; 256];
            let n = terminal.read(&mut piece)?;
            if n == 0 {
                break;
            }
            answer.extend(piece.iter().take(n));
        }
        Ok(Self::of_answer(&answer))
    }

    fn of_answer(answer: &[u8]) -> Self {
        let text = String::from_utf8_lossy(answer);
        let kind = text.split("\x1b[?").nth(1);
        let kind = kind.and_then(|kind| kind.split('c').next()).unwrap_or("");
        if text.contains("\x1b_Gi=31;OK") {
            Self::Kitty
        } else if kind.split(';').skip(1).any(|feature| feature == "4") {
            Self::Sixel
        } else {
            Self::Blocks
        }
    }
}

/// Whether the last of the two answers is there.
fn is_complete(answer: &[u8]) -> bool {
    let at = answer.windows(3).position(|bytes| bytes == b"\x1b[?");
    at.is_some_and(|at| answer.iter().skip(at).any(|byte| *byte == b'c'))
}

/// A place on the screen for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canvas {
    pub(crate) area: Rect,
    /// Pixels of a cell, across and down.
    pub(crate) cell: (u16, u16),
}

impl Canvas {
    /// The most pixels that it shows: ask for a picture of this size.
    pub(crate) fn pixels(self) -> (u32, u32) {
        let Self { area, cell } = self;
        let side = |n: u16, of: u16| u32::from(n) * u32::from(of.max(1));
        (side(area.width, cell.0), side(area.height, cell.1))
    }

    /// What shows a picture here, over whatever was shown before.
    pub(crate) fn show(self, graphics: Graphics, image: &Rgb) -> Vec<u8> {
        let n_pixels = u64::from(image.width) * u64::from(image.height);
        if n_pixels == 0 || self.area.is_empty() || image.pixels.len() as u64 != n_pixels {
            return Vec::new();
        }
        match graphics {
            Graphics::Blocks => Vec::new(),
            Graphics::Kitty => self.kitty(image),
            Graphics::Sixel => self.sixel(image),
        }
    }

    fn kitty(self, image: &Rgb) -> Vec<u8> {
        let (width, height) = enlarge((image.width, image.height), self.pixels());
        let (n_columns, n_rows) = (
            width.div_ceil(u32::from(self.cell.0.max(1))),
            height.div_ceil(u32::from(self.cell.1.max(1))),
        );
        let mut out = self.go_to((n_columns, n_rows));
        let data = BASE64_STANDARD.encode(image.pixels.as_flattened());
        let pieces = data.as_bytes().chunks(MAX_PIECE);
        let n_pieces = pieces.len();
        for (at, piece) in pieces.enumerate() {
            let is_more = u8::from(at + 1 < n_pieces);
            let head = if at == 0 {
                let Rgb { width, height, .. } = image;
                // Shown at once (T), in RGB (f), without moving the cursor (C) or answering (q).
                format!(
                    "a=T,f=24,s={width},v={height},c={n_columns},r={n_rows},i={ID},C=1,q=2,m={is_more}"
                )
            } else {
                format!("m={is_more}")
            };
            out.extend(b"\x1b_G");
            out.extend(head.as_bytes());
            out.push(b';');
            out.extend(piece);
            out.extend(b"\x1b\\");
        }
        out
    }

    /// Bands of six rows, each colour of a band in turn; runs of the same are counted.
    fn sixel(self, image: &Rgb) -> Vec<u8> {
        let (width, height) = (image.width, image.height);
        let n_columns = width.div_ceil(u32::from(self.cell.0.max(1)));
        let n_rows = height.div_ceil(u32::from(self.cell.1.max(1)));
        let mut out = self.go_to((n_columns, n_rows));
        let mut text = format!("\x1bP0;1q\"1;1;{width};{height}");
        for place in 0..N_SHADES.pow(3) {
            let percent = |shade: u16| shade % N_SHADES * 100 / (N_SHADES - 1);
            let [r, g, b] = [place / N_SHADES.pow(2), place / N_SHADES, place].map(percent);
            push(&mut text, format_args!("#{place};2;{r};{g};{b}"));
        }
        let width = width as usize;
        for (at, band) in image.pixels.chunks(width * 6).enumerate() {
            if at > 0 {
                text.push('-');
            }
            sixel_band(band, width, &mut text);
        }
        text.push_str("\x1b\\");
        out.extend(text.as_bytes());
        out
    }

    /// Moves the cursor to where a picture of so many cells is in the middle.
    fn go_to(self, (n_columns, n_rows): (u32, u32)) -> Vec<u8> {
        let inset = |room: u16, taken: u32| u32::from(room).saturating_sub(taken) / 2;
        let row = u32::from(self.area.y) + inset(self.area.height, n_rows) + 1;
        let column = u32::from(self.area.x) + inset(self.area.width, n_columns) + 1;
        format!("\x1b[{row};{column}H").into_bytes()
    }
}

/// What takes a picture away. Sixels go when their cells are drawn over.
pub(crate) fn hide(graphics: Graphics) -> Vec<u8> {
    match graphics {
        Graphics::Kitty => format!("\x1b_Ga=d,d=I,i={ID},q=2\x1b\\").into_bytes(),
        Graphics::Blocks | Graphics::Sixel => Vec::new(),
    }
}

fn sixel_band(band: &[[u8; 3]], width: usize, text: &mut String) {
    // Which of the six rows have which colour, column by column.
    let mut of_colour = std::collections::BTreeMap::<u16, Vec<u8>>::new();
    for (row, pixels) in band.chunks(width).enumerate() {
        for (column, pixel) in pixels.iter().enumerate() {
            let colour = shade_of(*pixel, column, row);
            let columns = of_colour.entry(colour).or_insert_with(|| vec![0; width]);
            if let Some(bits) = columns.get_mut(column) {
                *bits |= 1 << row;
            }
        }
    }
    for (at, (colour, columns)) in of_colour.iter().enumerate() {
        if at > 0 {
            text.push('$');
        }
        push(text, format_args!("#{colour}"));
        for run in columns.chunk_by(|a, b| a == b) {
            let letter = char::from(63 + run.first().copied().unwrap_or(0));
            match run.len() {
                n @ 0..=3 => text.extend(std::iter::repeat_n(letter, n)),
                n => push(text, format_args!("!{n}{letter}")),
            }
        }
    }
}

/// The place of a colour in the table, spread so that areas look right from afar.
fn shade_of(pixel: [u8; 3], column: usize, row: usize) -> u16 {
    const SPREAD: [[u16; 2]; 2] = [[6, 31], [44, 19]];
    let spread = SPREAD[row % 2][column % 2];
    let shade = |part: u8| (u16::from(part) * (N_SHADES - 1) / 5 + spread) / 51;
    let [r, g, b] = pixel.map(|part| shade(part).min(N_SHADES - 1));
    (r * N_SHADES + g) * N_SHADES + b
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANVAS: Canvas = Canvas {
        area: Rect {
            x: 2,
            y: 3,
            width: 4,
            height: 2,
        },
        cell: (10, 20),
    };

    fn image(width: u32, height: u32) -> Rgb {
        Rgb {
            width,
            height,
            pixels: vec![[255, 0, 0]; (width * height) as usize],
        }
    }

    #[test]
    fn a_terminal_is_what_it_answers() {
        #[rustfmt::skip]
        let cases: [(&[u8], Graphics); 6] = [
            (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", Graphics::Kitty),
            (b"\x1b[?62;4;22c", Graphics::Sixel),
            (b"\x1b[?62;22;4c", Graphics::Sixel),
            (b"\x1b[?1;2c", Graphics::Blocks),
            (b"\x1b_Gi=31;ENOTSUP\x1b\\\x1b[?4c", Graphics::Blocks),
            (b"", Graphics::Blocks),
        ];
        for (answer, expected) in cases {
            assert_eq!(
                Graphics::of_answer(answer),
                expected,
                "{}",
                answer.escape_ascii()
            );
            assert_eq!(is_complete(answer), !answer.is_empty());
        }
        assert!(!is_complete(b"\x1b_Gi=31;OK\x1b\\\x1b[?62"));
    }

    #[test]
    fn kitty_gets_size_place_and_pixels_in_chunks() {
        let small = CANVAS.show(Graphics::Kitty, &image(1, 1));
        assert_eq!(
            small.escape_ascii().to_string(),
            r"\x1b[4;3H\x1b_Ga=T,f=24,s=1,v=1,c=4,r=2,i=7667,C=1,q=2,m=0;/wAA\x1b\\"
        );
        let large = CANVAS.show(Graphics::Kitty, &image(64, 32));
        let text = String::from_utf8(large).unwrap();
        assert!(text.contains("c=4,r=1,i=7667,C=1,q=2,m=1;"), "{text}");
        assert_eq!(text.matches("\x1b_Gm=0;").count(), 1);
        assert!(
            text.split("\x1b_G")
                .all(|piece| piece.len() < MAX_PIECE + 100)
        );
    }

    #[test]
    fn sixels_are_bands_of_six_rows() {
        let text = String::from_utf8(CANVAS.show(Graphics::Sixel, &image(8, 7))).unwrap();
        assert!(
            text.starts_with("\x1b[4;4H\x1bP0;1q\"1;1;8;7#0;2;0;0;0#1;2;0;0;20"),
            "{text:?}"
        );
        assert!(text.ends_with("#180!8~-#180!8@\x1b\\"), "{text:?}");
    }

    #[test]
    fn a_picture_that_is_none_shows_nothing() {
        let mut short = image(4, 4);
        short.pixels.pop();
        for image in [short, image(0, 0)] {
            for graphics in [Graphics::Kitty, Graphics::Sixel, Graphics::Blocks] {
                assert!(CANVAS.show(graphics, &image).is_empty());
            }
        }
    }
}

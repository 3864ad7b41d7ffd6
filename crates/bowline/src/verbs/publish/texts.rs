//! JSON texts, one after the other, from whatever they come.
//!
//! They need nothing between them, and may have comments from `//` to the end of a line.

use crate::listen::Interrupt;
use anyhow::Context as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, stdin};
use std::os::fd::AsFd as _;

/// A message has at most 256 MiB.
const MAX_TEXT: usize = 1 << 30;
const CHUNK: usize = 64 << 10;
/// How often ^C is looked for.
const LOOK_EVERY_MS: u16 = 100;

/// Where texts come from.
enum From<'i> {
    Text,
    File(File),
    Stdin(&'i Interrupt),
}

pub(super) struct Texts<'i> {
    from: From<'i>,
    splitter: Splitter,
    is_over: bool,
}

/// One text, and on which line it begins.
pub(super) struct Text {
    pub(super) json: Vec<u8>,
    line: usize,
}

impl<'i> Texts<'i> {
    pub(super) fn of_text(text: &str) -> Self {
        let mut texts = Self::new(From::Text);
        texts.splitter.take(text.as_bytes());
        texts
    }

    pub(super) fn of_file(file: File) -> Self {
        Self::new(From::File(file))
    }

    pub(super) fn of_stdin(interrupt: &'i Interrupt) -> Self {
        Self::new(From::Stdin(interrupt))
    }

    fn new(from: From<'i>) -> Self {
        Self {
            from,
            splitter: Splitter::default(),
            is_over: false,
        }
    }

    /// Whether it is known at once if there is another.
    pub(super) fn can_look_ahead(&self) -> bool {
        !matches!(self.from, From::Stdin(_))
    }

    /// Whether there is no other.
    pub(super) fn is_last(&mut self) -> anyhow::Result<bool> {
        self.fill()?;
        Ok(self.splitter.texts.is_empty())
    }

    pub(super) fn next(&mut self) -> anyhow::Result<Option<Text>> {
        self.fill()?;
        Ok(self.splitter.texts.pop_front())
    }

    /// Reads until there is a text, or nothing more.
    fn fill(&mut self) -> anyhow::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while self.splitter.texts.is_empty() && !self.is_over {
            let n_bytes = self.read(&mut chunk)?;
            if n_bytes == 0 {
                self.is_over = true;
                self.splitter.end();
            }
            self.splitter.take(chunk.get(..n_bytes).unwrap_or_default());
            anyhow::ensure!(
                self.splitter.text.len() <= MAX_TEXT,
                "expected messages, found more than {MAX_TEXT} bytes of JSON without an end"
            );
        }
        Ok(())
    }

    fn read(&mut self, chunk: &mut [u8]) -> anyhow::Result<usize> {
        match &mut self.from {
            From::Text => Ok(0),
            From::File(file) => file.read(chunk).context("cannot read the file"),
            From::Stdin(interrupt) => {
                let stdin = stdin();
                loop {
                    if interrupt.is_set() {
                        return Ok(0);
                    }
                    let mut stream = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
                    if poll(&mut stream, PollTimeout::from(LOOK_EVERY_MS)) != Ok(0) {
                        break;
                    }
                }
                nix::unistd::read(stdin, chunk).context("cannot read standard input")
            }
        }
    }

    /// Adds where something is wrong, if there may be several texts.
    pub(super) fn in_place(&self, text: &Text, wrong: &str) -> String {
        match self.from {
            From::Text => wrong.to_owned(),
            From::File(_) | From::Stdin(_) => format!("line {}: {wrong}", text.line),
        }
    }
}

/// Finds where texts begin and end.
#[derive(Default)]
struct Splitter {
    texts: VecDeque<Text>,
    text: Vec<u8>,
    depth: usize,
    state: State,
    n_lines: usize,
    started: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    String,
    Escape,
    Slash,
    Comment,
}

impl Splitter {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.take_byte(*byte);
        }
    }

    fn take_byte(&mut self, byte: u8) {
        if byte == b'\n' {
            self.n_lines += 1;
        }
        self.state = match (self.state, byte) {
            (State::Comment, b'\n') => State::Plain,
            (State::Comment, _) => return,
            (State::Slash, b'/') => {
                self.text.pop();
                self.state = State::Comment;
                return;
            }
            (State::String, b'\\') => State::Escape,
            (State::String, b'"') => State::Plain,
            (State::String | State::Escape, _) => State::String,
            (State::Plain | State::Slash, b'"') => State::String,
            (State::Plain, b'/') => State::Slash,
            (State::Plain | State::Slash, _) => State::Plain,
        };
        if self.text.is_empty() {
            if byte.is_ascii_whitespace() {
                return;
            }
            self.started = self.n_lines + 1;
        }
        self.text.push(byte);
        if self.state == State::Plain {
            self.bracket(byte);
        }
    }

    fn bracket(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.depth += 1,
            // Without brackets, a line is a text: its error will explain what is wrong with it.
            b'\n' if self.depth == 0 => self.finish(),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.finish();
                }
            }
            _ => {}
        }
    }

    /// What is left over is a text too, if a broken one.
    fn end(&mut self) {
        self.depth = 0;
        self.state = State::Plain;
        self.finish();
    }

    fn finish(&mut self) {
        let json = std::mem::take(&mut self.text);
        if !json.trim_ascii().is_empty() {
            let line = self.started;
            self.texts.push_back(Text { json, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts and their lines, whatever the pieces in which they come.
    fn split(text: &str, piece: usize) -> Vec<(usize, String)> {
        let mut splitter = Splitter::default();
        for bytes in text.as_bytes().chunks(piece) {
            splitter.take(bytes);
        }
        splitter.end();
        let texts = splitter.texts.into_iter();
        let read = |text: Text| (text.line, String::from_utf8(text.json).unwrap());
        texts.map(read).collect()
    }

    #[test]
    fn texts_are_split_by_brackets_and_lose_their_comments() {
        #[rustfmt::skip]
        let cases: &[(&str, &[(usize, &str)])] = &[
            ("", &[]),
            (" \n\n", &[]),
            ("{}", &[(1, "{}")]),
            ("{}{}\n\n{ }", &[(1, "{}"), (1, "{}"), (3, "{ }")]),
            ("\n{\"a\": // one } of them\n 1}", &[(2, "{\"a\": \n 1}")]),
            (r#"{"a": "//}\"{"}"#, &[(1, r#"{"a": "//}\"{"}"#)]),
            ("// nothing\n{} // more", &[(2, "{}")]),
            ("{\"a\": ", &[(1, "{\"a\": ")]),
            ("]{}", &[(1, "]"), (1, "{}")]),
            ("no\n{}", &[(1, "no\n"), (2, "{}")]),
        ];
        for (text, expected) in cases {
            let expected: Vec<(usize, String)> = expected
                .iter()
                .map(|(line, text)| (*line, (*text).to_owned()))
                .collect();
            for piece in [1, 3, 1_000] {
                assert_eq!(split(text, piece), expected, "{text:?} by {piece}");
            }
        }
    }
}

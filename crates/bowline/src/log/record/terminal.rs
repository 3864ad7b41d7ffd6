//! Keys, one by one, where there is a terminal to press them in.

use bowline_bus::wall_ns;
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use nix::unistd::{getpgrp, read, tcgetpgrp};
use std::io::{IsTerminal as _, stderr, stdin};

/// What a character is set to that no key gives.
const NO_KEY: u8 = 0;
const ESCAPE: u8 = 0x1b;
/// What a note may have. The rest is not typed by people.
const MAX_NOTE_BYTES: usize = 1_000;

/// A terminal that gives keys at once and does not show them. Dropped, it is as it was, which also happens when
/// something panics; signals do not end the program before it is dropped.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    before: Option<Termios>,
    note: Option<Note>,
}

/// A bookmark that is being written.
#[derive(Debug)]
struct Note {
    utime: i64,
    text: Vec<u8>,
}

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Split,
    Trigger,
    Bookmark { utime: i64, text: String },
}

impl Keyboard {
    /// The terminal, if there is one, and it is ours: a program in the background must leave it alone.
    pub(super) fn open() -> Self {
        let is_ours = stdin().is_terminal()
            && stderr().is_terminal()
            && tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
        let before = is_ours.then(|| tcgetattr(stdin()).ok()).flatten();
        let Some(before) = before else {
            return Self::none();
        };
        let mut single = before.clone();
        single.local_flags -= LocalFlags::ICANON | LocalFlags::ECHO;
        // A recorder that is stopped by a slip of the finger loses what comes meanwhile.
        let suspend = SpecialCharacterIndices::VSUSP as usize;
        if let Some(character) = single.control_chars.get_mut(suspend) {
            *character = NO_KEY;
        }
        let is_set = tcsetattr(stdin(), SetArg::TCSADRAIN, &single).is_ok();
        Self {
            before: is_set.then_some(before),
            note: None,
        }
    }

    /// No terminal.
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn is_there(&self) -> bool {
        self.before.is_some()
    }

    /// What was typed of a note so far.
    pub(super) fn note(&self) -> Option<String> {
        let note = self.note.as_ref()?;
        Some(String::from_utf8_lossy(&note.text).into_owned())
    }

    /// The keys that were pressed. To be called when there are some.
    pub(super) fn read(&mut self) -> Vec<Key> {
        let mut bytes = [0; 256];
        match read(stdin(), &mut bytes) {
            // The terminal is gone, and nobody can end it there any more.
            Ok(0) | Err(nix::errno::Errno::EIO) => vec![Key::Quit],
            Ok(n) => self.understand(bytes.get(..n).unwrap_or_default()),
            Err(_) => Vec::new(),
        }
    }

    fn understand(&mut self, bytes: &[u8]) -> Vec<Key> {
        // Arrows and the like come as several bytes at once.
        if let [ESCAPE, _, ..] = bytes {
            return Vec::new();
        }
        bytes.iter().filter_map(|byte| self.press(*byte)).collect()
    }

    fn press(&mut self, byte: u8) -> Option<Key> {
        if self.note.is_some() {
            return self.write(byte);
        }
        match byte {
            b'q' => Some(Key::Quit),
            b's' => Some(Key::Split),
            b't' => Some(Key::Trigger),
            b'b' => {
                // The moment that is meant is now, however long the note takes to write.
                self.note = Some(Note {
                    utime: wall_ns().div_euclid(1_000),
                    text: Vec::new(),
                });
                None
            }
            _ => None,
        }
    }

    /// Writes on a note.
    fn write(&mut self, byte: u8) -> Option<Key> {
        let note = self.note.as_mut()?;
        match byte {
            b'\n' | b'\r' => {
                let Note { utime, text } = self.note.take()?;
                let text = String::from_utf8_lossy(&text).into_owned();
                return Some(Key::Bookmark { utime, text });
            }
            ESCAPE => self.note = None,
            0x7f | 0x08 => note.erase(),
            0..0x20 => {}
            _ if note.text.len() < MAX_NOTE_BYTES => note.text.push(byte),
            _ => {}
        }
        None
    }
}

impl Note {
    /// Takes the last character away, all bytes of it.
    fn erase(&mut self) {
        while let Some(byte) = self.text.pop()
            && byte & 0xc0 == 0x80
        {}
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs nothing.
            let _gone = tcsetattr(stdin(), SetArg::TCSADRAIN, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(keys: &[Key]) -> Vec<String> {
        let text = |key: &Key| match key {
            Key::Bookmark { text, .. } => format!("bookmark {text}"),
            Key::Quit | Key::Split | Key::Trigger => format!("{key:?}"),
        };
        keys.iter().map(text).collect()
    }

    #[test]
    fn keys_mean_what_the_help_says() {
        #[rustfmt::skip]
        let cases: &[(&[u8], &[&str])] = &[
            (b"q", &["Quit"]),
            (b"stx", &["Split", "Trigger"]),
            (b"b\n", &["bookmark "]),
            (b"bquiet\r", &["bookmark quiet"]),
            ("büx\x7f\x7fy\n".as_bytes(), &["bookmark y"]),
            (b"ba\x1b", &[]),
            (b"\x1b[A", &[]),
        ];
        for (bytes, expected) in cases {
            let mut keyboard = Keyboard::none();
            assert_eq!(texts(&keyboard.understand(bytes)), *expected, "{bytes:?}");
            assert_eq!(keyboard.note(), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_note_shows_while_it_is_written() {
        let mut keyboard = Keyboard::none();
        assert_eq!(keyboard.understand(b"bnear the "), []);
        assert_eq!(keyboard.understand(b"wreck"), []);
        assert_eq!(keyboard.note().as_deref(), Some("near the wreck"));
    }
}

//! What keys mean to a recorder, where there is a terminal to press them in.

use crate::terminal::{Extent, Terminal, pressed};
use bowline_bus::wall_ns;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::io::{self, IsTerminal as _, stderr};

/// What a note may have. The rest is not typed by people.
const MAX_NOTE_BYTES: usize = 1_000;

/// Keys that are pressed, and a note that is being written with them.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    terminal: Option<Terminal>,
    note: Option<Note>,
}

/// A bookmark that is being written.
#[derive(Debug)]
struct Note {
    utime: i64,
    text: String,
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
    /// The terminal, if there is one, and it is ours.
    pub(super) fn open() -> Self {
        let is_there = Terminal::is_ours() && stderr().is_terminal();
        let terminal = is_there.then(|| Terminal::take(Extent::Line).ok());
        Self {
            terminal: terminal.flatten(),
            note: None,
        }
    }

    /// No terminal.
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref()
    }

    /// What was typed of a note so far.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_ref().map(|note| note.text.as_str())
    }

    /// The keys that were pressed since the last time.
    pub(super) fn read(&mut self) -> io::Result<Vec<Key>> {
        let Some(terminal) = &self.terminal else {
            return Ok(Vec::new());
        };
        let events = terminal.events()?;
        let keys = events.iter().filter_map(pressed);
        Ok(keys.filter_map(|key| self.press(key)).collect())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a keyboard has more keys than we have uses for"
    )]
    fn press(&mut self, key: KeyEvent) -> Option<Key> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control {
            // ^C, and ^\ as terminals send it.
            return matches!(key.code, KeyCode::Char('c' | '4')).then_some(Key::Quit);
        }
        if self.note.is_some() {
            return self.write(key.code);
        }
        match key.code {
            KeyCode::Char('q') => Some(Key::Quit),
            KeyCode::Char('s') => Some(Key::Split),
            KeyCode::Char('t') => Some(Key::Trigger),
            KeyCode::Char('b') => {
                // The moment that is meant is now, however long the note takes to write.
                self.note = Some(Note {
                    utime: wall_ns().div_euclid(1_000),
                    text: String::new(),
                });
                None
            }
            _ => None,
        }
    }

    /// Writes on a note.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a keyboard has more keys than we have uses for"
    )]
    fn write(&mut self, key: KeyCode) -> Option<Key> {
        let note = self.note.as_mut()?;
        match key {
            KeyCode::Enter => {
                let Note { utime, text } = self.note.take()?;
                return Some(Key::Bookmark { utime, text });
            }
            KeyCode::Esc => self.note = None,
            KeyCode::Backspace => drop(note.text.pop()),
            KeyCode::Char(letter) if note.text.len() < MAX_NOTE_BYTES => note.text.push(letter),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the keys mean that give these characters.
    fn press(keyboard: &mut Keyboard, typed: &str) -> Vec<String> {
        let key = |letter: char| match letter {
            '\n' => KeyEvent::from(KeyCode::Enter),
            '\x1b' => KeyEvent::from(KeyCode::Esc),
            '\x7f' => KeyEvent::from(KeyCode::Backspace),
            '\x03' => KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
            '\x1a' => KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL),
            letter => KeyEvent::from(KeyCode::Char(letter)),
        };
        let text = |key: Key| match key {
            Key::Bookmark { text, .. } => format!("bookmark {text}"),
            Key::Quit | Key::Split | Key::Trigger => format!("{key:?}"),
        };
        let keys = typed.chars().filter_map(|it| keyboard.press(key(it)));
        keys.map(text).collect()
    }

    #[test]
    fn keys_do_what_the_help_lists() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str])] = &[
            ("q", &["Quit"]),
            ("stx", &["Split", "Trigger"]),
            ("b\n", &["bookmark "]),
            ("bquiet\n", &["bookmark quiet"]),
            ("büx\x7f\x7fy\n", &["bookmark y"]),
            ("ba\x1b", &[]),
            ("ba\x03\n", &["Quit", "bookmark a"]),
            // A recorder that is stopped by a slip of the finger loses what comes meanwhile.
            ("\x1a", &[]),
        ];
        for (typed, expected) in cases {
            let mut keyboard = Keyboard::none();
            assert_eq!(press(&mut keyboard, typed), *expected, "{typed:?}");
            assert_eq!(keyboard.note(), None, "{typed:?}");
        }
    }

    #[test]
    fn a_note_shows_while_it_is_written() {
        let mut keyboard = Keyboard::none();
        assert!(press(&mut keyboard, "bnear the ").is_empty());
        assert!(press(&mut keyboard, "wreck").is_empty());
        assert_eq!(keyboard.note(), Some("near the wreck"));
    }
}

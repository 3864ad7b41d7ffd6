//! A text that is drawn again and again, where there is a terminal.

use crate::output;
use std::io::IsTerminal as _;
use std::time::Duration;

/// How often a text is drawn again for people who watch.
pub(crate) const REFRESH: Duration = Duration::from_millis(500);

/// A terminal on which a text is drawn over the one before.
#[derive(Default)]
pub(crate) struct Screen {
    n_lines: usize,
}

impl Screen {
    /// The terminal, if there is one.
    pub(crate) fn watched() -> Option<Self> {
        std::io::stdout().is_terminal().then(Self::default)
    }

    /// Draws what fits, so that the cursor can find back.
    pub(crate) fn draw(&mut self, text: &str) -> anyhow::Result<()> {
        let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0));
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let lines: Vec<String> = text
            .lines()
            .take(height.saturating_sub(1))
            .map(|line| line.chars().take(width).collect())
            .collect();
        let frame = format!("{}{}\n", self.back(), lines.join("\n"));
        self.n_lines = lines.len();
        output::bytes(frame.as_bytes())
    }

    pub(crate) fn finish(&mut self, text: &str) -> anyhow::Result<()> {
        output::bytes(format!("{}{text}", self.back()).as_bytes())
    }

    /// Takes the cursor to the beginning of the last text, and that text away.
    fn back(&self) -> String {
        match self.n_lines {
            0 => String::new(),
            n => format!("\x1b[{n}A\x1b[J"),
        }
    }
}

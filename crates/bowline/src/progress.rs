//! A bar on the terminal for what takes longer than a second.

use crate::output;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

/// Nothing is shown before this.
const PATIENCE: Duration = Duration::from_secs(1);
const REFRESH: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

/// How far something is. It is shown on standard error, if that is a terminal, and taken away at the end.
pub(crate) struct Progress {
    doing: String,
    started: Option<Instant>,
    shown: Option<Instant>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a person's patience is one of the real clock"
)]
fn now() -> Instant {
    Instant::now()
}

impl Progress {
    pub(crate) fn new(doing: impl Into<String>) -> Self {
        Self {
            doing: doing.into(),
            started: io::stderr().is_terminal().then(now),
            shown: None,
        }
    }

    /// Takes note that so many bytes of so many are done.
    pub(crate) fn at(&mut self, done: u64, all: u64) {
        let Some(started) = self.started else {
            return;
        };
        let now = now();
        let due = self
            .shown
            .map_or(started + PATIENCE, |shown| shown + REFRESH);
        if now < due {
            return;
        }
        self.shown = Some(now);
        let ratio = if all == 0 {
            0.0
        } else {
            done as f64 / all as f64
        };
        let ratio = ratio.clamp(0.0, 1.0);
        let elapsed_s = now.duration_since(started).as_secs_f64();
        let left_s = elapsed_s / ratio.max(1e-6) - elapsed_s;
        let rate = done as f64 / 1e6 / elapsed_s;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the width"
        )]
        let n_full = (ratio * WIDTH as f64) as usize;
        let bar = format!("{}{}", "█".repeat(n_full), "░".repeat(WIDTH - n_full));
        output::status(&format!(
            "{} {bar} {:3.0} %  {rate:.0} MB/s  {left_s:.0} s left",
            self.doing,
            ratio * 100.0
        ));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            output::status("");
        }
    }
}

//! From bytes that a process printed to lines that people read: cut up, kept for a while, and published within bounds.
//!
//! It gets the time; knows no process, no file and no bus.

use bowline_component::Time;
use std::collections::VecDeque;

/// Lines that are kept for later requests...
pub(crate) const MAX_KEPT: usize = 500;
/// ...and their bytes.
const MAX_KEPT_BYTES: usize = 64 << 10;
/// Longer ones are cut up.
const MAX_LINE: usize = 1024;
/// Lines that are published in a second...
const LINES_PER_SECOND: u32 = 500;
/// ...and their bytes. As many may come at once after a silence.
const BYTES_PER_SECOND: u32 = 64 << 10;

/// The output of one process, over all its runs.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    kept: VecDeque<String>,
    n_kept_bytes: usize,
    /// Lines that were read so far.
    pub(crate) n_lines: i64,
    /// Those that were not published because there were too many.
    pub(crate) n_dropped: i64,
    budget: Option<Budget>,
    waiting: Vec<String>,
    first_waiting: i64,
}

/// What may be published, filled up as time passes.
#[derive(Clone, Copy, Debug)]
struct Budget {
    at: Time,
    n_lines: f64,
    n_bytes: f64,
}

/// Lines to be published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The number of the first.
    pub(crate) first: i64,
    pub(crate) lines: Vec<String>,
}

impl Lines {
    /// Takes what was read.
    pub(crate) fn add(&mut self, now: Time, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    self.extend(now, end);
                    self.complete(now);
                }
                None => self.extend(now, part),
            }
        }
    }

    /// The process has ended: its unfinished line is all that comes.
    pub(crate) fn end(&mut self, now: Time) {
        if !self.partial.is_empty() {
            self.complete(now);
        }
    }

    /// How much of a line is there that is not complete, bytes.
    pub(crate) fn n_partial(&self) -> usize {
        self.partial.len()
    }

    /// The last lines, at most so many.
    pub(crate) fn last(&self, n_lines: usize) -> Batch {
        let n_lines = n_lines.min(self.kept.len());
        let skipped = self.kept.len() - n_lines;
        Batch {
            first: self.n_lines - i64::try_from(n_lines).unwrap_or(0),
            lines: self.kept.iter().skip(skipped).cloned().collect(),
        }
    }

    /// What is to be published, taken away.
    pub(crate) fn publish(&mut self) -> Option<Batch> {
        let lines = std::mem::take(&mut self.waiting);
        (!lines.is_empty()).then_some(Batch {
            first: self.first_waiting,
            lines,
        })
    }

    fn extend(&mut self, now: Time, bytes: &[u8]) {
        let mut bytes = bytes;
        while self.partial.len() + bytes.len() > MAX_LINE {
            let (head, rest) = bytes.split_at(MAX_LINE - self.partial.len());
            self.partial.extend_from_slice(head);
            self.complete(now);
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
    }

    fn complete(&mut self, now: Time) {
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        // Strings on the wire end with a zero.
        let line = String::from_utf8_lossy(line).replace('\0', "\u{fffd}");
        self.partial.clear();
        let number = self.n_lines;
        self.n_lines += 1;
        if !self.allows(now, line.len()) {
            self.n_dropped += 1;
        } else {
            if self.waiting.is_empty() {
                self.first_waiting = number;
            }
            self.waiting.push(line.clone());
        }
        self.keep(line);
    }

    fn keep(&mut self, line: String) {
        self.n_kept_bytes += line.len();
        self.kept.push_back(line);
        while self.kept.len() > MAX_KEPT || self.n_kept_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                return;
            };
            self.n_kept_bytes -= oldest.len();
        }
    }

    fn allows(&mut self, now: Time, n_bytes: usize) -> bool {
        let (most_lines, most_bytes) = (f64::from(LINES_PER_SECOND), f64::from(BYTES_PER_SECOND));
        let budget = self.budget.get_or_insert(Budget {
            at: now,
            n_lines: most_lines,
            n_bytes: most_bytes,
        });
        let seconds = now.since(budget.at).as_secs_f64();
        budget.at = now;
        budget.n_lines = (budget.n_lines + seconds * most_lines).min(most_lines);
        budget.n_bytes = (budget.n_bytes + seconds * most_bytes).min(most_bytes);
        // Lines are short: they fit any number.
        let n_bytes = f64::from(u32::try_from(n_bytes).unwrap_or(u32::MAX));
        if budget.n_lines < 1.0 || budget.n_bytes < n_bytes {
            return false;
        }
        budget.n_lines -= 1.0;
        budget.n_bytes -= n_bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NOW: Time = Time::from_ns(7);

    #[test]
    fn bytes_become_lines_however_they_are_cut() {
        let text = "one\r\ntwo\n\nd\u{e9}j\u{e0} vu\nfour\0\n";
        let whole: Vec<String> = ["one", "two", "", "d\u{e9}j\u{e0} vu", "four\u{fffd}"]
            .map(str::to_owned)
            .to_vec();
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            for part in text.as_bytes().chunks(size) {
                lines.add(NOW, part);
            }
            let expected = Batch {
                first: 0,
                lines: whole.clone(),
            };
            assert_eq!(lines.publish(), Some(expected), "in parts of {size}");
            assert_eq!((lines.publish(), lines.n_partial()), (None, 0));
        }
    }

    #[test]
    fn what_is_not_complete_waits_for_the_rest_or_the_end() {
        let mut lines = Lines::default();
        lines.add(NOW, b"half");
        assert_eq!((lines.publish(), lines.n_partial()), (None, 4));
        lines.end(NOW);
        assert_eq!(lines.last(9).lines, ["half"]);
        lines.add(NOW, &[b'x'; 2 * MAX_LINE + 1]);
        assert_eq!(
            (lines.n_lines, lines.n_partial()),
            (3, 1),
            "without an end it is cut up"
        );
    }

    #[test]
    fn a_flood_is_kept_within_bounds_and_counted() {
        let mut lines = Lines::default();
        for n in 0..10_000 {
            lines.add(NOW, format!("{n}\n").as_bytes());
        }
        let published = lines.publish().expect("some of it").lines.len();
        assert_eq!(published, LINES_PER_SECOND as usize);
        assert_eq!(lines.n_dropped, 10_000 - i64::from(LINES_PER_SECOND));
        let last = lines.last(usize::MAX);
        assert_eq!((last.lines.len(), last.first), (MAX_KEPT, 9_500));
        assert_eq!(last.lines.last().map(String::as_str), Some("9999"));
        lines.add(NOW + Duration::from_secs(1), b"again\n");
        assert_eq!(lines.publish().expect("time has passed").first, 10_000);
    }
}

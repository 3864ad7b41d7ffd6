//! What waits for one client of a hub: whole frames, bounded.

use bytes::{Buf as _, Bytes};
use std::collections::VecDeque;
use std::io::IoSlice;

/// What a waiting frame costs beyond its bytes, about.
const OVERHEAD: usize = 64;
/// Frames for one call into the kernel.
const MAX_RUN: usize = 256;

/// Frames on their way out. Too many, and the oldest that was not begun goes: fresh data is worth more.
#[derive(Debug)]
pub(super) struct Outbox {
    frames: VecDeque<Bytes>,
    /// Whether the first frame is only the rest of one.
    is_begun: bool,
    cost: usize,
    limit: usize,
}

impl Outbox {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            is_begun: false,
            cost: 0,
            limit,
        }
    }

    /// Adds a frame; returns how many were dropped for it. One frame has room even if it is larger than all should be.
    pub(super) fn push(&mut self, frame: Bytes) -> u64 {
        let mut n_dropped = 0;
        let cost = frame.len() + OVERHEAD;
        while self.cost + cost > self.limit
            && let Some(oldest) = self.frames.remove(usize::from(self.is_begun))
        {
            self.cost -= oldest.len() + OVERHEAD;
            n_dropped += 1;
        }
        self.cost += cost;
        self.frames.push_back(frame);
        n_dropped
    }

    /// The frames to write next.
    pub(super) fn pieces(&self) -> Vec<IoSlice<'_>> {
        let frames = self.frames.iter().take(MAX_RUN);
        frames.map(|frame| IoSlice::new(frame)).collect()
    }

    /// So many bytes of the pieces were written; returns how many frames that finished.
    pub(super) fn advance(&mut self, mut n_written: usize) -> u64 {
        let mut n_finished = 0;
        while let Some(first) = self.frames.front_mut() {
            if n_written < first.len() {
                if n_written > 0 {
                    first.advance(n_written);
                    self.cost -= n_written;
                    self.is_begun = true;
                }
                break;
            }
            n_written -= first.len();
            self.cost -= first.len() + OVERHEAD;
            self.frames.pop_front();
            self.is_begun = false;
            n_finished += 1;
        }
        n_finished
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// About the bytes that wait.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(outbox: &mut Outbox, n: usize) -> Vec<u8> {
        let bytes: Vec<u8> = outbox
            .pieces()
            .iter()
            .flat_map(|piece| piece.to_vec())
            .take(n)
            .collect();
        outbox.advance(bytes.len());
        bytes
    }

    #[test]
    fn the_oldest_whole_frames_make_room_and_a_frame_is_never_cut() {
        let mut outbox = Outbox::new(3 * (4 + OVERHEAD));
        let dropped: u64 = ["aaaa", "bbbb", "cccc"]
            .map(|text| outbox.push(text.into()))
            .iter()
            .sum();
        assert_eq!(dropped, 0);
        assert_eq!(written(&mut outbox, 1), b"a");
        assert_eq!(outbox.push("dddd".into()), 1, "b, since a is begun");
        assert_eq!(
            outbox.push(Bytes::from(vec![b'e'; 1_000])),
            2,
            "a large one pushes out all others"
        );
        let rest = written(&mut outbox, usize::MAX);
        assert_eq!(rest.len(), 3 + 1_000);
        assert!(rest.starts_with(b"aaae"));
        assert!(outbox.is_empty());
        assert_eq!(outbox.cost(), 0);
    }

    #[test]
    fn finished_frames_are_counted() {
        let mut outbox = Outbox::new(1 << 20);
        for text in ["aa", "bbb", ""] {
            outbox.push(text.into());
        }
        assert_eq!(outbox.advance(1), 0);
        assert_eq!(outbox.advance(2), 1);
        assert_eq!(outbox.advance(2), 2);
        assert!(outbox.is_empty());
    }
}

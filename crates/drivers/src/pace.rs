//! How fast a simulated line is: bytes leave one after the other, in pieces, and never faster than the line allows.

use bowline_component::{Outbox, Output, Time};
use bowline_msgs::Serial;
use std::collections::VecDeque;
use std::time::Duration;

/// What a line holds back at most: more than the buffers of any UART.
const MAX_WAITING: usize = 8_192;

/// Bytes come in pieces of so long, as from the driver of a UART.
const PIECE: Duration = Duration::from_millis(10);

/// Bytes on their way out of a simulated device.
#[derive(Debug)]
pub(crate) struct Pace {
    byte: Duration,
    waiting: VecDeque<u8>,
    /// When the first of those that wait began to leave.
    began: Option<Time>,
    n_dropped: u64,
}

impl Pace {
    /// A byte has ten bits: one to begin with, eight, and one to end with.
    pub(crate) fn new(baud: i64) -> Self {
        let per_byte_ns = 10_000_000_000_u64 / u64::try_from(baud).unwrap_or(1).max(1);
        Self {
            byte: Duration::from_nanos(per_byte_ns.max(1)),
            waiting: VecDeque::new(),
            began: None,
            n_dropped: 0,
        }
    }

    /// Takes bytes to send, if there is room for all of them.
    pub(crate) fn push(&mut self, now: Time, bytes: &[u8]) -> bool {
        if self.waiting.len() + bytes.len() > MAX_WAITING {
            self.n_dropped += 1;
            return false;
        }
        if self.waiting.is_empty() {
            self.began = Some(now);
        }
        self.waiting.extend(bytes);
        true
    }

    /// How often there was no room.
    pub(crate) fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// What waits is lost.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.began = None;
    }

    /// Sends what has left by now, and asks to be called again when more has.
    pub(crate) fn run(&mut self, line_out: Output<Serial>, out: &mut Outbox<'_>) {
        let now = out.now();
        let Some(began) = self.began else {
            return;
        };
        let left = now.since(began).as_nanos() / self.byte.as_nanos();
        let n_bytes = usize::try_from(left).unwrap_or(usize::MAX);
        let n_bytes = n_bytes.min(self.waiting.len());
        // A piece, or the end of what there is to send.
        let n_piece = usize::try_from(PIECE.as_nanos() / self.byte.as_nanos()).unwrap_or(1);
        let n_wanted = n_piece.max(1).min(self.waiting.len());
        if n_bytes >= n_wanted {
            let bytes = self.waiting.drain(..n_bytes).collect();
            let serial = Serial {
                utime: now.utime(),
                bytes,
                ..Serial::default()
            };
            out.send(line_out, serial.with_lengths());
            let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
            self.began = Some(began + self.byte * n_bytes);
        }
        match self.waiting.len() {
            0 => self.began = None,
            n_waiting => {
                let n_next = u32::try_from(n_piece.max(1).min(n_waiting)).unwrap_or(u32::MAX);
                let began = self.began.unwrap_or(now);
                out.wake_at(began + self.byte * n_next);
            }
        }
    }
}

//! What goes to the hub: whole messages, one call for each run of them, and never for ever.

use crate::clock;
use crate::sys;
use crate::transport::{Outgoing, SendError};
use bowline_wire::tcpq::{self, Limits};
use bytes::BytesMut;
use socket2::Socket;
use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::time::Duration;

/// How long a hub may take nothing at all before a publisher gets an error.
const MAX_BUSY: Duration = Duration::from_secs(1);
/// Messages for one call: the kernel takes 1,024 pieces, and each message is two.
const MAX_RUN: usize = 512;

/// One connection's way out.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// What the hub has to get before anything else: the hello, subscriptions, and the rest of a message that was cut
    /// by its patience. Never more than those.
    unsent: BytesMut,
    /// Scratch space for headers.
    headers: Vec<u8>,
    /// The subscriptions that the hub has.
    told: BTreeSet<String>,
}

/// Why a connection did not take messages.
#[derive(Debug)]
pub(super) enum WriteError {
    /// It did not, but may later.
    Refused(SendError),
    /// It is gone.
    Broken(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl Writer {
    /// Puts bytes before everything that follows.
    pub(super) fn enqueue(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends changed subscriptions to the hub. Returns whether there is anything new.
    pub(super) fn tell(&mut self, wanted: &BTreeSet<String>) -> bool {
        self.headers.clear();
        // Patterns are longer than any peer can count at two gigabytes; then the hub goes without, and so do we.
        for gone in self.told.difference(wanted) {
            drop(tcpq::write_unsubscribe(gone, &mut self.headers));
        }
        let mut has_new = false;
        for new in wanted.difference(&self.told) {
            drop(tcpq::write_subscribe(new, &mut self.headers));
            has_new = true;
        }
        self.unsent.extend_from_slice(&self.headers);
        self.told.clone_from(wanted);
        has_new
    }

    /// Writes what waits, as far as the kernel takes it without waiting; returns whether that is all.
    pub(super) fn flush(&mut self, socket: &Socket) -> io::Result<bool> {
        while !self.unsent.is_empty() {
            match sys::write_stream(socket.as_fd(), &[IoSlice::new(&self.unsent)]) {
                Ok(n_written) => drop(self.unsent.split_to(n_written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.unsent = BytesMut::new();
        Ok(true)
    }

    /// [`flush`](Self::flush) that waits, but not for ever.
    pub(super) fn flush_patiently(&mut self, socket: &Socket) -> Result<(), WriteError> {
        while !self.flush(socket)? {
            wait_for_room(socket)?;
        }
        Ok(())
    }

    /// Writes messages. When the hub takes nothing for too long, the rest is refused; what was begun of a message is
    /// finished before anything else, so that the hub never sees half of one.
    pub(super) fn send(
        &mut self,
        socket: &Socket,
        messages: &[Outgoing<'_>],
    ) -> Result<(), WriteError> {
        check_sizes(messages).map_err(WriteError::Refused)?;
        self.flush_patiently(socket)?;
        for run in messages.chunks(MAX_RUN) {
            self.send_run(socket, run)?;
        }
        Ok(())
    }

    fn send_run(&mut self, socket: &Socket, run: &[Outgoing<'_>]) -> Result<(), WriteError> {
        let Self {
            headers, unsent, ..
        } = self;
        headers.clear();
        let mut ends = Vec::with_capacity(run.len());
        for message in run {
            // The sizes were checked.
            drop(tcpq::write_publish_header(
                message.channel,
                message.payload.len(),
                headers,
            ));
            ends.push(headers.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut pieces = Vec::with_capacity(2 * run.len());
        for ((start, end), message) in starts.zip(&ends).zip(run) {
            pieces.push(IoSlice::new(headers.get(start..*end).unwrap_or_default()));
            pieces.push(IoSlice::new(message.payload));
        }
        let mut left = pieces.as_mut_slice();
        // What of the message at the front is out already.
        let mut n_begun = 0;
        loop {
            IoSlice::advance_slices(&mut left, 0);
            if left.is_empty() {
                return Ok(());
            }
            match sys::write_stream(socket.as_fd(), left) {
                Ok(n_written) => {
                    n_begun += n_written;
                    IoSlice::advance_slices(&mut left, n_written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let Err(error) = wait_for_room(socket) else {
                        continue;
                    };
                    let sizes = run.iter().zip(starts_of(&ends));
                    let sizes = sizes.map(|(message, header)| header + message.payload.len());
                    keep(left, unfinished(sizes, n_begun), unsent);
                    return Err(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The lengths of headers that end there.
fn starts_of(ends: &[usize]) -> impl Iterator<Item = usize> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start)
}

/// How many bytes are missing of the message that was being written, when `n_written` of all are.
fn unfinished(sizes: impl Iterator<Item = usize>, n_written: usize) -> usize {
    let mut end = 0;
    for size in sizes {
        if n_written <= end {
            break;
        }
        end += size;
    }
    end.saturating_sub(n_written)
}

/// Copies the first `count` bytes of the pieces.
fn keep(pieces: &[IoSlice<'_>], mut count: usize, into: &mut BytesMut) {
    for piece in pieces {
        let part = piece.get(..count.min(piece.len())).unwrap_or_default();
        into.extend_from_slice(part);
        count -= part.len();
    }
}

fn wait_for_room(socket: &Socket) -> Result<(), WriteError> {
    let started = clock::monotonic();
    loop {
        let waited = clock::monotonic().duration_since(started);
        if waited >= MAX_BUSY {
            return Err(WriteError::Refused(SendError::Busy { waited }));
        }
        if sys::poll_write(socket.as_fd(), MAX_BUSY - waited)? {
            return Ok(());
        }
    }
}

fn check_sizes(messages: &[Outgoing<'_>]) -> Result<(), SendError> {
    let limit = Limits::default().payload_len;
    let mut sizes = messages.iter().map(|message| message.payload.len());
    match sizes.find(|size| *size > limit) {
        Some(size) => Err(SendError::TooLarge { size, limit }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_was_begun_is_finished() {
        for (n_written, expected) in [(0, 0), (1, 9), (9, 1), (10, 0), (11, 19), (30, 0), (31, 4)] {
            let sizes = [10, 20, 5].into_iter();
            assert_eq!(unfinished(sizes, n_written), expected, "{n_written}");
        }
        let mut kept = BytesMut::new();
        let pieces = [
            IoSlice::new(b"abc"),
            IoSlice::new(b"defg"),
            IoSlice::new(b"h"),
        ];
        keep(&pieces, 5, &mut kept);
        assert_eq!(&kept[..], b"abcde");
    }

    #[test]
    fn hub_receives_changes_of_subscriptions() {
        let mut writer = Writer::default();
        let set = |patterns: &[&str]| patterns.iter().map(|&text| text.to_owned()).collect();
        assert!(writer.tell(&set(&["A", "B"])));
        assert!(!writer.tell(&set(&["A", "B"])));
        assert!(!writer.tell(&set(&["B"])));
        assert!(writer.tell(&set(&["B", "C"])));
        let mut expected = Vec::new();
        for new in ["A", "B"] {
            tcpq::write_subscribe(new, &mut expected).unwrap();
        }
        tcpq::write_unsubscribe("A", &mut expected).unwrap();
        tcpq::write_subscribe("C", &mut expected).unwrap();
        assert_eq!(&writer.unsent[..], expected);
    }
}

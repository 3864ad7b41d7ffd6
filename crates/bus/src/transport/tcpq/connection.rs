//! A connection to a hub: both directions, each with a lock of its own.

use super::frames::{BadStream, FrameReader, WholeFrame};
use super::writer::{WriteError, Writer};
use crate::clock;
use crate::event::{Arrival, Sender};
use crate::router::{Body, Inlet};
use crate::sys;
use crate::transport::Outgoing;
use bowline_wire::tcpq::{CONFIRM_PREFIX, CONFIRMING_VERSION, Limits, Side, write_subscribe};
use socket2::Socket;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many reads in a row before control goes back.
const MAX_READS: usize = 8;

/// What came from all connections of a transport.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) frames: AtomicU64,
    pub(super) malformed: AtomicU64,
    pub(super) reconnects: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    reader: Mutex<FrameReader>,
    writer: Mutex<Writer>,
    /// Whether the writer holds something back. Known without its lock, which a publisher may hold for a while.
    has_unsent: AtomicBool,
    /// What the hub is: 0 before its hello, then 1 and its version.
    hub: AtomicU64,
    /// The last question that was asked, and the last that was answered.
    asked: AtomicU64,
    confirmed: AtomicU64,
}

/// Why a connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionLost {
    #[error("the hub closed the connection")]
    Closed,
    #[error(transparent)]
    Stream(#[from] BadStream),
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Connection {
    /// Sends the hello, and the subscriptions.
    pub(super) fn new(socket: Socket, wanted: &BTreeSet<String>) -> Self {
        let connection = Self {
            socket,
            reader: Mutex::new(FrameReader::new(Side::Server, Limits::default())),
            writer: Mutex::default(),
            has_unsent: AtomicBool::new(false),
            hub: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
        };
        let mut writer = connection.writer();
        writer.enqueue(&Side::Client.hello());
        writer.tell(wanted);
        // What is wrong with it shows at the next read.
        drop(connection.flush_locked(&mut writer));
        drop(writer);
        connection
    }

    /// Sends changed subscriptions to the hub; returns whether anything is new.
    pub(super) fn tell(&self, wanted: &BTreeSet<String>) -> io::Result<bool> {
        let mut writer = self.writer();
        let has_new = writer.tell(wanted);
        self.flush_locked(&mut writer)?;
        Ok(has_new)
    }

    pub(super) fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), WriteError> {
        let mut writer = self.writer();
        let sent = writer.send(&self.socket, messages);
        if sent.is_err() {
            self.flush_locked(&mut writer)?;
        } else {
            self.has_unsent.store(false, Ordering::Release);
        }
        sent
    }

    /// Whether writing has to go on when there is room.
    pub(super) fn has_unsent(&self) -> bool {
        self.has_unsent.load(Ordering::Acquire)
    }

    /// Goes on writing, unless another thread does.
    pub(super) fn flush(&self) -> io::Result<()> {
        match self.writer.try_lock() {
            Ok(mut writer) => self.flush_locked(&mut writer),
            Err(_busy) => Ok(()),
        }
    }

    /// Waits, but not for ever, until everything is written.
    pub(super) fn finish(&self) {
        // There is no hub left to send to.
        drop(self.writer().flush_patiently(&self.socket));
    }

    fn flush_locked(&self, writer: &mut Writer) -> io::Result<()> {
        let is_all = writer.flush(&self.socket)?;
        self.has_unsent.store(!is_all, Ordering::Release);
        Ok(())
    }

    /// Takes what waits at the socket and hands it in; without an inlet, it is only counted.
    pub(super) fn read(
        &self,
        mut inlet: Option<&mut Inlet>,
        tallies: &Tallies,
    ) -> Result<(), ConnectionLost> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_READS {
            let (buffer, max) = reader.room();
            match sys::read_stream(self.socket.as_fd(), buffer, max) {
                Ok(0) => return Err(ConnectionLost::Closed),
                // Less than asked for is all there was.
                Ok(count) => {
                    self.take(&mut reader, inlet.as_deref_mut(), tallies)?;
                    if count < max {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn take(
        &self,
        reader: &mut FrameReader,
        mut inlet: Option<&mut Inlet>,
        tallies: &Tallies,
    ) -> Result<(), ConnectionLost> {
        let arrival = Arrival {
            received_ns: clock::wall_ns(),
            sender: Sender::Hub,
            sequence: None,
        };
        loop {
            let next = reader.next();
            if let Some(version) = reader.version() {
                self.hub
                    .store(1 << 32 | u64::from(version), Ordering::Release);
            }
            let message = match next {
                Ok(Some(WholeFrame::Publish(message))) => message,
                // Only clients subscribe; a hub that does is harmless.
                Ok(Some(WholeFrame::Subscribe(_) | WholeFrame::Unsubscribe(_))) => continue,
                Ok(Some(WholeFrame::Unusable(_))) => {
                    tallies.malformed.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    tallies.malformed.fetch_add(1, Ordering::Relaxed);
                    return Err(error.into());
                }
            };
            if let Some(question) = message.channel().strip_prefix(CONFIRM_PREFIX) {
                let question = question.parse().unwrap_or(0);
                self.confirmed.fetch_max(question, Ordering::AcqRel);
                continue;
            }
            tallies.frames.fetch_add(1, Ordering::Relaxed);
            let Some(inlet) = inlet.as_deref_mut() else {
                continue;
            };
            let body = match message.large_payload() {
                Some(payload) => Body::Owned(payload),
                None => Body::Borrowed(message.payload()),
            };
            inlet.deliver(message.channel(), body, arrival);
        }
    }

    /// What is known of the hub.
    pub(super) fn hub(&self) -> HubKind {
        match self.hub.load(Ordering::Acquire) {
            0 => HubKind::Unknown,
            hub if hub == (1 << 32 | u64::from(CONFIRMING_VERSION)) => HubKind::Confirming,
            _ => HubKind::Plain,
        }
    }

    /// Asks the hub to confirm when it has dealt with everything so far; the answer is at least this number.
    pub(super) fn ask(&self) -> io::Result<u64> {
        let question = 1 + self.asked.fetch_add(1, Ordering::AcqRel);
        let mut frame = Vec::new();
        write_subscribe(&format!("{CONFIRM_PREFIX}{question}"), &mut frame)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let mut writer = self.writer();
        writer.enqueue(&frame);
        self.flush_locked(&mut writer)?;
        Ok(question)
    }

    pub(super) fn is_confirmed(&self, question: u64) -> bool {
        self.confirmed.load(Ordering::Acquire) >= question
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a hub can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubKind {
    /// It has not sent its hello yet.
    Unknown,
    /// LCM's.
    Plain,
    /// Ours: it confirms when subscriptions are in force.
    Confirming,
}

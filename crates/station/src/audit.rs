//! What people did: to a log of its own, and onto the bus, so that it is recorded beside what vehicles did.
//!
//! Nobody waits for a disk before a vehicle is stopped: what is to be written goes through a bounded queue to a thread.
//! What does not fit is counted, and the count is on every page.

use bowline_bus::Bus;
use bowline_log::{LogEvent, Schemas, WriteError, Writer, WriterOptions};
use bowline_msgs::Audit;
use bowline_wire::Message as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Where it is said on the bus.
const CHANNEL: &str = "station.audit";
/// What may wait for the disk: half a minute of direct control by five people.
const MAX_WAITING: usize = 4_096;

/// Writes down what people do.
#[derive(Debug)]
pub(crate) struct Auditor {
    queue: Option<SyncSender<Box<Audit>>>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
}

impl Auditor {
    /// Begins a log, and says everything on the bus too, if there is one.
    pub(crate) fn begin(path: Option<&Path>, bus: Option<Bus>) -> Result<Self, WriteError> {
        let writer = path.map(|path| Writer::create_new(path, WriterOptions::default()));
        let mut writer = writer.transpose()?;
        if let Some(writer) = &mut writer {
            writer.add_schemas(&Schemas::of_bowline());
        }
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let counts = Arc::new(Counts::default());
        let counting = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || write(&waiting, writer, bus.as_ref(), &counting));
        Ok(Self {
            queue: Some(queue),
            // Without a thread the queue is closed, and everything is counted as lost.
            thread: thread.ok(),
            counts,
        })
    }

    pub(crate) fn note(&self, audit: Audit) {
        let Some(queue) = &self.queue else {
            return;
        };
        if queue.try_send(Box::new(audit)).is_err() {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How much was written, and how much was not.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let Counts { written, lost } = &*self.counts;
        (
            written.load(Ordering::Relaxed),
            lost.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was told by the hook.
            drop(thread.join());
        }
    }
}

fn write(
    waiting: &Receiver<Box<Audit>>,
    mut writer: Option<Writer>,
    bus: Option<&Bus>,
    counts: &Counts,
) {
    for audit in waiting {
        if let Some(bus) = bus {
            // The bus counts what it does not take.
            drop(bus.publish(CHANNEL, &*audit));
        }
        let written = writer.as_mut().map(|writer| put(writer, &audit));
        match written {
            Some(Err(_)) => counts.lost.fetch_add(1, Ordering::Relaxed),
            Some(Ok(())) | None => counts.written.fetch_add(1, Ordering::Relaxed),
        };
    }
    if let Some(mut writer) = writer
        && writer.finish().is_err()
    {
        counts.lost.fetch_add(1, Ordering::Relaxed);
    }
}

fn put(writer: &mut Writer, audit: &Audit) -> Result<(), WriteError> {
    let payload = audit.encode().unwrap_or_default();
    writer.write(LogEvent {
        number: 0,
        utime: audit.utime,
        nanos: 0,
        channel: CHANNEL,
        payload: &payload,
    })?;
    // What a person did is on the disk before they can do the next thing.
    writer.flush()
}

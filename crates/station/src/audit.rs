//! What people did: to a log of its own, and onto the bus, so that it is recorded beside what vehicles did.
//!
//! ```text
//!  note ─▶ Tray, bounded and shared fairly ─▶ thread ─▶ Scribe: the log, which may be refused ─▶ bus
//! ```
//!
//! No stop of a vehicle waits for a disk: what is to be written goes through a bounded queue to a thread.
//! What does not fit is counted, and the count is on every page.

mod scribe;
mod tray;

use crate::station::StartError;
use bowline_bus::Bus;
use bowline_host::clock;
use bowline_log::{Schemas, Writer, WriterOptions};
use bowline_msgs::Audit;
use scribe::Scribe;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tray::Tray;

/// The channel of audit records on the bus.
const CHANNEL: &str = "station.audit";
/// About how long it takes until what was written survives a loss of power, and until a disk is asked again that
/// refused.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Writes down what people do.
#[derive(Debug)]
pub(crate) struct Auditor {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// Shared by those who note something and the thread that writes it.
#[derive(Debug, Default)]
struct Desk {
    tray: Mutex<Tray>,
    is_filled: Condvar,
    /// In the log, or on the bus where there is none.
    written: AtomicU64,
    /// That the tray had no room for, and that the log did not take.
    unnoted: AtomicU64,
    unwritten: AtomicU64,
}

impl Auditor {
    /// Begins a log, and publishes everything on the bus too, if there is one.
    pub(crate) fn begin(path: Option<&Path>, bus: Option<Bus>) -> Result<Self, StartError> {
        let writer = path.map(|path| Writer::create_new(path, WriterOptions::default()));
        Self::over(writer.transpose()?, bus)
    }

    fn over(mut writer: Option<Writer>, bus: Option<Bus>) -> Result<Self, StartError> {
        if let Some(writer) = &mut writer {
            writer.add_schemas(&Schemas::generated(bowline_msgs::SCHEMA));
        }
        let desk = Arc::new(Desk::default());
        let shared = Arc::clone(&desk);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || shared.work(Scribe::new(writer), bus.as_ref()));
        Ok(Self {
            desk,
            thread: Some(thread.map_err(StartError::Threads)?),
        })
    }

    pub(crate) fn note(&self, audit: Audit) {
        let n_lost = self.desk.tray().put(audit);
        self.desk.unnoted.fetch_add(n_lost, Ordering::Relaxed);
        self.desk.is_filled.notify_one();
    }

    /// How much was written, and how much was not and will not be.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let desk = &self.desk;
        let lost = load(&desk.unnoted) + load(&desk.unwritten);
        (load(&desk.written), lost)
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.desk.tray().close();
        self.desk.is_filled.notify_one();
        if let Some(thread) = self.thread.take() {
            // The hook has reported a panic there.
            drop(thread.join());
        }
    }
}

impl Desk {
    fn tray(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until there is nothing more to come.
    fn work(&self, mut scribe: Scribe, bus: Option<&Bus>) {
        let clock = clock::Live::new();
        let mut sync_at = clock.now();
        while let Some(audits) = self.wait(&scribe) {
            for audit in &audits {
                scribe.put(audit);
            }
            // With the system before it is confirmed, so that it outlives this program.
            scribe.flush();
            if let Some(bus) = bus {
                for audit in &audits {
                    // The bus counts what it does not take.
                    drop(bus.publish(CHANNEL, audit));
                }
            }
            self.count(&scribe);
            if clock.now() >= sync_at {
                scribe.sync();
                sync_at = clock.now() + SYNC_EVERY;
            }
        }
        scribe.finish();
        self.count(&scribe);
    }

    /// What is to be written; nothing if it is time to look after what was. `None` at the end.
    fn wait(&self, scribe: &Scribe) -> Option<Vec<Audit>> {
        let is_idle = |tray: &mut Tray| tray.is_idle();
        let tray = self.tray();
        let mut tray = if scribe.is_done() {
            let waited = self.is_filled.wait_while(tray, is_idle);
            waited.unwrap_or_else(PoisonError::into_inner)
        } else {
            let waited = self.is_filled.wait_timeout_while(tray, SYNC_EVERY, is_idle);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        tray.take()
    }

    fn count(&self, scribe: &Scribe) {
        self.written.store(scribe.n_written, Ordering::Relaxed);
        self.unwritten.store(scribe.n_lost, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_log::Reader;
    use bowline_wire::Message as _;

    #[test]
    fn published_action_is_in_the_log_already() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.mcap");
        let bus = Bus::open("memq://").unwrap();
        let heard = bus.events(CHANNEL).unwrap();
        let auditor = Auditor::begin(Some(&path), Some(bus)).unwrap();
        for n in 1..=20 {
            auditor.note(Audit {
                action: n.to_string(),
                ..Audit::default()
            });
            let patience = Duration::from_secs(20);
            let (_, event) = heard.recv_timeout(patience).unwrap().expect("an audit");
            let said = Audit::decode(&event.payload).unwrap();
            let mut reader = Reader::open(&path).unwrap();
            let mut is_found = false;
            while let Some(event) = reader.next_event().unwrap() {
                is_found |= event.channel == CHANNEL
                    && Audit::decode(event.payload).unwrap().action == said.action;
            }
            assert!(is_found, "{n}");
        }
    }

    #[test]
    fn nothing_is_lost_when_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.mcap");
        let auditor = Auditor::begin(Some(&path), None).unwrap();
        for _ in 0..1_000 {
            auditor.note(Audit::default());
        }
        let desk = Arc::clone(&auditor.desk);
        drop(auditor);
        assert_eq!(desk.written.load(Ordering::Relaxed), 1_000);
        assert_eq!(desk.unwritten.load(Ordering::Relaxed), 0);
    }
}

//! Into the log, as far as the disk takes it.

use super::CHANNEL;
use bowline_log::{LogEvent, Writer};
use bowline_msgs::Audit;
use bowline_wire::Message as _;
use std::collections::VecDeque;

/// What may wait for a disk that refuses. What comes then is lost, and counted.
const MAX_PENDING: usize = 4 << 20;

/// Writes entries, and knows what became of them.
#[derive(Debug)]
pub(super) struct Scribe {
    writer: Option<Writer>,
    /// The numbers of entries that the system has not taken.
    untaken: VecDeque<i64>,
    is_synced: bool,
    pub(super) n_written: u64,
    pub(super) n_lost: u64,
}

impl Scribe {
    pub(super) fn new(writer: Option<Writer>) -> Self {
        Self {
            writer,
            untaken: VecDeque::new(),
            is_synced: true,
            n_written: 0,
            n_lost: 0,
        }
    }

    /// Adds an entry.
    pub(super) fn put(&mut self, audit: &Audit) {
        let Some(writer) = &mut self.writer else {
            self.n_written += 1;
            return;
        };
        if writer.n_pending() > MAX_PENDING {
            self.n_lost += 1;
            return;
        }
        let payload = audit.encode().unwrap_or_default();
        let written = writer.write(LogEvent {
            number: 0,
            utime: audit.utime,
            nanos: 0,
            channel: CHANNEL,
            payload: &payload,
        });
        match written {
            Ok(number) => self.untaken.push_back(number),
            Err(_) => self.n_lost += 1,
        }
    }

    /// Hands everything to the system: it survives the end of this program then.
    pub(super) fn flush(&mut self) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        // A disk that refuses is asked again; what it has taken is counted.
        drop(writer.flush());
        self.is_synced &= self.untaken.is_empty();
        self.settle();
    }

    /// Has it on the disk: it survives a loss of power then.
    pub(super) fn sync(&mut self) {
        if let Some(writer) = &mut self.writer
            && !self.is_synced
        {
            self.is_synced = writer.sync().is_ok();
            self.settle();
        }
    }

    fn settle(&mut self) {
        let n_taken = self.writer.as_ref().map_or(0, Writer::n_taken);
        while self.untaken.pop_front_if(|it| *it < n_taken).is_some() {
            self.n_written += 1;
        }
    }

    /// Whether nothing is left to be done with what was written.
    pub(super) fn is_done(&self) -> bool {
        self.untaken.is_empty() && self.is_synced
    }

    /// Ends the log. What it has not taken now is lost.
    pub(super) fn finish(&mut self) {
        if let Some(writer) = &mut self.writer {
            // What was not taken is counted.
            drop(writer.finish());
            self.settle();
            self.n_lost += self.untaken.len() as u64;
            self.untaken.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_log::WriterOptions;
    use bowline_testing::random::Random;
    use std::path::Path;

    /// Bytes that do not compress.
    fn audit(random: &mut Random) -> Audit {
        let message: Vec<u8> = (0..8_192).map(|_| random.byte()).collect();
        Audit {
            utime: 1,
            n_bytes: i32::try_from(message.len()).unwrap(),
            message,
            ..Audit::default()
        }
    }

    #[test]
    fn a_full_disk_costs_bounded_memory_and_every_loss_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.mcap");
        std::os::unix::fs::symlink(Path::new("/dev/full"), &path).unwrap();
        let writer = Writer::create(&path, WriterOptions::default()).unwrap();
        let mut scribe = Scribe::new(Some(writer));
        let mut random = Random::new(1);
        for n in 1..=2_000 {
            scribe.put(&audit(&mut random));
            scribe.flush();
            scribe.sync();
            let pending = scribe.writer.as_ref().unwrap().n_pending();
            assert!(pending < MAX_PENDING + (64 << 10), "{pending}");
            assert_eq!(scribe.n_written, 0);
            assert_eq!(scribe.n_lost + scribe.untaken.len() as u64, n);
        }
        assert!(!scribe.is_done(), "the disk is asked again");
        scribe.finish();
        assert_eq!((scribe.n_written, scribe.n_lost), (0, 2_000));
    }

    #[test]
    fn what_the_disk_takes_is_written_and_synced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.mcap");
        let writer = Writer::create_new(&path, WriterOptions::default()).unwrap();
        let mut scribe = Scribe::new(Some(writer));
        scribe.put(&audit(&mut Random::new(1)));
        assert_eq!(scribe.n_written, 0, "it is not with the system yet");
        scribe.flush();
        assert_eq!(scribe.n_written, 1);
        assert!(!scribe.is_done(), "it is to be synced");
        scribe.sync();
        assert!(scribe.is_done());
    }
}

//! A place in the plan, with the run that fills it and what that printed.

use super::capture::Capture;
use super::lines::Lines;
use super::plan::ProcessSpec;
use super::process::{Run, SpawnError};
use super::state::Child;
use super::usage::Usage;
use crate::clock::Epoch;
use bowline_component::Time;

/// How much is read at a time, bytes...
pub(crate) const CHUNK: usize = 64 << 10;
/// ...and how often at one look, so that one that floods does not keep the others waiting.
const MAX_CHUNKS: usize = 16;

/// A process of the plan, as it is in the system.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) run: Option<Run>,
    capture: Option<Capture>,
    pub(crate) lines: Lines,
    pub(crate) started_utime: i64,
    pub(crate) usage: Usage,
    /// What its components report about their health, if that is not good.
    pub(crate) health: String,
    pub(crate) alarm_since: Option<Time>,
    n_skipped_before: u64,
}

impl Slot {
    /// Starts a run. Its number.
    pub(crate) fn spawn(
        &mut self,
        now: Time,
        spec: &ProcessSpec,
        mark: String,
        epoch: Epoch,
    ) -> Result<i32, SpawnError> {
        let capture = Capture::new().map_err(SpawnError::Capture)?;
        let run = Run::spawn(spec, mark, epoch, &capture)?;
        let pid = run.pid.as_raw_nonzero().get();
        self.fill(now.utime(), run, Some(capture));
        Ok(pid)
    }

    /// Takes over a run that was started by a supervisor that is gone.
    /// Output of so many bytes was given back unread meanwhile.
    pub(crate) fn adopt(&mut self, child: &Child, run: Run, n_skipped: u64) {
        // A process with both of its outputs redirected is not read.
        let capture = Capture::reopen(run.pid).ok();
        self.fill(child.started_utime, run, capture);
        self.n_skipped_before += n_skipped;
    }

    fn fill(&mut self, started_utime: i64, run: Run, capture: Option<Capture>) {
        self.n_skipped_before = self.n_skipped();
        self.started_utime = started_utime;
        self.run = Some(run);
        self.capture = capture;
        self.usage = Usage::default();
        self.health.clear();
    }

    /// Nothing of the run is left, but for its last output.
    pub(crate) fn empty(&mut self, now: Time, buffer: &mut [u8]) {
        self.read(now, buffer);
        self.lines.end(now);
        self.n_skipped_before = self.n_skipped();
        self.run = None;
        self.capture = None;
        self.usage = Usage::default();
        self.health.clear();
        self.started_utime = 0;
    }

    /// Reads what was printed since, with the help of a buffer.
    pub(crate) fn read(&mut self, now: Time, buffer: &mut [u8]) {
        let Some(capture) = &mut self.capture else {
            return;
        };
        for _ in 0..MAX_CHUNKS {
            // A file in memory can be read.
            let Ok(read) = capture.read(buffer) else {
                return;
            };
            if read.is_empty() {
                break;
            }
            self.lines.add(now, read);
        }
    }

    /// Gives back the memory of what was read. To be called when it was published: until then, the next supervisor
    /// still finds it.
    pub(crate) fn free(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.free(self.lines.n_partial());
        }
    }

    /// Output that was not even looked at, bytes.
    pub(crate) fn n_skipped(&self) -> u64 {
        let skipped = self.capture.as_ref().map_or(0, |it| it.n_skipped);
        self.n_skipped_before + skipped
    }

    /// What the next supervisor needs to know.
    pub(crate) fn child(&self, spec: &ProcessSpec) -> Option<Child> {
        let run = self.run.as_ref()?;
        Some(Child {
            name: spec.name.clone(),
            pid: run.pid.as_raw_nonzero().get(),
            start_ticks: run.start_ticks,
            mark: run.mark.clone(),
            digest: spec.digest(),
            started_utime: self.started_utime,
            stop_signal: spec.stop_signal,
            grace: spec.grace,
        })
    }
}

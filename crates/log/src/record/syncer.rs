//! A thread that has files on the disk, since that may take a disk longer than a queue can wait.

use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Syncs one file at a time. Requests that come meanwhile are one.
#[derive(Debug)]
pub(super) struct Syncer {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    request: Option<Arc<File>>,
    error: Option<io::Error>,
    n_errors: u64,
    is_over: bool,
}

impl Syncer {
    pub(super) fn start() -> io::Result<Self> {
        let desk = Arc::<Desk>::default();
        let works_at = Arc::clone(&desk);
        let thread = std::thread::Builder::new()
            .name("bowline-sync".to_owned())
            .spawn(move || works_at.work())?;
        Ok(Self {
            desk,
            thread: Some(thread),
        })
    }

    /// Has what was written so far on the disk soon.
    pub(super) fn request(&self, file: &Arc<File>) {
        self.desk.lock().request = Some(Arc::clone(file));
        self.desk.changed.notify_one();
    }

    /// What went wrong since the last time, and how often ever.
    pub(super) fn take_error(&self) -> (Option<io::Error>, u64) {
        let mut state = self.desk.lock();
        (state.error.take(), state.n_errors)
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.desk.lock().is_over = true;
        self.desk.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            drop(thread.join());
        }
    }
}

impl Desk {
    fn work(&self) {
        while let Some(file) = self.next() {
            if let Err(error) = file.sync_data() {
                let mut state = self.lock();
                state.error = Some(error);
                state.n_errors += 1;
            }
        }
    }

    /// `None` when there will be no more.
    fn next(&self) -> Option<Arc<File>> {
        let is_idle = |state: &mut State| state.request.is_none() && !state.is_over;
        let idle = self.changed.wait_while(self.lock(), is_idle);
        idle.unwrap_or_else(PoisonError::into_inner).request.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

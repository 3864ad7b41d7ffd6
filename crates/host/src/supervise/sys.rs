//! What std has no safe spelling for: the signals that a child may get, and that it ends with its parent.
#![expect(
    unsafe_code,
    reason = "only between fork and exec can a child be rid of the blocked signals that it inherits, and ask to end with its parent"
)]

use nix::sys::signal::SigSet;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Has a child killed when the thread that starts it ends, as it does when its process is killed.
pub(crate) fn end_with_parent(command: &mut Command) {
    let ask = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: as below. This one makes a single call of prctl.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Lets a child get all signals, though its parent may have blocked some, to wait for them.
pub fn unblock_signals(command: &mut Command) {
    let unblock = || SigSet::empty().thread_set_mask().map_err(io::Error::from);
    // SAFETY: between fork and exec only functions may be called that are safe in a signal handler. This one makes a set
    // on the stack and a single call of pthread_sigmask, which is; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(unblock);
    }
}

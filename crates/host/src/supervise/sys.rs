//! What std has no safe spelling for: the signals that a child may get.
#![expect(
    unsafe_code,
    reason = "a child inherits its parent's blocked signals, and only between fork and exec can it be rid of them"
)]

use nix::sys::signal::SigSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Lets a child get all signals, though its parent may have blocked some, to wait for them.
pub fn unblock_signals(command: &mut Command) {
    let unblock = || SigSet::empty().thread_set_mask().map_err(io::Error::from);
    // SAFETY: between fork and exec only functions may be called that are safe in a signal handler. This one makes a set
    // on the stack and a single call of pthread_sigmask, which is; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(unblock);
    }
}

//! What C sees. The only place for `unsafe`.
//!
//! Each function checks its pointers for NULL, does its work in [`guarded`], and leaves the rest to safe code. What a
//! pointer that is not NULL points to is the caller's promise, as LCM's headers have it: a `lcm_t` of `lcm_create`
//! that was not destroyed, a `lcm_subscription_t` that was not unsubscribed, a string with its NUL.

#![expect(unsafe_code, reason = "C passes pointers and takes pointers")]

mod eventlog;
mod lcm;
mod stdio;

pub(crate) use lcm::Callback;

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what must not panic into C. What happened was printed by then; the caller gets `failure`.
fn guarded<T>(failure: T, body: impl FnOnce() -> T) -> T {
    // Nothing is used after a panic that could be half changed: locks are taken over as they are, by code that never
    // leaves anything half-way.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(failure)
}

/// A string of C; `None` for NULL.
///
/// # Safety
/// Anything else must end with a NUL, and live and stay the same during `'a`.
unsafe fn string<'a>(pointer: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })
}

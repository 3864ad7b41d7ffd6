//! The bytes of an object with a buffer, where Python's stable ABI has them.
//!
//! The stable ABI knows `Py_buffer` since Python 3.11 only. Since 3.2 it has the older function that is used here: that
//! gives the address, and lets go of the buffer at once. So a memoryview is held beside it, which does not let go.
#![expect(
    unsafe_code,
    reason = "memory of Python's objects is reached through a pointer"
)]

use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::ffi::{c_int, c_void};

unsafe extern "C" {
    /// Stable since Python 3.2, though headers have not named it since 3.10.
    fn PyObject_AsReadBuffer(
        object: *mut PyObject,
        buffer: *mut *const c_void,
        len: *mut Py_ssize_t,
    ) -> c_int;
}

/// The bytes behind a view. Fails where they are not in one piece.
pub(crate) fn bytes<'v>(view: &'v Bound<'_, PyMemoryView>) -> PyResult<&'v [u8]> {
    let mut start: *const c_void = std::ptr::null();
    let mut len: Py_ssize_t = 0;
    // SAFETY: the view is a live object, we are attached to Python, and both places can be written.
    let status = unsafe { PyObject_AsReadBuffer(view.as_ptr(), &raw mut start, &raw mut len) };
    if status != 0 {
        return Err(PyErr::fetch(view.py()));
    }
    let len = usize::try_from(len).unwrap_or(0);
    if start.is_null() || len == 0 {
        return Ok(&[]);
    }
    // SAFETY: `len` bytes are there, and stay: while a memoryview is alive its object may not free, move or resize
    // them, and a view that has handed out its address is released only by us, since it has no other owner. Another
    // thread may write to them meanwhile, as it may while a socket or a file takes them; then the message is a mixture,
    // which its owner asked for. Nothing but the message depends on their contents.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

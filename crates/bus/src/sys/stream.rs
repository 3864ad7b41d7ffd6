//! Streams, read into memory that need not be cleared first, and written from many pieces at once.

use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// What the kernel takes in one call.
const MAX_PIECES: usize = 1_024;

/// Appends what waits at a stream, at most `max` bytes, without waiting for more. None is the end of the stream.
pub(crate) fn read_stream(
    socket: BorrowedFd<'_>,
    buffer: &mut BytesMut,
    max: usize,
) -> io::Result<usize> {
    buffer.reserve(max);
    let spare = buffer.spare_capacity_mut();
    let max = max.min(spare.len());
    // SAFETY: pointer and size describe a part of the spare capacity, which the kernel only writes to.
    let code = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            spare.as_mut_ptr().cast(),
            max,
            libc::MSG_DONTWAIT,
        )
    };
    let Ok(count) = usize::try_from(code) else {
        return Err(io::Error::last_os_error());
    };
    let filled = buffer.len() + count.min(max);
    // SAFETY: the kernel wrote `count` bytes behind the first `len`, and no more than there was room for.
    unsafe { buffer.set_len(filled) };
    Ok(count)
}

/// Writes pieces to a stream in one call, as much as the kernel takes without waiting; returns how many bytes that were.
pub(crate) fn write_stream(socket: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all zeros is a valid header: no name, no buffers, no control.
    let mut message = unsafe { std::mem::zeroed::<libc::msghdr>() };
    // The kernel only reads what it sends; an `IoSlice` is an `iovec`, as its documentation promises.
    message.msg_iov = pieces.as_ptr().cast_mut().cast();
    message.msg_iovlen = pieces.len().min(MAX_PIECES);
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the header points at `pieces`, which live through the call.
    let code = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    usize::try_from(code).map_err(|_negative| io::Error::last_os_error())
}

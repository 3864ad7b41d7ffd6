//! Memory that is lent to be filled, and a descriptor that is lent to be waited for.

use iceoryx2::port::listener::Listener;
use iceoryx2::prelude::{FileDescriptorBased as _, ipc_threadsafe};
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

type Loan = SampleMutUninit<ipc_threadsafe::Service, [MaybeUninit<u8>], ()>;
type Filled = SampleMut<ipc_threadsafe::Service, [u8], ()>;

/// Fills a loan with `pieces`, one after the other. They must be as long as the loan; what is missing is zero.
pub(crate) fn fill(mut loan: Loan, pieces: &[&[u8]]) -> Filled {
    let mut rest = loan.payload_mut();
    for piece in pieces {
        let n_bytes = piece.len().min(rest.len());
        let (place, after) = rest.split_at_mut(n_bytes);
        place.write_copy_of_slice(piece.get(..n_bytes).unwrap_or_default());
        rest = after;
    }
    for byte in rest {
        byte.write(0);
    }
    // SAFETY: every byte was written above, by a piece or by the zeros after them.
    unsafe { loan.assume_init() }
}

/// What becomes readable when a listener is notified.
pub(crate) fn descriptor(listener: &Listener<ipc_threadsafe::Service>) -> BorrowedFd<'_> {
    // SAFETY: the number is only used for the borrow below, and it is not closed meanwhile.
    let number = unsafe { listener.file_descriptor().native_handle() };
    // SAFETY: the listener owns the descriptor, and is borrowed as long as the result.
    unsafe { BorrowedFd::borrow_raw(number) }
}

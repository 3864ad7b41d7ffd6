//! Memory that is lent to be filled, and a descriptor that is lent to be waited for.

use iceoryx2::port::listener::Listener;
use iceoryx2::prelude::{FileDescriptorBased as _, ipc_threadsafe};
use iceoryx2::sample_mut::SampleMut;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

type Loan = SampleMutUninit<ipc_threadsafe::Service, [MaybeUninit<u8>], ()>;
type Filled = SampleMut<ipc_threadsafe::Service, [u8], ()>;

/// Fills a loan: with `head`, and behind it with what `write` puts there; `None` if that returns that it could not.
pub(crate) fn fill(
    mut loan: Loan,
    head: &[u8],
    write: impl FnOnce(&mut [u8]) -> bool,
) -> Option<Filled> {
    let memory = loan.payload_mut();
    // SAFETY: a loan is a piece of a mapping, which the system hands over filled with zeros: each byte of it has a
    // value, that or one of an earlier message.
    let memory = unsafe { memory.assume_init_mut() };
    let (place, rest) = memory.split_at_mut_checked(head.len())?;
    place.copy_from_slice(head);
    // SAFETY: each byte has a value, as above.
    write(rest).then(|| unsafe { loan.assume_init() })
}

/// What becomes readable when a listener is notified.
pub(crate) fn descriptor(listener: &Listener<ipc_threadsafe::Service>) -> BorrowedFd<'_> {
    // SAFETY: the number is only used for the borrow below, and it is not closed meanwhile.
    let number = unsafe { listener.file_descriptor().native_handle() };
    // SAFETY: the listener owns the descriptor, and is borrowed as long as the result.
    unsafe { BorrowedFd::borrow_raw(number) }
}

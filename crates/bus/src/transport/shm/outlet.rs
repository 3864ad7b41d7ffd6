//! Where one bus publishes.

use super::credits::{Credits, Departure};
use super::place::Place;
use super::{FIRST_LEN, Ipc, MAX_BORROWED, MAX_PORTS, low_bits, write_head};
use crate::sys;
use crate::transport::SendError;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::{LoanError, SendError as DeliveryError};
use iceoryx2::prelude::{AllocationStrategy, BackpressureStrategy};
use std::fmt;
use std::io;
use std::time::Duration;

/// A publisher, and what it counts.
pub(super) struct Outlet {
    publisher: Publisher<Ipc, [u8], ()>,
    notifier: Notifier<Ipc>,
    /// Where publishers wait for receivers.
    credits: Option<Credits>,
    next_sequence: u64,
}

impl Outlet {
    pub(super) fn new(place: &Place) -> Result<Self, SendError> {
        let refused = |error: String| SendError::System(io::Error::other(error));
        // Every receiver's slots hold the newest of ours, so they are the same ones.
        let n_samples = place.slots + MAX_PORTS * MAX_BORROWED + 4;
        let publisher = place
            .messages
            .publisher_builder()
            .initial_max_slice_len(FIRST_LEN)
            .allocation_strategy(AllocationStrategy::PowerOfTwo)
            .backpressure_strategy(BackpressureStrategy::DiscardData)
            .override_sample_preallocation(move |worst_case| worst_case.min(n_samples))
            .create()
            .map_err(|error| refused(format!("no publisher: {error:?}")))?;
        let notifier = place.events.notifier_builder().create();
        let notifier = notifier.map_err(|error| refused(format!("no notifier: {error:?}")))?;
        let own = low_bits(publisher.id().value());
        let waiting = place.waiting.as_ref();
        let credits = waiting.map(|waiting| Credits::open(waiting, own, place.slots));
        Ok(Self {
            publisher,
            notifier,
            credits: credits.transpose().map_err(refused)?,
            next_sequence: 0,
        })
    }

    /// Sends a message whose `n_bytes` bytes `write` puts into shared memory, unless it returns that it could not.
    pub(super) fn send(
        &mut self,
        place: &Place,
        channel: &str,
        n_bytes: usize,
        write: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), SendError> {
        let mut head = [0; 96];
        let head_len = write_head(&mut head, self.next_sequence, channel);
        let head = head.get(..head_len).unwrap_or_default();
        let size = head_len + n_bytes;
        if let Some(credits) = &mut self.credits {
            let departure = Departure {
                messages: &place.messages,
                sequence: self.next_sequence,
                n_bytes: size,
            };
            let notifier = &self.notifier;
            credits.wait_for_room(&departure, || {
                // One that cannot be woken is waited for no longer than another.
                let _n_woken = notifier.notify();
            });
        }
        let loan = self.publisher.loan_slice_uninit(size);
        let loan = loan.map_err(|error| not_lent(error, size))?;
        if let Some(message) = sys::fill(loan, head, write) {
            message.send().map_err(not_delivered)?;
            self.next_sequence += 1;
        }
        Ok(())
    }

    /// Wakes receivers that sleep.
    pub(super) fn notify(&self) -> Result<(), SendError> {
        let notified = self.notifier.notify().map(drop);
        notified.map_err(|error| SendError::System(io::Error::other(error)))
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outlet({} sent)", self.next_sequence)
    }
}

fn not_lent(error: LoanError, size: usize) -> SendError {
    match error {
        LoanError::OutOfMemory | LoanError::ExceedsMaxLoans => SendError::Busy {
            waited: Duration::ZERO,
        },
        LoanError::ExceedsMaxLoanSize => SendError::TooLarge {
            size,
            limit: FIRST_LEN,
        },
        LoanError::InternalFailure => SendError::System(io::Error::other(error)),
    }
}

fn not_delivered(error: DeliveryError) -> SendError {
    SendError::System(io::Error::other(error))
}

//! A transport whose network is a queue: what is sent comes back, in order, once a thread reads.

use crate::kernel::{self, Shelf};
use crate::bus::OwnOptions;
use crate::router::{Body, Inlet, Interest};
use crate::transport::{
    Buffered, ListenError, Outgoing, ReceiveError, Selective, SendError, Transport, memq,
};
use crate::{Arrival, Bus, Bytes, Sender, Url, Wait};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Network {
    unread: Shelf<VecDeque<(String, Bytes)>>,
    /// How many reads ended for the flag alone.
    n_interrupted: Shelf<usize>,
    /// How many patterns it was last given.
    n_wanted: Shelf<usize>,
    is_pressed: bool,
}

impl Network {
    /// One whose buffer is always about to overflow.
    pub fn pressed() -> Self {
        Self {
            is_pressed: true,
            ..Self::default()
        }
    }

    /// Opens a bus on it.
    pub fn open(self) -> (Bus, Arc<Self>) {
        self.open_as("model://")
    }

    /// Opens a bus on it, with options.
    pub fn open_as(self, url: &str) -> (Bus, Arc<Self>) {
        let network = Arc::new(self);
        let url = Url::parse(url).expect("a scheme is enough");
        let (url, own) = OwnOptions::take(url).expect("the options are the bus's own");
        let bus = Bus::assemble(url, &memq::SCHEME, Arc::clone(&network) as _, &own);
        (bus.expect("the model refuses nothing"), network)
    }

    pub fn n_interrupted(&self) -> usize {
        *self.n_interrupted.get()
    }

    pub fn n_wanted(&self) -> usize {
        *self.n_wanted.get()
    }

    pub fn n_unread(&self) -> usize {
        self.unread.get().len()
    }

    fn take(&self) -> Option<(String, Bytes)> {
        self.unread.get().pop_front()
    }
}

enum Found {
    Message(String, Bytes),
    Interrupt,
}

impl Transport for Network {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let messages: Vec<_> = messages
            .iter()
            .map(|message| (message.channel.to_owned(), message.to_bytes()))
            .collect();
        kernel::signal(|| self.unread.get().extend(messages));
        Ok(())
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        let look = || {
            let message = self
                .take()
                .map(|(channel, payload)| Found::Message(channel, payload));
            message.or_else(|| wait.interrupt().is_up().then_some(Found::Interrupt))
        };
        match kernel::poll(wait.left(), look) {
            Some(Found::Message(channel, payload)) => {
                let arrival = Arrival {
                    received_ns: 0,
                    sender: Sender::Hub,
                    sequence: None,
                };
                inlet.deliver(&channel, Body::Owned(payload), arrival);
            }
            Some(Found::Interrupt) => {
                *self.n_interrupted.get() += 1;
                // The interrupting thread may need a turn to finish; a scheduler that is not fair needs a hint.
                shuttle::thread::yield_now();
            }
            None => {}
        }
        Ok(())
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Some(self)
    }

    fn buffered(&self) -> Option<&dyn Buffered> {
        Some(self)
    }
}

impl Selective for Network {
    fn want(&self, interest: &Interest, _: &mut Inlet) -> Result<(), ListenError> {
        *self.n_wanted.get() = interest.patterns().len();
        Ok(())
    }
}

impl Buffered for Network {
    fn holds_unread(&self) -> bool {
        self.n_unread() > 0
    }

    fn is_pressed(&self) -> bool {
        self.is_pressed && self.holds_unread()
    }
}

//! Messages within one process, without copies.
//!
//! `memq://` is private to one bus and its clones; all that open `memq://NAME` share. A publisher hands its message to
//! the mailboxes itself, on its own thread, so there is nothing for a bus to read.

use crate::clock::{self, Wait};
use crate::counts::NetworkCounts;
use crate::event::{Arrival, Sender};
use crate::router::{Body, Inlet, Interest};
use crate::transport::{ListenError, OpenError, Outgoing, ReceiveError, SendError, Transport};
use crate::url::{BadUrl, Url};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, Weak};

/// Checks a URL.
pub(crate) fn check(url: &Url) -> Result<(), BadUrl> {
    url.options().finish()
}

/// Opens a meeting place.
pub(crate) fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    check(url)?;
    let place = match url.address() {
        "" => Arc::default(),
        name => Place::named(name),
    };
    Ok(Arc::new(Memq {
        place,
        seat: AtomicU64::new(0),
    }))
}

/// One bus at a meeting place.
#[derive(Debug)]
struct Memq {
    place: Arc<Place>,
    /// Names our way in among those of the place; 0 is none yet.
    seat: AtomicU64,
}

/// Where the buses of one name meet.
#[derive(Debug, Default)]
struct Place {
    members: RwLock<Vec<(u64, Inlet)>>,
    next_seat: AtomicU64,
    next_sequence: AtomicU32,
}

static PLACES: LazyLock<Mutex<HashMap<String, Weak<Place>>>> = LazyLock::new(Mutex::default);

impl Place {
    fn named(name: &str) -> Arc<Self> {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, place| place.strong_count() > 0);
        if let Some(place) = places.get(name).and_then(Weak::upgrade) {
            return place;
        }
        let place = Arc::default();
        places.insert(name.to_owned(), Arc::downgrade(&place));
        place
    }

    fn members(&self) -> Vec<Inlet> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.iter().map(|(_, inlet)| inlet.clone()).collect()
    }
}

impl Transport for Memq {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        // No lock is held while a queue makes us wait.
        let mut members = self.place.members();
        for message in messages {
            let arrival = Arrival {
                received_ns: clock::wall_ns(),
                sender: Sender::Process,
                sequence: Some(self.place.next_sequence.fetch_add(1, Ordering::Relaxed)),
            };
            let payload = message.to_bytes();
            for inlet in &mut members {
                inlet.deliver_patiently(message.channel, Body::Owned(payload.clone()), arrival);
            }
        }
        Ok(())
    }

    fn want(&self, _: &Interest, inlet: &dyn Fn() -> Inlet) -> Result<(), ListenError> {
        let mut members = self
            .place
            .members
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if self.seat.load(Ordering::Relaxed) == 0 {
            let seat = 1 + self.place.next_seat.fetch_add(1, Ordering::Relaxed);
            self.seat.store(seat, Ordering::Relaxed);
            members.push((seat, inlet()));
        }
        Ok(())
    }

    fn receive(&self, _: &mut Inlet, _: &Wait<'_>) -> Result<(), ReceiveError> {
        Ok(())
    }

    fn is_read_by_bus(&self) -> bool {
        false
    }

    fn counts(&self) -> NetworkCounts {
        NetworkCounts::default()
    }
}

impl Drop for Memq {
    fn drop(&mut self) {
        let seat = self.seat.load(Ordering::Relaxed);
        let mut members = self
            .place
            .members
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        members.retain(|(of, _)| *of != seat);
    }
}

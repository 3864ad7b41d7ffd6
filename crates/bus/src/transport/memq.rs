//! Messages within one process, without copies.
//!
//! `memq://` is private to one bus and its clones; all that open `memq://NAME` share. A publisher hands its message to
//! the mailboxes itself, on its own thread, so there is nothing for a bus to read.

use crate::clock::{self, Wait};
use crate::diagnosis;
use crate::event::{Arrival, Sender};
use crate::router::{Body, Inlet};
use crate::schemes::{Capability, Scheme};
use crate::transport::{Direct, OpenError, Outgoing, ReceiveError, SendError, Transport};
use crate::url::{BadUrl, Url};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, Weak};

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "memq",
    summary: "within one process, without copies: private, or shared by name",
    example: "memq://NAME",
    options: &[],
    capabilities: &[Capability::InProcess],
    check,
    open,
    examine: diagnosis::examine_by_check,
    checks: &[],
};

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    url.options().finish()
}

/// Opens a meeting place.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
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

    /// Messages come by the publishers' own threads.
    fn receive(&self, _: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        wait.idle()
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }
}

impl Direct for Memq {
    fn attach(&self, inlet: Inlet) {
        let mut members = self
            .place
            .members
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if self.seat.load(Ordering::Relaxed) == 0 {
            let seat = 1 + self.place.next_seat.fetch_add(1, Ordering::Relaxed);
            self.seat.store(seat, Ordering::Relaxed);
            members.push((seat, inlet));
        }
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

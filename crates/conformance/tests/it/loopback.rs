//! A whole transport in one file: buses of one process that meet by name, each with a socket pair's end to read.
//!
//! It has what every transport must have and nothing else: it reports no buffers to the bus, filters by no subscriptions,
//! and gives no counts.

use bowline_bus::diagnosis::examine_by_check;
use bowline_bus::transport::{OpenError, Outgoing, ReceiveError, SendError, Transport};
use bowline_bus::{Arrival, BadUrl, Body, Inlet, Scheme, Sender, Url, Wait, wall_ns};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The row of the table.
pub(crate) static SCHEME: Scheme = Scheme {
    name: "loopback",
    summary: "within this process, through a queue that the bus reads",
    example: "loopback://NAME",
    options: &[],
    capabilities: &[],
    check,
    open,
    examine: examine_by_check,
    checks: &[],
};

fn check(url: &Url) -> Result<(), BadUrl> {
    url.options().finish()
}

fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    check(url)?;
    let (bell, ringer) = UnixStream::pair().map_err(OpenError::system("make a socket pair"))?;
    for end in [&bell, &ringer] {
        let set = end.set_nonblocking(true);
        set.map_err(OpenError::system("set up a socket pair"))?;
    }
    let member = Arc::new(Member {
        bell,
        ringer,
        unread: Mutex::default(),
    });
    let mut places = lock(&PLACES);
    let place = places.entry(url.address().to_owned()).or_default();
    lock(place).push(Arc::clone(&member));
    let place = Arc::clone(place);
    Ok(Arc::new(Loopback { member, place }))
}

type Place = Arc<Mutex<Vec<Arc<Member>>>>;

static PLACES: LazyLock<Mutex<HashMap<String, Place>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Member {
    /// Readable while something may be unread.
    bell: UnixStream,
    ringer: UnixStream,
    unread: Mutex<VecDeque<(String, bowline_bus::Bytes)>>,
}

#[derive(Debug)]
struct Loopback {
    member: Arc<Member>,
    place: Place,
}

impl Transport for Loopback {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        // In one order for all.
        let members = lock(&self.place);
        for member in members.iter() {
            let copies = messages
                .iter()
                .map(|message| (message.channel.to_owned(), message.to_bytes()));
            lock(&member.unread).extend(copies);
            // A full one rings already.
            drop((&member.ringer).write(&[1]));
        }
        Ok(())
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        let mut fds = [
            PollFd::new(self.member.bell.as_fd(), PollFlags::POLLIN),
            PollFd::new(wait.interrupt(), PollFlags::POLLIN),
        ];
        let timeout = wait.left().map_or(PollTimeout::NONE, |left| {
            // Rounded up, so that a short time is not spent in turns.
            let ms = left.as_micros().div_ceil(1_000);
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)
        });
        poll(&mut fds, timeout).map_err(std::io::Error::from)?;
        // First, so that what comes later rings again.
        drop((&self.member.bell).read(&mut [0; 4_096]));
        let unread = std::mem::take(&mut *lock(&self.member.unread));
        for (channel, payload) in unread {
            let arrival = Arrival {
                received_ns: wall_ns(),
                sender: Sender::Process,
                sequence: None,
            };
            inlet.deliver(&channel, Body::Owned(payload), arrival);
        }
        Ok(())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        lock(&self.place).retain(|member| !Arc::ptr_eq(member, &self.member));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The receiving sockets, one for each port that is listened at.

use crate::sys::{self, Epoll, LinkNews, LinkWatch};
use crate::transport::ListenError;
use crate::transport::udpm::{self, Settings};
use socket2::Socket;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the watch over interfaces is called among the ports.
const LINKS: u64 = u64::MAX;

/// All of them.
#[derive(Debug)]
pub(super) struct Ports {
    settings: Settings,
    epoll: Epoll,
    /// Word of interfaces that come and go. Without it, memberships are never renewed.
    links: Option<LinkWatch>,
    sockets: Mutex<BTreeMap<u16, Arc<Socket>>>,
    /// What the system granted each.
    receive_buffer: AtomicU64,
    rejoins: AtomicU64,
    /// Of sockets that are closed.
    past_drops: AtomicU64,
}

impl Ports {
    pub(super) fn new(settings: Settings) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let links = LinkWatch::new().ok();
        if let Some(links) = &links {
            epoll.add(links.as_fd(), LINKS)?;
        }
        Ok(Self {
            settings,
            epoll,
            links,
            sockets: Mutex::default(),
            receive_buffer: AtomicU64::new(0),
            rejoins: AtomicU64::new(0),
            past_drops: AtomicU64::new(0),
        })
    }

    /// Listens at a port, if that is not so already.
    pub(super) fn open(&self, port: u16) -> Result<(), ListenError> {
        let mut sockets = self.lock();
        if sockets.contains_key(&port) {
            return Ok(());
        }
        let socket = self.settings.group.receiving_socket(port)?;
        let receive_buffer = udpm::set_up(&socket, self.settings.receive_buffer)
            .and_then(|size| self.epoll.add(socket.as_fd(), port.into()).map(|()| size))
            .map_err(|source| ListenError::System {
                doing: "set up a receiving socket".to_owned(),
                source,
                hint: None,
            })?;
        self.receive_buffer
            .store(receive_buffer as u64, Ordering::Relaxed);
        sockets.insert(port, Arc::new(socket));
        Ok(())
    }

    /// Listens no longer at ports but these.
    pub(super) fn retain(&self, wanted: &BTreeSet<u16>) {
        self.lock().retain(|port, socket| {
            let is_kept = wanted.contains(port);
            if !is_kept {
                self.past_drops.fetch_add(drops(socket), Ordering::Relaxed);
            }
            is_kept
        });
    }

    pub(super) fn get(&self, port: u16) -> Option<Arc<Socket>> {
        self.lock().get(&port).cloned()
    }

    /// Readable while one of the sockets is.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// The sockets that can be read now. Word of changed interfaces is dealt with on the way.
    pub(super) fn ready(&self) -> io::Result<Vec<Arc<Socket>>> {
        let names = self.epoll.ready()?;
        if let Some(links) = &self.links
            && names.contains(&LINKS)
        {
            self.follow_links(&links.take());
        }
        let sockets = self.lock();
        let ports = names
            .into_iter()
            .filter_map(|name| u16::try_from(name).ok());
        Ok(ports
            .filter_map(|port| sockets.get(&port).cloned())
            .collect())
    }

    /// Joins again where a membership went with its interface.
    fn follow_links(&self, news: &LinkNews) {
        let group = &self.settings.group;
        let has_joined = |socket: &Arc<Socket>| group.join_missing(socket, news);
        let n_joined = self
            .lock()
            .values()
            .filter(|socket| has_joined(socket))
            .count();
        if n_joined > 0 {
            self.rejoins.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn rejoins(&self) -> u64 {
        self.rejoins.load(Ordering::Relaxed)
    }

    /// Datagrams that the kernel dropped for want of room.
    pub(super) fn drops(&self) -> u64 {
        let present: u64 = self.lock().values().map(|socket| drops(socket)).sum();
        present + self.past_drops.load(Ordering::Relaxed)
    }

    pub(super) fn receive_buffer(&self) -> u64 {
        self.receive_buffer.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Socket>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drops(socket: &Socket) -> u64 {
    let memory = sys::socket_memory(socket.as_fd()).unwrap_or_default();
    memory.drops.into()
}

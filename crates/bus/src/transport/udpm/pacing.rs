//! Waiting for room at this host's receivers before a burst.
//!
//! A large message is a burst of datagrams that may be larger than a receiver's buffer, and on one host nothing slows
//! the sender down. So before a burst the sender asks the kernel how full the buffers of the group's receivers are,
//! ours or not, and waits a moment when the fullest has no room. A receiver that does not keep up with a
//! modest rate is left behind, and not waited for again until it has caught up: publishing never depends on the slowest.
//!
//! Receivers on other hosts are behind a network that is slower than they are.

use crate::clock;
use crate::sys::{ReceiverRoom, SocketDiag};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long a burst may wait for a receiver, whatever else.
const PATIENCE: Duration = Duration::from_millis(100);
/// What a receiver has to keep up with beyond that: 50 MB a second.
const NS_PER_BYTE: u64 = 20;
/// Between two looks at the buffers. The timer's own slack comes on top.
const PAUSE: Duration = Duration::from_micros(20);
/// How long a look at the buffers holds good.
const FRESH: Duration = Duration::from_millis(1);
/// What a datagram costs a receiver's buffer beyond its bytes, about.
const OVERHEAD: usize = 1_024;

/// Knows about how much may be sent before it has to look again.
#[derive(Debug)]
pub(super) struct Pacer {
    group: SocketAddr,
    /// Without it, nothing is known, and nothing is waited for.
    diag: Option<SocketDiag>,
    room: usize,
    looked: Option<Instant>,
    /// What was sent in this burst, in bytes, and how long was waited in it for the receiver that is the fullest.
    sent: u64,
    waited: Duration,
    /// Receivers left behind, by their inodes.
    behind: Vec<u32>,
}

impl Pacer {
    pub(super) fn new(group: SocketAddr) -> Self {
        Self {
            group,
            diag: SocketDiag::new().ok(),
            room: 0,
            looked: None,
            sent: 0,
            waited: Duration::ZERO,
            behind: Vec::new(),
        }
    }

    /// A new burst: what was known of the buffers a while ago is worth nothing.
    pub(super) fn begin(&mut self, group: SocketAddr) {
        let is_other = std::mem::replace(&mut self.group, group) != group;
        if is_other || self.looked.is_none_or(|looked| looked.elapsed() > FRESH) {
            self.room = 0;
        }
        self.sent = 0;
        self.waited = Duration::ZERO;
    }

    /// Waits until there is room for a datagram, or a run of them handed over as one, of `size` bytes.
    pub(super) fn wait_for_room(&mut self, size: usize) {
        let cost = size + OVERHEAD;
        self.sent += size as u64;
        if let Some(room) = self.room.checked_sub(cost) {
            self.room = room;
            return;
        }
        let mut since = clock::monotonic();
        while let Some((room, fullest)) = self.look() {
            // Half of it: others send too, and the books are rough.
            if room / 2 >= cost || fullest.used == 0 {
                self.room = (room / 2).saturating_sub(cost);
                return;
            }
            let now = clock::monotonic();
            self.waited += now.duration_since(since);
            since = now;
            if self.waited >= self.patience(&fullest) {
                self.behind.push(fullest.inode);
                self.waited = Duration::ZERO;
            }
            pause();
        }
        // There is no receiver here, or none can be seen: look again after a megabyte or so.
        self.room = 1 << 20;
    }

    /// How long this burst may have waited for a receiver. The kernel reports room only once a quarter of a buffer has
    /// been read, so that the owner of a large one seems to do nothing for that long.
    fn patience(&self, receiver: &ReceiverRoom) -> Duration {
        let unseen = (receiver.limit / 4) as u64;
        PATIENCE + Duration::from_nanos((self.sent + unseen).saturating_mul(NS_PER_BYTE))
    }

    /// The room of the receiver that has the least, and that receiver; none without a receiver on this host.
    fn look(&mut self) -> Option<(usize, ReceiverRoom)> {
        self.looked = Some(clock::monotonic());
        let diag = self.diag.as_mut()?;
        let group = self.group.ip();
        let receivers = match diag.receivers(self.group.is_ipv6(), self.group.port()) {
            Ok(receivers) => receivers,
            Err(_unsupported) => {
                self.diag = None;
                return None;
            }
        };
        let hears_group = |receiver: &ReceiverRoom| {
            receiver.address == group || receiver.address.is_unspecified()
        };
        let receivers: Vec<_> = receivers.into_iter().filter(hears_group).collect();
        let has_caught_up = |inode: &u32| {
            !receivers
                .iter()
                .any(|receiver| receiver.inode == *inode && receiver.used > receiver.limit / 2)
        };
        self.behind.retain(|inode| !has_caught_up(inode));
        let is_behind = |receiver: &ReceiverRoom| self.behind.contains(&receiver.inode);
        receivers
            .iter()
            .filter(|receiver| !is_behind(receiver))
            .map(|receiver| (receiver.limit.saturating_sub(receiver.used), *receiver))
            .min_by_key(|(room, _)| *room)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing reports when a foreign socket is read"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}

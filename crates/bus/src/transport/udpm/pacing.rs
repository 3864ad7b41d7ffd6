//! Waiting for room at this host's receivers before a burst.
//!
//! A large message is a burst of datagrams that may be larger than a receiver's buffer, and on one host nothing slows
//! the sender down. So before a burst the sender asks the kernel how full the buffers of the group's receivers are,
//! whoever they belong to, and waits a moment when the fullest has no room. A receiver that does not make room is not
//! waited for again until it does: publishing never depends on the slowest.
//!
//! Receivers on other hosts are behind a network that is slower than they are.

use crate::clock;
use crate::sys::{ReceiverRoom, SocketDiag};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a receiver may make no room at all before it is left behind.
const PATIENCE: Duration = Duration::from_millis(100);
/// Between two looks at the buffers. The timer's own slack comes on top.
const PAUSE: Duration = Duration::from_micros(20);
/// What a datagram costs a receiver's buffer beyond its bytes, about.
const OVERHEAD: usize = 1_024;

/// Knows about how much may be sent before it has to look again.
#[derive(Debug)]
pub(super) struct Pacer {
    group: SocketAddr,
    /// Without it, nothing is known, and nothing is waited for.
    diag: Option<SocketDiag>,
    room: usize,
    /// Receivers left behind, with how full they were.
    stuck: Vec<(u32, usize)>,
}

impl Pacer {
    pub(super) fn new(group: SocketAddr) -> Self {
        Self {
            group,
            diag: SocketDiag::new().ok(),
            room: 0,
            stuck: Vec::new(),
        }
    }

    /// A new burst, to that group: what was known of the buffers is old.
    pub(super) fn begin(&mut self, group: SocketAddr) {
        self.group = group;
        self.room = 0;
    }

    /// Waits until there is room for a datagram, or a run of them handed over as one, of `size` bytes.
    pub(super) fn wait_for_room(&mut self, size: usize) {
        let cost = size + OVERHEAD;
        if let Some(room) = self.room.checked_sub(cost) {
            self.room = room;
            return;
        }
        let mut fullest_before = usize::MAX;
        let mut patience_ends = clock::monotonic() + PATIENCE;
        while let Some((room, fullest)) = self.look() {
            // Half of it: others send too, and the books are rough.
            if room / 2 >= cost || fullest.used == 0 {
                self.room = (room / 2).saturating_sub(cost);
                return;
            }
            let now = clock::monotonic();
            if fullest.used < fullest_before {
                fullest_before = fullest.used;
                patience_ends = now + PATIENCE;
            } else if now >= patience_ends {
                self.stuck.push((fullest.inode, fullest.used));
                patience_ends = now + PATIENCE;
                fullest_before = usize::MAX;
            }
            pause();
        }
        // Nobody listens here, or nobody can tell: look again after a megabyte or so.
        self.room = 1 << 20;
    }

    /// The room of the receiver that has the least, and that receiver; none when nobody listens on this host.
    fn look(&mut self) -> Option<(usize, ReceiverRoom)> {
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
        let has_moved = |(inode, used): &(u32, usize)| {
            !receivers
                .iter()
                .any(|receiver| receiver.inode == *inode && receiver.used >= *used)
        };
        self.stuck.retain(|stuck| !has_moved(stuck));
        let is_stuck =
            |receiver: &ReceiverRoom| self.stuck.iter().any(|(inode, _)| *inode == receiver.inode);
        receivers
            .iter()
            .filter(|receiver| !is_stuck(receiver))
            .map(|receiver| (receiver.limit.saturating_sub(receiver.used), *receiver))
            .min_by_key(|(room, _)| *room)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when a foreign socket is read"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}

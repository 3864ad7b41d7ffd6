//! Every way to lose a message has a counter, and here they are.

use crate::event::Sender;

/// What went through a bus, and what did not.
///
/// A message that was sent but never handed to a subscriber is in exactly one of `network.lost`, `network.incomplete`,
/// `network.kernel_drops`, `network.malformed`, `network.unwanted`, `queue_drops` or `replaced`; where a loss is seen twice (the
/// kernel reports that it dropped, and the sequence has a gap), both count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages handed to the transport.
    pub published: u64,
    /// Their payload bytes.
    pub published_bytes: u64,
    /// Messages that could not be handed to the transport; each was reported to its publisher too.
    pub publish_failures: u64,
    /// Descriptions of types sent on [`SCHEMA_CHANNEL`](crate::SCHEMA_CHANNEL); not among those published.
    pub announced: u64,
    /// Descriptions of types that the transport refused.
    pub announce_failures: u64,
    /// Messages that arrived and matched a subscription.
    pub received: u64,
    /// Their payload bytes.
    pub received_bytes: u64,
    /// Messages that a queue's policy dropped because the reader was slow, over all subscriptions so far.
    pub queue_drops: u64,
    /// Messages whose place in a queue a newer one of their channel took, as [`Queue::latest`](crate::Queue::latest)
    /// asks: left out on purpose, not lost.
    pub replaced: u64,
    /// Messages that were not of the type they were subscribed as.
    pub undecodable: u64,
    /// Callbacks that panicked.
    pub callback_panics: u64,
    /// What the transport saw.
    pub network: NetworkCounts,
}

impl Counts {
    /// Messages known to be lost for this bus, whatever the reason.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let NetworkCounts {
            lost, incomplete, ..
        } = self.network;
        lost + incomplete + self.queue_drops
    }
}

/// What a transport saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Datagrams or frames received, whatever was in them.
    pub datagrams: u64,
    /// Messages of channels without a subscriber here.
    pub unwanted: u64,
    /// Messages that never arrived: gaps in the senders' sequences.
    pub lost: u64,
    /// Messages that arrived after a later one of their sender.
    pub late: u64,
    /// Messages, or fragments of them, that arrived again.
    pub duplicates: u64,
    /// Messages of which some fragments never arrived.
    pub incomplete: u64,
    /// Messages of which some fragments are still to come.
    pub partial: u64,
    /// Bytes held for those.
    pub partial_bytes: u64,
    /// Fragments that contradict each other, and messages given up for it.
    pub conflicts: u64,
    /// Datagrams that the kernel dropped because the receive buffer was full. While the kernel also filters, this is
    /// an upper bound: all that overflowed on this host.
    pub kernel_drops: u64,
    /// Datagrams that the kernel kept from us because their channel has no subscriber here.
    pub filtered: u64,
    /// Datagrams that are not LCM's, or broken.
    pub malformed: u64,
    /// Senders seen, restarted ones counted again.
    pub senders: u64,
    /// Times that a connection was lost and made anew, or a group joined again.
    pub reconnects: u64,
    /// The receive buffer that the system granted, in bytes.
    pub receive_buffer: u64,
}

impl NetworkCounts {
    /// Each by its name, for programs that show all of them.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 15] {
        // A new field fails to compile until it is named.
        let Self {
            datagrams,
            unwanted,
            lost,
            late,
            duplicates,
            incomplete,
            partial,
            partial_bytes,
            conflicts,
            kernel_drops,
            filtered,
            malformed,
            senders,
            reconnects,
            receive_buffer,
        } = *self;
        [
            ("datagrams", datagrams),
            ("unwanted", unwanted),
            ("lost", lost),
            ("late", late),
            ("duplicates", duplicates),
            ("incomplete", incomplete),
            ("partial", partial),
            ("partial_bytes", partial_bytes),
            ("conflicts", conflicts),
            ("kernel_drops", kernel_drops),
            ("filtered", filtered),
            ("malformed", malformed),
            ("senders", senders),
            ("reconnects", reconnects),
            ("receive_buffer", receive_buffer),
        ]
    }

    /// The sum of two, receivers of one transport; of buffers the later.
    #[must_use]
    pub(crate) fn plus(&self, later: &Self) -> Self {
        // A new field fails to compile until it is added up.
        let Self {
            datagrams,
            unwanted,
            lost,
            late,
            duplicates,
            incomplete,
            partial,
            partial_bytes,
            conflicts,
            kernel_drops,
            filtered,
            malformed,
            senders,
            reconnects,
            receive_buffer,
        } = *self;
        Self {
            datagrams: datagrams + later.datagrams,
            unwanted: unwanted + later.unwanted,
            lost: lost + later.lost,
            late: late + later.late,
            duplicates: duplicates + later.duplicates,
            incomplete: incomplete + later.incomplete,
            partial: partial + later.partial,
            partial_bytes: partial_bytes + later.partial_bytes,
            conflicts: conflicts + later.conflicts,
            kernel_drops: kernel_drops + later.kernel_drops,
            filtered: filtered + later.filtered,
            malformed: malformed + later.malformed,
            senders: senders + later.senders,
            reconnects: reconnects + later.reconnects,
            receive_buffer: later.receive_buffer.max(receive_buffer),
        }
    }

    /// What remains when the receiver goes: what was half there never arrives.
    #[must_use]
    pub(crate) fn settled(mut self) -> Self {
        self.incomplete += self.partial;
        self.partial = 0;
        self.partial_bytes = 0;
        self
    }
}

/// What is known of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderCounts {
    /// Who.
    pub sender: Sender,
    /// Messages of which at least a part arrived, each counted once.
    pub received: u64,
    /// Messages of which nothing arrived.
    pub lost: u64,
    /// Messages that arrived again.
    pub duplicates: u64,
    /// Messages that arrived after a later one.
    pub late: u64,
    /// Times that its sequence began anew.
    pub restarts: u64,
}

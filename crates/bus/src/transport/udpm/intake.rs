//! From datagrams to messages: parse, follow the senders' sequences, put fragments together, hand in.
//!
//! No sockets here; several of them may feed one intake.

use crate::clock;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::event::{Arrival, Sender};
use crate::router::{Body, Inlet};
use crate::sys::Datagrams;
use bowline_wire::datagram::{Datagram, Fragment, Short};
use bowline_wire::reassembly::{Limits, Outcome, Reassembler};
use bowline_wire::sequence::{self, Seen, Track};
use bytes::Bytes;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How many senders are followed. Spoofed ones push out the longest silent.
const MAX_SENDERS: usize = 4_096;
/// What a look at idle partial messages costs is spread over so many datagrams.
const EXPIRE_EVERY: u64 = 1_024;

/// What is known from the datagrams so far.
#[derive(Debug)]
pub(crate) struct Intake {
    senders: Senders,
    reassembler: Reassembler<SocketAddr>,
    spares: Spares,
    own: Option<SocketAddr>,
    is_following: bool,
    datagrams: u64,
    malformed: u64,
    unwanted: u64,
    n_senders: u64,
    /// Of senders that are no longer followed.
    past: sequence::Counts,
}

/// The senders that are followed. The most recent one is found without a search, since datagrams come in runs.
#[derive(Debug, Default)]
struct Senders {
    slots: Vec<Followed>,
    index: HashMap<SocketAddr, usize>,
    last: usize,
}

#[derive(Debug)]
struct Followed {
    address: SocketAddr,
    track: Track,
    /// The count of datagrams at its last one.
    heard: u64,
}

impl Intake {
    /// `own` is where our own datagrams come from: their sequence is no measure of loss, since we need not see them all.
    pub(crate) fn new(own: Option<SocketAddr>) -> Self {
        Self {
            own,
            senders: Senders::default(),
            reassembler: Reassembler::new(Limits::default()),
            spares: Spares::default(),
            is_following: true,
            datagrams: 0,
            malformed: 0,
            unwanted: 0,
            n_senders: 0,
            past: sequence::Counts::default(),
        }
    }
}

/// Where messages go.
pub(crate) trait Sink {
    /// Whether a message on `channel` is worth putting together.
    fn wants(&mut self, channel: &str) -> bool;

    /// Takes a message; returns whether it had a subscriber.
    fn deliver(&mut self, channel: &str, body: Body<'_>, arrival: Arrival) -> bool;
}

impl Sink for Inlet {
    fn wants(&mut self, channel: &str) -> bool {
        Self::wants(self, channel)
    }

    fn deliver(&mut self, channel: &str, body: Body<'_>, arrival: Arrival) -> bool {
        Self::deliver(self, channel, body, arrival)
    }
}

impl Intake {
    /// Takes one read of a socket: a datagram, or several that the kernel coalesced.
    pub(crate) fn take(&mut self, datagrams: &Datagrams<'_>, inlet: &mut impl Sink) {
        let sender = datagrams
            .sender
            .unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        let received_ns = datagrams.received_ns.unwrap_or_else(clock::wall_ns);
        let arrival = |sequence| Arrival {
            received_ns,
            sender: Sender::Socket(sender),
            sequence: Some(sequence),
        };
        // An empty datagram has no segments, and is malformed all the same.
        if datagrams.bytes.is_empty() {
            self.datagrams += 1;
            self.malformed += 1;
        }
        for bytes in datagrams.bytes.chunks(datagrams.segment_size.max(1)) {
            self.datagrams += 1;
            match Datagram::parse(bytes) {
                Ok(Datagram::Short(short)) => {
                    self.take_short(sender, &short, inlet, arrival(short.sequence));
                }
                Ok(Datagram::Fragment(fragment)) => {
                    self.take_fragment(sender, &fragment, inlet, arrival(fragment.sequence));
                }
                Err(_counted) => self.malformed += 1,
            }
        }
    }

    fn take_short(
        &mut self,
        sender: SocketAddr,
        short: &Short<'_>,
        inlet: &mut impl Sink,
        arrival: Arrival,
    ) {
        self.follow(sender, short.sequence, Track::see);
        if !inlet.deliver(short.channel, Body::Borrowed(short.payload), arrival) {
            self.unwanted += 1;
        }
    }

    fn take_fragment(
        &mut self,
        sender: SocketAddr,
        fragment: &Fragment<'_>,
        inlet: &mut impl Sink,
        arrival: Arrival,
    ) {
        if self.follow(sender, fragment.sequence, Track::see_fragment) == Some(Seen::Restarted) {
            self.reassembler.forget(sender);
        }
        if fragment.channel.is_some() {
            self.spares
                .take_back(|buffer| self.reassembler.recycle(buffer));
        }
        let now_us = u64::try_from(arrival.received_ns / 1_000).unwrap_or(0);
        let mut wants = |channel: &str| inlet.wants(channel);
        match self
            .reassembler
            .accept(sender, fragment, now_us, &mut wants)
        {
            Outcome::Complete { channel, payload } => {
                let payload = self.spares.lend(payload);
                inlet.deliver(&channel, Body::Owned(payload), arrival);
            }
            // The reassembler counts all of these.
            Outcome::Pending | Outcome::Unwanted | Outcome::Dropped(_) => {}
        }
        if self.datagrams.is_multiple_of(EXPIRE_EVERY) {
            self.reassembler.expire(now_us);
        }
    }

    #[inline]
    fn follow(
        &mut self,
        sender: SocketAddr,
        sequence: u32,
        see: fn(&mut Track, u32) -> Seen,
    ) -> Option<Seen> {
        if !self.is_following || self.own == Some(sender) {
            return None;
        }
        let heard = self.datagrams;
        if let Some(followed) = self.senders.find(sender) {
            followed.heard = heard;
            return Some(see(&mut followed.track, sequence));
        }
        let past = &mut self.past;
        self.senders
            .make_room(|gone| add(past, &gone.track.counts()));
        self.n_senders += 1;
        self.senders.add(Followed {
            address: sender,
            track: Track::new(sequence),
            heard,
        });
        None
    }

    /// Sets whether all datagrams come through. While the kernel leaves some out, sequences have gaps that mean
    /// nothing.
    pub(crate) fn follow_senders(&mut self, is_following: bool) {
        self.is_following = is_following;
        let past = &mut self.past;
        self.senders.clear(|gone| add(past, &gone.track.counts()));
    }

    /// How many datagrams so far were of channels without a subscriber, and how many there were.
    pub(crate) fn unwanted(&self) -> (u64, u64) {
        (self.unwanted, self.datagrams)
    }

    pub(crate) fn counts(&self) -> NetworkCounts {
        let mut sequences = self.past;
        for followed in &self.senders.slots {
            add(&mut sequences, &followed.track.counts());
        }
        let fragments = self.reassembler.counts();
        NetworkCounts {
            datagrams: self.datagrams,
            unwanted: self.unwanted + fragments.unwanted,
            lost: sequences.lost,
            late: sequences.late,
            duplicates: sequences.duplicates + fragments.duplicates,
            incomplete: fragments.idle
                + fragments.evicted
                + fragments.superseded
                + fragments.no_memory
                + fragments.conflicts,
            partial: fragments.partial as u64,
            partial_bytes: fragments.bytes_held as u64,
            conflicts: fragments.conflicts,
            malformed: self.malformed + fragments.malformed + fragments.too_large,
            senders: self.n_senders,
            ..NetworkCounts::default()
        }
    }

    pub(crate) fn senders(&self) -> Vec<SenderCounts> {
        let mut all: Vec<_> = self
            .senders
            .slots
            .iter()
            .map(|followed| sender_counts(followed.address, &followed.track.counts()))
            .collect();
        all.sort_by_key(|counts| counts.sender);
        all
    }
}

impl Senders {
    #[inline]
    fn find(&mut self, address: SocketAddr) -> Option<&mut Followed> {
        let is_last = |slot: &Followed| slot.address == address;
        if !self.slots.get(self.last).is_some_and(is_last) {
            self.last = *self.index.get(&address)?;
        }
        self.slots.get_mut(self.last)
    }

    fn add(&mut self, followed: Followed) {
        self.index.insert(followed.address, self.slots.len());
        self.slots.push(followed);
    }

    /// Lets go of the half that has been silent longest, if there are too many.
    fn make_room(&mut self, mut on_gone: impl FnMut(&Followed)) {
        if self.slots.len() < MAX_SENDERS {
            return;
        }
        self.slots
            .sort_by_key(|followed| std::cmp::Reverse(followed.heard));
        self.slots
            .drain(MAX_SENDERS / 2..)
            .for_each(|gone| on_gone(&gone));
        let numbered = self.slots.iter().enumerate();
        self.index = numbered
            .map(|(at, followed)| (followed.address, at))
            .collect();
        self.last = 0;
    }

    fn clear(&mut self, mut on_gone: impl FnMut(&Followed)) {
        self.slots.drain(..).for_each(|gone| on_gone(&gone));
        self.index.clear();
    }
}

/// Memory of large messages that comes back when the last reader is done with them.
#[derive(Debug, Default)]
struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

/// Smaller messages come from memory that the allocator keeps warm by itself.
const MIN_LENT: usize = 128 << 10;
/// How many buffers wait for the next message.
const MAX_RETURNED: usize = 4;

impl Spares {
    fn lend(&self, payload: Vec<u8>) -> Bytes {
        if payload.len() < MIN_LENT {
            return Bytes::from(payload);
        }
        Bytes::from_owner(Lent {
            payload,
            home: Arc::downgrade(&self.0),
        })
    }

    fn take_back(&self, on_each: impl FnMut(Vec<u8>)) {
        let mut returned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        returned.drain(..).for_each(on_each);
    }
}

/// A payload whose memory goes home when it is dropped.
struct Lent {
    payload: Vec<u8>,
    home: Weak<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.payload
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else {
            return;
        };
        let mut returned = home.lock().unwrap_or_else(PoisonError::into_inner);
        if returned.len() < MAX_RETURNED {
            returned.push(std::mem::take(&mut self.payload));
        }
    }
}

fn add(sum: &mut sequence::Counts, counts: &sequence::Counts) {
    let sequence::Counts {
        received,
        lost,
        duplicates,
        late,
        too_old,
        restarts,
    } = *counts;
    sum.received += received;
    sum.lost += lost;
    sum.duplicates += duplicates;
    sum.late += late;
    sum.too_old += too_old;
    sum.restarts += restarts;
}

fn sender_counts(address: SocketAddr, counts: &sequence::Counts) -> SenderCounts {
    SenderCounts {
        sender: Sender::Socket(address),
        received: counts.received,
        lost: counts.lost,
        duplicates: counts.duplicates,
        late: counts.late,
        restarts: counts.restarts,
    }
}

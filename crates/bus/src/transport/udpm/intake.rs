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

/// How many senders are followed. Spoofed ones push out the longest silent.
const MAX_SENDERS: usize = 4_096;
/// What a look at idle partial messages costs is spread over so many datagrams.
const EXPIRE_EVERY: u64 = 1_024;

/// What is known from the datagrams so far.
#[derive(Debug)]
pub(crate) struct Intake {
    senders: HashMap<SocketAddr, Followed>,
    reassembler: Reassembler<SocketAddr>,
    is_following: bool,
    datagrams: u64,
    malformed: u64,
    unwanted: u64,
    n_senders: u64,
    /// Of senders that are no longer followed.
    past: sequence::Counts,
}

#[derive(Debug)]
struct Followed {
    track: Track,
    /// The count of datagrams when it was last heard.
    heard: u64,
}

impl Default for Intake {
    fn default() -> Self {
        Self {
            senders: HashMap::new(),
            reassembler: Reassembler::new(Limits::default()),
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

    /// Takes a message; says whether anybody wanted it.
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
                    self.take_short(sender, &short, inlet, arrival(short.sequence))
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
        let now_us = u64::try_from(arrival.received_ns / 1_000).unwrap_or(0);
        let mut wants = |channel: &str| inlet.wants(channel);
        match self
            .reassembler
            .accept(sender, fragment, now_us, &mut wants)
        {
            Outcome::Complete { channel, payload } => {
                inlet.deliver(&channel, Body::Owned(Bytes::from(payload)), arrival);
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
        if !self.is_following {
            return None;
        }
        let heard = self.datagrams;
        if let Some(followed) = self.senders.get_mut(&sender) {
            followed.heard = heard;
            return Some(see(&mut followed.track, sequence));
        }
        self.make_room();
        self.n_senders += 1;
        let track = Track::new(sequence);
        self.senders.insert(sender, Followed { track, heard });
        None
    }

    fn make_room(&mut self) {
        if self.senders.len() < MAX_SENDERS {
            return;
        }
        let mut heard: Vec<u64> = self
            .senders
            .values()
            .map(|followed| followed.heard)
            .collect();
        let (_, median, _) = heard.select_nth_unstable(MAX_SENDERS / 2);
        let median = *median;
        let past = &mut self.past;
        self.senders.retain(|_, followed| {
            let is_kept = followed.heard >= median;
            if !is_kept {
                add(past, &followed.track.counts());
            }
            is_kept
        });
    }

    /// Says whether all datagrams come through. While the kernel leaves some out, sequences have gaps that mean
    /// nothing.
    pub(crate) fn follow_senders(&mut self, is_following: bool) {
        self.is_following = is_following;
        for (_, followed) in self.senders.drain() {
            add(&mut self.past, &followed.track.counts());
        }
    }

    /// How many datagrams so far were of channels that nobody wants, and how many there were.
    pub(crate) fn unwanted(&self) -> (u64, u64) {
        (self.unwanted, self.datagrams)
    }

    pub(crate) fn counts(&self) -> NetworkCounts {
        let mut sequences = self.past;
        for followed in self.senders.values() {
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
            .iter()
            .map(|(address, followed)| sender_counts(*address, &followed.track.counts()))
            .collect();
        all.sort_by_key(|counts| counts.sender);
        all
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

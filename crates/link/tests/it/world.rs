//! Two ends and the channels between them, driven through simulated time.

use crate::channel::Channel;
use bowline_component::Time;
use bowline_link::{Carriage, Incoming, Outgoing, Session, Setup, schedule};
use std::time::Duration;

/// How far the receiver's clock is ahead: nothing may depend on clocks being right.
const AHEAD: Duration = Duration::from_secs(3_600);

/// A source of messages at the sending end.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) stream: Outgoing,
    pub(crate) period: Duration,
    pub(crate) size: usize,
}

impl Source {
    pub(crate) fn new(channel: &str, hz: u32, size: usize) -> Self {
        Self {
            stream: Outgoing::new(channel),
            period: Duration::from_secs(1) / hz,
            size,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Outgoing)) -> Self {
        change(&mut self.stream);
        self
    }
}

/// A message that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) stream: usize,
    /// Which message of the source.
    pub(crate) number: u64,
    pub(crate) at: Time,
    /// By the one true clock.
    pub(crate) age: Duration,
    /// As the receiver believes.
    pub(crate) told_age: Duration,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) sender: Session,
    pub(crate) receiver: Session,
    /// For each path: there and back.
    pub(crate) channels: Vec<[Channel; 2]>,
    sources: Vec<(Source, Time, u64)>,
    pub(crate) got: Vec<Got>,
    pub(crate) n_offered: Vec<u64>,
}

impl World {
    pub(crate) fn new(scheduler: &str, sources: Vec<Source>, channels: Vec<[Channel; 2]>) -> Self {
        let now = Time::from_utime(1_000_000_000);
        let sends: Vec<Outgoing> = sources.iter().map(|it| it.stream.clone()).collect();
        let receives = sends.iter().map(|it| Incoming::new(&it.name)).collect();
        let n_paths = channels.len();
        let make = |life, sends, receives| {
            let scheduler = schedule::find(scheduler).expect("it is in the table");
            let setup = Setup {
                life,
                sends,
                receives,
                n_paths,
            };
            Session::new(setup, scheduler.make())
        };
        let n_offered = vec![0; sources.len()];
        // Sources are not in step with each other.
        let starts = (0..).map(|nth| now + Duration::from_micros(1_377 * nth));
        let sources = sources.into_iter().zip(starts);
        let mut world = Self {
            now,
            sender: make(17, sends, Vec::new()),
            receiver: make(18, Vec::new(), receives),
            channels,
            sources: sources.map(|(source, at)| (source, at, 0)).collect(),
            got: Vec::new(),
            n_offered,
        };
        for path in 0..n_paths {
            world.sender.path_up(path, Carriage::default(), now);
            world
                .receiver
                .path_up(path, Carriage::default(), now + AHEAD);
        }
        world
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.offer();
            self.exchange();
            let sources = self.sources.iter().map(|(_, at, _)| *at);
            let channels = self.channels.iter().flatten().filter_map(Channel::next_at);
            let receiver = self.receiver.wakes_at(self.now + AHEAD) - AHEAD;
            let wakes = [self.sender.wakes_at(self.now), receiver, end];
            let next = sources
                .chain(channels)
                .chain(wakes)
                .min()
                .expect("there is an end");
            // A caller that wants to be woken at once was asked just now.
            self.now = next.max(self.now + Duration::from_micros(50));
        }
    }

    fn offer(&mut self) {
        for (nth, (source, at, number)) in self.sources.iter_mut().enumerate() {
            while *at <= self.now {
                let mut payload = vec![0; source.size.max(16)];
                payload[..8].copy_from_slice(&number.to_be_bytes());
                payload[8..16].copy_from_slice(&at.utime().to_be_bytes());
                self.sender.offer(nth, payload.into(), self.now);
                *number += 1;
                *at = *at + source.period;
                self.n_offered[nth] += 1;
            }
        }
    }

    fn exchange(&mut self) {
        let mut packet = Vec::new();
        for (path, [there, back]) in self.channels.iter_mut().enumerate() {
            for packet in there.arrivals(self.now) {
                self.receiver.receive(path, &packet, self.now + AHEAD);
            }
            for packet in back.arrivals(self.now) {
                self.sender.receive(path, &packet, self.now);
            }
        }
        while let Some(path) = self.sender.transmit(self.now, &mut packet) {
            self.channels[path][0].send(packet.clone(), self.now);
        }
        while let Some(path) = self.receiver.transmit(self.now + AHEAD, &mut packet) {
            self.channels[path][1].send(packet.clone(), self.now);
        }
        while let Some(message) = self.receiver.deliver() {
            let number = u64::from_be_bytes(message.payload[..8].try_into().expect("8"));
            let offered = i64::from_be_bytes(message.payload[8..16].try_into().expect("8"));
            self.got.push(Got {
                stream: message.stream,
                number,
                at: self.now,
                age: self.now.since(Time::from_utime(offered)),
                told_age: message.age,
            });
        }
    }

    /// Forgets what was delivered so far.
    pub(crate) fn forget(&mut self) {
        self.got.clear();
    }

    pub(crate) fn got(&self, stream: usize) -> impl Iterator<Item = &Got> {
        self.got.iter().filter(move |it| it.stream == stream)
    }

    /// An age that so many of a hundred messages do not exceed.
    /// If none was delivered, that is the end of time.
    pub(crate) fn age(&self, stream: usize, percent: usize) -> Duration {
        let mut ages: Vec<Duration> = self.got(stream).map(|it| it.age).collect();
        ages.sort_unstable();
        let nth = (ages.len() * percent).div_ceil(100).saturating_sub(1);
        ages.get(nth).copied().unwrap_or(Duration::MAX)
    }
}

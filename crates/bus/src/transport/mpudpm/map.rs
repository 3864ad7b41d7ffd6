//! Which channels are in use, and at which ports. No sockets and no clock here.

use bowline_msgs::{ChannelPortMapUpdate, ChannelToPort};
use bowline_wire::{Message as _, mpudpm};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many channels are remembered: what an update can count. Others are where their names lead, all the same.
const MAX_CHANNELS: usize = i16::MAX as usize;
/// How long without an announcement of all channels before a publisher sends one.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// Publishers add up to so much, so that not all of them announce at once.
const TELL_SPREAD: Duration = Duration::from_millis(1_250);
/// Requests within this time are answered together.
const ANSWER_EVERY: Duration = Duration::from_millis(10);

/// What a process knows of a group's channels.
#[derive(Debug)]
pub(super) struct ChannelMap {
    base_port: u16,
    n_ports: u16,
    known: BTreeMap<String, u16>,
    /// When all channels were last announced, by any publisher.
    told: Option<Instant>,
    answered: Option<Instant>,
    tell_every: Duration,
}

impl ChannelMap {
    /// `spread` is anything that differs between publishers.
    pub(super) fn new(base_port: u16, n_ports: u16, spread: u16) -> Self {
        let spread = TELL_SPREAD * u32::from(spread) / u32::from(u16::MAX);
        Self {
            base_port,
            n_ports,
            known: BTreeMap::new(),
            told: None,
            answered: None,
            tell_every: TELL_EVERY + spread,
        }
    }

    /// Where a channel is: as announced, or by its name.
    pub(super) fn port_of(&self, channel: &str) -> u16 {
        let told = self.known.get(channel).copied();
        told.unwrap_or_else(|| mpudpm::port_of(channel, self.base_port, self.n_ports))
    }

    /// The ports of known channels that `is_wanted`.
    pub(super) fn ports_of(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = u16> {
        let wanted = self.known.iter().filter(move |(name, _)| is_wanted(name));
        wanted.map(|(_, port)| *port)
    }

    /// Remembers channels of our own; an update about those that are new, if there are any.
    pub(super) fn register<'a>(
        &mut self,
        channels: impl Iterator<Item = &'a str>,
    ) -> Option<Vec<u8>> {
        let mut new = Vec::new();
        for channel in channels {
            if self.known.contains_key(channel) || self.known.len() >= MAX_CHANNELS {
                continue;
            }
            let port = self.port_of(channel);
            self.known.insert(channel.to_owned(), port);
            new.push((channel, port));
        }
        if new.is_empty() {
            return None;
        }
        self.update(new.into_iter())
    }

    /// An update about all channels, if it is time that a publisher sends one.
    pub(super) fn refresh(&mut self, now: Instant) -> Option<Vec<u8>> {
        let told = *self.told.get_or_insert(now);
        if now.saturating_duration_since(told) < self.tell_every {
            return None;
        }
        self.tell_all(now)
    }

    /// The answer to a request, unless one was just given.
    pub(super) fn answer(&mut self, now: Instant) -> Option<Vec<u8>> {
        let since = self.answered.map(|at| now.saturating_duration_since(at));
        if since.is_some_and(|since| since < ANSWER_EVERY) {
            return None;
        }
        self.answered = Some(now);
        self.tell_all(now)
    }

    fn tell_all(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.told = Some(now);
        let known = self.known.iter();
        self.update(known.map(|(channel, port)| (channel.as_str(), *port)))
    }

    fn update<'a>(&self, channels: impl Iterator<Item = (&'a str, u16)>) -> Option<Vec<u8>> {
        let mapping: Vec<ChannelToPort> = channels
            .map(|(channel, port)| ChannelToPort {
                channel: channel.to_owned(),
                // Ports above 32767 wrap around, in LCM too.
                port: port.cast_signed(),
            })
            .collect();
        if mapping.is_empty() {
            return None;
        }
        let update = ChannelPortMapUpdate {
            num_ports: self.n_ports.cast_signed(),
            mapping,
            ..ChannelPortMapUpdate::default()
        };
        update.with_lengths().encode().ok()
    }

    /// Learns from the update of another.
    pub(super) fn learn(&mut self, update: &[u8], now: Instant) -> Learnt {
        let Ok(update) = ChannelPortMapUpdate::decode(update) else {
            return Learnt::Nonsense;
        };
        // Another number of ports is another group that happens to share the base port.
        if update.num_ports.cast_unsigned() != self.n_ports {
            return Learnt::Nonsense;
        }
        let n_before = self.known.len();
        let mut has_nonsense = false;
        for ChannelToPort { channel, port } in update.mapping {
            let port = port.cast_unsigned();
            let is_ours = port.wrapping_sub(self.base_port) < self.n_ports;
            let is_name = bowline_wire::datagram::check_channel(&channel).is_ok()
                && !mpudpm::is_reserved(&channel);
            if !is_ours || !is_name {
                has_nonsense = true;
            } else if self.known.len() < MAX_CHANNELS {
                // What is known stays: subscribers listen there already.
                self.known.entry(channel).or_insert(port);
            }
        }
        self.told = Some(now);
        match self.known.len() > n_before {
            true => Learnt::Channels,
            false if has_nonsense => Learnt::Nonsense,
            false => Learnt::Nothing,
        }
    }
}

/// What an update was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learnt {
    Nothing,
    Channels,
    /// It is none, or not of this group.
    Nonsense,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> ChannelMap {
        ChannelMap::new(20_000, 500, 0)
    }

    fn update(n_ports: i16, channels: &[(&str, u16)]) -> Vec<u8> {
        let mapping = channels.iter().map(|(channel, port)| ChannelToPort {
            channel: (*channel).to_owned(),
            port: port.cast_signed(),
        });
        let update = ChannelPortMapUpdate {
            num_ports: n_ports,
            mapping: mapping.collect(),
            ..ChannelPortMapUpdate::default()
        };
        update.with_lengths().encode().unwrap()
    }

    #[test]
    fn ports_of_others_override_the_name_but_not_known_ones() {
        let now = crate::clock::monotonic();
        let mut map = map();
        let by_name = mpudpm::port_of("POSE", 20_000, 500);
        assert_eq!(map.port_of("POSE"), by_name);
        assert_eq!(
            map.learn(&update(500, &[("POSE", 20_499)]), now),
            Learnt::Channels
        );
        assert_eq!(map.port_of("POSE"), 20_499);
        assert_eq!(
            map.learn(&update(500, &[("POSE", 20_001)]), now),
            Learnt::Nothing
        );
        assert_eq!(map.port_of("POSE"), 20_499);
        assert_eq!(
            map.ports_of(|name| name == "POSE").collect::<Vec<_>>(),
            [20_499]
        );
    }

    #[test]
    fn what_cannot_be_is_not_learnt() {
        let now = crate::clock::monotonic();
        for nonsense in [
            update(499, &[("A", 20_000)]),
            update(500, &[("A", 19_999)]),
            update(500, &[("A", 20_500)]),
            update(500, &[("", 20_000)]),
            update(500, &[("#!own", 20_000)]),
            b"nonsense".to_vec(),
        ] {
            let mut map = map();
            assert_eq!(
                map.learn(&nonsense, now),
                Learnt::Nonsense,
                "{nonsense:02x?}"
            );
            assert_eq!(map.ports_of(|_| true).count(), 0);
        }
    }

    #[test]
    fn ports_above_32767_survive_the_journey() {
        let now = crate::clock::monotonic();
        let mut here = ChannelMap::new(60_000, 500, 0);
        let mut there = ChannelMap::new(60_000, 500, 0);
        let told = here.register(["POSE"].into_iter()).unwrap();
        assert_eq!(there.learn(&told, now), Learnt::Channels);
        assert!(there.ports_of(|_| true).all(|port| port >= 60_000));
    }

    #[test]
    fn channel_is_announced_when_new_on_request_and_after_silence() {
        let start = crate::clock::monotonic();
        let after = |ms| start + Duration::from_millis(ms);
        let mut map = map();
        assert_eq!(map.answer(start), None, "there is nothing to announce");
        assert!(map.register(["A", "B", "A"].into_iter()).is_some());
        assert_eq!(map.register(["A"].into_iter()), None);
        assert_eq!(map.refresh(after(0)), None);
        assert!(map.answer(after(100)).is_some());
        assert_eq!(
            map.answer(after(109)),
            None,
            "the last answer was for them too"
        );
        assert!(map.answer(after(110)).is_some());
        assert_eq!(
            map.refresh(after(5_000)),
            None,
            "all were announced 4.9 s ago"
        );
        assert!(map.refresh(after(5_200)).is_some());
        assert_eq!(
            map.learn(&update(500, &[("C", 20_000)]), after(8_000)),
            Learnt::Channels
        );
        assert_eq!(map.refresh(after(12_000)), None, "another process did");
    }

    #[test]
    fn memory_is_bounded() {
        let now = crate::clock::monotonic();
        let mut map = map();
        for batch in 0..50 {
            let names: Vec<String> = (0..1_000).map(|at| format!("{batch}.{at}")).collect();
            let channels: Vec<(&str, u16)> =
                names.iter().map(|name| (name.as_str(), 20_000)).collect();
            map.learn(&update(500, &channels), now);
        }
        assert_eq!(map.known.len(), MAX_CHANNELS);
        assert!(map.answer(now).is_some(), "all of them can be announced");
    }
}

//! What becomes of a datagram.

use super::{Fate, Way};
use crate::lcm_datagram::Id;
use crate::random::Random;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// How bad one way of a network is. All parts are of a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Datagrams that are lost.
    pub lost: u32,
    /// Datagrams that come twice; the second one maybe later, see `reordered`.
    pub duplicated: u32,
    /// Datagrams that up to [`MAX_OVERTAKEN_BY`] others overtake.
    pub reordered: u32,
    /// How much later all come, in microseconds.
    pub delay_us: u32,
    /// How much later than that a datagram may come.
    pub jitter_us: u32,
}

/// How many datagrams overtake another at most.
pub const MAX_OVERTAKEN_BY: u8 = 8;

impl Faults {
    const NAMES: [&'static str; 5] = ["lost", "duplicated", "reordered", "delay_us", "jitter_us"];

    fn numbers(&mut self) -> [&mut u32; 5] {
        [
            &mut self.lost,
            &mut self.duplicated,
            &mut self.reordered,
            &mut self.delay_us,
            &mut self.jitter_us,
        ]
    }

    /// Reads what is written like `lost=100,reordered=50`. What is not named is 0.
    ///
    /// # Errors
    ///
    /// Adds what was expected.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let expected = || format!("expected one of {:?} = number, found {part:?}", Self::NAMES);
            let (name, number) = part.split_once('=').ok_or_else(expected)?;
            let at = Self::NAMES.iter().position(|known| *known == name);
            let mut numbers = faults.numbers();
            let place = at.and_then(|at| numbers.get_mut(at)).ok_or_else(expected)?;
            **place = number
                .parse()
                .map_err(|error| format!("{}: {error}", expected()))?;
        }
        Ok(faults)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut copy = *self;
        let parts = Self::NAMES
            .iter()
            .zip(copy.numbers())
            .map(|(name, number)| format!("{name}={number}"));
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

/// Decides for all datagrams of a run.
#[derive(Debug)]
pub struct Decider {
    seed: u64,
    there: Faults,
    back: Faults,
    /// Which sender of its address each is, in the order in which they began: ports differ from run to run.
    senders: BTreeMap<SocketAddrV4, u64>,
    n_senders: BTreeMap<Ipv4Addr, u64>,
}

impl Decider {
    /// With a seed and how bad each way is.
    #[must_use]
    pub fn new(seed: u64, there: Faults, back: Faults) -> Self {
        Self {
            seed,
            there,
            back,
            senders: BTreeMap::new(),
            n_senders: BTreeMap::new(),
        }
    }

    /// What becomes of a datagram.
    pub fn decide(&mut self, way: Way, source: SocketAddrV4, id: Id) -> Fate {
        let faults = match way {
            Way::There => self.there,
            Way::Back => self.back,
        };
        let n_senders = self.n_senders.entry(*source.ip()).or_default();
        let sender = *self.senders.entry(source).or_insert_with(|| {
            *n_senders += 1;
            *n_senders
        });
        let mut random = Random::new(self.seed);
        // Each part stirs what comes next, so that neighbours share nothing.
        let parts = [
            u64::from(way == Way::Back),
            source.ip().to_bits().into(),
            sender,
            id.seqno.into(),
            id.fragment.map_or(u64::MAX, u64::from),
        ];
        for part in parts {
            random = Random::new(random.bits() ^ part);
        }
        fate(faults, &mut random)
    }
}

fn fate(faults: Faults, random: &mut Random) -> Fate {
    // All dice are thrown whatever they show, so that one fault's rate does not change another's decisions.
    let mut strikes = |per_thousand: u32| random.bits() % 1000 < per_thousand.into();
    let (is_lost, is_duplicated, is_overtaken) = (
        strikes(faults.lost),
        strikes(faults.duplicated),
        strikes(faults.reordered),
    );
    let overtaken_by = random.between(1, MAX_OVERTAKEN_BY.into());
    let jitter_us = random.bits() % (u64::from(faults.jitter_us) + 1);
    Fate {
        n_copies: match (is_lost, is_duplicated) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        },
        overtaken_by: if is_overtaken {
            u8::try_from(overtaken_by).expect("a bound that is a u8")
        } else {
            0
        },
        delay_us: faults.delay_us + u32::try_from(jitter_us).expect("below a u32"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Decider, Faults};
    use crate::lcm_datagram::Id;
    use crate::relay::{Fate, Way};

    fn fates(seed: u64, port: u16) -> Vec<Fate> {
        let faults =
            Faults::from_text("lost=100,duplicated=50,reordered=50,delay_us=7,jitter_us=3");
        let mut decider = Decider::new(seed, faults.unwrap(), Faults::default());
        let source = format!("10.0.0.1:{port}").parse().unwrap();
        let id = |seqno| Id {
            seqno,
            fragment: None,
        };
        (0..10_000)
            .map(|seqno| decider.decide(Way::There, source, id(seqno)))
            .collect()
    }

    #[test]
    fn a_seed_decides_alike_whatever_the_port_and_another_seed_otherwise() {
        assert_eq!(fates(1, 1000), fates(1, 2000));
        assert_ne!(fates(1, 1000), fates(2, 1000));
    }

    #[test]
    fn faults_strike_as_often_as_asked() {
        let fates = fates(1, 1000);
        let count = |is: fn(&Fate) -> bool| fates.iter().filter(|fate| is(fate)).count();
        // Ten thousand throws: three times the deviation to either side.
        assert!((910..=1090).contains(&count(|fate| fate.n_copies == 0)));
        assert!((385..=515).contains(&count(|fate| fate.n_copies == 2)));
        assert!((435..=565).contains(&count(|fate| fate.overtaken_by > 0)));
        assert!(
            fates
                .iter()
                .all(|fate| (7..=10).contains(&fate.delay_us) && fate.overtaken_by <= 8)
        );
    }

    #[test]
    fn faults_are_read_as_they_are_written() {
        let faults = Faults::from_text("lost=100,jitter_us=3").unwrap();
        assert_eq!(Faults::from_text(&faults.to_string()), Ok(faults));
        assert!(Faults::from_text("lots=1").is_err());
        assert!(Faults::from_text("lost=x").is_err());
    }
}

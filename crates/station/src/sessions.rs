//! The accounts that are logged in: tokens, for how long they are good and where, and how often a client may try.
//!
//! Only fingerprints of tokens are kept. A token is good from the host that it was given to, until it expires or its
//! session ends.

use crate::budget::Budget;
use crate::people::Person;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bowline_component::Time;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// How often one person may be logged in; the oldest of these is logged out for one more. No account logs out another.
const MAX_SESSIONS: usize = 16;
/// Hosts whose attempts are remembered. Beyond that all hosts wait.
const MAX_HOSTS: usize = 1_024;
/// Attempts of one host: at once, and then a second.
const ATTEMPTS: (f64, f64) = (5.0, 0.1);
/// Attempts at one name, from hosts that it is not logged in at: more, so that a guesser does not keep its owner out soon.
const NAME_ATTEMPTS: (f64, f64) = (20.0, 0.2);

type Fingerprint = [u8; 32];

#[derive(Debug)]
pub(crate) struct Sessions {
    length: Duration,
    by_token: BTreeMap<Fingerprint, Session>,
    attempts: BTreeMap<IpAddr, Budget>,
    /// Of names that there are, and no others.
    by_name: BTreeMap<String, Budget>,
}

#[derive(Clone, Debug)]
struct Session {
    person: Person,
    host: IpAddr,
    until: Time,
}

/// What holds a session open: a page asks again and again whether it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionId(Fingerprint);

impl Sessions {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            by_token: BTreeMap::new(),
            attempts: BTreeMap::new(),
            by_name: BTreeMap::new(),
        }
    }

    /// Whether a client at this host may try a password now. `known` is whose, if there is such a person.
    pub(crate) fn may_try(&mut self, now: Time, host: IpAddr, known: Option<&str>) -> bool {
        let site = site_of(host);
        if self.attempts.len() >= MAX_HOSTS {
            self.attempts.retain(|_, budget| !budget.is_full(now));
        }
        if self.attempts.len() >= MAX_HOSTS && !self.attempts.contains_key(&site) {
            return false;
        }
        let new = |(most, per_second)| Budget::new(per_second, most, now);
        let of_host = self.attempts.entry(site).or_insert_with(|| new(ATTEMPTS));
        if !of_host.spend(now) {
            return false;
        }
        let Some(name) = known.filter(|name| !self.is_at_home(now, host, name)) else {
            return true;
        };
        let of_name = self.by_name.entry(name.to_owned());
        of_name.or_insert_with(|| new(NAME_ATTEMPTS)).spend(now)
    }

    /// An attempt that should not count: the password was right, or was not checked.
    pub(crate) fn refund(&mut self, host: IpAddr, known: Option<&str>) {
        let of_name = known.and_then(|name| self.by_name.get_mut(name));
        let of_host = self.attempts.get_mut(&site_of(host));
        for budget in of_host.into_iter().chain(of_name) {
            budget.refund();
        }
    }

    /// Whether a person is logged in at this host already.
    fn is_at_home(&self, now: Time, host: IpAddr, name: &str) -> bool {
        let mut sessions = self.by_token.values();
        sessions.any(|it| it.person.name == name && it.host == host && it.until > now)
    }

    /// Begins a session. Returns the token.
    pub(crate) fn begin(&mut self, now: Time, host: IpAddr, person: Person) -> String {
        self.by_token.retain(|_, session| session.until > now);
        let own = |(_, session): &(&Fingerprint, &Session)| session.person.name == person.name;
        if self.by_token.iter().filter(own).count() >= MAX_SESSIONS {
            let oldest = self.by_token.iter().filter(own);
            let oldest = oldest.min_by_key(|(_, it)| it.until);
            if let Some(oldest) = oldest.map(|(token, _)| *token) {
                self.by_token.remove(&oldest);
            }
        }
        let token = random_token();
        let session = Session {
            person,
            host,
            until: now + self.length,
        };
        self.by_token.insert(fingerprint(&token), session);
        token
    }

    /// Whose token this is.
    pub(crate) fn find(&self, now: Time, host: IpAddr, token: &str) -> Option<(Person, SessionId)> {
        let id = SessionId(fingerprint(token));
        let session = self.by_token.get(&id.0)?;
        let is_good = session.until > now && session.host == host;
        is_good.then(|| (session.person.clone(), id))
    }

    /// Whether a session still lasts.
    pub(crate) fn lasts(&self, now: Time, id: SessionId) -> bool {
        let session = self.by_token.get(&id.0);
        session.is_some_and(|session| session.until > now)
    }

    /// Ends a session. Returns whose it was.
    pub(crate) fn end(&mut self, token: &str) -> Option<Person> {
        let ended = self.by_token.remove(&fingerprint(token));
        ended.map(|session| session.person)
    }

    pub(crate) fn length(&self) -> Duration {
        self.length
    }
}

/// What counts as one host where something is limited: an address of version 6 stands for all of its network.
pub(crate) fn site_of(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            std::net::Ipv6Addr::from_bits(network).into()
        }
    }
}

fn fingerprint(token: &str) -> Fingerprint {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

fn random_token() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the system has random numbers");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::Role;

    const START: Time = Time::from_utime(1_000_000);
    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const OTHER: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn anna() -> Person {
        Person {
            name: "anna".to_owned(),
            role: Role::Operator,
            rank: 1,
        }
    }

    #[test]
    fn a_token_is_good_where_it_was_given_until_it_expires_or_is_ended() {
        let mut sessions = Sessions::new(HOUR);
        let token = sessions.begin(START, HOST, anna());
        let (person, id) = sessions.find(START, HOST, &token).unwrap();
        assert_eq!(person, anna());
        assert!(sessions.find(START, OTHER, &token).is_none(), "stolen");
        assert!(sessions.find(START, HOST, "guess").is_none());
        let late = START + HOUR;
        assert!(sessions.lasts(START, id) && !sessions.lasts(late, id));
        assert!(sessions.find(late, HOST, &token).is_none(), "expired");
        assert_eq!(sessions.end(&token), Some(anna()));
        assert!(!sessions.lasts(START, id));
    }

    #[test]
    fn tokens_are_never_the_same() {
        let mut sessions = Sessions::new(HOUR);
        let mut tokens: Vec<_> = (0..100)
            .map(|_| sessions.begin(START, HOST, anna()))
            .collect();
        assert!(tokens.iter().all(|it| it.len() == 43));
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 100);
    }

    #[test]
    fn guessing_is_slow_and_one_host_does_not_keep_another_out() {
        let mut sessions = Sessions::new(HOUR);
        let try_at = |sessions: &mut Sessions, now| sessions.may_try(now, HOST, None);
        let tries = (0..100).filter(|_| try_at(&mut sessions, START)).count();
        assert_eq!(tries, 5);
        assert!(sessions.may_try(START, OTHER, None));
        assert!(try_at(&mut sessions, START + Duration::from_secs(10)));
    }

    #[test]
    fn who_logs_in_between_guesses_guesses_no_faster() {
        let mut sessions = Sessions::new(HOUR);
        let mut n_guesses = 0;
        for _ in 0..100 {
            n_guesses += u32::from(sessions.may_try(START, HOST, Some("eve")));
            if sessions.may_try(START, HOST, Some("anna")) {
                sessions.refund(HOST, Some("anna"));
                sessions.begin(START, HOST, anna());
            }
        }
        assert_eq!(n_guesses, 5);
    }

    #[test]
    fn a_name_is_not_guessed_from_many_hosts_and_its_owner_gets_in_where_they_are() {
        let mut sessions = Sessions::new(HOUR);
        sessions.begin(START, HOST, anna());
        let hosts = (0..1_000_u32).map(|n| IpAddr::from(n.to_be_bytes()));
        let tries = hosts.filter(|host| sessions.may_try(START, *host, Some("anna")));
        assert_eq!(tries.count(), 20);
        assert!(sessions.may_try(START, HOST, Some("anna")));
        assert!(sessions.may_try(START, OTHER, Some("eve")));
    }

    #[test]
    fn a_network_of_version_six_is_one_host() {
        let mut sessions = Sessions::new(HOUR);
        let hosts = (0..100_u128).map(|n| IpAddr::from((0x2001_0db8 << 96 | n).to_be_bytes()));
        let tries = hosts.filter(|host| sessions.may_try(START, *host, None));
        assert_eq!(tries.count(), 5);
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(site_of(mapped), "10.0.0.1".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn too_many_log_ins_of_a_user_end_only_their_own() {
        let mut sessions = Sessions::new(HOUR);
        let eve = Person {
            name: "eve".to_owned(),
            ..anna()
        };
        let hers = sessions.begin(START, HOST, eve);
        let later = START + Duration::from_secs(1);
        let tokens: Vec<_> = (0..2_000)
            .map(|n| sessions.begin(later + Duration::from_millis(n), HOST, anna()))
            .collect();
        assert!(sessions.find(later, HOST, &hers).is_some());
        let is_in = |token: &&String| sessions.find(later, HOST, token).is_some();
        assert_eq!(tokens.iter().filter(is_in).count(), MAX_SESSIONS);
        assert!(is_in(&tokens.last().unwrap()));
    }

    #[test]
    fn memory_is_bounded() {
        let mut sessions = Sessions::new(HOUR);
        for i in 0..5_000_u32 {
            let host = IpAddr::from(i.to_be_bytes());
            sessions.may_try(START, host, Some("anna"));
            sessions.begin(START, host, anna());
            sessions.may_try(START, host, None);
        }
        assert!(sessions.by_token.len() <= MAX_SESSIONS);
        assert!(sessions.attempts.len() <= MAX_HOSTS);
    }
}

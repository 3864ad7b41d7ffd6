//! Who is logged in: tokens, for how long they are good and where, and how often somebody may try.
//!
//! Only fingerprints of tokens are kept. A token is good from the host that it was given to, until it expires or somebody
//! logs out.

use crate::budget::Budget;
use crate::people::Person;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bowline_node::Time;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// People that may be logged in at once; the oldest of them is logged out for one more.
const MAX_SESSIONS: usize = 1_024;
/// Hosts whose attempts are remembered. Beyond that everybody waits.
const MAX_HOSTS: usize = 1_024;
/// Attempts at once, and then a second.
const ATTEMPTS: (f64, f64) = (5.0, 0.1);

type Fingerprint = [u8; 32];

#[derive(Debug)]
pub(crate) struct Sessions {
    length: Duration,
    by_token: BTreeMap<Fingerprint, Session>,
    attempts: BTreeMap<IpAddr, Budget>,
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
        }
    }

    /// Whether somebody at this host may try a password now.
    pub(crate) fn may_try(&mut self, now: Time, host: IpAddr) -> bool {
        if self.attempts.len() >= MAX_HOSTS {
            self.attempts.retain(|_, budget| !budget.is_full(now));
        }
        if self.attempts.len() >= MAX_HOSTS && !self.attempts.contains_key(&host) {
            return false;
        }
        let (most, per_second) = ATTEMPTS;
        let new = || Budget::new(per_second, most, now);
        self.attempts.entry(host).or_insert_with(new).spend(now)
    }

    /// Lets somebody in. Returns the token.
    pub(crate) fn begin(&mut self, now: Time, host: IpAddr, person: Person) -> String {
        self.by_token.retain(|_, session| session.until > now);
        if self.by_token.len() >= MAX_SESSIONS {
            let oldest = self.by_token.iter().min_by_key(|(_, it)| it.until);
            if let Some(oldest) = oldest.map(|(token, _)| *token) {
                self.by_token.remove(&oldest);
            }
        }
        // Who knows the password does not have to wait.
        self.attempts.remove(&host);
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

    /// Logs somebody out.
    pub(crate) fn end(&mut self, token: &str) {
        self.by_token.remove(&fingerprint(token));
    }

    pub(crate) fn length(&self) -> Duration {
        self.length
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
        sessions.end(&token);
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
        let tries = (0..100).filter(|_| sessions.may_try(START, HOST)).count();
        assert_eq!(tries, 5);
        assert!(sessions.may_try(START, OTHER));
        assert!(sessions.may_try(START + Duration::from_secs(10), HOST));
    }

    #[test]
    fn memory_is_bounded() {
        let mut sessions = Sessions::new(HOUR);
        for i in 0..5_000_u32 {
            let host = IpAddr::from(i.to_be_bytes());
            sessions.may_try(START, host);
            sessions.begin(START, host, anna());
            sessions.may_try(START, host);
        }
        assert!(sessions.by_token.len() <= MAX_SESSIONS);
        assert!(sessions.attempts.len() <= MAX_HOSTS);
    }
}

//! Refusals that a client could cause without end: the first is written down at once, the others as one line now and then.

use bowline_component::Time;
use bowline_msgs::Audit;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// How often at most the same is reported of the same host.
const EVERY: Duration = Duration::from_secs(10);
/// Hosts that are reported separately. What others do is one more line for all of them.
const MAX_HOSTS: usize = 256;
const OTHERS: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

#[derive(Debug, Default)]
pub(crate) struct Notices(BTreeMap<(IpAddr, String), Notice>);

#[derive(Debug)]
struct Notice {
    next: Time,
    /// What was not written down since: how often, and the last of it.
    held: Option<(u64, Audit)>,
}

impl Notices {
    /// What is to be written down at once, if that is the first of its action from this host for long.
    pub(crate) fn hear(&mut self, now: Time, host: IpAddr, audit: Audit) -> Option<Audit> {
        let key = (host, audit.action.clone());
        let is_one_too_many = self.0.len() >= MAX_HOSTS && !self.0.contains_key(&key);
        let key = if is_one_too_many {
            (OTHERS, key.1)
        } else {
            key
        };
        if let Some(notice) = self.0.get_mut(&key) {
            let n_held = notice.held.as_ref().map_or(0, |(n_held, _)| *n_held);
            notice.held = Some((n_held + 1, audit));
            return None;
        }
        let next = now + EVERY;
        self.0.insert(key, Notice { next, held: None });
        Some(audit)
    }

    /// What is to be written down by now.
    pub(crate) fn take(&mut self, now: Time) -> Vec<Audit> {
        let mut due = Vec::new();
        self.0.retain(|_, notice| {
            if notice.next > now {
                return true;
            }
            let Some((n_held, audit)) = notice.held.take() else {
                return false;
            };
            notice.next = now + EVERY;
            let detail = format!("{}; {n_held} times since the last line", audit.detail);
            due.push(Audit { detail, ..audit });
            true
        });
        due
    }

    /// All that was not written down yet.
    pub(crate) fn take_all(&mut self, now: Time) -> Vec<Audit> {
        self.take(now + EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_utime(1_000_000);

    fn audit(action: &str) -> Audit {
        Audit {
            action: action.to_owned(),
            detail: "no".to_owned(),
            ..Audit::default()
        }
    }

    #[test]
    fn first_notice_is_immediate_and_others_are_one_line() {
        let mut notices = Notices::default();
        let host = IpAddr::from([10, 0, 0, 1]);
        assert!(notices.hear(START, host, audit("login")).is_some());
        assert!(notices.hear(START, host, audit("refused")).is_some());
        for _ in 0..1_000 {
            assert_eq!(notices.hear(START, host, audit("login")), None);
        }
        assert!(notices.take(START + EVERY / 2).is_empty());
        let told = notices.take(START + EVERY);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].detail, "no; 1000 times since the last line");
        assert!(notices.take_all(START + EVERY).is_empty());
        assert!(notices.0.is_empty(), "what is over is forgotten");
    }

    #[test]
    fn memory_and_lines_are_bounded_however_many_hosts_there_are() {
        let mut notices = Notices::default();
        let hosts = (0..10_000_u32).map(|n| IpAddr::from(n.to_be_bytes()));
        let told = hosts.filter(|host| notices.hear(START, *host, audit("login")).is_some());
        assert_eq!(told.count(), MAX_HOSTS + 1);
        assert_eq!(notices.take_all(START).len(), 1);
    }
}

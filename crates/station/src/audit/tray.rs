//! What waits to be written down, in bounds. The session that does most loses first, so none loses because of another.

use bowline_msgs::Audit;
use std::collections::{BTreeMap, VecDeque};

/// All that waits, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// What an entry costs at least, so that there are some thousands of them at most: half a minute of direct control by
/// five people.
const MIN_COST: usize = 4 << 10;
/// What is taken at a time.
const MAX_TAKEN: usize = 64;

/// Entries in their order.
#[derive(Debug, Default)]
pub(super) struct Tray {
    entries: VecDeque<Entry>,
    n_bytes: usize,
    /// What waits of each person.
    by_person: BTreeMap<String, usize>,
    is_closed: bool,
}

#[derive(Debug)]
struct Entry {
    person: String,
    cost: usize,
    audit: Audit,
}

impl Tray {
    /// Takes an entry. Returns how many were lost for that: this one, or the newest of a session that did more.
    pub(super) fn put(&mut self, audit: Audit) -> u64 {
        let entry = Entry {
            person: person_of(&audit),
            cost: cost_of(&audit),
            audit,
        };
        let mut n_lost = 0;
        while self.n_bytes + entry.cost > MAX_BYTES {
            let own = self.by_person.get(&entry.person).copied().unwrap_or(0);
            let most = self.by_person.iter().max_by_key(|(_, cost)| **cost);
            let other = most.filter(|(_, cost)| **cost > own + entry.cost);
            let Some(person) = other.map(|(person, _)| person.clone()) else {
                return n_lost + 1;
            };
            self.drop_newest_of(&person);
            n_lost += 1;
        }
        self.n_bytes += entry.cost;
        *self.by_person.entry(entry.person.clone()).or_default() += entry.cost;
        self.entries.push_back(entry);
        n_lost
    }

    fn drop_newest_of(&mut self, person: &str) {
        let at = self.entries.iter().rposition(|it| it.person == person);
        if let Some(entry) = at.and_then(|at| self.entries.remove(at)) {
            self.release(&entry);
        }
    }

    fn release(&mut self, entry: &Entry) {
        self.n_bytes -= entry.cost;
        if let Some(cost) = self.by_person.get_mut(&entry.person) {
            *cost -= entry.cost;
            if *cost == 0 {
                self.by_person.remove(&entry.person);
            }
        }
    }

    /// Whether there is nothing to do, but may be later.
    pub(super) fn is_idle(&self) -> bool {
        self.entries.is_empty() && !self.is_closed
    }

    /// The oldest entries; `None` when there are none and will be none.
    pub(super) fn take(&mut self) -> Option<Vec<Audit>> {
        if self.entries.is_empty() && self.is_closed {
            return None;
        }
        let mut taken = Vec::new();
        while taken.len() < MAX_TAKEN
            && let Some(entry) = self.entries.pop_front()
        {
            self.release(&entry);
            taken.push(entry.audit);
        }
        Some(taken)
    }

    /// Nothing more will come.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }
}

/// Who did it. Those who are not logged in can call themselves anything; where they are, is known.
fn person_of(audit: &Audit) -> String {
    if audit.role.is_empty() {
        let host = audit.address.rsplit_once(':');
        return format!("at {}", host.map_or(&*audit.address, |(host, _)| host));
    }
    format!("{} {}", audit.station, audit.user)
}

fn cost_of(audit: &Audit) -> usize {
    let Audit {
        utime: _,
        station,
        user,
        role,
        address,
        action,
        subject,
        detail,
        is_done: _,
        n_bytes: _,
        message,
    } = audit;
    let texts = [station, user, role, address, action, subject, detail];
    let n_bytes = texts.iter().map(|text| text.len()).sum::<usize>() + message.len();
    n_bytes.max(MIN_COST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(user: &str, role: &str, n_bytes: usize) -> Audit {
        Audit {
            station: "bridge".to_owned(),
            user: user.to_owned(),
            role: role.to_owned(),
            address: "10.0.0.1:80".to_owned(),
            message: vec![0; n_bytes],
            ..Audit::default()
        }
    }

    fn of(tray: &Tray, user: &str) -> usize {
        let entries = tray.entries.iter();
        entries.filter(|it| it.audit.user == user).count()
    }

    #[test]
    fn flood_of_one_user_drops_no_other_users_records() {
        let mut tray = Tray::default();
        for _ in 0..10 {
            assert_eq!(tray.put(audit("anna", "operator", 100)), 0);
        }
        let n_lost: u64 = (0..1_000)
            .map(|_| tray.put(audit("mallory", "operator", 60_000)))
            .sum();
        assert!(n_lost > 700 && tray.n_bytes <= MAX_BYTES);
        assert_eq!(of(&tray, "anna"), 10);
        // And there is room for the others still.
        for _ in 0..1_000 {
            tray.put(audit("anna", "operator", 100));
        }
        assert_eq!(of(&tray, "anna"), 1_010);
        assert!(tray.n_bytes <= MAX_BYTES);
    }

    #[test]
    fn those_who_are_not_logged_in_are_who_they_are_under_whatever_name() {
        let mut tray = Tray::default();
        for n in 0..10_000 {
            tray.put(audit(&format!("guess{n}"), "", 0));
        }
        assert_eq!(tray.by_person.len(), 1);
        assert_eq!(tray.entries.len(), MAX_BYTES / MIN_COST);
        assert_eq!(tray.put(audit("anna", "operator", 100)), 1);
        assert_eq!(of(&tray, "anna"), 1);
    }

    #[test]
    fn everything_is_taken_in_its_order_and_then_it_is_over() {
        let mut tray = Tray::default();
        for n in 0..100 {
            tray.put(audit(&n.to_string(), "viewer", 0));
        }
        tray.close();
        let taken: Vec<String> = std::iter::from_fn(|| tray.take())
            .flatten()
            .map(|it| it.user)
            .collect();
        let expected: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(taken, expected);
        assert_eq!((tray.n_bytes, tray.by_person.len()), (0, 0));
    }
}

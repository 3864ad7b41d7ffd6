//! All supervisors that are received, on all hosts: one view, and the addressee of each command.
//!
//! Given messages and the time; knows no bus.

use super::plan::ALL;
use bowline_component::Time;
use bowline_msgs::{Supervised, Supervisor};
use bowline_wire::suggest;
use std::collections::{BTreeMap, BTreeSet};

/// Supervisors that are kept; more are not, and counted.
const MAX_SUPERVISORS: usize = 256;

/// The supervisors that were received.
#[derive(Clone, Debug, Default)]
pub struct Roster {
    entries: BTreeMap<Key, Entry>,
    n_left_out: u64,
}

/// Robot, host and life of a supervisor.
type Key = (String, String, i64, i32);

/// A supervisor that was received.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its last report.
    pub status: Supervisor,
    /// When.
    pub heard: Time,
}

impl Roster {
    /// Takes a supervisor's report.
    pub fn hear(&mut self, now: Time, status: Supervisor) {
        let key = (
            status.robot.clone(),
            status.host.clone(),
            status.instance,
            status.pid,
        );
        match status.state {
            // It has nothing yet.
            Supervisor::CLAIMING => {}
            Supervisor::ENDED => drop(self.entries.remove(&key)),
            _ if self.entries.len() >= MAX_SUPERVISORS && !self.entries.contains_key(&key) => {
                self.n_left_out += 1;
            }
            _ => {
                // An earlier life of the same name has ended without a word.
                let (robot, host, instance, _) = &key;
                self.entries.retain(|other, _| {
                    other.0 != *robot || other.1 != *host || other.2 >= *instance
                });
                self.entries.insert(key, Entry { status, heard: now });
            }
        }
    }

    /// Those that were received, by robot and host.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Messages of supervisors that there was no room for.
    #[must_use]
    pub fn n_left_out(&self) -> u64 {
        self.n_left_out
    }

    /// Those that are meant by the name of a robot and a host, where they are given.
    pub fn of(&self, robot: Option<&str>, host: Option<&str>) -> impl Iterator<Item = &Supervisor> {
        let statuses = self.iter().map(|entry| &entry.status);
        statuses.filter(move |status| {
            robot.is_none_or(|robot| status.robot == robot)
                && host.is_none_or(|host| status.host == host)
        })
    }

    /// Those that have something of a name: a process, a component, a group, or everything.
    ///
    /// # Errors
    /// When no robot has it, or several do.
    pub fn choose(
        &self,
        robot: Option<&str>,
        host: Option<&str>,
        target: &str,
    ) -> Result<Vec<&Supervisor>, ChooseError> {
        let heard: Vec<&Supervisor> = self.of(robot, host).collect();
        if heard.is_empty() {
            let found = self.of(None, None).map(name).collect();
            return Err(ChooseError::Nobody { found });
        }
        let has = |status: &&Supervisor| target == ALL || !meant(status, target).is_empty();
        let chosen: Vec<&Supervisor> = heard.iter().copied().filter(has).collect();
        if chosen.is_empty() {
            let names = heard
                .iter()
                .flat_map(|status| &status.processes)
                .flat_map(names);
            return Err(ChooseError::Unknown {
                target: target.to_owned(),
                suggestion: suggest::nearest(target, names).map(str::to_owned),
            });
        }
        let robots: BTreeSet<&str> = chosen.iter().map(|it| it.robot.as_str()).collect();
        if robots.len() > 1 {
            let robots = robots.into_iter().map(str::to_owned).collect();
            return Err(ChooseError::Several {
                target: target.to_owned(),
                robots,
            });
        }
        Ok(chosen)
    }
}

/// The processes of a supervisor that a name means.
#[must_use]
pub fn meant<'a>(status: &'a Supervisor, target: &str) -> Vec<&'a Supervised> {
    let processes = status.processes.iter();
    processes
        .filter(|process| target == ALL || names(process).any(|name| name == target))
        .collect()
}

fn names(process: &Supervised) -> impl Iterator<Item = &str> {
    let own = [process.name.as_str(), process.group.as_str()];
    let components = process.components.iter().map(String::as_str);
    own.into_iter()
        .chain(components)
        .filter(|name| !name.is_empty())
}

fn name(status: &Supervisor) -> String {
    format!("{}@{}", status.robot, status.host)
}

/// Why it is not clear whom an order is for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// There is no such supervisor.
    #[error("no such supervisor was received{}", match found.is_empty() { true => String::new(), false => format!(", only {}", found.join(", ")) })]
    Nobody {
        /// Those that were.
        found: Vec<String>,
    },
    /// No supervisor has it.
    #[error("no supervisor has a process, component or group {target:?}{}", suggestion.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        target: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// Several robots have it.
    #[error("several robots have {target:?}: name one of {} with --robot", robots.join(", "))]
    Several {
        /// What was asked for.
        target: String,
        /// Who has it.
        robots: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(robot: &str, host: &str, names: &[&str]) -> Supervisor {
        let processes = names.iter().map(|name| Supervised {
            name: (*name).to_owned(),
            group: "sensors".to_owned(),
            ..Supervised::default()
        });
        Supervisor {
            robot: robot.to_owned(),
            host: host.to_owned(),
            state: Supervisor::RUNNING,
            processes: processes.collect(),
            ..Supervisor::default()
        }
    }

    fn roster() -> Roster {
        let mut roster = Roster::default();
        roster.hear(Time::ZERO, status("boat", "deck", &["lidar", "map"]));
        roster.hear(Time::ZERO, status("boat", "mast", &["radar"]));
        roster.hear(Time::ZERO, status("raptor", "deck", &["lidar"]));
        roster
    }

    #[test]
    fn command_goes_to_the_supervisor_of_the_name() {
        let roster = roster();
        let hosts = |robot, host, target| {
            let chosen = roster.choose(robot, host, target)?;
            Ok(chosen.iter().map(|it| it.host.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(hosts(None, None, "radar"), Ok(vec!["mast"]));
        assert_eq!(hosts(Some("boat"), None, "all"), Ok(vec!["deck", "mast"]));
        assert_eq!(
            hosts(Some("boat"), None, "sensors"),
            Ok(vec!["deck", "mast"])
        );
        assert_eq!(hosts(Some("boat"), Some("mast"), "all"), Ok(vec!["mast"]));
        #[rustfmt::skip]
        let cases = [
            ((None, None, "lidar"), "several robots have \"lidar\": name one of boat, raptor with --robot"),
            ((None, None, "radr"), "no supervisor has a process, component or group \"radr\": did you mean \"radar\"?"),
            ((Some("tank"), None, "all"), "no such supervisor was received, only boat@deck, boat@mast, raptor@deck"),
        ];
        for ((robot, host, target), expected) in cases {
            let error: ChooseError = hosts(robot, host, target).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn ended_or_returned_supervisor_is_listed_once() {
        let mut roster = roster();
        let mut again = status("boat", "mast", &[]);
        again.instance = 7;
        roster.hear(Time::ZERO, again.clone());
        assert_eq!(roster.of(Some("boat"), Some("mast")).count(), 1);
        again.state = Supervisor::ENDED;
        roster.hear(Time::ZERO, again);
        assert_eq!(roster.of(Some("boat"), Some("mast")).count(), 0);
        assert_eq!(roster.iter().count(), 2);
    }
}

//! Components that are killed at simulated times, to see what the others make of it.

use crate::input::{self, Usage};
use bowline_host::robot::{Robot, Source};
use std::fmt;
use std::time::Duration;

/// The request: a component or a process, and when it dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kill {
    name: String,
    after: Duration,
}

impl Kill {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, after)) = text.rsplit_once('@').filter(|(name, _)| !name.is_empty()) else {
            return Err(format!(
                "expected NAME@TIME, such as arbiter@20s, found {text:?}"
            ));
        };
        Ok(Self {
            name: name.to_owned(),
            after: input::duration(after)?,
        })
    }
}

/// The end of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Death {
    after: Duration,
    pub(super) component: String,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, component } = self;
        write!(
            f,
            "{component} was killed after {:.3} s",
            after.as_secs_f64()
        )
    }
}

/// Who dies, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Deaths(Vec<Death>);

impl Deaths {
    /// Finds out who is meant.
    pub(super) fn of(robot: &Robot, source: Source, kills: &[Kill]) -> anyhow::Result<Self> {
        let mut deaths = Vec::new();
        for Kill { name, after } in kills {
            let n_before = deaths.len();
            let components = robot.components(source);
            let meant = components.filter(|it| it.name == *name || it.process == *name);
            deaths.extend(meant.map(|component| Death {
                after: *after,
                component: component.name.clone(),
            }));
            if deaths.len() == n_before {
                let known: Vec<&str> = robot
                    .components(source)
                    .map(|it| it.name.as_str())
                    .collect();
                let message = format!(
                    "--kill: expected one of {}, found {name:?}",
                    known.join(", ")
                );
                return Err(Usage(message).into());
            }
        }
        deaths.sort_by_key(|death| death.after);
        Ok(Self(deaths))
    }

    pub(super) fn iter(&self) -> Pending<'_> {
        Pending { left: &self.0 }
    }
}

/// Those who are still alive.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    left: &'a [Death],
}

impl<'a> Pending<'a> {
    /// Those who die before anything happens at a time.
    pub(super) fn by(&mut self, elapsed: Duration) -> &'a [Death] {
        let n_due = self.left.partition_point(|death| death.after <= elapsed);
        let (due, left) = self.left.split_at(n_due);
        self.left = left;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_a_name_and_a_time() {
        let kill = Kill::parse("left@eye@1500ms").unwrap();
        assert_eq!(kill.name, "left@eye");
        assert_eq!(kill.after, Duration::from_millis(1_500));
        for text in ["arbiter", "@20s", "arbiter@", "arbiter@soon"] {
            assert!(Kill::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_dies_once_in_the_order_of_time() {
        let death = |component: &str, seconds| Death {
            after: Duration::from_secs(seconds),
            component: component.to_owned(),
        };
        let deaths = Deaths(vec![death("one", 1), death("two", 2), death("also two", 2)]);
        let mut pending = deaths.iter();
        let mut names = |seconds| {
            let due = pending.by(Duration::from_secs(seconds)).iter();
            due.map(|it| it.component.as_str()).collect::<Vec<_>>()
        };
        assert!(names(0).is_empty());
        assert_eq!(names(1), ["one"]);
        assert_eq!(names(5), ["two", "also two"]);
        assert!(names(9).is_empty());
    }
}

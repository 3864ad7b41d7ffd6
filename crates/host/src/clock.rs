//! The only look at a clock in everything that runs components.

use bowline_component::Time;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::fs;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A live clock: the wall clock's time when its epoch was made, and from then on as the monotonic clock runs.
///
/// So it never steps: no deadline is missed or tripped because the date was set. How far the wall clock has gone
/// from it since is in every presence message, so that a step can be seen.
///
/// A supervisor hands its epoch down to all that it starts, so that a process that is started after the date was
/// set has the time that the others have. A process without one makes one, of the wall clock as it is.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    started: Instant,
    started_at: Time,
    epoch: Epoch,
}

impl Live {
    /// Starts it.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "reading the clock should be seen where it is done"
    )]
    pub fn new() -> Self {
        static INHERITED: OnceLock<Option<Epoch>> = OnceLock::new();
        Self::read(Reading::take(), *INHERITED.get_or_init(inherited))
    }

    /// Starts it with an epoch that was kept; with another, if that is of an earlier life of the machine.
    #[must_use]
    pub fn with_epoch(epoch: Epoch) -> Self {
        Self::read(Reading::take(), Some(epoch))
    }

    fn read(reading: Reading, epoch: Option<Epoch>) -> Self {
        let Reading {
            instant,
            monotonic_ns,
            wall,
            boot,
        } = reading;
        let epoch = epoch.filter(|epoch| epoch.boot.is_some() && epoch.boot == boot);
        let epoch = epoch.unwrap_or(Epoch {
            boot,
            zero_ns: wall.ns().saturating_sub(monotonic_ns),
        });
        Self {
            started: instant,
            started_at: epoch.time(monotonic_ns),
            epoch,
        }
    }

    /// What it has in common with the clocks of others on this machine.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.epoch.time(monotonic_ns())
    }

    /// A moment as the system's monotonic clock has it, for libraries that want that.
    #[must_use]
    pub fn instant(&self, moment: Time) -> Instant {
        self.started + moment.since(self.started_at)
    }

    /// A moment of the system's monotonic clock as this one has it.
    #[must_use]
    pub fn time(&self, moment: Instant) -> Time {
        self.started_at + moment.saturating_duration_since(self.started)
    }

    /// When it was made.
    #[must_use]
    pub fn started_at(&self) -> Time {
        self.started_at
    }

    /// Lets time pass, for hosts that hold simulated time to this clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn wait(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// How long it is until a moment; nothing if that has passed.
    #[must_use]
    pub fn until(&self, moment: Time) -> Duration {
        moment.since(self.now())
    }

    /// How long a message waited until it was taken: by the wall clock, which stamped it. That may have been set, so
    /// it cannot be longer than since nothing waited.
    #[must_use]
    pub fn waited(&self, stamp_ns: i64, taken_at: Time, empty_at: Time) -> Duration {
        let received = stamp_ns.saturating_sub(self.wall_offset_ns());
        let waited = taken_at.since(Time::from_ns(received));
        waited.min(taken_at.since(empty_at))
    }

    /// How far the wall clock is ahead of this one, nanoseconds: about 0 until the date is set.
    #[must_use]
    pub fn wall_offset_ns(&self) -> i64 {
        wall().ns().saturating_sub(self.now().ns())
    }
}

/// What several clocks of a machine have in common: the time at which its monotonic clock was 0, as the wall clock had
/// it once. As a text it is the number of the machine's life and that time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Which boot of the machine; `None` where the system does not report it, and then no other process can use it.
    boot: Option<u128>,
    zero_ns: i64,
}

impl Epoch {
    /// The variable of the environment that it is handed down in.
    pub const VARIABLE: &str = "BOWLINE_EPOCH";

    fn time(self, monotonic_ns: i64) -> Time {
        Time::from_ns(self.zero_ns.saturating_add(monotonic_ns))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x} {}", self.boot.unwrap_or(0), self.zero_ns)
    }
}

impl FromStr for Epoch {
    type Err = ParseEpochError;

    fn from_str(text: &str) -> Result<Self, ParseEpochError> {
        let bad = || ParseEpochError {
            found: text.to_owned(),
        };
        let (boot, zero) = text.split_once(' ').ok_or_else(bad)?;
        let boot = boot_number(boot).ok_or_else(bad)?;
        let zero_ns = zero.parse().ok().ok_or_else(bad)?;
        Ok(Self {
            boot: Some(boot).filter(|boot| *boot != 0),
            zero_ns,
        })
    }
}

/// A text that is no epoch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the number of the machine's life and nanoseconds, found {found:?}")]
pub struct ParseEpochError {
    found: String,
}

/// What the clocks of the system show at one moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    instant: Instant,
    monotonic_ns: i64,
    wall: Time,
    boot: Option<u128>,
}

impl Reading {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn take() -> Self {
        static BOOT: OnceLock<Option<u128>> = OnceLock::new();
        let boot = || boot_number(&fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?);
        Self {
            boot: *BOOT.get_or_init(boot),
            wall: wall(),
            monotonic_ns: monotonic_ns(),
            instant: Instant::now(),
        }
    }
}

fn boot_number(text: &str) -> Option<u128> {
    u128::from_str_radix(&text.trim().replace('-', ""), 16).ok()
}

/// What the parent of this process has handed down. Nonsense is as if there were none.
#[expect(
    clippy::disallowed_methods,
    reason = "an epoch is handed down by the environment, as that is all that every process hands down"
)]
fn inherited() -> Option<Epoch> {
    std::env::var(Epoch::VARIABLE).ok()?.parse().ok()
}

/// The clock that all processes of a machine share and that cannot be set, which is also that of `Instant`.
fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time::ZERO + since.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// A machine that has run for so many seconds, whose wall clock was set forward by so much since.
    fn reading(seconds: u64, stepped: Duration, boot: u128) -> Reading {
        let wall = Time::from_utime(1_763_000_000_000_000) + Duration::from_secs(seconds) + stepped;
        Reading {
            monotonic_ns: i64::try_from(seconds).unwrap() * 1_000_000_000,
            wall,
            boot: Some(boot),
            ..Reading::take()
        }
    }

    #[test]
    fn clocks_of_one_epoch_agree_though_the_wall_clock_was_set_between_them() {
        let first = Live::read(reading(100, Duration::ZERO, 7), None);
        assert_eq!(first.started_at(), reading(100, Duration::ZERO, 7).wall);
        let handed_down: Epoch = first.epoch().to_string().parse().unwrap();
        assert_eq!(handed_down, first.epoch());
        let second = Live::read(reading(160, HOUR, 7), Some(handed_down));
        assert_eq!(
            second.started_at(),
            first.started_at() + Duration::from_secs(60)
        );
        // And so does a process that is started by the second one.
        assert_eq!(second.epoch(), first.epoch());
    }

    #[test]
    fn an_epoch_of_another_life_of_the_machine_or_of_an_unknown_one_is_not_believed() {
        let first = Live::read(reading(100, Duration::ZERO, 7), None);
        let after = reading(5, HOUR, 8);
        assert_eq!(
            Live::read(after, Some(first.epoch())).started_at(),
            after.wall
        );
        let unknown = Reading {
            boot: None,
            ..reading(100, Duration::ZERO, 7)
        };
        let of_unknown = Live::read(unknown, None).epoch();
        let handed_down: Epoch = of_unknown.to_string().parse().unwrap();
        assert_eq!(handed_down, of_unknown);
        let later = Reading {
            boot: None,
            ..reading(200, HOUR, 7)
        };
        assert_eq!(
            Live::read(later, Some(handed_down)).started_at(),
            later.wall
        );
    }

    #[test]
    fn what_is_no_epoch_is_refused() {
        for text in ["", "1", "x 1", "1 x", "1 1 1", "1 9223372036854775808"] {
            assert!(text.parse::<Epoch>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_moment_is_the_same_on_the_clock_of_the_system() {
        let clock = Live::new();
        let now = clock.now();
        assert_eq!(clock.time(clock.instant(now)), now);
        assert!(now >= clock.started_at());
    }
}

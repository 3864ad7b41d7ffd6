//! What is broken, and until when.
//!
//! Services and world files name faults by the one table here, and their faults end in the same list.

use bowline_msgs::SimFault;
use std::f64::consts::PI;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Which port it hits; none: all that can be.
    pub port: Option<String>,
    /// Until when, in nanoseconds since the simulation began; none: until it is cleared.
    pub until_ns: Option<u64>,
}

/// A fault that comes by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFault {
    /// When, since the simulation began: from the first step on that begins then or later, and the command before it.
    pub at: Duration,
    /// What is wrong then.
    pub kind: FaultKind,
    /// Which port it hits; none: all that can be.
    pub port: Option<String>,
    /// For how long; none: until it is cleared.
    pub lasts: Option<Duration>,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// A sensor sends nothing.
    Dead,
    /// A sensor repeats itself.
    Stuck,
    /// A sensor's noise is so many times what it should be.
    Noisy(f64),
    /// The drive gives so much of what it should, 0 to 1.
    Weak(f64),
    /// Nothing comes out of a port, or of all, and commands do not come in.
    Cut,
    /// Positions are off, metres to the east.
    Jump(f64),
    /// Headings are off, radians to the left.
    Turn(f64),
}

/// A kind of fault as messages and files name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedKind {
    pub(crate) word: &'static str,
    pub(crate) code: i8,
    /// What has to be given about how much, if anything.
    pub(crate) amount: Option<&'static Amount>,
    make: fn(f64) -> FaultKind,
}

/// How much something is broken.
#[derive(Debug)]
pub(crate) struct Amount {
    /// What files call it, with its unit.
    pub(crate) key: &'static str,
    /// What one of those is in the message.
    pub(crate) unit: f64,
    /// As messages have it.
    pub(crate) limits: RangeInclusive<f64>,
}

/// Everything that can be wrong.
pub(crate) const KINDS: &[NamedKind] = &[
    NamedKind::plain("dead", SimFault::DEAD, |_| FaultKind::Dead),
    NamedKind::plain("stuck", SimFault::STUCK, |_| FaultKind::Stuck),
    NamedKind {
        word: "noisy",
        code: SimFault::NOISY,
        amount: Some(&Amount {
            key: "factor",
            unit: 1.0,
            limits: 0.0..=1e6,
        }),
        make: FaultKind::Noisy,
    },
    NamedKind {
        word: "weak",
        code: SimFault::WEAK,
        amount: Some(&Amount {
            key: "share",
            unit: 1.0,
            limits: 0.0..=1.0,
        }),
        make: FaultKind::Weak,
    },
    NamedKind::plain("cut", SimFault::CUT, |_| FaultKind::Cut),
    NamedKind {
        word: "jump",
        code: SimFault::JUMP,
        amount: Some(&Amount {
            key: "jump_m",
            unit: 1.0,
            limits: -1e5..=1e5,
        }),
        make: FaultKind::Jump,
    },
    NamedKind {
        word: "turn",
        code: SimFault::TURN,
        amount: Some(&Amount {
            key: "turn_deg",
            unit: PI / 180.0,
            limits: -PI..=PI,
        }),
        make: FaultKind::Turn,
    },
];

impl NamedKind {
    const fn plain(word: &'static str, code: i8, make: fn(f64) -> FaultKind) -> Self {
        Self {
            word,
            code,
            amount: None,
            make,
        }
    }

    /// So much of it, as messages have it; `Err` has the limits if that is too much or too little.
    pub(crate) fn of(&self, value: f64) -> Result<FaultKind, &'static Amount> {
        match self.amount {
            Some(amount) if !amount.limits.contains(&value) => Err(amount),
            Some(_) | None => Ok((self.make)(value)),
        }
    }
}

/// All faults that are in effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    active: Vec<Fault>,
    /// Those that will come, the next one last.
    planned: Vec<PlannedFault>,
}

/// More faults at once are a mistake of their sender.
pub(crate) const MAX_FAULTS: usize = 64;

impl Faults {
    /// Nothing is broken yet.
    pub(crate) fn planned(mut planned: Vec<PlannedFault>) -> Self {
        planned.sort_by_key(|fault| fault.at);
        planned.reverse();
        Self {
            active: Vec::new(),
            planned,
        }
    }

    /// `false` if there are too many.
    pub(crate) fn add(&mut self, fault: Fault) -> bool {
        let has_room = self.active.len() < MAX_FAULTS;
        if has_room {
            self.active.push(fault);
        }
        has_room
    }

    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    /// Ends those whose time is over, and begins those whose time has come.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        self.active
            .retain(|fault| fault.until_ns.is_none_or(|until| now_ns < until));
        let now = Duration::from_nanos(now_ns);
        while let Some(planned) = self.planned.pop_if(|fault| fault.at <= now) {
            // A world has so few of them that there is room for all of them beside those that are ordered.
            self.active.push(planned.begun(now_ns));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.active.iter()
    }

    fn at<'f>(&'f self, port: &'f str) -> impl Iterator<Item = FaultKind> + 'f {
        let hits = move |fault: &&Fault| fault.port.as_deref().is_none_or(|it| it == port);
        self.active.iter().filter(hits).map(|fault| fault.kind)
    }

    pub(crate) fn is_silent(&self, port: &str) -> bool {
        self.at(port)
            .any(|kind| matches!(kind, FaultKind::Dead | FaultKind::Cut))
    }

    pub(crate) fn is_stuck(&self, port: &str) -> bool {
        self.at(port).any(|kind| kind == FaultKind::Stuck)
    }

    pub(crate) fn noise(&self, port: &str) -> f64 {
        let factors = self.at(port).filter_map(|kind| match kind {
            FaultKind::Noisy(factor) => Some(factor),
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Weak(_)
            | FaultKind::Cut
            | FaultKind::Jump(_)
            | FaultKind::Turn(_) => None,
        });
        factors.product()
    }

    pub(crate) fn jump_m(&self, port: &str) -> f64 {
        let jumps = self.at(port).filter_map(|kind| match kind {
            FaultKind::Jump(metres) => Some(metres),
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Noisy(_)
            | FaultKind::Weak(_)
            | FaultKind::Cut
            | FaultKind::Turn(_) => None,
        });
        jumps.sum()
    }

    pub(crate) fn turn_rad(&self, port: &str) -> f64 {
        let turns = self.at(port).filter_map(|kind| match kind {
            FaultKind::Turn(radians) => Some(radians),
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Noisy(_)
            | FaultKind::Weak(_)
            | FaultKind::Cut
            | FaultKind::Jump(_) => None,
        });
        turns.sum()
    }

    /// How much of its strength the drive has.
    pub(crate) fn strength(&self) -> f64 {
        let shares = self.active.iter().filter_map(|fault| match fault.kind {
            FaultKind::Weak(share) => Some(share),
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Noisy(_)
            | FaultKind::Cut
            | FaultKind::Jump(_)
            | FaultKind::Turn(_) => None,
        });
        shares.product()
    }

    /// Whether commands do not arrive, by the port that they come in by.
    pub(crate) fn is_deaf(&self, command: &str) -> bool {
        self.at(command).any(|kind| kind == FaultKind::Cut)
    }
}

impl std::fmt::Display for PlannedFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "after {:?}: {}", self.at, self.clone().begun(0))?;
        match self.lasts {
            Some(lasts) => write!(f, ", for {lasts:?}"),
            None => Ok(()),
        }
    }
}

impl PlannedFault {
    fn begun(self, now_ns: u64) -> Fault {
        Fault {
            kind: self.kind,
            port: self.port,
            until_ns: self.lasts.map(|lasts| until(now_ns, lasts)),
        }
    }
}

/// When something ends that begins now.
pub(crate) fn until(now_ns: u64, lasts: Duration) -> u64 {
    now_ns.saturating_add(u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX))
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = self.port.as_deref().unwrap_or("everything");
        match self.kind {
            FaultKind::Dead => write!(f, "{whose} is dead"),
            FaultKind::Stuck => write!(f, "{whose} is stuck"),
            FaultKind::Noisy(factor) => write!(f, "{whose} is {factor} times as noisy"),
            FaultKind::Weak(share) => write!(f, "the drive gives {share} of what it should"),
            FaultKind::Cut => write!(f, "{whose} is cut off"),
            FaultKind::Jump(metres) => write!(f, "{whose} is off by {metres} m"),
            FaultKind::Turn(radians) => {
                write!(
                    f,
                    "{whose} is turned by {:.1} degrees",
                    radians.to_degrees()
                )
            }
        }
    }
}

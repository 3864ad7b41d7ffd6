//! What is broken, and until when.

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

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// A sensor says nothing.
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
}

/// All faults that are in effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    active: Vec<Fault>,
}

/// More faults at once are a mistake of whoever orders them.
pub(crate) const MAX_FAULTS: usize = 64;

impl Faults {
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

    /// Ends those whose time is over.
    pub(crate) fn expire(&mut self, now_ns: u64) {
        self.active
            .retain(|fault| fault.until_ns.is_none_or(|until| now_ns < until));
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
        let factors = self.at(port).map(|kind| match kind {
            FaultKind::Noisy(factor) => factor,
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Weak(_)
            | FaultKind::Cut
            | FaultKind::Jump(_) => 1.0,
        });
        factors.product()
    }

    pub(crate) fn jump_m(&self, port: &str) -> f64 {
        let jumps = self.at(port).map(|kind| match kind {
            FaultKind::Jump(metres) => metres,
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Noisy(_)
            | FaultKind::Weak(_)
            | FaultKind::Cut => 0.0,
        });
        jumps.sum()
    }

    /// How much of its strength the drive has.
    pub(crate) fn strength(&self) -> f64 {
        let shares = self.active.iter().map(|fault| match fault.kind {
            FaultKind::Weak(share) => share,
            FaultKind::Dead
            | FaultKind::Stuck
            | FaultKind::Noisy(_)
            | FaultKind::Cut
            | FaultKind::Jump(_) => 1.0,
        });
        shares.product()
    }

    /// Whether commands arrive.
    pub(crate) fn is_deaf(&self) -> bool {
        let cut = |fault: &Fault| {
            fault.kind == FaultKind::Cut
                && fault.port.as_deref().is_none_or(|port| port == "command")
        };
        self.active.iter().any(cut)
    }
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
        }
    }
}

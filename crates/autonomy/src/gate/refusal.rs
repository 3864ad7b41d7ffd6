//! Why a gate does not take a command: one word for programs, one sentence for people.

use std::time::Duration;

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It makes no sense: a number that is none, a name that is too long, an order that does not exist.
    Malformed,
    /// It brings a token that the gate did not issue, or so long ago that it has forgotten.
    Unknown,
    /// It brings a token that is too old.
    Stale,
    /// Its number has come before.
    Repeated,
    /// A later number has come before.
    Overtaken,
    /// Too many sessions at a time.
    Crowded,
    /// It is not from the holder of the lease.
    Lease,
    /// It is from the holder, but under a lease that is over.
    Epoch,
    /// The station's rank does not allow it.
    Rank,
    /// Another station is already asking for the lease.
    Asked,
    /// The holder keeps the lease.
    Denied,
    /// The holder did not answer.
    Unanswered,
    /// No station asks for the lease.
    Unasked,
    /// A stop is latched.
    Stopped,
    /// It was made before the station can have known of the last stop, or that it is over.
    Unseen,
    /// Direct control begins with neutral input.
    Neutral,
    /// What stops the vehicle locally still does.
    Local,
}

impl Reason {
    /// All of them, in the order in which a gate counts them.
    pub const ALL: [Self; 17] = [
        Self::Malformed,
        Self::Unknown,
        Self::Stale,
        Self::Repeated,
        Self::Overtaken,
        Self::Crowded,
        Self::Lease,
        Self::Epoch,
        Self::Rank,
        Self::Asked,
        Self::Denied,
        Self::Unanswered,
        Self::Unasked,
        Self::Stopped,
        Self::Unseen,
        Self::Neutral,
        Self::Local,
    ];

    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Stale => "stale",
            Self::Repeated => "repeated",
            Self::Overtaken => "overtaken",
            Self::Crowded => "crowded",
            Self::Lease => "lease",
            Self::Epoch => "epoch",
            Self::Rank => "rank",
            Self::Asked => "asked",
            Self::Denied => "denied",
            Self::Unanswered => "unanswered",
            Self::Unasked => "unasked",
            Self::Stopped => "stopped",
            Self::Unseen => "unseen",
            Self::Neutral => "neutral",
            Self::Local => "local",
        }
    }

    pub(super) fn because(self, text: impl Into<String>) -> Refusal {
        Refusal {
            reason: self,
            text: text.into(),
            age: None,
        }
    }
}

/// A command was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {text}", reason.word())]
pub struct Refusal {
    /// Why, in one word.
    pub reason: Reason,
    /// What was expected and what was found.
    pub text: String,
    /// How old its token was, where the gate knows it.
    pub age: Option<Duration>,
}

/// What was taken and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands that were taken.
    pub n_accepted: u64,
    n_refused: [u64; Reason::ALL.len()],
}

impl Counts {
    /// How many were refused for this reason.
    #[must_use]
    pub fn refused_for(&self, reason: Reason) -> u64 {
        let at = Reason::ALL.iter().position(|it| *it == reason);
        at.and_then(|at| self.n_refused.get(at))
            .copied()
            .unwrap_or(0)
    }

    /// How many were refused.
    #[must_use]
    pub fn n_refused(&self) -> u64 {
        self.n_refused.iter().sum()
    }

    pub(super) fn refuse(&mut self, reason: Reason) {
        let at = Reason::ALL.iter().position(|it| *it == reason);
        if let Some(count) = at.and_then(|at| self.n_refused.get_mut(at)) {
            *count += 1;
        }
    }
}

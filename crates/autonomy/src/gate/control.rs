//! The states of a gate.

use super::fence::Breach;
use super::task::{Contingency, Level};
use bowline_component::Time;

/// Who or what moves the vehicle.
///
/// ```text
///            every state: STOP of any sender, local stop, fence, PREEMPT
///                                   │
///   start ──────────────────────▶ Stopped
///                                   │ CLEAR of the holder
///                                   ▼                            HOLD
///            ┌──────────────────── Idle ◀──────────────────────────────────────────────┐
///            │ neutral for 300 ms   ▲ │ task                                           │
///            │                      │ │                                                │
///            ▼              RELEASE │ ▼                                                │
///         Direct ───────────────────┤ Setpoint ── task ──▶ Autonomous ── RELEASE ──▶ Autonomous, left to itself
///          ▲  │ ttl                 │  │ setpoint_ttl         │
///  command │  ▼                     │  ▼                      │
///         Silent (level) ◀──────────┴──┘                      │
///             │                                               │
///             └── the lease ran out, and then grace ──────────┴──▶ Contingency ── command of a holder ──▶ as from Idle
/// ```
///
/// Everything but `Direct`, `Setpoint`, `Autonomous` and `Contingency` gives no thrust, and those only while what they pass
/// on is fresh.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Control<A> {
    /// A stop is latched.
    Stopped(Stop),
    /// Nothing moves, and no operator is missed.
    Idle,
    /// A person sets what the actuators do, up to and with this moment.
    Direct { wish: A, until: Time },
    /// A person sets heading and speed, up to and with this moment.
    Setpoint { until: Time },
    /// A person who set that much has fallen silent.
    Silent(Level),
    /// The vehicle does what it was given to do.
    Autonomous(Level),
    /// Control was lost, and this was chosen for it.
    Contingency(Contingency),
}

/// A stop that is latched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) by: String,
    pub(super) reason: String,
    /// How many tokens had been issued by then: a command with a later one can know of it.
    pub(super) n_issued: u64,
    /// What was wrong with the fence, where that is the reason.
    pub(super) breach: Option<Breach>,
}

impl<A> Control<A> {
    /// Whether the controller's wishes go through.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Setpoint { .. } | Self::Autonomous(_) => true,
            Self::Contingency(plan) => *plan != Contingency::Hold,
            Self::Stopped(_) | Self::Idle | Self::Direct { .. } | Self::Silent(_) => false,
        }
    }

    /// At which level the vehicle is controlled.
    pub(super) fn level(&self) -> Level {
        match self {
            Self::Direct { .. } => Level::Direct,
            Self::Setpoint { .. } => Level::Setpoint,
            Self::Silent(level) | Self::Autonomous(level) => *level,
            Self::Stopped(_) | Self::Idle | Self::Contingency(_) => Level::Observe,
        }
    }

    /// The last moment of what a person set, where it ends by itself.
    pub(super) fn until(&self) -> Option<Time> {
        match self {
            Self::Direct { until, .. } | Self::Setpoint { until } => Some(*until),
            Self::Stopped(_)
            | Self::Idle
            | Self::Silent(_)
            | Self::Autonomous(_)
            | Self::Contingency(_) => None,
        }
    }

    /// What a person sets directly.
    pub(super) fn direct(&self) -> Option<&A> {
        if let Self::Direct { wish, .. } = self {
            return Some(wish);
        }
        None
    }

    /// The stop that is latched.
    pub(super) fn stop(&self) -> Option<&Stop> {
        if let Self::Stopped(stop) = self {
            return Some(stop);
        }
        None
    }

    /// Whether an operator is missed when the lease runs out: a person has begun something, and it has not ended.
    pub(super) fn needs_operator(&self) -> bool {
        match self {
            Self::Direct { .. } | Self::Setpoint { .. } | Self::Silent(_) | Self::Autonomous(_) => {
                true
            }
            Self::Stopped(_) | Self::Idle | Self::Contingency(_) => false,
        }
    }
}

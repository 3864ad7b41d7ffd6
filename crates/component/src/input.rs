//! What a host keeps for each input of a component: the latest message, and when it grows stale.

use crate::parcel::{Decoder, Opened, Parcel};
use crate::port::Expect;
use crate::step::Order;
use crate::time::Time;
use bowline_wire::DecodeError;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When the latest message of an input that never grows stale is so old that whatever comes is taken as a new
/// beginning: a sender that was restarted, a log that is played again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(1);

/// An input of a component.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) expect: Expect,
    decoder: Option<Decoder>,
    latest: Option<Held>,
    /// Whether the component knows that the latest is stale.
    is_stale_told: bool,
}

/// A message with what is known of how it came.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) value: Arc<dyn Any + Send + Sync>,
    pub(crate) at: Time,
    pub(crate) stamp: Option<i64>,
    pub(crate) gap: Option<Duration>,
    pub(crate) missing: u64,
    pub(crate) order: Order,
}

impl Slot {
    pub(crate) fn new(expect: Expect, decoder: Option<Decoder>) -> Self {
        Self {
            expect,
            decoder,
            latest: None,
            is_stale_told: false,
        }
    }

    pub(crate) fn latest(&self) -> Option<&Held> {
        self.latest.as_ref()
    }

    /// Takes what arrived, and returns it as the component will see it.
    pub(crate) fn accept(&mut self, now: Time, parcel: &Parcel) -> Result<Held, DecodeError> {
        let decoder = self.decoder.unwrap_or_else(Decoder::raw);
        let Opened { value, stamp } = parcel.open(&decoder)?;
        // A time of 0 is none: senders without a clock send it.
        let stamp = stamp.filter(|utime| *utime != 0);
        let order = self.order(now, stamp);
        let gap = self.gap(now, stamp);
        let held = Held {
            value,
            at: now,
            stamp,
            gap,
            missing: missing(gap, self.expect.every),
            order,
        };
        if order != Order::Late {
            self.latest = Some(held.clone());
            self.is_stale_told = false;
        }
        Ok(held)
    }

    fn order(&self, now: Time, stamp: Option<i64>) -> Order {
        let Some(latest) = &self.latest else {
            return Order::InTurn;
        };
        let (Some(stamp), Some(before)) = (stamp, latest.stamp) else {
            return Order::InTurn;
        };
        let forgotten_after = self.expect.fresh_for.unwrap_or(FORGOTTEN_AFTER);
        if stamp < before && now.since(latest.at) <= forgotten_after {
            Order::Late
        } else if stamp == before {
            Order::Repeated
        } else {
            Order::InTurn
        }
    }

    fn gap(&self, now: Time, stamp: Option<i64>) -> Option<Duration> {
        let latest = self.latest.as_ref()?;
        let gap = match (stamp, latest.stamp) {
            (Some(stamp), Some(before)) => Time::from_utime(stamp).since(Time::from_utime(before)),
            (Some(_) | None, _) => now.since(latest.at),
        };
        Some(gap)
    }

    /// When the component has to learn that the latest is stale.
    pub(crate) fn stale_at(&self) -> Option<Time> {
        if self.is_stale_told {
            return None;
        }
        // The last moment at which it is fresh is not the first at which it is stale.
        Some(self.latest.as_ref()?.at + self.expect.fresh_for? + Duration::from_nanos(1))
    }

    pub(crate) fn stale_told(&mut self) {
        self.is_stale_told = true;
    }
}

fn missing(gap: Option<Duration>, every: Option<Duration>) -> u64 {
    let (Some(gap), Some(every)) = (gap, every) else {
        return 0;
    };
    if every.is_zero() {
        return 0;
    }
    // To the nearest: a message that is a little late is not a missing one.
    let periods = (gap + every / 2).as_nanos() / every.as_nanos();
    u64::try_from(periods.saturating_sub(1)).unwrap_or(u64::MAX)
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            value: _,
            at,
            stamp,
            gap,
            missing,
            order,
        } = self;
        write!(
            f,
            "Held(at {at:?}, stamp {stamp:?}, gap {gap:?}, missing {missing}, {order:?})"
        )
    }
}

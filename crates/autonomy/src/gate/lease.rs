//! The lease: at most one station at a time has the right to command, and the gate alone gives it.
//!
//! ```text
//!                TAKE                         TAKE of another          CONSENT: to the one who asks, under a new epoch
//!   ┌──────┐ ──────────▶ ┌─────────────────┐ ────────────────▶ ┌───────┐ ──▶ held
//!   │ free │             │ held, epoch n+1 │                   │ asked │
//!   └──────┘ ◀────────── └─────────────────┘ ◀──────────────── └───────┘
//!       ▲      RELEASE,     │ ▲ commands, RENEW    DENY, or no answer in time
//!       │      silence      └─┘ PREEMPT of a higher rank: to that station, under a new epoch
//!       └── from everywhere, when the holder was silent for as long as a lease lasts
//! ```
//!
//! Deliberately absent: what the vehicle does about it. A gate learns what became of the lease, and decides.

use super::refusal::{Reason, Refusal};
use bowline_component::Time;
use bowline_msgs::Authority;
use std::time::Duration;

/// Who may command, under which epoch, and who would like to.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    lasts: Duration,
    answer_within: Duration,
    holder: Option<Holder>,
    asking: Option<Asking>,
    /// Of the last lease. It begins with the time at which the gate's life does, in microseconds, and grows by one with
    /// each lease, so that the epochs of earlier lives are behind it: old ones are refused for ever.
    epoch: i64,
    has_been_held: bool,
}

/// Who holds the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) station: String,
    pub(super) session: i64,
    pub(super) rank: i32,
    pub(super) heard: Time,
    /// The last moment of the lease.
    pub(super) until: Time,
}

/// Who asks for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asking {
    pub(super) by: Authority,
    pub(super) rank: i32,
    /// The last moment at which the holder may answer.
    pub(super) until: Time,
}

/// What became of a wish to have the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The station has it now, and no other had.
    Granted,
    /// It had it before.
    Kept,
    /// The holder is asked.
    Asking,
    /// It has it now, and another had.
    Preempted,
}

/// What time did to a lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Over {
    /// The holder was silent; the lease ended then.
    Expired { station: String, at: Time },
    /// The holder did not answer the one who asks.
    Unanswered(Asking),
}

impl Lease {
    pub(super) fn new(now: Time, lasts: Duration, answer_within: Duration) -> Self {
        Self {
            lasts,
            answer_within,
            holder: None,
            asking: None,
            epoch: now.utime(),
            has_been_held: false,
        }
    }

    pub(super) fn holder(&self) -> Option<&Holder> {
        self.holder.as_ref()
    }

    pub(super) fn asking(&self) -> Option<&Asking> {
        self.asking.as_ref()
    }

    /// Of the last lease; 0 if there has been none.
    pub(super) fn epoch(&self) -> i64 {
        if self.has_been_held { self.epoch } else { 0 }
    }

    /// When time does something to it next: the last moment before that.
    pub(super) fn until(&self) -> Option<Time> {
        let holder = self.holder.as_ref().map(|it| it.until);
        let asking = self.asking.as_ref().map(|it| it.until);
        [holder, asking].into_iter().flatten().min()
    }

    /// Ends what is over. To be called before anything else at a moment.
    pub(super) fn advance(&mut self, now: Time) -> Option<Over> {
        if let Some(over) = self.asking.take_if(|it| now > it.until) {
            return Some(Over::Unanswered(over));
        }
        let over = self.holder.take_if(|it| now > it.until)?;
        // There is no holder left to ask: any station that still wants it can have it.
        self.asking = None;
        Some(Over::Expired {
            station: over.station,
            at: over.until,
        })
    }

    /// The holder's decision, and no other's.
    pub(super) fn check(&self, by: &Authority) -> Result<(), Refusal> {
        let Some(holder) = &self.holder else {
            return Err(Reason::Lease.because("expected the holder of the lease, and it is free"));
        };
        if !holder.is(by) {
            return Err(Reason::Lease.because(format!(
                "expected the holder of the lease, {:?}, found {:?}",
                holder.station, by.station
            )));
        }
        if by.epoch != self.epoch {
            return Err(Reason::Epoch.because(format!(
                "expected the lease of epoch {}, found {}",
                self.epoch, by.epoch
            )));
        }
        Ok(())
    }

    /// A message of the holder came.
    pub(super) fn renew(&mut self, now: Time) {
        let until = now + self.lasts;
        if let Some(holder) = &mut self.holder {
            holder.heard = now;
            holder.until = until;
        }
    }

    pub(super) fn take(&mut self, now: Time, by: &Authority, rank: i32) -> Result<Taken, Refusal> {
        let Some(holder) = &self.holder else {
            self.grant(now, by, rank);
            return Ok(Taken::Granted);
        };
        if holder.is(by) {
            // It does not know yet that it holds it, or wants to be sure.
            self.renew(now);
            return Ok(Taken::Kept);
        }
        if let Some(asking) = &self.asking {
            if !asking.is(by) {
                return Err(Reason::Asked.because(format!(
                    "expected no request for the lease, found one of {:?}",
                    asking.by.station
                )));
            }
            return Ok(Taken::Asking);
        }
        self.asking = Some(Asking {
            by: by.clone(),
            rank,
            until: now + self.answer_within,
        });
        Ok(Taken::Asking)
    }

    pub(super) fn preempt(
        &mut self,
        now: Time,
        by: &Authority,
        rank: i32,
    ) -> Result<Taken, Refusal> {
        match &self.holder {
            Some(holder) if !holder.is(by) && rank <= holder.rank => {
                Err(Reason::Rank.because(format!(
                    "expected a rank above {}, that of {:?}, found {rank}",
                    holder.rank, holder.station
                )))
            }
            Some(holder) if !holder.is(by) => {
                self.grant(now, by, rank);
                Ok(Taken::Preempted)
            }
            Some(_) | None => self.take(now, by, rank),
        }
    }

    /// Ends the lease.
    pub(super) fn release(&mut self) {
        self.holder = None;
        self.asking = None;
    }

    /// Gives it to the station that asks, and returns which that is.
    pub(super) fn consent(&mut self, now: Time) -> Result<String, Refusal> {
        let asking = self.asked()?;
        let station = asking.by.station.clone();
        self.grant(now, &asking.by, asking.rank);
        Ok(station)
    }

    /// Keeps it, and returns the station that asked in vain.
    pub(super) fn deny(&mut self) -> Result<Asking, Refusal> {
        self.asked()
    }

    fn asked(&mut self) -> Result<Asking, Refusal> {
        self.asking
            .take()
            .ok_or_else(|| Reason::Unasked.because("expected a request for the lease, found none"))
    }

    fn grant(&mut self, now: Time, by: &Authority, rank: i32) {
        self.epoch = self.epoch.saturating_add(1);
        self.has_been_held = true;
        self.asking = None;
        self.holder = Some(Holder {
            station: by.station.clone(),
            session: by.session,
            rank,
            heard: now,
            until: now + self.lasts,
        });
    }
}

impl Holder {
    pub(super) fn is(&self, by: &Authority) -> bool {
        self.session == by.session && self.station == by.station
    }
}

impl Asking {
    fn is(&self, by: &Authority) -> bool {
        self.by.session == by.session && self.by.station == by.station
    }
}

//! The gate: the one place that decides what may move a vehicle.
//!
//! In: what persons command, what the vehicle's own controller wishes, where the vehicle is, and the time. Out: what the
//! actuators are told, what the helm is told, and for everything that is refused, why.
//!
//! The rules, in the order in which they win (docs/control.md has them for people):
//!
//! 1. A latched stop. Any station may stop, at any time and however late; only the holder of the lease may clear; nothing moves
//!    because of it, and nothing ever resumes by itself. A gate begins stopped.
//! 2. What stops the vehicle on the spot: a beat that must not stay away. It latches.
//! 3. The fence. It latches.
//! 4. The holder of the lease, with commands that are younger than a bound on the gate's own clock.
//! 5. Autonomy: what the vehicle was given to do.
//!
//! Deliberately absent: sockets, threads and clocks; any look at the clock of a station; any secret. `component.rs` makes a
//! component of it.

mod actuation;
mod commands;
mod component;
mod control;
mod fence;
mod lease;
mod ledger;
mod pace;
mod refusal;
mod report;
mod rules;
mod task;
mod token;
mod transitions;

pub use actuation::{Actuation, Axis, BadDirect, Hands};
pub use component::{GateComponent, GateParameters};
pub use fence::BadFence;
pub use refusal::{Counts, Reason, Refusal};
pub use rules::Rules;
pub use task::{Contingency, Level};
pub(crate) use transitions::FENCE;

use bowline_component::Time;
use bowline_msgs::{Authority, DirectCommand, LeaseRequest, StopCommand, Task, TaskCommand};
use bowline_operator::Command;
use bowline_wire::Message;
use control::{Control, Stop};
use fence::Fence;
use lease::Lease;
use ledger::Ledger;
use std::time::Duration;
use token::Mint;

/// An input of a gate.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a, A> {
    /// A person sets what the actuators do.
    Direct(&'a DirectCommand),
    /// A person gives the vehicle something to do.
    Task(&'a TaskCommand),
    /// A station stops the vehicle, or clears a stop.
    Stop(&'a StopCommand),
    /// A station requests the lease, or releases it.
    Lease(&'a LeaseRequest),
    /// The controller would do this.
    Wish(&'a A),
    /// Nothing stops the vehicle on the spot.
    Beat,
    /// The vehicle is there: x east and y north in the map frame, metres.
    Place([f64; 2]),
}

/// What a gate does beside its commands to the actuators.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The helm is to do this.
    Task(Task),
    /// A station asked for the lease, and does not get it.
    Unheld {
        /// Who asked.
        by: Authority,
        /// Why not.
        refusal: Refusal,
    },
}

/// The state machine. Whoever drives it hands in what happens, takes [`events`](Self::events) and tells the actuators what
/// [`output`](Self::output) says, at once and again at [`deadline`](Self::deadline).
#[derive(Clone, Debug)]
pub struct Gate<A> {
    rules: Rules,
    now: Time,
    mint: Mint,
    ledger: Ledger,
    lease: Lease,
    fence: Option<Fence>,
    beat: Option<Time>,
    control: Control<A>,
    /// Why it is so, for people.
    why: String,
    since: Time,
    /// Whether the holder has shown neutral input since there was a reason to ask for it.
    is_armed: bool,
    neutral_since: Option<Time>,
    /// How many tokens had been issued when the last stop was cleared: what was commanded before does not count.
    n_issued_before: u64,
    /// When the lease ran out under a commanded vehicle.
    lost_at: Option<Time>,
    wish: Option<(A, Time)>,
    /// Since when wishes of the controller go through, or since when they last did.
    opened: Time,
    /// The task of a person that has put the gate into this state: whose it is and its id.
    passed_on: Option<(Authority, i64)>,
    /// What the vehicle was last given to do, and how much that leaves to it.
    mission: (String, Level),
    /// Whether the vehicle goes back instead, and the mission waits.
    is_returning: bool,
    events: Vec<Event>,
    counts: Counts,
    n_changes: u64,
}

impl<A: Actuation> Gate<A> {
    /// A gate whose life begins now: stopped.
    ///
    /// # Errors
    /// When the fence is none.
    pub fn new(rules: Rules, now: Time) -> Result<Self, BadFence> {
        let fence = rules.fence_m.clone();
        let fence = fence.map(|corners| Fence::new(corners, rules.place_ttl));
        let remember = rules.task_ttl.max(rules.ttl);
        let stop = Stop {
            by: "the gate".to_owned(),
            reason: "the gate has just started".to_owned(),
            n_issued: 0,
            breach: None,
        };
        Ok(Self {
            now,
            mint: Mint::new(now, remember),
            ledger: Ledger::new(remember),
            lease: Lease::new(now, rules.lease, rules.answer_within),
            fence: fence.transpose()?,
            beat: None,
            why: stop.reason.clone(),
            control: Control::Stopped(stop),
            since: now,
            is_armed: false,
            neutral_since: None,
            n_issued_before: 0,
            lost_at: None,
            wish: None,
            opened: now,
            passed_on: None,
            mission: (String::new(), Level::Waypoint),
            is_returning: false,
            // A helm that has outlived the gate before does not go on where that one was.
            events: vec![Event::Task(task::pause())],
            counts: Counts::default(),
            n_changes: 0,
            rules,
        })
    }

    /// Takes what happens now.
    ///
    /// # Errors
    /// When it is a command that does not count. Nothing has changed then, but for the numbers that are spent.
    pub fn handle(&mut self, now: Time, input: Input<'_, A>) -> Result<(), Refusal> {
        self.handle_received(now, now, input)
    }

    /// Takes what was received at that time, and may have waited since. That makes wishes, beats and places old; the age of
    /// a command is that of its token, wherever it waited.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub fn handle_received(
        &mut self,
        now: Time,
        received: Time,
        input: Input<'_, A>,
    ) -> Result<(), Refusal> {
        self.advance(now);
        let received = received.min(self.now);
        let (by, outcome) = match input {
            Input::Direct(message) => {
                let command = command::<DirectCommand>(None);
                let outcome = command.and_then(|it| self.on_direct(it, message));
                (&message.by, outcome)
            }
            Input::Task(message) => {
                let command = command::<TaskCommand>(None);
                let outcome = command.and_then(|it| self.on_task(it, message));
                (&message.by, outcome)
            }
            Input::Stop(message) => {
                let command = command::<StopCommand>(Some(message.ask));
                let outcome = command.and_then(|it| self.on_stop(it, message));
                (&message.by, outcome)
            }
            Input::Lease(request) => {
                let command = command::<LeaseRequest>(Some(request.ask));
                let outcome = command.and_then(|it| self.on_lease(it, request));
                (&request.by, outcome)
            }
            Input::Wish(wish) => return self.on_wish(received, wish),
            Input::Beat => {
                self.beat = self.beat.max(Some(received));
                return Ok(());
            }
            Input::Place(place_m) => {
                self.on_place(received, place_m);
                return Ok(());
            }
        };
        let age = self.mint.find(by.token).map(|it| self.now.since(it.at));
        match outcome {
            Ok(()) => {
                self.counts.n_accepted += 1;
                Ok(())
            }
            Err(refusal) => {
                self.counts.refuse(refusal.reason);
                Err(Refusal { age, ..refusal })
            }
        }
    }

    /// Lets time pass: whatever is over by now ends. Time does not go back.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.guard();
        while let Some(over) = self.lease.advance(self.now) {
            self.on_lease_over(over);
        }
        if self.control.until().is_some_and(|until| self.now > until) {
            self.fall_silent("nothing that was commanded is young enough".to_owned());
        }
        if self
            .contingency_after()
            .is_some_and(|after| self.now > after)
        {
            self.do_without_operator();
        }
    }

    /// When to call [`advance`](Self::advance) next if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let wish = self.wish.as_ref().map(|(_, at)| *at + self.rules.wish_ttl);
        let is_stopped = self.control.stop().is_some();
        let beat = self.beat_until().filter(|_| !is_stopped);
        let fence = self.fence.as_ref().filter(|_| !is_stopped);
        let last_moments = [
            self.control.until(),
            wish.filter(|at| *at >= self.now),
            self.lease.until(),
            self.contingency_after(),
            beat,
            fence.and_then(Fence::until),
        ];
        let last_moment = last_moments.into_iter().flatten().min()?;
        Some(last_moment + Duration::from_nanos(1))
    }

    /// The commands of the actuators.
    #[must_use]
    pub fn output(&self) -> A {
        let open = || self.fresh_wish().filter(|_| self.control.is_open());
        let wish = self.control.direct().or_else(open);
        wish.map_or_else(A::default, |wish| wish.at(self.now.utime()))
    }

    /// What happened since this was last asked.
    pub fn events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// Grows with every change that people should see at once.
    #[must_use]
    pub fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// What was taken and what was not.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn fresh_wish(&self) -> Option<&A> {
        let (wish, at) = self.wish.as_ref()?;
        (self.now <= *at + self.rules.wish_ttl).then_some(wish)
    }

    fn beat_until(&self) -> Option<Time> {
        Some(self.beat? + self.rules.beat_within?)
    }

    /// How far a direct command may go on each axis, in either direction.
    pub(crate) fn direct_limits(&self) -> impl Iterator<Item = f64> + use<'_, A> {
        let chosen = &self.rules.direct_limits;
        let axes = A::AXES.iter().enumerate();
        axes.map(|(at, axis)| chosen.get(at).copied().unwrap_or(axis.direct_limit))
    }

    /// The last moment before control counts as lost.
    fn contingency_after(&self) -> Option<Time> {
        Some(self.lost_at? + self.rules.grace)
    }
}

/// The row of a command in the table.
fn command<M: Message>(ask: Option<i8>) -> Result<&'static Command, Refusal> {
    bowline_operator::commands::of(M::FINGERPRINT, ask).ok_or_else(|| {
        let name = M::NAME;
        let ask = ask.unwrap_or_default();
        Reason::Malformed.because(format!(
            "expected an ask of {name} that exists, found {ask}"
        ))
    })
}

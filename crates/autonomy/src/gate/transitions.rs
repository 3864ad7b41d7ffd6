//! What the vehicle itself says to a gate, what time does, and how states are entered.

use super::control::{Control, Stop};
use super::lease::Over;
use super::task::{self, Contingency};
use super::{Actuation, Event, Gate, Reason, Refusal};
use bowline_msgs::Authority;

impl<A: Actuation> Gate<A> {
    pub(super) fn on_wish(&mut self, wish: &A) -> Result<(), Refusal> {
        if !wish.is_sane() {
            let refusal = Reason::Malformed.because("expected numbers within their limits");
            self.counts.refuse(refusal.reason);
            return Err(refusal);
        }
        self.wish = Some((wish.clone(), self.now));
        Ok(())
    }

    pub(super) fn on_place(&mut self, place_m: [f64; 2]) {
        if let Some(fence) = &mut self.fence {
            fence.look(self.now, place_m);
        }
        self.guard();
    }

    /// Stops the vehicle if something on the spot wants it stopped.
    pub(super) fn guard(&mut self) {
        if self.control.stop().is_some() {
            return;
        }
        if self.is_beat_missing() {
            self.stop(
                "local stop".to_owned(),
                "its beat has stayed away".to_owned(),
            );
            return;
        }
        let now = self.now;
        if let Some(why) = self.fence.as_mut().and_then(|fence| fence.breach(now)) {
            self.stop("fence".to_owned(), why.to_owned());
        }
    }

    pub(super) fn is_beat_missing(&self) -> bool {
        self.rules.beat_within.is_some() && self.beat_until().is_none_or(|until| self.now > until)
    }

    pub(super) fn on_lease_over(&mut self, over: Over) {
        match over {
            Over::Expired { station, at } => {
                self.is_armed = false;
                self.n_changes += 1;
                let why = format!("the lease of {station:?} has run out");
                self.lost_at = self.control.needs_operator().then_some(at);
                if self.control.until().is_some() {
                    self.fall_silent(why);
                } else if self.lost_at.is_some() {
                    self.why = why;
                }
            }
            Over::Unanswered(asked) => {
                self.turn_away(
                    asked.by,
                    Reason::Unanswered.because("the holder has not answered"),
                );
            }
        }
    }

    pub(super) fn turn_away(&mut self, by: Authority, refusal: Refusal) {
        self.n_changes += 1;
        self.counts.refuse(refusal.reason);
        self.events.push(Event::Unheld { by, refusal });
    }

    /// The lease ran out and nobody took it in time: what was chosen for that.
    pub(super) fn do_without_operator(&mut self) {
        let chosen = self.rules.contingency;
        let is_autonomous = matches!(self.control, Control::Autonomous(_));
        // Where a person was steering there is nothing to go on with.
        let plan = if chosen == Contingency::Continue && !is_autonomous {
            Contingency::Hold
        } else {
            chosen
        };
        self.events.extend(plan.task(self.now).map(Event::Task));
        let why = format!("nobody has had the lease for {:?}", self.rules.grace);
        self.enter(Control::Contingency(plan), why);
    }

    pub(super) fn stop(&mut self, by: String, reason: String) {
        let why = format!("stopped by {by:?}: {reason}");
        self.is_armed = false;
        let stop = Stop {
            by,
            reason,
            n_issued: self.mint.n_issued(),
        };
        self.interrupt(Control::Stopped(stop), why);
    }

    pub(super) fn fall_silent(&mut self, why: String) {
        self.interrupt(Control::Silent(self.control.level()), why);
    }

    /// Enters a state that stops what the helm is doing: the mission waits for RESUME.
    pub(super) fn interrupt(&mut self, control: Control<A>, why: String) {
        if self.control.is_open() {
            self.events.push(Event::Task(task::pause(self.now)));
        }
        self.enter(control, why);
    }

    pub(super) fn enter(&mut self, control: Control<A>, why: String) {
        if !self.control.is_open() {
            // Only what the controller wishes from now on can be about what it is told now.
            self.wish = None;
        }
        if !matches!(control, Control::Direct { .. }) {
            self.neutral_since = None;
        }
        if !control.needs_operator() {
            self.lost_at = None;
        }
        self.control = control;
        self.why = why;
        self.since = self.now;
        self.n_changes += 1;
    }
}

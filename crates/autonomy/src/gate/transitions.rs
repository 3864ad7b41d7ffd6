//! Inputs of the vehicle itself to a gate, the effects of time, and how states are entered.

use super::control::{Control, Stop};
use super::fence::Breach;
use super::lease::Over;
use super::task::{self, Contingency};
use super::{Actuation, Event, Gate, Reason, Refusal};
use bowline_component::Time;
use bowline_msgs::Authority;

/// Who stops a vehicle at the fence, as reports have it.
pub(crate) const FENCE: &str = "fence";

impl<A: Actuation> Gate<A> {
    pub(super) fn on_wish(&mut self, received: Time, wish: &A) -> Result<(), Refusal> {
        if let Err(text) = wish.check(A::AXES.iter().map(|axis| axis.bound)) {
            let refusal = Reason::Malformed.because(text.to_string());
            self.counts.refuse(refusal.reason);
            return Err(refusal);
        }
        // What was wished before the valve opened is about something else, however long it has waited.
        if received >= self.opened {
            self.wish = Some((wish.clone(), received));
        }
        Ok(())
    }

    pub(super) fn on_place(&mut self, received: Time, place_m: [f64; 2]) {
        if let Some(fence) = &mut self.fence {
            let was_excused = fence.excused().is_some();
            fence.look(received, place_m);
            self.n_changes += u64::from(was_excused && fence.excused().is_none());
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
        // Where nothing moves, the first place of all may be waited for.
        let may_wait = self.control == Control::Idle;
        if let Some(breach) = self.unexcused()
            && !(may_wait && breach == Breach::Unplaced)
        {
            self.stop_at_fence(breach);
        }
    }

    /// What is wrong with the fence, and not excused.
    pub(super) fn unexcused(&mut self) -> Option<Breach> {
        let now = self.now;
        self.fence.as_mut()?.unexcused(now)
    }

    pub(super) fn stop_at_fence(&mut self, breach: Breach) {
        self.latch(FENCE.to_owned(), breach.why().to_owned(), Some(breach));
    }

    /// Ends the excuse for what is wrong with the fence, but for this station's.
    pub(super) fn end_excuse(&mut self, unless: Option<&str>) {
        if let Some(fence) = &mut self.fence {
            fence.end_excuse(unless);
        }
        self.guard();
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

    /// The lease ran out and was not taken in time: what was chosen for that.
    pub(super) fn do_without_operator(&mut self) {
        self.end_excuse(None);
        if self.control.stop().is_some() {
            return;
        }
        let chosen = self.rules.contingency;
        let is_autonomous = matches!(self.control, Control::Autonomous(_));
        // Where a person was steering there is nothing to go on with.
        let plan = if chosen == Contingency::Continue && !is_autonomous {
            Contingency::Hold
        } else {
            chosen
        };
        self.events.extend(plan.task().map(Event::Task));
        let why = format!("the lease has been free for {:?}", self.rules.grace);
        self.enter(Control::Contingency(plan), why);
    }

    pub(super) fn stop(&mut self, by: String, reason: String) {
        self.latch(by, reason, None);
    }

    fn latch(&mut self, by: String, reason: String, breach: Option<Breach>) {
        // The station that clears this decides anew.
        if let Some(fence) = &mut self.fence {
            fence.end_excuse(None);
        }
        let why = format!("stopped by {by:?}: {reason}");
        self.is_armed = false;
        let stop = Stop {
            by,
            reason,
            n_issued: self.mint.n_issued(),
            breach,
        };
        self.interrupt(Control::Stopped(stop), why);
    }

    pub(super) fn fall_silent(&mut self, why: String) {
        self.interrupt(Control::Silent(self.control.level()), why);
    }

    /// Enters a state that stops what the helm is doing: the mission waits for RESUME.
    pub(super) fn interrupt(&mut self, control: Control<A>, why: String) {
        if self.control.is_open() {
            self.events.push(Event::Task(task::pause()));
        }
        self.enter(control, why);
    }

    pub(super) fn enter(&mut self, control: Control<A>, why: String) {
        if !self.control.is_open() {
            // Only set-points of the controller from now on can be about its present task.
            self.wish = None;
            self.opened = self.now;
        }
        if !matches!(control, Control::Direct { .. }) {
            self.neutral_since = None;
        }
        if !control.needs_operator() {
            self.lost_at = None;
        }
        self.passed_on = None;
        self.control = control;
        self.why = why;
        self.since = self.now;
        self.n_changes += 1;
    }
}

//! Commands of stations, and their effect. What each must bring is in the table of commands.

use super::control::Control;
use super::fence::Breach;
use super::lease::Taken;
use super::ledger::Stream;
use super::task::{self, Contingency, Level, Wanted};
use super::token::Issued;
use super::{Actuation, BadDirect, Event, Gate, Reason, Refusal};
use bowline_msgs::{Authority, DirectCommand, LeaseRequest, StopCommand, Task, TaskCommand};
use bowline_operator::{Command, Effect, Need};
use std::time::Duration;

/// Longer names are refused: they are kept, and shown to people.
pub(super) const MAX_STATION: usize = 64;
/// A longer reason for a stop is cut off.
const MAX_TEXT: usize = 200;

impl<A: Actuation> Gate<A> {
    pub(super) fn on_direct(
        &mut self,
        command: &Command,
        message: &DirectCommand,
    ) -> Result<(), Refusal> {
        let DirectCommand { by, .. } = message;
        let malformed = |error: BadDirect| Reason::Malformed.because(error.to_string());
        let wish = A::of(message).map_err(malformed)?;
        wish.check(self.direct_limits()).map_err(malformed)?;
        let issued = self.admit(command, by, self.rules.ttl)?;
        if !self.is_armed {
            self.arm_by_neutral(&wish)?;
        }
        let until = issued.at + self.rules.ttl;
        let control = Control::Direct { wish, until };
        if matches!(self.control, Control::Direct { .. }) {
            self.control = control;
        } else {
            self.interrupt(control, format!("{:?} has direct control", by.station));
        }
        Ok(())
    }

    pub(super) fn on_task(
        &mut self,
        command: &Command,
        message: &TaskCommand,
    ) -> Result<(), Refusal> {
        let TaskCommand { by, task, .. } = message;
        let wanted = task::understand(task)?;
        let ttl = match wanted {
            Wanted::Go(Level::Setpoint) => self.rules.setpoint_ttl.min(self.rules.task_ttl),
            Wanted::Hold | Wanted::Resume | Wanted::Go(_) => self.rules.task_ttl,
        };
        let issued = self.admit(command, by, ttl)?;
        // Direct control after this needs neutral input first.
        self.is_armed = false;
        // Holding, and a heading and speed that are kept, mean the same however often they are sent.
        let is_lasting = matches!(wanted, Wanted::Hold | Wanted::Go(Level::Setpoint));
        if !is_lasting && self.ledger.is_last_task(by, task.id) {
            return self.confirm(message);
        }
        self.ledger.enter_task(by, task.id);
        let control = match wanted {
            Wanted::Hold => Control::Idle,
            Wanted::Resume => Control::Autonomous(self.resume()),
            Wanted::Go(Level::Setpoint) => Control::Setpoint {
                until: issued.at + self.rules.setpoint_ttl,
            },
            Wanted::Go(level) => Control::Autonomous(self.retask(task, level)),
        };
        self.events.push(Event::Task(task.clone()));
        let is_same_setpoint = matches!(
            (&self.control, &control),
            (Control::Setpoint { .. }, Control::Setpoint { .. })
        );
        if is_same_setpoint {
            self.control = control;
        } else {
            self.enter(control, format!("{:?} requests it", by.station));
        }
        self.passed_on = Some((by.clone(), task.id));
        Ok(())
    }

    /// A task that was taken before is not given to the helm twice: a station that did not receive the acceptance repeats it.
    fn confirm(&mut self, command: &TaskCommand) -> Result<(), Refusal> {
        let TaskCommand { by, task, .. } = command;
        let is_last = |(last_by, last_id): &(Authority, i64)| {
            let is_same = last_by.session == by.session && last_by.station == by.station;
            is_same && *last_id == task.id
        };
        if !self.passed_on.as_ref().is_some_and(is_last) {
            return Err(Reason::Repeated.because(format!(
                "expected a task that has not been given yet, found number {} again, and the vehicle has been given \
                 something else since",
                task.id
            )));
        }
        // The helm knows by the number that it has it.
        self.events.push(Event::Task(task.clone()));
        Ok(())
    }

    /// A vehicle that held on its way back continues that; on the way back itself the mission continues.
    fn resume(&mut self) -> Level {
        let is_on_its_way = match &self.control {
            Control::Autonomous(_) => true,
            Control::Contingency(plan) => {
                matches!(plan, Contingency::Return | Contingency::Continue)
            }
            Control::Stopped(_)
            | Control::Idle
            | Control::Silent(_)
            | Control::Direct { .. }
            | Control::Setpoint { .. } => false,
        };
        self.is_returning &= !is_on_its_way;
        match self.is_returning {
            true => Level::Route,
            false => self.mission.1,
        }
    }

    /// What is put before or behind what is left of a mission leaves as much to the vehicle as the mission does,
    /// and it is still that mission.
    fn retask(&mut self, task: &Task, level: Level) -> Level {
        if (task.kind, task.placing) == (Task::RETURN, Task::NEXT) {
            // It stays where it came from until the next command, and so the mission is not what it does.
            self.is_returning = true;
            return level;
        }
        match (task.placing, &self.control) {
            (Task::NEXT | Task::APPEND, Control::Autonomous(_)) if self.is_returning => {
                return level.max(Level::Route);
            }
            (Task::NEXT | Task::APPEND, Control::Autonomous(mission)) => {
                self.mission.1 = level.max(*mission);
            }
            _ => {
                self.is_returning = task.kind == Task::RETURN;
                let name = Some(&task.name).filter(|_| !self.is_returning);
                self.mission = (name.cloned().unwrap_or_default(), level);
            }
        }
        self.mission.1
    }

    pub(super) fn on_stop(
        &mut self,
        command: &Command,
        message: &StopCommand,
    ) -> Result<(), Refusal> {
        let StopCommand { by, reason, .. } = message;
        let issued = self.admit(command, by, self.rules.task_ttl)?;
        if command.effect == Effect::Stop {
            let by = shortened(&by.station, MAX_STATION);
            self.stop(by, shortened(reason, MAX_TEXT));
            return Ok(());
        }
        self.on_clear(by, issued)
    }

    fn on_clear(&mut self, by: &Authority, issued: Issued) -> Result<(), Refusal> {
        let Control::Stopped(stop) = &self.control else {
            return Ok(());
        };
        if issued.nth < stop.n_issued {
            return Err(Reason::Unseen.because(format!(
                "expected a station that knows of the last stop, by {:?}, found one that sent this before it received it",
                stop.by
            )));
        }
        if self.is_beat_missing() {
            return Err(Reason::Local.because("expected nothing to stop the vehicle on the spot"));
        }
        self.excuse_fence(by)?;
        self.n_issued_before = self.mint.n_issued();
        self.is_armed = false;
        let why = format!(
            "{:?} has cleared the stop; no station commands yet",
            by.station
        );
        self.enter(Control::Idle, why);
        Ok(())
    }

    /// Who clears the fence's own stop has seen what is wrong, and may drive back. Who clears any other has not: the stop
    /// becomes the fence's, for people to see.
    fn excuse_fence(&mut self, by: &Authority) -> Result<(), Refusal> {
        let now = self.now;
        let shown = self.control.stop().and_then(|stop| stop.breach);
        let Some(fence) = &mut self.fence else {
            return Ok(());
        };
        match fence.breach(now) {
            None => Ok(()),
            Some(found) if shown == Some(found) => {
                fence.excuse(found, &by.station);
                Ok(())
            }
            // It begins with the next command, if there is still no place by then.
            Some(Breach::Unplaced) => Ok(()),
            Some(found) => {
                self.stop_at_fence(found);
                Err(at_fence(found))
            }
        }
    }

    pub(super) fn on_lease(
        &mut self,
        command: &Command,
        request: &LeaseRequest,
    ) -> Result<(), Refusal> {
        let LeaseRequest { by, ask, rank, .. } = request;
        self.admit(command, by, self.rules.task_ttl)?;
        let rank = self.rules.rank_of(&by.station, *rank);
        match *ask {
            LeaseRequest::TAKE => {
                let taken = self.lease.take(self.now, by, rank)?;
                self.on_taken(taken, &by.station);
            }
            LeaseRequest::PREEMPT => {
                let taken = self.lease.preempt(self.now, by, rank)?;
                self.on_taken(taken, &by.station);
            }
            ask => self.on_holder(ask, by)?,
        }
        Ok(())
    }

    fn on_holder(&mut self, ask: i8, by: &Authority) -> Result<(), Refusal> {
        match ask {
            LeaseRequest::RELEASE => self.on_release(&by.station),
            LeaseRequest::CONSENT => {
                let station = self.lease.consent(self.now)?;
                self.on_new_holder(&station);
            }
            LeaseRequest::DENY => {
                let asked = self.lease.deny()?;
                let text = format!("{:?} keeps the lease", by.station);
                self.turn_away(asked.by, Reason::Denied.because(text));
            }
            // The word alone renews it.
            _ => {}
        }
        Ok(())
    }

    fn on_taken(&mut self, taken: Taken, station: &str) {
        match taken {
            Taken::Granted => self.on_new_holder(station),
            Taken::Preempted => {
                self.on_new_holder(station);
                self.stop(station.to_owned(), "took control by rank".to_owned());
            }
            Taken::Asking => self.n_changes += 1,
            Taken::Kept => {}
        }
    }

    /// Who has commanded directly before does not any more; what the vehicle does by itself goes on.
    fn on_new_holder(&mut self, station: &str) {
        self.is_armed = false;
        self.lost_at = None;
        self.n_changes += 1;
        if self.control.until().is_some() {
            self.fall_silent(format!("{station:?} has taken over"));
        }
        self.end_excuse(Some(station));
    }

    /// Of the holder's own free will, so nothing is lost: autonomy goes on, and what a person did directly ends.
    fn on_release(&mut self, station: &str) {
        self.lease.release();
        self.is_armed = false;
        self.n_changes += 1;
        match self.control {
            Control::Direct { .. } | Control::Setpoint { .. } | Control::Silent(_) => {
                self.interrupt(Control::Idle, format!("{station:?} has given up control"));
            }
            Control::Autonomous(_) => {
                self.why = format!("{station:?} has left it to the vehicle");
                self.end_excuse(None);
            }
            Control::Stopped(_) | Control::Idle | Control::Contingency(_) => {}
        }
    }

    /// Checks what the table demands of a command: a token that is young enough and a number that is new, the lease, and for
    /// what moves the vehicle that it may move. Gives the token; a command that needs none counts as made now.
    fn admit(
        &mut self,
        command: &Command,
        by: &Authority,
        max_age: Duration,
    ) -> Result<Issued, Refusal> {
        let mut issued = self.mint.unissued(self.now);
        if command.needs(Need::Token) {
            issued = self.admit_token(by, max_age)?;
            let stream = match command.moves() {
                true => Stream::Motion,
                false => Stream::Authority,
            };
            self.ledger.enter(self.now, by, stream)?;
        }
        if command.needs(Need::Lease) {
            self.lease.check(by)?;
            self.lease.renew(self.now);
        }
        if command.moves() {
            self.admit_motion(issued)?;
        }
        Ok(issued)
    }

    fn admit_token(&self, by: &Authority, max_age: Duration) -> Result<Issued, Refusal> {
        if !(1..=MAX_STATION).contains(&by.station.len()) || by.session == 0 {
            return Err(Reason::Malformed.because(format!(
                "expected a station's name of 1 to {MAX_STATION} bytes and a session that is not 0"
            )));
        }
        let Some(issued) = self.mint.find(by.token) else {
            return Err(Reason::Unknown.because("expected a token of this gate, found another"));
        };
        let age = self.now.since(issued.at);
        if age > max_age {
            return Err(Reason::Stale.because(format!(
                "expected a token of at most {max_age:?}, found one of {age:?}"
            )));
        }
        Ok(issued)
    }

    /// What may move the vehicle: not while it is stopped, and made since the last stop was cleared.
    fn admit_motion(&mut self, issued: Issued) -> Result<(), Refusal> {
        if let Control::Stopped(stop) = &self.control {
            return Err(Reason::Stopped.because(format!(
                "expected no stop, found one by {:?}: {}",
                stop.by, stop.reason
            )));
        }
        if issued.nth < self.n_issued_before {
            return Err(Reason::Unseen.because(
                "expected a command that was made after the stop was cleared, found one from before",
            ));
        }
        // Until now nothing could move, and so a first place was waited for.
        if let Some(breach) = self.unexcused() {
            self.stop_at_fence(breach);
            return Err(at_fence(breach));
        }
        Ok(())
    }

    fn arm_by_neutral(&mut self, wish: &A) -> Result<(), Refusal> {
        if !wish.is_neutral() {
            self.neutral_since = None;
            let neutral_for = self.rules.neutral_for;
            return Err(Reason::Neutral.because(format!(
                "expected neutral input for {neutral_for:?} first, found input"
            )));
        }
        let since = *self.neutral_since.get_or_insert(self.now);
        self.is_armed = self.now.since(since) >= self.rules.neutral_for;
        Ok(())
    }
}

fn at_fence(breach: Breach) -> Refusal {
    Reason::Local.because(format!(
        "expected the fence to be kept, found that {}; a station that clears it may move the vehicle all the same",
        breach.why()
    ))
}

/// The beginning of a text, at most so many bytes of it.
fn shortened(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

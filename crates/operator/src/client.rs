//! The state machine of an operator: the lease, the stop, a clearing, a task, and direct control of one vehicle.
//!
//! docs/control.md has the specification, with the reason for each figure. A caller hands in what the gate publishes
//! (`receive_…`), what a person or a script asks for, and [`tick`](Client::tick) every few milliseconds; each returns what
//! to publish now.

mod direct;
mod outgoing;
mod request;

pub use direct::{Direct, Drive};
pub use outgoing::{Outgoing, Payload};
pub use request::Progress;

use crate::commands::{self, Command, Effect};
use crate::session::{Identity, Session};
use bowline_msgs::{Gate, GateRules, GateToken, LeaseRequest, Refusal, Task};
use request::Slot;

/// An unconfirmed request is repeated after this: more than the round trip of a thin link, so that repetitions do not fill it.
const AGAIN_MS: i64 = 500;
/// After this an unconfirmed request is given up: a person no longer expects it to take effect.
const REQUEST_FOR_MS: i64 = 4_000;
/// A stop is repeated this often at first: many losses in a row then cost less than half a second.
const STOP_EVERY_MS: i64 = 100;
const STOP_OFTEN_FOR_MS: i64 = 5_000;
/// And then this often, for as long as no gate confirms it and no person gives it up.
const STOP_LATER_EVERY_MS: i64 = 1_000;
/// A gate that received a stop confirms it within a round trip: after this a person must know that it did not.
const STOP_CONFIRMED_WITHIN_MS: i64 = 2_000;
/// A lease is renewed so many times during its length: two renewals in a row may be lost, and the third has a quarter left.
const RENEWALS: i64 = 4;
/// Heading and speed are repeated so many times during the time that a gate keeps them.
const REPETITIONS: i64 = 3;
/// Reasons for a refusal that pass: repeated with a newer token and number, the same command is accepted.
const PASSING: [&str; 6] = [
    "stale",
    "unknown",
    "unseen",
    "overtaken",
    "repeated",
    "crowded",
];

/// The two clocks of a station: its own for intervals, and the one that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds of a clock that only goes forward.
    pub ms: i64,
    /// Microseconds since the epoch; when messages of the gate were received is by the same clock.
    pub utime: i64,
}

/// How the station stands with the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// No state or no rules of the gate were received.
    Unknown,
    /// No station holds it.
    Free,
    /// It was requested.
    Taking,
    /// The gate has asked the holder.
    Asking,
    /// This session holds it.
    Held,
    /// Another session holds it.
    Other,
}

/// How a stop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopState {
    /// None was pressed, or it is over.
    None,
    /// It was pressed, and the last attempt to publish it failed.
    Unsent,
    /// It was published and is not confirmed.
    Sent,
    /// The gate has published since that this station stopped the vehicle.
    Confirmed,
}

/// A request for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Have it, if no other station does or its holder consents.
    Take,
    /// Have it from a holder of lower rank.
    Preempt,
    /// Give it up.
    Release,
    /// Hand it to the station that asks.
    Consent,
    /// Keep it from the station that asks.
    Deny,
}

/// Intervals that follow from the rules of the gate, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between renewals of the lease.
    pub renew_every_ms: i64,
    /// Between repetitions of heading and speed.
    pub setpoint_every_ms: i64,
    /// For how long a release is repeated: the lease has ended by itself then.
    pub release_for_ms: i64,
    /// For how long neutral input is sent before direct control.
    pub neutral_for_ms: i64,
    /// A longer pause between ticks ends direct control.
    pub max_pause_ms: i64,
    /// An older token ends direct control.
    pub max_token_age_ms: i64,
}

/// The operator's side of one gate.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "three facts that do not depend on each other"
)]
pub struct Client {
    session: Session,
    rules: Option<GateRules>,
    state: Option<Gate>,
    token_ms: Option<i64>,
    lease: Slot<Request>,
    /// Whether the lease is to be kept, and whether it was held: one that is lost is not taken again.
    keeps_lease: bool,
    was_holder: bool,
    renewed_ms: Option<i64>,
    stopping: Option<Stopping>,
    is_stop_confirmed: bool,
    /// The stop that is to be cleared; none where the state has no stop.
    clearing: Slot<Option<Stop>>,
    task: Slot<Task>,
    direct: Direct,
    refusal: Option<(Refusal, i64)>,
}

/// What identifies a stop of a gate: two may be latched in the same microsecond.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stop {
    /// By the vehicle's clock.
    since_utime: i64,
    by: String,
}

impl Stop {
    fn of(gate: &Gate) -> Option<Self> {
        gate.is_stopped.then(|| Self {
            since_utime: gate.since_utime,
            by: gate.stopped_by.clone(),
        })
    }
}

/// A stop that no gate has confirmed.
#[derive(Clone, Debug)]
struct Stopping {
    since: Now,
    reason: String,
    tried_ms: i64,
    is_sent: bool,
}

impl Client {
    /// A client that knows nothing of the gate yet.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            session: Session::new(identity),
            rules: None,
            state: None,
            token_ms: None,
            lease: Slot::default(),
            keeps_lease: false,
            was_holder: false,
            renewed_ms: None,
            stopping: None,
            is_stop_confirmed: false,
            clearing: Slot::default(),
            task: Slot::default(),
            direct: Direct::default(),
            refusal: None,
        }
    }

    /// What every command of it is made with.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What the gate demands, once that was received.
    #[must_use]
    pub fn rules(&self) -> Option<&GateRules> {
        self.rules.as_ref()
    }

    /// The newest state of the gate.
    #[must_use]
    pub fn state(&self) -> Option<&Gate> {
        self.state.as_ref()
    }

    /// Whether this session holds the lease.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        self.session.is_holder()
    }

    /// How it stands with the lease.
    #[must_use]
    pub fn lease(&self) -> Lease {
        if self.state.is_none() || self.rules.is_none() {
            return Lease::Unknown;
        }
        if self.is_holder() {
            return Lease::Held;
        }
        match (self.lease.what(), self.is_asking()) {
            (Some(Request::Take | Request::Preempt), true) => Lease::Asking,
            (Some(Request::Take | Request::Preempt), false) => Lease::Taking,
            _ if self.session.is_held_by_another() => Lease::Other,
            _ => Lease::Free,
        }
    }

    /// How the last request for the lease stands.
    #[must_use]
    pub fn lease_progress(&self) -> Progress {
        self.lease.progress()
    }

    /// How the last clearing stands.
    #[must_use]
    pub fn clear_progress(&self) -> Progress {
        self.clearing.progress()
    }

    /// How the last task stands.
    #[must_use]
    pub fn task_progress(&self) -> Progress {
        self.task.progress()
    }

    /// How the stop stands.
    #[must_use]
    pub fn stop_state(&self) -> StopState {
        match &self.stopping {
            Some(it) if it.is_sent => StopState::Sent,
            Some(_) => StopState::Unsent,
            None if self.is_stop_confirmed => StopState::Confirmed,
            None => StopState::None,
        }
    }

    /// Whether a person has to know that a stop was not confirmed.
    #[must_use]
    pub fn is_stop_unconfirmed(&self, now: Now) -> bool {
        let since_ms = self.stopping.as_ref().map(|it| it.since.ms);
        since_ms.is_some_and(|since_ms| now.ms - since_ms > STOP_CONFIRMED_WITHIN_MS)
    }

    /// How direct control stands.
    #[must_use]
    pub fn direct(&self) -> &Direct {
        &self.direct
    }

    /// The last refusal of a command of this session.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref().map(|(refusal, _)| refusal)
    }

    /// Whether another station asks for the lease that this one holds.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        let is_asked = self.state.as_ref().is_some_and(|it| !it.asking.is_empty());
        self.is_holder() && is_asked
    }

    /// Takes a token of the gate.
    pub fn receive_token(&mut self, token: &GateToken, now: Now) {
        if self.session.receive_token(token) {
            self.token_ms = Some(now.ms);
            self.settle_holder();
        }
    }

    /// Takes the rules of the gate.
    pub fn receive_rules(&mut self, rules: &GateRules) {
        self.rules = Some(rules.clone());
    }

    /// Takes a state of the gate that was received at this time.
    pub fn receive_state(&mut self, gate: &Gate, received_utime: i64) {
        if !self.session.receive_state(gate) {
            return;
        }
        self.state = Some(gate.clone());
        let is_ours = gate.is_stopped && gate.stopped_by == self.session.identity().station;
        let is_heard = |it: &Stopping| it.is_sent && received_utime > it.since.utime;
        if is_ours && self.stopping.as_ref().is_some_and(is_heard) {
            self.stopping = None;
            self.is_stop_confirmed = true;
        }
        self.is_stop_confirmed &= gate.is_stopped;
        self.settle_clearing(gate, received_utime);
        let is_answer = self.lease.is_since(received_utime) && gate.asking.is_empty();
        if self.lease.what() == Some(&Request::Deny) && is_answer {
            self.lease.end(Progress::Done);
        }
        self.settle_holder();
    }

    /// Takes what the gate passed on to the helm.
    pub fn receive_task(&mut self, task: &Task) {
        if self.task.what().is_some_and(|it| it.id == task.id) {
            match task.kind {
                // It is kept, and so it is repeated.
                Task::SETPOINT => self.task.confirm(),
                _ => self.task.end(Progress::Done),
            }
        }
    }

    /// Takes a refusal; true if it is about a command of this session.
    pub fn receive_refusal(&mut self, refusal: &Refusal, now: Now) -> bool {
        if !self.session.is_mine(refusal) {
            return false;
        }
        self.refusal = Some((refusal.clone(), now.ms));
        let Some(command) = commands::named(&refusal.command) else {
            return true;
        };
        let by = &refusal.by;
        let passes = PASSING.contains(&refusal.reason.as_str());
        if command.name == "clear" {
            self.clearing.refuse(by, passes);
            return true;
        }
        match command.effect {
            Effect::Task => self.task.refuse(by, passes),
            Effect::Direct => self.direct.refuse(refusal, passes),
            Effect::Stop | Effect::Notice => {}
            Effect::Authority => self.refuse_lease(command, refusal, passes),
        }
        true
    }

    /// Requests something about the lease.
    pub fn request(&mut self, request: Request, now: Now) -> Vec<Outgoing> {
        let is_holder = self.is_holder();
        self.refusal = None;
        self.keeps_lease = match request {
            Request::Take | Request::Preempt => true,
            Request::Release => false,
            Request::Consent | Request::Deny => self.keeps_lease,
        };
        if matches!(request, Request::Release | Request::Consent) {
            self.direct.disengage("control was given up");
        }
        match (request, is_holder) {
            (Request::Take | Request::Preempt, true) | (Request::Release, false) => {
                self.lease.settle(Progress::Done);
                return Vec::new();
            }
            (Request::Consent | Request::Deny, false) => {
                self.lease.settle(Progress::Lost);
                return Vec::new();
            }
            _ => self.lease.begin(request, now, self.session.sequence()),
        }
        self.send_lease(now)
    }

    /// Stops the vehicle. It is repeated until the gate confirms it or a person gives it up.
    pub fn press_stop(&mut self, reason: &str, now: Now) -> Vec<Outgoing> {
        self.direct.disengage("the vehicle is stopped");
        self.clearing.replace();
        self.task.replace();
        self.is_stop_confirmed = false;
        self.stopping = Some(Stopping {
            since: now,
            reason: reason.to_owned(),
            tried_ms: now.ms,
            is_sent: false,
        });
        vec![self.stop_command(reason, now, false)]
    }

    /// Whether the last stop could be published.
    pub fn stop_published(&mut self, is_sent: bool) {
        if let Some(stopping) = &mut self.stopping {
            stopping.is_sent = is_sent;
        }
    }

    /// Gives up a stop that no gate confirms.
    pub fn dismiss_stop(&mut self) {
        self.stopping = None;
    }

    /// Ends the stop that the newest state shows. Nothing moves because of it.
    pub fn clear(&mut self, now: Now) -> Vec<Outgoing> {
        self.dismiss_stop();
        if !self.is_holder() {
            self.clearing.settle(Progress::Lost);
            return Vec::new();
        }
        self.refusal = None;
        self.clearing.begin(None, now, self.session.sequence());
        self.send_clear(now)
    }

    /// Gives the vehicle a task. Its `id` must not be 0.
    pub fn give(&mut self, task: Task, now: Now) -> Vec<Outgoing> {
        self.direct.disengage("a task was given");
        if !self.is_holder() {
            self.task.settle(Progress::Lost);
            return Vec::new();
        }
        self.refusal = None;
        self.task.begin(task, now, self.session.sequence());
        self.send_task(now)
    }

    /// Repeats the task no more: heading and speed end by themselves then.
    pub fn drop_task(&mut self) {
        self.task.replace();
    }

    /// Begins direct control: neutral input first.
    pub fn engage(&mut self) {
        self.task.replace();
        let why = self.why_no_direct();
        self.direct.engage(why, self.session.sequence());
    }

    /// Ends direct control.
    pub fn disengage(&mut self, reason: &str) {
        self.direct.disengage(reason);
    }

    /// What is due by now. `setpoint` has a value for each axis of the rules while a person or script holds a control;
    /// `away` is the reason why no person can be at the controls, empty if one can.
    pub fn tick(&mut self, setpoint: Option<&[f64]>, away: &str, now: Now) -> Vec<Outgoing> {
        self.settle_holder();
        self.expire(now);
        let mut due = self.send_stop(now);
        due.extend(self.send_lease(now));
        due.extend(self.renewal(now));
        due.extend(self.send_clear(now));
        due.extend(self.send_task(now));
        due.extend(self.send_direct(setpoint, away, now));
        due
    }

    /// Intervals by the rules, once they were received.
    #[must_use]
    pub fn timing(&self) -> Option<Timing> {
        self.rules.as_ref().map(Timing::of)
    }

    fn refuse_lease(&mut self, command: &Command, refusal: &Refusal, passes: bool) {
        if self
            .lease
            .what()
            .is_some_and(|it| it.name() == command.name)
        {
            let passes = passes || refusal.reason == "asked";
            self.lease.refuse(&refusal.by, passes);
            self.keeps_lease &= self.lease.progress() != Progress::Refused || self.is_holder();
        }
    }

    fn is_asking(&self) -> bool {
        let station = &self.session.identity().station;
        self.state.as_ref().is_some_and(|it| it.asking == *station)
    }

    /// What follows from who holds the lease now.
    fn settle_holder(&mut self) {
        let is_holder = self.is_holder();
        match (self.lease.what(), is_holder) {
            (Some(Request::Take | Request::Preempt), true)
            | (Some(Request::Release | Request::Consent), false) => self.lease.end(Progress::Done),
            (Some(Request::Deny), false) => self.lease.end(Progress::Lost),
            _ => {}
        }
        if self.was_holder && !is_holder {
            self.keeps_lease &= self.lease.what().is_some();
            self.clearing.lose();
            self.task.lose();
            self.direct.disengage("control is no longer yours");
        }
        self.was_holder = is_holder;
    }

    fn settle_clearing(&mut self, gate: &Gate, received_utime: i64) {
        if !self.clearing.is_since(received_utime) || !self.clearing.is_sent() {
            return;
        }
        if !gate.is_stopped {
            self.clearing.end(Progress::Done);
        } else if self.clearing.what() != Some(&Stop::of(gate)) {
            // Another stop has come: a person has to see it before it is cleared.
            self.clearing.end(Progress::Replaced);
        }
    }

    /// Requests that waited for too long.
    fn expire(&mut self, now: Now) {
        let release_for_ms = self.timing().map_or(REQUEST_FOR_MS, |it| it.release_for_ms);
        let is_release = self.lease.what() == Some(&Request::Release);
        let for_ms = if is_release {
            release_for_ms
        } else {
            REQUEST_FOR_MS
        };
        if !self.is_asking() && self.lease.expire(now, for_ms) {
            self.keeps_lease &= self.is_holder();
        }
        self.clearing.expire(now, REQUEST_FOR_MS);
        self.task.expire(now, REQUEST_FOR_MS);
    }

    fn send_lease(&mut self, now: Now) -> Vec<Outgoing> {
        let Some(request) = self.lease.due(now, AGAIN_MS).copied() else {
            return Vec::new();
        };
        let is_for_holder = !matches!(request, Request::Take | Request::Preempt);
        let knows_gate = self.rules.is_some() && self.session.has_token();
        if !is_for_holder && (!knows_gate || self.is_asking()) {
            return Vec::new();
        }
        let is_repeated = self.lease.sent(now);
        let Some(command) = commands::named(request.name()) else {
            return Vec::new();
        };
        let message = self.session.request(now.utime, command.ask.unwrap_or(0));
        vec![Outgoing::new(
            command.name,
            Payload::Lease(message),
            is_repeated,
        )]
    }

    /// Renewals go out beside all other commands: those may be lost or refused before they renew anything.
    fn renewal(&mut self, now: Now) -> Option<Outgoing> {
        let every_ms = self.timing()?.renew_every_ms;
        let is_due = self.renewed_ms.is_none_or(|last| now.ms - last >= every_ms);
        if !self.is_holder() || !self.keeps_lease || !is_due {
            return None;
        }
        self.renewed_ms = Some(now.ms);
        let message = self.session.request(now.utime, LeaseRequest::RENEW);
        Some(Outgoing::new("renew", Payload::Lease(message), true))
    }

    fn send_stop(&mut self, now: Now) -> Vec<Outgoing> {
        let Some(stopping) = &mut self.stopping else {
            return Vec::new();
        };
        let every_ms = match now.ms - stopping.since.ms <= STOP_OFTEN_FOR_MS {
            true => STOP_EVERY_MS,
            false => STOP_LATER_EVERY_MS,
        };
        if now.ms - stopping.tried_ms < every_ms {
            return Vec::new();
        }
        stopping.tried_ms = now.ms;
        let reason = stopping.reason.clone();
        vec![self.stop_command(&reason, now, true)]
    }

    fn stop_command(&mut self, reason: &str, now: Now, is_repeated: bool) -> Outgoing {
        let message = self.session.stop(now.utime, reason);
        Outgoing::new("stop", Payload::Stop(message), is_repeated)
    }

    fn send_clear(&mut self, now: Now) -> Vec<Outgoing> {
        if self.clearing.due(now, AGAIN_MS).is_none() {
            return Vec::new();
        }
        let Some(message) = self.session.clear_seen(now.utime) else {
            return Vec::new();
        };
        if !self.clearing.is_sent() {
            self.clearing.set(self.state.as_ref().and_then(Stop::of));
        }
        let is_repeated = self.clearing.sent(now);
        vec![Outgoing::new("clear", Payload::Stop(message), is_repeated)]
    }

    fn send_task(&mut self, now: Now) -> Vec<Outgoing> {
        let kept = self
            .timing()
            .filter(|_| self.task.progress() == Progress::Done);
        let every_ms = kept.map_or(AGAIN_MS, |it| it.setpoint_every_ms);
        let Some(task) = self.task.due(now, every_ms).cloned() else {
            return Vec::new();
        };
        let is_repeated = self.task.sent(now);
        let message = self.session.task(now.utime, task);
        vec![Outgoing::new("task", Payload::Task(message), is_repeated)]
    }
}

impl Request {
    /// Its name in the table of commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Preempt => "preempt",
            Self::Release => "release",
            Self::Consent => "consent",
            Self::Deny => "deny",
        }
    }
}

impl Timing {
    fn of(rules: &GateRules) -> Self {
        let ms = |us: i64| us / 1_000;
        Self {
            renew_every_ms: ms(rules.lease_us) / RENEWALS,
            setpoint_every_ms: ms(rules.setpoint_us) / REPETITIONS,
            release_for_ms: ms(rules.lease_us) + AGAIN_MS,
            neutral_for_ms: ms(rules.neutral_us) + direct::NEUTRAL_MARGIN_MS,
            max_pause_ms: ms(rules.direct_max_age_us),
            max_token_age_ms: ms(rules.direct_max_age_us) * direct::MAX_TOKEN_AGES,
        }
    }
}

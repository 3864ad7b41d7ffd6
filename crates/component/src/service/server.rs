//! The half of a service that answers. In: calls, the component's results and the time. Out: answers to send, and what
//! the component must learn.
//!
//! A call is executed at most once in the life of a server, however often and however late it comes: what was received
//! is remembered by number for each caller ([`Seen`]), and answers are kept until the time of their calls is over.

mod seen;

use super::id::CallId;
use super::name::ServiceName;
use super::{MAX_BODY, MAX_NAME, MAX_TEXT, MAX_TIMEOUT, fingerprint_of, shortened};
use crate::port::TypeInfo;
use crate::time::Time;
use bowline_msgs::{Answer, Call};
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a caller must have been quiet before its numbers may be forgotten to make room for others.
const QUIET: Duration = Duration::from_secs(60);

/// One service of one component.
#[derive(Debug)]
pub struct Server {
    service: ServiceName,
    server: String,
    instance: i64,
    request: Option<TypeInfo>,
    limits: ServerLimits,
    callers: BTreeMap<(String, i64), Known>,
    kept: BTreeMap<CallId, Kept>,
    deadlines: BTreeSet<(Time, CallId)>,
    /// Those of the kept that are answered, in that order.
    answered: BTreeMap<u64, CallId>,
    n_answered: u64,
    n_working: usize,
    kept_bytes: usize,
    counts: ServerCounts,
}

/// How much a server takes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Calls that are worked on at once; more are refused as busy.
    pub max_working: usize,
    /// Calls whose answers are kept. The oldest go first, if there are more before their time is over.
    pub max_kept: usize,
    /// Bytes of their answers.
    pub max_kept_bytes: usize,
    /// Callers whose calls can be distinguished from their repetitions.
    pub max_callers: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_working: 64,
            max_kept: 1024,
            max_kept_bytes: 16 << 20,
            max_callers: 1024,
        }
    }
}

/// What is known of a caller.
#[derive(Debug)]
struct Known {
    seen: Seen,
    heard: Time,
}

/// A call, from its first message until its time is over.
#[derive(Debug)]
struct Kept {
    caller: String,
    incarnation: i64,
    number: i64,
    /// The last that was received.
    attempt: i32,
    deadline: Time,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The component has it.
    Working,
    Answered {
        verdict: Verdict,
        order: u64,
    },
}

/// An answer but for whom it is to.
#[derive(Clone, Debug, Default)]
struct Verdict {
    kind: i8,
    code: i32,
    text: String,
    body: Vec<u8>,
}

/// The input of a component.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A call. To be answered by [`Server::finish`], now or later.
    Called(Called),
    /// No caller wants it any more. An answer would not be sent.
    Cancelled(CallId),
    /// Its time is over. An answer would not be sent.
    Expired(CallId),
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// To answer it by.
    pub id: CallId,
    /// Who asks.
    pub caller: String,
    /// When no caller will wait for the answer any more.
    pub deadline: Time,
    /// The request: an encoded message with its fingerprint.
    pub body: Vec<u8>,
}

/// Why a service cannot do what it was asked, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} (code {code})")]
pub struct Failure {
    /// The service's own, from 1 on.
    pub code: i32,
    /// For people; cut if it is too long.
    pub text: String,
}

impl Failure {
    /// With a code of the service's own, from 1 on; others become 1.
    #[must_use]
    pub fn new(code: i32, text: impl Into<String>) -> Self {
        Self {
            code: code.max(1),
            text: text.into(),
        }
    }
}

/// What follows from a call that was received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handled {
    /// To be sent on the answer channel of the service, before what the component answers.
    pub answer: Option<Answer>,
    /// What the component must learn.
    pub incoming: Option<Incoming>,
}

/// What happened at a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Calls that the component was given.
    pub executed: u64,
    /// Those that it answered in time.
    pub answered: u64,
    /// Calls that were received again.
    pub repeated: u64,
    /// Calls that were cancelled, before or while they were worked on.
    pub cancelled: u64,
    /// Calls whose time was over, before or while they were worked on.
    pub expired: u64,
    /// Calls that were refused because there were too many.
    pub busy: u64,
    /// Calls that another instance had accepted.
    pub restarted: u64,
    /// Calls with a request of another type.
    pub wrong_type: u64,
    /// Repetitions of calls whose answers are no longer kept.
    pub forgotten: u64,
    /// Answers that were kept no longer, before the time of their calls was over, for want of room.
    pub evicted: u64,
    /// Messages that made no sense; they are not answered.
    pub malformed: u64,
    /// Answers of the component to calls without a waiting caller.
    pub unwanted: u64,
}

impl Server {
    /// A service, by its name, by the server's own name (cut if it is too long) and by when that started, microseconds
    /// since the epoch (or any number but 0 that no life of it had before). Without a request type, any is taken.
    #[must_use]
    pub fn new(
        service: ServiceName,
        server: &str,
        instance: i64,
        request: Option<TypeInfo>,
        limits: ServerLimits,
    ) -> Self {
        Self {
            service,
            server: shortened(server, MAX_NAME),
            instance,
            request,
            limits,
            callers: BTreeMap::new(),
            kept: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            answered: BTreeMap::new(),
            n_answered: 0,
            n_working: 0,
            kept_bytes: 0,
            counts: ServerCounts::default(),
        }
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// Takes what was received on the call channel of the service.
    pub fn on_call(&mut self, now: Time, call: &Call) -> Handled {
        if !self.is_sound(call) {
            self.counts.malformed += 1;
            return Handled::default();
        }
        let id = CallId(call.id);
        if call.server_instance != 0 && call.server_instance != self.instance {
            return self.refuse_another_life(now, call);
        }
        if let Some(kept) = self.kept.get(&id) {
            let is_same = kept.caller == call.caller
                && kept.incarnation == call.incarnation
                && kept.number == call.number;
            if is_same {
                return self.on_known(id, now, call);
            }
            self.counts.malformed += 1;
            return Handled::default();
        }
        self.on_unknown(id, now, call)
    }

    /// Takes the component's result: an encoded message with its fingerprint, or why there is none. What is to be sent;
    /// nothing, if no caller waits for it any more.
    pub fn finish(
        &mut self,
        now: Time,
        id: CallId,
        result: Result<Vec<u8>, Failure>,
    ) -> Option<Answer> {
        let verdict = match result {
            Ok(body) if body.len() > MAX_BODY => Verdict::error(
                Answer::ABANDONED,
                format!(
                    "the reply has {} bytes, at most {MAX_BODY} can be sent",
                    body.len()
                ),
            ),
            Ok(body) => Verdict::reply(body),
            Err(Failure { code, text }) => Verdict::error(code.max(1), text),
        };
        self.conclude(now, id, verdict)
    }

    /// Answers that a request makes no sense, though it is of the right type.
    pub fn refuse(&mut self, now: Time, id: CallId, why: &str) -> Option<Answer> {
        let verdict = Verdict::error(Answer::MALFORMED, why.to_owned());
        self.conclude(now, id, verdict)
    }

    /// When [`on_time`](Self::on_time) has something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Forgets calls whose time is over. The component must learn of those that it works on.
    pub fn on_time(&mut self, now: Time) -> Vec<Incoming> {
        let mut expired = Vec::new();
        while let Some(&(deadline, id)) = self.deadlines.first()
            && deadline <= now
        {
            let Some(kept) = self.forget(id) else {
                continue;
            };
            if matches!(kept.state, State::Working) {
                self.counts.expired += 1;
                expired.push(Incoming::Expired(id));
            }
        }
        expired
    }

    /// Gives up what is being worked on, because the server ends or its component has failed. What is to be sent.
    pub fn abandon(&mut self, now: Time, why: &str) -> Vec<Answer> {
        let working = self.kept.iter();
        let working = working.filter(|(_, kept)| matches!(kept.state, State::Working));
        let ids: Vec<CallId> = working.map(|(id, _)| *id).collect();
        let verdict = Verdict::error(Answer::ABANDONED, why.to_owned());
        ids.into_iter()
            .filter_map(|id| self.conclude(now, id, verdict.clone()))
            .collect()
    }

    /// Calls that are being worked on.
    #[must_use]
    pub fn n_working(&self) -> usize {
        self.n_working
    }

    /// Calls that are worked on or whose answers are kept, and the bytes of these answers.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept_bytes)
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        self.counts
    }

    fn is_sound(&self, call: &Call) -> bool {
        let is_kind = matches!(call.kind, Call::REQUEST | Call::CANCEL);
        is_kind
            && call.service == self.service.as_str()
            && call.caller.len() <= MAX_NAME
            && call.body.len() <= MAX_BODY
            && call.number >= 1
            && call.attempt >= 0
    }

    fn refuse_another_life(&mut self, now: Time, call: &Call) -> Handled {
        self.counts.restarted += 1;
        // An earlier message of the same call, which is bound to no server yet, may still be on its way.
        self.see(now, call);
        let text = "the call was accepted by another instance of the server";
        self.answer_only(
            now,
            call,
            Verdict::error(Answer::RESTARTED, text.to_owned()),
        )
    }

    fn on_known(&mut self, id: CallId, now: Time, call: &Call) -> Handled {
        self.counts.repeated += 1;
        let Some(kept) = self.kept.get_mut(&id) else {
            return Handled::default();
        };
        kept.attempt = call.attempt;
        let verdict = match &kept.state {
            State::Answered { verdict, .. } => verdict.clone(),
            State::Working if call.kind == Call::CANCEL => {
                self.counts.cancelled += 1;
                return Handled {
                    answer: self.conclude(now, id, Verdict::cancelled()),
                    incoming: Some(Incoming::Cancelled(id)),
                };
            }
            State::Working => Verdict::accepted(),
        };
        self.answer_only(now, call, verdict)
    }

    fn on_unknown(&mut self, id: CallId, now: Time, call: &Call) -> Handled {
        let left_us = call.timeout_us.saturating_sub(call.elapsed_us);
        let left = Duration::from_micros(u64::try_from(left_us).unwrap_or(0)).min(MAX_TIMEOUT);
        let seen = self.see(now, call);
        if left.is_zero() {
            self.counts.expired += 1;
            let text = "the time of the call was over when it came";
            let verdict = Verdict::error(Answer::EXPIRED, text.to_owned());
            return self.answer_only(now, call, verdict);
        }
        match seen {
            Sight::First => {}
            Sight::Before => {
                self.counts.forgotten += 1;
                let text = "the call was received before, but its answer is no longer kept";
                let verdict = Verdict::error(Answer::FORGOTTEN, text.to_owned());
                return self.answer_only(now, call, verdict);
            }
            Sight::NoRoom => {
                self.counts.busy += 1;
                let text = format!("it has {} callers already", self.limits.max_callers);
                return self.answer_only(now, call, Verdict::error(Answer::BUSY, text));
            }
        }
        self.keep(id, now + left, call);
        match self.refusal(call) {
            Some(verdict) => Handled {
                answer: self.conclude(now, id, verdict),
                incoming: None,
            },
            None => {
                self.counts.executed += 1;
                let called = Called {
                    id,
                    caller: call.caller.clone(),
                    deadline: now + left,
                    body: call.body.clone(),
                };
                Handled {
                    incoming: Some(Incoming::Called(called)),
                    ..self.answer_only(now, call, Verdict::accepted())
                }
            }
        }
    }

    /// Why a call that is kept, and counted among those that are worked on, is not executed.
    fn refusal(&mut self, call: &Call) -> Option<Verdict> {
        if call.kind == Call::CANCEL {
            // It has overtaken the request, which will not be executed when it comes.
            self.counts.cancelled += 1;
            return Some(Verdict::cancelled());
        }
        let found = fingerprint_of(&call.body);
        if let Some(expected) = self.request
            && found != Some(expected.fingerprint)
        {
            self.counts.wrong_type += 1;
            let found = found.map_or("no message".to_owned(), |found| found.to_string());
            let TypeInfo {
                name, fingerprint, ..
            } = expected;
            let text = format!("expected {name} ({fingerprint}), found {found}");
            return Some(Verdict::error(Answer::WRONG_TYPE, text));
        }
        if self.n_working > self.limits.max_working {
            self.counts.busy += 1;
            let text = format!("{} calls are being worked on", self.limits.max_working);
            return Some(Verdict::error(Answer::BUSY, text));
        }
        None
    }

    /// Takes note of a call's number.
    fn see(&mut self, now: Time, call: &Call) -> Sight {
        let key = (call.caller.clone(), call.incarnation);
        if !self.callers.contains_key(&key)
            && self.callers.len() >= self.limits.max_callers
            && !self.make_room_for_caller(now)
        {
            return Sight::NoRoom;
        }
        let known = self.callers.entry(key).or_insert_with(|| Known {
            seen: Seen::default(),
            heard: now,
        });
        known.heard = now;
        if known.seen.insert(call.number) {
            Sight::First
        } else {
            Sight::Before
        }
    }

    fn make_room_for_caller(&mut self, now: Time) -> bool {
        let oldest = self.callers.iter().min_by_key(|(_, known)| known.heard);
        let Some((key, known)) = oldest else {
            return false;
        };
        if now.since(known.heard) < QUIET {
            return false;
        }
        let key = key.clone();
        self.callers.remove(&key);
        true
    }

    fn keep(&mut self, id: CallId, deadline: Time, call: &Call) {
        while self.kept.len() >= self.limits.max_kept.max(1) && self.evict() {}
        let kept = Kept {
            caller: call.caller.clone(),
            incarnation: call.incarnation,
            number: call.number,
            attempt: call.attempt,
            deadline,
            state: State::Working,
        };
        self.kept.insert(id, kept);
        self.deadlines.insert((deadline, id));
        self.n_working += 1;
    }

    /// Ends the work on a call. What is to be sent; nothing if it had ended before.
    fn conclude(&mut self, now: Time, id: CallId, verdict: Verdict) -> Option<Answer> {
        let kept = self.kept.get_mut(&id);
        let Some(kept) = kept.filter(|kept| matches!(kept.state, State::Working)) else {
            self.counts.unwanted += 1;
            return None;
        };
        let n_bytes = verdict.body.len();
        if verdict.kind == Answer::REPLY || verdict.code > 0 {
            self.counts.answered += 1;
        }
        let (caller, attempt) = (kept.caller.clone(), kept.attempt);
        let order = self.n_answered;
        kept.state = State::Answered {
            verdict: verdict.clone(),
            order,
        };
        self.n_answered += 1;
        self.n_working -= 1;
        self.kept_bytes += n_bytes;
        self.answered.insert(order, id);
        while self.kept_bytes > self.limits.max_kept_bytes && self.evict() {}
        Some(self.answer(now, id, caller, attempt, verdict))
    }

    /// Forgets the oldest answer.
    fn evict(&mut self) -> bool {
        let Some((_, &id)) = self.answered.first_key_value() else {
            return false;
        };
        self.counts.evicted += 1;
        self.forget(id).is_some()
    }

    fn forget(&mut self, id: CallId) -> Option<Kept> {
        let kept = self.kept.remove(&id)?;
        self.deadlines.remove(&(kept.deadline, id));
        match &kept.state {
            State::Working => self.n_working -= 1,
            State::Answered { verdict, order } => {
                self.answered.remove(order);
                self.kept_bytes -= verdict.body.len();
            }
        }
        Some(kept)
    }

    fn answer_only(&self, now: Time, call: &Call, verdict: Verdict) -> Handled {
        let id = CallId(call.id);
        Handled {
            answer: Some(self.answer(now, id, call.caller.clone(), call.attempt, verdict)),
            incoming: None,
        }
    }

    fn answer(
        &self,
        now: Time,
        id: CallId,
        caller: String,
        attempt: i32,
        verdict: Verdict,
    ) -> Answer {
        let Verdict {
            kind,
            code,
            text,
            body,
        } = verdict;
        Answer {
            utime: now.utime(),
            id: id.0,
            caller,
            service: self.service.as_str().to_owned(),
            server: self.server.clone(),
            server_instance: self.instance,
            attempt,
            kind,
            code,
            text,
            body,
            ..Answer::default()
        }
        .with_lengths()
    }
}

/// Whether a call was received before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    First,
    Before,
    /// There are too many callers to know.
    NoRoom,
}

impl Verdict {
    fn accepted() -> Self {
        Self {
            kind: Answer::ACCEPTED,
            ..Self::default()
        }
    }

    fn cancelled() -> Self {
        Self {
            kind: Answer::CANCELLED,
            ..Self::default()
        }
    }

    fn reply(body: Vec<u8>) -> Self {
        Self {
            kind: Answer::REPLY,
            body,
            ..Self::default()
        }
    }

    fn error(code: i32, text: String) -> Self {
        Self {
            kind: Answer::ERROR,
            code,
            text: shortened(&text, MAX_TEXT),
            ..Self::default()
        }
    }
}

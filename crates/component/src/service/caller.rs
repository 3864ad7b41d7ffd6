//! The half of a service that asks. In: answers and the time. Out: calls to send, and one outcome for each call.
//!
//! Deliberately absent: sockets, clocks, threads, and any memory of a call that is over, but for the last few ids, by
//! which distinguishes late answers from wrong ones.

use super::id::CallId;
use super::name::ServiceName;
use super::{MAX_BODY, MAX_NAME, MAX_TEXT, MAX_TIMEOUT, shortened, whole_us};
use crate::time::Time;
use bowline_msgs::{Answer, Call};
use bowline_wire::Fingerprint;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

/// How long until a call is sent for the second time. It doubles from there.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// How long it gets without an answer.
const MAX_RETRY: Duration = Duration::from_millis(400);
/// How long until a server that has accepted a call is asked again: it may have died, or its reply may be lost.
const FIRST_KEEP_ALIVE: Duration = Duration::from_millis(200);
/// How long that gets.
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(1);
/// How often a later life of a server must refuse a call, with no word from the one that accepted it, until that one is
/// believed to be dead. One refusal may come from a second server that goes by the same name.
const MAX_REFUSALS: u8 = 3;
/// Calls that may be open at once.
const MAX_OPEN: usize = 256;
/// Calls that are remembered when they are over.
const MAX_OVER: usize = 64;

/// A client of services.
///
/// ```text
///            begin                ACCEPTED               REPLY, ERROR, time over
///   (none) ────────▶ Requested ────────────▶ Accepted ──────────────────────────▶ (over)
///                        │ REPLY, ERROR, time over                                  ▲
///                        ├──────────────────────────────────────────────────────────┤
///                        │ cancel                      any answer, time over        │
///                        └────────────────▶ Cancelling ─────────────────────────────┘
/// ```
#[derive(Debug)]
pub struct Caller {
    name: String,
    incarnation: i64,
    next_number: i64,
    open: BTreeMap<CallId, Open>,
    due: BTreeSet<(Time, CallId)>,
    over: VecDeque<(CallId, Option<i64>)>,
    counts: CallerCounts,
}

/// A call that is not over.
#[derive(Debug)]
struct Open {
    service: ServiceName,
    body: Vec<u8>,
    reply: Option<Fingerprint>,
    number: i64,
    begun: Time,
    deadline: Time,
    attempt: i32,
    interval: Duration,
    due: Time,
    state: State,
    refusals: u8,
    refused_attempt: i32,
}

#[derive(Clone, Debug)]
enum State {
    Requested,
    Accepted(ServerId),
    /// Its outcome is reported; the server may not know.
    Cancelling(Option<ServerId>),
}

/// Who answers: a server and its life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerId {
    /// Its name.
    pub name: String,
    /// When it started, microseconds since the epoch.
    pub instance: i64,
}

impl ServerId {
    /// Whether an answer is by a later life of the same server.
    fn is_before(&self, answer: &Answer) -> bool {
        self.name == answer.server && self.instance < answer.server_instance
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Of whom.
    pub service: ServiceName,
    /// The request: an encoded message with its fingerprint.
    pub body: Vec<u8>,
    /// What the reply must begin with; `None` takes any.
    pub reply: Option<Fingerprint>,
    /// How long to wait for it.
    pub timeout: Duration,
}

/// A call that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The one that [`Caller::begin`] gave.
    pub id: CallId,
    /// What was asked.
    pub service: ServiceName,
    /// Who answered, or had accepted it.
    pub server: Option<ServerId>,
    /// The reply, an encoded message with its fingerprint, or why there is none.
    pub outcome: Result<Vec<u8>, CallError>,
}

/// What follows from the passing of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DueCalls {
    /// To be sent, each on the channel of its service.
    pub send: Vec<Call>,
    /// Calls whose time is over.
    pub finished: Vec<Finished>,
}

/// What happened to a caller's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerCounts {
    /// Calls that were begun.
    pub begun: u64,
    /// Those that had a reply.
    pub replied: u64,
    /// Those that had an error, or no answer in time.
    pub failed: u64,
    /// Messages that were sent again.
    pub repeated: u64,
    /// Answers that came again, or after the end of their calls.
    pub late: u64,
    /// Answers by a second server of the same service.
    pub rivals: u64,
    /// Answers that made no sense.
    pub malformed: u64,
}

impl Caller {
    /// A caller by its name, and its start in microseconds since the epoch (or any number that no life of it had
    /// before). Names that are too long are cut.
    #[must_use]
    pub fn new(name: &str, incarnation: i64) -> Self {
        Self {
            name: shortened(name, MAX_NAME),
            incarnation,
            next_number: 1,
            open: BTreeMap::new(),
            due: BTreeSet::new(),
            over: VecDeque::new(),
            counts: CallerCounts::default(),
        }
    }

    /// Begins a call. It is over when [`Finished`] has its id, which is within its timeout.
    ///
    /// # Errors
    /// When it cannot be sent, or there are too many already.
    pub fn begin(&mut self, now: Time, request: Request) -> Result<(CallId, Call), BeginError> {
        let Request {
            service,
            body,
            reply,
            timeout,
        } = request;
        if body.len() > MAX_BODY {
            return Err(BeginError::TooLarge { size: body.len() });
        }
        if timeout.is_zero() || timeout > MAX_TIMEOUT {
            return Err(BeginError::Timeout { timeout });
        }
        if self.open.len() >= MAX_OPEN {
            return Err(BeginError::TooMany);
        }
        let number = self.next_number;
        self.next_number += 1;
        let id = CallId::new(&self.name, self.incarnation, number);
        let mut open = Open {
            service,
            body,
            reply,
            number,
            begun: now,
            deadline: now + timeout,
            attempt: 0,
            interval: FIRST_RETRY,
            due: now,
            state: State::Requested,
            refusals: 0,
            refused_attempt: -1,
        };
        let call = open.message(id, &self.name, self.incarnation, now);
        self.due.insert((open.due, id));
        self.open.insert(id, open);
        self.counts.begun += 1;
        Ok((id, call))
    }

    /// Ends a call: its outcome is [`CallError::Cancelled`], and the cancellation is sent until the server confirms it. `None`
    /// if it is over already.
    pub fn cancel(&mut self, now: Time, id: CallId) -> Option<(Finished, Call)> {
        let open = self.open.get_mut(&id)?;
        let server = match &open.state {
            State::Requested => None,
            State::Accepted(server) => Some(server.clone()),
            State::Cancelling(_) => return None,
        };
        self.due.remove(&(open.due, id));
        open.state = State::Cancelling(server.clone());
        open.attempt = 0;
        open.refused_attempt = -1;
        open.interval = FIRST_RETRY;
        open.body = Vec::new();
        let call = open.message(id, &self.name, self.incarnation, now);
        self.due.insert((open.due, id));
        self.counts.failed += 1;
        let finished = Finished {
            id,
            service: open.service.clone(),
            server,
            outcome: Err(CallError::Cancelled),
        };
        Some((finished, call))
    }

    /// Takes what was received on the answer channel of any service; answers to others are none of its business. The call
    /// that is over by it, if one is.
    pub fn on_answer(&mut self, now: Time, answer: &Answer) -> Option<Finished> {
        if answer.caller != self.name {
            return None;
        }
        let id = CallId(answer.id);
        let Some(open) = self.open.get_mut(&id) else {
            self.count_late(answer);
            return None;
        };
        if answer.service != open.service.as_str() || !is_sound(answer) {
            self.counts.malformed += 1;
            return None;
        }
        let bound = open.state.server().map(|server| server.instance);
        if bound.is_some_and(|instance| instance != answer.server_instance) {
            return self.on_rival(now, id, answer);
        }
        open.refusals = 0;
        match answer.kind {
            Answer::ACCEPTED => {
                self.accepted(now, id, answer);
                None
            }
            Answer::ERROR if answer.code == Answer::RESTARTED => {
                // The call was bound to no server, or to this very instance.
                self.counts.malformed += 1;
                None
            }
            _ => self.answered(id, answer),
        }
    }

    /// When [`on_time`](Self::on_time) has something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Sends again what may be lost, and ends calls whose time is over.
    pub fn on_time(&mut self, now: Time) -> DueCalls {
        let mut due = DueCalls::default();
        while let Some(&(at, id)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            let Some(open) = self.open.get_mut(&id) else {
                continue;
            };
            if open.deadline <= now {
                due.finished.extend(self.time_over(id));
                continue;
            }
            open.attempt = open.attempt.saturating_add(1);
            let call = open.message(id, &self.name, self.incarnation, now);
            self.due.insert((open.due, id));
            self.counts.repeated += 1;
            due.send.push(call);
        }
        due
    }

    /// Calls that are not over, those included that are being cancelled.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> CallerCounts {
        self.counts
    }

    /// An answer by another instance than the one that accepted the call: a second server, or the next life of a dead
    /// one, which refuses what it has not accepted itself.
    fn on_rival(&mut self, now: Time, id: CallId, answer: &Answer) -> Option<Finished> {
        let is_refusal = answer.kind == Answer::ERROR && answer.code == Answer::RESTARTED;
        let is_next_life = |open: &&mut Open| {
            let bound = open.state.server();
            is_refusal && bound.is_some_and(|bound| bound.is_before(answer))
        };
        let Some(open) = self.open.get_mut(&id).filter(is_next_life) else {
            self.counts.rivals += 1;
            return None;
        };
        if answer.attempt <= open.refused_attempt || answer.attempt > open.attempt {
            return None;
        }
        open.refused_attempt = answer.attempt;
        open.refusals += 1;
        let is_cancelling = matches!(open.state, State::Cancelling(_));
        if is_cancelling || open.refusals >= MAX_REFUSALS {
            return self.end(id, None, |server| Err(CallError::Restarted { server }));
        }
        // The one that accepted it gets a chance to answer, soon.
        self.due.remove(&(open.due, id));
        open.interval = FIRST_RETRY;
        open.due = open.deadline.min(now + FIRST_RETRY);
        self.due.insert((open.due, id));
        None
    }

    fn accepted(&mut self, now: Time, id: CallId, answer: &Answer) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        if !matches!(open.state, State::Requested) {
            return;
        }
        self.due.remove(&(open.due, id));
        open.state = State::Accepted(ServerId {
            name: answer.server.clone(),
            instance: answer.server_instance,
        });
        open.interval = FIRST_KEEP_ALIVE;
        open.due = open.deadline.min(now + FIRST_KEEP_ALIVE);
        self.due.insert((open.due, id));
    }

    fn answered(&mut self, id: CallId, answer: &Answer) -> Option<Finished> {
        let by = ServerId {
            name: answer.server.clone(),
            instance: answer.server_instance,
        };
        let reply = self.open.get(&id).and_then(|open| open.reply);
        let outcome = match answer.kind {
            Answer::REPLY => check_reply(reply, &answer.body),
            Answer::CANCELLED => Err(CallError::Cancelled),
            _ => Err(CallError::from_answer(answer)),
        };
        self.end(id, Some(by), |_| outcome)
    }

    fn time_over(&mut self, id: CallId) -> Option<Finished> {
        self.end(id, None, |server| match server {
            Some(server) => Err(CallError::TimedOut { server }),
            None => Err(CallError::Unanswered),
        })
    }

    /// Forgets a call, answered or not. Its outcome, unless that was reported when it was cancelled.
    fn end(
        &mut self,
        id: CallId,
        by: Option<ServerId>,
        outcome: impl FnOnce(Option<ServerId>) -> Result<Vec<u8>, CallError>,
    ) -> Option<Finished> {
        let open = self.open.remove(&id)?;
        self.due.remove(&(open.due, id));
        let server = by.or_else(|| open.state.server().cloned());
        if self.over.len() >= MAX_OVER {
            self.over.pop_front();
        }
        let instance = server.as_ref().map(|server| server.instance);
        self.over.push_back((id, instance));
        if matches!(open.state, State::Cancelling(_)) {
            return None;
        }
        let outcome = outcome(server.clone());
        let count = match &outcome {
            Ok(_) => &mut self.counts.replied,
            Err(_) => &mut self.counts.failed,
        };
        *count += 1;
        Some(Finished {
            id,
            service: open.service,
            server,
            outcome,
        })
    }

    fn count_late(&mut self, answer: &Answer) {
        let over = self.over.iter().find(|(id, _)| id.0 == answer.id);
        let instance = over.and_then(|(_, instance)| *instance);
        if instance.is_some_and(|instance| instance != answer.server_instance) {
            self.counts.rivals += 1;
        } else {
            self.counts.late += 1;
        }
    }
}

impl State {
    fn server(&self) -> Option<&ServerId> {
        match self {
            Self::Requested => None,
            Self::Accepted(server) => Some(server),
            Self::Cancelling(server) => server.as_ref(),
        }
    }
}

impl Open {
    /// What is sent now, and when the next is due.
    fn message(&mut self, id: CallId, caller: &str, incarnation: i64, now: Time) -> Call {
        self.due = self.deadline.min(now + self.interval);
        let longest = match &self.state {
            State::Requested | State::Cancelling(_) => MAX_RETRY,
            State::Accepted(_) => MAX_KEEP_ALIVE,
        };
        self.interval = (self.interval * 2).min(longest);
        let is_cancelling = matches!(self.state, State::Cancelling(_));
        Call {
            utime: now.utime(),
            id: id.0,
            caller: caller.to_owned(),
            incarnation,
            number: self.number,
            service: self.service.as_str().to_owned(),
            kind: if is_cancelling {
                Call::CANCEL
            } else {
                Call::REQUEST
            },
            attempt: self.attempt,
            timeout_us: whole_us(self.deadline.since(self.begun)),
            elapsed_us: whole_us(now.since(self.begun)),
            server_instance: self.state.server().map_or(0, |server| server.instance),
            body: self.body.clone(),
            ..Call::default()
        }
        .with_lengths()
    }
}

fn is_sound(answer: &Answer) -> bool {
    let kinds = Answer::ACCEPTED..=Answer::CANCELLED;
    kinds.contains(&answer.kind) && answer.server.len() <= MAX_NAME && answer.body.len() <= MAX_BODY
}

fn check_reply(expected: Option<Fingerprint>, body: &[u8]) -> Result<Vec<u8>, CallError> {
    let found = super::fingerprint_of(body);
    match expected {
        Some(expected) if found != Some(expected) => Err(CallError::WrongReply { expected, found }),
        Some(_) | None => Ok(body.to_vec()),
    }
}

/// Why a call was not begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    /// The request is too large for a call.
    #[error(
        "expected a request of at most {MAX_BODY} bytes, found {size}: publish large data on a channel"
    )]
    TooLarge {
        /// Of the request, bytes.
        size: usize,
    },
    /// So long a wait, or none at all, is not possible.
    #[error(
        "expected a timeout longer than nothing and of at most {MAX_TIMEOUT:?}, found {timeout:?}"
    )]
    Timeout {
        /// What was asked for.
        timeout: Duration,
    },
    /// Too many calls are open.
    #[error(
        "{MAX_OPEN} calls are open already: wait for some of them, or give them shorter timeouts"
    )]
    TooMany,
}

/// Why a call has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The service reports so, in its own words.
    #[error("the service replied: {text} (code {code})")]
    Remote {
        /// The service's own code, from 1 on.
        code: i32,
        /// What went wrong.
        text: String,
    },
    /// No server answered at all.
    #[error("no answer: is the service running, and on this bus?")]
    Unanswered,
    /// A server accepted the call, and has not answered it.
    #[error("{server} accepted the call, but did not answer it in time")]
    TimedOut {
        /// Who did.
        server: ServerId,
    },
    /// It was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The server that had accepted it is gone, and another instance of it is there.
    #[error("the server restarted in the middle of the call: what was done of it is not known")]
    Restarted {
        /// The one that is gone.
        server: Option<ServerId>,
    },
    /// The server has too much to do.
    #[error("the server is busy: {text}")]
    Busy {
        /// The declared value.
        text: String,
    },
    /// The server expects requests of another type.
    #[error("the request is of the wrong type: {text}")]
    WrongType {
        /// The declared value.
        text: String,
    },
    /// The server sent a reply of another type.
    #[error(
        "expected a reply that begins with {expected:?}, found {found:?}: the server was built with another type"
    )]
    WrongReply {
        /// What was asked for.
        expected: Fingerprint,
        /// What it begins with, if it is long enough.
        found: Option<Fingerprint>,
    },
    /// The server refuses the call, or has given it up.
    #[error("the server refused the call: {text} (code {code})")]
    Refused {
        /// One of the constants of `answer_t`.
        code: i32,
        /// The declared value.
        text: String,
    },
}

impl CallError {
    /// The cause in an answer of kind ERROR.
    #[must_use]
    pub fn from_answer(answer: &Answer) -> Self {
        let text = shortened(&answer.text, MAX_TEXT);
        match answer.code {
            Answer::BUSY => Self::Busy { text },
            Answer::WRONG_TYPE => Self::WrongType { text },
            code if code > 0 => Self::Remote { code, text },
            code => Self::Refused { code, text },
        }
    }
}

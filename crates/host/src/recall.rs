//! Answers out of a log, for components that call a service whose server the log replaces.
//!
//! In: calls and answers as they were recorded, and calls as components make them now. Out: the recorded answers, with
//! the ids of the calls that are made now. Ids have the start of the caller in them, so they are others in every run;
//! what is the same is who asks for what. The nth call of a client for something gets what the nth such call got when
//! the log was recorded, not before it did. A call that was not recorded gets no answer, and so an error in time.
//!
//! It gets events in their order; it knows no log and no engine.

use bowline_component::service::CallId;
use bowline_component::trace::hash;
use bowline_msgs::{Answer, Call};
use std::collections::{BTreeMap, VecDeque};

/// Calls without their counterpart that are kept, and answers that are.
const MAX_KEPT: usize = 4_096;

/// Who asks for what, as far as it distinguishes two calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    caller: String,
    service: String,
    body: u64,
}

impl Question {
    fn of(call: &Call) -> Self {
        Self {
            caller: call.caller.clone(),
            service: call.service.clone(),
            body: hash(&call.body),
        }
    }
}

/// What became of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecallCounts {
    /// Calls that are made now and were recorded.
    pub matched: u64,
    /// Calls that are made now and were not recorded, or not yet.
    pub unmatched: u64,
    /// Recorded calls and answers that were forgotten because there were too many.
    pub forgotten: u64,
}

/// Knows which recorded call is which that is made now.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    /// Calls of each question that have no counterpart yet: either all were recorded, or all are made now.
    waiting: BTreeMap<Question, Waiting>,
    n_waiting: usize,
    /// The last number of each caller's calls that was seen, so that a repetition is none of its own.
    seen: BTreeMap<(Side, String, i64), i64>,
    /// From the recorded to the one that is made now.
    matched: BTreeMap<CallId, CallId>,
    /// The recorded ones of these, the oldest first.
    order: VecDeque<CallId>,
    /// Answers to recorded calls that were not made yet, by those.
    early: BTreeMap<CallId, Vec<Answer>>,
    n_early: usize,
    released: VecDeque<Answer>,
    counts: RecallCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Recorded,
    Now,
}

#[derive(Debug)]
struct Waiting {
    side: Side,
    ids: VecDeque<CallId>,
}

impl Recall {
    /// Takes a call that was recorded.
    pub(crate) fn on_recorded_call(&mut self, call: &Call) {
        self.on_call(Side::Recorded, call);
    }

    /// Takes a call that a component makes now.
    pub(crate) fn on_call_now(&mut self, call: &Call) {
        self.on_call(Side::Now, call);
    }

    /// Takes an answer that was recorded. It comes back as one to the call that is made now, if that is known already.
    pub(crate) fn on_recorded_answer(&mut self, answer: Answer) -> Option<Answer> {
        let recorded = CallId(answer.id);
        match self.matched.get(&recorded) {
            Some(&now) => Some(addressed(answer, now)),
            None if self.n_early < MAX_KEPT => {
                self.n_early += 1;
                self.early.entry(recorded).or_default().push(answer);
                None
            }
            None => {
                self.counts.forgotten += 1;
                None
            }
        }
    }

    /// An answer whose call was made just now.
    pub(crate) fn release(&mut self) -> Option<Answer> {
        self.released.pop_front()
    }

    pub(crate) fn counts(&self) -> RecallCounts {
        let waits_now = |waiting: &&Waiting| waiting.side == Side::Now;
        let unmatched = self.waiting.values().filter(waits_now);
        RecallCounts {
            unmatched: unmatched.map(|it| it.ids.len() as u64).sum(),
            ..self.counts
        }
    }

    fn on_call(&mut self, side: Side, call: &Call) {
        if call.kind != Call::REQUEST || self.is_repeated(side, call) {
            return;
        }
        let (question, id) = (Question::of(call), CallId(call.id));
        let waiting = self.waiting.get_mut(&question);
        let other = waiting.filter(|waiting| waiting.side != side);
        match other.and_then(|waiting| waiting.ids.pop_front()) {
            Some(other) => {
                self.n_waiting -= 1;
                if self
                    .waiting
                    .get(&question)
                    .is_some_and(|it| it.ids.is_empty())
                {
                    self.waiting.remove(&question);
                }
                match side {
                    Side::Recorded => self.pair(id, other),
                    Side::Now => self.pair(other, id),
                }
            }
            None if self.n_waiting < MAX_KEPT => {
                self.n_waiting += 1;
                let ids = VecDeque::new();
                let waiting = self
                    .waiting
                    .entry(question)
                    .or_insert(Waiting { side, ids });
                waiting.ids.push_back(id);
            }
            None => self.counts.forgotten += 1,
        }
    }

    /// Calls are sent again until they are answered.
    fn is_repeated(&mut self, side: Side, call: &Call) -> bool {
        let caller = (side, call.caller.clone(), call.incarnation);
        if self.seen.len() >= MAX_KEPT {
            // Lives that are over; of the others at worst a repetition counts twice.
            self.seen.pop_first();
        }
        let last = self.seen.entry(caller).or_insert(0);
        let is_repeated = call.number <= *last;
        *last = call.number.max(*last);
        is_repeated
    }

    fn pair(&mut self, recorded: CallId, now: CallId) {
        self.counts.matched += 1;
        self.matched.insert(recorded, now);
        self.order.push_back(recorded);
        // What was answered long ago is not answered again.
        if self.order.len() > MAX_KEPT {
            let oldest = self.order.pop_front();
            oldest.and_then(|oldest| self.matched.remove(&oldest));
        }
        let early = self.early.remove(&recorded).unwrap_or_default();
        self.n_early -= early.len();
        self.released
            .extend(early.into_iter().map(|answer| addressed(answer, now)));
    }
}

fn addressed(answer: Answer, to: CallId) -> Answer {
    Answer { id: to.0, ..answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(incarnation: i64, number: i64, body: &[u8]) -> Call {
        Call {
            id: CallId::new("asker", incarnation, number).0,
            caller: "asker".to_owned(),
            incarnation,
            number,
            service: "double".to_owned(),
            kind: Call::REQUEST,
            body: body.to_vec(),
            ..Call::default()
        }
    }

    fn answer(call: &Call, body: &[u8]) -> Answer {
        Answer {
            id: call.id,
            kind: Answer::REPLY,
            body: body.to_vec(),
            ..Answer::default()
        }
    }

    const THEN: i64 = 1;
    const NOW: i64 = 9;

    #[test]
    fn the_nth_call_for_something_gets_the_nth_answer_to_that() {
        let mut recall = Recall::default();
        let then = [(1, "a"), (2, "b"), (3, "a")];
        let then = then.map(|(number, body)| call(THEN, number, body.as_bytes()));
        // One call more than before, and in another order; each is sent twice.
        let now = [(1, "x"), (2, "a"), (3, "a"), (4, "b")];
        let now = now.map(|(number, body)| call(NOW, number, body.as_bytes()));
        for call in then.iter().chain(&then) {
            recall.on_recorded_call(call);
        }
        for call in now.iter().chain(&now) {
            recall.on_call_now(call);
        }
        let mut answered = |call: &Call, body: &str| {
            let answer = answer(call, body.as_bytes());
            recall.on_recorded_answer(answer).map(|answer| answer.id)
        };
        assert_eq!(answered(&then[0], "first a"), Some(now[1].id));
        assert_eq!(answered(&then[2], "second a"), Some(now[2].id));
        assert_eq!(answered(&then[1], "b"), Some(now[3].id));
        let counts = recall.counts();
        assert_eq!((counts.matched, counts.unmatched), (3, 1));
    }

    #[test]
    fn an_answer_waits_for_its_call() {
        let mut recall = Recall::default();
        let (then, now) = (call(THEN, 1, b"a"), call(NOW, 1, b"a"));
        recall.on_recorded_call(&then);
        assert_eq!(recall.on_recorded_answer(answer(&then, b"yes")), None);
        assert_eq!(recall.release(), None);
        recall.on_call_now(&now);
        assert_eq!(recall.release(), Some(answer(&now, b"yes")));
        assert_eq!(recall.release(), None);
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_not_is_counted() {
        let mut recall = Recall::default();
        let n_calls = i64::try_from(MAX_KEPT).unwrap() + 10;
        for number in 1..=n_calls {
            recall.on_recorded_call(&call(THEN, number, &number.to_be_bytes()));
        }
        assert_eq!(recall.counts().forgotten, 10);
    }
}

//! The numbers of commands by session: no command counts twice, and none after a later one.

use super::refusal::{Reason, Refusal};
use bowline_component::Time;
use bowline_msgs::Authority;
use std::time::Duration;

/// Sessions that may send within the time that a command may be old. More are refused until some have been silent.
pub(super) const MAX_SESSIONS: usize = 64;

/// What must stay in order: what moves the vehicle, and what concerns leases and stops.
///
/// A station numbers all of its commands in one row, but the two travel on channels of different priority, and a renewal
/// that overtakes a task must not cost the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Motion,
    Authority,
}

/// The last numbers of each session.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    speakers: Vec<Speaker>,
    /// A session that was silent for longer can be forgotten: what it sent is too old to count again.
    remember: Duration,
}

#[derive(Clone, Debug)]
struct Speaker {
    station: String,
    session: i64,
    /// By stream.
    last: [Option<i64>; 2],
    /// The id of the last task that was taken from it; 0: none.
    task: i64,
    heard: Time,
}

impl Ledger {
    pub(super) fn new(remember: Duration) -> Self {
        Self {
            speakers: Vec::new(),
            remember,
        }
    }

    /// Enters the number of a command that is fresh. It is spent, whatever becomes of the command.
    pub(super) fn enter(
        &mut self,
        now: Time,
        by: &Authority,
        stream: Stream,
    ) -> Result<(), Refusal> {
        let at = match self.speakers.iter().position(|it| it.is(by)) {
            Some(at) => at,
            None => self.make_room(now, by)?,
        };
        let Some(speaker) = self.speakers.get_mut(at) else {
            return Ok(());
        };
        let last = match stream {
            Stream::Motion => &mut speaker.last[0],
            Stream::Authority => &mut speaker.last[1],
        };
        match *last {
            Some(last) if by.sequence == last => Err(Reason::Repeated.because(format!(
                "expected a command that has not come yet, found number {last} again"
            ))),
            Some(last) if by.sequence < last => Err(Reason::Overtaken.because(format!(
                "expected a number after {last}, found {}",
                by.sequence
            ))),
            Some(_) | None => {
                *last = Some(by.sequence);
                speaker.heard = now;
                Ok(())
            }
        }
    }

    /// Whether this is the last task that was taken from the session. What has no id is never the same again.
    pub(super) fn is_last_task(&self, by: &Authority, id: i64) -> bool {
        let speaker = self.speakers.iter().find(|it| it.is(by));
        id != 0 && speaker.is_some_and(|it| it.task == id)
    }

    /// Enters a task that is taken.
    pub(super) fn enter_task(&mut self, by: &Authority, id: i64) {
        if let Some(speaker) = self.speakers.iter_mut().find(|it| it.is(by)) {
            speaker.task = id;
        }
    }

    fn make_room(&mut self, now: Time, by: &Authority) -> Result<usize, Refusal> {
        if self.speakers.len() >= MAX_SESSIONS {
            let remember = self.remember;
            self.speakers.retain(|it| now.since(it.heard) <= remember);
        }
        if self.speakers.len() >= MAX_SESSIONS {
            return Err(Reason::Crowded.because(format!(
                "expected at most {MAX_SESSIONS} sessions at a time, found one more"
            )));
        }
        self.speakers.push(Speaker {
            station: by.station.clone(),
            session: by.session,
            last: [None; 2],
            task: 0,
            heard: now,
        });
        Ok(self.speakers.len() - 1)
    }
}

impl Speaker {
    fn is(&self, by: &Authority) -> bool {
        self.session == by.session && self.station == by.station
    }
}

//! A log as a source of events: in its order, at its times. Services that components call and none of them serves are
//! answered as they were when the log was recorded.

use crate::lockstep::Source;
use crate::recall::{Recall, RecallCounts};
use bowline_bus::{Bytes, Channel};
use bowline_component::Parcel;
use bowline_component::Time;
use bowline_component::engine::{Arrival, Sent};
use bowline_component::service::{ANSWER_CHANNEL, CALL_CHANNEL};
use bowline_format::{LogEvent, ReadError, Reader};
use bowline_msgs::{Answer, Call};
use std::collections::{BTreeMap, BTreeSet};

/// The events of a log, on the channels that are wanted.
#[derive(Debug)]
pub struct Tape {
    log: Reader,
    channels: BTreeSet<Channel>,
    /// Where calls are made that the log answers, and where those answers are.
    recalled: BTreeMap<Channel, Channel>,
    recall: Recall,
    last: Option<Time>,
}

impl Tape {
    /// From where the log is at.
    #[must_use]
    pub fn new(log: Reader, channels: impl IntoIterator<Item = Channel>) -> Self {
        let mut channels: BTreeSet<Channel> = channels.into_iter().collect();
        // Answers without a server here are of a service that the log replaces.
        let recalled = channels.iter().filter_map(|answers| {
            let service = answers.strip_prefix(ANSWER_CHANNEL)?;
            let calls = Channel::from(format!("{CALL_CHANNEL}{service}").as_str());
            Some((calls, answers.clone()))
        });
        let recalled: BTreeMap<Channel, Channel> = recalled.collect();
        channels.extend(recalled.keys().cloned());
        Self {
            log,
            channels,
            recalled,
            recall: Recall::default(),
            last: None,
        }
    }

    /// How many calls were answered out of the log, and how many could not be.
    #[must_use]
    pub fn recall_counts(&self) -> RecallCounts {
        self.recall.counts()
    }

    /// When the last event was recorded that was read, wanted or not.
    #[must_use]
    pub fn last(&self) -> Option<Time> {
        self.last
    }
}

impl Source for Tape {
    fn next(&mut self) -> Result<Option<Arrival>, ReadError> {
        while let Some(event) = self.log.next_event()? {
            let received = time_of(&event);
            self.last = Some(received);
            if let Some(channel) = self.channels.get(event.channel) {
                return Ok(Some(Arrival {
                    received,
                    channel: channel.clone(),
                    parcel: Parcel::from_bytes(Bytes::copy_from_slice(event.payload)),
                }));
            }
        }
        Ok(None)
    }

    fn admit(&mut self, arrival: Arrival) -> Option<Arrival> {
        if self.recalled.contains_key(&arrival.channel) {
            // What cannot be read is no call.
            let call = arrival.parcel.message::<Call>()?;
            self.recall.on_recorded_call(&call);
            return None;
        }
        if !self
            .recalled
            .values()
            .any(|answers| *answers == arrival.channel)
        {
            return Some(arrival);
        }
        let answer = arrival.parcel.message::<Answer>()?;
        let answer = self.recall.on_recorded_answer(answer)?;
        Some(Arrival {
            parcel: Parcel::new(answer).ok()?,
            ..arrival
        })
    }

    fn hear(&mut self, sent: &Sent<'_>) {
        if self.recalled.contains_key(sent.channel)
            && let Some(call) = sent.parcel.message::<Call>()
        {
            self.recall.on_call_now(&call);
        }
    }

    fn release(&mut self, now: Time) -> Option<Arrival> {
        let answer = self.recall.release()?;
        let channel = format!("{ANSWER_CHANNEL}{}", answer.service);
        Some(Arrival {
            received: now,
            channel: Channel::from(channel.as_str()),
            parcel: Parcel::new(answer).ok()?,
        })
    }
}

/// When an event was recorded.
pub(crate) fn time_of(event: &LogEvent<'_>) -> Time {
    let ns = event.utime.saturating_mul(1_000);
    Time::from_ns(ns.saturating_add(i64::from(event.nanos)))
}

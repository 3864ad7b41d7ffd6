//! One life of a component: from its start to the next one.

use super::window::{PATIENCE, Window};
use super::{Difference, Findings, Problem, Recorded};
use crate::robot::MakeComponentError;
use bowline_bus::{Bytes, Channel};
use bowline_component::Time;
use bowline_component::engine::{Engine, Event, Instance, Lane, Sent, Sink};
use bowline_component::trace::{self, Entry, Reason, Trace};
use bowline_component::{ALARM_CHANNEL, Parcel};
use bowline_msgs::Steps;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Life {
    /// Gone once something is not the same: what follows would only follow from that.
    engine: Option<Engine>,
    /// By port.
    lanes: Vec<Lane>,
    /// Steps that are still to be taken, and the number of the first.
    ahead: VecDeque<Entry>,
    next: u64,
}

impl Life {
    pub(super) fn begin(
        steps: &Steps,
        remade: Option<Result<Instance, MakeComponentError>>,
        findings: &mut Findings,
    ) -> Self {
        let mut life = Self {
            engine: None,
            lanes: Vec::new(),
            ahead: VecDeque::new(),
            next: 0,
        };
        match remade {
            None => findings.problems.push(Problem::Unknown),
            Some(Err(error)) => findings.problems.push(Problem::NotMade(error.to_string())),
            Some(Ok(remade)) => {
                if steps.first == 0 && steps.settings != remade.settings {
                    let changes = changes(&steps.settings, &remade.settings);
                    findings.problems.push(Problem::SettingsChanged { changes });
                }
                life.make(remade, findings);
            }
        }
        life
    }

    fn make(&mut self, instance: Instance, findings: &mut Findings) {
        match Engine::new(vec![instance]) {
            Ok(engine) => {
                self.lanes = engine.lanes_of(0).to_vec();
                self.engine = Some(engine);
            }
            Err(error) => findings.problems.push(Problem::NotMade(error.to_string())),
        }
    }

    /// Takes note of steps that are to be taken.
    pub(super) fn expect(&mut self, trace: Trace, findings: &mut Findings) {
        let expected = self.next + self.ahead.len() as u64;
        // What is in the log twice was taken the first time.
        let known = usize::try_from(expected.saturating_sub(trace.first)).unwrap_or(usize::MAX);
        if trace.first > expected && self.engine.is_some() {
            self.engine = None;
            findings.problems.push(Problem::StepsMissing {
                step: expected,
                count: trace.first.saturating_sub(expected),
            });
        }
        self.ahead.extend(trace.entries.into_iter().skip(known));
    }

    /// Takes all steps whose messages are here. `now` is how far the log was read.
    pub(super) fn go_on(&mut self, now: Time, window: &mut Window, findings: &mut Findings) {
        while let Some(entry) = self.ahead.front() {
            if self.engine.is_none() {
                self.ahead.pop_front();
                findings.skipped += 1;
                continue;
            }
            let Some(event) = self.event(entry, window) else {
                if now.since(entry.at) <= PATIENCE {
                    return;
                }
                self.input_missing(findings);
                continue;
            };
            let entry = self.ahead.pop_front();
            let outcome = entry.map(|entry| self.take(&entry, event, window, findings));
            if let Some(Err(problem)) = outcome {
                self.engine = None;
                findings.problems.push(problem);
            }
        }
    }

    fn event(&self, entry: &Entry, window: &Window) -> Option<Event> {
        Some(match entry.reason {
            Reason::Start => Event::Start,
            Reason::Time => Event::Time,
            Reason::Message {
                port,
                received,
                hash,
            } => {
                let message = window.get(self.lanes.get(port)?.reads.as_ref()?, hash)?;
                Event::Message {
                    port,
                    parcel: Parcel::from_bytes(message.clone()),
                    received,
                }
            }
        })
    }

    fn input_missing(&mut self, findings: &mut Findings) {
        self.engine = None;
        let Some(entry) = self.ahead.front() else {
            return;
        };
        let channel = match entry.reason {
            Reason::Message { port, .. } => {
                let lane = self.lanes.get(port);
                lane.and_then(|lane| lane.reads.clone())
            }
            Reason::Start | Reason::Time => None,
        };
        findings.problems.push(Problem::InputMissing {
            step: self.next,
            at: entry.at,
            channel: channel
                .map(|channel| channel.to_string())
                .unwrap_or_default(),
        });
    }

    /// Takes a step, and compares its outputs with the recorded ones.
    fn take(
        &mut self,
        entry: &Entry,
        event: Event,
        window: &Window,
        findings: &mut Findings,
    ) -> Result<(), Problem> {
        let step = self.next;
        self.next += 1;
        findings.steps += 1;
        let Some(engine) = &mut self.engine else {
            return Ok(());
        };
        let mut said = Said::default();
        let taken = engine.replay(0, entry.at, event, &mut said);
        taken.map_err(|error| Problem::Panicked(error.to_string()))?;
        let count = said.0.len().max(entry.sent.len());
        for at in 0..count {
            let replayed = said.0.get(at);
            let recorded = entry.sent.get(at).map(|(port, hash)| {
                let lane = self.lanes.get(*port);
                let declared = lane.and_then(|lane| lane.writes.clone());
                // The port after those that are declared is that of alarms.
                let is_alarm = *port == self.lanes.len();
                let channel = declared.or_else(|| is_alarm.then(|| ALARM_CHANNEL.into()));
                (channel.unwrap_or_else(|| "".into()), *hash)
            });
            let is_same = match (&recorded, replayed) {
                (Some((channel, hash)), Some((now, message))) => {
                    channel == now && *hash == trace::hash(message)
                }
                (None, _) | (_, None) => false,
            };
            if !is_same {
                return Err(difference(step, entry.at, recorded, replayed, window));
            }
            findings.messages += 1;
        }
        Ok(())
    }
}

fn difference(
    step: u64,
    at: Time,
    recorded: Option<(Channel, u64)>,
    replayed: Option<&(Channel, Bytes)>,
    window: &Window,
) -> Problem {
    let channel = recorded.as_ref().map(|(channel, _)| channel);
    let channel = channel.or(replayed.map(|(channel, _)| channel));
    Problem::Differs(Difference {
        step,
        at,
        channel: channel.map(ToString::to_string).unwrap_or_default(),
        recorded: recorded.map(|(channel, hash)| match window.get(&channel, hash) {
            Some(message) => Recorded::Message(message.clone()),
            None => Recorded::NotInLog(hash),
        }),
        replayed: replayed.map(|(_, message)| message.clone()),
    })
}

/// The outputs of a component in one step.
#[derive(Debug, Default)]
struct Said(Vec<(Channel, Bytes)>);

impl Sink for Said {
    fn publish(&mut self, sent: &Sent<'_>) {
        self.0
            .push((sent.channel.clone(), sent.parcel.bytes().clone()));
    }
}

fn changes(then: &str, now: &str) -> Vec<String> {
    let gone = then
        .lines()
        .filter(|line| !now.lines().any(|other| other == *line));
    let new = now
        .lines()
        .filter(|line| !then.lines().any(|other| other == *line));
    let gone = gone.map(|line| format!("-{line}"));
    gone.chain(new.map(|line| format!("+{line}"))).collect()
}

//! A station on the command line: hears the gate, keeps the lease, and waits until what it said was taken.

use crate::listen::Interrupt;
use crate::{Outcome, output};
use bowline_autonomy::operator::{Session, Step};
use bowline_bus::{Bus, Inbox, Pattern, Queue};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_inspect::text::printable;
use bowline_msgs::{Gate, GateToken, Helm, LeaseRequest, Refusal, Task};
use bowline_wire::Message;
use std::time::Duration;

const CHANNELS: [&str; 5] = [
    "gate.token",
    "gate.state",
    "gate.refusal",
    "gate.task",
    "helm.state",
];

/// What was not taken is said again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(300);
/// Longer than a gate takes to hear that control is given up; a lease that is not renewed is over by then.
const LEAVE_WITHIN: Duration = Duration::from_millis(1_500);
/// How often direct commands are sent.
const DIRECT_EVERY: Duration = Duration::from_micros(33_333);
/// Longer than a gate wants to see neutral input first.
const NEUTRAL_FOR: Duration = Duration::from_millis(400);
/// Reasons that pass by themselves: a moment later the same command is taken.
const PASSING: [&str; 5] = ["stale", "unknown", "unseen", "overtaken", "repeated"];

/// Where a gate is spoken to: on a robot with several, the channels of each have a prefix of their own.
struct Counter {
    bus: Bus,
    prefix: String,
}

impl Counter {
    fn publish<M: Message>(&self, channel: &str, message: &M) -> anyhow::Result<()> {
        Ok(self
            .bus
            .publish(&format!("{}{channel}", self.prefix), message)?)
    }
}

pub(super) struct Desk {
    bus: Counter,
    inbox: Inbox,
    clock: Live,
    interrupt: Interrupt,
    session: Session,
    /// Without a word of the gate for so long it is not there.
    pub(super) timeout: Duration,
    /// What the gate last said, and when.
    pub(super) gate: Option<(Time, Gate)>,
    helm: Option<(Time, Helm)>,
    refusal: Option<Refusal>,
    passed_on: i64,
    wants_lease: bool,
}

impl Desk {
    pub(super) fn open(
        (url, prefix): (&str, &str),
        (station, session, rank): (&str, Option<i64>, u16),
        timeout: Duration,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        let bus = Bus::open(url)?;
        let inbox = bus.inbox();
        for channel in CHANNELS {
            let channel = Pattern::exact(&format!("{prefix}{channel}"));
            inbox.subscribe_to(channel, Queue::default())?;
        }
        let clock = Live::new();
        let drawn = clock.now().ns() ^ (i64::from(std::process::id()) << 40);
        Ok(Self {
            bus: Counter {
                bus,
                prefix: prefix.to_owned(),
            },
            inbox,
            session: Session::new(station, session.unwrap_or(drawn), i32::from(rank)),
            clock,
            interrupt,
            timeout,
            gate: None,
            helm: None,
            refusal: None,
            passed_on: 0,
            wants_lease: false,
        })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    pub(super) fn is_holder(&self) -> bool {
        self.session.is_holder()
    }

    pub(super) fn session_number(&self) -> i64 {
        self.session.number()
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Listens until then, and keeps the lease meanwhile.
    pub(super) fn listen(&mut self, until: Time) -> anyhow::Result<()> {
        // What waits is heard even if there is no time left.
        let left = self.clock.until(until);
        if let Some((_, event)) = self.inbox.recv_timeout(left)? {
            self.hear(event.channel.as_str(), &event.payload);
        }
        let now = self.now();
        if self.wants_lease
            && let Some(renewal) = self.session.renewal(now)
        {
            self.bus.publish("operator.lease", &renewal)?;
        }
        Ok(())
    }

    /// Why nothing comes of it, and where to look.
    pub(super) fn nobody(&self, channel: &str) -> String {
        let prefix = printable(&self.bus.prefix);
        format!("no gate was heard: `bowline list` shows whether {prefix}{channel} is there")
    }

    /// What is no message of its type is somebody else's mistake, and no reason to end.
    fn hear(&mut self, channel: &str, bytes: &[u8]) {
        let now = self.now();
        match channel.strip_prefix(&self.bus.prefix).unwrap_or(channel) {
            "gate.token" => {
                if let Ok(token) = GateToken::decode(bytes) {
                    self.session.hear(&token);
                }
            }
            "gate.state" => self.gate = Gate::decode(bytes).ok().map(|gate| (now, gate)),
            "gate.refusal" => {
                let refusal = Refusal::decode(bytes).ok();
                let mine = refusal.filter(|it| self.session.is_mine(it));
                self.refusal = mine.or(self.refusal.take());
            }
            "gate.task" => self.passed_on = Task::decode(bytes).map_or(self.passed_on, |it| it.id),
            _ => self.helm = Helm::decode(bytes).ok().map(|helm| (now, helm)),
        }
    }

    /// Says something again and again until it is done. A refusal that will not pass ends it.
    fn attain(
        &mut self,
        what: &str,
        timeout: Duration,
        mut say: impl FnMut(&mut Self, Time) -> anyhow::Result<()>,
        is_done: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<Outcome> {
        let end = self.now() + timeout;
        let mut say_at = self.now();
        self.refusal = None;
        loop {
            let now = self.now();
            if is_done(self) {
                return Ok(Outcome::Fine);
            }
            let refusal = self.refusal.take();
            if let Some(refusal) = refusal
                .as_ref()
                .filter(|it| !PASSING.contains(&it.reason.as_str()))
            {
                let (reason, text) = (printable(&refusal.reason), printable(&refusal.text));
                output::error(&format!(
                    "could not {what}: the gate refused: {reason}: {text}"
                ));
                return Ok(Outcome::Diagnostics);
            }
            if now >= end || self.is_interrupted() {
                let why = if self.session.has_heard() {
                    refusal.map_or_else(|| "it has not said why".to_owned(), |it| it.text)
                } else {
                    self.nobody("gate.token")
                };
                output::error(&format!("could not {what} within {timeout:?}: {why}"));
                return Ok(Outcome::Diagnostics);
            }
            if now >= say_at {
                say(self, now)?;
                say_at = now + AGAIN_AFTER;
            }
            self.listen(say_at.min(end))?;
        }
    }

    /// Stops the vehicle: said at once, whether or not anybody was heard.
    pub(super) fn stop(&mut self, reason: &str) -> anyhow::Result<Outcome> {
        let began = self.now();
        let outcome = self.attain(
            "stop the vehicle",
            self.timeout,
            |desk, now| {
                let command = desk.session.stop(now, reason);
                desk.bus.publish("operator.stop", &command)
            },
            |desk| {
                // It has heard this stop, not only an earlier one that somebody may be about to clear.
                let is_mine = |gate: &Gate| {
                    gate.is_stopped && desk.session.station().starts_with(&gate.stopped_by)
                };
                desk.gate
                    .as_ref()
                    .is_some_and(|(at, gate)| *at > began && is_mine(gate))
            },
        )?;
        if outcome == Outcome::Fine {
            output::line("the vehicle is stopped; `bowline operate clear` ends that")?;
        }
        Ok(outcome)
    }

    /// Something that only the holder can say, for the session that another program has.
    pub(super) fn say_as_holder(&mut self, ask: i8) -> anyhow::Result<Outcome> {
        let is_there = |desk: &Self| desk.session.has_heard();
        let heard = self.attain("hear the gate", self.timeout, |_, _| Ok(()), is_there)?;
        if heard != Outcome::Fine {
            return Ok(heard);
        }
        if !self.is_holder() {
            output::error(
                "this is not the session that holds the lease: --session N is what `bowline operate take` said",
            );
            return Ok(Outcome::Diagnostics);
        }
        let began = self.now();
        let (what, said) = match ask {
            LeaseRequest::RELEASE => ("give up control", "control was given up"),
            LeaseRequest::CONSENT => ("hand over control", "the station that asked has control"),
            _ => ("keep control", "the station that asked was turned away"),
        };
        let outcome = self.attain(
            what,
            self.timeout,
            |desk, now| {
                let request = desk.session.request(now, ask);
                desk.bus.publish("operator.lease", &request)
            },
            |desk| match ask {
                LeaseRequest::DENY => desk
                    .gate
                    .as_ref()
                    .is_some_and(|(at, gate)| *at > began && gate.asking.is_empty()),
                _ => !desk.is_holder(),
            },
        )?;
        if outcome == Outcome::Fine {
            output::line(said)?;
        }
        Ok(outcome)
    }

    /// Does a step of a script.
    pub(super) fn follow(&mut self, step: &Step) -> anyhow::Result<Outcome> {
        match step {
            Step::Stop(reason) => self.stop(reason),
            Step::Take => self.take(LeaseRequest::TAKE),
            Step::Preempt => self.take(LeaseRequest::PREEMPT),
            Step::Release => self.leave().map(|()| Outcome::Fine),
            Step::Wait(period) => {
                let end = self.now() + *period;
                while self.now() < end && !self.is_interrupted() {
                    self.listen(end.min(self.now() + AGAIN_AFTER))?;
                }
                Ok(Outcome::Fine)
            }
            Step::WaitDone => {
                let began = self.now();
                let is_done = |desk: &Self| {
                    desk.helm
                        .as_ref()
                        .is_some_and(|(at, it)| *at > began && it.is_done)
                };
                while !is_done(self) && !self.is_interrupted() {
                    self.listen(self.now() + AGAIN_AFTER)?;
                }
                Ok(Outcome::Fine)
            }
            Step::Clear | Step::Task(_) | Step::Keep(..) | Step::Thrust { .. } => {
                let taken = self.take(LeaseRequest::TAKE)?;
                if taken != Outcome::Fine {
                    return Ok(taken);
                }
                self.command(step)
            }
        }
    }

    fn take(&mut self, ask: i8) -> anyhow::Result<Outcome> {
        self.wants_lease = true;
        let is_there = |desk: &Self| desk.session.has_heard();
        let heard = self.attain("have control", self.timeout, |_, _| Ok(()), is_there)?;
        if heard != Outcome::Fine {
            return Ok(heard);
        }
        let what = match self.session.is_held_by_another() {
            true => "have control, which another station has and was asked for",
            false => "have control",
        };
        let say = |desk: &mut Self, now: Time| {
            let request = desk.session.request(now, ask);
            desk.bus.publish("operator.lease", &request)
        };
        // The holder may take its time to answer.
        self.attain(
            what,
            self.timeout.max(Duration::from_secs(6)),
            say,
            Self::is_holder,
        )
    }

    /// A command of the holder.
    fn command(&mut self, step: &Step) -> anyhow::Result<Outcome> {
        match step {
            Step::Clear => self.clear(),
            Step::Task(task) => {
                let outcome = self.task(task)?;
                if outcome == Outcome::Fine {
                    output::line("the gate has taken it")?;
                }
                Ok(outcome)
            }
            Step::Keep(task, period) => {
                let end = self.now() + *period;
                while self.now() < end && !self.is_interrupted() {
                    let outcome = self.task(task)?;
                    if outcome != Outcome::Fine {
                        return Ok(outcome);
                    }
                    let pause = self.now() + AGAIN_AFTER;
                    while self.now() < pause.min(end) {
                        self.listen(pause.min(end))?;
                    }
                }
                Ok(Outcome::Fine)
            }
            Step::Thrust {
                port_ratio,
                starboard_ratio,
                period,
            } => self.steer([*port_ratio, *starboard_ratio], *period),
            Step::Take
            | Step::Preempt
            | Step::Release
            | Step::Stop(_)
            | Step::Wait(_)
            | Step::WaitDone => Ok(Outcome::Fine),
        }
    }

    fn clear(&mut self) -> anyhow::Result<Outcome> {
        let began = self.now();
        let is_clear = |(at, gate): &(Time, Gate)| *at > began && !gate.is_stopped;
        let outcome = self.attain(
            "clear the stop",
            self.timeout,
            |desk, now| {
                let command = desk.session.clear(now);
                desk.bus.publish("operator.stop", &command)
            },
            |desk| desk.gate.as_ref().is_some_and(is_clear),
        )?;
        if outcome == Outcome::Fine {
            output::line("there is no stop any more; nothing moves until somebody commands it")?;
        }
        Ok(outcome)
    }

    fn task(&mut self, task: &Task) -> anyhow::Result<Outcome> {
        let id = self.now().utime();
        let task = Task { id, ..task.clone() };
        self.attain(
            "do that",
            self.timeout,
            move |desk, now| {
                let command = desk.session.task(now, task.clone());
                desk.bus.publish("operator.task", &command)
            },
            move |desk| desk.passed_on == id,
        )
    }

    /// Thirty times a second: first neutral, then what was asked for; at the end neutral again.
    fn steer(&mut self, [port, starboard]: [f64; 2], period: Duration) -> anyhow::Result<Outcome> {
        let began = self.now();
        self.refusal = None;
        let mut next = began;
        while next.since(began) < period.saturating_add(NEUTRAL_FOR) && !self.is_interrupted() {
            let now = self.now();
            if now >= next {
                let is_neutral = now.since(began) < NEUTRAL_FOR;
                let [port, starboard] = if is_neutral {
                    [0.0; 2]
                } else {
                    [port, starboard]
                };
                let command = self.session.thrust(now, port, starboard);
                self.bus.publish("operator.thrust", &command)?;
                next = now + DIRECT_EVERY;
            }
            self.listen(next)?;
            let refusal = self.refusal.take();
            if let Some(refusal) = refusal.filter(|it| !PASSING.contains(&it.reason.as_str())) {
                let text = printable(&refusal.text);
                output::error(&format!(
                    "the gate refused the thrust: {}: {text}",
                    refusal.reason
                ));
                return Ok(Outcome::Diagnostics);
            }
        }
        let command = self.session.thrust(self.now(), 0.0, 0.0);
        self.bus.publish("operator.thrust", &command)?;
        Ok(Outcome::Fine)
    }

    /// Has control until somebody ends the program; says who asks for it.
    pub(super) fn stay(&mut self) -> anyhow::Result<()> {
        let mut asked = String::new();
        while !self.is_interrupted() {
            self.listen(self.now() + AGAIN_AFTER)?;
            let asking = self.gate.as_ref().map_or("", |(_, gate)| &gate.asking);
            if *asking != asked {
                asked = asking.to_owned();
                if !asked.is_empty() {
                    let (who, number) = (printable(&asked), self.session_number());
                    output::note(&format!(
                        "{who} asks for control: bowline operate consent --session {number}, or deny"
                    ));
                }
            }
            if !self.is_holder() {
                output::note("control has gone to somebody else, or was lost");
                break;
            }
        }
        Ok(())
    }

    /// Gives the lease up, if there is one, and waits until the gate has heard it, interrupted or not: a lease that only
    /// ends is an operator who was lost.
    pub(super) fn leave(&mut self) -> anyhow::Result<()> {
        self.wants_lease = false;
        let end = self.now() + LEAVE_WITHIN;
        while self.is_holder() {
            let now = self.now();
            if now >= end {
                output::note("the gate has not said that control was given up");
                break;
            }
            let request = self.session.request(now, LeaseRequest::RELEASE);
            self.bus.publish("operator.lease", &request)?;
            let say_at = now + AGAIN_AFTER;
            while self.is_holder() && self.now() < say_at {
                self.listen(say_at)?;
            }
        }
        Ok(())
    }
}

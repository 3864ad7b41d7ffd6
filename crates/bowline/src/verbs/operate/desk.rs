//! A station on the command line: an operator's client on a bus, and how long each request is waited for.

use crate::listen::Interrupt;
use crate::{Outcome, output};
use bowline_autonomy::operator::{Setpoint, Step};
use bowline_bus::{Bus, Inbox, Pattern, Queue};
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_inspect::text::printable;
use bowline_msgs::{Gate, GateRules, GateToken, Helm, Refusal, Task};
use bowline_operator::{
    Client, Drive, Effect, Identity, Now, Outgoing, Progress, Request, StopState,
};
use bowline_wire::Message as _;
use std::time::Duration;

const CHANNELS: [&str; 6] = [
    "gate.token",
    "gate.state",
    "gate.rules",
    "gate.refusal",
    "gate.task",
    "helm.state",
];

/// How often it looks whether anything is due: a third of the time between direct commands.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The holder's answer takes this long to arrive beside the time that the gate gives it.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);

pub(super) struct Desk {
    bus: Bus,
    /// Of the channels of its gate, on a robot with several.
    prefix: String,
    inbox: Inbox,
    clock: Live,
    interrupt: Interrupt,
    client: Client,
    /// Without a confirmation for so long a request has failed.
    pub(super) timeout: Duration,
    /// The last state of the gate, and when it was received.
    pub(super) gate: Option<(Time, Gate)>,
    helm: Option<(Time, Helm)>,
    /// What the direct controls are set to, while they are held.
    setpoint: Option<Vec<f64>>,
    next_look: Time,
}

/// What is waited for: how it stands, and the request that is made again when it was given up.
struct Wanted<'a> {
    what: &'a str,
    timeout: Duration,
    begin: &'a dyn Fn(&mut Client, Now) -> Vec<Outgoing>,
    progress: &'a dyn Fn(&Desk) -> Progress,
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
        let identity = Identity {
            station: station.to_owned(),
            session: session.unwrap_or(drawn),
            rank: i32::from(rank),
        };
        Ok(Self {
            bus,
            prefix: prefix.to_owned(),
            inbox,
            client: Client::new(identity),
            next_look: clock.now(),
            clock,
            interrupt,
            timeout,
            gate: None,
            helm: None,
            setpoint: None,
        })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    pub(super) fn is_holder(&self) -> bool {
        self.client.is_holder()
    }

    pub(super) fn rules(&self) -> Option<&GateRules> {
        self.client.rules()
    }

    pub(super) fn session_number(&self) -> i64 {
        self.client.session().identity().session
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    fn both_clocks(&self) -> Now {
        let now = self.now();
        Now {
            ms: now.ns() / 1_000_000,
            utime: now.utime(),
        }
    }

    /// Receives until then, and publishes meanwhile what is due.
    pub(super) fn listen(&mut self, until: Time) -> anyhow::Result<()> {
        let until = until.min(self.next_look);
        // What waits is received even if there is no time left.
        if let Some((_, event)) = self.inbox.recv_timeout(self.clock.until(until))? {
            self.receive(event.channel.as_str(), &event.payload);
        }
        let now = self.now();
        if now >= self.next_look {
            self.next_look = now + LOOK_EVERY;
            let due = self
                .client
                .tick(self.setpoint.as_deref(), "", self.both_clocks());
            self.publish(due)?;
        }
        Ok(())
    }

    fn publish(&mut self, due: Vec<Outgoing>) -> anyhow::Result<()> {
        for outgoing in due {
            let channel = format!("{}{}", self.prefix, outgoing.command.channel);
            self.bus
                .publish_bytes(&channel, &outgoing.payload.encode()?)?;
            if outgoing.command.effect == Effect::Stop {
                self.client.stop_published(true);
            }
        }
        Ok(())
    }

    /// Why nothing comes of it, and where to look.
    pub(super) fn no_gate(&self, channel: &str) -> String {
        let prefix = printable(&self.prefix);
        format!("no gate was found: `bowline list` shows whether {prefix}{channel} is there")
    }

    /// A message that cannot be decoded is another program's error, and no reason to end.
    fn receive(&mut self, channel: &str, bytes: &[u8]) {
        let now = self.both_clocks();
        let at = self.now();
        match channel.strip_prefix(&self.prefix).unwrap_or(channel) {
            "gate.token" => {
                if let Ok(token) = GateToken::decode(bytes) {
                    self.client.receive_token(&token, now);
                }
            }
            "gate.rules" => {
                if let Ok(rules) = GateRules::decode(bytes) {
                    self.client.receive_rules(&rules);
                }
            }
            "gate.state" => {
                if let Ok(gate) = Gate::decode(bytes) {
                    self.client.receive_state(&gate, now.utime);
                    self.gate = Some((at, gate));
                }
            }
            "gate.refusal" => {
                if let Ok(refusal) = Refusal::decode(bytes) {
                    self.client.receive_refusal(&refusal, now);
                }
            }
            "gate.task" => {
                if let Ok(task) = Task::decode(bytes) {
                    self.client.receive_task(&task);
                }
            }
            _ => self.helm = Helm::decode(bytes).ok().map(|helm| (at, helm)),
        }
    }

    /// Waits until a request is confirmed, refused, or over.
    fn attain(&mut self, wanted: &Wanted<'_>) -> anyhow::Result<Outcome> {
        let Wanted { what, timeout, .. } = wanted;
        let end = self.now() + *timeout;
        self.begin(wanted)?;
        loop {
            match (wanted.progress)(self) {
                Progress::Done => return Ok(Outcome::Fine),
                Progress::Waiting => {}
                Progress::Idle | Progress::Expired => self.begin(wanted)?,
                Progress::Refused => {
                    let refusal = self.refusal();
                    output::error(&format!("could not {what}: the gate refused: {refusal}"));
                    return Ok(Outcome::Diagnostics);
                }
                Progress::Lost => {
                    output::error(&format!(
                        "could not {what}: control is with another station, or was lost"
                    ));
                    return Ok(Outcome::Diagnostics);
                }
                Progress::Replaced => {
                    output::error(&format!(
                        "could not {what}: the vehicle was stopped meanwhile"
                    ));
                    return Ok(Outcome::Diagnostics);
                }
            }
            if self.now() >= end || self.is_interrupted() {
                let why = self.why_not();
                output::error(&format!("could not {what} within {timeout:?}: {why}"));
                return Ok(Outcome::Diagnostics);
            }
            self.listen(end)?;
        }
    }

    fn begin(&mut self, wanted: &Wanted<'_>) -> anyhow::Result<()> {
        let now = self.both_clocks();
        let due = (wanted.begin)(&mut self.client, now);
        self.publish(due)
    }

    fn refusal(&self) -> String {
        let refusal = self.client.refusal();
        refusal.map_or_else(
            || "it has not said why".to_owned(),
            |it| format!("{}: {}", printable(&it.reason), printable(&it.text)),
        )
    }

    fn why_not(&self) -> String {
        if !self.client.session().has_token() {
            self.no_gate("gate.token")
        } else if self.rules().is_none() {
            self.no_gate("gate.rules")
        } else {
            self.refusal()
        }
    }

    /// Waits until the gate and what it demands are known.
    fn find_gate(&mut self, what: &str) -> anyhow::Result<Outcome> {
        self.attain(&Wanted {
            what,
            timeout: self.timeout,
            begin: &|_, _| Vec::new(),
            progress: &|desk| {
                let is_there = desk.client.session().has_token()
                    && desk.rules().is_some()
                    && desk.client.state().is_some();
                match is_there {
                    true => Progress::Done,
                    false => Progress::Waiting,
                }
            },
        })
    }

    /// Stops the vehicle: published at once, whether or not a gate was received.
    pub(super) fn stop(&mut self, reason: &str) -> anyhow::Result<Outcome> {
        let outcome = self.attain(&Wanted {
            what: "stop the vehicle",
            timeout: self.timeout,
            begin: &|client, now| client.press_stop(reason, now),
            progress: &|desk| match desk.client.stop_state() {
                StopState::Confirmed => Progress::Done,
                StopState::None | StopState::Unsent | StopState::Sent => Progress::Waiting,
            },
        })?;
        if outcome == Outcome::Fine {
            output::line("the vehicle is stopped; `bowline operate clear` ends that")?;
        }
        Ok(outcome)
    }

    /// A request that only the holder can make, for the session that another program has.
    pub(super) fn request_as_holder(&mut self, request: Request) -> anyhow::Result<Outcome> {
        let found = self.find_gate("reach the gate")?;
        if found != Outcome::Fine {
            return Ok(found);
        }
        if !self.is_holder() {
            output::error(
                "this is not the session that holds the lease: --session N is the one that `bowline operate take` printed",
            );
            return Ok(Outcome::Diagnostics);
        }
        let (what, done) = match request {
            Request::Release => ("give up control", "control was given up"),
            Request::Consent => ("hand over control", "the station that asked has control"),
            Request::Take | Request::Preempt | Request::Deny => {
                ("keep control", "the station that asked was turned away")
            }
        };
        let outcome = self.attain(&Wanted {
            what,
            timeout: self.timeout,
            begin: &|client, now| client.request(request, now),
            progress: &|desk| desk.client.lease_progress(),
        })?;
        if outcome == Outcome::Fine {
            output::line(done)?;
        }
        Ok(outcome)
    }

    /// Checks the set-points of a script against the rules of the gate, before anything of it is done.
    pub(super) fn check(&mut self, steps: &[Step]) -> anyhow::Result<Outcome> {
        for step in steps {
            let Step::Direct(setpoint, _) = step else {
                continue;
            };
            let found = self.find_gate("have control")?;
            if found != Outcome::Fine {
                return Ok(found);
            }
            if let Some(Err(error)) = self.rules().map(|rules| setpoint.values(rules)) {
                output::error(&error.to_string());
                return Ok(Outcome::Diagnostics);
            }
        }
        Ok(Outcome::Fine)
    }

    /// Does a step of a script.
    pub(super) fn follow(&mut self, step: &Step) -> anyhow::Result<Outcome> {
        match step {
            Step::Stop(reason) => self.stop(reason),
            Step::Take => self.take(Request::Take),
            Step::Preempt => self.take(Request::Preempt),
            Step::Release => self.leave().map(|()| Outcome::Fine),
            Step::Wait(period) => {
                let end = self.now() + *period;
                while self.now() < end && !self.is_interrupted() {
                    self.listen(end)?;
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
                    self.listen(Time::MAX)?;
                }
                Ok(Outcome::Fine)
            }
            Step::Clear | Step::Task(_) | Step::Keep(..) | Step::Direct(..) => {
                let taken = self.take(Request::Take)?;
                if taken != Outcome::Fine {
                    return Ok(taken);
                }
                self.command(step)
            }
        }
    }

    fn take(&mut self, request: Request) -> anyhow::Result<Outcome> {
        let found = self.find_gate("have control")?;
        if found != Outcome::Fine {
            return Ok(found);
        }
        let what = match self.client.session().is_held_by_another() {
            true => "have control, which another station has and was asked for",
            false => "have control",
        };
        // The holder may take its time to answer.
        let answer_us = self.rules().map_or(0, |it| it.answer_us);
        let answer = Duration::from_micros(u64::try_from(answer_us).unwrap_or(0));
        self.attain(&Wanted {
            what,
            timeout: self.timeout.max(answer + ANSWER_MARGIN),
            begin: &|client, now| client.request(request, now),
            progress: &|desk| desk.client.lease_progress(),
        })
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
            Step::Keep(task, period) => self.keep(task, *period),
            Step::Direct(setpoint, period) => self.steer(setpoint, *period),
            Step::Take
            | Step::Preempt
            | Step::Release
            | Step::Stop(_)
            | Step::Wait(_)
            | Step::WaitDone => Ok(Outcome::Fine),
        }
    }

    fn clear(&mut self) -> anyhow::Result<Outcome> {
        let outcome = self.attain(&Wanted {
            what: "clear the stop",
            timeout: self.timeout,
            begin: &Client::clear,
            progress: &|desk| desk.client.clear_progress(),
        })?;
        if outcome == Outcome::Fine {
            output::line("there is no stop any more; nothing moves until it is commanded")?;
        }
        Ok(outcome)
    }

    fn task(&mut self, task: &Task) -> anyhow::Result<Outcome> {
        let id = self.now().utime();
        let task = Task { id, ..task.clone() };
        self.attain(&Wanted {
            what: "do that",
            timeout: self.timeout,
            begin: &|client, now| client.give(task.clone(), now),
            progress: &|desk| desk.client.task_progress(),
        })
    }

    /// The client repeats heading and speed until they are dropped.
    fn keep(&mut self, task: &Task, period: Duration) -> anyhow::Result<Outcome> {
        let end = self.now() + period;
        let outcome = self.task(task)?;
        if outcome != Outcome::Fine {
            return Ok(outcome);
        }
        while self.now() < end && !self.is_interrupted() {
            self.listen(end)?;
            let what = match self.client.task_progress() {
                Progress::Refused => self.refusal(),
                Progress::Lost => "control is with another station, or was lost".to_owned(),
                Progress::Idle
                | Progress::Waiting
                | Progress::Done
                | Progress::Expired
                | Progress::Replaced => continue,
            };
            output::error(&format!("heading and speed are kept no longer: {what}"));
            return Ok(Outcome::Diagnostics);
        }
        self.client.drop_task();
        Ok(Outcome::Fine)
    }

    /// Neutral first, then the set-point for the period, then neutral again.
    fn steer(&mut self, setpoint: &Setpoint, period: Duration) -> anyhow::Result<Outcome> {
        let Some(rules) = self.rules() else {
            return Ok(Outcome::Diagnostics);
        };
        // The steps were checked.
        let values = setpoint.values(rules)?;
        let begin_by = self.now() + self.timeout;
        let mut end = None;
        self.client.engage();
        loop {
            let now = self.now();
            if end.is_none() && now >= begin_by {
                let (timeout, reason) = (self.timeout, self.client.direct().reason());
                output::error(&format!(
                    "direct control has not begun within {timeout:?}: {reason}"
                ));
                return Ok(Outcome::Diagnostics);
            }
            let state = self.client.direct().state();
            let is_over = self.is_interrupted() || end.is_some_and(|end| now >= end);
            match state {
                Drive::Off if is_over => return Ok(Outcome::Fine),
                Drive::Off if self.is_ended() => return Ok(Outcome::Diagnostics),
                // This program was held up, or the vehicle did not answer for a moment: neutral first, as at the beginning.
                Drive::Off => self.client.engage(),
                Drive::Ready if is_over => self.client.disengage(""),
                Drive::Ready => {
                    end.get_or_insert(now + period);
                    self.setpoint = Some(values.clone());
                }
                Drive::Arming if self.is_interrupted() => self.client.disengage(""),
                Drive::Arming => self.setpoint = None,
                Drive::Driving | Drive::Trailing => {
                    self.setpoint = (!is_over).then(|| values.clone());
                }
            }
            self.listen(now + LOOK_EVERY)?;
        }
    }

    /// The reason, if direct control ended for one that does not pass.
    fn is_ended(&self) -> bool {
        let reason = self.client.direct().reason();
        let why = match (self.client.state(), self.is_holder()) {
            (Some(gate), true) if gate.is_stopped => {
                let (by, why) = (printable(&gate.stopped_by), printable(&gate.stop_reason));
                format!("the vehicle was stopped by {by}: {why}")
            }
            (_, false) => "control is with another station, or was lost".to_owned(),
            _ if reason.starts_with("refused") => self.refusal(),
            _ => return false,
        };
        output::error(&format!("direct control has ended: {why}"));
        true
    }

    /// Keeps control until the program is interrupted; reports which station requests it.
    pub(super) fn stay(&mut self) -> anyhow::Result<()> {
        let mut asked = String::new();
        while !self.is_interrupted() {
            self.listen(Time::MAX)?;
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
                output::note("control has gone to another station, or was lost");
                break;
            }
        }
        Ok(())
    }

    /// Releases the lease, if there is one, and waits until the gate has confirmed it, interrupted or not: a lease that only
    /// ends is an operator who was lost.
    pub(super) fn leave(&mut self) -> anyhow::Result<()> {
        let due = self.client.request(Request::Release, self.both_clocks());
        self.publish(due)?;
        while self.client.lease_progress() == Progress::Waiting {
            self.listen(Time::MAX)?;
        }
        if self.client.lease_progress() != Progress::Done {
            output::note("the gate has not confirmed that control was given up");
        }
        Ok(())
    }
}

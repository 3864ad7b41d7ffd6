//! An operator that follows a script: for unattended runs, and for tests. It has no right that a person has not.

use super::script::{Step as Line, parse_step};
use crate::gate::FENCE;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Time,
};
use bowline_geometry::{Disk, Files as _};
use bowline_msgs::{
    DirectCommand, Gate, GateRules, GateToken, Helm, LeaseRequest, Refusal, StopCommand, Task,
    TaskCommand,
};
use bowline_operator::{
    Client, Drive, Identity, Now, Outgoing, Payload, Progress, Request, StopState, commands,
};
use bowline_wire::Message;
use std::path::PathBuf;
use std::time::Duration;

bowline_component::parameters! {
    /// What an operator does, and who it is.
    pub struct OperatorParameters {
        /// Its name.
        station: String = "script".into();
        /// Of the station; the gate decides how much of it counts.
        rank: i64 = 0, within 0..=65_535;
        /// What it does, in order: "take", "clear", "survey 0,0 60,0 60,40 lanes=8", "release".
        steps: Vec<String> = Vec::new();
        /// A file with a step on each line, before those of steps; what follows a # is for people.
        script: PathBuf = PathBuf::new();
        /// How long it waits before it does anything.
        after: Duration = Duration::ZERO;
    }
}

/// How often it looks whether anything is due.
const RATE_HZ: f64 = 30.0;
/// A request that ended without being confirmed is begun again after this: no person is there to do it.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// A step that takes longer than this to be confirmed is reported.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follows its script, step by step, each until the gate has taken it.
#[derive(Debug)]
pub struct Operator {
    parameters: OperatorParameters,
    script: Vec<Line>,
    /// From the first step on: the time of that is the number of its session.
    client: Option<Client>,
    /// Between a step that takes the lease and one that releases it.
    wants_lease: bool,
    at: usize,
    /// When the step at `at` was begun, and when its last request was.
    begun: Option<Time>,
    requested: Option<Time>,
    /// The id of the last task.
    task: i64,
    rules: Input<GateRules>,
    token: Input<GateToken>,
    state: Input<Gate>,
    refusal: Input<Refusal>,
    tasks: Input<Task>,
    helm: Input<Helm>,
    leases: Output<LeaseRequest>,
    stops: Output<StopCommand>,
    commands: Output<TaskCommand>,
    direct: Output<DirectCommand>,
}

impl Build for Operator {
    type Parameters = OperatorParameters;

    fn build(parameters: OperatorParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let mut lines = Vec::new();
        if !parameters.script.as_os_str().is_empty() {
            let path = &parameters.script;
            let text = Disk
                .read(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            lines.extend(steps_of(&String::from_utf8(text)?));
        }
        lines.extend_from_slice(&parameters.steps);
        let script = lines.iter().map(|line| parse_step(line));
        let any = Expect::ever().optional();
        ports.tick(crate::period(RATE_HZ));
        Ok(Self {
            script: script.collect::<Result<_, _>>()?,
            client: None,
            wants_lease: false,
            at: 0,
            begun: None,
            requested: None,
            task: 0,
            rules: ports.input_on("rules", "What the gate demands.", any, "gate.rules"),
            token: ports.input_on("token", "What commands must bring back.", any, "gate.token"),
            state: ports.input_on("state", "Who or what is in control.", any, "gate.state"),
            refusal: ports.input_on("refusal", "What was not taken.", any, "gate.refusal"),
            tasks: ports.input_on("task", "What the gate passed on.", any, "gate.task"),
            helm: ports.input_on(
                "helm",
                "What the vehicle does by itself.",
                any,
                "helm.state",
            ),
            leases: command(ports, "leases", "Requests for control."),
            stops: command(ports, "stops", "Stops, and the end of them."),
            commands: command(ports, "tasks", "What there is to do."),
            direct: command(ports, "direct", "Direct control."),
            parameters,
        })
    }
}

/// An output on the channel that carries commands of its type.
fn command<M>(ports: &mut Ports, name: &str, doc: &str) -> Output<M>
where
    M: Message + Send + Sync + 'static,
{
    ports.output_on(name, doc, commands::channel::<M>())
}

/// The steps in a text, one on a line.
fn steps_of(text: &str) -> impl Iterator<Item = String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned)
}

impl Component for Operator {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        let mut client = self.client.take().unwrap_or_else(|| {
            Client::new(Identity {
                station: self.parameters.station.clone(),
                // Another one in each run.
                session: now.utime(),
                rank: i32::try_from(self.parameters.rank).unwrap_or(0),
            })
        });
        if step.is_start() {
            self.begun = Some(now + self.parameters.after);
        }
        self.receive(step, &mut client);
        let mut due = self.follow(step, &mut client);
        let setpoint = self.setpoint(step, &client);
        due.extend(client.tick(setpoint.as_deref(), "", at(now)));
        for outgoing in due {
            self.publish(outgoing, &mut client, out);
        }
        out.health(self.health(now, &client));
        self.client = Some(client);
    }
}

/// Both clocks of a component are that of its host.
fn at(now: Time) -> Now {
    Now {
        ms: now.ns() / 1_000_000,
        utime: now.utime(),
    }
}

impl Operator {
    fn receive(&self, step: &Step<'_>, client: &mut Client) {
        let now = at(step.now());
        if let Some(token) = step.arrived(self.token) {
            client.receive_token(&token, now);
        }
        if let Some(rules) = step.arrived(self.rules) {
            client.receive_rules(&rules);
        }
        if let Some(state) = step.arrived(self.state) {
            client.receive_state(&state, now.utime);
        }
        if let Some(refusal) = step.arrived(self.refusal) {
            client.receive_refusal(&refusal, now);
        }
        if let Some(task) = step.arrived(self.tasks) {
            client.receive_task(&task);
        }
    }

    fn publish(&self, outgoing: Outgoing, client: &mut Client, out: &mut Outbox<'_>) {
        match outgoing.payload {
            Payload::Lease(it) => out.send(self.leases, it),
            Payload::Stop(it) => {
                out.send(self.stops, it);
                client.stop_published(true);
            }
            Payload::Task(it) => out.send(self.commands, it),
            Payload::Direct(it) => out.send(self.direct, it),
        }
    }

    /// Goes on with the script as far as it is confirmed.
    fn follow(&mut self, step: &Step<'_>, client: &mut Client) -> Vec<Outgoing> {
        let now = step.now();
        let mut due = Vec::new();
        let is_early = self.begun.is_some_and(|begun| now < begun);
        if !client.session().has_token() || client.rules().is_none() || is_early {
            return due;
        }
        while let Some(line) = self.script.get(self.at).cloned() {
            let begun = *self.begun.get_or_insert(now);
            if self.requested.is_none() || self.must_request_again(&line, client, now) {
                due.extend(self.begin(&line, client, now));
                self.requested = Some(now);
            }
            if !self.is_done(&line, step, client, begun) {
                return due;
            }
            self.finish(&line, client);
        }
        due
    }

    fn begin(&mut self, line: &Line, client: &mut Client, now: Time) -> Vec<Outgoing> {
        let needs_lease = match line {
            Line::Take | Line::Preempt => {
                self.wants_lease = true;
                false
            }
            Line::Release => {
                self.wants_lease = false;
                false
            }
            Line::Stop(_) => false,
            Line::Clear
            | Line::Task(_)
            | Line::Keep(..)
            | Line::Direct(..)
            | Line::Wait(_)
            | Line::WaitDone => self.wants_lease,
        };
        if needs_lease && !client.is_holder() {
            // It was lost on the way.
            let is_waiting = client.lease_progress() == Progress::Waiting;
            return match is_waiting {
                true => Vec::new(),
                false => client.request(Request::Take, at(now)),
            };
        }
        match line {
            Line::Take => client.request(Request::Take, at(now)),
            Line::Preempt => client.request(Request::Preempt, at(now)),
            Line::Release => client.request(Request::Release, at(now)),
            Line::Stop(reason) => client.press_stop(reason, at(now)),
            // A person who clears that has seen where the vehicle is, and a script sees nothing.
            Line::Clear if client.state().is_some_and(|it| it.stopped_by == FENCE) => Vec::new(),
            Line::Clear => client.clear(at(now)),
            Line::Task(task) | Line::Keep(task, _) => {
                self.task = (self.task + 1).max(now.utime());
                let id = self.task;
                client.give(Task { id, ..task.clone() }, at(now))
            }
            Line::Direct(..) => {
                client.engage();
                Vec::new()
            }
            Line::Wait(_) | Line::WaitDone => Vec::new(),
        }
    }

    /// Whether the request of a step has ended without effect, and some time ago.
    fn must_request_again(&self, line: &Line, client: &Client, now: Time) -> bool {
        let is_ended = match line {
            Line::Take | Line::Preempt | Line::Release => client.lease_progress(),
            Line::Clear => client.clear_progress(),
            Line::Task(_) | Line::Keep(..) => client.task_progress(),
            Line::Direct(..) if client.direct().state() == Drive::Off => Progress::Lost,
            Line::Direct(..) | Line::Stop(_) => Progress::Waiting,
            Line::Wait(_) | Line::WaitDone if client.is_holder() => Progress::Waiting,
            Line::Wait(_) | Line::WaitDone => Progress::Lost,
        };
        let is_long = |last: Time| now.since(last) >= AGAIN_AFTER;
        let is_waiting = is_ended == Progress::Waiting
            || is_ended == Progress::Done && !matches!(line, Line::Clear);
        !is_waiting && self.requested.is_none_or(is_long)
    }

    fn is_done(&self, line: &Line, step: &Step<'_>, client: &Client, begun: Time) -> bool {
        let elapsed = step.now().since(begun);
        match line {
            Line::Take | Line::Preempt => client.is_holder(),
            Line::Release => !client.is_holder(),
            Line::Clear => {
                // A state from before this step does not concern it.
                let state = step.latest(self.state).filter(|it| it.at() >= begun);
                state.is_some_and(|it| !it.is_stopped)
            }
            Line::Stop(_) => client.stop_state() == StopState::Confirmed,
            Line::Task(_) => client.task_progress() == Progress::Done,
            Line::Keep(_, period) | Line::Wait(period) => elapsed >= *period,
            Line::Direct(_, period) => {
                let is_driving =
                    matches!(client.direct().state(), Drive::Driving | Drive::Trailing);
                elapsed >= neutral_for(client) + *period && !is_driving
            }
            Line::WaitDone => {
                let helm = step.latest(self.helm).filter(|it| it.at() > begun);
                helm.is_some_and(|it| it.is_done)
            }
        }
    }

    fn finish(&mut self, line: &Line, client: &mut Client) {
        match line {
            Line::Keep(..) => client.drop_task(),
            Line::Direct(..) => client.disengage(""),
            Line::Take
            | Line::Preempt
            | Line::Release
            | Line::Clear
            | Line::Stop(_)
            | Line::Task(_)
            | Line::Wait(_)
            | Line::WaitDone => {}
        }
        self.at += 1;
        self.begun = None;
        self.requested = None;
    }

    /// What the controls of this operator are set to now.
    fn setpoint(&self, step: &Step<'_>, client: &Client) -> Option<Vec<f64>> {
        let Line::Direct(setpoint, period) = self.script.get(self.at)? else {
            return None;
        };
        let is_armed = !matches!(client.direct().state(), Drive::Off | Drive::Arming);
        let is_over = step.now().since(self.begun?) >= neutral_for(client) + *period;
        let values = setpoint.values(client.rules()?).ok()?;
        (is_armed && !is_over).then_some(values)
    }

    fn health(&self, now: Time, client: &Client) -> Health {
        let Some(line) = self.script.get(self.at) else {
            return Health::Good;
        };
        if let (Line::Direct(setpoint, _), Some(rules)) = (line, client.rules())
            && let Err(error) = setpoint.values(rules)
        {
            return Health::Degraded(error.to_string());
        }
        let is_waiting = matches!(line, Line::Wait(_) | Line::WaitDone);
        match (self.begun, client.refusal()) {
            (Some(begun), _) if is_waiting || now.since(begun) <= PATIENCE => Health::Good,
            (_, None) if client.task_progress() == Progress::Lost && !client.is_holder() => {
                Health::Degraded(format!(
                    "expected the lease for {line:?}, and it is not held"
                ))
            }
            (_, Some(it)) => Health::Degraded(format!("{} was refused: {}", it.command, it.text)),
            (Some(_), None) => Health::Degraded(format!("the gate has not confirmed {line:?}")),
            (None, None) => Health::Degraded("no gate was received".to_owned()),
        }
    }
}

/// For how long neutral input is shown before a set-point.
fn neutral_for(client: &Client) -> Duration {
    let ms = client.timing().map_or(0, |it| it.neutral_for_ms);
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

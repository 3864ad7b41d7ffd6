//! An operator that follows a script: for unattended runs, and for tests. It has no right that a person has not.

use super::script::{Step as Line, parse_step};
use super::session::Session;
use crate::gate::FENCE;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Time,
};
use bowline_geometry::{Disk, Files as _};
use bowline_msgs::{
    Gate, GateToken, Helm, LeaseRequest, Refusal, StopCommand, Task, TaskCommand, ThrustCommand,
};
use std::path::PathBuf;
use std::time::Duration;

bowline_component::parameters! {
    /// What an operator does, and who it is.
    pub struct OperatorParameters {
        /// Its name.
        station: String = "script".into();
        /// Of the station; the gate says how much of it counts.
        rank: i64 = 0, within 0..=65_535;
        /// What it does, in order: "take", "clear", "survey 0,0 60,0 60,40 lanes=8", "release".
        steps: Vec<String> = Vec::new();
        /// A file with a step on each line, before those of steps; what follows a # is for people.
        script: PathBuf = PathBuf::new();
        /// How long it waits before it does anything.
        after: Duration = Duration::ZERO;
    }
}

/// Direct commands are sent so often.
const RATE_HZ: f64 = 30.0;
/// What was not taken is said again after this: the link may have lost it.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Longer than a gate wants to see neutral input before it lets a person steer.
const NEUTRAL_FOR: Duration = Duration::from_millis(400);
/// A step that takes longer than this to be taken is worth a word.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follows its script, step by step, each until the gate has taken it.
#[derive(Debug)]
pub struct Operator {
    parameters: OperatorParameters,
    script: Vec<Line>,
    session: Option<Session>,
    wants_lease: bool,
    at: usize,
    /// When the step at `at` was begun, and last said.
    begun: Option<Time>,
    said: Option<Time>,
    /// The task that the gate has last passed on, and the one that it should.
    passed_on: i64,
    task: i64,
    next_task: i64,
    refused: Option<String>,
    token: Input<GateToken>,
    state: Input<Gate>,
    refusal: Input<Refusal>,
    tasks: Input<Task>,
    helm: Input<Helm>,
    leases: Output<LeaseRequest>,
    stops: Output<StopCommand>,
    commands: Output<TaskCommand>,
    thrust: Output<ThrustCommand>,
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
            session: None,
            wants_lease: false,
            at: 0,
            begun: None,
            said: None,
            passed_on: 0,
            task: 0,
            next_task: 1,
            refused: None,
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
            leases: ports.output_on("leases", "Wishes for control.", "operator.lease"),
            stops: ports.output_on("stops", "Stops, and the end of them.", "operator.stop"),
            commands: ports.output_on("tasks", "What there is to do.", "operator.task"),
            thrust: ports.output_on("thrust", "Direct control.", "operator.thrust"),
            parameters,
        })
    }
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
        let mut session = self.session.take().unwrap_or_else(|| {
            let rank = i32::try_from(self.parameters.rank).unwrap_or(0);
            // The time at which it begins is a number that no other life of it has.
            Session::new(&self.parameters.station, now.utime(), rank)
        });
        if step.is_start() {
            self.begun = Some(now + self.parameters.after);
        }
        if let Some(token) = step.arrived(self.token) {
            session.hear(&token);
        }
        if let Some(refusal) = step.arrived(self.refusal)
            && session.is_mine(&refusal)
        {
            self.refused = Some(format!("{} was refused: {}", refusal.command, refusal.text));
        }
        if let Some(task) = step.arrived(self.tasks) {
            self.passed_on = task.id;
        }
        self.follow(step, &mut session, out);
        if let Some(renewal) = session.renewal(now).filter(|_| self.wants_lease) {
            out.send(self.leases, renewal);
        }
        out.health(self.health(now));
        self.session = Some(session);
    }
}

impl Operator {
    /// Goes on as far as it can, and says what has to be said.
    fn follow(&mut self, step: &Step<'_>, session: &mut Session, out: &mut Outbox<'_>) {
        let now = step.now();
        if !session.has_heard() || self.begun.is_some_and(|begun| now < begun) {
            return;
        }
        while let Some(line) = self.script.get(self.at).cloned() {
            let begun = *self.begun.get_or_insert(now);
            if self.said.is_none() {
                self.task = self.next_task.max(now.utime());
            }
            if !self.is_done(&line, step, session, begun) {
                let gate = step.latest(self.state);
                let is_at_fence = gate.is_some_and(|it| it.stopped_by == FENCE);
                self.say(&line, (now, begun, is_at_fence), session, out);
                return;
            }
            self.at += 1;
            self.next_task = self.task + 1;
            self.begun = None;
            self.said = None;
            self.refused = None;
        }
    }

    fn is_done(&self, line: &Line, step: &Step<'_>, session: &Session, begun: Time) -> bool {
        let is_said = self.said.is_some();
        let elapsed = step.now().since(begun);
        // What the gate said before this step was begun says nothing about it.
        let state = step.latest(self.state).filter(|it| it.at() >= begun);
        match line {
            Line::Take | Line::Preempt => session.is_holder(),
            Line::Release => !session.is_holder(),
            Line::Clear => state.is_some_and(|it| !it.is_stopped),
            Line::Stop(_) => is_said && state.is_some_and(|it| it.is_stopped),
            Line::Task(_) => is_said && self.passed_on == self.task,
            Line::Keep(_, period) => elapsed >= *period,
            Line::Thrust { period, .. } => elapsed >= *period + NEUTRAL_FOR,
            Line::Wait(period) => elapsed >= *period,
            Line::WaitDone => {
                let helm = step.latest(self.helm).filter(|it| it.at() > begun);
                helm.is_some_and(|it| it.is_done)
            }
        }
    }

    fn say(
        &mut self,
        line: &Line,
        (now, begun, is_at_fence): (Time, Time, bool),
        session: &mut Session,
        out: &mut Outbox<'_>,
    ) {
        if let Line::Thrust {
            port_ratio,
            starboard_ratio,
            ..
        } = line
        {
            let (port, starboard) = match now.since(begun) < NEUTRAL_FOR {
                true => (0.0, 0.0),
                false => (*port_ratio, *starboard_ratio),
            };
            // At every tick: this is what direct control lives on.
            return out.send(self.thrust, session.thrust(now, port, starboard));
        }
        if self.said.is_some_and(|said| now.since(said) < AGAIN_AFTER) {
            return;
        }
        if matches!(line, Line::Take | Line::Preempt) {
            self.wants_lease = true;
        } else if matches!(line, Line::Release) {
            self.wants_lease = false;
        } else if self.wants_lease && !session.is_holder() {
            // It was lost on the way.
            return self.ask(LeaseRequest::TAKE, now, session, out);
        }
        match line {
            Line::Take => self.ask(LeaseRequest::TAKE, now, session, out),
            Line::Preempt => self.ask(LeaseRequest::PREEMPT, now, session, out),
            Line::Release => self.ask(LeaseRequest::RELEASE, now, session, out),
            // Whoever clears that has seen where the vehicle is, and a script sees nothing.
            Line::Clear if is_at_fence => {}
            Line::Clear => out.send(self.stops, session.clear(now)),
            Line::Stop(reason) => out.send(self.stops, session.stop(now, reason)),
            Line::Task(task) | Line::Keep(task, _) => {
                let task = Task {
                    id: self.task,
                    ..task.clone()
                };
                out.send(self.commands, session.task(now, task));
            }
            Line::Thrust { .. } | Line::Wait(_) | Line::WaitDone => {}
        }
        self.said = Some(now);
    }

    fn ask(&mut self, ask: i8, now: Time, session: &mut Session, out: &mut Outbox<'_>) {
        out.send(self.leases, session.request(now, ask));
        self.said = Some(now);
    }

    fn health(&self, now: Time) -> Health {
        let Some(line) = self.script.get(self.at) else {
            return Health::Good;
        };
        let is_waiting = matches!(line, Line::Wait(_) | Line::WaitDone);
        match (self.begun, &self.refused) {
            (Some(begun), _) if is_waiting || now.since(begun) <= PATIENCE => Health::Good,
            (_, Some(refused)) => Health::Degraded(refused.clone()),
            (Some(_), None) => Health::Degraded(format!("the gate has not taken {line:?}")),
            (None, None) => Health::Degraded("the gate says nothing".to_owned()),
        }
    }
}

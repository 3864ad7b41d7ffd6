//! The gate as a component, for any kind of actuation.

use super::pace::Paces;
use super::{Actuation, Contingency, Event, Gate, Input as Told, Refusal, Rules};
use crate::Whereabouts;
use bowline_component::{
    AlarmKind, Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters,
    Ports, Severity, Step, Time, Vehicle,
};
use bowline_msgs::{
    self as msgs, Authority, Beat, DirectCommand, GateToken, LeaseRequest, PoseTransform,
    StopCommand, Task, TaskCommand,
};
use bowline_operator::commands;
use bowline_wire::Message;
use std::collections::BTreeMap;
use std::time::Duration;

/// Raised while the gate does what was chosen for the loss of an operator or of the place.
const CONTINGENCY: AlarmKind = AlarmKind {
    id: "contingency",
    severity: Severity::Alarm,
    consequence: "the vehicle does by itself what was chosen for this case, and nothing else",
    action: "take control again once the cause is over",
};

bowline_component::parameters! {
    /// What a gate allows, for how long, and what is done without an operator.
    pub struct GateParameters {
        in vehicle: Vehicle;
        /// What people call it: the vehicle, or the experiment that it guards.
        name: String = "vehicle".into();
        /// How old a direct command may get; then there is no thrust.
        ttl: Duration = Duration::from_millis(250), within Duration::from_millis(100)..=Duration::from_secs(1);
        /// How old tasks, clearings and requests for the lease may be when they arrive.
        task_ttl: Duration = Duration::from_secs(2), within Duration::from_millis(100)..=Duration::from_secs(10);
        /// For how long heading and speed are kept without being sent anew.
        setpoint_ttl: Duration = Duration::from_millis(1_500), within Duration::from_millis(200)..=Duration::from_secs(10);
        /// How old a wish of the controller may get.
        wish_ttl: Duration = Duration::from_millis(300), within Duration::from_millis(50)..=Duration::from_secs(1);
        /// How far a direct command may go, in either direction: for each axis that gate_rules_t names, in its unit, in
        /// that order; none: the limits of the kind of actuation.
        direct_limits: Vec<f64> = Vec::new();
        /// The channel that shows people what the actuators are set to, without a prefix of the gate's channels; none: the
        /// one that `command` is on where the robot file does not rename it.
        setpoint: String = String::new();
        /// For how long a person shows neutral input before direct control begins.
        neutral_for: Duration = Duration::from_millis(300), within Duration::from_millis(300)..=Duration::from_secs(10);
        /// How long the holder of the lease may be silent; at least ttl.
        lease: Duration = Duration::from_secs(1), within Duration::from_millis(100)..=Duration::from_secs(60);
        /// How long the holder may take to answer who asks for the lease.
        answer_within: Duration = Duration::from_secs(5), within Duration::from_millis(500)..=Duration::from_secs(60);
        /// From the end of a lease until control counts as lost.
        grace: Duration = Duration::from_secs(5), within Duration::ZERO..=Duration::from_secs(600);
        /// What is done then: chosen before the mission.
        contingency: String = "hold".into(), within ["hold", "station", "return", "continue"];
        /// Stations that may take the lease from others, and their highest rank: "bridge=2", for all who log in there, too;
        /// all others have rank 0.
        ranks: Vec<String> = Vec::new();
        /// Corners of the fence, x and y in turn, metres east and north in the map frame; none: no fence.
        fence_m: Vec<f64> = Vec::new();
        /// For how long the fence trusts a pose.
        place_ttl: Duration = Duration::from_secs(2), within Duration::from_millis(100)..=Duration::from_secs(60);
        /// How uncertain a pose may be for the fence, metres: its standard deviation along the worst direction on the
        /// ground. A less certain pose, or one without a deviation, is not used as a place.
        place_sd_m: f64 = 5.0, within 0.01..=1e6;
        /// Without a beat of the local stop for so long the vehicle is stopped; 0s: there is no local stop.
        beat_within: Duration = Duration::ZERO, within Duration::ZERO..=Duration::from_secs(10);
        /// How often it issues a token, and commands the actuators at least, times a second.
        rate_hz: f64 = 20.0, within 20.0..=200.0;
    }
}

impl GateParameters {
    fn rules<A: Actuation>(&self) -> Result<Rules, BuildError> {
        if self.lease < self.ttl {
            let Self { lease, ttl, .. } = self;
            return Err(
                format!("a lease of {lease:?} ends before a command of {ttl:?} does").into(),
            );
        }
        let contingency = Contingency::from_word(&self.contingency);
        let contingency = contingency.ok_or("contingency is none of those that there are")?;
        let (corners, rest) = self.fence_m.as_chunks::<2>();
        if !rest.is_empty() {
            return Err("fence_m has an x without a y".into());
        }
        Ok(Rules {
            direct_limits: direct_limits::<A>(&self.direct_limits)?,
            setpoint: self.setpoint.clone(),
            ttl: self.ttl,
            task_ttl: self.task_ttl,
            setpoint_ttl: self.setpoint_ttl,
            wish_ttl: self.wish_ttl,
            neutral_for: self.neutral_for,
            lease: self.lease,
            answer_within: self.answer_within,
            grace: self.grace,
            contingency,
            ranks: ranks(&self.ranks)?,
            fence_m: (!corners.is_empty()).then(|| corners.to_vec()),
            place_ttl: self.place_ttl,
            place_sd_m: self.place_sd_m,
            beat_within: (!self.beat_within.is_zero()).then_some(self.beat_within),
        })
    }
}

fn direct_limits<A: Actuation>(limits: &[f64]) -> Result<Vec<f64>, BuildError> {
    let n_axes = A::AXES.len();
    if !limits.is_empty() && limits.len() != n_axes {
        let found = limits.len();
        return Err(format!("expected {n_axes} direct_limits, or none, found {found}").into());
    }
    for (axis, limit) in A::AXES.iter().zip(limits) {
        // Not a number is none of these either.
        if !(*limit > 0.0 && *limit <= axis.bound) {
            let (field, bound) = (axis.field, axis.bound);
            return Err(format!(
                "expected a direct limit of {field} above 0 and up to {bound:?}, found {limit:?}"
            )
            .into());
        }
    }
    Ok(limits.to_vec())
}

fn ranks(texts: &[String]) -> Result<BTreeMap<String, i32>, BuildError> {
    let rank = |text: &String| {
        let (station, rank) = text.split_once('=')?;
        let rank: u16 = rank.trim().parse().ok()?;
        Some((station.trim().to_owned(), i32::from(rank)))
    };
    let expected =
        |text| format!("expected a station and its rank such as \"bridge=2\", found {text:?}");
    let ranks = texts
        .iter()
        .map(|text| rank(text).ok_or_else(|| expected(text).into()));
    ranks.collect()
}

/// How often a gate publishes its state when nothing changes.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// How often a gate publishes its rules: a client that has just started waits no longer for them.
const RULES_EVERY: Duration = Duration::from_millis(500);

/// [`Gate`] as a component. The only writer of the actuators' commands.
#[derive(Debug)]
pub struct GateComponent<A: Actuation> {
    parameters: GateParameters,
    rules: Rules,
    whereabouts: Whereabouts,
    /// From the first step on: its life begins at a time.
    gate: Option<Gate<A>>,
    said: Said<A>,
    paces: Paces,
    direct: Input<DirectCommand>,
    tasks: Input<TaskCommand>,
    stops: Input<StopCommand>,
    requests: Input<LeaseRequest>,
    wish: Input<A>,
    beat: Input<Beat>,
    pose: Input<PoseTransform>,
    command: Output<A>,
    state: Output<msgs::Gate>,
    token: Output<GateToken>,
    refusal: Output<msgs::Refusal>,
    task: Output<Task>,
    demands: Output<msgs::GateRules>,
}

/// What was published last.
#[derive(Debug)]
struct Said<A> {
    command: Option<A>,
    n_changes: Option<u64>,
    reported: Time,
    rules: Option<Time>,
}

impl<A: Actuation> Build for GateComponent<A> {
    type Parameters = GateParameters;

    fn build(parameters: GateParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let rules = parameters.rules::<A>()?;
        // Errors in the rules are reported now, not when the vehicle is about to move.
        Gate::<A>::new(rules.clone(), Time::ZERO)?;
        let word = A::WORD;
        let any = Expect::ever().optional();
        // People at stations, command lines and scripts alike: the sender is in the message, and its rights are decided here.
        let person = Expect::ever().from_anybody();
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            rules,
            gate: None,
            said: Said {
                command: None,
                n_changes: None,
                reported: Time::ZERO,
                rules: None,
            },
            paces: Paces::default(),
            direct: ports.input_on(
                "direct",
                "What a person sets directly.",
                person,
                commands::channel::<DirectCommand>(),
            ),
            tasks: ports.input_on(
                "tasks",
                "What a person gives to do.",
                person,
                commands::channel::<TaskCommand>(),
            ),
            stops: ports.input_on(
                "stops",
                "Stops, and the end of them.",
                person,
                commands::channel::<StopCommand>(),
            ),
            requests: ports.input_on(
                "leases",
                "Who wants control.",
                person,
                commands::channel::<LeaseRequest>(),
            ),
            wish: ports.input_on(
                "wish",
                "What the controller would do.",
                any,
                &format!("{word}.wish"),
            ),
            beat: ports.input("beat", "That nothing stops the vehicle on the spot.", any),
            pose: ports.input_on("pose", "Where the vehicle is, for the fence.", any, "pose"),
            command: ports.output_on(
                "command",
                "The commands of the actuators.",
                &format!("{word}.command"),
            ),
            state: ports.output_on("state", "Who or what is in control.", "gate.state"),
            token: ports.output_on("token", "What commands must bring back.", "gate.token"),
            refusal: ports.output_on("refusal", "What was not taken, and why.", "gate.refusal"),
            task: ports.output_on("task", "What the helm is to do.", "gate.task"),
            demands: ports.output_on(
                "rules",
                "What commands must bring, and what is guarded.",
                "gate.rules",
            ),
            parameters,
        })
    }
}

impl<A: Actuation> Component for GateComponent<A> {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        let mut gate = match self
            .gate
            .take()
            .map_or_else(|| Gate::new(self.rules.clone(), now), Ok)
        {
            Ok(gate) => gate,
            Err(why) => return out.health(Health::Failed(why.to_string())),
        };
        gate.advance(now);
        self.hear(step, &mut gate, out);
        self.say(step, &mut gate, out);
        if let Some(deadline) = gate.deadline() {
            out.wake_at(deadline);
        }
        out.health(Health::Good);
        self.gate = Some(gate);
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

impl<A: Actuation> GateComponent<A> {
    fn hear(&mut self, step: &Step<'_>, gate: &mut Gate<A>, out: &mut Outbox<'_>) {
        let now = step.now();
        let refused = if let Some(command) = step.arrived(self.direct).map(|it| it.message()) {
            gate.handle(now, Told::Direct(command))
                .map_err(|refusal| (&command.by, name_of(command, None), refusal))
        } else if let Some(command) = step.arrived(self.tasks).map(|it| it.message()) {
            gate.handle(now, Told::Task(command))
                .map_err(|refusal| (&command.by, name_of(command, None), refusal))
        } else if let Some(command) = step.arrived(self.stops).map(|it| it.message()) {
            gate.handle(now, Told::Stop(command))
                .map_err(|refusal| (&command.by, name_of(command, Some(command.ask)), refusal))
        } else if let Some(request) = step.arrived(self.requests).map(|it| it.message()) {
            gate.handle(now, Told::Lease(request))
                .map_err(|refusal| (&request.by, name_of(request, Some(request.ask)), refusal))
        } else {
            return self.hear_vehicle(step, gate, out);
        };
        if let Err((by, command, refusal)) = refused {
            self.refuse((now, out), by, command, refusal);
        }
    }

    fn hear_vehicle(&mut self, step: &Step<'_>, gate: &mut Gate<A>, out: &mut Outbox<'_>) {
        let now = step.now();
        let outcome = if let Some(wish) = step.arrived(self.wish) {
            gate.handle_received(now, wish.at(), Told::Wish(wish.message()))
        } else if let Some(beat) = step.arrived(self.beat) {
            gate.handle_received(now, beat.at(), Told::Beat)
        } else if let Some(pose) = step.arrived(self.pose) {
            // A pose without a place is none, and the fence misses it in time.
            self.place(&pose).map_or(Ok(()), |place_m| {
                gate.handle_received(now, pose.at(), Told::Place(place_m))
            })
        } else {
            Ok(())
        };
        if let Err(refusal) = outcome {
            self.refuse((now, out), &Authority::default(), "wish", refusal);
        }
    }

    /// Where the vehicle is, if the pose is certain enough.
    fn place(&self, pose: &PoseTransform) -> Option<[f64; 2]> {
        let is_certain = ground_sd_m(pose) <= self.rules.place_sd_m;
        let place = self.whereabouts.place(pose).ok().filter(|_| is_certain)?;
        Some([place.x_m, place.y_m])
    }

    fn say(&mut self, step: &Step<'_>, gate: &mut Gate<A>, out: &mut Outbox<'_>) {
        let now = step.now();
        for event in gate.events() {
            match event {
                Event::Task(task) => out.send(self.task, task),
                Event::Unheld { by, refusal } => self.refuse((now, out), &by, "take", refusal),
            }
        }
        let is_regular = step.is_tick() || step.is_start();
        let has_changed = self.said.n_changes.replace(gate.n_changes()) != Some(gate.n_changes());
        let command = gate.output();
        let is_new = self
            .said
            .command
            .as_ref()
            .is_none_or(|said| said.at(0) != command.at(0));
        if is_new || is_regular {
            out.send(self.command, command.at(now.utime()));
            self.said.command = Some(command);
        }
        if has_changed || is_regular {
            out.send(self.token, gate.token());
        }
        if has_changed || is_regular && now.since(self.said.reported) >= REPORT_EVERY {
            let report = gate.report(&self.parameters.name);
            let is_lost = report.state == msgs::Gate::CONTINGENCY;
            out.alarm(&CONTINGENCY, is_lost.then_some(&*report.reason));
            out.send(self.state, report);
            self.said.reported = now;
        }
        let is_due = |last: Time| is_regular && now.since(last) >= RULES_EVERY;
        if self.said.rules.is_none_or(is_due) {
            out.send(self.demands, gate.rules(&self.parameters.name));
            self.said.rules = Some(now);
        }
    }

    fn refuse(
        &mut self,
        (now, out): (Time, &mut Outbox<'_>),
        by: &Authority,
        command: &str,
        refusal: Refusal,
    ) {
        if !self.paces.allow(now, by, refusal.reason) {
            return;
        }
        let age_us = refusal.age.map(|age| i64::try_from(age.as_micros()));
        out.send(
            self.refusal,
            msgs::Refusal {
                utime: now.utime(),
                name: self.parameters.name.clone(),
                by: by.clone(),
                command: command.to_owned(),
                reason: refusal.reason.word().to_owned(),
                text: refusal.text,
                age_us: age_us.map_or(-1, |age| age.unwrap_or(i64::MAX)),
            },
        );
    }
}

/// The standard deviation of a position along the worst direction on the ground; not a number where it has none.
fn ground_sd_m(pose: &PoseTransform) -> f64 {
    let [xx, xy, _, _, yy, ..] = pose.position_covariance;
    let larger = f64::midpoint(xx, yy) + ((xx - yy) / 2.0).hypot(xy);
    larger.sqrt()
}

/// The name of a command by its `ask`; of one that does not exist that of its channel.
fn name_of<M: Message>(_: &M, ask: Option<i8>) -> &'static str {
    let command = commands::of(M::FINGERPRINT, ask);
    command.map_or_else(
        || commands::channel_of(M::FINGERPRINT).map_or("", |it| it.trim_start_matches("operator.")),
        |it| it.name,
    )
}

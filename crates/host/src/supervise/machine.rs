//! The decisions of a supervisor: given the time and what happened, it returns what to do.
//!
//! In: runs that started, ended and are gone, signs of life, orders, and time. Out: [`Action`]s. What is decided for one
//! process is in `machine/unit.rs`; here is what concerns several: the order in which they start and stop, orders, alarms
//! and the safe state.
//!
//! Deliberately absent: processes, clocks and buses. `supervise/runner.rs` has those.

mod silence;
mod unit;

#[cfg(test)]
mod tests;

pub use silence::{MAX_HOLD_UPS, MAX_SILENCE};
pub use unit::{LIVED, MAX_BACK_OFF, MAX_RESTARTS, MIN_BACK_OFF, RESTART_WINDOW};

use super::exit::{Exit, Hang};
use super::plan::{ALL, MIN_EVERY, Plan, ProcessSpec, Start};
use bowline_component::Time;
use bowline_wire::suggest;
use std::collections::BTreeSet;
use std::time::Duration;
use unit::{Down, Effect, Happening, Judged, Others, State, Unit, Want};

/// A supervisor that gets the time less often than this was held up, and cannot judge which process was silent meanwhile.
const HELD_UP: Duration = Duration::from_millis(300);
/// How often it needs the time while it waits for heartbeats.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Decides what a supervisor does.
#[derive(Clone, Debug)]
pub struct Machine {
    units: Vec<Unit>,
    /// The names by which processes of the plan are commanded. Other processes left by earlier supervisors cannot be started.
    names: Vec<Names>,
    /// For each process, those that must be ready before it starts.
    after: Vec<Vec<usize>>,
    /// For each process, those that depend on it, directly or not.
    dependents: Vec<Vec<usize>>,
    /// The fault of each process, until a command deals with it.
    alarms: Vec<Option<String>>,
    safe: Safe,
    is_ending: bool,
    told: Option<Time>,
    n_changes: u64,
}

/// By what a process can be ordered about.
#[derive(Clone, Debug)]
struct Names {
    name: String,
    group: String,
    components: Vec<String>,
}

#[derive(Clone, Debug)]
struct Safe {
    stop: Vec<usize>,
    start: Vec<usize>,
    every: Vec<Duration>,
    /// When each message is due; nothing while the safe state is not entered.
    due: Option<Vec<Time>>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The plan is to be carried out.
    Begin,
    /// It is so late, and all signs of life that came were given: what was silent for too long hangs.
    Tick,
    /// A process runs already as the plan has it, started by a supervisor that is gone.
    Adopted(usize),
    /// Something else is left of a supervisor that is gone.
    Leftover(usize),
    /// Processes that a supervisor that is gone had given up, and why. It was in its safe state, and so are we.
    Inherited(Vec<(usize, String)>),
    /// A process was started.
    Started(usize),
    /// A process could not be started, and why.
    NotStarted(usize, String),
    /// A process has ended. What it started may be left.
    Exited(usize, Exit),
    /// Nothing of a run is left.
    Gone(usize),
    /// A sign of life, from one of those in the process that give them, and when it came: a supervisor that is late
    /// takes what has waited for it, and must not conclude that a process lived until now.
    Beat(usize, usize, Time),
    /// Processes waited for a processor, and for how long since they were looked at last: that time does not count
    /// against them. To be given before the [`Tick`](Event::Tick) that judges them.
    Starved(Vec<(usize, Duration)>),
    /// Everything is to be stopped, for good.
    End,
}

/// What to do. Numbers are places in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a process, and report [`Event::Started`] or [`Event::NotStarted`].
    Spawn(usize),
    /// Ask all of its process group to stop.
    Signal(usize),
    /// Kill all that is left of it.
    Kill(usize),
    /// Something is wrong with a process for good.
    Raise(usize, String),
    /// A command has dealt with it.
    Clear(usize),
    /// The safe state is entered.
    EnterSafeState,
    /// The safe state is left.
    LeaveSafeState,
    /// Send one of the safe state's messages.
    Publish(usize),
}

/// What a command requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// To be started, with what it depends on.
    Start,
    /// To be stopped.
    Stop,
    /// To be stopped, then started; started if it is down.
    Restart,
}

/// What a process is doing, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It was not started yet, or a command has stopped it.
    Stopped,
    /// It did what it was started for.
    Finished,
    /// It failed too often, and stays down until a command starts it.
    GivenUp,
    /// It waits for those that it depends on.
    Waiting,
    /// It failed, and is started again in a moment.
    Resting,
    /// It runs, and is not ready.
    Starting,
    /// It runs.
    Running,
    /// It was asked to stop, or what is left of it is being killed.
    Stopping,
}

/// A process, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View<'a> {
    /// What it is doing.
    pub phase: Phase,
    /// When the run began, if there is one.
    pub since: Option<Time>,
    /// How often it was restarted by itself.
    pub n_restarts: u64,
    /// How often its time was extended because the machine or the supervisor was busy.
    pub n_extensions: u64,
    /// How the run before ended; empty if there was none.
    pub last_exit: &'a str,
    /// How it is doing, in words; empty where nothing is known.
    pub health: String,
    /// What is wrong with it for good.
    pub alarm: Option<&'a str>,
}

impl Machine {
    /// For a plan that was checked. Nothing runs.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self::with_strangers(plan, &[])
    }

    /// The same, with processes that are not in the plan: left by a supervisor that is gone, and only to be stopped.
    #[must_use]
    pub fn with_strangers(plan: &Plan, strangers: &[ProcessSpec]) -> Self {
        let specs = || plan.processes.iter();
        let place = |name: &String| specs().position(|spec| spec.name == *name);
        let places = |names: &[String]| names.iter().filter_map(place).collect::<Vec<usize>>();
        let mut after: Vec<Vec<usize>> = specs().map(|spec| places(&spec.after)).collect();
        after.resize(plan.processes.len() + strangers.len(), Vec::new());
        let names = specs().map(|spec| Names {
            name: spec.name.clone(),
            group: spec.group.clone(),
            components: spec.components.clone(),
        });
        let publications = plan.safe_state.publish.iter();
        Self {
            units: specs().chain(strangers).map(Unit::new).collect(),
            names: names.collect(),
            dependents: dependents(&after),
            alarms: vec![None; after.len()],
            after,
            safe: Safe {
                stop: places(&plan.safe_state.stop),
                start: places(&plan.safe_state.start),
                every: publications.map(|it| it.every.max(MIN_EVERY)).collect(),
                due: None,
            },
            is_ending: false,
            told: None,
            n_changes: 0,
        }
    }

    /// Takes what happened, and returns what to do.
    pub fn handle(&mut self, plan: &Plan, now: Time, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.tell_time(now);
        let silence = match event == Event::Tick {
            true => Judged::Now,
            false => Judged::Later,
        };
        match event {
            Event::Begin => self.begin(plan),
            Event::Tick => {}
            Event::Starved(waited) => {
                for (unit, waited) in waited {
                    if let Some(unit) = self.units.get_mut(unit) {
                        unit.starve(waited);
                    }
                }
                return actions;
            }
            Event::Adopted(unit) => self.step(now, unit, Happening::Adopted, &mut actions),
            Event::Leftover(unit) => self.step(now, unit, Happening::Leftover, &mut actions),
            Event::Inherited(alarms) => self.inherit(now, alarms, &mut actions),
            Event::Started(unit) => self.step(now, unit, Happening::Started, &mut actions),
            Event::NotStarted(unit, why) => {
                self.step(now, unit, Happening::NotStarted(why), &mut actions);
            }
            Event::Exited(unit, exit) => {
                self.step(now, unit, Happening::Exited(exit), &mut actions);
            }
            Event::Gone(unit) => self.step(now, unit, Happening::Gone, &mut actions),
            Event::Beat(unit, source, at) => {
                let n_changes = self.n_changes;
                self.step(now, unit, Happening::Beat(source, at), &mut actions);
                if self.n_changes == n_changes {
                    return actions;
                }
            }
            Event::End => {
                self.is_ending = true;
                self.units.iter_mut().for_each(Unit::stop);
                self.n_changes += 1;
            }
        }
        self.settle(now, silence, &mut actions);
        self.publish(now, &mut actions);
        actions
    }

    /// Executes a command on a process, a component, a group, or all. Returns what to do, and which processes it
    /// concerns.
    ///
    /// # Errors
    /// When that cannot be done; nothing has changed then.
    pub fn order(
        &mut self,
        now: Time,
        verb: Verb,
        target: &str,
    ) -> Result<(Vec<Action>, Vec<usize>), OrderError> {
        self.tell_time(now);
        if self.is_ending {
            return Err(OrderError::Ending);
        }
        let mut concerned = self.resolve(target)?;
        if verb != Verb::Stop {
            self.add_needed(&mut concerned);
            self.check_safe(&concerned)?;
        }
        let mut actions = Vec::new();
        for &unit in &concerned {
            if let Some(alarm) = self.alarms.get_mut(unit)
                && alarm.take().is_some()
            {
                actions.push(Action::Clear(unit));
            }
            let Some(unit) = self.units.get_mut(unit) else {
                continue;
            };
            match verb {
                Verb::Start => unit.start(),
                Verb::Stop => unit.stop(),
                Verb::Restart => unit.restart(),
            }
        }
        self.n_changes += 1;
        if self.safe.due.is_some() && self.alarms.iter().all(Option::is_none) {
            self.safe.due = None;
            actions.push(Action::LeaveSafeState);
        }
        self.settle(now, Judged::Later, &mut actions);
        Ok((actions, concerned))
    }

    /// When it needs the time again, at the latest; `None`: not before something happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let units = self.units.iter().filter_map(Unit::deadline);
        let messages = self.safe.due.iter().flatten().copied();
        let is_listening = self.units.iter().any(Unit::is_watched);
        let look = self.told.filter(|_| is_listening).map(|at| at + LOOK_EVERY);
        units.chain(messages).chain(look).min()
    }

    /// What a process is doing.
    #[must_use]
    pub fn view(&self, unit: usize, now: Time) -> Option<View<'_>> {
        let alarm = self.alarms.get(unit)?.as_deref();
        let unit = self.units.get(unit)?;
        let phase = match unit.state {
            State::Down(Down::New | Down::Ordered) => Phase::Stopped,
            State::Down(Down::Finished) => Phase::Finished,
            State::Down(Down::GivenUp) => Phase::GivenUp,
            State::Waiting { .. } => Phase::Waiting,
            State::Resting { .. } => Phase::Resting,
            State::Spawning | State::Starting => Phase::Starting,
            State::Ready => Phase::Running,
            State::Stopping { .. } | State::Killing { .. } => Phase::Stopping,
        };
        Some(View {
            phase,
            since: unit.is_alive().then_some(unit.since),
            n_restarts: unit.n_restarts,
            n_extensions: unit.n_extensions,
            last_exit: &unit.last_exit,
            health: unit.health(now),
            alarm,
        })
    }

    /// Processes whose time may soon be over: for how long they waited for a processor since the last
    /// look is to be given with [`Event::Starved`].
    pub fn doubtful(&self, now: Time) -> impl Iterator<Item = usize> {
        let units = self.units.iter().enumerate();
        units
            .filter(move |(_, unit)| unit.is_doubtful(now))
            .map(|(index, _)| index)
    }

    /// Why a process is being killed, if it hangs.
    #[must_use]
    pub fn hang(&self, unit: usize) -> Option<Hang> {
        self.units.get(unit)?.hang
    }

    /// Grows whenever there is something new to see.
    #[must_use]
    pub fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// Whether the safe state is entered.
    #[must_use]
    pub fn is_safe_state(&self) -> bool {
        self.safe.due.is_some()
    }

    /// Whether everything is to be stopped for good.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Whether nothing runs, and nothing will by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let is_down = |unit: &Unit| matches!(unit.state, State::Down(_));
        self.is_ending && self.units.iter().all(is_down)
    }

    /// All alarms, each with the process that it is about.
    pub fn alarms(&self) -> impl Iterator<Item = (usize, &str)> {
        let alarms = self.alarms.iter().enumerate();
        alarms.filter_map(|(unit, alarm)| Some((unit, alarm.as_deref()?)))
    }

    fn begin(&mut self, plan: &Plan) {
        for (place, spec) in plan.processes.iter().enumerate() {
            // An inherited process that a safe state keeps down may be started by a command, as within one run.
            let is_kept_down = self.safe.due.is_some() && self.safe.stop.contains(&place)
                || self.alarms.get(place).is_some_and(Option::is_some);
            if let Some(unit) = self.units.get_mut(place)
                && spec.start == Start::WithRobot
                && !is_kept_down
            {
                unit.start();
            }
        }
        self.n_changes += 1;
    }

    fn inherit(&mut self, now: Time, alarms: Vec<(usize, String)>, actions: &mut Vec<Action>) {
        let mut alarms = alarms;
        alarms.retain(|(place, _)| {
            let unit = self.units.get_mut(*place);
            unit.is_some_and(Unit::stay_given_up)
        });
        // All of them are known before the first enters the safe state, which must not start what was given up.
        for (place, why) in &alarms {
            if let Some(alarm) = self.alarms.get_mut(*place) {
                *alarm = Some(why.clone());
            }
        }
        for (place, why) in alarms {
            self.raise(now, place, why, actions);
        }
    }

    /// A supervisor that was held up cannot judge which process was silent meanwhile.
    fn tell_time(&mut self, now: Time) {
        let gap = self.told.map_or(Duration::ZERO, |told| now.since(told));
        let is_listening = self.units.iter().any(Unit::is_watched);
        if gap > HELD_UP && is_listening {
            self.units
                .iter_mut()
                .for_each(|unit| unit.forgive(now, gap));
        }
        self.told = Some(self.told.map_or(now, |told| told.max(now)));
    }

    fn step(&mut self, now: Time, index: usize, happening: Happening, actions: &mut Vec<Action>) {
        let Some(unit) = self.units.get_mut(index) else {
            return;
        };
        let before = unit.state.clone();
        let effect = unit.step(now, happening);
        if unit.state != before {
            self.n_changes += 1;
        }
        match effect {
            None => {}
            Some(Effect::Spawn) => actions.push(Action::Spawn(index)),
            Some(Effect::Signal) => actions.push(Action::Signal(index)),
            Some(Effect::Kill) => actions.push(Action::Kill(index)),
            Some(Effect::GaveUp(why)) => self.raise(now, index, why, actions),
        }
    }

    /// Has every process look at the others until nothing changes any more.
    fn settle(&mut self, now: Time, silence: Judged, actions: &mut Vec<Action>) {
        // Each process moves a few steps at most before it waits for something outside.
        for _ in 0..=8 * self.units.len() {
            let n_changes = self.n_changes;
            for index in 0..self.units.len() {
                let happening = Happening::Look(Others {
                    may_start: self.may_start(index),
                    may_stop: self.may_stop(index),
                    silence,
                });
                self.step(now, index, happening, actions);
            }
            if self.n_changes == n_changes {
                return;
            }
        }
    }

    fn may_start(&self, index: usize) -> bool {
        let needed = self.after.get(index).into_iter().flatten();
        needed
            .filter_map(|&other| self.units.get(other))
            .all(Unit::is_served)
    }

    /// Not before those that depend on it and are to be stopped too.
    fn may_stop(&self, index: usize) -> bool {
        let dependents = self.dependents.get(index).into_iter().flatten();
        !dependents
            .filter_map(|&other| self.units.get(other))
            .any(|other| other.is_alive() && other.want != Want::Up)
    }

    fn raise(&mut self, now: Time, index: usize, why: String, actions: &mut Vec<Action>) {
        let Some(alarm) = self.alarms.get_mut(index) else {
            return;
        };
        *alarm = Some(why.clone());
        actions.push(Action::Raise(index, why));
        if self.safe.due.is_some() || self.is_ending {
            return;
        }
        self.safe.due = Some(vec![now; self.safe.every.len()]);
        actions.push(Action::EnterSafeState);
        for &unit in &self.safe.stop {
            // What is given up stays so: it is down, and its alarm stands.
            if let (Some(unit), Some(None)) = (self.units.get_mut(unit), self.alarms.get(unit)) {
                unit.stop();
            }
        }
        let mut wanted = self.safe.start.clone();
        self.add_needed(&mut wanted);
        for unit in wanted {
            if let (Some(unit), Some(None)) = (self.units.get_mut(unit), self.alarms.get(unit))
                && unit.want == Want::Down
            {
                unit.start();
            }
        }
        self.n_changes += 1;
    }

    fn publish(&mut self, now: Time, actions: &mut Vec<Action>) {
        let due = self.safe.due.iter_mut().flatten();
        for (index, (due, every)) in due.zip(&self.safe.every).enumerate() {
            if now >= *due {
                *due = now + *every;
                actions.push(Action::Publish(index));
            }
        }
    }

    fn resolve(&self, target: &str) -> Result<Vec<usize>, OrderError> {
        let find = |is_meant: &dyn Fn(&Names) -> bool| -> Vec<usize> {
            let names = self.names.iter().enumerate();
            names
                .filter(|(_, it)| is_meant(it))
                .map(|(place, _)| place)
                .collect()
        };
        let meanings: [&dyn Fn(&Names) -> bool; 4] = [
            &|names| names.name == target,
            &|names| names.components.iter().any(|name| name == target),
            &|names| !target.is_empty() && names.group == target,
            &|_| target == ALL,
        ];
        let mut found = meanings.into_iter().map(find);
        if let Some(units) = found.find(|units| !units.is_empty()) {
            return Ok(units);
        }
        let known = self.names.iter().flat_map(|names| {
            let own = [names.name.as_str(), names.group.as_str()];
            own.into_iter()
                .chain(names.components.iter().map(String::as_str))
        });
        Err(OrderError::Unknown {
            target: target.to_owned(),
            suggestion: suggest::nearest(target, known.filter(|name| !name.is_empty()))
                .map(str::to_owned),
        })
    }

    /// What the safe state has stopped is not started before a command has dealt with its cause.
    fn check_safe(&self, concerned: &[usize]) -> Result<(), OrderError> {
        if self.safe.due.is_none() {
            return Ok(());
        }
        let is_left = |(unit, alarm): (usize, &Option<String>)| {
            (alarm.is_some() && !concerned.contains(&unit)).then_some(unit)
        };
        let Some(cause) = self.alarms.iter().enumerate().find_map(is_left) else {
            return Ok(());
        };
        let name = |unit: usize| {
            self.names
                .get(unit)
                .map(|it| it.name.clone())
                .unwrap_or_default()
        };
        match concerned.iter().find(|unit| self.safe.stop.contains(unit)) {
            Some(&unit) => Err(OrderError::SafeState {
                name: name(unit),
                cause: name(cause),
            }),
            None => Ok(()),
        }
    }

    /// Adds what those that are to start depend on, but for what was given up: that is never started along with others.
    fn add_needed(&self, wanted: &mut Vec<usize>) {
        let mut seen: BTreeSet<usize> = wanted.iter().copied().collect();
        let mut next = 0;
        while let Some(&unit) = wanted.get(next) {
            next += 1;
            for &other in self.after.get(unit).into_iter().flatten() {
                let is_given_up = self.alarms.get(other).is_some_and(Option::is_some);
                let is_up = self
                    .units
                    .get(other)
                    .is_some_and(|it| it.want == Want::Up || it.is_served());
                if !is_given_up && !is_up && seen.insert(other) {
                    wanted.push(other);
                }
            }
        }
    }
}

/// For each of them, those that depend on it, directly or not.
fn dependents(after: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut dependents = vec![BTreeSet::new(); after.len()];
    for unit in 0..after.len() {
        let mut seen = BTreeSet::new();
        let mut left = after.get(unit).cloned().unwrap_or_default();
        while let Some(other) = left.pop() {
            if seen.insert(other) {
                left.extend(after.get(other).into_iter().flatten());
            }
        }
        for other in seen {
            if let Some(dependents) = dependents.get_mut(other) {
                dependents.insert(unit);
            }
        }
    }
    dependents
        .into_iter()
        .map(|it| it.into_iter().collect())
        .collect()
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// There is nothing of that name.
    #[error("there is no process, component or group {target:?}{}", suggestion.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        target: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// It was stopped for the safe state, which still holds.
    #[error(
        "{name:?} stays down in the safe state, which holds because {cause:?} was given up: start or stop {cause:?} first, or start all"
    )]
    SafeState {
        /// What was to be started.
        name: String,
        /// What was given up.
        cause: String,
    },
    /// Everything is being stopped.
    #[error("the supervisor is stopping everything")]
    Ending,
}

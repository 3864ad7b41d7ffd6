//! The loop of a supervisor: between the machine that decides, the system that runs processes, and the bus.
//!
//! One thread. It waits for whatever comes first (an end, a message, a signal, a deadline), passes it to the machine, and does
//! what the machine returns.

mod listening;
mod saying;
mod succession;

use super::claim::{CLAIM, Claim, Identity, Verdict};
use super::desk::{Asked, Desk, DeskError};
use super::keeper::Keeper;
use super::machine::{Action, Event, Machine, Phase};
use super::news::{Care, News, Options};
use super::plan::{BadPlan, Plan, ProcessSpec};
use super::proc::{self, Marks, Survey};
use super::report;
use super::slot::{CHUNK, Slot};
use super::starvation::Starvation;
use super::state::{self, Folder, LockError};
use super::usage::Meter;
use crate::clock::Live;
use crate::presence::ThisProcess;
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Inbox};
use bowline_component::{ALARM_CHANNEL, Health, Time};
use bowline_msgs::Supervisor;
use bowline_wire::Message as _;
use listening::{Heard, Listening};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How often it publishes its status, and looks at what processes take.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// How soon it may publish it again because something has changed.
const STATUS_AGAIN: Duration = Duration::from_millis(50);
/// How soon it may publish it again because it was asked, however often it is.
const STATUS_ASKED: Duration = Duration::from_millis(250);
/// How often it looks at what processes print.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);
/// How often it claims a name.
const CLAIM_EVERY: Duration = Duration::from_millis(100);
/// How often it looks for what is left of runs that end: soon at first, then less so.
const SURVEY_EVERY: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];
/// Messages that are taken before it looks at anything else.
const MAX_MESSAGES: usize = 1024;

/// Carries out a plan until it is to stop, and everything is stopped. Children are stopped in order; if this
/// process dies, they go on, and the next supervisor of the name takes them over.
///
/// # Errors
/// When the plan cannot be carried out, or another supervisor has the name. Then nothing runs that this one started.
pub fn run(plan: &Plan, bus: &Bus, options: Options<'_>) -> Result<(), SuperviseError> {
    plan.check()?;
    let ThisProcess { host, pid, .. } = ThisProcess::get();
    let name = format!("{}@{}", plan.robot, plan.host);
    let path = options.folder.clone().unwrap_or_else(state::default_folder);
    let folder = Folder::lock(&path, &name, &format!("pid {pid} on {host}"))?;
    let clock = succession::clock(&folder);
    let own = Identity {
        robot: plan.robot.clone(),
        host: plan.host.clone(),
        machine: host.clone(),
        pid: i32::try_from(*pid).unwrap_or(0),
        instance: clock.now().utime(),
    };
    let mut runner = Runner::new(plan, bus, clock, own, folder)?;
    if !runner.claim_name(options.until)? {
        return Ok(());
    }
    let _keeper = Keeper::start(&options.keeper, &path, plan);
    runner.take_over(options.care, &mut *options.tell);
    let result = runner.supervise(options);
    runner.folder.clear();
    result
}

struct Runner {
    /// What is in the plan, and then what is left of others'.
    specs: Vec<ProcessSpec>,
    plan: Plan,
    slots: Vec<Slot>,
    machine: Machine,
    bus: Bus,
    inbox: Inbox,
    listening: Listening,
    desk: Desk,
    claim: Claim,
    clock: Live,
    /// When no message waited to be taken, last.
    empty_at: Time,
    folder: Folder,
    /// What the marks of all our runs begin with.
    prefix: String,
    n_runs: u64,
    meter: Meter,
    starvation: Starvation,
    due: Due,
    /// For what processes print.
    buffer: Vec<u8>,
    /// Whose the processes of the system are.
    marks: Marks,
    /// A look at the system that is not old.
    surveyed: Option<(Time, Survey)>,
    n_told: u64,
    /// Whether what the next supervisor will read is still so.
    word: Word,
    /// Who has the name, if that is not us.
    rival: Option<String>,
    /// The programs that others are notified of, by their places.
    told_of: Vec<usize>,
}

/// What the next supervisor will read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// It is as it was written.
    Kept,
    /// It is no longer so.
    Stale,
    /// It could not be written.
    Lost,
}

/// When things are done that are done now and then.
struct Due {
    status: Time,
    soonest_status: Time,
    presence: Time,
    output: Time,
    survey: Time,
    survey_gap: Duration,
}

impl Runner {
    fn new(
        plan: &Plan,
        bus: &Bus,
        clock: Live,
        own: Identity,
        folder: Folder,
    ) -> Result<Self, SuperviseError> {
        let now = clock.now();
        let inbox = bus.inbox();
        let listening = Listening::new(plan, &inbox)?;
        let desk = Desk::open(bus, &inbox, &own)?;
        let prefix = format!("{}@{}#{:x}:", own.robot, own.host, folder.id());
        Ok(Self {
            specs: plan.processes.clone(),
            plan: plan.clone(),
            slots: Vec::new(),
            machine: Machine::new(plan),
            bus: bus.clone(),
            inbox,
            listening,
            desk,
            claim: Claim::new(own, now),
            clock,
            empty_at: now,
            folder,
            prefix,
            n_runs: 0,
            meter: Meter::default(),
            starvation: Starvation::default(),
            due: Due {
                status: now,
                soonest_status: now,
                presence: now,
                output: now,
                survey: now,
                survey_gap: SURVEY_EVERY[0],
            },
            buffer: vec![0; CHUNK],
            marks: Marks::default(),
            surveyed: None,
            n_told: 0,
            word: Word::Stale,
            rival: None,
            told_of: Vec::new(),
        })
    }

    /// Asks whether the name is free. `false` if an end is requested meanwhile.
    fn claim_name(&mut self, until: BorrowedFd<'_>) -> Result<bool, SuperviseError> {
        let mut due = self.clock.now();
        while !self.claim.is_granted(self.clock.now()) {
            let now = self.clock.now();
            if now >= due {
                due = now + CLAIM_EVERY;
                let claim = report::status(self.claim.own(), now, Supervisor::CLAIMING);
                self.publish(report::SUPERVISOR_CHANNEL, &claim);
            }
            if wait(&[until], Some(Duration::ZERO))?.contains(&0) {
                return Ok(false);
            }
            let patience = self.clock.until(due).min(CLAIM / 10);
            // There is no objection on a bus that cannot be read.
            if let Ok(Some((id, event))) = self.inbox.recv_timeout(patience)
                && id == self.listening.supervisors
                && let Ok(other) = Supervisor::decode(&event.payload)
                && let Verdict::Yield(who) = self.claim.hear(&other)
            {
                return Err(SuperviseError::Taken {
                    name: format!("{}@{}", self.plan.robot, self.plan.host),
                    who,
                });
            }
        }
        Ok(true)
    }

    fn supervise(&mut self, options: Options<'_>) -> Result<(), SuperviseError> {
        let Options {
            folder: _,
            until,
            care,
            keeper: _,
            tell,
        } = options;
        while !self.machine.is_over() {
            if self.wait_for_something(until)? {
                self.tell_machine(Event::End, tell);
            }
            self.take_messages(tell);
            self.take_ends(tell);
            self.look_for_starvation(tell);
            self.tell_machine(Event::Tick, tell);
            self.do_what_is_due(care, tell);
        }
        self.report(self.clock.now());
        self.desk.leave(&self.clock);
        match self.rival.take() {
            None => Ok(()),
            Some(who) => Err(SuperviseError::Taken {
                name: format!("{}@{}", self.plan.robot, self.plan.host),
                who,
            }),
        }
    }

    /// Waits for whatever comes first. Whether that is the end.
    fn wait_for_something(&mut self, until: BorrowedFd<'_>) -> Result<bool, SuperviseError> {
        let now = self.clock.now();
        let is_changed = self.machine.n_changes() != self.n_told;
        let status = is_changed.then_some(self.due.soonest_status);
        let survey = self.has_ending().then_some(self.due.survey);
        let due = [
            Some(self.due.status),
            Some(self.due.presence),
            Some(self.due.output),
            status,
            survey,
            self.machine.deadline(),
        ];
        let due = due.into_iter().flatten().min().unwrap_or(now);
        let mut descriptors = vec![until];
        // Without a descriptor messages are taken when something else happens.
        descriptors.extend(self.inbox.fd());
        let runs = self.slots.iter().filter_map(|slot| slot.run.as_ref());
        descriptors.extend(
            runs.filter(|run| !run.has_exited)
                .map(|run| run.descriptor()),
        );
        let found = wait(&descriptors, Some(due.since(now)))?;
        Ok(found.contains(&0) && !self.machine.is_ending())
    }

    fn take_messages(&mut self, tell: &mut dyn FnMut(&News<'_>)) {
        for _ in 0..MAX_MESSAGES {
            // A bus that is in trouble is no reason to let processes down.
            let Ok(Some((id, event))) = self.inbox.try_recv() else {
                self.empty_at = self.clock.now();
                return;
            };
            let now = self.clock.now();
            if let Some(asked) = self.desk.on_event(now, id, &event) {
                self.answer(now, asked, tell);
                continue;
            }
            match self.listening.hear(id, &event, &mut self.slots) {
                Heard::Nothing => {}
                Heard::Beats(beats) => {
                    let stamp = event.arrival.received_ns;
                    let came = now - self.clock.waited(stamp, now, self.empty_at);
                    for (unit, source) in beats {
                        self.tell_machine(Event::Beat(unit, source, came), tell);
                    }
                }
                Heard::Supervisor(other) => self.hear_rival(&other, tell),
            }
        }
    }

    fn hear_rival(&mut self, other: &Supervisor, tell: &mut dyn FnMut(&News<'_>)) {
        match self.claim.hear(other) {
            Verdict::Unconcerned => {}
            Verdict::Object => self.due.status = self.due.soonest_status,
            Verdict::Yield(who) if self.rival.is_none() => {
                let note = format!("{who} had the name first: stopping everything");
                tell(&News::Note(&note));
                self.rival = Some(who);
                self.tell_machine(Event::End, tell);
            }
            Verdict::Yield(_) => {}
        }
    }

    fn answer(&mut self, now: Time, asked: Asked, tell: &mut dyn FnMut(&News<'_>)) {
        match asked {
            Asked::Status => {
                let reported = self.due.status - STATUS_EVERY;
                self.due.status = self.due.status.min(reported + STATUS_ASKED);
            }
            Asked::Order { id, verb, target } => {
                let result = self.machine.order(now, verb, &target);
                let result = result.map_err(|error| error.to_string());
                let result = result.map(|(actions, concerned)| {
                    self.act(actions, tell);
                    let specs = concerned.iter().filter_map(|&unit| self.specs.get(unit));
                    specs.map(|spec| spec.name.clone()).collect()
                });
                self.desk.answer_order(now, id, result);
            }
            Asked::Output {
                id,
                process,
                n_lines,
            } => {
                let is_meant =
                    |spec: &ProcessSpec| spec.name == process || spec.components.contains(&process);
                let place = self.specs.iter().position(is_meant);
                let output = place.and_then(|place| {
                    let slot = self.slots.get(place)?;
                    let spec = self.specs.get(place)?;
                    let batch = slot.lines.last(n_lines);
                    let empty =
                        || report::output_of_nothing(self.claim.own(), now, &spec.name, slot);
                    let outputs = report::output(self.claim.own(), now, &spec.name, slot, batch);
                    Some(outputs.into_iter().next().unwrap_or_else(empty))
                });
                let missing = || format!("there is no process or component {process:?}");
                self.desk
                    .answer_output(now, id, output.as_ref().ok_or_else(missing));
            }
        }
    }

    fn tell_machine(&mut self, event: Event, tell: &mut dyn FnMut(&News<'_>)) {
        let actions = self.machine.handle(&self.plan, self.clock.now(), event);
        self.act(actions, tell);
    }

    fn act(&mut self, actions: Vec<Action>, tell: &mut dyn FnMut(&News<'_>)) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            let event = match action {
                Action::Spawn(unit) => Some(self.spawn(unit, tell)),
                Action::Signal(unit) => self.signal(unit),
                Action::Kill(unit) => self.kill(unit),
                Action::Raise(unit, text) => self.raise(unit, &text, tell),
                Action::Clear(unit) => self.clear(unit),
                Action::EnterSafeState => said(tell, &News::SafeState(true)),
                Action::LeaveSafeState => said(tell, &News::SafeState(false)),
                Action::Publish(message) => self.publish_safe(message),
            };
            if let Some(event) = event {
                let now = self.clock.now();
                actions.extend(self.machine.handle(&self.plan, now, event));
            }
        }
    }

    fn spawn(&mut self, unit: usize, tell: &mut dyn FnMut(&News<'_>)) -> Event {
        let now = self.clock.now();
        let (Some(spec), Some(slot)) = (self.specs.get(unit), self.slots.get_mut(unit)) else {
            return Event::NotStarted(unit, "it is not in the plan".to_owned());
        };
        self.n_runs += 1;
        let own = format!(
            "{}{}:{:x}.{}",
            self.prefix,
            spec.name,
            self.claim.own().instance,
            self.n_runs
        );
        let mark = match state::own_mark() {
            Some(outer) => format!("{outer}/{own}"),
            None => own,
        };
        self.word = Word::Stale;
        match slot.spawn(now, spec, mark, self.clock.epoch()) {
            Ok(pid) => {
                tell(&News::Started {
                    process: &spec.name,
                    pid,
                });
                Event::Started(unit)
            }
            Err(error) => {
                let why = error.to_string();
                tell(&News::Ended {
                    process: &spec.name,
                    how: &why,
                });
                Event::NotStarted(unit, why)
            }
        }
    }

    fn signal(&mut self, unit: usize) -> Option<Event> {
        self.look_around();
        let (_, survey) = self.surveyed.as_ref()?;
        let run = self.slots.get(unit)?.run.as_ref()?;
        run.ask(self.specs.get(unit)?.stop_signal, survey);
        None
    }

    /// When many are asked or killed at once, one look at the system is enough for all: it takes milliseconds, and a
    /// hundred of them would be so long that all are to be killed again before the first is seen to be dead.
    fn look_around(&mut self) {
        let now = self.clock.now();
        let is_old = |(at, _): &(Time, Survey)| now.since(*at) > SURVEY_EVERY[1];
        if self.surveyed.as_ref().is_none_or(is_old) {
            let survey = Survey::take_with(&mut self.marks);
            self.surveyed = Some((self.clock.now(), survey));
        }
    }

    fn kill(&mut self, unit: usize) -> Option<Event> {
        let run = self.slots.get_mut(unit)?.run.as_mut()?;
        // Its end is not to be noticed late because of a look around: what else there is of it is killed in a moment,
        // when its end was seen or it is to be killed again.
        if run.kill_group() || run.has_exited {
            self.look_around();
            let (_, survey) = self.surveyed.as_ref()?;
            let run = self.slots.get_mut(unit)?.run.as_mut()?;
            run.kill_strays(survey);
        }
        // What was killed is gone in a moment.
        self.due.survey_gap = SURVEY_EVERY[0];
        self.due.survey = self.due.survey.min(self.clock.now() + SURVEY_EVERY[0]);
        None
    }

    fn raise(&mut self, unit: usize, text: &str, tell: &mut dyn FnMut(&News<'_>)) -> Option<Event> {
        let now = self.clock.now();
        // One that was inherited has a beginning already.
        let since = *self.slots.get_mut(unit)?.alarm_since.get_or_insert(now);
        // Before it is reported: it must hold even if this supervisor dies the next moment.
        self.leave_word();
        let process = &self.specs.get(unit)?.name;
        tell(&News::Alarm { process, text });
        let alarm = report::alarm(self.claim.own(), now, process, since, Some(text));
        self.publish(ALARM_CHANNEL, &alarm);
        None
    }

    fn clear(&mut self, unit: usize) -> Option<Event> {
        let since = self.slots.get_mut(unit)?.alarm_since.take()?;
        self.word = Word::Stale;
        let process = &self.specs.get(unit)?.name;
        let alarm = report::alarm(self.claim.own(), self.clock.now(), process, since, None);
        self.publish(ALARM_CHANNEL, &alarm);
        None
    }

    fn publish_safe(&self, message: usize) -> Option<Event> {
        let publication = self.plan.safe_state.publish.get(message)?;
        // It is sent again in a moment, and the bus counts what it could not send.
        let bytes = publication.at(self.clock.now().utime());
        drop(self.bus.publish_bytes(&publication.channel, &bytes));
        None
    }

    /// Has the machine know which of the processes that may hang got no processor, before it judges them.
    fn look_for_starvation(&mut self, tell: &mut dyn FnMut(&News<'_>)) {
        let now = self.clock.now();
        let doubtful = self.machine.doubtful(now).filter_map(|unit| {
            let run = self.slots.get(unit)?.run.as_ref()?;
            Some((unit, run.pid.as_raw_nonzero().get()))
        });
        let is_due = self.machine.deadline().is_some_and(|at| now >= at);
        let starved = self.starvation.look(now, is_due, &doubtful.collect());
        if !starved.is_empty() {
            self.tell_machine(Event::Starved(starved), tell);
        }
    }

    /// Sees which processes have ended, and of which nothing is left.
    fn take_ends(&mut self, tell: &mut dyn FnMut(&News<'_>)) {
        let mut n_ended = 0;
        for unit in 0..self.slots.len() {
            let run = self.slots.get_mut(unit).and_then(|slot| slot.run.as_mut());
            let Some(run) = run.filter(|run| !run.has_exited && has_ended(run.descriptor())) else {
                continue;
            };
            let exit = run.exit();
            n_ended += 1;
            let how = match self.machine.hang(unit) {
                Some(hang) => format!("{hang}, {exit}"),
                None => exit.to_string(),
            };
            if let Some(spec) = self.specs.get(unit) {
                tell(&News::Ended {
                    process: &spec.name,
                    how: &how,
                });
            }
            self.tell_machine(Event::Exited(unit, exit), tell);
        }
        let now = self.clock.now();
        if n_ended > 0 {
            self.due.survey_gap = SURVEY_EVERY[0];
        } else if !self.has_ending() || now < self.due.survey {
            return;
        }
        self.look_for_leftovers(now, tell);
    }

    fn look_for_leftovers(&mut self, now: Time, tell: &mut dyn FnMut(&News<'_>)) {
        let survey = Survey::take_with(&mut self.marks);
        for unit in 0..self.slots.len() {
            let Some(slot) = self.slots.get_mut(unit) else {
                continue;
            };
            if slot.run.as_mut().is_some_and(|run| run.is_gone(&survey)) {
                slot.empty(now, &mut self.buffer);
                self.word = Word::Stale;
                self.tell_machine(Event::Gone(unit), tell);
            }
        }
        let [_, longest] = SURVEY_EVERY;
        self.due.survey_gap = (self.due.survey_gap * 2).min(longest);
        self.due.survey = self.clock.now() + self.due.survey_gap;
    }

    fn has_ending(&self) -> bool {
        let mut runs = self.slots.iter().filter_map(|slot| slot.run.as_ref());
        runs.any(|run| run.has_exited)
    }

    fn do_what_is_due(&mut self, care: Care, tell: &mut dyn FnMut(&News<'_>)) {
        let now = self.clock.now();
        if now >= self.due.output {
            self.due.output = now + OUTPUT_EVERY;
            self.read_outputs(now, tell);
            self.desk.on_time(now);
        }
        self.present(now);
        if now >= self.due.status {
            self.measure(now, care);
            self.repeat_alarms(now);
            if self.word == Word::Lost {
                self.word = Word::Stale;
            }
        }
        // Before it is reported: a subscriber that learns of a run must be able to count on it.
        if self.word == Word::Stale {
            self.leave_word();
        }
        let is_changed = self.machine.n_changes() != self.n_told;
        if now >= self.due.status || is_changed && now >= self.due.soonest_status {
            self.report(now);
        }
    }

    /// Announces that it is there, and which programs run that do not announce themselves.
    fn present(&mut self, now: Time) {
        let places = self.specs.iter().zip(&self.slots).enumerate();
        let told =
            places.filter(|(_, (spec, slot))| !spec.described.is_empty() && slot.run.is_some());
        let told: Vec<usize> = told.map(|(unit, _)| unit).collect();
        let specs = told
            .iter()
            .filter_map(|&unit| Some((unit, self.specs.get(unit)?)));
        if told != self.told_of {
            let programs = specs
                .clone()
                .flat_map(|(_, spec)| spec.described.iter().cloned());
            self.desk.describe(now, programs);
        } else if now < self.due.presence {
            return;
        }
        let health = specs.flat_map(|(unit, spec)| {
            let phase = self.machine.view(unit, now).map(|view| view.phase);
            let health = match phase {
                Some(Phase::Running) => Health::Good,
                Some(_) | None => Health::Starting,
            };
            let components = spec.described.iter();
            components.map(move |component| health.heartbeat(&component.name))
        });
        let alarm = self.machine.alarms().next().map(|(_, text)| text);
        self.due.presence = self.desk.present(&self.clock, alarm, health.collect());
        self.told_of = told;
    }

    fn read_outputs(&mut self, now: Time, tell: &mut dyn FnMut(&News<'_>)) {
        for (slot, spec) in self.slots.iter_mut().zip(&self.specs) {
            slot.read(now, &mut self.buffer);
            let batch = slot.lines.publish().unwrap_or_default();
            for line in &batch.lines {
                tell(&News::Printed {
                    process: &spec.name,
                    line,
                });
            }
            for output in report::output(self.claim.own(), now, &spec.name, slot, batch) {
                // The bus counts what it could not send.
                drop(self.bus.publish(report::OUTPUT_CHANNEL, &output));
            }
            slot.free();
        }
    }

    fn measure(&mut self, now: Time, care: Care) {
        let stats = proc::stats();
        let usages = self.meter.measure(now, &stats);
        let mut groups = BTreeSet::new();
        for slot in &mut self.slots {
            if let Some(run) = &slot.run {
                let group = run.pid.as_raw_nonzero().get();
                groups.insert(group);
                slot.usage = usages.get(&group).copied().unwrap_or_default();
            }
        }
        if care == Care::Everything {
            self.meter.reap_orphans(&stats, &groups);
        }
    }
}

fn said(tell: &mut dyn FnMut(&News<'_>), news: &News<'_>) -> Option<Event> {
    tell(news);
    None
}

fn has_ended(descriptor: BorrowedFd<'_>) -> bool {
    wait(&[descriptor], Some(Duration::ZERO)).is_ok_and(|found| !found.is_empty())
}

/// Waits until something can be read from some descriptors; returns from which, by their places.
fn wait(
    descriptors: &[BorrowedFd<'_>],
    timeout: Option<Duration>,
) -> Result<Vec<usize>, SuperviseError> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let polled = descriptors
        .iter()
        .map(|it| PollFd::from_borrowed_fd(*it, PollFlags::IN));
    let mut polled: Vec<PollFd<'_>> = polled.collect();
    match poll(&mut polled, timeout.as_ref()) {
        // A signal for another purpose.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(SuperviseError::Wait(error.into())),
    }
    let found = polled
        .iter()
        .enumerate()
        .filter(|(_, it)| !it.revents().is_empty());
    Ok(found.map(|(place, _)| place).collect())
}

/// Why a plan is not, or no longer, carried out.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// Something is wrong with it.
    #[error(transparent)]
    Plan(#[from] BadPlan),
    /// There is a supervisor already, or the system refuses.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is a supervisor already, on another machine or of another user.
    #[error(
        "{name} has a supervisor already: {who}. Stop that one, or give this one another host name"
    )]
    Taken {
        /// What it is called.
        name: String,
        /// Who it is.
        who: String,
    },
    /// Nothing can be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// No orders can be taken.
    #[error(transparent)]
    Desk(#[from] DeskError),
    /// The system does not let it wait.
    #[error("cannot wait for processes: {0}")]
    Wait(io::Error),
}

//! The machine in a simulated world: processes that crash, hang, ignore signals and take their time; people who give
//! orders; a supervisor that is held up. Each seed is a schedule, and what must hold in all of them is checked at each
//! action.

mod by_hand;

use super::*;
use crate::supervise::plan::{HEARTBEAT_LIMIT, Heartbeat, Publication, Ready, Restart, SafeState};
use bowline_testing::random::Random;
use bowline_testing::sweep;
use std::collections::BTreeMap;

const N_SCHEDULES: u64 = 5_000;
const N_SAMPLE: usize = 1_000;
/// How long the world goes on before everything is to be stopped.
const CHAOS: Duration = Duration::from_secs(90);
/// How long what was killed may take to be gone.
const DYING_MS: u64 = 80;
const GRACE: Duration = Duration::from_secs(1);

/// What will happen in the world.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Starts { unit: usize, run: u64 },
    Beats { unit: usize, run: u64 },
    Hangs { unit: usize, run: u64 },
    Exits { unit: usize, run: u64, code: i32 },
    IsGone { unit: usize, run: u64 },
    SomebodyOrders,
    Looks,
    EverythingStops,
}

/// A run of a process.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "processes are in any combination of these"
)]
struct Run {
    id: u64,
    is_hung: bool,
    is_ready: bool,
    has_beaten: bool,
    has_exited: bool,
    ignores_signals: bool,
    was_asked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Chaos,
    Over,
}

struct World {
    plan: Plan,
    machine: Machine,
    random: Random,
    now: Time,
    fates: BTreeMap<(Time, u64), Fate>,
    n_fates: u64,
    runs: Vec<Option<Run>>,
    n_runs: u64,
    has_succeeded: Vec<bool>,
    is_given_up: Vec<bool>,
    is_unwanted: Vec<bool>,
    /// Whether the next spawn is ordered.
    is_ordered: Vec<bool>,
    restarts: Vec<Vec<Time>>,
    mood: Mood,
    seed: u64,
}

fn random_plan(random: &mut Random) -> Plan {
    let n = 1 + random.below(7);
    let processes: Vec<ProcessSpec> = (0..n).map(|place| random_process(random, place)).collect();
    let mut some = |one_in| -> Vec<String> {
        let names = processes.iter().map(|spec| spec.name.clone());
        names.filter(|_| random.one_in(one_in)).collect()
    };
    let stop = some(3);
    let start = some(5);
    let mut plan = Plan {
        robot: "robot".to_owned(),
        host: "host".to_owned(),
        safe_state: SafeState {
            stop,
            start,
            publish: vec![Publication {
                channel: "stop".to_owned(),
                bytes: vec![1],
                every: Duration::from_millis(500),
                utime_at: None,
            }],
        },
        processes,
        ..Plan::default()
    };
    if plan.check().is_err() {
        // It would start what needs something that it stops.
        plan.safe_state.start.clear();
    }
    plan
}

fn random_process(random: &mut Random, place: usize) -> ProcessSpec {
    let mut spec = ProcessSpec::new(format!("p{place}"), ["x"]);
    spec.after = (0..place)
        .filter(|_| random.one_in(3))
        .map(|other| format!("p{other}"))
        .collect();
    spec.group = if random.one_in(2) { "g" } else { "" }.to_owned();
    spec.restart = [Restart::Always, Restart::OnFailure, Restart::Never][place % 3];
    if !random.one_in(3) {
        spec.restart = Restart::Always;
    }
    if random.one_in(2) {
        spec.heartbeat = Heartbeat::Presence {
            components: vec!["c".to_owned()],
            within: HEARTBEAT_LIMIT,
        };
        if random.one_in(2) {
            spec.ready = Ready::FirstHeartbeat;
        }
    }
    spec.ready_within = Duration::from_secs(3);
    spec.grace = GRACE;
    spec
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let plan = random_plan(&mut random);
        plan.check().expect("a sound plan");
        let n = plan.processes.len();
        Self {
            machine: Machine::new(&plan),
            plan,
            random,
            now: Time::from_ns(1_000_000_000),
            fates: BTreeMap::new(),
            n_fates: 0,
            runs: vec![None; n],
            n_runs: 0,
            has_succeeded: vec![false; n],
            is_given_up: vec![false; n],
            is_unwanted: vec![false; n],
            is_ordered: vec![true; n],
            restarts: vec![Vec::new(); n],
            mood: Mood::Chaos,
            seed,
        }
    }

    fn run(&mut self) {
        self.later(CHAOS, Fate::EverythingStops);
        self.later(Duration::from_millis(700), Fate::SomebodyOrders);
        self.tell(Event::Begin);
        self.later(Duration::ZERO, Fate::Looks);
        let n = u32::try_from(self.plan.processes.len()).unwrap();
        // Each waits for the one before, in the worst case.
        let end = self.now + CHAOS + (GRACE + Duration::from_secs(1)) * n + Duration::from_secs(3);
        while let Some(((at, _), fate)) = self.fates.pop_first() {
            self.now = self.now.max(at);
            if self.random.one_in(5_000) {
                // The supervisor is held up, and everything waits for it.
                self.now = self.now + self.random.millis(50, 3_000);
            }
            self.happen(fate);
            if self.machine.is_over() {
                break;
            }
            assert!(
                self.now < end,
                "{}: not everything was stopped in time",
                self.who()
            );
        }
        assert!(self.machine.is_over(), "{}", self.who());
        assert!(
            self.runs.iter().all(Option::is_none),
            "{}: something is left",
            self.who()
        );
    }

    fn who(&self) -> String {
        format!("seed {}, {:?}", self.seed, self.now)
    }

    fn later(&mut self, delay: Duration, fate: Fate) {
        self.n_fates += 1;
        self.fates.insert((self.now + delay, self.n_fates), fate);
    }

    fn is_current(&self, unit: usize, id: u64) -> bool {
        self.runs[unit].as_ref().is_some_and(|run| run.id == id)
    }

    fn happen(&mut self, fate: Fate) {
        match fate {
            Fate::Starts { unit, run } if self.is_current(unit, run) => self.start(unit, run),
            Fate::Beats { unit, run } if self.is_current(unit, run) => self.beat(unit, run),
            Fate::Hangs { unit, run } if self.is_current(unit, run) => {
                self.runs[unit].as_mut().unwrap().is_hung = true;
            }
            Fate::Exits { unit, run, code } if self.is_current(unit, run) => {
                self.exit(unit, Exit::Code(code));
            }
            Fate::IsGone { unit, run } if self.is_current(unit, run) => {
                self.runs[unit] = None;
                self.tell(Event::Gone(unit));
            }
            Fate::Starts { .. } | Fate::Beats { .. } | Fate::Hangs { .. } => {}
            Fate::Exits { .. } | Fate::IsGone { .. } => {}
            Fate::SomebodyOrders => self.order(),
            Fate::EverythingStops => {
                self.mood = Mood::Over;
                self.is_unwanted.fill(true);
                self.tell(Event::End);
            }
            Fate::Looks => self.look(),
        }
    }

    /// As a supervisor does: when the machine wants it.
    fn look(&mut self) {
        self.tell(Event::Tick);
        let wanted = self
            .machine
            .deadline()
            .map_or(Duration::from_millis(200), |at| at.since(self.now));
        let delay = wanted.clamp(Duration::from_millis(1), Duration::from_millis(200));
        self.later(delay, Fate::Looks);
    }

    fn start(&mut self, unit: usize, run: u64) {
        if self.random.one_in(25) {
            self.runs[unit] = None;
            self.tell(Event::NotStarted(unit, "no such file".to_owned()));
            return;
        }
        let spec = &self.plan.processes[unit];
        let has_heartbeat = spec.heartbeat != Heartbeat::None;
        self.runs[unit].as_mut().unwrap().is_ready = spec.ready == Ready::Immediately;
        // Some live long, and some do not live at all.
        let life = match self.random.below(4) {
            0 => self.random.millis(1, 200),
            1 => self.random.millis(1, 8_000),
            _ => self.random.millis(1, 60_000),
        };
        match self.random.below(3) {
            0 => self.later(life, Fate::Exits { unit, run, code: 0 }),
            1 => self.later(life, Fate::Exits { unit, run, code: 1 }),
            _ => self.later(life, Fate::Hangs { unit, run }),
        }
        if has_heartbeat {
            let delay = self.random.millis(10, 3_500);
            self.later(delay, Fate::Beats { unit, run });
        }
        self.tell(Event::Started(unit));
    }

    fn beat(&mut self, unit: usize, run: u64) {
        let state = self.runs[unit].as_mut().unwrap();
        if state.is_hung || state.has_exited {
            return;
        }
        state.is_ready = true;
        state.has_beaten = true;
        self.later(Duration::from_millis(200), Fate::Beats { unit, run });
        self.tell(Event::Beat(unit, 0, self.now));
    }

    fn exit(&mut self, unit: usize, exit: Exit) {
        let run = self.runs[unit].as_mut().unwrap();
        if run.has_exited {
            return;
        }
        run.has_exited = true;
        let id = run.id;
        self.has_succeeded[unit] = exit.is_success();
        // Sometimes what it started lives on.
        if !self.random.one_in(3) {
            let delay = self.random.millis(0, DYING_MS);
            self.later(delay, Fate::IsGone { unit, run: id });
        }
        self.tell(Event::Exited(unit, exit));
    }

    fn order(&mut self) {
        let delay = self.random.millis(50, 15_000);
        self.later(delay, Fate::SomebodyOrders);
        if self.mood == Mood::Over {
            assert_eq!(
                self.machine.order(self.now, Verb::Start, ALL),
                Err(OrderError::Ending)
            );
            return;
        }
        let verb = [Verb::Start, Verb::Stop, Verb::Restart][self.random.below(3)];
        let target = match self.random.below(5) {
            0 => ALL.to_owned(),
            1 => "g".to_owned(),
            _ => format!("p{}", self.random.below(8)),
        };
        let Ok((actions, concerned)) = self.machine.order(self.now, verb, &target) else {
            return;
        };
        for unit in concerned {
            self.is_unwanted[unit] = verb == Verb::Stop;
            self.is_ordered[unit] = true;
            self.restarts[unit].clear();
        }
        self.act(actions);
    }

    fn tell(&mut self, event: Event) {
        let actions = self.machine.handle(&self.plan, self.now, event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Spawn(unit) => self.spawn(unit),
                Action::Signal(unit) => self.signal(unit),
                Action::Kill(unit) => self.kill(unit),
                Action::Raise(unit, _) => {
                    assert!(
                        !self.is_given_up[unit],
                        "{}: alarm raised twice",
                        self.who()
                    );
                    self.is_given_up[unit] = true;
                }
                Action::Clear(unit) => {
                    assert!(self.is_given_up[unit], "{}: nothing to clear", self.who());
                    self.is_given_up[unit] = false;
                }
                Action::EnterSafeState => self.enter_safe_state(),
                Action::LeaveSafeState => {}
                Action::Publish(_) => {
                    assert!(
                        self.machine.is_safe_state(),
                        "{}: nothing to report",
                        self.who()
                    );
                }
            }
        }
    }

    fn enter_safe_state(&mut self) {
        let SafeState { stop, start, .. } = self.plan.safe_state.clone();
        for (unit, spec) in self.plan.processes.iter().enumerate() {
            if stop.contains(&spec.name) {
                self.is_unwanted[unit] = true;
            }
            // It may start again, and what it needs too, as often as anything that was ordered.
            if !start.is_empty() {
                self.is_ordered[unit] = true;
                self.is_unwanted[unit] = self.machine.units[unit].want == Want::Down;
                self.restarts[unit].clear();
            }
        }
    }

    fn spawn(&mut self, unit: usize) {
        let who = format!("{}, p{unit}", self.who());
        assert!(self.runs[unit].is_none(), "{who}: two runs at once");
        assert!(!self.is_given_up[unit], "{who}: it was given up");
        assert_eq!(self.mood, Mood::Chaos, "{who}: everything is being stopped");
        let spec = self.plan.processes[unit].clone();
        let is_stopped_for_safety = self.plan.safe_state.stop.contains(&spec.name);
        assert!(
            !(is_stopped_for_safety && self.machine.is_safe_state()),
            "{who}: unsafe"
        );
        for name in &spec.after {
            let other = self
                .plan
                .processes
                .iter()
                .position(|it| it.name == *name)
                .unwrap();
            let is_ready = match &self.runs[other] {
                Some(run) => run.is_ready && !run.has_exited,
                None => self.has_succeeded[other],
            };
            assert!(is_ready, "{who}: {name} is not ready");
        }
        if !std::mem::take(&mut self.is_ordered[unit]) {
            self.restarts[unit].push(self.now);
            let of_late = |at: &&Time| self.now.since(**at) < RESTART_WINDOW;
            let n_of_late = self.restarts[unit].iter().filter(of_late).count();
            assert!(n_of_late <= MAX_RESTARTS, "{who}: {n_of_late} restarts");
        }
        self.n_runs += 1;
        let run = self.n_runs;
        self.runs[unit] = Some(Run {
            id: run,
            is_hung: false,
            is_ready: false,
            has_beaten: false,
            has_exited: false,
            ignores_signals: self.random.one_in(3),
            was_asked: false,
        });
        let delay = self.random.millis(0, 30);
        self.later(delay, Fate::Starts { unit, run });
    }

    fn signal(&mut self, unit: usize) {
        let who = format!("{}, p{unit}", self.who());
        for dependent in self.machine.dependents[unit].clone() {
            let is_left = self.runs[dependent].is_some() && self.is_unwanted[dependent];
            assert!(
                !(is_left && self.is_unwanted[unit]),
                "{who}: stopped before p{dependent}"
            );
        }
        let delay = self.random.millis(0, 1_500);
        let run = self.runs[unit].as_mut().expect("something to signal");
        run.was_asked = true;
        let (id, is_deaf) = (run.id, run.ignores_signals || run.is_hung);
        if !is_deaf {
            self.later(
                delay,
                Fate::Exits {
                    unit,
                    run: id,
                    code: 0,
                },
            );
        }
    }

    fn kill(&mut self, unit: usize) {
        let who = format!("{}, p{unit}", self.who());
        let spec = &self.plan.processes[unit];
        // No order waits for it, or its heartbeats have gone on.
        let is_heard = spec.heartbeat == Heartbeat::None
            || self.runs[unit].as_ref().is_some_and(|run| run.has_beaten);
        let run = self.runs[unit]
            .as_ref()
            .unwrap_or_else(|| panic!("{who}: nothing to kill"));
        let is_innocent = !run.is_hung && !run.has_exited && !run.was_asked && run.is_ready;
        assert!(!(is_innocent && is_heard), "{who}: killed without a reason");
        let id = run.id;
        if !run.has_exited {
            self.exit(
                unit,
                Exit::Signal {
                    number: 9,
                    has_core: false,
                },
            );
        }
        let delay = self.random.millis(0, DYING_MS);
        self.later(delay, Fate::IsGone { unit, run: id });
    }
}

#[test]
fn no_schedule_breaks_a_promise() {
    for seed in sweep::choose(
        "schedules of a supervisor",
        (0..N_SCHEDULES).collect(),
        N_SAMPLE,
    ) {
        World::new(seed).run();
    }
}

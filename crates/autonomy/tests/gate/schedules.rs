//! Thousands of random schedules of two stations and a gate: links that lose, repeat, delay and reorder, and restarts of
//! everybody. An oracle that knows when each command was made looks at every one that is taken, and at every thrust.

use crate::bench::{START, ms, task, thrust};
use bowline_autonomy::gate::{Event, Gate, Input, Rules};
use bowline_autonomy::operator::Session;
use bowline_msgs::{
    self as msgs, Authority, GateToken, LeaseRequest, StopCommand, Task, TaskCommand, Thrust,
    ThrustCommand,
};
use bowline_node::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

const N_SCHEDULES: u64 = 10_000;
const N_STATIONS: usize = 2;
/// Of a schedule, in the time of the gate.
const LASTS: Duration = Duration::from_secs(8);

/// A stream of numbers from a seed.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn is_hit(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone)]
enum Message {
    Direct(ThrustCommand),
    Task(TaskCommand),
    Stop(StopCommand),
    Lease(LeaseRequest),
}

impl Message {
    fn by(&self) -> &Authority {
        match self {
            Self::Direct(it) => &it.by,
            Self::Task(it) => &it.by,
            Self::Stop(it) => &it.by,
            Self::Lease(it) => &it.by,
        }
    }
}

/// What happens at a moment, in the order in which it was planned.
enum Happening {
    /// To the gate, made at that time.
    Arrives(Message, Time),
    /// To a station.
    Hears(usize, GateToken),
    Tick,
    Speaks(usize),
    Wishes,
    Restarts(Option<usize>),
}

/// Whoever has seen everything: what it finds wrong fails the test.
#[derive(Default)]
struct Oracle {
    /// By epoch: whose it is, and the first and the last moment at which a word under it was taken.
    epochs: BTreeMap<i64, (i64, Time, Time)>,
    /// When the direct command that may move the vehicle now was made, and when it was taken.
    direct: Option<Time>,
    /// Whether the helm may move the vehicle, and until when if there is an end to it.
    helm: Option<Option<Time>>,
    /// When the last stop was taken, if it holds; and when the last one was cleared.
    is_stopped: bool,
    cleared: Option<Time>,
    n_moved: u64,
    n_taken: u64,
}

struct Schedule {
    seed: u64,
    random: Random,
    rules: Rules,
    now: Time,
    gate: Gate<Thrust>,
    /// What the gate said of itself when it last changed, and which change that was.
    report: (u64, msgs::Gate),
    stations: Vec<Session>,
    /// How bad the links are, percent.
    loss: u64,
    plans: BinaryHeap<Reverse<(Time, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    n_planned: u64,
    oracle: Oracle,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let rules = Rules {
            ranks: [("a".to_owned(), 1), ("b".to_owned(), 2)].into(),
            grace: ms(500 + random.below(3_000)),
            answer_within: ms(500 + random.below(2_000)),
            contingency: bowline_autonomy::gate::Contingency::ALL[random.below(4) as usize],
            ..Rules::default()
        };
        let mut schedule = Self {
            seed,
            loss: random.below(50),
            random,
            now: START,
            gate: Gate::new(rules.clone(), START).unwrap(),
            report: (u64::MAX, msgs::Gate::default()),
            rules,
            stations: Vec::new(),
            plans: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            n_planned: 0,
            oracle: Oracle {
                is_stopped: true,
                ..Oracle::default()
            },
        };
        schedule.gate.events();
        for station in 0..N_STATIONS {
            let session = schedule.session(station);
            schedule.stations.push(session);
            schedule.plan(Duration::ZERO, Happening::Speaks(station));
        }
        schedule.plan(Duration::ZERO, Happening::Tick);
        schedule.plan(Duration::ZERO, Happening::Wishes);
        for _ in 0..schedule.random.below(4) {
            let whom = schedule.random.below(3) as usize;
            let at = ms(schedule.random.below(LASTS.as_millis() as u64));
            schedule.plan(at, Happening::Restarts((whom < N_STATIONS).then_some(whom)));
        }
        schedule
    }

    /// A station that begins. Its clock is an hour off, which is nobody's business.
    fn session(&mut self, station: usize) -> Session {
        let number = (self.random.next() >> 1) as i64;
        let name = ["a", "b"][station];
        Session::new(name, number, self.random.below(4) as i32)
    }

    fn plan(&mut self, after: Duration, happening: Happening) {
        let id = self.n_planned;
        self.n_planned += 1;
        self.plans.push(Reverse((self.now + after, id)));
        self.happenings.insert(id, happening);
    }

    fn run(mut self) -> Oracle {
        let end = START + LASTS;
        while let Some(Reverse((at, id))) = self.plans.pop() {
            if at > end {
                break;
            }
            // What is due in between happens when it is due.
            while let Some(deadline) = self.gate.deadline().filter(|it| *it <= at) {
                self.now = self.now.max(deadline);
                self.gate.advance(self.now);
                self.look();
            }
            self.now = at;
            let happening = self.happenings.remove(&id).unwrap();
            self.happen(happening);
            self.look();
        }
        self.oracle
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Tick => {
                self.gate.advance(self.now);
                self.announce();
                self.plan(ms(50), Happening::Tick);
            }
            Happening::Hears(station, token) => self.stations[station].hear(&token),
            Happening::Speaks(station) => self.speak(station),
            Happening::Wishes => {
                self.gate
                    .handle(self.now, Input::Wish(&thrust(0.5)))
                    .unwrap();
                self.plan(ms(100), Happening::Wishes);
            }
            Happening::Arrives(message, made) => self.arrive(&message, made),
            Happening::Restarts(Some(station)) => self.stations[station] = self.session(station),
            Happening::Restarts(None) => {
                self.gate = Gate::new(self.rules.clone(), self.now).unwrap();
                self.report.0 = u64::MAX;
                self.oracle.stop();
            }
        }
    }

    fn report(&mut self) -> &msgs::Gate {
        let n_changes = self.gate.n_changes();
        if self.report.0 != n_changes {
            self.report = (n_changes, self.gate.report(""));
        }
        &self.report.1
    }

    fn announce(&mut self) {
        let token = self.gate.token();
        for station in 0..N_STATIONS {
            for delay in self.ways() {
                self.plan(delay, Happening::Hears(station, token.clone()));
            }
        }
    }

    /// When copies of a message come out at the other end of a link, if any do.
    fn ways(&mut self) -> Vec<Duration> {
        let mut ways = Vec::new();
        let n = 1 + u64::from(self.random.is_hit(self.loss / 4));
        for _ in 0..n {
            if self.random.is_hit(self.loss) {
                continue;
            }
            // Most are quick; some are held up for longer than any bound.
            let most = if self.random.is_hit(5) { 4_000 } else { 60 };
            ways.push(ms(self.random.below(most)));
        }
        ways
    }

    /// What a station says: most often what one that commands would say.
    fn speak(&mut self, station: usize) {
        let now = self.now + Duration::from_secs(3_600);
        let session = &mut self.stations[station];
        let roll = self.random.below(100);
        let message = if !session.is_holder() && roll < 70 {
            let ask = if roll < 5 {
                LeaseRequest::PREEMPT
            } else {
                LeaseRequest::TAKE
            };
            Message::Lease(session.request(now, ask))
        } else {
            match roll {
                0..=39 => Message::Direct(session.thrust(now, 0.0, 0.0)),
                40..=59 => Message::Direct(session.thrust(now, 0.3, 0.3)),
                60..=69 => Message::Stop(session.clear(now)),
                70..=71 => Message::Stop(session.stop(now, "because")),
                72..=77 => Message::Task(session.task(now, task("survey 0,0 9,0 9,9"))),
                78..=81 => Message::Task(session.task(now, task("heading 90 1"))),
                82 => Message::Task(session.task(now, task("hold"))),
                83..=84 => Message::Task(session.task(now, task("resume"))),
                85 => Message::Lease(session.request(now, LeaseRequest::RELEASE)),
                86..=88 => Message::Lease(session.request(now, LeaseRequest::CONSENT)),
                89 => Message::Lease(session.request(now, LeaseRequest::DENY)),
                _ => Message::Lease(session.request(now, LeaseRequest::RENEW)),
            }
        };
        for delay in self.ways() {
            self.plan(delay, Happening::Arrives(message.clone(), self.now));
        }
        let pause = ms(20 + self.random.below(60));
        self.plan(pause, Happening::Speaks(station));
    }

    fn arrive(&mut self, message: &Message, made: Time) {
        let input = match message {
            Message::Direct(it) => Input::Direct(&it.by, &it.thrust),
            Message::Task(it) => Input::Task(it),
            Message::Stop(it) => Input::Stop(it),
            Message::Lease(it) => Input::Lease(it),
        };
        let before = self.report().epoch;
        let outcome = self.gate.handle(self.now, input);
        self.report();
        let report = &self.report.1;
        let is_new_lease = report.epoch != before;
        if outcome.is_ok() {
            let oracle = &mut self.oracle;
            oracle.see(message, (made, self.now), &self.rules, self.seed);
            if is_new_lease {
                oracle.grant(report, self.now, self.seed);
                // Nobody may move the vehicle on under the old one, but the helm.
                oracle.direct = None;
            }
        }
        if is_new_lease {
            self.announce();
        }
    }

    /// At every moment: whatever moves has a reason that still holds.
    fn look(&mut self) {
        for event in self.gate.events() {
            if let Event::Task(task) = event
                && task.name.starts_with("contingency")
                && task.kind != Task::HOLD
            {
                self.oracle.helm = Some(None);
            }
        }
        let is_moving = self.gate.output().port_ratio != 0.0;
        self.report();
        let report = &self.report.1;
        self.oracle
            .check(is_moving, report, self.now, &self.rules, self.seed);
    }
}

impl Oracle {
    fn stop(&mut self) {
        self.is_stopped = true;
        self.direct = None;
        self.helm = None;
    }

    fn grant(&mut self, report: &msgs::Gate, now: Time, seed: u64) {
        let last = self.epochs.last_key_value();
        if let Some((epoch, (_, _, until))) = last {
            assert!(
                report.epoch > *epoch,
                "seed {seed}: epoch {} after {epoch}",
                report.epoch
            );
            assert!(*until <= now, "seed {seed}: two holders at {now:?}");
        }
        self.epochs.insert(report.epoch, (report.session, now, now));
    }

    /// A command was taken.
    fn see(&mut self, message: &Message, (made, now): (Time, Time), rules: &Rules, seed: u64) {
        self.n_taken += 1;
        let by = message.by();
        let age = now.since(made);
        let bound = match message {
            Message::Direct(_) => rules.ttl,
            Message::Stop(it) if it.ask == StopCommand::STOP => Duration::MAX,
            Message::Task(it) if it.task.kind == Task::SETPOINT => rules.setpoint_ttl,
            Message::Stop(_) | Message::Task(_) | Message::Lease(_) => rules.task_ttl,
        };
        assert!(age <= bound, "seed {seed}: {age:?} old, and taken");
        let needs_lease = match message {
            Message::Direct(_) | Message::Task(_) => true,
            Message::Stop(it) => it.ask == StopCommand::CLEAR,
            Message::Lease(it) => it.ask != LeaseRequest::TAKE && it.ask != LeaseRequest::PREEMPT,
        };
        if needs_lease {
            let (newest, _) = self.epochs.last_key_value().unwrap();
            assert_eq!(by.epoch, *newest, "seed {seed}: an old epoch was taken");
            let (session, _, until) = self.epochs.get_mut(&by.epoch).unwrap();
            assert_eq!(
                by.session, *session,
                "seed {seed}: two holders of one lease"
            );
            *until = now;
        }
        match message {
            Message::Stop(it) if it.ask == StopCommand::STOP => self.stop(),
            Message::Stop(_) => {
                if self.is_stopped {
                    self.cleared = Some(now);
                    (self.direct, self.helm) = (None, None);
                }
                self.is_stopped = false;
            }
            Message::Direct(_) => {
                self.is_after_clear(made, seed);
                self.direct = Some(made);
                self.helm = None;
            }
            Message::Task(it) => {
                self.is_after_clear(made, seed);
                self.direct = None;
                self.helm = match it.task.kind {
                    Task::HOLD => None,
                    Task::SETPOINT => Some(Some(made + rules.setpoint_ttl)),
                    _ => Some(None),
                };
            }
            Message::Lease(it) if it.ask == LeaseRequest::RELEASE => self.direct = None,
            Message::Lease(_) => {}
        }
    }

    fn is_after_clear(&self, made: Time, seed: u64) {
        assert!(!self.is_stopped, "seed {seed}: taken while stopped");
        let cleared = self.cleared.unwrap();
        assert!(
            made >= cleared,
            "seed {seed}: made before the stop was cleared"
        );
    }

    fn check(&mut self, is_moving: bool, report: &msgs::Gate, now: Time, rules: &Rules, seed: u64) {
        // A rank that takes over stops the vehicle.
        if report.is_stopped && !self.is_stopped {
            assert_eq!(report.stop_reason, "took control by rank", "seed {seed}");
            self.stop();
        }
        assert_eq!(
            report.is_stopped, self.is_stopped,
            "seed {seed}: at {now:?}"
        );
        if !is_moving {
            return;
        }
        self.n_moved += 1;
        assert!(
            !self.is_stopped,
            "seed {seed}: it moves while it is stopped, at {now:?}"
        );
        let is_direct = self.direct.is_some_and(|made| now <= made + rules.ttl);
        let is_helm = self
            .helm
            .is_some_and(|until| until.is_none_or(|until| now <= until));
        let has_reason = match report.state {
            msgs::Gate::OPERATED if report.level == msgs::Gate::THRUST => is_direct,
            _ => is_helm,
        };
        assert!(
            has_reason,
            "seed {seed}: it moves without a reason at {now:?}: {report:?}"
        );
        if report.state == msgs::Gate::OPERATED {
            assert_ne!(report.session, 0, "seed {seed}: operated by nobody");
        }
    }
}

#[test]
fn no_schedule_has_two_holders_a_late_command_or_a_move_without_a_reason() {
    let (mut n_moved, mut n_taken, mut n_epochs) = (0, 0, 0);
    for seed in 0..N_SCHEDULES {
        let oracle = Schedule::new(seed).run();
        n_moved += u64::from(oracle.n_moved > 0);
        n_taken += oracle.n_taken;
        n_epochs += oracle.epochs.len();
    }
    println!(
        "{N_SCHEDULES} schedules: {n_taken} commands taken, {n_epochs} leases, {n_moved} in which the vehicle moved"
    );
    // What never moves, and nobody ever commands, promises nothing.
    assert!(n_moved > N_SCHEDULES / 4 && n_epochs as u64 > 2 * N_SCHEDULES);
}

#[test]
fn a_station_whose_clock_is_an_hour_off_is_heard_as_any_other() {
    let run = |offset_s: i64| {
        let mut gate: Gate<Thrust> = Gate::new(Rules::default(), START).unwrap();
        let mut bridge = Session::new("bridge", 7, 0);
        let mut story = Vec::new();
        for nth in 0..400_u32 {
            let now = START + ms(25) * nth;
            // In the middle somebody sets the clock, back or forth.
            let offset_s = if nth > 200 { -offset_s } else { offset_s };
            let clock = Time::from_utime(now.utime() + offset_s * 1_000_000);
            gate.advance(now);
            bridge.hear(&gate.token());
            let outcome = match nth {
                1 => gate.handle(
                    now,
                    Input::Lease(&bridge.request(clock, LeaseRequest::TAKE)),
                ),
                4 => gate.handle(now, Input::Stop(&bridge.clear(clock))),
                5..300 => {
                    let ratio = if nth < 20 { 0.0 } else { 0.4 };
                    let command = bridge.thrust(clock, ratio, ratio);
                    gate.handle(now, Input::Direct(&command.by, &command.thrust))
                }
                _ => Ok(()),
            };
            story.push((outcome, gate.output(), gate.report("")));
        }
        story
    };
    let [straight, ahead, behind] = [0, 3_600, -3_600].map(run);
    assert!(
        straight
            .iter()
            .any(|(_, output, _)| output.port_ratio == 0.4)
    );
    assert!(straight == ahead && straight == behind);
}

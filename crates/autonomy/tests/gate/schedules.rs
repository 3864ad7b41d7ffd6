//! Thousands of random schedules of two stations and a gate: links that lose, repeat, delay and reorder, and restarts of
//! all of them. An oracle that knows when each command was made looks at every one that is taken, and at every thrust.

use crate::bench::{START, ms, task, thrust};
use crate::station::Station;
use bowline_autonomy::gate::{Event, Gate, Input, Rules};
use bowline_component::Time;
use bowline_msgs::{
    self as msgs, Authority, DirectCommand, GateToken, LeaseRequest, StopCommand, Task,
    TaskCommand, Thrust,
};
use bowline_testing::random::Random;
use bowline_testing::sweep;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

const N_SCHEDULES: u64 = 10_000;
const N_SAMPLE: usize = 1_000;
const N_STATIONS: usize = 2;
/// Of a schedule, in the time of the gate.
const LASTS: Duration = Duration::from_secs(8);

#[derive(Clone)]
enum Message {
    Direct(DirectCommand),
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

/// The oracle, which has seen everything: what it finds wrong fails the test.
#[derive(Default)]
struct Oracle {
    /// By epoch: whose it is.
    epochs: BTreeMap<i64, i64>,
    /// The holder of the lease in the gate's last report, until when, and who asked for it.
    held: Held,
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

/// A lease as a gate reports it; without a holder if the session is 0.
#[derive(Clone, Default)]
struct Held {
    session: i64,
    rank: i32,
    until_utime: i64,
    asking: String,
}

impl Held {
    fn of(report: &msgs::Gate) -> Self {
        Self {
            session: report.session,
            rank: report.rank,
            until_utime: report.lease_until_utime,
            asking: report.asking.clone(),
        }
    }
}

struct Schedule {
    seed: u64,
    random: Random,
    rules: Rules,
    now: Time,
    gate: Gate<Thrust>,
    /// The gate's state when it last changed, and which change that was.
    report: (u64, msgs::Gate),
    stations: Vec<Station>,
    /// How bad the links are, percent.
    loss: usize,
    plans: BinaryHeap<Reverse<(Time, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    n_planned: u64,
    oracle: Oracle,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let rules = Rules {
            ranks: [("a".to_owned(), 1), ("b".to_owned(), 2)].into(),
            grace: random.millis(500, 3_500),
            answer_within: random.millis(500, 2_500),
            contingency: *random.pick(&bowline_autonomy::gate::Contingency::ALL),
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
            let whom = schedule.random.below(3);
            let at = schedule.random.duration(Duration::ZERO, LASTS);
            schedule.plan(at, Happening::Restarts((whom < N_STATIONS).then_some(whom)));
        }
        schedule
    }

    /// A station that begins. Its clock is an hour off, which must not matter.
    fn session(&mut self, station: usize) -> Station {
        let number = (self.random.bits() >> 1) as i64;
        let name = ["a", "b"][station];
        Station::new(name, number, self.random.below(4) as i32)
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
                // What it had granted has no holder any more: its token shows that.
                self.oracle.held = Held::default();
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
        let n = 1 + usize::from(self.random.percent(self.loss / 4));
        for _ in 0..n {
            if self.random.percent(self.loss) {
                continue;
            }
            // Most are quick; some are held up for longer than any bound.
            let most = if self.random.percent(5) { 4_000 } else { 60 };
            ways.push(self.random.millis(0, most));
        }
        ways
    }

    /// The messages of a station: most often those of one that commands.
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
        let pause = self.random.millis(20, 80);
        self.plan(pause, Happening::Speaks(station));
    }

    fn arrive(&mut self, message: &Message, made: Time) {
        let input = match message {
            Message::Direct(it) => Input::Direct(it),
            Message::Task(it) => Input::Task(it),
            Message::Stop(it) => Input::Stop(it),
            Message::Lease(it) => Input::Lease(it),
        };
        let before = self.report().epoch;
        let outcome = self.gate.handle(self.now, input);
        if message.by().session == self.oracle.held.session {
            // The holder's word renews the lease, which is no news to people: it has to be asked for.
            self.report.0 = u64::MAX;
        }
        self.report();
        let report = &self.report.1;
        let is_new_lease = report.epoch != before;
        let oracle = &mut self.oracle;
        let taken = outcome.is_ok().then_some(message);
        let honest = oracle.hold(report, taken, self.now, &self.rules);
        assert_eq!(honest, Ok(()), "seed {}", self.seed);
        if outcome.is_ok() {
            oracle.see(message, (made, self.now), &self.rules, self.seed);
            if is_new_lease {
                oracle.grant(report, self.seed);
                // No station may move the vehicle on under the old one, but the helm.
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
        let honest = self.oracle.hold(report, None, self.now, &self.rules);
        assert_eq!(honest, Ok(()), "seed {}", self.seed);
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

    fn grant(&mut self, report: &msgs::Gate, seed: u64) {
        if let Some((epoch, _)) = self.epochs.last_key_value() {
            assert!(
                report.epoch > *epoch,
                "seed {seed}: epoch {} after {epoch}",
                report.epoch
            );
        }
        self.epochs.insert(report.epoch, report.session);
    }

    /// A station that held the lease and does not any more was silent for too long, let go, consented, or was outranked; and
    /// one that has it from another was the one to have it. `taken` is what the gate took just now, if anything.
    fn hold(
        &mut self,
        report: &msgs::Gate,
        taken: Option<&Message>,
        now: Time,
        rules: &Rules,
    ) -> Result<(), String> {
        let was = std::mem::replace(&mut self.held, Held::of(report));
        if was.session == 0 || was.session == report.session {
            return Ok(());
        }
        let is_over = now > Time::from_utime(was.until_utime);
        let request = match taken {
            Some(Message::Lease(request)) => Some(request),
            Some(_) | None => None,
        };
        let says = |ask: i8| request.filter(|it| it.ask == ask);
        let is_holders = |it: &&LeaseRequest| it.by.session == was.session;
        let is_let_go = says(LeaseRequest::RELEASE).is_some_and(|it| is_holders(&it));
        let has_consent = says(LeaseRequest::CONSENT).is_some_and(|it| is_holders(&it));
        let is_outranked = says(LeaseRequest::PREEMPT).is_some_and(|it| {
            let most = rules.ranks.get(&it.by.station).copied().unwrap_or(0);
            it.by.session == report.session && it.rank.min(most) > was.rank
        });
        let is_right = match report.session {
            0 => is_over || is_let_go,
            _ => is_over || is_outranked || (has_consent && was.asking == report.holder),
        };
        is_right.then_some(()).ok_or_else(|| {
            format!(
                "two holders at {now:?}: {} had the lease until {}, and {:?} has it",
                was.session, was.until_utime, report.holder
            )
        })
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
            assert_eq!(
                by.session, self.epochs[&by.epoch],
                "seed {seed}: two holders of one lease"
            );
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
            msgs::Gate::OPERATED if report.level == msgs::Gate::DIRECT => is_direct,
            _ => is_helm,
        };
        assert!(
            has_reason,
            "seed {seed}: it moves without a reason at {now:?}: {report:?}"
        );
        if report.state == msgs::Gate::OPERATED {
            assert_ne!(report.session, 0, "seed {seed}: operated by no station");
        }
    }
}

#[test]
fn no_schedule_has_two_holders_a_late_command_or_a_move_without_a_reason() {
    let (mut n_moved, mut n_taken, mut n_epochs) = (0, 0, 0);
    let seeds = sweep::choose(
        "schedules of two stations and a gate",
        (0..N_SCHEDULES).collect(),
        N_SAMPLE,
    );
    let n_schedules = seeds.len();
    for seed in seeds {
        let oracle = Schedule::new(seed).run();
        n_moved += usize::from(oracle.n_moved > 0);
        n_taken += oracle.n_taken;
        n_epochs += oracle.epochs.len();
    }
    println!(
        "{n_schedules} schedules: {n_taken} commands taken, {n_epochs} leases, {n_moved} in which the vehicle moved"
    );
    // What never moves, and is never commanded, promises nothing.
    assert!(n_moved > n_schedules / 4 && n_epochs > 2 * n_schedules);
}

#[test]
fn oracle_distinguishes_theft_from_handover() {
    let rules = Rules {
        ranks: [("a".to_owned(), 1), ("b".to_owned(), 2)].into(),
        ..Rules::default()
    };
    let until = START + rules.lease;
    let report = |holder: &str, session: i64, asking: &str| msgs::Gate {
        holder: holder.to_owned(),
        session,
        rank: 1,
        asking: asking.to_owned(),
        lease_until_utime: until.utime(),
        ..msgs::Gate::default()
    };
    let says = |station: &str, session: i64, rank: i32, ask: i8| {
        Message::Lease(Station::new(station, session, rank).request(START, ask))
    };
    let (early, late) = (until, until + Duration::from_nanos(1));
    let (own, other, nobody) = (("a", 1), ("b", 2), ("", 0));
    let take = says("b", 2, 2, LeaseRequest::TAKE);
    let release = says("a", 1, 0, LeaseRequest::RELEASE);
    let consent = says("a", 1, 0, LeaseRequest::CONSENT);
    let preempt = says("b", 2, 9, LeaseRequest::PREEMPT);
    // Who asked, who has it next, after which word, when, and whether that is right.
    #[rustfmt::skip]
    let histories = [
        ("it is kept",               "",  own,    None,                 early, true),
        ("it was over",              "",  other,  Some(take.clone()),   late,  true),
        ("stolen by TAKE",           "",  other,  Some(take.clone()),   early, false),
        ("stolen by asking",         "b", other,  Some(take),           early, false),
        ("stolen without a word",    "b", other,  None,                 early, false),
        ("it ran out",               "",  nobody, None,                 late,  true),
        ("it was lost too early",    "",  nobody, None,                 early, false),
        ("it was released",          "",  nobody, Some(release.clone()), early, true),
        ("another released it",      "",  nobody, Some(says("b", 2, 0, LeaseRequest::RELEASE)), early, false),
        ("released, to a thief",     "",  other,  Some(release),        early, false),
        ("it was handed over",       "b", other,  Some(consent.clone()), early, true),
        ("to one who did not ask",   "c", other,  Some(consent),        early, false),
        ("another consented",        "b", other,  Some(says("b", 2, 0, LeaseRequest::CONSENT)), early, false),
        ("rank took it",             "",  other,  Some(preempt.clone()), early, true),
        ("for another",        "",  ("c", 3), Some(preempt),      early, false),
        ("rank that was not wanted", "",  other,  Some(says("b", 2, 1, LeaseRequest::PREEMPT)), early, false),
        ("rank without a grant",    "",  ("c", 3), Some(says("c", 3, 9, LeaseRequest::PREEMPT)), early, false),
    ];
    for (what, asking, (holder, session), taken, now, is_right) in histories {
        let mut oracle = Oracle::default();
        let first = oracle.hold(&report("a", 1, asking), None, START, &rules);
        assert_eq!(first, Ok(()), "{what}");
        let next = report(holder, session, "");
        let found = oracle.hold(&next, taken.as_ref(), now, &rules);
        assert_eq!(found.is_ok(), is_right, "{what}: {found:?}");
    }
}

#[test]
fn station_with_a_clock_an_hour_off_is_served_equally() {
    let run = |offset_s: i64| {
        let mut gate: Gate<Thrust> = Gate::new(Rules::default(), START).unwrap();
        let mut bridge = Station::new("bridge", 7, 0);
        let mut story = Vec::new();
        for nth in 0..400_u32 {
            let now = START + ms(25) * nth;
            // In the middle the clock is set, back or forth.
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
                    gate.handle(now, Input::Direct(&command))
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

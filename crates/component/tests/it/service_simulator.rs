//! Callers and servers in a world of their own: virtual time, and a network that loses, repeats, delays and reorders
//! what a seed makes of it, with restarts on both sides. Thousands of such worlds hold every promise.

use bowline_component::Time;
use bowline_component::service::{
    CallError, CallId, Caller, Failure, Finished, Incoming, Request, Server, ServerLimits,
    ServiceName,
};
use bowline_msgs::{Answer, Call};
use bowline_testing::random::Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt::Debug;
use std::time::Duration;

/// How often the hosts of callers and servers look at the time.
const TICK: Duration = Duration::from_millis(10);
const N_CALLERS: usize = 3;

/// What a world is like.
#[derive(Clone, Copy, Debug)]
struct Weather {
    n_servers: usize,
    /// Of 100 messages.
    lost_percent: usize,
    repeated_percent: usize,
    /// Nearly all messages take up to this long.
    max_delay: Duration,
    /// A few take up to this long.
    max_straggle: Duration,
    /// How many restarts there are, on average in a world.
    n_restarts: usize,
    n_calls: u64,
    limits: ServerLimits,
    timeouts: (Duration, Duration),
    workers: Workers,
}

/// How components behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workers {
    /// They reply at once.
    Prompt,
    /// They reply at once, late, with an error or never.
    Any,
}

const MILD: Weather = Weather {
    n_servers: 1,
    lost_percent: 0,
    repeated_percent: 20,
    max_delay: Duration::from_millis(20),
    max_straggle: Duration::from_millis(200),
    n_restarts: 0,
    n_calls: 20,
    limits: ServerLimits {
        max_working: 64,
        max_kept: 1024,
        max_kept_bytes: 1 << 20,
        max_callers: 64,
    },
    timeouts: (Duration::from_millis(1_500), Duration::from_secs(4)),
    workers: Workers::Prompt,
};

const ROUGH: Weather = Weather {
    n_servers: 1,
    lost_percent: 30,
    repeated_percent: 30,
    max_delay: Duration::from_millis(60),
    max_straggle: Duration::from_secs(8),
    n_restarts: 3,
    n_calls: 25,
    limits: ServerLimits {
        max_working: 4,
        max_kept: 8,
        max_kept_bytes: 100,
        max_callers: 6,
    },
    timeouts: (Duration::from_millis(1), Duration::from_secs(3)),
    workers: Workers::Any,
};

/// Two servers of one name, and no other trouble but loss.
const RIVALS: Weather = Weather {
    n_servers: 2,
    lost_percent: 10,
    n_restarts: 0,
    limits: MILD.limits,
    ..ROUGH
};

/// What happens at a moment.
#[derive(Clone, Debug, PartialEq)]
enum Happening {
    Call(Call),
    Answer(Answer),
    Begin(usize),
    Cancel(usize, CallId),
    Work(usize, i64, CallId),
    RestartCaller(usize),
    RestartServer(usize),
    Tick,
}

/// What became of a call.
#[derive(Debug)]
struct Made {
    caller: usize,
    begun: Time,
    timeout: Duration,
    outcomes: Vec<(Time, Result<Vec<u8>, CallError>)>,
    /// Its caller restarted meanwhile, and lost interest.
    is_orphan: bool,
}

struct World {
    weather: Weather,
    random: Random,
    now: Time,
    order: u64,
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    callers: Vec<Caller>,
    servers: Vec<(Server, i64)>,
    made: BTreeMap<CallId, Made>,
    /// By the life of a server.
    executed: BTreeMap<(i64, CallId), u32>,
    /// By the instance of a server: what was cancelled there.
    let_be: BTreeSet<(i64, CallId)>,
    /// What happened, where a reader wants to know.
    trace: Option<Vec<String>>,
}

fn service() -> ServiceName {
    ServiceName::new("model.transform").unwrap()
}

fn body(id: &[u8]) -> Vec<u8> {
    [b"typeABCD", id].concat()
}

impl World {
    fn new(seed: u64, weather: Weather) -> Self {
        let mut world = Self {
            weather,
            random: Random::new(seed),
            now: Time::from_ns(1_000_000_000),
            order: 0,
            agenda: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            callers: Vec::new(),
            servers: Vec::new(),
            made: BTreeMap::new(),
            executed: BTreeMap::new(),
            let_be: BTreeSet::new(),
            trace: None,
        };
        for caller in 0..N_CALLERS {
            world.callers.push(Caller::new(&format!("c{caller}"), 1));
        }
        for server in 0..weather.n_servers {
            let instance = 1 + i64::try_from(server).unwrap();
            world
                .servers
                .push((world.new_server(server, instance), instance));
        }
        let span = Duration::from_secs(5);
        for _ in 0..weather.n_calls {
            let who = world.caller_by_chance();
            world.plan_within(span, Happening::Begin(who));
        }
        for _ in 0..world.random.below(2 * weather.n_restarts + 1) {
            let happening = if world.random.percent(60) {
                Happening::RestartServer(world.random.below(weather.n_servers))
            } else {
                Happening::RestartCaller(world.caller_by_chance())
            };
            world.plan_within(span, happening);
        }
        world.plan(Duration::ZERO, Happening::Tick);
        world
    }

    fn new_server(&self, server: usize, instance: i64) -> Server {
        let name = format!("s{server}");
        Server::new(service(), &name, instance, None, self.weather.limits)
    }

    fn caller_by_chance(&mut self) -> usize {
        self.random.below(N_CALLERS)
    }

    fn plan(&mut self, after: Duration, happening: Happening) {
        self.order += 1;
        self.agenda.push(Reverse((self.now + after, self.order)));
        self.happenings.insert(self.order, happening);
    }

    fn plan_within(&mut self, span: Duration, happening: Happening) {
        let after = self.random.duration(Duration::ZERO, span);
        self.plan(after, happening);
    }

    /// Puts a message on the network.
    fn send(&mut self, message: &Happening) {
        let n_copies = 1 + usize::from(self.random.percent(self.weather.repeated_percent));
        for _ in 0..n_copies {
            if self.random.percent(self.weather.lost_percent) {
                continue;
            }
            let longest = if self.random.percent(3) {
                self.weather.max_straggle
            } else {
                self.weather.max_delay
            };
            self.plan_within(longest, message.clone());
        }
    }

    fn run(mut self) -> Self {
        let end = self.now + Duration::from_secs(20);
        while let Some(Reverse((at, order))) = self.agenda.pop()
            && at <= end
        {
            self.now = at;
            let happening = self.happenings.remove(&order).unwrap();
            self.note(&happening);
            match happening {
                Happening::Call(call) => self.on_call(&call),
                Happening::Answer(answer) => self.on_answer(&answer),
                Happening::Begin(caller) => self.begin(caller),
                Happening::Cancel(caller, id) => self.cancel(caller, id),
                Happening::Work(server, instance, id) => self.work(server, instance, id),
                Happening::RestartCaller(caller) => self.restart_caller(caller),
                Happening::RestartServer(server) => self.restart_server(server),
                Happening::Tick => self.tick(),
            }
            self.check_bounds();
        }
        self
    }

    fn note(&mut self, what: &impl Debug) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:?} {what:?}", self.now));
        }
    }

    fn begin(&mut self, caller: usize) {
        let (shortest, longest) = self.weather.timeouts;
        let timeout = self.random.duration(shortest, longest);
        let mark = self.random.bits().to_be_bytes();
        let request = Request {
            service: service(),
            body: body(&mark),
            reply: None,
            timeout,
        };
        let (id, call) = self.callers[caller].begin(self.now, request).unwrap();
        let made = Made {
            caller,
            begun: self.now,
            timeout,
            outcomes: Vec::new(),
            is_orphan: false,
        };
        assert!(self.made.insert(id, made).is_none(), "an id was used twice");
        self.send(&Happening::Call(call));
        if self.weather.workers == Workers::Any && self.random.percent(20) {
            self.plan_within(timeout * 2, Happening::Cancel(caller, id));
        }
    }

    fn cancel(&mut self, caller: usize, id: CallId) {
        if let Some((finished, call)) = self.callers[caller].cancel(self.now, id) {
            self.finished(finished);
            self.send(&Happening::Call(call));
        }
    }

    fn finished(&mut self, finished: Finished) {
        self.note(&finished);
        let made = self.made.get_mut(&finished.id).expect("it was begun");
        made.outcomes.push((self.now, finished.outcome.clone()));
        if finished.outcome.is_ok() {
            let server = finished.server.expect("a server replied");
            let key = (server.instance, finished.id);
            assert_eq!(self.executed.get(&key), Some(&1), "a reply to nothing");
        }
    }

    /// All callers receive all answers.
    fn on_answer(&mut self, answer: &Answer) {
        for caller in 0..self.callers.len() {
            if let Some(finished) = self.callers[caller].on_answer(self.now, answer) {
                self.finished(finished);
            }
        }
    }

    /// All servers receive all calls.
    fn on_call(&mut self, call: &Call) {
        for server in 0..self.servers.len() {
            let handled = self.servers[server].0.on_call(self.now, call);
            if let Some(answer) = handled.answer {
                let is_let_be = call.kind != Call::CANCEL || answer.kind != Answer::ACCEPTED;
                assert!(is_let_be, "it goes on with what was cancelled");
                self.answer(&answer);
            }
            if let Some(incoming) = handled.incoming {
                self.incoming(server, incoming);
            }
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let key = (answer.server_instance, CallId(answer.id));
        let is_reply = answer.kind == Answer::REPLY;
        assert!(
            !(is_reply && self.let_be.contains(&key)),
            "a reply to what was cancelled"
        );
        if answer.kind == Answer::CANCELLED {
            self.let_be.insert(key);
        }
        self.send(&Happening::Answer(answer.clone()));
    }

    fn incoming(&mut self, server: usize, incoming: Incoming) {
        let instance = self.servers[server].1;
        match incoming {
            Incoming::Called(called) => {
                let n_executed = self.executed.entry((instance, called.id)).or_default();
                *n_executed += 1;
                assert_eq!(*n_executed, 1, "executed twice by one life of a server");
                let work = Happening::Work(server, instance, called.id);
                match (self.weather.workers, self.random.below(10)) {
                    (Workers::Prompt, _) | (Workers::Any, 0..4) => self.plan(Duration::ZERO, work),
                    (Workers::Any, 4..8) => self.plan_within(Duration::from_secs(2), work),
                    (Workers::Any, _) => {}
                }
            }
            Incoming::Cancelled(id) | Incoming::Expired(id) => {
                self.let_be.insert((instance, id));
            }
        }
    }

    /// A component is done, if its process still lives.
    fn work(&mut self, server: usize, instance: i64, id: CallId) {
        if self.servers[server].1 != instance {
            return;
        }
        let is_fine = self.weather.workers == Workers::Prompt || self.random.percent(80);
        let result = if is_fine {
            Ok(body(&id.0.to_be_bytes()))
        } else {
            Err(Failure::new(3, "no"))
        };
        if let Some(answer) = self.servers[server].0.finish(self.now, id, result) {
            self.answer(&answer);
        }
    }

    fn restart_caller(&mut self, caller: usize) {
        let incarnation = self.now.utime();
        self.callers[caller] = Caller::new(&format!("c{caller}"), incarnation);
        let abandoned = self.made.values_mut();
        for made in abandoned.filter(|made| made.caller == caller && made.outcomes.is_empty()) {
            made.is_orphan = true;
        }
    }

    fn restart_server(&mut self, server: usize) {
        let instance = self.now.utime();
        self.servers[server] = (self.new_server(server, instance), instance);
    }

    fn tick(&mut self) {
        for caller in 0..self.callers.len() {
            let due = self.callers[caller].on_time(self.now);
            for call in due.send {
                self.send(&Happening::Call(call));
            }
            for finished in due.finished {
                self.finished(finished);
            }
        }
        for server in 0..self.servers.len() {
            for incoming in self.servers[server].0.on_time(self.now) {
                self.incoming(server, incoming);
            }
        }
        self.plan(TICK, Happening::Tick);
    }

    fn check_bounds(&self) {
        let limits = self.weather.limits;
        for (server, _) in &self.servers {
            let (n_kept, n_bytes) = server.kept();
            assert!(n_kept <= limits.max_kept.max(limits.max_working + 1));
            assert!(n_bytes <= limits.max_kept_bytes);
            assert!(server.n_working() <= limits.max_working);
        }
    }

    /// Every call that its caller still waits for has one outcome in time.
    fn check_outcomes(&self, seed: u64) {
        for (id, made) in &self.made {
            let n_outcomes = made.outcomes.len();
            let is_right = if made.is_orphan {
                n_outcomes == 0
            } else {
                n_outcomes == 1
            };
            assert!(is_right, "seed {seed}: {id} has {n_outcomes} outcomes");
            for (at, _) in &made.outcomes {
                let latest = made.begun + made.timeout + TICK;
                assert!(
                    *at <= latest,
                    "seed {seed}: {id} was over at {at:?}, not at {latest:?}"
                );
            }
        }
    }

    fn outcomes(&self) -> impl Iterator<Item = &Result<Vec<u8>, CallError>> {
        let outcomes = self.made.values().flat_map(|made| &made.outcomes);
        outcomes.map(|(_, outcome)| outcome)
    }
}

#[test]
fn every_call_has_one_outcome_in_time_and_no_life_of_a_server_executes_it_twice() {
    let mut n_outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..2_000 {
        let world = World::new(seed, ROUGH).run();
        world.check_outcomes(seed);
        for outcome in world.outcomes() {
            *n_outcomes.entry(word(outcome)).or_default() += 1;
        }
    }
    // The worlds are rough enough to see all there is.
    let seen: Vec<&str> = n_outcomes.keys().copied().collect();
    let expected = [
        "busy",
        "cancelled",
        "refused",
        "remote",
        "reply",
        "restarted",
        "timed out",
        "unanswered",
    ];
    assert_eq!(seen, expected, "{n_outcomes:?}");
}

fn word(outcome: &Result<Vec<u8>, CallError>) -> &'static str {
    match outcome {
        Ok(_) => "reply",
        Err(CallError::Remote { .. }) => "remote",
        Err(CallError::Unanswered) => "unanswered",
        Err(CallError::TimedOut { .. }) => "timed out",
        Err(CallError::Cancelled) => "cancelled",
        Err(CallError::Restarted { .. }) => "restarted",
        Err(CallError::Busy { .. }) => "busy",
        Err(CallError::WrongType { .. }) => "wrong type",
        Err(CallError::WrongReply { .. }) => "wrong reply",
        Err(CallError::Refused { .. }) => "refused",
    }
}

#[test]
fn without_loss_every_call_has_its_reply_whatever_comes_twice_or_out_of_order() {
    for seed in 0..500 {
        let world = World::new(seed, MILD).run();
        world.check_outcomes(seed);
        for outcome in world.outcomes() {
            assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
        }
        assert_eq!(world.made.len() as u64, MILD.n_calls, "seed {seed}");
        assert_eq!(world.executed.len(), world.made.len(), "seed {seed}");
    }
}

#[test]
fn loss_is_survived_by_asking_again() {
    let weather = Weather {
        lost_percent: 30,
        ..MILD
    };
    let (mut n_calls, mut n_replies) = (0, 0);
    for seed in 0..500 {
        let world = World::new(seed, weather).run();
        world.check_outcomes(seed);
        n_calls += world.outcomes().count();
        n_replies += world.outcomes().filter(|outcome| outcome.is_ok()).count();
    }
    assert_eq!(n_calls as u64, 500 * weather.n_calls);
    // A call fails only if each of the ten and more messages of it, or their answers, is lost.
    assert!(
        n_calls - n_replies <= n_calls / 200,
        "{n_replies} of {n_calls}"
    );
}

#[test]
fn a_second_server_of_the_same_name_is_seen_and_changes_no_outcome() {
    let mut n_rivals = 0;
    for seed in 0..500 {
        let world = World::new(seed, RIVALS).run();
        world.check_outcomes(seed);
        for outcome in world.outcomes() {
            assert_ne!(word(outcome), "restarted", "seed {seed}");
        }
        let callers = world.callers.iter();
        n_rivals += callers.map(|caller| caller.counts().rivals).sum::<u64>();
    }
    assert!(n_rivals > 1_000, "{n_rivals}");
}

#[test]
fn the_same_seed_gives_the_same_world() {
    for seed in 0..20 {
        let traces = [(); 2].map(|()| {
            let mut world = World::new(seed, ROUGH);
            world.trace = Some(Vec::new());
            world.run().trace.unwrap()
        });
        assert!(!traces[0].is_empty(), "seed {seed}");
        assert_eq!(traces[0], traces[1], "seed {seed}");
    }
}

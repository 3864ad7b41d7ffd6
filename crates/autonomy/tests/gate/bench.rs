//! A gate on the bench: a clock, tokens every 50 ms, and stations that send what a test asks.

use crate::station::Station;
use bowline_autonomy::gate::{Event, Gate, Input, Reason, Refusal, Rules};
use bowline_autonomy::operator::{Step, parse_step};
use bowline_component::Time;
use bowline_msgs::{self as msgs, GateToken, LeaseRequest, Task, TaskCommand, Thrust};
use std::time::Duration;

pub(crate) const START: Time = Time::from_utime(1_763_269_856_250_000);
pub(crate) const TOKEN_EVERY: Duration = Duration::from_millis(50);

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn thrust(ratio: f64) -> Thrust {
    Thrust {
        utime: 0,
        port_ratio: ratio,
        starboard_ratio: ratio,
    }
}

/// The task that words of a script make.
pub(crate) fn task(words: &str) -> Task {
    let step = parse_step(words).unwrap();
    let (Step::Task(task) | Step::Keep(task, _)) = step else {
        panic!("{words:?} is {step:?}, no task");
    };
    task
}

pub(crate) struct Bench {
    pub(crate) gate: Gate<Thrust>,
    pub(crate) now: Time,
    pub(crate) token: GateToken,
    next_token: Time,
    /// The helm's tasks, and the refusals.
    pub(crate) tasks: Vec<Task>,
    pub(crate) turned_away: Vec<(String, Reason)>,
}

impl Bench {
    pub(crate) fn new(rules: Rules) -> Self {
        let mut gate = Gate::new(rules, START).unwrap();
        let token = gate.token();
        let mut bench = Self {
            gate,
            now: START,
            token,
            next_token: START + TOKEN_EVERY,
            tasks: Vec::new(),
            turned_away: Vec::new(),
        };
        bench.collect();
        bench.tasks.clear();
        bench
    }

    /// Under way: the station holds the lease, the stop is cleared, and a moment has passed.
    pub(crate) fn ready(rules: Rules) -> (Self, Station) {
        let mut bench = Self::new(rules);
        let mut bridge = Station::new("bridge", 7, 0);
        bench.pass(ms(100));
        bench.lease(&mut bridge, LeaseRequest::TAKE).unwrap();
        bench.pass(ms(50));
        bench.clear(&mut bridge).unwrap();
        bench.pass(ms(100));
        (bench, bridge)
    }

    /// The same, with a person who may set any thrust.
    pub(crate) fn armed(rules: Rules) -> (Self, Station) {
        let (mut bench, mut bridge) = Self::ready(rules);
        for _ in 0..=12 {
            bench.direct(&mut bridge, 0.0).unwrap();
            bench.pass(ms(30));
        }
        (bench, bridge)
    }

    /// Lets time pass, with a token every 50 ms and a look at the gate whenever it wants one.
    pub(crate) fn pass(&mut self, period: Duration) {
        let end = self.now + period;
        loop {
            let deadline = self.gate.deadline().unwrap_or(Time::MAX);
            let next = deadline.max(self.now).min(self.next_token);
            if next > end {
                break;
            }
            self.now = next;
            self.gate.advance(next);
            if next >= self.next_token {
                self.token = self.gate.token();
                self.next_token = next + TOKEN_EVERY;
            }
            self.collect();
        }
        self.now = end;
        self.gate.advance(end);
        self.collect();
    }

    fn collect(&mut self) {
        for event in self.gate.events() {
            match event {
                Event::Task(task) => self.tasks.push(task),
                Event::Unheld { by, refusal } => {
                    self.turned_away.push((by.station, refusal.reason));
                }
            }
        }
    }

    pub(crate) fn handle(&mut self, input: Input<'_, Thrust>) -> Result<(), Refusal> {
        let outcome = self.gate.handle(self.now, input);
        self.collect();
        outcome
    }

    /// Something that a station sends now, with the newest token.
    pub(crate) fn lease(&mut self, station: &mut Station, ask: i8) -> Result<(), Reason> {
        station.hear(&self.token);
        let request = station.request(self.now, ask);
        let outcome = self.handle(Input::Lease(&request));
        // The gate reports at once what has become of the lease.
        self.token = self.gate.token();
        outcome.map_err(|it| it.reason)
    }

    pub(crate) fn clear(&mut self, station: &mut Station) -> Result<(), Reason> {
        station.hear(&self.token);
        let command = station.clear(self.now);
        self.handle(Input::Stop(&command)).map_err(|it| it.reason)
    }

    pub(crate) fn stop(&mut self, station: &mut Station, reason: &str) {
        let command = station.stop(self.now, reason);
        self.handle(Input::Stop(&command)).unwrap();
    }

    pub(crate) fn direct(&mut self, station: &mut Station, ratio: f64) -> Result<(), Reason> {
        station.hear(&self.token);
        let command = station.thrust(self.now, ratio, ratio);
        self.handle(Input::Direct(&command)).map_err(|it| it.reason)
    }

    pub(crate) fn task(&mut self, station: &mut Station, words: &str) -> Result<(), Reason> {
        station.hear(&self.token);
        let command = self.task_command(station, words);
        self.handle(Input::Task(&command)).map_err(|it| it.reason)
    }

    /// Made now, for later.
    pub(crate) fn task_command(&self, station: &mut Station, words: &str) -> TaskCommand {
        station.task(self.now, task(words))
    }

    pub(crate) fn wish(&mut self, ratio: f64) {
        self.handle(Input::Wish(&thrust(ratio))).unwrap();
    }

    /// The set-point of the thrusters: the port one, they are the same.
    pub(crate) fn output(&self) -> f64 {
        let output = self.gate.output();
        assert_eq!(output.port_ratio, output.starboard_ratio);
        output.port_ratio
    }

    pub(crate) fn report(&self) -> msgs::Gate {
        self.gate.report("test")
    }

    pub(crate) fn standing(&self) -> (i8, i8) {
        let report = self.report();
        (report.state, report.level)
    }

    pub(crate) fn task_kinds(&mut self) -> Vec<i8> {
        self.tasks.drain(..).map(|task| task.kind).collect()
    }
}

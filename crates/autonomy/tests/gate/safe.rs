//! Time to safe, in simulated time: from a fault until the thrusters have no thrust, and keep none.
//!
//! A person steers at 30 Hz over a link with delays; the gate and the thrust driver behind it are the components that robots
//! have. Then something fails, at any moment of all periods.

use crate::bench::ms;
use crate::station::Station;
use bowline_autonomy::gate::{GateComponent, GateParameters};
use bowline_component::{Rig, Time};
use bowline_drivers::{ActuatorComponent, ThrustDriver, ThrustParameters};
use bowline_msgs::{DirectCommand, GateToken, LeaseRequest, Refusal, Thrust};
use bowline_testing::random::Random;
use bowline_testing::sweep;
use std::collections::VecDeque;
use std::time::Duration;

const N_TRIALS: u64 = 1_000;
const N_SAMPLE: usize = 100;
/// What the issue asks for, at a bound of 250 ms for commands.
const AIM: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    SourceKilled,
    /// It repeats its last bytes.
    SourceFrozen,
    UplinkCut,
    DownlinkCut,
    LinkCut,
    GateKilled,
}

const FAULTS: [Fault; 6] = [
    Fault::SourceKilled,
    Fault::SourceFrozen,
    Fault::UplinkCut,
    Fault::DownlinkCut,
    Fault::LinkCut,
    Fault::GateKilled,
];

/// A link: what is sent comes out after a while.
struct Link<M> {
    delay: Duration,
    waiting: VecDeque<(Time, M)>,
}

impl<M> Link<M> {
    fn send(&mut self, now: Time, message: M) {
        self.waiting.push_back((now + self.delay, message));
    }

    fn receive(&mut self, now: Time) -> Option<M> {
        let (_, message) = self.waiting.pop_front_if(|(at, _)| *at <= now)?;
        Some(message)
    }
}

struct Trial {
    rig: Rig,
    session: Station,
    up: Link<DirectCommand>,
    down: Link<GateToken>,
    driver: Rig,
    /// The thrusters' state: the last that the driver sent.
    thrust: Thrust,
    speak_at: Time,
    last: Option<DirectCommand>,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let rig = Rig::new::<GateComponent<Thrust>>(GateParameters::default());
        let now = rig.now();
        let mut trial = Self {
            rig,
            session: Station::new("bridge", 7, 0),
            up: Link {
                delay: random.millis(0, 60),
                waiting: VecDeque::new(),
            },
            down: Link {
                delay: random.millis(0, 60),
                waiting: VecDeque::new(),
            },
            driver: Rig::new::<ActuatorComponent<ThrustDriver>>(ThrustParameters::default()),
            thrust: Thrust::default(),
            speak_at: now + ms(200),
            last: None,
        };
        trial.pass(ms(150), None, None);
        let now = trial.rig.now();
        let take = trial.session.request(now, LeaseRequest::TAKE);
        trial.rig.send("leases", take);
        trial.pass(ms(130), None, None);
        let clear = trial.session.clear(trial.rig.now());
        trial.rig.send("stops", clear);
        trial.pass(ms(150), None, None);
        trial.speak_at = trial.rig.now();
        trial.pass(ms(500), Some(0.0), None);
        // At any moment of all periods.
        trial.pass(random.millis(700, 900), Some(0.5), None);
        trial
    }

    fn pass(&mut self, period: Duration, ratio: Option<f64>, fault: Option<Fault>) {
        let end = self.rig.now() + period;
        while self.rig.now() < end {
            self.step(ratio, fault);
        }
    }

    fn step(&mut self, ratio: Option<f64>, fault: Option<Fault>) {
        let now = self.rig.now();
        let is_gate_alive = fault != Some(Fault::GateKilled);
        while let Some(token) = self.down.receive(now) {
            if !matches!(fault, Some(Fault::DownlinkCut | Fault::LinkCut)) {
                self.session.hear(&token);
            }
        }
        while let Some(command) = self.up.receive(now) {
            if is_gate_alive && !matches!(fault, Some(Fault::UplinkCut | Fault::LinkCut)) {
                self.rig.send("direct", command);
            }
        }
        if now >= self.speak_at && fault != Some(Fault::SourceKilled) {
            self.speak_at = now + Duration::from_micros(33_333);
            self.speak(now, ratio, fault);
        }
        self.rig.advance(STEP);
        if !is_gate_alive {
            // Time passes for the others; what it would have sent is not sent.
            drop(self.rig.take::<Thrust>("command"));
            drop(self.rig.take::<GateToken>("token"));
        }
        self.driver.advance(STEP);
        for command in self.rig.take::<Thrust>("command") {
            self.driver.send("command", command);
        }
        if let Some(thrust) = self.driver.take::<Thrust>("setpoint").pop() {
            self.thrust = thrust;
        }
        let now = self.rig.now();
        for token in self.rig.take::<GateToken>("token") {
            self.down.send(now, token);
        }
    }

    fn speak(&mut self, now: Time, ratio: Option<f64>, fault: Option<Fault>) {
        let command = match (&self.last, ratio) {
            (Some(last), _) if fault == Some(Fault::SourceFrozen) => last.clone(),
            (_, Some(ratio)) => self.session.direct(now, "thrust", &[ratio, ratio]),
            (_, None) => return,
        };
        self.last = Some(command.clone());
        self.up.send(now, command);
    }

    fn is_safe(&self) -> bool {
        self.thrust.port_ratio == 0.0 && self.thrust.starboard_ratio == 0.0
    }

    /// How long it takes from the fault until there is no thrust for good.
    fn time_to_safe(mut self, fault: Fault) -> Duration {
        assert!(!self.is_safe(), "it moves before");
        let begun = self.rig.now();
        let mut safe_since = None;
        while self.rig.now().since(begun) < ms(2_000) {
            self.step(Some(0.5), Some(fault));
            let now = self.rig.now();
            match (self.is_safe(), safe_since) {
                (true, None) => safe_since = Some(now),
                (true, Some(_)) => {}
                (false, _) => safe_since = None,
            }
        }
        safe_since.map_or(Duration::MAX, |at| at.since(begun))
    }
}

#[test]
fn whatever_fails_the_thrusters_have_no_thrust_within_the_aim() {
    let seeds = sweep::choose("faults, trials of each", (0..N_TRIALS).collect(), N_SAMPLE);
    let n_trials = seeds.len();
    println!("time to safe in simulated time, {n_trials} trials each: p50, p99, max in ms");
    for fault in FAULTS {
        let trial = |seed| Trial::new(seed).time_to_safe(fault);
        let mut times: Vec<Duration> = seeds.iter().copied().map(trial).collect();
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        let [p50, p99, max] = [at(50), at(99), at(100)];
        let name = format!("{fault:?}");
        println!(
            "  {name:<14}{:>6}{:>6}{:>6}",
            p50.as_millis(),
            p99.as_millis(),
            max.as_millis()
        );
        assert!(max <= AIM, "{fault:?}: {max:?}");
        // What takes no time at all was not measured.
        assert!(p50 >= ms(100), "{fault:?}: {p50:?}");
    }
}

#[test]
fn frozen_source_is_refused_with_bounded_reports() {
    let mut trial = Trial::new(1);
    drop(trial.rig.take::<Refusal>("refusal"));
    trial.pass(ms(3_000), None, Some(Fault::SourceFrozen));
    let refusals = trial.rig.take::<Refusal>("refusal");
    assert!(
        refusals
            .iter()
            .all(|it| it.command == "direct" && it.by.station == "bridge")
    );
    let reasons: Vec<&str> = refusals.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons.first(), Some(&"repeated"));
    assert!(reasons.contains(&"stale"));
    // 90 were sent; 20 are published at once and ten a second after that.
    assert!((40..=52).contains(&refusals.len()), "{}", refusals.len());
    let state = trial.rig.take::<bowline_msgs::Gate>("state").pop().unwrap();
    assert!(
        state.n_refused >= 80,
        "all of them are counted: {}",
        state.n_refused
    );
}

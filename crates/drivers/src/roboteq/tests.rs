use super::*;
use crate::actuator::ActuatorComponent;
use crate::actuator::tests::Delayed;
use crate::{Actuator as _, Arrived, Counts, Line, Splitter};
use bowline_component::{Health, Rig, Time};
use bowline_msgs::{Device, Serial, Thrust};
use proptest::prelude::*;
use std::time::Duration;

type Driver = ActuatorComponent<Roboteq>;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A driver and a controller, each on its bench, with a line between them.
struct Bench {
    driver: Rig,
    twin: Rig,
    /// What went over the line to the controller.
    said: String,
    /// What the motors gave, with the time in milliseconds since the start.
    gave: Vec<(i64, f64, f64)>,
}

impl Bench {
    fn new(parameters: RoboteqParameters) -> Self {
        Self {
            driver: Rig::new::<Driver>(parameters),
            twin: Rig::new::<RoboteqTwin>(RoboteqTwinParameters::default()),
            said: String::new(),
            gave: Vec::new(),
        }
    }

    fn exchange(&mut self) {
        for serial in self.driver.take::<Serial>("line_out") {
            self.said += std::str::from_utf8(&serial.bytes).expect("it sends text");
            self.twin.send("line_in", serial);
        }
        for serial in self.twin.take::<Serial>("line_out") {
            self.driver.send("line_in", serial);
        }
        let began = 1_000_000;
        for thrust in self.twin.take::<Thrust>("thrust") {
            let at_ms = (thrust.utime - began) / 1_000;
            self.gave
                .push((at_ms, thrust.port_ratio, thrust.starboard_ratio));
        }
    }

    fn pass(&mut self, time: Duration) {
        let step = ms(1);
        for _ in 0..time.as_millis() / step.as_millis() {
            self.exchange();
            self.driver.advance(step);
            self.twin.advance(step);
        }
        self.exchange();
    }

    fn want(&mut self, port_ratio: f64, starboard_ratio: f64) {
        let utime = self.driver.now().utime();
        let thrust = Thrust {
            utime,
            port_ratio,
            starboard_ratio,
        };
        self.driver.send("command", thrust);
        self.exchange();
    }

    /// The same again and again, as the thrust driver sends it.
    fn keep(&mut self, port_ratio: f64, starboard_ratio: f64, time: Duration) {
        for _ in 0..time.as_millis() / 50 {
            self.want(port_ratio, starboard_ratio);
            self.pass(ms(50));
        }
    }

    fn gives(&self) -> (f64, f64) {
        let (_, port, starboard) = self.gave.last().expect("it gets commands all the time");
        (*port, *starboard)
    }

    fn mood(&mut self, mood: &str) {
        let request = bowline_msgs::ParametersRequest {
            names: vec!["mood".to_owned()],
            values: vec![format!("{mood:?}")],
            ..bowline_msgs::ParametersRequest::default()
        };
        self.twin.call("parameters", &request.with_lengths());
        let answers = self.twin.answers::<bowline_msgs::Parameters>("parameters");
        assert!(matches!(&answers[..], [Ok(_)]), "{answers:?}");
    }

    /// Its last status message: they come once a second, and when its state changes.
    fn device(&mut self) -> Device {
        self.driver
            .take::<Device>("device")
            .pop()
            .expect("it is reported")
    }
}

#[test]
fn controller_gets_its_own_commands_and_queries() {
    let mut bench = Bench::new(RoboteqParameters::default());
    bench.keep(-0.35, 0.72, ms(200));
    assert!(
        bench
            .said
            .starts_with("\r^ECHOF 1\r^RWD 250\r!G 1 0\r!G 2 0\r?FF\r!G 1 -350\r!G 2 720\r"),
        "{:?}",
        bench.said
    );
    assert_eq!(bench.gives(), (-0.35, 0.72));
    assert_eq!(*bench.driver.health(), Health::Good);
    bench.keep(-0.35, 0.72, ms(1_000));
    let device = bench.device();
    assert_eq!(device.state, Device::WORKING);
    assert_eq!(
        (device.n_refused, device.n_malformed, device.n_restarts),
        (0, 0, 0)
    );
    assert!(device.n_good > 40, "{device:?}");
    // What was sent before the echo was turned off.
    assert_eq!((device.n_ignored, device.n_timeouts), (1, 0), "{device:?}");
}

#[test]
fn motors_stop_at_the_moment_the_last_setpoint_is_too_old_and_by_themselves_when_the_driver_is_gone()
 {
    let mut bench = Bench::new(RoboteqParameters::default());
    bench.keep(0.5, 0.5, ms(500));
    bench.want(0.5, 0.5);
    bench.pass(ms(249));
    assert_eq!(bench.gives(), (0.5, 0.5));
    bench.pass(ms(1));
    assert_eq!(bench.gives(), (0.0, 0.0), "no setpoint for 250 ms");
    bench.pass(ms(1_000));
    assert_eq!(bench.device().n_timeouts, 1);
    bench.keep(0.5, 0.5, ms(500));
    assert_eq!(bench.gives(), (0.5, 0.5));
    // The computer is dead from here on: only the controller's own clock goes on.
    let last = bench.said.rfind("!G").expect("it got the command");
    assert!(bench.said[last..].ends_with("500\r"));
    bench.gave.clear();
    let began = bench.twin.now().utime();
    bench.twin.advance(ms(1_000));
    bench.exchange();
    let stopped = bench.gave.iter().find(|it| (it.1, it.2) == (0.0, 0.0));
    let (at_ms, ..) = stopped.expect("it stops by itself");
    let after_ms = at_ms - (began - 1_000_000) / 1_000;
    assert!(
        (200..=250).contains(&after_ms),
        "{after_ms} ms after the last word"
    );
}

#[test]
fn a_controller_that_was_unplugged_forgot_itself_or_talks_nonsense_works_again_by_itself() {
    for (mood, state, counts) in [
        ("unplugged", Device::SILENT, (true, false, false)),
        ("deaf", Device::SILENT, (true, false, false)),
        ("garbage", Device::ERRONEOUS, (true, true, false)),
        ("refusing", Device::ERRONEOUS, (false, false, true)),
    ] {
        let mut bench = Bench::new(RoboteqParameters::default());
        bench.keep(0.3, 0.3, ms(1_000));
        bench.mood(mood);
        bench.keep(0.4, 0.4, ms(3_000));
        let device = bench.device();
        assert_eq!(device.state, state, "{mood}: {device:?}");
        let found = (
            device.n_timeouts > 0,
            device.n_malformed > 0,
            device.n_refused > 0,
        );
        assert_eq!(found, counts, "{mood}: {device:?}");
        assert!((1..=8).contains(&device.n_restarts), "{mood}: {device:?}");
        let can_hear = mood == "deaf" || mood == "garbage";
        let expected = if can_hear { (0.4, 0.4) } else { (0.0, 0.0) };
        assert_eq!(bench.gives(), expected, "{mood}");
        bench.mood("well");
        bench.keep(0.2, 0.2, ms(3_000));
        assert_eq!(bench.gives(), (0.2, 0.2), "{mood}");
        assert_eq!(bench.device().state, Device::WORKING, "{mood}");
        assert_eq!(*bench.driver.health(), Health::Good);
    }
}

#[test]
fn controller_faults_are_reported_as_text() {
    let mut bench = Bench::new(RoboteqParameters::default());
    bench.keep(0.3, 0.3, ms(500));
    bench.mood("stopped");
    bench.keep(0.3, 0.3, ms(1_000));
    assert_eq!(bench.gives(), (0.0, 0.0));
    let device = bench.device();
    assert_eq!(device.state, Device::ERRONEOUS);
    assert_eq!(device.last_error, "the controller reports: emergency stop");
    bench.mood("well");
    bench.keep(0.3, 0.3, ms(1_000));
    assert_eq!(bench.device().state, Device::WORKING);
}

#[test]
fn a_setpoint_that_is_no_number_is_a_stop() {
    let mut bench = Bench::new(RoboteqParameters::default());
    bench.keep(0.5, 0.5, ms(200));
    bench.want(f64::NAN, 0.5);
    bench.pass(ms(5));
    assert_eq!(bench.gives(), (0.0, 0.0));
    bench.pass(ms(1_000));
    assert_eq!(bench.device().n_refused, 1);
}

#[test]
fn a_setpoint_that_waited_longer_than_the_timeout_turns_no_motor() {
    let mut delayed = Delayed::new::<Roboteq>();
    let thrust = Thrust {
        utime: 1,
        port_ratio: 0.5,
        starboard_ratio: 0.5,
    };
    for waited_ms in [1_000, 250] {
        delayed.deliver(ms(waited_ms), thrust.clone());
    }
    delayed.advance(ms(100));
    let told = |delayed: &mut Delayed| {
        let told = delayed.take::<Thrust>("setpoint").into_iter();
        told.map(|it| (it.port_ratio, it.starboard_ratio))
            .collect::<Vec<_>>()
    };
    let found = told(&mut delayed);
    assert!(found.iter().all(|it| *it == (0.0, 0.0)), "{found:?}");
    // What is left of its time is all that a setpoint has.
    delayed.deliver(ms(200), thrust);
    delayed.advance(ms(49));
    assert_eq!(told(&mut delayed).last(), Some(&(0.5, 0.5)));
    delayed.advance(ms(1));
    assert_eq!(told(&mut delayed).last(), Some(&(0.0, 0.0)));
    delayed.advance(ms(1_000));
    let device = delayed
        .take::<Device>("device")
        .pop()
        .expect("it is reported");
    assert_eq!(device.n_refused, 2, "{device:?}");
}

#[test]
fn motors_may_be_wired_the_other_way_round() {
    let mut bench = Bench::new(RoboteqParameters {
        port_motor: 2,
        starboard_motor: 1,
        is_starboard_reversed: true,
        ..RoboteqParameters::default()
    });
    bench.keep(0.1, 0.9, ms(100));
    assert!(
        bench.said.contains("!G 2 100\r!G 1 -900\r"),
        "{:?}",
        bench.said
    );
    for (parameters, expected) in [
        (
            RoboteqParameters {
                port_motor: 2,
                ..RoboteqParameters::default()
            },
            "found 2 for both",
        ),
        (
            RoboteqParameters {
                watchdog: ms(50),
                ..RoboteqParameters::default()
            },
            "at least two periods",
        ),
    ] {
        let refused = Roboteq::new(parameters).map(drop);
        assert!(refused.is_err_and(|why| why.to_string().contains(expected)));
    }
}

#[test]
fn lines_of_a_controller_mean_one_thing_or_nothing() {
    let cases: [(&[u8], Option<Reply>); 12] = [
        (b"+", Some(Reply::Taken)),
        (b"-", Some(Reply::Refused)),
        (b"FF=0", Some(Reply::Faults(0))),
        (b"FF=20", Some(Reply::Faults(20))),
        (b"FF=65535", Some(Reply::Faults(u16::MAX))),
        (b"!G 1 100", Some(Reply::Echo)),
        (b"FF=65536", None),
        (b"FF=", None),
        (b"FF=+1", None),
        (b"FF=1 2", None),
        (b"++", None),
        (b"", None),
    ];
    for (line, expected) in cases {
        assert_eq!(parse(line).ok(), expected, "{}", line.escape_ascii());
    }
    assert_eq!(faults(0b1_0100), "too little voltage, emergency stop");
    assert_eq!(faults(0x300), "faults 0x300");
}

/// Exchanges of Roboteq's "Advanced Digital Motor Controller User Manual", V1.8 of August 28, 2017: where in it, what is
/// sent, and what the controller replies. Lines end with a carriage return ("Communication Protocol Description", p. 154).
const MANUAL: [(&str, &[u8], &[u8]); 6] = [
    ("RWD - Serial Data Watchdog, p. 286", b"^RWD 2000\r", b"+\r"),
    ("RWD - Serial Data Watchdog, p. 286", b"^RWD 0\r", b"+\r"),
    ("RWD, at most 65000, p. 286", b"^RWD 65001\r", b"-\r"),
    ("Command Error, p. 155", b"^RWX 2000\r", b"-\r"),
    ("Command Acknowledgment, p. 155", b"!G 1 500\r", b"+\r"),
    ("FF - Read Fault Flags, p. 253", b"?FF\r", b"FF=0\r"),
];

/// Sends bytes to a controller, and returns what it replies.
fn reply_of(twin: &mut Rig, sent: &[u8]) -> Vec<u8> {
    let serial = Serial {
        bytes: sent.to_vec(),
        ..Serial::default()
    };
    twin.send("line_in", serial.with_lengths());
    twin.advance(ms(20));
    let pieces = twin.take::<Serial>("line_out").into_iter();
    pieces.flat_map(|piece| piece.bytes).collect()
}

#[test]
fn twin_replies_as_the_manual_has_it_with_and_without_echo() {
    let mut twin = Rig::new::<RoboteqTwin>(RoboteqTwinParameters::default());
    for (place, sent, reply) in MANUAL {
        // "Character Echo", p. 155: until it is turned off, each character comes back before the reply.
        let expected = [sent, reply].concat();
        assert_eq!(reply_of(&mut twin, sent), expected, "{place}");
    }
    assert_eq!(reply_of(&mut twin, b"^ECHOF 1\r"), b"^ECHOF 1\r+\r");
    for (place, sent, reply) in MANUAL {
        assert_eq!(reply_of(&mut twin, sent), reply, "{place}");
    }
}

#[test]
fn twin_watchdog_stops_motors_after_the_time_that_the_manual_gives_or_never_with_0() {
    // "RWD 2000: Set watchdog to 2s", "RWD 0: Disable watchdog", "Default: 1000 = 1s" (p. 286).
    for (set_up, stops_ms) in [
        (&b""[..], Some(1_000)),
        (b"^RWD 2000\r", Some(2_000)),
        (b"^RWD 0\r", None),
    ] {
        let mut twin = Rig::new::<RoboteqTwin>(RoboteqTwinParameters::default());
        reply_of(&mut twin, set_up);
        reply_of(&mut twin, b"!G 1 500\r");
        let told = twin.now().utime() - 20_000;
        twin.take::<Thrust>("thrust");
        twin.advance(ms(5_000));
        let thrusts = twin.take::<Thrust>("thrust");
        let stopped = thrusts.iter().find(|it| it.port_ratio == 0.0);
        let stopped_ms = stopped.map(|it| (it.utime - told) / 1_000);
        assert_eq!(stopped_ms, stops_ms, "{}", set_up.escape_ascii());
        let is_given = |it: &Thrust| (it.port_ratio - 0.5).abs() < 1e-9;
        assert!(thrusts.iter().any(is_given));
    }
}

/// A reply of the manual as the driver takes it: the fault flags of p. 253, "FF=2 : Overvoltage fault", among echoes.
#[test]
fn driver_reads_the_fault_flags_of_the_manual_among_echoes() {
    let mut driver = Rig::new::<Driver>(RoboteqParameters {
        watchdog: ms(2_000),
        ..RoboteqParameters::default()
    });
    driver.advance(ms(5));
    let sent: Vec<u8> = driver
        .take::<Serial>("line_out")
        .into_iter()
        .flat_map(|it| it.bytes)
        .collect();
    let sent = String::from_utf8(sent).expect("it sends text");
    assert!(sent.contains("\r^RWD 2000\r"), "{sent:?}");
    let replies = b"^ECHOF 1\r+\r+\r+\r+\rFF=2\r";
    let serial = Serial {
        bytes: replies.to_vec(),
        ..Serial::default()
    };
    driver.send("line_in", serial.with_lengths());
    driver.advance(ms(1_000));
    let device = driver.take::<Device>("device").pop().expect("it reports");
    assert_eq!(
        device.last_error,
        "the controller reports: too much voltage"
    );
    let counts = (device.n_good, device.n_ignored, device.n_malformed);
    assert_eq!(counts, (5, 1, 0), "{device:?}");
    // All bits of p. 253, in its order.
    let names = [
        "too hot",
        "too much voltage",
        "too little voltage",
        "short circuit",
        "emergency stop",
        "a sensor is wrong",
        "an output stage is broken",
        "started with settings of its own",
    ];
    for (nth, name) in names.iter().enumerate() {
        assert_eq!(faults(1 << nth), *name);
    }
}

proptest! {
    /// Whatever comes from the line, and whatever is asked for: what is sent is within what was asked for, is zero without
    /// a setpoint that is new, and there is always a moment at which to look again.
    #[test]
    fn controller_replies_never_move_a_motor(
        events in prop::collection::vec(
            (1_u64..300, prop::option::of((-2.0_f64..2.0, -2.0_f64..2.0)), prop::collection::vec(any::<u8>(), 0..20)), 1..60,
        ),
    ) {
        let mut driver = Roboteq::new(RoboteqParameters::default()).expect("defaults are fine");
        let mut now = Time::from_utime(1_000_000);
        let mut newest = None;
        let (mut splitter, mut counts) = (Splitter::new(SHAPE), Counts::default());
        for (wait_ms, wish, bytes) in events {
            now = now + ms(wait_ms);
            let wish = wish.map(|(port_ratio, starboard_ratio)| Thrust { utime: 1, port_ratio, starboard_ratio });
            newest = wish.clone().map(|wish| (wish, now)).or(newest);
            let mut line = Line::new(&bytes);
            driver.act(now, wish.as_ref().map(|message| Arrived { message, at: now }), &mut line);
            let (said, wake) = line.into_parts();
            prop_assert!(wake.is_some_and(|wake| wake > now));
            let fresh = newest.as_ref().filter(|(_, at)| now.since(*at) < ms(250));
            let most = fresh.map_or([0.0; 2], |(wish, _)| [wish.port_ratio, wish.starboard_ratio]);
            for line in splitter.split(&said, &mut counts) {
                let text = String::from_utf8(line).expect("it sends text");
                let words: Vec<&str> = text.split_whitespace().collect();
                let ["!G", motor, ratio] = words.as_slice() else { continue };
                let most = if *motor == "1" { most[0] } else { most[1] };
                let ratio = ratio.parse::<f64>().expect("a number") / 1_000.0;
                prop_assert!(ratio.abs() <= most.abs().min(1.0) + 1e-9, "{ratio} of {most}");
                prop_assert!(ratio * most >= 0.0);
            }
        }
        prop_assert_eq!(counts.n_malformed + counts.n_garbage_bytes, 0);
    }
}

use super::*;
use crate::actuator::ActuatorComponent;
use crate::actuator::tests::Delayed;
use bowline_component::{Health, Rig};
use bowline_msgs::Device;
use proptest::prelude::*;

type Driver = ActuatorComponent<ThrustDriver>;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn command(rig: &mut Rig, port_ratio: f64, starboard_ratio: f64) {
    let utime = rig.now().utime();
    let thrust = Thrust {
        utime,
        port_ratio,
        starboard_ratio,
    };
    rig.send("command", thrust);
}

fn said(rig: &mut Rig) -> Vec<(i64, f64, f64)> {
    let began = 1_000_000;
    let thrusts = rig.take::<Thrust>("setpoint").into_iter();
    let milliseconds = |thrust: &Thrust| (thrust.utime - began) / 1_000;
    thrusts
        .map(|it| (milliseconds(&it), it.port_ratio, it.starboard_ratio))
        .collect()
}

fn last(rig: &mut Rig) -> (f64, f64) {
    let said = said(rig);
    let (_, port, starboard) = said.last().expect("it gets commands all the time");
    (*port, *starboard)
}

#[test]
fn thrust_is_zero_before_commands_and_when_the_last_is_too_old() {
    let mut rig = Rig::new::<Driver>(ThrustParameters::default());
    rig.advance(ms(500));
    assert!(said(&mut rig).iter().all(|it| (it.1, it.2) == (0.0, 0.0)));
    assert_eq!(*rig.health(), Health::Starting);

    // Between two ticks, so that the deadline is none.
    rig.advance(ms(7));
    command(&mut rig, 0.05, -0.05);
    assert_eq!(*rig.health(), Health::Good);
    rig.advance(ms(249));
    assert_eq!(last(&mut rig), (0.05, -0.05));
    rig.advance(ms(1));
    assert_eq!(
        said(&mut rig),
        [(757, 0.0, 0.0)],
        "at the deadline, at once"
    );
    assert!(matches!(rig.health(), Health::Degraded(_)));
    rig.advance(ms(1_000));
    assert!(said(&mut rig).iter().all(|it| (it.1, it.2) == (0.0, 0.0)));
    let device = rig.take::<Device>("device").pop().expect("it is reported");
    assert_eq!((device.state, device.n_timeouts), (Device::SILENT, 1));
}

#[test]
fn thrust_grows_slowly_and_falls_at_once() {
    let mut rig = Rig::new::<Driver>(ThrustParameters::default());
    rig.advance(ms(1_000));
    for _ in 0..10 {
        command(&mut rig, 1.0, -1.0);
        rig.advance(ms(50));
    }
    let steps: Vec<f64> = said(&mut rig).iter().map(|it| it.1).collect();
    let largest = steps
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .reduce(f64::max);
    assert!(
        largest.is_some_and(|largest| largest <= 0.1 + 1e-9),
        "{largest:?}"
    );
    assert!(steps.is_sorted() && steps.last().is_some_and(|last| *last > 0.9));
    command(&mut rig, 0.2, 0.2);
    assert_eq!(
        last(&mut rig),
        (0.2, 0.0),
        "down at once, and to the other side not at once"
    );
}

#[test]
fn a_command_that_is_no_number_overtaken_or_repeated_changes_nothing_and_keeps_nothing_going() {
    let mut rig = Rig::new::<Driver>(ThrustParameters::default());
    rig.advance(ms(1_000));
    let good = Thrust {
        utime: rig.now().utime(),
        port_ratio: 0.04,
        starboard_ratio: 0.04,
    };
    rig.send("command", good.clone());
    let (before, nan) = (good.utime - 1, f64::NAN);
    for n in 1..=6 {
        rig.advance(ms(40));
        for bad in [
            Thrust {
                port_ratio: 0.9,
                utime: before,
                ..good.clone()
            },
            Thrust {
                port_ratio: nan,
                utime: good.utime + n,
                ..good.clone()
            },
            Thrust {
                starboard_ratio: f64::INFINITY,
                utime: good.utime + n,
                ..good.clone()
            },
            good.clone(),
        ] {
            rig.send("command", bad);
        }
        assert_eq!(last(&mut rig), (0.04, 0.04));
    }
    rig.advance(ms(10));
    assert_eq!(
        last(&mut rig),
        (0.0, 0.0),
        "none of them counted as a command"
    );
    rig.send("command", good.clone());
    assert_eq!(
        last(&mut rig),
        (0.0, 0.0),
        "what was carried out is never carried out again"
    );
    rig.advance(ms(1_000));
    let device = rig.take::<Device>("device").pop().expect("it is reported");
    assert_eq!((device.n_good, device.n_refused), (1, 25));
    // A writer that starts anew, with a clock that is behind, is accepted when the old one is silent.
    rig.send("command", Thrust { utime: 5, ..good });
    rig.advance(ms(50));
    assert_eq!(last(&mut rig), (0.04, 0.04));
}

#[test]
fn of_two_commands_of_one_moment_the_lesser_counts_in_either_order() {
    for is_stop_first in [false, true] {
        let mut rig = Rig::new::<Driver>(ThrustParameters::default());
        rig.advance(ms(1_000));
        let ahead = Thrust {
            utime: rig.now().utime(),
            port_ratio: 0.04,
            starboard_ratio: 0.04,
        };
        let stop = Thrust {
            port_ratio: 0.0,
            starboard_ratio: 0.0,
            ..ahead.clone()
        };
        let mut commands = [ahead, stop];
        if is_stop_first {
            commands.reverse();
        }
        for command in commands.iter().chain(&commands) {
            rig.send("command", command.clone());
        }
        assert_eq!(last(&mut rig), (0.0, 0.0), "{commands:?}");
        rig.advance(ms(100));
        assert!(said(&mut rig).iter().all(|it| (it.1, it.2) == (0.0, 0.0)));
    }
}

#[test]
fn a_command_that_waited_longer_than_the_timeout_moves_nothing() {
    let mut delayed = Delayed::new::<ThrustDriver>();
    let thrust = |utime| Thrust {
        utime,
        port_ratio: 0.5,
        starboard_ratio: 0.5,
    };
    let is_none = |said: &Thrust| (said.port_ratio, said.starboard_ratio) == (0.0, 0.0);
    // As after the process was halted: commands of the last second are there at once, in their order.
    for waited_ms in (250..=1_000).rev().step_by(50) {
        delayed.deliver(
            ms(waited_ms),
            thrust(1_000 - i64::try_from(waited_ms).unwrap()),
        );
    }
    delayed.advance(ms(500));
    let said = delayed.take::<Thrust>("setpoint");
    assert!(!said.is_empty() && said.iter().all(is_none), "{said:?}");
    // What is left of its time is all that a command has.
    delayed.deliver(ms(150), thrust(2_000));
    delayed.advance(ms(99));
    let said = delayed.take::<Thrust>("setpoint");
    assert!(said.last().is_some_and(|it| !is_none(it)), "{said:?}");
    delayed.advance(ms(1));
    let said = delayed.take::<Thrust>("setpoint");
    assert!(said.last().is_some_and(is_none), "{said:?}");
    delayed.advance(ms(1_000));
    let device = delayed
        .take::<Device>("device")
        .pop()
        .expect("it is reported");
    assert_eq!((device.n_good, device.n_refused), (1, 16), "{device:?}");
}

#[test]
fn stopping_slower_than_going_and_no_timeout_are_refused() {
    let slow = ThrustParameters {
        max_rise_per_s: 2.0,
        max_fall_per_s: 1.0,
        ..ThrustParameters::default()
    };
    let refused = ThrustDriver::new(slow)
        .map(drop)
        .map_err(|error| error.to_string());
    assert!(refused.is_err_and(|why| why.contains("at least max_rise_per_s, 2, found 1")));
    let mut parameters = ThrustParameters::default();
    let zero = bowline_component::Setting::Text("0s".to_owned());
    assert!(parameters.set("timeout", &zero).is_err());
}

proptest! {
    /// Whatever comes, in whatever order: within limits, no faster than allowed, and none after the timeout.
    #[test]
    fn thrust_keeps_its_limits_whatever_is_commanded(
        events in prop::collection::vec((0_u64..400, prop::option::of((-3.0_f64..3.0, -3.0_f64..3.0, -100_i64..500))), 1..60),
        fall in prop::sample::select(vec![1_000_000.0, 5.0, 2.0]),
    ) {
        let parameters = ThrustParameters {
            max_ahead_ratio: 0.8, max_astern_ratio: 0.5, max_fall_per_s: fall, ..ThrustParameters::default()
        };
        let mut driver = ThrustDriver::new(parameters.clone()).expect("limits are fine");
        let mut now = Time::from_utime(1_000_000);
        let (mut before, mut last_at, mut last_command) = ([0.0; 2], now, None);
        for (wait_ms, wish) in events {
            now = now + ms(wait_ms);
            let wish = wish.map(|(port_ratio, starboard_ratio, shift_ms)| Thrust {
                utime: now.utime() + shift_ms * 1_000, port_ratio, starboard_ratio,
            });
            let n_good = driver.counts.n_good;
            let wish = wish.as_ref().map(|message| Arrived { message, at: now });
            let said = driver.act(now, wish, &mut Line::new(&[])).expect("it is always reported");
            if driver.counts.n_good > n_good {
                last_command = Some(now);
            }
            let elapsed_s = now.since(last_at).as_secs_f64();
            for (ratio, before) in [said.port_ratio, said.starboard_ratio].into_iter().zip(before) {
                prop_assert!((-0.5..=0.8).contains(&ratio));
                let grown = ratio.abs() - if ratio * before < 0.0 { 0.0 } else { f64::abs(before) };
                prop_assert!(grown <= 2.0 * elapsed_s.min(0.05) + 1e-9, "grew by {grown} in {elapsed_s} s");
                let is_over = last_command.is_none_or(|at| now.since(at) >= parameters.timeout);
                if is_over {
                    prop_assert!(ratio.abs() <= (f64::abs(before) - fall * elapsed_s).max(0.0) + 1e-9);
                }
            }
            (before, last_at) = ([said.port_ratio, said.starboard_ratio], now);
        }
    }
}

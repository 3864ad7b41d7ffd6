//! What a gate publishes of its demands, and that it keeps to it.

use crate::bench::{START, ms};
use crate::station::Station;
use bowline_autonomy::gate::{Gate, GateComponent, GateParameters, Input, Reason, Rules};
use bowline_component::{Build as _, Ports, Rig};
use bowline_msgs::{GateRules, LeaseRequest, Thrust, Velocity};

#[test]
fn gate_publishes_its_rules_at_the_start_and_twice_a_second() {
    let mut rig = Rig::new::<GateComponent<Velocity>>(GateParameters {
        name: "raptor".to_owned(),
        ttl: ms(200),
        lease: ms(2_000),
        direct_limits: vec![3.0, 0.25],
        fence_m: vec![-5.0, -5.0, 5.0, -5.0, 5.0, 5.0],
        contingency: "station".to_owned(),
        ..GateParameters::default()
    });
    rig.advance(ms(10));
    let first: Vec<GateRules> = rig.take("rules");
    let [rules] = first.as_slice() else {
        panic!("expected one message, found {first:?}");
    };
    let axes = rules.axes.iter();
    let axes: Vec<(&str, f64, f64)> = axes.map(|it| (it.field.as_str(), it.min, it.max)).collect();
    assert_eq!(
        axes,
        [("speed_mps", -3.0, 3.0), ("steering_rad", -0.25, 0.25)]
    );
    assert_eq!((&*rules.name, &*rules.actuation), ("raptor", "velocity"));
    let times_us = [
        rules.direct_max_age_us,
        rules.task_max_age_us,
        rules.setpoint_us,
        rules.neutral_us,
        rules.lease_us,
        rules.answer_us,
        rules.grace_us,
    ];
    let expected = [
        200_000, 2_000_000, 1_500_000, 300_000, 2_000_000, 5_000_000, 5_000_000,
    ];
    assert_eq!(times_us, expected);
    assert_eq!((&*rules.contingency, rules.local_stop_us), ("station", 0));
    assert_eq!((rules.pose_max_age_us, rules.pose_sd_m), (2_000_000, 5.0));
    assert_eq!(rules.fence_m, [[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0]]);
    rig.advance(ms(2_000));
    assert_eq!(rig.take::<GateRules>("rules").len(), 4);
}

#[test]
fn direct_commands_beyond_the_limits_are_refused_and_wishes_of_the_controller_are_not() {
    for (limits, within, beyond) in [
        (vec![], (2.0, 0.5), [(2.01, 0.0), (-2.01, 0.0), (1.0, 0.51)]),
        (
            vec![0.5, 3.0],
            (-0.5, -3.0),
            [(0.51, 0.0), (f64::NAN, 0.0), (0.0, 3.01)],
        ),
    ] {
        let rules = Rules {
            direct_limits: limits,
            ..Rules::default()
        };
        let mut gate: Gate<Velocity> = Gate::new(rules, START).unwrap();
        let mut bridge = Station::new("bridge", 7, 0);
        let velocity = |(speed_mps, steering_rad)| Velocity {
            utime: 0,
            steering_rad,
            speed_mps,
        };
        gate.handle(START, Input::Wish(&velocity((20.0, 1.0))))
            .unwrap();
        bridge.hear(&gate.token());
        gate.handle(
            START,
            Input::Lease(&bridge.request(START, LeaseRequest::TAKE)),
        )
        .unwrap();
        bridge.hear(&gate.token());
        let mut direct = |gate: &mut Gate<Velocity>, it| {
            let (speed_mps, steering_rad) = it;
            let command = bridge.velocity(START, steering_rad, speed_mps);
            let outcome = gate.handle(START, Input::Direct(&command));
            outcome.unwrap_err().reason
        };
        for it in beyond {
            assert_eq!(direct(&mut gate, it), Reason::Malformed, "{it:?}");
        }
        assert_eq!(
            direct(&mut gate, within),
            Reason::Stopped,
            "its numbers are in order"
        );
    }
}

#[test]
fn direct_limits_that_fit_no_axis_are_refused_when_the_gate_is_made() {
    for (limits, is_good) in [
        (vec![], true),
        (vec![1.0, 0.1], true),
        (vec![1.0], false),
        (vec![1.0, 1.0, 1.0], false),
        (vec![1.1, 1.0], false),
        (vec![0.0, 1.0], false),
        (vec![-1.0, 1.0], false),
        (vec![f64::NAN, 1.0], false),
    ] {
        let parameters = GateParameters {
            direct_limits: limits.clone(),
            ..GateParameters::default()
        };
        let made = GateComponent::<Thrust>::build(parameters, &mut Ports::default());
        assert_eq!(made.is_ok(), is_good, "{limits:?}");
    }
}

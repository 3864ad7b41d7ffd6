//! Late, missing, repeated and stale: what a component can see of its inputs.

use bowline_component::{
    Build, BuildError, Component, Expect, Input, NoParameters, Order, Outbox, Output, Ports, Rig,
    Step,
};
use bowline_msgs::{Pose, Velocity};
use std::time::Duration;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Publishes what it sees of an input, as numbers.
struct Witness {
    pose: Input<Pose>,
    said: Output<Velocity>,
    fresh: Output<Velocity>,
    stale: Output<Velocity>,
}

impl Build for Witness {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(ms(50));
        Ok(Self {
            pose: ports.input(
                "pose",
                "Where it is.",
                Expect::within(ms(200)).every(ms(10)),
            ),
            said: ports.output("said", "Order and missing ones of what arrived."),
            fresh: ports.output("fresh", "The number of what is fresh, at every tick."),
            stale: ports.output("stale", "That the input grew stale."),
        })
    }
}

impl Component for Witness {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let utime = step.now().utime();
        if let Some(pose) = step.arrived(self.pose) {
            let order = match pose.order() {
                Order::InTurn => 1.0,
                Order::Repeated => 2.0,
                Order::Late => 3.0,
            };
            let missing = pose.missing() as f64;
            out.send(
                self.said,
                Velocity {
                    utime,
                    steering_rad: order,
                    speed_mps: missing,
                },
            );
        }
        if step.is_tick() {
            let speed_mps = step.fresh(self.pose).map_or(-1.0, |pose| pose.state[0]);
            out.send(
                self.fresh,
                Velocity {
                    utime,
                    steering_rad: 0.0,
                    speed_mps,
                },
            );
        }
        if step.is_stale(self.pose) {
            out.send(
                self.stale,
                Velocity {
                    utime,
                    ..Velocity::default()
                },
            );
        }
    }
}

fn pose(utime: i64, number: f64) -> Pose {
    let mut state = [0.0; 12];
    state[0] = number;
    Pose { utime, state }
}

/// The number of what was fresh, at every tick.
fn fresh(rig: &mut Rig) -> Vec<f64> {
    let fresh = rig.take::<Velocity>("fresh");
    fresh.iter().map(|fresh| fresh.speed_mps).collect()
}

/// How what arrived is seen: order and missing ones.
type Seen = (f64, f64);

fn arrivals(stamps: &[i64]) -> Vec<Seen> {
    let mut rig = Rig::new::<Witness>(NoParameters);
    for stamp in stamps {
        rig.send("pose", pose(*stamp, 0.0));
        rig.advance(ms(1));
    }
    let said = rig.take::<Velocity>("said");
    said.iter()
        .map(|said| (said.steering_rad, said.speed_mps))
        .collect()
}

#[test]
fn order_and_gaps_are_seen() {
    let (in_turn, repeated, late) = (1.0, 2.0, 3.0);
    let cases: [(&str, &[i64], &[Seen]); 5] = [
        ("regular", &[10_000, 20_000, 30_000], &[(in_turn, 0.0); 3]),
        (
            "missing",
            &[10_000, 20_000, 60_000],
            &[(in_turn, 0.0), (in_turn, 0.0), (in_turn, 3.0)],
        ),
        (
            "a little late is not missing",
            &[10_000, 24_000],
            &[(in_turn, 0.0); 2],
        ),
        (
            "overtaken",
            &[10_000, 30_000, 20_000],
            &[(in_turn, 0.0), (in_turn, 1.0), (late, 0.0)],
        ),
        (
            "twice",
            &[10_000, 10_000],
            &[(in_turn, 0.0), (repeated, 0.0)],
        ),
    ];
    for (name, stamps, expected) in cases {
        assert_eq!(arrivals(stamps), expected, "{name}");
    }
}

#[test]
fn what_was_overtaken_does_not_become_the_latest() {
    let mut rig = Rig::new::<Witness>(NoParameters);
    rig.send("pose", pose(30_000, 1.0));
    rig.send("pose", pose(20_000, 2.0));
    rig.advance(ms(50));
    assert_eq!(fresh(&mut rig), [1.0]);
}

#[test]
fn a_sender_that_begins_again_is_believed_once_the_old_is_stale() {
    let mut rig = Rig::new::<Witness>(NoParameters);
    rig.send("pose", pose(30_000_000, 1.0));
    rig.advance(ms(201));
    rig.send("pose", pose(10_000, 2.0));
    rig.advance(ms(50));
    assert_eq!(fresh(&mut rig), [1.0, 1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn an_input_is_stale_once_and_at_the_right_time() {
    let mut rig = Rig::new::<Witness>(NoParameters);
    let start = rig.now();
    rig.advance(ms(1_000));
    assert!(
        rig.take::<Velocity>("stale").is_empty(),
        "what never was cannot grow stale"
    );

    rig.send("pose", pose(1, 1.0));
    rig.advance(ms(200));
    assert!(rig.take::<Velocity>("stale").is_empty());
    rig.advance(ms(1_000));
    let stale = rig.take::<Velocity>("stale");
    assert_eq!(stale.len(), 1);
    assert_eq!(stale[0].utime - start.utime(), 1_200_000);
    let known = fresh(&mut rig).split_off(20);
    assert_eq!(known.split_at(4), (&[1.0; 4][..], &[-1.0; 20][..]));

    rig.send("pose", pose(2, 1.0));
    rig.advance(ms(201));
    assert_eq!(
        rig.take::<Velocity>("stale").len(),
        1,
        "and again after the next message"
    );
}

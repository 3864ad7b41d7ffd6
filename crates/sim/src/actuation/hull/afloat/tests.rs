//! Fossen's model against what can be worked out by hand.

use super::super::MountedThruster;
use super::*;
use crate::noise::Seed;
use crate::world::Sea;
use std::time::Duration;

fn thruster(left: f64) -> MountedThruster {
    MountedThruster {
        name: "T".to_owned(),
        part: 0,
        at_m: [-1.0, left, 0.0],
        along: [1.0, 0.0, 0.0],
        ahead_n: 100.0,
        astern_n: 50.0,
        lag_s: 0.0,
    }
}

fn afloat(munk_ratio: f64) -> Afloat {
    let hull = Hull {
        length_m: 2.0,
        beam_m: 1.0,
        added_mass: [6.0, 90.0, 24.0],
        linear_drag: [20.0, 100.0, 38.0],
        quadratic_drag: [18.0, 300.0, 380.0],
        munk_ratio,
        windage_m2: [0.0; 2],
        thrusters: [thruster(0.4), thruster(-0.4)],
    };
    Afloat {
        thrusters: Thrusters::new(&hull, Duration::from_millis(500)),
        hull,
        mass_kg: 60.0,
        inertia_kgm2: 14.0,
        centre: Vector::ZERO,
        gravity_mps2: 9.81,
        water: Water::new(Sea::default(), Seed(1)),
        ride: Ride::default(),
    }
}

#[test]
fn accelerations_are_those_worked_out_by_hand() {
    // u = 1, v = 0.5, r = 0.2; masses with what is added: 66, 150, 38.
    let found = afloat(1.0).acceleration([1.0, 0.5, 0.2], [100.0, 0.0, 10.0]);
    let expected = [
        (100.0 + 150.0 * 0.5 * 0.2 - (20.0 + 18.0)) / 66.0,
        (-66.0 * 1.0 * 0.2 - (100.0 + 150.0) * 0.5) / 150.0,
        (10.0 - (90.0 - 6.0) * 0.5 - (38.0 + 76.0) * 0.2) / 38.0,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
}

#[test]
fn in_still_water_energy_goes_as_fast_as_drag_takes_it() {
    let afloat = afloat(1.0);
    let mass = [66.0, 150.0, 38.0];
    let energy = |nu: [f64; 3]| {
        (0..3)
            .map(|axis| 0.5 * mass[axis] * nu[axis] * nu[axis])
            .sum::<f64>()
    };
    let mut nu = [1.5, -0.6, 0.7];
    let dt = 1e-3;
    for step in 0..10_000 {
        let gained = afloat.acceleration(nu, [0.0; 3]);
        let taken: f64 = (0..3)
            .map(|axis| {
                let (linear, square) = (
                    afloat.hull.linear_drag[axis],
                    afloat.hull.quadratic_drag[axis],
                );
                (linear + square * nu[axis].abs()) * nu[axis] * nu[axis]
            })
            .sum();
        // Coriolis forces do no work: what is lost is what drag takes.
        let power: f64 = (0..3)
            .map(|axis| mass[axis] * nu[axis] * gained[axis])
            .sum();
        assert!(
            (power + taken).abs() < 1e-9 * (1.0 + taken),
            "step {step}: {power} and {taken}"
        );
        let before = energy(nu);
        nu = [0, 1, 2].map(|axis| nu[axis] + gained[axis] * dt);
        assert!(energy(nu) <= before, "step {step}");
    }
    assert!(energy(nu) < 0.5, "{nu:?}");
}

#[test]
fn a_drifting_hull_turns_across_its_way_unless_its_skegs_hold_it() {
    let [_, _, turned] = afloat(1.0).acceleration([1.0, 0.1, 0.0], [0.0; 3]);
    assert!(
        turned < 0.0,
        "the bow goes the other way than it drifts: {turned}"
    );
    let [_, _, held] = afloat(0.0).acceleration([1.0, 0.1, 0.0], [0.0; 3]);
    assert!(held.abs() < 1e-12, "{held}");
}

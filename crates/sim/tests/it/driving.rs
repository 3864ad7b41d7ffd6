//! Vehicles go where they are told, and nowhere else.

use crate::support::{drive, raptor, wait};
use bowline_sim::World;

#[test]
fn a_vehicle_at_rest_stays_at_rest() {
    let mut simulation = raptor(World::flat());
    let before = simulation.pose();
    wait(&mut simulation, 5.0);
    let moved = before.inverse_mul(&simulation.pose());
    assert!(moved.distance_m() < 1e-6, "{} m", moved.distance_m());
    assert!(moved.angle_rad() < 1e-6);
}

#[test]
fn a_steered_vehicle_follows_the_arc_of_its_wheels() {
    for (steering, speed) in [
        (0.0_f64, 2.0),
        (0.2, 1.5),
        (-0.35, 1.0),
        (0.5, 2.0),
        (0.8, 0.8),
    ] {
        let mut simulation = raptor(World::flat());
        drive(&mut simulation, 4.0, (steering, speed));
        let curvature = steering.tan() / 1.96;
        let [v, w] = simulation.speed();
        assert!(
            (v - speed).abs() < 0.02 * speed,
            "{steering}: {v} m/s for {speed}"
        );
        assert!(
            (w / v - curvature).abs() < 0.02 * curvature.abs() + 1e-6,
            "{steering}: {} for {curvature}",
            w / v
        );
    }
}

//! Simulations for tests.

use bowline_geometry::{Disk, Model, load};
use bowline_msgs::Velocity;
use bowline_node::Time;
use bowline_sim::{Event, SimParameters, Simulation, VEHICLE_FRAME, Vehicle, World};
use std::path::PathBuf;

/// When simulations begin.
pub(crate) const EPOCH: Time = Time::from_utime(1_000_000_000_000_000);

pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn vehicle(model: &str) -> Vehicle {
    let path = repository().join("models").join(model);
    let loaded = load(&path, &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let model = Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    Vehicle::new(&model, VEHICLE_FRAME).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn raptor(world: World) -> Simulation {
    SimParameters::default().simulation(world, vehicle("raptor_ugv/raptor_ugv.xml"))
}

/// Drives for a while, with a command in every step; what was measured comes back.
pub(crate) fn drive(
    simulation: &mut Simulation,
    seconds: f64,
    (steering_rad, speed_mps): (f64, f64),
) -> Vec<Event> {
    let mut events = Vec::new();
    let end = simulation.elapsed_ns() + (seconds * 1e9) as u64;
    while simulation.elapsed_ns() < end {
        let utime = (simulation.elapsed_ns() / 1_000) as i64;
        simulation.command(&Velocity {
            utime,
            steering_rad,
            speed_mps,
        });
        simulation.step(EPOCH, &mut events);
    }
    events
}

/// Lets time pass without commands.
pub(crate) fn wait(simulation: &mut Simulation, seconds: f64) -> Vec<Event> {
    let mut events = Vec::new();
    let end = simulation.elapsed_ns() + (seconds * 1e9) as u64;
    while simulation.elapsed_ns() < end {
        simulation.step(EPOCH, &mut events);
    }
    events
}

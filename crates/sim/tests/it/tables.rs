//! Rows that a program adds: a sensor and a kind of actuation that the simulator does not have.

use crate::support::{EPOCH, message, modelled, steps};
use crate::torpedo::{DEPTH_M, Torpedo, files};
use bowline_component::{Kind, Rig};
use bowline_geometry::{Model, load};
use bowline_msgs::{Sounding, Thrust};
use bowline_sim::{
    Catalog, Event, MakeVehicleError, Sea, Sim, SimParameters, VEHICLE_FRAME, Vehicle, World,
};
use std::path::Path;

fn model() -> Model {
    let loaded = load(Path::new("a.xml"), &mut files()).unwrap_or_else(|it| panic!("{it}"));
    Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn thrust(port_ratio: f64) -> Thrust {
    Thrust {
        utime: 0,
        port_ratio,
        starboard_ratio: 0.0,
    }
}

#[test]
fn rows_of_a_program_measure_and_move() {
    let vehicle = Vehicle::new(&model(), VEHICLE_FRAME, &Catalog::of::<Torpedo>());
    let vehicle = vehicle.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(vehicle.command().message.name, "bowline.thrust_t");
    let world = World {
        sea: Some(Sea::default()),
        ..World::default()
    };
    let mut simulation = SimParameters::default().simulation(world, vehicle);
    let mut events = Vec::new();
    for _ in 0..steps(60.0) {
        simulation.command(&thrust(0.5));
        simulation.step(EPOCH, &mut events);
    }
    let [speed_mps, _] = simulation.speed();
    assert!(
        (speed_mps - 1.0).abs() < 1e-3,
        "10 N against 10 N s/m: {speed_mps}"
    );
    let depths = events.iter().filter_map(|event| match event {
        Event::Measured { reading, .. } => Some(message::<Sounding>(reading).depth_m),
        Event::Truth(_) | Event::Contact(_) | Event::Sea(_) => None,
    });
    let depths: Vec<f64> = depths.collect();
    assert_eq!(depths.len(), 600);
    let mean_m = depths.iter().sum::<f64>() / depths.len() as f64;
    assert!((mean_m - DEPTH_M).abs() < 0.01, "{mean_m}");
    assert!(
        depths
            .iter()
            .any(|depth| depth.to_bits() != depths[0].to_bits()),
        "there is noise"
    );
}

#[test]
fn rows_of_a_program_are_in_its_schema_and_its_reference() {
    let catalog = Catalog::of::<Torpedo>();
    for text in [catalog.schema(), catalog.reference()] {
        assert!(text.contains("pressure") && text.contains("propeller"));
        assert!(text.contains("multibeam") && text.contains("thruster"));
    }
}

#[test]
fn without_the_rows_the_model_is_refused_by_name() {
    let error = Vehicle::new(&model(), VEHICLE_FRAME, &Catalog::default());
    let Err(MakeVehicleError::Elements(mistakes)) = error else {
        panic!("{error:?}");
    };
    let text = mistakes.to_string();
    assert!(text.contains("found <pressure>"), "{text}");
    assert!(text.contains("found <propeller>"), "{text}");
}

#[test]
fn a_component_with_rows_of_a_program_has_their_ports() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files() {
        std::fs::write(folder.path().join(name), text).expect("it can be written");
    }
    let world = folder.path().join("sea.toml");
    std::fs::write(&world, "[world]\nname = \"sea\"\n\n[sea]\n").expect("it can be written");
    let parameters = SimParameters {
        world,
        vehicle: modelled(folder.path().join("a.xml")),
        ..SimParameters::default()
    };
    let mut rig = Rig::new::<Sim<Torpedo>>(parameters);
    rig.send("propeller", thrust(1.0));
    rig.advance(std::time::Duration::from_secs(1));
    assert_eq!(rig.take::<Sounding>("Torpedo.Depth").len(), 10);
    let kind = Kind::of::<Sim<Torpedo>>("sim", "Simulates a torpedo.");
    assert_eq!(
        kind.parameters().len(),
        Kind::of::<Sim>("sim", "").parameters().len()
    );
}

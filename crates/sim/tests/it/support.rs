//! Simulations for tests.

use bowline_component::{Time, Vehicle as Facts};
use bowline_geometry::{Disk, Files, Model, load};
use bowline_msgs::Velocity;
use bowline_sim::{
    Catalog, Event, Reading, SimParameters, Simulation, VEHICLE_FRAME, Vehicle, World,
};
use bowline_wire::Message;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// When simulations begin.
pub(crate) const EPOCH: Time = Time::from_utime(1_000_000_000_000_000);
/// How long a step is.
pub(crate) const STEP_S: f64 = 0.005;

pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn vehicle_of(path: &std::path::Path, files: &mut dyn Files) -> Vehicle {
    let loaded = load(path, files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let model = Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let vehicle = Vehicle::new(&model, VEHICLE_FRAME, &Catalog::default());
    vehicle.unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn vehicle(model: &str) -> Vehicle {
    vehicle_of(&repository().join("models").join(model), &mut Disk)
}

/// A vehicle of which only the model is known.
pub(crate) fn modelled(model: impl Into<PathBuf>) -> Facts {
    Facts {
        model: model.into(),
        ..Facts::default()
    }
}

pub(crate) fn raptor(world: World) -> Simulation {
    SimParameters::default().simulation(world, vehicle("raptor_ugv/raptor_ugv.xml"))
}

pub(crate) fn jackal(world: World) -> Simulation {
    let parameters = SimParameters {
        vehicle: Facts {
            steering: "skid".to_owned(),
            ..Facts::default()
        },
        ..SimParameters::default()
    };
    parameters.simulation(world, vehicle("jackal/jackal.xml"))
}

/// The cart with a device of `models/sensors` 1 m above the origin.
pub(crate) fn cart_with(device: &str) -> Vehicle {
    let path = repository().join(format!("models/sensors/{device}.body.xml"));
    let body = std::fs::read_to_string(path).expect("the device is there");
    cart_of("", Some(body))
}

/// A cart with sensors on its body, whose elements a test writes; they sit 1 m above the origin, or at Tilted, which
/// looks 45 degrees down.
pub(crate) fn cart(sensors: &str) -> Vehicle {
    cart_of(sensors, None)
}

fn cart_of(sensors: &str, device: Option<String>) -> Vehicle {
    let body = format!(
        r#"<body name="Cart">
        <frame name="Vehicle"/><frame name="FL" xyz="1 0.5 0.3"/><frame name="FR" xyz="1 -0.5 0.3"/>
        <frame name="RL" xyz="0 0.5 0.3"/><frame name="RR" xyz="0 -0.5 0.3"/>
        <frame name="Up" xyz="0 0 1"/><frame name="Ahead" xyz="1.5 0 1"/>
        <frame name="Tilted" xyz="0 0 1" rpy="0 45 0" angle="deg"/>
        <box xyz="0.5 0 0.5" size_m="1.4 0.8 0.2"/><mass mass_kg="200" xyz="0.5 0 0.4"/>{sensors}</body>"#
    );
    let wheel = r#"<body name="Wheel"><frame name="Hub"/><cylinder rpy="90 0 0" angle="deg" radius_m="0.3" length_m="0.1"/>
        <mass mass_kg="5"/><encoder name="Encoder" frame="Hub" rate_hz="50" ticks_per_turn="1000"/></body>"#;
    let wheels = ["FL", "FR", "RL", "RR"].map(|at| {
        format!(
            r#"<use body="wheel.xml" as="{at}Wheel"/><constraint name="{at}Axle" from="Cart:{at}" to="{at}Wheel:Hub"/>"#
        )
    });
    let mount = device.as_ref().map_or("", |_| {
        r#"<use body="device.xml" as="Device"/><constraint name="Mount" from="Cart:Up" to="Device:BottomCenter"/>"#
    });
    let assembly = format!(
        r#"<assembly name="A"><use body="cart.xml"/>{mount}{}</assembly>"#,
        wheels.concat()
    );
    let files = [
        ("a.xml", assembly),
        ("cart.xml", body),
        ("wheel.xml", wheel.to_owned()),
        ("device.xml", device.unwrap_or_default()),
    ];
    let mut files: BTreeMap<PathBuf, Vec<u8>> = files
        .into_iter()
        .map(|(name, text)| (name.into(), text.into_bytes()))
        .collect();
    vehicle_of(std::path::Path::new("a.xml"), &mut files)
}

pub(crate) fn command(simulation: &mut Simulation, (steering_rad, speed_mps): (f64, f64)) {
    let utime = (simulation.elapsed_ns() / 1_000).cast_signed();
    simulation.command(&Velocity {
        utime,
        steering_rad,
        speed_mps,
    });
}

/// Drives for a while, with a command in every step; what happened comes back.
pub(crate) fn drive(simulation: &mut Simulation, seconds: f64, how: (f64, f64)) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..steps(seconds) {
        command(simulation, how);
        simulation.step(EPOCH, &mut events);
    }
    events
}

/// Lets time pass without commands.
pub(crate) fn wait(simulation: &mut Simulation, seconds: f64) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..steps(seconds) {
        simulation.step(EPOCH, &mut events);
    }
    events
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests last seconds"
)]
pub(crate) fn steps(seconds: f64) -> u64 {
    (seconds / STEP_S).round() as u64
}

/// The readings of one sensor.
pub(crate) fn readings<'e>(
    simulation: &Simulation,
    events: &'e [Event],
    port: &str,
) -> Vec<&'e Reading> {
    let sensors = &simulation.vehicle().sensors;
    let wanted = sensors
        .iter()
        .position(|it| it.port == port)
        .unwrap_or_else(|| panic!("no {port}"));
    let said = events.iter().filter_map(|event| match event {
        Event::Measured { sensor, reading } if *sensor == wanted => Some(reading),
        Event::Measured { .. } | Event::Truth(_) | Event::Contact(_) | Event::Sea(_) => None,
    });
    said.collect()
}

/// The message of a reading.
pub(crate) fn message<M: Message + 'static>(reading: &Reading) -> &M {
    reading
        .get()
        .unwrap_or_else(|| panic!("expected {}, found {reading:?}", M::NAME))
}

//! The simulator as a component: in the place of a vehicle and its sensors, on the channels that they would use.

mod outputs;
mod services;

use crate::actuation::wheels::Steering;
use crate::actuation::{Commands, SQUARE_RAD};
use crate::catalog::{Catalog, Ours, Tables};
use crate::noise::Seed;
use crate::simulation::{Event, Settings, Simulation};
use crate::vehicle::{VEHICLE_FRAME, Vehicle};
use crate::world::World;
use bowline_autonomy::control::DriveLimits;
use bowline_component::{
    Build, BuildError, Component, Health, Outbox, Ports, Step, Time, Vehicle as VehicleFacts,
};
use bowline_geometry::{Disk, Model, load};
use outputs::Outputs;
use services::Services;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

bowline_component::parameters! {
    /// What is simulated, and how the vehicle drives.
    pub struct SimParameters {
        in vehicle: VehicleFacts;
        /// A world file: ours (.toml), Gazebo's (.sdf, .world) or BARN's (.json); without it flat ground.
        world: PathBuf = PathBuf::new();
        /// What all noise comes from.
        seed: i64 = 1, within 0..=i64::MAX;
        /// What all noise of sensors is multiplied with: 0 for none, 2 for twice as much.
        noise: f64 = 1.0, within 0.0..=100.0;
        /// Sensors without noise, by their ports: ["INS.Pose"] to know where the vehicle is.
        exact: Vec<String> = Vec::new();
        /// How long a step of the physics is.
        step: Duration = Duration::from_millis(5), within Duration::from_micros(500)..=Duration::from_millis(20);
        /// The largest angle of the front wheels, degrees.
        steering_deg: f64 = 50.0, within 1.0..=85.0;
        /// How fast the front wheels turn, degrees a second.
        steering_rate_dps: f64 = 60.0, within 1.0..=1000.0;
        /// How fast it turns at most by its sides, radians a second.
        turn_radps: f64 = 3.0, within 0.1..=20.0;
        /// How fast that changes, radians a second squared.
        turn_accel_radps2: f64 = 10.0, within 0.1..=100.0;
        /// How fast it goes at most, metres a second.
        speed_mps: f64 = 3.0, within 0.1..=50.0;
        /// How fast it goes backward at most, metres a second.
        reverse_mps: f64 = 1.0, within 0.0..=50.0;
        /// How fast it gets faster, metres a second squared.
        accel_mps2: f64 = 1.5, within 0.05..=20.0;
        /// How fast it gets slower with its brakes full on, metres a second squared.
        full_brake_mps2: f64 = 3.0, within 0.1..=20.0;
        /// How long a command holds. After that it stops, or no thruster pushes.
        timeout: Duration = Duration::from_millis(500), within Duration::from_millis(10)..=Duration::from_secs(10);
        /// How much tyres hold, on ground of friction 1.
        grip: f64 = 1.0, within 0.01..=3.0;
        /// How fast it bounces on its springs, hertz.
        bounce_hz: f64 = 4.0, within 0.5..=10.0;
        /// How often the truth is published, hertz.
        truth_hz: f64 = 50.0, within 0.1..=1000.0;
    }
}

/// A simulation on a bus, of models that may have what is in our tables and in those of `T`.
#[derive(Debug)]
pub struct Sim<T = Ours> {
    simulation: Simulation,
    /// When the simulation began, by the host's clock; moved on while it stands still.
    epoch: Time,
    pace: Pace,
    /// Time that it could not keep up with.
    skipped: Duration,
    commands: Box<dyn Commands>,
    outputs: Outputs,
    services: Services,
    events: Vec<Event>,
    tables: PhantomData<T>,
}

/// How a simulation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Running,
    Paused,
    /// So many steps more, and then paused.
    Steps(u64),
}

/// More than this is not made up for: a host that was suspended must not race.
const MAX_CATCH_UP: Duration = Duration::from_millis(500);

impl<T: Tables> Build for Sim<T> {
    type Parameters = SimParameters;

    fn build(parameters: SimParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let world = World::load_or_flat(&parameters.world)?;
        let vehicle = vehicle(&parameters.vehicle, &Catalog::of::<T>())?;
        check_world(&world, &vehicle)?;
        for port in &parameters.exact {
            let checked = vehicle.check_breakable(port);
            checked.map_err(|error| format!("exact: {error}"))?;
        }
        let settings = settings(&parameters, &vehicle);
        ports.tick(parameters.step);
        let commands = vehicle.command().declare(ports);
        let outputs = Outputs::new(&vehicle, ports);
        let services = Services::new(ports);
        Ok(Self {
            simulation: Simulation::new(world, vehicle, settings),
            epoch: Time::ZERO,
            pace: Pace::Running,
            skipped: Duration::ZERO,
            commands,
            outputs,
            services,
            events: Vec::new(),
            tables: PhantomData,
        })
    }
}

/// A world does not know which vehicle will be in it, and what that has.
fn check_world(world: &World, vehicle: &Vehicle) -> Result<(), BuildError> {
    if world.sea.is_none() && vehicle.gear.needs_sea() {
        let name = &world.name;
        return Err(format!("a vessel needs a world with a [sea], found none in {name:?}").into());
    }
    let ports = world.faults.iter().filter_map(|fault| fault.port.as_ref());
    for port in ports {
        let checked = vehicle.check_breakable(port);
        checked.map_err(|error| format!("a fault of the world {:?}: {error}", world.name))?;
    }
    Ok(())
}

fn vehicle(facts: &VehicleFacts, catalog: &Catalog) -> Result<Vehicle, BuildError> {
    let model = Model::new(load(facts.model()?, &mut Disk)?.assembly)?;
    let frame = match facts.origin_frame.as_str() {
        "" => VEHICLE_FRAME,
        frame => frame,
    };
    Ok(Vehicle::new(&model, frame, catalog)?)
}

/// The settings that parameters have for a vehicle.
fn settings(parameters: &SimParameters, vehicle: &Vehicle) -> Settings {
    let facts = &parameters.vehicle;
    let wheelbase_m = match (facts.wheelbase_m, vehicle.wheelbase_m()) {
        (Some(written), _) => written,
        (None, found) if found > 0.01 => found,
        // One axle: as long as it is wide.
        (None, _) => vehicle.track_m().max(0.1),
    };
    let (steering, max_steering_rad, max_steering_radps) = if facts.turns_by_its_sides() {
        let steering = Steering::Sides {
            wheelbase_m,
            limit_radps: parameters.turn_radps,
            accel_radps2: parameters.turn_accel_radps2,
        };
        // There are no wheels to be turned: how fast the vehicle itself may turn is what counts.
        (steering, SQUARE_RAD, 1e6)
    } else {
        let (limit, rate) = (parameters.steering_deg, parameters.steering_rate_dps);
        let steering = Steering::Ackermann { wheelbase_m };
        (steering, limit.to_radians(), rate.to_radians())
    };
    Settings {
        seed: Seed(parameters.seed.unsigned_abs()),
        noise: parameters.noise,
        exact: parameters.exact.clone(),
        step_ns: u64::try_from(parameters.step.as_nanos()).unwrap_or(u64::MAX),
        limits: DriveLimits {
            max_speed_mps: parameters.speed_mps,
            max_reverse_mps: parameters.reverse_mps,
            max_accel_mps2: parameters.accel_mps2,
            max_brake_mps2: parameters.full_brake_mps2,
            max_steering_rad,
            max_steering_radps,
            timeout: parameters.timeout,
        },
        steering,
        grip: parameters.grip,
        bounce_hz: parameters.bounce_hz,
        truth_hz: parameters.truth_hz,
    }
}

impl SimParameters {
    /// A simulation without a host, of a world and a vehicle that a program made; `world` and the model are not looked at.
    #[must_use]
    pub fn simulation(&self, world: World, vehicle: Vehicle) -> Simulation {
        let settings = settings(self, &vehicle);
        Simulation::new(world, vehicle, settings)
    }

    /// A simulation without a host, of the files that are named, with a model that may have what the catalog has.
    ///
    /// # Errors
    /// When a file is not there, or wrong.
    pub fn load(&self, catalog: &Catalog) -> Result<Simulation, BuildError> {
        let vehicle = vehicle(&self.vehicle, catalog)?;
        let world = World::load_or_flat(&self.world)?;
        check_world(&world, &vehicle)?;
        Ok(self.simulation(world, vehicle))
    }
}

impl<T: Tables> Component for Sim<T> {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_start() {
            self.epoch = step.now();
            out.health(Health::Good);
        }
        let Self {
            commands,
            simulation,
            ..
        } = self;
        commands.take(step, &mut |command| simulation.command(command));
        self.serve(step, out);
        if step.is_tick() {
            self.go_on(step.now(), out);
        }
    }
}

impl<T> Sim<T> {
    /// Goes on to now, or as far as it may.
    fn go_on(&mut self, now: Time, out: &mut Outbox<'_>) {
        let step = Duration::from_nanos(self.simulation.settings().step_ns);
        let mut behind = now.since(self.epoch + self.elapsed());
        if behind > MAX_CATCH_UP {
            let left_out = behind - MAX_CATCH_UP;
            self.skipped += left_out;
            self.epoch = self.epoch + left_out;
            behind = MAX_CATCH_UP;
            let seconds = self.skipped.as_secs_f64();
            out.health(Health::Degraded(format!(
                "it does not keep up with the clock: {seconds:.3} s were left out"
            )));
        }
        while behind >= step {
            behind -= step;
            if !self.may_step() {
                self.epoch = self.epoch + step;
                continue;
            }
            self.simulation.step(self.epoch, &mut self.events);
            for event in self.events.drain(..) {
                self.outputs.send(event, out);
            }
            self.answer_steps(out);
        }
    }

    fn may_step(&mut self) -> bool {
        match &mut self.pace {
            Pace::Running => true,
            Pace::Paused => false,
            Pace::Steps(left) => {
                *left -= 1;
                if *left == 0 {
                    self.pace = Pace::Paused;
                }
                true
            }
        }
    }

    const fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.simulation.elapsed_ns())
    }
}

//! The robot as the simulator needs it: what it weighs, what it bumps into things with, what it stands on and what it
//! senses with, all of it from the robot's own model.

pub(crate) mod afloat;
pub(crate) mod driven;
mod floating;
pub(crate) mod propulsion;
pub(crate) mod thrusters;
pub(crate) mod turning;
pub(crate) mod wheels;

use crate::math::vector;
use crate::physics::{ChassisPlan, ChassisShape};
use crate::solid::Solid;
use bowline_geometry::{Body, FrameId, Model, Role, Sensor, Shape, ShapeKind, Transform, Vec3};
use floating::Floating;
use rapier3d_f64::math::Vector;
use thrusters::MountedThruster;

/// The frame that vehicles are described in, unless they have one of another name.
pub const VEHICLE_FRAME: &str = "Vehicle";

/// A vehicle, ready to be put into a world.
#[derive(Clone, Debug)]
pub struct Vehicle {
    /// The frame that everything is relative to, as `Body:Frame`.
    pub frame: String,
    /// Names of the bodies that it is made of.
    pub parts: Vec<String>,
    /// What carries and moves it.
    pub running_gear: RunningGear,
    /// What it senses with.
    pub sensors: Vec<Mounted>,
    /// What of the model has no place here, in words.
    pub notes: Vec<String>,
    pub(crate) chassis: ChassisPlan,
}

/// What carries and moves a vehicle. The model decides: whoever has a hull is a vessel.
#[derive(Clone, Debug, PartialEq)]
pub enum RunningGear {
    /// Wheels and castors that it stands on.
    Wheels(Vec<Wheel>),
    /// A hull that it floats on.
    Hull(Box<Hull>),
}

/// A hull with its thrusters, about the vehicle's centre of mass; in surge, sway and yaw.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    /// Along the waterline, metres.
    pub length_m: f64,
    /// From side to side, metres.
    pub beam_m: f64,
    /// What water moves with it: kilograms twice, and kilogram square metres.
    pub added_mass: [f64; 3],
    /// What holds it back by speed through the water: newtons at a metre a second twice, and newton metres at a radian a
    /// second.
    pub linear_drag: [f64; 3],
    /// The same by the square of speed.
    pub quadratic_drag: [f64; 3],
    /// How much is left of Munk's moment, 0 to 1.
    pub munk_ratio: f64,
    /// What the wind blows against from ahead and from the side, with its drag coefficient, square metres.
    pub windage_m2: [f64; 2],
    /// To port, and to starboard.
    pub thrusters: [MountedThruster; 2],
}

/// A wheel, or a castor.
#[derive(Clone, Debug, PartialEq)]
pub struct Wheel {
    /// The body that it is.
    pub part: usize,
    /// Its middle, in coordinates of the vehicle, metres.
    pub centre_m: Vec3,
    /// Metres.
    pub radius_m: f64,
    /// Whether it only carries, and slides wherever it is pulled.
    pub is_castor: bool,
}

/// A sensor where it sits.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// `Body.Sensor`: what its port is called.
    pub port: String,
    /// `Body:Frame`.
    pub frame: String,
    /// The body that it is on.
    pub part: usize,
    /// Where it looks from.
    pub vehicle_from_sensor: Transform,
    /// What it measures.
    pub sensor: Sensor,
}

/// Why a model is no vehicle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MakeVehicleError {
    /// There is no frame to describe it in.
    #[error(
        "expected a frame called {expected:?} in the model, x forward, z up: on the ground under the middle of the rear axle, or amidships on the waterline; found none"
    )]
    NoFrame {
        /// Its name.
        expected: String,
    },
    /// There are several.
    #[error("expected one frame called {expected:?} in the model, found {}", found.join(", "))]
    ManyFrames {
        /// Its name.
        expected: String,
        /// All that are called so.
        found: Vec<String>,
    },
    /// It weighs nothing.
    #[error("expected a <mass> in at least one body of the model, found none")]
    NoMass,
    /// It has nothing to stand on, and nothing to float on.
    #[error(
        "expected a <hull>, or at least 3 bodies with Wheel or Castor in their names and a cylinder or a sphere as their shape, found {found}"
    )]
    NoWheels {
        /// How many.
        found: usize,
    },
    /// It has several hulls.
    #[error(
        "expected one <hull> for the whole vessel, found {}: a twin hull is one, too", found.join(", ")
    )]
    ManyHulls {
        /// The bodies that have one.
        found: Vec<String>,
    },
    /// A vessel has not one thruster on each side.
    #[error("expected a <thruster> to port and one to starboard, found {port} and {starboard}")]
    Thrusters {
        /// How many are to the left.
        port: usize,
        /// How many are to the right, or in the middle.
        starboard: usize,
    },
}

/// There is no such port to break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, or nothing for all, found {found:?}", known.join(", "))]
pub struct NoSuchPort {
    /// What can be broken.
    pub known: Vec<String>,
    /// What was meant to be.
    pub found: String,
}

impl Vehicle {
    /// Whether a port of that name can be broken: a sensor's, or the one for commands.
    ///
    /// # Errors
    /// When there is none.
    pub fn check_breakable(&self, port: &str) -> Result<(), NoSuchPort> {
        let sensors = self.sensors.iter().map(|it| it.port.clone());
        let command = self.command_port().to_owned();
        let known: Vec<String> = sensors.chain([command]).collect();
        if known.iter().any(|it| it == port) {
            return Ok(());
        }
        Err(NoSuchPort {
            known,
            found: port.to_owned(),
        })
    }

    /// The port that its commands come in by.
    #[must_use]
    pub const fn command_port(&self) -> &'static str {
        match self.running_gear {
            RunningGear::Wheels(_) => "command",
            RunningGear::Hull(_) => "thrust",
        }
    }

    /// Takes a model apart. `frame` is the name of the vehicle's frame, or `Body:Frame`.
    ///
    /// # Errors
    /// When it has no such frame, no mass, and neither wheels nor a hull with its thrusters.
    pub fn new(model: &Model, frame: &str) -> Result<Self, MakeVehicleError> {
        let mut model = model.clone();
        // What moves and tells nobody is where it rests.
        model.set_untold_to_rest(0);
        let reference = find_frame(&model, frame)?;
        let assembly = model.assembly();
        let mut vehicle = Self {
            frame: model.name_of(reference).to_owned(),
            parts: assembly
                .bodies
                .iter()
                .map(|body| body.name.clone())
                .collect(),
            running_gear: RunningGear::Wheels(Vec::new()),
            sensors: Vec::new(),
            notes: Vec::new(),
            chassis: ChassisPlan::default(),
        };
        let mut masses = Masses::default();
        let mut floating = Floating::default();
        for (part, body) in assembly.bodies.iter().enumerate() {
            let Some(vehicle_from_body) = pose_of(&model, body, reference) else {
                let note = format!(
                    "{} is left out: nothing binds it to {}",
                    body.name, vehicle.frame
                );
                vehicle.notes.push(note);
                continue;
            };
            masses.add(body, &vehicle_from_body);
            vehicle.take_shapes(part, body, &vehicle_from_body);
            vehicle.take_sensors(part, body, &vehicle_from_body);
            floating.add(part, body, &vehicle_from_body);
        }
        if let Some(hull) = floating.finish()? {
            vehicle.running_gear = RunningGear::Hull(Box::new(hull));
            vehicle.chassis.floats = true;
        } else if vehicle.wheels().len() < 3 {
            let found = vehicle.wheels().len();
            return Err(MakeVehicleError::NoWheels { found });
        }
        masses.finish(&mut vehicle.chassis)?;
        Ok(vehicle)
    }

    /// What it stands on; nothing for vessels.
    #[must_use]
    pub fn wheels(&self) -> &[Wheel] {
        match &self.running_gear {
            RunningGear::Wheels(wheels) => wheels,
            RunningGear::Hull(_) => &[],
        }
    }

    /// A sensor by its port.
    #[must_use]
    pub fn sensor(&self, port: &str) -> Option<&Mounted> {
        self.sensors.iter().find(|mounted| mounted.port == port)
    }

    /// How far apart the axles are: the foremost wheels from the vehicle's origin.
    #[must_use]
    pub fn wheelbase_m(&self) -> f64 {
        let wheels = self.wheels().iter().filter(|wheel| !wheel.is_castor);
        let (rear, front) = wheels.fold((f64::INFINITY, f64::NEG_INFINITY), |(rear, front), it| {
            (rear.min(it.centre_m[0]), front.max(it.centre_m[0]))
        });
        front - rear
    }

    /// How far apart the wheels of an axle are.
    #[must_use]
    pub fn track_m(&self) -> f64 {
        let wheels = self.wheels().iter().filter(|wheel| !wheel.is_castor);
        let widest = wheels.map(|wheel| wheel.centre_m[1].abs());
        2.0 * widest.fold(0.0, f64::max)
    }

    /// What it weighs, kilograms.
    #[must_use]
    pub const fn mass_kg(&self) -> f64 {
        self.chassis.mass_kg
    }

    /// Each box, cylinder or ball that it bumps into things with, and where, for pictures.
    pub fn shapes(&self) -> impl Iterator<Item = (&Solid, &Transform)> {
        let shapes = self.chassis.shapes.iter();
        shapes.map(|shape| (&shape.solid, &shape.vehicle_from_shape))
    }

    fn take_shapes(&mut self, part: usize, body: &Body, vehicle_from_body: &Transform) {
        let name = body.name.to_lowercase();
        let is_castor = name.contains("castor") || name.contains("caster");
        let is_wheel = is_castor || name.contains("wheel");
        for shape in &body.shapes {
            let vehicle_from_shape = *vehicle_from_body * shape.body_from_shape;
            let radius = wheel_radius(shape);
            if is_wheel && let Some(radius_m) = radius {
                self.take_wheel(Wheel {
                    part,
                    centre_m: vehicle_from_shape.xyz(),
                    radius_m,
                    is_castor,
                });
            }
            if shape.role == Role::Visual {
                continue;
            }
            let Some(solid) = solid(shape, is_wheel) else {
                let note = format!(
                    "a mesh of {} is left out: vehicles are simple shapes",
                    body.name
                );
                self.notes.push(note);
                continue;
            };
            self.chassis.shapes.push(ChassisShape {
                part,
                solid,
                vehicle_from_shape,
                is_wheel,
            });
        }
    }

    fn take_wheel(&mut self, wheel: Wheel) {
        if let RunningGear::Wheels(wheels) = &mut self.running_gear
            && wheels.iter().all(|other| other.part != wheel.part)
        {
            wheels.push(wheel);
        }
    }

    fn take_sensors(&mut self, part: usize, body: &Body, vehicle_from_body: &Transform) {
        for sensor in &body.sensors {
            let found = body.frames.iter().find(|frame| frame.name == sensor.frame);
            let Some(frame) = found else {
                continue;
            };
            self.sensors.push(Mounted {
                port: format!("{}.{}", body.name, sensor.name),
                frame: format!("{}:{}", body.name, sensor.frame),
                part,
                vehicle_from_sensor: *vehicle_from_body * frame.body_from_frame,
                sensor: sensor.clone(),
            });
        }
    }
}

fn find_frame(model: &Model, wanted: &str) -> Result<FrameId, MakeVehicleError> {
    let is_it = |frame: &FrameId| {
        let name = model.name_of(*frame);
        name == wanted
            || name
                .split_once(':')
                .is_some_and(|(_, short)| short == wanted)
    };
    let found: Vec<FrameId> = model.frames().filter(is_it).collect();
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(MakeVehicleError::NoFrame {
            expected: wanted.to_owned(),
        }),
        many => Err(MakeVehicleError::ManyFrames {
            expected: wanted.to_owned(),
            found: many
                .iter()
                .map(|it| model.name_of(*it).to_owned())
                .collect(),
        }),
    }
}

/// Where a body's origin is in coordinates of a frame, if constraints bind the two.
fn pose_of(model: &Model, body: &Body, reference: FrameId) -> Option<Transform> {
    let first = body.frames.first()?;
    let frame = model.frame(&format!("{}:{}", body.name, first.name)).ok()?;
    let reference_from_frame = model.transform(frame, reference).ok()?;
    Some(reference_from_frame * first.body_from_frame.inverse())
}

fn wheel_radius(shape: &Shape) -> Option<f64> {
    match shape.kind {
        ShapeKind::Cylinder { radius_m, .. } | ShapeKind::Sphere { radius_m } => Some(radius_m),
        ShapeKind::Box { .. } | ShapeKind::Mesh { .. } => None,
    }
}

/// Wheels bump into things with their upper part only: what is low, they roll over.
const WHEEL_SHARE: f64 = 0.7;

fn solid(shape: &Shape, is_wheel: bool) -> Option<Solid> {
    let share = if is_wheel { WHEEL_SHARE } else { 1.0 };
    match &shape.kind {
        ShapeKind::Box { size_m } => Some(Solid::Box {
            half_m: size_m.map(|edge| edge / 2.0),
        }),
        ShapeKind::Cylinder { radius_m, length_m } => Some(Solid::Cylinder {
            radius_m: radius_m * share,
            half_m: length_m / 2.0,
        }),
        ShapeKind::Sphere { radius_m } => Some(Solid::Sphere {
            radius_m: radius_m * share,
        }),
        ShapeKind::Mesh { .. } => None,
    }
}

/// Masses while they are added up.
#[derive(Debug, Default)]
struct Masses {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    mass_kg: f64,
    centre: Vector,
    inertia: [[f64; 3]; 3],
}

impl Masses {
    fn add(&mut self, body: &Body, vehicle_from_body: &Transform) {
        let Some(mass) = &body.mass else {
            return;
        };
        let vehicle_from_centre = *vehicle_from_body * mass.body_from_centre;
        let inertia = match mass.inertia_kgm2 {
            Some([xx, yy, zz, xy, xz, yz]) => [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
            None => box_inertia(mass.mass_kg, extent(body)),
        };
        self.pieces.push(Piece {
            mass_kg: mass.mass_kg,
            centre: vector(vehicle_from_centre.xyz()),
            inertia: turned(inertia, &vehicle_from_centre),
        });
    }

    fn finish(&self, chassis: &mut ChassisPlan) -> Result<(), MakeVehicleError> {
        let mass_kg: f64 = self.pieces.iter().map(|piece| piece.mass_kg).sum();
        if mass_kg <= 0.0 {
            return Err(MakeVehicleError::NoMass);
        }
        let moments = self.pieces.iter().map(|piece| piece.centre * piece.mass_kg);
        let centre = moments.fold(Vector::ZERO, |sum, it| sum + it) / mass_kg;
        let mut inertia = [[0.0; 3]; 3];
        for piece in &self.pieces {
            let moved = about(piece, centre);
            for (sum, value) in inertia.iter_mut().flatten().zip(moved.iter().flatten()) {
                *sum += value;
            }
        }
        chassis.mass_kg = mass_kg;
        chassis.centre_m = centre.to_array();
        chassis.inertia_kgm2 = inertia;
        Ok(())
    }
}

/// The inertia of a piece about another centre (Steiner's rule).
fn about(piece: &Piece, centre: Vector) -> [[f64; 3]; 3] {
    let away = piece.centre - centre;
    let (arm, far) = (away.to_array(), away.length_squared());
    let mut inertia = piece.inertia;
    for (row, values) in inertia.iter_mut().enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            let diagonal = if row == column { far } else { 0.0 };
            *value += piece.mass_kg * (diagonal - arm[row] * arm[column]);
        }
    }
    inertia
}

/// How large a body is along its axes, roughly: its largest shape.
fn extent(body: &Body) -> Vec3 {
    let sizes = body.shapes.iter().map(|shape| match shape.kind {
        ShapeKind::Box { size_m } => size_m,
        ShapeKind::Cylinder { radius_m, length_m } => [2.0 * radius_m, 2.0 * radius_m, length_m],
        ShapeKind::Sphere { radius_m } => [2.0 * radius_m; 3],
        ShapeKind::Mesh { .. } => [0.1; 3],
    });
    let volume = |size: &Vec3| size.iter().product::<f64>();
    sizes
        .max_by(|one, two| volume(one).total_cmp(&volume(two)))
        .unwrap_or([0.1; 3])
}

fn box_inertia(mass_kg: f64, [x, y, z]: Vec3) -> [[f64; 3]; 3] {
    let share = mass_kg / 12.0;
    [
        [share * (y * y + z * z), 0.0, 0.0],
        [0.0, share * (x * x + z * z), 0.0],
        [0.0, 0.0, share * (x * x + y * y)],
    ]
}

/// An inertia about the axes of `a`, from one about those of `b`.
fn turned(inertia: [[f64; 3]; 3], a_from_b: &Transform) -> [[f64; 3]; 3] {
    let turn = a_from_b.rotation();
    let mut out = [[0.0; 3]; 3];
    for (row, sums) in out.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            for (i, line) in inertia.iter().enumerate() {
                for (j, value) in line.iter().enumerate() {
                    *sum += turn[row][i] * value * turn[column][j];
                }
            }
        }
    }
    out
}

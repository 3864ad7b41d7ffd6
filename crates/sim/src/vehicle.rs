//! The robot as the simulator needs it: what it weighs, what it bumps into things with, what it stands on and what it
//! senses with, all of it from the robot's own model.

use crate::actuation::wheels::Wheel;
use crate::actuation::{CommandPort, Gear, MountedBody};
use crate::catalog::Catalog;
use crate::math::vector;
use crate::physics::{ChassisPlan, ChassisShape};
use crate::sensor::Instrument;
use crate::solid::Solid;
use bowline_component::BuildError;
use bowline_geometry::{Body, FrameId, Mistakes, Model, Role, Shape, ShapeKind, Transform, Vec3};
use rapier3d_f64::math::Vector;
use std::any::Any;
use std::sync::Arc;

/// The frame that vehicles are described in, unless they have one of another name.
pub const VEHICLE_FRAME: &str = "Vehicle";

/// A vehicle, ready to be put into a world.
#[derive(Clone, Debug)]
pub struct Vehicle {
    /// The frame that everything is relative to, as `Body:Frame`.
    pub frame: String,
    /// Names of the bodies that it is made of.
    pub parts: Vec<String>,
    /// What it senses with.
    pub sensors: Vec<Mounted>,
    /// What of the model has no place here, in words.
    pub notes: Vec<String>,
    pub(crate) gear: Arc<dyn Gear>,
    pub(crate) chassis: ChassisPlan,
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
    /// The word of its kind: `laser`, for example.
    pub word: &'static str,
    /// How often it measures; 0 is as often as the simulator steps.
    pub rate_hz: f64,
    /// What it measures with.
    pub instrument: Instrument,
}

/// Why a model is no vehicle.
#[derive(Debug, thiserror::Error)]
pub enum MakeVehicleError {
    /// Something is wrong with what it senses or moves with, or the simulator does not know it.
    #[error(transparent)]
    Elements(#[from] Mistakes),
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
    #[error("expected {expected} in the model, found none of it")]
    NoGear {
        /// What it could have.
        expected: String,
    },
    /// It has some of what carries and moves vehicles, and not all of it.
    #[error("{0}")]
    Gear(BuildError),
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
        let command = self.command().name.to_owned();
        let known: Vec<String> = sensors.chain([command]).collect();
        if known.iter().any(|it| it == port) {
            return Ok(());
        }
        Err(NoSuchPort {
            known,
            found: port.to_owned(),
        })
    }

    /// Where its commands come in.
    #[must_use]
    pub fn command(&self) -> CommandPort {
        self.gear.command()
    }

    /// What carries and moves it, if it is of this type.
    #[must_use]
    pub fn gear<G: Gear>(&self) -> Option<&G> {
        let gear: &dyn Any = &*self.gear;
        gear.downcast_ref()
    }

    /// Takes a model apart. `frame` is the name of the vehicle's frame, or `Body:Frame`.
    ///
    /// # Errors
    /// When it has no such frame, no mass, nothing that carries and moves it, or elements that are none of the catalog's.
    pub fn new(model: &Model, frame: &str, catalog: &Catalog) -> Result<Self, MakeVehicleError> {
        let mut model = model.clone();
        // Joints without a source of values are at rest.
        model.set_untold_to_rest(0);
        let reference = find_frame(&model, frame)?;
        let assembly = model.assembly();
        catalog.check(assembly)?;
        let frame = model.name_of(reference).to_owned();
        let (mut masses, mut fittings) = (Masses::default(), Fittings::default());
        let mut bodies = Vec::new();
        for (part, body) in assembly.bodies.iter().enumerate() {
            let Some(vehicle_from_body) = pose_of(&model, body, reference) else {
                let note = format!("{} is left out: nothing binds it to {frame}", body.name);
                fittings.notes.push(note);
                continue;
            };
            let mounted = MountedBody {
                part,
                body,
                vehicle_from_body,
            };
            masses.add(body, &vehicle_from_body);
            fittings.take_shapes(&mounted);
            fittings.take_sensors(&mounted, catalog)?;
            bodies.push(mounted);
        }
        let gear = catalog.gear(&bodies)?;
        let Fittings {
            shapes,
            sensors,
            notes,
        } = fittings;
        let mut chassis = ChassisPlan {
            shapes,
            is_planar: gear.is_planar(),
            ..ChassisPlan::default()
        };
        masses.finish(&mut chassis)?;
        let parts = assembly.bodies.iter().map(|body| body.name.clone());
        Ok(Self {
            frame,
            parts: parts.collect(),
            sensors,
            notes,
            gear: gear.into(),
            chassis,
        })
    }

    /// What it stands on; nothing for vessels.
    #[must_use]
    pub fn wheels(&self) -> &[Wheel] {
        self.gear.wheels()
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

    /// Its centre of mass, in coordinates of the vehicle, metres.
    #[must_use]
    pub const fn centre_m(&self) -> Vec3 {
        self.chassis.centre_m
    }

    /// Its inertia about that centre, along the vehicle's axes, kilogram square metres.
    #[must_use]
    pub const fn inertia_kgm2(&self) -> [[f64; 3]; 3] {
        self.chassis.inertia_kgm2
    }

    /// Each box, cylinder or ball that it bumps into things with, and where, for pictures.
    pub fn shapes(&self) -> impl Iterator<Item = (&Solid, &Transform)> {
        let shapes = self.chassis.shapes.iter();
        shapes.map(|shape| (&shape.solid, &shape.vehicle_from_shape))
    }
}

/// What bodies have beside their masses, while it is gathered.
#[derive(Debug, Default)]
struct Fittings {
    shapes: Vec<ChassisShape>,
    sensors: Vec<Mounted>,
    notes: Vec<String>,
}

impl Fittings {
    fn take_shapes(&mut self, mounted: &MountedBody<'_>) {
        let MountedBody {
            part,
            body,
            vehicle_from_body,
        } = *mounted;
        let is_wheel = WheelName::of(body).is_some();
        for shape in body.shapes.iter().filter(|it| it.role != Role::Visual) {
            let Some(solid) = solid(shape, is_wheel) else {
                let note = format!(
                    "a mesh of {} is left out: vehicles are simple shapes",
                    body.name
                );
                self.notes.push(note);
                continue;
            };
            self.shapes.push(ChassisShape {
                part,
                solid,
                vehicle_from_shape: vehicle_from_body * shape.body_from_shape,
                is_wheel,
            });
        }
    }

    fn take_sensors(
        &mut self,
        mounted: &MountedBody<'_>,
        catalog: &Catalog,
    ) -> Result<(), Mistakes> {
        let MountedBody {
            part,
            body,
            vehicle_from_body,
        } = *mounted;
        for element in body.sensors() {
            let (Some(name), Some(short)) = (&element.name, &element.frame) else {
                continue;
            };
            let Some(frame) = body.frame(short) else {
                continue;
            };
            let (word, instrument) = catalog.instrument(element)?;
            self.sensors.push(Mounted {
                port: format!("{}.{name}", body.name),
                frame: format!("{}:{short}", body.name),
                part,
                vehicle_from_sensor: vehicle_from_body * frame.body_from_frame,
                word,
                rate_hz: element.rate_hz(),
                instrument,
            });
        }
        Ok(())
    }
}

/// The meaning of a body's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WheelName {
    Wheel,
    Castor,
}

impl WheelName {
    /// None of a body that is no wheel.
    pub(crate) fn of(body: &Body) -> Option<Self> {
        let name = body.name.to_lowercase();
        if name.contains("castor") || name.contains("caster") {
            return Some(Self::Castor);
        }
        name.contains("wheel").then_some(Self::Wheel)
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

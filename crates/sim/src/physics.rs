//! The physics engine with a world in it: bodies, where they are, and who touches the vehicle.

use crate::math::{pose, transform, vector};
use crate::scene::{Met, Placed, Scene};
use crate::solid::Solid;
use crate::world::{Body, Moves, World};
use bowline_geometry::{Transform, Vec3};
use rapier3d_f64::dynamics::{LockedAxes, MassProperties, RigidBodyBuilder, RigidBodyHandle};
use rapier3d_f64::geometry::{
    ColliderBuilder, ColliderHandle, Group, InteractionGroups, InteractionTestMode,
};
use rapier3d_f64::math::{Matrix, Pose, Vector};
use rapier3d_f64::pipeline::PhysicsWorld;

/// A world that moves.
pub(crate) struct Physics {
    engine: PhysicsWorld,
    bodies: Vec<Living>,
    vehicle: Option<Chassis>,
    pub(crate) scene: Scene,
}

/// A body of the world, and who it is in the engine.
#[derive(Clone, Debug)]
struct Living {
    body: Body,
    handle: RigidBodyHandle,
}

/// The vehicle in the engine.
#[derive(Clone, Debug)]
struct Chassis {
    handle: RigidBodyHandle,
    /// Its centre of mass. The engine works out its own in the next step, which is too late for the first forces.
    centre: Vector,
    /// Each collider's part of the vehicle.
    colliders: Vec<(ColliderHandle, usize)>,
}

/// What the vehicle is to the engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChassisPlan {
    /// What it bumps into things with: part of the vehicle, solid, where, and whether it is a wheel.
    pub(crate) shapes: Vec<ChassisShape>,
    pub(crate) mass_kg: f64,
    /// Centre of mass, in coordinates of the vehicle.
    pub(crate) centre_m: Vec3,
    /// About that centre, along the vehicle's axes.
    pub(crate) inertia_kgm2: [[f64; 3]; 3],
    /// Whether it moves in the plane only; what waves do to a vessel is none of the engine's business.
    pub(crate) is_planar: bool,
}

impl ChassisPlan {
    /// From the vehicle's origin to the farthest point of it, metres, or a little more.
    pub(crate) fn reach_m(&self) -> f64 {
        let reaches = self.shapes.iter().map(|shape| {
            let middle = vector(shape.vehicle_from_shape.xyz()).length();
            middle + shape.solid.radius_m()
        });
        reaches.fold(0.0, f64::max)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ChassisShape {
    pub(crate) part: usize,
    pub(crate) solid: Solid,
    pub(crate) vehicle_from_shape: Transform,
    pub(crate) is_wheel: bool,
}

/// How the vehicle is and moves.
#[derive(Clone, Copy, Debug)]
pub struct ChassisState {
    pub(crate) pose: Pose,
    /// Of the centre of mass.
    pub(crate) velocity: Vector,
    pub(crate) rate: Vector,
    /// The centre of mass, in the world.
    pub(crate) centre: Vector,
}

impl ChassisState {
    /// How a point of it moves.
    pub(crate) fn velocity_at(&self, point: Vector) -> Vector {
        self.velocity + self.rate.cross(point - self.centre)
    }
}

/// What pushes a vehicle at its centre of mass, newtons, and turns it, newton metres; in the map frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Push {
    pub(crate) force: Vector,
    pub(crate) torque: Vector,
}

/// The vehicle touches something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touch {
    pub(crate) part: usize,
    pub(crate) body: usize,
    pub(crate) force_n: f64,
}

/// Who may touch whom.
const GROUND: Group = Group::GROUP_1;
const THING: Group = Group::GROUP_2;
const CHASSIS: Group = Group::GROUP_3;
const WHEEL: Group = Group::GROUP_4;

fn groups(memberships: Group, filter: Group) -> InteractionGroups {
    InteractionGroups::new(memberships, filter, InteractionTestMode::And)
}

impl Physics {
    pub(crate) fn new(world: &World, step_s: f64) -> Self {
        let mut engine = PhysicsWorld::new();
        engine.gravity = vector(world.gravity_mps2);
        engine.integration_parameters.dt = step_s;
        let mut physics = Self {
            engine,
            bodies: Vec::new(),
            vehicle: None,
            scene: Scene::default(),
        };
        for body in &world.bodies {
            physics.add_quietly(body.clone());
        }
        physics.place_all();
        physics
    }

    /// Adds a body of the world.
    pub(crate) fn add(&mut self, body: Body) {
        self.add_quietly(body);
        self.place_all();
    }

    fn add_quietly(&mut self, body: Body) {
        let at = pose(&body.world_from_body);
        let builder = match body.moves {
            Moves::Never => RigidBodyBuilder::fixed(),
            Moves::Freely { .. } => RigidBodyBuilder::dynamic(),
            Moves::Along(_) => RigidBodyBuilder::kinematic_position_based(),
        };
        let handle = self.engine.insert_body(builder.pose(at).build());
        let membership = if body.is_ground { GROUND } else { THING };
        let n_parts = f64::from(u32::try_from(body.parts.len()).unwrap_or(1).max(1));
        for part in &body.parts {
            let at = pose(&(body.body_from_part_upright(part)));
            let mut collider = ColliderBuilder::new(part.solid.shape())
                .position(at)
                .friction(body.friction)
                .collision_groups(groups(membership, Group::ALL));
            if let Moves::Freely { mass_kg } = body.moves {
                collider = collider.mass(mass_kg / n_parts);
            }
            self.engine.insert_collider(collider.build(), Some(handle));
        }
        self.bodies.push(Living { body, handle });
    }

    /// Takes a body away; `false` if there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(at) = self.bodies.iter().position(|it| it.body.name == name) else {
            return false;
        };
        let gone = self.bodies.remove(at);
        self.engine.remove_body(gone.handle);
        self.place_all();
        true
    }

    /// Puts a body somewhere else, at rest; `false` if there is none of that name.
    pub(crate) fn move_body(&mut self, name: &str, to: &Transform) -> bool {
        let Some(living) = self.bodies.iter_mut().find(|it| it.body.name == name) else {
            return false;
        };
        living.body.world_from_body = *to;
        if let Moves::Along(_) = living.body.moves {
            // A body that is put somewhere stays there.
            living.body.moves = Moves::Never;
        }
        if let Some(body) = self.engine.bodies.get_mut(living.handle) {
            body.set_position(pose(to), true);
            body.set_linvel(Vector::ZERO, true);
            body.set_angvel(Vector::ZERO, true);
        }
        self.place_all();
        true
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.bodies.iter().map(|living| &living.body)
    }

    pub(crate) fn body(&self, at: usize) -> Option<&Body> {
        self.bodies.get(at).map(|living| &living.body)
    }

    /// Where rays meet everything, anew.
    fn place_all(&mut self) {
        self.scene = Scene::default();
        for (idx, living) in self.bodies.iter().enumerate() {
            let placed = living.body.parts.iter().map(|part| {
                let at = living.body.world_from_body * part.body_from_part;
                Placed::new(part.solid.clone(), pose(&at), idx)
            });
            match living.body.moves {
                Moves::Never => self.scene.fixed.extend(placed),
                Moves::Freely { .. } | Moves::Along(_) => self.scene.moving.extend(placed),
            }
        }
        self.follow(|placed, at| placed.world_from_solid = at);
    }

    /// Moves what rays meet to where it is now.
    fn follow(&mut self, go: impl Fn(&mut Placed, Pose)) {
        let mut moving = self.scene.moving.iter_mut();
        for living in &self.bodies {
            if living.body.moves == Moves::Never {
                continue;
            }
            let Some(body) = self.engine.bodies.get(living.handle) else {
                continue;
            };
            for part in &living.body.parts {
                if let Some(placed) = moving.next() {
                    go(placed, *body.position() * pose(&part.body_from_part));
                }
            }
        }
    }

    /// Puts the vehicle into the world, in place of the one that is there.
    pub(crate) fn set_vehicle(&mut self, plan: &ChassisPlan, at: &Transform) {
        if let Some(old) = self.vehicle.take() {
            self.engine.remove_body(old.handle);
        }
        let [xx, yy, zz] = plan.inertia_kgm2.map(Vector::from_array);
        let inertia = if plan.is_planar {
            // The engine lets even locked axes turn by the moment of a body that is not alike about all of them: some
            // milliradians a second. A vessel turns about z alone, and is alike about all here.
            Matrix::from_diagonal(Vector::splat(zz.z))
        } else {
            Matrix::from_cols(xx, yy, zz)
        };
        let mass =
            MassProperties::with_inertia_matrix(vector(plan.centre_m), plan.mass_kg, inertia);
        let mut body = RigidBodyBuilder::dynamic()
            .pose(pose(at))
            .additional_mass_properties(mass)
            .can_sleep(false)
            .ccd_enabled(true);
        if plan.is_planar {
            let upright = LockedAxes::ROTATION_LOCKED_X | LockedAxes::ROTATION_LOCKED_Y;
            body = body.locked_axes(LockedAxes::TRANSLATION_LOCKED_Z | upright);
        }
        let handle = self.engine.insert_body(body.build());
        let mut colliders = Vec::new();
        for shape in &plan.shapes {
            let at = pose(&upright(&shape.solid, &shape.vehicle_from_shape));
            let which = if shape.is_wheel {
                groups(WHEEL, THING)
            } else {
                groups(CHASSIS, GROUND | THING)
            };
            let collider = ColliderBuilder::new(shape.solid.shape())
                .position(at)
                .density(0.0)
                .friction(0.4)
                .collision_groups(which);
            let handle = self.engine.insert_collider(collider.build(), Some(handle));
            colliders.push((handle, shape.part));
        }
        self.vehicle = Some(Chassis {
            handle,
            centre: vector(plan.centre_m),
            colliders,
        });
    }

    /// Puts the vehicle somewhere else, at rest.
    pub(crate) fn move_vehicle(&mut self, to: &Transform) {
        let handle = self.vehicle.as_ref().map(|vehicle| vehicle.handle);
        if let Some(body) = handle.and_then(|handle| self.engine.bodies.get_mut(handle)) {
            body.set_position(pose(to), true);
            body.set_linvel(Vector::ZERO, true);
            body.set_angvel(Vector::ZERO, true);
        }
    }

    pub(crate) fn vehicle(&self) -> Option<ChassisState> {
        let vehicle = self.vehicle.as_ref()?;
        let body = self.engine.bodies.get(vehicle.handle)?;
        Some(ChassisState {
            pose: *body.position(),
            velocity: body.linvel(),
            rate: body.angvel(),
            centre: *body.position() * vehicle.centre,
        })
    }

    /// Pushes the vehicle during the next step.
    pub(crate) fn push(&mut self, push: &Push) {
        let handle = self.vehicle.as_ref().map(|vehicle| vehicle.handle);
        let Some(body) = handle.and_then(|handle| self.engine.bodies.get_mut(handle)) else {
            return;
        };
        body.reset_forces(true);
        body.reset_torques(true);
        body.add_force(push.force, true);
        body.add_torque(push.torque, true);
    }

    /// How the ground under a wheel moves.
    pub(crate) fn velocity_of(&self, body: usize, point: Vector) -> Vector {
        let living = self.bodies.get(body);
        let found = living.and_then(|living| self.engine.bodies.get(living.handle));
        found.map_or(Vector::ZERO, |body| body.velocity_at_point(point))
    }

    /// What a ray meets.
    pub(crate) fn cast(&self, origin: Vector, direction: Vector, most_m: f64) -> Option<Met> {
        self.scene.cast(origin, direction, most_m)
    }

    /// How high the world is at a place, looked at from a height; none where there is nothing below.
    pub(crate) fn height_m(&self, [x, y]: [f64; 2], from_z_m: f64) -> Option<f64> {
        let met = self.cast(Vector::new(x, y, from_z_m), -Vector::Z, 1e4)?;
        Some(from_z_m - met.range_m)
    }

    /// What is there to be driven on, and stays where it is.
    pub(crate) fn ground(&self) -> Scene {
        let is_ground = |placed: &&Placed| {
            let living = self.bodies.get(placed.body);
            living.is_some_and(|living| living.body.is_ground)
        };
        Scene {
            fixed: self.scene.fixed.iter().filter(is_ground).cloned().collect(),
            moving: Vec::new(),
        }
    }

    /// One step, to the moment `seconds` after the beginning.
    pub(crate) fn step(&mut self, seconds: f64) {
        for living in &self.bodies {
            if let Moves::Along(path) = &living.body.moves
                && let Some(body) = self.engine.bodies.get_mut(living.handle)
            {
                body.set_next_kinematic_position(pose(&path.pose_at(seconds)));
            }
        }
        self.engine.step();
        self.follow(Placed::step_to);
    }

    /// What the vehicle touches, in a fixed order. The engine's own order depends on how its tables grew.
    pub(crate) fn touches(&self) -> Vec<Touch> {
        let Some(vehicle) = &self.vehicle else {
            return Vec::new();
        };
        let dt = self.engine.integration_parameters.dt;
        let mut found: Vec<Touch> = Vec::new();
        for (collider, part) in &vehicle.colliders {
            for pair in self.engine.contact_pairs_with(*collider) {
                if !pair.has_any_active_contact() {
                    continue;
                }
                let other = if pair.collider1 == *collider {
                    pair.collider2
                } else {
                    pair.collider1
                };
                let Some(body) = self.body_of(other) else {
                    continue;
                };
                let force_n = pair.total_impulse_magnitude() / dt;
                let (part, touch) = (
                    *part,
                    Touch {
                        part: *part,
                        body,
                        force_n,
                    },
                );
                let same = found
                    .iter_mut()
                    .find(|it| it.part == part && it.body == body);
                match same {
                    Some(same) => same.force_n += force_n,
                    None => found.push(touch),
                }
            }
        }
        found.sort_by_key(|touch| (touch.part, touch.body));
        found
    }

    fn body_of(&self, collider: ColliderHandle) -> Option<usize> {
        let parent = self.engine.colliders.get(collider)?.parent()?;
        self.bodies.iter().position(|it| it.handle == parent)
    }

    /// Where the bodies of the world are now.
    pub(crate) fn where_is(&self, at: usize) -> Option<Transform> {
        let living = self.bodies.get(at)?;
        let body = self.engine.bodies.get(living.handle)?;
        Some(transform(body.position()))
    }
}

impl Body {
    fn body_from_part_upright(&self, part: &crate::world::Part) -> Transform {
        upright(&part.solid, &part.body_from_part)
    }
}

/// The engine's cylinders stand about y, ours about z.
fn upright(solid: &Solid, at: &Transform) -> Transform {
    match solid {
        Solid::Cylinder { .. } => {
            *at * Transform::from_axis_angle([1.0, 0.0, 0.0], std::f64::consts::FRAC_PI_2)
        }
        Solid::Plane | Solid::Box { .. } | Solid::Sphere { .. } | Solid::Mesh(_) => *at,
    }
}

impl std::fmt::Debug for Physics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Physics")
            .field("bodies", &self.bodies.len())
            .finish_non_exhaustive()
    }
}

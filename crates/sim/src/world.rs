//! What a world is made of, as in its file: plain data.

mod area;
mod barn;
mod gazebo;
mod heights;
pub(crate) mod line;
mod load;
mod mesh;
mod ours;
mod path;
mod sea;
mod seabed;

pub use area::{Area, AreaKind};
pub use barn::{BadBarn, Barn};
pub use line::Line;
pub use load::LoadWorldError;
pub use path::{Path, PathEnd};
pub use sea::{Flow, Plume, Sea, Waves};

use crate::fault::PlannedFault;
use crate::solid::Solid;
use bowline_geometry::{Earth, Transform, Vec3};

/// A world before anything has moved in it.
#[derive(Clone, Debug)]
pub struct World {
    /// What it is called.
    pub name: String,
    /// What pulls, metres a second squared, map frame.
    pub gravity_mps2: Vec3,
    /// Where the origin of the map is on earth.
    pub origin: Origin,
    /// Where the robot begins.
    pub spawn: Spawn,
    /// In the order of the file.
    pub bodies: Vec<Body>,
    /// What is painted on the ground, in the order of the file.
    pub lines: Vec<Line>,
    /// The water, if there is any.
    pub sea: Option<Sea>,
    /// What its chart shows beside bodies, in the order of the file.
    pub areas: Vec<Area>,
    /// What breaks by itself, and when; in the order of the file.
    pub faults: Vec<PlannedFault>,
    /// What is left out of its file, each with its place.
    pub notes: Vec<String>,
}

impl Default for World {
    /// Nothing at all, on earth.
    fn default() -> Self {
        Self {
            name: "world".to_owned(),
            gravity_mps2: [0.0, 0.0, -9.806_65],
            origin: Origin::default(),
            spawn: Spawn::default(),
            bodies: Vec::new(),
            lines: Vec::new(),
            sea: None,
            areas: Vec::new(),
            faults: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Where the origin of the map is on earth, with east along x and north along y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Degrees, north positive.
    pub lat_deg: f64,
    /// Degrees, east positive.
    pub lon_deg: f64,
    /// Metres above the ellipsoid.
    pub alt_m: f64,
    /// The magnetic field there along east, north and up, tesla.
    pub field_tesla: Vec3,
}

impl Origin {
    /// How the map lies on earth.
    #[must_use]
    pub fn earth(&self) -> Earth {
        Earth::new(self.lat_deg, self.lon_deg, self.alt_m)
    }
}

impl Default for Origin {
    /// Suffield, where DRDC drove: 50 degrees north, with the field that is there and north taken for magnetic north.
    fn default() -> Self {
        Self {
            lat_deg: 50.283,
            lon_deg: -111.166,
            alt_m: 765.0,
            field_tesla: [0.0, 1.65e-5, -5.35e-5],
        }
    }
}

/// Where the robot begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spawn {
    /// East and north, metres. It is put on whatever is below.
    pub xy_m: [f64; 2],
    /// From which height the ground is looked for, metres.
    pub from_z_m: Option<f64>,
    /// Radians from east, to the left positive.
    pub heading_rad: f64,
}

/// A thing in the world.
#[derive(Clone, Debug)]
pub struct Body {
    /// Unique in its world.
    pub name: String,
    /// Where it is at the beginning.
    pub world_from_body: Transform,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// Whether and how it moves.
    pub moves: Moves,
    /// How much it holds on to what touches it: the coefficient, 0 or more.
    pub friction: f64,
    /// Red, green and blue, for pictures.
    pub colour: Option<[u8; 3]>,
    /// Whether it is there to be driven on, so that wheels on it are no contact.
    pub is_ground: bool,
    /// What charts call it; none: they do not know about it.
    pub chart: Option<String>,
}

/// A piece of a body.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it is on the body.
    pub body_from_part: Transform,
    /// What it is.
    pub solid: Solid,
}

/// How a body moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Moves {
    /// It does not.
    Never,
    /// As forces move it.
    Freely {
        /// What it weighs, kilograms.
        mass_kg: f64,
    },
    /// Along its path, whatever is in the way.
    Along(Path),
}

impl World {
    /// How hard things are pulled down, metres a second squared; never quite nothing.
    pub(crate) fn gravity(&self) -> f64 {
        crate::math::vector(self.gravity_mps2).length().max(0.1)
    }

    /// A world with nothing but flat ground.
    #[must_use]
    pub fn flat() -> Self {
        let mut world = Self::default();
        world.bodies.push(Body::new("ground", Solid::Plane));
        world
    }

    /// With one more body, for worlds that programs make.
    #[must_use]
    pub fn with(mut self, body: Body) -> Self {
        self.bodies.push(body);
        self
    }

    /// With one more line on its ground, for worlds that programs make.
    #[must_use]
    pub fn with_line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }
}

impl Body {
    /// A body of one part that does not move, at the origin.
    #[must_use]
    pub fn new(name: impl Into<String>, solid: Solid) -> Self {
        Self {
            name: name.into(),
            world_from_body: Transform::IDENTITY,
            is_ground: matches!(solid, Solid::Plane),
            parts: vec![Part {
                body_from_part: Transform::IDENTITY,
                solid,
            }],
            moves: Moves::Never,
            friction: 0.9,
            colour: None,
            chart: None,
        }
    }

    /// Somewhere else.
    #[must_use]
    pub fn at(mut self, xyz: Vec3) -> Self {
        self.world_from_body = Transform::from_xyz(xyz);
        self
    }

    /// In another pose.
    #[must_use]
    pub fn posed(mut self, world_from_body: Transform) -> Self {
        self.world_from_body = world_from_body;
        self
    }
}

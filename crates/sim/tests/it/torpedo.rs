//! Rows of a program that the simulator does not have: a sensor and a kind of actuation, with a model that has both. Tests of
//! other crates include this file.

use bowline_component::{BuildError, Time, TypeInfo};
use bowline_geometry::{Attribute, Bounds, ElementKind, ElementRole, Transform, Value};
use bowline_msgs::{Sounding, Thrust};
use bowline_sim::{
    ActuationKind, ChassisState, CommandPort, Gear, Instrument, MountedBody, Propulsion, Push,
    Sample, Sensor, SensorKind, Site, Spawn, Start, Stream, Stride, Tables, Water,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The rows of both.
#[derive(Debug)]
pub(crate) struct Torpedo;

impl Tables for Torpedo {
    const SENSORS: &'static [SensorKind] = &[PRESSURE];
    const ACTUATIONS: &'static [ActuationKind] = &[PROPELLER];
}

/// How deep it is, by the pressure of the water.
const PRESSURE: SensorKind = SensorKind {
    element: ElementKind {
        word: "pressure",
        doc: "How deep it is, by the pressure of the water.",
        role: ElementRole::Sensor,
        attributes: &[Attribute::noise("depth_sd_m", "the noise of the depth")],
    },
    publishes: &[TypeInfo::of::<Sounding>()],
    build: |values| {
        let depth_sd_m = values.noise("depth_sd_m");
        Some(Instrument::new(Pressure { depth_sd_m }))
    },
};

#[derive(Clone, Debug)]
struct Pressure {
    depth_sd_m: f64,
}

impl Sensor for Pressure {
    type Message = Sounding;

    fn measure(&mut self, at: &Sample<'_>, noise: &mut Stream) -> Sounding {
        let error = at.noise_ratio() * self.depth_sd_m * noise.normal();
        Sounding {
            utime: at.utime(),
            frame: at.frame(),
            depth_m: at.depth_m().unwrap_or(f64::NAN) + error,
            sd_m: self.depth_sd_m,
        }
    }

    fn utime_of(message: &mut Sounding) -> &mut i64 {
        &mut message.utime
    }
}

/// A propeller behind a body that dives, and that nothing but the propeller and drag moves.
const PROPELLER: ActuationKind = ActuationKind {
    needs: "a <propeller>",
    elements: &[ElementKind {
        word: "propeller",
        doc: "It pushes a diving body along the x axis of its frame.",
        role: ElementRole::Device,
        attributes: &[
            Attribute::required("ahead_n", Value::Number(Bounds::POSITIVE), "how hard"),
            Attribute::required("drag_nspm", Value::Number(Bounds::POSITIVE), "at 1 m/s"),
        ],
    }],
    build: propeller,
    gate: None,
};

#[derive(Clone, Copy, Debug)]
struct Propeller {
    ahead_n: f64,
    drag_nspm: f64,
}

fn propeller(bodies: &[MountedBody<'_>]) -> Result<Option<Box<dyn Gear>>, BuildError> {
    let mut found = bodies
        .iter()
        .flat_map(|it| it.body.elements_of("propeller"));
    let Some(element) = found.next() else {
        return Ok(None);
    };
    let number = |name| element.number(name).ok_or(format!("no {name}"));
    Ok(Some(Box::new(Propeller {
        ahead_n: number("ahead_n")?,
        drag_nspm: number("drag_nspm")?,
    })))
}

/// How deep it floats.
pub(crate) const DEPTH_M: f64 = 5.0;

impl Gear for Propeller {
    fn command(&self) -> CommandPort {
        CommandPort::of::<Thrust>(
            "propeller",
            "How hard the propeller pushes: the port ratio.",
        )
    }

    fn start(&self, start: &Start<'_>) -> Box<dyn Propulsion> {
        let sea = start.world.sea.clone().unwrap_or_default();
        Box::new(Diving {
            propeller: *self,
            water: Water::new(sea, start.settings.seed),
            ratio: None,
        })
    }

    fn stand(&self, _site: &Site<'_>, spawn: &Spawn) -> Transform {
        let [x, y] = spawn.xy_m;
        Transform::from_xyz_rpy([x, y, -DEPTH_M], [0.0, 0.0, spawn.heading_rad])
    }

    fn needs_sea(&self) -> bool {
        true
    }

    fn is_planar(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Diving {
    propeller: Propeller,
    water: Water,
    ratio: Option<f64>,
}

impl Propulsion for Diving {
    fn command(&mut self, _now: Time, command: &dyn Any) {
        if let Some(thrust) = command.downcast_ref::<Thrust>() {
            self.ratio = Some(thrust.port_ratio);
        }
    }

    fn is_silent(&self, _now: Time) -> bool {
        self.ratio.is_none()
    }

    fn settle(&mut self, _state: &ChassisState, _now: Time, _elapsed_ns: u64) {
        self.ratio = None;
    }

    fn push(&mut self, stride: &Stride<'_>) -> Push {
        let Propeller { ahead_n, drag_nspm } = self.propeller;
        let forward = stride.state().map_from_vehicle().turn([1.0, 0.0, 0.0]);
        let velocity = stride.state().velocity_mps();
        let push_n = self.ratio.unwrap_or(0.0) * ahead_n * stride.strength();
        let force = [0, 1, 2].map(|axis| push_n * forward[axis] - drag_nspm * velocity[axis]);
        Push::new(force, [0.0; 3])
    }

    fn water(&self) -> Option<&Water> {
        Some(&self.water)
    }
}

/// A model of ours that has both.
pub(crate) fn files() -> BTreeMap<PathBuf, Vec<u8>> {
    let body = r#"<body name="Torpedo"><frame name="Vehicle"/><frame name="Stern" xyz="-1 0 0"/>
        <box size_m="2 0.3 0.3"/><mass mass_kg="50"/>
        <pressure name="Depth" frame="Stern" rate_hz="10" depth_sd_m="0.01"/>
        <propeller name="Screw" frame="Stern" ahead_n="20" drag_nspm="10"/></body>"#;
    let mast = r#"<body name="Mast"><frame name="Foot"/></body>"#;
    let assembly = r#"<assembly name="A"><use body="torpedo.xml"/><use body="mast.xml"/>
        <constraint name="C" from="Torpedo:Vehicle" to="Mast:Foot"/></assembly>"#;
    let files = [
        ("a.xml", assembly),
        ("torpedo.xml", body),
        ("mast.xml", mast),
    ];
    files
        .into_iter()
        .map(|(name, text)| (name.into(), text.as_bytes().to_vec()))
        .collect()
}

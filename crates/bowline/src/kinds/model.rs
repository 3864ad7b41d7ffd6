//! The model server as a component: where everything on the robot is, as services; joints move as their channels set them.

use crate::{input, output};
use bowline_component::service::Failure;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Ports, Raw, Seen, Service, Step,
    Vehicle,
};
use bowline_geometry::{
    Disk, Feed, FindFrameError, JointId, Model, Transform, TransformError, load,
};
use bowline_log::{Catalog, Schemas};
use bowline_msgs::{ModelList, ModelListRequest, ModelTransform, ModelTransformRequest};
use bowline_wire::FieldPath;
use std::path::PathBuf;

/// Codes of what cannot be answered.
const NO_SUCH_FRAME: i32 = 1;
const NOT_KNOWN: i32 = 2;

bowline_component::parameters! {
    /// What the model server is made from.
    pub(crate) struct ModelParameters {
        in vehicle: Vehicle;
        /// Where types of joints' channels are, if they are not Bowline's own: .lcm files, or folders of them; without it
        /// the robot's own types.
        types: Vec<PathBuf> = Vec::new();
    }
}

/// Answers where frames are.
pub(crate) struct ModelServer {
    model: Model,
    catalog: Catalog,
    services: Services,
    joints: Vec<Fed>,
}

/// A joint, and what moves it.
struct Fed {
    id: JointId,
    input: Input<Raw>,
    feed: Feed,
    field: FieldPath,
    trouble: Option<String>,
}

impl Build for ModelServer {
    type Parameters = ModelParameters;

    fn build(parameters: ModelParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let ModelParameters { vehicle, types } = parameters;
        let model = Model::new(load(vehicle.model()?, &mut Disk)?.assembly)?;
        let mut joints = Vec::new();
        for joint in model.joints() {
            let Some(feed) = joint.feed() else {
                continue;
            };
            let doc = format!("Where {} is: its field {}.", joint.name, feed.field);
            let input = ports.raw_input_on(joint.name, &doc, Expect::ever(), &feed.channel);
            let field = FieldPath::parse(&feed.field)?;
            ports.need_number(input, &field);
            joints.push(Fed {
                id: joint.id,
                input,
                feed: feed.clone(),
                field,
                trouble: None,
            });
        }
        Ok(Self {
            catalog: catalog(&types)?,
            services: Services::declare(ports),
            model,
            joints,
        })
    }

    fn outline(ports: &mut Ports) -> Option<&'static str> {
        Services::declare(ports);
        Some(
            "for each joint of the model that a channel moves, an input of the joint's name: any type, whose field the \
             model names",
        )
    }
}

/// What can be asked for, whatever the model is.
#[derive(Clone, Copy)]
struct Services {
    transform: Service<ModelTransformRequest, ModelTransform>,
    bodies: Service<ModelListRequest, ModelList>,
    frames: Service<ModelListRequest, ModelList>,
}

impl Services {
    fn declare(ports: &mut Ports) -> Self {
        Self {
            transform: ports.service(
                "transform",
                "The pose of a frame of interest in a frame of reference.",
            ),
            bodies: ports.service("bodies", "The names of all bodies."),
            frames: ports.service("frames", "The names of the frames of a body."),
        }
    }
}

fn catalog(types: &[PathBuf]) -> Result<Catalog, BuildError> {
    let mut schemas = Schemas::default();
    if !types.is_empty() {
        let (_, compiled) =
            input::load_types(types).map_err(|error| output::with_causes(&error))?;
        schemas.add(&compiled.types);
    }
    Ok(Catalog::new(schemas, bowline_msgs::SCHEMA))
}

impl Component for ModelServer {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.move_joints(step, out);
        let Services {
            transform,
            bodies,
            frames,
        } = self.services;
        if let Some(call) = step.called(transform) {
            match self.where_is(call.request()) {
                Ok(reply) => out.reply(transform, call.id(), &reply),
                Err(failure) => out.fail(transform, call.id(), failure),
            }
        }
        if let Some(call) = step.called(bodies) {
            out.reply(bodies, call.id(), &list(self.model.body_list()));
        }
        if let Some(call) = step.called(frames) {
            match self.model.frame_list(&call.request().body) {
                Ok(names) => out.reply(frames, call.id(), &list(names)),
                Err(error) => out.fail(frames, call.id(), no_such(&error)),
            }
        }
        if step.is_start() {
            out.health(Health::Good);
        }
    }
}

impl ModelServer {
    fn move_joints(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Self {
            model,
            catalog,
            joints,
            ..
        } = self;
        for joint in &mut *joints {
            let Some(message) = step.arrived(joint.input) else {
                continue;
            };
            let moved = value(catalog, joint, &message).and_then(|(value, utime)| {
                let moved = model.set(joint.id, joint.feed.value(value), utime);
                moved.map(drop).map_err(|error| error.to_string())
            });
            joint.trouble = moved.err();
            let trouble = joints.iter().find_map(|joint| joint.trouble.clone());
            out.health(trouble.map_or(Health::Good, Health::Degraded));
            return;
        }
    }

    fn where_is(&self, request: &ModelTransformRequest) -> Result<ModelTransform, Failure> {
        let frame = |name: &str| self.model.frame(name).map_err(|error| no_such(&error));
        let (foi, reference) = (frame(&request.foi)?, frame(&request.reference)?);
        let transform = match request.utime {
            0 => self.model.transform(foi, reference),
            utime => self.model.transform_at(foi, reference, utime),
        };
        let transform = transform.map_err(|error| not_known(&error))?;
        Ok(reply(request, &transform))
    }
}

/// The value of a joint in a message, with its time: its own, or that of its arrival.
fn value(catalog: &Catalog, joint: &Fed, message: &Seen<'_, Raw>) -> Result<(f64, i64), String> {
    let channel = &joint.feed.channel;
    let Some(decoded) = catalog.decode(&message.bytes) else {
        return Err(format!("what is on {channel} has an undescribed type"));
    };
    let decoded = decoded.map_err(|error| format!("{channel}: {error}"))?;
    let pick = |path: &FieldPath| {
        let selector = decoded
            .types
            .select(decoded.id, path)
            .map_err(|error| error.to_string())?;
        let picked = selector
            .pick(&decoded.value)
            .and_then(|value| value.as_f64());
        picked.ok_or_else(|| format!("{channel}: {path} is no number"))
    };
    let value = pick(&joint.field)?;
    let own = FieldPath::parse("utime")
        .ok()
        .and_then(|path| pick(&path).ok());
    #[expect(
        clippy::cast_possible_truncation,
        reason = "times fit for another 200 years"
    )]
    let own = own.map(|utime| utime as i64).filter(|utime| *utime != 0);
    Ok((value, own.unwrap_or_else(|| message.at().utime())))
}

fn reply(request: &ModelTransformRequest, transform: &Transform) -> ModelTransform {
    ModelTransform {
        utime: request.utime,
        foi: request.foi.clone(),
        reference: request.reference.clone(),
        matrix: std::array::from_fn(|at| transform.matrix()[at / 4][at % 4]),
        xyz_m: transform.xyz(),
        quat_wxyz: transform.quat(),
        rpy_rad: transform.rpy(),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> ModelList {
    let names = names.map(str::to_owned).collect();
    ModelList {
        names,
        ..ModelList::default()
    }
    .with_lengths()
}

fn no_such(error: &FindFrameError) -> Failure {
    Failure::new(NO_SUCH_FRAME, error.to_string())
}

fn not_known(error: &TransformError) -> Failure {
    Failure::new(NOT_KNOWN, error.to_string())
}

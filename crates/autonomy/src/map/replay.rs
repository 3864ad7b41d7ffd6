//! A drive as one HTML file: maps, way, votes, command and reasons, to be played, stopped and scrubbed.
//!
//! In: frames, which whoever reads a log fills. Out: a page that needs nothing else, no network either.

use super::draw::{EncodePngError, Layer};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bowline_msgs::{Arbitration, Plan, Velocity, Vote};
use serde_json::{Value, json};

/// A drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// What it is called.
    pub title: String,
    /// What it is about, in a sentence.
    pub summary: String,
    /// Length and width of the vehicle, metres, and how far its origin is from its rear end.
    pub outline_m: [f64; 3],
    /// Where it should go.
    pub goals: Vec<Goal>,
    /// What happened, in the order of time.
    pub frames: Vec<Frame>,
}

/// A place that the vehicle should visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// What people call it.
    pub name: String,
    /// Where it is.
    pub place_m: [f64; 2],
}

/// What was known at one time. Everything but the time may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Microseconds since the epoch.
    pub utime: i64,
    /// Where the vehicle believes that it is: x, y, heading.
    pub vehicle: Option<[f64; 3]>,
    /// Where it is in truth.
    pub truth: Option<[f64; 3]>,
    /// How high the ground is.
    pub terrain: Option<Layer>,
    /// Where one can drive.
    pub traverse: Option<Layer>,
    /// The way that is planned.
    pub plan: Vec<[f64; 2]>,
    /// What voters think.
    pub voters: Vec<Voter>,
    /// What the arbiter made of it.
    pub decision: Option<Decision>,
    /// What the vehicle was asked to do.
    pub command: Option<Command>,
    /// What else there is to say, in words.
    pub notes: Vec<String>,
}

/// What one voter thinks of each arc.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Voter {
    /// Who votes.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Curvature (1/m), vote (-1 to 1) and veto of each arc.
    pub arcs: Vec<(f32, f32, bool)>,
}

/// What the arbiter decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Whether to stand still.
    pub is_stopped: bool,
    /// The curvature to drive, 1/m.
    pub curvature_per_m: f32,
    /// The speed, m/s.
    pub speed_mps: f32,
    /// Why.
    pub reason: String,
    /// Curvature (1/m), total (-1 to 1) and who vetoes each arc.
    pub arcs: Vec<(f32, f32, String)>,
    /// Whose vote did not count, and why.
    pub faults: Vec<String>,
}

/// How the vehicle was asked to move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Of the steered wheels or of the turn, radians, to the left positive.
    pub steering_rad: f64,
    /// Metres a second.
    pub speed_mps: f64,
}

impl From<&Vote> for Voter {
    fn from(vote: &Vote) -> Self {
        let arcs = vote.arcs.iter();
        Self {
            name: vote.voter.clone(),
            reason: vote.reason.clone(),
            arcs: arcs
                .map(|arc| (arc.curvature_per_m, arc.vote, arc.veto))
                .collect(),
        }
    }
}

impl From<&Arbitration> for Decision {
    fn from(arbitration: &Arbitration) -> Self {
        let arcs = arbitration.curvatures_per_m.iter().zip(&arbitration.totals);
        let arcs = arcs.zip(&arbitration.vetoed_by);
        let faults = arbitration.voters.iter().zip(&arbitration.faults);
        Self {
            is_stopped: arbitration.stopped,
            curvature_per_m: arbitration.curvature_per_m,
            speed_mps: arbitration.speed_mps,
            reason: arbitration.reason.clone(),
            arcs: arcs
                .map(|((curvature, total), by)| (*curvature, *total, by.clone()))
                .collect(),
            faults: faults
                .filter(|(_, fault)| !fault.is_empty())
                .map(|(voter, fault)| format!("{voter}: {fault}"))
                .collect(),
        }
    }
}

impl From<&Velocity> for Command {
    fn from(velocity: &Velocity) -> Self {
        Self {
            steering_rad: velocity.steering_rad,
            speed_mps: velocity.speed_mps,
        }
    }
}

impl Frame {
    /// Takes over the way of a plan.
    pub fn set_plan(&mut self, plan: &Plan) {
        self.plan = plan.states.iter().map(|[x, y, _]| [*x, *y]).collect();
    }
}

/// The page, with a gap where the drive goes.
const PAGE: &str = include_str!("replay/page.html");
const GAP: &str = "/*REPLAY*/ null";

impl Replay {
    /// The whole page.
    ///
    /// # Errors
    /// When a layer has no cells, or not as many as it says.
    pub fn to_html(&self) -> Result<String, EncodePngError> {
        // `<` would end a script in the middle of a text; JSON has another spelling for it.
        let data = self.to_json()?.to_string().replace('<', "\\u003c");
        Ok(PAGE
            .replacen(GAP, &data, 1)
            .replacen("{{title}}", &escaped(&self.title), 1))
    }

    fn to_json(&self) -> Result<Value, EncodePngError> {
        let mut images = Images::default();
        let start = self.frames.first().map_or(0, |frame| frame.utime);
        let mut frames = Vec::with_capacity(self.frames.len());
        for frame in &self.frames {
            frames.push(frame.to_json(start, &mut images)?);
        }
        let goals = self.goals.iter();
        Ok(json!({
            "title": self.title,
            "summary": self.summary,
            "outline": self.outline_m,
            "start": start,
            "goals": goals.map(|goal| json!({"name": goal.name, "at": goal.place_m})).collect::<Vec<_>>(),
            "images": images.encoded,
            "frames": frames,
        }))
    }
}

/// Layers that are in the page already: maps come less often than frames.
#[derive(Default)]
struct Images {
    encoded: Vec<String>,
    last: [Option<(Layer, usize)>; 2],
}

impl Images {
    /// The number of a layer's picture.
    fn number(&mut self, which: usize, layer: &Layer) -> Result<usize, EncodePngError> {
        if let Some((last, number)) = &self.last[which]
            && last == layer
        {
            return Ok(*number);
        }
        self.encoded.push(BASE64_STANDARD.encode(layer.to_png()?));
        let number = self.encoded.len() - 1;
        self.last[which] = Some((layer.clone(), number));
        Ok(number)
    }

    fn layer(&mut self, which: usize, layer: Option<&Layer>) -> Result<Value, EncodePngError> {
        let Some(layer) = layer else {
            return Ok(Value::Null);
        };
        let number = self.number(which, layer)?;
        Ok(json!([
            number,
            layer.origin_m[0],
            layer.origin_m[1],
            layer.cell_m,
            layer.columns,
            layer.rows
        ]))
    }
}

impl Frame {
    fn to_json(&self, start: i64, images: &mut Images) -> Result<Value, EncodePngError> {
        #[expect(clippy::cast_precision_loss, reason = "drives are short")]
        let seconds = (self.utime - start) as f64 * 1e-6;
        let voters = self.voters.iter().map(|voter| {
            json!({"name": voter.name, "reason": voter.reason, "arcs": voter.arcs.iter().map(|(c, v, veto)| json!([short(*c), short(*v), veto])).collect::<Vec<_>>()})
        });
        let decision = self.decision.as_ref().map(|it| {
            json!({
                "stopped": it.is_stopped,
                "curvature": short(it.curvature_per_m),
                "speed": short(it.speed_mps),
                "reason": it.reason,
                "arcs": it.arcs.iter().map(|(c, v, by)| json!([short(*c), short(*v), by])).collect::<Vec<_>>(),
                "faults": it.faults,
            })
        });
        Ok(json!({
            "t": seconds,
            "vehicle": self.vehicle.map(rounded),
            "truth": self.truth.map(rounded),
            "terrain": images.layer(0, self.terrain.as_ref())?,
            "traverse": images.layer(1, self.traverse.as_ref())?,
            "plan": self.plan.iter().copied().map(rounded).collect::<Vec<_>>(),
            "voters": voters.collect::<Vec<_>>(),
            "decision": decision,
            "command": self.command.map(|it| [it.steering_rad, it.speed_mps]),
            "notes": self.notes,
        }))
    }
}

/// To millimetres, and thousandths of a radian: what can be seen.
fn rounded<const N: usize>(numbers: [f64; N]) -> Vec<f64> {
    numbers
        .iter()
        .map(|it| (it * 1000.0).round() / 1000.0)
        .collect()
}

/// Four digits: what can be seen.
fn short(number: f32) -> f64 {
    (f64::from(number) * 1e4).round() / 1e4
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

//! `bowline model transform`: the pose of one frame in coordinates of another.

use super::open::{self, Opened, Source};
use crate::{App, Outcome, output};
use bowline_geometry::{FrameId, Model, Transform};
use clap::Args;
use serde_json::json;

pub(super) const EXAMPLES: &str = "\
Examples:
  bowline model transform Flea:ImagePlane Raptor:FrontBumperCenter
  bowline model transform Laser:ScanCenter Raptor:RearAxleCenter --joint Pan=30deg
  bowline model transform Flea:ImagePlane Raptor:RearAxleCenter --sure
  bowline model transform Flea:ImagePlane Raptor:RearAxleCenter --json | jq -c .matrix

The matrix takes points of the frame of interest to coordinates of the frame of reference. x is forward, y left,
z up; roll, pitch and yaw are about the fixed axes x, y and z. Joints without a value are at rest.
Exit code 1 if nothing connects the two frames.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The frame of interest, as Body:Frame
    foi: String,
    /// The frame of reference, as Body:Frame
    #[arg(value_name = "FOR")]
    reference: String,
    #[command(flatten)]
    source: Source,
    /// A joint's value, in radians or metres, or with deg after it; may be given several times
    #[arg(long = "joint", value_name = "NAME=VALUE", value_parser = open::joint)]
    joints: Vec<(String, f64)>,
    /// Also its uncertainty, from the files' values for each frame and constraint on the way
    #[arg(long)]
    sure: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(app: &App, args: &Arguments) -> anyhow::Result<Outcome> {
    let has_both = |model: &Model| {
        [&args.foi, &args.reference].into_iter().all(|frame| {
            let body = frame.split(':').next();
            model.body_list().any(|name| Some(name) == body)
        })
    };
    let Some(Opened { mut model, .. }) = args.source.open_one(app, Some(&has_both))? else {
        return Ok(Outcome::Diagnostics);
    };
    open::set_joints(&mut model, &args.joints)?;
    let foi = model.frame(&args.foi).map_err(open::usage)?;
    let reference = model.frame(&args.reference).map_err(open::usage)?;
    note_joints_at_rest(&model, foi, reference);
    model.set_untold_to_rest(0);
    let pose = model.transform(foi, reference)?;
    if args.json {
        output::line(&format!("{:#}", to_json(&model, foi, reference, &pose)?))?;
    } else {
        output::bytes(to_text(&pose).as_bytes())?;
        if args.sure {
            let (xyz, rpy) = model.covariance(foi, reference)?.deviations();
            let deg = rpy.map(f64::to_degrees);
            output::line(&format!("sd xyz  {} m", row(&xyz, 6)))?;
            output::line(&format!("sd rpy  {} deg", row(&deg, 4)))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Reports which joints between two frames were taken to be at rest.
fn note_joints_at_rest(model: &Model, foi: FrameId, reference: FrameId) {
    let path = model.path(foi, reference).unwrap_or_default();
    let crossed = path
        .iter()
        .filter_map(|idx| model.assembly().constraints.get(*idx));
    let names: Vec<&str> = crossed.map(|it| it.name.as_str()).collect();
    for joint in model.joints() {
        if names.contains(&joint.name) && joint.newest.is_none() {
            output::note(&format!(
                "note: the joint {} is at rest, {}: --joint {}=VALUE moves it",
                joint.name, joint.joint.rest, joint.name
            ));
        }
    }
}

fn row(numbers: &[f64], digits: usize) -> String {
    let numbers = numbers.iter().map(|number| {
        // So that nothing is -0.
        let shift = 10.0_f64.powi(i32::try_from(digits).unwrap_or(0));
        let rounded = (number * shift).round() / shift + 0.0;
        format!("{rounded:>11.digits$}")
    });
    numbers.collect::<Vec<_>>().join(" ")
}

fn to_text(pose: &Transform) -> String {
    let mut text = String::new();
    for numbers in pose.matrix() {
        text += &format!("{}\n", row(&numbers, 6));
    }
    let deg = pose.rpy().map(f64::to_degrees);
    text += &format!("xyz     {} m\n", row(&pose.xyz(), 6));
    text += &format!("rpy     {} deg\n", row(&deg, 4));
    text += &format!("quat    {} (w x y z)\n", row(&pose.quat(), 6));
    text
}

fn to_json(
    model: &Model,
    foi: FrameId,
    reference: FrameId,
    pose: &Transform,
) -> anyhow::Result<serde_json::Value> {
    Ok(json!({
        "foi": model.name_of(foi),
        "for": model.name_of(reference),
        "matrix": pose.matrix(),
        "xyz_m": pose.xyz(),
        "rpy_rad": pose.rpy(),
        "quat_wxyz": pose.quat(),
        "covariance": model.covariance(foi, reference)?.0,
    }))
}

//! `bowline model`: where everything on a robot is, from its Body and Assembly files, URDF or SDF.

mod open;
mod transform;

use crate::{App, Outcome, output};
use bowline_geometry::{Mistake, Model, to_sdf, to_svg, to_tree};
use clap::{Args, Command, Subcommand};
use open::{Opened, Source};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Print the pose of a frame of interest in coordinates of a frame of reference
    #[command(after_help = transform::EXAMPLES)]
    Transform(transform::Arguments),
    /// List the bodies
    #[command(after_help = "Example:\n  bowline model bodies --model models/raptor/raptor.xml")]
    Bodies(Listing),
    /// List the frames, of all bodies or of one
    #[command(after_help = "Examples:\n  bowline model frames\n  bowline model frames Flea --json")]
    Frames(Frames),
    /// Check the files and every loop of constraints
    #[command(after_help = CHECK)]
    Check(Listing),
    /// Draw the tree of bodies, frames and constraints
    #[command(after_help = "Example:\n  bowline model tree --model models/raptor/raptor.xml")]
    Tree(Drawing),
    /// Draw the model from three sides, as SVG
    #[command(after_help = "Examples:\n  bowline model view -o raptor.svg\n  \
                            bowline model view --joint Pan=45deg | display")]
    View(View),
    /// Write the model for others: the simulator's vehicle, sensors included
    #[command(after_help = EXPORT)]
    Export(Export),
    /// Print the schema of Body and Assembly files, as XSD, for editors and validators
    #[command(after_help = "Example:\n  bowline model schema -o model.xsd")]
    Schema(Written),
    /// Print what bodies may have beside frames and shapes, as Markdown: sensors, hulls, thrusters, with their attributes
    #[command(after_help = "Example:\n  bowline model elements | less")]
    Elements(Written),
}

const CHECK: &str = "\
Examples:
  bowline model check --model models/raptor/raptor.xml
  bowline model check --model robot.urdf --json | jq .loops

Exit code 1 if anything is wrong with the files, or a loop does not close within the tolerance of the
assembly (<closure tolerance_mm=... tolerance_deg=.../>).";

const EXPORT: &str = "\
Examples:
  bowline model export > raptor.sdf
  bowline model export --sdf -o raptor.sdf --model models/raptor/raptor.xml

The file has all frames as <frame name=\"Body:Frame\">, constraints as joints at 0, and the sensors with all of
their parameters. `bowline model` reads it back to the same frames and sensors.";

#[derive(Args, Debug)]
pub(crate) struct Listing {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Written {
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Frames {
    /// Only of this body
    body: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

#[derive(Args, Debug)]
pub(crate) struct Drawing {
    #[command(flatten)]
    source: Source,
}

#[derive(Args, Debug)]
pub(crate) struct View {
    #[command(flatten)]
    source: Source,
    /// A joint's value, in radians or metres, or with deg after it; may be given several times
    #[arg(long = "joint", value_name = "NAME=VALUE", value_parser = open::joint)]
    joints: Vec<(String, f64)>,
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// As SDF, for simulators: what it is without this, too
    #[arg(long)]
    sdf: bool,
    #[command(flatten)]
    source: Source,
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn build(command: Command) -> Command {
    Verb::augment_subcommands(command)
        .subcommand_required(true)
        .arg_required_else_help(true)
}

pub(crate) fn run(app: &App, verb: &Verb) -> anyhow::Result<Outcome> {
    match verb {
        Verb::Transform(args) => transform::run(app, args),
        Verb::Bodies(args) => with(app, &args.source, |opened| bodies(opened, args.json)),
        Verb::Frames(args) => with(app, &args.listing.source, |opened| frames(opened, args)),
        Verb::Check(args) => with(app, &args.source, |opened| check(opened, args.json)),
        Verb::Tree(args) => with(app, &args.source, |opened| {
            output::bytes(to_tree(&opened.model).as_bytes())?;
            Ok(Outcome::Fine)
        }),
        Verb::View(args) => with(app, &args.source, |opened| view(opened, args)),
        Verb::Export(args) => with(app, &args.source, |opened| export(opened, args)),
        Verb::Schema(args) => output::document(args.out.as_deref(), &app.catalog().schema()),
        Verb::Elements(args) => output::document(args.out.as_deref(), &app.catalog().reference()),
    }
}

/// Opens the model and does something with it; if that is not done, the errors of the model were reported.
fn with(
    app: &App,
    source: &Source,
    work: impl FnOnce(Opened) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    match source.open(app)? {
        Some(opened) => work(opened),
        None => Ok(Outcome::Diagnostics),
    }
}

fn bodies(opened: Opened, is_json: bool) -> anyhow::Result<Outcome> {
    let assembly = opened.model.assembly();
    if is_json {
        let bodies = assembly.bodies.iter().map(|body| {
            json!({
                "body": body.name,
                "frames": body.frames.len(),
                "sensors": body.sensors().map(|it| json!({
                    "name": it.name, "kind": it.word, "frame": it.frame, "rate_hz": it.rate_hz(),
                })).collect::<Vec<_>>(),
            })
        });
        output::line(&format!("{:#}", Value::from(bodies.collect::<Vec<_>>())))?;
    } else {
        for name in opened.model.body_list() {
            output::line(name)?;
        }
    }
    Ok(Outcome::Fine)
}

fn frames(opened: Opened, args: &Frames) -> anyhow::Result<Outcome> {
    let model = &opened.model;
    let names: Vec<String> = match &args.body {
        Some(body) => {
            let frames = model.frame_list(body).map_err(open::usage)?;
            frames.map(|frame| format!("{body}:{frame}")).collect()
        }
        None => model
            .frames()
            .map(|id| model.name_of(id).to_owned())
            .collect(),
    };
    if args.listing.json {
        output::line(&format!("{:#}", Value::from(names)))?;
    } else {
        for name in names {
            output::line(&name)?;
        }
    }
    Ok(Outcome::Fine)
}

fn check(opened: Opened, is_json: bool) -> anyhow::Result<Outcome> {
    let model = &opened.model;
    let n_open = model.open_loops().count();
    if is_json {
        output::line(&format!("{:#}", report(model, &opened.notes)))?;
    } else {
        output::bytes(summary(model).as_bytes())?;
        let tolerance = model.assembly().tolerance;
        for it in model.open_loops() {
            output::error(&format!(
                "expected loops that close within {} mm and {} deg, found {}",
                rounded(tolerance.distance_m * 1e3),
                rounded(tolerance.angle_rad.to_degrees()),
                it.describe(model)
            ));
        }
    }
    Ok(if n_open == 0 {
        Outcome::Fine
    } else {
        Outcome::Diagnostics
    })
}

/// A number without the last digits of a conversion.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn summary(model: &Model) -> String {
    let assembly = model.assembly();
    let count = |n: usize, thing: &str| output::count(n as u64, thing);
    let n_sensors = assembly
        .bodies
        .iter()
        .map(|body| body.sensors().count())
        .sum();
    let mut bodies = count(assembly.bodies.len(), "body");
    if bodies.ends_with("bodys") {
        bodies = bodies.replace("bodys", "bodies");
    }
    let mut text = format!(
        "{}: {bodies}, {}, {}, {}, {}\n",
        assembly.name,
        count(model.frames().count(), "frame"),
        count(assembly.constraints.len(), "constraint"),
        count(model.joints().count(), "joint"),
        count(n_sensors, "sensor"),
    );
    let parts = model.parts();
    if parts.len() > 1 {
        text += &format!("{} that nothing connects:\n", count(parts.len(), "part"));
        for part in parts {
            let names: Vec<&str> = part
                .iter()
                .filter_map(|idx| assembly.bodies.get(*idx))
                .map(|body| body.name.as_str())
                .collect();
            text += &format!("  {}\n", names.join(", "));
        }
    }
    for it in model.loops() {
        text += &format!("loop {}\n", it.describe(model));
    }
    text
}

fn report(model: &Model, notes: &[Mistake]) -> Value {
    let assembly = model.assembly();
    let bodies = |list: &[usize]| -> Vec<&str> {
        let bodies = list.iter().filter_map(|idx| assembly.bodies.get(*idx));
        bodies.map(|body| body.name.as_str()).collect()
    };
    let constraints = |list: &[usize]| -> Vec<&str> {
        let constraints = list.iter().filter_map(|idx| assembly.constraints.get(*idx));
        constraints.map(|it| it.name.as_str()).collect()
    };
    let open: Vec<_> = model.open_loops().collect();
    let loops = model.loops().iter().map(|it| {
        json!({
            "constraints": constraints(&it.constraints),
            "bodies": bodies(&it.bodies),
            "distance_mm": it.distance_m * 1e3,
            "angle_deg": it.angle_rad.to_degrees(),
            "closes": !open.contains(&it),
        })
    });
    let joints = model.joints().map(|joint| {
        json!({
            "joint": joint.name,
            "channel": joint.feed().map(|feed| &feed.channel),
            "field": joint.feed().map(|feed| &feed.field),
            "limits": joint.joint.limits,
        })
    });
    json!({
        "name": assembly.name,
        "bodies": assembly.bodies.len(),
        "frames": model.frames().count(),
        "constraints": assembly.constraints.len(),
        "parts": model.parts().iter().map(|part| bodies(part)).collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "notes": notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn view(mut opened: Opened, args: &View) -> anyhow::Result<Outcome> {
    open::set_joints(&mut opened.model, &args.joints)?;
    output::document(args.out.as_deref(), &to_svg(&opened.model))
}

fn export(opened: Opened, args: &Export) -> anyhow::Result<Outcome> {
    // There is no other format to choose.
    let Export { sdf: _, .. } = args;
    let (text, notes) = to_sdf(&opened.model);
    for note in notes {
        output::note(&format!("note: {note}"));
    }
    output::document(args.out.as_deref(), &text)
}

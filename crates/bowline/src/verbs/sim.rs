//! `bowline sim`: a world with a robot in it and nothing else, to drive it by hand or to look at it.

use super::run::{self, Simulated};
use crate::input;
use crate::robot_file::{self, Presets};
use crate::{App, Outcome, output};
use anyhow::Context as _;
use bowline_bus::Url;
use bowline_component::Vehicle as VehicleFacts;
use bowline_sim::{
    Barn, Flow, LoadWorldError, Moves, Sea, SimParameters, Simulation, Solid, Vehicle, World,
    to_geojson, to_svg, to_truth, world_to_svg,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline sim worlds/blocks.toml --model models/raptor_ugv/raptor_ugv.xml
                            on the bus, as time goes by, until ^C; drive it with `bowline pub command`
  bowline sim worlds/blocks.toml --model models/raptor_ugv/raptor_ugv.xml --lockstep --for 60s
                            a simulated minute, as fast as it goes, always the same
  bowline service call sim.control action=1
                            it pauses; 2 goes on, 3 with n_steps=N takes so many steps, 4 begins again
  bowline service call sim.fault kind=1 port=LeftLaser.Scanner duration_us=2000000
                            a laser is dead for two seconds; `sim.place` puts, moves and removes things
  bowline sim check worlds/blocks.toml
                            whether anything is wrong with a world, and what there is
  bowline sim check barn/world_0.world
                            Gazebo's worlds are read, too, and BARN's lists of obstacles (.json)
  bowline sim barn 87 -o clutter.json
                            a world of cylinders, generated as the BARN challenge describes its own
  bowline sim view worlds/blocks.toml -o blocks.svg
                            the world from above; with --model the robot and what its lasers reach
  bowline sim worlds/harbour.toml --model models/upsv/upsv.xml
                            a vessel on the water; its thrusters listen to `bowline pub thrust`
  bowline sim chart worlds/harbour.toml -o harbour.geojson
                            a chart of a harbour, without what lies on its bottom

Without a command for 0.5 s the vehicle stops. `bowline run --explain sim` lists all parameters;
--set NAME=VALUE sets one. worlds/example.toml shows every option of a world file.

Exit code 0 if all is well, 1 if anything is wrong with the world or the model.";

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The world file: ours (.toml), Gazebo's (.sdf, .world) or BARN's (.json)
    #[arg(value_name = "WORLD")]
    world: Option<PathBuf>,
    /// The vehicle: an Assembly file, a URDF or an SDF file
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Args, Debug)]
struct Manner {
    #[command(flatten)]
    presets: Presets,
    /// As fast as it goes, in simulated time, without a bus
    #[arg(long)]
    lockstep: bool,
    /// End after so much simulated time, as in 90s
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period, requires = "lockstep")]
    duration: Option<Duration>,
    /// Write everything that is received and published to a log
    #[arg(long, value_name = "FILE", requires = "lockstep")]
    record: Option<PathBuf>,
    /// Where the bus is; without it as other verbs have it
    #[arg(short = 'l', long, value_name = "URL", conflicts_with = "lockstep")]
    url: Option<String>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Check a world, and list what is in it
    #[command(after_help = "Examples:\n  bowline sim check worlds/blocks.toml\n  \
                            bowline sim check worlds/blocks.toml --json | jq .bodies")]
    Check(Check),
    /// Draw a world from above, as SVG: shapes, lines, where the robot begins, what its sensors reach
    #[command(after_help = "Example:\n  bowline sim view worlds/blocks.toml -o blocks.svg")]
    View(View),
    /// Make a chart of a world with a sea, as GeoJSON: quays, piers, depths, areas; no wrecks and no plumes
    #[command(
        after_help = "Example:\n  bowline sim chart worlds/harbour.toml -o worlds/harbour.geojson"
    )]
    Chart(Chart),
    /// Generate a world of cylinders between walls, as the BARN challenge describes its own; the same number gives the same
    /// world
    #[command(after_help = "Example:\n  bowline sim barn 87 -o worlds/clutter.json")]
    Barn(Generate),
}

#[derive(Args, Debug)]
pub(crate) struct Generate {
    /// The number of the world: twelve consecutive numbers have all combinations of fill and smoothing
    number: u32,
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Chart {
    /// The world file
    world: PathBuf,
    /// Everything that stands there, for displays of simulations: what is true beside what a vehicle believes
    #[arg(long)]
    truth: bool,
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The world file
    world: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct View {
    /// The world file
    world: PathBuf,
    /// The vehicle to draw where it begins
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Where to write to, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(app: &App, arguments: &Arguments) -> anyhow::Result<Outcome> {
    match (&arguments.verb, &arguments.world) {
        (Some(Verb::Check(check)), _) => self::check(check),
        (Some(Verb::View(view)), _) => self::view(app, view),
        (Some(Verb::Chart(chart)), _) => self::chart(chart),
        (Some(Verb::Barn(Generate { number, out })), _) => {
            output::document(out.as_deref(), &Barn::generate(*number).to_json())
        }
        (None, Some(world)) => simulate(app, world, arguments),
        (None, None) => Err(input::Usage("expected a world file".to_owned()).into()),
    }
}

/// Runs the simulator as a robot of one component.
fn simulate(app: &App, world: &Path, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Arguments { model, manner, .. } = arguments;
    let Some(model) = model else {
        let message = "expected --model FILE: the robot that is in the world";
        return Err(input::Usage(message.to_owned()).into());
    };
    let folder = std::env::current_dir().context("the current folder is unknown")?;
    let simulation = simulation(app, world, model)?;
    let text = robot_text(world, model, simulation.vehicle());
    let checked = robot_file::check_text(app, &text, &folder, &manner.presets.presets)?;
    output::problems(&checked.problems);
    let Some(mut robot) = checked.robot else {
        return Ok(Outcome::Diagnostics);
    };
    if let Some(url) = &manner.url {
        robot = robot.on_bus(Url::parse(url)?);
    }
    run::simulate(&Simulated {
        robot,
        lockstep: manner.lockstep.then_some(manner.duration),
        record: manner.record.clone(),
    })
}

/// The text of a robot file of it.
fn robot_text(world: &Path, model: &Path, vehicle: &Vehicle) -> String {
    let quoted = |path: &Path| Value::from(path.display().to_string()).to_string();
    let command = vehicle.command();
    let (port, command) = (command.name, command.message.name);
    format!(
        "[robot]\nname = \"sim\"\nexternal = {{ {port} = \"{command}\" }}\n\n[vehicle]\nmodel = {}\n\n[sim]\n[sim.component.sim]\nkind = \"sim\"\n\n[sim.component.sim.parameters]\nworld = {}\n",
        quoted(model),
        quoted(world)
    )
}

fn load(path: &Path) -> anyhow::Result<Option<World>> {
    match World::load(path) {
        Ok(world) => Ok(Some(world)),
        Err(LoadWorldError::Ours(problems)) => {
            output::problems(&problems);
            Ok(None)
        }
        Err(error) => {
            output::error(&error.to_string());
            Ok(None)
        }
    }
}

fn check(arguments: &Check) -> anyhow::Result<Outcome> {
    let Some(world) = load(&arguments.world)? else {
        return Ok(Outcome::Diagnostics);
    };
    if arguments.json {
        output::line(&format!("{:#}", report(&world)))?;
        return Ok(Outcome::Fine);
    }
    let n_bodies = world.bodies.len();
    let bodies = if n_bodies == 1 { "body" } else { "bodies" };
    let n_moving = world
        .bodies
        .iter()
        .filter(|body| body.moves != Moves::Never)
        .count();
    let lines = match world.lines.len() {
        0 => String::new(),
        1 => ", 1 painted line".to_owned(),
        n_lines => format!(", {n_lines} painted lines"),
    };
    output::line(&format!(
        "{}: {n_bodies} {bodies}, {n_moving} of them moving{lines}; the robot begins at {:?} m, heading {:.0} deg",
        world.name,
        world.spawn.xy_m,
        world.spawn.heading_rad.to_degrees()
    ))?;
    if let Some(sea) = &world.sea {
        output::line(&format!("  {}", describe(sea)))?;
    }
    for area in &world.areas {
        let (kind, name, n) = (area.kind.word(), &area.name, area.points_m.len());
        output::line(&format!("  {kind} {name}: {n} corners"))?;
    }
    for fault in &world.faults {
        output::line(&format!("  {fault}"))?;
    }
    for note in &world.notes {
        output::note(note);
    }
    Ok(Outcome::Fine)
}

/// What the sea does, in a line.
fn describe(sea: &Sea) -> String {
    let flow = |flow: &Flow| {
        format!(
            "{} m/s towards {:.0} deg",
            flow.speed_mps,
            flow.towards_rad.to_degrees()
        )
    };
    let mut text = format!(
        "sea at {} m: current {}, wind {}, waves of {} m every {} s",
        sea.level_m,
        flow(&sea.current),
        flow(&sea.wind),
        sea.waves.height_m,
        sea.waves.period_s
    );
    for plume in &sea.plumes {
        let (name, substance) = (&plume.name, &plume.substance);
        text += &format!(
            "; {name} leaks {} g/s of {substance} at {:?} m",
            plume.leak_gps, plume.at_m
        );
    }
    text
}

fn report_sea(sea: &Sea) -> Value {
    let flow = |flow: &Flow| json!({ "speed_mps": flow.speed_mps, "towards_rad": flow.towards_rad, "gust_mps": flow.gust_mps });
    let plumes = sea.plumes.iter().map(|plume| {
        json!({
            "name": plume.name,
            "substance": plume.substance,
            "at_m": plume.at_m,
            "leak_gps": plume.leak_gps,
        })
    });
    json!({
        "level_m": sea.level_m,
        "current": flow(&sea.current),
        "wind": flow(&sea.wind),
        "waves": { "height_m": sea.waves.height_m, "period_s": sea.waves.period_s },
        "plumes": plumes.collect::<Vec<_>>(),
    })
}

fn report(world: &World) -> Value {
    let bodies = world.bodies.iter().map(|body| {
        let shapes: Vec<&str> = body.parts.iter().map(|part| word(&part.solid)).collect();
        json!({
            "name": body.name,
            "shapes": shapes,
            "xyz_m": body.world_from_body.xyz(),
            "rpy_rad": body.world_from_body.rpy(),
            "moves": body.moves != Moves::Never,
            "ground": body.is_ground,
            "friction": body.friction,
            "chart": body.chart,
        })
    });
    let lines = world.lines.iter().map(|line| {
        json!({
            "name": line.name,
            "points_m": line.points_m,
            "width_m": line.width_m,
            "dash_m": line.dash_m,
        })
    });
    let areas = world.areas.iter().map(
        |area| json!({ "name": area.name, "kind": area.kind.word(), "points_m": area.points_m }),
    );
    json!({
        "name": world.name,
        "gravity_mps2": world.gravity_mps2,
        "spawn": { "xy_m": world.spawn.xy_m, "heading_rad": world.spawn.heading_rad },
        "bodies": bodies.collect::<Vec<_>>(),
        "lines": lines.collect::<Vec<_>>(),
        "sea": world.sea.as_ref().map(report_sea),
        "areas": areas.collect::<Vec<_>>(),
        "faults": world.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "notes": world.notes,
    })
}

const fn word(solid: &Solid) -> &'static str {
    match solid {
        Solid::Plane => "plane",
        Solid::Box { .. } => "box",
        Solid::Cylinder { .. } => "cylinder",
        Solid::Sphere { .. } => "sphere",
        Solid::Mesh(_) => "mesh",
    }
}

fn view(app: &App, arguments: &View) -> anyhow::Result<Outcome> {
    let Some(world) = load(&arguments.world)? else {
        return Ok(Outcome::Diagnostics);
    };
    let drawing = match &arguments.model {
        None => world_to_svg(&world),
        Some(model) => to_svg(&simulation(app, &arguments.world, model)?),
    };
    output::document(arguments.out.as_deref(), &drawing)
}

fn chart(arguments: &Chart) -> anyhow::Result<Outcome> {
    let Some(world) = load(&arguments.world)? else {
        return Ok(Outcome::Diagnostics);
    };
    if arguments.truth {
        return output::document(arguments.out.as_deref(), &to_truth(&world));
    }
    let Some(chart) = to_geojson(&world) else {
        let path = arguments.world.display();
        output::error(&format!(
            "{path}: expected a world with a [sea] and a bottom that ends somewhere, found none"
        ));
        return Ok(Outcome::Diagnostics);
    };
    output::document(arguments.out.as_deref(), &chart)
}

fn simulation(app: &App, world: &Path, model: &Path) -> anyhow::Result<Simulation> {
    let parameters = SimParameters {
        world: world.to_owned(),
        vehicle: VehicleFacts {
            model: model.to_owned(),
            ..VehicleFacts::default()
        },
        ..SimParameters::default()
    };
    parameters
        .load(app.catalog())
        .map_err(|error| anyhow::anyhow!("{error}"))
}

//! The simulator: how much faster than time, a laser beside rays of `MuJoCo`, and how long a large world takes to read.

use crate::{Length, stopwatch};
use anyhow::{Context as _, Result, ensure};
use bowline_component::Time;
use bowline_geometry::{Disk, Model, Transform, load};
use bowline_msgs::{Thrust, Velocity};
use bowline_sim::{Body, Reading, SimParameters, Simulation, Solid, VEHICLE_FRAME, Vehicle, World};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const N_BLOCKS: u32 = 60;

pub(crate) fn run(work: &Path, length: Length) -> Result<()> {
    println!("simulation, on one core");
    real_time(length)?;
    vessel(length)?;
    harbour(length)?;
    laser(work, length)?;
    sdf(work)?;
    println!();
    Ok(())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn raptor(world: World) -> Result<Simulation> {
    simulation(world, "models/raptor_ugv/raptor_ugv.xml")
}

fn simulation(world: World, model: &str) -> Result<Simulation> {
    let vehicle = Vehicle::new(
        &Model::new(load(&root().join(model), &mut Disk)?.assembly)?,
        VEHICLE_FRAME,
    )?;
    Ok(SimParameters::default().simulation(world, vehicle))
}

/// The port security vessel with all its sensors, in circles through the harbour.
fn vessel(length: Length) -> Result<()> {
    let seconds = if length == Length::Quick { 5 } else { 60 };
    let world = World::load(&root().join("worlds/harbour.toml"))?;
    let mut simulation = simulation(world, "models/upsv/upsv.xml")?;
    let mut events = Vec::new();
    let mut n_events = 0;
    let took = stopwatch::time(|| {
        for _ in 0..seconds * 200 {
            let command = Thrust {
                utime: 0,
                port_ratio: 0.3,
                starboard_ratio: 0.4,
            };
            simulation.thrust(&command);
            simulation.step(Time::ZERO, &mut events);
            n_events += events.len();
            events.clear();
        }
    });
    let ratio = f64::from(seconds) / took.as_secs_f64();
    println!(
        "{:<46} {ratio:>8.0}x real time ({n_events} messages in {seconds} s; aim 100x)",
        "harbour vessel with all sensors, steps of 5 ms"
    );
    Ok(())
}

/// The whole harbour robot as people run it: simulation, drivers and their twins, estimator, helm, gate and all else, in
/// lockstep, by the binary itself. It is timed from start to end, reading of files included.
fn harbour(length: Length) -> Result<()> {
    let minutes: u32 = if length == Length::Quick { 1 } else { 10 };
    let bowline = std::env::current_exe()?.with_file_name("bowline");
    ensure!(
        bowline.exists(),
        "expected bowline beside bowline-bench: `make bench` builds both"
    );
    let mut command = Command::new(bowline);
    command
        .args(["run", "robots/harbour.toml", "--source", "sim"])
        .args(["--lockstep", "--for", &format!("{minutes}m")])
        .current_dir(root());
    let mut outcome = Ok(());
    let took = stopwatch::time(|| outcome = succeed(&mut command));
    outcome?;
    let ratio = 60.0 * f64::from(minutes) / took.as_secs_f64();
    println!(
        "{:<46} {ratio:>8.0}x real time ({minutes} min in {:.1} s; aim 50x)",
        "robots/harbour.toml, all of it, in lockstep",
        took.as_secs_f64()
    );
    Ok(())
}

/// Both lasers and all other sensors of the Raptor, driving in circles through the blocks world.
fn real_time(length: Length) -> Result<()> {
    let seconds = if length == Length::Quick { 5 } else { 60 };
    let mut simulation = raptor(World::load(&root().join("worlds/blocks.toml"))?)?;
    let mut events = Vec::new();
    let mut n_events = 0;
    let took = stopwatch::time(|| {
        for _ in 0..seconds * 200 {
            let command = Velocity {
                utime: 0,
                steering_rad: 0.3,
                speed_mps: 1.5,
            };
            simulation.command(&command);
            simulation.step(Time::ZERO, &mut events);
            n_events += events.len();
            events.clear();
        }
    });
    let ratio = f64::from(seconds) / took.as_secs_f64();
    println!(
        "{:<46} {ratio:>8.0}x real time ({n_events} messages in {seconds} s; aim 100x)",
        "Raptor with both lasers, steps of 5 ms"
    );
    Ok(())
}

/// Blocks around the origin, none nearer than 3 m: x, y, z, half edges, yaw.
fn blocks() -> Vec<[f64; 7]> {
    let each = |nth: u32| {
        let share = f64::from(nth) / f64::from(N_BLOCKS);
        // A sunflower: even, and without a pattern that a grid or a tree would like.
        let (distance, angle) = (3.0 + 17.0 * share.sqrt(), 2.399_963 * f64::from(nth));
        let (sin, cos) = angle.sin_cos();
        let size = 0.4 + 0.5 * f64::from(nth % 4);
        [
            distance * cos,
            distance * sin,
            1.0,
            size / 2.0,
            size,
            1.0,
            angle * 0.7,
        ]
    };
    (0..N_BLOCKS).map(each).collect()
}

fn laser(work: &Path, length: Length) -> Result<()> {
    let mut world = World::flat();
    for (nth, [x, y, z, hx, hy, hz, yaw]) in blocks().into_iter().enumerate() {
        let body = Body::new(
            format!("block_{nth}"),
            Solid::Box {
                half_m: [hx, hy, hz],
            },
        );
        world = world.with(body.posed(Transform::from_xyz_rpy([x, y, z], [0.0, 0.0, yaw])));
    }
    let n_scans: u32 = if length == Length::Quick { 200 } else { 2_000 };
    let mut simulation = SimParameters::default().simulation(world, cart(work)?);
    let (mut best, mut n_hits) = (f64::MAX, 0);
    for _ in 0..10 {
        let took = stopwatch::time(|| {
            for tick in 0..n_scans {
                if let Some(Reading::Range(scan)) = simulation.measure("Cart.L", tick.into()) {
                    n_hits = scan.points.iter().filter(|point| point[3] <= 15.0).count();
                }
            }
        });
        best = best.min(took.as_secs_f64() * 1e6 / f64::from(n_scans));
    }
    let (theirs, ratio) = match mujoco(work, n_scans) {
        Ok((theirs, hits)) => {
            ensure!(
                hits == n_hits,
                "expected as many hits as MuJoCo has, {hits}, found {n_hits}"
            );
            (format!("{theirs:.1} us"), format!("{:.1}x", theirs / best))
        }
        Err(error) => (format!("left out: {error:#}"), "-".to_owned()),
    };
    println!(
        "{:<46} {best:>8.1} us with noise and message; MuJoCo {theirs}, ratio {ratio} (aim 2.5x)",
        "361 beams among 60 blocks"
    );
    Ok(())
}

/// A cart with a laser 1 m above the origin.
fn cart(work: &Path) -> Result<Vehicle> {
    let wheel = r#"<body name="Wheel"><frame name="Hub"/><cylinder rpy="90 0 0" angle="deg" radius_m="0.3" length_m="0.1"/></body>"#;
    let mut frames = String::new();
    let mut uses = String::new();
    for (name, x, y) in [
        ("FL", 1, 0.5),
        ("FR", 1, -0.5),
        ("RL", 0, 0.5),
        ("RR", 0, -0.5),
    ] {
        write!(frames, r#"<frame name="{name}" xyz="{x} {y} 0.3"/>"#)?;
        write!(
            uses,
            r#"<use body="wheel.xml" as="{name}Wheel"/><constraint name="{name}" from="Cart:{name}" to="{name}Wheel:Hub"/>"#
        )?;
    }
    let body = format!(
        r#"<body name="Cart"><frame name="Vehicle"/><frame name="Up" xyz="0 0 1"/>{frames}<mass mass_kg="200" xyz="0.5 0 0.4"/>
        <laser name="L" frame="Up" rate_hz="37.6" beams="361" fov_deg="180" range_min_m="0" range_max_m="15" range_sd_m="1e-9"/></body>"#
    );
    let assembly = format!(r#"<assembly name="A"><use body="cart.xml"/>{uses}</assembly>"#);
    for (name, text) in [
        ("cart.xml", body.as_str()),
        ("wheel.xml", wheel),
        ("a.xml", assembly.as_str()),
    ] {
        std::fs::write(work.join(name), text)?;
    }
    let loaded = load(&work.join("a.xml"), &mut Disk)?;
    Ok(Vehicle::new(&Model::new(loaded.assembly)?, VEHICLE_FRAME)?)
}

/// Microseconds for a scan, and how many beams meet something.
fn mujoco(work: &Path, n_scans: u32) -> Result<(f64, usize)> {
    let venv = work.join("mujoco");
    let python = venv.join("bin/python");
    if !python.exists() {
        println!("installing mujoco for Python, once");
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let has_it = Command::new(&python)
        .args(["-c", "import mujoco"])
        .output()?
        .status
        .success();
    if !has_it {
        succeed(
            Command::new(&python).args(["-m", "pip", "install", "--quiet", "mujoco", "numpy"]),
        )?;
    }
    let rows: Vec<String> = blocks().iter().map(|row| format!("{row:?}")).collect();
    let script = root().join("bench/src/sim/rays.py");
    let mut command = Command::new(&python);
    command
        .arg(script)
        .arg(format!("[{}]", rows.join(",")))
        .arg(n_scans.to_string());
    let output = command.output().context("cannot run Python")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let (micros, hits) = text
        .trim()
        .split_once(' ')
        .context("expected two numbers")?;
    Ok((micros.parse()?, hits.parse()?))
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// A world of 300 cylinders as Gazebo saves it: about 430 KB.
fn sdf(work: &Path) -> Result<()> {
    let mut text = "<sdf version='1.6'><world name='default'><include><uri>model://ground_plane</uri></include>".to_owned();
    for nth in 0..300_u32 {
        let (x, y) = (f64::from(nth % 30) * 0.15, f64::from(nth / 30));
        let shape =
            "<geometry><cylinder><radius>0.075</radius><length>1</length></cylinder></geometry>";
        write!(
            text,
            "<model name='unit_cylinder_{nth}'><pose frame=''>{x} {y} 0.5 0 -0 0</pose><link name='link'><inertial><mass>1</mass><inertia><ixx>0.145833</ixx><ixy>0</ixy><ixz>0</ixz><iyy>0.145833</iyy><iyz>0</iyz><izz>0.125</izz></inertia></inertial><self_collide>0</self_collide><enable_wind>0</enable_wind><kinematic>0</kinematic>\n\
             <collision name='collision'>{shape}<max_contacts>10</max_contacts><surface><contact><ode/></contact><bounce/><friction><torsional><ode/></torsional><ode/></friction></surface></collision>\n\
             <visual name='visual'>{shape}<material><script><name>Gazebo/Grey</name><uri>file://media/materials/scripts/gazebo.material</uri></script><ambient>0.3 0.3 0.3 1</ambient><diffuse>0.7 0.7 0.7 1</diffuse><specular>0.01 0.01 0.01 1</specular><emissive>0 0 0 1</emissive></material><pose frame=''>0 0 0 0 -0 0</pose><cast_shadows>1</cast_shadows><transparency>0</transparency></visual></link><static>1</static></model>\n"
        )?;
    }
    text.push_str("</world></sdf>");
    let path = work.join("barn.world");
    std::fs::write(&path, &text)?;
    let mut best = f64::MAX;
    for _ in 0..10 {
        let mut n_bodies = 0;
        let took =
            stopwatch::time(|| n_bodies = World::load(&path).map_or(0, |world| world.bodies.len()));
        ensure!(n_bodies == 301, "expected 301 bodies, found {n_bodies}");
        best = best.min(took.as_secs_f64() * 1e3);
    }
    println!(
        "{:<46} {best:>8.2} ms ({} KB; libsdformat12 took 1482 ms for BARN's world_0; aim 10 ms)",
        "300 cylinders read from SDF",
        text.len() / 1_000
    );
    Ok(())
}

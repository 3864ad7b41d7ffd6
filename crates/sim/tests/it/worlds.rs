//! World files: their contents, and the messages about those that are wrong.

use crate::support::{message, repository, vehicle};
use bowline_msgs::Range3d;
use bowline_sim::{FaultKind, Line, Moves, SimParameters, Solid, World, world_to_svg};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn read(name: &str, text: &str) -> Result<World, String> {
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    files.insert(name.into(), text.as_bytes().to_vec());
    files.insert("bad.obj".into(), b"v 0 0 zero".to_vec());
    files.insert("pole/model.sdf".into(), POLE.as_bytes().to_vec());
    World::load_from(Path::new(name), &mut files).map_err(|error| error.to_string())
}

const POLE: &str = r#"<sdf version="1.6"><model name="pole"><static>true</static><link name="link">
    <collision name="c"><pose>0 0 1 0 0 0</pose><geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry></collision>
    </link></model></sdf>"#;

fn near(found: [f64; 3], expected: [f64; 3]) -> bool {
    let pairs = found.iter().zip(expected);
    pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn every_world_of_ours_can_be_read() {
    let worlds = [
        ("alley", 5),
        ("blocks", 18),
        ("crossing", 4),
        ("dead_end", 4),
        ("example", 9),
        ("faults", 18),
        ("harbour", 22),
        ("igvc", 21),
    ];
    for (name, n_bodies) in worlds {
        let path = repository().join("worlds").join(format!("{name}.toml"));
        let world = World::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((world.name.as_str(), world.bodies.len()), (name, n_bodies));
        assert!(world.notes.is_empty(), "{:?}", world.notes);
    }
}

#[test]
fn world_file_places_its_bodies() {
    let text = r##"
[world]
name = "w"
[spawn]
at_m = [1, 2]
heading_deg = 90
[body.a]
shape = "box"
size_m = [2, 4, 6]
on_m = [5, 6]
heading_deg = 90
colour = "#102030"
[body.b]
shape = "cylinder"
radius_m = 0.5
height_m = 2
at_m = [0, 0, 9]
mass_kg = 3
"##;
    let world = read("w.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert!((world.spawn.heading_rad - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    let [a, b] = world.bodies.as_slice() else {
        panic!("two bodies");
    };
    assert!(near(a.world_from_body.xyz(), [5.0, 6.0, 3.0]));
    assert!((a.world_from_body.rpy()[2] - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    assert_eq!((a.colour, a.is_ground), (Some([16, 32, 48]), false));
    assert_eq!(b.moves, Moves::Freely { mass_kg: 3.0 });
    assert!(
        matches!(b.parts[0].solid, Solid::Cylinder { half_m, .. } if (half_m - 1.0).abs() < 1e-12)
    );
}

#[test]
fn world_file_places_its_lines() {
    let text = r##"
[world]
name = "w"
[line.plain]
points_m = [[0, 0], [3, 4]]
[line.dashed]
points_m = [[0, 0], [1, 0], [1, 1]]
width_m = 0.2
dash_m = [0.6, 0.4]
colour = "#102030"
"##;
    let world = read("w.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let [plain, dashed] = world.lines.as_slice() else {
        panic!("two lines");
    };
    assert_eq!(*plain, Line::new("plain", vec![[0.0, 0.0], [3.0, 4.0]]));
    assert!((plain.length_m() - 5.0).abs() < 1e-12);
    let expected = Line {
        width_m: 0.2,
        dash_m: Some([0.6, 0.4]),
        colour: [16, 32, 48],
        ..Line::new("dashed", vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    };
    assert_eq!(*dashed, expected);
}

#[test]
fn a_picture_of_a_world_has_its_lines() {
    let line = Line {
        dash_m: Some([1.0, 1.0]),
        ..Line::new("edge", vec![[0.0, 0.0], [4.0, 0.0]])
    };
    let drawing = world_to_svg(&World::flat().with_line(line));
    let strokes = drawing.lines().filter(|line| line.contains("<title>edge"));
    // A dark edge and the paint, each of two dashes.
    let dashes: Vec<usize> = strokes.map(|it| it.matches('L').count()).collect();
    assert_eq!(dashes, [2, 2], "{drawing}");
}

/// Each file is refused with words that hold these, and with its place.
fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = read("w.toml", text).expect_err(text);
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(error.contains("w.toml:"), "{text}\n{error}");
    }
}

#[test]
fn world_file_errors_are_reported_with_their_line() {
    refused(&[
        ("", "expected a table [world], found none"),
        ("[world", "w.toml:1:"),
        ("[world]\nname = 3", "w.toml:2:8"),
        (
            "[world]\nname = \"w\"\ngravty_mps2 = [0, 0, 0]",
            "did you mean \"gravity_mps2\"?",
        ),
        (
            "[world]\nname = \"w\"\nlike = \"nowhere.toml\"",
            "w.toml:3:8",
        ),
        (
            "[world]\nname = \"w\"\nlike = \"w.toml\"",
            "found that they go round",
        ),
        (
            "[world]\nname = \"w\"\n[body.\"a b\"]\nshape = \"plane\"",
            "has no spaces and colons",
        ),
        ("body = 3\n[world]\nname = \"w\"", "[body] is a table"),
    ]);
}

#[test]
fn body_errors_are_reported_with_their_line() {
    let body = |text: &str| format!("[world]\nname = \"w\"\n[body.a]\n{text}\n");
    refused(&[
        (&body(""), "expected shape in [body.a]"),
        (&body("shape = \"bock\""), "did you mean \"box\"?"),
        (&body("shape = \"box\""), "expected size_m in [body.a]"),
        (
            &body("shape = \"box\"\nsize_m = [1, 2]"),
            "size_m is a list of 3 numbers",
        ),
        (&body("shape = \"box\"\nsize_m = [1, 2, -3]"), "w.toml:5:10"),
        (
            &body("shape = \"box\"\nsize_m = [1, 2, nan]"),
            "size_m is a list of 3 numbers",
        ),
        (
            &body("shape = \"sphere\"\nradius_m = \"1\""),
            "radius_m is a number from",
        ),
        (
            &body("shape = \"sphere\"\nradius_m = 1\nat_m = [0, 0, 0]\non_m = [0, 0]"),
            "found both",
        ),
        (
            &body("shape = \"sphere\"\nradius_m = 1\ncolour = \"red\""),
            "colour is text such as",
        ),
        (
            &body(
                "shape = \"sphere\"\nradius_m = 1\nmass_kg = 1\npath = { points_m = [[0, 0], [1, 1]], speed_mps = 1 }",
            ),
            "expected one of mass_kg and path",
        ),
        (
            &body(
                "shape = \"sphere\"\nradius_m = 1\npath = { points_m = [[0, 0]], speed_mps = 1 }",
            ),
            "2 to 1000 points",
        ),
        (
            &body(
                "shape = \"sphere\"\nradius_m = 1\npath = { points_m = [[0], [1]], speed_mps = 1 }",
            ),
            "2 or 3 numbers",
        ),
        (
            &body(
                "shape = \"sphere\"\nradius_m = 1\non_m = [3, 0]\npath = { points_m = [[0, 0], [1, 1]], speed_mps = 1 }",
            ),
            "expected the first of points_m, [0.0, 0.0, 1.0], found [3.0, 0.0, 1.0]",
        ),
        (
            &body(
                "shape = \"sphere\"\nradius_m = 1\nheading_deg = 3\npath = { points_m = [[0, 0], [1, 1]], speed_mps = 1 }",
            ),
            "it looks where it goes",
        ),
        (
            &body("shape = \"mesh\"\nfile = \"nowhere.obj\""),
            "expected a file at nowhere.obj",
        ),
        (&body("shape = \"mesh\"\nfile = \"bad.obj\""), "in line 1"),
        (
            &body("shape = \"heightmap\"\nsize_m = [1, 1, 1]"),
            "expected heights or a file",
        ),
        (
            &body("shape = \"heightmap\"\nsize_m = [1, 1, 1]\nheights = [[0, 1], [0]]"),
            "rows of as many heights",
        ),
        (
            &body("shape = \"heightmap\"\nsize_m = [1, 1, 1]\nfile = \"bad.obj\""),
            "expected a PNG picture",
        ),
    ]);
}

#[test]
fn line_errors_are_reported_with_their_line() {
    let line = |text: &str| format!("[world]\nname = \"w\"\n[line.a]\n{text}\n");
    refused(&[
        ("line = 3\n[world]\nname = \"w\"", "[line] is a table"),
        (&line(""), "expected points_m in [line.a]"),
        (&line("points_m = [[0, 0]]"), "2 to 1000 points"),
        (
            &line("points_m = [[0, 0], [1, 1, 1]]"),
            "each of points_m is 2 numbers",
        ),
        (
            &line("points_m = [[0, 0], [1, 1], [1, 1]]"),
            "found [1.0, 1.0] twice",
        ),
        (
            &line("points_m = [[0, 0], [1, 1]]\nwidth_m = 0"),
            "width_m is a number from",
        ),
        (
            &line("points_m = [[0, 0], [1, 1]]\ndash_m = [1]"),
            "dash_m is a list of 2 numbers",
        ),
        (
            &line("points_m = [[0, 0], [1, 1]]\nwith_m = 1"),
            "did you mean \"width_m\"?",
        ),
        (
            &line("points_m = [[0, 0], [30000, 0]]"),
            "at most 20000 m long together",
        ),
        (
            &line("points_m = [[0, 0], [1, 1]]\n[body.a]\nshape = \"plane\""),
            "expected a name that no body has",
        ),
    ]);
}

#[test]
fn fault_errors_are_reported_with_their_line() {
    let fault = |text: &str| format!("[world]\nname = \"w\"\n[[fault]]\n{text}\n");
    refused(&[
        (&fault(""), "expected at in each [[fault]]"),
        (
            &fault("at = \"1s\"\nkind = \"ded\""),
            "did you mean \"dead\"?",
        ),
        (
            &fault("at = 3\nkind = \"dead\""),
            "at is a duration such as",
        ),
        (
            &fault("at = \"1s\"\nkind = \"jump\""),
            "expected jump_m in each [[fault]]",
        ),
        (
            &fault("at = \"1s\"\nkind = \"weak\"\nshare = 2"),
            "share is a number from 0 to 1",
        ),
        (
            &fault("at = \"1s\"\nkind = \"turn\"\nturn_deg = 200"),
            "turn_deg is a number from -180 to 180",
        ),
        (
            &fault("at = \"1s\"\nkind = \"dead\"\nfactor = 2"),
            "unknown key \"factor\"",
        ),
        (
            &"[[fault]]\nat = \"1s\"\nkind = \"dead\"\n".repeat(65),
            "expected at most 64 faults, found 65",
        ),
    ]);
}

#[test]
fn gazebos_worlds_become_ours_and_what_is_left_out_is_named() {
    let text = r#"<?xml version="1.0"?>
<sdf version="1.6"><world name="default">
  <light name="sun" type="directional"/>
  <gravity>0 0 -9</gravity>
  <include><uri>model://ground_plane</uri></include>
  <include><uri>model://sun</uri></include>
  <include><uri>model://pole</uri><name>pole_2</name><pose>3 4 0 0 0 0</pose></include>
  <physics type="ode"/>
  <model name="table"><static>1</static><pose>1 2 0 0 0 1.5707963267948966</pose>
    <link name="top"><pose>1 0 0.5 0 0 0</pose><collision name="c"><geometry><box><size>1 2 0.1</size></box></geometry>
      <surface><friction><ode><mu>0.3</mu></ode></friction></surface></collision></link></model>
  <model name="ball"><pose relative_to="table">0 1 1 0 0 0</pose><link name="l"><inertial><mass>2</mass></inertial>
    <collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>
</world></sdf>"#;
    let world = read("w.sdf", text).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = world.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["ground_plane", "pole_2", "table", "ball"]);
    assert!((world.gravity_mps2[2] + 9.0).abs() < 1e-12);
    assert!(near(world.bodies[1].world_from_body.xyz(), [3.0, 4.0, 0.0]));
    assert!(near(world.bodies[2].world_from_body.xyz(), [1.0, 3.0, 0.5]));
    assert!(near(world.bodies[3].world_from_body.xyz(), [0.0, 2.0, 1.0]));
    assert_eq!(world.bodies[3].moves, Moves::Freely { mass_kg: 2.0 });
    assert!((world.bodies[2].friction - 0.3).abs() < 1e-12);
    let notes = world.notes.join("\n");
    for left_out in ["<light>", "<physics>", "model://sun"] {
        assert!(notes.contains(left_out), "{notes}");
    }
}

/// A picture of heights, the north at its top.
fn grey(rows: &[&[u8]]) -> Vec<u8> {
    let side = |n: usize| u32::try_from(n).expect("a small picture");
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side(rows[0].len()), side(rows.len()));
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("memory has room");
    let pixels = rows.concat();
    writer.write_image_data(&pixels).expect("memory has room");
    writer.finish().expect("memory has room");
    bytes
}

/// The points of a body's only shape, a mesh, in coordinates of the world.
fn points(world: &World, name: &str) -> Vec<[f64; 3]> {
    let body = world.bodies.iter().find(|body| body.name == name);
    let body = body.unwrap_or_else(|| panic!("no {name}: {:?}", world.notes));
    let [part] = body.parts.as_slice() else {
        panic!("one shape");
    };
    let Solid::Mesh(mesh) = &part.solid else {
        panic!("{:?}", part.solid);
    };
    let world_from_part = body.world_from_body * part.body_from_part;
    let points = mesh.points();
    points.map(|point| world_from_part.apply(point)).collect()
}

#[test]
fn meshes_and_heightmaps_of_gazebo_are_where_they_should_be() {
    let text = r#"<sdf version="1.6"><world name="yard">
      <model name="tent"><static>1</static><pose>10 0 0 0 0 0</pose><link name="l"><collision name="c"><geometry>
        <mesh><uri>file://tent.obj</uri><scale>2 1 3</scale></mesh></geometry></collision></link></model>
      <model name="hill"><static>1</static><link name="l"><collision name="c"><geometry><heightmap>
        <uri>file://hill.png</uri><size>20 10 4</size><pos>100 0 0</pos></heightmap></geometry></collision></link></model>
      </world></sdf>"#;
    let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    files.insert("yard.sdf".into(), text.as_bytes().to_vec());
    let tent = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n";
    files.insert("tent.obj".into(), tent.to_vec());
    // The highest place is in the north-east.
    let hill = grey(&[&[0, 0, 255], &[0, 0, 0], &[0, 51, 0]]);
    files.insert("hill.png".into(), hill);
    let world = World::load_from(Path::new("yard.sdf"), &mut files);
    let world = world.unwrap_or_else(|error| panic!("{error}"));
    assert!(world.notes.is_empty(), "{:?}", world.notes);

    let tent = points(&world, "tent");
    let has = |points: &[[f64; 3]], at| points.iter().any(|point| near(*point, at));
    assert!(has(&tent, [12.0, 0.0, 0.0]), "{tent:?}");
    assert!(has(&tent, [10.0, 0.0, 3.0]), "{tent:?}");

    let hill = points(&world, "hill");
    let high: Vec<_> = hill.iter().filter(|[.., z]| *z > 1e-9).collect();
    assert_eq!((hill.len(), high.len()), (9, 2), "{hill:?}");
    assert!(has(&hill, [110.0, 5.0, 4.0]), "{hill:?}");
    assert!(has(&hill, [100.0, -5.0, 0.8]), "{hill:?}");
    let hill = world.bodies.iter().find(|body| body.name == "hill");
    assert!(hill.is_some_and(|it| it.is_ground), "one drives on it");
}

#[test]
fn gazebo_world_errors_are_reported_with_their_line() {
    let cases = [
        ("<sdf version='1.6'><model name='m'/></sdf>", "a <world>"),
        ("<robot/>", "<sdf>"),
        ("<sdf version='9'><world/></sdf>", "a version of SDF"),
        (
            "<sdf version='1.6'><world><model name='m'><pose>1 2</pose></model></world></sdf>",
            "x y z roll pitch yaw",
        ),
        (
            "<sdf version='1.6'><world><include><uri>model://nothing</uri></include></world></sdf>",
            "nothing/model.sdf",
        ),
        (
            "<sdf version='1.6'><world><include><uri>../../etc/passwd</uri></include></world></sdf>",
            "a model beside the world",
        ),
        (
            "<sdf version='1.6'><world><include/></world></sdf>",
            "a <uri>",
        ),
        (
            "<sdf version='1.6'><world><model name='a'><pose relative_to='b'>0 0 0 0 0 0</pose></model><model name='b'><pose relative_to='a'>0 0 0 0 0 0</pose></model></world></sdf>",
            "circle",
        ),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><sdf/>", "document type"),
    ];
    for (text, expected) in cases {
        let error = read("w.world", text).expect_err(text);
        assert!(
            error.contains(expected) && error.contains("w.world"),
            "{text}\n{error}"
        );
    }
}

#[test]
fn files_that_are_no_worlds_are_refused() {
    for (name, expected) in [
        ("w.txt", "expected a world file"),
        ("nowhere.toml", "expected a file that can be read"),
    ] {
        let error = World::load(Path::new(name)).expect_err(name).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_body_with_a_path_begins_at_its_first_point_and_looks_along_it() {
    let text = r#"
[world]
name = "w"
[body.cart]
shape = "box"
size_m = [2, 1, 3]
path = { points_m = [[5, 1], [5, 4]], speed_mps = 1, delay = "9s" }
"#;
    let world = read("w.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let pose = world.bodies[0].world_from_body;
    assert!(near(pose.xyz(), [5.0, 1.0, 1.5]), "it stands on the ground");
    assert!((pose.rpy()[2] - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
}

#[test]
fn world_like_another_has_only_differences() {
    let folder = repository().join("worlds");
    let load = |name: &str| World::load(&folder.join(name)).expect("it can be read");
    let (blocks, faults) = (load("blocks.toml"), load("faults.toml"));
    assert_eq!(blocks.bodies.len(), faults.bodies.len());
    let names = |world: &World| {
        world
            .bodies
            .iter()
            .map(|it| it.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&blocks), names(&faults), "in the same order");
    assert_eq!(blocks.origin, faults.origin);
    assert!(blocks.faults.is_empty() && faults.faults.len() == 8);
    let turn = faults.faults.iter().find_map(|fault| match fault.kind {
        FaultKind::Turn(radians) => Some(radians),
        FaultKind::Dead
        | FaultKind::Stuck
        | FaultKind::Noisy(_)
        | FaultKind::Weak(_)
        | FaultKind::Cut
        | FaultKind::Jump(_) => None,
    });
    let expected = 30_f64.to_radians();
    assert!(turn.is_some_and(|turn| (turn - expected).abs() < 1e-12));
}

#[test]
fn figure_11_of_the_paper_is_our_raptor() {
    let vehicle = vehicle("raptor_ugv/raptor_ugv.xml");
    let near =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    near(vehicle.track_m(), 0.9);
    assert_eq!(vehicle.wheels().len(), 4);
    for wheel in vehicle.wheels() {
        near(wheel.radius_m, 0.4);
    }
    near(SimParameters::default().steering_deg, 50.0);
    let lasers = vehicle.sensors.iter().filter(|it| it.word == "laser");
    let lasers: Vec<_> = lasers.collect();
    assert_eq!(lasers.len(), 2);
    for laser in &lasers {
        let reach = laser.instrument.reach().expect("it sees the plane");
        near(reach.from_rad, (-90.0_f64).to_radians());
        near(reach.to_rad, 90.0_f64.to_radians());
        near(reach.range_m, 15.0);
        near(laser.rate_hz, 37.6);
    }
    let ports: Vec<String> = lasers.iter().map(|it| it.port.clone()).collect();
    let mut simulation = SimParameters::default().simulation(World::flat(), vehicle.clone());
    for port in ports {
        let reading = simulation.measure(&port, 1).expect("it measures");
        let scan: &Range3d = message(&reading);
        assert_eq!(scan.points.len(), 361);
        near(scan.min_range_m.into(), f64::from(0.6_f32));
        // Its steps are 5 cm.
        let steps = scan.points.iter().map(|point| f64::from(point[3]) / 0.05);
        let steps = steps.filter(|step| step.is_finite());
        assert!(steps.clone().count() > 0);
        assert!(
            steps
                .map(|step| (step - step.round()).abs())
                .all(|off| off < 1e-3)
        );
    }
    // Figure 13: the one on the right looks down at 12 degrees below the horizontal and the one on the left at 20.
    for (port, side, down_deg) in [
        ("RightLaser.Scanner", -1.0, 12.0_f64),
        ("LeftLaser.Scanner", 1.0, 20.0),
    ] {
        let mounted = vehicle.sensors.iter().find(|it| it.port == port);
        let pose = mounted.expect("it is mounted").vehicle_from_sensor;
        near(pose.rpy()[1], down_deg.to_radians());
        assert!(pose.xyz()[1] * side > 0.1, "{port}: {:?}", pose.xyz());
    }
    let world = World::load(&repository().join("worlds/blocks.toml"));
    assert!(world.expect("a world").bodies.len() > 5);
}

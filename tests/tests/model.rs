//! Models against the real thing: the schema in a real validator, and poses as the simulator's own library has them.
#![expect(clippy::panic, reason = "a test that panics has failed")]

use bowline_geometry::{Disk, Model, Transform, load, to_sdf};
use bowline_sim::Catalog;
use bowline_tests::peers::{run, workspace};
use bowline_tests::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("model")
        .join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}

fn open(path: &Path) -> Model {
    let loaded = load(path, &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut model = Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    // As the simulator has it: all joints at 0.
    let joints: Vec<_> = model
        .joints()
        .map(|it| (it.id, it.joint.follows.is_some()))
        .collect();
    for (joint, _) in joints.into_iter().filter(|(_, follows)| !follows) {
        model.set(joint, 0.0, 0).expect("a joint takes 0");
    }
    model
}

/// Whether libxml2's validator finds a file to follow our schema.
fn follows_the_schema(path: &Path) -> bool {
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .arg(workspace().join("docs/model.xsd"))
        .arg(path)
        .output()
        .expect("xmllint is there; run scripts/setup-peers");
    output.status.success()
}

#[test]
fn the_examples_follow_the_schema() {
    let folder = workspace().join("models/raptor");
    for entry in fs::read_dir(folder).expect("the example is there") {
        let path = entry.expect("the example can be read").path();
        assert!(follows_the_schema(&path), "{}", path.display());
    }
}

/// What may be in a body beside a frame `F`, and whether it is right.
const BODIES: &[(&str, bool)] = &[
    ("", true),
    (
        r#"<description>some <!-- small --> words</description>"#,
        true,
    ),
    (r#"<frame name="G" xyz="1 2 3"/>"#, true),
    (r#"<frame name="G" xyz=" +1.5e-3	.5 -2. "/>"#, true),
    (r#"<frame name="G" xyz="1 2"/>"#, false),
    (r#"<frame name="G" xyz="1,2,3"/>"#, false),
    (r#"<frame name="G" xyz="1 2 INF"/>"#, false),
    (r#"<frame name="G" xyz="1 2 inf"/>"#, false),
    (r#"<frame name="G" xyz="0x10 0 0"/>"#, false),
    (r#"<frame name="G" rpy="1 2 3" angle="deg"/>"#, true),
    (r#"<frame name="G" rpy="1 2 3" angle="turns"/>"#, false),
    (r#"<frame name="G" quat="1 0 0 0"/>"#, true),
    (r#"<frame name="G" quat="1 0 0"/>"#, false),
    (
        r#"<frame name="G" matrix="1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"/>"#,
        true,
    ),
    (r#"<frame name="G" sd_xyz="0 0 0.1" sd_rpy="0 0 1"/>"#, true),
    (r#"<frame name="G" Xyz="0 0 0"/>"#, false),
    (r#"<frame name=""/>"#, false),
    (r#"<frame name="a b"/>"#, false),
    (r#"<frame name="a:b"/>"#, false),
    (r#"<frame name="F"/>"#, false),
    (r#"<frame/>"#, false),
    (r#"<frame name="G">x</frame>"#, false),
    (r#"<frame name="G"><frame name="H"/></frame>"#, false),
    (r#"<box size_m="1 2 3" role="visual"/>"#, true),
    (r#"<box size_m="1 2 3" role="Visual"/>"#, false),
    (r#"<box/>"#, false),
    (r#"<cylinder radius_m="1" length_m="2"/>"#, true),
    (r#"<cylinder radius_m="0" length_m="2"/>"#, false),
    (r#"<cylinder radius_m="1"/>"#, false),
    (r#"<sphere radius_m="1e0"/>"#, true),
    (r#"<sphere radius_m="big"/>"#, false),
    (r#"<mesh file="a.stl" scale="1 1 1"/>"#, true),
    (r#"<mesh scale="1 1 1"/>"#, false),
    (r#"<mass mass_kg="2" inertia_kgm2="1 1 1 0 0 0"/>"#, true),
    (r#"<mass mass_kg="-2"/>"#, false),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="181" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        true,
    ),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="0" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="1.5" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="+5" fov_deg="180" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="9" fov_deg="361" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<laser name="L" frame="F" rate_hz="10" beams="9" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<laser name="L" frame="G" rate_hz="10" beams="9" fov_deg="9" range_min_m="0" range_max_m="8"/>"#,
        false,
    ),
    (
        r#"<camera name="C" frame="F" rate_hz="1" width_px="2" height_px="2" fov_deg="60"/>"#,
        true,
    ),
    (
        r#"<camera name="C" frame="F" rate_hz="1" width_px="2" fov_deg="60"/>"#,
        false,
    ),
    (
        r#"<gps name="P" frame="F" rate_hz="0"/><imu name="I" frame="F" rate_hz="100"/>"#,
        true,
    ),
    (
        r#"<gps name="P" frame="F" rate_hz="0"/><imu name="P" frame="F" rate_hz="100"/>"#,
        false,
    ),
    (r#"<gps name="P" frame="F"/>"#, false),
    (
        r#"<sonar name="S" frame="F" rate_hz="1" range_min_m="0" range_max_m="5" fov_deg="20"/>"#,
        true,
    ),
    (
        r#"<encoder name="E" frame="F" rate_hz="1" ticks_per_turn="100"/>"#,
        true,
    ),
    (
        r#"<multibeam name="M" frame="F" rate_hz="5" beams="240" fov_deg="120" range_min_m="0.5" range_max_m="40" range_sd_m="0.02" dropout_ratio="0.02"/>"#,
        true,
    ),
    (
        r#"<multibeam name="M" frame="F" rate_hz="5" beams="240" fov_deg="120" range_min_m="0.5" range_max_m="40" dropout_ratio="1.5"/>"#,
        false,
    ),
    (
        r#"<spectrometer name="S" frame="F" rate_hz="1" masses="18 water 1e-7, 78 benzene 1e-12" sensitivity_a="1e-9"/>"#,
        true,
    ),
    (
        r#"<spectrometer name="S" frame="F" rate_hz="1" sensitivity_a="1e-9"/>"#,
        false,
    ),
    (
        r#"<camera name="C" frame="F" rate_hz="1" width_px="2" height_px="2" fov_deg="60" gives="picture"/>"#,
        true,
    ),
    (
        r#"<camera name="C" frame="F" rate_hz="1" width_px="2" height_px="2" fov_deg="60" gives="smell"/>"#,
        false,
    ),
    (
        r#"<hull length_m="2" beam_m="1" added_mass="6 90 24" linear_drag="20 100 38" windage_m2="0.2 0.5"/><thruster name="T" frame="F" ahead_n="100" astern_n="60" lag_s="0.2"/>"#,
        true,
    ),
    (
        r#"<hull length_m="2" beam_m="1" added_mass="6 90 24"/>"#,
        false,
    ),
    (
        r#"<hull length_m="2" beam_m="1" added_mass="6 -90 24" linear_drag="20 100 38"/>"#,
        false,
    ),
    (r#"<thruster name="T" frame="G" ahead_n="100"/>"#, false),
    (
        r#"<magnetometer name="M" frame="F" rate_hz="1" field_sd_t="-1"/>"#,
        false,
    ),
    (r#"<wheel/>"#, false),
    ("words", false),
];

/// What may be in an assembly of two such bodies, `X` and `Y`, and whether it is right.
const ASSEMBLIES: &[(&str, bool)] = &[
    ("", true),
    (r#"<closure tolerance_mm="1"/>"#, true),
    (r#"<closure tolerance_mm="0"/>"#, false),
    (r#"<closure tolerance_m="1"/>"#, false),
    (
        r#"<constraint name="C" from="X:F" to="Y:F" xyz="0 0 1"/>"#,
        true,
    ),
    (r#"<constraint name="C" from="X:F" to="Y"/>"#, false),
    (r#"<constraint name="C" from="X:F"/>"#, false),
    (r#"<constraint from="X:F" to="Y:F"/>"#, false),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><revolute axis="0 0 1" min_deg="-1" max_deg="1" channel="a.b" field="c"/></constraint>"#,
        true,
    ),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><prismatic min_m="-1" max_m="1" rest_m="0"/></constraint>"#,
        true,
    ),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><prismatic min_deg="-1" max_deg="1"/></constraint>"#,
        false,
    ),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><revolute/><revolute/></constraint>"#,
        false,
    ),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><screw/></constraint>"#,
        false,
    ),
    (
        r#"<constraint name="C" from="X:F" to="Y:F"><revolute channel="" field="c"/></constraint>"#,
        false,
    ),
    (r#"<use/>"#, false),
    (r#"<use body="/etc/passwd"/>"#, false),
    (r#"<body name="Z"><frame name="F"/></body>"#, false),
];

#[test]
fn the_schema_and_our_reader_agree() {
    let folder = scratch("schema");
    let (assembly, body) = (folder.join("a.xml"), folder.join("b.xml"));
    let uses = r#"<use body="b.xml" as="X"/><use body="b.xml" as="Y"/>"#;
    let good_body = r#"<body name="B"><frame name="F"/></body>"#;
    let good_assembly = format!(r#"<assembly name="A">{uses}</assembly>"#);
    let is_ours = || {
        let made = load(&assembly, &mut Disk).and_then(|loaded| {
            let model = Model::new(loaded.assembly)?;
            Catalog::default().check(model.assembly())
        });
        made.is_ok()
    };
    for (inside, is_right) in BODIES {
        let text = good_body.replace("</body>", &format!("{inside}</body>"));
        fs::write(&assembly, &good_assembly).expect("a file can be written");
        fs::write(&body, text).expect("a file can be written");
        assert_eq!(
            follows_the_schema(&body),
            *is_right,
            "by the schema: {inside}"
        );
        assert_eq!(is_ours(), *is_right, "by our reader: {inside}");
    }
    fs::write(&body, good_body).expect("a file can be written");
    for (inside, is_right) in ASSEMBLIES {
        let text = good_assembly.replace("</assembly>", &format!("{inside}</assembly>"));
        fs::write(&assembly, text).expect("a file can be written");
        assert_eq!(
            follows_the_schema(&assembly),
            *is_right,
            "by the schema: {inside}"
        );
        assert_eq!(is_ours(), *is_right, "by our reader: {inside}");
    }
}

/// The simulator's own library, in a program that prints what it makes of files. Built once: its headers are large.
fn sdformat() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = scratch("peer").join("sdformat");
        let flags = Command::new("pkg-config")
            .args(["--cflags", "--libs", "sdformat12"])
            .output()
            .expect("pkg-config is there; run scripts/setup-peers");
        let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
        run(Command::new("g++")
            .args(["-std=c++17", "-O0", "-o"])
            .arg(&program)
            .arg(workspace().join("tests/peers/sdformat.cpp"))
            .args(flags.split_whitespace()));
        program
    })
}

/// What the simulator's library reports about each file: numbers by kind and name.
fn places(files: &[PathBuf]) -> Vec<BTreeMap<String, Vec<f64>>> {
    let output = Command::new(sdformat())
        .args(files)
        .output()
        .expect("the peer runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all = vec![BTreeMap::new()];
    for line in text.lines() {
        if line == "end" {
            all.push(BTreeMap::new());
            continue;
        }
        let mut words = line.split(' ');
        let name = words.by_ref().take(2).collect::<Vec<_>>().join(" ");
        let numbers = words
            .map(|word| word.parse().expect("the peer prints numbers"))
            .collect();
        all.last_mut()
            .expect("there is always one")
            .insert(name, numbers);
    }
    all.pop();
    assert_eq!(all.len(), files.len());
    all
}

fn pose(numbers: &[f64]) -> Transform {
    let &[x, y, z, qw, qx, qy, qz] = numbers else {
        panic!("expected a pose, found {numbers:?}");
    };
    Transform::from_xyz_quat([x, y, z], [qw, qx, qy, qz]).expect("a turn")
}

fn assert_near(found: &Transform, expected: &Transform, what: &str) {
    let off = found.inverse_mul(expected);
    // The library keeps angles of URDF as text with fewer digits than a number has.
    assert!(
        off.distance_m() < 1e-9 && off.angle_rad() < 1e-9,
        "{what}: {found:?} {expected:?}"
    );
}

fn number(random: &mut Random) -> f64 {
    (random.below(4_000_001) as f64 - 2e6) / 1e6
}

fn numbers<const N: usize>(random: &mut Random) -> String {
    let numbers = [(); N].map(|()| number(random).to_string());
    numbers.join(" ")
}

/// A model of links in a tree, with frames on links and frames, each relative to something that came before.
fn random_sdf(random: &mut Random) -> String {
    let mut text = String::from("<sdf version=\"1.9\"><model name=\"m\">\n");
    let mut names = vec!["__model__".to_owned()];
    let mut bases = Vec::new();
    for idx in 0..random.between(2, 7) {
        let base = random.pick(&names).clone();
        let pose = match random.below(3) {
            0 => format!(
                "<pose relative_to=\"{base}\">{}</pose>",
                numbers::<6>(random)
            ),
            1 => format!("<pose degrees=\"true\">{}</pose>", numbers::<6>(random)),
            _ => format!(
                "<pose rotation_format=\"quat_xyzw\" relative_to=\"{base}\">{} 0.5 -0.5 0.5 0.5</pose>",
                numbers::<3>(random)
            ),
        };
        let name = format!("link{idx}");
        writeln!(text, "<link name=\"{name}\">{pose}</link>").expect("text can be written");
        if idx > 0 {
            let parent: &String = random.pick(&bases);
            let kind = *random.pick(&["fixed", "revolute", "prismatic"]);
            let at = if random.one_in(2) {
                format!(
                    "<pose relative_to=\"{base}\">{}</pose>",
                    numbers::<6>(random)
                )
            } else {
                format!("<pose>{}</pose>", numbers::<6>(random))
            };
            let in_frame = if random.one_in(2) {
                format!(" expressed_in=\"{base}\"")
            } else {
                String::new()
            };
            let axis = if kind == "fixed" {
                String::new()
            } else {
                format!("<axis><xyz{in_frame}>{}</xyz></axis>", numbers::<3>(random))
            };
            writeln!(
                text,
                "<joint name=\"joint{idx}\" type=\"{kind}\"><parent>{parent}</parent><child>{name}</child>{at}{axis}</joint>"
            )
            .expect("text can be written");
            names.push(format!("joint{idx}"));
        }
        bases.push(name.clone());
        names.push(name);
        for nth in 0..random.below(3) {
            let attached = random.pick(&names).clone();
            let base = random.pick(&names).clone();
            let name = format!("frame{idx}_{nth}");
            let pose = format!(
                "<pose relative_to=\"{base}\">{}</pose>",
                numbers::<6>(random)
            );
            writeln!(
                text,
                "<frame name=\"{name}\" attached_to=\"{attached}\">{pose}</frame>"
            )
            .expect("text can be written");
            names.push(name);
        }
    }
    text += "</model></sdf>\n";
    text
}

/// Holds a model's frames and axes against what the simulator's library reports.
fn compare(model: &Model, expected: &BTreeMap<String, Vec<f64>>, file: &Path) {
    let frames: Vec<(String, String)> = model
        .frames()
        .filter_map(|id| model.name_of(id).split_once(':'))
        .map(|(body, frame)| (body.to_owned(), frame.to_owned()))
        .collect();
    let base = frames.iter().find(|(_, frame)| frame == "__model__");
    let (first, _) = frames.first().expect("a model has frames");
    let base = base.map_or_else(
        || format!("{first}:origin"),
        |(body, _)| format!("{body}:__model__"),
    );
    let place = |body: &str, frame: &str| {
        model
            .transform_by_name(&format!("{body}:{frame}"), &base)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let mut n_compared = 0;
    for (name, numbers) in expected {
        let (kind, name) = name.split_once(' ').expect("a kind and a name");
        let what = format!("{kind} {name} of {}", file.display());
        match kind {
            "link" => assert_near(&place(name, "origin"), &pose(numbers), &what),
            "frame" | "joint" => {
                let bodies: Vec<_> = frames.iter().filter(|(_, frame)| frame == name).collect();
                assert!(!bodies.is_empty(), "{what}");
                for (body, frame) in bodies {
                    assert_near(&place(body, frame), &pose(numbers), &what);
                }
            }
            "axis" => {
                let constraint = model
                    .assembly()
                    .constraints
                    .iter()
                    .find(|it| it.name == name);
                let constraint = constraint.expect("a joint is a constraint");
                let joint = constraint.joint.as_ref().expect("that moves");
                let at = place(&constraint.from.body, &constraint.from.frame);
                let found = at.turn(joint.axis);
                let length = numbers.iter().map(|it| it * it).sum::<f64>().sqrt();
                for (found, expected) in found.into_iter().zip(numbers) {
                    assert!((found - expected / length).abs() < 1e-9, "{what}");
                }
            }
            other => panic!("expected no {other}"),
        }
        n_compared += 1;
    }
    assert!(n_compared >= 3, "{}", file.display());
}

#[test]
fn random_sdf_models_are_where_the_simulators_library_has_them() {
    let folder = scratch("sdf");
    let files: Vec<PathBuf> = (0..60_u64)
        .map(|seed| {
            let path = folder.join(format!("{seed}.sdf"));
            fs::write(&path, random_sdf(&mut Random::new(seed))).expect("a file can be written");
            path
        })
        .collect();
    for (file, expected) in files.iter().zip(places(&files)) {
        compare(&open(file), &expected, file);
    }
}

/// A robot of links in a tree. Every link has a mass and every joint moves, or the library would melt links together.
fn random_urdf(random: &mut Random) -> String {
    let mut text = String::from("<robot name=\"r\">\n");
    let inertial = "<inertial><mass value=\"1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial>";
    for idx in 0..random.between(2, 8) {
        writeln!(text, "<link name=\"link{idx}\">{inertial}</link>").expect("text can be written");
        if idx == 0 {
            continue;
        }
        let parent = random.below(idx);
        let kind = *random.pick(&["revolute", "continuous", "prismatic"]);
        let axis = *random.pick(&["1 0 0", "0 1 0", "0 0 1", "0 0.6 -0.8"]);
        writeln!(
            text,
            "<joint name=\"joint{idx}\" type=\"{kind}\"><parent link=\"link{parent}\"/><child link=\"link{idx}\"/>\
             <origin xyz=\"{}\" rpy=\"{}\"/><axis xyz=\"{axis}\"/>\
             <limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/></joint>",
            numbers::<3>(random),
            numbers::<3>(random)
        )
        .expect("text can be written");
    }
    text += "</robot>\n";
    text
}

#[test]
fn random_urdf_robots_are_where_the_simulators_library_has_them() {
    let folder = scratch("urdf");
    let files: Vec<PathBuf> = (0..40_u64)
        .map(|seed| {
            let path = folder.join(format!("{seed}.urdf"));
            fs::write(&path, random_urdf(&mut Random::new(seed))).expect("a file can be written");
            path
        })
        .collect();
    for (file, expected) in files.iter().zip(places(&files)) {
        compare(&open(file), &expected, file);
    }
}

#[test]
fn the_simulators_library_reads_our_export_with_every_frame_where_it_is() {
    let model = open(&workspace().join("models/raptor/raptor.xml"));
    let folder = scratch("export");
    let file = folder.join("raptor.sdf");
    fs::write(&file, to_sdf(&model).0).expect("a file can be written");
    let all = places(std::slice::from_ref(&file));
    let expected = all.first().expect("one file was read");
    let origin = |numbers: &Vec<f64>| pose(numbers);
    let raptor = origin(expected.get("link Raptor").expect("it has a Raptor"));
    let base = model
        .frame("Raptor:RearAxleCenter")
        .expect("it has an axle");
    let axle = origin(
        expected
            .get("frame Raptor:RearAxleCenter")
            .expect("and its frame"),
    );
    assert_near(&raptor, &Transform::IDENTITY, "the first body");
    for frame in model.frames() {
        let name = model.name_of(frame);
        let found = expected.get(&format!("frame {name}")).expect(name);
        let expected = axle.inverse_mul(&origin(found));
        assert_near(
            &model.transform(frame, base).expect("connected"),
            &expected,
            name,
        );
    }
    for body in &model.assembly().bodies {
        for sensor in body.sensors() {
            let [name, frame] =
                [&sensor.name, &sensor.frame].map(|it| it.as_deref().expect("a sensor"));
            let prefix = format!("sensor {}/{name}/", body.name);
            let found = expected.iter().find(|(name, _)| name.starts_with(&prefix));
            let (_, found) = found.expect(&prefix);
            let frame = model
                .frame(&format!("{}:{frame}", body.name))
                .expect("it is there");
            let expected = axle.inverse_mul(&origin(found));
            assert_near(
                &model.transform(frame, base).expect("connected"),
                &expected,
                &prefix,
            );
        }
    }
}

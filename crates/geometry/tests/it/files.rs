use super::support::{apart, model, raptor, read};
use bowline_geometry::{Disk, Format, Model, Transform, load};

fn one_frame(attributes: &str) -> Model {
    let body = format!(r#"<body name="B"><frame name="O"/><frame name="F" {attributes}/></body>"#);
    let assembly =
        r#"<assembly name="A"><use body="b.xml" as="One"/><use body="b.xml" as="Two"/></assembly>"#;
    model(&[("a.xml", assembly), ("b.xml", &body)])
}

#[test]
fn a_pose_can_be_spelled_in_four_ways() {
    let expected =
        Transform::from_xyz_rpy([1.0, -2.0, 0.5], [0.0, 0.0, std::f64::consts::FRAC_PI_2]);
    for attributes in [
        r#"xyz="1 -2 0.5" rpy="0 0 1.5707963267948966""#,
        r#"xyz="1 -2 0.5" rpy="0 0 90" angle="deg""#,
        r#"xyz="1 -2 0.5" quat="0.7071067811865476 0 0 0.7071067811865476""#,
        r#"xyz="1 -2 0.5" quat="1 0 0 1""#,
        r#"matrix="0 -1 0 1  1 0 0 -2  0 0 1 0.5  0 0 0 1""#,
        "xyz=' +1 -2.0\n .5 ' rpy='0 0 9e1' angle='deg'",
    ] {
        let model = one_frame(attributes);
        let found = model
            .transform_by_name("One:F", "One:O")
            .expect("on one body");
        assert!(apart(&found, &expected) < 1e-15, "{attributes}: {found:?}");
    }
}

#[test]
fn raptor_has_the_poses_of_its_files() {
    let loaded = load(&raptor(), &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(loaded.format, Format::Assembly);
    assert!(loaded.notes.is_empty());
    let mut model = Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    // By hand: the rail is 1.50 m behind and 1.43 m above the bumper; the camera sits 12 mm above it, pitched 8 degrees
    // down, with its image plane 8.5 mm ahead of and 15.5 mm above its foot.
    let (s, c) = 8.0_f64.to_radians().sin_cos();
    let expected = [
        -1.5 + 0.0085 * c + 0.0155 * s,
        0.0,
        1.442 - 0.0085 * s + 0.0155 * c,
    ];
    let found = model
        .transform_by_name("Flea:ImagePlane", "Raptor:FrontBumperCenter")
        .expect("rigid");
    for (found, expected) in found.xyz().into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    assert!((found.rpy()[1] - 8.0_f64.to_radians()).abs() < 1e-12);
    assert_eq!(model.open_loops().count(), 0);
    assert_eq!(model.loops().len(), 1);
    let joints: Vec<_> = model
        .joints()
        .map(|it| (it.name.to_owned(), it.feed().cloned()))
        .collect();
    assert_eq!(joints.len(), 3);
    assert!(joints.iter().all(|(_, feed)| feed.is_some()));
    // A quarter turn to the left: the laser looks along y, 12 degrees down.
    let pan = model.joint("Pan").expect("it has a pan unit");
    model
        .set(pan, std::f64::consts::FRAC_PI_2, 0)
        .expect("within limits");
    let laser = model
        .transform_by_name("Laser:ScanCenter", "Raptor:RearAxleCenter")
        .expect("told");
    let [x, y, z] = laser.turn([1.0, 0.0, 0.0]);
    let (s, c) = 12.0_f64.to_radians().sin_cos();
    assert!(x.abs() < 1e-12 && (y - c).abs() < 1e-12 && (z + s).abs() < 1e-12);
}

#[test]
fn sensors_come_with_their_parameters() {
    let loaded = load(&raptor(), &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let body = loaded
        .assembly
        .bodies
        .iter()
        .find(|it| it.name == "Laser")
        .expect("it has a laser");
    let sensors: Vec<_> = body.sensors().collect();
    let [laser] = sensors.as_slice() else {
        panic!("expected one sensor");
    };
    assert_eq!(laser.word, "laser");
    let beams = &laser.attributes[1];
    assert_eq!(
        (beams.name.as_str(), beams.value.as_str()),
        ("beams", "361")
    );
    assert!(beams.place.line > 1, "{}", beams.place);
    for (name, expected) in [("rate_hz", 37.5), ("fov_deg", 180.0), ("range_max_m", 32.0)] {
        assert_eq!(laser.number(name), Some(expected), "{name}");
    }
}

#[test]
fn one_body_file_serves_many_bodies_and_is_found_beside_the_assembly() {
    let assembly = r#"<assembly name="A"><use body="../bodies/b.xml" as="One"/><use body="../bodies/b.xml" as="Two"/></assembly>"#;
    let body = r#"<body name="B"><frame name="F"/></body>"#;
    let model = model(&[("robots/a.xml", assembly), ("robots/../bodies/b.xml", body)]);
    assert_eq!(model.body_list().collect::<Vec<_>>(), ["One", "Two"]);
}

#[test]
fn schemas_may_be_named_for_editors() {
    let assembly = r#"<assembly xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="model.xsd" name="A">
        <use body="b.xml" as="One"/><use body="b.xml" as="Two"/></assembly>"#;
    let body = "\u{feff}<?xml version=\"1.0\"?><!-- measured by hand --><body name=\"B\"><frame name=\"F\"/></body>";
    assert!(read(&[("a.xml", assembly), ("b.xml", body)]).is_ok());
}

#[test]
fn every_assembly_of_the_repository_is_a_sound_model() {
    let models = raptor();
    let models = models
        .ancestors()
        .nth(2)
        .expect("models/ is two folders up");
    let mut checked = Vec::new();
    for folder in std::fs::read_dir(models).expect("models/ can be read") {
        let folder = folder.expect("it can be listed").path();
        let Ok(files) = std::fs::read_dir(folder) else {
            continue;
        };
        for file in files {
            let path = file.expect("it can be listed").path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if !text.contains("<assembly ") {
                continue;
            }
            let loaded = load(&path, &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert!(loaded.notes.is_empty(), "{path:?}: {:?}", loaded.notes);
            let model = Model::new(loaded.assembly);
            let model = model.unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert!(model.body_list().count() >= 2, "{path:?}");
            checked.push(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    for name in ["jackal", "raptor_ugv", "upsv"] {
        let is_checked = checked.iter().flatten().any(|it| it == name);
        assert!(is_checked, "{name}: {checked:?}");
    }
}

#[test]
fn every_body_file_of_the_raptor_is_used() {
    let folder = raptor();
    let folder = folder.parent().expect("the example is in a folder");
    let bodies = std::fs::read_dir(folder)
        .expect("the example's folder can be read")
        .count()
        - 1;
    let loaded = load(&raptor(), &mut Disk).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut used: Vec<_> = loaded
        .assembly
        .bodies
        .iter()
        .map(|body| body.frames[0].place.file.clone())
        .collect();
    used.sort();
    used.dedup();
    assert_eq!(used.len(), bodies, "every body file is used");
}

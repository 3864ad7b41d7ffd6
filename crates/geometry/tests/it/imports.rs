use super::support::{apart, model, read};
use bowline_geometry::{Format, Model, Transform};
use std::f64::consts::FRAC_PI_2;

const ARM: &str = r#"<robot name="arm">
  <material name="grey"/>
  <link name="base">
    <visual><geometry><box size="1 1 0.2"/></geometry></visual>
    <inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="upper"/><link name="lower"/><link name="finger"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="1 0 0"/><axis xyz="0 0 2"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="lower"/><child link="finger"/><origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/><mimic joint="elbow" multiplier="0.1" offset="0.02"/>
  </joint>
  <gazebo reference="upper"><sensor name="eye" type="camera"><pose>0.1 0 0 0 0 0</pose><update_rate>15</update_rate>
    <camera><horizontal_fov>1.2</horizontal_fov><image><width>640</width><height>480</height></image></camera></sensor>
    <sensor name="touch" type="contact"/></gazebo>
  <transmission name="t"><joint name="elbow"/></transmission>
</robot>"#;

#[test]
fn a_urdf_robot_is_a_model_with_its_joints_and_sensors() {
    let loaded = read(&[("arm.urdf", ARM)]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(loaded.format, Format::Urdf);
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert!(
        matches!(notes.as_slice(), [note] if note.contains("\"touch\"")),
        "{notes:?}"
    );
    let mut model = Model::new(loaded.assembly).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let [shoulder, elbow] = ["shoulder", "elbow"].map(|name| model.joint(name).unwrap());
    model.set(shoulder, FRAC_PI_2, 0).unwrap();
    model.set(elbow, FRAC_PI_2, 0).unwrap();
    // Up, a quarter turn left, pitched down by the shoulder: the elbow is straight below it, 1 m.
    let found = model
        .transform_by_name("lower:origin", "base:origin")
        .unwrap();
    let expected = Transform::from_xyz([0.0, 0.0, 1.0])
        * Transform::from_xyz_rpy([0.0; 3], [0.0, 0.0, FRAC_PI_2])
        * Transform::from_xyz_rpy([0.0; 3], [0.0, FRAC_PI_2, 0.0])
        * Transform::from_xyz_rpy([1.0, 0.0, 0.0], [0.0, 0.0, FRAC_PI_2]);
    assert!(apart(&found, &expected) < 1e-14, "{found:?}");
    let grip = model
        .transform_by_name("finger:origin", "lower:grip")
        .unwrap();
    assert!(
        (grip.xyz()[1] - (0.1 * FRAC_PI_2 + 0.02)).abs() < 1e-14,
        "it mimics the elbow"
    );
    let eye = model
        .transform_by_name("upper:eye", "upper:origin")
        .unwrap();
    assert!(apart(&eye, &Transform::from_xyz([0.1, 0.0, 0.0])) < 1e-15);
    let sensor = model.body("upper").unwrap().sensors().next().unwrap();
    assert_eq!(sensor.word, "camera");
    assert_eq!(sensor.number("width_px"), Some(640.0));
    assert!((sensor.rate_hz() - 15.0).abs() < 1e-15);
    assert_eq!(model.body("base").unwrap().shapes.len(), 1);
}

const ROVER: &str = r#"<sdf version="1.7"><model name="rover">
  <pose>5 0 0 0 0 0</pose>
  <link name="chassis"><pose>0 0 0.5 0 0 0</pose>
    <sensor name="scan" type="ray"><pose relative_to="mast">0 0 0.1 0 0 0</pose><update_rate>10</update_rate>
      <ray><scan><horizontal><samples>181</samples><min_angle>-1.5</min_angle><max_angle>1.5</max_angle></horizontal></scan>
      <range><min>0.1</min><max>30</max></range></ray></sensor>
  </link>
  <frame name="mast" attached_to="chassis"><pose>0.3 0 1 0 0 0</pose></frame>
  <frame name="tip" attached_to="mast"><pose relative_to="__model__">0 0 2 0 0 0</pose></frame>
  <link name="wheel"><pose relative_to="axle"/></link>
  <joint name="axle" type="revolute"><pose relative_to="chassis">0.4 0.3 -0.3 0 0 0</pose>
    <parent>chassis</parent><child>wheel</child><axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint>
  <joint name="ground" type="fixed"><parent>world</parent><child>chassis</child></joint>
  <model name="arm"><pose relative_to="mast">0 0 0.5 0 0 1.5707963267948966</pose>
    <link name="base"/><link name="hand"><pose>1 0 0 0 0 0</pose></link>
    <joint name="wrist" type="fixed"><parent>base</parent><child>hand</child></joint>
  </model>
  <joint name="bolt" type="fixed"><parent>mast</parent><child>arm::base</child></joint>
</model></sdf>"#;

#[test]
fn an_sdf_model_is_a_model_with_its_frames_joints_sensors_and_nested_models() {
    let mut model = model(&[("rover.sdf", ROVER)]);
    model.set_untold_to_rest(0);
    for (foi, reference, xyz) in [
        ("chassis:mast", "chassis:origin", [0.3, 0.0, 1.0]),
        ("chassis:tip", "chassis:__model__", [0.0, 0.0, 2.0]),
        ("chassis:__model__", "chassis:origin", [0.0, 0.0, -0.5]),
        ("wheel:origin", "chassis:origin", [0.4, 0.3, -0.3]),
        ("chassis:scan", "chassis:mast", [0.0, 0.0, 0.1]),
        ("arm/base:origin", "chassis:mast", [0.0, 0.0, 0.5]),
        ("arm/hand:origin", "chassis:mast", [0.0, 1.0, 0.5]),
        ("chassis:origin", "world:ground", [0.0, 0.0, 0.0]),
    ] {
        let found = model
            .transform_by_name(foi, reference)
            .unwrap_or_else(|error| panic!("{error}"));
        for (found, expected) in found.xyz().into_iter().zip(xyz) {
            assert!(
                (found - expected).abs() < 1e-14,
                "{foi} in {reference}: {found} {expected}"
            );
        }
    }
    // The axis is the model's y, wherever the joint's frame points.
    let axle = model.joint("axle").unwrap();
    model.set(axle, FRAC_PI_2, 1).unwrap();
    let wheel = model
        .transform_by_name("wheel:origin", "chassis:origin")
        .unwrap();
    assert!((wheel.rpy()[1] - FRAC_PI_2).abs() < 1e-12);
    let sensor = model.body("chassis").unwrap().sensors().next().unwrap();
    assert_eq!(sensor.word, "laser");
    assert_eq!(sensor.number("beams"), Some(181.0));
    let fov_deg = sensor.number("fov_deg").unwrap();
    assert!((fov_deg.to_radians() - 3.0).abs() < 1e-12, "{fov_deg}");
    assert_eq!(sensor.frame.as_deref(), Some("scan"));
}

#[test]
fn links_of_a_static_model_stand_still() {
    let text = r#"<sdf version="1.6"><model name="wall"><static>true</static>
        <link name="a"/><link name="b"><pose>0 2 0 0 0 0</pose></link></model></sdf>"#;
    let model = model(&[("wall.sdf", text)]);
    let found = model.transform_by_name("b:origin", "a:origin").unwrap();
    assert!((found.xyz()[1] - 2.0).abs() < 1e-15);
}

fn assert_refused(text: &str, expected: &str) {
    let found = read(&[("x.xml", text)]).expect_err(text).to_string();
    assert!(
        found.contains(expected),
        "expected {expected:?} in {found:?}"
    );
    assert!(found.starts_with("x.xml:1:"), "{found}");
}

/// What may be in a robot beside two links, and why it is refused.
const ROBOTS: &[(&str, &str)] = &[
    (
        r#"<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>"#,
        "fixed, revolute, continuous or prismatic, found \"floating\"",
    ),
    (
        r#"<joint name="j" type="fixed"><parent link="a"/><child link="c"/></joint>"#,
        "expected a link, found \"c\"",
    ),
    (
        r#"<joint name="j" type="fixed"><parent link="a"/></joint>"#,
        "expected <child link=...> in <joint>",
    ),
    (
        r#"<x:include xmlns:x="http://www.ros.org/wiki/xacro" filename="f"/>"#,
        "run `xacro",
    ),
    (
        r#"<joint name="j" type="fixed"><origin xyz="1 2"/><parent link="a"/><child link="b"/></joint>"#,
        "xyz: expected 3 numbers",
    ),
];

#[test]
fn unsupported_urdf_is_refused_with_a_fix() {
    for (inside, expected) in ROBOTS {
        let text = format!(r#"<robot name="r"><link name="a"/><link name="b"/>{inside}</robot>"#);
        assert_refused(&text, expected);
    }
}

/// What may be in an SDF model beside two links, and why it is refused.
const MODELS: &[(&str, &str)] = &[
    ("<include><uri>model://x</uri></include>", "found <include>"),
    (
        r#"<joint name="j" type="ball"><parent>a</parent><child>b</child></joint>"#,
        "found \"ball\"",
    ),
    (
        r#"<joint name="j" type="fixed"><parent>a</parent><child>c</child></joint>"#,
        "expected a link, joint or frame, found \"c\"",
    ),
    (
        r#"<joint name="j" type="fixed"><parent>a</parent></joint>"#,
        "expected <child> in <joint>",
    ),
    (
        r#"<frame name="f"><pose relative_to="g"/></frame><frame name="g"><pose relative_to="f"/></frame>"#,
        "found a circle: f -> g",
    ),
    (
        r#"<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>"#,
        "found a circle",
    ),
    (r#"<frame name="a"/>"#, "found a second \"a\""),
    (
        r#"<link name="c"><pose>1 2 3</pose></link>"#,
        "<pose>: expected x y z roll pitch yaw, found \"1 2 3\"",
    ),
    (
        r#"<model name="n" placement_frame="x"><link name="x"/></model>"#,
        "expected a <model> without placement_frame",
    ),
];

#[test]
fn unsupported_sdf_is_refused_with_a_fix() {
    for (inside, expected) in MODELS {
        let model = format!(r#"<model name="m"><link name="a"/><link name="b"/>{inside}</model>"#);
        assert_refused(&format!(r#"<sdf version="1.7">{model}</sdf>"#), expected);
    }
    for (text, expected) in [
        (
            r#"<sdf version="1.7"><world name="w"/></sdf>"#,
            "expected a <model> in <sdf>, found <world>",
        ),
        (
            r#"<sdf version="2"><model name="m"/></sdf>"#,
            "version: expected a version of SDF",
        ),
        (
            r#"<sdf version="1.7"><model name="m"/></sdf>"#,
            "expected at least one <link> in <model>",
        ),
    ] {
        assert_refused(text, expected);
    }
}

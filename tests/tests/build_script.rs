//! `bowline-build`, as a user's build script has it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A crate with types in two packages, one named like a keyword, and a program that uses them.
const FILES: &[(&str, &str)] = &[
    (
        "types/pose.lcm",
        "package robot.type; struct pose_t { int64_t utime; double state[40]; geo.point_t self; }",
    ),
    (
        "types/point.lcm",
        "package geo; struct point_t { string match; int32_t n; byte raw[n]; }",
    ),
    (
        "build.rs",
        "fn main() -> Result<(), bowline_build::GenerateError> { bowline_build::generate(\"types/\") }",
    ),
    (
        "src/main.rs",
        r#"
        #![deny(warnings)]
        mod msgs {
            include!(concat!(env!("OUT_DIR"), "/types.rs"));
        }
        use bowline_wire::Message as _;

        fn main() {
            let point = msgs::geo::Point { r#match: "yes".into(), raw: vec![1, 2], ..Default::default() };
            let pose = msgs::robot::type_::Pose { utime: 7, self_: point.with_lengths(), ..Default::default() };
            let message = pose.encode().expect("sound");
            assert_eq!(msgs::robot::type_::Pose::decode(&message).expect("sound"), pose);
            println!("{} {} types", message.len(), msgs::TYPES.len());
        }
        "#,
    ),
];

#[test]
fn a_crate_that_compiles_its_types_in_build_rs_builds_and_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_script");
    let path = |name: &str| root.join("crates").join(name).display().to_string();
    let manifest = format!(
        "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nbowline-wire = {{ path = {:?} }}\n\
         [build-dependencies]\nbowline-build = {{ path = {:?} }}\n[workspace]\n",
        path("wire"),
        path("build")
    );
    for (name, text) in FILES
        .iter()
        .copied()
        .chain([("Cargo.toml", manifest.as_str())])
    {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "350 2 types\n");
}

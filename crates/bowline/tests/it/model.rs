use crate::{bowline_in, scratch, stderr, stdout, write};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder of a test's own whose only model is the Raptor.
fn alone(test: &str) -> PathBuf {
    let folder = scratch(&format!("model-alone-{test}"));
    let (from, to) = (root().join("models/raptor"), folder.join("models/raptor"));
    fs::create_dir_all(&to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("the Raptor is there") {
        let entry = entry.expect("it can be listed");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
    }
    folder
}

#[test]
fn of_several_models_the_one_is_meant_that_has_the_frames() {
    let args = [
        "model",
        "transform",
        "Flea:ImagePlane",
        "Raptor:FrontBumperCenter",
    ];
    let output = bowline_in(&root(), &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "model: models/raptor/raptor.xml\n");
    let output = bowline_in(&root(), &["model", "bodies"], b"");
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("because models/ has several: "), "{told}");
}

#[test]
fn a_transform_is_printed_as_a_matrix_and_as_shift_and_turn() {
    let args = [
        "model",
        "transform",
        "Flea:ImagePlane",
        "Raptor:FrontBumperCenter",
    ];
    let output = bowline_in(&alone("transform"), &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "   0.990268    0.000000    0.139173   -1.489426\n",
        "xyz       -1.489426    0.000000    1.456166 m\n",
        "rpy          0.0000      8.0000      0.0000 deg\n",
    ] {
        assert!(text.contains(part), "expected {part:?} in\n{text}");
    }
    // The only assembly in models/ is taken, and reported.
    assert_eq!(stderr(&output), "model: models/raptor/raptor.xml\n");
}

#[test]
fn programs_get_json_with_every_digit() {
    let file = root()
        .join("models/raptor/raptor.xml")
        .display()
        .to_string();
    let folder = scratch("model-json");
    let args = [
        "model",
        "transform",
        "Laser:ScanCenter",
        "PanBase:Foot",
        "--model",
        &file,
        "--joint",
        "Pan=90deg",
        "--json",
    ];
    let output = bowline_in(&folder, &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    assert_eq!(json["foi"], "Laser:ScanCenter");
    let yaw = json["rpy_rad"][2].as_f64().expect("an angle");
    assert!((yaw - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
    assert_eq!(json["matrix"][3][3], 1.0);
    assert!(json["covariance"][0][0].as_f64().expect("a variance") > 0.0);
}

#[test]
fn unmoved_joints_are_reported_at_rest() {
    let args = [
        "model",
        "transform",
        "Laser:ScanCenter",
        "Raptor:RearAxleCenter",
    ];
    let report = stderr(&bowline_in(&alone("joints"), &args, b""));
    assert!(report.contains("the joint Pan is at rest, 0"), "{report}");
}

#[test]
fn what_is_not_there_is_a_wrong_use_with_a_suggestion() {
    let folder = alone("wrong");
    for (args, expected) in [
        (
            vec!["transform", "Flea:ImagePlan", "Raptor:RearAxleCenter"],
            "did you mean \"Flea:ImagePlane\"?",
        ),
        (
            vec![
                "transform",
                "Laser:ScanCenter",
                "Raptor:RearAxleCenter",
                "--joint",
                "Pam=1",
            ],
            "did you mean \"Pan\"?",
        ),
        (
            vec![
                "transform",
                "Laser:ScanCenter",
                "Raptor:RearAxleCenter",
                "--joint",
                "Pan=left",
            ],
            "expected a joint's name and value",
        ),
        (vec!["frames", "Flee"], "did you mean \"Flea\"?"),
        (
            vec!["view", "--joint", "Pan=120deg"],
            "joint \"Pan\" goes from -90 deg to 90 deg, found 120 deg",
        ),
    ] {
        let args = [vec!["model"], args].concat();
        let output = bowline_in(&folder, &args, b"");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let nowhere = scratch("model-nowhere");
    let output = bowline_in(&nowhere, &["model", "bodies"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("expected --model FILE"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn export_without_a_format_is_sdf() {
    let folder = alone("export");
    let plain = bowline_in(&folder, &["model", "export"], b"");
    assert_eq!(plain.status.code(), Some(0), "{}", stderr(&plain));
    assert!(stdout(&plain).contains("<sdf "), "{}", stdout(&plain));
    let named = bowline_in(&folder, &["model", "export", "--sdf"], b"");
    assert_eq!(stdout(&plain), stdout(&named));
}

#[test]
fn bodies_and_frames_are_listed_in_the_order_of_the_files() {
    let folder = alone("list");
    let bodies = stdout(&bowline_in(&folder, &["model", "bodies"], b""));
    assert!(bodies.starts_with("Raptor\nFrontLeftWheel\n"), "{bodies}");
    let frames = stdout(&bowline_in(&folder, &["model", "frames", "Flea"], b""));
    assert_eq!(
        frames,
        "Flea:BottomCenter\nFlea:ImagePlane\nFlea:LensFront\nFlea:Optical\n"
    );
    let json = stdout(&bowline_in(
        &folder,
        &["model", "frames", "INS", "--json"],
        b"",
    ));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json[1], "INS:SenseCenter");
}

const BODY: &str = r#"<body name="B"><frame name="In"/><frame name="Out" xyz="1 0 0"/></body>"#;

fn ring(folder: &Path, last: &str) -> PathBuf {
    write(folder, "b.xml", BODY);
    let text = format!(
        r#"<assembly name="Ring"><use body="b.xml" as="X"/><use body="b.xml" as="Y"/>
             <constraint name="There" from="X:Out" to="Y:In"/>
             <constraint name="Back" from="Y:Out" to="X:In" xyz="{last}"/></assembly>"#
    );
    write(folder, "ring.xml", &text)
}

#[test]
fn check_fails_on_an_open_loop_with_its_error() {
    let folder = scratch("model-check");
    ring(&folder, "-2 0 0.003");
    let fine = bowline_in(&folder, &["model", "check", "-m", "ring.xml"], b"");
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
    assert!(
        stdout(&fine).contains("closes Y - X with 3.0 mm and 0.000 deg"),
        "{}",
        stdout(&fine)
    );
    ring(&folder, "-2 0 0.007");
    let open = bowline_in(&folder, &["model", "check", "-m", "ring.xml"], b"");
    assert_eq!(open.status.code(), Some(1));
    let report = stderr(&open);
    assert!(
        report.contains("expected loops that close within 5 mm and 0.5 deg, found Back"),
        "{report}"
    );
    let json = bowline_in(
        &folder,
        &["model", "check", "-m", "ring.xml", "--json"],
        b"",
    );
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_str(&stdout(&json)).expect("it is JSON");
    assert_eq!(json["loops"][0]["closes"], false);
    assert_eq!(json["loops"][0]["constraints"][0], "Back");
}

#[test]
fn errors_are_reported_with_their_lines_and_exit_code_1() {
    let folder = scratch("model-mistakes");
    write(&folder, "b.xml", BODY);
    write(
        &folder,
        "a.xml",
        "<assembly name=\"A\">\n<use body=\"b.xml\" az=\"X\"/>\n<use body=\"c.xml\"/>\n</assembly>\n",
    );
    let output = bowline_in(&folder, &["model", "tree", "-m", "a.xml"], b"");
    assert_eq!(output.status.code(), Some(1));
    let report = stderr(&output);
    for part in [
        "error: a.xml:2:19: expected attributes of <use>: body, as; found az; did you mean \"as\"?",
        "error: a.xml:3:6: expected a file that can be read at c.xml, found: ",
    ] {
        assert!(report.contains(part), "expected {part:?} in\n{report}");
    }
}

#[test]
fn the_view_and_the_export_go_to_files_or_to_the_next_program() {
    let folder = scratch("model-out");
    let file = root()
        .join("models/raptor/raptor.xml")
        .display()
        .to_string();
    let output = bowline_in(
        &folder,
        &["model", "view", "-m", &file, "-o", "raptor.svg"],
        b"",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let svg = fs::read_to_string(folder.join("raptor.svg")).expect("it was written");
    assert!(svg.starts_with("<svg ") && svg.contains("Flea:ImagePlane"));
    let sdf = bowline_in(&folder, &["model", "export", "--sdf", "-m", &file], b"");
    assert_eq!(sdf.status.code(), Some(0), "{}", stderr(&sdf));
    assert!(
        stderr(&sdf).contains("\"InsToGps\" closes a loop, so it is left out"),
        "{}",
        stderr(&sdf)
    );
    write(&folder, "raptor.sdf", &stdout(&sdf));
    let args = [
        "model",
        "transform",
        "Flea:ImagePlane",
        "Raptor:FrontBumperCenter",
        "-m",
    ];
    let [ours, again] = [file.as_str(), "raptor.sdf"].map(|model| {
        let args = [&args[..], &[model]].concat();
        stdout(&bowline_in(&folder, &args, b""))
    });
    assert_eq!(ours, again, "the simulator's vehicle is the real one");
}

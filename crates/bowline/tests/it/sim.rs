use crate::{bowline_in, scratch, stderr, stdout, write};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const RAPTOR: &str = "models/raptor_ugv/raptor_ugv.xml";

#[test]
fn a_world_is_checked_in_words_and_as_json() {
    let output = bowline_in(&root(), &["sim", "check", "worlds/blocks.toml"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stdout(&output),
        "blocks: 18 bodies, 0 of them moving; the robot begins at [0.0, 0.0] m, heading 0 deg\n"
    );
    let args = ["sim", "check", "worlds/blocks.toml", "--json"];
    let output = bowline_in(&root(), &args, b"");
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    assert_eq!(json["bodies"].as_array().map(Vec::len), Some(18));
    assert_eq!(json["bodies"][1]["shapes"][0], "box");
}

#[test]
fn what_is_wrong_with_a_world_is_shown_with_its_line_and_ends_with_1() {
    let folder = scratch("sim-wrong");
    let text = "[world]\nname = \"w\"\n[body.a]\nshape = \"bxo\"\n";
    write(&folder, "w.toml", text);
    let output = bowline_in(&folder, &["sim", "check", "w.toml"], b"");
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("w.toml:4:9"), "{told}");
    assert!(told.contains("did you mean \"box\"?"), "{told}");
    assert!(told.starts_with("error: shape is one of"), "{told}");
    // The same within what is wrong with a robot.
    let robot = "[robot]\nname = \"r\"\n[sim.component.sim]\nkind = \"sim\"\nparameters = { world = \"w.toml\" }\n";
    write(&folder, "r.toml", robot);
    let args = ["run", "r.toml", "--source", "sim", "--check"];
    let told = told + &stderr(&bowline_in(&folder, &args, b""));
    assert_eq!(told.matches("w.toml:4:9").count(), 2, "{told}");
    assert_eq!(told.matches("error: ").count(), 2, "{told}");
    let output = bowline_in(&folder, &["sim", "w.toml"], b"");
    assert_eq!(output.status.code(), Some(2), "a robot is needed");
}

#[test]
fn a_world_is_drawn_with_its_robot_and_what_its_lasers_reach() {
    let out = scratch("sim-view").join("blocks.svg");
    let file = out.display().to_string();
    let args = [
        "sim",
        "view",
        "worlds/blocks.toml",
        "--model",
        RAPTOR,
        "-o",
        &file,
    ];
    let output = bowline_in(&root(), &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let drawing = fs::read_to_string(out).expect("it was written");
    for part in [
        "<title>trailer</title>",
        "<title>LeftLaser.Scanner</title>",
        "</svg>",
    ] {
        assert!(drawing.contains(part), "expected {part}");
    }
}

#[test]
fn a_world_runs_alone_in_lockstep_and_gives_the_same_log_twice() {
    let folder = scratch("sim-alone");
    let logs = ["one.log", "two.log"].map(|name| folder.join(name));
    for log in &logs {
        let log = log.display().to_string();
        let args = [
            "sim",
            "worlds/blocks.toml",
            "--model",
            RAPTOR,
            "--lockstep",
            "--for",
            "2s",
            "--record",
            &log,
            "--set",
            "seed=3",
        ];
        let output = bowline_in(&root(), &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(
            stdout(&output).contains("2.000 s in "),
            "{}",
            stdout(&output)
        );
    }
    let [one, two] = logs.map(|log| fs::read(log).expect("it was recorded"));
    assert!(one == two && one.len() > 100_000, "{} bytes", one.len());
    let args = [
        "sim",
        "worlds/blocks.toml",
        "--model",
        RAPTOR,
        "--lockstep",
        "--for",
        "1s",
        "--set",
        "sede=3",
    ];
    let output = bowline_in(&root(), &args, b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("seed"), "{}", stderr(&output));
}

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

/// Every feature of a chart, by its kind and its name.
fn features(chart: &str) -> Vec<(String, String)> {
    let chart: serde_json::Value = serde_json::from_str(chart).expect("it is JSON");
    assert_eq!(chart["type"], "FeatureCollection");
    let features = chart["features"].as_array().expect("a list of features");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let of = |feature: &serde_json::Value| {
        assert_eq!(feature["type"], "Feature");
        let coordinates = feature["geometry"]["coordinates"].as_array();
        assert!(coordinates.is_some_and(|it| !it.is_empty()), "{feature}");
        let properties = &feature["properties"];
        (text(&properties["kind"]), text(&properties["name"]))
    };
    features.iter().map(of).collect()
}

#[test]
fn sim_chart_writes_a_chart_without_wrecks_and_with_truth_everything() {
    let out = scratch("sim-chart").join("harbour.geojson");
    let file = out.display().to_string();
    let args = ["sim", "chart", "worlds/harbour.toml", "-o", &file];
    let output = bowline_in(&root(), &args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    let chart = fs::read_to_string(out).expect("it was written");
    let committed = fs::read_to_string(root().join("worlds/harbour.geojson"));
    assert!(
        chart == committed.expect("it is there"),
        "as it is committed"
    );
    // The same on standard output.
    let output = bowline_in(&root(), &["sim", "chart", "worlds/harbour.toml"], b"");
    assert!(stdout(&output) == chart);

    let charted = features(&chart);
    let args = ["sim", "chart", "worlds/harbour.toml", "--truth"];
    let truth = features(&stdout(&bowline_in(&root(), &args, b"")));
    let has = |features: &[(String, String)], name: &str| {
        features.iter().any(|(_, it)| it.contains(name))
    };
    assert!(has(&charted, "pier") || charted.iter().any(|(kind, _)| kind == "pier"));
    assert!(!has(&charted, "container"), "no chart has it: {charted:?}");
    assert!(has(&truth, "container"), "{truth:?}");
}

#[test]
fn sim_chart_of_a_world_without_a_sea_or_with_errors_ends_with_1() {
    let output = bowline_in(&root(), &["sim", "chart", "worlds/blocks.toml"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert_eq!(
        stderr(&output),
        "error: worlds/blocks.toml: expected a world with a [sea] and a bottom that ends somewhere, found none\n"
    );
    let folder = scratch("sim-chart-wrong");
    write(&folder, "w.toml", "[world]\nnam = \"w\"\n");
    let output = bowline_in(&folder, &["sim", "chart", "w.toml"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("w.toml:2:1"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sim_barn_generates_the_same_world_each_time_and_another_for_another_number() {
    let folder = scratch("sim-barn");
    let generated = |number: &str| {
        let output = bowline_in(&folder, &["sim", "barn", number], b"");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    assert!(generated("3") == generated("3") && generated("3") != generated("4"));
    let output = bowline_in(&folder, &["sim", "barn", "3", "-o", "w.json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = bowline_in(&folder, &["sim", "check", "w.json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.starts_with("barn_003: "), "{told}");
    assert!(
        told.contains("begins at [-2.25, 3.0] m, heading 90 deg"),
        "{told}"
    );
}

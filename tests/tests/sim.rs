//! A simulation on a bus, ordered about from the command line as a person would.

use crate::robots::{Place, Running};
use bowline_tests::data;
use bowline_tests::peers::{bowline, workspace};
use serde_json::Value;
use std::process::Command;

/// A robot that is nothing but the simulated Raptor.
fn robot() -> String {
    let root = workspace();
    let [model, world] =
        ["models/raptor_ugv/raptor_ugv.xml", "worlds/blocks.toml"].map(|path| root.join(path));
    format!(
        "[robot]\nname = \"alone\"\nexternal = {{ command = \"bowline.velocity_t\" }}\n\
         [vehicle]\nmodel = {model:?}\n\
         [sim]\n[sim.component.sim]\nkind = \"sim\"\nparameters = {{ world = {world:?} }}\n"
    )
}

#[test]
fn a_simulation_on_a_bus_is_paused_stepped_changed_broken_and_begun_again() {
    let place = Place::new("sim-orders");
    place.write("robot.toml", &robot());
    let running = Running::start_with(&place, &["robot.toml", "--source", "sim"]);
    let ask = |service: &str, fields: &[&str]| -> Value {
        let usual = ["service", "call", service, "--json", "--timeout", "30s"];
        let said = place.says(&[&usual, fields].concat());
        let mut reply: Value = serde_json::from_str(&said).expect("JSON");
        reply["reply"].take()
    };
    let n_steps = |state: &Value| state["n_steps"].as_i64().expect("a number");

    let paused = ask("sim.control", &["action=1"]);
    assert_eq!(paused["paused"], true, "{paused}");
    let state = ask("sim.control", &["action=0"]);
    assert_eq!(n_steps(&state), n_steps(&paused), "it stands still");
    let stepped = ask("sim.control", &["action=3", "n_steps=7"]);
    assert_eq!(n_steps(&stepped), n_steps(&paused) + 7);

    let n_bodies = |state: &Value| state["bodies"].as_array().map(Vec::len);
    let before = n_bodies(&stepped).expect("bodies");
    let spawn = r#"{"action": 2, "name": "obstacle", "xyz_m": [10, -20, 0.5], "rpy_rad": [0, 0, 0], "shape": 1, "size_m": [1, 1, 1], "mass_kg": 0}"#;
    let spawned = ask("sim.place", &[spawn]);
    assert_eq!(n_bodies(&spawned), Some(before + 1), "{spawned}");

    let broken = ask("sim.fault", &["kind=1", "port=LeftLaser.Scanner"]);
    assert_eq!(broken["faults"][0], "LeftLaser.Scanner is dead");

    let again = ask("sim.control", &["action=4", "seed=9"]);
    assert_eq!((n_steps(&again), &again["seed"]), (0, &Value::from(9)));
    running.end();
}

/// Which component of a robot file reads what, by channel; none where the file has no such source.
fn readers(robot: &std::path::Path, source: &str) -> Option<Vec<(String, Vec<String>)>> {
    let mut command = Command::new(bowline());
    command.arg("graph").arg(robot);
    let output = command.args(["--source", source, "--json"]).output();
    let output = output.expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) {
        let expected = format!("expected [{source}]");
        assert!(told.contains(&expected), "{}: {told}", robot.display());
        return None;
    }
    let graph: Result<Value, _> = serde_json::from_slice(&output.stdout);
    assert!(graph.is_ok(), "{}: {told}", robot.display());
    let graph = graph.expect("just checked");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let list = |value: &Value| -> Vec<Value> { value.as_array().expect("a list").clone() };
    let channels = list(&graph["channels"]).into_iter().map(|channel| {
        let readers = list(&channel["readers"]).iter().map(text).collect();
        (text(&channel["channel"]), readers)
    });
    Some(channels.collect())
}

/// What the simulator knows and no sensor measures is for tests and displays. Twins of devices read what the simulator
/// measures for them, on `sim.*`.
#[test]
fn no_component_of_a_robot_file_reads_the_truth() {
    let robots = data::files(&workspace().join("robots"), "toml");
    let mut n_with_truth = 0;
    for robot in &robots {
        for source in ["live", "sim", "log"] {
            let channels = readers(robot, source).unwrap_or_default();
            for (channel, readers) in &channels {
                let is_truth = channel.starts_with("truth.");
                n_with_truth += usize::from(is_truth);
                assert!(
                    !is_truth || readers.is_empty(),
                    "{} with {source}: {readers:?} read {channel}",
                    robot.display()
                );
            }
        }
    }
    // Simulated robots publish it, at least where they are and what they touch: the check has something to look at.
    assert!(n_with_truth > 2 * 10, "{n_with_truth} channels of truth");
}

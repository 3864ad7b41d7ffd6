//! A simulation on a bus, ordered about from the command line as a person would.

use crate::robots::{Place, Running};
use bowline_tests::peers::workspace;
use serde_json::Value;

/// A robot that is nothing but the simulated Raptor.
fn robot() -> String {
    let root = workspace();
    let [model, world] =
        ["models/raptor_ugv/raptor_ugv.xml", "worlds/blocks.toml"].map(|path| root.join(path));
    format!(
        "[robot]\nname = \"alone\"\nmodel = {model:?}\nexternal = {{ command = \"bowline.velocity_t\" }}\n\
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

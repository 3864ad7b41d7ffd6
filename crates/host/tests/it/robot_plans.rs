//! What a robot's plan has for each host and source.

use crate::robots::{load, loader};
use bowline_host::graph::Graph;
use bowline_host::robot::{self, Programs, Source};
use bowline_host::supervise::{self, Plan};
use bowline_msgs::PresenceComponent;
use std::path::Path;
use std::time::Duration;

fn plan(source: Source, host: &str) -> Plan {
    let robot = load("tests/robots/right.toml").robot;
    let programs = Programs {
        host: &|process| vec!["bowline".into(), "component".into(), process.name.into()],
        record: &|record| vec!["bowline".into(), record.file.display().to_string()],
    };
    let plan = robot.plan(source, host, &programs);
    plan.check().unwrap();
    plan
}

#[test]
fn experiments_are_published_with_their_running_components() {
    let robot = load("tests/robots/experiments_right.toml").robot;
    let programs = Programs {
        host: &|process| vec!["bowline".into(), process.name.into()],
        record: &|_| vec!["bowline".into()],
    };
    let told = |source| -> Vec<(String, String, Vec<String>)> {
        let experiments = robot
            .plan(source, "here", &programs)
            .experiments
            .into_iter();
        let names = |components: &[PresenceComponent]| {
            components.iter().map(|it| it.name.clone()).collect()
        };
        experiments
            .map(|it| (it.name, it.gate, names(&it.components)))
            .collect()
    };
    let expected = |names: &[&str]| {
        let text = |text: &str| text.to_owned();
        vec![
            (
                text("driving"),
                text("gate"),
                names.iter().copied().map(text).collect(),
            ),
            (text("looking"), text("other"), vec![text("other")]),
        ]
    };
    assert_eq!(told(Source::Live), expected(&["laser", "keeper", "gate"]));
    assert_eq!(told(Source::Sim), expected(&["keeper", "gate", "world"]));
    let experiments = robot.plan(Source::Live, "here", &programs).experiments;
    let port = &experiments[0].components[0].ports[0];
    assert_eq!(
        (port.channel.as_str(), port.type_name.as_str()),
        ("laser.scan", "bowline.laser_t")
    );
    let text = Graph::of_robot(&robot, Source::Live).to_text();
    assert!(
        text.contains("keeper  (keeper, experiment driving)"),
        "{text}"
    );
    assert!(
        text.contains("other  (laser, experiment looking)"),
        "{text}"
    );
}

#[test]
fn a_plan_has_the_processes_of_a_host() {
    let live = plan(Source::Live, "pilot");
    let names: Vec<&str> = live.processes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["record", "laser", "camera", "autonomy"]);
    let elsewhere = plan(Source::Live, "station");
    let names: Vec<&str> = elsewhere
        .processes
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["sink"]);
    let autonomy = &live.processes[3];
    assert_eq!(autonomy.argv, ["bowline", "component", "autonomy"]);
    assert_eq!(autonomy.components, ["keeper", "router", "asker"]);
    assert_eq!(autonomy.after, ["laser", "camera", "record"]);
    assert_eq!(autonomy.group, "drive");
    let components = ["keeper", "router", "asker"].map(str::to_owned).to_vec();
    let heartbeat = supervise::Heartbeat::Presence {
        components,
        within: supervise::HEARTBEAT_LIMIT,
    };
    assert_eq!(autonomy.heartbeat, heartbeat);
    assert!(
        autonomy.revision.contains("goal=vehicle.goal"),
        "{}",
        autonomy.revision
    );
    let camera = &live.processes[2];
    assert_eq!(camera.argv, ["./right.toml", "--fps", "10"]);
    let url = "udpm://239.255.76.67:7667?ttl=0";
    let env = [
        ("BOWLINE_URL", url),
        ("LCM_DEFAULT_URL", url),
        ("FPS", "10"),
    ];
    assert_eq!(
        camera.env,
        env.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert_eq!(camera.restart, supervise::Restart::OnFailure);
    assert_eq!(camera.grace, Duration::from_secs(2));
    assert_eq!(live.safe_state.stop, ["camera", "autonomy"]);
    assert_eq!(live.safe_state.publish.len(), 2);
}

#[test]
fn heartbeat_limit_is_the_component_s_then_the_robot_s_then_the_default() {
    let file = |robot: &str, component: &str| {
        format!(
            "[robot]\nname = \"patrol\"\n{robot}\n[component.laser]\nkind = \"laser\"\n{component}\n"
        )
    };
    let within = |text: &str| {
        let loaded = robot::parse(text, Path::new("tests/robots/x.toml"), &loader());
        let robot = loaded.unwrap_or_else(|error| panic!("{error}")).robot;
        let programs = Programs {
            host: &|_| vec!["bowline".into()],
            record: &|_| vec!["bowline".into()],
        };
        let plan = robot.plan(Source::Live, "here", &programs);
        match &plan.processes[0].heartbeat {
            supervise::Heartbeat::Presence { within, .. } => *within,
            other @ (supervise::Heartbeat::None | supervise::Heartbeat::Traffic { .. }) => {
                panic!("{other:?}")
            }
        }
    };
    let [two, three] = ["2s", "3s"].map(|it| format!("heartbeat = {{ within = {it:?} }}"));
    assert_eq!(within(&file("", "")), Duration::from_millis(650));
    assert_eq!(within(&file(&two, "")), Duration::from_secs(2));
    assert_eq!(within(&file("", &three)), Duration::from_secs(3));
    assert_eq!(within(&file(&two, &three)), Duration::from_secs(3));
}

#[test]
fn a_plan_does_not_wait_for_what_is_replaced() {
    let sim = plan(Source::Sim, "pilot");
    let names: Vec<&str> = sim.processes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["record", "autonomy", "world", "eye"]);
    let after = sim.processes.iter().map(|it| it.after.join(" "));
    assert_eq!(
        after.collect::<Vec<_>>(),
        ["", "record", "record", "record"],
        "only for the recorder, which records them all"
    );
}

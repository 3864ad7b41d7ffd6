//! A scripted operator and a gate, in lockstep, with a controller that always wishes.

use bowline_autonomy::gate::GateComponent;
use bowline_autonomy::operator::{Operator, parse_step};
use bowline_component::engine::{Engine, Instance, Sent, Sink};
use bowline_component::{
    Build, BuildError, Component, Kind, NoParameters, Outbox, Output, Ports, Setting, Step, Time,
};
use bowline_host::{Lockstep, Silence};
use bowline_msgs::{Gate, Refusal, Task, Thrust};
use bowline_wire::Message;
use std::collections::BTreeMap;
use std::time::Duration;

/// A controller that would go ahead, whatever the commands.
struct Eager(Output<Thrust>);

impl Build for Eager {
    type Parameters = NoParameters;

    fn build(_: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(100));
        Ok(Self(ports.output_on("wish", "Full ahead.", "thrust.wish")))
    }
}

impl Component for Eager {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let utime = step.now().utime();
        let ahead = Thrust {
            utime,
            port_ratio: 0.5,
            starboard_ratio: 0.5,
        };
        out.send(self.0, ahead);
    }
}

const KINDS: [Kind; 3] = [
    Kind::of::<GateComponent<Thrust>>("gate", "A gate."),
    Kind::of::<Operator>("operator", "An operator."),
    Kind::of::<Eager>("eager", "A controller."),
];

#[derive(Default)]
struct Heard(BTreeMap<String, Vec<(Time, Vec<u8>)>>);

impl Sink for Heard {
    fn publish(&mut self, sent: &Sent<'_>) {
        let heard = self.0.entry(sent.channel.to_string()).or_default();
        heard.push((sent.at, sent.parcel.bytes().to_vec()));
    }
}

impl Heard {
    fn all<M: Message + for<'a> bowline_wire::Decode<'a>>(&self, channel: &str) -> Vec<(Time, M)> {
        let heard = self.0.get(channel).into_iter().flatten();
        heard
            .map(|(at, bytes)| (*at, M::decode(bytes).unwrap()))
            .collect()
    }

    /// States and levels of the gate, without repetition.
    fn story(&self) -> Vec<(i8, i8)> {
        let states = self.all::<Gate>("gate.state");
        let mut story: Vec<(i8, i8)> = states.iter().map(|(_, it)| (it.state, it.level)).collect();
        story.dedup();
        story
    }
}

const START: Time = Time::from_utime(1_000_000_000);

fn run(steps: &[&str], settings: &[(&str, Setting)], seconds: u64) -> Heard {
    let steps = Setting::List(
        steps
            .iter()
            .map(|it| Setting::Text((*it).to_owned()))
            .collect(),
    );
    let instance = |name: &str, settings: &[(&str, Setting)]| {
        let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
        Instance::new(kind, name, settings, BTreeMap::new()).unwrap()
    };
    let engine = Engine::new(vec![
        instance("gate", settings),
        instance("operator", &[("steps", steps)]),
        instance("eager", &[]),
    ]);
    let mut heard = Heard::default();
    let mut lockstep = Lockstep::start(engine.unwrap(), Silence, START, &mut heard).unwrap();
    let end = START + Duration::from_secs(seconds);
    while lockstep.next_time().is_some_and(|next| next <= end) {
        lockstep.step(&mut heard).unwrap();
    }
    heard
}

#[test]
fn a_script_takes_control_gives_a_survey_and_leaves_the_vehicle_to_itself() {
    let survey = "survey 0,0 60,0 60,40 0,40 lanes=8 name=basin";
    let heard = run(&["take", "clear", survey, "release"], &[], 10);
    let expected = [
        (Gate::STOPPED, Gate::OBSERVE),
        (Gate::IDLE, Gate::OBSERVE),
        (Gate::AUTONOMOUS, Gate::OBJECTIVE),
    ];
    assert_eq!(heard.story(), expected);
    let (_, last) = heard.all::<Gate>("gate.state").pop().unwrap();
    assert_eq!(
        (last.holder.as_str(), last.in_control.as_str()),
        ("", "autonomy: basin")
    );
    assert_eq!(last.until_utime, 0, "no station is missed, so it lasts");
    let tasks = heard.all::<Task>("gate.task");
    let kinds: Vec<i8> = tasks.iter().map(|(_, task)| task.kind).collect();
    assert_eq!(kinds, [Task::HOLD, Task::SURVEY]);
    assert!(heard.all::<Refusal>("gate.refusal").is_empty());

    let (began, _) = tasks[1];
    for (at, thrust) in heard.all::<Thrust>("thrust.command") {
        let is_moving = thrust.port_ratio != 0.0;
        let expected = at > began + Duration::from_millis(100);
        assert!(!is_moving || at >= began, "nothing moves before a command");
        assert!(is_moving || !expected, "and then it does, at {at:?}");
    }
}

#[test]
fn a_person_steers_then_hands_back_and_the_mission_waits_for_resume() {
    let steps = [
        "take",
        "clear",
        "route 0,0 50,0 name=east",
        "wait 2s",
        "thrust -0.2 0.2 for=1s",
        "wait 1s",
        "resume",
        "wait 1s",
    ];
    let heard = run(&steps, &[], 10);
    let expected = [
        (Gate::STOPPED, Gate::OBSERVE),
        (Gate::IDLE, Gate::OBSERVE),
        (Gate::AUTONOMOUS, Gate::ROUTE),
        (Gate::OPERATED, Gate::DIRECT),
        (Gate::IDLE, Gate::DIRECT),
        (Gate::AUTONOMOUS, Gate::ROUTE),
    ];
    assert_eq!(heard.story(), expected);
    let kinds: Vec<i8> = heard
        .all::<Task>("gate.task")
        .iter()
        .map(|(_, it)| it.kind)
        .collect();
    assert_eq!(kinds, [Task::HOLD, Task::ROUTE, Task::HOLD, Task::RESUME]);
}

#[test]
fn a_script_clears_no_stop_of_the_fence() {
    let corners_m = [-5.0, -5.0, 5.0, -5.0, 5.0, 5.0];
    let fence = Setting::List(corners_m.map(Setting::Real).to_vec());
    // The pose of the vehicle is unknown, so the fence stops it as soon as it is to move.
    let steps = ["take", "clear", "heading 90 1 for=2s", "clear", "station"];
    let heard = run(&steps, &[("fence_m", fence)], 10);
    let expected = [
        (Gate::STOPPED, Gate::OBSERVE),
        (Gate::IDLE, Gate::OBSERVE),
        (Gate::STOPPED, Gate::OBSERVE),
    ];
    assert_eq!(heard.story(), expected);
    let (_, last) = heard.all::<Gate>("gate.state").pop().unwrap();
    assert_eq!(last.stopped_by, "fence");
    let told = heard.all::<Refusal>("gate.refusal");
    let (_, first) = told.first().unwrap();
    assert_eq!((&*first.command, &*first.reason), ("task", "local"));
    let is_still = |thrust: &Thrust| thrust.port_ratio == 0.0;
    let thrust = heard.all::<Thrust>("thrust.command");
    assert!(thrust.iter().all(|(_, it)| is_still(it)));
}

#[test]
fn script_words_make_steps_and_others_are_reported() {
    for (line, expected) in [
        ("", "take, preempt"),
        ("fly", "take, preempt"),
        ("goto", "one point such as 40,25"),
        ("goto 1,2 3,4", "one point such as 40,25"),
        ("goto 1;2", "a point such as 40,25 instead of \"1;2\""),
        ("goto 1,NaN", "a point such as 40,25 instead of \"1,NaN\""),
        ("survey 0,0 1,1", "3 points or more"),
        ("survey 0,0 1,1 1,0 lanes=wide", "a number for lanes"),
        ("goto 1,2 lanes=8", "no option \"lanes\""),
        ("take it", "nothing more than that, without \"it\""),
        ("hold 1,2", "no point"),
        ("station 1,2 3,4", "one point such as 40,25, or none"),
        ("heading 45", "a heading in degrees and a speed"),
        ("heading north 2", "a heading in degrees"),
        ("wait", "a duration such as 3s, or done"),
        ("wait long", "a duration such as 500ms or 3s"),
        (
            "thrust",
            "what the vehicle is driven by with a number for each axis",
        ),
        ("thrust half 1", "a number for each axis"),
        ("fins 1 2 3 fast", "a number for each axis"),
        ("headng 45 2", "did you mean \"heading\"?"),
        ("thrust 1 1 for=ever", "a duration such as 500ms or 3s"),
    ] {
        let error = parse_step(line).unwrap_err();
        assert!(error.to_string().contains(expected), "{line:?}: {error}");
        assert_eq!(error.found, line);
    }
}

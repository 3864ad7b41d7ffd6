//! The helm of a vessel: keeps the mission, and publishes guidance for it.
//!
//! In: tasks that the gate accepted, and the vessel's pose. Out: guidance for the controller, ten times a
//! second, how far the mission is, and what is left of it for displays.
//!
//! Deliberately absent: who may give tasks, which is the gate's, and thrust, which is the controller's.

mod keeper;
mod lanes;
mod track;

pub use keeper::{Aim, HelmSettings, Keeper, MAX_LEGS, MAX_POINTS, MAX_TASKS, OnLeg};
pub use lanes::{Lane, LaneSettings, LanesError, MAX_LANES, lanes};
pub use track::{KnownTrack, MAX_TRACK};

use crate::{Place, Whereabouts};
use bowline_component::{
    AlarmKind, Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Seen,
    Severity, Step, Vehicle,
};
use bowline_msgs::{Guidance, Helm as HelmMessage, Path, PoseTransform, Task, Waypoint};
use std::time::Duration;

/// Raised while the last task that was given is one that cannot be done.
const REFUSED: AlarmKind = AlarmKind {
    id: "task_refused",
    severity: Severity::Caution,
    consequence: "the vehicle goes on with what it was doing",
    action: "give a task that it can do",
};

bowline_component::parameters! {
    /// How a mission is done.
    pub struct HelmParameters {
        in vehicle: Vehicle;
        /// Speed through the water where a task has none, metres a second.
        speed_mps: f64 = 1.2, within 0.1..=20.0;
        /// The fastest that a task may ask for, metres a second.
        max_speed_mps: f64 = 2.5, within 0.1..=20.0;
        /// Between lanes of a survey where a task has no spacing, metres.
        lane_spacing_m: f64 = 8.0, within 0.5..=1000.0;
        /// A point that is as near as this is reached, metres.
        reach_m: f64 = 1.5, within 0.1..=100.0;
        /// How fast the vessel slows down before it turns, metres a second squared.
        slow_mps2: f64 = 0.1, within 0.01..=5.0;
        /// Apart on the track that is remembered for the way back, metres.
        track_spacing_m: f64 = 2.0, within 0.1..=100.0;
        /// Where the track comes as near as this to itself, the way between is no way back, metres.
        shortcut_m: f64 = 4.0, within 0.1..=100.0;
        /// How often it publishes guidance, times a second.
        rate_hz: f64 = 10.0, within 1.0..=100.0;
    }
}

/// How old a pose may be to steer by.
const POSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The plan is published when it changes, and once in so many ticks.
const PLAN_EVERY: u32 = 10;
/// Waypoints of a plan that is published; what is beyond comes when it is nearer.
const MAX_PLAN: usize = 1_000;

/// Keeps the mission of a vessel.
#[derive(Debug)]
pub struct Helm {
    keeper: Keeper,
    whereabouts: Whereabouts,
    place: Option<Place>,
    refused: String,
    /// The id of the task that was taken last; 0: none.
    taken: i64,
    lost: Option<String>,
    n_ticks: u32,
    is_plan_new: bool,
    task: Input<Task>,
    pose: Input<PoseTransform>,
    guidance: Output<Guidance>,
    state: Output<HelmMessage>,
    plan: Output<Path>,
}

impl Build for Helm {
    type Parameters = HelmParameters;

    fn build(parameters: HelmParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            keeper: Keeper::new(HelmSettings {
                speed_mps: parameters.speed_mps.min(parameters.max_speed_mps),
                max_speed_mps: parameters.max_speed_mps,
                lane_spacing_m: parameters.lane_spacing_m,
                reach_m: parameters.reach_m,
                slow_mps2: parameters.slow_mps2,
                track_spacing_m: parameters.track_spacing_m,
                shortcut_m: parameters.shortcut_m,
            }),
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            place: None,
            refused: String::new(),
            taken: 0,
            lost: None,
            n_ticks: 0,
            is_plan_new: false,
            task: ports.input_on("task", "What there is to do.", Expect::ever(), "gate.task"),
            pose: ports.input_on(
                "pose",
                "Where the vessel is.",
                Expect::within(POSE_TIMEOUT),
                "pose",
            ),
            guidance: ports.output_on("guidance", "Where to go right now.", "helm.guidance"),
            state: ports.output_on("state", "How far the mission is.", "helm.state"),
            plan: ports.output_on("plan", "What is left of the mission.", "helm.plan"),
        })
    }
}

impl Component for Helm {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(pose) = step.arrived(self.pose) {
            let place = self.whereabouts.place(&pose);
            self.lost = place.as_ref().err().map(ToString::to_string);
            self.place = place.ok();
        }
        if step.fresh(self.pose).is_none() {
            self.place = None;
        }
        // A gate repeats a task whose acceptance was not received. A task without an id is never a repetition.
        let is_new = |task: &Seen<'_, Task>| task.id == 0 || task.id != self.taken;
        if let Some(task) = step.arrived(self.task).filter(is_new) {
            let taken = self.keeper.take(&task, self.place);
            self.is_plan_new |= taken.is_ok();
            self.taken = if taken.is_ok() { task.id } else { 0 };
            self.refused = taken.err().unwrap_or_default();
        }
        if step.is_tick() {
            self.tick(step.now().utime(), out);
        }
    }
}

impl Helm {
    fn tick(&mut self, utime: i64, out: &mut Outbox<'_>) {
        let before = self.keeper.legs();
        let aim = self.place.map(|place| self.keeper.aim(place));
        self.is_plan_new |= self.keeper.legs() != before;
        // Without a pose there is no guidance.
        out.send(self.guidance, guidance(utime, aim.unwrap_or(Aim::Rest)));
        let here_m = self.place.map_or([0.0; 2], |place| [place.x_m, place.y_m]);
        let (left, left_m) = self.keeper.left(here_m);
        if self.is_plan_new || self.n_ticks.is_multiple_of(PLAN_EVERY) {
            out.send(self.plan, plan(utime, &left));
            self.is_plan_new = false;
        }
        self.n_ticks = self.n_ticks.wrapping_add(1);
        out.send(self.state, self.message(utime, left_m));
        let refused = (!self.refused.is_empty()).then_some(&*self.refused);
        out.alarm(&REFUSED, refused);
        out.health(match (&self.lost, self.place, self.refused.as_str()) {
            (Some(why), ..) => Health::Degraded(why.clone()),
            (None, None, _) => Health::Degraded("the pose of the vessel is unknown".to_owned()),
            (None, Some(_), "") => Health::Good,
            (None, Some(_), why) => Health::Degraded(format!("a task was refused: {why}")),
        });
    }

    fn message(&self, utime: i64, left_m: f64) -> HelmMessage {
        let keeper = &self.keeper;
        let (task, name, kind) = keeper.task().unwrap_or((0, "", Task::HOLD));
        let on_leg = keeper.on_leg();
        let (n_legs, n_done) = keeper.legs();
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let text = match self.place {
            Some(_) => keeper.text(),
            None => format!(
                "rests, because the pose of the vessel is unknown; {}",
                keeper.text()
            ),
        };
        HelmMessage {
            utime,
            task,
            name: name.to_owned(),
            kind,
            is_done: keeper.is_done(),
            is_paused: keeper.is_paused(),
            text,
            refused: self.refused.clone(),
            n_legs: count(n_legs),
            n_done: count(n_done),
            left_m,
            cross_track_m: on_leg.map_or(f64::NAN, |it| it.cross_m),
            along_track_m: on_leg.map_or(f64::NAN, |it| it.along_m),
            tasks: keeper.names().map(str::to_owned).collect(),
            ..HelmMessage::default()
        }
        .with_lengths()
    }
}

fn guidance(utime: i64, aim: Aim) -> Guidance {
    let rest = Guidance {
        utime,
        kind: Guidance::REST,
        ..Guidance::default()
    };
    match aim {
        Aim::Rest => rest,
        Aim::Heading {
            heading_rad,
            speed_mps,
        } => Guidance {
            kind: Guidance::HEADING,
            heading_rad,
            speed_mps,
            ..rest
        },
        Aim::Leg {
            from_m,
            to_m,
            speed_mps,
        } => Guidance {
            kind: Guidance::LEG,
            speed_mps,
            from_m,
            to_m,
            ..rest
        },
        Aim::Station { at_m } => Guidance {
            kind: Guidance::STATION,
            to_m: at_m,
            ..rest
        },
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "waypoints travel in single precision: millimetres, 10 km away"
)]
fn plan(utime: i64, left: &[(&str, [f64; 2])]) -> Path {
    let waypoint = |(name, point_m): &(&str, [f64; 2])| Waypoint {
        id: (*name).to_owned(),
        position: point_m.map(|it| it as f32),
    };
    Path {
        timestamp: utime,
        waypoints: left.iter().take(MAX_PLAN).map(waypoint).collect(),
        ..Path::default()
    }
    .with_lengths()
}

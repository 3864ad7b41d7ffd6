//! The mission: goals in order, and which of them are left.

use crate::{Place, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Seen, Step, Vehicle,
};
use bowline_msgs::{Path, PoseTransform, Task, Waypoint};
use std::time::Duration;

/// More are refused.
const MAX_GOALS: usize = 10_000;

bowline_component::parameters! {
    /// What there is to visit.
    pub struct MissionParameters {
        in vehicle: Vehicle;
        /// Goals, as x and y in turn, metres east and north in the map frame; a mission that is sent replaces them.
        goals_m: Vec<f64> = Vec::new();
        /// A goal that is as near as this is reached, metres.
        radius_m: f64 = 1.5, within 0.01..=100.0 => live;
        /// How often it publishes the remaining goals, times a second.
        rate_hz: f64 = 5.0, within 0.5..=100.0;
    }
}

/// Keeps the remaining goals, and publishes them.
#[derive(Debug)]
pub struct Mission {
    parameters: MissionParameters,
    whereabouts: Whereabouts,
    left: Vec<Waypoint>,
    /// Whether the remaining goals wait, after a hold.
    is_held: bool,
    /// The id of the task that was taken last; 0: none.
    taken: i64,
    /// Why the last mission that was sent was not taken.
    refused: Option<String>,
    /// Why the pose of the vehicle is unknown.
    lost: Option<String>,
    mission: Input<Path>,
    task: Input<Task>,
    pose: Input<PoseTransform>,
    goals: Output<Path>,
}

impl Build for Mission {
    type Parameters = MissionParameters;

    fn build(parameters: MissionParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let (goals, rest) = parameters.goals_m.as_chunks::<2>();
        if !rest.is_empty() {
            return Err("goals_m has an x without a y".into());
        }
        let left = goals.iter().enumerate();
        let left: Vec<Waypoint> = left
            .map(|(nth, [x_m, y_m])| waypoint(format!("goal {}", nth + 1), *x_m, *y_m))
            .collect();
        check(&left)?;
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            left,
            is_held: false,
            taken: 0,
            refused: None,
            lost: None,
            task: ports.input(
                "task",
                "What a gate let through, for vehicles that have one: routes, hold and resume.",
                Expect::ever().optional(),
            ),
            mission: ports.input(
                "mission",
                "Goals to visit, in order; they replace those that are left.",
                Expect::ever().optional(),
            ),
            pose: ports.input_on(
                "pose",
                "Where the vehicle is.",
                Expect::within(Duration::from_millis(500)),
                "pose",
            ),
            goals: ports.output_on(
                "goals",
                "What is left of the mission, the next goal first.",
                "goals",
            ),
            parameters,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "waypoints travel in single precision: millimetres, 10 km away"
)]
fn waypoint(id: String, x_m: f64, y_m: f64) -> Waypoint {
    Waypoint {
        id,
        position: [x_m as f32, y_m as f32],
    }
}

/// The points of a task, under its name.
fn goals(task: &Task) -> Vec<Waypoint> {
    let name = if task.name.is_empty() {
        "goal"
    } else {
        &task.name
    };
    let n_points = task.points_m.len();
    let points = task.points_m.iter().enumerate();
    let points = points.map(|(nth, [x_m, y_m])| {
        let id = match n_points {
            1 => name.to_owned(),
            _ => format!("{name} {}", nth + 1),
        };
        waypoint(id, *x_m, *y_m)
    });
    points.collect()
}

fn check(goals: &[Waypoint]) -> Result<(), String> {
    if goals.len() > MAX_GOALS {
        return Err(format!(
            "a mission has at most {MAX_GOALS} goals, found {}",
            goals.len()
        ));
    }
    let is_somewhere = |goal: &&Waypoint| goal.position.iter().all(|it| it.is_finite());
    match goals.iter().find(|goal| !is_somewhere(goal)) {
        Some(goal) => Err(format!("where {:?} is is not a number", goal.id)),
        None => Ok(()),
    }
}

impl Component for Mission {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let mut is_new = step.is_tick() || step.is_start();
        if let Some(mission) = step.arrived(self.mission) {
            let checked = check(&mission.waypoints);
            if checked.is_ok() {
                self.left.clone_from(&mission.waypoints);
            }
            self.refused = checked.err();
            self.is_held &= self.refused.is_some();
            is_new = true;
        }
        // A gate repeats a task whose acceptance was not received. A task without an id is never a repetition.
        let is_another = |task: &Seen<'_, Task>| task.id == 0 || task.id != self.taken;
        if let Some(task) = step.arrived(self.task).filter(is_another) {
            self.refused = self.take(&task).err();
            self.taken = if self.refused.is_none() { task.id } else { 0 };
            is_new = true;
        }
        if let Some(pose) = step.arrived(self.pose) {
            self.lost = None;
            match self.whereabouts.place(&pose) {
                Ok(place) => is_new |= self.visit(place),
                Err(why) => self.lost = Some(why.to_string()),
            }
        }
        out.health(match (&self.refused, &self.lost) {
            (Some(why), _) => Health::Degraded(format!("a mission was refused: {why}")),
            (None, Some(why)) => Health::Degraded(why.clone()),
            (None, None) => Health::Good,
        });
        if is_new {
            let left = Path {
                timestamp: step.now().utime(),
                waypoints: match self.is_held {
                    true => Vec::new(),
                    false => self.left.clone(),
                },
                ..Path::default()
            };
            out.send(self.goals, left.with_lengths());
        }
    }
}

impl Mission {
    /// Does what a person wants, as far as a vehicle on the ground can.
    fn take(&mut self, task: &Task) -> Result<(), String> {
        match (task.kind, task.placing) {
            (Task::HOLD, Task::REPLACE) => {
                self.left.clear();
                self.is_held = true;
            }
            (Task::HOLD, _) => self.is_held = true,
            (Task::RESUME, _) => self.is_held = false,
            (Task::STATION, _) if task.points_m.is_empty() => self.left.clear(),
            (Task::ROUTE | Task::STATION, placing) => {
                let goals = goals(task);
                check(&goals)?;
                let left = std::mem::take(&mut self.left);
                self.left = match placing {
                    Task::NEXT => [goals, left].concat(),
                    Task::APPEND => [left, goals].concat(),
                    _ => goals,
                };
                self.is_held = false;
            }
            (kind, _) => {
                return Err(format!(
                    "expected a route, a station, hold or resume, found a task of kind {kind}"
                ));
            }
        }
        Ok(())
    }

    /// Removes the next goal if the vehicle has reached it. Returns whether it has.
    fn visit(&mut self, place: Place) -> bool {
        let is_there = !self.is_held
            && self.left.first().is_some_and(|goal| {
                let [x_m, y_m] = goal.position.map(f64::from);
                (x_m - place.x_m).hypot(y_m - place.y_m) <= self.parameters.radius_m
            });
        if is_there {
            self.left.remove(0);
        }
        is_there
    }
}

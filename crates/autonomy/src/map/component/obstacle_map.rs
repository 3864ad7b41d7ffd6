//! The obstacle map as a component.

use super::intake::{Intake, trouble};
use crate::map::mapper::{Mapper, MapperSettings};
use crate::map::obstacles::{ObstacleSettings, Obstacles};
use crate::whereabouts::model_of;
use crate::{Agility, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::{Map, PoseTransform};
use std::time::Duration;

bowline_component::parameters! {
    /// What the obstacle map is like, and what it is made from.
    pub struct ObstacleMapParameters {
        in vehicle: Vehicle;
        /// The channels that ranges come on. Each is an input of that name.
        sources: Vec<String> = vec!["laser".to_owned()];
        /// The channels that lines on the ground come on: all of their points are obstacles. Each is an input of that name.
        lines: Vec<String> = Vec::new();
        /// Side of the map, metres.
        size_m: f64 = 30.0, within 1.0..=1000.0;
        /// Side of a cell, metres.
        cell_m: f64 = 0.1, within 0.02..=10.0;
        /// How often the map is published, 1/s.
        rate_hz: f64 = 10.0, within 0.1..=100.0;
        /// Points lower than this above the ground are the ground, metres.
        low_m: f64 = 0.1, within -1.0..=10.0;
        /// Points higher than this above it are no obstacle: the vehicle passes below, metres.
        high_m: f64 = 1.5, within 0.0..=100.0;
        /// How long ranges wait for the pose after them, and how far apart poses may be.
        pose_timeout: Duration = Duration::from_millis(200), within Duration::from_millis(1)..=Duration::from_secs(10);
        /// After how long without ranges a source is silent, and the map is withheld.
        source_timeout: Duration = Duration::from_millis(300), within Duration::from_millis(1)..=Duration::from_secs(60);
        /// Faster than this the vehicle does not move, m/s: a pose that is further off makes the map begin anew.
        jump_mps: f64 = 20.0, within 0.1..=1000.0;
        /// Nor does it turn faster than this, rad/s.
        jump_radps: f64 = 5.0, within 0.1..=1000.0;
    }
}

/// Keeps a map of where something stands, and of lines on the ground.
#[derive(Debug)]
pub struct ObstacleMap {
    whereabouts: Whereabouts,
    standing: Intake<Obstacles>,
    lines: Intake<Obstacles>,
    pose: Input<PoseTransform>,
    traverse: Output<Map>,
}

impl Build for ObstacleMap {
    type Parameters = ObstacleMapParameters;

    fn build(parameters: ObstacleMapParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        if parameters.sources.is_empty() {
            return Err("it needs at least one source: sources = [\"laser\"]".into());
        }
        let stale = Expect::within(parameters.pose_timeout);
        let pose = ports.input_on("pose", "Where the vehicle is.", stale, "pose");
        let mut intake = |low_m: f64, clear_every, channels: &[String]| {
            let settings = ObstacleSettings {
                size_m: parameters.size_m,
                cell_m: parameters.cell_m,
                low_m,
                high_m: parameters.high_m,
                posed_above_ground_m: 0.0,
            };
            let settings_of_mapper = MapperSettings {
                pose_timeout: parameters.pose_timeout,
                agility: Agility {
                    max_speed_mps: parameters.jump_mps,
                    max_turn_radps: parameters.jump_radps,
                },
                clear_every,
            };
            let chart = Obstacles::new(settings)?;
            let mapper = Mapper::new(model_of(&parameters.vehicle)?, chart, settings_of_mapper);
            let timeout = parameters.source_timeout;
            Ok::<_, BuildError>(Intake::new(mapper, channels, timeout, pose, ports))
        };
        let standing = intake(parameters.low_m, 1, &parameters.sources)?;
        // Lines are on the ground, and nothing looks through them.
        let lines = intake(f64::NEG_INFINITY, 0, &parameters.lines)?;
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            standing,
            lines,
            pose,
            traverse: ports.output_on("traverse", "Where one can drive.", "traverse"),
        })
    }
}

impl Component for ObstacleMap {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(pose) = step.arrived(self.pose) {
            self.stand(&pose);
        }
        self.standing.step(step);
        self.lines.step(step);
        if !(step.is_tick() || step.is_start()) {
            return;
        }
        let mut silent = self.standing.silent(step);
        silent.extend(self.lines.silent(step));
        silent.sort();
        silent.dedup();
        let mut others = self.standing.tidy(step);
        others.extend(self.lines.tidy(step));
        out.health(trouble(&silent, others).map_or(Health::Good, Health::Degraded));
        if let Some(mut map) = self.standing.new_whole_map(&silent) {
            if let Some(lines) = self.lines.map() {
                draw(&lines, &mut map);
            }
            out.send(self.traverse, map);
        }
    }
}

impl ObstacleMap {
    /// How high above the ground the frame is whose pose this is.
    fn stand(&mut self, pose: &PoseTransform) {
        let Ok(map_from_vehicle) = self.whereabouts.vehicle(pose) else {
            return;
        };
        let [_, _, ground_m] = map_from_vehicle.xyz();
        let above_m = pose.matrix[11] - ground_m;
        for intake in [&mut self.standing, &mut self.lines] {
            intake.mapper_mut().chart_mut().stand(above_m);
        }
    }
}

/// Blocks in one map what is blocked in another of the same place and size.
fn draw(lines: &Map, map: &mut Map) {
    let rows = map.cells.iter_mut().flatten();
    for (row, of_lines) in rows.zip(lines.cells.iter().flatten()) {
        for (cell, line) in row.iter_mut().zip(of_lines) {
            // What is not known is neither.
            if *line < 0.5 {
                *cell = 0.0;
            }
        }
    }
}

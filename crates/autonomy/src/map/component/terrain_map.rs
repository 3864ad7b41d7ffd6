//! The terrain map as a component.

use super::intake::{Intake, trouble};
use crate::Agility;
use crate::map::mapper::{Mapper, MapperSettings};
use crate::map::terrain::{Terrain, TerrainSettings, Weighting};
use crate::whereabouts::model_of;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::Map;
use std::time::Duration;

bowline_component::parameters! {
    /// What the terrain map is like, and what it is made from.
    pub struct TerrainMapParameters {
        in vehicle: Vehicle;
        /// The channels that ranges come on. Each is an input of that name.
        sources: Vec<String> = vec!["laser.left".to_owned(), "laser.right".to_owned()];
        /// Side of the map, metres.
        size_m: f64 = 40.0, within 1.0..=1000.0;
        /// Side of a cell, metres.
        cell_m: f64 = 0.2, within 0.02..=10.0;
        /// How often the map is published, 1/s.
        rate_hz: f64 = 5.0, within 0.1..=100.0;
        /// How points are weighed: by what is known of their noise, or all alike.
        weighting: String = "variance".to_owned(), within ["variance", "mean"];
        /// Standard deviation of the slope of the ground, metres a metre; it sets how much of a horizontal error counts.
        slope_sd: f64 = 0.1, within 0.0..=2.0;
        /// What is higher than this above the frame whose pose is known is no ground: the vehicle passes below, metres.
        overhead_m: f64 = 2.5, within 0.1..=100.0;
        /// How long ranges wait for the pose after them, and how far apart poses may be.
        pose_timeout: Duration = Duration::from_millis(200), within Duration::from_millis(1)..=Duration::from_secs(10);
        /// After how long without ranges a source is silent.
        source_timeout: Duration = Duration::from_millis(300), within Duration::from_millis(1)..=Duration::from_secs(60);
        /// Whether the map is withheld while any of the sources is silent, so that no consumer drives by half a view.
        needs_all: bool = true;
        /// Faster than this the vehicle does not move, m/s: a pose that is further off makes the map begin anew.
        jump_mps: f64 = 20.0, within 0.1..=1000.0;
        /// Nor does it turn faster than this, rad/s.
        jump_radps: f64 = 5.0, within 0.1..=1000.0;
        /// One ray in so many is looked at for things that are no longer there; 0 keeps everything that was ever seen.
        clear_every: i64 = 1, within 0..=100_000;
    }
}

/// Fuses ranges into a map of the terrain around the vehicle.
#[derive(Debug)]
pub struct TerrainMapComponent {
    intake: Intake<Terrain>,
    terrain: Output<Map>,
    needs_all: bool,
}

impl Build for TerrainMapComponent {
    type Parameters = TerrainMapParameters;

    fn build(parameters: TerrainMapParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        if parameters.sources.is_empty() {
            return Err("it needs at least one source: sources = [\"laser.left\"]".into());
        }
        let mapper = Mapper::new(
            model_of(&parameters.vehicle)?,
            Terrain::new(terrain_settings(&parameters))?,
            mapper_settings(&parameters),
        );
        let stale = Expect::within(parameters.pose_timeout);
        let pose = ports.input_on("pose", "Where the vehicle is.", stale, "pose");
        let timeout = parameters.source_timeout;
        let intake = Intake::new(mapper, &parameters.sources, timeout, pose, ports);
        let doc = "How high the ground is, and how sure that is.";
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            intake,
            terrain: ports.output_on("terrain", doc, "terrain"),
            needs_all: parameters.needs_all,
        })
    }
}

fn terrain_settings(parameters: &TerrainMapParameters) -> TerrainSettings {
    TerrainSettings {
        size_m: parameters.size_m,
        cell_m: parameters.cell_m,
        weighting: match parameters.weighting.as_str() {
            "mean" => Weighting::Mean,
            _ => Weighting::Variance,
        },
        slope_sd: parameters.slope_sd,
        overhead_m: parameters.overhead_m,
    }
}

fn mapper_settings(parameters: &TerrainMapParameters) -> MapperSettings {
    MapperSettings {
        pose_timeout: parameters.pose_timeout,
        agility: Agility {
            max_speed_mps: parameters.jump_mps,
            max_turn_radps: parameters.jump_radps,
        },
        clear_every: usize::try_from(parameters.clear_every).unwrap_or(0),
    }
}

impl Component for TerrainMapComponent {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.intake.step(step);
        if !(step.is_tick() || step.is_start()) {
            return;
        }
        let silent = self.intake.silent(step);
        let others = self.intake.tidy(step);
        out.health(trouble(&silent, others).map_or(Health::Good, Health::Degraded));
        let map = match self.needs_all {
            true => self.intake.new_whole_map(&silent),
            false => self.intake.new_map(),
        };
        if let Some(map) = map {
            out.send(self.terrain, map);
        }
    }
}

//! The terrain map as a component.

use crate::map::mapper::{Mapper, MapperCounts, MapperSettings};
use crate::map::terrain::{TerrainSettings, Weighting};
use bowline_geometry::{Disk, Model, load};
use bowline_msgs::{Map, PoseTransform, Range3d};
use bowline_node::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step,
};
use std::path::PathBuf;
use std::time::Duration;

bowline_node::parameters! {
    /// What the terrain map is like, and what it is made from.
    pub struct TerrainMapParameters {
        /// An Assembly file, a URDF or an SDF file, for where the devices are; without it the robot's own model.
        model: PathBuf = PathBuf::new();
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
        /// Standard deviation of how steep the ground is, metres a metre; it says how much of a horizontal error counts.
        slope_sd: f64 = 0.1, within 0.0..=2.0;
        /// What is higher than this above the frame whose pose is known is no ground: the vehicle passes below, metres.
        overhead_m: f64 = 2.5, within 0.1..=100.0;
        /// How long ranges wait for the pose after them, and how far apart poses may be.
        pose_timeout: Duration = Duration::from_millis(200), within Duration::from_millis(1)..=Duration::from_secs(10);
        /// After how long without ranges a source is silent.
        source_timeout: Duration = Duration::from_millis(300), within Duration::from_millis(1)..=Duration::from_secs(60);
        /// Whether the map is withheld while any of the sources is silent, so that nobody trusts half a view.
        needs_all: bool = true;
        /// Faster than this the vehicle does not move, m/s: a pose that is further off makes the map begin anew.
        max_speed_mps: f64 = 20.0, within 0.1..=1000.0;
        /// One ray in so many is looked at for things that are no longer there; 0 keeps everything that was ever seen.
        clear_every: i64 = 1, within 0..=100_000;
    }
}

/// Fuses ranges into a map of the terrain around the vehicle.
#[derive(Debug)]
pub struct TerrainMapComponent {
    mapper: Mapper,
    sources: Vec<(String, Input<Range3d>)>,
    pose: Input<PoseTransform>,
    terrain: Output<Map>,
    needs_all: bool,
    /// Up to when what was last published is known, and what had been dropped by then.
    published: Option<i64>,
    reported: MapperCounts,
}

impl Build for TerrainMapComponent {
    type Parameters = TerrainMapParameters;

    fn build(parameters: TerrainMapParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let settings = settings(&parameters);
        if parameters.sources.is_empty() {
            return Err("it needs at least one source: sources = [\"laser.left\"]".into());
        }
        let silent = Expect::within(parameters.source_timeout);
        let mut sources = Vec::new();
        for channel in &parameters.sources {
            let input = ports.input_on(channel, "What a device has measured.", silent, channel);
            sources.push((channel.clone(), input));
        }
        let stale = Expect::within(parameters.pose_timeout);
        let pose = ports.input_on("pose", "Where the vehicle is.", stale, "pose");
        let doc = "How high the ground is, and how sure that is.";
        let terrain = ports.output_on("terrain", doc, "terrain");
        ports.tick(Duration::try_from_secs_f64(1.0 / parameters.rate_hz)?);
        Ok(Self {
            mapper: Mapper::new(model(&parameters.model)?, settings)?,
            sources,
            pose,
            terrain,
            needs_all: parameters.needs_all,
            published: None,
            reported: MapperCounts::default(),
        })
    }
}

fn settings(parameters: &TerrainMapParameters) -> MapperSettings {
    MapperSettings {
        terrain: TerrainSettings {
            size_m: parameters.size_m,
            cell_m: parameters.cell_m,
            weighting: match parameters.weighting.as_str() {
                "mean" => Weighting::Mean,
                _ => Weighting::Variance,
            },
            slope_sd: parameters.slope_sd,
            overhead_m: parameters.overhead_m,
        },
        pose_timeout: parameters.pose_timeout,
        max_speed_mps: parameters.max_speed_mps,
        clear_every: usize::try_from(parameters.clear_every).unwrap_or(0),
    }
}

fn model(path: &PathBuf) -> Result<Model, BuildError> {
    if path.as_os_str().is_empty() {
        let help = "it needs a model: [robot] model = \"FILE\", or a parameter model of its own";
        return Err(help.into());
    }
    Ok(Model::new(load(path, &mut Disk)?.assembly)?)
}

impl Component for TerrainMapComponent {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(pose) = step.arrived(self.pose) {
            self.mapper.take_pose(&pose);
        }
        for (_, source) in &self.sources {
            if let Some(ranges) = step.arrived(*source) {
                self.mapper.take_ranges(&ranges, step.now().utime());
            }
        }
        if step.is_tick() || step.is_start() {
            self.tick(step, out);
        }
    }
}

impl TerrainMapComponent {
    fn tick(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.mapper.give_up(step.now().utime());
        let silent = self.silent(step);
        let trouble = self.trouble(&silent);
        out.health(trouble.map_or(Health::Good, Health::Degraded));
        let is_whole = !self.needs_all || silent.is_empty();
        // Without anything new there is no map: whoever reads it finds it stale.
        let is_new = self.mapper.utime() > self.published;
        if is_whole
            && is_new
            && let Some(map) = self.mapper.map()
        {
            self.published = Some(map.utime);
            out.send(self.terrain, map);
        }
    }

    /// The inputs that nothing comes on.
    fn silent(&self, step: &Step<'_>) -> Vec<String> {
        let sources = self
            .sources
            .iter()
            .filter(|(_, source)| step.fresh(*source).is_none())
            .map(|(channel, _)| channel.clone());
        let pose = step.fresh(self.pose).is_none().then(|| "pose".to_owned());
        sources.chain(pose).collect()
    }

    /// What is wrong since this was last asked, in words.
    fn trouble(&mut self, silent: &[String]) -> Option<String> {
        let mut words = Vec::new();
        if !silent.is_empty() {
            words.push(format!("nothing comes from {}", silent.join(", ")));
        }
        let counts = self.mapper.counts();
        let MapperCounts {
            points_without_pose,
            points_without_frame,
            points_pushed_out,
            poses_refused,
            jumps: _,
        } = counts;
        let before = std::mem::replace(&mut self.reported, counts);
        let dropped = [
            (
                points_without_pose - before.points_without_pose,
                "points have no pose",
            ),
            (
                points_without_frame - before.points_without_frame,
                "points have no known frame",
            ),
            (
                points_pushed_out - before.points_pushed_out,
                "points waited for a pose in vain",
            ),
            (poses_refused - before.poses_refused, "poses were refused"),
        ];
        let dropped = dropped.iter().filter(|(n, _)| *n > 0);
        words.extend(dropped.map(|(n, what)| format!("{n} {what}")));
        words.extend(self.mapper.take_trouble());
        (!words.is_empty()).then(|| words.join("; "))
    }
}

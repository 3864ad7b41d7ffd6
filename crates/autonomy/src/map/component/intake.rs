//! Ranges and poses as a component hears them, into a chart, and what is wrong with them in words.

use crate::map::chart::Chart;
use crate::map::mapper::{Mapper, MapperCounts};
use bowline_geometry::{Disk, Model, load};
use bowline_msgs::{Map, PoseTransform, Range3d};
use bowline_node::{BuildError, Expect, Input, Ports, Step};
use std::path::Path;
use std::time::Duration;

/// What feeds a chart.
#[derive(Debug)]
pub(super) struct Intake<C> {
    mapper: Mapper<C>,
    sources: Vec<(String, Input<Range3d>)>,
    pose: Input<PoseTransform>,
    /// Up to when what was last published is known, and what had been dropped by then.
    published: Option<i64>,
    reported: MapperCounts,
}

impl<C: Chart> Intake<C> {
    /// Declares an input for each source, each on the channel of its name; `pose` is declared once by the component.
    pub(super) fn new(
        mapper: Mapper<C>,
        channels: &[String],
        timeout: Duration,
        pose: Input<PoseTransform>,
        ports: &mut Ports,
    ) -> Self {
        let silent = Expect::within(timeout);
        let input = |channel: &String| {
            let input = ports.input_on(channel, "What a device has measured.", silent, channel);
            (channel.clone(), input)
        };
        Self {
            mapper,
            sources: channels.iter().map(input).collect(),
            pose,
            published: None,
            reported: MapperCounts::default(),
        }
    }

    pub(super) fn mapper_mut(&mut self) -> &mut Mapper<C> {
        &mut self.mapper
    }

    /// Takes in what has arrived.
    pub(super) fn step(&mut self, step: &Step<'_>) {
        if let Some(pose) = step.arrived(self.pose) {
            self.mapper.take_pose(&pose);
        }
        for (_, source) in &self.sources {
            if let Some(ranges) = step.arrived(*source) {
                self.mapper.take_ranges(&ranges, step.now().utime());
            }
        }
    }

    /// The map if there is anything new in it. Without, there is none: whoever reads it finds it stale.
    pub(super) fn new_map(&mut self) -> Option<Map> {
        if self.mapper.utime() <= self.published {
            return None;
        }
        let map = self.mapper.map()?;
        self.published = Some(map.utime);
        Some(map)
    }

    /// The map as it is.
    pub(super) fn map(&self) -> Option<Map> {
        self.mapper.map()
    }

    /// The inputs that nothing comes on.
    pub(super) fn silent(&self, step: &Step<'_>) -> Vec<String> {
        let sources = self
            .sources
            .iter()
            .filter(|(_, source)| step.fresh(*source).is_none())
            .map(|(channel, _)| channel.clone());
        let pose = step.fresh(self.pose).is_none().then(|| "pose".to_owned());
        sources.chain(pose).collect()
    }

    /// Gives up what has waited for too long, and says what is wrong since this was last asked.
    pub(super) fn tidy(&mut self, step: &Step<'_>) -> Vec<String> {
        self.mapper.give_up(step.now().utime());
        let counts = self.mapper.counts();
        let before = std::mem::replace(&mut self.reported, counts);
        let mut words = counts.since(&before);
        words.extend(self.mapper.take_trouble());
        words
    }
}

/// The robot's model from its file.
pub(super) fn model(path: &Path) -> Result<Model, BuildError> {
    if path.as_os_str().is_empty() {
        let help = "it needs a model: [robot] model = \"FILE\", or a parameter model of its own";
        return Err(help.into());
    }
    Ok(Model::new(load(path, &mut Disk)?.assembly)?)
}

/// What is wrong, all of it, in words.
pub(super) fn trouble(silent: &[String], mut others: Vec<String>) -> Option<String> {
    if !silent.is_empty() {
        others.insert(0, format!("nothing comes from {}", silent.join(", ")));
    }
    (!others.is_empty()).then(|| others.join("; "))
}

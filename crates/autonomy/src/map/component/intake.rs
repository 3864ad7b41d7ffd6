//! Received ranges and poses, into a chart, and their faults as text.

use crate::map::chart::Chart;
use crate::map::mapper::{Mapper, MapperCounts};
use bowline_component::{Expect, Input, Ports, Step};
use bowline_msgs::{Map, PoseTransform, Range3d};
use std::time::Duration;

/// What feeds a chart.
#[derive(Debug)]
pub(super) struct Intake<C> {
    mapper: Mapper<C>,
    sources: Vec<Source>,
    pose: Input<PoseTransform>,
    /// Up to when what was last published is known, and what had been dropped by then.
    published: Option<i64>,
    reported: MapperCounts,
}

/// A device that measures ranges.
#[derive(Debug)]
struct Source {
    channel: String,
    ranges: Input<Range3d>,
    /// What its ranges are measured from, by the last of them.
    frame: Option<String>,
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
            let doc = "What a device has measured.";
            Source {
                channel: channel.clone(),
                ranges: ports.input_on(channel, doc, silent, channel),
                frame: None,
            }
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
        for source in &mut self.sources {
            if let Some(ranges) = step.arrived(source.ranges) {
                if source.frame.as_ref() != Some(&ranges.frame) {
                    source.frame = Some(ranges.frame.clone());
                }
                self.mapper.take_ranges(&ranges, step.now().utime());
            }
        }
    }

    /// The map if there is anything new in it. Otherwise none: its readers find it stale.
    pub(super) fn new_map(&mut self) -> Option<Map> {
        if self.mapper.utime() <= self.published {
            return None;
        }
        let map = self.mapper.map()?;
        self.published = Some(map.utime);
        Some(map)
    }

    /// The same for consumers that need all sources: nothing while one of them is silent, and as old as the one whose last message
    /// is oldest. A driver must not take half a view for a new one.
    pub(super) fn new_whole_map(&mut self, silent: &[String]) -> Option<Map> {
        let utimes = self.sources.iter().map(|source| {
            let frame = source.frame.as_ref()?;
            self.mapper.utime_of(frame)
        });
        let oldest = utimes.collect::<Option<Vec<i64>>>()?.into_iter().min();
        if !silent.is_empty() || oldest <= self.published {
            return None;
        }
        let mut map = self.mapper.map()?;
        map.utime = oldest?;
        self.published = oldest;
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
            .filter(|source| step.fresh(source.ranges).is_none())
            .map(|source| source.channel.clone());
        let pose = step.fresh(self.pose).is_none().then(|| "pose".to_owned());
        sources.chain(pose).collect()
    }

    /// Drops what has waited for too long, and returns the faults since the last call.
    pub(super) fn tidy(&mut self, step: &Step<'_>) -> Vec<String> {
        self.mapper.give_up(step.now().utime());
        let counts = self.mapper.counts();
        let before = std::mem::replace(&mut self.reported, counts);
        let mut words = counts.since(&before);
        words.extend(self.mapper.take_trouble());
        words
    }
}

/// What is wrong, all of it, in words.
pub(super) fn trouble(silent: &[String], mut others: Vec<String>) -> Option<String> {
    if !silent.is_empty() {
        others.insert(0, format!("nothing comes from {}", silent.join(", ")));
    }
    (!others.is_empty()).then(|| others.join("; "))
}

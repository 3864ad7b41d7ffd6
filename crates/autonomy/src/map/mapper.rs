//! Ranges and poses as they arrive, brought together: each point is taken to where the vehicle was when it was measured.
//!
//! In: `range3d_t` of any device of the robot's model, `pose_transform_t`. Out: whatever chart they are
//! fused into.
//!
//! Ranges wait for the pose after them, so that nothing is extrapolated; the queue is bounded in messages and time. What
//! has no pose in the end is dropped and counted.

use super::chart::Chart;
use super::noise::{SensorNoise, View};
use super::track::{NoPose, Posed, Refused, Taken, Track};
use crate::jump::Agility;
use bowline_geometry::{Model, Transform, TransformError};
use bowline_msgs::{Map, PoseTransform, Range3d};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Messages that may wait for a pose.
pub const MAX_WAITING: usize = 32;
/// Points of a sweep are moved together for so long: at 1 rad/s and 15 m that is 1.5 mm.
const SLOT_US: i64 = 100;

/// How ranges and poses are brought together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapperSettings {
    /// How far apart poses may be to interpolate between, and how long ranges wait for one.
    pub pose_timeout: Duration,
    /// What the vehicle can do: a pose that it cannot have moved to is a jump, and the map is forgotten.
    pub agility: Agility,
    /// One ray in so many is looked at for what it goes through; 0: none.
    pub clear_every: usize,
}

/// What became of messages and points before they came to the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapperCounts {
    /// Points that there is no pose for.
    pub points_without_pose: u64,
    /// Points in frames that the model cannot place.
    pub points_without_frame: u64,
    /// Points of messages that were pushed out of the queue.
    pub points_pushed_out: u64,
    /// Poses that were not taken.
    pub poses_refused: u64,
    /// Poses that no vehicle could have moved to.
    pub jumps: u64,
}

impl MapperCounts {
    /// What was dropped since, in words.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<String> {
        let dropped = [
            (
                self.points_without_pose - before.points_without_pose,
                "points have no pose",
            ),
            (
                self.points_without_frame - before.points_without_frame,
                "points have no known frame",
            ),
            (
                self.points_pushed_out - before.points_pushed_out,
                "points waited for a pose in vain",
            ),
            (
                self.poses_refused - before.poses_refused,
                "poses were refused",
            ),
        ];
        let dropped = dropped.iter().filter(|(n, _)| *n > 0);
        dropped.map(|(n, what)| format!("{n} {what}")).collect()
    }
}

/// Makes a map of what arrives.
#[derive(Debug)]
pub struct Mapper<C> {
    model: Model,
    settings: MapperSettings,
    chart: C,
    track: Track,
    waiting: VecDeque<Waiting>,
    counts: MapperCounts,
    /// The latest of what was fused.
    utime: Option<i64>,
    /// The same for each device, by its frame. Only frames of the model are fused, so they are few.
    utimes: BTreeMap<String, i64>,
    trouble: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    since_utime: i64,
    ranges: Range3d,
}

impl<C: Chart> Mapper<C> {
    /// For a chart of which nothing is known, around a vehicle of which nothing is known.
    pub fn new(model: Model, chart: C, settings: MapperSettings) -> Self {
        Self {
            model,
            settings,
            chart,
            track: Track::new(settings.pose_timeout, settings.agility),
            waiting: VecDeque::with_capacity(MAX_WAITING),
            counts: MapperCounts::default(),
            utime: None,
            utimes: BTreeMap::new(),
            trouble: None,
        }
    }

    /// The chart, as far as it is known.
    #[must_use]
    pub fn chart(&self) -> &C {
        &self.chart
    }

    /// The chart, to be extended.
    pub fn chart_mut(&mut self) -> &mut C {
        &mut self.chart
    }

    /// The robot's model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The poses.
    #[must_use]
    pub fn track(&self) -> &Track {
        &self.track
    }

    /// What was dropped on the way.
    #[must_use]
    pub fn counts(&self) -> MapperCounts {
        self.counts
    }

    /// When the latest of what is in the map was measured.
    #[must_use]
    pub fn utime(&self) -> Option<i64> {
        self.utime
    }

    /// The same for one device, by its frame.
    #[must_use]
    pub fn utime_of(&self, frame: &str) -> Option<i64> {
        self.utimes.get(frame).copied()
    }

    /// What was last wrong with a message since this was last asked, in words.
    pub fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// The map as others get it; `None` while nothing is in it.
    #[must_use]
    pub fn map(&self) -> Option<Map> {
        Some(self.chart.to_map(self.track.reference(), self.utime?))
    }

    /// Takes a pose in, moves the map with it, and fuses what waited for it.
    pub fn take_pose(&mut self, pose: &PoseTransform) {
        match self.track.take(pose) {
            Ok(Taken::Steady) => {}
            Ok(Taken::Jumped(jump)) => {
                self.counts.jumps += 1;
                self.chart.forget();
                self.utime = None;
                self.utimes.clear();
                self.trouble = Some(format!("{jump}: the map begins anew"));
            }
            Err(refused) => {
                self.counts.poses_refused += 1;
                // A pose that comes twice is no trouble.
                if refused != Refused::NotLater {
                    self.trouble = Some(refused.to_string());
                }
                return;
            }
        }
        if let Some(latest) = self.track.latest() {
            let [x, y, _] = latest.map_from_frame.xyz();
            self.chart.centre_on([x, y]);
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.fuse_or_wait(waiting);
        }
    }

    /// Takes ranges in: at once if there is a pose for them, or when it comes.
    pub fn take_ranges(&mut self, ranges: &Range3d, now_utime: i64) {
        if self.track.at(ranges.utime) != Err(NoPose::NotYet) {
            self.fuse(ranges);
            return;
        }
        self.wait(Waiting {
            since_utime: now_utime,
            ranges: ranges.clone(),
        });
    }

    /// Gives up what has waited for too long.
    pub fn give_up(&mut self, now_utime: i64) {
        let timeout = i64::try_from(self.settings.pose_timeout.as_micros()).unwrap_or(i64::MAX);
        for waiting in std::mem::take(&mut self.waiting) {
            if now_utime.saturating_sub(waiting.since_utime) > timeout {
                self.counts.points_without_pose += waiting.ranges.points.len() as u64;
            } else {
                self.waiting.push_back(waiting);
            }
        }
    }

    fn fuse_or_wait(&mut self, waiting: Waiting) {
        if self.track.at(waiting.ranges.utime) == Err(NoPose::NotYet) {
            self.wait(waiting);
        } else {
            self.fuse(&waiting.ranges);
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.len() == MAX_WAITING
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.counts.points_pushed_out += oldest.ranges.points.len() as u64;
        }
        self.waiting.push_back(waiting);
    }

    /// Fuses a sweep, each part of it from where the vehicle was then; afterwards gives up what its rays went through.
    fn fuse(&mut self, ranges: &Range3d) {
        let frame_from_sensor = match self.frame_from_sensor(&ranges.frame) {
            Ok(transform) => transform,
            Err(error) => {
                self.counts.points_without_frame += ranges.points.len() as u64;
                self.trouble = Some(error.to_string());
                return;
            }
        };
        let sensor = SensorNoise::of(ranges);
        let mut seen: Vec<(&[[f32; 4]], View)> = Vec::new();
        for (points, utime) in slots(ranges) {
            match self.track.at(utime) {
                Ok(posed) => {
                    let view = view(&posed, &frame_from_sensor);
                    self.chart.fuse(points, sensor, &view, ranges.utime);
                    seen.push((points, view));
                }
                Err(NoPose::NotYet | NoPose::Never) => {
                    self.counts.points_without_pose += points.len() as u64;
                }
            }
        }
        if seen.is_empty() {
            return;
        }
        self.utime = self.utime.max(Some(ranges.utime));
        match self.utimes.get_mut(&ranges.frame) {
            Some(utime) => *utime = (*utime).max(ranges.utime),
            None => {
                self.utimes.insert(ranges.frame.clone(), ranges.utime);
            }
        }
        self.clear(&seen, sensor, ranges.utime);
    }

    fn clear(&mut self, seen: &[(&[[f32; 4]], View)], sensor: SensorNoise, utime: i64) {
        let every = self.settings.clear_every;
        if every == 0 {
            return;
        }
        for (points, view) in seen {
            self.chart.clear(points, sensor, view, (utime, every));
        }
    }

    fn frame_from_sensor(&self, sensor: &str) -> Result<Transform, TransformError> {
        self.model.transform_by_name(sensor, self.track.frame())
    }
}

fn view(posed: &Posed, frame_from_sensor: &Transform) -> View {
    View {
        map_from_sensor: posed.map_from_frame * *frame_from_sensor,
        posed_at: posed.map_from_frame.xyz(),
        noise: posed.noise,
    }
}

/// The points of a sweep, with the times that they are taken to be from.
fn slots(ranges: &Range3d) -> impl Iterator<Item = (&[[f32; 4]], i64)> {
    let duration = i64::from(ranges.duration_us.max(0));
    let last = i64::try_from(ranges.points.len())
        .unwrap_or(i64::MAX)
        .saturating_sub(1);
    let start = ranges.utime.saturating_sub(duration);
    let time = move |at: i64| {
        if duration == 0 || last == 0 {
            return ranges.utime;
        }
        let exact = start + duration.saturating_mul(at) / last;
        // By the clock and not by the sweep, so that it does not matter how a sweep is cut into messages.
        exact.div_euclid(SLOT_US) * SLOT_US
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = ranges.points.get(from..).filter(|rest| !rest.is_empty())?;
        let first = i64::try_from(from).unwrap_or(i64::MAX);
        let utime = time(first);
        // All of them share a time without a sweep; otherwise the next ones up to the next slot.
        let n = if duration == 0 {
            rest.len()
        } else {
            let same = (first..=last).take_while(|at| time(*at) == utime);
            same.count().max(1)
        };
        from += n;
        Some((&rest[..n], utime))
    })
}

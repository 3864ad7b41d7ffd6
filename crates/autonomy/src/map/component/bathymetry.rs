//! The map of the bottom as a component: pings of a multibeam sonar and poses in, a map that grows out.

use crate::Agility;
use crate::map::mapper::{Mapper, MapperCounts, MapperSettings};
use crate::map::seabed::{Seabed, SeabedSettings};
use crate::map::shoals::{Shoal, ShoalSettings, shoals};
use crate::whereabouts::model_of;
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Ports, Step, Vehicle,
};
use bowline_msgs::{Map, Multibeam, Path, PoseTransform, Range3d, Waypoint};
use std::time::Duration;

bowline_component::parameters! {
    /// Which part of the bottom is mapped, and how.
    pub struct BathymetryParameters {
        in vehicle: Vehicle;
        /// The middle of the area that is mapped, x and y, metres.
        centre_m: Vec<f64> = vec![0.0, 0.0];
        /// Its side, metres.
        size_m: f64 = 256.0, within 1.0..=4000.0;
        /// Side of a cell, metres.
        cell_m: f64 = 0.5, within 0.05..=10.0;
        /// How often the map is published, times a second.
        rate_hz: f64 = 0.2, within 0.01..=10.0;
        /// How fast sound is in this water, metres a second; 0: as the sonar believes.
        sound_mps: f64 = 0.0, within 0.0..=2000.0;
        /// Where the surface is that depths are counted from, metres, map frame.
        level_m: f64 = 0.0, within -1000.0..=1000.0;
        /// Standard deviation of how steep the bottom is, metres a metre.
        slope_sd: f64 = 0.1, within 0.0..=2.0;
        /// Ranges below this are noise of the sonar itself, metres.
        min_range_m: f64 = 0.5, within 0.0..=100.0;
        /// Objects that rise at least this far above the bottom around them are reported, metres.
        rise_m: f64 = 0.7, within 0.1..=100.0 => live;
        /// How long pings wait for the pose after them, and how far apart poses may be.
        pose_timeout: Duration = Duration::from_millis(300), within Duration::from_millis(1)..=Duration::from_secs(10);
        /// After how long without a ping the sonar is silent.
        ping_timeout: Duration = Duration::from_secs(2), within Duration::from_millis(10)..=Duration::from_secs(60);
    }
}

/// Maps the bottom.
#[derive(Debug)]
pub struct Bathymetry {
    parameters: BathymetryParameters,
    mapper: Mapper<Seabed>,
    published: Option<i64>,
    reported: MapperCounts,
    n_bad: u64,
    pings: Input<Multibeam>,
    pose: Input<PoseTransform>,
    bathymetry: Output<Map>,
    finds: Output<Path>,
}

impl Build for Bathymetry {
    type Parameters = BathymetryParameters;

    fn build(parameters: BathymetryParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let [x_m, y_m] = parameters.centre_m.as_slice() else {
            return Err("expected centre_m to be x and y".into());
        };
        let seabed = Seabed::new(&SeabedSettings {
            centre_m: [*x_m, *y_m],
            size_m: parameters.size_m,
            cell_m: parameters.cell_m,
            level_m: parameters.level_m,
            slope_sd: parameters.slope_sd,
        })?;
        let settings = MapperSettings {
            pose_timeout: parameters.pose_timeout,
            agility: Agility {
                max_speed_mps: 20.0,
                max_turn_radps: 5.0,
            },
            clear_every: 0,
        };
        ports.tick(crate::period(parameters.rate_hz));
        Ok(Self {
            mapper: Mapper::new(model_of(&parameters.vehicle)?, seabed, settings),
            published: None,
            reported: MapperCounts::default(),
            n_bad: 0,
            pings: ports.input_on(
                "ping",
                "The echoes of a multibeam sonar.",
                Expect::within(parameters.ping_timeout),
                "multibeam.ping",
            ),
            pose: ports.input_on(
                "pose",
                "Where the vessel is.",
                Expect::within(parameters.pose_timeout),
                "pose",
            ),
            bathymetry: ports.output_on(
                "bathymetry",
                "How deep it is, and how sure that is.",
                "bathymetry",
            ),
            finds: ports.output_on(
                "finds",
                "What stands up from the bottom, the highest first.",
                "bathymetry.finds",
            ),
            parameters,
        })
    }
}

impl Component for Bathymetry {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if let Some(pose) = step.arrived(self.pose) {
            self.mapper.take_pose(&pose);
        }
        if let Some(ping) = step.arrived(self.pings) {
            match self.ranges(&ping) {
                Some(ranges) => self.mapper.take_ranges(&ranges, step.now().utime()),
                None => self.n_bad += 1,
            }
        }
        if step.is_tick() {
            self.tick(step, out);
        }
    }

    fn parameters(&mut self) -> Option<&mut dyn bowline_component::Parameters> {
        Some(&mut self.parameters)
    }
}

impl Bathymetry {
    fn tick(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.mapper.give_up(step.now().utime());
        let counts = self.mapper.counts();
        let mut words = counts.since(&std::mem::replace(&mut self.reported, counts));
        words.extend(self.mapper.take_trouble());
        if self.n_bad > 0 {
            words.push(format!(
                "{} pings were none",
                std::mem::take(&mut self.n_bad)
            ));
        }
        for (is_silent, what) in [
            (step.fresh(self.pings).is_none(), "the sonar"),
            (step.fresh(self.pose).is_none(), "pose"),
        ] {
            if is_silent {
                words.insert(0, format!("nothing comes from {what}"));
            }
        }
        out.health(match words.is_empty() {
            true => Health::Good,
            false => Health::Degraded(words.join("; ")),
        });
        if self.mapper.utime() <= self.published {
            return;
        }
        let Some(map) = self.mapper.map() else { return };
        self.published = Some(map.utime);
        let settings = ShoalSettings {
            rise_m: self.parameters.rise_m,
            ..ShoalSettings::default()
        };
        if let Ok(found) = shoals(&map, &settings) {
            out.send(self.finds, told(map.utime, &found));
        }
        out.send(self.bathymetry, map);
    }

    /// A ping as points in the sonar's frame; nothing if it is none.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "factors and limits need no more digits"
    )]
    fn ranges(&self, ping: &Multibeam) -> Option<Range3d> {
        let angles = [
            ping.first_rad,
            ping.step_rad,
            ping.range_sd_m,
            ping.beam_width_rad,
        ];
        if !angles.iter().all(|it| it.is_finite()) || ping.ranges_cm.len() != ping.strengths.len() {
            return None;
        }
        let is_slower = self.parameters.sound_mps > 0.0 && ping.sound_speed_mps > 0.0;
        let stretch = match is_slower {
            true => self.parameters.sound_mps as f32 / ping.sound_speed_mps,
            false => 1.0,
        };
        let point = |(nth, range_cm): (usize, &i16)| {
            let range_m = stretch * f32::from(*range_cm) / 100.0;
            let (sin, cos) = (ping.first_rad + nth as f32 * ping.step_rad).sin_cos();
            [range_m * cos, 0.0, range_m * sin, range_m]
        };
        let heard = ping.ranges_cm.iter().enumerate().filter(|(_, it)| **it > 0);
        let points: Vec<[f32; 4]> = heard.map(point).collect();
        Some(
            Range3d {
                utime: ping.utime,
                frame: ping.frame.clone(),
                min_range_m: self.parameters.min_range_m as f32,
                max_range_m: f32::from(i16::MAX) / 100.0,
                range_sd_m: ping.range_sd_m,
                // An echo is anywhere within its beam: about a quarter of its width either way.
                bearing_sd_rad: ping.beam_width_rad / 4.0,
                points,
                ..Range3d::default()
            }
            .with_lengths(),
        )
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "waypoints travel in single precision"
)]
fn told(utime: i64, found: &[Shoal]) -> Path {
    let waypoint = |shoal: &Shoal| Waypoint {
        id: format!("rises {:.1} m to {:.1} m", shoal.rise_m, shoal.top_m),
        position: shoal.at_m.map(|it| it as f32),
    };
    Path {
        timestamp: utime,
        waypoints: found.iter().map(waypoint).collect(),
        ..Path::default()
    }
    .with_lengths()
}

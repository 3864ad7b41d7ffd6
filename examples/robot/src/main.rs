//! A rover that keeps a distance: this component and a process in Python, which limits the speed.

use bowline::component::{Build, BuildError, Component, Expect, Input, Kind, Outbox, Output, Ports, Step};
use bowline::msgs::{Laser, Velocity};
use std::process::ExitCode;
use std::time::Duration;
use types::rover::{Gap, Limit};

mod types {
    include!(concat!(env!("OUT_DIR"), "/types.rs"));
}

/// Without a fresh limit the rover crawls, metres a second.
const CRAWL_MPS: f64 = 0.2;

bowline::component::parameters! {
    /// How a distance is kept.
    struct KeeperParameters {
        /// The distance to keep, metres.
        distance_m: f64 = 2.0, within 0.5..=50.0;
    }
}

/// Drives until the nearest obstacle ahead is at a distance.
struct Keeper {
    parameters: KeeperParameters,
    scan: Input<Laser>,
    limit: Input<Limit>,
    gap: Output<Gap>,
    command: Output<Velocity>,
}

impl Build for Keeper {
    type Parameters = KeeperParameters;

    fn build(parameters: KeeperParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let fresh = Expect::within(Duration::from_millis(500));
        Ok(Self {
            parameters,
            scan: ports.input("scan", "What is ahead.", fresh),
            limit: ports.input("limit", "How fast it may drive.", fresh.optional()),
            gap: ports.output("gap", "How far the nearest obstacle is."),
            command: ports.output("command", "How to move."),
        })
    }
}

impl Component for Keeper {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let utime = step.now().utime();
        let scan = step.fresh(self.scan);
        let nearest_m = scan.and_then(|scan| scan.ranges.iter().copied().reduce(f32::min));
        let max_mps = step.fresh(self.limit).map_or(CRAWL_MPS, |it| it.max_speed_mps);
        let mut speed_mps = 0.0;
        if let Some(nearest_m) = nearest_m.map(f64::from) {
            out.send(self.gap, Gap { utime, nearest_m });
            speed_mps = (nearest_m - self.parameters.distance_m).clamp(0.0, max_mps.max(0.0));
        }
        out.send(self.command, Velocity { utime, speed_mps, ..Velocity::default() });
    }
}

const KINDS: &[Kind] = &[Kind::of::<Keeper>("keeper", "Keeps a distance from obstacles.")];

fn main() -> ExitCode {
    bowline::App::new().name("rover").kinds(KINDS).main()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline::component::Rig;

    #[test]
    fn keeper_near_obstacle_stands_still() {
        let mut rig = Rig::new::<Keeper>(KeeperParameters::default());
        for range_m in [5.0, 1.9] {
            rig.send("scan", Laser { ranges: vec![range_m; 3], ..Laser::default() }.with_lengths());
        }
        let speeds: Vec<f64> = rig.take::<Velocity>("command").iter().map(|it| it.speed_mps).collect();
        assert_eq!(speeds, [CRAWL_MPS, 0.0]);
    }

    #[test]
    fn robot_file_is_right() {
        bowline::App::new().kinds(KINDS).load("robot.toml").unwrap();
    }
}

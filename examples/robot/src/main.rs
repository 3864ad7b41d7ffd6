//! A rover that keeps a distance, at a speed that a process in Python limits.

use bowline::component::{Build, BuildError, Component, Expect, Kind, Ports, Step};
use bowline::component::{Input, Outbox, Output};
use bowline::msgs::{Range3d, Velocity};
use std::{process::ExitCode, time::Duration};
use types::rover::{Gap, Limit};

mod types {
    include!(concat!(env!("OUT_DIR"), "/types.rs"));
}

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
    scan: Input<Range3d>,
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
        let mut speed_mps = 0.0;
        let scan = step.fresh(self.scan);
        let ranges = scan.iter().flat_map(|it| it.points.iter().map(|it| it[3]));
        if let Some(nearest) = ranges.reduce(f32::min) {
            let nearest_m = f64::from(nearest);
            // Without a limit from Python it crawls.
            let limit_mps = step.fresh(self.limit).map_or(0.2, |it| it.max_speed_mps);
            speed_mps = (nearest_m - self.parameters.distance_m).clamp(0.0, limit_mps.max(0.0));
            out.send(self.gap, Gap { utime, nearest_m });
        }
        let command = Velocity {
            utime,
            speed_mps,
            ..Velocity::default()
        };
        out.send(self.command, command);
    }
}

const KINDS: &[Kind] = &[Kind::of::<Keeper>("keeper", "Keeps a distance.")];

fn main() -> ExitCode {
    bowline::App::new().name("rover").kinds(KINDS).main()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeper_stands_still_without_scan_and_near_obstacle() {
        let mut rig = bowline::component::Rig::new::<Keeper>(KeeperParameters::default());
        for range_m in [5.0, 1.9] {
            let mut scan = Range3d::default();
            scan.points.push([range_m, 0.0, 0.0, range_m]);
            rig.send("scan", scan.with_lengths());
        }
        let commands = rig.take::<Velocity>("command");
        let speeds: Vec<f64> = commands.iter().map(|it| it.speed_mps).collect();
        assert_eq!(speeds, [0.0, 0.2, 0.0]);
    }

    #[test]
    fn robot_file_is_right() {
        bowline::App::new().kinds(KINDS).load("robot.toml").unwrap();
    }
}

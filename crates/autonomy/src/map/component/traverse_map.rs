//! The traversability map as a component.

use crate::map::movers::Movers;
use crate::map::traverse::{Limits, traverse};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
};
use bowline_msgs::Map;
use std::time::Duration;

bowline_component::parameters! {
    /// What the vehicle can do.
    pub struct TraverseMapParameters {
        /// The steepest slope that it drives on, radians.
        max_slope_rad: f64 = 0.44, within 0.01..=1.5 => live;
        /// The highest step that it drives over, metres.
        max_step_m: f64 = 0.25, within 0.001..=10.0 => live;
        /// The roughest ground that it drives on: standard deviation of heights from a plane, metres.
        max_roughness_m: f64 = 0.1, within 0.001..=10.0 => live;
        /// Side of the window that slope and roughness are taken from: as large as a wheel, or the vehicle, metres.
        window_m: f64 = 0.6, within 0.01..=10.0 => live;
        /// How far behind an edge a drop is looked for, metres.
        shadow_m: f64 = 2.0, within 0.0..=20.0 => live;
        /// For how long into the future what moves is followed: what it is heading for is not free. 0s: not at all.
        foresee: Duration = Duration::from_secs(5), within Duration::ZERO..=Duration::from_secs(20);
        /// For how long a terrain map is good.
        fresh_for: Duration = Duration::from_secs(1), within Duration::from_millis(10)..=Duration::from_secs(60);
    }
}

/// Makes a traversability map of each terrain map.
#[derive(Debug)]
pub struct TraverseMapComponent {
    parameters: TraverseMapParameters,
    movers: Movers,
    terrain: Input<Map>,
    traverse: Output<Map>,
}

impl Build for TraverseMapComponent {
    type Parameters = TraverseMapParameters;

    fn build(parameters: TraverseMapParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let expect = Expect::within(parameters.fresh_for);
        Ok(Self {
            movers: Movers::new(parameters.foresee.as_secs_f64()),
            terrain: ports.input_on("terrain", "How high the ground is.", expect, "terrain"),
            traverse: ports.output_on("traverse", "Where one can drive.", "traverse"),
            parameters,
        })
    }
}

impl Component for TraverseMapComponent {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        if step.is_start() || step.is_stale(self.terrain) {
            out.health(Health::Degraded("there is no terrain map".to_owned()));
        }
        let Some(terrain) = step.arrived(self.terrain) else {
            return;
        };
        let judged = traverse(&terrain, &self.limits());
        let foreseen = judged.and_then(|mut map| self.movers.foresee(&mut map).map(|()| map));
        match foreseen {
            Ok(map) => {
                out.health(Health::Good);
                out.send(self.traverse, map);
            }
            Err(error) => out.health(Health::Degraded(format!("the terrain map: {error}"))),
        }
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

impl TraverseMapComponent {
    fn limits(&self) -> Limits {
        let TraverseMapParameters {
            max_slope_rad,
            max_step_m,
            max_roughness_m,
            window_m,
            shadow_m,
            foresee: _,
            fresh_for: _,
        } = self.parameters;
        Limits {
            max_slope_rad,
            max_step_m,
            max_roughness_m,
            window_m,
            shadow_m,
        }
    }
}

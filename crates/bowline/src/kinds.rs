//! The kinds of components that Bowline has.

mod model;

use crate::table::Row;
use bowline_autonomy::operator::Operator;
use bowline_autonomy::{Alarms, Mission, control, estimate, helm, map, plan, vote};
use bowline_component::{Kind, kinds};
use bowline_drivers::{ActuatorComponent, SensorComponent, ThrustDriver, nmea, roboteq, scanner};
use model::ModelServer;

/// The kinds of components that robot files can name in every program, sorted by name. The gates of the simulator's table of
/// actuations are added to them, and what a program adds by [`App::kinds`](crate::App::kinds).
pub const KINDS: &[Kind] = &[
    Kind::of::<Alarms>(
        "alarms",
        "Keeps the vehicle's list of alarms, with their acknowledgements.",
    ),
    Kind::of::<vote::Arbiter>(
        "arbiter",
        "Weighs votes on arcs, and alone commands the vehicle.",
    ),
    Kind::of::<vote::Avoidance>("avoidance", "Votes for arcs with room around them."),
    Kind::of::<map::Bathymetry>("bathymetry", "Maps how deep the water is."),
    Kind::of::<control::DriveComponent>(
        "drive",
        "Keeps commands within limits, and stops without them.",
    ),
    Kind::of::<plan::WindowDriver>(
        "dynamic_window",
        "Drives by a laser alone, along the arc that looks best now.",
    ),
    Kind::of::<estimate::Estimator>(
        "estimator",
        "Says where a vessel is, by satellites, compass and inertial unit.",
    ),
    Kind::of::<plan::Follow>("follow", "Votes for arcs that lead along the plan."),
    Kind::of::<vote::Hazard>("hazard", "Vetoes arcs that lead into what is in the way."),
    Kind::of::<kinds::Heartbeat>("heartbeat", "Publishes a beat at a steady rate."),
    Kind::of::<helm::Helm>("helm", "Keeps a vessel's mission, and says where to go."),
    Kind::of::<Mission>("mission", "Keeps the goals that are left to visit."),
    Kind::of::<ModelServer>("model", "Answers where everything on the robot is."),
    Kind::of::<SensorComponent<nmea::Nmea>>(
        "nmea",
        "Reads what receivers, compasses and sounders say in NMEA 0183.",
    ),
    Kind::of::<nmea::NmeaTwin>(
        "nmea_twin",
        "Says in NMEA 0183 what simulated sensors measure.",
    ),
    Kind::of::<map::ObstacleMap>("obstacle_map", "Maps where something stands."),
    Kind::of::<Operator>("operator", "Commands a vehicle by a script."),
    Kind::of::<plan::PilotDriver>(
        "pilot",
        "Drives by a laser alone, along plans around what it has met.",
    ),
    Kind::of::<plan::Planner>(
        "planner",
        "Finds a way to the next goal around what is blocked.",
    ),
    Kind::of::<kinds::Relay>(
        "relay",
        "Publishes what is on one channel on another, not too often.",
    ),
    Kind::of::<ActuatorComponent<roboteq::Roboteq>>(
        "roboteq",
        "Tells a Roboteq controller what two motors should give.",
    ),
    Kind::of::<roboteq::RoboteqTwin>(
        "roboteq_twin",
        "Answers as a Roboteq controller, and gives what it is told.",
    ),
    Kind::of::<SensorComponent<scanner::Scanner>>(
        "scanner",
        "Reads a PB9-11 or a sibling of it, however that misbehaves.",
    ),
    Kind::of::<scanner::ScannerTwin>(
        "scanner_twin",
        "Answers as a PB9-11 what a simulated one sees, and misbehaves if told to.",
    ),
    Kind::of::<bowline_sim::Sim>("sim", "Simulates the vehicle and its sensors in a world."),
    Kind::of::<bowline_sim::Survey>(
        "survey",
        "Compares a map of heights with the world that it is a map of.",
    ),
    Kind::of::<vote::Teleop>("teleop", "Votes for what a person asks for."),
    Kind::of::<map::TerrainMapComponent>("terrain_map", "Maps how high the ground is."),
    Kind::of::<ActuatorComponent<ThrustDriver>>(
        "thrust_driver",
        "Keeps thrust within limits, and at none without commands.",
    ),
    Kind::of::<map::TraverseMapComponent>("traverse_map", "Maps where one can drive."),
    Kind::of::<control::VesselController>(
        "vessel_controller",
        "Steers a vessel by its two thrusters.",
    ),
    Kind::of::<vote::Waypoint>("waypoint", "Votes for arcs that lead to the next goal."),
];

impl Row for Kind {
    const NOUN: &'static str = "kind of component";

    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::App;

    #[test]
    fn kinds_are_sorted_documented_and_can_be_made() {
        assert!(KINDS.is_sorted_by(|one, two| one.name < two.name));
        // With the gates of all kinds of actuation.
        for kind in App::new().kind_table() {
            assert!(kind.summary.ends_with('.'), "{}", kind.name);
            let parameters = kind.parameters().iter();
            assert!(
                parameters
                    .into_iter()
                    .all(|it| it.doc.trim().ends_with('.')),
                "{}",
                kind.name
            );
            // Some need a parameter that has no default that works.
            if let Ok(built) = kind.build(&[]) {
                assert!(
                    built.ports.iter().all(|port| port.doc.ends_with('.')),
                    "{}",
                    kind.name
                );
            }
        }
    }
}

//! The kinds of components that Bowline has.

mod model;

use crate::table::Row;
use bowline_autonomy::operator::Operator;
use bowline_autonomy::{Alarms, Mission, control, estimate, helm, map, plan, vote};
use bowline_component::{Kind, kinds};
use bowline_drivers::{ActuatorComponent, SensorComponent, ThrustDriver, nmea, roboteq, scanner};
use bowline_sim::{Sim, Tables};
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
        "Estimates the pose of a vessel from satellites, compass and inertial unit.",
    ),
    Kind::of::<plan::Follow>("follow", "Votes for arcs that lead along the plan."),
    Kind::of::<vote::Hazard>("hazard", "Vetoes arcs that lead into what is in the way."),
    Kind::of::<kinds::Heartbeat>("heartbeat", "Publishes a beat at a steady rate."),
    Kind::of::<helm::Helm>("helm", "Keeps a vessel's mission, and publishes guidance."),
    Kind::of::<Mission>("mission", "Keeps the goals that are left to visit."),
    Kind::of::<ModelServer>("model", "Answers where everything on the robot is."),
    Kind::of::<SensorComponent<nmea::Nmea>>(
        "nmea",
        "Reads receivers, compasses and sounders by NMEA 0183: GGA, RMC, GST, GSA, HDT, HDM, HDG, DBT, DPT, ZDA, of any talker.",
    ),
    Kind::of::<nmea::NmeaTwin>(
        "nmea_twin",
        "Writes measurements of simulated sensors as NMEA 0183.",
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
        "Commands two motors through a Roboteq controller: `!G`, `^RWD`, `?FF`.",
    ),
    Kind::of::<roboteq::RoboteqTwin>(
        "roboteq_twin",
        "Answers as a Roboteq controller, and executes its commands.",
    ),
    Kind::of::<SensorComponent<scanner::Scanner>>(
        "scanner",
        "Reads a PB9-11, or by parameters a PBS-03JN, however that misbehaves.",
    ),
    Kind::of::<scanner::ScannerTwin>(
        "scanner_twin",
        "Answers as a PB9-11 with the scans of a simulated one, with faults by parameters.",
    ),
    simulator::<bowline_sim::Ours>(),
    Kind::of::<bowline_sim::Survey>(
        "survey",
        "Compares a map of heights with the world that it is a map of.",
    ),
    Kind::of::<vote::Teleop>("teleop", "Votes for what a person asks for."),
    Kind::of::<map::TerrainMapComponent>("terrain_map", "Maps how high the ground is."),
    Kind::of::<ActuatorComponent<ThrustDriver>>(
        "thrust_driver",
        "Keeps thrust within limits and rates, and at none without commands for 250 ms, for any motor controller.",
    ),
    Kind::of::<map::TraverseMapComponent>("traverse_map", "Maps where one can drive."),
    Kind::of::<control::VesselController>(
        "vessel_controller",
        "Steers a vessel by its two thrusters.",
    ),
    Kind::of::<vote::Waypoint>("waypoint", "Votes for arcs that lead to the next goal."),
];

/// The simulator, of models that may have what is in the tables of `T`.
pub(crate) const fn simulator<T: Tables>() -> Kind {
    Kind::of::<Sim<T>>("sim", "Simulates the vehicle and its sensors in a world.")
}

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
    use bowline_component::{Parameter, Parameters as _, Vehicle};

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
            if let Ok(built) = kind.attempt(&[]).built {
                assert!(
                    built.ports.iter().all(|port| port.doc.ends_with('.')),
                    "{}",
                    kind.name
                );
            }
        }
    }

    #[test]
    fn facts_of_the_vehicle_are_parameters_of_no_kind_but_by_their_group() {
        let vehicle = Vehicle::default();
        let is_fact = |name: &str| vehicle.table().iter().any(|fact| fact.name == name);
        let mut n_readers = 0;
        for kind in App::new().kind_table() {
            let (facts, own): (Vec<&Parameter>, Vec<&Parameter>) =
                (kind.parameters().iter()).partition(|it| it.group == Some(Vehicle::GROUP));
            for parameter in own {
                let Parameter { name, .. } = parameter;
                assert!(!is_fact(name), "{} declares {name} itself", kind.name);
            }
            assert!(facts.is_empty() || facts.len() == vehicle.table().len());
            n_readers += usize::from(!facts.is_empty());
        }
        assert!(n_readers > 15, "{n_readers}");
    }

    #[test]
    fn kinds_lack_exactly_the_facts_that_they_read() {
        let outline = ["front_m", "rear_m", "width_m"].as_slice();
        for (name, expected) in [
            ("mission", [].as_slice()),
            ("waypoint", &["max_curvature_per_m"]),
            (
                "avoidance",
                &["front_m", "max_curvature_per_m", "rear_m", "width_m"],
            ),
            ("teleop", &["max_curvature_per_m", "wheelbase_m"]),
            (
                "planner",
                &[outline, &["max_curvature_per_m", "max_turn_radps"]].concat(),
            ),
            ("model", &["model"]),
        ] {
            let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
            let mut missing = kind.attempt(&[]).missing;
            missing.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(missing, expected, "{name}");
        }
    }
}

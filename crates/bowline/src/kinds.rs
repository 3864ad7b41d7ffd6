//! All kinds of components that robot files can name.

mod model;

use bowline_autonomy::map::{TerrainMapComponent, TraverseMapComponent};
use bowline_node::{Kind, kinds};
use model::ModelServer;

/// Sorted by name. Add yours here; nothing else needs to change.
pub(crate) const KINDS: &[Kind] = &[
    Kind::of::<kinds::Heartbeat>("heartbeat", "Publishes a beat at a steady rate."),
    Kind::of::<ModelServer>("model", "Answers where everything on the robot is."),
    Kind::of::<kinds::Relay>(
        "relay",
        "Publishes what is on one channel on another, not too often.",
    ),
    Kind::of::<TerrainMapComponent>(
        "terrain_map",
        "Fuses ranges into a map of how high the ground is around the vehicle.",
    ),
    Kind::of::<TraverseMapComponent>(
        "traverse_map",
        "Judges from the terrain where the vehicle can drive.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted_documented_and_can_be_made() {
        assert!(KINDS.is_sorted_by(|one, two| one.name < two.name));
        for kind in KINDS {
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

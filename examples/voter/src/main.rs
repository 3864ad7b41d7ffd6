//! A voter of one's own beside Bowline's: it prefers arcs that keep to the middle of a corridor.

use bowline::autonomy::vote::{Judgement, curvature_to, favour, vote_on};
use bowline::autonomy::{Fan, Whereabouts};
use bowline::component::{
    Build, BuildError, Component, Expect, Health, Input, Kind, Outbox, Output, Ports, Step, Vehicle,
};
use bowline::msgs::{PoseTransform, Vote};
use std::process::ExitCode;
use std::time::Duration;

bowline::component::parameters! {
    /// The corridor, and how much to keep to it.
    struct CorridorParameters {
        in vehicle: Vehicle;
        /// Where the middle line is: its y in the map, metres.
        middle_y_m: f64 = 0.0, within -1e6..=1e6;
        /// How far ahead the vehicle steers for it, metres.
        look_ahead_m: f64 = 8.0, within 1.0..=100.0;
        /// How much its votes count, 0 to 1.
        confidence: f64 = 0.5, within 0.0..=1.0;
    }
}

/// Votes for arcs that lead to the middle of a corridor along x.
struct Corridor {
    parameters: CorridorParameters,
    whereabouts: Whereabouts,
    fan: Fan,
    pose: Input<PoseTransform>,
    vote: Output<Vote>,
}

impl Build for Corridor {
    type Parameters = CorridorParameters;

    fn build(parameters: CorridorParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(100));
        let fresh = Expect::within(Duration::from_millis(400));
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            fan: Fan::of(&parameters.vehicle, 20)?,
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            vote: ports.output_on("vote", "What it thinks of each arc.", "vote.corridor"),
            parameters,
        })
    }
}

impl Component for Corridor {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Some(pose) = step.fresh(self.pose).filter(|_| step.is_tick()) else {
            return;
        };
        // Without a place there is no vote, and the arbiter knows by its absence.
        let Ok(place) = self.whereabouts.place(&pose) else {
            return out.health(Health::Degraded("the pose is of no known frame".to_owned()));
        };
        let ahead_m = [
            place.x_m + self.parameters.look_ahead_m,
            self.parameters.middle_y_m,
        ];
        let max_per_m = self.fan.max_per_m();
        let wanted = curvature_to(place, ahead_m, max_per_m);
        let reason = format!(
            "the middle is {:.1} m away",
            self.parameters.middle_y_m - place.y_m
        );
        out.health(Health::Good);
        out.send(
            self.vote,
            vote_on(
                ("corridor", reason),
                pose.utime,
                place,
                &self.fan,
                |curvature_per_m| Judgement {
                    vote: favour(curvature_per_m, wanted, max_per_m),
                    confidence: self.parameters.confidence,
                    ..Judgement::INDIFFERENT
                },
            ),
        );
    }
}

const KINDS: &[Kind] = &[Kind::of::<Corridor>(
    "corridor",
    "Votes for the middle of a corridor.",
)];

fn main() -> ExitCode {
    bowline::App::new().name("voter").kinds(KINDS).main()
}

//! Hazard detection and obstacle avoidance: votes for each arc from the map of the ground.
//!
//! *Hazard* forbids: it vetoes arcs on which the vehicle would touch what it cannot drive on before it can stop, and reports how
//! far the others are free. *Avoidance* prefers: arcs with more room around them, and better ground.

use super::sweep::{Ground, Outline, Sweeper, Swept};
use super::voting::{Judgement, vote_on, with_arcs};
use crate::{Fan, Place, Travel, Whereabouts, forward_speed_mps};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, MissingFact, Outbox, Output, Ports, Step,
    Vehicle,
};
use bowline_msgs::{Map, PoseTransform, Vote};
use std::f64::consts::FRAC_PI_2;
use std::time::Duration;

bowline_component::parameters! {
    /// How arcs are judged by the ground.
    pub struct HazardParameters {
        in vehicle: Vehicle;
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// How far ahead arcs are judged, metres.
        length_m: f64 = 12.0, within 0.5..=200.0;
        /// What is left to either side of the vehicle, metres.
        margin_m: f64 = 0.3, within 0.0..=10.0;
        /// Ground that is worse than this cannot be driven on: 0 to 1.
        blocked_below: f64 = 0.3, within 0.0..=1.0;
        /// An arc is vetoed if it is not free for so long, or a quarter of a turn where that is shorter, or for as long as
        /// stopping takes, metres.
        veto_m: f64 = 1.5, within 0.0..=50.0;
        /// How far behind the vehicle what it judges by may be, seconds: added to the vehicle's reaction.
        lag_s: f64 = 0.2, within 0.0..=5.0;
        /// No faster than this over unobserved ground, metres a second.
        unknown_speed_mps: f64 = 0.8, within 0.0..=50.0;
        /// Arcs are judged for driving backward, too, while the vehicle is not faster forward than this, metres a second: it
        /// has to stop first.
        backward_below_mps: f64 = 0.3, within 0.0..=50.0;
        /// Older data is no data.
        deadline: Duration = Duration::from_millis(400);
    }
}

/// How the vehicle stops.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    brake_mps2: f64,
    /// From what is seen to brakes that brake.
    reaction_s: f64,
    veto_m: f64,
}

impl Stopping {
    fn of(parameters: &HazardParameters) -> Result<Self, MissingFact> {
        let vehicle = &parameters.vehicle;
        Ok(Self {
            brake_mps2: vehicle.brake_mps2()?,
            reaction_s: vehicle.reaction_s()? + parameters.lag_s,
            veto_m: parameters.veto_m,
        })
    }

    /// How far an arc must be free at least, metres.
    fn needed_m(&self, curvature_per_m: f64, speed_mps: f64) -> f64 {
        // A vehicle that turns nearly on the spot gets nowhere; a quarter of a turn shows it another way.
        let quarter_m = FRAC_PI_2 / curvature_per_m.abs();
        self.veto_m.min(quarter_m).max(self.stop_m(speed_mps))
    }

    fn stop_m(&self, speed_mps: f64) -> f64 {
        speed_mps * self.reaction_s + speed_mps * speed_mps / (2.0 * self.brake_mps2)
    }

    /// At which speed the vehicle stops within a length, metres a second.
    fn speed_to_stop_within(&self, length_m: f64) -> f64 {
        let reaction_mps = self.brake_mps2 * self.reaction_s;
        (reaction_mps * reaction_mps + 2.0 * self.brake_mps2 * length_m).sqrt() - reaction_mps
    }
}

/// An arc, and how fast the vehicle is.
#[derive(Clone, Copy, Debug)]
struct Drive {
    curvature_per_m: f64,
    speed_mps: f64,
}

/// What a voter by the ground has in common with another.
#[derive(Debug)]
struct Watcher {
    parameters: HazardParameters,
    whereabouts: Whereabouts,
    fan: Fan,
    outline: Outline,
    /// For the cells of the last map.
    sweeper: Option<(u64, Sweeper)>,
    ground: Input<Map>,
    pose: Input<PoseTransform>,
    votes: Output<Vote>,
}

impl Watcher {
    fn build(
        parameters: HazardParameters,
        (voter, margin_m): (&str, f64),
        ports: &mut Ports,
    ) -> Result<Self, BuildError> {
        let fresh = Expect::within(parameters.deadline);
        Ok(Self {
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            fan: Fan::of(&parameters.vehicle, parameters.n_arcs_each_side)?,
            outline: Outline::of(&parameters.vehicle)?.grown(margin_m),
            sweeper: None,
            ground: ports.input_on(
                "ground",
                "How well the ground can be driven on.",
                fresh,
                "traverse",
            ),
            pose: ports.input_on("pose", "Where the vehicle is.", fresh, "pose"),
            votes: ports.output_on(
                "vote",
                "What it thinks of each arc.",
                &format!("vote.{voter}"),
            ),
            parameters,
        })
    }

    /// Votes with a new map, from where the vehicle is now.
    fn step(
        &mut self,
        step: &Step<'_>,
        out: &mut Outbox<'_>,
        voter: &str,
        judge: impl Fn(&HazardParameters, Swept, Drive) -> Judgement,
    ) {
        let Some(map) = step.arrived(self.ground) else {
            if step.is_stale(self.ground) || step.is_stale(self.pose) || step.is_start() {
                out.health(Health::Degraded(
                    "it has no map or no pose to judge by".into(),
                ));
            }
            return;
        };
        match self.judged(step, map.message(), voter, judge) {
            Ok(vote) => {
                out.health(Health::Good);
                out.send(self.votes, vote);
            }
            // Abstaining is an answer: the arbiter knows what to do without a vote.
            Err(why) => out.health(Health::Degraded(why)),
        }
    }

    fn judged(
        &mut self,
        step: &Step<'_>,
        map: &Map,
        voter: &str,
        judge: impl Fn(&HazardParameters, Swept, Drive) -> Judgement,
    ) -> Result<Vote, String> {
        let pose = step
            .fresh(self.pose)
            .ok_or("it has no pose to judge from")?;
        let place = self
            .whereabouts
            .place(&pose)
            .map_err(|why| why.to_string())?;
        let ground = Ground::new(map)?;
        let speed_mps = forward_speed_mps(&pose).unwrap_or(0.0);
        let sweeper = self.sweeper(ground.cell_m());
        let fan = &self.fan;
        let swept = |travel| Fanned::new(fan, &sweeper, (&ground, place), travel);
        let forward = swept(Travel::Forward);
        let may_back = speed_mps <= self.parameters.backward_below_mps;
        let backward = may_back.then(|| swept(Travel::Backward));
        let reason = reason(&forward, backward.as_ref());
        let judge = |fanned: Fanned<'_>| {
            let speed_mps = (fanned.travel.sign() * speed_mps).max(0.0);
            let mut each = fanned.swept.into_iter();
            let parameters = &self.parameters;
            let judge = &judge;
            move |curvature_per_m| {
                let drive = Drive {
                    curvature_per_m,
                    speed_mps,
                };
                let swept = each.next();
                swept.map_or(Judgement::INDIFFERENT, |it| judge(parameters, it, drive))
            }
        };
        // It rests on the older of the two.
        let utime = map.utime.min(pose.utime);
        let vote = vote_on((voter, reason), utime, place, fan, judge(forward));
        Ok(match backward {
            Some(backward) => with_arcs(vote, Travel::Backward, fan, judge(backward)),
            None => vote,
        })
    }

    fn sweeper(&mut self, cell_m: f64) -> Sweeper {
        let key = cell_m.to_bits();
        match &self.sweeper {
            Some((of, sweeper)) if *of == key => sweeper.clone(),
            Some(_) | None => {
                let parameters = &self.parameters;
                let sweeper = Sweeper::new(
                    self.outline,
                    cell_m,
                    parameters.length_m,
                    parameters.blocked_below,
                );
                self.sweeper = Some((key, sweeper.clone()));
                sweeper
            }
        }
    }
}

/// What following each arc of a fan comes to.
struct Fanned<'a> {
    fan: &'a Fan,
    travel: Travel,
    swept: Vec<Swept>,
}

impl<'a> Fanned<'a> {
    fn new(
        fan: &'a Fan,
        sweeper: &Sweeper,
        (ground, from): (&Ground<'_>, Place),
        travel: Travel,
    ) -> Self {
        let curvatures = fan.curvatures_per_m().iter();
        let swept = curvatures.map(|it| sweeper.sweep(ground, from, (*it, travel)));
        Self {
            fan,
            travel,
            swept: swept.collect(),
        }
    }

    /// What is nearest in the way, for people: as far ahead as it goes. `None` where nothing is to be reported.
    fn reason(&self) -> Option<String> {
        let curvatures = self.fan.curvatures_per_m();
        let nearest_m = self
            .swept
            .iter()
            .map(|it| it.free_m)
            .fold(f64::INFINITY, f64::min);
        let near = self
            .swept
            .iter()
            .zip(curvatures)
            .filter(|(swept, _)| swept.free_m.is_finite() && swept.free_m <= nearest_m + 0.5);
        let ahead = near.min_by(|(_, one), (_, two)| one.abs().total_cmp(&two.abs()));
        let (swept, curvature) = ahead?;
        let sharp = self.fan.max_per_m() / 3.0;
        let side = match (*curvature, self.travel) {
            // Once round, a sharp turn backward meets what is ahead.
            (curvature, Travel::Backward) if curvature.abs() > sharp => return None,
            (_, Travel::Backward) => "behind",
            (curvature, Travel::Forward) if curvature > sharp => "to the left",
            (curvature, Travel::Forward) if curvature < -sharp => "to the right",
            (_, Travel::Forward) => "ahead",
        };
        Some(format!("blocked after {:.1} m {side}", swept.free_m))
    }
}

/// Why a vote is as it is, for people.
fn reason(forward: &Fanned<'_>, backward: Option<&Fanned<'_>>) -> String {
    let ahead = forward.reason();
    let ahead = ahead.unwrap_or_else(|| "nothing in the way".to_owned());
    match backward.and_then(Fanned::reason) {
        Some(behind) => format!("{ahead}; backward, {behind}"),
        None => ahead,
    }
}

/// Vetoes arcs on which the vehicle could not stop in time.
#[derive(Debug)]
pub struct Hazard {
    watcher: Watcher,
    stopping: Stopping,
}

impl Build for Hazard {
    type Parameters = HazardParameters;

    fn build(parameters: HazardParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let margin_m = parameters.margin_m;
        Ok(Self {
            stopping: Stopping::of(&parameters)?,
            watcher: Watcher::build(parameters, ("hazard", margin_m), ports)?,
        })
    }
}

impl Component for Hazard {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let Self { watcher, stopping } = self;
        watcher.step(step, out, "hazard", |parameters, swept, drive| {
            let needed_m = stopping.needed_m(drive.curvature_per_m, drive.speed_mps);
            let careful_mps = stopping.speed_to_stop_within(swept.known_m);
            Judgement {
                veto: swept.free_m < needed_m,
                max_speed_mps: careful_mps.max(parameters.unknown_speed_mps),
                free_m: swept.free_m,
                ..Judgement::INDIFFERENT
            }
        });
    }
}

/// Prefers arcs with room around them and good ground under them.
#[derive(Debug)]
pub struct Avoidance(Watcher);

/// How much more room than it needs the vehicle likes to have, metres on either side for each metre of its margin.
const COMFORT: f64 = 2.5;

impl Build for Avoidance {
    type Parameters = HazardParameters;

    fn build(parameters: HazardParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        let margin_m = parameters.margin_m * COMFORT;
        let watcher = Watcher::build(parameters, ("avoidance", margin_m), ports);
        Ok(Self(watcher?))
    }
}

impl Component for Avoidance {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        self.0.step(step, out, "avoidance", |parameters, swept, _| {
            let room = (swept.free_m / parameters.length_m).min(1.0);
            Judgement {
                // From -1 where the vehicle would touch something at once to the worst ground's worth where nothing is.
                vote: if swept.free_m.is_finite() {
                    2.0 * room - 1.0
                } else {
                    swept.worst
                },
                confidence: 0.5,
                ..Judgement::INDIFFERENT
            }
        });
    }
}

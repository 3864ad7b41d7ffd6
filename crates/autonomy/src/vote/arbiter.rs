//! DRDC's `ArcArbiter`: the only component that commands the vehicle.

use super::ballot::{Ballots, Fault};
use super::decide::{Decision, Lead, Motion, Rules, Voter, decide};
use crate::{Agility, Fan, Jump, JumpWatch, Place, Travel, Whereabouts};
use bowline_component::{
    Build, BuildError, Component, Expect, Health, Input, Outbox, Output, Parameters, Ports, Step,
    Time, Vehicle,
};
use bowline_msgs::{Arbitration, PoseTransform, Velocity, Vote};
use std::time::Duration;

bowline_component::parameters! {
    /// Who votes, and how arcs and speeds are chosen.
    pub struct ArbiterParameters {
        in vehicle: Vehicle;
        /// The voters; each has a port of its name, on vote.NAME by default.
        voters: Vec<String> = vec!["hazard".into(), "waypoint".into()];
        /// How much each one's votes weigh, in the order of voters; without it all weigh 1.
        weights: Vec<f64> = Vec::new();
        /// Those without whom the vehicle stops; arcs that they have not judged are not driven.
        required: Vec<String> = vec!["hazard".into()];
        /// Those who want to go somewhere: without any of them the vehicle stops.
        leaders: Vec<String> = vec!["waypoint".into()];
        /// The leader whose votes are a person's. While they count, no other leader does, unless it is required, and the
        /// vehicle can be driven backward; without a name there is none.
        person: String = String::new();
        /// Arcs on each side of straight on.
        n_arcs_each_side: i64 = 20, within 1..=500;
        /// Never faster, metres a second.
        max_speed_mps: f64 = 2.0, within 0.0..=50.0 => live;
        /// Slower than this is not driving, metres a second.
        min_speed_mps: f64 = 0.05, within 0.001..=10.0;
        /// What is left between the vehicle and whatever is in the way, metres.
        margin_m: f64 = 0.5, within 0.0..=20.0;
        /// What a turn may press to the side, metres a second squared.
        side_mps2: f64 = 2.0, within 0.1..=20.0;
        /// How fast the curvature may change, 1/metres a second.
        max_curvature_rate: f64 = 0.7, within 0.001..=1000.0;
        /// Arcs within this share of the best one's lead over the worst are as good as it.
        band: f64 = 0.1, within 0.0..=1.0;
        /// Up to this age a required vote is as good as new; from then on speed falls, to nothing at the deadline.
        fresh: Duration = Duration::from_millis(250);
        /// From this age on a vote does not count.
        deadline: Duration = Duration::from_millis(400);
        /// A vote does not count if the vehicle has moved so far since, metres.
        max_moved_m: f64 = 2.0, within 0.0..=100.0;
        /// Nor if it has turned so far, radians.
        max_turned_rad: f64 = 0.5, within 0.0..=3.2;
        /// Faster than this the vehicle does not move, metres a second: a pose that is further off is a jump.
        jump_mps: f64 = 10.0, within 0.1..=1000.0;
        /// Nor does it turn faster than this, radians a second.
        jump_radps: f64 = 3.0, within 0.1..=1000.0;
        /// After a jump of the pose the vehicle stands still for so long.
        settle: Duration = Duration::from_secs(2);
        /// How often it decides even without new votes, times a second.
        rate_hz: f64 = 20.0, within 1.0..=1000.0;
    }
}

impl ArbiterParameters {
    fn rules(&self) -> Result<Rules, BuildError> {
        let vehicle = &self.vehicle;
        Ok(Rules {
            fan: Fan::of(vehicle, self.n_arcs_each_side)?,
            max_speed_mps: self.max_speed_mps,
            min_speed_mps: self.min_speed_mps,
            brake_mps2: vehicle.brake_mps2()?,
            reaction_s: vehicle.reaction_s()?,
            margin_m: self.margin_m,
            side_mps2: self.side_mps2,
            max_turn_radps: vehicle.max_turn_radps()?,
            max_curvature_rate: self.max_curvature_rate,
            band: self.band,
            fresh_s: self.fresh.as_secs_f64(),
            deadline_s: self.deadline.as_secs_f64(),
            max_moved_m: self.max_moved_m,
            max_turned_rad: self.max_turned_rad,
        })
    }
}

/// Combines votes into one command.
#[derive(Debug)]
pub struct Arbiter {
    parameters: ArbiterParameters,
    rules: Rules,
    wheelbase_m: f64,
    whereabouts: Whereabouts,
    seats: Vec<Seat>,
    pose: Input<PoseTransform>,
    command: Output<Velocity>,
    why: Output<Arbitration>,
    last: Option<(Time, f64)>,
    watch: JumpWatch,
    /// The last jump of the pose: when, and how far.
    jumped: Option<(Time, Jump)>,
}

/// A voter's place at the table, with its latest vote.
#[derive(Debug)]
struct Seat {
    name: String,
    weight: f64,
    is_required: bool,
    lead: Lead,
    votes: Input<Vote>,
    ballots: Result<Ballots, Fault>,
}

impl Build for Arbiter {
    type Parameters = ArbiterParameters;

    fn build(parameters: ArbiterParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        check(&parameters)?;
        let mut names = parameters.voters.clone();
        names.sort();
        let seat = |name: &String| {
            let nth = parameters.voters.iter().position(|it| it == name);
            let weight = nth.and_then(|nth| parameters.weights.get(nth));
            Seat {
                weight: weight.copied().unwrap_or(1.0),
                is_required: parameters.required.contains(name),
                lead: match parameters.leaders.contains(name) {
                    true if parameters.person == *name => Lead::Person,
                    true => Lead::Mission,
                    false => Lead::No,
                },
                votes: ports.input_on(
                    name,
                    &format!("What {name} thinks of each arc."),
                    Expect::within(parameters.deadline),
                    &format!("vote.{name}"),
                ),
                ballots: Err(Fault::Silent),
                name: name.clone(),
            }
        };
        let seats = names.iter().map(seat).collect();
        ports.tick(crate::period(parameters.rate_hz));
        let watch = JumpWatch::new(Agility {
            max_speed_mps: parameters.jump_mps,
            max_turn_radps: parameters.jump_radps,
        });
        Ok(Self {
            rules: parameters.rules()?,
            wheelbase_m: parameters.vehicle.wheelbase_m()?,
            whereabouts: Whereabouts::of(&parameters.vehicle)?,
            seats,
            pose: ports.input_on(
                "pose",
                "Where the vehicle is.",
                Expect::within(parameters.deadline),
                "pose",
            ),
            command: ports.output_on("command", "How the vehicle is to move.", "command"),
            why: ports.output_on("why", "Why it is to move so.", "arbiter"),
            parameters,
            last: None,
            watch,
            jumped: None,
        })
    }
}

fn check(parameters: &ArbiterParameters) -> Result<(), BuildError> {
    let voters = &parameters.voters;
    for (what, names) in [
        ("required", &parameters.required),
        ("leaders", &parameters.leaders),
    ] {
        if let Some(name) = names.iter().find(|name| !voters.contains(name)) {
            return Err(format!("{what} has {name:?}, who is not among voters").into());
        }
    }
    if parameters.leaders.is_empty() {
        return Err(
            "without leaders the vehicle never moves: name those who want to go somewhere".into(),
        );
    }
    let person = &parameters.person;
    if !person.is_empty() && !parameters.leaders.contains(person) {
        return Err(format!("person is {person:?}, who is not among leaders").into());
    }
    if parameters.required.contains(person) {
        return Err(
            format!("required has {person:?}: without a person the vehicle never moves").into(),
        );
    }
    let weights = &parameters.weights;
    if !weights.is_empty() && weights.len() != voters.len() {
        return Err(format!(
            "weights has {} numbers for {} voters",
            weights.len(),
            voters.len()
        )
        .into());
    }
    if !weights.iter().all(|weight| (0.0..=1e6).contains(weight)) {
        return Err("weights are from 0 to 1000000".into());
    }
    if parameters.fresh >= parameters.deadline {
        return Err("fresh must be shorter than deadline".into());
    }
    Ok(())
}

impl Component for Arbiter {
    fn step(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let half_spacing_per_m = self.rules.fan.spacing_per_m() / 2.0;
        let mut has_voted = false;
        for seat in &mut self.seats {
            if let Some(vote) = step.arrived(seat.votes) {
                has_voted = true;
                seat.ballots = if vote.voter == seat.name {
                    Ballots::new(&vote, half_spacing_per_m)
                } else {
                    Err(Fault::Foreign {
                        found: vote.voter.clone(),
                    })
                };
            }
        }
        if let Some(pose) = step.arrived(self.pose) {
            self.watch_for_jumps(step.now(), &pose);
        }
        // What is so of the vehicle was there at the start, and does not change.
        if step.is_parameter_change()
            && let Ok(rules) = self.parameters.rules()
        {
            self.rules = rules;
        }
        if has_voted || step.is_tick() || step.is_start() {
            self.decide(step, out);
        }
    }

    fn parameters(&mut self) -> Option<&mut dyn Parameters> {
        Some(&mut self.parameters)
    }
}

impl Arbiter {
    fn decide(&mut self, step: &Step<'_>, out: &mut Outbox<'_>) {
        let now = step.now();
        let here = self.here(step);
        let (travel, voters) = self.voters(now, here.as_ref().ok());
        let motion = self.motion(now);
        let decision = match &here {
            Ok(_) => decide(&self.rules, &voters, motion, now.utime()),
            Err(why) => Decision {
                chosen: None,
                reason: why.clone(),
                totals: vec![0.0; self.rules.fan.curvatures_per_m().len()],
                vetoed_by: vec![None; self.rules.fan.curvatures_per_m().len()],
            },
        };
        // A wheel that is held does not make a stop sharper.
        let curvature_per_m = decision
            .chosen
            .map_or(motion.curvature_per_m, |chosen| chosen.curvature_per_m);
        let speed_mps = decision
            .chosen
            .map_or(0.0, |chosen| travel.sign() * chosen.speed_mps);
        out.send(
            self.command,
            Velocity {
                utime: now.utime(),
                steering_rad: (curvature_per_m * self.wheelbase_m).atan(),
                speed_mps,
            },
        );
        out.send(
            self.why,
            explain(
                now,
                (curvature_per_m, speed_mps),
                &decision,
                &voters,
                &self.rules,
            ),
        );
        out.health(match decision.chosen {
            Some(_) => Health::Good,
            None => Health::Degraded(decision.reason),
        });
        self.last = Some((now, curvature_per_m));
    }

    /// The voters for the way of travel: backward only for a person, and other leaders do not count then.
    fn voters(&self, now: Time, here: Option<&Place>) -> (Travel, Vec<Voter<'_>>) {
        let moment = (now, here);
        let person = self.seats.iter().find(|seat| seat.lead == Lead::Person);
        let is_led = |travel: &Travel| {
            let voter = person.map(|it| it.voter(&self.rules, moment, *travel));
            voter.is_some_and(|it| it.ballot.is_ok())
        };
        let led = [Travel::Forward, Travel::Backward].into_iter().find(is_led);
        let travel = led.unwrap_or_default();
        let voters = self.seats.iter().map(|seat| {
            let voter = seat.voter(&self.rules, moment, travel);
            let is_overruled = seat.lead == Lead::Mission && !seat.is_required;
            match person.filter(|_| led.is_some() && is_overruled) {
                Some(person) => Voter {
                    ballot: Err(Fault::Overruled {
                        by: person.name.clone(),
                    }),
                    ..voter
                },
                None => voter,
            }
        });
        (travel, voters.collect())
    }

    /// A place that no vehicle could have moved to means that one of the two is wrong, and so is what voters knew.
    fn watch_for_jumps(&mut self, now: Time, pose: &PoseTransform) {
        if let Ok(vehicle) = self.whereabouts.vehicle(pose)
            && let Some(jump) = self.watch.see(pose.utime, vehicle)
        {
            self.jumped = Some((now, jump));
        }
    }

    fn here(&self, step: &Step<'_>) -> Result<Place, String> {
        if let Some((at, jump)) = self.jumped
            && step.now().since(at) < self.parameters.settle
        {
            return Err(format!("stopped: {jump}"));
        }
        let pose = step
            .fresh(self.pose)
            .ok_or("stopped: where the vehicle is is not known")?;
        self.whereabouts
            .place(&pose)
            .map_err(|why| format!("stopped: {why}"))
    }

    fn motion(&self, now: Time) -> Motion {
        match self.last {
            Some((last, curvature_per_m)) => Motion {
                curvature_per_m,
                elapsed_s: now.since(last).as_secs_f64(),
            },
            None => Motion {
                curvature_per_m: 0.0,
                elapsed_s: 0.0,
            },
        }
    }
}

impl Seat {
    fn voter(
        &self,
        rules: &Rules,
        (now, here): (Time, Option<&Place>),
        travel: Travel,
    ) -> Voter<'_> {
        let ballot = match (&self.ballots, here) {
            (Ok(ballots), Some(here)) => {
                let ballot = ballots.of(travel);
                ballot.and_then(|it| rules.admit(it, now.utime(), *here))
            }
            (Ok(_), None) => Err(Fault::Nonsense("where the vehicle is is not known")),
            (Err(fault), _) => Err(fault.clone()),
        };
        Voter {
            name: &self.name,
            weight: self.weight,
            is_required: self.is_required,
            lead: self.lead,
            ballot,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what people look at needs no more than single precision"
)]
fn explain(
    now: Time,
    (curvature_per_m, speed_mps): (f64, f64),
    decision: &Decision,
    voters: &[Voter<'_>],
    rules: &Rules,
) -> Arbitration {
    let name = |idx: &Option<usize>| {
        idx.and_then(|idx| voters.get(idx))
            .map_or_else(String::new, |voter| voter.name.to_owned())
    };
    let fan = rules.fan.curvatures_per_m();
    Arbitration {
        utime: now.utime(),
        stopped: decision.chosen.is_none(),
        curvature_per_m: curvature_per_m as f32,
        speed_mps: speed_mps as f32,
        reason: decision.reason.clone(),
        curvatures_per_m: fan.iter().map(|it| *it as f32).collect(),
        // From log-odds back to votes.
        totals: decision
            .totals
            .iter()
            .map(|total| (total / 2.0).tanh() as f32)
            .collect(),
        vetoed_by: decision.vetoed_by.iter().map(name).collect(),
        voters: voters.iter().map(|voter| voter.name.to_owned()).collect(),
        faults: voters
            .iter()
            .map(|voter| {
                voter
                    .ballot
                    .as_ref()
                    .err()
                    .map_or_else(String::new, Fault::to_string)
            })
            .collect(),
        ..Arbitration::default()
    }
    .with_lengths()
}

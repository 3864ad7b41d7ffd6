//! From votes to one command: a function of the latest votes, whatever the order they came in.

use super::ballot::{Ballot, Fault, Opinion};
use crate::{Fan, Place};

/// One who may vote, and what counts of it now.
#[derive(Clone, Debug)]
pub struct Voter<'a> {
    /// What it is called.
    pub name: &'a str,
    /// How much its votes weigh.
    pub weight: f64,
    /// Whether the vehicle must not move without it.
    pub is_required: bool,
    /// Whether it wants to go somewhere.
    pub lead: Lead,
    /// Its latest vote, or why there is none that counts.
    pub ballot: Result<&'a Ballot, Fault>,
}

/// Whether a voter wants to go somewhere; the vehicle moves only if one such voter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// It judges where others go.
    No,
    /// It goes where a mission or a plan does.
    Mission,
    /// Its votes are a person's: what it vetoes is farther from what the person asks for than the vehicle may go.
    Person,
}

/// How arcs and speeds are chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The arcs to choose from.
    pub fan: Fan,
    /// Never faster, metres a second.
    pub max_speed_mps: f64,
    /// Slower than this is not driving, metres a second.
    pub min_speed_mps: f64,
    /// How hard the vehicle surely brakes, metres a second squared.
    pub brake_mps2: f64,
    /// How long it takes until it does, seconds.
    pub reaction_s: f64,
    /// What is left between the vehicle and whatever is in the way, metres.
    pub margin_m: f64,
    /// What a turn may press to the side, metres a second squared.
    pub side_mps2: f64,
    /// How fast the vehicle may turn, radians a second.
    pub max_turn_radps: f64,
    /// How fast the curvature may change, 1/metres a second.
    pub max_curvature_rate: f64,
    /// Arcs within this share of the best one's lead over the worst are as good as it.
    pub band: f64,
    /// Up to this age a required vote is as good as new, seconds; from then on speed falls, to nothing at `deadline_s`.
    pub fresh_s: f64,
    /// From this age on a vote does not count, seconds.
    pub deadline_s: f64,
    /// A vote does not count if the vehicle has moved so far since, metres.
    pub max_moved_m: f64,
    /// Nor if it has turned so far, radians.
    pub max_turned_rad: f64,
}

/// The state that a decision goes on from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// The last commanded curvature, 1/metres.
    pub curvature_per_m: f64,
    /// Seconds since then.
    pub elapsed_s: f64,
}

/// What is commanded, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is commanded; `None` is to stop.
    pub chosen: Option<Chosen>,
    /// Why, for people.
    pub reason: String,
    /// What all votes for each arc of the fan came to, log-odds.
    pub totals: Vec<f64>,
    /// Who vetoes each arc of the fan, by the voter's number.
    pub vetoed_by: Vec<Option<usize>>,
}

/// An arc and a speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// 1/metres, to the left positive.
    pub curvature_per_m: f64,
    /// Metres a second.
    pub speed_mps: f64,
}

impl Rules {
    /// A vote as it counts now: young enough, and of about here.
    ///
    /// # Errors
    ///
    /// Why it does not count.
    pub fn admit<'a>(
        &self,
        ballot: &'a Ballot,
        now_utime: i64,
        here: Place,
    ) -> Result<&'a Ballot, Fault> {
        // A vote from the future is as wrong as an old one.
        let age_s = age_s(ballot, now_utime);
        if !(-self.deadline_s..self.deadline_s).contains(&age_s) {
            return Err(Fault::Old { age_s });
        }
        let (moved_m, turned_rad) = ballot.place.apart(here);
        if moved_m > self.max_moved_m || turned_rad > self.max_turned_rad {
            return Err(Fault::Elsewhere {
                moved_m,
                turned_deg: turned_rad.to_degrees(),
            });
        }
        Ok(ballot)
    }

    /// The greatest speed at which the vehicle stops within a length, metres a second.
    #[must_use]
    pub fn speed_to_stop_within(&self, free_m: f64) -> f64 {
        let room_m = (free_m - self.margin_m).max(0.0);
        let reaction_mps = self.brake_mps2 * self.reaction_s;
        // v * reaction + v^2 / (2 brake) = room, solved for v.
        (reaction_mps * reaction_mps + 2.0 * self.brake_mps2 * room_m).sqrt() - reaction_mps
    }

    /// As fast as the robot may on a curvature before any vote, metres a second.
    fn own_speed(&self, curvature_per_m: f64) -> (f64, Limit) {
        let side_mps = (self.side_mps2 / curvature_per_m.abs()).sqrt();
        let turn_mps = side_mps.min(self.max_turn_radps / curvature_per_m.abs());
        if turn_mps < self.max_speed_mps {
            (turn_mps, Limit::Turn)
        } else {
            (self.max_speed_mps, Limit::Robot)
        }
    }

    /// No faster than this when a required vote is so old, metres a second.
    fn speed_by_age(&self, age_s: f64) -> f64 {
        let span_s = (self.deadline_s - self.fresh_s).max(f64::MIN_POSITIVE);
        ((self.deadline_s - age_s) / span_s).clamp(0.0, 1.0) * self.max_speed_mps
    }
}

fn age_s(ballot: &Ballot, now_utime: i64) -> f64 {
    now_utime.saturating_sub(ballot.utime) as f64 / 1e6
}

/// What keeps the speed from being greater.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Robot,
    Turn,
    Voter(usize),
    Obstacle(usize),
    Age(usize),
}

impl Limit {
    fn words(self, voters: &[Voter<'_>]) -> String {
        let name = |idx: usize| voters.get(idx).map_or("?", |voter| voter.name);
        match self {
            Self::Robot => "as fast as it may".to_owned(),
            Self::Turn => "slower for the turn".to_owned(),
            Self::Voter(idx) => format!("{} limits the speed", name(idx)),
            Self::Obstacle(idx) => format!("{} sees something in the way", name(idx)),
            Self::Age(idx) => format!("{} has little new", name(idx)),
        }
    }
}

/// Weighs votes, and chooses an arc and a speed.
///
/// For every input: no curvature is chosen that a voter that counts vetoes, or that a required one has not judged; the speed
/// is at most what each of them allows on it, and such that the vehicle stops before what is in the way; without all
/// required voters and one leader, the vehicle stops. On the way to an arc that a person asks for, what the person vetoes
/// may be passed.
#[must_use]
pub fn decide(rules: &Rules, voters: &[Voter<'_>], motion: Motion, now_utime: i64) -> Decision {
    let table = Table {
        rules,
        voters,
        now_utime,
        is_passing: false,
    };
    let weighed = table.weigh_fan();
    let stop = |reason| Decision {
        chosen: None,
        reason,
        totals: weighed.iter().map(|it| it.total).collect(),
        vetoed_by: weighed.iter().map(|it| it.vetoed_by).collect(),
    };
    if let Some(reason) = missing(voters) {
        return stop(reason);
    }
    let Some(wanted) = best(rules, &weighed, motion.curvature_per_m) else {
        let straight_on = table.weigh(motion.curvature_per_m);
        return stop(table.nothing_left(&weighed, straight_on.limit));
    };
    let most = rules.max_curvature_rate * motion.elapsed_s;
    let smooth = motion.curvature_per_m + (wanted - motion.curvature_per_m).clamp(-most, most);
    let may = |table: Table<'_>, curvature: f64| {
        let weighed = table.weigh(curvature);
        weighed.fits(rules).then_some((curvature, weighed))
    };
    let passing = Table {
        is_passing: true,
        ..table
    };
    // What is on the way from the last arc to the next may be vetoed: then smoothness has to go.
    let Some((curvature_per_m, chosen)) = may(passing, smooth).or_else(|| may(table, wanted))
    else {
        return stop("stopped: no arc between those that are left".to_owned());
    };
    Decision {
        chosen: Some(Chosen {
            curvature_per_m,
            speed_mps: chosen.speed_mps,
        }),
        ..stop(chosen.limit.words(voters))
    }
}

/// Everything that a curvature is weighed by.
#[derive(Clone, Copy)]
struct Table<'a> {
    rules: &'a Rules,
    voters: &'a [Voter<'a>],
    now_utime: i64,
    /// Whether the curvature is only on the way to one that a person has not vetoed.
    is_passing: bool,
}

/// What all voters together think of a curvature.
#[derive(Clone, Copy)]
struct Weighed {
    total: f64,
    vetoed_by: Option<usize>,
    speed_mps: f64,
    limit: Limit,
}

impl Weighed {
    fn fits(&self, rules: &Rules) -> bool {
        self.vetoed_by.is_none() && self.speed_mps >= rules.min_speed_mps
    }

    fn limit(&mut self, speed_mps: f64, limit: Limit) {
        if speed_mps < self.speed_mps {
            (self.speed_mps, self.limit) = (speed_mps, limit);
        }
    }
}

impl Table<'_> {
    fn weigh_fan(&self) -> Vec<Weighed> {
        let fan = self.rules.fan.curvatures_per_m();
        let mut weighed: Vec<Weighed> = fan.iter().map(|it| self.unweighed(*it)).collect();
        for (idx, voter) in self.voters.iter().enumerate() {
            let Ok(ballot) = voter.ballot else {
                continue;
            };
            for (weighed, opinion) in weighed.iter_mut().zip(ballot.along(fan)) {
                self.add(weighed, (idx, voter), opinion);
            }
            self.add_age(&mut weighed, (idx, voter), ballot);
        }
        weighed
    }

    fn weigh(&self, curvature_per_m: f64) -> Weighed {
        let mut weighed = [self.unweighed(curvature_per_m)];
        for (idx, voter) in self.voters.iter().enumerate() {
            let Ok(ballot) = voter.ballot else {
                continue;
            };
            let opinion = ballot.at(curvature_per_m);
            for weighed in &mut weighed {
                self.add(weighed, (idx, voter), opinion);
            }
            self.add_age(&mut weighed, (idx, voter), ballot);
        }
        let [weighed] = weighed;
        weighed
    }

    fn unweighed(&self, curvature_per_m: f64) -> Weighed {
        let (speed_mps, limit) = self.rules.own_speed(curvature_per_m);
        Weighed {
            total: 0.0,
            vetoed_by: None,
            speed_mps,
            limit,
        }
    }

    fn add(&self, weighed: &mut Weighed, (idx, voter): (usize, &Voter<'_>), opinion: Opinion) {
        weighed.total += voter.weight * opinion.favour;
        let is_vetoed = opinion.is_vetoed && !(voter.lead == Lead::Person && self.is_passing);
        if is_vetoed || (voter.is_required && !opinion.is_judged) {
            // A person who is stopped has to know by what else.
            let first = weighed.vetoed_by;
            weighed.vetoed_by = first.filter(|it| !self.is_person(*it)).or(Some(idx));
        }
        weighed.limit(opinion.max_speed_mps, Limit::Voter(idx));
        if opinion.free_m.is_finite() {
            let speed_mps = self.rules.speed_to_stop_within(opinion.free_m);
            weighed.limit(speed_mps, Limit::Obstacle(idx));
        }
    }

    fn add_age(&self, weighed: &mut [Weighed], (idx, voter): (usize, &Voter<'_>), ballot: &Ballot) {
        if voter.is_required {
            let speed_mps = self.rules.speed_by_age(age_s(ballot, self.now_utime));
            for weighed in weighed {
                weighed.limit(speed_mps, Limit::Age(idx));
            }
        }
    }

    fn is_person(&self, idx: usize) -> bool {
        self.voters
            .get(idx)
            .is_some_and(|voter| voter.lead == Lead::Person)
    }

    /// A voter and its reason, for people.
    fn words(&self, idx: usize) -> String {
        match self.voters.get(idx) {
            Some(Voter {
                name,
                ballot: Ok(ballot),
                ..
            }) => format!("{name}: {}", ballot.reason),
            Some(voter) => voter.name.to_owned(),
            None => "?".to_owned(),
        }
    }

    /// Why no arc is left, for people, and what limits the one that was driven last.
    fn nothing_left(&self, weighed: &[Weighed], last: Limit) -> String {
        let name = |idx: usize| self.voters.get(idx).map_or("?", |voter| voter.name);
        if weighed.iter().all(|arc| arc.vetoed_by.is_some()) {
            let vetoes = weighed.iter().filter_map(|arc| arc.vetoed_by);
            let is_led = self
                .voters
                .iter()
                .any(|it| it.lead == Lead::Person && it.ballot.is_ok());
            if is_led {
                let mut others: Vec<usize> = vetoes.filter(|idx| !self.is_person(*idx)).collect();
                others.sort_unstable();
                others.dedup();
                let words: Vec<String> = others.into_iter().map(|idx| self.words(idx)).collect();
                return format!(
                    "stopped: what the person asks for is vetoed by {}",
                    words.join(" and ")
                );
            }
            let mut names: Vec<&str> = vetoes.map(name).collect();
            names.sort_unstable();
            names.dedup();
            return format!("stopped: every arc is vetoed, by {}", names.join(" and "));
        }
        match last {
            Limit::Voter(idx) => format!("stopped by {}", self.words(idx)),
            Limit::Robot | Limit::Turn | Limit::Obstacle(_) | Limit::Age(_) => {
                format!("stopped: {}", last.words(self.voters))
            }
        }
    }
}

/// Why the vehicle must not move, whatever the votes are.
fn missing(voters: &[Voter<'_>]) -> Option<String> {
    let required = voters
        .iter()
        .filter(|voter| voter.is_required)
        .find_map(|voter| Some((voter.name, voter.ballot.as_ref().err()?)));
    if let Some((name, fault)) = required {
        return Some(format!("stopped without {name}: {fault}"));
    }
    let is_led = voters
        .iter()
        .any(|voter| voter.lead != Lead::No && voter.ballot.is_ok());
    (!is_led).then(|| "stopped: no voter has a direction".to_owned())
}

/// The middle of the best arcs: of those that are nearly as good as the best and side by side, the widest such stretch, or
/// the one nearest to the last arc unless it is much narrower, weighed by how good they are.
fn best(rules: &Rules, weighed: &[Weighed], last_per_m: f64) -> Option<f64> {
    let fitting = || {
        weighed
            .iter()
            .filter(|arc| arc.fits(rules))
            .map(|arc| arc.total)
    };
    let highest = fitting().reduce(f64::max)?;
    let lowest = fitting().reduce(f64::min)?;
    let enough = highest - rules.band * (highest - lowest);
    let fan = rules.fan.curvatures_per_m();
    let good: Vec<(usize, f64)> = weighed
        .iter()
        .enumerate()
        .filter(|(_, arc)| arc.fits(rules) && arc.total >= enough)
        .map(|(idx, arc)| (idx, arc.total))
        .collect();
    let stretches = good.chunk_by(|(one, _), (two, _)| one + 1 == *two);
    let middle = |stretch: &[(usize, f64)]| middle(stretch, fan, enough);
    let away = |stretch: &[(usize, f64)]| (middle(stretch) - last_per_m).abs();
    let widest = stretches.clone().max_by_key(|stretch| stretch.len())?;
    let nearest = stretches.min_by(|one, two| away(one).total_cmp(&away(two)))?;
    let chosen = if nearest.len() * 2 >= widest.len() {
        nearest
    } else {
        widest
    };
    Some(middle(chosen))
}

fn middle(stretch: &[(usize, f64)], fan: &[f64], enough: f64) -> f64 {
    // Where all are equally good, each counts as much.
    let weight = |total: f64| total - enough + f64::EPSILON;
    let (mut sum, mut moment) = (0.0, 0.0);
    for (idx, total) in stretch {
        let Some(curvature) = fan.get(*idx) else {
            continue;
        };
        sum += weight(*total);
        moment += weight(*total) * curvature;
    }
    moment / sum
}

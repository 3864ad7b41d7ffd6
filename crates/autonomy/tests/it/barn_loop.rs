//! A tiny loop to try drivers in the worlds of BARN: an ideal laser, a vehicle with limited acceleration, exact contact.
//!
//! It is no simulator: nothing slips and nothing is noisy.

use bowline_autonomy::Place;
use bowline_autonomy::plan::drive::DriveRule;
use bowline_autonomy::plan::dwa::{WindowRule, drive_window};
use bowline_autonomy::plan::field::{Area, Field};
use bowline_autonomy::plan::model::{Control, Model};
use bowline_autonomy::plan::pilot::{Pilot, PilotRule};
use bowline_autonomy::plan::search::{Goal, Settings};
use bowline_autonomy::plan::sparse::SparseMap;
use bowline_autonomy::plan::sweep::{Outline, Sweep};
use bowline_autonomy::plan::worlds::Random;

/// A world: cylinders to go round, and how long the reference path is, metres.
pub(crate) struct World {
    pub(crate) cylinders_m: Vec<[f64; 2]>,
    pub(crate) radius_m: f64,
    pub(crate) reference_m: f64,
}

pub(crate) const START: Place = Place::new(-2.25, 3.0, std::f64::consts::FRAC_PI_2);
pub(crate) const GOAL_M: [f64; 2] = [-2.25, 13.0];

/// The Jackal, around the middle of its wheels.
pub(crate) const JACKAL: Outline = Outline {
    front_m: 0.254,
    rear_m: 0.254,
    half_width_m: 0.215,
    margin_m: 0.0,
};

/// From the text of a file: the numbers after a name, in the order in which they stand.
fn numbers(text: &str, name: &str) -> Vec<f64> {
    let (_, rest) = text.split_once(&format!("\"{name}\":")).expect(name);
    let end = rest.find(['"', '}']).unwrap_or(rest.len());
    rest[..end]
        .split(['[', ']', ',', ' '])
        .filter_map(|number| number.parse().ok())
        .collect()
}

pub(crate) fn read(text: &str) -> World {
    let pairs = |name| -> Vec<[f64; 2]> {
        let numbers = numbers(text, name);
        numbers.as_chunks::<2>().0.to_vec()
    };
    let cells = pairs("reference_path");
    let middle = cells
        .iter()
        .map(|[i, j]| [0.15 * i - 4.575, 0.15 * j + 5.075]);
    let path: Vec<[f64; 2]> = [START.position_m()]
        .into_iter()
        .chain(middle)
        .chain([GOAL_M])
        .collect();
    World {
        cylinders_m: pairs("cylinders_xy_m"),
        radius_m: numbers(text, "cylinder_radius_m")[0],
        reference_m: path
            .windows(2)
            .map(|two| (two[1][0] - two[0][0]).hypot(two[1][1] - two[0][1]))
            .sum(),
    }
}

impl World {
    /// Where the beams of the laser meet something: 720 over 270 degrees, up to 10 m.
    pub(crate) fn scan(&self, place: Place, noise_m: f64, random: &mut Random) -> Vec<[f64; 2]> {
        let at: Vec<[f64; 2]> = self
            .cylinders_m
            .iter()
            .map(|cylinder| place.see(*cylinder))
            .collect();
        let beams = (0..720).filter_map(|nth| {
            let bearing = (-135.0 + 270.0 * f64::from(nth) / 719.0_f64).to_radians();
            let (sin, cos) = bearing.sin_cos();
            let meets = at.iter().filter_map(|[x, y]| {
                let along = cos * x + sin * y;
                let aside = cos * y - sin * x;
                let half2 = self.radius_m * self.radius_m - aside * aside;
                (half2 >= 0.0 && along > 0.0).then(|| along - half2.sqrt())
            });
            let range = meets.fold(10.0, f64::min);
            // Near enough to a Gauss curve: the sum of three even ones.
            let noise: f64 = (0..3).map(|_| random.within(-1.0, 1.0)).sum();
            let measured = range + noise * noise_m;
            (range < 10.0).then(|| place.point([measured * cos, measured * sin]))
        });
        beams.collect()
    }

    pub(crate) fn is_contact(&self, place: Place) -> bool {
        self.cylinders_m.iter().any(|cylinder| {
            let [x, y] = place.see(*cylinder);
            let gap_x = (x.abs() - JACKAL.front_m).max(0.0);
            let gap_y = (y.abs() - JACKAL.half_width_m).max(0.0);
            gap_x.hypot(gap_y) < self.radius_m
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Goal,
    Contact,
    Timeout,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) end: End,
    pub(crate) took_s: f64,
    pub(crate) metric: f64,
    pub(crate) place: Place,
}

const PERIOD_S: f64 = 0.05;

/// Lets a driver drive: told the hits, the place and what it does, it says what to do.
pub(crate) fn run(
    world: &World,
    noise_m: f64,
    mut drive: impl FnMut(Vec<[f64; 2]>, Place, Control) -> Control,
) -> Run {
    let mut random = Random::new(1);
    let mut place = START;
    let mut now = Control::default();
    let mut wanted = Control::default();
    let mut at_s = 0.0;
    let mut end = End::Timeout;
    let mut anchor = (0.0, place);
    'driving: while at_s < 100.0 {
        // One that stays within half a metre for 15 s will not arrive.
        if place.apart(anchor.1).0 > 0.5 {
            anchor = (at_s, place);
        } else if at_s - anchor.0 > 15.0 {
            at_s = 100.0;
            break;
        }
        // A command takes effect a period after what it rests on was seen.
        let next = drive(world.scan(place, noise_m, &mut random), place, now);
        for _ in 0..5 {
            let dt = PERIOD_S / 5.0;
            now.speed_mps += (wanted.speed_mps - now.speed_mps).clamp(-4.0 * dt, 3.0 * dt);
            now.turn_radps += (wanted.turn_radps - now.turn_radps).clamp(-12.0 * dt, 12.0 * dt);
            place = now.advance(&place, dt);
            at_s += dt;
            if world.is_contact(place) {
                end = End::Contact;
                break 'driving;
            }
            if (place.x_m - GOAL_M[0]).hypot(place.y_m - GOAL_M[1]) < 1.0 {
                end = End::Goal;
                break 'driving;
            }
        }
        wanted = next;
    }
    let best_s = world.reference_m / 2.0;
    let metric = match end {
        End::Goal => best_s / at_s.clamp(2.0 * best_s, 8.0 * best_s),
        End::Contact | End::Timeout => 0.0,
    };
    Run {
        end,
        took_s: at_s,
        metric,
        place,
    }
}

pub(crate) fn pilot_rule() -> PilotRule {
    PilotRule {
        search: Settings {
            max_expansions: 3_000,
            first_weight: 1.5,
            last_weight: 1.5,
            step_m: 0.3,
            key_m: 0.1,
            spot_m_per_rad: 0.4,
            comfort_m: 0.3,
            comfort_cost: 2.0,
            ..Settings::default()
        },
        drive: DriveRule {
            model: Model::differential(2.0, 0.0, 2.0),
            brake_mps2: 2.0,
            reaction_s: 0.15,
            ahead_m: 0.35,
            ahead_s: 0.25,
            creep_mps: 0.3,
            speed_per_room: 6.0,
        },
        outline: JACKAL,
        margins_m: vec![0.05, 0.02, 0.0],
        drive_margin_m: 0.03,
        replan_every: 10,
        around_m: 2.5,
        max_cells: 1 << 20,
    }
}

pub(crate) fn run_pilot(world: &World, noise_m: f64, rule: PilotRule) -> Run {
    let goal = Goal {
        at_m: GOAL_M,
        tolerance_m: 0.5,
        heading: None,
    };
    let mut pilot = Pilot::new(rule, goal, SparseMap::new(0.05, 1 << 14));
    run(world, noise_m, |hits, place, now| {
        pilot.see(place.position_m(), &hits);
        pilot.drive(place, now.speed_mps)
    })
}

pub(crate) fn run_window(world: &World, noise_m: f64) -> Run {
    let mut field = Field::default();
    let rule = WindowRule::default();
    run(world, noise_m, |hits, place, now| {
        let mut map = SparseMap::new(0.05, 1 << 14);
        for hit in hits {
            map.block(map.cell_at(hit).expect("it is near"));
        }
        let here = place.position_m();
        let area = Area::around([here, here], 4.5, 0.05, 1 << 20).expect("it is small");
        field.measure(&map, area);
        let sweep = Sweep::new(&field, JACKAL.with_margin(0.03));
        drive_window((place, now), GOAL_M, &sweep, &rule)
    })
}

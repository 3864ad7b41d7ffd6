//! The mission: what there is to do, what comes next, and what is left.
//!
//! In: tasks, and where the vessel is. Out: what to do right now. Tasks wait in a line; the first is being done. Those that
//! never end by themselves (hold, station, setpoint, and a return, which ends in staying) stand before what is left of the
//! mission until it is resumed.

use super::lanes::{LaneSettings, lanes};
use super::track::KnownTrack;
use crate::{Place, within_half_turn};
use bowline_msgs::Task;
use std::collections::VecDeque;

/// More tasks are refused.
pub const MAX_TASKS: usize = 64;
/// More points in a task are refused.
pub const MAX_POINTS: usize = 1_000;
/// More legs of all tasks together are refused.
pub const MAX_LEGS: usize = 5_000;
/// Points farther from the map's origin are refused, metres.
const MAX_FAR_M: f64 = 100e3;
/// Longer names are cut, bytes.
const MAX_NAME: usize = 200;

/// What a helm goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HelmSettings {
    /// Speed where a task has none, metres a second.
    pub speed_mps: f64,
    /// The fastest that a task may ask for, metres a second.
    pub max_speed_mps: f64,
    /// Between lanes where a task has no spacing, metres.
    pub lane_spacing_m: f64,
    /// A point that is as near as this is reached, metres.
    pub reach_m: f64,
    /// How fast a vessel slows down before it turns, metres a second squared.
    pub slow_mps2: f64,
    /// Apart on the track that is remembered for the way back, metres.
    pub track_spacing_m: f64,
    /// Where the track comes as near as this to itself, the way between is no way back, metres.
    pub shortcut_m: f64,
}

/// What to do right now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Give no thrust.
    Rest,
    /// Keep heading and speed.
    Heading {
        /// Radians from east.
        heading_rad: f64,
        /// Metres a second.
        speed_mps: f64,
    },
    /// Follow a line.
    Leg {
        /// From there.
        from_m: [f64; 2],
        /// To there.
        to_m: [f64; 2],
        /// Metres a second.
        speed_mps: f64,
    },
    /// Stay there.
    Station {
        /// Metres.
        at_m: [f64; 2],
    },
}

/// Where on a leg the vessel is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnLeg {
    /// From its beginning, metres.
    pub along_m: f64,
    /// To its left, metres.
    pub cross_m: f64,
    /// How long it is, metres.
    pub length_m: f64,
}

/// A line to follow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Leg {
    /// Without it, from wherever the vessel is when it comes to it.
    from_m: Option<[f64; 2]>,
    to_m: [f64; 2],
    /// Whether all of it must be followed, because something is measured on the way.
    is_lane: bool,
    /// Whether the vessel has been to its beginning, or need not go there.
    is_joined: bool,
}

/// What is being done, or will be.
#[derive(Clone, Debug, PartialEq)]
enum Doing {
    Hold,
    Station(Option<[f64; 2]>),
    Setpoint { heading_rad: f64, speed_mps: f64 },
    Way { legs: VecDeque<Leg>, speed_mps: f64 },
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: i64,
    name: String,
    kind: i8,
    doing: Doing,
}

impl Item {
    /// Whether it goes on until another task.
    const fn is_endless(&self) -> bool {
        self.is_stay() || self.is_return()
    }

    /// Whether it keeps the vessel from going anywhere else, and nothing is lost with it.
    const fn is_stay(&self) -> bool {
        !matches!(self.doing, Doing::Way { .. }) && !self.is_return()
    }

    const fn is_return(&self) -> bool {
        self.kind == Task::RETURN
    }

    fn legs(&self) -> impl Iterator<Item = &Leg> {
        let legs = match &self.doing {
            Doing::Way { legs, .. } => Some(legs),
            Doing::Hold | Doing::Station(_) | Doing::Setpoint { .. } => None,
        };
        legs.into_iter().flatten()
    }
}

/// Keeps the mission.
#[derive(Clone, Debug)]
pub struct Keeper {
    settings: HelmSettings,
    items: VecDeque<Item>,
    /// Where to stay when there is nothing left to do, and what had been done last.
    done: Option<([f64; 2], Item)>,
    n_legs: usize,
    n_done: usize,
    track: KnownTrack,
    on_leg: Option<OnLeg>,
}

impl Keeper {
    /// Without a mission.
    #[must_use]
    pub const fn new(settings: HelmSettings) -> Self {
        Self {
            track: KnownTrack::new(settings.track_spacing_m, settings.shortcut_m),
            settings,
            items: VecDeque::new(),
            done: None,
            n_legs: 0,
            n_done: 0,
            on_leg: None,
        }
    }

    /// Takes a task.
    ///
    /// # Errors
    /// In words, when it makes no sense or there is no room for it. The mission is as it was.
    pub fn take(&mut self, task: &Task, place: Option<Place>) -> Result<(), String> {
        if task.kind == Task::RESUME {
            return self.resume();
        }
        let item = self.item(task, place)?;
        let n_new = item.legs().count();
        let n_left: usize = match task.placing {
            Task::REPLACE => 0,
            Task::NEXT | Task::APPEND => self.items.iter().map(|item| item.legs().count()).sum(),
            found => return Err(format!("expected a placing from 0 to 2, found {found}")),
        };
        if n_left + n_new > MAX_LEGS {
            return Err(format!(
                "expected at most {MAX_LEGS} legs in all, found {}",
                n_left + n_new
            ));
        }
        if task.placing != Task::REPLACE && self.items.len() >= MAX_TASKS {
            return Err(format!(
                "expected at most {MAX_TASKS} tasks, found one more"
            ));
        }
        if task.placing == Task::REPLACE || self.items.is_empty() {
            self.items.clear();
            (self.n_legs, self.n_done) = (0, 0);
        }
        self.done = None;
        self.n_legs += n_new;
        if task.placing == Task::NEXT {
            self.interrupt(place, item.is_stay());
            self.items.push_front(item);
        } else {
            self.items.push_back(item);
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        // What was held on the way back goes on with that; on the way back itself it is the mission that goes on.
        let is_returning = self.items.front().is_some_and(Item::is_return);
        let is_over = |item: &&Item| item.is_stay() || (is_returning && item.is_return());
        let n_endless = self.items.iter().take_while(is_over).count();
        if n_endless == 0 || n_endless == self.items.len() {
            return Err("there is nothing that waits to be resumed".to_owned());
        }
        self.items.drain(..n_endless);
        Ok(())
    }

    /// What is being done is left for later.
    fn interrupt(&mut self, place: Option<Place>, by_stay: bool) {
        // Of several that never end, the last one counts.
        while by_stay && self.items.front().is_some_and(Item::is_stay) {
            self.items.pop_front();
        }
        let Some(Doing::Way { legs, .. }) = self.items.front_mut().map(|item| &mut item.doing)
        else {
            return;
        };
        let Some(leg) = legs.front_mut() else { return };
        match (leg.from_m, place) {
            // A lane goes on where it was left.
            (Some(from_m), Some(place)) if leg.is_lane => {
                let on_leg = on_leg(from_m, leg.to_m, place);
                let share = (on_leg.along_m / on_leg.length_m).clamp(0.0, 1.0);
                let at = |axis: usize| from_m[axis] + share * (leg.to_m[axis] - from_m[axis]);
                leg.from_m = Some([at(0), at(1)]);
                leg.is_joined = false;
            }
            (Some(_) | None, _) if leg.is_lane => leg.is_joined = false,
            (Some(_) | None, _) => leg.from_m = None,
        }
    }

    /// What a task means.
    fn item(&self, task: &Task, place: Option<Place>) -> Result<Item, String> {
        let points = &task.points_m;
        if points.len() > MAX_POINTS {
            return Err(format!(
                "expected at most {MAX_POINTS} points, found {}",
                points.len()
            ));
        }
        let is_far = |it: &f64| it.is_nan() || it.abs() > MAX_FAR_M;
        if points.iter().flatten().any(is_far) {
            return Err(format!(
                "a point is not within {} km of the map's origin",
                MAX_FAR_M / 1e3
            ));
        }
        let lost = || "the pose of the vessel is unknown".to_owned();
        let doing = match task.kind {
            Task::HOLD => Doing::Hold,
            Task::STATION => match points.as_slice() {
                [] => Doing::Station(place.map(|it| [it.x_m, it.y_m])),
                [only] => Doing::Station(Some(*only)),
                _ => {
                    return Err(format!(
                        "expected one point to stay at, found {}",
                        points.len()
                    ));
                }
            },
            Task::SETPOINT => Doing::Setpoint {
                heading_rad: finite(task.heading_rad, "a heading")?,
                speed_mps: self.speed(task.speed_mps)?,
            },
            Task::ROUTE if points.is_empty() => {
                return Err("expected at least one point to visit, found none".to_owned());
            }
            Task::ROUTE => self.way(task, points.iter().copied())?,
            Task::RETURN => {
                let back = self.track.back();
                if back.is_empty() {
                    return Err(lost());
                }
                self.way(task, back.into_iter())?
            }
            Task::SURVEY => {
                let start_m = self.start_of(task, place).ok_or_else(lost)?;
                self.survey(task, start_m)?
            }
            found => {
                return Err(format!(
                    "expected a kind of task from 0 to 6, found {found}"
                ));
            }
        };
        let mut name = task.name.clone();
        if name.len() > MAX_NAME {
            let cut = (0..=MAX_NAME).rev().find(|at| name.is_char_boundary(*at));
            name.truncate(cut.unwrap_or(0));
        }
        if name.is_empty() {
            word(task.kind).clone_into(&mut name);
        }
        Ok(Item {
            id: task.id,
            name,
            kind: task.kind,
            doing,
        })
    }

    fn speed(&self, asked_mps: f64) -> Result<f64, String> {
        if asked_mps.is_nan() {
            return Ok(self.settings.speed_mps);
        }
        let most = self.settings.max_speed_mps;
        if !(0.0..=most).contains(&asked_mps) {
            return Err(format!(
                "expected a speed from 0 to {most} m/s, found {asked_mps}"
            ));
        }
        Ok(asked_mps)
    }

    fn way(&self, task: &Task, points: impl Iterator<Item = [f64; 2]>) -> Result<Doing, String> {
        let leg = |to_m| Leg {
            from_m: None,
            to_m,
            is_lane: false,
            is_joined: true,
        };
        Ok(Doing::Way {
            legs: points.map(leg).collect(),
            speed_mps: self.speed(task.speed_mps)?,
        })
    }

    fn survey(&self, task: &Task, start_m: [f64; 2]) -> Result<Doing, String> {
        let spacing_m = match task.lane_spacing_m {
            it if it.is_nan() => self.settings.lane_spacing_m,
            it => it,
        };
        if task.heading_rad.is_infinite() {
            return Err("expected a heading of lanes, found one without end".to_owned());
        }
        let settings = LaneSettings {
            spacing_m,
            heading_rad: Some(task.heading_rad).filter(|it| !it.is_nan()),
            start_m,
        };
        let lanes = lanes(&task.points_m, &settings).map_err(|why| why.to_string())?;
        let leg = |lane: super::lanes::Lane| Leg {
            from_m: Some(lane.from_m),
            to_m: lane.to_m,
            is_lane: true,
            is_joined: false,
        };
        Ok(Doing::Way {
            legs: lanes.into_iter().map(leg).collect(),
            speed_mps: self.speed(task.speed_mps)?,
        })
    }

    /// Where the vessel will be when it comes to a task.
    fn start_of(&self, task: &Task, place: Option<Place>) -> Option<[f64; 2]> {
        let here = place.map(|it| [it.x_m, it.y_m]);
        if task.placing != Task::APPEND {
            return here;
        }
        let last = self.items.iter().flat_map(Item::legs).last();
        last.map(|leg| leg.to_m).or(here)
    }
}

/// What to do now.
impl Keeper {
    /// Remembers where the vessel is, goes on to the next leg where one is done, and returns what to do.
    pub fn aim(&mut self, place: Place) -> Aim {
        self.track.visit([place.x_m, place.y_m]);
        self.on_leg = None;
        while let Some(item) = self.items.front_mut() {
            match &mut item.doing {
                Doing::Hold => return Aim::Rest,
                Doing::Station(at_m) => {
                    let at_m = *at_m.get_or_insert([place.x_m, place.y_m]);
                    return Aim::Station { at_m };
                }
                Doing::Setpoint {
                    heading_rad,
                    speed_mps,
                } => {
                    return Aim::Heading {
                        heading_rad: *heading_rad,
                        speed_mps: *speed_mps,
                    };
                }
                Doing::Way { .. } => {
                    if let Some(aim) = self.follow(place) {
                        return aim;
                    }
                }
            }
        }
        match &self.done {
            Some((at_m, _)) => Aim::Station { at_m: *at_m },
            None => Aim::Rest,
        }
    }

    /// Follows the first leg of what is being done; nothing if that is done with.
    fn follow(&mut self, place: Place) -> Option<Aim> {
        let reach_m = self.settings.reach_m;
        let here_m = [place.x_m, place.y_m];
        let Doing::Way { legs, speed_mps } = &mut self.items.front_mut()?.doing else {
            return None;
        };
        let speed_mps = *speed_mps;
        let Some(leg) = legs.front_mut() else {
            self.finish(here_m);
            return None;
        };
        let from_m = *leg.from_m.get_or_insert(here_m);
        let (to_m, is_lane) = (leg.to_m, leg.is_lane);
        let on_leg = on_leg(from_m, to_m, place);
        let is_near = on_leg.along_m > -JOIN_M && on_leg.cross_m.abs() < JOIN_M;
        let was_joined = std::mem::replace(&mut leg.is_joined, true);
        if !was_joined && !is_near {
            // First to where the lane begins, once: what is missed there is not worth a circle.
            legs.push_front(Leg {
                from_m: Some(here_m),
                to_m: from_m,
                is_lane: false,
                is_joined: true,
            });
            self.n_legs += 1;
            return None;
        }
        let left_m = on_leg.length_m - on_leg.along_m;
        let is_near = if is_lane {
            left_m <= 0.0
        } else {
            apart(to_m, here_m) <= reach_m
                || (left_m <= 0.0 && on_leg.cross_m.abs() <= 3.0 * reach_m)
        };
        if is_near {
            legs.pop_front();
            self.n_done += 1;
            if legs.is_empty() {
                self.finish(to_m);
            }
            return None;
        }
        if !is_lane && left_m <= 0.0 {
            // It was swept past the point: straight to it from here.
            leg.from_m = Some(here_m);
        }
        let next = legs
            .get(1)
            .map(|next| (next.from_m.unwrap_or(to_m), next.to_m));
        // Slower than the current against it, a vessel never comes to the end of its last lane. Past that it turns back.
        let is_last_lane = is_lane && next.is_none();
        let turning_mps = if is_last_lane {
            speed_mps
        } else {
            turning_speed(from_m, to_m, next, speed_mps, reach_m)
        };
        let slowing_mps =
            (turning_mps.powi(2) + 2.0 * self.settings.slow_mps2 * left_m.max(0.0)).sqrt();
        self.on_leg = Some(on_leg);
        Some(Aim::Leg {
            from_m,
            to_m,
            speed_mps: speed_mps.min(slowing_mps),
        })
    }

    /// What is being done is done.
    fn finish(&mut self, at_m: [f64; 2]) {
        if self.items.len() > 1
            && let Some(item) = self.items.front_mut().filter(|item| item.is_return())
        {
            // It came back for a reason: the mission waits for another task.
            item.doing = Doing::Station(Some(at_m));
            return;
        }
        if let Some(item) = self.items.pop_front() {
            self.done = self.items.is_empty().then_some((at_m, item));
        }
    }
}

/// A lane that the vessel is this near to need not be gone to first, metres.
const JOIN_M: f64 = 2.0;
/// The slowest that a vessel turns at, of its speed: slower it is at the mercy of the current.
const LEAST_TURNING: f64 = 0.35;

/// How fast to be at the end of a leg, for what comes after it.
fn turning_speed(
    from_m: [f64; 2],
    to_m: [f64; 2],
    next: Option<([f64; 2], [f64; 2])>,
    speed_mps: f64,
    reach_m: f64,
) -> f64 {
    let Some((next_from_m, next_to_m)) = next else {
        return LEAST_TURNING * speed_mps;
    };
    // To a lane that begins elsewhere, the way there is next.
    let next_to_m = if apart(to_m, next_from_m) > reach_m {
        next_from_m
    } else {
        next_to_m
    };
    let course = |[ax, ay]: [f64; 2], [bx, by]: [f64; 2]| (by - ay).atan2(bx - ax);
    let turn_rad = within_half_turn(course(to_m, next_to_m) - course(from_m, to_m));
    speed_mps * (turn_rad / 2.0).cos().powi(2).max(LEAST_TURNING)
}

fn apart([ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    (bx - ax).hypot(by - ay)
}

fn on_leg(from_m: [f64; 2], to_m: [f64; 2], place: Place) -> OnLeg {
    let course_rad = (to_m[1] - from_m[1]).atan2(to_m[0] - from_m[0]);
    let leg = Place::new(from_m[0], from_m[1], course_rad);
    let [along_m, cross_m] = leg.see([place.x_m, place.y_m]);
    OnLeg {
        along_m,
        cross_m,
        length_m: apart(from_m, to_m),
    }
}

/// How far it is.
impl Keeper {
    /// The task that is being done, or was done last: its id, its name, its kind.
    #[must_use]
    pub fn task(&self) -> Option<(i64, &str, i8)> {
        let done = self.done.as_ref().map(|(_, item)| item);
        let item = self.items.front().or(done)?;
        Some((item.id, &item.name, item.kind))
    }

    /// Whether there is nothing left to do but to stay.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether something waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.items.front().is_some_and(Item::is_endless)
            && self.items.iter().any(|it| !it.is_endless())
    }

    /// Legs in all, and those that are done.
    #[must_use]
    pub const fn legs(&self) -> (usize, usize) {
        (self.n_legs, self.n_done)
    }

    /// Where on the leg that is followed the vessel is.
    #[must_use]
    pub const fn on_leg(&self) -> Option<OnLeg> {
        self.on_leg
    }

    /// Names of what is left.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.name.as_str())
    }

    /// The points that are left, with the names of their tasks, and how far that is from a place, metres.
    #[must_use]
    pub fn left(&self, here_m: [f64; 2]) -> (Vec<(&str, [f64; 2])>, f64) {
        let legs = self.items.iter().flat_map(|item| {
            let name = item.name.as_str();
            item.legs().map(move |leg| (name, leg))
        });
        let points = legs.enumerate().flat_map(|(nth, (name, leg))| {
            // What of the leg that is followed lies behind is not left.
            let is_followed = nth == 0 && self.on_leg.is_some();
            let from_m = leg.from_m.filter(|_| !is_followed);
            from_m
                .into_iter()
                .chain([leg.to_m])
                .map(move |it| (name, it))
        });
        let (mut at_m, mut left_m) = (here_m, 0.0);
        let mut left = Vec::new();
        for (name, point_m) in points {
            let further_m = apart(at_m, point_m);
            if further_m > 0.0 {
                left.push((name, point_m));
            }
            left_m += further_m;
            at_m = point_m;
        }
        (left, left_m)
    }

    /// What it does, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(item) = self.items.front() else {
            return match &self.done {
                Some((_, item)) => format!("{} is done: it stays there", item.name),
                None => "there is nothing to do".to_owned(),
            };
        };
        let waits = if self.is_paused() {
            "; the mission waits to be resumed"
        } else {
            ""
        };
        match &item.doing {
            Doing::Hold => format!("holds{waits}"),
            Doing::Station(_) if item.is_return() => format!("is back where it came from{waits}"),
            Doing::Station(_) => format!("keeps its station{waits}"),
            Doing::Setpoint { .. } => format!("keeps heading and speed{waits}"),
            Doing::Way { legs, .. } => {
                let what = if legs.front().is_some_and(|leg| leg.is_lane) {
                    "lane"
                } else {
                    "leg"
                };
                let name = &item.name;
                format!(
                    "{name}: on a {what}, {} more of it after that{waits}",
                    legs.len().saturating_sub(1)
                )
            }
        }
    }
}

fn finite(number: f64, what: &str) -> Result<f64, String> {
    let is_finite = number.is_finite();
    is_finite
        .then_some(number)
        .ok_or_else(|| format!("expected {what}, found {number}"))
}

const fn word(kind: i8) -> &'static str {
    match kind {
        Task::HOLD => "hold",
        Task::STATION => "station",
        Task::ROUTE => "route",
        Task::SURVEY => "survey",
        Task::SETPOINT => "setpoint",
        Task::RETURN => "return",
        _ => "task",
    }
}

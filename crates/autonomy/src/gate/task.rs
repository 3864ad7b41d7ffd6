//! Tasks as a gate sees them: whether they make sense, and how much they leave to the vehicle.

use super::refusal::{Reason, Refusal};
use bowline_msgs::{Gate, Task};

/// More are a mistake, and no vehicle visits them in a day.
const MAX_POINTS: usize = 10_000;
/// A person does not read more.
pub(super) const MAX_NAME: usize = 128;

/// How much a person leaves to the vehicle: Sheridan's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A person sets the actuators.
    Direct,
    /// A person sets heading and speed.
    Setpoint,
    /// A person sets one place.
    Waypoint,
    /// A person has set a list of places.
    Route,
    /// A person has set an aim.
    Objective,
    /// Without a set-point.
    Observe,
}

impl Level {
    /// As messages have it.
    #[must_use]
    pub const fn code(self) -> i8 {
        match self {
            Self::Direct => Gate::DIRECT,
            Self::Setpoint => Gate::SETPOINT,
            Self::Waypoint => Gate::WAYPOINT,
            Self::Route => Gate::ROUTE,
            Self::Objective => Gate::OBJECTIVE,
            Self::Observe => Gate::OBSERVE,
        }
    }
}

/// What is done when control is lost, the mildest first: it is chosen before the mission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contingency {
    /// Go on with the mission.
    Continue,
    /// Stay at the place.
    Station,
    /// Go back along the way that the vehicle came.
    Return,
    /// Give no thrust.
    Hold,
}

impl Contingency {
    /// All of them, the mildest first.
    pub const ALL: [Self; 4] = [Self::Continue, Self::Station, Self::Return, Self::Hold];

    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Station => "station",
            Self::Return => "return",
            Self::Hold => "hold",
        }
    }

    /// From its word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }

    /// The helm's task. What is left of the mission stays, for a person to resume.
    pub(super) fn task(self) -> Option<Task> {
        let kind = match self {
            Self::Continue => return None,
            Self::Station => Task::STATION,
            Self::Return => Task::RETURN,
            Self::Hold => Task::HOLD,
        };
        Some(task(kind, format!("contingency: {}", self.word())))
    }
}

/// The helm's task when a person takes over, or commands have ended: the mission waits for RESUME.
pub(super) fn pause() -> Task {
    task(Task::HOLD, "paused by the gate".to_owned())
}

/// Of the gate's own. It has no id, because it is never a repetition of an operator's task.
fn task(kind: i8, name: String) -> Task {
    Task {
        name,
        kind,
        placing: Task::NEXT,
        heading_rad: f64::NAN,
        speed_mps: f64::NAN,
        lane_spacing_m: f64::NAN,
        ..Task::default()
    }
}

/// What a task wants of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Nothing moves.
    Hold,
    /// Whatever the mission is.
    Resume,
    /// To let the helm steer, at that level.
    Go(Level),
}

/// What a task is, if it makes sense.
pub(super) fn understand(task: &Task) -> Result<Wanted, Refusal> {
    let malformed = |text: String| Err(Reason::Malformed.because(text));
    if !(Task::REPLACE..=Task::APPEND).contains(&task.placing) {
        return malformed(format!(
            "expected placing 0, 1 or 2, found {}",
            task.placing
        ));
    }
    if task.name.len() > MAX_NAME {
        let found = task.name.len();
        return malformed(format!(
            "expected a name of at most {MAX_NAME} bytes, found {found}"
        ));
    }
    let n_points = task.points_m.len();
    if n_points > MAX_POINTS {
        return malformed(format!(
            "expected at most {MAX_POINTS} points, found {n_points}"
        ));
    }
    if task.points_m.iter().flatten().any(|it| !it.is_finite()) {
        return malformed("expected points that are numbers, found one that is not".to_owned());
    }
    let is_speed = task.speed_mps.is_nan() || (0.0..=1e3).contains(&task.speed_mps);
    let is_spacing = task.lane_spacing_m.is_nan() || (1e-3..=1e6).contains(&task.lane_spacing_m);
    if !is_speed || !is_spacing || task.heading_rad.is_infinite() {
        return malformed(
            "expected a speed, a spacing and a heading that can be, or none".to_owned(),
        );
    }
    let least = match task.kind {
        Task::ROUTE => 1,
        Task::SURVEY => 3,
        _ => 0,
    };
    if n_points < least {
        return malformed(format!("expected {least} points or more, found {n_points}"));
    }
    match task.kind {
        Task::HOLD => Ok(Wanted::Hold),
        Task::RESUME => Ok(Wanted::Resume),
        Task::STATION => Ok(Wanted::Go(Level::Waypoint)),
        Task::ROUTE if n_points == 1 => Ok(Wanted::Go(Level::Waypoint)),
        Task::ROUTE | Task::RETURN => Ok(Wanted::Go(Level::Route)),
        Task::SURVEY => Ok(Wanted::Go(Level::Objective)),
        Task::SETPOINT if task.heading_rad.is_nan() || task.speed_mps.is_nan() => {
            malformed("expected a heading and a speed to keep, found none".to_owned())
        }
        Task::SETPOINT => Ok(Wanted::Go(Level::Setpoint)),
        kind => malformed(format!("expected a kind of task from 0 to 6, found {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_the_gate_itself_leave_the_mission_to_resume() {
        let contingencies = Contingency::ALL.into_iter().filter_map(Contingency::task);
        let told: Vec<Task> = contingencies.chain([pause()]).collect();
        let names: Vec<(&str, i8)> = told.iter().map(|it| (it.name.as_str(), it.kind)).collect();
        let expected = [
            ("contingency: station", Task::STATION),
            ("contingency: return", Task::RETURN),
            ("contingency: hold", Task::HOLD),
            ("paused by the gate", Task::HOLD),
        ];
        assert_eq!(names, expected);
        for task in told {
            assert_eq!((task.id, task.placing), (0, Task::NEXT), "{task:?}");
            let wishes = [task.heading_rad, task.speed_mps, task.lane_spacing_m];
            assert!(wishes.iter().all(|it| it.is_nan()), "{task:?}");
        }
    }

    #[test]
    fn a_contingency_is_known_by_its_word_alone() {
        for contingency in Contingency::ALL {
            assert_eq!(
                Contingency::from_word(contingency.word()),
                Some(contingency)
            );
        }
        assert_eq!(Contingency::from_word("Hold"), None);
    }
}

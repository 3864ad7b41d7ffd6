//! What an operator does, in words: the same on the command line, in scripts and in robot files.
//!
//! ```text
//! take                                          preempt, release, clear, stop a swimmer
//! goto 40,25 speed=1.5                          insert 40,25: first, and then what is left of the mission
//! route 0,0 40,0 40,25                          survey 0,0 60,0 60,40 0,40 lanes=8 heading=90 name=basin
//! station, station 10,5                         hold, resume, return
//! heading 45 1.5 for=20s                        thrust 0.3 0.3 for=5s, drive 1.5 -10 for=5s: what the vehicle is driven by
//! wait 10s                                      wait done: until the helm has done what it was given
//! ```
//!
//! Points are x east and y north in the map frame, metres; headings degrees from north, to the right, as on a compass.
//! What a vehicle is driven by, and with which values, is in the rules that its gate publishes: a verb, and a number for each
//! axis in its unit, angles in degrees. `drive` has a speed in metres a second and the angle of the wheels, to the left positive.

use bowline_component::document::did_you_mean;
use bowline_component::{ParameterValue as _, Setting};
use bowline_msgs::{GateAxis, GateRules, Task};
use std::time::Duration;

/// One step of an operator.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Wants the lease, and waits until it has it.
    Take,
    /// Wants the lease by rank.
    Preempt,
    /// Gives the lease up.
    Release,
    /// Clears a stop.
    Clear,
    /// Stops the vehicle, for a reason.
    Stop(String),
    /// Gives the vehicle something to do.
    Task(Task),
    /// Keeps a heading and a speed for so long.
    Keep(Task, Duration),
    /// Sets the actuators directly for so long.
    Direct(Setpoint, Duration),
    /// Lets time pass.
    Wait(Duration),
    /// Waits until the helm has done what it was given.
    WaitDone,
}

/// What actuators are set to, in a person's words. What they mean is in the rules of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Setpoint {
    /// What the vehicle is driven by: the verb of its gate.
    pub verb: String,
    /// One for each axis, in its unit, but angles in degrees.
    pub numbers: Vec<f64>,
}

impl Setpoint {
    /// The values in the order and the units of the axes that a gate demands.
    ///
    /// # Errors
    /// When the vehicle is driven by another verb, by more or fewer numbers, or by none as large.
    pub fn values(&self, rules: &GateRules) -> Result<Vec<f64>, BadSetpoint> {
        let Self { verb, numbers } = self;
        if *verb != rules.verb {
            return Err(BadSetpoint::OtherVerb {
                accepted: rules.verb.clone(),
                found: verb.clone(),
            });
        }
        if numbers.len() != rules.axes.len() {
            let words = rules.axes.iter().map(in_words);
            return Err(BadSetpoint::Length {
                expected: words.collect::<Vec<_>>().join(" and "),
                found: numbers.len(),
            });
        }
        let axes = rules.axes.iter().zip(numbers);
        axes.map(|(axis, number)| value_of(axis, *number)).collect()
    }
}

/// Whether people type its values in degrees.
fn is_angle(axis: &GateAxis) -> bool {
    axis.unit == "rad"
}

fn in_words(axis: &GateAxis) -> String {
    match is_angle(axis) {
        true => format!("{} in degrees", axis.word),
        false => format!("{} in {}", axis.word, axis.unit),
    }
}

fn value_of(axis: &GateAxis, number: f64) -> Result<f64, BadSetpoint> {
    let value = match is_angle(axis) {
        true => number.to_radians(),
        false => number,
    };
    if (axis.min..=axis.max).contains(&value) {
        return Ok(value);
    }
    Err(BadSetpoint::Beyond {
        field: axis.field.clone(),
        min: axis.min,
        max: axis.max,
        found: value,
    })
}

/// Why a gate would refuse a set-point.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSetpoint {
    /// The vehicle is driven in another way.
    #[error("expected {accepted:?}, which this vehicle is driven by, found {found:?}")]
    OtherVerb {
        /// What the vehicle is driven by.
        accepted: String,
        /// The verb of the step.
        found: String,
    },
    /// There is not one number for each axis.
    #[error("expected {expected}, found {found} numbers")]
    Length {
        /// The axes.
        expected: String,
        /// How many numbers the step has.
        found: usize,
    },
    /// It is beyond a limit of the gate.
    #[error("expected {field} from {min} to {max}, found {found}")]
    Beyond {
        /// Which number.
        field: String,
        /// The least that the gate accepts.
        min: f64,
        /// The most that the gate accepts.
        max: f64,
        /// What the step has.
        found: f64,
    },
}

/// Why words are no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct BadStep {
    /// What would be one.
    pub expected: String,
    /// What was there.
    pub found: String,
}

/// All verbs but those that vehicles are driven by.
const VERBS: [&str; 15] = [
    "take", "preempt", "release", "clear", "stop", "goto", "insert", "route", "survey", "station",
    "hold", "resume", "return", "heading", "wait",
];

/// Without another word, a heading or a set-point is kept for so long.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// A step from its words.
///
/// # Errors
/// When it is none.
pub fn parse_step(line: &str) -> Result<Step, BadStep> {
    let (verb, rest) = line
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((line.trim(), ""));
    if verb == "stop" {
        return Ok(Step::Stop(rest.trim().to_owned()));
    }
    let mut words = Words::new(line, rest);
    let step = match verb {
        "take" => Step::Take,
        "preempt" => Step::Preempt,
        "release" => Step::Release,
        "clear" => Step::Clear,
        "wait" => words.wait()?,
        "heading" => {
            let [heading_deg, speed_mps] = words.numbers(["a heading in degrees", "a speed"])?;
            let mut task = task_named("", Task::SETPOINT);
            task.heading_rad = heading_rad(heading_deg);
            task.speed_mps = speed_mps;
            Step::Keep(task, words.period()?)
        }
        verb if VERBS.contains(&verb) => Step::Task(words.task(verb)?),
        verb => Step::Direct(words.setpoint(verb)?, words.period()?),
    };
    words.finish(step)
}

/// A task of a kind, with defaults for the rest.
#[must_use]
pub fn task_named(name: &str, kind: i8) -> Task {
    Task {
        name: name.to_owned(),
        kind,
        heading_rad: f64::NAN,
        speed_mps: f64::NAN,
        lane_spacing_m: f64::NAN,
        ..Task::default()
    }
}

/// From degrees of a compass to radians of the map.
fn heading_rad(heading_deg: f64) -> f64 {
    (90.0 - heading_deg).to_radians()
}

/// The unread words of a line.
struct Words<'a> {
    line: &'a str,
    plain: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str, rest: &'a str) -> Self {
        let words = rest.split_whitespace();
        let (options, plain): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let options = options.into_iter().filter_map(|word| word.split_once('='));
        Self {
            line,
            plain,
            options: options.collect(),
        }
    }

    fn bad(&self, expected: impl Into<String>) -> BadStep {
        BadStep {
            expected: expected.into(),
            found: self.line.to_owned(),
        }
    }

    fn finish(self, step: Step) -> Result<Step, BadStep> {
        match (self.plain.first(), self.options.first()) {
            (None, None) => Ok(step),
            (Some(word), _) => Err(self.bad(format!("nothing more than that, without {word:?}"))),
            (None, Some((name, _))) => Err(self.bad(format!("no option {name:?}"))),
        }
    }

    fn option(&mut self, name: &str) -> Option<&'a str> {
        let at = self.options.iter().position(|(it, _)| *it == name)?;
        Some(self.options.remove(at).1)
    }

    fn number(&mut self, name: &str) -> Result<Option<f64>, BadStep> {
        let Some(text) = self.option(name) else {
            return Ok(None);
        };
        let number = finite(text);
        number
            .map(Some)
            .ok_or_else(|| self.bad(format!("a number for {name}")))
    }

    fn numbers<const N: usize>(&mut self, what: [&str; N]) -> Result<[f64; N], BadStep> {
        if self.plain.len() < N {
            return Err(self.bad(what.join(" and ")));
        }
        let mut numbers = [0.0; N];
        for (number, (word, what)) in numbers.iter_mut().zip(self.plain.iter().zip(what)) {
            *number = finite(word).ok_or_else(|| self.bad(what))?;
        }
        self.plain.drain(..N);
        Ok(numbers)
    }

    fn duration(&self, text: &str) -> Result<Duration, BadStep> {
        let duration = Duration::from_setting(&Setting::Text(text.to_owned()));
        duration.ok_or_else(|| self.bad("a duration such as 500ms or 3s"))
    }

    fn period(&mut self) -> Result<Duration, BadStep> {
        let text = self.option("for");
        text.map_or(Ok(KEPT_FOR), |text| self.duration(text))
    }

    /// A verb that no list has is one that vehicles may be driven by, if numbers follow and it is not a misspelt one.
    fn setpoint(&mut self, verb: &str) -> Result<Setpoint, BadStep> {
        let expected = || {
            let verbs = VERBS.join(", ");
            format!("{verbs}, or what the vehicle is driven by with a number for each axis")
        };
        if self.plain.is_empty() {
            return Err(self.bad(expected()));
        }
        if let Some(help) = did_you_mean(verb, VERBS) {
            return Err(self.bad(format!("{} ({help})", expected())));
        }
        let words = std::mem::take(&mut self.plain).into_iter();
        let numbers: Option<Vec<f64>> = words.map(finite).collect();
        Ok(Setpoint {
            verb: verb.to_owned(),
            numbers: numbers.ok_or_else(|| self.bad(expected()))?,
        })
    }

    fn wait(&mut self) -> Result<Step, BadStep> {
        if self.plain.is_empty() {
            return Err(self.bad("a duration such as 3s, or done"));
        }
        match self.plain.remove(0) {
            "done" => Ok(Step::WaitDone),
            text => Ok(Step::Wait(self.duration(text)?)),
        }
    }

    fn task(&mut self, verb: &str) -> Result<Task, BadStep> {
        let (kind, points) = match verb {
            "goto" | "insert" => (Task::ROUTE, 1..=1),
            "route" => (Task::ROUTE, 1..=usize::MAX),
            "survey" => (Task::SURVEY, 3..=usize::MAX),
            "station" => (Task::STATION, 0..=1),
            "hold" => (Task::HOLD, 0..=0),
            "resume" => (Task::RESUME, 0..=0),
            "return" => (Task::RETURN, 0..=0),
            verb => return Err(self.bad(format!("a task, not {verb:?}"))),
        };
        let mut task = task_named(self.option("name").unwrap_or_default(), kind);
        task.placing = match verb {
            "insert" | "hold" | "return" => Task::NEXT,
            _ => Task::REPLACE,
        };
        for word in std::mem::take(&mut self.plain) {
            match word {
                "next" => task.placing = Task::NEXT,
                "append" => task.placing = Task::APPEND,
                "replace" => task.placing = Task::REPLACE,
                word => task.points_m.push(self.point(word)?),
            }
        }
        let n_points = task.points_m.len();
        if !points.contains(&n_points) {
            let least = points.start();
            return Err(self.bad(match (least, points.end()) {
                (0, 0) => "no point".to_owned(),
                (least, most) if least == most => "one point such as 40,25".to_owned(),
                (0, _) => "one point such as 40,25, or none".to_owned(),
                _ => format!("{least} points or more such as 40,25"),
            }));
        }
        task.speed_mps = self.number("speed")?.unwrap_or(f64::NAN);
        if kind == Task::SURVEY {
            task.lane_spacing_m = self.number("lanes")?.unwrap_or(f64::NAN);
            task.heading_rad = self.number("heading")?.map_or(f64::NAN, heading_rad);
        }
        Ok(task.with_lengths())
    }

    fn point(&self, word: &str) -> Result<[f64; 2], BadStep> {
        let point = word.split_once(',');
        let point = point.and_then(|(x_m, y_m)| Some([finite(x_m)?, finite(y_m)?]));
        point.ok_or_else(|| self.bad(format!("a point such as 40,25 instead of {word:?}")))
    }
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|it: &f64| it.is_finite())
}

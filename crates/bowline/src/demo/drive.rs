//! `bowline demo raptor` and its like: a vehicle drives itself in simulation, and a page shows how.

use crate::run::{self, Simulated};
use crate::{Outcome, input, output, robot_file};
use anyhow::{Context as _, bail};
use bowline_autonomy::map::draw::{Layer, Palette};
use bowline_autonomy::map::replay::{Frame, Goal, Replay, Voter};
use bowline_autonomy::{Place, Whereabouts};
use bowline_log::{LogEvent, Reader};
use bowline_msgs::{Arbitration, Contact, Map, Path as Goals, Plan, PoseTransform, Velocity, Vote};
use bowline_wire::{Decode, Message};
use clap::Args;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file of the repository, with its path in it.
macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../", $path)))
    };
}

/// A vehicle that drives itself in simulation.
pub(crate) struct Show {
    /// What its files are called.
    name: &'static str,
    /// What it is about to do.
    intro: &'static str,
    /// How long that takes, seconds of simulated time.
    seconds: u64,
    /// The Assembly file among its files.
    model: &'static str,
    /// Length and width of the vehicle, and how far its origin is from its rear end, metres.
    outline_m: [f64; 3],
    title: &'static str,
    summary: &'static str,
    /// Everything that the robot is made of, so that the demonstration needs this program and nothing else.
    files: &'static [(&'static str, &'static str)],
}

pub(crate) const RAPTOR: Show = Show {
    name: "raptor",
    intro: "The Raptor drives to three goals, by two lasers that look down before it:",
    seconds: 70,
    model: "models/raptor_ugv/raptor_ugv.xml",
    outline_m: [3.1, 1.15, 0.45],
    title: "The Raptor in the blocks world",
    summary: "DRDC's Raptor in simulation, driven by votes on arcs: what it believes, what it plans, and why it moves as it \
              does.",
    files: &[
        file!("robots/raptor.toml"),
        file!("worlds/blocks.toml"),
        file!("models/raptor_ugv/raptor_ugv.xml"),
        file!("models/raptor_ugv/raptor.body.xml"),
        file!("models/raptor_ugv/wheel.body.xml"),
        file!("models/raptor_ugv/lms200.body.xml"),
        file!("models/raptor_ugv/ins.body.xml"),
        file!("models/raptor_ugv/gps_antenna.body.xml"),
        file!("models/raptor_ugv/bumper.body.xml"),
    ],
};

pub(crate) const IGVC: Show = Show {
    name: "igvc",
    intro: "The IGVC robot drives its course: lanes between painted lines, which its camera sees, and barrels, which its \
            laser sees:",
    seconds: 82,
    model: "models/igvc/igvc.xml",
    outline_m: [1.0, 0.76, 0.72],
    title: "The IGVC robot on its course",
    summary: "A robot for the Intelligent Ground Vehicle Competition in simulation: lines and barrels in one map, the plan \
              through them, the votes on arcs, and why it moves as it does.",
    files: &[
        file!("robots/igvc.toml"),
        file!("worlds/igvc.toml"),
        file!("models/igvc/igvc.xml"),
        file!("models/igvc/chassis.body.xml"),
        file!("models/igvc/wheel.body.xml"),
        file!("models/igvc/castor.body.xml"),
        file!("models/igvc/lidar.body.xml"),
        file!("models/igvc/camera.body.xml"),
        file!("models/igvc/ins.body.xml"),
    ],
};

/// Every second map is a frame: five a second are more than anybody looks at.
const MAPS_PER_FRAME: usize = 2;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Where the robot, the log and the page go; without it NAME-demo
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// How long it drives, in simulated time; without it to its last goal
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period)]
    duration: Option<Duration>,
}

pub(crate) fn run(show: &Show, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Show { name, .. } = show;
    let usual = || PathBuf::from(format!("{name}-demo"));
    let folder = &arguments.output.clone().unwrap_or_else(usual);
    for (name, text) in show.files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let checked = robot_file::check(&folder.join(format!("robots/{name}.toml")), &[])?;
    let Some(robot) = checked.robot else {
        output::problems(&checked.problems);
        bail!("the robot of the demonstration is not whole");
    };
    let log = folder.join(format!("{name}.mcap"));
    output::line(show.intro)?;
    let duration = arguments.duration;
    let outcome = run::simulate(&Simulated {
        robot,
        lockstep: Some(Some(duration.unwrap_or(Duration::from_secs(show.seconds)))),
        record: Some(log.clone()),
    })?;
    let (replay, seen) = read(show, &log, &folder.join(show.model))?;
    let page = folder.join(format!("{name}.html"));
    fs::write(&page, replay.to_html()?)
        .with_context(|| format!("cannot write {}", page.display()))?;
    output::line(&seen.words())?;
    output::line(&format!(
        "\n  {}   maps, plan, votes and commands, to be played in a browser\n  {}   everything that was said; \
         `bowline spy {1}` looks into it",
        page.display(),
        log.display()
    ))?;
    Ok(outcome)
}

/// What the drive came to.
#[derive(Default)]
struct Seen {
    goals: Option<usize>,
    left: usize,
    contacts: i32,
    gone_m: f64,
    last: Option<Place>,
}

impl Seen {
    fn words(&self) -> String {
        let n_goals = self.goals.unwrap_or(0);
        format!(
            "{} of {n_goals} goals reached, {:.0} m driven, {} contacts",
            n_goals.saturating_sub(self.left),
            self.gone_m,
            self.contacts
        )
    }

    fn go(&mut self, place: Place) {
        if let Some(last) = self.last {
            self.gone_m += last.apart(place).0;
        }
        self.last = Some(place);
    }
}

/// Reads a drive from its log.
fn read(show: &Show, log: &Path, model: &Path) -> anyhow::Result<(Replay, Seen)> {
    let whereabouts = Whereabouts::new(model, "")
        .map_err(|error| anyhow::anyhow!("the robot's model: {error}"))?;
    let mut filmed = Film {
        whereabouts,
        frame: Frame::default(),
        votes: BTreeMap::new(),
        n_maps: 0,
        seen: Seen::default(),
        replay: Replay {
            title: show.title.to_owned(),
            summary: show.summary.to_owned(),
            outline_m: show.outline_m,
            ..Replay::default()
        },
    };
    let mut log = Reader::open(log)?;
    while let Some(event) = log.next_event()? {
        filmed.take(&event)?;
    }
    Ok((filmed.replay, filmed.seen))
}

/// What is known so far, and the frames that it has become.
struct Film {
    whereabouts: Whereabouts,
    frame: Frame,
    votes: BTreeMap<String, Voter>,
    n_maps: usize,
    seen: Seen,
    replay: Replay,
}

impl Film {
    fn take(&mut self, event: &LogEvent<'_>) -> anyhow::Result<()> {
        let bytes = event.payload;
        match event.channel {
            "pose" => self.frame.vehicle = self.place(bytes)?.map(numbers),
            "truth.pose" => {
                let place = self.place(bytes)?;
                self.frame.truth = place.map(numbers);
                place.into_iter().for_each(|place| self.seen.go(place));
            }
            "truth.contact" => self.seen.contacts = message::<Contact>(bytes)?.n_begun,
            "goals" => self.take_goals(&message(bytes)?),
            "plan" => self.frame.set_plan(&message::<Plan>(bytes)?),
            "command" => self.frame.command = Some((&message::<Velocity>(bytes)?).into()),
            "arbiter" => self.frame.decision = Some((&message::<Arbitration>(bytes)?).into()),
            "terrain" => {
                let height = Palette::Height {
                    grade_m: 0.0,
                    span_m: 3.0,
                };
                self.frame.terrain = Some(Layer::new(&message(bytes)?, "height", height)?);
            }
            "traverse" => self.take_ground(&message(bytes)?)?,
            channel if channel.starts_with("vote.") => {
                let vote: Vote = message(bytes)?;
                self.votes.insert(vote.voter.clone(), (&vote).into());
            }
            _ => {}
        }
        Ok(())
    }

    fn place(&self, bytes: &[u8]) -> anyhow::Result<Option<Place>> {
        let pose: PoseTransform = message(bytes)?;
        Ok(self.whereabouts.place(&pose).ok())
    }

    fn take_goals(&mut self, goals: &Goals) {
        self.seen.left = goals.waypoints.len();
        if self.seen.goals.is_none() {
            self.seen.goals = Some(goals.waypoints.len());
            let goals = goals.waypoints.iter().map(|goal| Goal {
                name: goal.id.clone(),
                place_m: goal.position.map(f64::from),
            });
            self.replay.goals = goals.collect();
        }
    }

    fn take_ground(&mut self, map: &Map) -> anyhow::Result<()> {
        self.frame.traverse = Some(Layer::new(map, "traversability", Palette::Ratio)?);
        self.frame.utime = map.utime;
        self.frame.voters = self.votes.values().cloned().collect();
        if self.n_maps.is_multiple_of(MAPS_PER_FRAME) {
            self.replay.frames.push(self.frame.clone());
        }
        self.n_maps += 1;
        Ok(())
    }
}

fn numbers(place: Place) -> [f64; 3] {
    [place.x_m, place.y_m, place.heading_rad]
}

fn message<M: Message + for<'a> Decode<'a>>(bytes: &[u8]) -> anyhow::Result<M> {
    M::decode(bytes).with_context(|| format!("a message that should be {}", M::NAME))
}

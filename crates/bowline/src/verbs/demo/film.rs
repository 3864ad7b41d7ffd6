//! `bowline demo raptor --film` and its like: a drive in simulation, as fast as it goes, in one HTML file.

use super::show::{Film, Show};
use crate::verbs::run::{self, Simulated};
use crate::{App, Outcome, input, output};
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
use std::path::Path;
use std::time::Duration;

/// Every second map is a frame: five a second are more than anybody looks at.
const MAPS_PER_FRAME: usize = 2;

#[derive(Args, Debug)]
pub(super) struct FilmArguments {
    /// As fast as the machine can, into one HTML file
    #[arg(long)]
    film: bool,
    /// How long it drives, in simulated time; without it to its last goal
    #[arg(long = "for", value_name = "DURATION", value_parser = input::period, requires = "film")]
    duration: Option<Duration>,
}

impl FilmArguments {
    pub(super) fn is_wanted(&self) -> bool {
        self.film
    }
}

pub(super) fn run(
    app: &App,
    show: &Show,
    arguments: &FilmArguments,
    folder: &Path,
) -> anyhow::Result<Outcome> {
    let Show { name, .. } = show;
    let Some(film) = &show.film else {
        bail!("there is no film of {name}");
    };
    let robot = show.unpack(folder)?.robot(app, film.robot, &[])?;
    let log = folder.join(format!("{name}.mcap"));
    output::line(show.intro)?;
    let duration = arguments.duration;
    let outcome = run::simulate(&Simulated {
        robot,
        lockstep: Some(Some(duration.unwrap_or(Duration::from_secs(film.seconds)))),
        record: Some(log.clone()),
    })?;
    let (replay, seen) = read(film, &log, &folder.join(show.model))?;
    let page = folder.join(format!("{name}.html"));
    fs::write(&page, replay.to_html()?)
        .with_context(|| format!("cannot write {}", page.display()))?;
    output::line(&seen.words())?;
    output::line(&format!(
        "\n  {}   maps, plan, votes and commands, to be played in a browser\n  {}   everything that was said; \
         `bowline station --log {1}` shows it, `bowline spy {1}` looks into it",
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
fn read(film: &Film, log: &Path, model: &Path) -> anyhow::Result<(Replay, Seen)> {
    let whereabouts = Whereabouts::new(model, "")
        .map_err(|error| anyhow::anyhow!("the robot's model: {error}"))?;
    let mut filmed = Filming {
        whereabouts,
        frame: Frame::default(),
        votes: BTreeMap::new(),
        n_maps: 0,
        seen: Seen::default(),
        replay: Replay {
            title: film.title.to_owned(),
            summary: film.summary.to_owned(),
            outline_m: film.outline_m,
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
struct Filming {
    whereabouts: Whereabouts,
    frame: Frame,
    votes: BTreeMap<String, Voter>,
    n_maps: usize,
    seen: Seen,
    replay: Replay,
}

impl Filming {
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

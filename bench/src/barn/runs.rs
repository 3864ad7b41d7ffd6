//! Runs of the Jackal through worlds of cylinders, as the BARN challenge judges them.
//!
//! The robots are those of `robots/`, in lockstep with the simulator within this process; only the world and the seed are
//! chosen here. Whether one arrived, and whether it touched anything, is the simulator's truth. Nothing is recorded, and a
//! run ends as soon as its end is known.

use anyhow::{Context as _, Result, ensure};
use bowline_autonomy::{Alarms, Mission, plan};
use bowline_component::engine::{Engine, Sent, Sink};
use bowline_component::{Kind, Setting, Time};
use bowline_host::robot::{Loader, Preset, Robot, Source, load};
use bowline_host::{Lockstep, Silence};
use bowline_log::{Catalog, Schemas};
use bowline_msgs::{Contact, PoseTransform};
use bowline_sim::{Barn, Sim};
use bowline_wire::Message as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many worlds of our own there are in a whole sweep.
pub(super) const N_GENERATED: u32 = 150;
/// The challenge's: a run that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(100);
/// The challenge's: this near to the goal is there, metres.
const THERE_M: f64 = 1.0;
/// A robot that stays within so many metres for so long will not arrive.
const STUCK: (f64, Duration) = (0.5, Duration::from_secs(30));
/// How long a robot that is there may take until it stands.
const STANDS_WITHIN: Duration = Duration::from_secs(5);
/// Slower than this it stands, metres a second.
const STANDS_MPS: f64 = 0.05;

const KINDS: &[Kind] = &[
    Kind::of::<Alarms>("alarms", "Keeps the vehicle's list of alarms."),
    Kind::of::<plan::WindowDriver>(
        "dynamic_window",
        "Drives along the arc that looks best now.",
    ),
    Kind::of::<Mission>("mission", "Keeps the goals that are left to visit."),
    Kind::of::<plan::PilotDriver>("pilot", "Drives along plans around what it has met."),
    Kind::of::<Sim>("sim", "Simulates the vehicle and its sensors in a world."),
];

/// A run that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Errand {
    /// The file of the world.
    pub(super) world: PathBuf,
    /// The simulator's seed.
    pub(super) seed: i64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It came within 1 m of the goal in time.
    Reached,
    /// It touched something, before the goal or there.
    Contact,
    /// It did not arrive within 100 s, or stayed where it was for 30 s.
    TimedOut,
    /// It came to the goal, and did not stop there.
    WentOn,
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The world's number.
    pub(super) world: u32,
    /// The simulator's seed.
    pub(super) seed: i64,
    /// How it ended.
    pub(super) end: End,
    /// How long it took to the goal, or to its end, seconds.
    pub(super) took_s: f64,
    /// The challenge's metric, from 0 to 0.5.
    pub(super) metric: f64,
}

/// Writes the worlds of those numbers, as our generator makes them, into a folder.
pub(super) fn generate(
    folder: &Path,
    numbers: impl IntoIterator<Item = u32>,
) -> Result<Vec<PathBuf>> {
    let write = |number: u32| {
        let path = folder.join(format!("world_{number:03}.json"));
        std::fs::write(&path, Barn::generate(number).to_json())?;
        Ok(path)
    };
    numbers.into_iter().map(write).collect()
}

/// Each world with each seed.
pub(super) fn errands(worlds: &[PathBuf], seeds: std::ops::RangeInclusive<i64>) -> Vec<Errand> {
    let each = worlds.iter().flat_map(|world| {
        let world = world.clone();
        seeds.clone().map(move |seed| Errand {
            world: world.clone(),
            seed,
        })
    });
    each.collect()
}

/// Makes all runs on all cores, and returns them in the order of the errands, whichever core made them.
///
/// # Errors
/// When a run cannot be made: a file is wrong.
pub(super) fn drive_all(robot: &Path, errands: &[Errand]) -> Result<Vec<Run>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(errand) = errands.get(nth) else {
                break;
            };
            let run = drive(robot, errand);
            let mut done = done.lock().expect("no thread panics while it is held");
            done.push((nth, run));
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(work);
        }
    });
    let mut done = done
        .into_inner()
        .expect("no thread panics while it is held");
    done.sort_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, run)| run).collect()
}

/// The robot of a file, its simulator in another world and with another seed than the file names.
fn robot(file: &Path, errand: &Errand) -> Result<Robot> {
    let preset = |name: &str, value: Setting| Preset {
        component: Some("sim".to_owned()),
        name: name.to_owned(),
        value,
    };
    let loader = Loader {
        kinds: KINDS,
        types: &|_| Ok(Catalog::new(Schemas::default(), bowline_msgs::SCHEMA)),
        search_path: &[],
        here: None,
        presets: &[
            preset("world", Setting::Text(errand.world.display().to_string())),
            preset("seed", Setting::Integer(errand.seed)),
        ],
    };
    let loaded = load(file, &loader);
    Ok(loaded.with_context(|| file.display().to_string())?.robot)
}

/// Makes one run.
fn drive(file: &Path, errand: &Errand) -> Result<Run> {
    let Errand { world: path, seed } = errand;
    let in_file = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(in_file)?;
    let world = Barn::parse(&text).with_context(in_file)?;
    let engine = Engine::new(robot(file, errand)?.make(Source::Sim)?)?;
    let mut judge = Judge::default();
    let mut lockstep = Lockstep::start(engine, Silence, Time::ZERO, &mut judge)?;
    while judge.end.is_none() {
        lockstep.step(&mut judge)?;
        ensure!(
            lockstep.now().since(Time::ZERO) <= 2 * LONGEST,
            "the simulator publishes no truth"
        );
    }
    let (end, took) = judge.end.context("a run that has not ended")?;
    let (took_s, best_s) = (took.as_secs_f64(), world.optimal_time_s());
    let metric = match end {
        End::Reached => best_s / took_s.clamp(2.0 * best_s, 8.0 * best_s),
        End::Contact | End::TimedOut | End::WentOn => 0.0,
    };
    Ok(Run {
        world: world.world,
        seed: *seed,
        end,
        took_s,
        metric,
    })
}

/// Observes the truth, and decides when a run is over.
#[derive(Default)]
struct Judge {
    end: Option<(End, Duration)>,
    /// Where it was when it last made progress, and when.
    anchor: ([f64; 2], Duration),
    /// When it came to the goal.
    reached: Option<Duration>,
}

impl Sink for Judge {
    fn publish(&mut self, sent: &Sent<'_>) {
        if self.end.is_some() {
            return;
        }
        let elapsed = sent.at.since(Time::ZERO);
        match &**sent.channel {
            "truth.contact" => self.touch(sent, elapsed),
            "truth.pose" => self.look(sent, elapsed),
            _ => {}
        }
    }
}

impl Judge {
    fn touch(&mut self, sent: &Sent<'_>, elapsed: Duration) {
        let contact = Contact::decode(sent.parcel.bytes()).expect("a contact");
        if contact.n_begun > 0 {
            self.end = Some((End::Contact, elapsed));
        }
    }

    fn look(&mut self, sent: &Sent<'_>, elapsed: Duration) {
        let pose = PoseTransform::decode(sent.parcel.bytes()).expect("a pose");
        let here = [pose.matrix[3], pose.matrix[7]];
        let away = |[x, y]: [f64; 2]| (here[0] - x).hypot(here[1] - y);
        if away(self.anchor.0) > STUCK.0 {
            self.anchor = (here, elapsed);
        }
        let is_there = away(Barn::GOAL_M) <= THERE_M;
        let stands = pose.velocity_mps[0].hypot(pose.velocity_mps[1]) < STANDS_MPS;
        if is_there {
            self.reached = self.reached.or(Some(elapsed));
        }
        self.end = match self.reached {
            Some(reached) if is_there && stands => Some((End::Reached, reached)),
            Some(reached) if elapsed - reached > STANDS_WITHIN => Some((End::WentOn, elapsed)),
            Some(_) => None,
            None if elapsed >= LONGEST || elapsed - self.anchor.1 > STUCK.1 => {
                Some((End::TimedOut, LONGEST))
            }
            None => None,
        };
    }
}

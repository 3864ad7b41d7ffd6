//! The BARN challenge: worlds that the robot has never seen, by laser alone, with the pilot and with a plain dynamic-window
//! driver.
//!
//! The robots are those of `robots/`, in lockstep with the simulator; only the world and the seed are told from here. Whether
//! one is there, and whether it touched anything, is the simulator's truth. Worlds are driven on all cores; nothing depends
//! on which one drives what.

use crate::{Length, stopwatch};
use anyhow::{Context as _, Result, bail, ensure};
use bowline_autonomy::{Mission, plan};
use bowline_log::{Catalog, Schemas};
use bowline_msgs::{Contact, PoseTransform};
use bowline_node::engine::{Engine, Sent, Sink};
use bowline_node::host::{Lockstep, Silence};
use bowline_node::robot::{Loader, Preset, Robot, Source, load};
use bowline_node::{Kind, Setting, Time};
use bowline_sim::{Barn, Sim};
use bowline_wire::Message as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The challenge's: a run that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(100);
/// The challenge's: this near to the goal is there, metres.
const THERE_M: f64 = 1.0;
/// A robot that stays within so many metres for so long will not arrive.
const STUCK: (f64, Duration) = (0.5, Duration::from_secs(30));

const KINDS: &[Kind] = &[
    Kind::of::<plan::WindowDriver>(
        "dynamic_window",
        "Drives along the arc that looks best now.",
    ),
    Kind::of::<Mission>("mission", "Keeps the goals that are left to visit."),
    Kind::of::<plan::PilotDriver>("pilot", "Drives along plans around what it has met."),
    Kind::of::<Sim>("sim", "Simulates the vehicle and its sensors in a world."),
];

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Reached,
    Contact,
    TimedOut,
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    world: u32,
    seed: i64,
    end: End,
    took_s: f64,
    metric: f64,
}

pub(crate) fn run(length: Length) -> Result<()> {
    let mut worlds = worlds_of(&root().join("worlds/barn"))?;
    let mut seeds = 1..=3;
    if length == Length::Quick {
        worlds.truncate(4);
        seeds = 1..=1;
    }
    println!(
        "BARN: {} worlds, seeds {seeds:?}, by laser alone (aim: success 0.95, metric 0.40)",
        worlds.len()
    );
    println!(
        "  {:<18} {:>8} {:>8} {:>9} {:>8} {:>14} {:>12}",
        "", "success", "contact", "timed out", "metric", "mean time, s", "took here, s"
    );
    for (name, file) in [
        ("pilot", "jackal.toml"),
        ("dynamic window", "jackal_window.toml"),
    ] {
        let robot = root().join("robots").join(file);
        let mut runs = Ok(Vec::new());
        let took = stopwatch::time(|| runs = drive_all(&robot, &worlds, seeds.clone()));
        tell(name, &runs?, took);
    }
    println!(
        "  published, in Gazebo: dynamic window 0.17 (success 0.83 to 0.88), the challenge's leaders 0.40 to 0.45; best possible 0.5\n"
    );
    Ok(())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of all worlds, in the order of their names.
fn worlds_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder of worlds {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "json") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!(
            "expected worlds (*.json) in {}, found none",
            folder.display()
        );
    }
    Ok(files)
}

/// A robot of ours, its simulator in another world and with another seed than its file says.
fn robot(file: &Path, world: &Path, seed: i64) -> Result<Robot> {
    let preset = |name: &str, value: Setting| Preset {
        component: Some("sim".to_owned()),
        name: name.to_owned(),
        value,
    };
    let loader = Loader {
        kinds: KINDS,
        types: &|_| Ok(Catalog::new(Schemas::default())),
        search_path: &[],
        here: None,
        presets: &[
            preset("world", Setting::Text(world.display().to_string())),
            preset("seed", Setting::Integer(seed)),
        ],
    };
    Ok(load(file, &loader)?.robot)
}

/// Every world with every seed, in this order, whoever drives them.
fn drive_all(
    robot: &Path,
    worlds: &[PathBuf],
    seeds: std::ops::RangeInclusive<i64>,
) -> Result<Vec<Run>> {
    let errands: Vec<(&PathBuf, i64)> = worlds
        .iter()
        .flat_map(|world| seeds.clone().map(move |seed| (world, seed)))
        .collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some((world, seed)) = errands.get(nth) else {
                break;
            };
            let run = drive(robot, world, *seed);
            let mut done = done.lock().expect("nobody panics while it is held");
            done.push((nth, run));
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("nobody panics while it is held");
    done.sort_by_key(|(nth, _)| *nth);
    done.into_iter().map(|(_, run)| run).collect()
}

/// One run, until it is there, touches something, or will not arrive.
fn drive(robot: &Path, file: &Path, seed: i64) -> Result<Run> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let world = Barn::parse(&text).with_context(|| format!("{} is no world", file.display()))?;
    let engine = Engine::new(self::robot(robot, file, seed)?.make(Source::Sim)?)?;
    let mut judge = Judge::default();
    let mut lockstep = Lockstep::start(engine, Silence, Time::ZERO, &mut judge)?;
    while judge.end.is_none() {
        lockstep.step(&mut judge)?;
        ensure!(
            lockstep.now().since(Time::ZERO) <= 2 * LONGEST,
            "the simulator does not tell the truth"
        );
    }
    let (end, took) = judge.end.context("it has ended")?;
    let (took_s, best_s) = (took.as_secs_f64(), world.optimal_time_s());
    let metric = match end {
        End::Reached => best_s / took_s.clamp(2.0 * best_s, 8.0 * best_s),
        End::Contact | End::TimedOut => 0.0,
    };
    Ok(Run {
        world: world.world,
        seed,
        end,
        took_s,
        metric,
    })
}

/// Hears the truth, and says when a run is over.
#[derive(Default)]
struct Judge {
    end: Option<(End, Duration)>,
    /// Where it was when it last got on, and when.
    anchor: ([f64; 2], Duration),
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
        let begun = Contact::decode(sent.parcel.bytes()).map_or(0, |it| it.n_begun);
        if begun > 0 {
            self.end = Some((End::Contact, elapsed));
        }
    }

    fn look(&mut self, sent: &Sent<'_>, elapsed: Duration) {
        let Ok(PoseTransform { matrix, .. }) = PoseTransform::decode(sent.parcel.bytes()) else {
            return;
        };
        let here = [matrix[3], matrix[7]];
        let away = |[x, y]: [f64; 2]| (here[0] - x).hypot(here[1] - y);
        if away(self.anchor.0) > STUCK.0 {
            self.anchor = (here, elapsed);
        }
        if away(Barn::GOAL_M) <= THERE_M {
            self.end = Some((End::Reached, elapsed));
        } else if elapsed >= LONGEST || elapsed - self.anchor.1 > STUCK.1 {
            self.end = Some((End::TimedOut, LONGEST));
        }
    }
}

fn tell(name: &str, runs: &[Run], took: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let mean =
        |each: &dyn Fn(&Run) -> f64| runs.iter().map(each).sum::<f64>() / runs.len().max(1) as f64;
    let share = |end: End| mean(&|run| f64::from(u8::from(run.end == end)));
    println!(
        "  {name:<18} {:>8.3} {:>8.3} {:>9.3} {:>8.3} {:>14.1} {:>12.1}",
        share(End::Reached),
        share(End::Contact),
        share(End::TimedOut),
        mean(&|run| run.metric),
        mean(&|run| run.took_s),
        took.as_secs_f64(),
    );
    for run in runs.iter().filter(|run| run.end != End::Reached) {
        let Run {
            world, seed, end, ..
        } = run;
        println!("    world {world:03}, seed {seed}: {end:?}");
    }
}

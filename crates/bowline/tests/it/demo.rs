//! `bowline demo`: what it unpacks is whole, and drives.

use crate::station::Serving;
use crate::{bowline_in, scratch, stderr, stdout};
use bowline_autonomy::{Place, Whereabouts};
use bowline_component::Vehicle;
use bowline_log::Reader;
use bowline_msgs::{Contact, PoseTransform};
use bowline_wire::Message as _;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn the_demo_runs_anywhere_and_shows_the_papers_fingerprints() {
    let output = bowline_in(&scratch("demo"), &["demo", "messages"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("bowline.path_t 0x9ab3ca4022072a1e"));
    assert!(stdout(&output).contains("waypoints[1].position[0] is 120.5"));
}

#[test]
fn robot_of_a_demo_drives_without_other_files() {
    // Reviewed by hand on 2026-11-18: goals_m of robots/raptor.toml has three places and that of robots/igvc.toml six; the
    // nearest of both are 29 m away or more, which is farther than five seconds of driving at the 2 m/s and 1.2 m/s that their
    // arbiters allow. How far they come is held to those speeds below, and is the same every time.
    let shows = [
        ("raptor", "raptor_ugv", 3, (4, 2.0), "vote.waypoint"),
        ("igvc", "igvc", 6, (5, 1.2), "vote.avoidance"),
    ];
    for (name, model, n_goals, (gone_m, max_speed_mps), voter) in shows {
        let folder = scratch(&format!("demo-{name}"));
        // Twice: the files of the first demo do not stop the second.
        for _ in 0..2 {
            let demo = Serving::start(&folder, &["demo", name, "--no-open", "-o", "demo"]);
            assert_eq!(demo.interrupt().1, Some(0), "{name}");
        }
        let robot = format!("demo/robots/{name}.toml");
        let text = fs::read_to_string(folder.join(&robot)).expect("a robot file");
        assert_eq!(n_goals_of(&text), n_goals, "{name}");
        let run = [
            "run",
            &robot,
            "--source",
            "sim",
            "--lockstep",
            "--for",
            "5s",
        ];
        let output = bowline_in(
            &folder,
            &[&run[..], &["--record", "drive.mcap"]].concat(),
            b"",
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let model = folder.join(format!("demo/models/{model}/{model}.xml"));
        let drive = Drive::read(&folder.join("drive.mcap"), &model);
        assert_eq!(
            (drive.n_goals, drive.n_goals_left),
            (Some(n_goals), n_goals),
            "{name}"
        );
        assert_eq!(drive.n_contacts, Some(0), "{name}");
        assert!(
            drive.channels.contains(voter),
            "{name}: {:?}",
            drive.channels
        );
        assert!(
            (drive.gone_m - f64::from(gone_m)).abs() <= 0.5,
            "{name}: {} m",
            drive.gone_m
        );
        assert!(
            drive.gone_m <= 5.0 * max_speed_mps,
            "{name}: {} m",
            drive.gone_m
        );
    }
}

/// The result of a drive.
#[derive(Default)]
struct Drive {
    n_goals: Option<usize>,
    n_goals_left: usize,
    n_contacts: Option<i32>,
    gone_m: f64,
    channels: BTreeSet<String>,
}

impl Drive {
    /// Reads the log of a drive.
    fn read(log: &Path, model: &Path) -> Self {
        let vehicle = Vehicle {
            model: model.to_owned(),
            ..Vehicle::default()
        };
        let whereabouts = Whereabouts::of(&vehicle).expect("the model of the demo");
        let mut log = Reader::open(log).expect("a log");
        let mut drive = Self::default();
        let mut last: Option<Place> = None;
        while let Some(event) = log.next_event().expect("it can be read") {
            drive.channels.insert(event.channel.to_owned());
            match event.channel {
                "goals" => {
                    let goals = bowline_msgs::Path::decode(event.payload).expect("goals");
                    drive.n_goals_left = goals.waypoints.len();
                    drive.n_goals.get_or_insert(drive.n_goals_left);
                }
                "truth.contact" => {
                    let contact = Contact::decode(event.payload).expect("contacts");
                    drive.n_contacts = Some(contact.n_begun);
                }
                "truth.pose" => {
                    let pose = PoseTransform::decode(event.payload).expect("a pose");
                    let place = whereabouts.place(&pose).expect("a place");
                    drive.gone_m += last.map_or(0.0, |last| last.apart(place).0);
                    last = Some(place);
                }
                _ => {}
            }
        }
        drive
    }
}

/// How many places `goals_m` of a robot file has.
fn n_goals_of(robot: &str) -> usize {
    let (_, goals) = robot.split_once("goals_m = [").expect("it has goals");
    let (goals, _) = goals.split_once(']').expect("they end");
    let without_comments = goals
        .lines()
        .map(|it| it.split('#').next().unwrap_or_default());
    let numbers = without_comments.flat_map(|it| it.split(','));
    numbers.filter(|it| !it.trim().is_empty()).count() / 2
}

//! Ground vehicles that drive themselves in simulation, as their robot files have it.

use bowline_log::Reader;
use bowline_msgs::{Contact, Path as Goals, PoseTransform};
use bowline_tests::peers::bowline;
use bowline_wire::{Decode, Message};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A robot of ours with changes, in a folder of its own.
pub(crate) struct Trial {
    pub(crate) folder: PathBuf,
}

impl Trial {
    pub(crate) fn new(name: &str, robot: &str, changes: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("the last run's folder can go");
        }
        fs::create_dir_all(&folder).expect("a folder");
        let text = fs::read_to_string(root().join("robots").join(robot)).expect("a robot file");
        let mut text = text.replace("\"../", &format!("\"{}/", root().display()));
        for (old, new) in changes {
            assert!(text.contains(old), "{robot} has no {old:?}");
            text = text.replace(old, new);
        }
        fs::write(folder.join("robot.toml"), text).expect("a file");
        Self { folder }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(bowline());
        command.args(["run", "robot.toml"]).args(args);
        command.current_dir(&self.folder).output().expect("it runs")
    }

    /// Drives in simulated time.
    pub(crate) fn drive(&self, duration: &str) {
        self.drive_with(duration, &[]);
    }

    /// Drives in simulated time, with parameters in place of those of the robot file.
    pub(crate) fn drive_with(&self, duration: &str, parameters: &[&str]) {
        let mut args = vec!["--source", "sim", "--lockstep", "--for", duration];
        args.extend(["--record", "drive.mcap"]);
        args.extend(parameters.iter().flat_map(|it| ["--set", *it]));
        let output = self.run(&args);
        assert!(output.status.success(), "{}", said(&output));
    }

    /// All messages of a channel.
    pub(crate) fn heard<M: Message + for<'a> Decode<'a>>(&self, channel: &str) -> Vec<M> {
        let mut log = Reader::open(self.folder.join("drive.mcap")).expect("a log");
        let mut messages = Vec::new();
        while let Some(event) = log.next_event().expect("it can be read") {
            if event.channel == channel {
                messages.push(M::decode(event.payload).expect("a message of its type"));
            }
        }
        messages
    }
}

pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_raptor_finds_its_way_through_the_blocks_world_and_touches_nothing() {
    for seed in [1, 2, 3] {
        let world = "blocks.toml\" }";
        let seeded = format!("blocks.toml\", seed = {seed} }}");
        let trial = Trial::new(
            &format!("ground_blocks_{seed}"),
            "raptor.toml",
            &[(world, &seeded)],
        );
        trial.drive("90s");
        let left = trial.heard::<Goals>("goals").pop().expect("a mission");
        assert_eq!(left.waypoints, [], "seed {seed}: goals are left");
        let contact = trial
            .heard::<Contact>("truth.contact")
            .pop()
            .expect("the truth");
        assert_eq!(
            contact.n_begun, 0,
            "seed {seed}: it touched {:?}",
            contact.others
        );
        let at_rest = trial
            .heard::<PoseTransform>("truth.pose")
            .pop()
            .expect("the truth");
        assert!(
            at_rest.velocity_mps[0].abs() < 0.05,
            "seed {seed}: it stands at the end"
        );
    }
}

#[test]
fn what_the_raptor_decided_in_simulation_it_decides_again_from_the_log_to_the_bit() {
    let trial = Trial::new("ground_verify", "raptor.toml", &[]);
    trial.drive("15s");
    let verified = trial.run(&["--source", "log:drive.mcap", "--verify"]);
    assert!(verified.status.success(), "{}", said(&verified));
}

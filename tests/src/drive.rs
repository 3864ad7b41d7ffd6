//! Robots of ours that drive in simulated time, and what came of it.

use crate::peers::{bowline, workspace};
use bowline_log::Reader;
use bowline_wire::{Decode, Message};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Larger messages are not kept in memory: scans and maps are most of a log, and few tests read them.
const MAX_KEPT_BYTES: usize = 4096;

/// A run of a robot that was recorded.
#[derive(Debug)]
pub struct Drive {
    robot: PathBuf,
    log: PathBuf,
    /// What was read of the log, once for all channels.
    kept: OnceLock<Kept>,
    _folder: TempDir,
}

/// The messages of a log but for those of channels with large ones.
#[derive(Debug, Default)]
struct Kept {
    messages: BTreeMap<String, Vec<Vec<u8>>>,
    /// Channels that are read from the log when they are asked for.
    large: BTreeSet<String>,
}

impl Drive {
    /// Runs a robot of `robots/` to its end, in lockstep, with arguments such as `--source sim --for 90s`.
    #[must_use]
    pub fn new(robot: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let drive = Self {
            robot: workspace().join("robots").join(robot),
            log: folder.path().join("drive.mcap"),
            kept: OnceLock::new(),
            _folder: folder,
        };
        let log = drive.log.display().to_string();
        let output = drive.run(&[args, &["--lockstep", "--record", &log]].concat());
        assert!(output.status.success(), "{robot}: {}", said(&output));
        drive
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(bowline());
        command.arg("run").arg(&self.robot).args(args);
        command.output().expect("it runs")
    }

    /// As a source of data.
    #[must_use]
    pub fn as_source(&self) -> String {
        format!("log:{}", self.log.display())
    }

    /// Whether the components send again what they sent, when they receive what they received.
    ///
    /// # Errors
    /// With what is different.
    pub fn verify(&self) -> Result<(), String> {
        let verified = self.run(&["--source", &self.as_source(), "--verify"]);
        let is_same = verified.status.success();
        is_same.then_some(()).ok_or_else(|| said(&verified))
    }

    /// All messages of a channel, in their order.
    #[must_use]
    pub fn heard<M: Message + for<'a> Decode<'a>>(&self, channel: &str) -> Vec<M> {
        let decode = |payload: &[u8]| M::decode(payload).expect("a message of its type");
        let kept = self.kept.get_or_init(|| self.read());
        if !kept.large.contains(channel) {
            let messages = kept.messages.get(channel).into_iter().flatten();
            return messages.map(|payload| decode(payload)).collect();
        }
        let mut messages = Vec::new();
        self.each(|of, payload| {
            if of == channel {
                messages.push(decode(payload));
            }
        });
        messages
    }

    fn read(&self) -> Kept {
        let mut kept = Kept::default();
        self.each(|channel, payload| {
            if payload.len() > MAX_KEPT_BYTES && kept.large.insert(channel.to_owned()) {
                kept.messages.remove(channel);
            } else if let Some(messages) = kept.messages.get_mut(channel) {
                messages.push(payload.to_vec());
            } else if !kept.large.contains(channel) {
                let first = vec![payload.to_vec()];
                kept.messages.insert(channel.to_owned(), first);
            }
        });
        kept
    }

    fn each(&self, mut take: impl FnMut(&str, &[u8])) {
        let mut log = Reader::open(&self.log).expect("a log");
        while let Some(event) = log.next_event().expect("it can be read") {
            take(event.channel, event.payload);
        }
    }

    /// The last message of a channel.
    #[must_use]
    pub fn last<M: Message + for<'a> Decode<'a>>(&self, channel: &str) -> M {
        let last = self.heard(channel).pop();
        last.unwrap_or_else(|| panic!("{}: nothing on {channel}", self.robot.display()))
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

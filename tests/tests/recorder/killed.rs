//! kill -9 costs the last moment, and nothing else.

use super::{Folder, command, read, signal, start};
use bowline_bus::wall_ns;
use bowline_log::{Damage, DamageKind, OwnedEvent};
use bowline_tests::bus_peers::{Pace, Sending, URL, implementation};
use bowline_tests::netns::Namespace;
use bowline_tests::peers::Peers;
use bowline_tests::process::Process;
use bowline_tests::random::Random;
use bowline_tests::report::{Job, in_two_threads};
use bowline_tests::sweep;
use nix::sys::signal::Signal;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was there for longer than this when the recorder was killed must be in the file.
const MAX_LOST_US: i64 = 100_000;
/// In a sample, and in the whole.
const N_ROUNDS: [usize; 2] = [4, 25];
const FORMATS: [&str; 4] = ["0.log", "1.log", "2.mcap", "3.mcap"];

/// A recorder that was killed.
struct Victim {
    path: PathBuf,
    killed_at: i64,
    /// How long it was ready to run, and had no processor: what comes meanwhile cannot be saved.
    starved_us: i64,
}

fn recorder(place: &Namespace, path: &Path) -> Process {
    start(&mut command(place, URL, path))
}

/// Microseconds that all threads of a process together waited for a processor.
fn starved_us(process: &Process) -> i64 {
    // `nsenter` has become the recorder.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.id()));
    let schedstats = tasks
        .expect("it runs")
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
    let waited = schedstats.filter_map(|text| text.split(' ').nth(1)?.parse::<i64>().ok());
    waited.sum::<i64>() / 1_000
}

/// Kills four recorders, each after a time of its own.
fn round(place: &Namespace, folder: &Folder, round: usize, random: &mut Random) -> Vec<Victim> {
    let name = |format| folder.file(format!("{round}-{format}"));
    let started: Vec<_> = FORMATS
        .map(|format| (name(format), recorder(place, &name(format))))
        .into();
    let victims = started.into_iter().map(|(path, process)| {
        let life = Duration::from_millis(random.between(100, 250) as u64);
        assert_eq!(process.lines_while(1, life), [""; 0]);
        let starved_us = starved_us(&process);
        let killed_at = wall_ns() / 1_000;
        signal(&process, Signal::SIGKILL);
        drop(process.end());
        Victim {
            path,
            killed_at,
            starved_us,
        }
    });
    victims.collect()
}

/// Returns how many events had to be there.
fn check(victim: &Victim, witnessed: &[OwnedEvent]) -> usize {
    let (events, damages) = read(&victim.path);
    let context = format!("{}: {damages:?}", victim.path.display());
    let size = std::fs::metadata(&victim.path).map_or(0, |metadata| metadata.len());
    // What was being written ends early, or the directory is not there; nothing before that is touched.
    let is_at_end = |damage: &Damage| {
        damage.kind == DamageKind::Directory || damage.offset + damage.len == size
    };
    assert!(damages.iter().all(is_at_end), "{size} bytes, {context}");
    let Some(first) = events.first() else {
        panic!("{context}: there are no events");
    };
    let deadline = victim.killed_at - MAX_LOST_US - victim.starved_us;
    // The same datagram has another time in another socket; the first may have come to one a moment earlier.
    let began = first.utime + 10_000;
    let found: HashSet<&[u8]> = events.iter().map(|event| &event.payload[..]).collect();
    let is_due = |event: &&OwnedEvent| event.utime > began && event.utime < deadline;
    let due: Vec<&OwnedEvent> = witnessed.iter().filter(is_due).collect();
    let lost: Vec<i64> = due
        .iter()
        .filter(|event| !found.contains(&event.payload[..]))
        .map(|event| victim.killed_at - event.utime)
        .collect();
    assert!(
        lost.is_empty(),
        "{context}: {} lost that were {lost:?} us old, starved for {} us",
        lost.len(),
        victim.starved_us
    );
    due.len()
}

/// Kills recorders of a stream of messages, again and again.
fn kill_recorders(name: &str, rate_hz: u32, size: usize) {
    let (place, folder, peers) = (Namespace::new(), Folder::new(name), Peers::find());
    let sending = Sending {
        channel: "steady",
        n_channels: 1,
        seed: 7,
        count: u64::MAX,
        pace: Pace::PerSecond(rate_hz),
        sizes: &[size],
    };
    let witness_path = folder.file("witness");
    let witness = recorder(&place, &witness_path);
    let sender = implementation("bowline").send(&peers, &place, URL, &sending);
    let mut random = Random::new(u64::from(rate_hz));
    let n_rounds = sweep::pick("rounds of killed recorders", N_ROUNDS[0], N_ROUNDS[1]);
    let rounds = (0..n_rounds).map(|number| round(&place, &folder, number, &mut random));
    let victims: Vec<Victim> = rounds.flatten().collect();
    drop(sender);
    signal(&witness, Signal::SIGTERM);
    let (status, _) = witness.end();
    assert!(status.success(), "the witness has seen everything");
    let (witnessed, damages) = read(&witness_path);
    assert_eq!(damages, []);
    let n_due: usize = victims.iter().map(|victim| check(victim, &witnessed)).sum();
    println!(
        "{name}: {} of {} recorders killed, {n_due} events had to be there",
        victims.len(),
        N_ROUNDS[1] * FORMATS.len()
    );
    assert!(
        n_due > victims.len(),
        "they lived too shortly to lose anything"
    );
}

#[test]
fn after_kill_9_nothing_older_than_100_ms_is_missing_and_the_file_opens() {
    let jobs: Vec<Job<'_>> = vec![
        Box::new(|| kill_recorders("slow", 100, 100)),
        Box::new(|| kill_recorders("quick", 5_000, 1_000)),
    ];
    in_two_threads(jobs);
}

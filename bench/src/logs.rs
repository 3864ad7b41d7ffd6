//! The logs against lcm-logger and lcm-logplayer, in the same run: what is recorded without loss, how fast a log plays,
//! and how quickly a large one answers.

use crate::bus::{Bound, aim};
use crate::stopwatch::time;
use crate::{Length, peers};
use anyhow::{Context as _, Result};
use bowline_log::{IndexUse, LogEvent, Reader, Writer, WriterOptions};
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const URL: &str = "udpm://239.255.76.67:7667?ttl=0";
const CHANNEL: &str = "bench.data";
const MEGABYTE: usize = 1_000_000;

/// Who records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorder {
    Bowline,
    Mcap,
    LcmLogger,
}

impl Recorder {
    const ALL: [Self; 3] = [Self::Bowline, Self::Mcap, Self::LcmLogger];

    fn name(self) -> &'static str {
        match self {
            Self::Bowline => "bowline",
            Self::Mcap => "bowline, MCAP",
            Self::LcmLogger => "lcm-logger",
        }
    }

    fn start(self, folder: &Path) -> Result<(Child, PathBuf)> {
        let path = folder.join(match self {
            Self::Bowline | Self::LcmLogger => "bench.log",
            Self::Mcap => "bench.mcap",
        });
        let mut command = match self {
            Self::Bowline | Self::Mcap => {
                let mut command = Command::new(bowline());
                command.args(["log", "record"]);
                command
            }
            Self::LcmLogger => Command::new(peers::lcm_program("lcm-logger")),
        };
        command.args(["-f", "-l", URL]).arg(&path);
        Ok((quiet(&mut command)?, path))
    }
}

fn bowline() -> PathBuf {
    peers::root().join("target/release/bowline")
}

fn quiet(command: &mut Command) -> Result<Child> {
    let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.with_context(|| format!("cannot run {command:?}"))
}

/// Ends a recorder as Ctrl-C does.
fn interrupt(mut child: Child) -> Result<()> {
    peers::run(Command::new("kill").arg("-INT").arg(child.id().to_string()))?;
    child.wait()?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a recorder does not report when it is ready"
)]
fn settle() {
    std::thread::sleep(Duration::from_millis(700));
}

pub(crate) fn run(length: Length) -> Result<()> {
    // In memory: this is about the recorder, not about the disk.
    let folder = tempfile::tempdir_in("/dev/shm")?;
    record(folder.path(), length)?;
    play(folder.path(), length)?;
    drop(folder);
    large(length)
}

/// Messages a second, of liblcm, each for a recorder of its own; 0 is as fast as it can.
const LADDER: [u32; 9] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 120_000, 0,
];
const LARGE_LADDER: [u32; 9] = [10, 50, 100, 200, 400, 800, 1_200, 1_600, 0];

fn record(folder: &Path, length: Length) -> Result<()> {
    for (size, ladder, seconds) in [(800, &LADDER[..], 2.0), (MEGABYTE, &LARGE_LADDER[..], 1.5)] {
        println!(
            "recorded from liblcm publishing {size} bytes, to memory: loss, % (of how many a second)"
        );
        print!("{:<24}", "");
        for recorder in Recorder::ALL {
            print!("{:>26}", recorder.name());
        }
        println!();
        let mut loss_free = [0.0_f64; Recorder::ALL.len()];
        for rate_hz in ladder {
            let seconds = if length == Length::Quick {
                0.3
            } else {
                seconds
            };
            let name = match rate_hz {
                0 => "as fast as it can".to_owned(),
                rate => format!("{rate}/s"),
            };
            print!("  {name:<22}");
            for (recorder, best) in Recorder::ALL.into_iter().zip(&mut loss_free) {
                let sent = record_once(recorder, folder, size, *rate_hz, seconds)?;
                let loss = 100.0 * (sent.n - sent.n_recorded) / sent.n.max(1.0);
                if sent.n_recorded >= sent.n {
                    *best = best.max(sent.hz);
                }
                let cell = format!("{loss:.2} ({:.1} k)", sent.hz / 1e3);
                print!("{cell:>26}");
            }
            println!();
        }
        print!("  {:<22}", "most without loss");
        for best in loss_free {
            print!("{:>24.1} k", best / 1e3);
        }
        println!();
        println!(
            "  {:<22}{:>24.1} k",
            "the bytes only written",
            write_rate(folder, size)? / 1e3
        );
        let [ours, _, theirs] = loss_free;
        let ratio = (theirs > 0.0).then(|| ours / theirs);
        match ratio {
            Some(_) => aim("beside lcm-logger", ratio, Bound::AtLeast(5.0), "x"),
            None => println!(
                "  lcm-logger loses at every rate; aim: at least 5x: met if ours is above 0"
            ),
        }
        println!();
    }
    Ok(())
}

/// How many messages' bytes a second the system takes when nothing is received or made of them: no recorder takes more.
fn write_rate(folder: &Path, size: usize) -> Result<f64> {
    const N_BYTES: usize = 500 * MEGABYTE;
    let path = folder.join("plain");
    let bytes = vec![7; MEGABYTE];
    let mut file = File::create(&path)?;
    let mut written = Ok(());
    let took = time(|| written = (0..N_BYTES / MEGABYTE).try_for_each(|_| file.write_all(&bytes)));
    written?;
    fs::remove_file(path)?;
    Ok((N_BYTES / size) as f64 / took.as_secs_f64().max(1e-9))
}

/// What was sent and what became of it.
pub(crate) struct Sent {
    pub(crate) n: f64,
    pub(crate) hz: f64,
    /// What it cost the sender, altogether.
    pub(crate) cpu_ns: f64,
    /// How many are in the log.
    pub(crate) n_recorded: f64,
}

/// Has liblcm publish to a recorder.
pub(crate) fn record_once(
    recorder: Recorder,
    folder: &Path,
    size: usize,
    rate_hz: u32,
    seconds: f64,
) -> Result<Sent> {
    let (child, path) = recorder.start(folder)?;
    settle();
    let program = peers::root().join("target/release/bowline");
    let mut publisher = Command::new(program);
    publisher.args(["bench-worker", "liblcm"]);
    publisher.env("LD_LIBRARY_PATH", peers::lcm_lib()?);
    publisher.args(["pub", URL, "--peers", "0", "--idx", "0"]);
    publisher.args(["--rate", &rate_hz.to_string(), "--size", &size.to_string()]);
    publisher.args(["--seconds", &seconds.to_string()]);
    let report = peers::run(&mut publisher)?;
    settle();
    interrupt(child)?;
    let figure = |name: &str| {
        let (_, rest) = report.split_once(&format!("\"{name}\":"))?;
        rest.split([',', '}']).next()?.parse::<f64>().ok()
    };
    let n = figure("sent").context("expected how many were sent")?;
    let cpu_ns = figure("cpu_ns").context("expected what it cost")?;
    let ns = figure("ns").context("expected how long it took")?;
    let n_recorded = count(&path, size)?;
    for name in [
        path.clone(),
        PathBuf::from(format!("{}.index", path.display())),
    ] {
        drop(fs::remove_file(name));
    }
    Ok(Sent {
        n,
        hz: n * 1e9 / ns.max(1.0),
        cpu_ns,
        n_recorded,
    })
}

/// Events of the right size with a number of their own: neither the markers after them nor those before.
fn count(path: &Path, size: usize) -> Result<f64> {
    let mut reader = Reader::open_with(path, IndexUse::Ignore, &mut |_, _| {})?;
    let mut n = 0.0;
    while let Some(event) = reader.next_event()? {
        let sequence = event
            .payload
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes));
        let is_counted = sequence.is_some_and(|sequence| sequence < u64::MAX - 1);
        if event.channel == CHANNEL && event.payload.len() == size && is_counted {
            n += 1.0;
        }
    }
    Ok(n)
}

fn play(folder: &Path, length: Length) -> Result<()> {
    println!("played as fast as it goes, from memory, without receivers");
    println!(
        "{:<24}{:>16}{:>16}{:>10}",
        "", "bowline", "lcm-logplayer", ""
    );
    let cases = [(800, 1, 300_000), (800, 7, 300_000), (MEGABYTE, 1, 1_000)];
    for (size, n_channels, n_events) in cases {
        let n_events = if length == Length::Quick {
            n_events / 10
        } else {
            n_events
        };
        let path = folder.join("play.log");
        write_log(&path, size, n_channels, n_events)?;
        let mut ours = Command::new(bowline());
        ours.args(["log", "play", "--speed", "0", "-l", URL])
            .arg(&path);
        let mut theirs = Command::new(peers::lcm_program("lcm-logplayer"));
        theirs.args(["-s", "1e12", "-l", URL]).arg(&path);
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..3 {
            for (command, took) in [&mut ours, &mut theirs].into_iter().zip(&mut took) {
                took.push(time_command(command)?);
            }
        }
        let [ours, theirs] = took.map(|mut took| {
            took.sort_unstable();
            let median = took.get(1).copied().unwrap_or_default();
            f64::from(n_events) / median.as_secs_f64().max(1e-9)
        });
        println!(
            "  {:<22}{:>12.1} k/s{:>12.1} k/s{:>9.2}x",
            match n_channels {
                1 => format!("{size} bytes"),
                n => format!("{size} bytes, {n} channels"),
            },
            ours / 1e3,
            theirs / 1e3,
            ours / theirs
        );
        // What a megabyte costs is the kernel's copying of it, which is the same for both.
        if size == 800 {
            aim(
                "beside lcm-logplayer",
                Some(ours / theirs),
                Bound::AtLeast(5.0),
                "x",
            );
        }
        fs::remove_file(&path)?;
    }
    println!();
    Ok(())
}

fn time_command(command: &mut Command) -> Result<Duration> {
    let mut outcome = Ok(());
    let took =
        time(|| outcome = quiet(command).and_then(|mut child| Ok(child.wait().map(drop)?)));
    outcome.map(|()| took)
}

fn write_log(path: &Path, size: usize, n_channels: u32, n_events: u32) -> Result<()> {
    let options = WriterOptions {
        without_index: true,
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(path, options)?;
    let payload = vec![7; size];
    let channels: Vec<String> = (0..n_channels).map(|i| format!("{CHANNEL}{i}")).collect();
    for (i, channel) in (0..n_events).zip(channels.iter().cycle()) {
        writer.write(LogEvent {
            number: 0,
            utime: 1_700_000_000_000_000 + i64::from(i),
            nanos: 0,
            channel,
            payload: &payload,
        })?;
        if writer.n_pending() > 1 << 20 {
            writer.flush()?;
        }
    }
    Ok(writer.finish()?)
}

/// A log of ten gigabytes whose payloads are holes in the file.
fn large(length: Length) -> Result<()> {
    const N_PAYLOAD: usize = 64 << 10;
    let n_events: u32 = if length == Length::Quick {
        1_600
    } else {
        160_000
    };
    let folder = peers::work_folder()?;
    let path = folder.join("large.log");
    let size = write_sparse(&path, n_events, N_PAYLOAD)?;
    println!("a log of {:.1} GB", size as f64 / 1e9);
    let mut info = Command::new(bowline());
    info.args(["log", "info"]).arg(&path);
    let first = time_command(&mut info)?;
    println!(
        "  info, with the index to be made {:>10.3} s",
        first.as_secs_f64()
    );
    let mut again: Vec<Duration> = (0..5)
        .map(|_| time_command(&mut info))
        .collect::<Result<_>>()?;
    again.sort_unstable();
    let median = again.get(2).map(Duration::as_secs_f64);
    println!(
        "  info, once indexed              {:>10.3} s",
        median.unwrap_or_default()
    );
    aim("info once indexed", median, Bound::AtMost(0.1), " s");
    let mut worst = Duration::ZERO;
    for i in 0..20 {
        let utime = 1_700_000_000_000_000 + i64::from(n_events) * 1_000 * i / 20;
        let mut found = Ok(None);
        let took = time(|| found = seek(&path, utime));
        anyhow::ensure!(found? == Some(utime), "the event at {utime} is not found");
        worst = worst.max(took);
    }
    println!(
        "  open and seek, worst of 20      {:>10.3} s",
        worst.as_secs_f64()
    );
    aim(
        "open and seek",
        Some(worst.as_secs_f64()),
        Bound::AtMost(0.1),
        " s",
    );
    fs::remove_dir_all(folder)?;
    Ok(())
}

fn seek(path: &Path, utime: i64) -> Result<Option<i64>> {
    let mut reader = Reader::open(path)?;
    reader.seek_to(utime)?;
    Ok(reader.next_event()?.map(|event| event.utime))
}

fn write_sparse(path: &Path, n_events: u32, n_payload: usize) -> Result<u64> {
    let mut file = File::create(path)?;
    let mut header = Vec::new();
    let mut at = 0;
    for i in 0..n_events {
        header.clear();
        let utime = 1_700_000_000_000_000 + i64::from(i) * 1_000;
        bowline_wire::eventlog::write_header(i64::from(i), utime, CHANNEL, n_payload, &mut header)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&header)?;
        at += (header.len() + n_payload) as u64;
    }
    file.set_len(at)?;
    Ok(at)
}

//! A disk that is full or fails is an alarm, not an end; every event is in the file or counted.

use super::{Folder, command, count, end, read, signal, start};
use bowline_log::{BOOKMARK_CHANNEL, LogEvent, Writer, WriterOptions};
use bowline_tests::bus_peers::{Pace, Sending, URL, implementation};
use bowline_tests::content::content;
use bowline_tests::netns::Namespace;
use bowline_tests::peers::{Peers, bowline, run};
use bowline_tests::process::Process;
use bowline_tests::report::{Job, in_two_threads};
use bowline_tests::sweep;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Waits until the recorder's status is so. Only guards against waiting for ever.
fn await_status(process: &Process, is_so: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..60 {
        let line = process.line();
        let status: Value = serde_json::from_str(&line).unwrap_or_default();
        if is_so(&status) {
            return status;
        }
    }
    panic!("expected another status, found none in a minute");
}

/// Mounts 4 MiB of memory, records into that until stopped, and saves the log.
const RECORD_INTO_LITTLE: &str = r#"
mount -t tmpfs -o size=4m tmpfs "$1" && head -c 3000000 /dev/zero > "$1/filler" || exit 3
shift
"$@" & echo "pid $!"; wait $!; echo "rc $?"; cp "$LOG" "$SAVED"
"#;

#[test]
fn a_disk_that_fills_up_is_an_alarm_and_recording_goes_on_when_there_is_room() {
    const N_MESSAGES: u64 = 6_000;
    for extension in ["log", "mcap"] {
        let (place, folder, peers) = (Namespace::new(), Folder::new("full"), Peers::find());
        let (disk, saved) = (
            folder.file("disk"),
            folder.file(format!("saved.{extension}")),
        );
        std::fs::create_dir_all(&disk).expect("a folder can be made");
        let log = disk.join(format!("a.{extension}"));
        let mut shell = place.command("unshare");
        shell.args(["--mount", "sh", "-c", RECORD_INTO_LITTLE, "sh"]);
        shell.arg(&disk).arg(bowline());
        shell
            .args(["log", "record", "--json", "-m", "1", "-l", URL])
            .arg(&log);
        shell.env("LOG", &log).env("SAVED", &saved);
        let recorder = Process::start("recorder on a small disk", &mut shell);
        let pid = recorder.line();
        let pid: i32 = pid
            .strip_prefix("pid ")
            .and_then(|id| id.parse().ok())
            .expect(&pid);
        await_status(&recorder, |status| status["phase"] == "recording");
        let sending = Sending {
            channel: "flood",
            n_channels: 1,
            seed: 3,
            count: N_MESSAGES,
            pace: Pace::PerSecond(3_000),
            sizes: &[1_000],
        };
        let sender = implementation("bowline").send(&peers, &place, URL, &sending);
        let alarmed = await_status(&recorder, |status| status["phase"] == "refused");
        assert!(
            alarmed["alarm"]
                .as_str()
                .expect("words")
                .contains("No space left"),
            "{alarmed}"
        );
        drop(sender.finish());
        let filler = format!("/proc/{pid}/root{}/filler", disk.display());
        std::fs::remove_file(filler).expect("the filler can be removed from outside");
        await_status(&recorder, |status| status["phase"] == "recording");
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid),
            nix::sys::signal::Signal::SIGTERM,
        )
        .expect("it is ours");
        let (_, lines) = recorder.end();
        let [last, rc] = &lines[lines.len() - 2..] else {
            panic!("{lines:?}");
        };
        let last: Value = serde_json::from_str(last).expect("it was asked for JSON");
        assert_eq!(rc, "rc 1", "something was lost: {last}");
        let (mut events, damages) = read(&saved);
        assert_eq!(damages, [], "{last}");
        let gaps = events
            .iter()
            .filter(|event| event.channel == BOOKMARK_CHANNEL);
        assert!(
            gaps.count() >= 1,
            "the log reports that something is missing"
        );
        events.retain(|event| event.channel == "flood");
        assert!(count(&last, "queue") > 0, "{last}");
        let accounted = events.len() as u64 + count(&last, "queue") + count(&last, "unwritten");
        // Its own alarms are on the bus too, one a second, and may be dropped as others are.
        assert!(
            (N_MESSAGES..=N_MESSAGES + 60).contains(&accounted),
            "{} in the file: {last}",
            events.len()
        );
        let newest = content(sending.seed, N_MESSAGES - 1, 1_000);
        let last_event = events.last().expect("some were recorded");
        assert!(last_event.payload == newest, "the newest is kept");
    }
}

const N_EVENTS: u32 = 600;
/// Of these, so many are large enough to be written on their own.
const N_LARGE: u32 = 200;

/// A log that is a bus to record.
fn write_source(path: &Path) {
    let mut writer = Writer::create(path, WriterOptions::default()).expect("a log can be made");
    for number in 0..N_EVENTS {
        let event = LogEvent {
            number: 0,
            utime: 1_700_000_000_000_000 + i64::from(number),
            nanos: 0,
            channel: "source",
            payload: &content(
                1,
                number.into(),
                if number % 3 == 0 { 70_000 } else { 1_000 },
            ),
        };
        writer.write(event).expect("an event can be written");
    }
    writer.finish().expect("a log can be written");
}

/// Records under strace, with a fault injected into the writes of the log and its index.
fn record_with_fault(source: &Path, file: &Path, fault: &str) -> Value {
    let mut strace = Command::new("strace");
    let trace = file.with_extension("trace");
    strace.args(["-f", "-qq", "-e", "trace=write,fdatasync", "-o"]);
    strace.arg(&trace);
    strace.arg("-e").arg(format!("inject={fault}"));
    strace.arg("-P").arg(file);
    strace
        .arg("-P")
        .arg(format!("{}.index.part", file.display()));
    strace
        .arg(bowline())
        .args(["log", "record", "--json", "-l"]);
    strace.arg(format!("file://{}?speed=0&time=log", source.display()));
    let output = strace.arg(file).output().expect("strace runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let context = || {
        format!(
            "{fault}: {} {text} {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    };
    let status: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{}", context()));
    let is_lossy = status["is_lossy"] == true;
    let trace = std::fs::read_to_string(&trace).expect("strace writes it");
    let is_told = String::from_utf8_lossy(&output.stderr).contains("warning: ");
    assert_eq!(trace.contains("(INJECTED)"), is_told, "{}", context());
    if let Some(when) = must_happen(file, fault) {
        assert!(is_told, "{when} writes are not many: {}", context());
    }
    assert_eq!(
        output.status.code(),
        Some(i32::from(is_lossy)),
        "{}",
        context()
    );
    status
}

/// The write that is refused, if there must be so many: large messages of an LCM log are written one by one.
fn must_happen(file: &Path, fault: &str) -> Option<u32> {
    let when: u32 = fault.rsplit_once("when=")?.1.parse().ok()?;
    let is_lcm = file.extension().is_some_and(|it| it == "log");
    (is_lcm && when <= 2 * N_LARGE).then_some(when)
}

fn check_fault(folder: &Folder, number: usize, extension: &str, fault: &str) {
    let source = folder.file("source");
    let file = folder.file(format!("{number}.{extension}"));
    let status = record_with_fault(&source, &file, fault);
    let (mut events, damages) = read(&file);
    events.retain(|event| event.channel == "source");
    let lost = count(&status, "unwritten") + count(&status, "queue");
    let n_found = events.len() as u64;
    assert!(
        n_found + lost >= u64::from(N_EVENTS),
        "{fault}: {n_found} in the file, {status}"
    );
    if lost == 0 {
        assert_eq!(damages, [], "{fault}, {status}");
        assert_eq!(n_found, u64::from(N_EVENTS), "{fault}, {status}");
    }
    let mut numbers = (0..).zip(&events);
    let is_intact = |(index, event): (u64, &bowline_log::OwnedEvent)| {
        event.payload == content(1, index, event.payload.len())
    };
    assert!(numbers.all(is_intact), "{fault}");
}

#[test]
fn a_refused_write_anywhere_costs_nothing_that_is_not_counted() {
    let folder = Folder::new("faults");
    write_source(&folder.file("source"));
    let mut faults = Vec::new();
    let whens = (1..=12).chain([17, 29, 53, 97, 151, 233, 311, 397]);
    for when in whens {
        for what in ["error=ENOSPC", "error=EIO", "retval=0"] {
            faults.push(format!("write:{what}:when={when}"));
        }
    }
    for what in ["error=ENOSPC", "error=EIO"] {
        faults.push(format!("write:{what}:when=3+2"));
    }
    faults.push("fdatasync:error=EIO:when=1".to_owned());
    // Of each kind of fault some, early and late.
    let n_sample = faults.len().div_ceil(5);
    let chosen = sweep::choose("refused writes", faults, n_sample);
    let cases = chosen.iter().enumerate().map(|(number, fault)| {
        let extension = if number % 2 == 0 { "log" } else { "mcap" };
        let folder = &folder;
        let job: Job<'_> = Box::new(move || check_fault(folder, number, extension, fault));
        job
    });
    in_two_threads(cases.collect());
}

/// Sends to a recorder, which must be refused meanwhile; then lets it write again, and returns its last words.
fn refuse_for_a_while(
    place: &Namespace,
    recorder: Process,
    reason: &str,
    allow: impl FnOnce(),
) -> Value {
    let sender = implementation("bowline").send(&Peers::find(), place, URL, &FLOOD);
    let refused = await_status(&recorder, |status| status["phase"] == "refused");
    let alarm = refused["alarm"].as_str().expect("words").to_owned();
    assert!(alarm.contains(reason), "{alarm}");
    drop(sender.finish());
    // It goes on: what does not find room any more is counted, and what waits is the newest.
    await_status(&recorder, |status| {
        status["phase"] == "refused" && count(status, "queue") > 0 && count(status, "waiting") > 0
    });
    allow();
    await_status(&recorder, |status| status["phase"] == "recording");
    end(recorder)
}

const FLOOD: Sending<'_> = Sending {
    channel: "flood",
    n_channels: 1,
    seed: 3,
    count: 4_000,
    pace: Pace::PerSecond(4_000),
    sizes: &[1_000],
};

/// Every message is in the log or counted, and the newest is there.
fn check_flood(path: &Path, last: &Value) {
    let (mut events, damages) = read(path);
    assert_eq!(damages, [], "{last}");
    events.retain(|event| event.channel == FLOOD.channel);
    let accounted = events.len() as u64 + count(last, "queue") + count(last, "unwritten");
    // Its own alarms are on the bus too, and may be dropped as others are.
    let expected = FLOOD.count..=FLOOD.count + 60;
    assert!(expected.contains(&accounted), "{}: {last}", events.len());
    let newest = content(FLOOD.seed, FLOOD.count - 1, 1_000);
    let last_event = events.last().expect("some were recorded");
    assert!(last_event.payload == newest, "the newest is kept");
}

#[test]
fn a_write_that_the_kernel_cuts_short_goes_on_where_it_was() {
    let cases = [("log", 300_001), ("log", 123_457), ("mcap", 200_003)];
    let cases = cases.into_iter().map(|(extension, limit)| {
        let job: Job<'_> = Box::new(move || {
            let (place, folder) = (Namespace::new(), Folder::new(&format!("short-{limit}")));
            let path = folder.file(format!("a.{extension}"));
            // What the last write before it has no room for is cut off; the next is refused.
            let mut limited = place.command("prlimit");
            limited.arg(format!("--fsize={limit}:unlimited"));
            limited.arg(bowline());
            limited.args(["log", "record", "--json", "-m", "1", "-l", URL]);
            let recorder = start(limited.arg(&path));
            let id = recorder.id().to_string();
            let last = refuse_for_a_while(&place, recorder, "File too large", || {
                let size = std::fs::metadata(&path).expect("a log").len();
                assert_eq!(size, limit, "the write was cut short");
                let mut allow = Command::new("prlimit");
                run(allow.args(["--pid", &id, "--fsize=unlimited:unlimited"]));
            });
            check_flood(&path, &last);
        });
        job
    });
    in_two_threads(cases.collect());
}

#[test]
fn a_disk_that_fails_without_end_is_an_alarm_and_the_newest_is_kept() {
    let cases = ["log", "mcap"].map(|extension| {
        let job: Job<'_> = Box::new(move || {
            let (place, folder) = (Namespace::new(), Folder::new(&format!("eio-{extension}")));
            let path = folder.file(format!("a.{extension}"));
            let recorder = start(command(&place, URL, &path).args(["--json", "-m", "1"]));
            let mut strace = Command::new("strace");
            strace.args([
                "-f",
                "-qq",
                "-o",
                "/dev/null",
                "-e",
                "inject=write:error=EIO",
            ]);
            strace.args(["-P".as_ref(), path.as_os_str()]);
            let strace = strace.args(["-p", &recorder.id().to_string()]).spawn();
            let mut strace = strace.expect("strace runs");
            let last = refuse_for_a_while(&place, recorder, "Input/output error", || {
                let id = i32::try_from(strace.id()).expect("an id is a positive number");
                let id = nix::unistd::Pid::from_raw(id);
                // It leaves the recorder alone then.
                nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("it is ours");
                strace.wait().expect("it ends");
            });
            check_flood(&path, &last);
        });
        job
    });
    in_two_threads(cases.into());
}

#[test]
fn a_recorder_that_was_stopped_for_a_while_counts_what_it_missed() {
    let (place, folder, peers) = (Namespace::new(), Folder::new("stopped"), Peers::find());
    let path = folder.file("a.log");
    let recorder = start(command(&place, URL, &path).arg("--json"));
    let sending = Sending {
        channel: "steady",
        n_channels: 1,
        seed: 5,
        count: 4_000,
        pace: Pace::PerSecond(4_000),
        sizes: &[60_000],
    };
    signal(&recorder, nix::sys::signal::Signal::SIGSTOP);
    let sender = implementation("C").send(&peers, &place, URL, &sending);
    drop(sender.finish());
    signal(&recorder, nix::sys::signal::Signal::SIGCONT);
    let one = Sending {
        count: 1,
        sizes: &[10],
        ..sending
    };
    drop(implementation("C").send(&peers, &place, URL, &one).finish());
    await_status(&recorder, |status| count(status, "recorded") > 0);
    drop(recorder.lines_while(2, Duration::from_secs(2)));
    let status = end(recorder);
    let n_found = read(&path).0.len() as u64;
    assert_eq!(count(&status, "recorded"), n_found);
    assert!(n_found < 4_001 && status["is_lossy"] == true, "{status}");
    assert!(count(&status, "kernel_drops") > 0, "{status}");
}

#[test]
fn a_log_can_be_recorded_from_a_bus_that_is_a_log() {
    let folder = Folder::new("replay");
    let source = folder.file("source");
    write_source(&source);
    let status = record_with_fault(
        &source,
        &folder.file("copy.log"),
        "write:error=EIO:when=60000",
    );
    assert_eq!(count(&status, "recorded"), u64::from(N_EVENTS));
    assert_eq!(read(&folder.file("copy.log")), read(&source));
}

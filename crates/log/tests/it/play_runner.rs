//! What a runner publishes, over a bus within the process.

use crate::support::{KINDS, events, open, options, write};
use bowline_bus::{Bus, Inbox, Pattern, Queue};
use bowline_log::play::{
    Command, Player, PlayerOptions, REQUEST_CHANNEL, Range, Rate, Report, Runner, RunnerOptions,
    STATUS_CHANNEL, State,
};
use bowline_log::{IndexUse, OwnedEvent, SCHEMA_CHANNEL, Schemas, Writer, WriterOptions};
use bowline_msgs::{PlayerRequest, PlayerStatus, Pose, Schema};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use std::path::Path;
use std::thread::JoinHandle;

fn listen(bus: &Bus, pattern: &str) -> Inbox {
    let inbox = bus.inbox();
    let queue = Queue::keep_oldest(1_000_000);
    inbox.subscribe(pattern, queue).unwrap();
    inbox
}

fn runner(path: &Path, bus: &Bus, player: PlayerOptions, is_staying: bool) -> Runner {
    let reader = open(path, IndexUse::Make);
    let span = reader.summary().and_then(|summary| summary.span);
    let player = Player::new(PlayerOptions { span, ..player });
    let options = RunnerOptions {
        name: "tested".to_owned(),
        is_staying,
        ..RunnerOptions::default()
    };
    Runner::new(reader, bus.clone(), player, options)
}

fn start(runner: Runner) -> JoinHandle<Report> {
    let thread = std::thread::Builder::new();
    thread.spawn(move || runner.run().unwrap()).unwrap()
}

fn heard(inbox: &Inbox) -> Vec<(String, Vec<u8>)> {
    let next = || inbox.try_recv().unwrap();
    std::iter::from_fn(next)
        .map(|(_, event)| (event.channel.as_str().to_owned(), event.payload.to_vec()))
        .collect()
}

fn content(events: &[OwnedEvent]) -> Vec<(String, Vec<u8>)> {
    let content = |event: &OwnedEvent| (event.channel.clone(), event.payload.clone());
    events.iter().map(content).collect()
}

#[test]
fn what_arrives_is_what_was_recorded_in_its_order_at_every_rate() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = events(1_000);
    // Some that are not collected, because they are large.
    written[500].payload = vec![7; 100_000];
    written[501].payload = vec![8; 20_000];
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        write(&path, options(*compression), &written, 100);
        for rate in [Rate::Max, Rate::Times(200.0)] {
            let bus = Bus::open("memq://?announce=off").unwrap();
            let inbox = listen(&bus, ".*");
            let player = PlayerOptions {
                rate,
                ..PlayerOptions::default()
            };
            let report = runner(&path, &bus, player, false).run().unwrap();
            assert!(heard(&inbox) == content(&written), "{path:?} at {rate:?}");
            let tallies = report.status.tallies;
            assert_eq!((tallies.n_published, report.n_failed), (1_000, 0));
            let n_timed = if rate == Rate::Max { 0 } else { 1_000 };
            assert_eq!(report.lateness.n(), n_timed);
        }
    }
}

#[test]
fn a_player_that_is_controlled_describes_what_the_log_describes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.mcap");
    let pose = Pose::default().encode().unwrap();
    let written = events(4).into_iter().map(|event| OwnedEvent {
        payload: pose.clone(),
        ..event
    });
    let options = WriterOptions {
        schemas: Schemas::generated(bowline_msgs::SCHEMA),
        ..WriterOptions::default()
    };
    write(&path, options, &written.collect::<Vec<_>>(), 100);
    for is_controlled in [true, false] {
        let bus = Bus::open("memq://").unwrap();
        let inbox = listen(&bus, SCHEMA_CHANNEL);
        let mut runner = runner(&path, &bus, flat_out(), false);
        if is_controlled {
            runner.listen().unwrap();
        }
        runner.run().unwrap();
        let schemas = heard(&inbox).into_iter();
        let mut names: Vec<_> = schemas
            .map(|(_, payload)| Schema::decode(&payload).unwrap().name)
            .collect();
        names.sort();
        names.dedup();
        let expected: &[&str] = if is_controlled {
            &["bowline.player_status_t", "bowline.pose_t"]
        } else {
            &[]
        };
        assert_eq!(names, expected);
    }
}

#[test]
fn a_name_that_cannot_be_sent_is_counted_and_the_rest_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    write(&path, WriterOptions::default(), &events(100), 100);
    let bus = Bus::open("memq://?announce=off").unwrap();
    let inbox = listen(&bus, ".*");
    let mut runner = runner(&path, &bus, flat_out(), false);
    let long = format!("X={}", "x".repeat(64));
    runner
        .controls()
        .send(Command::Rename(long.parse().unwrap()));
    runner.listen().unwrap();
    let report = runner.run().unwrap();
    assert_eq!(report.n_failed, 25);
    assert!(report.first_failure.is_some());
    let heard = heard(&inbox);
    let n_heard = heard.iter().filter(|(name, _)| name != STATUS_CHANNEL);
    assert_eq!(n_heard.count(), 75);
}

fn flat_out() -> PlayerOptions {
    PlayerOptions {
        rate: Rate::Max,
        ..PlayerOptions::default()
    }
}

/// A client on the bus that drives a player.
struct Driver {
    bus: Bus,
    statuses: Inbox,
    events: Inbox,
}

impl Driver {
    fn new(bus: &Bus) -> Self {
        Self {
            bus: bus.clone(),
            statuses: listen(bus, STATUS_CHANNEL),
            events: listen(bus, "(?!bowline.player).*"),
        }
    }

    fn ask(&self, request: PlayerRequest) {
        self.bus.publish(REQUEST_CHANNEL, &request).unwrap();
    }

    fn act(&self, action: i8) {
        self.act_on(action, 0.0, "");
    }

    fn act_on(&self, action: i8, value: f64, text: &str) {
        self.ask(PlayerRequest {
            action,
            value,
            text: text.to_owned(),
            ..PlayerRequest::default()
        });
    }

    /// The first status from now on that is as expected.
    fn wait_for(&self, what: &str, is_it: impl Fn(&PlayerStatus) -> bool) -> PlayerStatus {
        for _ in 0..1_000 {
            let next = self.statuses.recv_timeout(PATIENCE).unwrap();
            let (_, event) = next.unwrap_or_else(|| unreachable!("no status, {what}"));
            let status = PlayerStatus::decode(&event.payload).unwrap();
            if is_it(&status) {
                return status;
            }
        }
        unreachable!("waited for {what} in vain");
    }

    fn n_heard(&self) -> usize {
        heard(&self.events).len()
    }
}

#[test]
fn a_player_is_driven_over_the_bus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let written = events(1_000);
    let mut writer = Writer::create(&path, WriterOptions::default()).unwrap();
    for (at, event) in written.iter().enumerate() {
        writer.write(event.as_event()).unwrap();
        if at == 500 {
            writer.bookmark(event.utime, "half").unwrap();
        }
    }
    writer.finish().unwrap();
    let bus = Bus::open("memq://?announce=off").unwrap();
    let driver = Driver::new(&bus);
    let player = PlayerOptions {
        is_paused: true,
        ..PlayerOptions::default()
    };
    let mut runner = runner(&path, &bus, player, true);
    runner.listen().unwrap();
    let running = start(runner);
    let first = driver.wait_for("the first status", |_| true);
    assert_eq!(first.state, PlayerStatus::PAUSED);
    assert_eq!((first.player.as_str(), first.log_utime), ("tested", 0));
    assert_eq!(first.log_first_utime, written[0].utime);
    assert_eq!(first.log_last_utime, written[999].utime);

    driver.act(PlayerRequest::STEP);
    driver.wait_for("one event", |status| status.n_published == 1);
    driver.act_on(PlayerRequest::STEP, 0.0, "camera.image");
    let status = driver.wait_for("a step by channel", |status| status.n_published == 4);
    assert_eq!((status.state, driver.n_heard()), (PlayerStatus::PAUSED, 4));
    driver.act_on(PlayerRequest::BOOKMARK, 0.0, "half");
    driver.wait_for("the bookmark", |status| {
        status.log_utime == written[500].utime
    });
    driver.act_on(PlayerRequest::SEEK_BY, -1.0, "");
    driver.wait_for("a second before", |status| {
        status.log_utime == written[400].utime
    });
    driver.act_on(PlayerRequest::RATE, 0.0, "");
    driver.wait_for("the rate", |status| status.rate.abs() < f64::EPSILON);
    for (action, text) in [
        (PlayerRequest::RENAME, "vehicle.(.*)=replayed.$1"),
        (PlayerRequest::DISABLE, "camera.*"),
    ] {
        driver.act_on(action, 0.0, text);
    }
    driver.act(PlayerRequest::PLAY);
    let ended = driver.wait_for("the end", |status| status.state == PlayerStatus::ENDED);
    assert_eq!(
        ended.n_published,
        4 + 450 + 1,
        "all but the camera's, and a bookmark"
    );
    let heard = heard(&driver.events);
    assert_eq!(heard.len(), 451);
    assert!(heard.iter().any(|(name, _)| name == "replayed.pose"));
    assert!(
        heard
            .iter()
            .all(|(name, _)| name != "vehicle.pose" && name != "camera.image")
    );

    driver.act(99);
    driver.act_on(PlayerRequest::ENABLE, 0.0, "(");
    bus.publish_bytes(REQUEST_CHANNEL, b"no request").unwrap();
    driver.wait_for("three refusals", |status| status.n_refused == 3);
    driver.ask(PlayerRequest {
        action: PlayerRequest::QUIT,
        player: "another".to_owned(),
        ..PlayerRequest::default()
    });
    driver.act(PlayerRequest::QUIT);
    let report = running.join().unwrap();
    assert_eq!((report.n_refused, report.status.state), (3, State::Ended));
}

#[test]
fn range_loops_until_quit() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (extension, compression)) in KINDS.iter().enumerate() {
        let path = folder.path().join(format!("{at}.{extension}"));
        let written = events(1_000);
        write(&path, options(*compression), &written, 100);
        let bus = Bus::open("memq://?announce=off").unwrap();
        let inbox = listen(&bus, ".*");
        let player = PlayerOptions {
            range: Range {
                start: Some(written[200].utime),
                end: Some(written[299].utime),
            },
            is_looping: true,
            ..flat_out()
        };
        let runner = runner(&path, &bus, player, false);
        let controls = runner.controls();
        let running = start(runner);
        let mut found = Vec::new();
        while found.len() < 250 {
            let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().expect("more events");
            found.push((event.channel.as_str().to_owned(), event.payload.to_vec()));
        }
        controls.send(Command::Quit);
        running.join().unwrap();
        let expected = content(&written[200..300]);
        for (at, found) in found.iter().enumerate() {
            assert!(*found == expected[at % 100], "{extension}: event {at}");
        }
    }
}

#[test]
fn controls_see_what_the_player_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    write(&path, WriterOptions::default(), &events(100), 100);
    let bus = Bus::open("memq://?announce=off").unwrap();
    let runner = runner(&path, &bus, flat_out(), false);
    let controls = runner.controls();
    assert_eq!(controls.report().status.state, State::Playing);
    controls.send(Command::Disable(Pattern::exact("X")));
    runner.run().unwrap();
    let report = controls.report();
    assert_eq!(report.status.tallies.n_published, 75);
    let disabled = report.channels.iter().find(|channel| !channel.is_enabled);
    assert_eq!(disabled.map(|channel| channel.channel.as_str()), Some("X"));
    assert!(!controls.send(Command::Play), "there is no reader");
}

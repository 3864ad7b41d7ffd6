//! What a log promises as a transport. It goes one way, so the suite of the others does not fit it.

use crate::folder::Folder;
use bowline_bus::{Bus, Queue, SCHEMA_CHANNEL};
use bowline_format::{LogEvent, Reader, Schemas, Writer, WriterOptions};
use bowline_msgs::{Pose, Schema};
use bowline_testing::patience::PATIENCE;
use bowline_wire::Message as _;
use futures_core::Stream as _;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

/// A name for each format.
const NAMES: [&str; 2] = ["log", "log.mcap"];

/// Writes a log of times, channels and payloads.
fn write<'a>(path: &Path, events: impl IntoIterator<Item = (i64, &'a str, Vec<u8>)>) {
    let options = WriterOptions {
        without_index: true,
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(path, options).unwrap();
    for (utime, channel, payload) in events {
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel,
            payload: &payload,
        };
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
}

/// A log of `n_events`, a millisecond apart, on channels A and B in turn.
fn log(path: &Path, n_events: u32) {
    let event = |number: u32| {
        let channel = if number.is_multiple_of(2) { "A" } else { "B" };
        let utime = 1_000_000 + i64::from(number) * 1_000;
        (utime, channel, number.to_be_bytes().to_vec())
    };
    write(path, (0..n_events).map(event));
}

fn play(path: &Path, options: &str) -> Bus {
    Bus::open(&format!("file://{}?{options}", path.display())).unwrap()
}

fn number(event: &bowline_bus::Event) -> u32 {
    u32::from_be_bytes(event.payload[..].try_into().unwrap())
}

/// What is published in one mode after the other.
fn publish(path: &Path, mode: &str) {
    let bus = play(path, &format!("mode={mode}"));
    for number in 0..100_u32 {
        bus.publish_bytes("A", &number.to_be_bytes()).unwrap();
    }
    let mut cork = bus.cork();
    cork.publish_bytes("B", &vec![7; 100_000]).unwrap();
    cork.publish_bytes("B", b"").unwrap();
    cork.flush().unwrap();
}

#[test]
fn what_was_published_is_played_in_order() {
    let folder = Folder::new("file");
    for (name, modes) in [("log", &["w", "a"][..]), ("log.mcap", &["w"])] {
        let path = folder.join(name);
        for mode in modes {
            publish(&path, mode);
        }
        let bus = play(&path, "speed=0");
        let inbox = bus.events(".*").unwrap();
        for _ in modes {
            for expected in 0..100 {
                let (_, event) = inbox.recv().unwrap();
                assert_eq!((event.channel.as_str(), number(&event)), ("A", expected));
            }
            assert_eq!(inbox.recv().unwrap().1.payload.len(), 100_000);
            assert_eq!(inbox.recv().unwrap().1.payload.len(), 0);
        }
        assert!(inbox.recv().unwrap_err().is_end());
        assert!(
            inbox.try_recv().unwrap_err().is_end(),
            "the end stays the end"
        );
        let mut reader = Reader::open(&path).unwrap();
        for expected in 0..102 * modes.len() {
            let number = reader.next_event().unwrap().unwrap().number;
            assert_eq!(number, i64::try_from(expected).unwrap(), "{name}");
        }
        assert!(reader.next_event().unwrap().is_none());
        assert!(reader.damages().is_empty(), "{name} is whole");
    }
}

#[test]
fn published_mcap_is_read_without_its_end_and_is_not_appended_to() {
    let folder = Folder::new("file");
    let path = folder.join("log.mcap");
    let bus = play(&path, "mode=w");
    bus.publish_bytes("A", b"kept").unwrap();
    // What a crash would leave.
    let left = std::fs::read(&path).unwrap();
    drop(bus);
    std::fs::write(&path, left).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(reader.next_event().unwrap().unwrap().payload, b"kept");
    let refused = Bus::open(&format!("file://{}?mode=a", path.display())).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("MCAP files end with"), "{refused}");
}

#[test]
fn mcap_describes_its_types_before_their_first_message() {
    let folder = Folder::new("file");
    let path = folder.join("log.mcap");
    let options = WriterOptions {
        schemas: Schemas::generated(bowline_msgs::SCHEMA),
        ..WriterOptions::default()
    };
    let mut writer = Writer::create(&path, options).unwrap();
    let payload = Pose::default().encode().unwrap();
    for utime in 0..3 {
        let event = LogEvent {
            number: 0,
            utime,
            nanos: 0,
            channel: "vehicle.pose",
            payload: &payload,
        };
        writer.write(event).unwrap();
    }
    writer.finish().unwrap();
    let bus = play(&path, "speed=0");
    let inbox = bus.events(".*").unwrap();
    let events: Vec<_> = std::iter::from_fn(|| inbox.recv().ok()).collect();
    let channels: Vec<&str> = events.iter().map(|(_, it)| it.channel.as_str()).collect();
    let pose = "vehicle.pose";
    assert_eq!(channels, [SCHEMA_CHANNEL, pose, pose, pose]);
    let schema = Schema::decode(&events[0].1.payload).unwrap();
    assert_eq!(schema.name, "bowline.pose_t");
}

#[test]
fn subscriptions_get_what_they_ask_for_and_all_see_the_end() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 1_000);
    let bus = play(&path, "speed=-1");
    let inbox = bus.inbox();
    let [a, all] = ["A", ".*"].map(|pattern| inbox.subscribe(pattern, Queue::default()).unwrap());
    let other = bus.events("B").unwrap();
    let mut counts = std::collections::BTreeMap::new();
    let end = loop {
        match inbox.recv() {
            Ok((id, _)) => *counts.entry(id).or_insert(0) += 1,
            Err(error) => break error,
        }
    };
    assert!(end.is_end());
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [(a, 500), (all, 1_000)]
    );
    for expected in 0..500 {
        assert_eq!(number(&other.recv().unwrap().1), expected * 2 + 1);
    }
    assert!(other.recv().unwrap_err().is_end());
    let late = bus.events("A").unwrap();
    assert!(late.recv_timeout(PATIENCE).unwrap_err().is_end());
    assert_eq!((bus.counts().received, bus.counts().lost()), (1_000, 0));
}

#[test]
fn flat_out_no_queue_however_short_loses_an_event() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 5_000);
    for queue in [
        Queue::keep_newest(1),
        Queue::keep_oldest(2),
        Queue::block(3),
        Queue::default(),
    ] {
        let bus = play(&path, "speed=0");
        let inbox = bus.inbox();
        inbox.subscribe(".*", queue).unwrap();
        for expected in 0..5_000 {
            assert_eq!(number(&inbox.recv().unwrap().1), expected, "{queue:?}");
        }
        assert!(inbox.recv().unwrap_err().is_end());
        assert_eq!(bus.counts().queue_drops, 0, "{queue:?}");
    }
}

#[test]
fn readers_on_several_threads_lose_nothing_where_they_ask_the_log_to_wait() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 2_000);
    let bus = play(&path, "speed=0");
    let inboxes = ["A", "B", ".*"].map(|pattern| {
        let inbox = bus.inbox();
        inbox.subscribe(pattern, Queue::block(4)).unwrap();
        inbox
    });
    std::thread::scope(|scope| {
        let readers = inboxes.each_ref().map(|inbox| {
            scope.spawn(move || {
                let events = std::iter::from_fn(|| inbox.recv().ok());
                events.map(|(_, event)| number(&event)).collect::<Vec<_>>()
            })
        });
        let [a, b, all] = readers.map(|reader| reader.join().unwrap());
        assert_eq!(a, (0..1_000).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(b, (0..1_000).map(|n| n * 2 + 1).collect::<Vec<_>>());
        assert_eq!(all, (0..2_000).collect::<Vec<_>>());
    });
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn a_descriptor_and_a_stream_get_everything_and_the_end() {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 5_000);
    let bus = play(&path, "speed=0");
    let inbox = bus.inbox();
    inbox.subscribe(".*", Queue::keep_newest(16)).unwrap();
    let mut expected = 0;
    loop {
        let mut fds = [PollFd::new(inbox.fd().unwrap(), PollFlags::POLLIN)];
        assert!(poll(&mut fds, PollTimeout::from(30_000_u16)).unwrap() > 0);
        match inbox.try_recv() {
            Ok(Some((_, event))) => assert_eq!(number(&event), expected),
            Ok(None) => continue,
            Err(error) => break assert!(error.is_end()),
        }
        expected += 1;
    }
    assert_eq!((expected, bus.counts().queue_drops), (5_000, 0));

    let bus = play(&path, "speed=0");
    let inbox = bus.inbox();
    inbox.subscribe("A", Queue::keep_newest(16)).unwrap();
    let mut stream = pin!(inbox.into_stream());
    let n_events = futures_executor::block_on(async {
        let mut n_events = 0;
        let poll = |context: &mut std::task::Context<'_>| stream.as_mut().poll_next(context);
        let mut poll = poll;
        while let Some(event) = std::future::poll_fn(&mut poll).await {
            assert_eq!(number(&event.unwrap().1), n_events * 2);
            n_events += 1;
        }
        n_events
    });
    assert_eq!((n_events, bus.counts().queue_drops), (2_500, 0));
}

#[test]
fn inbox_watched_after_the_end_is_notified() {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 10);
    let bus = play(&path, "speed=0");
    let watched = bus.inbox();
    watched.fd().unwrap();
    let inbox = bus.events(".*").unwrap();
    while inbox.recv().is_ok() {}
    watched.subscribe(".*", Queue::default()).unwrap();
    let mut fds = [PollFd::new(watched.fd().unwrap(), PollFlags::POLLIN)];
    assert!(poll(&mut fds, PollTimeout::from(30_000_u16)).unwrap() > 0);
    assert!(watched.try_recv().unwrap_err().is_end());
}

#[test]
fn callbacks_get_everything() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 1_000);
    let bus = play(&path, "speed=0");
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let _callback = bus
        .on_event(".*", move |event| tell.send(number(&event)).unwrap())
        .unwrap();
    for expected in 0..1_000 {
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), expected);
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test is about time; no lateness is measured, only that nothing comes early"
)]
fn no_event_comes_before_its_time() {
    let folder = Folder::new("file");
    for name in NAMES {
        let path = folder.join(name);
        log(&path, 51);
        let start = std::time::Instant::now();
        let bus = play(&path, "speed=0.5");
        let inbox = bus.events(".*").unwrap();
        for expected in 0..51 {
            assert_eq!(number(&inbox.recv().unwrap().1), expected);
            assert!(start.elapsed() >= Duration::from_millis(2) * expected);
        }
    }
}

#[test]
fn events_after_a_clock_that_was_set_back_are_played_at_their_pace() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    let hour = 3_600_000_000;
    let times = [hour, 0, hour / 2];
    write(&path, times.map(|utime| (utime, "A", Vec::new())));
    let bus = play(&path, "");
    let inbox = bus.events("A").unwrap();
    for _ in 0..2 {
        assert!(inbox.recv_timeout(PATIENCE).unwrap().is_some());
    }
    // Half an hour after the event before it, although that is earlier than the first.
    assert!(inbox.try_recv().unwrap().is_none());
}

#[test]
fn an_event_that_is_not_due_lets_go_of_those_who_wait() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    let hour = 3_600_000_000;
    let later = b"an hour later".to_vec();
    write(&path, [(0, "A", b"first".to_vec()), (hour, "A", later)]);
    let bus = play(&path, "");
    let inbox = bus.events("A").unwrap();
    assert_eq!(&inbox.recv().unwrap().1.payload[..], b"first");
    assert!(inbox.try_recv().unwrap().is_none());
    let soon = Duration::from_millis(5);
    assert!(inbox.recv_timeout(soon).unwrap().is_none());
    let watched = bus.events("B").unwrap();
    watched.fd().unwrap();
    drop((watched, inbox, bus));
}

#[test]
fn playing_starts_where_it_is_asked_to_and_at_once() {
    let folder = Folder::new("file");
    for name in NAMES {
        let path = folder.join(name);
        let early = (0, "A", b"long ago".to_vec());
        write(&path, [early, (3_600_000_000, "A", b"now".to_vec())]);
        let bus = play(&path, "start_timestamp=3599999999&time=log");
        let inbox = bus.events("A").unwrap();
        let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(&event.payload[..], b"now", "{name}");
        assert_eq!(event.arrival.utime(), 3_600_000_000);
        assert_eq!(event.arrival.sequence, Some(1));
        assert!(inbox.recv().unwrap_err().is_end());
    }
}

#[test]
fn a_log_goes_one_way() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    let bus = play(&path, "mode=w");
    let inbox = bus.events("A").unwrap();
    bus.publish_bytes("A", b"").unwrap();
    assert!(inbox.try_recv().unwrap().is_none());
    let trouble = bus.trouble().unwrap_or_default();
    assert!(trouble.contains("nothing can be received"), "{trouble}");
    let bus = play(&path, "mode=r");
    let error = bus.publish_bytes("A", b"").unwrap_err().to_string();
    assert!(error.contains("cannot be published to"), "{error}");
}

#[test]
fn url_errors_are_reported() {
    for (url, expected) in [
        ("file://", "expected a path"),
        ("file:///tmp/x?mode=rw", "r, w or a"),
        ("file:///tmp/x?mode=r&speed=fast", "speed="),
        ("file:///tmp/x?speed=NaN", "speed="),
        ("file:///tmp/x?time=tea", "log or wall"),
        ("file:///tmp/x?spead=1", "no option"),
        ("file:///no/such/folder/log", "/no/such/folder/log"),
    ] {
        let error = Bus::open(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    }
}

#[test]
fn damage_is_counted() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    log(&path, 10);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes.splice(at..at, *b"noise");
    std::fs::write(&path, &bytes).unwrap();
    let bus = play(&path, "speed=0");
    let inbox = bus.events(".*").unwrap();
    let mut n_events = 0;
    while inbox.recv().is_ok() {
        n_events += 1;
    }
    assert!(n_events >= 9, "{n_events}");
    assert_eq!(bus.counts().network.malformed, 1);
}

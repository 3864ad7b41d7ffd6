//! What a log promises as a transport. It goes one way, so the suite of the others does not fit it.

use crate::folder::Folder;
use bowline_bus::eventlog::{Reader, Writer};
use bowline_bus::{Bus, Queue};
use bowline_testing::patience::PATIENCE;
use futures_core::Stream as _;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

/// A log of `n_events`, a millisecond apart, on channels A and B in turn.
fn log(path: &Path, n_events: u32) {
    let mut writer = Writer::create(path).unwrap();
    for number in 0..n_events {
        let channel = if number % 2 == 0 { "A" } else { "B" };
        let utime = 1_000_000 + i64::from(number) * 1_000;
        writer.write(utime, channel, &number.to_be_bytes()).unwrap();
    }
    writer.flush().unwrap();
}

fn play(path: &Path, options: &str) -> Bus {
    Bus::open(&format!("file://{}?{options}", path.display())).unwrap()
}

fn number(event: &bowline_bus::Event) -> u32 {
    u32::from_be_bytes(event.payload[..].try_into().unwrap())
}

#[test]
fn what_was_published_is_played_in_order() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    for mode in ["w", "a"] {
        let bus = play(&path, &format!("mode={mode}"));
        for number in 0..100_u32 {
            bus.publish_bytes("A", &number.to_be_bytes()).unwrap();
        }
        let mut cork = bus.cork();
        cork.publish_bytes("B", &vec![7; 100_000]).unwrap();
        cork.publish_bytes("B", b"").unwrap();
        cork.flush().unwrap();
    }
    let bus = play(&path, "speed=0");
    let inbox = bus.events(".*").unwrap();
    for _ in ["w", "a"] {
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
    let numbers: Vec<i64> = reader.events().map(|event| event.unwrap().number).collect();
    assert_eq!(numbers, (0..204).collect::<Vec<_>>());
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
fn an_inbox_that_is_watched_after_the_end_is_told_of_it() {
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
    let path = folder.join("log");
    log(&path, 51);
    let start = std::time::Instant::now();
    let bus = play(&path, "speed=0.5");
    let inbox = bus.events(".*").unwrap();
    for expected in 0..51 {
        assert_eq!(number(&inbox.recv().unwrap().1), expected);
        assert!(start.elapsed() >= Duration::from_millis(2) * expected);
    }
}

#[test]
fn an_event_that_is_not_due_lets_go_of_those_who_wait() {
    let folder = Folder::new("file");
    let path = folder.join("log");
    let mut writer = Writer::create(&path).unwrap();
    writer.write(0, "A", b"first").unwrap();
    writer.write(3_600_000_000, "A", b"an hour later").unwrap();
    writer.flush().unwrap();
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
    let path = folder.join("log");
    let mut writer = Writer::create(&path).unwrap();
    writer.write(0, "A", b"long ago").unwrap();
    writer.write(3_600_000_000, "A", b"now").unwrap();
    writer.flush().unwrap();
    let bus = play(&path, "start_timestamp=3599999999&time=log");
    let inbox = bus.events("A").unwrap();
    let (_, event) = inbox.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(&event.payload[..], b"now");
    assert_eq!(event.arrival.utime(), 3_600_000_000);
    assert_eq!(event.arrival.sequence, Some(1));
    assert!(inbox.recv().unwrap_err().is_end());
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
fn what_is_wrong_with_a_url_is_said() {
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

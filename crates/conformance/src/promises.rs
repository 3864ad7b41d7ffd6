//! The promises.

use crate::Subject;
use bowline_bus::{Event, Inbox, Queue};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Long enough to believe that nothing comes.
const QUIET: Duration = Duration::from_millis(50);
/// Guards against waiting for ever. Nothing is measured with it. A constant of its own: authors of transports have this crate,
/// and not the one that our own tests share, which is not published.
const PATIENCE: Duration = Duration::from_secs(60);

type Promise = fn(&Subject);

/// All promises by name.
pub(crate) const PROMISES: &[(&str, Promise)] = &[
    ("messages_arrive_whole_and_in_order", arrives_in_order),
    (
        "every_bus_receives_from_every_publisher_and_itself",
        all_receive,
    ),
    ("payloads_from_empty_to_large_arrive", sizes),
    ("patterns_choose_whole_names", patterns),
    ("silence_is_not_an_error", silence),
    (
        "message_that_is_there_is_taken_without_waiting",
        without_waiting,
    ),
    ("ended_subscription_receives_nothing", unsubscribe),
    (
        "subscription_after_the_last_one_ended_receives",
        resubscribe,
    ),
    (
        "two_subscriptions_both_receive_a_message",
        two_subscriptions,
    ),
    (
        "message_is_taken_once_for_all_subscriptions_of_an_inbox",
        taken_once,
    ),
    ("unread_messages_can_be_counted", counted),
    ("closed_inbox_ends_its_reader", closed_inbox),
    ("threads_may_share_a_bus", threads),
    ("several_readers_each_receive_their_own", several_readers),
    ("threads_may_share_an_inbox", shared_inbox),
    ("try_recv_reads_the_network", try_recv_reads),
    ("descriptor_is_readable_while_a_message_waits", descriptor),
    ("callbacks_are_called_and_survive_panics", callbacks),
    ("batches_keep_their_order", batches),
    ("bad_channel_names_are_refused", bad_names),
    ("closed_bus_leaves_no_thread_waiting", closing),
];

fn next(inbox: &Inbox) -> Event {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    received.expect("a message comes in time").1
}

#[expect(
    clippy::disallowed_methods,
    reason = "guards against asking for ever; nothing is measured with it"
)]
fn now() -> Instant {
    Instant::now()
}

fn without_waiting(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("NOW").unwrap();
    assert!(inbox.try_recv().unwrap().is_none());
    publisher.publish_bytes("NOW", b"now").unwrap();
    let mut taken = None;
    let began = now();
    while taken.is_none() && began.elapsed() < PATIENCE {
        taken = inbox.try_recv().unwrap();
    }
    assert_eq!(&taken.unwrap().1.payload[..], b"now");
}

fn assert_quiet(inbox: &Inbox) {
    let received = inbox.recv_timeout(QUIET).expect("silence is not an error");
    assert!(received.is_none(), "expected nothing, found {received:?}");
}

fn arrives_in_order(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("ORDER").unwrap();
    for number in 0..1_000_u32 {
        publisher
            .publish_bytes("ORDER", &number.to_be_bytes())
            .unwrap();
    }
    for number in 0..1_000_u32 {
        let event = next(&inbox);
        assert_eq!(&event.payload[..], number.to_be_bytes(), "message {number}");
        assert_eq!(event.channel.as_str(), "ORDER");
        assert!(event.arrival.received_ns > 0);
    }
    let counts = subscriber.counts();
    assert_eq!((counts.received, counts.lost()), (1_000, 0), "{counts:?}");
    assert_eq!(publisher.counts().published, 1_000);
}

fn all_receive(subject: &Subject) {
    let buses = [subject.open(), subject.open(), subject.open()];
    let inboxes = buses.each_ref().map(|bus| bus.events("ALL").unwrap());
    for (number, bus) in buses.iter().enumerate() {
        bus.publish_bytes("ALL", &[u8::try_from(number).unwrap()])
            .unwrap();
    }
    for inbox in &inboxes {
        let mut received: Vec<u8> = (0..3).map(|_| next(inbox).payload[0]).collect();
        received.sort_unstable();
        assert_eq!(received, [0, 1, 2]);
    }
}

fn sizes(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("SIZE").unwrap();
    let edges = [
        0, 1, 7, 1_400, 1_472, 8_192, 65_493, 65_494, 65_495, 65_535, 65_536, 200_000,
    ];
    for size in edges.into_iter().chain([subject.large]) {
        let payload: Vec<u8> = (0..size)
            .map(|at| (at * 7 + at / 251).to_le_bytes()[0])
            .collect();
        publisher.publish_bytes("SIZE", &payload).unwrap();
        let event = next(&inbox);
        assert_eq!(event.payload.len(), size);
        assert!(event.payload == payload, "the bytes of {size} differ");
    }
}

fn patterns(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.inbox();
    let ids: BTreeMap<_, _> = ["A", "AB.*", "A|C", "(?!AB).*D"]
        .map(|pattern| (inbox.subscribe(pattern, Queue::default()).unwrap(), pattern))
        .into();
    let everything = subscriber.events(".*").unwrap();
    let channels = ["A", "ABC", "C", "D", "ABD", "XA"];
    for channel in channels {
        publisher.publish_bytes(channel, b"").unwrap();
    }
    let expected = [
        ("A", "A"),
        ("A", "A|C"),
        ("ABC", "AB.*"),
        ("C", "A|C"),
        ("D", "(?!AB).*D"),
        ("ABD", "AB.*"),
    ];
    for (channel, pattern) in expected {
        let (id, event) = inbox.recv_timeout(PATIENCE).unwrap().expect("a match");
        assert_eq!((event.channel.as_str(), ids[&id]), (channel, pattern));
    }
    for channel in channels {
        assert_eq!(next(&everything).channel.as_str(), channel);
    }
    assert_quiet(&inbox);
    let error = subscriber.events("A(").unwrap_err().to_string();
    assert!(!error.is_empty());
}

fn silence(subject: &Subject) {
    let bus = subject.open();
    let inbox = bus.events("NOBODY").unwrap();
    assert!(inbox.try_recv().unwrap().is_none());
    assert_quiet(&inbox);
}

fn unsubscribe(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.inbox();
    let first = inbox.subscribe("X", Queue::default()).unwrap();
    let second = inbox.subscribe("X", Queue::default()).unwrap();
    publisher.publish_bytes("X", b"1").unwrap();
    assert_eq!(
        [next(&inbox), next(&inbox)].map(|event| event.payload[0]),
        [b'1', b'1']
    );
    inbox.unsubscribe(first);
    publisher.publish_bytes("X", b"2").unwrap();
    let (id, event) = inbox
        .recv_timeout(PATIENCE)
        .unwrap()
        .expect("the other one still has it");
    assert_eq!((id, event.payload[0]), (second, b'2'));
    assert_quiet(&inbox);
}

fn resubscribe(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    drop(subscriber.events("X").unwrap());
    let inbox = subscriber.events("X").unwrap();
    publisher.publish_bytes("X", b"again").unwrap();
    assert_eq!(&next(&inbox).payload[..], b"again");
}

fn two_subscriptions(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let (one, other) = (
        subscriber.events("X").unwrap(),
        subscriber.events(".*").unwrap(),
    );
    publisher.publish_bytes("X", b"both").unwrap();
    assert_eq!(next(&other).payload, next(&one).payload);
}

fn taken_once(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.inbox();
    let [exact, prefix, regex] =
        ["AB", "A.*", "B|AB"].map(|pattern| inbox.subscribe(pattern, Queue::default()).unwrap());
    let elsewhere = subscriber.events("AB").unwrap();
    let published: [(&str, &[_]); 4] = [
        ("AB", &[exact, prefix, regex]),
        ("B", &[regex]),
        ("AC", &[prefix]),
        ("AB", &[exact, prefix, regex]),
    ];
    for (channel, _) in published {
        publisher.publish_bytes(channel, b"").unwrap();
    }
    let mut wanted_by = Vec::new();
    for (channel, expected) in published {
        let event = inbox.recv_for_all(Some(PATIENCE), &mut wanted_by).unwrap();
        let event = event.expect("a message comes in time");
        assert_eq!(
            (event.channel.as_str(), &wanted_by[..]),
            (channel, expected)
        );
    }
    let nothing = inbox.recv_for_all(Some(QUIET), &mut wanted_by).unwrap();
    assert!(nothing.is_none() && wanted_by.is_empty());
    assert_eq!([next(&elsewhere), next(&elsewhere)].len(), 2);
}

fn counted(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.inbox();
    let id = inbox.subscribe("N", Queue::default()).unwrap();
    let last = subscriber.events("LAST").unwrap();
    for _ in 0..3 {
        publisher.publish_bytes("N", b"").unwrap();
    }
    publisher.publish_bytes("LAST", b"").unwrap();
    next(&last);
    inbox.read_out().unwrap();
    assert_eq!(inbox.queue_counts(id).waiting, 3);
}

fn closed_inbox(subject: &Subject) {
    let bus = subject.open();
    let inbox = bus.events("X").unwrap();
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(inbox.recv()).unwrap());
        inbox.close();
        let outcome = told.recv_timeout(PATIENCE).expect("the reader is let go");
        assert!(outcome.unwrap_err().is_end());
    });
    assert!(inbox.try_recv().unwrap_err().is_end(), "and stays closed");
}

fn threads(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("T.*").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let publisher = publisher.clone();
            scope.spawn(move || {
                for number in 0..100_u8 {
                    publisher
                        .publish_bytes(&format!("T{thread}"), &[thread, number])
                        .unwrap();
                }
            });
        }
        let mut expected = [0_u8; 4];
        for _ in 0..400 {
            let event = next(&inbox);
            let (thread, number) = (usize::from(event.payload[0]), event.payload[1]);
            assert_eq!(
                number, expected[thread],
                "each publisher's messages stay in order"
            );
            expected[thread] += 1;
        }
    });
}

fn several_readers(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inboxes: Vec<Inbox> = (0..4)
        .map(|n| subscriber.events(&format!("R{n}")).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for (reader, inbox) in inboxes.iter().enumerate() {
            scope.spawn(move || {
                for number in 0..200_u32 {
                    let event = next(inbox);
                    assert_eq!(event.channel.as_str(), format!("R{reader}"));
                    assert_eq!(&event.payload[..], number.to_be_bytes());
                }
            });
        }
        for number in 0..200_u32 {
            for reader in 0..4 {
                publisher
                    .publish_bytes(&format!("R{reader}"), &number.to_be_bytes())
                    .unwrap();
            }
        }
    });
}

fn shared_inbox(subject: &Subject) {
    let bus = subject.open();
    let inbox = bus.events("SHARED").unwrap();
    std::thread::scope(|scope| {
        let readers = [(); 3].map(|()| scope.spawn(|| next(&inbox)));
        for _ in &readers {
            bus.publish_bytes("SHARED", b"one each").unwrap();
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

fn try_recv_reads(subject: &Subject) {
    let bus = subject.open();
    let inbox = bus.events("LOOK").unwrap();
    bus.publish_bytes("LOOK", b"").unwrap();
    // No subscriber waits, so no other thread would ever read it; the network may take its time.
    let mut looks = std::iter::repeat_with(|| {
        std::thread::yield_now();
        inbox.try_recv().unwrap()
    });
    assert!(looks.by_ref().take(10_000_000).any(|found| found.is_some()));
}

fn descriptor(subject: &Subject) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("FD").unwrap();
    let fd = inbox.fd().unwrap();
    let is_readable = |timeout: u16| {
        let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(timeout)).unwrap() > 0
    };
    assert!(!is_readable(0));
    publisher.publish_bytes("OTHER", b"not ours").unwrap();
    publisher.publish_bytes("FD", b"1").unwrap();
    publisher.publish_bytes("FD", b"2").unwrap();
    assert!(is_readable(30_000), "a message waits");
    assert_eq!(&next(&inbox).payload[..], b"1");
    assert_eq!(&next(&inbox).payload[..], b"2");
    assert!(!is_readable(0), "everything was read");
}

fn callbacks(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let (tell, told) = std::sync::mpsc::sync_channel(16);
    let callback = subscriber
        .on_event("CALL", move |event: Event| {
            assert!(
                &event.payload[..] != b"bad",
                "this handler dislikes its message"
            );
            tell.send(event.payload).unwrap();
        })
        .unwrap();
    for payload in [b"one", b"bad", b"two"] {
        publisher.publish_bytes("CALL", payload).unwrap();
    }
    assert_eq!(&told.recv_timeout(PATIENCE).unwrap()[..], b"one");
    assert_eq!(&told.recv_timeout(PATIENCE).unwrap()[..], b"two");
    assert_eq!(subscriber.counts().callback_panics, 1);
    drop(callback);
    publisher.publish_bytes("CALL", b"late").unwrap();
    assert!(told.recv_timeout(QUIET).is_err(), "it was dropped");
}

fn batches(subject: &Subject) {
    let (publisher, subscriber) = (subject.open(), subject.open());
    let inbox = subscriber.events("B.*").unwrap();
    let mut cork = publisher.cork();
    for number in 0..500_u32 {
        // Sizes and channels vary, so that runs of equal datagrams begin and end.
        let payload = vec![number.to_le_bytes()[0]; 100 + (number as usize / 40) * 7];
        cork.publish_bytes(if number % 50 < 25 { "B1" } else { "B2" }, &payload)
            .unwrap();
    }
    cork.publish_bytes("B1", &vec![1; 100_000]).unwrap();
    cork.flush().unwrap();
    publisher
        .publish_many("B3", [&b"x"[..], b"y", b"zz"])
        .unwrap();
    for number in 0..500_u32 {
        let event = next(&inbox);
        assert_eq!(
            event.payload[0],
            number.to_le_bytes()[0],
            "message {number}"
        );
        assert_eq!(event.payload.len(), 100 + (number as usize / 40) * 7);
    }
    assert_eq!(next(&inbox).payload.len(), 100_000);
    let last: Vec<_> = (0..3).map(|_| next(&inbox).payload).collect();
    assert_eq!(last, [&b"x"[..], b"y", b"zz"]);
}

fn bad_names(subject: &Subject) {
    let bus = subject.open();
    for name in ["", "nul\0inside", &"x".repeat(64)] {
        assert!(
            bus.publish_bytes(name, b"").is_err(),
            "{name:?} should be refused"
        );
    }
    bus.publish_bytes(&"x".repeat(63), b"").unwrap();
}

fn closing(subject: &Subject) {
    let bus = subject.open();
    let inbox = bus.events("X").unwrap();
    inbox.fd().unwrap();
    let callback = bus.on_event("Y", |_| {}).unwrap();
    drop((callback, inbox));
    drop(bus);
}

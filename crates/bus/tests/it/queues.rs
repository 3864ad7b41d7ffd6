//! Queues, counts and patience, on the transport where nothing else can be lost.

use bowline_bus::{Bus, Bytes, Inbox, Queue};
use bowline_testing::network;
use bowline_testing::patience::PATIENCE;
use std::time::Duration;

#[test]
fn slow_reader_loses_by_its_policy_and_a_fast_one_nothing() {
    let bus = Bus::open("memq://").unwrap();
    let slow = bus.inbox();
    let id = slow.subscribe("X", Queue::keep_newest(3)).unwrap();
    let fast = bus.events("X").unwrap();
    for number in 0..10_u8 {
        bus.publish_bytes("X", &[number]).unwrap();
    }
    let read = |inbox: &Inbox| {
        let mut payloads = Vec::new();
        while let Some((_, event)) = inbox.try_recv().unwrap() {
            payloads.push(event.payload[0]);
        }
        payloads
    };
    assert_eq!(read(&slow), [7, 8, 9]);
    assert_eq!(read(&fast), (0..10).collect::<Vec<u8>>());
    assert_eq!(slow.queue_counts(id).dropped, 7);
    assert_eq!(bus.counts().queue_drops, 7);
    drop(slow);
    assert_eq!(
        bus.counts().queue_drops,
        7,
        "drops of a subscription that is gone still count"
    );
}

#[test]
fn a_blocking_queue_makes_publishers_of_the_process_wait() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.inbox();
    inbox.subscribe("X", Queue::block(2)).unwrap();
    let publisher = bus.clone();
    let publishing = std::thread::Builder::new()
        .spawn(move || (0..100_u8).try_for_each(|number| publisher.publish_bytes("X", &[number])))
        .unwrap();
    for number in 0..100_u8 {
        let (_, event) = inbox.recv().unwrap();
        assert_eq!(event.payload[0], number);
    }
    publishing.join().unwrap().unwrap();
    assert_eq!(bus.counts().queue_drops, 0);
}

#[test]
fn a_publisher_that_waits_is_let_go_when_the_subscription_ends() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.inbox();
    let id = inbox.subscribe("X", Queue::block(1)).unwrap();
    let publisher = bus.clone();
    let publishing = std::thread::Builder::new()
        .spawn(move || (0..10_u8).try_for_each(|number| publisher.publish_bytes("X", &[number])))
        .unwrap();
    inbox.recv().unwrap();
    inbox.unsubscribe(id);
    publishing.join().unwrap().unwrap();
}

#[test]
fn within_the_process_a_payload_is_not_copied() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.events("X").unwrap();
    let payload = Bytes::from(vec![1; 1_000]);
    bus.publish_shared("X", &payload).unwrap();
    let (_, event) = inbox.recv().unwrap();
    assert_eq!(event.payload.as_ptr(), payload.as_ptr());
}

#[test]
fn many_channels_are_routed_by_one_pattern() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.inbox();
    inbox.subscribe("C.*7", Queue::default()).unwrap();
    for number in 0..100_000_u32 {
        bus.publish_bytes(&format!("C{number}"), b"").unwrap();
    }
    let mut n_received = 0;
    while inbox.try_recv().unwrap().is_some() {
        n_received += 1;
    }
    assert_eq!(n_received, 10_000);
    assert_eq!(bus.counts().network.unwanted, 90_000);
}

#[test]
fn an_event_stream_works_with_any_executor() {
    use futures_core::Stream as _;
    use std::pin::pin;
    let bus = Bus::open("memq://").unwrap();
    let mut stream = pin!(bus.events("X").unwrap().into_stream());
    let publisher = bus.clone();
    let publishing = std::thread::Builder::new()
        .spawn(move || (0..100_u8).try_for_each(|number| publisher.publish_bytes("X", &[number])))
        .unwrap();
    futures_executor::block_on(async {
        for number in 0..100_u8 {
            let next = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await;
            let (_, event) = next.expect("the stream goes on").unwrap();
            assert_eq!(event.payload[0], number);
        }
    });
    publishing.join().unwrap().unwrap();
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.events("X").unwrap();
    assert!(
        inbox
            .recv_timeout(Duration::from_millis(5))
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_waker_may_drop_the_inbox_that_wakes_it() {
    use futures_core::Stream as _;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Wake};

    /// A task that is dropped when it is woken, as by an executor that ends.
    struct Task(Mutex<Option<bowline_bus::EventStream>>);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
        }
    }

    let bus = Bus::open("memq://").unwrap();
    let task = Arc::new(Task(Mutex::default()));
    let mut stream = bus.events("X").unwrap().into_stream();
    let waker = Arc::clone(&task).into();
    let polled = Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    *task.0.lock().unwrap() = Some(stream);
    bus.publish_bytes("X", b"").unwrap();
    assert!(bus.subscriptions().is_empty(), "the inbox is gone");
}

#[test]
fn a_handler_may_own_another_callback() {
    let bus = Bus::open("memq://").unwrap();
    let inner = bus.on_event("INNER", drop).unwrap();
    let outer = bus.on_event("OUTER", move |_| assert!(!format!("{inner:?}").is_empty()));
    drop(outer.unwrap());
    assert!(bus.subscriptions().is_empty(), "both ended");
}

/// What is received, and how many looks found nothing before. The first of them has `text` published.
fn next_noting(bus: &Bus, inbox: &Inbox, text: &str) -> (Bytes, usize) {
    let mut n_empty = 0;
    let on_empty = || {
        n_empty += 1;
        if n_empty == 1 {
            bus.publish_bytes("X", text.as_bytes()).unwrap();
        }
    };
    let (_, event) = inbox.recv_noting(PATIENCE, on_empty).unwrap().unwrap();
    (event.payload, n_empty)
}

#[test]
fn recv_noting_reports_each_look_that_finds_nothing() {
    let bus = Bus::open("memq://").unwrap();
    let inbox = bus.events("X").unwrap();
    bus.publish_bytes("X", b"first").unwrap();
    let (first, n_empty) = next_noting(&bus, &inbox, "unused");
    assert_eq!((&first[..], n_empty), (&b"first"[..], 0));
    let (second, n_empty) = next_noting(&bus, &inbox, "second");
    assert_eq!((&second[..], n_empty), (&b"second"[..], 1));
    let mut n_empty = 0;
    let nothing = inbox.recv_noting(Duration::ZERO, || n_empty += 1).unwrap();
    assert!(nothing.is_none());
    assert_eq!(n_empty, 1);
}

#[test]
fn recv_noting_waits_after_a_look_at_the_network() {
    network::alone(|| {
        let bus = Bus::open("udpm://?iface=lo").unwrap();
        let inbox = bus.events("X").unwrap();
        let (payload, n_empty) = next_noting(&bus, &inbox, "text");
        assert_eq!(payload[..], *b"text");
        assert!(n_empty >= 1);
    });
}

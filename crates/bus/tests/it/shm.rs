//! Shared memory between buses of one process. `tests/tests/shm.rs` has processes that are killed.

use bowline_bus::{Bus, Event, Inbox};
use bowline_testing::patience::PATIENCE;

fn next(inbox: &Inbox) -> Event {
    let received = inbox.recv_timeout(PATIENCE).expect("the transport works");
    received.expect("a message comes in time").1
}

fn pair(name: &str) -> (Bus, Inbox) {
    let url = format!("shm://{name}-{}", std::process::id());
    let bus = Bus::open(&url).unwrap();
    let inbox = bus.events("X").unwrap();
    (bus, inbox)
}

#[test]
fn readers_that_hold_many_messages_hold_nobody_up() {
    let (bus, inbox) = pair("hold");
    let mut held = Vec::new();
    for number in 0..300_u32 {
        let payload = vec![number as u8; 20_000];
        bus.publish_bytes("X", &payload).unwrap();
        held.push(next(&inbox));
    }
    for (number, event) in held.iter().enumerate() {
        assert_eq!(event.payload.len(), 20_000);
        assert!(event.payload.iter().all(|byte| *byte == number as u8));
    }
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn what_a_slow_receiver_loses_is_counted_and_the_newest_kept() {
    let name = format!("shm://slow-{}?slots=8", std::process::id());
    let (publisher, bus) = (Bus::open(&name).unwrap(), Bus::open(&name).unwrap());
    let inbox = bus.events("X").unwrap();
    // No thread reads meanwhile, but a thread of the bus may move some.
    for number in 0..100_000_u32 {
        publisher.publish_bytes("X", &number.to_be_bytes()).unwrap();
    }
    let mut received = Vec::new();
    while received.last() != Some(&99_999) {
        let event = next(&inbox);
        received.push(u32::from_be_bytes(event.payload[..].try_into().unwrap()));
    }
    assert!(received.is_sorted());
    let n_before = u64::from(received[0]);
    let lost = bus.counts().lost();
    assert_eq!(lost + received.len() as u64 + n_before, 100_000);
    let [sender] = &bus.senders()[..] else {
        panic!("one sender: {:?}", bus.senders());
    };
    assert_eq!(
        (sender.lost, sender.received),
        (lost, received.len() as u64)
    );
}

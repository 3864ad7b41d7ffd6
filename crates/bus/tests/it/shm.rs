//! Shared memory between buses of one process. `tests/tests/shm.rs` has processes that are killed.

use bowline_bus::{Bus, Event, Inbox};
use bowline_msgs::SchemaRequest;
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
fn readers_that_hold_many_messages_block_no_other() {
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

#[test]
fn publisher_that_waits_loses_nothing_to_a_slower_receiver() {
    const N_MESSAGES: u32 = 20_000;
    let url = format!("shm://wait-{}?slots=8&wait=60s", std::process::id());
    let (publisher, bus) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let inbox = bus.events("X").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..N_MESSAGES {
                let mut payload = [0; 800];
                payload[..4].copy_from_slice(&number.to_be_bytes());
                publisher.publish_bytes("X", &payload).unwrap();
            }
            // More than the slots hold, in one call.
            publisher.publish_many("X", [&[1][..]; 32]).unwrap();
        });
        for number in 0..N_MESSAGES {
            assert_eq!(next(&inbox).payload[..4], number.to_be_bytes());
        }
        for _ in 0..32 {
            assert_eq!(next(&inbox).payload[..], [1]);
        }
    });
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn waiting_and_not_waiting_do_not_meet_under_one_name() {
    let url = format!("shm://both-{}", std::process::id());
    let _first = Bus::open(&format!("{url}?wait=1s")).unwrap();
    let error = Bus::open(&url).unwrap_err().to_string();
    assert!(error.contains("wait="), "{error}");
}

#[test]
fn first_messages_to_a_receiver_that_waited_are_not_lost() {
    let url = format!("shm://first-{}?slots=8&wait=60s", std::process::id());
    let bus = Bus::open(&url).unwrap();
    let inbox = bus.events("X").unwrap();
    // A publisher whose memory the receiver has not seen, each time: eight times what the slots hold, at once.
    for number in 0..20_u8 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let publisher = Bus::open(&url).unwrap();
                for at in 0..64_u8 {
                    publisher.publish_bytes("X", &[number, at]).unwrap();
                }
            });
            for at in 0..64_u8 {
                assert_eq!(next(&inbox).payload[..], [number, at]);
            }
        });
    }
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn large_messages_wait_for_a_reader_within_the_cache() {
    let url = format!("shm://large-{}?wait=60s", std::process::id());
    let (publisher, bus) = (Bus::open(&url).unwrap(), Bus::open(&url).unwrap());
    let inbox = bus.events("X").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..40_u8 {
                let payload = vec![number; 5_000_000];
                publisher.publish_bytes("X", &payload).unwrap();
            }
        });
        for number in 0..40_u8 {
            let event = next(&inbox);
            assert_eq!(event.payload.len(), 5_000_000);
            assert!(event.payload.iter().all(|byte| *byte == number));
        }
    });
    assert_eq!(bus.counts().lost(), 0);
}

#[test]
fn typed_message_arrives_through_memory_it_was_encoded_in() {
    let url = format!("shm://typed-{}", std::process::id());
    let bus = Bus::open(&url).unwrap();
    let requests = bus.subscribe::<SchemaRequest>("X").unwrap();
    bus.publish("X", &SchemaRequest { fingerprint: 7 }).unwrap();
    let received = requests.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(received.fingerprint, 7);
}

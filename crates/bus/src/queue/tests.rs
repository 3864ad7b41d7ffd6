use super::*;
use crate::event::{Arrival, Channel, Sender};
use bytes::Bytes;

fn event(channel: &str, payload: &'static [u8]) -> Event {
    Event {
        channel: Channel::new(channel),
        payload: Bytes::from_static(payload),
        arrival: Arrival {
            received_ns: 0,
            sender: Sender::Process,
            sequence: None,
        },
    }
}

const A: SubscriptionId = SubscriptionId(1);
const B: SubscriptionId = SubscriptionId(2);

fn backlog(lanes: &[(SubscriptionId, Queue)]) -> Backlog {
    let mut backlog = Backlog::default();
    for (id, config) in lanes {
        backlog.open(*id, *config);
    }
    backlog
}

fn drain(backlog: &mut Backlog) -> String {
    let mut read = String::new();
    while let Some((_, event)) = backlog.pop() {
        read.push_str(std::str::from_utf8(&event.payload).unwrap());
    }
    assert!(backlog.is_empty());
    read
}

#[test]
fn each_policy_keeps_what_it_says_and_counts_the_rest() {
    #[rustfmt::skip]
    let cases = [
        ("newest", Queue::keep_newest(2),                    "de", 3),
        ("oldest", Queue::keep_oldest(2),                    "ab", 3),
        ("latest", Queue::latest(),                          "e",  4),
        ("block",  Queue::block(2),                          "ab", 0),
        ("bytes",  Queue::keep_newest(9).with_max_bytes(3),  "cde", 2),
        ("none",   Queue::keep_newest(0),                    "e",  4),
    ];
    for (name, config, kept, dropped) in cases {
        let mut backlog = backlog(&[(A, config)]);
        let mut refused = 0;
        for payload in [b"a", b"b", b"c", b"d", b"e"] {
            let offer = backlog.offer(A, event("X", payload), Patience::CanWait);
            refused += u64::from(matches!(offer, Offer::Full(_)));
        }
        let counts = backlog.counts(A);
        assert_eq!(counts.dropped, dropped, "{name}");
        assert_eq!(counts.waiting, kept.len(), "{name}");
        assert_eq!(refused, if name == "block" { 3 } else { 0 }, "{name}");
        assert_eq!(drain(&mut backlog), kept, "{name}");
        assert_eq!(backlog.counts(A).waiting_bytes, 0, "{name}");
    }
}

#[test]
fn the_latest_is_kept_for_each_channel() {
    let mut backlog = backlog(&[(A, Queue::latest())]);
    for (channel, payload) in [("X", b"1"), ("Y", b"2"), ("X", b"3")] {
        let offer = backlog.offer(A, event(channel, payload), Patience::CanWait);
        assert!(matches!(offer, Offer::Queued));
    }
    assert_eq!(drain(&mut backlog), "32", "Y is not pushed out by X");
}

#[test]
fn where_a_network_cannot_wait_the_oldest_makes_room() {
    let mut backlog = backlog(&[(A, Queue::block(1))]);
    for payload in [b"a", b"b"] {
        let offer = backlog.offer(A, event("X", payload), Patience::CannotWait);
        assert!(matches!(offer, Offer::Queued));
    }
    assert_eq!(backlog.counts(A).dropped, 1);
    assert_eq!(drain(&mut backlog), "b");
}

#[test]
fn a_message_larger_than_the_bound_still_fits_alone() {
    let mut backlog = backlog(&[(A, Queue::keep_newest(4).with_max_bytes(2))]);
    let offer = backlog.offer(A, event("X", b"large"), Patience::CanWait);
    assert!(matches!(offer, Offer::Queued));
    assert_eq!(drain(&mut backlog), "large");
}

#[test]
fn subscriptions_share_one_order_but_not_their_room() {
    let mut backlog = backlog(&[(A, Queue::keep_newest(1)), (B, Queue::keep_newest(9))]);
    for (id, payload) in [(A, b"1"), (B, b"2"), (A, b"3"), (B, b"4")] {
        let offer = backlog.offer(id, event("X", payload), Patience::CanWait);
        assert!(matches!(offer, Offer::Queued));
    }
    assert_eq!(backlog.counts(A).dropped, 1);
    assert_eq!(backlog.counts(B).dropped, 0);
    assert_eq!(drain(&mut backlog), "234");
}

#[test]
fn a_closed_subscription_takes_its_messages_along() {
    let mut backlog = backlog(&[(A, Queue::default()), (B, Queue::default())]);
    for (id, payload) in [(A, b"1"), (B, b"2"), (A, b"3")] {
        let offer = backlog.offer(id, event("X", payload), Patience::CanWait);
        assert!(matches!(offer, Offer::Queued));
    }
    backlog.close(A);
    let offer = backlog.offer(A, event("X", b"4"), Patience::CanWait);
    assert!(matches!(offer, Offer::Dropped));
    assert_eq!(drain(&mut backlog), "2");
}

use super::*;
use crate::event::{Arrival, Sender};
use bowline_wire::Channel;
use bytes::Bytes;

fn event(channel: &str, payload: &'static [u8]) -> Event {
    Event {
        channel: Channel::from(channel),
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

/// For queues that never make a publisher wait.
fn fill(backlog: &mut Backlog, ids: &[SubscriptionId], event: Event) {
    let offer = backlog.offer(ids, event, Patience::CanWait);
    assert!(!matches!(offer, Offer::Full(_)));
}

fn drain(backlog: &mut Backlog) -> String {
    let mut read = String::new();
    while let Some((_, event)) = ForEach.take_from(backlog) {
        read.push_str(std::str::from_utf8(&event.payload).unwrap());
    }
    assert!(backlog.is_empty());
    read
}

#[test]
fn each_policy_keeps_its_messages_and_counts_the_rest() {
    #[rustfmt::skip]
    let cases = [
        ("newest", Queue::keep_newest(2),                    "de", 3, 0),
        ("oldest", Queue::keep_oldest(2),                    "ab", 3, 0),
        ("latest", Queue::latest(),                          "e",  0, 4),
        ("block",  Queue::block(2),                          "ab", 0, 0),
        ("bytes",  Queue::keep_newest(9).with_max_bytes(3),  "cde", 2, 0),
        ("none",   Queue::keep_newest(0),                    "e",  4, 0),
    ];
    for (name, config, kept, dropped, replaced) in cases {
        let mut backlog = backlog(&[(A, config)]);
        let mut refused = 0;
        for payload in [b"a", b"b", b"c", b"d", b"e"] {
            let offer = backlog.offer(&[A], event("X", payload), Patience::CanWait);
            refused += u64::from(matches!(offer, Offer::Full(_)));
        }
        let counts = backlog.counts(A);
        assert_eq!(
            (counts.dropped, counts.replaced),
            (dropped, replaced),
            "{name}"
        );
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
        fill(&mut backlog, &[A], event(channel, payload));
    }
    assert_eq!(drain(&mut backlog), "32", "Y is not pushed out by X");
}

#[test]
fn where_a_network_cannot_wait_the_oldest_makes_room() {
    let mut backlog = backlog(&[(A, Queue::block(1))]);
    for payload in [b"a", b"b"] {
        let offer = backlog.offer(&[A], event("X", payload), Patience::CannotWait);
        assert!(matches!(offer, Offer::Queued));
    }
    assert_eq!(backlog.counts(A).dropped, 1);
    assert_eq!(drain(&mut backlog), "b");
}

#[test]
fn a_message_larger_than_the_bound_still_fits_alone() {
    let mut backlog = backlog(&[(A, Queue::keep_newest(4).with_max_bytes(2))]);
    let offer = backlog.offer(&[A], event("X", b"large"), Patience::CanWait);
    assert!(matches!(offer, Offer::Queued));
    assert_eq!(drain(&mut backlog), "large");
}

#[test]
fn subscriptions_share_one_order_but_not_their_room() {
    let mut backlog = backlog(&[(A, Queue::keep_newest(1)), (B, Queue::keep_newest(9))]);
    for (id, payload) in [(A, b"1"), (B, b"2"), (A, b"3"), (B, b"4")] {
        fill(&mut backlog, &[id], event("X", payload));
    }
    assert_eq!(backlog.counts(A).dropped, 1);
    assert_eq!(backlog.counts(B).dropped, 0);
    assert_eq!(drain(&mut backlog), "234");
}

#[test]
fn a_closed_subscription_takes_its_messages_along() {
    let mut backlog = backlog(&[(A, Queue::default()), (B, Queue::default())]);
    for (id, payload) in [(A, b"1"), (B, b"2"), (A, b"3")] {
        fill(&mut backlog, &[id], event("X", payload));
    }
    backlog.close(A);
    let offer = backlog.offer(&[A], event("X", b"4"), Patience::CanWait);
    assert!(matches!(offer, Offer::Dropped));
    assert_eq!(drain(&mut backlog), "2");
}

#[test]
fn an_event_for_several_is_taken_for_all_of_them_at_once() {
    let mut backlog = backlog(&[(A, Queue::default()), (B, Queue::default())]);
    let wanted: [(&[SubscriptionId], _); 4] =
        [(&[A, B], b"1"), (&[B], b"2"), (&[A], b"3"), (&[A, B], b"4")];
    for (ids, payload) in wanted {
        fill(&mut backlog, ids, event("X", payload));
    }
    let mut wanted_by = Vec::new();
    for (ids, payload) in wanted {
        let event = backlog.pop_for_all(&mut wanted_by).expect("it waits");
        assert_eq!((&wanted_by[..], &event.payload[..]), (ids, &payload[..]));
    }
    assert!(backlog.pop_for_all(&mut wanted_by).is_none());
    assert!(wanted_by.is_empty() && backlog.is_empty());
}

#[test]
fn what_one_queue_dropped_is_not_taken_for_it() {
    let queues = [(A, Queue::keep_oldest(1)), (B, Queue::keep_newest(1))];
    let mut backlog = backlog(&queues);
    for payload in [b"1", b"2"] {
        fill(&mut backlog, &[A, B], event("X", payload));
    }
    let mut wanted_by = Vec::new();
    for (id, payload) in [(A, b"1"), (B, b"2")] {
        let event = backlog.pop_for_all(&mut wanted_by).expect("it waits");
        assert_eq!(
            (&wanted_by[..], &event.payload[..]),
            (&[id][..], &payload[..])
        );
    }
}

#[test]
fn a_later_event_in_an_older_place_is_not_mistaken_for_the_older_one() {
    let mut backlog = backlog(&[(A, Queue::default()), (B, Queue::latest())]);
    for payload in [b"1", b"2"] {
        fill(&mut backlog, &[A, B], event("X", payload));
    }
    let mut wanted_by = Vec::new();
    for (id, payload) in [(A, b"1"), (B, b"2"), (A, b"2")] {
        let event = backlog.pop_for_all(&mut wanted_by).expect("it waits");
        assert_eq!(
            (&wanted_by[..], &event.payload[..]),
            (&[id][..], &payload[..])
        );
    }
}

#[test]
fn message_is_withheld_from_all_while_one_has_no_room() {
    let mut backlog = backlog(&[(A, Queue::default()), (B, Queue::block(1))]);
    let mut offer = |payload| backlog.offer(&[A, B], event("X", payload), Patience::CanWait);
    assert!(matches!(offer(b"1"), Offer::Queued));
    assert!(matches!(offer(b"2"), Offer::Full(_)));
    assert_eq!(backlog.counts(A).waiting, 1);
}

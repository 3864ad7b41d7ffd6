//! What has to hold however threads take turns. Each function runs once for each schedule; it fails by an assertion,
//! or by not coming to an end.
//!
//! Assertions are made at the end, when all threads are gone: unwinding through a bus would need turns of its own.

mod network;

use crate::cork::Batcher;
use crate::transport::Outgoing;
use crate::{Bus, Inbox, Queue, SubscriptionId};
use network::Network;
use shuttle::thread::{self, JoinHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// All promises by name.
pub const PROMISES: &[(&str, fn())] = &[
    (
        "a_message_wakes_the_reader_it_is_for",
        a_message_wakes_the_reader_it_is_for,
    ),
    (
        "a_reader_that_leaves_passes_the_lead_on",
        a_reader_that_leaves_passes_the_lead_on,
    ),
    (
        "relief_and_readers_take_turns",
        relief_and_readers_take_turns,
    ),
    (
        "several_threads_may_read_one_inbox",
        several_threads_may_read_one_inbox,
    ),
    (
        "a_closed_inbox_lets_its_readers_go",
        a_closed_inbox_lets_its_readers_go,
    ),
    (
        "a_stream_is_woken_by_what_comes",
        a_stream_is_woken_by_what_comes,
    ),
    ("an_interrupt_ends_one_read", an_interrupt_ends_one_read),
    ("closing_lets_everybody_go", closing_lets_everybody_go),
    ("callbacks_have_one_thread", callbacks_have_one_thread),
    (
        "a_callback_hears_everything_from_its_start",
        a_callback_hears_everything_from_its_start,
    ),
    (
        "reading_lets_a_blocked_publisher_go_on",
        reading_lets_a_blocked_publisher_go_on,
    ),
    (
        "unsubscribing_lets_a_blocked_publisher_go_on",
        unsubscribing_lets_a_blocked_publisher_go_on,
    ),
    (
        "a_larger_queue_lets_a_blocked_publisher_go_on",
        a_larger_queue_lets_a_blocked_publisher_go_on,
    ),
    (
        "a_subscription_gets_what_is_published_after_it",
        a_subscription_gets_what_is_published_after_it,
    ),
    (
        "nothing_is_routed_to_a_subscription_that_ended",
        nothing_is_routed_to_a_subscription_that_ended,
    ),
    (
        "transport_is_left_with_all_subscriptions",
        transport_is_left_with_all_subscriptions,
    ),
    (
        "a_look_takes_what_the_network_holds",
        a_look_takes_what_the_network_holds,
    ),
    (
        "what_is_held_back_goes_out_in_time",
        what_is_held_back_goes_out_in_time,
    ),
    (
        "closing_sends_what_is_held_back",
        closing_sends_what_is_held_back,
    ),
];

fn publish(bus: &Bus, channel: &str) {
    bus.publish_bytes(channel, b"x")
        .expect("the model refuses nothing");
}

fn join<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    let join = |thread: JoinHandle<T>| thread.join().expect("a thread of a model");
    threads.into_iter().map(join).collect()
}

/// Reads `count` events on a thread of its own. The inbox comes back, so that it goes when all threads are done: an
/// inbox that goes has the reading thread look up, and hides that no other did.
fn read(bus: &Bus, pattern: &str, count: usize) -> JoinHandle<Inbox> {
    let inbox = bus.events(pattern).expect("the model refuses nothing");
    thread::spawn(move || {
        (0..count).for_each(|_| drop(inbox.recv()));
        inbox
    })
}

fn a_message_wakes_the_reader_it_is_for() {
    let (bus, _) = Network::default().open();
    let readers = [read(&bus, "A", 1), read(&bus, "B", 1), read(&bus, "C", 1)];
    for channel in ["A", "B", "C"] {
        publish(&bus, channel);
    }
    join(readers);
}

fn a_reader_that_leaves_passes_the_lead_on() {
    let (bus, _) = Network::default().open();
    let hasty = bus.events("HASTY").expect("the model refuses nothing");
    let hasty = thread::spawn(move || {
        drop(hasty.recv_timeout(Duration::from_millis(1)));
        hasty
    });
    let patient = read(&bus, "PATIENT", 2);
    publish(&bus, "PATIENT");
    let _hasty = join([hasty]);
    publish(&bus, "PATIENT");
    join([patient]);
}

fn relief_and_readers_take_turns() {
    let (bus, _) = Network::pressed().open();
    let readers = [read(&bus, "A", 1), read(&bus, "B", 1)];
    publish(&bus, "A");
    publish(&bus, "B");
    join(readers);
}

fn several_threads_may_read_one_inbox() {
    let (bus, _) = Network::default().open();
    let inbox = Arc::new(bus.events("A").expect("the model refuses nothing"));
    let readers = [(); 3].map(|()| {
        let inbox = Arc::clone(&inbox);
        thread::spawn(move || drop(inbox.recv()))
    });
    for _ in 0..3 {
        publish(&bus, "A");
    }
    join(readers);
}

fn a_closed_inbox_lets_its_readers_go() {
    let (bus, _) = Network::default().open();
    let inbox = Arc::new(bus.events("A").expect("the model refuses nothing"));
    let readers = [(); 2].map(|()| {
        let inbox = Arc::clone(&inbox);
        thread::spawn(move || drop(inbox.recv()))
    });
    let other = read(&bus, "B", 1);
    inbox.close();
    join(readers);
    publish(&bus, "B");
    join([other]);
}

fn a_stream_is_woken_by_what_comes() {
    use futures_core::Stream as _;
    let (bus, _) = Network::default().open();
    let mut stream = bus
        .events("A")
        .expect("the model refuses nothing")
        .into_stream();
    let stream = thread::spawn(move || {
        for _ in 0..2 {
            let next =
                std::future::poll_fn(|context| std::pin::Pin::new(&mut stream).poll_next(context));
            drop(shuttle::future::block_on(next));
        }
    });
    let reader = read(&bus, "B", 1);
    publish(&bus, "A");
    publish(&bus, "B");
    let _reader = join([reader]);
    publish(&bus, "A");
    join([stream]);
}

fn an_interrupt_ends_one_read() {
    let (bus, network) = Network::default().open();
    // Kept until the end, since an inbox that goes interrupts too.
    let inbox = Arc::new(bus.events("A").expect("the model refuses nothing"));
    let reader = {
        let inbox = Arc::clone(&inbox);
        thread::spawn(move || drop((inbox.recv(), inbox.recv())))
    };
    publish(&bus, "A");
    let other = bus.events("B").expect("the model refuses nothing");
    publish(&bus, "A");
    join([reader]);
    // Nothing interrupts any more. What is still up ends one read, and the next lasts until its time is over.
    let before = network.n_interrupted();
    let nothing = other.recv_timeout(Duration::from_millis(1));
    let after = network.n_interrupted();
    let is_nothing = matches!(nothing, Ok(None));
    drop((inbox, other, bus));
    assert!(is_nothing, "nothing was published for it");
    assert!(
        after <= before + 1,
        "{} reads ended for nothing",
        after - before
    );
}

fn closing_lets_everybody_go() {
    let (bus, _) = Network::default().open();
    let callback = bus.on_event("A", drop).expect("the model refuses nothing");
    publish(&bus, "A");
    drop(bus);
    drop(callback);
}

fn callbacks_have_one_thread() {
    let (bus, _) = Network::default().open();
    let heard = Arc::<AtomicUsize>::default();
    let subscribe = || {
        let (bus, heard) = (bus.clone(), Arc::clone(&heard));
        thread::spawn(move || {
            let count = move |_| {
                heard.fetch_add(1, Ordering::SeqCst);
            };
            bus.on_event("A", count).expect("the model refuses nothing")
        })
    };
    let callbacks = join([subscribe(), subscribe()]);
    drop(callbacks);
}

fn a_callback_hears_everything_from_its_start() {
    let bus = Bus::open("memq://").expect("it needs nothing");
    let first = bus.on_event("A", drop).expect("the model refuses nothing");
    let publisher = {
        let bus = bus.clone();
        thread::spawn(move || publish(&bus, "A"))
    };
    let heard = Arc::<AtomicUsize>::default();
    let count = {
        let heard = Arc::clone(&heard);
        move |_| {
            heard.fetch_add(1, Ordering::SeqCst);
        }
    };
    let second = bus.on_event("A", count).expect("the model refuses nothing");
    join([publisher]);
    let queued: Vec<u64> = bus
        .subscriptions()
        .iter()
        .map(|(_, counts)| counts.queued)
        .collect();
    // What was queued for it before it ends is received, since the thread reads in order.
    let (done, is_done) = shuttle::sync::mpsc::channel();
    let tell = move |_| done.send(()).expect("it is waited for");
    let last = bus
        .on_event("LAST", tell)
        .expect("the model refuses nothing");
    publish(&bus, "LAST");
    is_done.recv().expect("it is reported");
    let heard = heard.load(Ordering::SeqCst) as u64;
    drop((first, second, last, bus));
    assert_eq!(queued.get(1), Some(&heard), "what was queued is received");
}

fn reading_lets_a_blocked_publisher_go_on() {
    let bus = Bus::open("memq://").expect("it needs nothing");
    let inbox = bus.inbox();
    inbox
        .subscribe("A", Queue::block(1))
        .expect("the model refuses nothing");
    let publishers = [(); 2].map(|()| {
        let bus = bus.clone();
        thread::spawn(move || (0..2).for_each(|_| publish(&bus, "A")))
    });
    for _ in 0..4 {
        drop(inbox.recv());
    }
    join(publishers);
}

/// Two publishers wait for room that reading will not make.
fn with_blocked_publishers(let_go: impl FnOnce(&Inbox, SubscriptionId)) {
    let bus = Bus::open("memq://").expect("it needs nothing");
    let inbox = bus.inbox();
    let id = inbox
        .subscribe("A", Queue::block(1))
        .expect("the model refuses nothing");
    let publishers = [(); 2].map(|()| {
        let bus = bus.clone();
        thread::spawn(move || (0..2).for_each(|_| publish(&bus, "A")))
    });
    let_go(&inbox, id);
    join(publishers);
}

fn unsubscribing_lets_a_blocked_publisher_go_on() {
    with_blocked_publishers(|inbox, id| inbox.unsubscribe(id));
}

fn a_larger_queue_lets_a_blocked_publisher_go_on() {
    with_blocked_publishers(|inbox, id| inbox.set_queue(id, Queue::block(4)));
}

fn a_subscription_gets_what_is_published_after_it() {
    let (bus, _) = Network::default().open();
    // Its reading has the route to A remembered without the second subscription.
    let first = read(&bus, "A", 2);
    publish(&bus, "A");
    let second = bus.events("A").expect("the model refuses nothing");
    publish(&bus, "A");
    let first = join([first]);
    let got = second.try_recv();
    drop((first, second, bus));
    assert!(
        matches!(got, Ok(Some(_))),
        "it was published after subscribing"
    );
}

fn nothing_is_routed_to_a_subscription_that_ended() {
    let (bus, _) = Network::default().open();
    let inbox = bus.inbox();
    let id = inbox
        .subscribe("A", Queue::default())
        .expect("the model refuses nothing");
    // Its reading has the route to A remembered.
    let reader = read(&bus, "B", 1);
    publish(&bus, "A");
    inbox.unsubscribe(id);
    publish(&bus, "A");
    publish(&bus, "B");
    join([reader]);
    let late = inbox.try_recv();
    let unwanted = bus.counts().network.unwanted;
    drop((inbox, bus));
    assert!(
        matches!(late, Ok(None)),
        "what waited is dropped, and nothing follows"
    );
    assert!(unwanted >= 1, "no subscription wanted what was published last");
}

fn transport_is_left_with_all_subscriptions() {
    let (bus, network) = Network::default().open();
    let subscribe = |pattern: &'static str| {
        let bus = bus.clone();
        thread::spawn(move || bus.events(pattern).expect("the model refuses nothing"))
    };
    let inboxes = join([subscribe("A"), subscribe("B")]);
    let n_wanted = network.n_wanted();
    drop((inboxes, bus));
    assert_eq!(n_wanted, 2, "two subscriptions are there");
}

fn a_look_takes_what_the_network_holds() {
    let (bus, _) = Network::default().open();
    let inbox = bus.events("A").expect("the model refuses nothing");
    let publisher = {
        let bus = bus.clone();
        thread::spawn(move || publish(&bus, "A"))
    };
    join([publisher]);
    let found = inbox.try_recv();
    drop((inbox, bus));
    assert!(
        matches!(found, Ok(Some(_))),
        "no other thread reads, and it was sent"
    );
}

fn what_is_held_back_goes_out_in_time() {
    let (bus, _) = Network::default().open_as("model://?batch=1ms");
    let inbox = bus.events("A").expect("the model refuses nothing");
    let publishers = [(); 2].map(|()| {
        let bus = bus.clone();
        thread::spawn(move || publish(&bus, "A"))
    });
    drop((inbox.recv(), inbox.recv()));
    join(publishers);
}

fn closing_sends_what_is_held_back() {
    let network = Arc::<Network>::default();
    let delay = Duration::from_millis(1);
    let batcher = Batcher::start(Arc::clone(&network) as _, Arc::default(), delay);
    let batcher = Arc::new(batcher.expect("the model refuses nothing"));
    let publishers = [(); 2].map(|()| {
        let batcher = Arc::clone(&batcher);
        let message = Outgoing {
            channel: "A",
            payload: b"x",
            shared: None,
        };
        thread::spawn(move || batcher.add(&message).expect("the model refuses nothing"))
    });
    join(publishers);
    batcher.close();
    assert_eq!(network.n_unread(), 2);
}

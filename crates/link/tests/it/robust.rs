//! Bad channels and bad packets: loss, duplicates, garbage and floods are survived, bounded and counted.

use crate::channel::Channel;
use crate::world::{Source, World};
use bowline_link::packet::{Data, Frame, Header, seal};
use bowline_link::{Carriage, Cause, Incoming, Keep, Session, Setup, schedule, stream_id};
use bowline_node::Time;
use std::collections::BTreeSet;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

#[test]
fn what_comes_twice_is_delivered_once_and_counted() {
    let sources = vec![
        Source::new("operator.thrust", 20, 100),
        Source::new("camera.image", 2, 5_000),
    ];
    let mut channel = Channel::new(1_000.0, DELAY);
    channel.is_doubling = true;
    let mut world = World::new(
        "value",
        sources,
        vec![[channel, Channel::new(1_000.0, DELAY)]],
    );
    world.run(Duration::from_secs(10));
    for stream in [0, 1] {
        let numbers: Vec<u64> = world.got(stream).map(|it| it.number).collect();
        let once: BTreeSet<u64> = numbers.iter().copied().collect();
        assert!(numbers.len() > 10);
        assert_eq!(numbers.len(), once.len());
    }
    let duplicates: u64 = world
        .receiver
        .receives()
        .map(|(_, counts, _)| counts.dropped(Cause::Duplicate))
        .sum();
    assert!(duplicates > 100, "{duplicates}");
}

#[test]
fn a_fifth_of_random_loss_costs_a_fifth_and_not_the_rate() {
    let sources = vec![
        Source::new("operator.thrust", 20, 100)
            .with(|it| it.deadline = Some(Duration::from_millis(100))),
    ];
    let lossy = || {
        let mut channel = Channel::new(256.0, DELAY);
        channel.lost_of_1000 = 200;
        channel
    };
    let mut world = World::new("value", sources, vec![[lossy(), lossy()]]);
    world.run(Duration::from_secs(60));
    let n = world.got(0).count();
    assert!((850..=1_100).contains(&n), "{n} of 1200");
}

/// A receiver that knows a peer of life 17 whose packets it got.
fn world() -> World {
    let sources = vec![
        Source::new("operator.thrust", 20, 100),
        Source::new("camera.image", 4, 3_000),
    ];
    let channel = || Channel::new(1_000.0, DELAY);
    let mut world = World::new("value", sources, vec![[channel(), channel()]]);
    world.run(Duration::from_secs(2));
    world
}

fn n_bad(session: &Session) -> u64 {
    session.paths().map(|it| it.n_bad).sum()
}

#[test]
fn garbage_cut_and_changed_packets_are_counted_each_and_messages_flow_again_after_them() {
    const N: usize = 20_000;
    let mut world = world();
    let mut packet = Vec::new();
    let mut good = Vec::new();
    let mut now = world.now;
    for nth in 0..50_u8 {
        now = now + Duration::from_millis(20);
        world.sender.offer(0, vec![nth; 100].into(), now);
        while world.sender.transmit(now, &mut packet).is_some() {
            good.push(packet.clone());
        }
    }
    let mut seed = 1_u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).expect("it fits") % n
    };
    let there = now + Duration::from_secs(3_600);
    for nth in 0..N {
        let mut bad = good[nth % good.len()].clone();
        match nth % 3 {
            0 => bad.truncate(random(bad.len())),
            1 => {
                let at = random(bad.len());
                bad[at] ^= 1 << random(8);
            }
            _ => {
                bad = (0..random(1_300))
                    .map(|_| u8::try_from(random(256)).expect("it fits"))
                    .collect();
            }
        }
        world.receiver.receive(0, &bad, there);
        assert_eq!(world.receiver.deliver(), None);
        while world.receiver.transmit(there, &mut packet).is_some() {}
    }
    assert_eq!(n_bad(&world.receiver), u64::try_from(N).expect("it fits"));
    // The same peer goes on, with the numbers that it has: none of those that were forged was believed.
    world.now = now;
    world.forget();
    world.run(Duration::from_secs(3));
    let n = world.got(0).count();
    assert!(n > 50, "{n} commands in 3 s at 20 Hz");
}

/// Commands and tasks over a bad channel, the same both ways, for so long.
fn over(spoil: impl Fn(&mut Channel), seconds: u64) -> World {
    let sources = vec![
        Source::new("operator.thrust", 20, 100)
            .with(|it| it.deadline = Some(Duration::from_millis(100))),
        Source::new("operator.task", 2, 700).with(|it| {
            it.keep = Keep::Reliable;
            it.ttl = Duration::from_secs(20);
            it.queue = 64;
        }),
    ];
    let bad = || {
        let mut channel = Channel::new(256.0, DELAY);
        spoil(&mut channel);
        channel
    };
    let mut world = World::new("value", sources, vec![[bad(), bad()]]);
    world.run(Duration::from_secs(seconds));
    world
}

#[test]
fn flipped_bits_cost_the_packets_that_they_hit_and_nothing_more() {
    let lossy = over(|it| it.lost_of_1000 = 200, 60).got(0).count();
    let mut world = over(|it| it.changed_of_1000 = 200, 60);
    let n = world.got(0).count();
    // By other random numbers, so not exactly as many; in no case fewer by much.
    assert!(
        lossy > 600 && n * 10 >= lossy * 9,
        "{n} of 1200, {lossy} if they are lost"
    );
    let changed = world.channels[0].each_ref().map(|it| it.n_changed);
    let counted = [n_bad(&world.receiver), n_bad(&world.sender)];
    // What was changed last may still be on the way.
    for (counted, changed) in counted.into_iter().zip(changed) {
        assert!(changed > 100, "{changed}");
        assert!(
            (changed - 3..=changed).contains(&counted),
            "{counted} of {changed}"
        );
    }
    // And when it is over, nothing of it is left.
    world.channels[0]
        .iter_mut()
        .for_each(|it| it.changed_of_1000 = 0);
    world.run(Duration::from_secs(5));
    world.forget();
    world.run(Duration::from_secs(10));
    let n = world.got(0).count();
    assert!((199..=201).contains(&n), "{n} commands in 10 s at 20 Hz");
    let tasks: Vec<u64> = world.got(1).map(|it| it.number).collect();
    assert!(tasks.len() >= 19, "{}", tasks.len());
    assert!(
        tasks.windows(2).all(|two| two[1] == two[0] + 1),
        "{tasks:?}"
    );
}

#[test]
fn a_stranger_who_never_answers_delivers_nothing_and_drives_nobody_out() {
    let mut world = world();
    let mut stranger = Session::new(
        Setup {
            life: 666,
            sends: vec![bowline_link::Outgoing::new("operator.thrust")],
            receives: Vec::new(),
            n_paths: 1,
        },
        schedule::find("round_robin").expect("there is one").make(),
    );
    stranger.path_up(0, Carriage::default(), world.now);
    let mut packet = Vec::new();
    world.forget();
    for nth in 0..50_u8 {
        stranger.offer(0, vec![nth; 100].into(), world.now);
        while stranger.transmit(world.now, &mut packet).is_some() {
            world
                .receiver
                .receive(0, &packet, world.now + Duration::from_secs(3_600));
        }
        world.run(Duration::from_millis(50));
    }
    let n = world.got(0).count();
    assert!((48..=52).contains(&n), "{n} commands in 2.5 s at 20 Hz");
}

#[test]
fn half_messages_by_the_thousand_are_counted_and_only_the_last_is_kept() {
    let mut world = world();
    let now = world.now + Duration::from_secs(3_600);
    let mut packet = Vec::new();
    let incomplete = |world: &World| {
        world
            .receiver
            .receives()
            .nth(1)
            .map(|(_, counts, _)| counts.dropped(Cause::Incomplete))
    };
    let before = incomplete(&world).expect("there are two");
    for message in 100..10_100 {
        let header = Header {
            generation: 0,
            life: 17,
            sequence: 1_000 + message,
            sent_utime: world.now.utime(),
        };
        header.encode(&mut packet);
        let data = Data {
            keep: 0,
            is_urgent: false,
            stream: stream_id("camera.image"),
            message,
            age_us: 0,
            left_us: 1_000_000,
            first_block: 3,
            n_blocks: 16_384,
            payload: &[0; 640],
        };
        Frame::Data(data).encode(&mut packet);
        seal(&mut packet);
        world.receiver.receive(0, &packet, now);
        assert_eq!(world.receiver.deliver(), None);
    }
    let after = incomplete(&world).expect("there are two");
    assert!(
        (9_999..=10_000).contains(&(after - before)),
        "{before} {after}"
    );
}

#[test]
fn what_is_not_declared_is_not_taken() {
    let sources = vec![Source::new("operator.thrust", 20, 100)];
    let channel = || Channel::new(1_000.0, DELAY);
    let mut world = World::new("value", sources, vec![[channel(), channel()]]);
    let setup = Setup {
        life: 5,
        sends: Vec::new(),
        receives: vec![Incoming::new("operator.task")],
        n_paths: 1,
    };
    world.receiver = Session::new(setup, schedule::find("value").expect("there is one").make());
    world.receiver.path_up(
        0,
        Carriage::default(),
        world.now + Duration::from_secs(3_600),
    );
    world.run(Duration::from_secs(3));
    assert_eq!(world.got.len(), 0);
    assert!(
        world.receiver.n_unknown() > 30,
        "{}",
        world.receiver.n_unknown()
    );
}

#[test]
fn a_receiver_delivers_nothing_larger_than_it_declared() {
    let sources = vec![
        Source::new("operator.thrust", 20, 100),
        Source::new("camera.image", 4, 3_000),
    ];
    let channel = || Channel::new(1_000.0, DELAY);
    let mut world = World::new("value", sources, vec![[channel(), channel()]]);
    let small = |channel| Incoming {
        max_bytes: 64,
        ..Incoming::new(channel)
    };
    let setup = Setup {
        life: 5,
        sends: Vec::new(),
        receives: vec![small("operator.thrust"), small("camera.image")],
        n_paths: 1,
    };
    world.receiver = Session::new(setup, schedule::find("value").expect("there is one").make());
    world.receiver.path_up(
        0,
        Carriage::default(),
        world.now + Duration::from_secs(3_600),
    );
    world.run(Duration::from_secs(3));
    assert_eq!(world.got.len(), 0);
    for (_, counts, _) in world.receiver.receives() {
        assert!(counts.dropped(Cause::TooLarge) > 5, "{counts:?}");
    }
    assert_ne!(world.now, Time::ZERO);
}

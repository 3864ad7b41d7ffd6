//! Bad channels and bad packets: loss, duplicates, garbage and floods are survived, bounded and counted.

use crate::channel::Channel;
use crate::world::{Source, World};
use bowline_component::Time;
use bowline_link::packet::{Data, Frame, Header, decode, seal, unseal};
use bowline_link::{Carriage, Cause, Counts, Incoming, Keep, Session, Setup, schedule, stream_id};
use bowline_testing::random::Random;
use std::collections::BTreeSet;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

#[test]
fn what_comes_twice_is_delivered_once_and_counted() {
    let sources = vec![
        Source::new("operator.direct", 20, 100),
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
        Source::new("operator.direct", 20, 100)
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

/// Hands the receiver a packet of the peer's life with one part in it, by this clock of the receiver.
fn hand_over(world: &mut World, sequence: u32, part: Data<'_>, now: Time) {
    let header = Header {
        generation: 0,
        life: 17,
        sequence,
        sent_utime: world.now.utime(),
    };
    let mut packet = Vec::new();
    header.encode(&mut packet);
    Frame::Data(part).encode(&mut packet);
    seal(&mut packet);
    world.receiver.receive(0, &packet, now);
}

/// A part of a message that was not requested.
fn part<'a>(channel: &str, message: u32, payload: &'a [u8]) -> Data<'a> {
    Data {
        keep: 0,
        is_urgent: false,
        stream: stream_id(channel),
        message,
        age_us: 0,
        left_us: 1_000_000,
        first_block: 0,
        n_blocks: 1,
        payload,
    }
}

/// A receiver that knows a peer of life 17 whose packets it got.
fn world() -> World {
    let sources = vec![
        Source::new("operator.direct", 20, 100),
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
    let mut random = Random::new(1);
    let there = now + Duration::from_secs(3_600);
    for nth in 0..N {
        let mut bad = good[nth % good.len()].clone();
        match nth % 3 {
            0 => bad.truncate(random.below(bad.len())),
            1 => {
                let at = random.below(bad.len());
                bad[at] ^= 1 << random.below(8);
            }
            _ => {
                bad = (0..random.below(1_300)).map(|_| random.byte()).collect();
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
        Source::new("operator.direct", 20, 100)
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
fn silent_stranger_delivers_nothing_and_replaces_no_peer() {
    let mut world = world();
    let mut stranger = Session::new(
        Setup {
            life: 666,
            sends: vec![bowline_link::Outgoing::new("operator.direct")],
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
    let incomplete = |world: &World| {
        world
            .receiver
            .receives()
            .nth(1)
            .map(|(_, counts, _)| counts.dropped(Cause::Incomplete))
    };
    let before = incomplete(&world).expect("there are two");
    for message in 100..10_100 {
        let data = Data {
            first_block: 3,
            n_blocks: 16_384,
            ..part("camera.image", message, &[0; 640])
        };
        hand_over(&mut world, 1_000 + message, data, now);
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
    let sources = vec![Source::new("operator.direct", 20, 100)];
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
        Source::new("operator.direct", 20, 100),
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
        receives: vec![small("operator.direct"), small("camera.image")],
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

/// What began to arrive and has not ended in any count.
fn n_unfinished(counts: &Counts) -> u64 {
    let ends = [
        Cause::TooLarge,
        Cause::Incomplete,
        Cause::QueueFull,
        Cause::NotPeers,
    ];
    let n_dropped: u64 = ends.iter().map(|cause| counts.dropped(*cause)).sum();
    let n_ended = counts.n_delivered + n_dropped;
    assert!(n_ended <= counts.n_offered, "{counts:?}");
    counts.n_offered - n_ended
}

#[test]
fn every_message_that_begins_to_arrive_is_delivered_or_counted_as_dropped() {
    let sources = || {
        let reliable = |it: &mut bowline_link::Outgoing| {
            it.keep = Keep::Reliable;
            it.ttl = Duration::from_secs(2);
        };
        vec![
            Source::new("operator.direct", 20, 100),
            Source::new("camera.image", 4, 3_000),
            Source::new("sounder.depth", 10, 900).with(|it| it.keep = Keep::Fifo),
            Source::new("operator.task", 2, 700).with(reliable),
            // Each by a few bytes too large for who takes it.
            Source::new("large.image", 2, 1_010),
            Source::new("large.task", 2, 1_010).with(reliable),
        ]
    };
    let bad = || {
        let mut channel = Channel::new(256.0, DELAY);
        channel.lost_of_1000 = 150;
        channel.is_doubling = true;
        channel
    };
    let mut world = World::new("value", sources(), vec![[bad(), bad()]]);
    let receives = sources().into_iter().map(|it| Incoming {
        max_bytes: match it.stream.channel.starts_with("large") {
            true => 1_000,
            false => 10_000,
        },
        ..Incoming::new(&it.stream.channel)
    });
    let setup = Setup {
        life: 5,
        sends: Vec::new(),
        receives: receives.collect(),
        n_paths: 1,
    };
    world.receiver = Session::new(setup, schedule::find("value").expect("there is one").make());
    let there = world.now + Duration::from_secs(3_600);
    world.receiver.path_up(0, Carriage::default(), there);
    world.run(Duration::from_secs(60));
    for (stream, (declared, counts, _)) in world.receiver.receives().enumerate() {
        assert!(n_unfinished(counts) <= 1, "{}: {counts:?}", declared.name);
        let n_got = u64::try_from(world.got(stream).count()).expect("it fits");
        assert_eq!(counts.n_delivered, n_got, "{}", declared.name);
        if stream < 4 {
            assert!(n_got > 5, "{}: {counts:?}", declared.name);
        } else {
            assert_eq!(n_got, 0, "{}", declared.name);
            assert!(counts.dropped(Cause::TooLarge) > 10, "{counts:?}");
        }
    }
    // What was refused is not reported as arrived.
    let (_, task) = world.sender.sends().nth(5).expect("there are six");
    assert_eq!(task.n_sent, 0, "{task:?}");
    assert!(task.dropped(Cause::Expired) > 10, "{task:?}");
}

#[test]
fn unread_messages_are_counted_by_stream() {
    let mut world = world();
    let now = world.now + Duration::from_secs(3_600);
    let counts = |world: &World| -> Vec<(u64, u64)> {
        let streams = world.receiver.receives();
        streams
            .map(|(_, it, _)| (it.n_delivered, it.dropped(Cause::QueueFull)))
            .collect()
    };
    let before = counts(&world);
    // Ten of one stream, then as many as there is room for of the other.
    for nth in 0..4_106 {
        let channel = match nth {
            0..10 => "camera.image",
            _ => "operator.direct",
        };
        let data = part(channel, 1_000 + nth, &[0; 16]);
        hand_over(&mut world, 1_000 + nth, data, now);
    }
    let after = counts(&world);
    assert_eq!(after[0], (before[0].0 + 4_096, 0));
    assert_eq!(after[1], (before[1].0, 10));
}

#[test]
fn a_part_that_is_refused_is_not_acknowledged() {
    let mut world = over(|_| {}, 3);
    let now = world.now + Duration::from_secs(3_600);
    let mut packet = Vec::new();
    while world.receiver.transmit(now, &mut packet).is_some() {}
    let block = |first_block, n_blocks| Data {
        keep: 2,
        first_block,
        n_blocks,
        ..part("operator.task", 500, &[0; 64])
    };
    // The first is kept; the second contradicts it.
    for (data, n_acks) in [(block(0, 3), 1), (block(1, 4), 0)] {
        hand_over(&mut world, 5_000, data, now);
        let mut n_found = 0;
        while world.receiver.transmit(now, &mut packet).is_some() {
            let (_, frames) = unseal(&packet).and_then(decode).expect("it is whole");
            n_found += frames.filter(|it| matches!(it, Ok(Frame::Ack(_)))).count();
        }
        assert_eq!(n_found, n_acks, "{data:?}");
    }
}

#[test]
fn nothing_is_delivered_too_old_though_one_way_is_slower_than_the_other() {
    const TTL: Duration = Duration::from_millis(400);
    // A schedule that fills the queue on the way whenever that is slow, so that messages of all ages arrive.
    for (there_ms, back_ms) in [(200, 5), (100, 20), (5, 200)] {
        let sources = vec![
            Source::new("operator.direct", 20, 100).with(|it| it.ttl = TTL),
            Source::new("camera.image", 5, 1_800).with(|it| it.ttl = TTL),
        ];
        let channel = |ms| Channel::new(256.0, Duration::from_millis(ms));
        let channels = vec![[channel(there_ms), channel(back_ms)]];
        let mut world = World::new("round_robin", sources, channels);
        for _ in 0..20 {
            for bytes_per_s in [6_000.0, 32_000.0] {
                world.channels[0][0].bytes_per_s = bytes_per_s;
                world.run(Duration::from_millis(1_500));
            }
        }
        let n = world.got.len();
        let worst = world.got.iter().map(|it| it.age).max();
        assert!(n > 20, "{there_ms} ms there: {n}");
        assert!(worst <= Some(TTL), "{there_ms} ms there: {worst:?}");
    }
}

//! Links that fail and come back: nothing stale is delivered, and what is fresh is there soon.

use crate::channel::{Channel, Outage};
use crate::world::{Got, Source, World};
use bowline_link::packet::{Frame, Header, Report, decode, seal, unseal};
use bowline_link::{Cause, Keep, PathState, stream_id};
use bowline_testing::random::Random;
use std::collections::BTreeSet;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
const TTL: Duration = Duration::from_millis(300);
const COMMAND: usize = 0;
const STATE: usize = 1;
const TASK: usize = 2;

fn sources() -> Vec<Source> {
    vec![
        Source::new("operator.direct", 20, 100).with(|it| {
            it.deadline = Some(Duration::from_millis(100));
            it.ttl = TTL;
        }),
        Source::new("gate.state", 5, 120).with(|it| it.ttl = Duration::from_secs(1)),
        Source::new("operator.task", 2, 700).with(|it| {
            it.keep = Keep::Reliable;
            it.ttl = Duration::from_secs(20);
            it.queue = 64;
        }),
    ]
}

fn pair(kbit_per_s: f64) -> [Channel; 2] {
    [
        Channel::new(kbit_per_s, DELAY),
        Channel::new(kbit_per_s, DELAY),
    ]
}

fn numbers<'g>(got: impl Iterator<Item = &'g Got>) -> Vec<u64> {
    got.map(|it| it.number).collect()
}

#[test]
fn after_a_stall_that_keeps_an_old_packet_nothing_stale_comes_and_a_fresh_state_soon() {
    let mut n_kept = 0;
    for outage in [Outage::KeepsOne, Outage::Loses] {
        for extra_ms in 0..40 {
            let mut world = World::new("value", sources(), vec![pair(256.0)]);
            world.run(Duration::from_millis(5_000 + extra_ms));
            world.channels[0]
                .iter_mut()
                .for_each(|it| it.begin_outage(outage));
            world.forget();
            world.run(Duration::from_secs(2));
            let during = world.got(COMMAND).filter(|it| it.age > TTL).count();
            assert_eq!(during, 0);
            let n_tried = world.n_offered[COMMAND];
            assert!(
                n_tried >= 100,
                "{extra_ms} ms: {n_tried} commands were offered"
            );
            world.forget();
            let now = world.now;
            let (kept, before) = (kept_states(&world), n_stale(&world));
            world.channels[0]
                .iter_mut()
                .for_each(|it| it.end_outage(now));
            // Until it is there, and nothing else can be.
            world.run(DELAY + Duration::from_micros(100));
            let counted: Vec<u64> = n_stale(&world)
                .into_iter()
                .zip(before)
                .map(|(after, before)| after - before)
                .collect();
            assert_eq!(
                counted, kept,
                "{extra_ms} ms: each message of the packet that was kept is counted"
            );
            n_kept += kept.iter().sum::<u64>();
            world.run(Duration::from_secs(3));
            let stale = world.got(COMMAND).filter(|it| it.age > TTL).count();
            assert_eq!(stale, 0, "{extra_ms} ms");
            let stale = world
                .got(STATE)
                .filter(|it| it.age > Duration::from_secs(1))
                .count();
            assert_eq!(stale, 0, "{extra_ms} ms");
            for stream in [COMMAND, STATE] {
                let first = world
                    .got(stream)
                    .next()
                    .expect("something comes")
                    .at
                    .since(now);
                let aim = 2 * DELAY + Duration::from_millis(50);
                assert!(
                    first <= aim,
                    "{extra_ms} ms: stream {stream} first after {first:?}"
                );
            }
        }
    }
    // The others that were kept are tasks, which stay good, or reports.
    assert!(n_kept >= 10, "{n_kept} of 40 packets were worth the trial");
}

/// How many messages of each stream are in the packet that the way there has kept, but for tasks: those stay good.
fn kept_states(world: &World) -> Vec<u64> {
    let mut n = vec![0; 3];
    let Some(packet) = world.channels[0][0].kept() else {
        return n;
    };
    let (_, frames) = unseal(packet).and_then(decode).expect("it was whole");
    for frame in frames.map(|it| it.expect("a frame")) {
        if let Frame::Data(data) = frame {
            let of = |channel| data.stream == stream_id(channel);
            n[COMMAND] += u64::from(of("operator.direct"));
            n[STATE] += u64::from(of("gate.state"));
        }
    }
    n
}

/// How many messages of each stream came too late.
fn n_stale(world: &World) -> Vec<u64> {
    let counts = world.receiver.receives();
    counts
        .map(|(_, counts, _)| counts.dropped(Cause::Stale))
        .collect()
}

#[test]
fn no_number_of_a_stream_that_keeps_the_newest_goes_back() {
    let mut world = World::new("value", sources(), vec![pair(256.0)]);
    for _ in 0..10 {
        world.run(Duration::from_millis(1_370));
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.begin_outage(Outage::KeepsOne));
        world.run(Duration::from_millis(700));
        let now = world.now;
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.end_outage(now));
    }
    // Two thirds of the time there is no outage; a command is sent every 50 ms, a state every 200 ms.
    for (stream, expected) in [(COMMAND, 250), (STATE, 60)] {
        let numbers = numbers(world.got(stream));
        assert!(numbers.len() >= expected, "stream {stream}: {numbers:?}");
        assert!(
            numbers.is_sorted_by(|a, b| a < b),
            "stream {stream}: {numbers:?}"
        );
    }
}

#[test]
fn tasks_arrive_once_each_and_in_order_through_outages_and_loss() {
    let mut world = World::new("value", sources(), vec![pair(256.0)]);
    world.channels[0].iter_mut().for_each(|it| {
        it.lost_of_1000 = 200;
        it.is_doubling = true;
    });
    for _ in 0..5 {
        world.run(Duration::from_secs(4));
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.begin_outage(Outage::Loses));
        world.run(Duration::from_secs(2));
        let now = world.now;
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.end_outage(now));
    }
    world.channels[0]
        .iter_mut()
        .for_each(|it| it.lost_of_1000 = 0);
    world.run(Duration::from_secs(15));
    let got = numbers(world.got(TASK));
    let n = u64::try_from(got.len()).expect("it fits");
    assert!(
        n >= world.n_offered[TASK] - 2,
        "{n} of {}",
        world.n_offered[TASK]
    );
    assert_eq!(got, (0..n).collect::<Vec<u64>>());
}

#[test]
fn when_a_path_fails_commands_go_over_the_next_and_back_when_it_is_well() {
    for extra_ms in 0..50 {
        let mut world = World::new("value", sources(), vec![pair(1_000.0), pair(128.0)]);
        world.run(Duration::from_millis(4_000 + extra_ms));
        assert!(
            world
                .sender
                .paths()
                .next()
                .expect("there are two")
                .is_active
        );
        let failed_at = world.now;
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.begin_outage(Outage::KeepsOne));
        world.run(Duration::from_secs(3));
        assert!(
            world
                .sender
                .paths()
                .nth(1)
                .expect("there are two")
                .is_active
        );
        let commands: Vec<Got> = world
            .got(COMMAND)
            .filter(|it| it.at > failed_at)
            .copied()
            .collect();
        let first = commands.first().expect("they go on").at.since(failed_at);
        assert!(
            first <= TTL + Duration::from_millis(100),
            "{extra_ms} ms: first after {first:?}"
        );
        // Once it is noticed, all come; while it is unknown, over both.
        let gaps = commands
            .windows(2)
            .map(|two| (two[1].at.since(failed_at), two[1].at.since(two[0].at)));
        for (at, gap) in gaps {
            let most = if at < TTL + Duration::from_millis(100) {
                350
            } else {
                100
            };
            assert!(
                gap <= Duration::from_millis(most),
                "{extra_ms} ms: {gap:?} at {at:?}"
            );
        }
        let n = numbers(world.got(COMMAND));
        let once: BTreeSet<u64> = n.iter().copied().collect();
        assert_eq!(once.len(), n.len(), "none is delivered twice");
        assert!(commands.iter().all(|it| it.age <= TTL));
        let now = world.now;
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.end_outage(now));
        world.run(Duration::from_secs(4));
        let primary = world.sender.paths().next().expect("there are two");
        assert!(
            primary.is_active && primary.state == PathState::Ready,
            "{primary:?}"
        );
    }
}

#[test]
fn a_command_that_a_dying_path_lost_is_not_lost_again_on_the_next() {
    // One command, given just before the path dies: it is the newest there is, and still good when the other path takes over.
    for extra_ms in 0..60 {
        let rare = vec![
            Source::new("operator.direct", 1, 100).with(|it| {
                it.deadline = Some(Duration::from_millis(100));
                it.ttl = Duration::from_secs(2);
            }),
            Source::new("operator.task", 1, 300).with(|it| {
                it.keep = Keep::Reliable;
                it.ttl = Duration::from_secs(10);
            }),
        ];
        let mut world = World::new("value", rare, vec![pair(1_000.0), pair(128.0)]);
        world.run(Duration::from_millis(4_990 + extra_ms));
        world.channels[0]
            .iter_mut()
            .for_each(|it| it.begin_outage(Outage::Loses));
        world.run(Duration::from_secs(6));
        for stream in [0, 1] {
            let got = numbers(world.got(stream));
            let all: Vec<u64> = (0..got.len())
                .map(|it| it.try_into().expect("it fits"))
                .collect();
            assert_eq!(got, all, "{extra_ms} ms, stream {stream}");
            assert!(
                got.len() >= 10,
                "{extra_ms} ms, stream {stream}: {}",
                got.len()
            );
        }
    }
}

#[test]
fn a_peer_that_begins_anew_is_known_within_a_second_and_its_numbers_count() {
    let mut world = World::new("value", sources(), vec![pair(256.0)]);
    world.run(Duration::from_secs(5));
    let fresh = World::new("value", sources(), vec![pair(256.0)]);
    // The sender is another one that knows nothing, with another life; packets of the old one are still on the way.
    world.sender = fresh.sender;
    let mut renamed = bowline_link::Session::new(
        bowline_link::Setup {
            life: 99,
            sends: sources().into_iter().map(|it| it.stream).collect(),
            receives: Vec::new(),
            n_paths: 1,
        },
        bowline_link::schedule::find("value")
            .expect("there is one")
            .make(),
    );
    renamed.path_up(0, bowline_link::Carriage::default(), world.now);
    world.sender = renamed;
    world.forget();
    let began_at = world.now;
    world.run(Duration::from_secs(2));
    let first = world
        .got(COMMAND)
        .next()
        .expect("they come")
        .at
        .since(began_at);
    assert!(first < Duration::from_secs(1), "{first:?}");
    assert!(world.got(COMMAND).count() > 20);

    // Packets of its earlier instance that something has kept, with answers to what we sent a moment ago, change nothing.
    let mut packet = Vec::new();
    let before = n_stale(&world);
    world.forget();
    for nth in 0..20 {
        let header = Header {
            generation: 0,
            life: 17,
            sequence: 10_000 + nth,
            sent_utime: (began_at - Duration::from_millis(10)).utime(),
        };
        let report = Report {
            is_acquainted: true,
            echo_life: 18,
            echo_utime: (began_at + Duration::from_secs(3_600)).utime(),
            highest: 10_000,
            ..Report::default()
        };
        header.encode(&mut packet);
        Frame::Report(report).encode(&mut packet);
        seal(&mut packet);
        let there = world.now + Duration::from_secs(3_600);
        world.receiver.receive(0, &packet, there);
        world.run(Duration::from_millis(93));
    }
    let got = numbers(world.got(COMMAND));
    assert!(got.len() >= 36, "{got:?}");
    assert!(got.windows(2).all(|two| two[1] == two[0] + 1), "{got:?}");
    assert_eq!(n_stale(&world), before, "the present one is still believed");
}

/// Stops, one a second, over a link whose way back is cut, and whose way there loses so many of a thousand packets.
fn stops_without_answers(extra_ms: u64, lost_of_1000: usize) -> World {
    let stops = Source::new("operator.stop", 1, 120).with(|it| {
        it.keep = Keep::Reliable;
        it.deadline = Some(Duration::from_millis(50));
        it.ttl = Duration::from_secs(60);
    });
    let state = Source::new("gate.state", 5, 120).with(|it| it.value = 50.0);
    let mut world = World::new("value", vec![stops, state], vec![pair(64.0)]);
    world.run(Duration::from_millis(3_100 + extra_ms));
    world.channels[0][1].begin_outage(Outage::Loses);
    world.channels[0][0].lost_of_1000 = lost_of_1000;
    world.channels[0][0].random = Random::new(extra_ms);
    world.run(Duration::from_millis(800 - extra_ms));
    let path = world.sender.paths().next().expect("there is one");
    assert_eq!(path.state, PathState::Stalled);
    world.forget();
    world
}

#[test]
fn a_stop_arrives_within_ten_probes_though_nothing_comes_back_and_a_third_is_lost() {
    for extra_ms in 0..40 {
        let mut world = stops_without_answers(extra_ms, 300);
        world.run(Duration::from_millis(100));
        let said_at = world.now;
        world.run(10 * Duration::from_millis(30) + 2 * DELAY);
        let got = numbers(world.got(0));
        assert_eq!(got, [4], "{extra_ms} ms, sent before {said_at:?}");
    }
}

#[test]
fn what_is_sent_while_nothing_comes_back_does_not_fill_the_queue_on_the_way() {
    for kbit_per_s in [32.0, 64.0, 256.0] {
        let mut sources = sources();
        sources.truncate(2);
        let picture = Source::new("camera.image", 5, 2_000);
        sources.push(picture);
        let mut world = World::new("value", sources, vec![pair(kbit_per_s)]);
        world.run(Duration::from_secs(5));
        world.channels[0][1].begin_outage(Outage::Loses);
        world.run(Duration::from_secs(10));
        world.forget();
        world.run(Duration::from_secs(10));
        let worst = world.age(COMMAND, 100);
        let n = world.got(COMMAND).count();
        println!("{kbit_per_s} kbit/s: {n} commands, {worst:?}");
        assert!(n > 50, "{kbit_per_s} kbit/s: {n} commands of 200");
        assert!(
            worst < Duration::from_millis(250),
            "{kbit_per_s} kbit/s: {worst:?}"
        );
        let states = world.got(STATE).count();
        assert!(states > 10, "{kbit_per_s} kbit/s: {states} states of 50");
    }
}

#[test]
fn stop_overtakes_earlier_messages_and_needs_an_acknowledgement() {
    for extra_ms in 0..20 {
        let mut world = stops_without_answers(extra_ms, 300);
        // What is there is declared over, again and again, and other things are asked: the newest is a stop.
        let now = world.now;
        for _ in 0..40 {
            world.sender.offer(0, vec![1; 120].into(), now);
        }
        world.run(Duration::from_millis(50));
        let stop = [vec![0, 0, 0, 0, 0, 0, 3, 231], vec![0; 112]].concat();
        world.sender.offer_stop(0, stop.into(), world.now);
        world.run(10 * Duration::from_millis(30) + 2 * DELAY);
        let got = numbers(world.got(0));
        assert_eq!(got.last(), Some(&999), "{extra_ms} ms: {got:?}");
        // And when the way back is mended, all after it come, once each and in their order.
        let now = world.now;
        world.channels[0][0].lost_of_1000 = 0;
        world.channels[0][1].end_outage(now);
        world.forget();
        world.run(Duration::from_secs(8));
        let got = numbers(world.got(0));
        assert!(got.len() >= 7, "{got:?}");
        assert!(got.windows(2).all(|two| two[1] == two[0] + 1), "{got:?}");
        let (_, counts) = world.sender.sends().next().expect("there are two");
        let n_known = counts.n_sent + counts.n_dropped();
        assert!(n_known + 1 >= counts.n_offered, "{counts:?}");
    }
}

#[test]
fn in_a_stall_an_old_task_without_an_answer_does_not_keep_a_stop_out_of_the_packet() {
    let reliable = |channel, hz, size, value: f64| {
        Source::new(channel, hz, size).with(|it| {
            it.keep = Keep::Reliable;
            it.deadline = Some(Duration::from_millis(50));
            it.ttl = Duration::from_secs(30);
            it.value = value;
        })
    };
    // Two of them fill the only small packet that goes every 30 ms.
    let sources = vec![
        reliable("operator.task", 1, 120, 500.0),
        reliable("operator.lease", 1, 120, 800.0),
        reliable("operator.stop", 1, 120, 1_000.0),
    ];
    let mut world = World::new("value", sources, vec![pair(64.0)]);
    world.run(Duration::from_millis(2_500));
    world.channels[0][1].begin_outage(Outage::Loses);
    world.run(Duration::from_millis(1_400));
    world.forget();
    let now = world.now;
    world.sender.offer_stop(2, vec![7; 120].into(), now);
    world.run(Duration::from_millis(150));
    assert_eq!(world.got(2).count(), 1);
}

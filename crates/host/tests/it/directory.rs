//! Presence: beacons and directories, with the time as an argument.

use bowline_component::Health;
use bowline_component::Time;
use bowline_host::directory::{Directory, DirectoryLimits, Life};
use bowline_host::presence::{Beacon, HEARTBEAT_PERIOD, Identity};
use bowline_msgs::{
    Heartbeat, Presence, PresenceComponent, PresencePort, PresenceRequest, PresenceService,
};
use proptest::prelude::*;
use std::time::Duration;

const START: Time = Time::from_ns(1_000_000_000_000);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn identity(robot: &str, process: &str, instance: i64) -> Identity {
    Identity {
        robot: robot.to_owned(),
        host: "vessel".to_owned(),
        process: process.to_owned(),
        pid: 17,
        instance,
    }
}

/// A component that serves `name.plan`.
fn component(name: &str) -> PresenceComponent {
    let port = PresencePort {
        name: "pose".to_owned(),
        direction: PresencePort::READS,
        channel: "vehicle.pose".to_owned(),
        type_name: "bowline.pose_t".to_owned(),
        fingerprint: 7,
    };
    let service = PresenceService {
        port: "plan".to_owned(),
        direction: PresenceService::SERVES,
        name: format!("{name}.plan"),
        request_type: "bowline.waypoint_t".to_owned(),
        request_fingerprint: 8,
        reply_type: "bowline.path_t".to_owned(),
        reply_fingerprint: 9,
    };
    PresenceComponent {
        name: name.to_owned(),
        kind: "planner".to_owned(),
        ports: vec![port],
        services: vec![service],
        ..PresenceComponent::default()
    }
    .with_lengths()
}

fn beacon(robot: &str, process: &str, instance: i64, now: Time) -> Beacon {
    let components = vec![component(process)];
    Beacon::new(identity(robot, process, instance), components, now)
}

/// Has a directory receive what a beacon sends at a moment.
fn hear(directory: &mut Directory, beacon: &mut Beacon, now: Time) {
    let name = beacon.identity().process.clone();
    let due = beacon.on_time(now, 0, || vec![Health::Good.heartbeat(&name)]);
    if let Some(presence) = due.presence {
        directory.on_presence(now, presence);
    }
    if let Some(heartbeat) = due.heartbeat {
        directory.on_heartbeat(now, heartbeat);
    }
}

fn lives(directory: &Directory, now: Time) -> Vec<Life> {
    directory.processes(now).map(|(_, _, life)| life).collect()
}

#[test]
fn beacon_sends_heartbeats_at_5_hz_and_presence_every_two_seconds() {
    let mut beacon = beacon("boat", "planner", 1, START);
    let (mut n_heartbeats, mut n_presences) = (0, 0);
    let mut now = START;
    while now < START + Duration::from_secs(10) {
        assert!(beacon.next_due() >= now);
        now = beacon.next_due();
        let due = beacon.on_time(now, 0, Vec::new);
        assert!(due.heartbeat.is_some() || due.presence.is_some());
        n_heartbeats += u32::from(due.heartbeat.is_some());
        n_presences += u32::from(due.presence.is_some());
    }
    assert_eq!((n_heartbeats, n_presences), (51, 6));
}

#[test]
fn presence_request_is_answered_soon_but_a_flood_is_not_amplified() {
    let mut beacon = beacon("boat", "planner", 1, START);
    beacon.on_time(START, 0, Vec::new);
    let mut n_presences = 0;
    let ask = |robot: &str| PresenceRequest {
        robot: robot.to_owned(),
        ..PresenceRequest::default()
    };
    for step in 1..=1_000 {
        let now = START + ms(step);
        beacon.on_request(now, &ask(""));
        let due = beacon.on_time(now, 0, Vec::new);
        n_presences += u32::from(due.presence.is_some());
    }
    assert_eq!(n_presences, 4);
    beacon.on_request(START + ms(1_300), &ask("car"));
    let due = beacon.on_time(START + ms(1_300), 0, Vec::new);
    assert_eq!(due.presence, None, "another robot was meant");
    beacon.describe(START + ms(1_301), vec![component("other")]);
    let due = beacon.on_time(START + ms(1_301), 0, Vec::new);
    assert_eq!(
        due.presence.unwrap().revision,
        2,
        "a change is published at once"
    );
}

#[test]
fn a_step_of_the_wall_clock_shows_in_the_heartbeat() {
    let mut beacon = beacon("boat", "planner", 1, START);
    let due = beacon.on_time(START, -3_600_000_000_000, Vec::new);
    let heartbeat = due.heartbeat.unwrap();
    assert_eq!(heartbeat.clock_offset_us, -3_600_000_000);
    assert_eq!(heartbeat.utime, START.utime());
}

#[test]
fn process_without_heartbeat_is_silent_then_gone_then_forgotten() {
    let mut directory = Directory::default();
    let mut beacon = beacon("boat", "planner", 1, START);
    hear(&mut directory, &mut beacon, START);
    let cases = [
        (0, Life::Alive),
        (250, Life::Alive),
        (301, Life::Silent),
        (700, Life::Silent),
        (701, Life::Gone),
    ];
    for (after, life) in cases {
        assert_eq!(lives(&directory, START + ms(after)), [life], "{after} ms");
    }
    // It was only slow.
    hear(&mut directory, &mut beacon, START + ms(900));
    assert_eq!(lives(&directory, START + ms(901)), [Life::Alive]);
    directory.on_time(START + Duration::from_secs(32));
    assert_eq!(lives(&directory, START + Duration::from_secs(32)), []);
    assert_eq!(directory.n_bytes(), 0);
}

#[test]
fn a_lie_about_the_period_does_not_put_off_death() {
    let mut directory = Directory::default();
    let mut beacon = beacon("boat", "planner", 1, START);
    for period_us in [i32::MAX, i32::MIN, 0, 10_000_000] {
        let due = beacon.on_time(beacon.next_due(), 0, Vec::new);
        let Some(heartbeat) = due.heartbeat else {
            continue;
        };
        let now = Time::from_utime(heartbeat.utime);
        directory.on_heartbeat(
            now,
            Heartbeat {
                period_us,
                ..heartbeat
            },
        );
        assert_eq!(
            lives(&directory, now + ms(100)),
            [Life::Alive],
            "{period_us}"
        );
        assert_eq!(
            lives(&directory, now + ms(701)),
            [Life::Gone],
            "{period_us}"
        );
    }
}

#[test]
fn last_words_are_believed_at_once() {
    let mut directory = Directory::default();
    let mut beacon = beacon("boat", "planner", 1, START);
    hear(&mut directory, &mut beacon, START);
    directory.on_heartbeat(START + ms(10), beacon.leave(START + ms(10), 0, Vec::new()));
    assert_eq!(lives(&directory, START + ms(11)), [Life::Gone]);
    assert!(directory.offers(START + ms(11)).is_empty());
}

#[test]
fn services_are_listed_with_who_offers_them_and_how_that_is() {
    let mut directory = Directory::default();
    for (process, instance) in [("planner", 1), ("mapper", 2)] {
        hear(
            &mut directory,
            &mut beacon("boat", process, instance, START),
            START,
        );
    }
    let offers = directory.offers(START);
    let listed: Vec<_> = offers
        .iter()
        .map(|offer| {
            (
                offer.service.name.as_str(),
                offer.component,
                offer.health.clone(),
            )
        })
        .collect();
    let good = Some(Health::Good);
    assert_eq!(
        listed,
        [
            ("mapper.plan", "mapper", good.clone()),
            ("planner.plan", "planner", good)
        ]
    );
    assert!(directory.offers(START + ms(701)).is_empty());
}

#[test]
fn two_lives_of_one_name_are_a_conflict_and_a_restart_is_none() {
    let mut directory = Directory::default();
    let mut old = beacon("boat", "planner", 1, START);
    let mut other_robot = beacon("car", "planner", 2, START);
    let mut now = START;
    while now < START + ms(1_000) {
        hear(&mut directory, &mut old, now);
        hear(&mut directory, &mut other_robot, now);
        now = now + ms(50);
    }
    // A restart: the old one falls silent, the new one is there before the old one counts as gone.
    let mut new = beacon("boat", "planner", 3, now);
    for _ in 0..10 {
        hear(&mut directory, &mut new, now);
        hear(&mut directory, &mut other_robot, now);
        assert_eq!(directory.conflicts(now), []);
        now = now + ms(50);
    }
    // A second one: both go on.
    let mut second = beacon("boat", "planner", 4, now);
    for _ in 0..20 {
        hear(&mut directory, &mut new, now);
        hear(&mut directory, &mut second, now);
        now = now + ms(50);
    }
    let conflicts = directory.conflicts(now);
    let [conflict] = conflicts.as_slice() else {
        panic!("{conflicts:?}");
    };
    assert_eq!(
        (conflict.robot.as_str(), conflict.component.as_str()),
        ("boat", "planner")
    );
    let instances: Vec<i64> = conflict.claimed_by.iter().map(|key| key.instance).collect();
    assert_eq!(instances, [3, 4]);
}

#[test]
fn two_hundred_processes_are_alive_and_their_deaths_are_seen() {
    let mut directory = Directory::default();
    let mut beacons: Vec<Beacon> = (0..200)
        .map(|number| beacon("boat", &format!("p{number}"), number, START))
        .collect();
    let mut now = START;
    while now < START + Duration::from_secs(3) {
        for beacon in &mut beacons {
            hear(&mut directory, beacon, now);
        }
        now = now + ms(100);
    }
    let n_alive = |directory: &Directory, now| {
        let lives = lives(directory, now);
        lives.iter().filter(|life| **life == Life::Alive).count()
    };
    assert_eq!(n_alive(&directory, now), 200);
    assert_eq!(directory.offers(now).len(), 200);
    assert_eq!(directory.conflicts(now), []);
    // Every other one dies.
    let died = now;
    while now <= died + ms(800) {
        for beacon in beacons.iter_mut().step_by(2) {
            hear(&mut directory, beacon, now);
        }
        now = now + ms(100);
    }
    assert_eq!(n_alive(&directory, now), 100);
    assert_eq!(directory.offers(now).len(), 100);
}

#[test]
fn a_flood_of_processes_fills_a_bounded_room_and_those_who_are_in_it_stay() {
    let by_number = DirectoryLimits {
        max_processes: 50,
        max_bytes: 100_000,
    };
    let by_size = DirectoryLimits {
        max_processes: 1_000,
        max_bytes: 5_000,
    };
    for limits in [by_number, by_size] {
        let mut directory = Directory::new(limits);
        let mut honest = beacon("boat", "planner", 1, START);
        let mut now = START;
        for number in 0..20_000 {
            now = now + Duration::from_micros(50);
            if honest.next_due() <= now {
                hear(&mut directory, &mut honest, now);
            }
            hear(&mut directory, &mut beacon("x", "y", number, now), now);
            assert!(directory.processes(now).count() <= limits.max_processes);
            assert!(directory.n_bytes() <= limits.max_bytes);
        }
        let robots = directory.lives(now, "boat", "planner");
        let robots: Vec<Life> = robots.map(|(_, _, life)| life).collect();
        assert_eq!(robots, [Life::Alive], "{limits:?}");
        let counts = directory.counts();
        assert!(counts.no_room > 0 && counts.evicted > 0, "{counts:?}");
    }
}

#[test]
fn what_is_too_much_for_one_process_is_refused_and_counted() {
    let mut directory = Directory::default();
    let long = "x".repeat(300);
    let many = |name: &str| vec![component(name); 300];
    let presences = [
        Presence {
            robot: long.clone(),
            ..Presence::default()
        },
        Presence {
            components: many("a"),
            ..Presence::default()
        },
        Presence {
            components: vec![component(&long)],
            ..Presence::default()
        },
    ];
    for presence in presences {
        assert!(!directory.on_presence(START, presence.with_lengths()));
    }
    let heartbeat = Heartbeat {
        components: vec![Health::Good.heartbeat(&long)],
        ..Heartbeat::default()
    };
    assert!(!directory.on_heartbeat(START, heartbeat.with_lengths()));
    assert_eq!(directory.counts().too_large, 4);
    assert_eq!(directory.processes(START).count(), 0);
}

/// What any client might send at any time, with few enough names that they meet.
fn anything() -> impl Strategy<Value = (u64, bool, i64, i64, i32, bool, usize)> {
    (
        0..2_000_u64,
        any::<bool>(),
        0..6_i64,
        any::<i64>(),
        any::<i32>(),
        any::<bool>(),
        0..40_usize,
    )
}

proptest! {
    #[test]
    fn no_message_breaks_the_bounds(said in proptest::collection::vec(anything(), 1..300)) {
        let limits = DirectoryLimits { max_processes: 4, max_bytes: 4_000 };
        let mut directory = Directory::new(limits);
        let mut now = START;
        for (after, is_heartbeat, instance, utime, number, is_leaving, n_components) in said {
            now = now + ms(after);
            let names = (0..n_components).map(|name| format!("{name}"));
            if is_heartbeat {
                let components = names.map(|name| Health::Failed(String::new()).heartbeat(&name)).collect();
                let heartbeat = Heartbeat {
                    utime, instance, is_leaving, components, period_us: number, ..Heartbeat::default()
                };
                directory.on_heartbeat(now, heartbeat.with_lengths());
            } else {
                let components = names.map(|name| component(&name)).collect();
                let presence = Presence { utime, instance, components, ..Presence::default() };
                directory.on_presence(now, presence.with_lengths());
            }
            if is_leaving {
                directory.on_time(now);
            }
            prop_assert!(directory.n_bytes() <= limits.max_bytes);
            prop_assert!(directory.processes(now).count() <= limits.max_processes);
            let n_offers = directory.offers(now).len();
            prop_assert!(n_offers <= directory.all_offers(now).len());
            prop_assert!(directory.conflicts(now).len() <= 40);
        }
        directory.on_time(now + HEARTBEAT_PERIOD * 1_000);
        prop_assert_eq!(directory.n_bytes(), 0);
    }
}

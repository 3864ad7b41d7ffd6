//! Recorded lives, lived again.

use crate::parts::{StopAtEnd, chain, engine, instance_with, ms, scan};
use bowline_bus::Bus;
use bowline_component::engine::Instance;
use bowline_component::trace::STEPS_CHANNEL;
use bowline_component::{
    Build, BuildError, Component, Kind, NoParameters, Outbox, Output, Ports, Setting, Step,
};
use bowline_host::robot::MakeComponentError;
use bowline_host::verify::{Problem, Recorded, Verification, verify};
use bowline_host::{Live, LiveOptions};
use bowline_log::{LogEvent, Reader, Writer, WriterOptions};
use bowline_msgs::Velocity;
use bowline_wire::Message as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What the chain sends, each of its components on one channel.
const SAID: &[&str] = &["filter.speed", "reckoner.pose", "reporter.report"];
/// So much of it is enough.
const ENOUGH: usize = 12;

/// Records what components do on a live bus, each in a host of its own, until all of them have sent enough.
pub(crate) fn record(folder: &Path, url: &str, instances: Vec<Instance>, said: &[&str]) -> PathBuf {
    let path = folder.join("live.mcap");
    let bus = Bus::open(url).unwrap();
    let everything = bus.events(".*").unwrap();
    let stop = AtomicBool::new(false);
    let mut log = Writer::create(&path, WriterOptions::default()).unwrap();
    std::thread::scope(|scope| {
        let stop_at_end = StopAtEnd(&stop);
        let hosts: Vec<_> = instances
            .into_iter()
            .map(|instance| {
                let options = LiveOptions {
                    robot: "test".to_owned(),
                    process: instance.name.clone(),
                    is_traced: true,
                    ..LiveOptions::default()
                };
                let bus = Bus::open(url).unwrap();
                let mut host = Live::new(engine(vec![instance]), bus, options).unwrap();
                let stop = &stop;
                scope.spawn(move || host.run(stop).unwrap())
            })
            .collect();
        let mut number = 0;
        let mut counts = vec![0; said.len()];
        while counts.iter().any(|count| *count < ENOUGH) {
            bus.publish("laser.scan", &scan(number)).unwrap();
            number += 1;
            let mut next = everything.recv_timeout(ms(10)).unwrap();
            while let Some((_, event)) = next {
                log.write(LogEvent::from(&event)).unwrap();
                for (count, channel) in counts.iter_mut().zip(said) {
                    *count += usize::from(event.channel.as_str() == *channel);
                }
                next = everything.try_recv().unwrap();
            }
        }
        drop(stop_at_end);
        for host in hosts {
            host.join().unwrap();
        }
        while let Some((_, event)) = everything.try_recv().unwrap() {
            log.write(LogEvent::from(&event)).unwrap();
        }
    });
    log.finish().unwrap();
    path
}

fn remake(name: &str) -> Option<Result<Instance, MakeComponentError>> {
    chain()
        .into_iter()
        .find(|instance| instance.name == name)
        .map(Ok)
}

pub(crate) fn check(
    path: &Path,
    remake: &mut dyn FnMut(&str) -> Option<Result<Instance, MakeComponentError>>,
) -> Verification {
    verify(
        &mut Reader::open(path).unwrap(),
        "test",
        remake,
        &mut |_, _| {},
    )
    .unwrap()
}

/// The components that were checked.
fn names(verification: &Verification) -> Vec<&str> {
    verification.components.keys().map(String::as_str).collect()
}

#[test]
fn a_live_run_is_lived_again_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "memq://verify-same", chain(), SAID);
    let verification = check(&path, &mut remake);
    assert_eq!(names(&verification), ["filter", "reckoner", "reporter"]);
    for (name, findings) in &verification.components {
        assert!(findings.problems.is_empty(), "{name}: {findings:?}");
        assert_eq!((findings.lives, findings.skipped), (1, 0), "{name}");
        assert!(findings.messages >= ENOUGH as u64, "{name}: {findings:?}");
    }
}

#[test]
fn a_change_is_found_where_it_begins_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "memq://verify-change", chain(), SAID);
    let verification = check(&path, &mut |name| {
        let changed = [("keep", Setting::Real(0.5))];
        match name {
            "filter" => Some(Ok(instance_with(
                name,
                name,
                &[("scan", "laser.scan")],
                &changed,
            ))),
            _ => remake(name),
        }
    });
    let filter = &verification.components["filter"];
    let [
        Problem::SettingsChanged { changes },
        Problem::Differs(difference),
    ] = &filter.problems[..]
    else {
        panic!("{filter:?}");
    };
    assert_eq!(changes, &["-keep = 0.75", "+keep = 0.5"]);
    assert_eq!(
        (difference.step, difference.channel.as_str()),
        (1, "filter.speed")
    );
    let Some(Recorded::Message(recorded)) = &difference.recorded else {
        panic!("{difference:?}");
    };
    let speeds = [recorded, difference.replayed.as_ref().unwrap()]
        .map(|message| Velocity::decode(message).unwrap().speed_mps);
    assert!((speeds[1] / speeds[0] - 2.0).abs() < 1e-12, "{speeds:?}");
    for name in ["reckoner", "reporter"] {
        let findings = &verification.components[name];
        assert!(
            findings.problems.is_empty(),
            "{name} has equal inputs and equal outputs: {findings:?}"
        );
        assert!(findings.messages > 0, "{name}: {findings:?}");
    }
}

#[test]
fn what_is_missing_in_the_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "memq://verify-missing", chain(), SAID);
    let cut = |name: &str, is_kept: &dyn Fn(&LogEvent<'_>, usize) -> bool| {
        let shorter = folder.path().join(name);
        let mut log = Writer::create(&shorter, WriterOptions::default()).unwrap();
        let mut source = Reader::open(&path).unwrap();
        let mut seen = 0;
        while let Some(event) = source.next_event().unwrap() {
            seen += usize::from(event.channel == "laser.scan" || event.channel == STEPS_CHANNEL);
            if is_kept(&event, seen) {
                log.write(event).unwrap();
            }
        }
        log.finish().unwrap();
        shorter
    };

    let without_scan = cut("scan.mcap", &|event, seen| {
        event.channel != "laser.scan" || seen > 1
    });
    let verification = check(&without_scan, &mut remake);
    let problems = &verification.components["filter"].problems;
    let [Problem::InputMissing { step, channel, .. }] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!((*step, channel.as_str()), (1, "laser.scan"));
    let reckoner = &verification.components["reckoner"];
    assert!(
        reckoner.problems.is_empty() && reckoner.messages > 0,
        "{reckoner:?}"
    );

    let without_steps = cut("steps.mcap", &|event, _| event.channel != STEPS_CHANNEL);
    assert!(check(&without_steps, &mut remake).components.is_empty());
}

/// Depends on something that is not an input: what a clock, a random number or the order in a hash map would do.
struct Cheat {
    said: Output<Velocity>,
}

static SECRET: AtomicU64 = AtomicU64::new(0);

impl Build for Cheat {
    type Parameters = NoParameters;

    fn build(_parameters: NoParameters, ports: &mut Ports) -> Result<Self, BuildError> {
        ports.tick(Duration::from_millis(10));
        Ok(Self {
            said: ports.output("said", "What it should not know."),
        })
    }
}

impl Component for Cheat {
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    fn step(&mut self, _step: &Step<'_>, out: &mut Outbox<'_>) {
        let speed_mps = SECRET.fetch_add(1, Ordering::Relaxed) as f64;
        out.send(
            self.said,
            Velocity {
                speed_mps,
                ..Velocity::default()
            },
        );
    }
}

#[test]
fn a_component_that_depends_on_anything_else_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let kind = Kind::of::<Cheat>("cheat", "Cheats.");
    let mut make = |name: &str| {
        let made = Instance::new(&kind, name, &[], [].into());
        Some(made.map_err(|source| MakeComponentError::Refused {
            component: name.to_owned(),
            source,
        }))
    };
    let cheat = make("cheat").unwrap().unwrap();
    let path = record(
        folder.path(),
        "memq://verify-cheat",
        vec![cheat],
        &["cheat.said"],
    );
    let verification = check(&path, &mut make);
    let problems = &verification.components["cheat"].problems;
    assert!(matches!(&problems[..], [Problem::Differs(difference)] if difference.step == 0));
}

#[test]
fn a_second_life_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "memq://verify-lives", chain(), SAID);
    let second = folder.path().join("second");
    std::fs::create_dir(&second).unwrap();
    let again = record(&second, "memq://verify-lives", chain(), SAID);
    let both = folder.path().join("both.mcap");
    let mut log = Writer::create(&both, WriterOptions::default()).unwrap();
    for path in [path, again] {
        let mut source = Reader::open(&path).unwrap();
        while let Some(event) = source.next_event().unwrap() {
            log.write(event).unwrap();
        }
    }
    log.finish().unwrap();
    let verification = check(&both, &mut remake);
    assert_eq!(names(&verification), ["filter", "reckoner", "reporter"]);
    for (name, findings) in &verification.components {
        assert_eq!((findings.lives, findings.skipped), (2, 0), "{name}");
        assert!(findings.problems.is_empty(), "{name}: {findings:?}");
        assert!(
            findings.messages >= 2 * ENOUGH as u64,
            "{name}: {findings:?}"
        );
    }
}

//! The questions, in the order of the aims, each with its cases, tables and verdicts.

use super::measure;
use super::systems::{BOWLINE, BOWLINE_SHM, ICEORYX2, LCM, LCM_TUNED, RAW, ZENOH_SHM, ZENOH_TCP};
use super::table::{Bound, DELIVERED, GIGABYTES, IDLE_CPU, LOSS, P50, P99, PUBLISHER_CPU, aim};
use crate::Length;
use bowline_measure::exchange::{Case, Pattern};

const MESSAGE: usize = 800;
const MEGABYTE: usize = 1_000_000;

/// How often and how long.
struct Turns {
    n: usize,
    seconds: f64,
}

impl Turns {
    fn new(length: Length, n: usize, seconds: f64) -> Self {
        match length {
            Length::Full => Self { n, seconds },
            Length::Quick => Self {
                n: 1,
                seconds: seconds.min(0.3),
            },
        }
    }

    fn case(&self, name: String, pattern: Pattern, rate_hz: u32) -> Case {
        Case {
            name,
            pattern,
            rate_hz,
            size: MESSAGE,
            n_peers: 1,
            seconds: self.seconds,
            is_batched: false,
            is_pinned: false,
        }
    }
}

/// Each with the name by which the command line selects it.
type Question = (&'static str, fn(Length) -> anyhow::Result<()>);

const QUESTIONS: [Question; 8] = [
    ("1a", paced),
    ("1b", flat_out),
    ("1c", echo),
    ("2", batched),
    ("3", round_trip),
    ("4", large),
    ("5", unsubscribed),
    ("6", shared_memory),
];

pub(crate) fn is_question(name: &str) -> bool {
    QUESTIONS.iter().any(|(each, _)| *each == name)
}

/// Those that are named, or all of them when none is.
pub(super) fn ask(names: &[String], length: Length) -> anyhow::Result<()> {
    for (name, question) in QUESTIONS {
        if names.is_empty() || names.iter().any(|each| each == name) {
            question(length)?;
        }
    }
    Ok(())
}

fn subscribers(n: usize) -> String {
    format!("{n} subscriber{}", if n == 1 { "" } else { "s" })
}

fn paced(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 0.5);
    let mut cases = Vec::new();
    for n_peers in [1, 2, 4] {
        for rate in [5_000, 10_000, 20_000, 40_000] {
            let name = format!("{rate}/s, {}", subscribers(n_peers));
            cases.push(Case {
                n_peers,
                ..turns.case(name, Pattern::OneWay, rate)
            });
        }
    }
    println!("(1a) paced, one call a message");
    let results = measure(&[&BOWLINE, &LCM, &LCM_TUNED], &cases, turns.n)?;
    results.print(LOSS);
    let worst = results.worst(&BOWLINE, LOSS);
    aim(
        "loss at any of these rates, with default settings",
        worst,
        Bound::AtMost(0.0),
        " %",
    );
    println!();
    Ok(())
}

fn flat_out(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 5, 1.0);
    let cases = [turns.case(subscribers(1), Pattern::OneWay, 0)];
    println!("(1b) flat out, one call a message");
    let results = measure(&[&BOWLINE, &LCM, &LCM_TUNED, &RAW], &cases, turns.n)?;
    results.print(DELIVERED);
    results.print(LOSS);
    results.print(PUBLISHER_CPU);
    let ratio = |peer| results.ratio(0, &BOWLINE, peer, DELIVERED);
    aim(
        "delivered, beside default liblcm",
        ratio(&LCM),
        Bound::AtLeast(2.5),
        "x",
    );
    aim(
        "delivered, beside sendto and recvmmsg",
        ratio(&RAW),
        Bound::AtLeast(0.97),
        "x",
    );
    aim(
        "publisher's CPU beside liblcm, flat out",
        results.ratio(0, &BOWLINE, &LCM, PUBLISHER_CPU),
        Bound::AtMost(1.0),
        "x",
    );
    println!();
    Ok(())
}

fn echo(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.0);
    let case = |n_peers: usize, rate| {
        let name = format!(
            "{rate}/s, {n_peers} client{}",
            if n_peers == 1 { "" } else { "s" }
        );
        Case {
            n_peers,
            ..turns.case(name, Pattern::Echo, rate)
        }
    };
    let cases = [case(1, 40_000), case(2, 30_000), case(4, 10_000)];
    println!("(1c) the papers' echo test");
    let results = measure(&[&BOWLINE, &LCM, &LCM_TUNED], &cases, turns.n)?;
    results.print(LOSS);
    results.print(P50);
    aim(
        "loss, with default settings",
        results.worst(&BOWLINE, LOSS),
        Bound::AtMost(0.0),
        " %",
    );
    println!();
    Ok(())
}

fn batched(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.0);
    let case = |n_peers| {
        let case = turns.case(subscribers(n_peers), Pattern::OneWay, 0);
        Case {
            n_peers,
            is_batched: true,
            ..case
        }
    };
    let cases = [case(1), case(4)];
    println!("(2) flat out, batched (raw sockets: UDP_SEGMENT and UDP_GRO)");
    let results = measure(&[&BOWLINE, &ZENOH_TCP, &RAW], &cases, turns.n)?;
    results.print(DELIVERED);
    results.print(LOSS);
    let ours = |case_idx| results.median(case_idx, &BOWLINE, DELIVERED);
    aim("to one subscriber", ours(0), Bound::AtLeast(1000.0), " k/s");
    aim("to each of four", ours(1), Bound::AtLeast(300.0), " k/s");
    aim(
        "loss",
        results.worst(&BOWLINE, LOSS),
        Bound::AtMost(0.0),
        " %",
    );
    for (case_idx, name) in ["zenoh on TCP, one", "zenoh on TCP, four"]
        .into_iter()
        .enumerate()
    {
        let ratio = results.ratio(case_idx, &BOWLINE, &ZENOH_TCP, DELIVERED);
        aim(&format!("beside {name}"), ratio, Bound::AtLeast(1.0), "x");
    }
    println!();
    Ok(())
}

fn round_trip(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.5);
    let case = |name: &str, is_pinned| {
        let case = turns.case(name.to_string(), Pattern::Echo, 1000);
        Case { is_pinned, ..case }
    };
    let cases = [
        case("1 kHz, free to move", false),
        case("1 kHz, all on one core", true),
    ];
    println!("(3) round trip");
    let results = measure(
        &[&BOWLINE, &LCM, &RAW, &ZENOH_TCP, &ICEORYX2],
        &cases,
        turns.n,
    )?;
    results.print(P50);
    results.print(P99);
    let ratio = |case_idx, figure| results.ratio(case_idx, &BOWLINE, &LCM, figure);
    aim(
        "p50 beside liblcm, free",
        ratio(0, P50),
        Bound::AtMost(0.8),
        "x",
    );
    aim(
        "p99 beside liblcm, free",
        ratio(0, P99),
        Bound::AtMost(1.0),
        "x",
    );
    aim(
        "p50 beside liblcm, one core",
        ratio(1, P50),
        Bound::AtMost(0.45),
        "x",
    );
    aim(
        "p99 beside liblcm, one core",
        ratio(1, P99),
        Bound::AtMost(1.0),
        "x",
    );
    println!();
    Ok(())
}

fn large(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.0);
    let case = |megabytes: usize| {
        let case = turns.case(format!("{megabytes} MB, flat out"), Pattern::OneWay, 0);
        Case {
            size: megabytes * MEGABYTE,
            ..case
        }
    };
    let cases = [case(1), case(8)];
    println!("(4) large messages, one subscriber");
    let results = measure(&[&BOWLINE, &LCM, &LCM_TUNED, &ZENOH_TCP], &cases, turns.n)?;
    results.print(GIGABYTES);
    results.print(LOSS);
    for (case_idx, name) in ["1 MB", "8 MB"].into_iter().enumerate() {
        aim(
            name,
            results.median(case_idx, &BOWLINE, GIGABYTES),
            Bound::AtLeast(2.0),
            " GB/s",
        );
    }
    aim(
        "loss",
        results.worst(&BOWLINE, LOSS),
        Bound::AtMost(0.0),
        " %",
    );
    println!();
    Ok(())
}

fn unsubscribed(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.0);
    let case = |rate| turns.case(format!("{rate}/s"), Pattern::Idle, rate);
    let cases = [case(20_000), case(50_000)];
    println!("(5) a process that subscribes to something else");
    let results = measure(&[&BOWLINE, &LCM], &cases, turns.n)?;
    results.print(IDLE_CPU);
    // A filter runs in the sender's system call: what the receiver saves must not be paid there.
    results.print(PUBLISHER_CPU);
    for (case_idx, name) in ["20000/s", "50000/s"].into_iter().enumerate() {
        let ratio = results.ratio(case_idx, &BOWLINE, &LCM, IDLE_CPU);
        aim(
            &format!("CPU beside liblcm at {name}"),
            ratio,
            Bound::AtMost(0.2),
            "x",
        );
        let ratio = results.ratio(case_idx, &BOWLINE, &LCM, PUBLISHER_CPU);
        aim(
            &format!("publisher's CPU beside liblcm at {name}"),
            ratio,
            Bound::AtMost(1.0),
            "x",
        );
    }
    println!();
    Ok(())
}

/// Name, bytes, and a rate at which round trips do not queue.
const SHARED_SIZES: [(&str, usize, u32); 3] = [
    ("800 B", MESSAGE, 1000),
    ("1 MB", MEGABYTE, 100),
    ("8 MB", 8 * MEGABYTE, 20),
];

fn shared_memory(length: Length) -> anyhow::Result<()> {
    shared_memory_throughput(length)?;
    shared_memory_round_trip(length)
}

fn shared_memory_throughput(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.0);
    let cases = SHARED_SIZES.map(|(name, size, _)| {
        let case = turns.case(format!("{name}, flat out"), Pattern::OneWay, 0);
        Case { size, ..case }
    });
    println!("(6) shared memory, one subscriber");
    let results = measure(&[&BOWLINE_SHM, &ICEORYX2, &ZENOH_SHM], &cases, turns.n)?;
    results.print(DELIVERED);
    results.print(GIGABYTES);
    results.print(LOSS);
    for (case_idx, (name, size, _)) in SHARED_SIZES.into_iter().enumerate() {
        let peers =
            [&ICEORYX2, &ZENOH_SHM].map(|it| results.ratio(case_idx, &BOWLINE_SHM, it, DELIVERED));
        // Beside the best of those that took part.
        let beside_best = peers.into_iter().flatten().reduce(f64::min);
        let least = if size > MEGABYTE { 1.0 } else { 0.77 };
        aim(
            &format!("our throughput beside the best of iceoryx2 and zenoh, {name}"),
            beside_best,
            Bound::AtLeast(least),
            "x",
        );
    }
    aim(
        "loss, where publishers wait",
        results.worst(&BOWLINE_SHM, LOSS),
        Bound::AtMost(0.0),
        " %",
    );
    println!();
    Ok(())
}

fn shared_memory_round_trip(length: Length) -> anyhow::Result<()> {
    let turns = Turns::new(length, 3, 1.5);
    let cases = SHARED_SIZES.map(|(name, size, rate)| {
        let case = turns.case(format!("{name}, {rate}/s"), Pattern::Echo, rate);
        Case { size, ..case }
    });
    println!("(6) shared memory, round trip");
    let results = measure(&[&BOWLINE_SHM, &ICEORYX2, &ZENOH_SHM], &cases, turns.n)?;
    results.print(P50);
    results.print(P99);
    for (case_idx, (name, ..)) in SHARED_SIZES.into_iter().enumerate() {
        let ratio = results.ratio(case_idx, &BOWLINE_SHM, &ICEORYX2, P50);
        aim(
            &format!("our p50 over iceoryx2's, {name}"),
            ratio,
            Bound::AtMost(1.3),
            "x",
        );
    }
    println!();
    Ok(())
}

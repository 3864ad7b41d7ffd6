//! Where a frame is in coordinates of another, through chains of constraints: beside tf2's `BufferCore`.
//!
//! Both answer the same question: the pose of the last frame of a chain in coordinates of the first. A moving edge has
//! ten seconds of values at 100 Hz on both sides.

use crate::{Length, peers, stopwatch};
use anyhow::{Context as _, Result, ensure};
use bowline_geometry::{
    Assembly, Body, BodyFrame, Constraint, FrameName, Joint, JointKind, Model, Transform,
    TransformError,
};
use std::hint::black_box;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Peers take turns, so that a noisy moment hits both; the best of the turns counts.
const N_TURNS: usize = 9;
const EDGES: [usize; 4] = [4, 8, 16, 32];
/// So many times are asked for in turn.
const N_TIMES: i64 = 256;

pub(crate) fn run(work: &Path, length: Length) -> Result<()> {
    let tf2 = build_tf2(work);
    if let Err(error) = &tf2 {
        println!("tf2 is left out: {error:#}");
    }
    let n_turns = if length == Length::Quick { 1 } else { N_TURNS };
    println!(
        "frame to frame, ns a question (best of {n_turns} turns; more than 1x is faster than tf2)"
    );
    println!(
        "{:<34} {:>9} {:>9} {:>8}  aim",
        "", "bowline", "tf2", "ratio"
    );
    for edges in EDGES {
        for case in cases(edges)? {
            let n = if length == Length::Quick {
                5_000
            } else {
                20_000
            };
            let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
            for _ in 0..n_turns {
                ours = ours.min(turn(n, &case.ask));
                if let Ok(program) = &tf2 {
                    theirs = theirs.min(tf2_turn(program, case.tf2, edges, n / 4)?);
                }
            }
            let (theirs, ratio) = if tf2.is_ok() {
                (format!("{theirs:.0}"), format!("{:.1}x", theirs / ours))
            } else {
                ("-".to_owned(), "-".to_owned())
            };
            println!(
                "{edges:>3} edges, {:<22} {ours:>9.1} {theirs:>9} {ratio:>8}  {}",
                case.name, case.aim
            );
        }
    }
    println!();
    Ok(())
}

struct Case {
    name: &'static str,
    /// What tf2's program is asked for.
    tf2: &'static str,
    /// What the issue tracker asks for.
    aim: &'static str,
    ask: Burst,
}

/// Asks questions of these numbers, one after the other: a loop around the question, as in tf2's program.
type Burst = Box<dyn Fn(Range<i64>)>;

fn burst(question: impl Fn(i64) -> Result<Transform, TransformError> + 'static) -> Burst {
    Box::new(move |numbers| {
        for number in numbers {
            // Looked at where it is: a copy would be the bench's own.
            black_box(&question(number));
        }
    })
}

fn cases(edges: usize) -> Result<Vec<Case>> {
    let fixed = chain(edges, false)?;
    let moving = chain(edges, true)?;
    let last = format!("body_{edges}:far");
    let first = "body_0:near";
    let ends = |model: &Model| -> Result<_> { Ok((model.frame(&last)?, model.frame(first)?)) };
    let (foi, reference) = ends(&fixed)?;
    // A wrong answer would be a fast one.
    let by_handle = fixed.transform(foi, reference)?;
    ensure!(
        by_handle == fixed.transform_by_name(&last, first)?,
        "names and handles disagree"
    );
    let (moving_foi, moving_reference) = ends(&moving)?;
    moving.transform_at(moving_foi, moving_reference, 5_000_000)?;
    let case = |name, tf2, aim, ask| Case {
        name,
        tf2,
        aim,
        ask,
    };
    let (named, at, latest) = (fixed.clone(), moving.clone(), moving.clone());
    let moving_last = last.clone();
    Ok(vec![
        case(
            "static, by name",
            "static-at",
            "50 ns",
            burst(move |_| named.transform_by_name(black_box(&last), black_box(first))),
        ),
        case(
            "static, by handle",
            "static-at",
            "10 ns",
            burst(move |_| fixed.transform(black_box(foi), black_box(reference))),
        ),
        case(
            "moving, at a time",
            "moving-at",
            "2x",
            burst(move |nth| {
                // Spread over the ten seconds, as tf2's are.
                let utime = nth % N_TIMES * 9_900_000 / N_TIMES;
                at.transform_at(black_box(moving_foi), moving_reference, utime)
            }),
        ),
        case(
            "moving, latest",
            "moving-latest",
            "2x",
            burst(move |_| latest.transform(black_box(moving_foi), moving_reference)),
        ),
        case(
            "moving, latest, by name",
            "moving-latest",
            "2x",
            burst(move |_| moving.transform_by_name(black_box(&moving_last), black_box(first))),
        ),
    ])
}

/// Bodies in a row, each bound to the one before it.
fn chain(edges: usize, is_moving: bool) -> Result<Model> {
    let frame = |name: &str, xyz| BodyFrame {
        name: name.to_owned(),
        body_from_frame: Transform::from_xyz(xyz),
        ..BodyFrame::default()
    };
    let body = |idx| Body {
        name: format!("body_{idx}"),
        frames: vec![frame("near", [0.0; 3]), frame("far", [0.3, 0.0, 0.0])],
        ..Body::default()
    };
    let constraint = |idx: usize| Constraint {
        name: format!("joint_{idx}"),
        from: FrameName::new(format!("body_{idx}"), "far"),
        to: FrameName::new(format!("body_{}", idx + 1), "near"),
        from_from_to: Transform::from_xyz_rpy([0.0; 3], [0.1, 0.2, 0.3]),
        joint: is_moving.then_some(Joint {
            kind: JointKind::Revolute,
            axis: [0.0, 0.0, 1.0],
            limits: None,
            rest: 0.0,
            feed: None,
            follows: None,
        }),
        ..Constraint::default()
    };
    let mut model = Model::new(Assembly {
        name: "chain".to_owned(),
        bodies: (0..=edges).map(body).collect(),
        constraints: (0..edges).map(constraint).collect(),
        ..Assembly::default()
    })?;
    let joints: Vec<_> = model.joints().map(|joint| joint.id).collect();
    for joint in joints {
        for nth in 0..1_000_i32 {
            model.set(joint, 0.001 * f64::from(nth), i64::from(nth) * 10_000)?;
        }
    }
    Ok(model)
}

/// What a question takes in the best of many bursts, as tf2's program has it.
fn turn(n: u32, ask: &Burst) -> f64 {
    const BURST: i64 = 250;
    let bursts = 0..i64::from(n) / BURST;
    let took = bursts.map(|burst| {
        let first = burst * BURST;
        stopwatch::time(|| ask(first..first + BURST))
    });
    took.min().unwrap_or_default().as_secs_f64() * 1e9 / BURST as f64
}

fn tf2_turn(program: &Path, kind: &str, edges: usize, n: u32) -> Result<f64> {
    let mut command = Command::new(program);
    let printed = peers::run(command.args([kind, &edges.to_string(), &n.to_string()]))?;
    let printed = printed.trim();
    printed
        .parse()
        .with_context(|| format!("expected nanoseconds, found {printed:?}"))
}

fn build_tf2(work: &Path) -> Result<PathBuf> {
    ensure!(
        Path::new("/usr/include/tf2/buffer_core.h").exists(),
        "Debian's libtf2-dev is missing; apt-get install --no-install-recommends libtf2-dev"
    );
    let program = work.join("tf2");
    let mut compiler = Command::new("g++");
    compiler
        .args(["-O3", "-std=c++17", "-o"])
        .arg(&program)
        .arg(peers::root().join("bench/c/tf2.cpp"))
        .args(["-ltf2", "-lrostime", "-lcpp_common"]);
    peers::run(&mut compiler)?;
    Ok(program)
}

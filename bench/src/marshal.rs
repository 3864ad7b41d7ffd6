//! Encoding and decoding: the LCM paper's Fig. 6, against lcm-gen's C at -O3.

use crate::{peers, stopwatch};
use anyhow::Context as _;
use bowline_lang::{Rules, Source, compile};
use bowline_msgs::{Image, ImageRef, Laser, Path as Route, PathRef, Waypoint};
use bowline_wire::schema::TypeSet;
use bowline_wire::{Decode, Message};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Peers take turns, so that a noisy moment hits both; the best of the turns counts.
const N_TURNS: usize = 15;

pub(crate) fn run(work: &Path) -> anyhow::Result<()> {
    let c = build_c(work)?;
    let types = types()?;
    println!("marshalling, ns a message (best of {N_TURNS} turns; more than 1x is faster than C)");
    println!(
        "{:<28} {:>10} {:>10} {:>8}  {:>6}",
        "", "bowline", "lcm-gen C", "ratio", "aim"
    );
    let mut times = BTreeMap::new();
    for case in cases(&types)? {
        let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
        for _ in 0..N_TURNS {
            ours = ours.min(turn(case.n, &case.work));
            theirs = theirs.min(c_turn(&c, case.c_case, case.c_operation, case.n)?);
        }
        println!(
            "{:<28} {ours:>10.1} {theirs:>10.1} {:>7.2}x  {:>6}",
            case.name,
            theirs / ours,
            case.aim
        );
        times.insert(case.name, ours);
    }
    println!("decode allocates each String anew; reused is decode_into, which keeps them");
    println!("\nrun-time schemas beside generated code, decoding (aim: at most 5x its time)");
    for name in ["path_t", "laser_t", "image_t"] {
        let time = |what: &str| {
            times
                .get(format!("{name} {what}").as_str())
                .copied()
                .unwrap_or(f64::NAN)
        };
        let (dynamic, generated) = (time("decode, run-time"), time("decode"));
        println!(
            "{name:<28} {dynamic:>10.1} {generated:>10.1} {:>7.2}x",
            dynamic / generated
        );
    }
    println!();
    Ok(())
}

struct Case<'t> {
    name: &'static str,
    c_case: &'static str,
    c_operation: &'static str,
    /// What the issue tracker asks for.
    aim: &'static str,
    n: u32,
    work: Box<dyn Fn() + 't>,
}

fn cases(types: &TypeSet) -> anyhow::Result<Vec<Case<'_>>> {
    let mut cases = path_cases(types)?;
    cases.extend(laser_cases(types)?);
    cases.extend(image_cases(types)?);
    Ok(cases)
}

fn path_cases(types: &TypeSet) -> anyhow::Result<Vec<Case<'_>>> {
    let path = path();
    let bytes = path.encode()?;
    let case = |name, operation, aim, work| Case::new(name, "path", operation, aim, 20_000, work);
    let borrowed = bytes.clone();
    Ok(vec![
        case("path_t encode", "encode", "2x", encoder(path)),
        case(
            "path_t decode",
            "decode",
            "1.5x",
            decoder::<Route>(bytes.clone()),
        ),
        case(
            "path_t decode, reused",
            "decode",
            "",
            reuser::<Route>(bytes.clone()),
        ),
        case(
            "path_t decode, borrowed",
            "decode",
            "5x",
            Box::new(move || {
                drop(black_box(PathRef::decode(black_box(&borrowed))));
            }),
        ),
        case(
            "path_t decode, run-time",
            "decode",
            "",
            dynamic(types, bytes),
        ),
    ])
}

fn laser_cases(types: &TypeSet) -> anyhow::Result<Vec<Case<'_>>> {
    let laser = laser();
    let bytes = laser.encode()?;
    let case = |name, operation, aim, work| Case::new(name, "laser", operation, aim, 50_000, work);
    Ok(vec![
        case("laser_t encode", "encode", "4x", encoder(laser)),
        case(
            "laser_t decode",
            "decode",
            "1x",
            decoder::<Laser>(bytes.clone()),
        ),
        case(
            "laser_t decode, reused",
            "decode",
            "",
            reuser::<Laser>(bytes.clone()),
        ),
        case(
            "laser_t decode, run-time",
            "decode",
            "",
            dynamic(types, bytes),
        ),
    ])
}

fn image_cases(types: &TypeSet) -> anyhow::Result<Vec<Case<'_>>> {
    let image = image();
    let bytes = image.encode()?;
    let case = |name, operation, aim, work| Case::new(name, "image", operation, aim, 2_000, work);
    let (pixels, borrowed) = (image.data.clone(), bytes.clone());
    let copy = RefCell::new(pixels.clone());
    Ok(vec![
        case("image_t encode", "encode", "memcpy", encoder(image)),
        case(
            "  memcpy of the pixels",
            "encode",
            "",
            Box::new(move || {
                black_box(copy.borrow_mut().as_mut_slice()).copy_from_slice(black_box(&pixels));
            }),
        ),
        case(
            "image_t decode",
            "decode",
            "",
            decoder::<Image>(bytes.clone()),
        ),
        case(
            "image_t decode, borrowed",
            "decode",
            "O(1)",
            Box::new(move || {
                drop(black_box(ImageRef::decode(black_box(&borrowed))));
            }),
        ),
        case(
            "image_t decode, run-time",
            "decode",
            "",
            dynamic(types, bytes),
        ),
    ])
}

impl<'t> Case<'t> {
    fn new(
        name: &'static str,
        c_case: &'static str,
        c_operation: &'static str,
        aim: &'static str,
        n: u32,
        work: Box<dyn Fn() + 't>,
    ) -> Self {
        Self {
            name,
            c_case,
            c_operation,
            aim,
            n,
            work,
        }
    }
}

/// As C does it: into a buffer that is there already.
fn encoder<'t, M: Message + 't>(message: M) -> Box<dyn Fn() + 't> {
    let scratch = RefCell::new(Vec::new());
    Box::new(move || {
        let mut scratch = scratch.borrow_mut();
        black_box(
            black_box(&message)
                .encode_into(&mut scratch)
                .map(<[u8]>::len),
        )
        .expect("the message is sound");
    })
}

/// With the clean-up, as in C.
fn decoder<M: Owned>(bytes: Vec<u8>) -> Box<dyn Fn()> {
    Box::new(move || {
        drop(black_box(
            M::decode(black_box(&bytes)).expect("the message is sound"),
        ));
    })
}

/// Into the value of the last message, as a loop over messages would.
fn reuser<M: Owned>(bytes: Vec<u8>) -> Box<dyn Fn()> {
    let value = RefCell::new(M::decode(&bytes).expect("the message is sound"));
    Box::new(move || {
        let mut value = value.borrow_mut();
        value
            .decode_into(black_box(&bytes))
            .expect("the message is sound");
        black_box(&*value);
    })
}

fn dynamic(types: &TypeSet, bytes: Vec<u8>) -> Box<dyn Fn() + '_> {
    Box::new(move || {
        drop(black_box(
            types
                .decode(black_box(&bytes))
                .expect("the message is sound"),
        ));
    })
}

/// A generated type that borrows nothing.
trait Owned: Message + for<'a> Decode<'a> + 'static {}

impl<M: Message + for<'a> Decode<'a> + 'static> Owned for M {}

fn turn(n: u32, work: &dyn Fn()) -> f64 {
    stopwatch::time(|| (0..n).for_each(|_| work())).as_secs_f64() * 1e9 / f64::from(n)
}

fn c_turn(c: &Path, case: &str, operation: &str, n: u32) -> anyhow::Result<f64> {
    let printed = peers::run(Command::new(c).args([case, operation, &n.to_string()]))?;
    printed
        .trim()
        .parse()
        .with_context(|| format!("expected nanoseconds, found {printed:?}"))
}

fn build_c(work: &Path) -> anyhow::Result<PathBuf> {
    let folder = work.join("c");
    std::fs::create_dir_all(&folder)?;
    // Without the package, so that the C names are those of the paper.
    for name in ["waypoint_t", "path_t", "laser_t", "image_t"] {
        let text =
            std::fs::read_to_string(peers::root().join("types").join(name).with_extension("lcm"))?;
        let file = folder.join(name).with_extension("lcm");
        std::fs::write(&file, text.replace("package bowline;", ""))?;
        let (c, h) = (
            ["--c-cpath".as_ref(), folder.as_os_str()],
            ["--c-hpath".as_ref(), folder.as_os_str()],
        );
        peers::run(
            Command::new(peers::lcm_program("lcm-gen"))
                .args(["-c", "--c-no-pubsub"])
                .args(c)
                .args(h)
                .arg(&file),
        )?;
    }
    let program = folder.join("marshal");
    let sources =
        ["waypoint_t.c", "path_t.c", "laser_t.c", "image_t.c"].map(|name| folder.join(name));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O3", "-I"])
        .arg(peers::lcm_include()?)
        .arg("-I")
        .arg(&folder)
        .arg("-o")
        .arg(&program);
    peers::run(
        gcc.arg(peers::root().join("bench/c/marshal.c"))
            .args(sources),
    )?;
    Ok(program)
}

fn types() -> anyhow::Result<TypeSet> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(peers::root().join("types"))? {
        let path = entry?.path();
        sources.push(Source::from_bytes(
            path.display().to_string(),
            &std::fs::read(&path)?,
        ));
    }
    Ok(compile(&sources, &Rules::default()).types)
}

fn path() -> Route {
    let waypoint = |i: u16| Waypoint {
        id: format!("wp{i:04}"),
        position: [f32::from(i), -f32::from(i)],
    };
    Route {
        timestamp: 1,
        waypoints: (0..50).map(waypoint).collect(),
        ..Route::default()
    }
    .with_lengths()
}

fn laser() -> Laser {
    let ranges = (0..180_u8).map(|i| f32::from(i) * 0.5).collect();
    Laser {
        utime: 1,
        ranges,
        rad0: -1.5,
        radstep: 0.017,
        ..Laser::default()
    }
    .with_lengths()
}

fn image() -> Image {
    let data = (0..640 * 480_u32).map(|i| i.to_le_bytes()[0]).collect();
    Image {
        utime: 1,
        width: 640,
        height: 480,
        data,
        ..Image::default()
    }
    .with_lengths()
}

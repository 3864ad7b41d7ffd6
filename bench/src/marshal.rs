//! Encoding and decoding: the LCM paper's Fig. 6, against lcm-gen's C at -O3.

use crate::{machine, peers};
use anyhow::Context as _;
use bowline_lang::{Rules, Source, compile};
use bowline_msgs::{Image, ImageRef, Laser, Path as Route, PathRef, Waypoint};
use bowline_wire::Message;
use bowline_wire::schema::TypeSet;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Peers take turns, so that a noisy moment hits both; the best of the turns counts.
const N_TURNS: usize = 15;

pub(crate) fn run(work: &Path) -> anyhow::Result<()> {
    let c = build_c(work)?;
    let types = types()?;
    println!("marshalling, ns a message (best of {N_TURNS} turns; more than 1x is faster than C)");
    println!("{:<28} {:>10} {:>10} {:>8}  {:>6}", "", "bowline", "lcm-gen C", "ratio", "aim");
    for case in cases(&types)? {
        let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
        for _ in 0..N_TURNS {
            ours = ours.min(turn(case.n, &case.work));
            theirs = theirs.min(c_turn(&c, case.c_case, case.c_operation, case.n)?);
        }
        println!("{:<28} {ours:>10.1} {theirs:>10.1} {:>7.2}x  {:>6}", case.name, theirs / ours, case.aim);
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
    let (route, laser, image) = (route(), laser(), image());
    let (route_bytes, laser_bytes, image_bytes) = (route.encode()?, laser.encode()?, image.encode()?);
    let pixels = image.data.clone();
    Ok(vec![
        case("path_t encode", "path", "encode", "2x", 20_000, encoder(route)),
        case("path_t decode", "path", "decode", "1.5x", 20_000, decoder::<Route>(route_bytes.clone())),
        case("path_t decode, borrowed", "path", "decode", "5x", 20_000, {
            let bytes = route_bytes.clone();
            Box::new(move || drop(black_box(PathRef::decode(black_box(&bytes)))))
        }),
        case("path_t decode, run-time", "path", "decode", "", 20_000, dynamic(types, route_bytes)),
        case("laser_t encode", "laser", "encode", "4x", 50_000, encoder(laser)),
        case("laser_t decode", "laser", "decode", "1x", 50_000, decoder::<Laser>(laser_bytes.clone())),
        case("laser_t decode, run-time", "laser", "decode", "", 50_000, dynamic(types, laser_bytes)),
        case("image_t encode", "image", "encode", "memcpy", 2_000, encoder(image)),
        case("  memcpy of the pixels", "image", "encode", "", 2_000, {
            let mut to = vec![0; pixels.len()];
            to.copy_from_slice(&pixels);
            let to = std::cell::RefCell::new(to);
            Box::new(move || black_box(to.borrow_mut().as_mut_slice()).copy_from_slice(black_box(&pixels)))
        }),
        case("image_t decode", "image", "decode", "", 2_000, decoder::<Image>(image_bytes.clone())),
        case("image_t decode, borrowed", "image", "decode", "O(1)", 2_000, {
            let bytes = image_bytes.clone();
            Box::new(move || drop(black_box(ImageRef::decode(black_box(&bytes)))))
        }),
        case("image_t decode, run-time", "image", "decode", "", 2_000, dynamic(types, image_bytes)),
    ])
}

fn case<'t>(
    name: &'static str,
    c_case: &'static str,
    c_operation: &'static str,
    aim: &'static str,
    n: u32,
    work: Box<dyn Fn() + 't>,
) -> Case<'t> {
    Case { name, c_case, c_operation, aim, n, work }
}

/// As C does it: into a buffer that is there already.
fn encoder<'t, M: Message + 't>(message: M) -> Box<dyn Fn() + 't> {
    let scratch = std::cell::RefCell::new(Vec::new());
    Box::new(move || {
        let mut scratch = scratch.borrow_mut();
        black_box(black_box(&message).encode_into(&mut scratch).map(<[u8]>::len)).expect("the message is sound");
    })
}

/// With the clean-up, as in C.
fn decoder<M: Message + for<'a> bowline_wire::Decode<'a> + 'static>(bytes: Vec<u8>) -> Box<dyn Fn()> {
    Box::new(move || drop(black_box(M::decode(black_box(&bytes)).expect("the message is sound"))))
}

fn dynamic(types: &TypeSet, bytes: Vec<u8>) -> Box<dyn Fn() + '_> {
    Box::new(move || drop(black_box(types.decode(black_box(&bytes)).expect("the message is sound"))))
}

fn turn(n: u32, work: &dyn Fn()) -> f64 {
    machine::time(|| (0..n).for_each(|_| work())).as_secs_f64() * 1e9 / f64::from(n)
}

fn c_turn(c: &Path, case: &str, operation: &str, n: u32) -> anyhow::Result<f64> {
    let printed = peers::run(Command::new(c).args([case, operation, &n.to_string()]))?;
    printed.trim().parse().with_context(|| format!("expected nanoseconds, found {printed:?}"))
}

fn build_c(work: &Path) -> anyhow::Result<PathBuf> {
    let folder = work.join("c");
    std::fs::create_dir_all(&folder)?;
    // Without the package, so that the C names are those of the paper.
    for name in ["waypoint_t", "path_t", "laser_t", "image_t"] {
        let text = std::fs::read_to_string(peers::root().join("types").join(name).with_extension("lcm"))?;
        let file = folder.join(name).with_extension("lcm");
        std::fs::write(&file, text.replace("package bowline;", ""))?;
        let (c, h) = (["--c-cpath".as_ref(), folder.as_os_str()], ["--c-hpath".as_ref(), folder.as_os_str()]);
        peers::run(Command::new(peers::lcm_program("lcm-gen")).args(["-c", "--c-no-pubsub"]).args(c).args(h).arg(&file))?;
    }
    let program = folder.join("marshal");
    let sources = ["waypoint_t.c", "path_t.c", "laser_t.c", "image_t.c"].map(|name| folder.join(name));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O3", "-I"]).arg(peers::lcm_include()?).arg("-I").arg(&folder).arg("-o").arg(&program);
    peers::run(gcc.arg(peers::root().join("bench/c/marshal.c")).args(sources))?;
    Ok(program)
}

fn types() -> anyhow::Result<TypeSet> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(peers::root().join("types"))? {
        let path = entry?.path();
        sources.push(Source::from_bytes(path.display().to_string(), &std::fs::read(&path)?));
    }
    Ok(compile(&sources, &Rules::default()).types)
}

fn route() -> Route {
    let waypoint = |i: u16| Waypoint { id: format!("wp{i:04}"), position: [f32::from(i), -f32::from(i)] };
    Route { timestamp: 1, waypoints: (0..50).map(waypoint).collect(), ..Route::default() }.with_lengths()
}

fn laser() -> Laser {
    let ranges = (0..180_u8).map(|i| f32::from(i) * 0.5).collect();
    Laser { utime: 1, ranges, rad0: -1.5, radstep: 0.017, ..Laser::default() }.with_lengths()
}

fn image() -> Image {
    let data = (0..640 * 480_u32).map(|i| i.to_le_bytes()[0]).collect();
    Image { utime: 1, width: 640, height: 480, data, ..Image::default() }.with_lengths()
}

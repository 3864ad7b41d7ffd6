//! Drives the worlds of BARN with the pilot and with the plain dynamic-window driver, in a tiny kinematic loop.
//!
//! `cargo run --release -p bowline-autonomy --example barn -- FOLDER NOISE_M [pilot]`

#[path = "../tests/it/barn_loop.rs"]
mod barn_loop;

use barn_loop::{End, Run, pilot_rule, read, run_pilot, run_window};

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("the folder of the worlds");
    let noise_m: f64 = args
        .next()
        .map_or(0.0, |text| text.parse().expect("metres"));
    let only_pilot = args.next().is_some();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    let (mut pilots, mut windows) = (Vec::new(), Vec::new());
    for file in &files {
        let world = read(&std::fs::read_to_string(file).expect("a world"));
        let pilot = run_pilot(&world, noise_m, pilot_rule());
        if pilot.end != End::Goal || pilot.metric < 0.4 {
            println!("{} {pilot:?}", file.display());
        }
        pilots.push(pilot);
        if !only_pilot {
            windows.push(run_window(&world, noise_m));
        }
    }
    tell("pilot", &pilots);
    if !only_pilot {
        tell("dynamic window", &windows);
    }
}

fn tell(name: &str, runs: &[Run]) {
    let n = runs.len() as f64;
    let share = |end| runs.iter().filter(|run| run.end == end).count() as f64 / n;
    let metric = runs.iter().map(|run| run.metric).sum::<f64>() / n;
    let took = runs.iter().map(|run| run.took_s).sum::<f64>() / n;
    println!(
        "{name}: success {:.3}, contact {:.3}, timeout {:.3}; metric {metric:.4}; mean time {took:.1} s",
        share(End::Goal),
        share(End::Contact),
        share(End::Timeout)
    );
}

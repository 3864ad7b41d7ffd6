//! Drives the worlds of BARN with the pilot and with the plain dynamic-window driver, in a tiny kinematic loop.
//!
//! `cargo run --release -p bowline-autonomy --example barn -- FOLDER [WORLD...]`

#[path = "../tests/it/barn_loop.rs"]
mod barn_loop;

use barn_loop::{End, Run, pilot_rule, read, run_pilot, run_window};

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("the folder of the worlds");
    let only: Vec<String> = args.collect();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .filter(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            only.is_empty() || only.iter().any(|only| name.ends_with(only.as_str()))
        })
        .collect();
    files.sort();
    let (mut pilots, mut windows) = (Vec::new(), Vec::new());
    for file in &files {
        let world = read(&std::fs::read_to_string(file).expect("a world"));
        let pilot = run_pilot(&world, pilot_rule());
        if pilot.end != End::Goal || pilot.metric < 0.3 || !only.is_empty() {
            println!("{} {pilot:?}", file.display());
        }
        pilots.push(pilot);
        windows.push(run_window(&world));
    }
    tell("pilot", &pilots);
    tell("dynamic window", &windows);
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

//! Side-by-side figures against the peers, in one run on one machine.
//!
//! Prints tables; asserts nothing. `make bench` sets up the peers and runs this.
//! `bowline-bench marshal`, `bowline-bench compile` and `bowline-bench bus` run one part; `--quick` shortens the bus,
//! and `bowline-bench bus 1b 3` asks only some of its questions.

mod bus;
mod compile;
mod marshal;
mod peers;
mod stopwatch;

use anyhow::ensure;
use bench_worker::machine;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let known = ["marshal", "compile", "bus", "--quick", bus::IN_NAMESPACE];
    let (questions, others): (Vec<String>, Vec<String>) =
        args.iter().cloned().partition(|arg| bus::is_question(arg));
    let unknown = others.iter().find(|arg| !known.contains(&arg.as_str()));
    ensure!(
        unknown.is_none(),
        "expected marshal, compile, bus, a question of the bus such as 1b, or --quick; found {unknown:?}"
    );
    let is_everything = questions.is_empty() && !["marshal", "compile", "bus"].into_iter().any(has);
    let length = if has("--quick") {
        bus::Length::Quick
    } else {
        bus::Length::Full
    };
    if has(bus::IN_NAMESPACE) {
        return bus::run(&questions, length);
    }
    println!("{}", machine::describe());
    println!("{}\n", machine::describe_load());
    if is_everything || has("marshal") {
        marshal::run(&peers::work_folder()?)?;
    }
    if is_everything || has("compile") {
        compile::run(&peers::work_folder()?)?;
    }
    if is_everything || has("bus") || !questions.is_empty() {
        bus::run_in_namespace(&questions, length)?;
    }
    Ok(())
}

//! Side-by-side figures against the peers, in one run on one machine.
//!
//! Prints tables; asserts nothing. `make bench` sets up the peers and runs this.
//! `bowline-bench marshal`, `bowline-bench compile` and `bowline-bench bus` run one part; `--quick` shortens the bus.

mod bus;
mod compile;
mod machine;
mod marshal;
mod peers;

use anyhow::ensure;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let known = ["marshal", "compile", "bus", "--quick", bus::IN_NAMESPACE];
    let unknown = args.iter().find(|arg| !known.contains(&arg.as_str()));
    ensure!(
        unknown.is_none(),
        "expected marshal, compile, bus or --quick, found {unknown:?}"
    );
    let is_everything = !["marshal", "compile", "bus"].into_iter().any(has);
    let length = if has("--quick") {
        bus::Length::Quick
    } else {
        bus::Length::Full
    };
    if has(bus::IN_NAMESPACE) {
        return bus::run(length);
    }
    println!("{}", machine::describe());
    println!("{}\n", machine::describe_load());
    if is_everything || has("marshal") {
        marshal::run(&peers::work_folder()?)?;
    }
    if is_everything || has("compile") {
        compile::run(&peers::work_folder()?)?;
    }
    if is_everything || has("bus") {
        bus::run_in_namespace(length)?;
    }
    Ok(())
}

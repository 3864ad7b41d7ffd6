//! Side-by-side figures against the peers, in one run on one machine.
//!
//! Prints tables; asserts nothing. `make bench` sets up the peers and runs this.
//! `bowline-bench marshal`, `compile`, `model`, `bus`, `logs`, `inspect`, `components`, `supervise`, `arbiter` and
//! `planner` run one part;
//! `--quick` shortens all but the first two, and `bowline-bench bus 1b 3` asks only some of the bus's questions.

mod arbiter;
mod bus;
mod compile;
mod components;
mod inspect;
mod logs;
mod marshal;
mod model;
mod namespace;
mod peers;
mod planner;
mod stopwatch;
mod supervise;

use anyhow::ensure;
use bench_worker::machine;
use namespace::IN_NAMESPACE;

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// All turns.
    Full,
    /// One short turn: does everything run?
    Quick,
}

/// The parts, in their order.
const PARTS: [&str; 10] = [
    "marshal",
    "compile",
    "model",
    "bus",
    "logs",
    "inspect",
    "components",
    "supervise",
    "arbiter",
    "planner",
];

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [supervise::BEAT, url, name] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return supervise::beat(url, name);
    }
    let (questions, others): (Vec<String>, Vec<String>) =
        args.iter().cloned().partition(|arg| bus::is_question(arg));
    let is_known = |arg: &str| {
        PARTS.contains(&arg) || [IN_NAMESPACE, "--quick", components::ECHO].contains(&arg)
    };
    let unknown = others.iter().find(|arg| !is_known(arg));
    ensure!(
        unknown.is_none(),
        "expected {}, a question of the bus such as 1b, or --quick; found {unknown:?}",
        PARTS.join(", ")
    );
    if others.iter().any(|arg| arg == components::ECHO) {
        return components::echo();
    }
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let is_everything = questions.is_empty() && !PARTS.into_iter().any(has);
    let is_wanted = |part| is_everything || has(part) || part == "bus" && !questions.is_empty();
    if has(IN_NAMESPACE) {
        namespace::prepare()?;
    } else {
        println!("{}", machine::describe());
        println!("{}\n", machine::describe_load());
    }
    let length = if has("--quick") {
        Length::Quick
    } else {
        Length::Full
    };
    for part in PARTS.into_iter().filter(|part| is_wanted(part)) {
        match part {
            "marshal" => marshal::run(&peers::work_folder()?)?,
            "compile" => compile::run(&peers::work_folder()?)?,
            "model" => model::run(&peers::work_folder()?, length)?,
            "arbiter" => arbiter::run(length)?,
            "planner" => planner::run(length)?,
            _ if !has(IN_NAMESPACE) => namespace::run_again(&again(part, &questions, length))?,
            "bus" => bus::run(&questions, length)?,
            "logs" => logs::run(length)?,
            "inspect" => inspect::run(length)?,
            "components" => components::run(length)?,
            _ => supervise::run(length)?,
        }
    }
    Ok(())
}

/// What the program is told that measures one part in its own network.
fn again(part: &str, questions: &[String], length: Length) -> Vec<String> {
    let mut arguments = vec![part.to_owned()];
    if part == "bus" {
        arguments.extend_from_slice(questions);
    }
    if length == Length::Quick {
        arguments.push("--quick".to_owned());
    }
    arguments
}

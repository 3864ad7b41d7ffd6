//! Side-by-side figures against the peers, in one run on one machine.
//!
//! Prints tables; asserts nothing. `make bench` sets up the peers and runs this.
//! `bowline-bench model arbiter` runs these parts only; [`PARTS`] has all of them.
//! `--quick` shortens all but the first two, and `bowline-bench bus 1b 3` asks only some of the bus's questions.

mod arbiter;
mod barn;
mod bus;
mod compile;
mod components;
mod inspect;
mod link;
mod logs;
mod marshal;
mod model;
mod namespace;
mod peers;
mod planner;
mod safety;
mod sim;
mod station;
mod stopwatch;
mod supervise;
mod terrain;

use anyhow::ensure;
use bowline_measure::machine;
use namespace::IN_NAMESPACE;

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// All turns.
    Full,
    /// One short turn: does everything run?
    Quick,
}

/// One part: a file, and a row in [`PARTS`].
struct Part {
    name: &'static str,
    network: Network,
    run: fn(&Order) -> anyhow::Result<()>,
}

/// What a part needs of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    None,
    /// One of its own, in which multicast goes nowhere else.
    Own,
}

/// What is asked for.
struct Order {
    length: Length,
    /// Questions of the bus, by their names; none means all.
    questions: Vec<String>,
}

/// The parts, in their order.
const PARTS: [Part; 16] = [
    part("marshal", |_| marshal::run(&peers::work_folder()?)),
    part("compile", |_| compile::run(&peers::work_folder()?)),
    part("model", |it| model::run(&peers::work_folder()?, it.length)),
    networked("bus", |it| bus::run(&it.questions, it.length)),
    networked("logs", |it| logs::run(it.length)),
    networked("inspect", |it| inspect::run(it.length)),
    networked("components", |it| components::run(it.length)),
    networked("supervise", |it| supervise::run(it.length)),
    networked("safety", |it| safety::run(it.length)),
    part("link", |it| link::run(it.length)),
    part("station", |it| station::run(it.length)),
    part("arbiter", |it| arbiter::run(it.length)),
    part("terrain", |it| terrain::run(it.length)),
    part("planner", |it| planner::run(it.length)),
    part("sim", |it| sim::run(&peers::work_folder()?, it.length)),
    part("barn", |it| barn::run(it.length)),
];

const fn part(name: &'static str, run: fn(&Order) -> anyhow::Result<()>) -> Part {
    Part {
        name,
        network: Network::None,
        run,
    }
}

const fn networked(name: &'static str, run: fn(&Order) -> anyhow::Result<()>) -> Part {
    Part {
        name,
        network: Network::Own,
        run,
    }
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [supervise::BEAT, url, name] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return supervise::beat(url, name);
    }
    if let [role, url] = &args[..]
        && let Some((_, play)) = safety::ROLES.iter().find(|(name, _)| name == role)
    {
        return play(url);
    }
    let (questions, others): (Vec<String>, Vec<String>) =
        args.iter().cloned().partition(|arg| bus::is_question(arg));
    let is_known = |arg: &str| {
        PARTS.iter().any(|part| part.name == arg)
            || [IN_NAMESPACE, "--quick", components::ECHO].contains(&arg)
    };
    let names = PARTS.map(|part| part.name).join(", ");
    if others.iter().any(|arg| arg == "--help") {
        println!("bowline-bench [PART...] [--quick], all parts without one: {names}");
        return Ok(());
    }
    let unknown = others.iter().find(|arg| !is_known(arg));
    ensure!(
        unknown.is_none(),
        "expected {names}, a question of the bus such as 1b, or --quick; found {unknown:?}"
    );
    if others.iter().any(|arg| arg == components::ECHO) {
        return components::echo();
    }
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let is_everything = questions.is_empty() && !PARTS.iter().any(|part| has(part.name));
    let is_wanted = |part: &&Part| {
        is_everything || has(part.name) || part.name == "bus" && !questions.is_empty()
    };
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
    let order = Order {
        length,
        questions: questions.clone(),
    };
    for part in PARTS.iter().filter(is_wanted) {
        if part.network == Network::Own && !has(IN_NAMESPACE) {
            namespace::run_again(&again(part.name, &order))?;
        } else {
            (part.run)(&order)?;
        }
    }
    Ok(())
}

/// The argument of the program that measures one part in its own network.
fn again(part: &str, order: &Order) -> Vec<String> {
    let mut arguments = vec![part.to_owned()];
    if part == "bus" {
        arguments.extend_from_slice(&order.questions);
    }
    if order.length == Length::Quick {
        arguments.push("--quick".to_owned());
    }
    arguments
}

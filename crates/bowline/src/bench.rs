//! `bowline bench`: the papers' measurements of a bus, on this machine, with stock LCM beside it.
//!
//! `plan.rs` makes cases of the arguments, `contestant.rs` says who takes part and how its workers are started,
//! `table.rs` and `plot.rs` write down what came of it. Pacing, counting and all that touches a bus is the library of
//! `bench/worker`, which `make bench` uses too. Workers are processes: this binary, started again with a hidden verb.

mod contestant;
mod plan;
mod plot;
mod svg;
mod table;

use crate::input::Usage;
use crate::{Outcome, doctor, output};
use anyhow::Context as _;
use bench_worker::exchange::{self, Pattern};
use bench_worker::{Bowline, Liblcm};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches as _};
use contestant::Contestant;
use plan::{Plan, Point};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  bowline bench echo                         the papers' test; takes a while, --quick does not
  bowline bench echo --quick --plot echo.svg
  bowline bench echo --clients 1 --rates 1000,40000 --bytes 10M
  bowline bench oneway --sizes 800,65536,1000000 --rates 100,1000
  bowline bench oneway --url udpm:// --url memq:// --rates 0

A rate of 0 is flat out. Multicast stays on this host: TTL 0 only. Stock liblcm takes part where it is found:
the library of the `lcm` package for Python, or what --liblcm says.
The table goes to standard output, progress to standard error, the plot to a file.";

#[derive(Args, Debug)]
struct Bench {
    /// A bus to measure; may be given several times
    #[arg(long, value_name = "URL", default_value = bowline_bus::DEFAULT_URL)]
    url: Vec<String>,
    /// How many processes receive
    #[arg(
        long,
        alias = "subscribers",
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4"
    )]
    clients: Vec<u8>,
    /// Messages a second; 0 is flat out
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    rates: Vec<u32>,
    /// Bytes a message
    #[arg(long, alias = "size", value_name = "BYTES,...", value_delimiter = ',', default_value = "800", value_parser = plan::bytes)]
    sizes: Vec<u64>,
    /// Bytes sent for each figure, as in 100M
    #[arg(long, value_name = "BYTES", value_parser = plan::bytes)]
    bytes: Option<u64>,
    /// Few rates and little data: does everything run?
    #[arg(long)]
    quick: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Stock liblcm: the library, or its folder
    #[arg(long, value_name = "PATH")]
    liblcm: Option<PathBuf>,
    /// Where the plot goes; for several sizes, one beside the other
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

pub(crate) fn command() -> Command {
    let verb =
        |name, about| Bench::augment_args(Command::new(name).about(about)).after_help(EXAMPLES);
    Command::new("bench")
        .about("Measure a bus as the papers about LCM do, with stock LCM beside it")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verb(
            "echo",
            "Clients echo what they get: bandwidth, loss and round trips over rates",
        ))
        .subcommand(verb(
            "oneway",
            "One publisher, some subscribers: delivered rate, loss and CPU over rates and sizes",
        ))
        .subcommand(
            // What `contestant.rs` starts.
            Command::new("worker").hide(true).arg(
                Arg::new("arguments")
                    .action(ArgAction::Append)
                    .num_args(1..)
                    .trailing_var_arg(true)
                    .allow_hyphen_values(true),
            ),
        )
}

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    match matches.subcommand() {
        Some(("worker", matches)) => work(matches),
        Some(("echo", matches)) => measure(Pattern::Echo, &Bench::from_arg_matches(matches)?),
        Some(("oneway", matches)) => measure(Pattern::OneWay, &Bench::from_arg_matches(matches)?),
        _ => unreachable!("clap refuses other subcommands"),
    }
}

/// One worker of a system.
fn work(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    let mut arguments = matches
        .get_many::<String>("arguments")
        .into_iter()
        .flatten()
        .cloned();
    match arguments.next().as_deref() {
        Some("bowline") => bench_worker::run(&Bowline, arguments)?,
        Some("liblcm") => bench_worker::run(&Liblcm, arguments)?,
        system => {
            return Err(Usage(format!("expected bowline or liblcm, found {system:?}")).into());
        }
    }
    Ok(Outcome::Fine)
}

fn measure(pattern: Pattern, args: &Bench) -> anyhow::Result<Outcome> {
    let plan = Plan::new(pattern, args)?;
    let contestants = contestant::all(&args.url, args.liblcm.as_deref())?;
    for contestant in &contestants {
        if let Some(complaint) = doctor::complaint(contestant.url()) {
            output::error(&format!(
                "messages would not arrive, so there is nothing to measure:\n\n{complaint}"
            ));
            return Ok(Outcome::Diagnostics);
        }
    }
    let machine = bench_worker::machine::describe();
    output::note(&machine);
    output::note(&bench_worker::machine::describe_load());
    let points = run_plan(&plan, &contestants)?;
    let plots = write_plots(&plan, &points, args.plot.as_deref(), &machine)?;
    if args.json {
        output::line(&format!(
            "{:#}",
            table::to_json(&plan, &points, &machine, &plots)
        ))?;
    } else {
        output::bytes(table::to_text(&plan, &points).as_bytes())?;
        for path in &plots {
            output::line(&format!("plotted in {}", path.display()))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Every contestant on every case, in turns, so that a noisy moment hits all of them.
fn run_plan(plan: &Plan, contestants: &[Contestant]) -> anyhow::Result<Vec<Point>> {
    let n_points = plan.cases.len() * contestants.len();
    let mut points = Vec::new();
    for case in &plan.cases {
        for contestant in contestants {
            let outcome = exchange::run(contestant, case)?;
            let point = Point {
                system: contestant.label().to_owned(),
                case: case.clone(),
                outcome,
            };
            output::note(&format!(
                "[{}/{n_points}] {}: {}, {}",
                points.len() + 1,
                case.name,
                table::summary(&point),
                plan.time_left(points.len() + 1, contestants.len()),
            ));
            points.push(point);
        }
    }
    Ok(points)
}

fn write_plots(
    plan: &Plan,
    points: &[Point],
    path: Option<&Path>,
    machine: &str,
) -> anyhow::Result<Vec<PathBuf>> {
    let path = path.map_or_else(
        || PathBuf::from(format!("bowline-bench-{}.svg", plan.name())),
        Path::to_path_buf,
    );
    let mut paths = Vec::new();
    for &size in &plan.sizes {
        let path = if plan.sizes.len() == 1 {
            path.clone()
        } else {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            path.with_file_name(format!("{stem}-{size}.svg"))
        };
        let of_size: Vec<&Point> = points
            .iter()
            .filter(|point| point.case.size == size)
            .collect();
        std::fs::write(&path, plot::draw(plan, size, &of_size, machine))
            .with_context(|| format!("cannot write the plot to {}", path.display()))?;
        paths.push(path);
    }
    Ok(paths)
}

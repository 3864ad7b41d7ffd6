//! `bowline bench`: the papers' measurements of a bus, on this machine, with stock LCM beside it.
//!
//! `plan.rs` makes cases of the arguments, `contestant.rs` has who takes part and how its workers are started,
//! `table.rs` and `plot.rs` write down the figures. Pacing and counting is the library of `crates/measure`, which
//! `make bench` uses too; `bowline.rs` and `liblcm.rs` are the systems. Workers are processes: this binary, started again
//! with a hidden verb.

mod bowline;
mod chart;
mod contestant;
mod liblcm;
mod plan;
mod plot;
mod table;

use super::doctor::complaint::complaint;
use crate::input::Usage;
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_measure::exchange::{self, Pattern};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches as _};
use contestant::Contestant;
use plan::{Plan, Point};
use std::fs::File;
use std::path::{Path, PathBuf};

const ECHO_EXAMPLES: &str = "\
Examples:
  bowline bench echo                         the papers' test; takes a while, --quick does not
  bowline bench echo --quick --plot echo.svg
  bowline bench echo --clients 1 --rates 1000,40000 --bytes 10M
";

const ONE_WAY_EXAMPLES: &str = "\
Examples:
  bowline bench oneway --quick
  bowline bench oneway --sizes 800,65536,1000000 --rates 100,1000
  bowline bench oneway --url udpm:// --url memq:// --rates 0
";

const REMARKS: &str = "
Multicast stays on this host: TTL 0 only. Stock liblcm takes part where it is found:
the library of the `lcm` package for Python, or the path of --liblcm.
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
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

pub(crate) fn build(command: Command) -> Command {
    let verb = |name: &'static str, about, rates: &str, examples| {
        let rates = format!(
            "{rates} [default: {}, or with --quick {}]",
            plan::listed(plan::RATES),
            plan::listed(plan::QUICK_RATES)
        );
        let plot = format!(
            "Where the plot goes; for several sizes, one beside the other [default: {}]",
            default_plot(name)
        );
        Bench::augment_args(Command::new(name).about(about))
            .mut_arg("rates", |arg| arg.help(rates))
            .mut_arg("plot", |arg| arg.help(plot))
            .after_help(format!("{examples}{REMARKS}"))
    };
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verb(
            "echo",
            "Clients echo what they get: bandwidth, loss and round trips over rates",
            "Messages a second",
            ECHO_EXAMPLES,
        ))
        .subcommand(verb(
            "oneway",
            "One publisher, some subscribers: delivered rate, loss and CPU over rates and sizes",
            "Messages a second; 0 is flat out",
            ONE_WAY_EXAMPLES,
        ))
}

/// What `contestant.rs` starts.
pub(crate) fn build_worker(command: Command) -> Command {
    command.arg(
        Arg::new("arguments")
            .action(ArgAction::Append)
            .num_args(1..)
            .trailing_var_arg(true)
            .allow_hyphen_values(true),
    )
}

pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    match matches.subcommand() {
        Some(("echo", matches)) => measure(Pattern::Echo, &Bench::from_arg_matches(matches)?),
        Some(("oneway", matches)) => measure(Pattern::OneWay, &Bench::from_arg_matches(matches)?),
        _ => unreachable!("clap refuses other subcommands"),
    }
}

/// One worker of a system.
pub(crate) fn work(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    let mut arguments = matches
        .get_many::<String>("arguments")
        .into_iter()
        .flatten()
        .cloned();
    match arguments.next().as_deref() {
        Some("bowline") => bowline_measure::run(&bowline::Bowline, arguments)?,
        Some("liblcm") => bowline_measure::run(&liblcm::Liblcm, arguments)?,
        system => {
            return Err(Usage(format!("expected bowline or liblcm, found {system:?}")).into());
        }
    }
    Ok(Outcome::Fine)
}

fn measure(pattern: Pattern, args: &Bench) -> anyhow::Result<Outcome> {
    let plan = Plan::new(pattern, args)?;
    let contestants = contestant::all(&args.url, args.liblcm.as_deref())?;
    let plots = plot_paths(&plan, args.plot.as_deref())?;
    for contestant in &contestants {
        if let Some(complaint) = complaint(contestant.url()) {
            output::error(&format!(
                "messages would not arrive, so there is nothing to measure:\n\n{complaint}"
            ));
            return Ok(Outcome::Diagnostics);
        }
    }
    let machine = bowline_measure::machine::describe();
    output::note(&machine);
    output::note(&bowline_measure::machine::describe_load());
    let points = run_plan(&plan, &contestants)?;
    // The figures are what took the time: they are shown whatever becomes of the plots.
    let plotted = write_plots(&plan, &points, &plots, &machine);
    let shown = if plotted.is_ok() { &*plots } else { &[] };
    if args.json {
        let report = table::to_json(&plan, &points, &machine, shown);
        output::line(&format!("{report:#}"))?;
    } else {
        output::bytes(table::to_text(&plan, &points).as_bytes())?;
        for (_, path) in shown {
            output::line(&format!("plotted in {}", path.display()))?;
        }
    }
    plotted.map(|()| Outcome::Fine)
}

fn default_plot(verb: &str) -> String {
    format!("bowline-bench-{verb}.svg")
}

/// A size of messages, and where its plot goes.
type PlotPath = (usize, PathBuf);

/// Where the plots go, tried before anything is measured. None where none was asked for and none can be had.
fn plot_paths(plan: &Plan, asked: Option<&Path>) -> anyhow::Result<Vec<PlotPath>> {
    let default = PathBuf::from(default_plot(plan.name()));
    let path = asked.unwrap_or(&default);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let path_for = |size: usize| match plan.sizes.len() {
        1 => path.to_path_buf(),
        _ => path.with_file_name(format!("{stem}-{size}.svg")),
    };
    let paths: Vec<PlotPath> = plan.sizes.iter().map(|&n| (n, path_for(n))).collect();
    let refused = paths
        .iter()
        .find_map(|(_, path)| Some((path, try_out(path).err()?)));
    let Some((path, error)) = refused else {
        return Ok(paths);
    };
    let message = format!("cannot write the plot to {}: {error}", path.display());
    if asked.is_some() {
        return Err(Usage(message).into());
    }
    output::note(&format!("{message}; going on without"));
    Ok(Vec::new())
}

/// Whether a file can be written. What is there stays, and what was not there is not there afterwards.
fn try_out(path: &Path) -> std::io::Result<()> {
    let is_new = !path.exists();
    File::options().append(true).create(true).open(path)?;
    if is_new {
        std::fs::remove_file(path)?;
    }
    Ok(())
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
    paths: &[PlotPath],
    machine: &str,
) -> anyhow::Result<()> {
    for (size, path) in paths {
        let of_size: Vec<&Point> = points
            .iter()
            .filter(|point| point.case.size == *size)
            .collect();
        std::fs::write(path, plot::draw(plan, *size, &of_size, machine))
            .with_context(|| format!("cannot write the plot to {}", path.display()))?;
    }
    Ok(())
}

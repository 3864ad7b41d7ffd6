//! `bowline logs`: what the processes of robots print.

use crate::listen::{Heard as Next, Listener};
use crate::supervisors::{self, Heard, Whom};
use crate::verbs::orders::EVERYTHING;
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_host::service::Client;
use bowline_host::supervise::{OUTPUT, OUTPUT_CHANNEL, meant, service_name};
use bowline_inspect::text::printable;
use bowline_msgs::{Output, OutputRequest, Supervised, Supervisor};
use bowline_wire::Message as _;
use clap::Args;
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline logs                 the last lines of every process
  bowline logs lidar -n 100    more of one
  bowline logs lidar -f        and what follows, until ^C
  bowline logs -l day.log      all that was recorded

Supervisors keep the last 500 lines of each process, 64 KiB at most. Standard output and standard error
are one. Programs that write to a file or a pipe often hold back their output: `python3 -u` does not.";

const EXIT_CODES: &str = "Exit code 0 if any was received; 1 if none was.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{}\n{EXIT_CODES}", supervisors::HELP)
)]
pub(crate) struct Arguments {
    /// A process, a component or a group; all by default
    #[arg(value_name = "NAME")]
    target: Option<String>,
    /// Go on with what is printed from now on
    #[arg(short, long)]
    follow: bool,
    /// How many of the last lines of each process to begin with
    #[arg(short = 'n', long, value_name = "LINES", default_value_t = 20)]
    lines: u16,
    #[command(flatten)]
    whom: Whom,
}

/// How long a supervisor may take to answer: it answers at once.
const ANSWER: Duration = Duration::from_secs(3);

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let place = arguments.whom.place.url.as_deref();
    let patterns = [OUTPUT_CHANNEL.to_owned()];
    // Before anything is asked for, so that nothing is missed between the last lines and what follows.
    let mut listener = Listener::open(place, &patterns, None, None)?;
    let mut printer = Printer::default();
    if listener.source.bus().is_some() {
        let target = arguments.target.as_deref().unwrap_or(EVERYTHING);
        let heard = Heard::open(&arguments.whom, |roster| arguments.whom.is_found(roster))?;
        let chosen = heard.choose(&arguments.whom, target)?;
        printer.names(&chosen, target);
        for supervisor in chosen {
            print_last(&heard, supervisor, arguments, &mut printer)?;
        }
        if !arguments.follow {
            return Ok(Outcome::Fine);
        }
    }
    loop {
        match listener.next()? {
            Next::Event(event) => {
                // What is not output is none of ours.
                if let Ok(output) = Output::decode(&event.payload)
                    && is_meant(arguments, &printer, &output)
                {
                    printer.print(&output)?;
                }
            }
            Next::Silence => {}
            Next::Over => return Ok(Outcome::Fine),
        }
    }
}

fn print_last(
    heard: &Heard,
    supervisor: &Supervisor,
    arguments: &Arguments,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let Supervisor { robot, host, .. } = supervisor;
    let service = service_name(robot, host, OUTPUT);
    let target = arguments.target.as_deref().unwrap_or(EVERYTHING);
    let mut client = Client::new(&heard.bus);
    for Supervised { name, .. } in meant(supervisor, target) {
        let request = OutputRequest {
            process: name.clone(),
            n_lines: i32::from(arguments.lines),
        };
        let output: Output = client
            .call(&service, &request, ANSWER)
            .with_context(|| format!("{robot}@{host} did not answer"))?;
        printer.print(&output)?;
    }
    Ok(())
}

fn is_meant(arguments: &Arguments, printer: &Printer, output: &Output) -> bool {
    let Whom { robot, host, .. } = &arguments.whom;
    let is_of =
        |wanted: &Option<String>, name: &String| wanted.as_ref().is_none_or(|it| it == name);
    let is_named = match (&arguments.target, printer.names.is_empty()) {
        (None, _) => true,
        // In a log no process can be asked for its other names.
        (Some(target), true) => output.process == *target,
        (Some(_), false) => printer.names.contains(&output.process),
    };
    is_of(robot, &output.robot) && is_of(host, &output.host) && is_named
}

/// Prints lines once, however often they come.
#[derive(Default)]
struct Printer {
    /// Of the processes that are meant.
    names: Vec<String>,
    width: usize,
    /// For each process of a supervisor, the line that comes next.
    next: BTreeMap<(String, String, String), i64>,
}

impl Printer {
    fn names(&mut self, supervisors: &[&Supervisor], target: &str) {
        let processes = supervisors.iter().flat_map(|it| meant(it, target));
        self.names = processes.map(|process| process.name.clone()).collect();
        self.width = self.names.iter().map(String::len).max().unwrap_or(0);
    }

    fn print(&mut self, message: &Output) -> anyhow::Result<()> {
        let key = (
            message.robot.clone(),
            message.host.clone(),
            message.process.clone(),
        );
        let next = self.next.entry(key).or_insert(message.first_line);
        // A supervisor that came back begins anew.
        if message.first_line == 0 {
            *next = 0;
        }
        let mut text = String::new();
        for (number, line) in (message.first_line..).zip(&message.lines) {
            if number < *next {
                continue;
            }
            *next = number + 1;
            if self.names.len() != 1 {
                let width = self.width;
                text += &format!("{:<width$} | ", printable(&message.process));
            }
            text += &printable(&line.replace('\t', "    "));
            text.push('\n');
        }
        output::bytes(text.as_bytes())
    }
}

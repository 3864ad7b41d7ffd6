//! `bowline start`, `stop` and `restart`: orders to supervisors, over the bus.

use super::ps;
use crate::supervisors::{Heard, Whom};
use crate::{Outcome, input, output};
use anyhow::Context as _;
use bowline_host::service;
use bowline_host::supervise::{ALL, NOT_STOPPED, ORDER, service_name};
use bowline_inspect::text::printable;
use bowline_msgs::{Order, OrderReply, Supervised, Supervisor};
use clap::{Args, Command};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline VERB lidar                a process, or the one that the component is in
  bowline VERB sensors              a group, on all hosts of the robot
  bowline VERB all --robot raptor   everything
  bowline VERB lidar --wait         until it is done

Starting also starts what it depends on; stopping leaves alone what depends on it. What was given up
is tried again when it is started, and its alarm ends; so does the safe state with the last alarm.
What the safe state has stopped is not started again by itself.";

const EXIT_CODES: &str = "\
Exit code 0 if it was ordered, and done if that is waited for; 1 if no supervisor answered, or one
refused.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// A process, a component, a group, or all
    #[arg(value_name = "NAME|GROUP|all")]
    target: String,
    #[command(flatten)]
    whom: Whom,
    /// Wait until it is done
    #[arg(short, long)]
    wait: bool,
    /// How long to wait for answers, and for it to be done
    #[arg(long, value_name = "DURATION", value_parser = input::period, default_value = "30s")]
    timeout: Duration,
}

/// How long a supervisor may take to answer: it answers at once.
const ANSWER: Duration = Duration::from_secs(3);

/// The arguments of each of the three verbs.
pub(crate) fn build(command: Command) -> Command {
    let examples = EXAMPLES.replace("VERB", command.get_name());
    Arguments::augment_args(command).after_help(format!("{examples}\n\n{EXIT_CODES}"))
}

pub(crate) fn run(verb: &str, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let action = match verb {
        "start" => Order::START,
        "stop" => Order::STOP,
        _ => Order::RESTART,
    };
    let Arguments { target, whom, .. } = arguments;
    let mut heard = Heard::open(whom, |roster| whom.is_found(roster))?;
    let chosen: Vec<Supervisor> = heard.choose(whom, target)?.into_iter().cloned().collect();
    let mut concerned = Vec::new();
    for supervisor in &chosen {
        let processes = order(&heard, supervisor, action, arguments)?;
        let name = format!("{}@{}", supervisor.robot, supervisor.host);
        output::line(&printable(&format!(
            "{verb} {} on {name}",
            processes.join(", ")
        )))?;
        concerned.extend(
            processes
                .into_iter()
                .map(|process| (supervisor.clone(), process)),
        );
    }
    if !arguments.wait {
        return Ok(Outcome::Fine);
    }
    wait(&mut heard, action, &concerned, arguments.timeout)
}

fn order(
    heard: &Heard,
    supervisor: &Supervisor,
    action: i8,
    arguments: &Arguments,
) -> anyhow::Result<Vec<String>> {
    let Supervisor { robot, host, .. } = supervisor;
    let order = Order {
        action,
        target: arguments.target.clone(),
    };
    let service = service_name(robot, host, ORDER);
    let timeout = ANSWER.min(arguments.timeout);
    let reply: OrderReply = service::call(&heard.bus, &service, &order, timeout)
        .with_context(|| format!("{robot}@{host} did not do it"))?;
    Ok(reply.processes)
}

/// Waits until all are as ordered, and returns those that are not.
fn wait(
    heard: &mut Heard,
    action: i8,
    concerned: &[(Supervisor, String)],
    timeout: Duration,
) -> anyhow::Result<Outcome> {
    let end = heard.clock.now() + timeout;
    loop {
        let left: Vec<String> = concerned
            .iter()
            .filter_map(|(supervisor, name)| not_done(heard, action, supervisor, name))
            .collect();
        if left.is_empty() {
            for (supervisor, name) in concerned.iter().filter(|_| action != Order::START) {
                note_force(heard, supervisor, name);
            }
            return Ok(Outcome::Fine);
        }
        if heard.clock.now() >= end {
            output::note(&format!(
                "not done after {timeout:.1?}: {}",
                left.join(", ")
            ));
            return Ok(Outcome::Diagnostics);
        }
        heard.listen(heard.clock.until(end))?;
    }
}

/// Prints a note if a process had to be killed because it did not stop when it was asked to.
fn note_force(heard: &Heard, supervisor: &Supervisor, name: &str) {
    let Supervisor { robot, host, .. } = supervisor;
    let now = heard.roster.of(Some(robot), Some(host)).next();
    let process = now.and_then(|status| status.processes.iter().find(|it| it.name == name));
    let Some(process) = process.filter(|it| it.last_exit.starts_with(NOT_STOPPED)) else {
        return;
    };
    output::note(&printable(&format!("{name}: {}", process.last_exit)));
}

/// What a process is doing, if that is not what was ordered.
fn not_done(heard: &Heard, action: i8, before: &Supervisor, name: &str) -> Option<String> {
    let mut now = heard.roster.of(Some(&before.robot), Some(&before.host));
    // A status from before the order does not answer it.
    let status = now.next().filter(|status| status.utime > before.utime);
    let find = |status: &Supervisor| status.processes.iter().find(|it| it.name == name).cloned();
    let (was, is) = (find(before), status.and_then(find));
    let Some(is) = is else {
        return Some(format!("{} is not received", printable(name)));
    };
    let is_other = was.is_none_or(|was| was.started_utime != is.started_utime);
    let is_done = match (action, is.state) {
        (Order::STOP, Supervised::STOPPED | Supervised::FINISHED | Supervised::GIVEN_UP) => true,
        (Order::START, Supervised::RUNNING | Supervised::FINISHED) => true,
        (Order::RESTART, Supervised::RUNNING | Supervised::FINISHED) => is_other,
        _ => false,
    };
    (!is_done).then(|| format!("{} is {}", printable(name), ps::state_word(is.state)))
}

/// The default target.
pub(crate) const EVERYTHING: &str = ALL;

//! `bowline operate`: who commands a vehicle, and commands for it; `bowline halt`: the shortest way to stop one.
//!
//! The program is a station like any other: an operator's client that requests the lease, returns tokens, and reports what
//! the gate refused and why.

mod commands;
mod desk;
mod status;

use crate::input::Usage;
use crate::listen::Interrupt;
use crate::{Outcome, input, output};
use bowline_autonomy::operator::{Step, parse_step};
use bowline_operator::Request;
use clap::{Args, Subcommand};
use desk::Desk;
use status::Form;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline halt a swimmer                          stop the vehicle: any client, at any time
  bowline operate                                 who or what is in control, and why
  bowline operate status --follow                 and every change of it
  bowline operate clear                           the stop is over; nothing moves because of it
  bowline operate goto 40 25 speed=1.5            one place, then stay there
  bowline operate survey 0,0 60,0 60,40 0,40 lanes=8 name=basin
  bowline operate insert 40 25                    first this, then what is left of the mission
  bowline operate heading 45 1.5                  keep heading and speed, until Ctrl-C
  bowline operate thrust 0.3 0.3                  direct control of a vessel, until Ctrl-C: port and starboard
  bowline operate drive 1.5 -10                   of a ground vehicle: 1.5 m/s with the wheels 10 degrees right
  bowline operate hold                            no thrust; what is left of the mission waits for resume
  bowline operate take                            have control, until Ctrl-C
  bowline operate script missions/harbour.txt     one step on each line
  bowline operate commands                        which commands there are, and what each needs
  bowline operate --prefix arm. status            another experiment of the robot, with a gate of its own

Points are x east and y north in the map frame, in metres, as 40,25 or 40 25; what begins with a minus is
written apart, as -40 25. Headings are degrees from north. What sets the actuators directly is in the
rules of the vehicle's gate: a verb, and a number for each axis, angles in degrees. A command
takes the lease, waits until the gate has taken the command, and leaves the rest to the vehicle; with
--stay it keeps the lease until Ctrl-C, so that losing this program is losing the operator.
Stopping and clearing here is about a vehicle; `bowline stop` is about processes.
Exit code 0 if the gate took it; 1 if it refused, with its reason, or did not answer; 2 for wrong usage.";

const HALT: &str = "\
Examples:
  bowline halt                     stop the vehicle
  bowline halt a swimmer ahead     and say why

It needs no lease, and is repeated until the gate confirms the stop. This is a software stop: it
is as good as the software and the links that carry it. `bowline operate clear` ends it.
Exit code 0 if the gate has stopped the vehicle; 1 if no gate has confirmed it.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    who: Who,
    /// What the vehicle is driven by, and a number for each axis, until Ctrl-C: thrust 0.3 0.3
    #[arg(value_name = "SET-POINT", allow_negative_numbers = true)]
    setpoint: Vec<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Args, Debug)]
#[command(after_help = HALT)]
pub(crate) struct HaltArguments {
    /// Why, for people
    #[arg(value_name = "REASON")]
    reason: Vec<String>,
    #[command(flatten)]
    who: Who,
}

// Who commands, and where. (No doc comment: clap would take it for the summary of a verb.)
#[derive(Args, Debug)]
struct Who {
    #[arg(
        short = 'l',
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true,
        global = true,
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: String,
    /// What the channels of its gate begin with, on a robot with several: "arm." for arm.gate.state
    #[arg(
        long,
        value_name = "WORD",
        default_value = "",
        hide_default_value = true,
        global = true
    )]
    prefix: String,
    /// What this station is called; without it the name of the host
    #[arg(long, value_name = "NAME", value_parser = input::station_name, global = true)]
    station: Option<String>,
    /// The rank that it requests; the gate decides how much of it counts
    #[arg(long, value_name = "N", default_value = "0", global = true)]
    rank: u16,
    /// Speak for a session that another program holds the lease with
    #[arg(long, value_name = "N", global = true)]
    session: Option<i64>,
    /// How long to wait for the gate
    #[arg(long, value_name = "DURATION", value_parser = input::period, default_value = "5s", global = true)]
    timeout: Duration,
    /// Keep the lease until Ctrl-C
    #[arg(long, global = true)]
    stay: bool,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Who or what is in control, at which level, since when, until when, and why
    Status {
        /// Print every change, until Ctrl-C
        #[arg(short, long)]
        follow: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Have control, until Ctrl-C
    Take,
    /// Have control by rank; the vehicle is stopped first
    Preempt,
    /// Give up control that another program of this session has
    Release,
    /// Let the station that asks have control
    Consent,
    /// Keep control from the station that asks
    Deny,
    /// Stop the vehicle; the same as `bowline halt`
    Stop(Words),
    /// End a stop; nothing moves because of it
    Clear,
    /// Go to a place, and stay there
    Goto(Words),
    /// First go to a place, then do what is left of the mission
    Insert(Words),
    /// Visit places in order
    Route(Words),
    /// Cover an area by lanes
    Survey(Words),
    /// Stay at a place, or where the vehicle is
    Station(Words),
    /// Keep a heading, in degrees from north, and a speed, until Ctrl-C
    Heading(Words),
    /// Give no thrust; what is left of the mission waits
    Hold,
    /// Go on with what is left of the mission
    Resume,
    /// Go back along the way that the vehicle came, and stay there; what is left of the mission waits
    Return,
    /// List the commands that stations can send to a vehicle, and what each needs
    Commands {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Execute a script, one step on each line
    Script {
        /// The file
        file: PathBuf,
    },
}

#[derive(Args, Debug)]
struct Words {
    #[arg(value_name = "WORD", allow_negative_numbers = true)]
    words: Vec<String>,
}

pub(crate) fn halt(arguments: &HaltArguments) -> anyhow::Result<Outcome> {
    let mut desk = desk(&arguments.who)?;
    desk.stop(&arguments.reason.join(" "))
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Arguments {
        who,
        setpoint,
        verb,
    } = arguments;
    // Wrong words are refused before a gate is looked for.
    if !setpoint.is_empty() {
        let steps = line(&for_ever(setpoint))?;
        return follow(&mut desk(who)?, &steps, who.stay);
    }
    let verb = verb.as_ref().unwrap_or(&Verb::Status {
        follow: false,
        json: false,
    });
    let steps = steps(verb)?;
    if let Verb::Commands { json } = verb {
        return commands::show(*json);
    }
    let mut desk = desk(who)?;
    match verb {
        Verb::Status { follow, json } => {
            let form = if *json { Form::Json } else { Form::Words };
            status::show(&mut desk, *follow, form)
        }
        Verb::Release => desk.request_as_holder(Request::Release),
        Verb::Consent => desk.request_as_holder(Request::Consent),
        Verb::Deny => desk.request_as_holder(Request::Deny),
        Verb::Take
        | Verb::Preempt
        | Verb::Stop(_)
        | Verb::Clear
        | Verb::Goto(_)
        | Verb::Insert(_)
        | Verb::Route(_)
        | Verb::Survey(_)
        | Verb::Station(_)
        | Verb::Heading(_)
        | Verb::Commands { .. }
        | Verb::Hold
        | Verb::Resume
        | Verb::Return
        | Verb::Script { .. } => follow(&mut desk, &steps, who.stay),
    }
}

fn desk(who: &Who) -> anyhow::Result<Desk> {
    let interrupt = Interrupt::new()?;
    let station = input::station_or_host(who.station.as_deref());
    Desk::open(
        (&who.url, &who.prefix),
        (&station, who.session, who.rank),
        who.timeout,
        interrupt,
    )
}

/// What has to be done, in the words of scripts.
fn steps(verb: &Verb) -> anyhow::Result<Vec<Step>> {
    let line = |verb: &str, words: &[String]| line(&[&[verb.to_owned()], words].concat());
    match verb {
        Verb::Status { .. }
        | Verb::Commands { .. }
        | Verb::Release
        | Verb::Consent
        | Verb::Deny => Ok(Vec::new()),
        Verb::Take => Ok(vec![Step::Take]),
        Verb::Preempt => Ok(vec![Step::Preempt]),
        Verb::Clear => Ok(vec![Step::Clear]),
        Verb::Hold => line("hold", &[]),
        Verb::Resume => line("resume", &[]),
        Verb::Return => line("return", &[]),
        Verb::Stop(it) => Ok(vec![Step::Stop(it.words.join(" "))]),
        Verb::Goto(it) => line("goto", &points(&it.words)),
        Verb::Insert(it) => line("insert", &points(&it.words)),
        Verb::Station(it) => line("station", &points(&it.words)),
        Verb::Route(it) => line("route", &points(&it.words)),
        Verb::Survey(it) => line("survey", &points(&it.words)),
        Verb::Heading(it) => line("heading", &for_ever(&it.words)),
        Verb::Script { file } => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Usage(format!("cannot read {}: {error}", file.display())))?;
            let lines = text.lines().enumerate();
            let lines =
                lines.map(|(at, line)| (at + 1, line.split('#').next().unwrap_or_default().trim()));
            let steps = lines
                .filter(|(_, line)| !line.is_empty())
                .map(|(at, line)| {
                    let step = parse_step(line);
                    step.map_err(|error| Usage(format!("{}:{at}: {error}", file.display())).into())
                });
            steps.collect()
        }
    }
}

/// The step of these words.
fn line(words: &[String]) -> anyhow::Result<Vec<Step>> {
    let step = parse_step(&words.join(" "));
    step.map(|step| vec![step])
        .map_err(|error| Usage(error.to_string()).into())
}

/// `40 25` is `40,25`: on a command line, what begins with a minus has to be a number.
fn points(words: &[String]) -> Vec<String> {
    let is_number = |word: &&String| word.parse::<f64>().is_ok();
    let n_numbers = words.iter().take_while(is_number).count();
    let (numbers, rest) = words.split_at(n_numbers);
    let points = numbers.chunks(2).map(|pair| pair.join(","));
    points.chain(rest.iter().cloned()).collect()
}

/// Until Ctrl-C, unless a duration is given.
fn for_ever(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    if !words.iter().any(|word| word.starts_with("for=")) {
        words.push("for=1000000s".to_owned());
    }
    words
}

fn follow(desk: &mut Desk, steps: &[Step], stays: bool) -> anyhow::Result<Outcome> {
    let outcome = desk.check(steps)?;
    if outcome != Outcome::Fine {
        return Ok(outcome);
    }
    for step in steps {
        let outcome = desk.follow(step)?;
        if outcome != Outcome::Fine || desk.is_interrupted() {
            desk.leave()?;
            return Ok(outcome);
        }
    }
    let only_takes = matches!(steps, [Step::Take | Step::Preempt]);
    if (stays || only_takes) && desk.is_holder() {
        output::note(&format!(
            "in control as session {}; Ctrl-C gives it up",
            desk.session_number()
        ));
        desk.stay()?;
    }
    desk.leave()?;
    Ok(Outcome::Fine)
}

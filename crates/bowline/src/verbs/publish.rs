//! `bowline pub`: publishes JSON as messages.
//!
//! In: JSON, from the command line, a file or a pipe; alone, or in lines as `bowline echo --json` and `bowline log cat`
//! print them. Out: messages on a bus, described like those of any publisher of ours. Everything that is wrong with the
//! JSON is reported at once, with an example of what would be right.

mod encoder;
mod texts;

use crate::input::{self, Usage};
use crate::known_types::Types;
use crate::listen::{Interrupt, Limits, now};
use crate::{Outcome, output};
use anyhow::Context as _;
use bowline_bus::Bus;
use clap::Args;
use encoder::{Encoder, Message};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _, stdin};
use std::time::{Duration, Instant};
use texts::Texts;

const EXAMPLES: &str = "\
Examples:
  bowline pub vehicle.pose pose_t --example           what the JSON of the type looks like
  bowline pub vehicle.pose pose_t @pose.json          one message from a file
  bowline pub led bool_t '{\"is_on\": true}'            one from the command line
  bowline pub vehicle.pose pose_t @pose.json --rate 10            ten a second, until Ctrl-C
  bowline pub vehicle.pose pose_t @pose.json --rate 10 --count 50
  generate | bowline pub vehicle.pose pose_t -        one for each JSON object on standard input
  bowline echo pose --json | jq -c '.channel=\"copy\"' | bowline pub -
  bowline log cat day.log -c '^pose$' | bowline pub - --rate 20
  bowline pub blob --raw @picture.jpg                 bytes as they are

TYPE is a name with or without its package: of a type in --types, in the project's folder of types,
of Bowline's own, or one described on the bus. Fields that only hold the length of an array
is may be left out. JSON may have // comments, as --example prints them.
Lines of the form that `bowline echo --json` and `bowline log cat` print name the channel on which
channel and as which type they are published.
Exit code 0 if everything was published; 1 if something was refused; 2 for wrong usage.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where to publish; or -, or @FILE, for lines that name it themselves
    channel: Option<String>,
    /// The type of the messages
    #[arg(value_name = "TYPE")]
    type_name: Option<String>,
    /// A message as JSON; @FILE for those in a file, - for those on standard input, as many as there are
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    input: Option<String>,
    #[arg(
        short = 'l',
        long = "lcm-url",
        visible_alias = "url",
        value_name = "URL",
        help = "Where the bus is; without it $BOWLINE_URL, then $LCM_DEFAULT_URL, then udpm://239.255.76.67:7667?ttl=0"
    )]
    url: Option<String>,
    /// Publish so many a second; a single message is published again and again
    #[arg(long, value_name = "HZ", value_parser = input::hz)]
    rate: Option<f64>,
    #[command(flatten)]
    limits: Limits,
    /// Publish bytes as they are: those of a file, or with - of standard input
    #[arg(long, value_name = "@FILE", conflicts_with_all = ["type_name", "example"])]
    raw: Option<String>,
    /// Print an example of the type, with comments, and publish nothing
    #[arg(long)]
    example: bool,
    /// Print at the end as JSON what was done
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    types: Types,
}

/// What is to be published, by the arguments.
enum Job<'a> {
    /// Bytes as they are.
    Bytes { channel: &'a str, from: &'a str },
    /// JSON of one type.
    Messages {
        channel: &'a str,
        type_name: &'a str,
        from: Option<&'a str>,
    },
    /// Lines that name their channel and type.
    Lines { from: &'a str },
}

impl Arguments {
    fn job(&self) -> anyhow::Result<Job<'_>> {
        let (channel, type_name) = (self.channel.as_deref(), self.type_name.as_deref());
        let names_input = |word: &str| word == "-" || word.starts_with('@');
        Ok(match (channel, type_name) {
            (Some(channel), None) if self.raw.is_some() => Job::Bytes {
                channel,
                from: self.raw.as_deref().unwrap_or("-"),
            },
            (Some(channel), Some(type_name)) => Job::Messages {
                channel,
                type_name,
                from: self.input.as_deref(),
            },
            (Some(from), None) if names_input(from) => Job::Lines { from },
            (None, None) if self.raw.is_none() && !stdin().is_terminal() => {
                Job::Lines { from: "-" }
            }
            _ => {
                let usage = "expected CHANNEL TYPE JSON, or - for lines as `bowline echo --json` prints them; --help has examples";
                return Err(Usage(usage.to_owned()).into());
            }
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    if arguments.example {
        return print_example(arguments);
    }
    let job = arguments.job()?;
    let interrupt = Interrupt::new()?;
    let bus = Bus::open(arguments.url.as_deref().unwrap_or_default())?;
    let mut encoder = Encoder::new(&arguments.types, bus.clone())?;
    let mut sending = Sending::new(arguments, &interrupt, &bus);
    match job {
        Job::Bytes { channel, from } => {
            let message = Message::bytes(channel, read_all(from)?);
            sending.again_and_again(&message)?;
        }
        Job::Messages {
            channel,
            type_name,
            from,
        } => {
            let ty = encoder.type_named(type_name, &interrupt)?;
            let texts = &mut open(from, &interrupt)?;
            sending.all(texts, |text| encoder.message(channel, &ty, text))?;
        }
        Job::Lines { from } => {
            let texts = &mut open(Some(from), &interrupt)?;
            sending.all(texts, |line| encoder.line(line, &interrupt))?;
        }
    }
    let outcome = sending.finish(arguments.json)?;
    // What a transport still holds goes before the program does.
    drop(encoder);
    drop(bus);
    Ok(outcome)
}

/// The type is the second argument, or the only one.
fn print_example(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let name = arguments.type_name.as_ref().or(arguments.channel.as_ref());
    let name = name.ok_or_else(|| Usage("expected the name of a type".to_owned()))?;
    let interrupt = Interrupt::new()?;
    let catalog = arguments.types.catalog()?;
    // The bus is asked only for what is not known otherwise.
    if let Some((types, id)) = catalog.by_name(name) {
        output::line(&bowline_inspect::example(types, id))?;
        return Ok(Outcome::Fine);
    }
    let bus = Bus::open(arguments.url.as_deref().unwrap_or_default())?;
    let (types, id) = &*Encoder::new(&arguments.types, bus)?.type_named(name, &interrupt)?;
    output::line(&bowline_inspect::example(types, *id))?;
    Ok(Outcome::Fine)
}

fn read_all(from: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from == "-" {
        stdin()
            .lock()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    let path = from.strip_prefix('@').unwrap_or(from);
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| Usage(format!("cannot read {path}: {error}")))?;
    Ok(bytes)
}

fn open<'i>(from: Option<&str>, interrupt: &'i Interrupt) -> anyhow::Result<Texts<'i>> {
    match from {
        None if stdin().is_terminal() => {
            let usage =
                "expected a message as JSON, @FILE or -; --example shows what it looks like";
            Err(Usage(usage.to_owned()).into())
        }
        None | Some("-") => Ok(Texts::of_stdin(interrupt)),
        Some(word) => match word.strip_prefix('@') {
            Some(path) => {
                let file = File::open(path)
                    .map_err(|error| Usage(format!("cannot read {path}: {error}")))?;
                Ok(Texts::of_file(file))
            }
            None => Ok(Texts::of_text(word)),
        },
    }
}

/// What is sent and when.
struct Sending<'a> {
    bus: &'a Bus,
    interrupt: &'a Interrupt,
    rate_hz: Option<f64>,
    n_left: u64,
    is_counted: bool,
    period: Option<Duration>,
    started: Instant,
    n_sent: u64,
    n_bytes: u64,
    n_refused: u64,
}

impl<'a> Sending<'a> {
    fn new(arguments: &Arguments, interrupt: &'a Interrupt, bus: &'a Bus) -> Self {
        let Limits { count, period } = arguments.limits;
        Self {
            bus,
            interrupt,
            rate_hz: arguments.rate,
            n_left: count.unwrap_or(u64::MAX),
            is_counted: count.is_some(),
            period,
            started: now(),
            n_sent: 0,
            n_bytes: 0,
            n_refused: 0,
        }
    }

    /// Sends what can be sent; of a single message as many as were asked for.
    fn all(
        &mut self,
        texts: &mut Texts<'_>,
        mut encode: impl FnMut(&[u8]) -> Result<Message, String>,
    ) -> anyhow::Result<()> {
        let mut n_texts = 0_u64;
        while let Some(text) = texts.next()? {
            n_texts += 1;
            let message = match encode(&text.json) {
                Ok(message) => message,
                Err(refusal) => {
                    self.n_refused += 1;
                    output::error(&texts.in_place(&text, &refusal));
                    continue;
                }
            };
            if n_texts == 1 && texts.can_look_ahead() && texts.is_last()? {
                return self.again_and_again(&message);
            }
            if !self.send(&message)? {
                break;
            }
        }
        if n_texts == 0 && !self.interrupt.is_set() {
            self.n_refused += 1;
            output::error("expected JSON, found nothing");
        }
        Ok(())
    }

    /// Sends one message, once if nothing else was asked for.
    fn again_and_again(&mut self, message: &Message) -> anyhow::Result<()> {
        if !self.is_counted && self.rate_hz.is_none() {
            self.n_left = 1;
        }
        while self.send(message)? {}
        Ok(())
    }

    /// Sends a message when it is due; returns whether there may be another.
    fn send(&mut self, message: &Message) -> anyhow::Result<bool> {
        if self.n_left == 0 || !self.wait_until_due() {
            return Ok(false);
        }
        if let Some((types, id)) = message.ty.as_deref() {
            self.bus.describe(&message.channel, types, *id);
        }
        self.bus.publish_bytes(&message.channel, &message.payload)?;
        self.n_sent += 1;
        self.n_bytes += message.payload.len() as u64;
        self.n_left -= 1;
        Ok(self.n_left > 0)
    }

    /// Waits for the time of the next message; returns whether it comes before the end.
    fn wait_until_due(&self) -> bool {
        if self.interrupt.is_set() {
            return false;
        }
        #[expect(clippy::cast_precision_loss, reason = "more than is ever sent")]
        let due = self.rate_hz.map(|hz| self.n_sent as f64 / hz);
        let due = due.and_then(|due_s| Duration::try_from_secs_f64(due_s).ok());
        let due = due.unwrap_or_else(|| self.started.elapsed());
        if self.period.is_some_and(|period| due >= period) {
            return false;
        }
        let left = due.saturating_sub(self.started.elapsed());
        left.is_zero() || !self.interrupt.wait(left)
    }

    fn finish(&self, is_json: bool) -> anyhow::Result<Outcome> {
        let Self {
            n_sent,
            n_bytes,
            n_refused,
            ..
        } = self;
        if is_json {
            let summary = serde_json::json!({
                "published": n_sent,
                "bytes": n_bytes,
                "refused": n_refused,
                "seconds": self.started.elapsed().as_secs_f64(),
            });
            output::line(&summary.to_string())?;
        } else {
            let messages = output::count(*n_sent, "message");
            let bytes = output::count(*n_bytes, "byte");
            output::note(&format!("published {messages}, {bytes}"));
        }
        Ok(if *n_refused == 0 {
            Outcome::Fine
        } else {
            Outcome::Diagnostics
        })
    }
}

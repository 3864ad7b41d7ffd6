//! `bowline who`: which programs are on a bus, and what is lost of theirs.
//!
//! Programs of ours announce themselves; of others on this machine the kernel knows whose sockets they send from; of others
//! elsewhere there is the address.

mod local;

use crate::known_types::Types;
use crate::listen::{Heard, Limits, Listener, PLACES_HELP, Place};
use crate::output::{count, table};
use crate::screen::{REFRESH, Screen};
use crate::{Outcome, output};
use bowline_inspect::text::printable;
use bowline_inspect::{Senders, TypeName, Who};
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline who                                     six seconds of what programs use by default
  bowline who -l 'udpm://239.255.76.67:7667?ttl=1'
  bowline who -v                                  with all channels and their types
  bowline who --json | jq -r 'select(.lost > 0) | .process'

Names come from the programs themselves (Bowline's publish their names every 5 s) and, for programs
of this machine, from /proc: those of other users need root. Through a hub or shared memory senders
cannot be distinguished, and only programs that publish their names have names.
With --json there is one line for each program.";

const EXIT_CODES: &str = "Exit code 0 if any was received; 1 if none was.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
pub(crate) struct Arguments {
    /// Only who publishes on these channels: names, or regular expressions that match whole names
    #[arg(value_name = "CHANNEL")]
    channels: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    limits: Limits,
    /// Show all channels, with their types
    #[arg(short, long)]
    verbose: bool,
    /// Print lines of JSON, one for each program
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    types: Types,
}

/// Long enough to receive programs that announce themselves every 5 s.
const PERIOD: Duration = Duration::from_secs(6);
/// How much room a list of channels has.
const MAX_WIDTH: usize = 40;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Limits { count, period } = arguments.limits;
    let catalog = arguments.types.catalog()?;
    let place = arguments.place.url.as_deref();
    let mut listener = Listener::open(place, &arguments.channels, None, Some(catalog))?;
    if listener.source.bus().is_some() {
        listener.end_after(period.unwrap_or(PERIOD));
    }
    let mut screen = Screen::watched().filter(|_| !arguments.json);
    let mut senders = Senders::default();
    let mut n_messages = 0;
    let mut drawn_at = Duration::ZERO;
    while n_messages < count.unwrap_or(u64::MAX) {
        match listener.next()? {
            Heard::Event(event) => {
                n_messages += 1;
                senders.take(&event);
            }
            Heard::Silence => {}
            Heard::Over => break,
        }
        let elapsed = listener.elapsed();
        if let Some(screen) = &mut screen
            && elapsed >= drawn_at + REFRESH
        {
            drawn_at = elapsed;
            screen.draw(&text(&found(&listener, &senders), arguments.verbose))?;
        }
    }
    let found = found(&listener, &senders);
    if arguments.json {
        for who in &found {
            output::line(&to_json(who).to_string())?;
        }
    } else {
        let text = text(&found, arguments.verbose);
        match &mut screen {
            Some(screen) => screen.finish(&text)?,
            None => output::bytes(text.as_bytes())?,
        }
    }
    finish(&listener, &senders, &found)
}

fn finish(listener: &Listener, senders: &Senders, found: &[Who]) -> anyhow::Result<Outcome> {
    if senders.unlisted() > 0 {
        let messages = count(senders.unlisted(), "message");
        output::note(&format!("and {messages} from further senders"));
    }
    if found.is_empty() {
        output::note(&format!("none was received: {}", listener.why_silent()));
        return Ok(Outcome::Diagnostics);
    }
    Ok(Outcome::Fine)
}

/// All publishers, but for ourselves.
pub(crate) fn found(listener: &Listener, senders: &Senders) -> Vec<Who> {
    let source = &listener.source;
    let counts = source.bus().map_or(Vec::new(), |bus| bus.senders());
    let local = local::processes(senders.iter());
    let name = |fingerprint| source.catalog().name(fingerprint);
    let mut found = senders.who(source.publishers(), &counts, &local, name);
    // The requests of this program are not of interest.
    let own = i64::from(std::process::id());
    found.retain(|who| who.pid != Some(own) || who.is_announced);
    for who in &mut found {
        if who.host.is_none() && who.sender.is_some_and(|sender| local.contains_key(&sender)) {
            who.host = local::host_name();
        }
    }
    found
}

fn text(found: &[Who], is_verbose: bool) -> String {
    let heads = [
        "process",
        "pid",
        "host",
        "address",
        "messages",
        "lost",
        "duplicates",
        "restarts",
        "channels",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for who in found {
        rows.push(row(who));
    }
    let lines = table(&rows, &[0, 2, 3, 8]);
    if !is_verbose {
        return lines;
    }
    let mut text = String::new();
    for (place, line) in lines.lines().enumerate() {
        text += line;
        text.push('\n');
        let who = place.checked_sub(1).and_then(|place| found.get(place));
        for (channel, types) in who.iter().flat_map(|who| &who.channels) {
            let types: Vec<String> = types.iter().map(type_text).collect();
            text += &format!("    {}  {}\n", printable(channel), types.join(", "));
        }
    }
    text
}

fn row(who: &Who) -> Vec<String> {
    let unknown = || "-".to_owned();
    let number = |number: Option<u64>| number.map_or_else(unknown, |it| it.to_string());
    let text = |text: Option<&String>| text.map_or_else(unknown, |it| printable(it));
    vec![
        text(who.process.as_ref()),
        who.pid.map_or_else(unknown, |pid| pid.to_string()),
        text(who.host.as_ref()),
        who.sender.map_or_else(unknown, |it| it.to_string()),
        number(who.messages),
        number(who.counts.map(|counts| counts.lost)),
        number(who.counts.map(|counts| counts.duplicates)),
        number(who.counts.map(|counts| counts.restarts)),
        channels_text(who),
    ]
}

/// As many channels as there is room for, and how many more there are.
fn channels_text(who: &Who) -> String {
    let mut text = String::new();
    for (place, channel) in who.channels.keys().enumerate() {
        let channel = printable(channel);
        if place > 0 && text.chars().count() + channel.chars().count() > MAX_WIDTH {
            return format!("{text} and {} more", who.channels.len() - place);
        }
        if place > 0 {
            text += ", ";
        }
        text += &channel;
    }
    text
}

fn type_text(name: &TypeName) -> String {
    match name {
        TypeName::Named(name) => printable(name),
        TypeName::Unknown(fingerprint) => fingerprint.to_string(),
    }
}

fn to_json(who: &Who) -> Value {
    let channel = |(channel, types): (&String, &Vec<TypeName>)| {
        let types: Vec<String> = types.iter().map(type_text).collect();
        json!({ "channel": channel, "types": types })
    };
    json!({
        "process": who.process,
        "pid": who.pid,
        "host": who.host,
        "address": who.sender.map(|sender| sender.to_string()),
        "announced": who.is_announced,
        "messages": who.messages,
        "bytes": who.bytes,
        "lost": who.counts.map(|counts| counts.lost),
        "duplicates": who.counts.map(|counts| counts.duplicates),
        "late": who.counts.map(|counts| counts.late),
        "restarts": who.counts.map(|counts| counts.restarts),
        "channels": who.channels.iter().map(channel).collect::<Vec<_>>(),
    })
}

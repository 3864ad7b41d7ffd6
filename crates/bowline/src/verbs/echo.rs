//! `bowline echo`: each message as it comes.
//!
//! In: events of a bus or a log. Out: indented text for people, or lines of JSON. A message of an
//! undescribed type waits for a while: its publisher may describe it in a moment.

mod holding;
mod sparing;

use crate::input::Usage;
use crate::known_types::Types;
use crate::listen::{Heard, Limits, Listener, PLACES_HELP, Place};
use crate::{Outcome, output};
use bowline_bus::{Event, SCHEMA_CHANNEL};
use bowline_inspect::text::printable;
use bowline_inspect::{TextOptions, guess, hex_lines, to_line, to_lines};
use bowline_log::{Catalog, Decoded, FieldChoice, IsoTime, Line, LogEvent};
use bowline_wire::schema::Type;
use clap::Args;
use holding::Holding;
use sparing::Sparing;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  bowline echo                                        everything that comes
  bowline echo vehicle.pose                           one channel
  bowline echo 'camera\\..*' --rate 1                  by a regular expression, one a second
  bowline echo vehicle.pose --field 'pos[0]' --field utime   only these fields, on one line
  bowline echo gps -n 1 --json | jq .message          one message, as JSON
  bowline echo -l day.log pose --json | bowline pub - publish again what was recorded
  bowline echo mystery --raw                          the bytes

Channels are names, or regular expressions that match whole names.
With --json each line has utime (microseconds since 1970), number (the sender's, or the log's),
channel, type and message; what cannot be decoded has fingerprint and base64 instead.";

const EXIT_CODES: &str = "\
Exit code 0 if anything was shown; 1 if nothing came, no message had a field that was asked for, or
a log is damaged.";

#[derive(Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\n{PLACES_HELP}\n{EXIT_CODES}")
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of a command line"
)]
pub(crate) struct Arguments {
    /// Channels: names, or regular expressions that match whole names; without one, all
    #[arg(value_name = "CHANNEL")]
    channels: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    limits: Limits,
    /// Only this field, by its path, with or without the type's name before it. Several add up
    #[arg(long = "field", value_name = "PATH", conflicts_with = "raw")]
    fields: Vec<String>,
    /// Show at most so many messages a second of each channel, and report how many were left out
    #[arg(long, value_name = "HZ", value_parser = crate::input::hz)]
    rate: Option<f64>,
    /// Show so many elements of an array
    #[arg(long, value_name = "N", default_value_t = 16)]
    max_items: usize,
    /// Show the comments of the types too, where units are
    #[arg(short, long)]
    verbose: bool,
    /// Print lines of JSON
    #[arg(long, conflicts_with = "raw")]
    json: bool,
    /// Show the bytes and decode nothing
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    types: Types,
}

/// Lines of bytes that are shown of what cannot be decoded.
const MAX_HEX_LINES: usize = 16;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Outcome> {
    let fields = FieldChoice::new(&arguments.fields).map_err(|it| Usage(it.to_string()))?;
    let Limits { count, period } = arguments.limits;
    let catalog = (!arguments.raw)
        .then(|| arguments.types.catalog())
        .transpose()?;
    let place = arguments.place.url.as_deref();
    let mut listener = Listener::open(place, &arguments.channels, period, catalog)?;
    let mut holding = Holding::new(!arguments.raw && listener.source.bus().is_some());
    let mut echo = Echo::new(arguments, fields);
    let n_wanted = count.unwrap_or(u64::MAX);
    let mut is_over = false;
    while echo.n_shown < n_wanted && !is_over {
        match listener.next()? {
            Heard::Event(event) if echo.is_wanted(&event) => {
                holding.put(event, listener.source.catalog());
            }
            Heard::Event(_) | Heard::Silence => {}
            Heard::Over => is_over = true,
        }
        holding.at(if is_over {
            Duration::MAX
        } else {
            listener.elapsed()
        });
        let catalog = listener.source.catalog();
        while echo.n_shown < n_wanted
            && let Some(event) = holding.take(catalog)
        {
            echo.show(&event, catalog)?;
        }
    }
    let is_lossy = listener.note_damage();
    Ok(echo.finish(&listener, is_lossy))
}

struct Echo<'a> {
    arguments: &'a Arguments,
    fields: FieldChoice,
    sparing: Sparing,
    n_shown: u64,
    is_hint_given: bool,
}

impl<'a> Echo<'a> {
    fn new(arguments: &'a Arguments, fields: FieldChoice) -> Self {
        Self {
            arguments,
            fields,
            sparing: Sparing::new(arguments.rate),
            n_shown: 0,
            is_hint_given: false,
        }
    }

    /// Descriptions of types are sent only to those who ask for them.
    fn is_wanted(&self, event: &Event) -> bool {
        !self.arguments.channels.is_empty() || event.channel.as_str() != SCHEMA_CHANNEL
    }

    fn show(&mut self, event: &Event, catalog: &Catalog) -> anyhow::Result<()> {
        if !self.sparing.allows(event) {
            return Ok(());
        }
        let shown = if self.arguments.json {
            let of_bus = LogEvent {
                number: event.arrival.sequence.unwrap_or(0).into(),
                ..LogEvent::from(event)
            };
            let line = Line::new(of_bus, catalog, &mut self.fields);
            line.map(|line| line.to_json())
        } else {
            self.text(event, catalog)
        };
        if let Some(shown) = shown {
            self.n_shown += 1;
            output::line(&shown)?;
        }
        Ok(())
    }

    /// What people read; nothing if it has none of the fields that were asked for.
    fn text(&mut self, event: &Event, catalog: &Catalog) -> Option<String> {
        if self.arguments.raw {
            return Some(hex_text(&heading(event, None), event, usize::MAX));
        }
        match catalog.decode(&event.payload) {
            Some(Ok(decoded)) if self.fields.is_empty() => {
                let heading = heading(event, Some(&decoded.name()));
                let ty = Type::Named(decoded.id);
                let lines = to_lines(decoded.types, ty, &decoded.value, self.options());
                Some(below(&heading, &lines))
            }
            Some(Ok(decoded)) => self.chosen(event, &decoded),
            None | Some(Err(_)) if !self.fields.is_empty() => None,
            Some(Err(error)) => {
                let heading = format!("{}  {error}", heading(event, None));
                Some(hex_text(&heading, event, MAX_HEX_LINES))
            }
            None => Some(self.unknown(event, catalog)),
        }
    }

    fn unknown(&mut self, event: &Event, catalog: &Catalog) -> String {
        if !self.is_hint_given {
            self.is_hint_given = true;
            output::note("some messages are of an undescribed type: --types names its .lcm file");
        }
        let fingerprint = bowline_inspect::fingerprint(&event.payload);
        let fingerprint = fingerprint.map_or("?".to_owned(), |it| format!("fingerprint {it}"));
        let guess = guess(&event.payload, catalog);
        let heading = format!("{}  ({guess})", heading(event, Some(&fingerprint)));
        hex_text(&heading, event, MAX_HEX_LINES)
    }

    /// The fields that were asked for: on one line if they fit.
    fn chosen(&mut self, event: &Event, decoded: &Decoded<'_, '_>) -> Option<String> {
        let fields = self.fields.in_type(decoded.types, decoded.id);
        if fields.is_empty() {
            return None;
        }
        let options = self.options();
        let mut lines = Vec::new();
        let mut is_short = true;
        for (path, selector) in &fields {
            let picked = selector.pick(&decoded.value);
            let Some(value) = picked else {
                lines.push(format!("{path}: none, the array is too short"));
                continue;
            };
            let (types, ty) = (decoded.types, selector.ty());
            if let Some(line) = to_line(types, ty, &value, options) {
                lines.push(format!("{path}: {line}"));
            } else {
                is_short = false;
                lines.push(format!("{path}:"));
                let inner = to_lines(types, ty, &value, options);
                lines.extend(inner.iter().map(|line| format!("  {line}")));
            }
        }
        if is_short {
            let time = IsoTime(event.arrival.utime());
            let channel = printable(&event.channel);
            return Some(format!("{time}  {channel}  {}", lines.join("  ")));
        }
        Some(below(&heading(event, Some(&decoded.name())), &lines))
    }

    fn options(&self) -> TextOptions {
        TextOptions {
            max_items: self.arguments.max_items,
            has_comments: self.arguments.verbose,
        }
    }

    /// Reports what cannot be seen from the output.
    fn finish(&self, listener: &Listener, is_lossy: bool) -> Outcome {
        let n_left_out = self.sparing.n_left_out();
        if n_left_out > 0 {
            let messages = output::count(n_left_out, "message");
            output::note(&format!("{messages} left out because of --rate"));
        }
        let n_lost = listener.source.bus().map_or(0, |bus| bus.counts().lost());
        if n_lost > 0 {
            let messages = output::count(n_lost, "message");
            output::note(&format!("{messages} lost on the way here"));
        }
        if self.n_shown == 0 && self.fields.is_empty() {
            output::note(&format!("nothing was received: {}", listener.why_silent()));
        }
        let mut is_fine = self.n_shown > 0 && !is_lossy;
        for path in self.fields.not_found() {
            is_fine = false;
            output::note(&format!(
                "no message that came has the field {path:?}, of those whose type is known"
            ));
        }
        if is_fine {
            Outcome::Fine
        } else {
            Outcome::Diagnostics
        }
    }
}

/// Channel, type, time and size.
fn heading(event: &Event, name: Option<&str>) -> String {
    let channel = printable(&event.channel);
    let name = name.map_or(String::new(), |name| format!("  {}", printable(name)));
    let time = IsoTime(event.arrival.utime());
    format!("{channel}{name}  {time}  {} B", event.payload.len())
}

fn below(heading: &str, lines: &[String]) -> String {
    let mut text = heading.to_owned();
    for line in lines {
        text += "\n  ";
        text += line;
    }
    text
}

fn hex_text(heading: &str, event: &Event, max_lines: usize) -> String {
    let n_lines = event.payload.len().div_ceil(16);
    let mut lines = hex_lines(&event.payload, 0..n_lines.min(max_lines));
    if n_lines > max_lines {
        let n_more = event.payload.len() - 16 * max_lines;
        lines.push(format!("... and {n_more} more bytes; --raw shows them"));
    }
    below(heading, &lines)
}

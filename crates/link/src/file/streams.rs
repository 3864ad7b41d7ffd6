//! `[send]` and `[receive]`: tables by channel.

use super::MAX_STREAMS;
use crate::packet::MAX_MESSAGE;
use crate::stream::{Incoming, Keep, Outgoing, stream_id};
use bowline_component::document::{Problems, Span, Table, Word};
use std::time::Duration;

/// LCM's longest name, bytes.
const MAX_CHANNEL: usize = 63;
/// Longer than this a message is not worth keeping: ages travel in 32 bits of microseconds.
const MAX_TTL: Duration = Duration::from_secs(3_600);

/// What is sent, and what may arrive.
pub(super) fn read(
    root: &mut Table<'_, '_>,
    problems: &mut Problems<'_>,
) -> (Vec<Outgoing>, Vec<Incoming>) {
    let sends = each(root, "send", problems, read_send);
    let receives = each(root, "receive", problems, read_receive);
    if sends.is_empty() && receives.is_empty() && !problems.has_errors() {
        problems
            .error(
                root.at(),
                "expected something to send or to receive, found nothing",
            )
            .help("[send.\"gate.state\"]");
    }
    check_names(
        sends.iter().map(|(at, it)| (at, it.name.as_str())),
        problems,
    );
    check_names(
        receives.iter().map(|(at, it)| (at, it.name.as_str())),
        problems,
    );
    let channels = receives.iter().map(|(at, it)| (at, it.channel.as_str()));
    check_unique(channels, "channel on this end's bus", problems);
    let sends = sends.into_iter().map(|(_, it)| it).collect();
    (sends, receives.into_iter().map(|(_, it)| it).collect())
}

fn each<T>(
    root: &mut Table<'_, '_>,
    key: &'static str,
    problems: &mut Problems<'_>,
    read: fn(&Word, &mut Table<'_, '_>, &mut Problems<'_>) -> T,
) -> Vec<(Span, T)> {
    let Some(all) = root.table(key, &format!("[{key}]"), problems) else {
        return Vec::new();
    };
    let entries = all.entries();
    if entries.len() > MAX_STREAMS {
        let message = format!(
            "expected at most {MAX_STREAMS} channels, found {}",
            entries.len()
        );
        problems.error(all.at(), message);
    }
    let mut streams = Vec::new();
    for (channel, value) in entries {
        check_channel(&channel, problems);
        let what = format!("[{key}.{:?}]", channel.get_ref());
        let mut table = Table::of(&what, value, problems);
        let stream = read(&channel, &mut table, problems);
        table.finish(problems);
        streams.push((channel.span(), stream));
    }
    streams
}

fn read_send(channel: &Word, table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Outgoing {
    let plain = Outgoing::new(channel.get_ref());
    let name = table.text("as", problems);
    if let Some(name) = &name {
        check_channel(name, problems);
    }
    let keep = table.choice("keep", &Keep::NAMES, problems);
    let deadline = table.duration("deadline", problems);
    let ttl = table.duration("ttl", problems);
    let ttl_at = table.key("ttl").unwrap_or(channel.span());
    let ttl = ttl.or(deadline.map(|it| it * 4)).unwrap_or(plain.ttl);
    if ttl > MAX_TTL {
        let message = format!("ttl is at most {MAX_TTL:?}, found {ttl:?}");
        problems.error(ttl_at.clone(), message);
    }
    if deadline.is_some_and(|deadline| deadline > ttl) {
        problems.error(
            ttl_at,
            "expected a ttl that is not shorter than the deadline, found a shorter one",
        );
    }
    let rate_hz = table.number("rate_hz", 0.001..=10_000.0, problems);
    let min_rate_hz = table.number("min_rate_hz", 0.001..=1_000.0, problems);
    if min_rate_hz > rate_hz && rate_hz.is_some() {
        let at = table.key("min_rate_hz").unwrap_or(channel.span());
        problems.error(
            at,
            "expected a min_rate_hz that is not above rate_hz, found one that is",
        );
    }
    Outgoing {
        name: name.map_or(plain.name.clone(), Word::into_inner),
        keep: keep.unwrap_or(plain.keep),
        deadline,
        ttl,
        value: table
            .number("value", 0.001..=1e6, problems)
            .unwrap_or(plain.value),
        rate_hz,
        min_rate_hz,
        max_bytes: bytes(table, problems).unwrap_or(plain.max_bytes),
        queue: whole(table.number("queue", 1.0..=10_000.0, problems)).unwrap_or(plain.queue),
        again: table.duration("again", problems),
        is_timeless: table.boolean("timeless", problems).unwrap_or(false),
        ..plain
    }
}

fn read_receive(
    channel: &Word,
    table: &mut Table<'_, '_>,
    problems: &mut Problems<'_>,
) -> Incoming {
    let plain = Incoming::new(channel.get_ref());
    let renamed = table.text("as", problems);
    if let Some(renamed) = &renamed {
        check_channel(renamed, problems);
    }
    let is_command = table.boolean("commands", problems);
    if is_command.is_none() && channel.get_ref().starts_with("operator.") {
        let message = "these look like commands, and their sender is not checked";
        problems
            .warning(channel.span(), message)
            .help("commands = true, or commands = false if they are none");
    }
    Incoming {
        channel: renamed.map_or(plain.channel.clone(), Word::into_inner),
        max_bytes: bytes(table, problems).unwrap_or(plain.max_bytes),
        is_command: is_command.unwrap_or(false),
        ..plain
    }
}

fn bytes(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Option<usize> {
    let most = f64::from(u32::try_from(MAX_MESSAGE).unwrap_or(u32::MAX));
    whole(table.number("max_bytes", 1.0..=most, problems))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was checked to be within small limits"
)]
fn whole(number: Option<f64>) -> Option<usize> {
    number.map(|number| number as usize)
}

fn check_channel(name: &Word, problems: &mut Problems<'_>) {
    let n = name.get_ref().len();
    if n == 0 || n > MAX_CHANNEL || name.get_ref().contains('\0') {
        let message = format!(
            "a channel has 1 to {MAX_CHANNEL} bytes, found {:?}",
            name.get_ref()
        );
        problems.error(name.span(), message);
    }
}

fn check_unique<'n>(
    names: impl Iterator<Item = (&'n Span, &'n str)>,
    what: &str,
    problems: &mut Problems<'_>,
) {
    let mut known: Vec<(&Span, &str)> = Vec::new();
    for (at, name) in names {
        if let Some((first, _)) = known.iter().find(|(_, it)| *it == name) {
            let place = problems.place(first);
            let message = format!("expected each {what} once, found {name:?} again");
            problems
                .error(at.clone(), message)
                .note("it is here too", place);
        }
        known.push((at, name));
    }
}

/// Names on the wire are distinguished by a hash.
fn check_names<'n>(
    names: impl Iterator<Item = (&'n Span, &'n str)> + Clone,
    problems: &mut Problems<'_>,
) {
    check_unique(names.clone(), "name", problems);
    let mut known: Vec<(u32, &str)> = Vec::new();
    for (at, name) in names {
        let id = stream_id(name);
        if let Some((_, other)) = known.iter().find(|(it, other)| *it == id && *other != name) {
            let message = format!("{name:?} and {other:?} are the same on the wire, by chance");
            problems
                .error(at.clone(), message)
                .help("as = \"another name\"");
        }
        known.push((id, name));
    }
}

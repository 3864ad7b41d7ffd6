//! What is printed about a log in the same words everywhere.

use crate::{Outcome, output};
use bowline_log::{Copied, Damage, DamageKind, Damages, LeftBehind};
use serde_json::{Value, json};

/// How many places of damage are shown to people.
const MAX_SHOWN: usize = 10;

/// Damage, place by place.
pub(crate) fn damage_lines(damages: &Damages) -> Vec<String> {
    let mut lines: Vec<String> = damages
        .listed()
        .iter()
        .take(MAX_SHOWN)
        .map(ToString::to_string)
        .collect();
    let n_more = damages.n_places().saturating_sub(lines.len() as u64);
    if n_more > 0 {
        let more = output::count(n_more, "more place");
        lines.push(format!(
            "and {more}; `bowline log info --json` lists the first {}",
            Damages::MAX_LISTED
        ));
    }
    lines
}

/// Prints on standard error what was damaged, if anything was.
pub(crate) fn note_damage(damages: &Damages) {
    if damages.is_empty() {
        return;
    }
    output::note(&format!(
        "damaged: {}, {}, {} known to be lost",
        output::count(damages.n_places(), "place"),
        output::count(damages.n_bytes(), "byte"),
        output::count(damages.n_lost(), "event")
    ));
    for line in damage_lines(damages) {
        output::note(&format!("  {line}"));
    }
}

pub(crate) fn damages_json(damages: &Damages) -> Value {
    let places: Vec<Value> = damages.listed().iter().map(damage_json).collect();
    json!({
        "lossy": damages.is_lossy(),
        "n_places": damages.n_places(),
        "n_bytes": damages.n_bytes(),
        "n_lost": damages.n_lost(),
        "places": places,
    })
}

fn damage_json(damage: &Damage) -> Value {
    let kind = match damage.kind {
        DamageKind::NoEvent => "no_event",
        DamageKind::Changed { .. } => "changed",
        DamageKind::Missing { .. } => "missing",
        DamageKind::CutOff => "cut_off",
        DamageKind::Chunk { .. } => "chunk",
        DamageKind::TooLarge { .. } => "too_large",
        DamageKind::Attachment => "attachment",
        DamageKind::Directory => "directory",
    };
    json!({
        "offset": damage.offset,
        "len": damage.len,
        "kind": kind,
        "n_lost": damage.kind.n_lost(),
        "text": damage.to_string(),
    })
}

/// Prints on standard error what became of a log that was copied.
pub(crate) fn note_copied(copied: &Copied, is_verbose: bool) {
    let thinned = match copied.n_thinned {
        0 => String::new(),
        n => format!(", {n} left out to lower rates"),
    };
    let n_channels = copied.channels.len() as u64;
    output::note(&format!(
        "wrote {} of {}, on {}{thinned}",
        copied.n_written,
        output::count(copied.n_read, "event"),
        output::count(n_channels, "channel")
    ));
    let extras = [
        output::some(copied.n_attachments, "attachment"),
        output::some(copied.n_metadata, "metadata record"),
    ];
    if let Some(extras) = output::list(extras) {
        output::note(&format!("{extras} came along"));
    }
    if let Some(why) = &copied.first_refusal {
        let refused = output::count(copied.n_refused, "event");
        output::note(&format!("{refused} could not be written: {why}"));
    }
    note_left(&copied.left);
    if is_verbose {
        let rows: Vec<Vec<String>> = copied
            .channels
            .iter()
            .map(|(channel, n)| vec![channel.clone(), n.to_string()])
            .collect();
        output::note(output::table(&rows, &[0]).trim_end());
    }
}

/// Prints on standard error what was not copied, if anything was not.
fn note_left(left: &LeftBehind) {
    let LeftBehind {
        n_schemas,
        n_publish_times,
        n_attachments,
        n_metadata,
        n_damaged,
    } = *left;
    let left = [
        output::some(n_schemas, "schema"),
        output::some(n_publish_times, "publish time"),
        output::some(n_attachments, "attachment"),
        output::some(n_metadata, "metadata record"),
    ];
    if let Some(left) = output::list(left) {
        output::note(&format!(
            "not copied, because an LCM log has no room for them: {left}"
        ));
    }
    if n_damaged > 0 {
        let damaged = output::count(n_damaged, "attachment or metadata record");
        output::note(&format!(
            "not copied, because it is damaged or too much: {damaged}"
        ));
    }
}

/// The exit code for a log that was copied: whether all that was chosen came along.
pub(crate) fn outcome(copied: &Copied, damages: &Damages) -> Outcome {
    let is_lossy = damages.is_lossy() || copied.n_refused > 0 || copied.left.n_damaged > 0;
    if is_lossy {
        Outcome::Diagnostics
    } else {
        Outcome::Fine
    }
}

pub(crate) fn copied_json(copied: &Copied) -> Value {
    let left = &copied.left;
    json!({
        "n_read": copied.n_read,
        "n_written": copied.n_written,
        "n_thinned": copied.n_thinned,
        "n_refused": copied.n_refused,
        "first_refusal": copied.first_refusal,
        "n_attachments": copied.n_attachments,
        "n_metadata": copied.n_metadata,
        "not_copied": {
            "n_schemas": left.n_schemas,
            "n_publish_times": left.n_publish_times,
            "n_attachments": left.n_attachments,
            "n_metadata": left.n_metadata,
            "n_damaged": left.n_damaged,
        },
        "channels": copied.channels,
    })
}

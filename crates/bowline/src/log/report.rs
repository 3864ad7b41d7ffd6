//! What is said about a log in the same words everywhere.

use crate::output;
use bowline_log::{Copied, Damage, DamageKind, Damages, Reader};
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
        lines.push(format!(
            "and {n_more} more places (--json lists up to 1000)"
        ));
    }
    lines
}

/// Says on standard error what was damaged, if anything was.
pub(crate) fn note_damage(damages: &Damages) {
    if damages.is_empty() {
        return;
    }
    output::note(&format!(
        "damaged: {} places, {} bytes, {} events known to be lost",
        damages.n_places(),
        damages.n_bytes(),
        damages.n_lost()
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

/// Says on standard error what was kept of a log.
pub(crate) fn note_copied(copied: &Copied, is_verbose: bool) {
    let Copied {
        n_read,
        n_written,
        n_thinned,
        n_refused,
        first_refusal,
        channels,
    } = copied;
    let thinned = match n_thinned {
        0 => String::new(),
        n => format!(", {n} left out to lower rates"),
    };
    let n_channels = channels.len();
    output::note(&format!(
        "{n_written} of {n_read} events read were written, on {n_channels} channels{thinned}"
    ));
    if let Some(why) = first_refusal {
        output::note(&format!("{n_refused} events could not be written: {why}"));
    }
    if is_verbose {
        let rows: Vec<Vec<String>> = channels
            .iter()
            .map(|(channel, n)| vec![channel.clone(), n.to_string()])
            .collect();
        output::note(output::table(&rows, &[0]).trim_end());
    }
}

/// Says on standard error that descriptions of types were not copied, if that is so.
pub(crate) fn note_foreign(log: &Reader) {
    let n_foreign = log.n_foreign_schemas();
    if n_foreign > 0 {
        output::note(&format!(
            "{n_foreign} descriptions of types are not LCM's and were not copied; their messages were, as they are"
        ));
    }
}

pub(crate) fn copied_json(copied: &Copied) -> Value {
    json!({
        "n_read": copied.n_read,
        "n_written": copied.n_written,
        "n_thinned": copied.n_thinned,
        "n_refused": copied.n_refused,
        "first_refusal": copied.first_refusal,
        "channels": copied.channels,
    })
}

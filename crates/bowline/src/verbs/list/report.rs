//! What people read, and what programs read.

use super::samples::Samples;
use crate::listen::Listener;
use crate::output::{count, table};
use crate::verbs::doctor::{printable, size};
use bowline_bus::{Capability, Counts, QueueCounts, Sender, SenderCounts};
use bowline_inspect::{DescriptionCounts, Traffic, Watch};
use bowline_log::Catalog;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Senders that are shown to people; programs get all.
const MAX_SHOWN_SENDERS: usize = 16;

/// Everything that is known after listening.
pub(crate) struct Report {
    url: String,
    elapsed: Duration,
    /// Sorted by name.
    channels: Vec<ChannelRow>,
    /// Messages on channels beyond those.
    unlisted: u64,
    descriptions: DescriptionCounts,
    counts: Counts,
    senders: Vec<SenderCounts>,
    subscriptions: Vec<(String, QueueCounts)>,
    /// What keeps the bus from working, if something does.
    trouble: Option<String>,
    has_hub: bool,
}

/// What is known of one channel.
struct ChannelRow {
    channel: String,
    messages: u64,
    bytes: u64,
    last_size: usize,
    jitter_s: f64,
    /// Names, fingerprints, or a question mark and a guess; the latest first.
    types: Vec<String>,
    undecodable: u64,
    senders: Vec<Sender>,
}

impl ChannelRow {
    fn new(channel: &str, traffic: &Traffic, catalog: &Catalog, samples: &Samples) -> Self {
        let (senders, _) = traffic.senders();
        let mut senders = senders.to_vec();
        senders.sort();
        let other = samples.other(channel, catalog);
        let prints = traffic.types().iter();
        let name = |print: &bowline_wire::Fingerprint| match catalog.name(*print) {
            Some(name) => Some(name),
            None if other.is_some() => None,
            None => Some(print.to_string()),
        };
        let mut types: Vec<String> = prints.filter_map(name).collect();
        types.extend(other.map(|guess| format!("? {guess}")));
        Self {
            channel: channel.to_owned(),
            messages: traffic.messages,
            bytes: traffic.bytes,
            last_size: traffic.last_size,
            jitter_s: traffic.jitter_s(),
            types,
            undecodable: traffic.undecodable(),
            senders,
        }
    }
}

/// How much people want to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Counters that are not 0.
    Losses,
    /// All of them.
    All,
}

/// A counter: its name for people and programs, what it counts, and its value.
type Counter = (&'static str, &'static str, u64);

impl Report {
    pub(super) fn new(listener: &Listener, watch: &Watch, samples: &Samples) -> Self {
        let source = &listener.source;
        let catalog = source.catalog();
        let mut channels: Vec<ChannelRow> = watch
            .iter()
            .map(|(channel, traffic)| ChannelRow::new(channel, traffic, catalog, samples))
            .collect();
        channels.sort_by(|a, b| a.channel.cmp(&b.channel));
        let bus = source.bus();
        Self {
            url: source.name(),
            elapsed: listener.elapsed(),
            channels,
            unlisted: watch.unlisted(),
            descriptions: source.description_counts(),
            counts: bus.map_or_else(Counts::default, |bus| bus.counts()),
            senders: bus.map_or(Vec::new(), |bus| bus.senders()),
            subscriptions: bus.map_or(Vec::new(), |bus| bus.subscriptions()),
            trouble: bus.and_then(|bus| bus.trouble()),
            has_hub: bus.is_some_and(|bus| bus.has(Capability::NeedsHub)),
        }
    }

    /// Whether nothing was received.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Every way to lose a message, and what else arrived that no channel shows.
    fn counters(&self) -> Vec<Counter> {
        let network = &self.counts.network;
        vec![
            ("lost", "messages of which nothing arrived", network.lost),
            (
                "incomplete",
                "messages of which parts never arrived",
                network.incomplete,
            ),
            (
                "kernel drops",
                "datagrams that found the receive buffer full",
                network.kernel_drops,
            ),
            (
                "queue drops",
                "messages that this program was too slow for",
                self.counts.queue_drops,
            ),
            (
                "malformed",
                "datagrams that are not LCM's, or broken",
                network.malformed,
            ),
            (
                "conflicts",
                "fragments that contradict each other",
                network.conflicts,
            ),
            (
                "duplicates",
                "messages or parts that arrived again",
                network.duplicates,
            ),
            (
                "late",
                "messages that arrived after a later one",
                network.late,
            ),
            (
                "partial",
                "messages of which parts are still to come",
                network.partial,
            ),
            (
                "filtered",
                "datagrams that the kernel kept away, unwanted here",
                network.filtered,
            ),
            (
                "unwanted",
                "messages without a subscription here",
                network.unwanted,
            ),
            (
                "reconnects",
                "times that the bus was lost and found again",
                network.reconnects,
            ),
            (
                "descriptions refused",
                "descriptions of types that are broken or lie",
                self.descriptions.refused(),
            ),
        ]
    }

    fn hz(&self, n: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let n = n as f64;
        n / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Bytes a second, rounded.
    fn bandwidth(&self, row: &ChannelRow) -> u64 {
        let ms = self.elapsed.as_millis().max(1);
        u64::try_from(u128::from(row.bytes) * 1000 / ms).unwrap_or(u64::MAX)
    }

    pub(crate) fn to_text(&self, detail: Detail) -> String {
        let mut text = format!(
            "{}, {:.1} s\n\n",
            printable(&self.url),
            self.elapsed.as_secs_f64()
        );
        let mut rows = vec![row([
            "channel",
            "type",
            "messages",
            "rate",
            "jitter",
            "bandwidth",
            "last size",
            "sender",
        ])];
        rows.extend(self.channels.iter().map(|row| self.channel_row(row)));
        text += &table(&rows, &[0, 1, 7]);
        if self.unlisted > 0 {
            text += &format!("and {} messages on further channels\n", self.unlisted);
        }
        text += &format!("\n{}\n", self.received_text());
        if let Some(trouble) = &self.trouble {
            text += &format!("trouble: {}\n", printable(trouble));
        }
        text += &self.counters_text(detail);
        text + &self.senders_text()
    }

    /// What came; senders and buffers only where the transport knows of such.
    fn received_text(&self) -> String {
        let Counts {
            received,
            received_bytes,
            network,
            ..
        } = &self.counts;
        let messages = count(*received, "message");
        let mut text = format!("received {messages}, {}", size(*received_bytes));
        if network.senders > 0 {
            text += &format!(", from {}", count(network.senders, "sender"));
        }
        if network.receive_buffer > 0 {
            text += &format!("; receive buffer {}", size(network.receive_buffer));
        }
        text
    }

    fn counters_text(&self, detail: Detail) -> String {
        let counters = self.counters().into_iter();
        let rows: Vec<_> = counters
            .filter(|(_, _, value)| detail == Detail::All || *value > 0)
            .map(|(name, meaning, value)| row([name, &value.to_string(), meaning]))
            .collect();
        let mut text = String::new();
        let network = &self.counts.network;
        let n_lost = self.counts.lost();
        if n_lost == 0 && network.kernel_drops > 0 {
            text += &format!(
                "no loss has shown yet, but {} found no room: probably messages that are lost\n",
                count(network.kernel_drops, "datagram")
            );
        } else if n_lost + network.malformed + network.conflicts == 0 && self.counts.received > 0 {
            // What a hub drops for a slow client, only the hub knows.
            text += if self.has_hub {
                "nothing was lost on the way from the hub; the hub reports what it dropped\n"
            } else {
                "nothing was lost\n"
            };
        }
        if !rows.is_empty() {
            text += &format!("\n{}", table(&rows, &[0, 2]));
        }
        text
    }

    fn channel_row(&self, row: &ChannelRow) -> Vec<String> {
        let mut sender = row
            .senders
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        if row.senders.len() > 1 {
            sender += &format!(" and {} more", row.senders.len() - 1);
        }
        vec![
            printable(&row.channel),
            printable(&row.types.join(", ")),
            row.messages.to_string(),
            format!("{:.1}/s", self.hz(row.messages)),
            format!("{:.1} ms", row.jitter_s * 1e3),
            format!("{}/s", size(self.bandwidth(row))),
            size(row.last_size as u64),
            sender,
        ]
    }

    fn senders_text(&self) -> String {
        if self.senders.is_empty() {
            return String::new();
        }
        let mut rows = vec![row([
            "sender",
            "received",
            "lost",
            "duplicates",
            "late",
            "restarts",
        ])];
        let shown = self.senders.iter().take(MAX_SHOWN_SENDERS).map(|counts| {
            let SenderCounts {
                sender,
                received,
                lost,
                duplicates,
                late,
                restarts,
            } = counts;
            let numbers = [received, lost, duplicates, late, restarts].map(u64::to_string);
            [vec![sender.to_string()], numbers.to_vec()].concat()
        });
        rows.extend(shown);
        let mut text = format!("\n{}", table(&rows, &[0]));
        if let Some(n @ 1..) = self.senders.len().checked_sub(MAX_SHOWN_SENDERS) {
            text += &format!("and {n} more\n");
        }
        text
    }

    pub(crate) fn to_json(&self) -> Value {
        let channel = |row: &ChannelRow| {
            json!({
                "channel": row.channel,
                "types": row.types,
                "messages": row.messages,
                "bytes": row.bytes,
                "rate_hz": self.hz(row.messages),
                "jitter_s": row.jitter_s,
                "bytes_per_s": self.bandwidth(row),
                "last_size": row.last_size,
                "undecodable": row.undecodable,
                "senders": row.senders.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        };
        let sender = |counts: &SenderCounts| {
            json!({
                "sender": counts.sender.to_string(),
                "received": counts.received,
                "lost": counts.lost,
                "duplicates": counts.duplicates,
                "late": counts.late,
                "restarts": counts.restarts,
            })
        };
        let subscription = |(pattern, counts): &(String, QueueCounts)| json!({ "pattern": pattern, "queued": counts.queued, "dropped": counts.dropped, "waiting": counts.waiting });
        let network = &self.counts.network;
        let mut counts = Map::new();
        for (name, value) in [
            ("received", self.counts.received),
            ("received_bytes", self.counts.received_bytes),
            ("datagrams", network.datagrams),
            ("senders", network.senders),
            ("receive_buffer", network.receive_buffer),
            ("unlisted", self.unlisted),
        ] {
            counts.insert(name.to_owned(), value.into());
        }
        for (name, _, value) in self.counters() {
            counts.insert(name.replace(' ', "_"), value.into());
        }
        json!({
            "url": self.url,
            "seconds": self.elapsed.as_secs_f64(),
            "channels": self.channels.iter().map(channel).collect::<Vec<_>>(),
            "counts": counts,
            "descriptions": self.descriptions.named().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<String, Value>>(),
            "trouble": self.trouble,
            "senders": self.senders.iter().map(sender).collect::<Vec<_>>(),
            "subscriptions": self.subscriptions.iter().map(subscription).collect::<Vec<_>>(),
        })
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_bus::NetworkCounts;

    fn text(has_hub: bool, network: NetworkCounts) -> String {
        let report = Report {
            url: String::new(),
            has_hub,
            elapsed: Duration::from_secs(1),
            channels: Vec::new(),
            unlisted: 0,
            descriptions: DescriptionCounts::default(),
            counts: Counts {
                received: 1,
                network,
                ..Counts::default()
            },
            senders: Vec::new(),
            subscriptions: Vec::new(),
            trouble: None,
        };
        report.to_text(Detail::Losses)
    }

    #[test]
    fn drops_of_the_kernel_are_called_what_they_probably_are() {
        let drops = NetworkCounts {
            kernel_drops: 298,
            ..NetworkCounts::default()
        };
        let unnoticed = text(false, drops);
        let expected = "no loss has shown yet, but 298 datagrams found no room";
        assert!(unnoticed.contains(expected), "{unnoticed}");
        assert!(!unnoticed.contains("nothing was lost"), "{unnoticed}");
        let noticed = text(false, NetworkCounts { lost: 3, ..drops });
        assert!(!noticed.contains("no loss"), "{noticed}");
    }

    #[test]
    fn nothing_was_lost_is_reported_only_where_known() {
        let direct = text(false, NetworkCounts::default());
        assert!(direct.ends_with("\nnothing was lost\n"), "{direct}");
        let relayed = text(true, NetworkCounts::default());
        assert!(
            relayed.contains("the hub reports what it dropped"),
            "{relayed}"
        );
    }
}

//! A graph in words: each component with what it reads and writes, and who is at the other end.

use super::{End, EndId, Graph, Links, Mark, Node};
use crate::robot::MessageType;

impl Graph {
    /// Ready to print.
    #[must_use]
    pub fn to_text(&self) -> String {
        let links = self.links();
        let mut text = String::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            text += &heading(node);
            let rows: Vec<[String; 4]> = (0..node.ends.len())
                .filter_map(|end| self.row(EndId { node: at, end }, &links))
                .collect();
            text += &table(&rows);
        }
        text
    }

    fn row(&self, id: EndId, links: &Links<'_>) -> Option<[String; 4]> {
        let end = self.end(id)?;
        let channel = end.channel.as_deref().unwrap_or(&end.port);
        let peers = links
            .peers(id)
            .into_iter()
            .filter_map(|peer| self.nodes.get(peer.node));
        let peers: Vec<&str> = peers.map(|node| node.name.as_str()).collect();
        let arrow = if end.flow.is_inward() { "<-" } else { "->" };
        let who = match links.mark(id) {
            Mark::Connected => format!("{arrow} {}", peers.join(", ")),
            Mark::Reserved => format!("{arrow} bowline"),
            Mark::Unused => format!("{arrow} no reader"),
            Mark::Left => "not connected".to_owned(),
            Mark::Missing if end.channel.is_none() => "NOT CONNECTED".to_owned(),
            Mark::Missing if end.flow.is_inward() => format!("{arrow} NO WRITER"),
            Mark::Missing => format!("{arrow} NO SERVER"),
            Mark::Shared => format!("{arrow} {}: OTHERS DO TOO", or_none(&peers)),
            Mark::TypesDiffer => format!("{arrow} {}: TYPES DIFFER", peers.join(", ")),
        };
        Some([
            end.flow.word().to_owned(),
            printable(channel),
            types(end),
            printable(&who),
        ])
    }
}

fn or_none(peers: &[&str]) -> String {
    match peers {
        [] => "none".to_owned(),
        peers => peers.join(", "),
    }
}

fn heading(node: &Node) -> String {
    let process = node
        .process
        .as_ref()
        .map(|process| format!("process {process}"));
    let host = node.host.as_ref().map(|host| format!("on {host}"));
    let experiment = node
        .experiment
        .as_ref()
        .map(|experiment| format!("experiment {experiment}"));
    let what = Some(node.what.clone()).filter(|what| !what.is_empty());
    let parts: Vec<String> = [what, experiment, process, host, node.past.clone()]
        .into_iter()
        .flatten()
        .collect();
    let about = match parts.is_empty() {
        true => String::new(),
        false => format!("  ({})", parts.join(", ")),
    };
    printable(&format!("{}{about}", node.name)) + "\n"
}

/// What flows, and what comes back.
fn types(end: &End) -> String {
    let name = |message: &Option<MessageType>| {
        message
            .as_ref()
            .map_or_else(|| "any".to_owned(), |message| printable(&message.name))
    };
    match &end.answer {
        Some(_) => format!("{} => {}", name(&end.message), name(&end.answer)),
        None => name(&end.message),
    }
}

/// Columns as wide as they must be.
fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let [verbs, channels, types] = [0, 1, 2].map(width);
    rows.iter()
        .map(|[verb, channel, ty, who]| {
            format!("  {verb:<verbs$}  {channel:<channels$}  {ty:<types$}  {who}\n")
        })
        .collect()
}

/// What comes from a bus moves no cursor.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

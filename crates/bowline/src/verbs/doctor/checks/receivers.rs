//! Who receives on this host, who is in the way, and whether a message arrives.

use super::network::set_route;
use crate::verbs::doctor::proc::Socket;
use crate::verbs::doctor::snapshot::{Live, Snapshot, named};
use bowline_bus::diagnosis::{Finding, Fix};
use bowline_inspect::text::size;

/// How many receivers are listed by name.
const MAX_LISTED: usize = 8;

pub(super) fn port(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(group) = snapshot.group() else {
        return Vec::new();
    };
    let receivers = snapshot.receivers();
    match &snapshot.can_share_port {
        Err(reason) => vec![Finding::bad(
            format!("Binding to {}:{} fails: {reason}.", group.addr, group.port),
            "A receiver has to bind before it receives anything.",
        )],
        Ok(false) => vec![blocked(snapshot, group.port, &receivers)],
        Ok(true) if receivers.is_empty() => {
            vec![Finding::ok(format!(
                "Port {} is free; no program receives here now.",
                group.port
            ))]
        }
        Ok(true) => {
            let names: Vec<String> = receivers
                .iter()
                .take(MAX_LISTED)
                .map(|socket| who(snapshot, socket))
                .collect();
            let more = match receivers.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            vec![Finding::ok(format!(
                "Port {} is shared by {}{more}.",
                group.port,
                names.join(", ")
            ))]
        }
    }
}

fn blocked(snapshot: &Snapshot, port: u16, receivers: &[&Socket]) -> Finding {
    let why = "It was bound without SO_REUSEADDR, so no second program can receive here.";
    match receivers {
        [only] => {
            let found = format!("Port {port} is taken by {}.", who(snapshot, only));
            let finding = Finding::bad(found, why);
            match snapshot.owner(only) {
                Some(owner) => finding.user(format!("kill {}", owner.pid)),
                None => finding.look(Fix::Root(format!("ss -ulnp 'sport = :{port}'"))),
            }
        }
        _ => Finding::bad(format!("Port {port} is taken."), why)
            .look(Fix::Root(format!("ss -ulnp 'sport = :{port}'"))),
    }
}

/// A program by name and process.
pub(super) fn who(snapshot: &Snapshot, socket: &Socket) -> String {
    match snapshot.owner(socket) {
        Some(owner) => format!("{} ({})", owner.name, owner.pid),
        None => "a program of another user".to_string(),
    }
}

pub(super) fn membership(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(group) = snapshot.group() else {
        return Vec::new();
    };
    if snapshot.can_share_port == Ok(false) {
        // A socket that holds the port alone is not of this bus.
        return Vec::new();
    }
    let memberships = match &snapshot.memberships {
        Err(reason) => return vec![Finding::unseen("Memberships", reason)],
        Ok(memberships) => memberships,
    };
    let joined: Vec<&str> = memberships
        .iter()
        .filter(|(_, addr)| *addr == group.addr)
        .map(|(link, _)| link.as_str())
        .collect();
    let is_received = !snapshot.receivers().is_empty();
    let carrier = snapshot.carrier();
    match (joined.as_slice(), carrier) {
        ([], _) if is_received => vec![
            Finding::warn(
                format!(
                    "A program is bound to port {}, but none has joined {}.",
                    group.port, group.addr
                ),
                "Only members of a group get its messages.",
            )
            .look(Fix::User("cat /proc/net/igmp".into())),
        ],
        ([], _) => vec![Finding::ok(format!(
            "No program of this host has joined {} now.",
            group.addr
        ))],
        ([first, ..], Some(link)) if !joined.contains(&link.name.as_str()) => {
            let found = format!(
                "{} is joined on {}, but goes to {}.",
                group.addr,
                joined.join(", "),
                link.name
            );
            let why = "Receivers joined before the route changed: start them again, or set the route back.";
            let links = snapshot.links.as_deref().unwrap_or_default();
            let back = named(links, first).map(|old| set_route(group.addr, false, old));
            let mut finding = Finding::bad(found, why);
            finding.fix.extend(back.map(Fix::Root));
            vec![finding]
        }
        (joined, _) => vec![Finding::ok(format!(
            "{} is joined on {}.",
            group.addr,
            joined.join(", ")
        ))],
    }
}

pub(super) fn live(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(live) = &snapshot.live else {
        return Vec::new();
    };
    let seek =
        "Every program on the bus meets the same; what is wrong above is probably the cause.";
    let is_blind = snapshot.nft.is_err() && !snapshot.is_root;
    vec![match live {
        Live::Skipped => Finding::unseen("Arrival", "--no-send forbids a test message"),
        Live::Failed { step, error } => Finding::bad(format!("Could not {step}: {error}."), seek),
        Live::Done {
            small: true,
            large: true,
        } => Finding::ok("A small and a large message (60 kB), sent to the group, came back."),
        Live::Done {
            small: true,
            large: false,
        } => Finding::bad(
            format!(
                "A small message came back, but not one of {}.",
                size(60_000)
            ),
            "Large messages are cut into fragments; one that is lost loses all. See the fragments above.",
        ),
        Live::Done {
            small: false,
            large: true,
        } => Finding::bad("A large message came back, but not a small one.", seek),
        Live::Done {
            small: false,
            large: false,
        } => {
            let finding = Finding::bad("Nothing that was sent to the group came back.", seek);
            if is_blind {
                // The likeliest cause is the one that only root can see.
                finding.look(Fix::Root("bowline doctor".into()))
            } else {
                finding
            }
        }
    }]
}

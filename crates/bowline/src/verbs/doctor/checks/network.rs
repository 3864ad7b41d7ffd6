//! Interfaces, and the way that the kernel picks.

use crate::verbs::doctor::netlink::Link;
use crate::verbs::doctor::snapshot::{Snapshot, named};
use bowline_bus::diagnosis::Group;
use bowline_bus::diagnosis::{Finding, Fix, quote};
use std::net::IpAddr;

pub(super) fn interfaces(snapshot: &Snapshot) -> Vec<Finding> {
    let links = match (&snapshot.links, snapshot.group()) {
        (_, None) => return Vec::new(),
        (Err(reason), Some(_)) => return vec![Finding::unseen("Interfaces", reason)],
        (Ok(links), Some(_)) => links,
    };
    let mut findings = Vec::new();
    if let Some(iface) = snapshot.group().and_then(|group| group.iface.as_deref())
        && named(links, iface).is_none()
    {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        findings.push(
            Finding::bad(
                format!(
                    "No interface {iface}, which the URL asks for; there are {}.",
                    names.join(", ")
                ),
                "Nothing can be sent or joined on an interface that is not there.",
            )
            .look(Fix::User("ip -brief address".into())),
        );
    }
    let carrier = snapshot.carrier();
    findings.extend(
        links
            .iter()
            .filter_map(|link| about(link, carrier == Some(link), snapshot)),
    );
    if findings.is_empty() {
        findings.push(Finding::ok(format!("{}.", list(links))));
    }
    findings
}

/// What is wrong with an interface.
fn about(link: &Link, is_carrier: bool, snapshot: &Snapshot) -> Option<Finding> {
    let name = quote(&link.name);
    let up = format!("ip link set {name} up");
    if !link.is_up() && (is_carrier || link.is_loopback()) {
        let found = format!("{name} is down.");
        // Another interface may carry the group, and other traffic than ours needs the loopback.
        let needed = is_carrier || snapshot.carrier().is_none();
        let finding = if needed {
            Finding::bad(
                found,
                "An interface that is down sends and receives nothing.",
            )
        } else {
            Finding::warn(
                found,
                "Programs of one host find each other over the loopback.",
            )
        };
        return Some(finding.root(up));
    }
    if is_carrier && !link.has_carrier() {
        let found = format!("{name} carries the group but has no link: cable or radio is off.");
        let why = "Messages that leave by it are lost.";
        let is_leaving = snapshot.group().is_some_and(|group| group.ttl > 0);
        let finding = if is_leaving {
            Finding::bad(found, why)
        } else {
            Finding::warn(found, why)
        };
        return Some(finding.look(Fix::User(format!("ip link show {name}"))));
    }
    if is_carrier && !link.is_multicast() {
        return Some(
            Finding::warn(
                format!("{name} carries the group but has no MULTICAST flag."),
                "Linux delivers all the same; programs that pick interfaces by the flag pass it over.",
            )
            .root(format!("ip link set {name} multicast on")),
        );
    }
    None
}

fn list(links: &[Link]) -> String {
    let describe = |link: &Link| {
        let state = match (link.is_up(), link.is_multicast()) {
            (true, true) => "up, multicast",
            (true, false) => "up",
            (false, _) => "down",
        };
        format!("{} ({state}, MTU {})", link.name, link.mtu)
    };
    let all: Vec<String> = links.iter().map(describe).collect();
    all.join(", ")
}

pub(super) fn route(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(group) = snapshot.group() else {
        return Vec::new();
    };
    if let Some(iface) = &group.iface {
        // Missing interfaces are the interfaces' finding.
        let found = format!("{} leaves by {iface}, as in the URL.", group.addr);
        let carrier = snapshot.carrier();
        return carrier.map(|_| Finding::ok(found)).into_iter().collect();
    }
    let route = match &snapshot.route {
        Err(reason) => return vec![Finding::unseen("The route", reason)],
        Ok(None) => return vec![no_route(snapshot, group)],
        Ok(Some(route)) => route,
    };
    let Some(link) = snapshot.carrier() else {
        return Vec::new();
    };
    let name = &link.name;
    let source = route
        .source
        .map_or(String::new(), |source| format!(", from {source}"));
    if group.ttl == 0 {
        let note = match (route.prefix_len, link.is_loopback()) {
            (_, true) => String::new(),
            (0, false) => {
                format!(" This follows the default route: when {name} goes down, so do messages.")
            }
            (_, false) => {
                " The kernel hands a copy to this host and sends nothing out.".to_string()
            }
        };
        return vec![Finding::ok(format!(
            "{} goes to {name}{source}.{note}",
            group.addr
        ))];
    }
    if link.is_loopback() {
        return vec![only_here(snapshot, group)];
    }
    vec![Finding::ok(format!(
        "{} leaves by {name}{source}.",
        group.addr
    ))]
}

/// The command that sends the group, or all groups, to an interface.
pub(super) fn set_route(addr: IpAddr, is_for_all: bool, link: &Link) -> String {
    let name = quote(&link.name);
    // Over the loopback IPv6 only has routes to itself; any other is refused when it is used.
    let kind = if link.is_loopback() {
        "local"
    } else {
        "multicast"
    };
    match (addr, is_for_all) {
        (IpAddr::V4(_), true) => format!("ip route replace 224.0.0.0/4 dev {name}"),
        (IpAddr::V4(addr), false) => format!("ip route replace {addr}/32 dev {name}"),
        (IpAddr::V6(_), true) => {
            format!("ip -6 route replace {kind} ff00::/8 dev {name} table local")
        }
        (IpAddr::V6(addr), false) => {
            format!("ip -6 route replace {kind} {addr}/128 dev {name} table local")
        }
    }
}

fn no_route(snapshot: &Snapshot, group: &Group) -> Finding {
    let finding = Finding::bad(
        format!("The kernel has no route to {}.", group.addr),
        "Sending fails with \"network is unreachable\", joining with \"no such device\".",
    );
    let links = snapshot.links.as_deref().unwrap_or_default();
    let ways_out = snapshot.ways_out();
    let link = match (group.ttl, ways_out.first()) {
        (0, _) | (_, None) => links.iter().find(|link| link.is_loopback()),
        (_, Some(link)) => Some(*link),
    };
    let Some(link) = link else {
        return finding;
    };
    let mut finding = finding;
    if !link.is_up() {
        finding = finding.root(format!("ip link set {} up", quote(&link.name)));
    }
    if !link.is_multicast() {
        finding = finding.root(format!("ip link set {} multicast on", quote(&link.name)));
    }
    finding.root(set_route(group.addr, true, link))
}

/// Messages that should leave, and do not.
fn only_here(snapshot: &Snapshot, group: &Group) -> Finding {
    let found = format!(
        "{} goes to the loopback, though ttl is {}.",
        group.addr, group.ttl
    );
    match snapshot.ways_out().first() {
        Some(link) => Finding::bad(
            found,
            "No other host gets a message while the route is this one.",
        )
        .root(set_route(group.addr, false, link)),
        None => Finding::warn(
            format!(
                "{found} There is no other interface that is up, has an address and multicast."
            ),
            "No other host gets a message.",
        )
        .look(Fix::User("ip -brief address".into())),
    }
}

pub(super) fn reach(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(group) = snapshot.group() else {
        return Vec::new();
    };
    if group.ttl == 0 {
        return vec![Finding::ok(format!(
            "ttl 0 keeps messages on this host. For other hosts, have every program use {}.",
            group.url(1)
        ))];
    }
    let ways_out = snapshot.ways_out();
    let Some(carrier) = snapshot.carrier().filter(|link| !link.is_loopback()) else {
        return Vec::new();
    };
    if ways_out.len() > 1 && group.iface.is_none() {
        let others: Vec<&str> = ways_out
            .iter()
            .map(|link| link.name.as_str())
            .filter(|name| *name != carrier.name)
            .collect();
        return vec![
            Finding::warn(
                format!(
                    "Several interfaces lead out; only {} is used, not {}.",
                    carrier.name,
                    others.join(" or ")
                ),
                "Hosts behind another interface receive nothing; name the right one.",
            )
            .user(format!(
                "export BOWLINE_URL='{}'",
                group.url(group.ttl) + "&iface=" + &carrier.name
            )),
        ];
    }
    vec![Finding::ok(format!(
        "Other hosts on {}'s network are reached. If they receive nothing after a few minutes, the switch \
         snoops on IGMP and nothing asks it to go on: turn on its querier.",
        carrier.name
    ))]
}

pub(super) fn source_check(snapshot: &Snapshot) -> Vec<Finding> {
    let (Some(group), Some(carrier)) = (snapshot.group(), snapshot.carrier()) else {
        return Vec::new();
    };
    if group.ttl == 0 || group.addr.is_ipv6() || carrier.is_loopback() {
        return Vec::new();
    }
    let mode = |name: &str| snapshot.rp_filter.get(name).copied().unwrap_or(0);
    // The kernel takes the larger of the two, and 2, the loose check, is larger than 1, the strict one.
    if mode("all").max(mode(&carrier.name)) != 1 {
        return vec![Finding::ok(
            "Senders of other networks are not turned away (rp_filter).",
        )];
    }
    if snapshot.ways_out().len() < 2 {
        return vec![Finding::ok(
            "rp_filter is strict, which does no harm with one interface.",
        )];
    }
    vec![
        Finding::warn(
            format!("rp_filter is strict on {}, and there are several interfaces.", carrier.name),
            "Messages from senders to whom the way back leads elsewhere are dropped without a trace.",
        )
        .sysctl(&format!("net.ipv4.conf.{}.rp_filter", carrier.name), 2),
    ]
}

pub(super) fn bridge(snapshot: &Snapshot) -> Vec<Finding> {
    let deaf = snapshot.carrier().filter(|link| link.is_deaf_bridge);
    let is_leaving = snapshot.group().is_some_and(|group| group.ttl > 0);
    deaf.filter(|_| is_leaving)
        .map(|link| {
            Finding::warn(
                format!(
                    "The bridge {} snoops on IGMP and has no querier.",
                    link.name
                ),
                "It forgets who joined after a few minutes, and messages stop.",
            )
            .root(format!(
                "ip link set {} type bridge mcast_querier 1",
                link.name
            ))
        })
        .into_iter()
        .collect()
}

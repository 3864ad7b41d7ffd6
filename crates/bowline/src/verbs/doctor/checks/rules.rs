//! The firewall, as far as this user may see it.

use super::count;
use crate::verbs::doctor::firewall::{
    Obstacle, Packet, Protocol, Ruleset, read_iptables, read_nft,
};
use crate::verbs::doctor::snapshot::Snapshot;
use bowline_bus::diagnosis::Finding;
use std::net::{IpAddr, Ipv4Addr};

/// Where IGMP's reports go.
const IGMP_GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 22));

pub(super) fn firewall(snapshot: &Snapshot) -> Vec<Finding> {
    let (Some(group), Some(link)) = (snapshot.group(), snapshot.carrier()) else {
        return Vec::new();
    };
    let route = snapshot.route.as_ref().ok().and_then(Option::as_ref);
    let packet = Packet {
        protocol: Protocol::Udp,
        dest: group.addr,
        dest_port: group.port,
        source: route.and_then(|route| route.source),
        link: link.name.clone(),
    };
    let mut findings = against(snapshot, &packet, "Messages");
    if group.ttl > 0 && group.addr.is_ipv4() && !link.is_loopback() {
        let report = Packet {
            protocol: Protocol::Igmp,
            dest: IGMP_GROUP,
            ..packet.clone()
        };
        findings.extend(against(
            snapshot,
            &report,
            "IGMP reports, by which switches learn their receivers,",
        ));
    }
    if findings.is_empty() {
        findings.push(nothing_found(snapshot, &packet));
    }
    findings
}

/// No obstacle, as far as can be seen: nft lists the rules of iptables too, but not the other way round.
fn nothing_found(snapshot: &Snapshot, packet: &Packet) -> Finding {
    let n_entries = rules(snapshot, packet).n_entries() as u64;
    match (&snapshot.nft, &snapshot.iptables) {
        (Ok(_), _) if n_entries == 0 => Finding::ok("No rules."),
        (Ok(_), _) => Finding::ok(format!(
            "{} looked at; none stops messages.",
            count(n_entries, "chain")
        )),
        (Err(reason), Ok(_)) => {
            let what = "The rules of iptables stop nothing; those of nftables";
            Finding::unseen(what, reason)
        }
        (Err(nft), Err(iptables)) => Finding::unseen("The firewall", &format!("{nft}; {iptables}")),
    }
}

fn rules(snapshot: &Snapshot, packet: &Packet) -> Ruleset {
    let nft = snapshot.nft.as_ref().ok();
    let mut rules = nft
        .and_then(|text| read_nft(text, packet))
        .unwrap_or_default();
    if let Ok(text) = &snapshot.iptables {
        rules.extend(read_iptables(text, packet));
    }
    rules
}

fn against(snapshot: &Snapshot, packet: &Packet, what: &str) -> Vec<Finding> {
    let finding = |obstacle: Obstacle| {
        let hits = obstacle.n_hits.filter(|hits| *hits > 0);
        let hits = hits.map_or(String::new(), |hits| {
            format!(" It has met {}.", count(hits, "packet"))
        });
        let finding = if obstacle.is_certain && packet.protocol == Protocol::Udp {
            let found = format!("{what} are dropped by {}.{hits}", obstacle.rule);
            Finding::bad(
                found,
                "The kernel throws packets away before any program sees them.",
            )
        } else {
            let found = format!("{what} may be dropped by {}.{hits}", obstacle.rule);
            Finding::warn(
                found,
                "It depends on conditions that cannot be checked from here.",
            )
        };
        finding.root(obstacle.fix)
    };
    let obstacles = rules(snapshot, packet).obstacles(packet);
    obstacles.into_iter().map(finding).collect()
}

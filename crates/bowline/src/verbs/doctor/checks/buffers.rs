//! Room for what arrives, what was lost for want of it, and fragments.

use super::count;
use super::place::with_url;
use super::receivers::who;
use crate::verbs::doctor::snapshot::Snapshot;
use bowline_bus::diagnosis::Group;
use bowline_bus::diagnosis::{Finding, Fix};
use bowline_inspect::text::size;

/// What a datagram of 64 kB takes in a receive buffer, as the kernel counts: 212,992 bytes hold three.
const DATAGRAM_BYTES: u64 = 70_000;
/// Linux's own default for decades. With less, ordinary traffic is lost.
const LEAST_BYTES: u64 = 212_992;
/// With room for fewer large datagrams, a message of a few hundred kilobytes is lost as soon as its receiver blinks.
const FEW_DATAGRAMS: u64 = 6;
/// The limit that is advised: room for bursts from several senders at once.
const WANTED_BYTES: u64 = 8 << 20;
/// Allows messages of several megabytes at once. Without it they are lost on an idle machine.
const ENOUGH_BYTES: u64 = 4 << 20;
/// Room for two of the largest datagrams in fragments, which take more than twice their size.
const LEAST_FRAGMENT_BYTES: u64 = 262_144;
/// Room for bursts of many large datagrams; Linux's own default is a quarter of it.
const ENOUGH_FRAGMENT_BYTES: u64 = 16 << 20;
/// The largest datagram of LCM, with UDP's header.
const LARGEST_BYTES: u32 = 65_507 + 8;

const WHY_ROOM: &str =
    "A large message comes as a burst of 64 kB datagrams; what finds no room is lost.";

pub(super) fn receive(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(group) = snapshot.group() else {
        return Vec::new();
    };
    let Some(max) = snapshot.settings.get("net.core.rmem_max").copied() else {
        let reason = "net.core.rmem_max is only shown outside the container";
        return vec![Finding::unseen("The limit of receive buffers", reason)];
    };
    let default = snapshot
        .settings
        .get("net.core.rmem_default")
        .copied()
        .unwrap_or(max);
    let why = WHY_ROOM;
    let wanted = group.recv_buf_size.unwrap_or(0);
    let mut findings: Vec<Finding> = asked_too_little(snapshot, group).into_iter().collect();
    if max < ENOUGH_BYTES {
        let found = format!(
            "A program may have a receive buffer of {}{}: room for {}.",
            size(max),
            if snapshot.is_root {
                " unless it runs as root"
            } else {
                ""
            },
            room(max),
        );
        let finding = if max < LEAST_BYTES {
            Finding::bad(found, why)
        } else {
            Finding::warn(found, why)
        };
        findings.push(finding.sysctl("net.core.rmem_max", WANTED_BYTES.max(wanted)));
    } else if wanted > max {
        let found = format!(
            "The URL asks for a receive buffer of {}; the limit is {}.",
            size(wanted),
            size(max)
        );
        findings.push(Finding::warn(found, why).sysctl("net.core.rmem_max", wanted));
    }
    if default < LEAST_BYTES {
        let found = format!(
            "LCM's own programs get a receive buffer of only {}.",
            size(default)
        );
        findings.push(Finding::bad(found, why).sysctl("net.core.rmem_default", ENOUGH_BYTES));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(granted(snapshot, group, max, default)));
    }
    findings
}

/// How many large datagrams fit. The kernel counts twice what was asked for, to pay for its own overhead.
fn n_datagrams(bytes: u64) -> u64 {
    2 * bytes / DATAGRAM_BYTES
}

fn room(bytes: u64) -> String {
    count(n_datagrams(bytes), "large datagram")
}

/// Who gets how much: root is not bound by the limit, and LCM's own programs ask for nothing by default.
fn granted(snapshot: &Snapshot, group: &Group, max: u64, default: u64) -> String {
    let of_others = group.recv_buf_size.unwrap_or(max).min(max);
    let ours = snapshot.granted_bytes.as_ref().copied();
    let ours = ours.unwrap_or(of_others);
    let mut found = if snapshot.is_root && ours != of_others {
        format!(
            "Bowline gets {} as root: room for {}; as others {}: room for {}.",
            size(ours),
            room(ours),
            size(of_others),
            n_datagrams(of_others),
        )
    } else {
        format!("Bowline gets {}: room for {}.", size(ours), room(ours))
    };
    if group.recv_buf_size.is_none() {
        found += &format!(
            " LCM's own programs get {}: room for {}, unless their URL has recv_buf_size={ENOUGH_BYTES}.",
            size(default),
            default / DATAGRAM_BYTES,
        );
    }
    found
}

/// The URL asks for a buffer that large messages do not fit into, whatever the system would allow.
fn asked_too_little(snapshot: &Snapshot, group: &Group) -> Option<Finding> {
    let wanted = group.recv_buf_size?;
    let granted = snapshot.granted_bytes.as_ref().copied().unwrap_or(wanted);
    let n_datagrams = n_datagrams(granted);
    if wanted >= ENOUGH_BYTES || n_datagrams >= FEW_DATAGRAMS {
        return None;
    }
    let found = format!(
        "The URL asks for a receive buffer of {} and gets {}: room for {}.",
        size(wanted),
        size(granted),
        room(granted),
    );
    let mut finding = match n_datagrams {
        0 => Finding::bad(found, WHY_ROOM),
        _ => Finding::warn(found, WHY_ROOM),
    };
    let instead = format!("{}&recv_buf_size={ENOUGH_BYTES}", group.url(group.ttl));
    finding.fix = with_url(snapshot.target.origin, &instead);
    Some(finding)
}

pub(super) fn losses(snapshot: &Snapshot) -> Vec<Finding> {
    if snapshot.group().is_none() {
        return Vec::new();
    }
    if let Err(reason) = &snapshot.counters {
        return vec![Finding::unseen("Losses", reason)];
    }
    let mut findings = Vec::new();
    for socket in snapshot
        .receivers()
        .iter()
        .filter(|socket| socket.n_drops > 0)
    {
        let found = format!(
            "{} has lost {} since it started.",
            who(snapshot, socket),
            count(socket.n_drops, "datagram")
        );
        let why = "It reads too slowly, or its receive buffer is too small for bursts.";
        findings.push(Finding::warn(found, why).sysctl("net.core.rmem_default", ENOUGH_BYTES));
    }
    let n_damaged = snapshot.counter("Udp.InCsumErrors");
    if n_damaged > 0 {
        findings.push(
            Finding::warn(
                format!(
                    "{} arrived damaged since this machine started.",
                    count(n_damaged, "datagram")
                ),
                "A cable, a radio or a network card's offloading is at fault.",
            )
            .look(Fix::User("ip -statistics link".into())),
        );
    }
    if findings.is_empty() {
        let n_lost = snapshot.counter("Udp.RcvbufErrors");
        findings.push(Finding::ok(match n_lost {
            0 => "No program has lost a datagram for want of room.".to_string(),
            n_lost => format!(
                "No program that receives here now has lost anything; others lost {} since this machine started.",
                count(n_lost, "datagram")
            ),
        }));
    }
    findings
}

pub(super) fn fragments(snapshot: &Snapshot) -> Vec<Finding> {
    let (Some(group), Some(link)) = (snapshot.group(), snapshot.carrier()) else {
        return Vec::new();
    };
    let (ip_header, high, low) = if group.addr.is_ipv4() {
        (
            20,
            "net.ipv4.ipfrag_high_thresh",
            "net.ipv4.ipfrag_low_thresh",
        )
    } else {
        (
            48,
            "net.ipv6.ip6frag_high_thresh",
            "net.ipv6.ip6frag_low_thresh",
        )
    };
    // Every fragment but the last carries a multiple of eight bytes.
    let per_fragment = (link.mtu.saturating_sub(ip_header) / 8 * 8).max(8);
    let n_fragments = u64::from(LARGEST_BYTES.div_ceil(per_fragment));
    if LARGEST_BYTES + ip_header <= link.mtu {
        return vec![Finding::ok(format!(
            "{} has room for whole datagrams (MTU {}).",
            link.name, link.mtu
        ))];
    }
    let found = format!(
        "A 65 kB datagram crosses {} (MTU {}) in {}",
        link.name,
        link.mtu,
        count(n_fragments, "fragment")
    );
    let room = snapshot
        .settings
        .get(high)
        .copied()
        .unwrap_or(ENOUGH_FRAGMENT_BYTES);
    if room < LEAST_FRAGMENT_BYTES {
        let lowest = snapshot.settings.get(low).copied().unwrap_or(0);
        return vec![
            Finding::bad(
                format!(
                    "{found}; there is room for {} of them ({high}).",
                    size(room)
                ),
                "Fragments without room are dropped, and the whole datagram with them.",
            )
            .sysctl(high, ENOUGH_FRAGMENT_BYTES.max(lowest)),
        ];
    }
    let n_failed = snapshot.counter("Ip.ReasmFails");
    if n_failed == 0 {
        return vec![Finding::ok(format!("{found}; none was lost so far."))];
    }
    let found = format!(
        "{found}; since this machine started, {} never came together.",
        count(n_failed, "fragment")
    );
    if room >= ENOUGH_FRAGMENT_BYTES {
        return vec![Finding::ok(format!(
            "{found} There is room enough, so the network lost the rest."
        ))];
    }
    let why = "One lost fragment loses the whole datagram; room helps if bursts are the cause.";
    vec![Finding::warn(found, why).sysctl(high, ENOUGH_FRAGMENT_BYTES)]
}

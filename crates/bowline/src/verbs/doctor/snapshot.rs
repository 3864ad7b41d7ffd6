//! All that the doctor looks at, gathered once. The checks are functions of this and of nothing else.

use super::netlink::{Link, Route};
use super::proc::Socket;
use super::url::Target;
use bowline_bus::diagnosis::{Finding, Group};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What could be seen, or the reason why not.
pub(crate) type Seen<T> = Result<T, String>;

/// The state of this machine, as far as it decides whether messages arrive.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) target: Target,
    pub(crate) is_root: bool,
    pub(crate) links: Seen<Vec<Link>>,
    /// The way to the group; none where the kernel has no route.
    pub(crate) route: Seen<Option<Route>>,
    /// Strict (1) or loose (2) checks of source addresses, for `all` and for every interface.
    pub(crate) rp_filter: BTreeMap<String, u64>,
    /// Numbers below /proc/sys/net, by their names for `sysctl`.
    pub(crate) settings: BTreeMap<&'static str, u64>,
    /// The receive buffer that the bus gets with the privileges of this process, for as much as the URL asks.
    pub(crate) granted_bytes: Seen<u64>,
    pub(crate) sockets: Seen<Vec<Socket>>,
    pub(crate) owners: Vec<Owner>,
    /// Whether a well-behaved receiver can bind to the port beside those that are there.
    pub(crate) can_share_port: Seen<bool>,
    pub(crate) memberships: Seen<Vec<(String, IpAddr)>>,
    pub(crate) counters: Seen<BTreeMap<String, u64>>,
    pub(crate) nft: Seen<String>,
    pub(crate) iptables: Seen<String>,
    pub(crate) host: Host,
    /// What the transport's own checks found.
    pub(crate) transport: Vec<(&'static str, Finding)>,
    pub(crate) live: Option<Live>,
}

/// A process and the sockets it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) inodes: Vec<u64>,
}

/// The machine around us.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// Microseconds since the epoch.
    pub(crate) utime: i64,
    pub(crate) is_clock_synchronised: Seen<bool>,
    /// Docker, podman or another.
    pub(crate) container: Option<String>,
    pub(crate) is_wsl: bool,
    pub(crate) shared_memory: Seen<SharedMemory>,
    pub(crate) lockable_bytes: Seen<u64>,
}

/// /dev/shm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedMemory {
    pub(crate) size: u64,
    pub(crate) used: u64,
}

/// What happened to messages that we sent to ourselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Skipped,
    /// A step before sending or receiving failed.
    Failed {
        step: &'static str,
        error: String,
    },
    Done {
        small: bool,
        large: bool,
    },
}

impl Snapshot {
    pub(crate) fn group(&self) -> Option<&Group> {
        self.target.group()
    }

    /// The interface that carries the group: the URL's, else the one that the kernel picks.
    pub(crate) fn carrier(&self) -> Option<&Link> {
        let links = self.links.as_ref().ok()?;
        if let Some(iface) = self.group().and_then(|group| group.iface.as_deref()) {
            return named(links, iface);
        }
        let route = self.route.as_ref().ok()?.as_ref()?;
        links.iter().find(|link| link.index == route.link_index)
    }

    /// The interfaces that lead to other machines: up, able, with an address of the group's kind, and not Docker's own.
    pub(crate) fn ways_out(&self) -> Vec<&Link> {
        let links = self.links.as_deref().unwrap_or_default();
        let is_ipv4 = self.group().is_some_and(|group| group.addr.is_ipv4());
        let is_inner =
            |link: &Link| link.name.starts_with("docker") || link.name.starts_with("br-");
        let leads_out = |link: &&Link| {
            link.is_up() && link.is_multicast() && !link.is_loopback() && !is_inner(link)
        };
        let has_address = |link: &&Link| link.addrs.iter().any(|addr| addr.is_ipv4() == is_ipv4);
        let out = links.iter().filter(leads_out);
        out.filter(has_address).collect()
    }

    /// The sockets that receive the group's messages, or stand in their way.
    pub(crate) fn receivers(&self) -> Vec<&Socket> {
        let Some(group) = self.group() else {
            return Vec::new();
        };
        let sockets = self.sockets.as_deref().unwrap_or_default();
        let hears = |socket: &&Socket| {
            socket.port == group.port && (socket.addr == group.addr || socket.addr.is_unspecified())
        };
        sockets.iter().filter(hears).collect()
    }

    /// Who holds a socket: a name with its process, or none where that cannot be seen.
    pub(crate) fn owner(&self, socket: &Socket) -> Option<&Owner> {
        self.owners
            .iter()
            .find(|owner| owner.inodes.contains(&socket.inode))
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        let counters = self.counters.as_ref().ok();
        counters
            .and_then(|counters| counters.get(name))
            .copied()
            .unwrap_or(0)
    }
}

/// The interface of a name or an address, as `iface=` has them.
pub(crate) fn named<'l>(links: &'l [Link], iface: &str) -> Option<&'l Link> {
    let addr = iface.parse::<IpAddr>().ok();
    links
        .iter()
        .find(|link| link.name == iface || addr.is_some_and(|addr| link.addrs.contains(&addr)))
}

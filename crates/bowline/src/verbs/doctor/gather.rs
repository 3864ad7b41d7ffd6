//! The one file of the doctor that touches the system. Every look is bounded in time, and changes nothing.

use super::live;
use super::netlink::{self, Ask, Link, Route};
use super::proc;
use super::snapshot::{Host, Live, Owner, Seen, SharedMemory, Snapshot};
use super::url::Target;
use bowline_bus::diagnosis::{Check, Finding, Group};
use bowline_bus::transport::udpm;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long another program may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// How much of another program's output is read: more rules than hosts have.
const MAX_OUTPUT: u64 = 16 << 20;
/// `AF_NETLINK`, which socket2 has no name for.
const NETLINK: i32 = 16;
/// The kernel's words for "no route": network unreachable; and for routes that lead nowhere: host unreachable, prohibited,
/// blackhole.
const NO_ROUTE: [i32; 4] = [101, 113, 13, 22];
/// The settings that checks look at.
const SETTINGS: &[&str] = &[
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.ipfrag_low_thresh",
    "net.ipv6.ip6frag_high_thresh",
    "net.ipv6.ip6frag_low_thresh",
];

/// Whether the doctor may send messages to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Allowed,
    Forbidden,
}

/// Looks at everything that the target makes worth looking at.
pub(crate) fn gather(target: Target, sending: Sending) -> Snapshot {
    let links = links();
    let group = target.group().cloned();
    let sockets = sockets();
    let mut snapshot = Snapshot {
        is_root: read("/proc/self/status").is_ok_and(|text| proc::user_id(&text) == Some(0)),
        route: group.as_ref().map_or(Ok(None), |group| route(group.addr)),
        rp_filter: rp_filter(links.as_deref().unwrap_or_default()),
        links,
        settings: settings(),
        granted_bytes: granted_bytes(group.as_ref()),
        sockets,
        owners: owners(),
        can_share_port: Ok(true),
        memberships: memberships(),
        counters: read("/proc/net/snmp").map(|text| proc::counters(&text)),
        nft: run("nft", &["-j", "list", "ruleset"]),
        iptables: match &group {
            Some(group) if group.addr.is_ipv6() => run("ip6tables-save", &["-c"]),
            Some(_) | None => run("iptables-save", &["-c"]),
        },
        host: host(),
        transport: transport(&target),
        live: None,
        target,
    };
    let carrier_index = snapshot.carrier().map_or(0, |link| link.index);
    if let Some(group) = &group {
        snapshot.can_share_port = can_share_port(group, carrier_index).map_err(words);
    }
    if let Some(group) = &group {
        // Last, so that its own socket is not taken for a receiver.
        snapshot.live = Some(match sending {
            Sending::Allowed => live::live_test(group, snapshot.carrier()),
            Sending::Forbidden => Live::Skipped,
        });
    }
    snapshot
}

/// What the checks in the row of the target's transport find.
pub(crate) fn transport(target: &Target) -> Vec<(&'static str, Finding)> {
    let Some((url, row)) = target.url.as_ref().filter(|_| target.place.is_some()) else {
        return Vec::new();
    };
    let named = |check: &Check| {
        let findings = (check.look)(url).into_iter();
        findings
            .map(|finding| (check.name, finding))
            .collect::<Vec<_>>()
    };
    row.checks.iter().flat_map(named).collect()
}

fn words(error: io::Error) -> String {
    error.to_string()
}

fn read(path: &str) -> Seen<String> {
    let bytes = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What another program prints, if it is there, may do what it does, and is done in time.
fn run(program: &str, arguments: &[&str]) -> Seen<String> {
    // Administrators' programs are often not in other people's path.
    let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    let paths = folders.map(|folder| Path::new(folder).join(program));
    let path: &PathBuf = paths
        .iter()
        .find(|path| path.exists())
        .ok_or_else(|| format!("{program} is not installed"))?;
    let mut child = Command::new(path)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let Some(out) = child.stdout.take() else {
        return Err(format!("{program} has no output"));
    };
    let (sender, receiver) = sync_channel(1);
    let reader = thread::Builder::new().name(format!("read {program}"));
    let reader = reader.spawn(move || {
        let mut bytes = Vec::new();
        let outcome = out.take(MAX_OUTPUT).read_to_end(&mut bytes);
        // The receiver is gone once the time is over.
        let _late = sender.send(outcome.map(|_| bytes));
    });
    let answer = match reader {
        Ok(_) => receiver.recv_timeout(PATIENCE).ok(),
        Err(_) => None,
    };
    if answer.is_none() {
        // It may have ended by itself meanwhile.
        let _gone = child.kill();
    }
    let status = child.wait().map_err(words)?;
    match answer {
        Some(Ok(bytes)) if status.success() => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(Ok(_)) => Err(format!("{program} refused, as it does without root")),
        Some(Err(error)) => Err(format!("{program}: {error}")),
        None => Err(format!("{program} did not answer")),
    }
}

/// Asks the kernel, and reads until the answer is complete.
fn ask(request: &[u8]) -> io::Result<netlink::Reply> {
    let mut socket = Socket::new(Domain::from(NETLINK), Type::DGRAM, None)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(request)?;
    let mut whole = netlink::Reply::default();
    let mut buffer = vec![0; 1 << 18];
    while !whole.is_last {
        let n_bytes = socket.read(&mut buffer)?;
        let part = netlink::read_reply(buffer.get(..n_bytes).unwrap_or_default());
        whole.links.extend(part.links);
        whole.addrs.extend(part.addrs);
        whole.routes.extend(part.routes);
        whole.error = whole.error.or(part.error);
        whole.is_last = part.is_last;
    }
    Ok(whole)
}

fn links() -> Seen<Vec<Link>> {
    let mut links = ask(&netlink::request_links()).map_err(words)?.links;
    let addrs = ask(&netlink::request_addrs()).map_err(words)?.addrs;
    for (index, addr) in addrs {
        if let Some(link) = links.iter_mut().find(|link| link.index == index) {
            link.addrs.push(addr);
        }
    }
    Ok(links)
}

fn route(addr: IpAddr) -> Seen<Option<Route>> {
    let way = ask(&netlink::request_route(addr, Ask::Way)).map_err(words)?;
    let entry = ask(&netlink::request_route(addr, Ask::Entry)).map_err(words)?;
    match (way.routes.into_iter().next(), way.error) {
        (Some(mut route), _) => {
            // Where the kernel cannot report which entry it was, it was not the default route.
            let entry = entry.routes.first();
            route.prefix_len = entry.map_or(1, |entry| entry.prefix_len);
            Ok(Some(route))
        }
        (None, None) => Ok(None),
        (None, Some(code)) if NO_ROUTE.contains(&code) => Ok(None),
        (None, Some(code)) => Err(words(io::Error::from_raw_os_error(code))),
    }
}

fn settings() -> BTreeMap<&'static str, u64> {
    let read_one = |name: &&'static str| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        Some((*name, read(&path).ok()?.trim().parse().ok()?))
    };
    SETTINGS.iter().filter_map(read_one).collect()
}

fn rp_filter(links: &[Link]) -> BTreeMap<String, u64> {
    let names = links.iter().map(|link| link.name.as_str()).chain(["all"]);
    let read_one = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/conf/{name}/rp_filter");
        Some((name.to_string(), read(&path).ok()?.trim().parse().ok()?))
    };
    names.filter_map(read_one).collect()
}

fn granted_bytes(group: Option<&Group>) -> Seen<u64> {
    let wanted = group.and_then(|group| group.recv_buf_size);
    let wanted = wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
    let granted = udpm::granted_receive_buffer(wanted);
    granted.map(|bytes| bytes as u64).map_err(words)
}

pub(crate) fn sockets() -> Seen<Vec<proc::Socket>> {
    let mut sockets = proc::sockets(&read("/proc/net/udp")?);
    // Not there where IPv6 is turned off.
    sockets.extend(read("/proc/net/udp6").map_or(Vec::new(), |text| proc::sockets(&text)));
    Ok(sockets)
}

/// The processes whose sockets may be seen; those of others need root.
pub(crate) fn owners() -> Vec<Owner> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let owner = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let inode = |link: fs::DirEntry| {
            let target = fs::read_link(link.path()).ok()?;
            let inode = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?;
            inode.parse().ok()
        };
        let links = fs::read_dir(entry.path().join("fd")).ok()?;
        let inodes: Vec<u64> = links.flatten().filter_map(inode).collect();
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        (!inodes.is_empty()).then(|| Owner {
            pid,
            name: name.trim().to_string(),
            inodes,
        })
    };
    processes.filter_map(owner).collect()
}

/// Binds as a receiver does, for a moment.
fn can_share_port(group: &Group, link_index: u32) -> io::Result<bool> {
    let addr = group.socket_addr(link_index);
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    match socket.bind(&SockAddr::from(addr)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(false),
        Err(error) => Err(error),
    }
}

fn memberships() -> Seen<Vec<(String, IpAddr)>> {
    let mut found = proc::memberships(&read("/proc/net/igmp")?);
    found.extend(read("/proc/net/igmp6").map_or(Vec::new(), |text| proc::memberships6(&text)));
    Ok(found)
}

#[expect(
    clippy::disallowed_methods,
    reason = "whether the clock is right is what is asked"
)]
fn host() -> Host {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let utime = since_epoch.map_or(0, |time| time.as_micros());
    let synchronised = run(
        "timedatectl",
        &["show", "--property=NTPSynchronized", "--value"],
    );
    Host {
        utime: i64::try_from(utime).unwrap_or(i64::MAX),
        is_clock_synchronised: match synchronised {
            Ok(answer) if answer.trim() == "yes" => Ok(true),
            Ok(answer) if answer.trim() == "no" => Ok(false),
            Ok(_) => Err("timedatectl gave no answer".to_string()),
            Err(reason) => Err(reason.replace(", as it does without root", "")),
        },
        container: container(),
        is_wsl: read("/proc/version")
            .is_ok_and(|version| version.to_ascii_lowercase().contains("microsoft")),
        shared_memory: shared_memory(),
        lockable_bytes: read("/proc/self/limits").and_then(|text| {
            proc::locked_memory(&text).ok_or_else(|| "the limit is not listed".to_string())
        }),
    }
}

fn container() -> Option<String> {
    let marks = [("/.dockerenv", "Docker"), ("/run/.containerenv", "podman")];
    let marked = marks.iter().find(|(path, _)| Path::new(path).exists());
    let kubernetes = ("/var/run/secrets/kubernetes.io", "Kubernetes");
    marked
        .or(Some(&kubernetes).filter(|(path, _)| Path::new(path).exists()))
        .map(|(_, name)| (*name).to_string())
}

#[cfg(unix)]
fn shared_memory() -> Seen<SharedMemory> {
    use std::os::unix::fs::MetadataExt as _;
    let size = proc::shared_memory(&read("/proc/self/mountinfo")?, &read("/proc/meminfo")?);
    let size = size.ok_or_else(|| "/dev/shm is not mounted".to_string())?;
    let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    // st_blocks counts 512 bytes, whatever the file system's own blocks are.
    let used = files.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512));
    Ok(SharedMemory {
        size,
        used: used.sum(),
    })
}

#[cfg(not(unix))]
fn shared_memory() -> Seen<SharedMemory> {
    Err("this system has no /dev/shm".to_string())
}

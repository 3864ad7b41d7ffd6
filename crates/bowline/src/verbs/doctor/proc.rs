//! The kernel's tables below /proc, from text. What a line does not contain is left out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A UDP socket, from /proc/net/udp or udp6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) addr: IpAddr,
    pub(crate) port: u16,
    pub(crate) inode: u64,
    pub(crate) n_drops: u64,
}

pub(crate) fn sockets(text: &str) -> Vec<Socket> {
    let socket = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (addr, port) = columns.get(1)?.split_once(':')?;
        Some(Socket {
            addr: address(addr)?,
            port: u16::from_str_radix(port, 16).ok()?,
            inode: columns.get(9)?.parse().ok()?,
            n_drops: columns.get(12)?.parse().ok()?,
        })
    };
    text.lines().skip(1).filter_map(socket).collect()
}

/// The memberships of /proc/net/igmp: interface and group.
pub(crate) fn memberships(text: &str) -> Vec<(String, IpAddr)> {
    let mut device = String::new();
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        match columns.as_slice() {
            [_, name, ":", ..] => device = (*name).to_string(),
            [group, ..] if line.starts_with('\t') => {
                found.extend(address(group).map(|group| (device.clone(), group)));
            }
            _ => {}
        }
    }
    found
}

/// The memberships of /proc/net/igmp6, whose addresses are in the order of the network.
pub(crate) fn memberships6(text: &str) -> Vec<(String, IpAddr)> {
    let membership = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let digits = columns.get(2).filter(|digits| digits.len() == 32)?;
        let group = u128::from_str_radix(digits, 16).ok()?;
        Some(((*columns.get(1)?).to_string(), Ipv6Addr::from(group).into()))
    };
    text.lines().filter_map(membership).collect()
}

/// The counters of /proc/net/snmp, by names such as `Udp.RcvbufErrors`.
pub(crate) fn counters(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = BTreeMap::new();
    for pair in lines.chunks(2) {
        let [names, values] = pair else { break };
        let Some((group, names)) = names.split_once(": ") else {
            continue;
        };
        let values = values.split_whitespace().skip(1);
        for (name, value) in names.split_whitespace().zip(values) {
            // TCP has a limit of -1 among its counters.
            counters.extend(
                value
                    .parse()
                    .map(|value| (format!("{group}.{name}"), value)),
            );
        }
    }
    counters
}

/// The effective user of /proc/self/status.
pub(crate) fn user_id(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// How many bytes this process may lock in memory, from /proc/self/limits; all of it where there is no limit.
pub(crate) fn locked_memory(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        soft => soft.parse().ok(),
    }
}

/// The size of /dev/shm from /proc/self/mountinfo; half of all memory where the mount has none.
pub(crate) fn shared_memory(mounts: &str, meminfo: &str) -> Option<u64> {
    let mount = mounts
        .lines()
        .rfind(|line| line.split(' ').nth(4) == Some("/dev/shm"))?;
    let size = mount
        .rsplit(' ')
        .next()?
        .split(',')
        .find_map(|option| option.strip_prefix("size="));
    match size {
        Some(size) => kibibytes(size.strip_suffix('k')?),
        None => {
            let total = meminfo
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?;
            kibibytes(total.split_whitespace().next()?).map(|bytes| bytes / 2)
        }
    }
}

fn kibibytes(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(1024)
}

/// An address as the kernel prints one: words of four bytes in hexadecimal, in the machine's order.
#[expect(
    clippy::host_endian_bytes,
    reason = "the kernel prints the bytes of the address as this machine's numbers"
)]
fn address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = text.get(at..at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    if text.len() == 8 {
        return Some(Ipv4Addr::from(word(0)?).into());
    }
    let words = [word(0)?, word(8)?, word(16)?, word(24)?];
    let octets: [u8; 16] = words.concat().try_into().ok()?;
    let addr = Ipv6Addr::from(octets);
    Some(addr.to_ipv4_mapped().map_or(addr.into(), IpAddr::V4))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 76, 67));

    #[test]
    fn recorded_sockets_are_read_with_their_drops() {
        let found = sockets(include_str!("recorded/udp.txt"));
        assert_eq!(found.len(), 2);
        let receiver = found.iter().find(|socket| socket.port == 7667).unwrap();
        assert_eq!(receiver.addr, GROUP);
        assert_eq!(receiver.n_drops, 17);
        let found = sockets(include_str!("recorded/udp6.txt"));
        assert_eq!(
            (found[0].port, found[0].addr),
            (7668, "::".parse().unwrap())
        );
    }

    #[test]
    fn recorded_memberships_are_read() {
        let lo = |group: &str| ("lo".to_string(), group.parse::<IpAddr>().unwrap());
        assert_eq!(
            memberships(include_str!("recorded/igmp.txt")),
            [lo("239.255.76.67"), lo("224.0.0.1")]
        );
        assert_eq!(
            memberships6(include_str!("recorded/igmp6.txt")),
            [lo("ff02::1"), lo("ff01::1")]
        );
    }

    #[test]
    fn recorded_counters_are_read() {
        let found = counters(include_str!("recorded/snmp.txt"));
        assert_eq!(found["Udp.RcvbufErrors"], 17);
        assert_eq!(found["Ip.ReasmFails"], 0);
        assert!(!found.contains_key("Tcp.MaxConn"));
    }

    #[test]
    fn limits_and_sizes_are_read() {
        assert_eq!(user_id("Name:\tsh\nUid:\t1000\t0\t0\t0\n"), Some(0));
        let limit =
            "Max locked memory         8388608              8388608              bytes     \n";
        assert_eq!(locked_memory(limit), Some(8_388_608));
        let mounts = "25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=65536k\n";
        assert_eq!(shared_memory(mounts, ""), Some(64 << 20));
        let mounts = "25 24 0:23 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,inode64\n";
        assert_eq!(shared_memory(mounts, "MemTotal:       8 kB\n"), Some(4096));
    }

    #[test]
    fn nonsense_is_nothing() {
        for text in ["", "\n\n", "a\nb\nc", "x\n 1: zz:zz 2\n\t\t9\n"] {
            assert!(sockets(text).is_empty());
            assert!(memberships(text).is_empty());
            assert!(memberships6(text).is_empty());
            assert!(counters(text).is_empty());
            assert_eq!(shared_memory(text, text), None);
        }
    }
}

//! What a URL of a group means, read as leniently as its author may have meant it, with every fault in it.

use super::group::{DEFAULT_ADDRESS, DEFAULT_PORT};
use crate::diagnosis::{Examination, Fault, Group, Place, Verdict};
use crate::schemes::Scheme;
use crate::url::Url;
use std::net::{IpAddr, Ipv4Addr};

/// Examines a URL of a transport that uses multicast.
pub(crate) fn examine(row: &'static Scheme, url: &Url) -> Examination {
    let mut examiner = Examiner {
        row,
        faults: Vec::new(),
    };
    let place = examiner.group(url).map(|group| Place {
        description: describe(&group),
        group: Some(group),
    });
    Examination {
        place,
        faults: examiner.faults,
    }
}

fn describe(group: &Group) -> String {
    let iface = group.iface.as_deref();
    let iface = iface.map_or(String::new(), |iface| format!(", on {iface}"));
    let reach = match group.ttl {
        0 => "this host only",
        1 => "this network",
        _ => "beyond this network",
    };
    format!(
        "Group {}, port {}, ttl {} ({reach}){iface}.",
        group.addr, group.port, group.ttl
    )
}

struct Examiner {
    row: &'static Scheme,
    faults: Vec<Fault>,
}

impl Examiner {
    fn fault(
        &mut self,
        verdict: Verdict,
        found: impl Into<String>,
        why: &'static str,
        instead: Option<String>,
    ) {
        self.faults.push(Fault {
            verdict,
            found: found.into(),
            why,
            instead,
        });
    }

    fn group(&mut self, url: &Url) -> Option<Group> {
        let (host, port) = split_port(url.address());
        let addr = match host {
            "" => Ok(DEFAULT_ADDRESS.into()),
            host => host.parse::<IpAddr>(),
        };
        let Ok(addr) = addr else {
            self.fault(
                Verdict::Bad,
                format!("Expected the address of a group in numbers, found {host:?}."),
                "A multicast group has no name to look up.",
                Some(self.row.example.to_owned()),
            );
            return None;
        };
        // Without an address all programs take the same port; LCM's have none for an address without one.
        let port = match url.address() {
            "" => DEFAULT_PORT,
            _ => self.port(port, host)?,
        };
        let mut group = Group {
            addr,
            port,
            ttl: 0,
            iface: None,
            recv_buf_size: None,
        };
        for (key, value) in url.pairs() {
            self.option(&mut group, key, value);
        }
        self.is_group(&group).then_some(group)
    }

    fn port(&mut self, port: Option<&str>, host: &str) -> Option<u16> {
        let instead = format!("{}://{host}:{DEFAULT_PORT}?ttl=0", self.row.name);
        match port.map(str::parse::<u16>) {
            None => {
                self.fault(
                    Verdict::Warn,
                    format!("The URL names no port; Bowline takes {DEFAULT_PORT}."),
                    "LCM's own programs take port 0 then, and give up after ten seconds.",
                    Some(instead),
                );
                Some(DEFAULT_PORT)
            }
            Some(Ok(0) | Err(_)) => {
                let port = port.unwrap_or_default();
                self.fault(
                    Verdict::Bad,
                    format!("Expected a port from 1 to 65535, found {port:?}."),
                    "Sender and receiver meet at the port.",
                    Some(instead),
                );
                None
            }
            Some(Ok(port)) => Some(port),
        }
    }

    fn option(&mut self, group: &mut Group, key: &str, value: &str) {
        match key {
            "ttl" => match value.parse() {
                Ok(ttl) => group.ttl = ttl,
                Err(_) => self.fault(
                    Verdict::Bad,
                    format!("Expected a ttl from 0 to 255, found {value:?}."),
                    "The ttl is how far messages travel: 0 this host, 1 this network.",
                    Some(group.url(1)),
                ),
            },
            "recv_buf_size" => match value.parse() {
                Ok(size) => group.recv_buf_size = Some(size),
                Err(_) => self.fault(
                    Verdict::Bad,
                    format!("Expected recv_buf_size in bytes, found {value:?}."),
                    "LCM reads it as 0 then, and the kernel gives its smallest buffer.",
                    Some(group.url(group.ttl) + "&recv_buf_size=4194304"),
                ),
            },
            "iface" => group.iface = Some(value.to_owned()),
            key if self.row.options.iter().any(|option| option.name == key) => {}
            _ => self.fault(
                Verdict::Warn,
                format!("The option {key:?} is not known."),
                "LCM's programs ignore what they do not know: check the spelling.",
                None,
            ),
        }
    }

    fn is_group(&mut self, group: &Group) -> bool {
        let instead = format!(
            "{}://{DEFAULT_ADDRESS}:{}?ttl={}",
            self.row.name, group.port, group.ttl
        );
        if !group.addr.is_multicast() {
            self.fault(
                Verdict::Bad,
                format!(
                    "Expected a group, 224.0.0.0 to 239.255.255.255 or ff00::/8, found {}.",
                    group.addr
                ),
                "Only groups reach every receiver; joining any other address fails.",
                Some(instead),
            );
            return false;
        }
        if let IpAddr::V4(addr) = group.addr
            && (matches!(addr.octets(), [224, 0, 0, _]) || addr == Ipv4Addr::new(224, 0, 1, 1))
        {
            self.fault(
                Verdict::Warn,
                format!("{addr} is reserved for routing and time protocols."),
                "Switches flood 224.0.0.x to every port, and other programs use it.",
                Some(instead),
            );
        }
        true
    }
}

/// An address and what follows its last colon; IPv6 addresses are in brackets.
fn split_port(network: &str) -> (&str, Option<&str>) {
    if let Some(rest) = network.strip_prefix('[')
        && let Some((host, after)) = rest.split_once(']')
    {
        return (host, after.strip_prefix(':'));
    }
    match network.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        Some(_) | None => (network, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::Schemes;
    use std::net::SocketAddr;

    fn parse(text: &str) -> Examination {
        let url = Url::parse(text).unwrap();
        Schemes::built_in().examine(&url).unwrap().1
    }

    fn group(text: &str) -> Group {
        let Examination { place, faults } = parse(text);
        assert_eq!(faults, [], "{text}");
        place.unwrap().group.unwrap()
    }

    #[test]
    fn every_part_of_a_group_is_read() {
        let group = group(
            "udpm://[ff02::1]:7000?ttl=3&iface=eth0?recv_buf_size=99&max_datagram=1400&batch=1ms",
        );
        let expected: SocketAddr = "[ff02::1]:7000".parse().unwrap();
        assert_eq!(SocketAddr::new(group.addr, group.port), expected);
        assert_eq!(group.ttl, 3);
        assert_eq!(group.iface.as_deref(), Some("eth0"));
        assert_eq!(group.recv_buf_size, Some(99));
    }

    #[test]
    fn url_without_a_group_means_the_default() {
        for text in ["udpm://", "udpm://?ttl=1", "mpudpm://?nports=3"] {
            let Group { addr, port, .. } = group(text);
            assert_eq!((addr, port), (DEFAULT_ADDRESS.into(), DEFAULT_PORT));
        }
    }

    #[test]
    fn each_fault_has_a_verdict() {
        for (text, verdict, part) in [
            ("udpm://239.255.76.67", Verdict::Warn, "no port"),
            ("udpm://239.255.76.67:0", Verdict::Bad, "\"0\""),
            ("udpm://239.255.76.67:76670", Verdict::Bad, "\"76670\""),
            ("udpm://robot:7667", Verdict::Bad, "\"robot\""),
            ("udpm://192.168.0.7:7667", Verdict::Bad, "192.168.0.7"),
            ("udpm://224.0.0.251:7667", Verdict::Warn, "reserved"),
            ("udpm://239.255.76.67:7667?ttl=256", Verdict::Bad, "\"256\""),
            ("udpm://239.255.76.67:7667?tll=1", Verdict::Warn, "\"tll\""),
            (
                "udpm://239.255.76.67:7667?nports=1",
                Verdict::Warn,
                "nports",
            ),
            (
                "udpm://239.255.76.67:7667?recv_buf_size=4M",
                Verdict::Bad,
                "4M",
            ),
        ] {
            let faults = parse(text).faults;
            let [fault] = faults.as_slice() else {
                panic!("{text}: {faults:?}");
            };
            assert_eq!(fault.verdict, verdict, "{text}");
            assert!(fault.found.contains(part), "{text}: {fault:?}");
        }
    }
}

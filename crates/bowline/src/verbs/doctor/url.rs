//! Where the bus is: a URL in parts, with everything that is wrong about it.

use super::finding::Verdict;
use bowline_bus::{DEFAULT_URL, Url};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

/// The group where the URL names none.
const GROUP: &str = "239.255.76.67";
/// What a group's port is where the URL names none.
const UDP_PORT: u16 = 7667;
/// Where a hub listens where the URL names no port.
const TCP_PORT: u16 = 7700;

/// A URL, who chose it, and what it means as far as it means anything.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) text: String,
    pub(crate) origin: Origin,
    pub(crate) place: Option<Place>,
    pub(crate) faults: Vec<Fault>,
}

/// Who chose the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Argument,
    Variable(&'static str),
    Default,
}

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Multicast(Group),
    Hub { host: String, port: u16 },
    Log { path: String, mode: char },
    Process,
    SharedMemory,
}

/// A multicast group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) addr: IpAddr,
    pub(crate) port: u16,
    pub(crate) ttl: u8,
    pub(crate) iface: Option<String>,
    pub(crate) recv_buf_size: Option<u64>,
}

impl Group {
    /// Group and port, with the interface that the addresses of one network need beside them.
    pub(crate) fn socket_addr(&self, link_index: u32) -> SocketAddr {
        match self.addr {
            IpAddr::V4(addr) => (addr, self.port).into(),
            IpAddr::V6(addr) => SocketAddrV6::new(addr, self.port, 0, link_index).into(),
        }
    }

    /// The URL of this group with another ttl.
    pub(crate) fn url(&self, ttl: u8) -> String {
        format!("udpm://{}?ttl={ttl}", SocketAddr::new(self.addr, self.port))
    }
}

/// Something wrong with the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) verdict: Verdict,
    pub(crate) found: String,
    pub(crate) why: &'static str,
    /// The URL that was probably meant.
    pub(crate) instead: Option<String>,
}

impl Target {
    /// The URL that programs would use: the argument, then Bowline's variable, then LCM's, then the default. Empty is unset.
    pub(crate) fn choose(argument: Option<&str>, bowline: Option<&str>, lcm: Option<&str>) -> Self {
        let set = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_string);
        let choices = [
            (set(argument), Origin::Argument),
            (set(bowline), Origin::Variable("BOWLINE_URL")),
            (set(lcm), Origin::Variable("LCM_DEFAULT_URL")),
        ];
        let chosen = choices
            .into_iter()
            .find_map(|(text, origin)| Some((text?, origin)));
        let (text, origin) = chosen.unwrap_or_else(|| (DEFAULT_URL.to_string(), Origin::Default));
        let mut target = Self::parse(&text, origin);
        if let (Some(ours), Some(theirs), true) = (
            set(bowline),
            set(lcm),
            matches!(origin, Origin::Variable(_)),
        ) && ours != theirs
        {
            target.faults.push(Fault {
                verdict: Verdict::Warn,
                found: format!("BOWLINE_URL is {ours}, but LCM_DEFAULT_URL is {theirs}"),
                why: "LCM's own programs read only LCM_DEFAULT_URL, so they would be on another bus.",
                instead: Some(ours),
            });
        }
        target
    }

    fn parse(text: &str, origin: Origin) -> Self {
        let mut parser = Parser { faults: Vec::new() };
        let place = parser.place(text);
        Self {
            text: text.to_string(),
            origin,
            place,
            faults: parser.faults,
        }
    }

    /// The group, if messages go to one.
    pub(crate) fn group(&self) -> Option<&Group> {
        match &self.place {
            Some(Place::Multicast(group)) => Some(group),
            Some(Place::Hub { .. } | Place::Log { .. } | Place::Process | Place::SharedMemory)
            | None => None,
        }
    }
}

struct Parser {
    faults: Vec<Fault>,
}

impl Parser {
    fn fault(&mut self, verdict: Verdict, found: String, why: &'static str, instead: Option<&str>) {
        self.faults.push(Fault {
            verdict,
            found,
            why,
            instead: instead.map(str::to_string),
        });
    }

    fn place(&mut self, text: &str) -> Option<Place> {
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => {
                // An option after & instead of ?, perhaps.
                let mended = text.replacen('&', "?", 1);
                let instead = Url::parse(&mended).map_or(DEFAULT_URL, |_| &*mended);
                self.fault(
                    Verdict::Bad,
                    format!("Expected a URL of a bus, found {text:?}: {}.", error.what()),
                    "Without one no program knows how to send.",
                    Some(instead),
                );
                return None;
            }
        };
        let (scheme, network) = (url.scheme(), url.address());
        let options: Vec<(&str, &str)> = url.pairs().collect();
        match scheme {
            "udpm" | "mpudpm" => self.group(scheme, network, &options).map(Place::Multicast),
            "tcpq" => self.hub(network),
            "file" => Some(Place::Log {
                path: network.to_string(),
                mode: options
                    .iter()
                    .find(|(key, _)| *key == "mode")
                    .and_then(|(_, mode)| mode.chars().next())
                    .unwrap_or('r'),
            }),
            "memq" => Some(Place::Process),
            "shm" => Some(Place::SharedMemory),
            _ => {
                self.fault(
                    Verdict::Bad,
                    format!(
                        "Expected udpm, mpudpm, tcpq, shm, memq or file before \"://\", found {scheme:?}."
                    ),
                    "Programs refuse a scheme that they do not know.",
                    Some(DEFAULT_URL),
                );
                None
            }
        }
    }

    fn group(&mut self, scheme: &str, network: &str, options: &[(&str, &str)]) -> Option<Group> {
        let (host, port) = split_port(network);
        let host = if host.is_empty() { GROUP } else { host };
        let Ok(addr) = host.parse::<IpAddr>() else {
            self.fault(
                Verdict::Bad,
                format!("Expected the address of a group in numbers, found {host:?}."),
                "A multicast group has no name to look up.",
                Some(DEFAULT_URL),
            );
            return None;
        };
        // Where nothing is named, everyone takes the same; LCM's programs only miss a port after an address.
        let port = match network {
            "" => UDP_PORT,
            _ => self.port(port, host, scheme)?,
        };
        let mut group = Group {
            addr,
            port,
            ttl: 0,
            iface: None,
            recv_buf_size: None,
        };
        for (key, value) in options {
            self.option(&mut group, key, value);
        }
        self.is_group(&group, scheme).then_some(group)
    }

    fn port(&mut self, port: Option<&str>, host: &str, scheme: &str) -> Option<u16> {
        let instead = format!("{scheme}://{host}:{UDP_PORT}?ttl=0");
        match port.map(str::parse::<u16>) {
            None => {
                self.fault(
                    Verdict::Warn,
                    format!("The URL names no port; Bowline takes {UDP_PORT}."),
                    "LCM's own programs take port 0 then, and give up after ten seconds.",
                    Some(&instead),
                );
                Some(UDP_PORT)
            }
            Some(Ok(0)) | Some(Err(_)) => {
                self.fault(
                    Verdict::Bad,
                    format!(
                        "Expected a port from 1 to 65535, found {:?}.",
                        port.unwrap_or_default()
                    ),
                    "Sender and receiver meet at the port.",
                    Some(&instead),
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
                    "The ttl says how far messages travel: 0 this host, 1 this network.",
                    Some(&group.url(1)),
                ),
            },
            "recv_buf_size" => match value.parse() {
                Ok(size) => group.recv_buf_size = Some(size),
                Err(_) => self.fault(
                    Verdict::Bad,
                    format!("Expected recv_buf_size in bytes, found {value:?}."),
                    "LCM reads it as 0 then, and the kernel gives its smallest buffer.",
                    Some(&(group.url(group.ttl) + "&recv_buf_size=4194304")),
                ),
            },
            "iface" => group.iface = Some(value.to_string()),
            // Known to a transport, and no concern of ours.
            "nports" | "batch" | "transmit_only" => {}
            _ => self.fault(
                Verdict::Warn,
                format!("The option {key:?} is not known."),
                "LCM's programs ignore what they do not know: check the spelling.",
                None,
            ),
        }
    }

    fn is_group(&mut self, group: &Group, scheme: &str) -> bool {
        if !group.addr.is_multicast() {
            self.fault(
                Verdict::Bad,
                format!(
                    "Expected a group, 224.0.0.0 to 239.255.255.255 or ff00::/8, found {}.",
                    group.addr
                ),
                "Only groups reach every receiver; joining any other address fails.",
                Some(&format!(
                    "{scheme}://239.255.76.67:{}?ttl={}",
                    group.port, group.ttl
                )),
            );
            return false;
        }
        if let IpAddr::V4(addr) = group.addr
            && (addr.octets()[..3] == [224, 0, 0] || addr == Ipv4Addr::new(224, 0, 1, 1))
        {
            self.fault(
                Verdict::Warn,
                format!("{addr} is reserved for routing and time protocols."),
                "Switches flood 224.0.0.x to every port, and other programs use it.",
                Some(&format!(
                    "{scheme}://239.255.76.67:{}?ttl={}",
                    group.port, group.ttl
                )),
            );
        }
        true
    }

    fn hub(&mut self, network: &str) -> Option<Place> {
        let (host, port) = split_port(network);
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        match port.map_or(Ok(TCP_PORT), str::parse) {
            Ok(port) => Some(Place::Hub {
                host: host.to_string(),
                port,
            }),
            Err(_) => {
                self.fault(
                    Verdict::Bad,
                    format!(
                        "Expected a port from 1 to 65535, found {:?}.",
                        port.unwrap_or_default()
                    ),
                    "The hub listens at one port.",
                    Some(&format!("tcpq://{host}:{TCP_PORT}")),
                );
                None
            }
        }
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

    fn parse(text: &str) -> Target {
        Target::choose(Some(text), None, None)
    }

    #[test]
    fn the_argument_comes_first_then_our_variable_then_lcms_then_the_default() {
        let choose = |argument, bowline, lcm| {
            let target = Target::choose(argument, bowline, lcm);
            (target.text, target.origin)
        };
        let (a, b, c) = (Some("memq://a"), Some("memq://b"), Some("memq://c"));
        assert_eq!(choose(a, b, c), ("memq://a".into(), Origin::Argument));
        assert_eq!(
            choose(None, b, c),
            ("memq://b".into(), Origin::Variable("BOWLINE_URL"))
        );
        assert_eq!(
            choose(None, Some(""), c),
            ("memq://c".into(), Origin::Variable("LCM_DEFAULT_URL"))
        );
        assert_eq!(
            choose(None, None, None),
            (DEFAULT_URL.into(), Origin::Default)
        );
    }

    #[test]
    fn variables_that_disagree_are_a_warning() {
        let target = Target::choose(None, Some("memq://b"), Some("memq://c"));
        assert_eq!(target.faults.len(), 1);
        assert!(
            Target::choose(None, Some("memq://b"), Some("memq://b"))
                .faults
                .is_empty()
        );
        assert!(
            Target::choose(Some("memq://"), Some("memq://b"), Some("memq://c"))
                .faults
                .is_empty()
        );
    }

    #[test]
    fn every_part_of_a_group_is_read() {
        let target = parse("udpm://[ff02::1]:7000?ttl=3&iface=eth0?recv_buf_size=99");
        assert_eq!(target.faults, []);
        let group = target.group().unwrap();
        assert_eq!(group.addr, "ff02::1".parse::<IpAddr>().unwrap());
        assert_eq!((group.port, group.ttl), (7000, 3));
        assert_eq!(group.iface.as_deref(), Some("eth0"));
        assert_eq!(group.recv_buf_size, Some(99));
    }

    #[test]
    fn mistakes_in_a_url_get_a_verdict() {
        for (text, verdict, part) in [
            ("239.255.76.67:7667", Verdict::Bad, "scheme"),
            ("udp://239.255.76.67:7667", Verdict::Bad, "\"udp\""),
            ("udpm://239.255.76.67", Verdict::Warn, "no port"),
            ("udpm://239.255.76.67:0", Verdict::Bad, "\"0\""),
            ("udpm://239.255.76.67:76670", Verdict::Bad, "\"76670\""),
            ("udpm://robot:7667", Verdict::Bad, "\"robot\""),
            ("udpm://192.168.0.7:7667", Verdict::Bad, "192.168.0.7"),
            ("udpm://224.0.0.251:7667", Verdict::Warn, "reserved"),
            ("udpm://239.255.76.67:7667?ttl=256", Verdict::Bad, "\"256\""),
            ("udpm://239.255.76.67:7667?tll=1", Verdict::Warn, "\"tll\""),
            (
                "udpm://239.255.76.67:7667?recv_buf_size=4M",
                Verdict::Bad,
                "4M",
            ),
            ("tcpq://robot:hub", Verdict::Bad, "\"hub\""),
        ] {
            let faults = parse(text).faults;
            assert_eq!(faults.len(), 1, "{text}: {faults:?}");
            assert_eq!(faults[0].verdict, verdict, "{text}");
            assert!(faults[0].found.contains(part), "{text}: {faults:?}");
        }
    }

    #[test]
    fn a_url_that_names_no_group_is_everyone_s_default() {
        for text in ["udpm://", "udpm://?ttl=1", "mpudpm://"] {
            let target = parse(text);
            assert_eq!(target.faults, [], "{text}");
            let group = target.group().unwrap();
            assert_eq!(
                (group.addr.to_string().as_str(), group.port),
                (GROUP, UDP_PORT)
            );
        }
    }

    #[test]
    fn an_option_after_the_wrong_letter_is_put_right() {
        let target = parse("udpm://239.255.76.67:7667&ttl=0&iface=lo");
        let [fault] = target.faults.as_slice() else {
            panic!("{:?}", target.faults);
        };
        assert!(fault.found.contains("did you mean"), "{fault:?}");
        let instead = "udpm://239.255.76.67:7667?ttl=0&iface=lo";
        assert_eq!(fault.instead.as_deref(), Some(instead));
    }

    #[test]
    fn other_schemes_are_understood() {
        let hub = |host: &str, port| {
            Some(Place::Hub {
                host: host.into(),
                port,
            })
        };
        assert_eq!(parse("tcpq://").place, hub("127.0.0.1", 7700));
        assert_eq!(parse("tcpq://robot:1234").place, hub("robot", 1234));
        assert_eq!(
            parse("file:///tmp/a.lcm?mode=w").place,
            Some(Place::Log {
                path: "/tmp/a.lcm".into(),
                mode: 'w'
            })
        );
        assert_eq!(parse("memq://").place, Some(Place::Process));
    }
}

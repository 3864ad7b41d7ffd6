//! The kernel's own answers about interfaces and routes, from bytes: requests are built and replies read here, sent and
//! received in `gather.rs`. Programs such as `ip` need not be installed, and /sys is of no use in a network namespace.
//!
//! ```text
//!  0               4       6       8               12              16
//! ┌───────────────┬───────┬───────┬───────────────┬───────────────┬──────────────┬────────────────┐
//! │ length        │ type  │ flags │ sequence      │ port          │ fixed header │ attributes ... │
//! └───────────────┴───────┴───────┴───────────────┴───────────────┴──────────────┴────────────────┘
//! an attribute: u16 length with these four bytes, u16 type, value, padding to four bytes; all in native order
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDR: u16 = 20;
const GET_ADDR: u16 = 22;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Asks for the entry of the table that matched, not for what was made of it.
const FIB_MATCH: u32 = 0x2000;
/// The bits of an attribute's type that are not flags.
const TYPE_MASK: u16 = 0x3fff;

const FLAG_UP: u32 = 1;
const FLAG_LOOPBACK: u32 = 8;
const FLAG_MULTICAST: u32 = 0x1000;
const FLAG_LOWER_UP: u32 = 0x1_0000;

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    flags: u32,
    pub(crate) mtu: u32,
    /// What makes it when no hardware does: `bridge`, `veth`, `tun`.
    pub(crate) kind: Option<String>,
    /// A bridge that forwards groups only where a host joined, without a querier.
    pub(crate) is_deaf_bridge: bool,
    pub(crate) addrs: Vec<IpAddr>,
}

impl Link {
    pub(crate) fn is_up(&self) -> bool {
        self.flags & FLAG_UP != 0
    }

    pub(crate) fn has_carrier(&self) -> bool {
        self.flags & FLAG_LOWER_UP != 0
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.flags & FLAG_LOOPBACK != 0
    }

    pub(crate) fn is_multicast(&self) -> bool {
        self.flags & FLAG_MULTICAST != 0
    }

    #[cfg(test)]
    pub(crate) fn fake(index: u32, name: &str, words: &[&str]) -> Self {
        let flag = |word: &&str| match *word {
            "up" => FLAG_UP | FLAG_LOWER_UP,
            "loopback" => FLAG_LOOPBACK,
            "multicast" => FLAG_MULTICAST,
            other => unreachable!("no flag {other}"),
        };
        Self {
            index,
            name: name.into(),
            flags: words.iter().map(flag).sum(),
            mtu: if words.contains(&"loopback") {
                65536
            } else {
                1500
            },
            ..Self::default()
        }
    }
}

/// Which way packets to an address go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) link_index: u32,
    pub(crate) source: Option<IpAddr>,
    /// How many bits of the address the route is for; 0 is the default route.
    pub(crate) prefix_len: u8,
}

/// Asks for every interface.
pub(crate) fn request_links() -> Vec<u8> {
    request(GET_LINK, REQUEST | DUMP, &[0; 16])
}

/// Asks for every address.
pub(crate) fn request_addrs() -> Vec<u8> {
    request(GET_ADDR, REQUEST | DUMP, &[0; 8])
}

/// What to ask about a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Where a packet would go.
    Way,
    /// Which entry of the table decides.
    Entry,
}

/// Asks which way a packet to `addr` would go.
pub(crate) fn request_route(addr: IpAddr, ask: Ask) -> Vec<u8> {
    let (family, bytes) = match addr {
        IpAddr::V4(addr) => (AF_INET, addr.octets().to_vec()),
        IpAddr::V6(addr) => (AF_INET6, addr.octets().to_vec()),
    };
    let n_bits = u8::try_from(bytes.len() * 8).expect("an address has at most 128 bits");
    let flags = if ask == Ask::Entry { FIB_MATCH } else { 0 };
    let mut body = vec![family, n_bits, 0, 0, 0, 0, 0, 0];
    body.extend(native_u32(flags));
    let length = u16::try_from(4 + bytes.len()).expect("an address is short");
    body.extend(native_u16(length));
    body.extend(native_u16(1));
    body.extend(bytes);
    request(GET_ROUTE, REQUEST, &body)
}

fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).expect("a request is short");
    let mut bytes = native_u32(length).to_vec();
    bytes.extend(native_u16(kind));
    bytes.extend(native_u16(flags));
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

/// The contents of one datagram from the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) links: Vec<Link>,
    pub(crate) addrs: Vec<(u32, IpAddr)>,
    pub(crate) routes: Vec<Route>,
    /// The kernel's errno, positive.
    pub(crate) error: Option<i32>,
    /// Whether no more datagrams follow.
    pub(crate) is_last: bool,
}

/// Reads a datagram; what is cut short or unknown is left out.
pub(crate) fn read_reply(mut bytes: &[u8]) -> Reply {
    let mut reply = Reply::default();
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        let Some(body) = bytes.get(16..length) else {
            break;
        };
        match kind {
            NEW_LINK => reply.links.extend(read_link(body)),
            NEW_ADDR => reply.addrs.extend(read_addr(body)),
            NEW_ROUTE => {
                reply.routes.extend(read_route(body));
                reply.is_last = true;
            }
            ERROR => {
                reply.error = u32_at(body, 0).map(|code| code.cast_signed().wrapping_neg());
                reply.is_last = true;
            }
            DONE => reply.is_last = true,
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    reply
}

fn read_link(body: &[u8]) -> Option<Link> {
    let mut link = Link {
        index: u32_at(body, 4)?,
        flags: u32_at(body, 8)?,
        ..Link::default()
    };
    for (kind, value) in Attributes(body.get(16..)?) {
        match kind {
            3 => link.name = text(value),
            4 => link.mtu = u32_at(value, 0)?,
            18 => read_link_info(value, &mut link),
            _ => {}
        }
    }
    Some(link)
}

fn read_link_info(info: &[u8], link: &mut Link) {
    let (mut is_snooping, mut is_querying) = (false, false);
    for (kind, value) in Attributes(info) {
        match kind {
            1 => link.kind = Some(text(value)),
            2 if link.kind.as_deref() == Some("bridge") => {
                for (kind, value) in Attributes(value) {
                    match kind {
                        23 => is_snooping = value.first() == Some(&1),
                        25 => is_querying = value.first() == Some(&1),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    link.is_deaf_bridge = is_snooping && !is_querying;
}

fn read_addr(body: &[u8]) -> Option<(u32, IpAddr)> {
    let index = u32_at(body, 4)?;
    let mut found = None;
    for (kind, value) in Attributes(body.get(8..)?) {
        // The local address, where a link has two ends; else the only one.
        if kind == 2 || (kind == 1 && found.is_none()) {
            found = address(value);
        }
    }
    Some((index, found?))
}

fn read_route(body: &[u8]) -> Option<Route> {
    // Blackhole, unreachable and prohibit are routes that lead nowhere.
    if *body.get(7)? >= 6 {
        return None;
    }
    let mut route = Route {
        prefix_len: *body.get(1)?,
        ..Route::default()
    };
    for (kind, value) in Attributes(body.get(12..)?) {
        match kind {
            4 => route.link_index = u32_at(value, 0)?,
            7 => route.source = address(value),
            _ => {}
        }
    }
    Some(route)
}

struct Attributes<'b>(&'b [u8]);

impl<'b> Iterator for Attributes<'b> {
    type Item = (u16, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.0, 0)?);
        let kind = u16_at(self.0, 2)? & TYPE_MASK;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

fn address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(Ipv4Addr::from(octets).into());
    }
    let octets = <[u8; 16]>::try_from(value).ok()?;
    Some(Ipv6Addr::from(octets).into())
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&value[..end.unwrap_or(value.len())]).into_owned()
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink is a conversation with the kernel of this very machine"
)]
fn native_u32(number: u32) -> [u8; 4] {
    number.to_ne_bytes()
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink is a conversation with the kernel of this very machine"
)]
fn native_u16(number: u16) -> [u8; 2] {
    number.to_ne_bytes()
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink is a conversation with the kernel of this very machine"
)]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(word))
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink is a conversation with the kernel of this very machine"
)]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(word))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_loopback_interface_is_read() {
        let reply = read_reply(include_bytes!("recorded/links.bin"));
        let [link] = reply.links.as_slice() else {
            panic!("expected one interface, found {:?}", reply.links);
        };
        assert_eq!((link.name.as_str(), link.index, link.mtu), ("lo", 1, 65536));
        assert!(link.is_up() && link.is_loopback() && link.has_carrier());
        assert!(!link.is_multicast());
    }

    #[test]
    fn recorded_addresses_are_read() {
        let reply = read_reply(include_bytes!("recorded/addrs.bin"));
        let expected = ["127.0.0.1", "::1"].map(|addr| (1, addr.parse::<IpAddr>().unwrap()));
        assert_eq!(reply.addrs, expected);
    }

    #[test]
    fn recorded_routes_are_read_and_a_missing_one_is_the_kernels_error() {
        let way = read_reply(include_bytes!("recorded/route.bin"));
        assert_eq!(way.routes.first().map(|route| route.link_index), Some(1));
        let entry = read_reply(include_bytes!("recorded/entry.bin"));
        assert_eq!(entry.routes.first().map(|route| route.prefix_len), Some(4));
        let none = read_reply(include_bytes!("recorded/no_route.bin"));
        assert_eq!((none.error, none.routes.len()), (Some(101), 0));
    }

    #[test]
    fn replies_cut_short_anywhere_are_read_without_harm() {
        for whole in [
            &include_bytes!("recorded/links.bin")[..],
            include_bytes!("recorded/addrs.bin"),
            include_bytes!("recorded/route.bin"),
            include_bytes!("recorded/no_route.bin"),
        ] {
            for end in 0..whole.len() {
                read_reply(&whole[..end]);
            }
        }
    }
}

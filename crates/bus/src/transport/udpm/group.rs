//! A multicast group: its part of a URL, and sockets set up for it.

use crate::sys::{self, LinkNews};
use crate::transport::{ListenError, OpenError};
use crate::url::{BadUrl, Options, Url};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::AsFd as _;

pub(super) const DEFAULT_ADDRESS: Ipv4Addr = Ipv4Addr::new(239, 255, 76, 67);
pub(super) const DEFAULT_PORT: u16 = 7667;
/// From the kernel's headers; the `libc` crate does not have it.
const IPV6_MULTICAST_ALL: i32 = 29;

/// A group, and how to reach it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) address: SocketAddr,
    /// How many routers a datagram may cross; 0 keeps it on this host.
    pub(crate) ttl: u8,
    /// Where to send and listen; by the routes, otherwise.
    pub(crate) interface: Option<Interface>,
}

/// The way to a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) source: Option<IpAddr>,
    pub(crate) max_datagram: usize,
}

/// An interface as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    Name(String),
    Address(IpAddr),
}

impl Group {
    pub(crate) fn from_url(url: &Url, options: &mut Options<'_>) -> Result<Self, BadUrl> {
        let interface = options.text("iface").map(|text| match text.parse() {
            Ok(address) => Interface::Address(address),
            Err(_not_an_address) => Interface::Name(text.to_owned()),
        });
        let address = parse_address(url.address()).ok_or_else(|| {
            options.bad("expected GROUP:PORT such as 239.255.76.67:7667 or [ff02::4c43]:7667")
        })?;
        if !address.ip().is_multicast() {
            let what = format!(
                "expected a multicast group (224.0.0.0 to 239.255.255.255, or ff00::/8), found {}",
                address.ip()
            );
            return Err(options.bad(what));
        }
        if address.is_ipv6() && interface.is_none() && is_link_local(address) {
            return Err(options.bad("a link-local IPv6 group needs iface=NAME"));
        }
        Ok(Self {
            address,
            ttl: options.parse("ttl", "0 to 255")?.unwrap_or(0),
            interface,
        })
    }

    /// A socket to send from.
    pub(crate) fn sending_socket(&self) -> Result<Socket, OpenError> {
        let socket = self
            .socket()
            .map_err(OpenError::system("make a UDP socket"))?;
        let address = self.address.ip();
        let set_up = || {
            if self.address.is_ipv4() {
                socket.set_multicast_ttl_v4(self.ttl.into())?;
                socket.set_multicast_loop_v4(true)
            } else {
                socket.set_multicast_hops_v6(self.ttl.into())?;
                socket.set_multicast_loop_v6(true)
            }
        };
        set_up().map_err(OpenError::system(format!("set up a socket for {address}")))?;
        let anywhere: SocketAddr = match self.address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let bound = socket.bind(&anywhere.into());
        bound.map_err(OpenError::system("bind a UDP socket"))?;
        if let Some(interface) = &self.interface {
            self.send_through(&socket, interface)
                .map_err(OpenError::system(format!(
                    "send through {interface}; `ip address` lists the interfaces"
                )))?;
        }
        Ok(socket)
    }

    /// A socket that has joined the group.
    pub(crate) fn receiving_socket(&self, port: u16) -> Result<Socket, ListenError> {
        let group = self.address.ip();
        let address = SocketAddr::new(group, port);
        let bind = || {
            let socket = self.socket()?;
            socket.set_reuse_address(true)?;
            if self.interface.is_some() {
                self.listen_only_where_joined(&socket)?;
            }
            socket.bind(&self.scoped(address)?.into())?;
            Ok(socket)
        };
        let socket = bind().map_err(|source| ListenError::System {
            doing: format!("listen at {address}"),
            source,
            hint: Some(
                "another program may hold the port without sharing it: `bowline doctor` names it",
            ),
        })?;
        self.join(&socket).map_err(|source| ListenError::System {
            doing: match &self.interface {
                Some(interface) => format!("join {group} on {interface}"),
                None => format!("join {group}"),
            },
            source,
            hint: Some("is there a route to it? `bowline doctor` finds what is missing"),
        })?;
        Ok(socket)
    }

    /// Without this, Linux also delivers what comes through interfaces where another program has joined.
    fn listen_only_where_joined(&self, socket: &Socket) -> io::Result<()> {
        let (level, name) = match self.address {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MULTICAST_ALL),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, IPV6_MULTICAST_ALL),
        };
        sys::set_option(socket.as_fd(), level, name, 0)
    }

    /// The address as the system takes it: an address of one link needs the link beside it.
    fn scoped(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        match address {
            SocketAddr::V6(mut address) if is_link_local(address.into()) => {
                address.set_scope_id(self.interface_v6()?);
                Ok(address.into())
            }
            SocketAddr::V4(_) | SocketAddr::V6(_) => Ok(address),
        }
    }

    pub(crate) fn join(&self, socket: &Socket) -> io::Result<()> {
        match self.address.ip() {
            IpAddr::V4(group) => socket.join_multicast_v4_n(&group, &self.interface_v4()?),
            IpAddr::V6(group) => socket.join_multicast_v6(&group, self.interface_v6()?),
        }
    }

    /// Joins what the changes of interfaces have left to be joined, and returns whether that was anything. Memberships
    /// that are in force are left alone, so that nothing is lost on interfaces that did not change.
    pub(crate) fn join_missing(&self, socket: &Socket, news: &LinkNews) -> bool {
        for index in &news.gone {
            // The system remembers memberships of interfaces that are gone, and allows only so many. Most of those that
            // went were none of ours.
            drop(match self.address.ip() {
                IpAddr::V4(group) => {
                    socket.leave_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(*index))
                }
                IpAddr::V6(group) => socket.leave_multicast_v6(&group, *index),
            });
        }
        if self.address.is_ipv6()
            && is_link_local(self.address)
            && let Ok(index) = self.interface_v6()
        {
            // The socket listens to one link by its number, and a link that comes again has another. Only the
            // privileged may change that; others have to subscribe anew.
            let (name, index) = (libc::SO_BINDTOIFINDEX, index.cast_signed());
            drop(sys::set_option(
                socket.as_fd(),
                libc::SOL_SOCKET,
                name,
                index,
            ));
        }
        // An error means that the group is joined, or that there is nothing yet to join on: then a notification will come.
        self.join(socket).is_ok()
    }

    /// Has a socket send through the interface of that name or address as it is now.
    pub(crate) fn choose_interface(&self, socket: &Socket) -> io::Result<()> {
        match &self.interface {
            Some(interface) => self.send_through(socket, interface),
            None => Ok(()),
        }
    }

    /// How datagrams go to the group now: from which address, and how large they may be to go in one piece.
    pub(crate) fn path(&self) -> io::Result<Path> {
        let probe = self.socket()?;
        self.choose_interface(&probe)?;
        probe.connect(&self.scoped(self.address)?.into())?;
        let (level, name, headers) = match self.address {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU, 28),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 48),
        };
        let mtu = sys::option(probe.as_fd(), level, name)?;
        Ok(Path {
            source: probe.local_addr()?.as_socket().map(|address| address.ip()),
            max_datagram: usize::try_from(mtu).unwrap_or(0).saturating_sub(headers),
        })
    }

    fn socket(&self) -> io::Result<Socket> {
        Socket::new(
            Domain::for_address(self.address),
            Type::DGRAM,
            Some(Protocol::UDP),
        )
    }

    fn send_through(&self, socket: &Socket, interface: &Interface) -> io::Result<()> {
        match (self.address, interface) {
            (SocketAddr::V6(_), _) => socket.set_multicast_if_v6(self.interface_v6()?),
            (SocketAddr::V4(_), Interface::Address(IpAddr::V4(address))) => {
                socket.set_multicast_if_v4(address)
            }
            (SocketAddr::V4(_), Interface::Address(IpAddr::V6(_))) => Err(wrong_family()),
            (SocketAddr::V4(_), Interface::Name(name)) => {
                sys::send_through_index(socket.as_fd(), sys::interface_index(name)?)
            }
        }
    }

    fn interface_v4(&self) -> io::Result<InterfaceIndexOrAddress> {
        match &self.interface {
            None => Ok(InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED)),
            Some(Interface::Address(IpAddr::V4(address))) => {
                Ok(InterfaceIndexOrAddress::Address(*address))
            }
            Some(Interface::Address(IpAddr::V6(_))) => Err(wrong_family()),
            Some(Interface::Name(name)) => {
                Ok(InterfaceIndexOrAddress::Index(sys::interface_index(name)?))
            }
        }
    }

    fn interface_v6(&self) -> io::Result<u32> {
        match &self.interface {
            None => Ok(0),
            Some(Interface::Name(name)) => sys::interface_index(name),
            Some(Interface::Address(_)) => Err(wrong_family()),
        }
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

fn wrong_family() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "an IPv6 group needs iface=NAME, an IPv4 group iface=NAME or an IPv4 address",
    )
}

/// Whether a group exists once on each link, or once on each interface, so that it means nothing without one.
fn is_link_local(address: SocketAddr) -> bool {
    matches!(address.ip(), IpAddr::V6(group) if group.segments().first().is_some_and(|first| matches!(first & 0x000f, 1 | 2)))
}

/// Reads `GROUP:PORT`, `GROUP`, `:PORT` or nothing; what is missing is LCM's default.
fn parse_address(text: &str) -> Option<SocketAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let port = parse_port(port)?;
        return Some(SocketAddrV6::new(address, port, 0, 0).into());
    }
    let (address, port) = match text.find(':') {
        Some(colon) => text.split_at(colon),
        None => (text, ""),
    };
    let address = match address {
        "" => DEFAULT_ADDRESS,
        text => text.parse().ok()?,
    };
    Some(SocketAddrV4::new(address, parse_port(port)?).into())
}

fn parse_port(text: &str) -> Option<u16> {
    match text {
        "" => Some(DEFAULT_PORT),
        text => text
            .strip_prefix(':')?
            .parse()
            .ok()
            .filter(|port| *port != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(url: &str) -> Result<Group, BadUrl> {
        let url = Url::parse(url)?;
        Group::from_url(&url, &mut url.options())
    }

    #[test]
    fn what_a_url_leaves_out_is_the_default() {
        for (url, expected) in [
            ("udpm://", "239.255.76.67:7667"),
            ("udpm://239.255.76.67", "239.255.76.67:7667"),
            ("udpm://239.1.2.3:99", "239.1.2.3:99"),
            ("udpm://:99", "239.255.76.67:99"),
            ("udpm://[ff05::4c43]", "[ff05::4c43]:7667"),
        ] {
            let group = group(url).unwrap();
            assert_eq!(group.address, expected.parse().unwrap(), "{url}");
            assert_eq!(group.ttl, 0);
        }
    }

    #[test]
    fn addresses_that_cannot_work_are_refused_with_what_would() {
        for (url, part) in [
            ("udpm://10.0.0.1:7667", "expected a multicast group"),
            ("udpm://239.255.76.67:0", "expected GROUP:PORT"),
            ("udpm://nonsense", "expected GROUP:PORT"),
            ("udpm://239.255.76.67:7667?ttl=256", "ttl= expects 0 to 255"),
            ("udpm://[ff02::1]:7667", "needs iface=NAME"),
        ] {
            let error = group(url).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
    }

    #[test]
    fn an_interface_is_a_name_or_an_address() {
        let named = group("udpm://?iface=eth0").unwrap().interface;
        assert_eq!(named, Some(Interface::Name("eth0".to_owned())));
        let numbered = group("udpm://?iface=127.0.0.1").unwrap().interface;
        assert_eq!(
            numbered,
            Some(Interface::Address(Ipv4Addr::LOCALHOST.into()))
        );
    }
}

//! Sends attacks: from a socket of its own, or with packets made by hand that claim to be from elsewhere.

use super::Attack;
use nix::sys::socket::{
    self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

/// One link at most: what harms stays within the namespaces of its test.
const TTL: u8 = 1;

/// Sends an attack, at so many datagrams a second at most, and returns how many there were. A spoofed source takes the
/// right to raw sockets, which root has in a namespace.
///
/// # Errors
///
/// When a socket cannot be made or does not send.
pub fn attack(attack: &Attack, group: SocketAddrV4, per_second: u32) -> io::Result<usize> {
    let own = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    own.set_multicast_ttl_v4(TTL.into())?;
    let datagrams = (attack.datagrams)();
    let spoofs = datagrams.iter().any(|hostile| hostile.source.is_some());
    let raw = if spoofs { Some(open_raw()?) } else { None };
    for (n, hostile) in (1..).zip(&datagrams) {
        match hostile.source {
            Some(source) => {
                let raw = raw.as_ref().expect("opened when any is spoofed");
                send_from(raw, source, group, &hostile.datagram)?;
            }
            None => {
                own.send_to(&hostile.datagram, group)?;
            }
        }
        pause_after(n, per_second);
    }
    Ok(datagrams.len())
}

/// Pauses after each hundredth of a second's worth, because pauses of single datagrams would be shorter than the system
/// can make them.
#[expect(
    clippy::disallowed_methods,
    reason = "an attack has its pace in real time, and nothing waits for it"
)]
fn pause_after(n: u32, per_second: u32) {
    let batch = (per_second / 100).max(1);
    if per_second > 0 && n.is_multiple_of(batch) {
        std::thread::sleep(Duration::from_secs(1) * batch / per_second);
    }
}

fn open_raw() -> io::Result<OwnedFd> {
    let raw = socket::socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::Raw,
    )?;
    Ok(raw)
}

fn send_from(
    raw: &OwnedFd,
    source: SocketAddrV4,
    group: SocketAddrV4,
    datagram: &[u8],
) -> io::Result<()> {
    let packet = packet(source, group, datagram)?;
    let to = SockaddrIn::from(group);
    socket::sendto(raw.as_raw_fd(), &packet, &to, MsgFlags::empty())?;
    Ok(())
}

/// IPv4 and UDP around a datagram. The system fills in the checksum of IP; that of UDP may be left out.
fn packet(source: SocketAddrV4, group: SocketAddrV4, datagram: &[u8]) -> io::Result<Vec<u8>> {
    const IP: usize = 20;
    const UDP: usize = 8;
    let size = |n: usize| {
        u16::try_from(n).map(u16::to_be_bytes).map_err(|error| {
            io::Error::other(format!("expected a datagram, found {n} bytes: {error}"))
        })
    };
    let mut packet = vec![0x45, 0];
    packet.extend(size(IP + UDP + datagram.len())?);
    // No id, no flags, no fragments.
    packet.extend([0, 0, 0, 0, TTL, 17, 0, 0]);
    packet.extend(source.ip().octets());
    packet.extend(group.ip().octets());
    packet.extend(source.port().to_be_bytes());
    packet.extend(group.port().to_be_bytes());
    packet.extend(size(UDP + datagram.len())?);
    packet.extend([0, 0]);
    packet.extend(datagram);
    Ok(packet)
}

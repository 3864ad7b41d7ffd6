//! The proof of the pudding: messages to ourselves, over the group and port that programs use.
//!
//! They are LCM's, on a channel of our own, as LCM's own self-test does it; and their TTL is 0, so that no other host
//! sees them, whatever the URL says.

use super::netlink::Link;
use super::snapshot::Live;
use super::url::Group;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// How long the whole test may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// The channel of the test's messages.
const CHANNEL: &str = "BOWLINE_DOCTOR";
/// Nearly the largest datagram: cut into fragments on every interface but the loopback.
const LARGE_BYTES: usize = 60_000;

/// Sends a small and a large message to the group on the interface that carries it, and waits until both are back.
pub(crate) fn live_test(group: &Group, carrier: Option<&Link>) -> Live {
    let failed = |step| {
        move |error: io::Error| Live::Failed {
            step,
            error: error.to_string(),
        }
    };
    let test = || {
        let index = carrier.map_or(0, |link| link.index);
        let dest = SockAddr::from(group.socket_addr(index));
        let mut receiver = open_receiver(&dest).map_err(failed("bind to the port"))?;
        join(&receiver, group, index).map_err(failed("join the group"))?;
        let sender = open_sender(group, carrier).map_err(failed("prepare to send"))?;
        let local = sender.local_addr().ok().and_then(|addr| addr.as_socket());
        let port = local.map_or(0, |addr| addr.port());
        for n_bytes in [0, LARGE_BYTES] {
            let message = message(port, n_bytes);
            sender.send_to(&message, &dest).map_err(failed("send"))?;
        }
        await_both(&mut receiver, port).map_err(failed("receive"))
    };
    test().unwrap_or_else(|failure| failure)
}

/// LCM's short message: magic, sequence number, channel with its NUL, payload. The number and the payload's length tell
/// ours from those of another doctor.
fn message(tag: u16, n_bytes: usize) -> Vec<u8> {
    let mut message = b"LC02".to_vec();
    message.extend(u32::from(tag).to_be_bytes());
    message.extend(CHANNEL.as_bytes());
    message.push(0);
    message.resize(message.len() + n_bytes, 0);
    message
}

fn open_receiver(dest: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(dest.domain(), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.bind(dest)?;
    Ok(socket)
}

/// Joins as LCM does, where the kernel picks the interface; on the URL's interface if it names one.
fn join(socket: &Socket, group: &Group, index: u32) -> io::Result<()> {
    match (group.addr, &group.iface) {
        (IpAddr::V4(addr), None) => socket.join_multicast_v4(&addr, &Ipv4Addr::UNSPECIFIED),
        (IpAddr::V4(addr), Some(_)) => {
            socket.join_multicast_v4_n(&addr, &socket2::InterfaceIndexOrAddress::Index(index))
        }
        (IpAddr::V6(addr), _) => socket.join_multicast_v6(&addr, index),
    }
}

fn open_sender(group: &Group, carrier: Option<&Link>) -> io::Result<Socket> {
    let domain = Domain::for_address(SocketAddr::new(group.addr, 0));
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    // Fragments wait here until all are sent, so there must be room for the large message.
    socket.set_send_buffer_size(4 * LARGE_BYTES)?;
    match group.addr {
        IpAddr::V4(_) => {
            socket.set_multicast_ttl_v4(0)?;
            socket.set_multicast_loop_v4(true)?;
            let addrs = carrier.map_or(&[][..], |link| &link.addrs);
            let addr = addrs.iter().find_map(|addr| match addr {
                IpAddr::V4(addr) => Some(addr),
                IpAddr::V6(_) => None,
            });
            if let (Some(addr), Some(_)) = (addr, &group.iface) {
                socket.set_multicast_if_v4(addr)?;
            }
            socket.bind(&SockAddr::from(SocketAddr::from(([0; 4], 0))))?;
        }
        IpAddr::V6(_) => {
            socket.set_multicast_hops_v6(0)?;
            socket.set_multicast_loop_v6(true)?;
            socket.set_multicast_if_v6(carrier.map_or(0, |link| link.index))?;
            socket.bind(&SockAddr::from(SocketAddr::from(([0u16; 8], 0))))?;
        }
    }
    Ok(socket)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bus may be busy, so the wait must end at a time and not after a number of messages"
)]
fn await_both(receiver: &mut Socket, tag: u16) -> io::Result<Live> {
    let (mut small, mut large) = (false, false);
    let (first, second) = (message(tag, 0), message(tag, LARGE_BYTES));
    let deadline = Instant::now() + PATIENCE;
    let mut buffer = vec![0; 1 << 16];
    while !(small && large) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        receiver.set_read_timeout(Some(left))?;
        match receiver.read(&mut buffer) {
            Ok(n_bytes) => {
                let message = buffer.get(..n_bytes).unwrap_or_default();
                small |= message == first;
                large |= message == second;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Live::Done { small, large })
}

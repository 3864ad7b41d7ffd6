//! The proof of the pudding: messages to ourselves, over the group and port that programs use.
//!
//! They are LCM's, on a channel of our own, as LCM's own self-test does it; and their TTL is 0, so that no other host
//! sees them, whatever the URL.

use super::netlink::Link;
use super::snapshot::Live;
use bowline_bus::diagnosis::Group;
use bowline_bus::{Bus, Inbox, RecvError, wall_ns};
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long the whole test may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// The channel of the test's messages.
const CHANNEL: &str = "BOWLINE_DOCTOR";
/// Nearly the largest datagram, which is how LCM's programs send it: cut into fragments on every interface but the
/// loopback.
const LARGE_BYTES: usize = 60_000;

/// Sends a small and a large message to the group on the interface that carries it, and waits until both are back.
pub(crate) fn live_test(group: &Group, carrier: Option<&Link>) -> Live {
    let test = || {
        let bus = Bus::open(&url(group, carrier)).map_err(failed("prepare to send"))?;
        let inbox = bus.events(CHANNEL).map_err(failed("listen to the group"))?;
        // Distinguishes ours from those of another doctor.
        let tag = [
            wall_ns().to_be_bytes(),
            u64::from(std::process::id()).to_be_bytes(),
        ]
        .concat();
        let mut large = tag.clone();
        large.resize(LARGE_BYTES, 0);
        for message in [&tag, &large] {
            let sent = bus.publish_bytes(CHANNEL, message);
            sent.map_err(failed("send"))?;
        }
        await_both(&inbox, [&tag, &large]).map_err(failed("receive"))
    };
    test().unwrap_or_else(|failure| failure)
}

/// What went wrong in the system's words. The bus's own advice is to ask the doctor.
fn failed<E: Error>(step: &'static str) -> impl FnOnce(E) -> Live {
    move |error| Live::Failed {
        step,
        error: error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string),
    }
}

/// The group as programs reach it, but not beyond this host, and with datagrams as large as LCM's.
fn url(group: &Group, carrier: Option<&Link>) -> String {
    let address = SocketAddr::new(group.addr, group.port);
    // Groups of IPv6 that are the same on every link need the link.
    let carrier = carrier.filter(|_| group.addr.is_ipv6());
    let iface = group.iface.as_deref().or(carrier.map(|link| &*link.name));
    let iface = iface.map_or(String::new(), |iface| format!("&iface={iface}"));
    format!("udpm://{address}?ttl=0&max_datagram=65507{iface}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bus may be busy, so the wait must end at a time and not after a number of messages"
)]
fn await_both(inbox: &Inbox, expected: [&[u8]; 2]) -> Result<Live, RecvError> {
    let mut has_come = [false; 2];
    let deadline = Instant::now() + PATIENCE;
    while has_come != [true; 2] {
        let left = deadline.saturating_duration_since(Instant::now());
        let Some((_, event)) = inbox.recv_timeout(left)? else {
            break;
        };
        for (has_come, expected) in has_come.iter_mut().zip(expected) {
            *has_come |= event.payload == expected;
        }
    }
    let [small, large] = has_come;
    Ok(Live::Done { small, large })
}

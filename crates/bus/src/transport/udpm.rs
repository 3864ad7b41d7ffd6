//! UDP multicast, datagram for datagram as LCM does it.
//!
//! In: datagrams of any host on the group. Out: the same. Loss, reordering and duplication are normal here, and
//! counted. Publishers hold one socket; the receiving one is made with the first subscription.
//!
//! Deliberately absent: a self-test that keeps a subscriber waiting and disturbs all others. `bowline doctor` looks
//! for problems on request.

mod examine;
mod filter;
mod group;
mod intake;
mod pacing;
mod receiver;
mod sender;

pub(crate) use examine::examine;
pub(crate) use group::Group;
pub(crate) use intake::{Intake, Sink};
pub(crate) use receiver::set_up;
pub(crate) use sender::Sender;

use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::router::{Inlet, Interest};
use crate::schemes::{Capability, Scheme, UrlOption};
use crate::sys::Batch;
use crate::transport::slot::{Seen, Slot};
use crate::transport::{
    Buffered, ListenError, Observed, OpenError, Outgoing, ReceiveError, Selective, SendError,
    Transport,
};
use crate::url::{BadUrl, Options, Url};
use receiver::{BATCH, Receiver};
use sender::is_wanted;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The row of the table.
pub static SCHEME: Scheme = Scheme {
    name: "udpm",
    summary: "LCM's UDP multicast; IPv6 groups in brackets, as in [ff02::4c43]:7667",
    example: "udpm://239.255.76.67:7667?ttl=0",
    options: &[
        IFACE,
        MAX_DATAGRAM,
        RECV_BUF_SIZE,
        UrlOption {
            name: "transmit_only",
            sample: "true",
            default: "none",
            meaning: "has no effect; LCM's libraries accept it",
        },
        TTL,
    ],
    capabilities: &[Capability::Multicast],
    check,
    open,
    examine,
    checks: &[],
};

/// The options that all multicast has in common.
pub(crate) const IFACE: UrlOption = UrlOption {
    name: "iface",
    sample: "lo",
    default: "the routes' choice",
    meaning: "the interface, by name or by its address",
};
pub(crate) const MAX_DATAGRAM: UrlOption = UrlOption {
    name: "max_datagram",
    sample: "1400",
    default: "what the interface carries whole",
    meaning: "the longest datagram to send, in bytes",
};
pub(crate) const RECV_BUF_SIZE: UrlOption = UrlOption {
    name: "recv_buf_size",
    sample: "4194304",
    default: "as large as the system allows",
    meaning: "the receive buffer, in bytes",
};
pub(crate) const TTL: UrlOption = UrlOption {
    name: "ttl",
    sample: "0",
    default: "0",
    meaning: "how many networks a message may leave; 0 stays on this host",
};

/// Options of `udpm` URLs.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) group: Group,
    /// What `SO_RCVBUF` is to be; as large as the system allows, otherwise.
    pub(crate) receive_buffer: Option<usize>,
    /// The largest datagram to send; what the interface carries whole, otherwise.
    pub(crate) max_datagram: Option<usize>,
}

impl Settings {
    pub(crate) fn from_url(url: &Url) -> Result<Self, BadUrl> {
        let mut options = url.options();
        let settings = Self::take(url, &mut options)?;
        // LCM took it once, and still does without effect.
        options.text("transmit_only");
        options.finish()?;
        Ok(settings)
    }

    /// Takes the options that all multicast has in common.
    pub(crate) fn take(url: &Url, options: &mut Options<'_>) -> Result<Self, BadUrl> {
        Ok(Self {
            group: Group::from_url(url, options)?,
            receive_buffer: options.size("recv_buf_size")?,
            max_datagram: options.size("max_datagram")?,
        })
    }
}

/// The receive buffer that a subscriber would get here, in bytes, made out with a socket that is bound to nothing.
/// `wanted` is the value of `recv_buf_size` in its URL, if there is one. Root may have more than others.
///
/// # Errors
/// When the system has no socket to give.
pub fn granted_receive_buffer(wanted: Option<usize>) -> io::Result<usize> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    set_up(&socket, wanted)
}

/// Checks a URL.
fn check(url: &Url) -> Result<(), BadUrl> {
    Settings::from_url(url).map(|_| ())
}

/// Opens a bus on a multicast group.
fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    let settings = Settings::from_url(url)?;
    Ok(Arc::new(Udpm {
        sender: Sender::open(&settings)?,
        to: SockAddr::from(settings.group.address),
        receiver: Slot::default(),
        reading: Mutex::default(),
        settings,
    }))
}

#[derive(Debug)]
struct Udpm {
    settings: Settings,
    sender: Sender,
    /// The group as the system has it.
    to: SockAddr,
    receiver: Slot<Receiver>,
    /// The reading thread holds it, also while waiting for a datagram.
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    receiver: Seen<Receiver>,
    /// Made with the first read: there may be none.
    batch: Option<Batch>,
}

impl Transport for Udpm {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let is_large = |message: &Outgoing<'_>| !self.sender.is_short(message);
        // The filter in the kernel judges a short message by itself.
        if let [message] = messages
            && !is_large(message)
        {
            return self.sender.send_short(&self.to, message);
        }
        let group = self.settings.group.address;
        let Some(receiver) = self.receiver.get() else {
            return self.sender.send_to(group, messages, &[]);
        };
        let own = receiver.own_patterns();
        let comes_back =
            |message: &Outgoing<'_>| is_large(message) && is_wanted(&own, message.channel);
        if messages.iter().any(comes_back) {
            receiver.admit_own_fragments();
        }
        self.sender.send_to(group, messages, &own)
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let Reading { receiver, batch } = &mut *reading;
        match self.receiver.get_again(receiver) {
            Some(receiver) => {
                let batch = batch.get_or_insert_with(|| Batch::new(BATCH));
                receiver.receive(batch, inlet, wait)
            }
            // A change of subscriptions interrupts this.
            None => wait.idle(),
        }
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Some(self)
    }

    fn buffered(&self) -> Option<&dyn Buffered> {
        Some(self)
    }

    fn observed(&self) -> Option<&dyn Observed> {
        Some(self)
    }
}

impl Selective for Udpm {
    fn want(&self, interest: &Interest, _: &mut Inlet) -> Result<(), ListenError> {
        if interest.is_empty() {
            self.receiver.close(|gone| gone.counts().settled());
            return Ok(());
        }
        let open = || Receiver::open(&self.settings, self.sender.source());
        self.receiver.get_or_open(open)?.want(interest);
        Ok(())
    }
}

impl Buffered for Udpm {
    fn holds_unread(&self) -> bool {
        self.receiver
            .get()
            .is_some_and(|receiver| receiver.fill().0 > 0)
    }

    fn endurance(&self) -> Duration {
        // What the system grants by default holds a hundred small messages.
        match self.receiver.get().map_or(0, |receiver| receiver.fill().1) {
            0..0x20_0000 => Duration::from_millis(2),
            _ => Duration::from_millis(20),
        }
    }

    fn is_pressed(&self) -> bool {
        self.receiver.get().is_some_and(|receiver| {
            let (used, limit) = receiver.fill();
            used > limit / 2
        })
    }
}

impl Observed for Udpm {
    fn counts(&self) -> NetworkCounts {
        self.receiver.counts(Receiver::counts)
    }

    fn senders(&self) -> Vec<SenderCounts> {
        let receiver = self.receiver.get();
        receiver.map_or_else(Vec::new, |receiver| receiver.senders())
    }
}

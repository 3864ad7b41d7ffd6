//! UDP multicast, datagram for datagram as LCM does it.
//!
//! ```text
//! udpm://239.255.76.67:7667?ttl=0       a group and its port; IPv6 in brackets, as in [ff02::4c43]:7667
//!      &ttl=1                           how many networks it may leave; 0 stays on this host
//!      &iface=eth0                      the interface, by name or by its address; the system's choice otherwise
//!      &recv_buf_size=4MiB              receive buffer; as large as the system allows otherwise
//!      &max_datagram=1400               longest datagram to send; what the interface carries whole otherwise
//! ```
//!
//! In: datagrams of anybody on the group. Out: the same. Loss, reordering and duplication are normal here, and
//! counted. Publishers hold one socket; the receiving one is made with the first subscription.
//!
//! Deliberately absent: a self-test that keeps a subscriber waiting and talks to everyone else. `bowline doctor` looks
//! for what is wrong when somebody asks.

mod filter;
mod group;
mod intake;
mod pacing;
mod receiver;
mod sender;

pub(crate) use group::Group;
pub(crate) use intake::{Intake, Sink};
pub(crate) use receiver::set_up;
pub(crate) use sender::Sender;

use crate::clock::Wait;
use crate::counts::{NetworkCounts, SenderCounts};
use crate::router::{Inlet, Interest};
use crate::sys;
use crate::transport::{ListenError, OpenError, Outgoing, ReceiveError, SendError, Transport};
use crate::url::{BadUrl, Options, Url};
use receiver::Receiver;
use sender::is_wanted;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
/// `wanted` is what its URL says in `recv_buf_size`, if it does. Root may have more than others.
///
/// # Errors
/// When the system has no socket to give.
pub fn granted_receive_buffer(wanted: Option<usize>) -> io::Result<usize> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    set_up(&socket, wanted)
}

/// Checks a URL.
pub(crate) fn check(url: &Url) -> Result<(), BadUrl> {
    Settings::from_url(url).map(|_| ())
}

/// Opens a bus on a multicast group.
pub(crate) fn open(url: &Url) -> Result<Arc<dyn Transport>, OpenError> {
    let settings = Settings::from_url(url)?;
    Ok(Arc::new(Udpm {
        sender: Sender::open(&settings)?,
        receiving: Mutex::new(Receiving::default()),
        settings,
    }))
}

#[derive(Debug)]
struct Udpm {
    settings: Settings,
    sender: Sender,
    receiving: Mutex<Receiving>,
}

#[derive(Debug, Default)]
struct Receiving {
    /// There while somebody subscribes.
    receiver: Option<Arc<Receiver>>,
    /// Of receivers that are gone.
    past: NetworkCounts,
}

impl Udpm {
    fn receiver(&self) -> Option<Arc<Receiver>> {
        self.receiving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .receiver
            .clone()
    }
}

impl Transport for Udpm {
    fn send(&self, messages: &[Outgoing<'_>]) -> Result<(), SendError> {
        let group = self.settings.group.address;
        let is_large = |message: &Outgoing<'_>| !self.sender.is_short(message);
        match (messages, self.receiver()) {
            (_, None) => self.sender.send_to(group, messages, &[]),
            // The filter in the kernel judges it by itself.
            ([message], _) if !is_large(message) => self.sender.send_to(group, messages, &[]),
            (_, Some(receiver)) => {
                let own = receiver.own_patterns();
                if messages
                    .iter()
                    .any(|message| is_large(message) && is_wanted(&own, message.channel))
                {
                    receiver.admit_own_fragments();
                }
                self.sender.send_to(group, messages, &own)
            }
        }
    }

    fn want(&self, interest: &Interest, _: &dyn Fn() -> Inlet) -> Result<(), ListenError> {
        let mut receiving = self
            .receiving
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if interest.is_empty() {
            if let Some(gone) = receiving.receiver.take() {
                receiving.past = receiving.past.plus(&gone.counts().settled());
            }
            return Ok(());
        }
        if receiving.receiver.is_none() {
            receiving.receiver = Some(Arc::new(Receiver::open(
                &self.settings,
                self.sender.source(),
            )?));
        }
        if let Some(receiver) = &receiving.receiver {
            receiver.want(interest);
        }
        Ok(())
    }

    fn receive(&self, inlet: &mut Inlet, wait: &Wait<'_>) -> Result<(), ReceiveError> {
        match self.receiver() {
            Some(receiver) => receiver.receive(inlet, wait),
            // A change of subscriptions interrupts this.
            None => sys::poll([wait.interrupt()], wait.left())
                .map(drop)
                .map_err(ReceiveError::System),
        }
    }

    fn holds_unread(&self) -> bool {
        self.receiver()
            .is_some_and(|receiver| receiver.fill().0 > 0)
    }

    fn stamina(&self) -> Duration {
        // What the system grants by default holds a hundred small messages.
        match self.receiver().map_or(0, |receiver| receiver.fill().1) {
            0..0x20_0000 => Duration::from_millis(2),
            _ => Duration::from_millis(20),
        }
    }

    fn is_pressed(&self) -> bool {
        self.receiver().is_some_and(|receiver| {
            let (used, limit) = receiver.fill();
            used > limit / 2
        })
    }

    fn counts(&self) -> NetworkCounts {
        let receiving = self
            .receiving
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let present = receiving
            .receiver
            .as_ref()
            .map(|receiver| receiver.counts());
        receiving.past.plus(&present.unwrap_or_default())
    }

    fn senders(&self) -> Vec<SenderCounts> {
        self.receiver()
            .map(|receiver| receiver.senders())
            .unwrap_or_default()
    }
}

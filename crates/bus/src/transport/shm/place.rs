//! The services of a name, and what a URL asks of them.

use super::{Ipc, MAX_BORROWED, MAX_PORTS};
use crate::transport::OpenError;
use crate::url::{BadUrl, Url};
use iceoryx2::prelude::{
    AttributeVerifier, LogLevel, Node, NodeBuilder, ServiceName, SignalHandlingMode,
    set_log_level_from_env_or,
};
use iceoryx2::service::attribute::{AttributeKey, AttributeValue};
use iceoryx2::service::port_factory::{event, publish_subscribe};
use std::fmt;
use std::io;
use std::time::Duration;

/// Messages of one publisher that wait for one receiver.
const DEFAULT_SLOTS: usize = 2_048;

/// What a URL asks for.
#[derive(Debug)]
pub(super) struct Settings {
    address: String,
    slots: usize,
    wait: Option<Duration>,
}

impl Settings {
    pub(super) fn from_url(url: &Url) -> Result<Self, BadUrl> {
        let mut options = url.options();
        let slots = options.parse::<usize>("slots", "a number from 1 to 65536")?;
        let slots = slots.unwrap_or(DEFAULT_SLOTS);
        if !(1..=65_536).contains(&slots) {
            return Err(options.bad(format!("slots= expects 1 to 65536, found {slots}")));
        }
        let wait = options.duration("wait")?;
        let address = format!("bowline/{}", url.address());
        ServiceName::new(&address).map_err(|error| {
            options.bad(format!("expected a name, as in shm://robot: {error:?}"))
        })?;
        options.finish()?;
        Ok(Self {
            address,
            slots,
            wait,
        })
    }
}

/// The services of a name.
pub(super) struct Place {
    _node: Node<Ipc>,
    pub(super) messages: publish_subscribe::PortFactory<Ipc, [u8], ()>,
    pub(super) events: event::PortFactory<Ipc>,
    /// Where publishers wait for receivers.
    pub(super) waiting: Option<Waiting>,
    pub(super) slots: usize,
}

/// How long they wait, and where receivers report how far they have read.
pub(super) struct Waiting {
    pub(super) wait: Duration,
    pub(super) reports: publish_subscribe::PortFactory<Ipc, [u64], ()>,
}

impl Place {
    pub(super) fn open(settings: &Settings) -> Result<Self, OpenError> {
        let Settings {
            address,
            slots,
            wait,
        } = settings;
        let name = ServiceName::new(address).map_err(failed("name shared memory"))?;
        // It reports what we report ourselves, to a terminal that may show a screen of the program.
        set_log_level_from_env_or(LogLevel::Fatal);
        // Making a node clears away what dead ones left. Signals are the program's business.
        let node = NodeBuilder::new()
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<Ipc>()
            .map_err(failed("join shared memory"))?;
        let is_waiting = if wait.is_some() { "yes" } else { "no" };
        let key = AttributeKey::try_from("wait").map_err(failed("describe shared memory"))?;
        let value =
            AttributeValue::try_from(is_waiting).map_err(failed("describe shared memory"))?;
        let attributes = AttributeVerifier::new().require(&key, &value);
        let attributes = attributes.map_err(failed("describe shared memory"))?;
        // One more than publishers know of: a receiver may come just before a message that was sent without it.
        let n_slots = slots + usize::from(wait.is_some());
        let messages = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(true)
            .history_size(0)
            .subscriber_max_buffer_size(n_slots)
            .subscriber_max_borrowed_samples(MAX_BORROWED + 1)
            .max_subscribers(MAX_PORTS)
            .max_publishers(MAX_PORTS)
            .max_nodes(2 * MAX_PORTS)
            .open_or_create_with_attributes(&attributes)
            .map_err(failed(
                "open shared memory; all of one name need the same slots=, and all or none wait=",
            ))?;
        let events = node
            .service_builder(&name)
            .event()
            .max_listeners(MAX_PORTS)
            .max_notifiers(MAX_PORTS)
            .max_nodes(2 * MAX_PORTS)
            .open_or_create()
            .map_err(failed("open the events of shared memory"))?;
        let waiting = match wait {
            None => None,
            Some(wait) => Some(Waiting {
                wait: *wait,
                reports: reports(&node, address)?,
            }),
        };
        Ok(Self {
            _node: node,
            messages,
            events,
            waiting,
            slots: *slots,
        })
    }
}

/// The newest of each receiver is enough.
fn reports(
    node: &Node<Ipc>,
    address: &str,
) -> Result<publish_subscribe::PortFactory<Ipc, [u64], ()>, OpenError> {
    let name = ServiceName::new(&format!("{address}/reports"));
    let name = name.map_err(failed("name the reports of shared memory"))?;
    node.service_builder(&name)
        .publish_subscribe::<[u64]>()
        .enable_safe_overflow(true)
        .history_size(0)
        .subscriber_max_buffer_size(1)
        .max_subscribers(MAX_PORTS)
        .max_publishers(MAX_PORTS)
        .max_nodes(2 * MAX_PORTS)
        .open_or_create()
        .map_err(failed("open the reports of shared memory"))
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({} slots)", self.slots)
    }
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    doing: &'static str,
) -> impl FnOnce(E) -> OpenError {
    move |error| OpenError::System {
        doing: doing.to_owned(),
        source: io::Error::other(error),
    }
}

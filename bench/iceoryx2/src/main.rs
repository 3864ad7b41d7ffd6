//! iceoryx2 as a worker: publish and subscribe over shared memory, with an event that wakes the subscriber.
//!
//! ADDRESS is the beginning of the services' names. Nothing overflows: a full subscriber holds the publisher up.
//! Loans are not zeroed; the message is copied in once, as our own bus has to.

use anyhow::{Context as _, Result, bail};
use bowline_measure::{Endpoint, Handler, POLL, Publisher, Run, Settings, Subscriber, System};
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::prelude::{
    BackpressureStrategy, LogLevel, Node, NodeBuilder, ServiceName, ipc_threadsafe, set_log_level,
};
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;
use std::time::Duration;

type Ipc = ipc_threadsafe::Service;

/// What may wait at a subscriber. More would leave the processor's cache, and 1 MB messages get slower.
const BUFFER_BYTES: usize = 16 << 20;
const MAX_BUFFERED: usize = 1024;

/// How often a message without a receiver is sent again.
const N_ATTEMPTS: u32 = 1000;
const ATTEMPT_PERIOD: Duration = Duration::from_micros(200);

fn main() -> Result<()> {
    set_log_level(LogLevel::Error);
    bowline_measure::main(&Iceoryx2)
}

struct Iceoryx2;

impl System for Iceoryx2 {
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>> {
        let node = NodeBuilder::new().create::<Ipc>()?;
        Ok(Box::new(Place {
            node,
            settings: settings.clone(),
        }))
    }
}

struct Place {
    node: Node<Ipc>,
    settings: Settings,
}

impl Place {
    fn name(&self, channel: &str) -> Result<ServiceName> {
        Ok(format!("{}/{channel}", self.settings.address)
            .as_str()
            .try_into()?)
    }

    fn service(&self, channel: &str) -> Result<PortFactory<Ipc, [u8], ()>> {
        let n_buffered = (BUFFER_BYTES / self.settings.size).clamp(4, MAX_BUFFERED);
        let service = self
            .node
            .service_builder(&self.name(channel)?)
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(n_buffered)
            .max_subscribers(self.settings.n_peers)
            .open_or_create()?;
        Ok(service)
    }
}

impl Endpoint for Place {
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>> {
        let service = self.service(channel)?;
        let publisher = service
            .publisher_builder()
            .initial_max_slice_len(self.settings.size)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .create()?;
        let event = self
            .node
            .service_builder(&self.name(channel)?)
            .event()
            .open_or_create()?;
        let notifier = event.notifier_builder().create()?;
        Ok(Box::new(Sender {
            service,
            publisher,
            notifier,
        }))
    }

    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>> {
        let [channel] = channels else {
            bail!("this worker listens to one channel, not {}", channels.len());
        };
        let subscriber = self.service(channel)?.subscriber_builder().create()?;
        let event = self
            .node
            .service_builder(&self.name(channel)?)
            .event()
            .open_or_create()?;
        let listener = event.listener_builder().create()?;
        Ok(Box::new(Receiver {
            subscriber,
            listener,
        }))
    }
}

struct Sender {
    service: PortFactory<Ipc, [u8], ()>,
    publisher: iceoryx2::port::publisher::Publisher<Ipc, [u8], ()>,
    notifier: Notifier<Ipc>,
}

impl Publisher for Sender {
    fn wait_for_subscribers(&mut self, n: usize) -> Result<()> {
        use iceoryx2::service::port_factory::PortFactory as _;
        for _ in 0..500 {
            if self.service.dynamic_config().number_of_subscribers() >= n {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("expected {n} subscribers within five seconds, found fewer")
    }

    fn publish(&mut self, message: &[u8]) -> Result<()> {
        // A subscriber that has not mapped the connection yet takes a bufferful and no more, whatever the strategy.
        for _ in 0..N_ATTEMPTS {
            let sample = self.publisher.loan_slice_uninit(message.len())?;
            let n = sample.write_from_slice(message).send()?;
            self.notifier
                .notify()
                .context("the event was not delivered")?;
            if n > 0 {
                return Ok(());
            }
            std::thread::sleep(ATTEMPT_PERIOD);
        }
        bail!("no receiver took the message")
    }
}

struct Receiver {
    subscriber: iceoryx2::port::subscriber::Subscriber<Ipc, [u8], ()>,
    listener: Listener<Ipc>,
}

impl Subscriber for Receiver {
    fn serve(&mut self, mut handler: Handler, run: &Run) -> Result<()> {
        while !run.is_over() {
            self.listener.timed_wait(|_| {}, POLL)?;
            while let Some(sample) = self.subscriber.receive()? {
                handler(&sample);
            }
        }
        Ok(())
    }
}

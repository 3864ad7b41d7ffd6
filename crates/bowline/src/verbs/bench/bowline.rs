//! Our own bus as a system. ADDRESS is a bus URL.

use anyhow::Result;
use bowline_bus::{Bus, Inbox, Pattern, Queue};
use bowline_measure::{Endpoint, Handler, POLL, Publisher, Run, Settings, Subscriber, System};

/// Bowline, over whatever transport the address names.
#[derive(Debug)]
pub(super) struct Bowline;

impl System for Bowline {
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>> {
        Ok(Box::new(Place(Bus::open(&settings.address)?)))
    }
}

struct Place(Bus);

impl Endpoint for Place {
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Sender {
            bus: self.0.clone(),
            channel: channel.to_owned(),
        }))
    }

    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>> {
        let inbox = self.0.inbox();
        for channel in channels {
            inbox.subscribe_to(Pattern::exact(channel), Queue::default())?;
        }
        Ok(Box::new(Receiver(inbox)))
    }
}

struct Sender {
    bus: Bus,
    channel: String,
}

impl Publisher for Sender {
    fn publish(&mut self, message: &[u8]) -> Result<()> {
        Ok(self.bus.publish_bytes(&self.channel, message)?)
    }

    fn publish_many(&mut self, messages: &[Vec<u8>]) -> Result<()> {
        let payloads = messages.iter().map(Vec::as_slice);
        Ok(self.bus.publish_many(&self.channel, payloads)?)
    }
}

struct Receiver(Inbox);

impl Subscriber for Receiver {
    fn serve(&mut self, mut handler: Handler, run: &Run) -> Result<()> {
        while !run.is_over() {
            if let Some((_, event)) = self.0.recv_timeout(POLL)? {
                handler(&event.payload);
            }
        }
        Ok(())
    }
}

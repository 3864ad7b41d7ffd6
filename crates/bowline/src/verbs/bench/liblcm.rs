//! liblcm as a system: `liblcm.so` from `LD_LIBRARY_PATH`, driven through its C API.
//!
//! ADDRESS is an LCM URL; `#unlimited` after it lifts the limit of 30 messages per subscription.

mod api;

use anyhow::Result;
use api::Lcm;
use bowline_measure::{Endpoint, Handler, POLL, Publisher, Run, Settings, Subscriber, System};
use std::ffi::CString;
use std::sync::Arc;

/// Stock LCM.
#[derive(Debug)]
pub(super) struct Liblcm;

impl System for Liblcm {
    fn open(&self, settings: &Settings) -> Result<Box<dyn Endpoint>> {
        let (url, is_unlimited) = match settings.address.strip_suffix("#unlimited") {
            Some(url) => (url, true),
            None => (settings.address.as_str(), false),
        };
        let lcm = Arc::new(Lcm::create(&CString::new(url)?)?);
        Ok(Box::new(Place { lcm, is_unlimited }))
    }
}

struct Place {
    lcm: Arc<Lcm>,
    is_unlimited: bool,
}

impl Endpoint for Place {
    fn publisher(&self, channel: &str) -> Result<Box<dyn Publisher>> {
        Ok(Box::new(Sender {
            lcm: Arc::clone(&self.lcm),
            channel: CString::new(channel)?,
        }))
    }

    fn subscriber(&self, channels: &[String]) -> Result<Box<dyn Subscriber>> {
        for channel in channels {
            let pattern = CString::new(channel.replace('.', "\\."))?;
            self.lcm.subscribe(&pattern, self.is_unlimited)?;
        }
        Ok(Box::new(Receiver {
            lcm: Arc::clone(&self.lcm),
        }))
    }
}

struct Sender {
    lcm: Arc<Lcm>,
    channel: CString,
}

impl Publisher for Sender {
    fn publish(&mut self, message: &[u8]) -> Result<()> {
        self.lcm.publish(&self.channel, message)
    }
}

struct Receiver {
    lcm: Arc<Lcm>,
}

impl Subscriber for Receiver {
    fn serve(&mut self, mut handler: Handler, run: &Run) -> Result<()> {
        while !run.is_over() {
            self.lcm.handle(POLL, &mut handler)?;
        }
        Ok(())
    }
}

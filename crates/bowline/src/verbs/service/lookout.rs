//! Who is there: a directory that is kept up to date from a bus or a log.

use crate::listen::{Heard, Listener};
use bowline_bus::Event;
use bowline_component::Time;
use bowline_host::clock::Live;
use bowline_host::directory::Directory;
use bowline_host::presence::{HEARTBEAT_CHANNEL, PRESENCE_CHANNEL, PRESENCE_REQUEST_CHANNEL};
use bowline_log::Catalog;
use bowline_msgs::{Heartbeat, Presence, PresenceRequest};
use bowline_wire::Message as _;
use std::time::Duration;

/// How often all processes are asked for their presence: the first request may be lost, like any message.
const ASK_EVERY: Duration = Duration::from_millis(500);

pub(super) struct Lookout {
    pub(super) listener: Listener,
    pub(super) directory: Directory,
    clock: Live,
    asked: Option<Time>,
    /// Of the last event of a log.
    log_time: Time,
}

impl Lookout {
    /// Opens a place; with a catalog, where types are wanted too.
    pub(super) fn open(place: Option<&str>, catalog: Option<Catalog>) -> anyhow::Result<Self> {
        let patterns = [HEARTBEAT_CHANNEL, PRESENCE_CHANNEL].map(str::to_owned);
        Ok(Self {
            listener: Listener::open(place, &patterns, None, catalog)?,
            directory: Directory::default(),
            clock: Live::new(),
            asked: None,
            log_time: Time::ZERO,
        })
    }

    /// Takes in what comes next, if anything does within a moment. Whether there may be more.
    pub(super) fn next(&mut self) -> anyhow::Result<bool> {
        self.ask();
        match self.listener.next()? {
            Heard::Event(event) => self.hear(&event),
            Heard::Silence => {}
            Heard::Over => return Ok(false),
        }
        Ok(true)
    }

    /// Looks until something is found, but not longer than this.
    pub(super) fn find<T>(
        &mut self,
        patience: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> anyhow::Result<Option<T>> {
        let deadline = self.clock.now() + patience;
        loop {
            if let Some(found) = look(self) {
                return Ok(Some(found));
            }
            if self.clock.now() >= deadline || !self.next()? {
                return Ok(None);
            }
        }
    }

    /// The time: of a log, its own.
    pub(super) fn now(&self) -> Time {
        if self.listener.source.bus().is_some() {
            self.clock.now()
        } else {
            self.log_time
        }
    }

    fn hear(&mut self, event: &Event) {
        self.log_time = Time::from_ns(event.arrival.received_ns);
        let now = self.now();
        // What cannot be read is ignored.
        match event.channel.as_str() {
            HEARTBEAT_CHANNEL => {
                if let Ok(heartbeat) = Heartbeat::decode(&event.payload) {
                    self.directory.on_heartbeat(now, heartbeat);
                }
            }
            PRESENCE_CHANNEL => {
                if let Ok(presence) = Presence::decode(&event.payload) {
                    self.directory.on_presence(now, presence);
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self) {
        let Some(bus) = self.listener.source.bus() else {
            return;
        };
        let now = self.clock.now();
        if self.asked.is_some_and(|asked| now.since(asked) < ASK_EVERY) {
            return;
        }
        self.asked = Some(now);
        let request = PresenceRequest {
            utime: now.utime(),
            ..PresenceRequest::default()
        };
        // A process that cannot be asked announces itself now and then anyway.
        drop(bus.publish(PRESENCE_REQUEST_CHANNEL, &request));
    }
}

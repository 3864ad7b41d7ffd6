//! A beacon on a bus, for programs that read their own inbox.

use super::beacon::{Beacon, DuePresence};
use super::{HEARTBEAT_CHANNEL, PRESENCE_CHANNEL, PRESENCE_REQUEST_CHANNEL};
use crate::clock::Live;
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Event, Inbox, Pattern, Queue, SubscriptionId};
use bowline_component::Time;
use bowline_msgs::{HeartbeatComponent, PresenceRequest};
use bowline_wire::Message as _;

/// Publishes what a [`Beacon`] has to send. It owns no thread and no inbox.
#[derive(Debug)]
pub struct Presenter {
    bus: Bus,
    beacon: Beacon,
}

impl Presenter {
    /// Nothing is sent before [`on_time`](Self::on_time).
    #[must_use]
    pub fn new(bus: &Bus, beacon: Beacon) -> Self {
        Self {
            bus: bus.clone(),
            beacon,
        }
    }

    /// Subscribes an inbox to requests.
    ///
    /// # Errors
    /// When nothing can be received.
    pub fn subscribe(&self, inbox: &Inbox) -> Result<SubscriptionId, ListenError> {
        let channel = Pattern::exact(PRESENCE_REQUEST_CHANNEL);
        // One is as good as many.
        inbox.subscribe_to(channel, Queue::latest())
    }

    /// Takes a request. Whether it is for this process.
    pub fn on_event(&mut self, now: Time, event: &Event) -> bool {
        PresenceRequest::decode(&event.payload)
            .is_ok_and(|request| self.beacon.on_request(now, &request))
    }

    /// When [`on_time`](Self::on_time) has something to send.
    #[must_use]
    pub fn next_due(&self) -> Time {
        self.beacon.next_due()
    }

    /// Publishes what is due. `health` is asked only if it is.
    pub fn on_time(&mut self, clock: &Live, health: impl FnOnce() -> Vec<HeartbeatComponent>) {
        let now = clock.now();
        let due = self.beacon.on_time(now, clock.wall_offset_ns(), health);
        let DuePresence {
            heartbeat,
            presence,
        } = due;
        // The bus counts what it cannot send, and it is sent again soon.
        if let Some(presence) = presence {
            drop(self.bus.publish(PRESENCE_CHANNEL, &presence));
        }
        if let Some(heartbeat) = heartbeat {
            drop(self.bus.publish(HEARTBEAT_CHANNEL, &heartbeat));
        }
    }

    /// Announces that the process ends.
    pub fn leave(&mut self, clock: &Live, health: Vec<HeartbeatComponent>) {
        let now = clock.now();
        let heartbeat = self.beacon.leave(now, clock.wall_offset_ns(), health);
        drop(self.bus.publish(HEARTBEAT_CHANNEL, &heartbeat));
    }

    /// Its announcement, to be changed.
    pub fn beacon(&mut self) -> &mut Beacon {
        &mut self.beacon
    }
}

//! One component and what surrounds it: its inputs, its timers, what it said.

use super::wiring::Instance;
use crate::component::Component;
use crate::input::Slot;
use crate::outbox::{Effects, Outbox};
use crate::parcel::Parcel;
use crate::port::{Direction, Expect, PortInfo};
use crate::step::{Cause, Step};
use crate::time::Time;
use crate::trace::{Entry, Reason, Trace};
use bowline_bus::Channel;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) settings: String,
    pub(crate) ports: Vec<PortInfo>,
    /// By port.
    pub(crate) channels: Vec<Option<Channel>>,
    pub(crate) effects: Effects,
    pub(crate) inbox: Vec<Event>,
    pub(crate) trace: Option<Trace>,
    pub(crate) panicked: Option<Panicked>,
    component: Box<dyn Component>,
    slots: Vec<Slot>,
    tick: Option<Tick>,
}

/// What happens to a cell.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start,
    Message {
        port: usize,
        parcel: Parcel,
        /// When it was received: not later than it is handled.
        received: Time,
    },
    /// Whatever is due by now.
    Time,
}

#[derive(Debug)]
struct Tick {
    every: Duration,
    next: Time,
}

/// A component panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("component {component:?} panicked at {at:?}: {message}")]
pub struct Panicked {
    /// Its name.
    pub component: String,
    /// When, by its host's clock.
    pub at: Time,
    /// What it said.
    pub message: String,
}

impl Cell {
    pub(crate) fn new(instance: Instance) -> Self {
        let channels = instance.built.ports.iter();
        let channels = channels.map(|port| Some(instance.channel(port)?.as_str().into()));
        let channels = channels.collect();
        let Instance {
            name,
            kind,
            built,
            channels: _,
            settings,
        } = instance;
        let tick = built.ports.tick_period().map(|every| Tick {
            // A period of nothing would never let time go on.
            every: every.max(Duration::from_nanos(1)),
            next: Time::MAX,
        });
        let declared = built.ports.into_declared();
        let slots = declared.iter().map(|port| match port.info.direction {
            Direction::Reads(expect) => Slot::new(expect, port.decoder),
            Direction::Writes | Direction::Serves | Direction::Calls => {
                Slot::new(Expect::ever(), None)
            }
        });
        Self {
            slots: slots.collect(),
            ports: declared.into_iter().map(|port| port.info).collect(),
            channels,
            name,
            kind,
            settings,
            component: built.component,
            effects: Effects::default(),
            inbox: Vec::new(),
            trace: None,
            panicked: None,
            tick,
        }
    }

    /// Handles what is in the inbox. Nothing more happens in a cell that panicked.
    pub(crate) fn run(&mut self, now: Time) {
        let mut inbox = std::mem::take(&mut self.inbox);
        for event in inbox.drain(..) {
            if self.panicked.is_some() {
                break;
            }
            self.handle(now, event);
        }
        self.inbox = inbox;
    }

    fn handle(&mut self, now: Time, event: Event) {
        let reason = self.trace.as_ref().map(|_| Reason::of(&event));
        let before = self.effects.sent.len();
        match event {
            Event::Start => self.on_start(now),
            Event::Message {
                port,
                parcel,
                received,
            } => self.on_message(now, port, &parcel, received),
            Event::Time => self.on_time(now),
        }
        if let (Some(trace), Some(reason)) = (&mut self.trace, reason) {
            let sent = self.effects.sent.get(before..).unwrap_or_default();
            trace.add(Entry::new(now, reason, sent));
        }
    }

    fn on_start(&mut self, now: Time) {
        if let Some(tick) = &mut self.tick {
            tick.next = now + tick.every;
        }
        self.step(now, Cause::Start);
    }

    fn on_message(&mut self, now: Time, port: usize, parcel: &Parcel, received: Time) {
        let Some(slot) = self.slots.get_mut(port) else {
            return;
        };
        match slot.accept(received.min(now), parcel) {
            Ok(held) => self.step(now, Cause::Message { port, held: &held }),
            Err(error) => {
                let name = self.ports.get(port).map_or("", |info| &info.name);
                self.effects.counts.undecodable += 1;
                self.effects.fault(format!("input {name:?}: {error}"));
            }
        }
    }

    /// Handles what is due, in a fixed order: stale inputs, wishes, the tick.
    fn on_time(&mut self, now: Time) {
        for port in 0..self.slots.len() {
            let slot = self.slots.get_mut(port);
            if let Some(slot) = slot.filter(|slot| slot.stale_at().is_some_and(|at| at <= now)) {
                slot.stale_told();
                self.step(now, Cause::Stale { port });
            }
        }
        while let Some(wake) = self.effects.wakes.first().copied().filter(|at| *at <= now) {
            self.effects.wakes.remove(&wake);
            self.step(now, Cause::Wake);
        }
        if let Some(missed) = self.tick.as_mut().and_then(|tick| tick.pass(now)) {
            self.effects.counts.missed_ticks += missed;
            self.step(now, Cause::Tick { missed });
        }
    }

    pub(crate) fn next_due(&self) -> Time {
        let stale = self.slots.iter().filter_map(Slot::stale_at);
        let wake = self.effects.wakes.first().copied();
        let tick = self.tick.as_ref().map(|tick| tick.next);
        stale.chain(wake).chain(tick).min().unwrap_or(Time::MAX)
    }

    fn step(&mut self, now: Time, cause: Cause<'_>) {
        let Self {
            component,
            slots,
            effects,
            panicked,
            ..
        } = self;
        effects.counts.steps += 1;
        let step = Step { now, cause, slots };
        let mut outbox = Outbox { now, effects };
        let stepped = catch_unwind(AssertUnwindSafe(|| component.step(&step, &mut outbox)));
        if let Err(payload) = stepped {
            *panicked = Some(Panicked {
                component: self.name.clone(),
                at: now,
                message: words(&*payload),
            });
        }
    }
}

impl Tick {
    /// Whether it is due, and how many were skipped since the last.
    fn pass(&mut self, now: Time) -> Option<u64> {
        if now < self.next {
            return None;
        }
        let late = now.since(self.next).as_nanos();
        let missed = u64::try_from(late / self.every.as_nanos()).unwrap_or(u64::MAX);
        let skipped = self
            .every
            .saturating_mul(u32::try_from(missed).unwrap_or(u32::MAX));
        self.next = self.next + skipped + self.every;
        Some(missed)
    }
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it did not say why".to_owned())
}

//! One component and what surrounds it: its inputs, its timers, its outputs.

use super::EngineError;
use super::parameters;
use super::services::{News, Services};
use super::wiring::{Instance, Lane};
use crate::component::Component;
use crate::input::Slot;
use crate::kind::Built;
use crate::outbox::{Effects, Emission, Outbox};
use crate::parcel::Parcel;
use crate::port::{Declared, Direction, Expect, PortInfo, Service};
use crate::service::CallId;
use crate::step::{Cause, Step};
use crate::time::Time;
use crate::trace::{Entry, Reason, Trace};
use bowline_msgs::{Alarm, Parameters, ParametersRequest};
use bowline_wire::DecodeError;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) settings: String,
    pub(crate) ports: Vec<PortInfo>,
    /// By port.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) effects: Effects,
    pub(crate) inbox: Vec<Event>,
    pub(crate) trace: Option<Trace>,
    pub(crate) ended: Option<EngineError>,
    /// Whether nothing happens in it any more.
    pub(crate) is_dead: bool,
    component: Box<dyn Component>,
    declared: Vec<Declared>,
    slots: Vec<Slot>,
    services: Services,
    parameters: Option<Service<ParametersRequest, Parameters>>,
    tick: Option<Tick>,
}

/// What happens to a cell.
#[derive(Clone, Debug)]
pub enum Event {
    /// The first step.
    Start,
    /// A message on one of its ports.
    Message {
        /// The index of the port, in the order of declaration.
        port: usize,
        /// The message.
        parcel: Parcel,
        /// When it was received: not later than it is handled.
        received: Time,
    },
    /// What is due by now: a tick, an input that grew stale, an answer that stayed away.
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
    /// Its outputs.
    pub message: String,
}

/// A component ended itself, by [`Outbox::abort`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("component {component:?} ended at {at:?}: {cause}")]
pub struct Aborted {
    /// Its name.
    pub component: String,
    /// When, by its host's clock.
    pub at: Time,
    /// Why.
    pub cause: String,
}

impl Cell {
    pub(crate) fn new(instance: Instance) -> Self {
        let lanes = instance.lanes();
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
        let Built {
            component,
            ports,
            parameters,
        } = built;
        let declared = ports.into_declared();
        let slots = declared.iter().map(|port| match port.info.direction {
            Direction::Reads(expect) => Slot::new(expect, port.decoder),
            Direction::Writes | Direction::Serves | Direction::Calls => {
                Slot::new(Expect::ever(), None)
            }
        });
        Self {
            slots: slots.collect(),
            ports: declared.iter().map(|port| port.info.clone()).collect(),
            declared,
            lanes,
            services: Services::default(),
            parameters,
            name,
            kind,
            settings,
            component,
            effects: Effects::default(),
            inbox: Vec::new(),
            trace: None,
            ended: None,
            is_dead: false,
            tick,
        }
    }

    /// Handles what is in the inbox. Nothing more happens in a cell that has ended.
    pub(crate) fn run(&mut self, now: Time) {
        let mut inbox = std::mem::take(&mut self.inbox);
        for event in inbox.drain(..) {
            if self.ended.is_some() {
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
        self.publish_alarms(now);
        if let (Some(trace), Some(reason)) = (&mut self.trace, reason) {
            let sent = self.effects.sent.get(before..).unwrap_or_default();
            trace.add(Entry::new(now, reason, sent));
        }
    }

    fn on_start(&mut self, now: Time) {
        if let Some(tick) = &mut self.tick {
            tick.next = now + tick.every;
        }
        let names = self.lanes.iter().map(|lane| lane.service.clone());
        self.services =
            Services::start(now, &self.name, &self.declared, &names.collect::<Vec<_>>());
        self.step(now, Cause::Start);
    }

    fn on_message(&mut self, now: Time, port: usize, parcel: &Parcel, received: Time) {
        let news = self
            .services
            .on_message(now, port, parcel, &mut self.effects);
        if let Some(news) = news {
            match news {
                Ok(None) => {}
                Ok(Some(news)) => self.on_news(now, &news),
                Err(error) => self.undecodable(port, &error),
            }
            return;
        }
        let Some(slot) = self.slots.get_mut(port) else {
            return;
        };
        match slot.accept(received.min(now), parcel) {
            Ok(held) => self.step(now, Cause::Message { port, held: &held }),
            Err(error) => self.undecodable(port, &error),
        }
    }

    fn undecodable(&mut self, port: usize, error: &DecodeError) {
        let name = self.ports.get(port).map_or("", |info| &info.name);
        self.effects.counts.undecodable += 1;
        self.effects.fault(format!("input {name:?}: {error}"));
    }

    /// Something happened at a service.
    fn on_news(&mut self, now: Time, news: &News) {
        match news {
            News::Called {
                port,
                call,
                request,
            } => {
                let parameters = self.parameters.filter(|own| own.index == *port);
                let asked = request.downcast_ref::<ParametersRequest>();
                if let (Some(own), Some(asked)) = (parameters, asked) {
                    self.on_parameters(now, own, call.id, asked);
                    return;
                }
                let cause = Cause::Called {
                    port: *port,
                    call,
                    request: &**request,
                };
                self.step(now, cause);
            }
            News::Dropped { port, id } => self.step(
                now,
                Cause::Dropped {
                    port: *port,
                    id: *id,
                },
            ),
            News::Answered { port, answer } => {
                let port = *port;
                self.step(now, Cause::Answered { port, answer });
            }
        }
    }

    fn on_parameters(
        &mut self,
        now: Time,
        own: Service<ParametersRequest, Parameters>,
        call: CallId,
        asked: &ParametersRequest,
    ) {
        let Some(shown) = self.component.parameters() else {
            return;
        };
        let outcome = parameters::serve(now, &self.name, shown, asked);
        let mut outbox = Outbox {
            now,
            effects: &mut self.effects,
            services: &mut self.services,
        };
        match outcome.result {
            Ok(reply) => outbox.reply(own, call, &reply),
            Err(failure) => outbox.fail(own, call, failure),
        }
        if outcome.is_changed {
            self.step(now, Cause::Parameters);
        }
    }

    /// Gives up what is being worked on: the component will not go on.
    pub(crate) fn abandon(&mut self, now: Time) {
        self.services
            .abandon(now, "the component was stopped", &mut self.effects);
    }

    /// Handles what is due, in a fixed order: services, stale inputs, wishes, the tick.
    fn on_time(&mut self, now: Time) {
        for news in self.services.on_time(now, &mut self.effects) {
            self.on_news(now, &news);
        }
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

    /// Alarms leave by a port that every component has, after those that it declares.
    fn publish_alarms(&mut self, now: Time) {
        let Effects {
            alarms,
            health,
            sent,
            counts,
            ..
        } = &mut self.effects;
        alarms.follow(now, health);
        if alarms.next_due().is_none_or(|due| due > now) {
            return;
        }
        for alarm in alarms.take_due(now) {
            let alarm = Alarm {
                source: self.name.clone(),
                ..alarm
            };
            // Texts without NUL have a faithful encoding, and one with it is a fault of the component's.
            match Parcel::new(alarm) {
                Ok(parcel) => sent.push(Emission {
                    port: self.ports.len(),
                    parcel,
                }),
                Err(_) => counts.unencodable += 1,
            }
        }
    }

    pub(crate) fn next_due(&self) -> Time {
        let stale = self.slots.iter().filter_map(Slot::stale_at);
        let wake = self.effects.wakes.first().copied();
        let tick = self.tick.as_ref().map(|tick| tick.next);
        let services = self.services.next_due();
        let alarms = self.effects.alarms.next_due();
        stale
            .chain(wake)
            .chain(tick)
            .chain(services)
            .chain(alarms)
            .min()
            .unwrap_or(Time::MAX)
    }

    fn step(&mut self, now: Time, cause: Cause<'_>) {
        let Self {
            component,
            slots,
            effects,
            services,
            ended,
            ..
        } = self;
        // Nothing more happens in a component that has ended.
        if ended.is_some() {
            return;
        }
        effects.counts.steps += 1;
        let step = Step { now, cause, slots };
        let mut outbox = Outbox {
            now,
            effects,
            services,
        };
        let stepped = catch_unwind(AssertUnwindSafe(|| component.step(&step, &mut outbox)));
        let component = || self.name.clone();
        let aborted = self.effects.fatal.take().map(|cause| {
            EngineError::Aborted(Aborted {
                component: component(),
                at: now,
                cause,
            })
        });
        let panicked = stepped.err().map(|payload| {
            EngineError::Panicked(Panicked {
                component: component(),
                at: now,
                message: words(&*payload),
            })
        });
        self.ended = panicked.or(aborted);
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
    text.unwrap_or_else(|| "it gave no reason".to_owned())
}

//! The services that a component offers and uses: one server or caller for each such port.

use crate::outbox::{Effects, NotCalled};
use crate::parcel::{Decoder, Parcel};
use crate::port::{Declared, Direction};
use crate::service::{
    CallError, CallId, Called, Caller, Failure, Finished, Incoming, Request, Server, ServerLimits,
    ServiceName,
};
use crate::time::Time;
use bowline_msgs::{Answer, Call};
use bowline_wire::{DecodeError, Fingerprint, Message};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// By port.
#[derive(Debug, Default)]
pub(crate) struct Services {
    offers: BTreeMap<usize, Offer>,
    uses: BTreeMap<usize, Use>,
}

/// A service that the component offers.
#[derive(Debug)]
struct Offer {
    server: Server,
    decoder: Decoder,
}

/// A service that the component uses.
#[derive(Debug)]
struct Use {
    caller: Caller,
    service: ServiceName,
    reply: Option<Fingerprint>,
    decoder: Decoder,
}

/// What the component must learn.
pub(crate) enum News {
    Called {
        port: usize,
        call: Called,
        request: Arc<dyn Any + Send + Sync>,
    },
    /// No caller waits for it any more.
    Dropped {
        port: usize,
        id: CallId,
    },
    Answered {
        port: usize,
        answer: Ended,
    },
}

/// A call of the component's that is over.
pub(crate) struct Ended {
    pub(crate) id: CallId,
    pub(crate) outcome: Result<Arc<dyn Any + Send + Sync>, CallError>,
}

impl Services {
    /// Begins a life: calls and servers are known by the component's name and its start.
    pub(crate) fn start(
        now: Time,
        component: &str,
        ports: &[Declared],
        names: &[Option<ServiceName>],
    ) -> Self {
        let instance = incarnation(now);
        let mut services = Self::default();
        for (port, (declared, name)) in ports.iter().zip(names).enumerate() {
            let (Some(service), Some(decoder)) = (name.clone(), declared.decoder) else {
                continue;
            };
            match declared.info.direction {
                Direction::Serves => {
                    let request = declared.info.message;
                    let limits = ServerLimits::default();
                    let server = Server::new(service, component, instance, request, limits);
                    services.offers.insert(port, Offer { server, decoder });
                }
                Direction::Calls => {
                    let caller =
                        Caller::new(&caller_name(component, &declared.info.name), instance);
                    let reply = declared.info.answer.map(|answer| answer.fingerprint);
                    let used = Use {
                        caller,
                        service,
                        reply,
                        decoder,
                    };
                    services.uses.insert(port, used);
                }
                Direction::Reads(_) | Direction::Writes => {}
            }
        }
        services
    }

    /// Takes what came in at the port of a service. `None`: the port is none.
    pub(crate) fn on_message(
        &mut self,
        now: Time,
        port: usize,
        parcel: &Parcel,
        effects: &mut Effects,
    ) -> Option<Result<Option<News>, DecodeError>> {
        if let Some(offer) = self.offers.get_mut(&port) {
            return Some(offer.on_call(now, port, parcel, effects));
        }
        let used = self.uses.get_mut(&port)?;
        Some(used.on_answer(now, port, parcel))
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        let offers = self
            .offers
            .values()
            .filter_map(|offer| offer.server.next_due());
        let uses = self.uses.values().filter_map(|used| used.caller.next_due());
        offers.chain(uses).min()
    }

    /// What follows from the passing of time, in the order of the ports.
    pub(crate) fn on_time(&mut self, now: Time, effects: &mut Effects) -> Vec<News> {
        let mut news = Vec::new();
        for (port, offer) in &mut self.offers {
            let expired = offer.server.on_time(now);
            let expired = expired
                .into_iter()
                .map(|incoming| offer.news(*port, incoming));
            // What expires has no request that could not be read.
            news.extend(expired.flatten());
        }
        for (port, used) in &mut self.uses {
            let due = used.caller.on_time(now);
            for call in due.send {
                send(effects, *port, call);
            }
            let finished = due.finished.into_iter();
            news.extend(finished.map(|finished| used.news(*port, finished)));
        }
        news
    }

    pub(crate) fn answer(
        &mut self,
        now: Time,
        (port, id): (usize, CallId),
        result: Result<Vec<u8>, Failure>,
        effects: &mut Effects,
    ) {
        let offer = self.offers.get_mut(&port);
        let answer = offer.and_then(|offer| offer.server.finish(now, id, result));
        if let Some(answer) = answer {
            send(effects, port, answer);
        }
    }

    pub(crate) fn begin(
        &mut self,
        now: Time,
        port: usize,
        (body, timeout): (Vec<u8>, Duration),
        effects: &mut Effects,
    ) -> Result<CallId, NotCalled> {
        let used = self.uses.get_mut(&port).ok_or(NotCalled::Unconnected)?;
        let request = Request {
            service: used.service.clone(),
            body,
            reply: used.reply,
            timeout,
        };
        let (id, call) = used.caller.begin(now, request)?;
        send(effects, port, call);
        Ok(id)
    }

    pub(crate) fn cancel(&mut self, now: Time, port: usize, id: CallId, effects: &mut Effects) {
        let used = self.uses.get_mut(&port);
        if let Some((_, call)) = used.and_then(|used| used.caller.cancel(now, id)) {
            send(effects, port, call);
        }
    }

    /// Gives up what is being worked on.
    pub(crate) fn abandon(&mut self, now: Time, why: &str, effects: &mut Effects) {
        for (port, offer) in &mut self.offers {
            for answer in offer.server.abandon(now, why) {
                send(effects, *port, answer);
            }
        }
    }
}

impl Offer {
    fn on_call(
        &mut self,
        now: Time,
        port: usize,
        parcel: &Parcel,
        effects: &mut Effects,
    ) -> Result<Option<News>, DecodeError> {
        let opened = parcel.open(&Decoder::of::<Call>())?;
        let Some(call) = opened.value.downcast_ref::<Call>() else {
            return Ok(None);
        };
        let handled = self.server.on_call(now, call);
        if let Some(answer) = handled.answer {
            send(effects, port, answer);
        }
        let Some(incoming) = handled.incoming else {
            return Ok(None);
        };
        match self.news(port, incoming) {
            Ok(news) => Ok(Some(news)),
            Err((id, error)) => {
                let answer = self.server.refuse(now, id, &error.to_string());
                if let Some(answer) = answer {
                    send(effects, port, answer);
                }
                Ok(None)
            }
        }
    }

    /// The component's input; an error if the request cannot be read.
    fn news(&self, port: usize, incoming: Incoming) -> Result<News, (CallId, DecodeError)> {
        match incoming {
            Incoming::Cancelled(id) | Incoming::Expired(id) => Ok(News::Dropped { port, id }),
            Incoming::Called(mut call) => {
                let body = std::mem::take(&mut call.body);
                let opened = Parcel::from_bytes(body.into()).open(&self.decoder);
                let opened = opened.map_err(|error| (call.id, error))?;
                Ok(News::Called {
                    port,
                    call,
                    request: opened.value,
                })
            }
        }
    }
}

impl Use {
    fn on_answer(
        &mut self,
        now: Time,
        port: usize,
        parcel: &Parcel,
    ) -> Result<Option<News>, DecodeError> {
        let opened = parcel.open(&Decoder::of::<Answer>())?;
        let Some(answer) = opened.value.downcast_ref::<Answer>() else {
            return Ok(None);
        };
        let finished = self.caller.on_answer(now, answer);
        Ok(finished.map(|finished| self.news(port, finished)))
    }

    fn news(&self, port: usize, finished: Finished) -> News {
        let Finished { id, outcome, .. } = finished;
        let outcome = outcome.and_then(|body| {
            let opened = Parcel::from_bytes(body.into()).open(&self.decoder);
            let opened = opened.map_err(|error| CallError::WrongType {
                text: error.to_string(),
            })?;
            Ok(opened.value)
        });
        News::Answered {
            port,
            answer: Ended { id, outcome },
        }
    }
}

/// Identifies the instances of a caller and a server. 0 is that of a server that is not known.
pub(crate) fn incarnation(started: Time) -> i64 {
    started.utime().max(1)
}

/// What a component is called where it calls a service.
pub(crate) fn caller_name(component: &str, port: &str) -> String {
    format!("{component}.{port}")
}

fn send<M: Message + Send + Sync + 'static>(effects: &mut Effects, port: usize, message: M) {
    match Parcel::new(message) {
        Ok(parcel) => effects.send(port, parcel),
        Err(error) => effects.fault(format!("a message of a service was not sent: {error}")),
    }
}

//! Where orders come in: the services of a supervisor.

use super::claim::Identity;
use super::machine::Verb;
use crate::clock::Live;
use crate::presence::{self, Beacon, MAX_COMPONENTS, Presenter};
use crate::service::Responder;
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Event, Inbox, SubscriptionId};
use bowline_component::Health;
use bowline_component::Time;
use bowline_component::service::{BadServiceName, CallId, Failure, Incoming};
use bowline_msgs::{
    HeartbeatComponent, Order, OrderReply, Output, OutputRequest, PresenceComponent,
};
use bowline_wire::Message as _;

/// The name of a supervisor's service.
#[must_use]
pub fn service_name(robot: &str, host: &str, what: &str) -> String {
    format!("supervisor.{robot}.{host}.{what}")
}

/// What a supervisor is to others: the kind of component that reports programs which do not announce themselves.
pub const SUPERVISOR: &str = "supervisor";

/// The service that takes orders: `order_t` to `order_reply_t`.
pub const ORDER: &str = "order";
/// The service that has the last lines: `output_request_t` to `output_t`.
pub const OUTPUT: &str = "output";

/// The longest that the names of a robot and a host may be together, bytes: services are parts of channels.
pub(crate) const MAX_NAMES: usize = 63 - "bowline.answer.supervisor...output".len();

/// The two services of a supervisor.
#[derive(Debug)]
pub(crate) struct Desk {
    orders: (SubscriptionId, Responder),
    outputs: (SubscriptionId, Responder),
    requests: SubscriptionId,
    presenter: Presenter,
    /// What the supervisor is itself.
    component: PresenceComponent,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Which components it has; a client that asks that wants its status, too.
    Status,
    Order {
        id: CallId,
        verb: Verb,
        target: String,
    },
    Output {
        id: CallId,
        process: String,
        n_lines: usize,
    },
}

impl Desk {
    pub(crate) fn open(bus: &Bus, inbox: &Inbox, own: &Identity) -> Result<Self, DeskError> {
        // The same in its next life, so that callers know what happened.
        let server = format!("supervisor of {}@{}", own.robot, own.host);
        let name = |what| service_name(&own.robot, &own.host, what);
        let mut orders =
            Responder::new::<Order, OrderReply>(bus, &name(ORDER), &server, own.instance)?;
        let mut outputs =
            Responder::new::<OutputRequest, Output>(bus, &name(OUTPUT), &server, own.instance)?;
        let component = PresenceComponent {
            name: format!("supervisor.{}", own.host),
            kind: SUPERVISOR.to_owned(),
            services: vec![orders.offer(), outputs.offer()],
            ..PresenceComponent::default()
        };
        let started = Time::from_utime(own.instance);
        let identity = presence::Identity::of_this_process(&own.robot, &component.name, started);
        let beacon = Beacon::new(identity, vec![component.clone()], started);
        let presenter = Presenter::new(bus, beacon);
        Ok(Self {
            orders: (orders.subscribe(inbox)?, orders),
            outputs: (outputs.subscribe(inbox)?, outputs),
            requests: presenter.subscribe(inbox)?,
            presenter,
            component,
        })
    }

    /// It reports these programs from now on, beside itself.
    pub(crate) fn describe(
        &mut self,
        now: Time,
        programs: impl Iterator<Item = PresenceComponent>,
    ) {
        let own = std::iter::once(self.component.clone());
        self.presenter
            .beacon()
            .describe(now, own.chain(programs).collect());
    }

    /// Announces that it is there, and how it and its programs are. When that is due again.
    pub(crate) fn present(
        &mut self,
        clock: &Live,
        alarm: Option<&str>,
        programs: Vec<HeartbeatComponent>,
    ) -> Time {
        let mut components = vec![health(&self.component.name, alarm)];
        components.extend(programs);
        // What is more than a heartbeat may carry is not in the description either.
        components.truncate(MAX_COMPONENTS);
        self.presenter.on_time(clock, || components);
        self.presenter.next_due()
    }

    /// Announces that it ends.
    pub(crate) fn leave(&mut self, clock: &Live) {
        self.presenter
            .leave(clock, vec![health(&self.component.name, None)]);
    }

    /// Takes an event, if it is a call.
    pub(crate) fn on_event(
        &mut self,
        now: Time,
        id: SubscriptionId,
        event: &Event,
    ) -> Option<Asked> {
        let responder = match id {
            id if id == self.orders.0 => &mut self.orders.1,
            id if id == self.outputs.0 => &mut self.outputs.1,
            id if id == self.requests => {
                return self.presenter.on_event(now, event).then_some(Asked::Status);
            }
            _ => return None,
        };
        let called = match responder.on_event(now, event)? {
            Incoming::Called(called) => called,
            // Whatever is asked is answered at once, so nothing can be cancelled.
            Incoming::Cancelled(_) | Incoming::Expired(_) => return None,
        };
        let asked = match id == self.orders.0 {
            true => order(called.id, &called.body),
            false => output(called.id, &called.body),
        };
        match asked {
            Ok(asked) => Some(asked),
            Err(why) => {
                responder.refuse(now, called.id, &why);
                None
            }
        }
    }

    pub(crate) fn on_time(&mut self, now: Time) {
        // Nothing is worked on for long, so nothing has to learn of what expires.
        drop(self.orders.1.on_time(now));
        drop(self.outputs.1.on_time(now));
    }

    pub(crate) fn answer_order(
        &mut self,
        now: Time,
        id: CallId,
        result: Result<Vec<String>, String>,
    ) {
        let reply = result.map(|processes| {
            let reply = OrderReply {
                processes,
                ..OrderReply::default()
            };
            reply.with_lengths()
        });
        let reply = reply.as_ref().map_err(|why| Failure::new(1, why.clone()));
        self.orders.1.reply(now, id, reply);
    }

    pub(crate) fn answer_output(&mut self, now: Time, id: CallId, result: Result<&Output, String>) {
        let reply = result.map_err(|why| Failure::new(1, why));
        self.outputs.1.reply(now, id, reply);
    }
}

fn health(name: &str, alarm: Option<&str>) -> HeartbeatComponent {
    let health = match alarm {
        None => Health::Good,
        Some(why) => Health::Failed(why.to_owned()),
    };
    health.heartbeat(name)
}

fn order(id: CallId, body: &[u8]) -> Result<Asked, String> {
    let order = Order::decode(body).map_err(|error| error.to_string())?;
    let verb = match order.action {
        Order::START => Verb::Start,
        Order::STOP => Verb::Stop,
        Order::RESTART => Verb::Restart,
        other => return Err(format!("expected an action from 1 to 3, found {other}")),
    };
    Ok(Asked::Order {
        id,
        verb,
        target: order.target,
    })
}

fn output(id: CallId, body: &[u8]) -> Result<Asked, String> {
    let request = OutputRequest::decode(body).map_err(|error| error.to_string())?;
    Ok(Asked::Output {
        id,
        process: request.process,
        n_lines: usize::try_from(request.n_lines).unwrap_or(0),
    })
}

/// Why a supervisor cannot be given orders.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Its name cannot be part of a service's.
    #[error(transparent)]
    Name(#[from] BadServiceName),
    /// Nothing can be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

//! A service of a program that is no component: it reads its own inbox, and answers when it likes.

use crate::clock::Live;
use crate::presence::{Beacon, Identity, Presenter, ThisProcess};
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Event, Inbox, Pattern, Queue, RecvError, SubscriptionId};
use bowline_component::Health;
use bowline_component::Time;
use bowline_component::TypeInfo;
use bowline_component::service::{
    BadServiceName, CallId, Failure, Incoming, Server, ServerLimits, ServiceName,
};
use bowline_msgs::{Answer, Call, HeartbeatComponent, PresenceComponent, PresenceService};
use bowline_wire::{Decode, Message};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A [`Server`] on a bus. It owns no thread and no inbox: the reader hands it the events of its channel.
#[derive(Debug)]
pub struct Responder {
    bus: Bus,
    server: Server,
    answer_channel: String,
    types: [TypeInfo; 2],
    is_described: bool,
}

impl Responder {
    /// A service with requests of type `Q` and replies of type `A`, by the server's name and its start in microseconds
    /// since the epoch.
    ///
    /// # Errors
    /// When there can be no service of that name.
    pub fn new<Q, A>(
        bus: &Bus,
        service: &str,
        server: &str,
        instance: i64,
    ) -> Result<Self, BadServiceName>
    where
        Q: Message,
        A: Message,
    {
        let service = ServiceName::new(service)?;
        let answer_channel = service.answer_channel();
        let types = [TypeInfo::of::<Q>(), TypeInfo::of::<A>()];
        let [request, _] = types;
        let limits = ServerLimits::default();
        Ok(Self {
            bus: bus.clone(),
            server: Server::new(service, server, instance, Some(request), limits),
            answer_channel,
            types,
            is_described: false,
        })
    }

    /// Subscribes an inbox to the calls. From now on the types can be asked for.
    ///
    /// # Errors
    /// When nothing can be received.
    pub fn subscribe(&mut self, inbox: &Inbox) -> Result<SubscriptionId, ListenError> {
        let channel = Pattern::exact(&self.server.service().call_channel());
        let id = inbox.subscribe_to(channel, Queue::default())?;
        self.describe();
        Ok(id)
    }

    /// Takes an event of the call channel. What the program must do about it.
    pub fn on_event(&mut self, now: Time, event: &Event) -> Option<Incoming> {
        // What cannot be read has no caller to be answered.
        let call = Call::decode(&event.payload).ok()?;
        let handled = self.server.on_call(now, &call);
        self.send(handled.answer);
        handled.incoming
    }

    /// Answers a call.
    pub fn reply<A: Message>(&mut self, now: Time, id: CallId, result: Result<&A, Failure>) {
        let encoded = result.and_then(|reply| {
            let encoded = reply.encode();
            encoded.map_err(|error| Failure::new(1, format!("the reply cannot be sent: {error}")))
        });
        let answer = self.server.finish(now, id, encoded);
        self.send(answer);
    }

    /// Answers that a request makes no sense.
    pub fn refuse(&mut self, now: Time, id: CallId, why: &str) {
        let answer = self.server.refuse(now, id, why);
        self.send(answer);
    }

    /// Gives up what is not answered yet, because the program ends.
    pub fn abandon(&mut self, now: Time, why: &str) {
        for answer in self.server.abandon(now, why) {
            self.send(Some(answer));
        }
    }

    /// When [`on_time`](Self::on_time) has something to do.
    #[must_use]
    pub fn next_due(&self) -> Option<Time> {
        self.server.next_due()
    }

    /// Forgets calls whose time is over. The program must stop work on these.
    pub fn on_time(&mut self, now: Time) -> Vec<Incoming> {
        self.server.on_time(now)
    }

    /// The server itself: its name, its counts.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The announcement of this program, if the service is all there is.
    fn beacon(&self, started: Time) -> Beacon {
        let program = &ThisProcess::get().program;
        let component = PresenceComponent {
            name: program.clone(),
            kind: "program".to_owned(),
            services: vec![self.offer()],
            ..PresenceComponent::default()
        };
        let identity = Identity::of_this_process("", program, started);
        Beacon::new(identity, vec![component], started)
    }

    /// The service, as presence has it.
    #[must_use]
    pub fn offer(&self) -> PresenceService {
        let [request, reply] = self.types;
        let name = self.server.service().as_str();
        PresenceService {
            port: name.to_owned(),
            direction: PresenceService::SERVES,
            name: name.to_owned(),
            request_type: request.name.to_owned(),
            request_fingerprint: request.fingerprint.0.cast_signed(),
            reply_type: reply.name.to_owned(),
            reply_fingerprint: reply.fingerprint.0.cast_signed(),
        }
    }

    fn describe(&mut self) {
        if !self.is_described {
            self.is_described = true;
            for ty in self.types {
                super::describe(&self.bus, &self.answer_channel, ty);
            }
        }
    }

    fn send(&self, answer: Option<Answer>) {
        if let Some(answer) = answer {
            // The bus counts what it cannot send, and the caller asks again.
            drop(self.bus.publish(&self.answer_channel, &answer));
        }
    }
}

/// How often [`serve`] looks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serves one service with a function, until `stop` is set or the bus ends. While the function runs nothing is received:
/// it should be quick. The program can be found by `bowline service list`.
///
/// ```
/// # use bowline_bus::Bus;
/// # use bowline_msgs::Waypoint;
/// # use bowline_component::service::Failure;
/// # use bowline_host::service;
/// # use std::sync::atomic::{AtomicBool, Ordering};
/// # use std::time::Duration;
/// let bus = Bus::open("memq://")?;
/// let stop = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     let serving = scope.spawn(|| service::serve(&bus, "plan.mirror", &stop, |asked: Waypoint| {
///         let [x, y] = asked.position;
///         if x < 0.0 {
///             return Err(Failure::new(1, "there is nothing on that side"));
///         }
///         Ok(Waypoint { position: [-x, y], ..asked })
///     }));
///     let dock = Waypoint { id: "dock".into(), position: [12.0, -3.5] };
///     let reply: Waypoint = service::call(&bus, "plan.mirror", &dock, Duration::from_secs(9))?;
///     assert_eq!(reply.position, [-12.0, -3.5]);
///     stop.store(true, Ordering::Relaxed);
///     serving.join().expect("it ends when it is stopped")?;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there can be no such service, or nothing can be received.
pub fn serve<Q, A>(
    bus: &Bus,
    service: &str,
    stop: &AtomicBool,
    mut handle: impl FnMut(Q) -> Result<A, Failure>,
) -> Result<(), ServeError>
where
    Q: Message + for<'a> Decode<'a>,
    A: Message,
{
    let clock = Live::new();
    let started = clock.now();
    let ThisProcess { host, program, .. } = ThisProcess::get();
    // The same in its next life, so that callers know what happened.
    let server = format!("{program}@{host}");
    let mut responder = Responder::new::<Q, A>(bus, service, &server, started.utime())?;
    let mut presenter = Presenter::new(bus, responder.beacon(started));
    let inbox = bus.inbox();
    let calls = responder.subscribe(&inbox)?;
    presenter.subscribe(&inbox)?;
    while !stop.load(Ordering::Relaxed) {
        presenter.on_time(&clock, || vec![health(program)]);
        // Nothing is worked on between two calls, so none has to learn of those that expire.
        responder.on_time(clock.now());
        let patience = clock.until(presenter.next_due()).min(LOOK_EVERY);
        match inbox.recv_timeout(patience) {
            Ok(None) => {}
            Ok(Some((id, event))) if id == calls => {
                answer(&mut responder, &clock, &event, &mut handle);
            }
            Ok(Some((_, event))) => {
                presenter.on_event(clock.now(), &event);
            }
            Err(error) if error.is_end() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    presenter.leave(&clock, vec![health(program)]);
    Ok(())
}

fn answer<Q, A>(
    responder: &mut Responder,
    clock: &Live,
    event: &Event,
    handle: &mut impl FnMut(Q) -> Result<A, Failure>,
) where
    Q: Message + for<'a> Decode<'a>,
    A: Message,
{
    let Some(Incoming::Called(called)) = responder.on_event(clock.now(), event) else {
        return;
    };
    match Q::decode(&called.body) {
        Ok(request) => {
            let result = handle(request);
            let result = result.as_ref().map_err(Clone::clone);
            responder.reply(clock.now(), called.id, result);
        }
        Err(error) => responder.refuse(clock.now(), called.id, &error.to_string()),
    }
}

/// A program that serves as one component of no robot.
fn health(program: &str) -> HeartbeatComponent {
    Health::Good.heartbeat(program)
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There can be no such service.
    #[error(transparent)]
    Name(#[from] BadServiceName),
    /// Calls cannot be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Nothing can be received.
    #[error(transparent)]
    Recv(#[from] RecvError),
}

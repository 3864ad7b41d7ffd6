//! Calls from programs that are no components: one at a time, and the program waits.

use crate::clock::Live;
use crate::presence::ThisProcess;
use bowline_bus::transport::ListenError;
use bowline_bus::{Bus, Event, Inbox, Pattern, PublishError, Queue, RecvError};
use bowline_component::TypeInfo;
use bowline_component::service::{
    BadServiceName, BeginError, CALL_CHANNEL, CallError, CallId, Caller, CallerCounts, Finished,
    Request, ServerId, ServiceName,
};
use bowline_msgs::{Answer, Call};
use bowline_wire::{Decode, DecodeError, EncodeError, Message};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Calls a service once, and waits for its reply or for what went wrong, at most for `timeout`.
///
/// ```
/// # use bowline_bus::Bus;
/// # use bowline_msgs::{Pose, Waypoint};
/// # use bowline_component::service::CallError;
/// # use bowline_host::service::{self, ClientError};
/// # use std::time::Duration;
/// let bus = Bus::open("memq://")?;
/// let request = Waypoint { id: "dock".into(), position: [12.0, -3.5] };
/// let reply = service::call::<_, Pose>(&bus, "plan.arrival", &request, Duration::from_millis(60));
///
/// // No server is here: that is an error in bounded time.
/// let Err(ClientError::Call { source, .. }) = reply else { panic!("no server is there") };
/// assert_eq!(source, CallError::Unanswered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there is no reply.
pub fn call<Q, A>(
    bus: &Bus,
    service: &str,
    request: &Q,
    timeout: Duration,
) -> Result<A, ClientError>
where
    Q: Message,
    A: Message + for<'a> Decode<'a>,
{
    Client::new(bus).call(service, request, timeout)
}

/// How often a waiting caller is asked whether it still wants to.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Calls any number of services, one after the other.
#[derive(Debug)]
pub struct Client {
    bus: Bus,
    inbox: Inbox,
    heard: BTreeSet<ServiceName>,
    caller: Caller,
    clock: Live,
}

impl Client {
    /// A client with a name of its own.
    #[must_use]
    pub fn new(bus: &Bus) -> Self {
        // Several in one process are several callers.
        static N_CLIENTS: AtomicU64 = AtomicU64::new(0);
        let ThisProcess { host, program, pid } = ThisProcess::get();
        let number = N_CLIENTS.fetch_add(1, Ordering::Relaxed);
        let clock = Live::new();
        let name = format!("{program}:{pid}:{number}@{host}");
        Self {
            bus: bus.clone(),
            inbox: bus.inbox(),
            heard: BTreeSet::new(),
            caller: Caller::new(&name, clock.now().utime()),
            clock,
        }
    }

    /// Calls a service, and waits for its reply or for what went wrong, at most for `timeout`.
    ///
    /// # Errors
    /// When there is no reply.
    pub fn call<Q, A>(
        &mut self,
        service: &str,
        request: &Q,
        timeout: Duration,
    ) -> Result<A, ClientError>
    where
        Q: Message,
        A: Message + for<'a> Decode<'a>,
    {
        let service = ServiceName::new(service)?;
        if !self.heard.contains(&service) {
            super::describe(&self.bus, &service.call_channel(), TypeInfo::of::<Q>());
        }
        let request = Request {
            service,
            body: request.encode()?,
            reply: Some(A::FINGERPRINT),
            timeout,
        };
        let (reply, _) = self.call_bytes(request)?;
        Ok(A::decode(&reply)?)
    }

    /// The same for messages that are encoded already. The reply, and who gave it.
    ///
    /// # Errors
    /// When there is no reply.
    pub fn call_bytes(&mut self, request: Request) -> Result<(Vec<u8>, ServerId), ClientError> {
        self.call_bytes_while(request, || true)
    }

    /// The same, but cancelled when it is no longer wanted: `is_wanted` is asked several times a second.
    ///
    /// # Errors
    /// When there is no reply.
    pub fn call_bytes_while(
        &mut self,
        request: Request,
        mut is_wanted: impl FnMut() -> bool,
    ) -> Result<(Vec<u8>, ServerId), ClientError> {
        self.listen_to(&request.service)?;
        let (id, call) = self.caller.begin(self.clock.now(), request)?;
        let mut unsent = self.send(&call).err();
        loop {
            let due = self.caller.on_time(self.clock.now());
            for call in &due.send {
                unsent = self.send(call).err();
            }
            let mut finished = due.finished;
            if !is_wanted() {
                finished.extend(self.cancel(id));
            }
            let patience = self.caller.next_due().map(|due| self.clock.until(due));
            let patience = patience.unwrap_or_default().min(LOOK_EVERY);
            if finished.is_empty()
                && let Some((_, event)) = self.inbox.recv_timeout(patience)?
            {
                finished.extend(self.on_event(&event));
            }
            if let Some(finished) = finished.into_iter().find(|finished| finished.id == id) {
                return conclude(finished, unsent);
            }
        }
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> CallerCounts {
        self.caller.counts()
    }

    fn listen_to(&mut self, service: &ServiceName) -> Result<(), ListenError> {
        if self.heard.insert(service.clone()) {
            let channel = Pattern::exact(&service.answer_channel());
            self.inbox.subscribe_to(channel, Queue::default())?;
        }
        Ok(())
    }

    fn send(&self, call: &Call) -> Result<(), PublishError> {
        let channel = format!("{}{}", CALL_CHANNEL, call.service);
        self.bus.publish(&channel, call)
    }

    fn cancel(&mut self, id: CallId) -> Option<Finished> {
        let (finished, call) = self.caller.cancel(self.clock.now(), id)?;
        // If it does not get there, the server finds out when the time of the call is over.
        drop(self.send(&call));
        Some(finished)
    }

    fn on_event(&mut self, event: &Event) -> Option<Finished> {
        // What cannot be read is a mistake of its sender, and no answer.
        let answer = Answer::decode(&event.payload).ok()?;
        self.caller.on_answer(self.clock.now(), &answer)
    }
}

fn conclude(
    finished: Finished,
    unsent: Option<PublishError>,
) -> Result<(Vec<u8>, ServerId), ClientError> {
    let Finished {
        service,
        server,
        outcome,
        ..
    } = finished;
    match (outcome, server, unsent) {
        (Ok(reply), Some(server), _) => Ok((reply, server)),
        (Err(CallError::Unanswered), _, Some(unsent)) => Err(unsent.into()),
        (Err(source), _, _) => Err(ClientError::Call { service, source }),
        // A reply always has a server that gave it.
        (Ok(_), None, _) => Err(ClientError::Call {
            service,
            source: CallError::Unanswered,
        }),
    }
}

/// Why a call from a program has no reply.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There can be no such service.
    #[error(transparent)]
    Name(#[from] BadServiceName),
    /// The request has no faithful encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The call cannot be made.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The answer could not be received.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The call could not be sent.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// Nothing can be received.
    #[error(transparent)]
    Recv(#[from] RecvError),
    /// The call failed.
    #[error("the call of {service} failed: {source}")]
    Call {
        /// What was asked.
        service: ServiceName,
        /// Why there is no reply.
        source: CallError,
    },
    /// The reply is of the right type, but damaged.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

//! A handler, what it wants decoded, and how much may wait for it.

use crate::counts;
use crate::errors::os_error;
use bowline_bus::{Inbox, Queue, SubscriptionId, WhenFull};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyType};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How much may wait where LCM knows no limit.
const UNLIMITED: Room = Room {
    n_messages: 1 << 20,
    n_bytes: 1 << 30,
};

/// A handler of messages on some channels, as `LCM.subscribe()` returns it.
#[pyclass(frozen, weakref, module = "bowline_bus", name = "LCMSubscription")]
#[derive(Debug)]
pub(crate) struct Subscription {
    inbox: Arc<Inbox>,
    id: SubscriptionId,
    /// The pattern of channels.
    #[pyo3(get)]
    channel: String,
    wish: Wish,
    queue: Mutex<QueueChoice>,
    undecodable: AtomicU64,
    is_over: AtomicBool,
}

/// Who is called, with what.
#[derive(Debug)]
pub(crate) struct Wish {
    handler: Py<PyAny>,
    decoder: Option<Decoder>,
}

/// A type of messages.
#[derive(Debug)]
struct Decoder {
    decode: Py<PyAny>,
    type_name: String,
}

impl Wish {
    /// Checks what was given to `subscribe`.
    pub(crate) fn new(
        handler: Bound<'_, PyAny>,
        message_type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if !handler.is_callable() {
            return Err(PyValueError::new_err("handler is not callable"));
        }
        Ok(Self {
            handler: handler.unbind(),
            decoder: message_type.map(Decoder::new).transpose()?,
        })
    }
}

impl Decoder {
    fn new(message_type: &Bound<'_, PyAny>) -> PyResult<Self> {
        let decode = message_type.getattr_opt("decode")?;
        let Some(decode) = decode.filter(Bound::is_callable) else {
            return Err(PyTypeError::new_err(format!(
                "expected a type with decode(bytes), as compilers of .lcm files make them, found {message_type}"
            )));
        };
        let type_name = match message_type.cast::<PyType>() {
            Ok(message_type) => message_type.name()?.to_string(),
            Err(_) => message_type.to_string(),
        };
        Ok(Self {
            decode: decode.unbind(),
            type_name,
        })
    }
}

/// A queue, and whether its policy was chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueChoice {
    queue: Queue,
    is_chosen: bool,
}

impl QueueChoice {
    /// From the arguments of `subscribe`.
    pub(crate) fn new(policy: Option<&str>, capacity: Option<i64>) -> PyResult<Self> {
        let is_chosen = policy.is_some() || capacity.is_some();
        let room = capacity.map_or(Room::default(), Room::new);
        let queue = match policy {
            None if !is_chosen => Queue::default(),
            None | Some("keep_newest") => room.of(Queue::keep_newest),
            Some("keep_oldest") => room.of(Queue::keep_oldest),
            Some("latest") => Queue::latest(),
            Some(found) => {
                return Err(PyValueError::new_err(format!(
                    "expected a queue of \"keep_newest\", \"keep_oldest\" or \"latest\", found {found:?}"
                )));
            }
        };
        Ok(Self { queue, is_chosen })
    }

    pub(crate) fn queue(self) -> Queue {
        self.queue
    }

    /// With room for another number of messages. Without a choice, a queue of limited size does what LCM's do.
    fn with_room(self, room: Room) -> Self {
        let queue = match self.queue.when_full() {
            _ if !self.is_chosen => room.of(Queue::keep_oldest),
            WhenFull::DropNewest => room.of(Queue::keep_oldest),
            WhenFull::DropOldest => room.of(Queue::keep_newest),
            // One message of each channel is all there ever is; no publisher is made to wait from Python.
            WhenFull::KeepLatest | WhenFull::Block => self.queue,
        };
        Self { queue, ..self }
    }
}

/// How much may wait.
#[derive(Clone, Copy, Debug)]
struct Room {
    n_messages: usize,
    n_bytes: usize,
}

impl Room {
    /// LCM takes zero and less for no limit.
    fn new(n_messages: i64) -> Self {
        match usize::try_from(n_messages) {
            Ok(n_messages @ 1..) => Self {
                n_messages,
                ..Self::default()
            },
            Ok(0) | Err(_) => UNLIMITED,
        }
    }

    fn of(self, policy: impl FnOnce(usize) -> Queue) -> Queue {
        policy(self.n_messages).with_max_bytes(self.n_bytes)
    }
}

impl Default for Room {
    fn default() -> Self {
        Self {
            n_messages: Queue::DEFAULT_CAPACITY,
            n_bytes: Queue::DEFAULT_MAX_BYTES,
        }
    }
}

impl Subscription {
    pub(crate) fn new(
        inbox: &Arc<Inbox>,
        id: SubscriptionId,
        channel: &str,
        wish: Wish,
        queue: QueueChoice,
    ) -> Self {
        Self {
            inbox: Arc::clone(inbox),
            id,
            channel: channel.to_owned(),
            wish,
            queue: Mutex::new(queue),
            undecodable: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    pub(crate) fn id(&self) -> SubscriptionId {
        self.id
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.inbox.unsubscribe(self.id);
    }

    /// Messages that its type could not decode.
    pub(crate) fn undecodable(&self) -> u64 {
        self.undecodable.load(Ordering::Relaxed)
    }

    /// Calls the handler, with the message decoded if it wants that. Only the handler's own exceptions come out.
    pub(crate) fn deliver<'py>(
        &self,
        channel: &Bound<'py, PyString>,
        data: &Bound<'py, PyBytes>,
    ) -> PyResult<()> {
        let py = channel.py();
        let message = match &self.wish.decoder {
            None => data.clone().into_any(),
            Some(decoder) => match decoder.decode.bind(py).call1((data,)) {
                Ok(message) => message,
                Err(cause) if cause.is_instance_of::<PyException>(py) => {
                    self.report(decoder, channel, &cause);
                    return Ok(());
                }
                // Such as KeyboardInterrupt: not about the message.
                Err(cause) => return Err(cause),
            },
        };
        self.wish.handler.bind(py).call1((channel, message))?;
        Ok(())
    }

    /// Counts a message that is not what it should be, and logs it, at 1, 2, 4, 8... of them: a publisher that
    /// goes wrong does so at full rate.
    fn report(&self, decoder: &Decoder, channel: &Bound<'_, PyString>, cause: &PyErr) {
        let count = self.undecodable.fetch_add(1, Ordering::Relaxed) + 1;
        if !count.is_power_of_two() {
            return;
        }
        let py = channel.py();
        let Decoder { type_name, .. } = decoder;
        let text = format!(
            "a message on channel {channel} is not a {type_name} ({count} so far): {cause}"
        );
        let tell = || {
            let logger = py
                .import("logging")?
                .call_method1("getLogger", ("bowline_bus",))?;
            logger.call_method1("warning", (text,))
        };
        if let Err(error) = tell() {
            error.write_unraisable(py, Some(channel));
        }
    }

    fn check_alive(&self) -> PyResult<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(PyValueError::new_err(
                "expected a subscription, found one that has been unsubscribed",
            ));
        }
        Ok(())
    }
}

#[pymethods]
impl Subscription {
    /// Sets how many messages may wait to be handled. When there are more, new ones are dropped and counted, as LCM
    /// does, unless a policy was chosen with `queue=` at `subscribe()`. Zero and less stand for a great
    /// many.
    fn set_queue_capacity(&self, num_messages: i64) -> PyResult<()> {
        self.check_alive()?;
        let mut choice = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        *choice = choice.with_room(Room::new(num_messages));
        self.inbox.set_queue(self.id, choice.queue());
        Ok(())
    }

    /// How many messages wait to be handled.
    fn get_queue_size(&self, py: Python<'_>) -> PyResult<usize> {
        self.check_alive()?;
        py.detach(|| self.inbox.read_out())
            .map_err(|error| os_error(&error))?;
        Ok(self.inbox.queue_counts(self.id).waiting)
    }

    /// How many messages may wait to be handled.
    #[getter]
    fn queue_capacity(&self) -> usize {
        let choice = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        choice.queue().capacity()
    }

    /// What happened to its messages, by name.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts::of_queue(py, self.inbox.queue_counts(self.id), self.undecodable())
    }

    fn __repr__(&self) -> String {
        format!("<bowline_bus.LCMSubscription to {:?}>", self.channel)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.wish.handler)?;
        match &self.wish.decoder {
            Some(decoder) => visit.call(&decoder.decode),
            None => Ok(()),
        }
    }
}

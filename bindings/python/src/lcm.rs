//! A bus, as LCM's Python module has it.

use crate::counts;
use crate::errors::{os_error, publish_error, value_error};
use crate::payload::Payload;
use crate::subscription::{QueueChoice, Subscription, Wish};
use bowline_bus::{BadUrl, Bus, Event, Inbox, Pattern, Queue, SubscribeError, SubscriptionId};
use pyo3::PyTraverseError;
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long Python's signals may have to wait where the system does not end a wait for them.
const SLICE: Duration = Duration::from_millis(100);

/// A connection to a bus.
///
/// `LCM(url)` opens the one that the URL names; without one it is that of `BOWLINE_URL`, then `LCM_DEFAULT_URL`, then LCM's
/// usual one.
#[pyclass(frozen, subclass, weakref, module = "bowline_bus", name = "LCM")]
#[derive(Debug, Default)]
pub(crate) struct Lcm {
    /// Set by `__init__`, so that classes derived from this one may have arguments of their own.
    inbox: OnceLock<Arc<Inbox>>,
    subscriptions: Mutex<BTreeMap<SubscriptionId, Py<Subscription>>>,
    /// Messages that could not be decoded, of subscriptions that are gone.
    past_undecodable: AtomicU64,
}

#[pymethods]
impl Lcm {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    #[pyo3(signature = (url = None))]
    fn __init__(&self, py: Python<'_>, url: Option<&str>) -> PyResult<()> {
        let mut warnings = Vec::new();
        let opened = py.detach(|| {
            let ignored = |option: &BadUrl| warnings.push(format!("ignored: {option}"));
            Bus::open_ignoring(url.unwrap_or_default(), ignored)
        });
        for warning in warnings {
            let text = CString::new(warning)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
        }
        let bus = opened.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let inbox = Arc::new(bus.lcm_inbox());
        let set = self.inbox.set(inbox);
        set.map_err(|_second| PyRuntimeError::new_err("this LCM has been opened before"))
    }

    /// Publishes a message: bytes, anything with a buffer (bytearray, memoryview, numpy arrays), or an object with
    /// `encode()`. Other threads of Python go on meanwhile.
    fn publish(&self, channel: &Bound<'_, PyString>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = data.py();
        let bus = self.inbox()?.bus();
        let channel = channel.to_cow()?;
        let payload = Payload::of(data)?;
        let bytes = payload.bytes()?;
        py.detach(|| bus.publish_bytes(&channel, bytes))
            .map_err(|error| publish_error(&error))
    }

    /// Has `handler(channel, data)` called with each message on a channel, or on all channels that a regular expression
    /// matches from beginning to end.
    ///
    /// With `type=`, the handler gets decoded objects of that type; messages that are none are counted, and reported to the
    /// logger `bowline_bus`. `queue=` chooses what happens when more than `capacity=` messages wait to be handled: `"keep_newest"`
    /// (the default), `"keep_oldest"` (as LCM does), or `"latest"`, the latest message of each channel only.
    #[pyo3(signature = (channel, handler, *, r#type = None, queue = None, capacity = None))]
    fn subscribe<'py>(
        &self,
        channel: &Bound<'py, PyString>,
        handler: Bound<'py, PyAny>,
        r#type: Option<&Bound<'py, PyAny>>,
        queue: Option<&str>,
        capacity: Option<i64>,
    ) -> PyResult<Py<Subscription>> {
        let py = channel.py();
        let inbox = self.inbox()?;
        let wish = Wish::new(handler, r#type)?;
        let choice = QueueChoice::new(queue, capacity)?;
        let pattern = channel.to_cow()?;
        let id = py
            .detach(|| inbox.subscribe(&pattern, choice.queue()))
            .map_err(|error| match &error {
                SubscribeError::Pattern(_) => value_error(&error),
                SubscribeError::Listen(_) => os_error(&error),
            })?;
        let subscription = Py::new(py, Subscription::new(inbox, id, &pattern, wish, choice))?;
        self.lock().insert(id, subscription.clone_ref(py));
        Ok(subscription)
    }

    /// Ends a subscription. What waits for it is dropped. A handler may end its own.
    fn unsubscribe(
        &self,
        py: Python<'_>,
        subscription_object: &Bound<'_, Subscription>,
    ) -> PyResult<()> {
        let subscription = subscription_object.get();
        let mut subscriptions = self.lock();
        let is_ours = subscriptions
            .get(&subscription.id())
            .is_some_and(|ours| ours.is(subscription_object));
        // Dropped when nothing is locked any more: the last reference to a handler runs any code.
        let gone = is_ours.then(|| subscriptions.remove(&subscription.id()));
        drop(subscriptions);
        if gone.is_none() {
            return Err(PyValueError::new_err("Invalid Subscription object"));
        }
        py.detach(|| subscription.end());
        self.past_undecodable
            .fetch_add(subscription.undecodable(), Ordering::Relaxed);
        Ok(())
    }

    /// Waits for the next message, and calls its handlers in the order in which they subscribed. An exception of one
    /// comes out of here, and the message has been handled then.
    fn handle(&self, py: Python<'_>) -> PyResult<()> {
        self.handle_until(py, None).map(drop)
    }

    /// As `handle()`, but waits no longer than so many milliseconds. Returns whether there was a message: 1 or 0.
    fn handle_timeout(&self, py: Python<'_>, timeout_millis: i64) -> PyResult<u32> {
        let millis = u64::try_from(timeout_millis)
            .map_err(|_negative| PyValueError::new_err("invalid timeout"))?;
        let is_handled = self.handle_until(py, Some(Duration::from_millis(millis)))?;
        Ok(u32::from(is_handled))
    }

    /// A descriptor that is readable while a message waits, for select, poll and event loops. From then on a thread
    /// of the bus reads the network.
    fn fileno(&self) -> PyResult<RawFd> {
        let fd = self.inbox()?.fd().map_err(|error| os_error(&error))?;
        Ok(fd.as_raw_fd())
    }

    /// What went through, and what did not, by name.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.inbox()?.bus().counts();
        let present: u64 = self
            .lock()
            .values()
            .map(|subscription| subscription.get().undecodable())
            .sum();
        let past = self.past_undecodable.load(Ordering::Relaxed);
        counts::of_bus(py, &counts, past + present)
    }

    /// What it was opened with.
    #[getter]
    fn url(&self) -> PyResult<String> {
        Ok(self.inbox()?.bus().url().to_string())
    }

    fn __repr__(&self) -> String {
        match self.inbox() {
            Ok(inbox) => format!("<bowline_bus.LCM on {}>", inbox.bus().url()),
            Err(_) => "<bowline_bus.LCM, not open>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // No thread may wait here. The holder of the lock also has the references, which keeps all of this alive for now.
        let Ok(subscriptions) = self.subscriptions.try_lock() else {
            return Ok(());
        };
        subscriptions
            .values()
            .try_for_each(|subscription| visit.call(subscription))
    }

    fn __clear__(&self) {
        let gone = std::mem::take(&mut *self.lock());
        drop(gone);
    }
}

impl Lcm {
    pub(crate) fn inbox(&self) -> PyResult<&Arc<Inbox>> {
        self.inbox.get().ok_or_else(|| {
            PyRuntimeError::new_err("expected an open LCM, found one whose __init__ was not called")
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SubscriptionId, Py<Subscription>>> {
        // No code of Python runs under this lock, and nothing panics half-way through a change.
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the next message. Returns whether there was one in time.
    fn handle_until(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<bool> {
        match self.next(py, timeout)? {
            Some((event, wanted_by)) => self.dispatch(py, event, &wanted_by).map(|()| true),
            None => Ok(false),
        }
    }

    /// Subscribes without a handler.
    pub(crate) fn listen(&self, py: Python<'_>, channel: &str, queue: Queue) -> PyResult<()> {
        let inbox = self.inbox()?;
        let subscribed = py.detach(|| inbox.subscribe_to(Pattern::exact(channel), queue));
        subscribed.map(drop).map_err(|error| os_error(&error))
    }

    /// The next message, with the subscriptions that it is for; `None` if there was none in time.
    pub(crate) fn next(
        &self,
        py: Python<'_>,
        timeout: Option<Duration>,
    ) -> PyResult<Option<(Event, Vec<SubscriptionId>)>> {
        let inbox = self.inbox()?;
        let deadline = timeout.and_then(|timeout| now().checked_add(timeout));
        let mut wanted_by = Vec::new();
        loop {
            let left = deadline.map_or(SLICE, |deadline| deadline.duration_since(now()));
            let next = py.detach(|| inbox.recv_for_all(Some(left.min(SLICE)), &mut wanted_by));
            match next {
                Ok(Some(event)) => return Ok(Some((event, wanted_by))),
                Ok(None) => {}
                Err(error) if error.is_interrupted() => {}
                Err(error) => return Err(os_error(&error)),
            }
            py.check_signals()?;
            if deadline.is_some_and(|deadline| deadline <= now()) {
                return Ok(None);
            }
        }
    }

    /// Calls the handlers of a message.
    pub(crate) fn dispatch(
        &self,
        py: Python<'_>,
        event: Event,
        wanted_by: &[SubscriptionId],
    ) -> PyResult<()> {
        let channel = PyString::new(py, &event.channel);
        let data = PyBytes::new(py, &event.payload);
        // Its memory is the bus's, to be used again while handlers run.
        drop(event);
        for id in wanted_by {
            // Looked up one by one: each handler may end the subscriptions of those after it.
            let subscription = self.lock().get(id).map(|present| present.clone_ref(py));
            if let Some(subscription) = subscription {
                subscription.get().deliver(&channel, &data)?;
            }
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "Python's callers wait in real time"
)]
fn now() -> Instant {
    Instant::now()
}

//! A program whose steps are taken on request: the program's half of docs/cosimulation.md.
//!
//! In: requests on the bus. Out: calls of handlers, and a report for each request. Deliberately absent: clocks and threads,
//! which would make the program's outputs depend on more than its inputs.

use crate::errors::publish_error;
use crate::lcm::Lcm;
use bowline_bus::Queue;
use bowline_msgs::{StepDone, StepReady, StepRequest};
use bowline_wire::Message;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

const READY_CHANNEL: &str = "bowline.step.ready";
const REQUEST_CHANNEL: &str = "bowline.step.request";
const DONE_CHANNEL: &str = "bowline.step.done";

/// A step that is requested.
#[pyclass(frozen, get_all, module = "bowline_bus", name = "Step")]
#[derive(Debug)]
pub(crate) struct Step {
    /// The number of the step since the program was started, from 0.
    number: i64,
    /// The time of the robot, nanoseconds since the epoch.
    time_ns: i64,
    /// "start", "message", "period" or "wake".
    reason: &'static str,
    /// Where the message came in that is the reason; empty without one.
    channel: String,
}

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        let Self {
            number,
            time_ns,
            reason,
            channel,
        } = self;
        format!("<bowline_bus.Step {number} at {time_ns} ns: {reason} {channel}>")
    }
}

/// Takes steps on request, for a program that a robot file declares `deterministic = true`: it then takes part in
/// lockstep and in `bowline run --verify`. Does not return; the host that requests the steps ends the program.
///
/// Before each step, the handlers of `bus` are called with the message that is its reason, if there is one. Then
/// `step(request)` is called, which may return when it wants to be called next, in nanoseconds since the epoch. With
/// `period=`, in seconds, it is also called every so often. What handlers and `step` publish belongs to the step.
///
/// The outputs must be a function of the inputs: take the time from `request.time_ns`, and random numbers from a seed. An
/// exception ends the program, and the run, with its text.
#[pyfunction]
#[pyo3(signature = (bus, step = None, *, period = 0.0, name = ""))]
pub(crate) fn deterministic(
    bus: &Bound<'_, Lcm>,
    step: Option<&Bound<'_, PyAny>>,
    period: f64,
    name: &str,
) -> PyResult<()> {
    let py = bus.py();
    let expected = || PyValueError::new_err("period is a number of seconds, 0 or more");
    let period = Duration::try_from_secs_f64(period).map_err(|_error| expected())?;
    let ready = StepReady {
        version: StepReady::VERSION,
        name: name.to_owned(),
        period_ns: i64::try_from(period.as_nanos()).map_err(|_error| expected())?,
    };
    let bus = bus.get();
    bus.listen(py, REQUEST_CHANNEL, Queue::default())?;
    publish(py, bus, READY_CHANNEL, &ready)?;
    let mut done = StepDone::default();
    loop {
        if let Err(error) = take(py, bus, step, &mut done) {
            done.error = error.to_string();
            // What led to it is worth more than that it could not be sent.
            let _is_sent = publish(py, bus, DONE_CHANNEL, &done);
            return Err(error);
        }
    }
}

/// Handles the next message; if it requests a step, takes that and reports it.
fn take(
    py: Python<'_>,
    bus: &Lcm,
    step: Option<&Bound<'_, PyAny>>,
    done: &mut StepDone,
) -> PyResult<()> {
    let Some((event, wanted_by)) = bus.next(py, None)? else {
        return Ok(());
    };
    let is_request = event.channel.as_str() == REQUEST_CHANNEL;
    let request = is_request.then(|| StepRequest::decode(&event.payload));
    bus.dispatch(py, event, &wanted_by)?;
    let Some(request) = request else {
        return Ok(());
    };
    let request = request.map_err(|error| PyValueError::new_err(error.to_string()))?;
    done.step = request.step;
    done.wake_ns = match step {
        Some(step) => step
            .call1((Step::of(request),))?
            .extract::<Option<i64>>()?
            .unwrap_or(0),
        None => 0,
    };
    publish(py, bus, DONE_CHANNEL, done)?;
    // An exception of a handler comes before the request that it is for.
    done.step += 1;
    Ok(())
}

impl Step {
    fn of(request: StepRequest) -> Self {
        let StepRequest {
            step,
            time_ns,
            reason,
            channel,
        } = request;
        Self {
            number: step,
            time_ns,
            reason: match reason {
                StepRequest::START => "start",
                StepRequest::MESSAGE => "message",
                StepRequest::PERIOD => "period",
                StepRequest::WAKE => "wake",
                _ => "unknown",
            },
            channel,
        }
    }
}

fn publish<M: Message + Sync>(
    py: Python<'_>,
    bus: &Lcm,
    channel: &str,
    message: &M,
) -> PyResult<()> {
    let bus = bus.inbox()?.bus();
    py.detach(|| bus.publish(channel, message))
        .map_err(|error| publish_error(&error))
}

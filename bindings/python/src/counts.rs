//! Counters as dictionaries. They are taken apart field by field: a new one does not compile until it is here.

use bowline_bus::{Counts, QueueCounts};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};

/// All counters of a bus. `undecodable` are those that Python's types could not decode.
pub(crate) fn of_bus<'py>(
    py: Python<'py>,
    counts: &Counts,
    undecodable: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let Counts {
        published,
        published_bytes,
        publish_failures,
        // Python hands over bytes, of which nothing is known.
        announced: _,
        announce_failures: _,
        received,
        received_bytes,
        queue_drops,
        replaced,
        undecodable: undecodable_in_rust,
        callback_panics: _,
        network,
    } = *counts;
    let dict = [
        ("published", published),
        ("published_bytes", published_bytes),
        ("publish_failures", publish_failures),
        ("received", received),
        ("received_bytes", received_bytes),
        ("queue_drops", queue_drops),
        ("replaced", replaced),
        ("undecodable", undecodable_in_rust + undecodable),
        ("lost", counts.lost()),
    ]
    .into_py_dict(py)?;
    dict.set_item("network", network.named().into_py_dict(py)?)?;
    Ok(dict)
}

/// The counters of one subscription.
pub(crate) fn of_queue(
    py: Python<'_>,
    counts: QueueCounts,
    undecodable: u64,
) -> PyResult<Bound<'_, PyDict>> {
    let QueueCounts {
        queued,
        dropped,
        replaced,
        waiting,
        waiting_bytes,
    } = counts;
    [
        ("queued", queued),
        ("dropped", dropped),
        ("replaced", replaced),
        ("waiting", waiting as u64),
        ("waiting_bytes", waiting_bytes as u64),
        ("undecodable", undecodable),
    ]
    .into_py_dict(py)
}

//! What Python gets for our errors: the exceptions of LCM's module where it has some, with our words.

use bowline_bus::PublishError;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};
use std::error::Error;
use std::io;

/// An `OSError`, or what Python derives from it, with the number that the system gave if it did.
pub(crate) fn os_error(error: &(dyn Error + 'static)) -> PyErr {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let number = causes
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .find_map(io::Error::raw_os_error);
    match number {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// A `ValueError`.
pub(crate) fn value_error(error: &dyn Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn publish_error(error: &PublishError) -> PyErr {
    match error {
        PublishError::Channel(_) | PublishError::Encode(_) => value_error(error),
        PublishError::Send(_) => os_error(error),
    }
}

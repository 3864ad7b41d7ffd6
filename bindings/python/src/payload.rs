//! What can be published: bytes, whatever has a buffer, and messages that encode themselves.

use crate::sys;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// Bytes of a Python object, which they stay in.
#[derive(Debug)]
pub(crate) enum Payload<'py> {
    /// The usual: they cannot be changed.
    Bytes(Bound<'py, PyBytes>),
    /// Those of a bytearray, an array, a numpy array...
    View(Bound<'py, PyMemoryView>),
}

impl<'py> Payload<'py> {
    /// Finds the bytes of `data`; asks it to encode itself if it can.
    pub(crate) fn of(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        match data.getattr_opt(intern!(data.py(), "encode"))? {
            Some(encode) => Self::view(&encode.call0()?),
            None => Self::view(data),
        }
    }

    fn view(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = data.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        let view = PyMemoryView::from(data).map_err(|_cause| {
            let found = data.get_type();
            PyTypeError::new_err(format!(
                "expected a bytes-like object or a message with encode(), found {found}"
            ))
        })?;
        Ok(Self::View(view))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> PyResult<&[u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.as_bytes()),
            Self::View(view) => sys::bytes(view),
        }
    }
}

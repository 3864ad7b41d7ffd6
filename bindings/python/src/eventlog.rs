//! Logs, as LCM's Python module has them.

use crate::errors::{os_error, value_error};
use crate::payload::Payload;
use bowline_format::scanner::Scanner;
use bowline_format::{Format, LogEvent, OwnedEvent, WriteError, Writer, WriterOptions};
use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// So much is handed to the system at once.
const BATCH_BYTES: usize = 64 << 10;

/// One event of a log.
#[pyclass(subclass, dict, weakref, get_all, set_all, module = "bowline_bus")]
#[derive(Debug)]
pub(crate) struct Event {
    /// The writer's count of its events.
    eventnum: i64,
    /// When the message was received, in microseconds since the epoch.
    timestamp: i64,
    /// Where it was published.
    channel: Py<PyString>,
    /// What was published.
    data: Py<PyAny>,
}

#[pymethods]
impl Event {
    #[new]
    fn new(eventnum: i64, timestamp: i64, channel: Py<PyString>, data: Py<PyAny>) -> Self {
        Self {
            eventnum,
            timestamp,
            channel,
            data,
        }
    }

    /// For copy and pickle.
    fn __getnewargs__(&self, py: Python<'_>) -> (i64, i64, Py<PyString>, Py<PyAny>) {
        let (channel, data) = (self.channel.clone_ref(py), self.data.clone_ref(py));
        (self.eventnum, self.timestamp, channel, data)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Self {
            eventnum,
            timestamp,
            channel,
            data,
        } = self;
        let (channel, data) = (channel.bind(py).repr()?, data.bind(py).repr()?);
        Ok(format!("Event({eventnum}, {timestamp}, {channel}, {data})"))
    }
}

impl Event {
    fn from_log(py: Python<'_>, event: &OwnedEvent) -> Self {
        Self {
            eventnum: event.number,
            timestamp: event.utime,
            channel: PyString::new(py, &event.channel).unbind(),
            data: PyBytes::new(py, &event.payload).into_any().unbind(),
        }
    }
}

/// A file of recorded messages.
///
/// mode "r" reads one; "w" writes a new one, over another of that name only if overwrite is true; "a" goes on with one.
/// One that is read can be iterated over, from its beginning.
#[pyclass(frozen, subclass, dict, weakref, module = "bowline_bus")]
#[derive(Debug)]
pub(crate) struct EventLog {
    /// "r", "w" or "a".
    #[pyo3(get)]
    mode: String,
    file: Mutex<LogFile>,
}

#[derive(Debug)]
enum LogFile {
    Reading(Scanner),
    Writing(Box<Writer>),
    Closed,
}

#[pymethods]
impl EventLog {
    #[new]
    #[pyo3(signature = (path, mode = "r", overwrite = false))]
    fn new(py: Python<'_>, path: PathBuf, mode: &str, overwrite: bool) -> PyResult<Self> {
        let file = py.detach(|| open(&path, mode, overwrite))?;
        Ok(Self {
            mode: mode.to_owned(),
            file: Mutex::new(file),
        })
    }

    /// Goes to the next event that starts at or after a place in the file, in bytes.
    fn seek(&self, py: Python<'_>, filepos: i64) -> PyResult<()> {
        // As LCM does, from the beginning if there is no such place.
        let position = u64::try_from(filepos).unwrap_or(0);
        self.sought(py, |scanner| {
            scanner.seek(position);
            Ok::<(), std::convert::Infallible>(())
        })
    }

    /// Goes to the first event at or after a time, in microseconds since the epoch.
    fn seek_to_timestamp(&self, py: Python<'_>, timestamp: i64) -> PyResult<()> {
        self.sought(py, |scanner| scanner.seek_to(timestamp))
    }

    /// How large the file is, in bytes.
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |file| match file {
            LogFile::Reading(scanner) => scanner.size().map_err(|error| os_error(&error)),
            LogFile::Writing(writer) => Ok(writer.position()),
            LogFile::Closed => Err(closed()),
        })
    }

    /// The place of the next event, in bytes from the beginning.
    fn tell(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |file| match file {
            LogFile::Reading(scanner) => Ok(scanner.position()),
            LogFile::Writing(writer) => Ok(writer.position()),
            LogFile::Closed => Err(closed()),
        })
    }

    /// Bytes that were skipped because they are no event: the file is damaged there.
    #[getter]
    fn damaged_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |file| match file {
            LogFile::Reading(scanner) => Ok(scanner.damaged_bytes()),
            LogFile::Writing(_) => Ok(0),
            LogFile::Closed => Err(closed()),
        })
    }

    /// Closes the file, after which nothing else can be done with it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |file| {
            match &mut std::mem::replace(file, LogFile::Closed) {
                LogFile::Writing(writer) => writer.flush().map_err(|error| os_error(&error)),
                LogFile::Reading(_) | LogFile::Closed => Ok(()),
            }
        })
    }

    /// Writes an event. The data is whatever `LCM.publish()` takes.
    fn write_event(
        &self,
        utime: i64,
        channel: &Bound<'_, PyString>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let channel = channel.to_cow()?;
        let payload = Payload::of(data)?;
        let bytes = payload.bytes()?;
        self.with(data.py(), |file| match file {
            LogFile::Writing(writer) => {
                let event = LogEvent {
                    number: 0,
                    utime,
                    nanos: 0,
                    channel: &channel,
                    payload: bytes,
                };
                let written = writer.write(event).map(drop);
                let written = written.and_then(|()| {
                    let is_enough = writer.n_pending() >= BATCH_BYTES;
                    if is_enough { writer.flush() } else { Ok(()) }
                });
                written.map_err(|error| match &error {
                    WriteError::Event(_) | WriteError::Encode(_) => value_error(&error),
                    WriteError::System { .. } | WriteError::AppendMcap { .. } => os_error(&error),
                })
            }
            LogFile::Reading(_) => Err(PyRuntimeError::new_err("writing not allowed in read mode")),
            LogFile::Closed => Err(closed()),
        })
    }

    /// The next event; None at the end. What is damaged is skipped.
    fn read_next_event(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        let event = self.with(py, |file| match file {
            LogFile::Reading(scanner) => {
                let placed = scanner.next_record().map_err(|error| os_error(&error))?;
                Ok(placed.map(|placed| LogEvent::from(placed.record).to_owned()))
            }
            LogFile::Writing(_) => {
                Err(PyRuntimeError::new_err("reading not allowed in write mode"))
            }
            LogFile::Closed => Err(closed()),
        })?;
        Ok(event.map(|event| Event::from_log(py, &event)))
    }

    /// The next event; raises `StopIteration` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Event> {
        let event = self.read_next_event(py)?;
        event.ok_or_else(|| PyStopIteration::new_err(()))
    }

    /// Starts over from the beginning.
    fn __iter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.seek(slf.py(), 0)?;
        Ok(slf)
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        self.read_next_event(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _exception: &Bound<'_, pyo3::types::PyTuple>,
    ) -> PyResult<()> {
        self.close(py)
    }
}

impl EventLog {
    /// Works on the file while other threads of Python go on.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut LogFile) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn sought<E: std::error::Error + 'static>(
        &self,
        py: Python<'_>,
        seek: impl FnOnce(&mut Scanner) -> Result<(), E> + Send,
    ) -> PyResult<()> {
        self.with(py, |file| match file {
            LogFile::Reading(scanner) => seek(scanner).map_err(|error| os_error(&error)),
            LogFile::Writing(_) => {
                Err(PyRuntimeError::new_err("seeking not allowed in write mode"))
            }
            LogFile::Closed => Err(closed()),
        })
    }
}

impl Drop for LogFile {
    /// A program that forgets to close a log has it all the same, as far as the system takes it.
    fn drop(&mut self) {
        if let Self::Writing(writer) = self {
            drop(writer.flush());
        }
    }
}

/// LCM's own format, whatever the name of the file is, and nothing beside it.
fn options() -> WriterOptions {
    WriterOptions {
        format: Some(Format::Lcm),
        without_index: true,
        ..WriterOptions::default()
    }
}

fn open(path: &Path, mode: &str, overwrite: bool) -> PyResult<LogFile> {
    let writing = |opened: Result<Writer, WriteError>| {
        opened
            .map(|writer| LogFile::Writing(Box::new(writer)))
            .map_err(|error| os_error(&error))
    };
    match mode {
        "r" => Scanner::open(path)
            .map(LogFile::Reading)
            .map_err(|error| os_error(&error)),
        "w" if !overwrite && path.exists() => Err(PyValueError::new_err(
            "Refusing to overwrite existing log file unless overwrite is set to True",
        )),
        "w" => writing(Writer::create(path, options())),
        "a" => writing(Writer::append(path, options())),
        found => Err(PyValueError::new_err(format!(
            "invalid event log mode: expected \"r\", \"w\" or \"a\", found {found:?}"
        ))),
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("event log already closed")
}

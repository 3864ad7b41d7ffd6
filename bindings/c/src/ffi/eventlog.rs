//! The functions and structs of `eventlog.h`.
//!
//! Programs may use the `FILE` of a log themselves, so it is C's, and all reading and writing goes through it. Events
//! are of `malloc`.

use crate::complaint::complain;
use crate::ffi::stdio::Stdio;
use crate::ffi::{guarded, string};
use crate::log::{self, Next};
use bowline_format::scanner::number_after_last;
use bowline_wire::eventlog::{Record, write_header};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::{io, ptr};

/// `lcm_eventlog_t`.
#[repr(C)]
struct EventLog {
    f: *mut libc::FILE,
    eventcount: i64,
}

/// `lcm_eventlog_event_t`.
#[repr(C)]
struct LogEvent {
    eventnum: i64,
    timestamp: i64,
    channellen: i32,
    datalen: i32,
    channel: *mut c_char,
    data: *mut c_void,
}

impl EventLog {
    /// # Safety
    /// The log's stream must be open, as it is until `lcm_eventlog_destroy`.
    unsafe fn stream(&self) -> Stdio {
        // SAFETY: the caller's promise.
        unsafe { Stdio::new(self.f) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_create(
    path: *const c_char,
    mode: *const c_char,
) -> *mut EventLog {
    // SAFETY: NULL or a string, by LCM's contract.
    let path = unsafe { string(path) };
    // SAFETY: NULL or a string, by LCM's contract.
    let mode = unsafe { string(mode) };
    let (Some(path), Some(mode)) = (path, mode) else {
        return ptr::null_mut();
    };
    guarded(ptr::null_mut(), || {
        open(path, mode).map_or(ptr::null_mut(), |log| Box::into_raw(Box::new(log)))
    })
}

fn open(path: &CStr, mode: &CStr) -> Option<EventLog> {
    let file_mode = match mode.to_bytes() {
        b"r" => c"rb",
        b"w" => c"wb",
        b"a" => c"ab",
        _ => return None,
    };
    let path_name = Path::new(OsStr::from_bytes(path.to_bytes()));
    let is_continued = mode == c"a" && path_name.is_file();
    // What cannot be read can perhaps be appended to; LCM counts from 0 always.
    let eventcount =
        is_continued.then(|| number_after_last(path_name).map_or(0, |(number, _)| number));
    // `errno` has the reason, as after any `fopen`.
    let f = Stdio::open(path, file_mode).ok()?;
    Some(EventLog {
        f,
        eventcount: eventcount.unwrap_or(0),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_destroy(log: *mut EventLog) {
    if log.is_null() {
        return;
    }
    // SAFETY: it is of `lcm_eventlog_create`, and not used again.
    let log = unsafe { Box::from_raw(log) };
    // SAFETY: the stream is open until here.
    let stream = unsafe { log.stream() };
    guarded((), || {
        if let Err(error) = stream.close() {
            complain(format_args!("lcm_eventlog_destroy: {error}"));
        }
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_read_next_event(log: *mut EventLog) -> *mut LogEvent {
    // SAFETY: NULL or not destroyed, by LCM's contract, and no other thread uses it now.
    let Some(log) = (unsafe { log.as_mut() }) else {
        return ptr::null_mut();
    };
    // SAFETY: the log is not destroyed.
    let mut stream = unsafe { log.stream() };
    guarded(ptr::null_mut(), || match log::next(&mut stream, to_event) {
        Ok(Next { made, skipped }) => {
            complain_about_damage(skipped);
            made.unwrap_or(ptr::null_mut())
        }
        Err(error) => {
            complain(format_args!("lcm_eventlog_read_next_event: {error}"));
            ptr::null_mut()
        }
    })
}

fn complain_about_damage(skipped: u64) {
    if skipped > 0 {
        complain(format_args!(
            "the log is damaged: {skipped} bytes that are no event were skipped"
        ));
    }
}

/// An event of its own memory; NULL when there is none left.
fn to_event(record: &Record<'_>) -> *mut LogEvent {
    // SAFETY: takes no pointers.
    let event = unsafe { libc::malloc(size_of::<LogEvent>()) }.cast::<LogEvent>();
    let channel = to_malloc(record.channel.as_bytes());
    let data = to_malloc(record.payload);
    if event.is_null() || channel.is_null() || data.is_null() {
        for memory in [event.cast(), channel, data] {
            // SAFETY: of `malloc` or NULL, and it has no other owner.
            unsafe { libc::free(memory) };
        }
        return ptr::null_mut();
    }
    let made = LogEvent {
        eventnum: record.number,
        timestamp: record.utime,
        channellen: i32::try_from(record.channel.len()).unwrap_or(i32::MAX),
        datalen: i32::try_from(record.payload.len()).unwrap_or(i32::MAX),
        channel: channel.cast(),
        data,
    };
    // SAFETY: there is room for one, and `malloc` aligns for everything.
    unsafe { event.write(made) };
    event
}

/// A copy with a NUL behind it.
fn to_malloc(bytes: &[u8]) -> *mut c_void {
    // SAFETY: takes no pointers.
    let memory = unsafe { libc::calloc(1, bytes.len() + 1) };
    if !memory.is_null() {
        // SAFETY: so many bytes are there and one more, and new memory overlaps nothing.
        unsafe {
            memory
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        };
    }
    memory
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_free_event(event: *mut LogEvent) {
    if event.is_null() {
        return;
    }
    // SAFETY: it is of `lcm_eventlog_read_next_event`, and not used again.
    let LogEvent { channel, data, .. } = unsafe { event.read() };
    for memory in [channel.cast(), data, event.cast()] {
        // SAFETY: each is of `malloc`, for this event alone.
        unsafe { libc::free(memory) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_seek_to_timestamp(log: *mut EventLog, utime: i64) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract, and no other thread uses it now.
    let Some(log) = (unsafe { log.as_mut() }) else {
        return -1;
    };
    // SAFETY: the log is not destroyed.
    let mut stream = unsafe { log.stream() };
    guarded(-1, || to_code(log::go_to_time(&mut stream, utime)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn lcm_eventlog_write_event(log: *mut EventLog, event: *mut LogEvent) -> c_int {
    // SAFETY: NULL or not destroyed, by LCM's contract, and no other thread uses it now.
    let log = unsafe { log.as_mut() };
    // SAFETY: NULL or an event of the program's, by LCM's contract.
    let event = unsafe { event.as_mut() };
    let (Some(log), Some(event)) = (log, event) else {
        return -1;
    };
    // SAFETY: so many bytes are there, by LCM's contract.
    let channel = unsafe { bytes(event.channel.cast(), event.channellen) };
    // SAFETY: so many bytes are there, by LCM's contract.
    let payload = unsafe { bytes(event.data, event.datalen) };
    let (Some(channel), Some(payload)) = (channel, payload) else {
        return -1;
    };
    event.eventnum = log.eventcount;
    // SAFETY: the log is not destroyed.
    let mut stream = unsafe { log.stream() };
    guarded(-1, || {
        let code = to_code(write(&mut stream, event, channel, payload));
        if code == 0 {
            log.eventcount += 1;
        }
        code
    })
}

fn write(stream: &mut Stdio, event: &LogEvent, channel: &[u8], payload: &[u8]) -> io::Result<()> {
    let channel = std::str::from_utf8(channel).map_err(io::Error::other)?;
    let mut header = Vec::new();
    write_header(
        event.eventnum,
        event.timestamp,
        channel,
        payload.len(),
        &mut header,
    )
    .map_err(io::Error::other)?;
    stream.write(&header)?;
    stream.write(payload)
}

/// # Safety
/// Unless NULL or of a negative length, so many bytes must be there during `'a`.
unsafe fn bytes<'a>(pointer: *const c_void, len: i32) -> Option<&'a [u8]> {
    let len = usize::try_from(len).ok()?;
    if len == 0 {
        return Some(&[]);
    }
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer.cast(), len) })
}

fn to_code(outcome: io::Result<()>) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            complain(format_args!("event log: {error}"));
            -1
        }
    }
}
